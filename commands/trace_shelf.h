/* SPDX-License-Identifier: MIT */
/* The traces in the trace directory, and how traces are removed. Used by list, rm, prune and run.
 * Nothing is removed but a directory that holds files of one trace, which nobody is writing, and
 * nothing else. */
#ifndef BT_TRACE_SHELF_H
#define BT_TRACE_SHELF_H

#include "commands/trace_digest.h"
#include "lib/error.h"

struct trace_shelf {
	struct trace_digest *at; /* oldest first */
	size_t count;
};

/* Reads all traces in dir; one that is not there has none. Errors: BT_E_PERMISSION, BT_E_IO. */
int trace_shelf_open(struct trace_shelf *s, const char *dir, struct bt_error *err) BT_MUST_USE;
void trace_shelf_close(struct trace_shelf *s);

/* Removes a trace. The link `latest` beside it, if it names this one, then names the newest trace
 * that is left there, or goes. Errors, with nothing removed: those of trace_open(); BT_E_MISUSE: it
 * is being recorded, or holds other files; BT_E_PERMISSION, BT_E_IO. */
int trace_remove(const char *path, struct bt_error *err) BT_MUST_USE;

/* How many traces are kept. Zeros: no limit. */
struct shelf_limits {
	bool has_count;
	size_t count;      /* of complete traces; the newest are kept */
	uint64_t size;     /* bytes of all complete traces together */
	uint64_t older;    /* seconds: those that began earlier go */
	const char *spare; /* the name of one that stays in any case, or NULL */
};

/* Removes the oldest complete traces of dir until the limits hold. removed() is told of each, after
 * it is gone, or, for a trial, instead; NULL: nobody is. One that cannot be removed stays, and none
 * goes in its place. Errors: of trace_shelf_open(), and the first of trace_remove(). */
int trace_shelf_prune(const char *dir, const struct shelf_limits *limits, bool trial,
		      void (*removed)(void *arg, const char *path, const struct trace_digest *d),
		      void *arg, struct bt_error *err) BT_MUST_USE;

/* Numbers with a unit: "500M" (bytes; K, M, G, T of 1024), "12h" (seconds; s, m, h, d, w). option:
 * named in the error. Returns 0 or -BT_E_MISUSE. */
int shelf_size(const char *option, const char *value, uint64_t *bytes,
	       struct bt_error *err) BT_MUST_USE;
int shelf_age(const char *option, const char *value, uint64_t *seconds,
	      struct bt_error *err) BT_MUST_USE;

/* "284 KB" */
const char *size_words(uint64_t bytes, char text[24]);

#endif
