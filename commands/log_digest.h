/* SPDX-License-Identifier: MIT */
/* The contents of a trace's log for btrec replay, in numbers. Used by btrec info. No state. */
#ifndef BT_LOG_DIGEST_H
#define BT_LOG_DIGEST_H

#include "format/trace_reader.h"
#include "lib/processor_offer.h"

/* The parts of a log that bytes in memory belong to. */
enum log_part {
	LOG_PART_START,
	LOG_PART_CALLS,
	LOG_PART_SIGNALS,
	LOG_PART_INSTRUCTIONS,
	LOG_PARTS
};

struct log_digest {
	uint64_t size;              /* bytes of the file */
	uint64_t events[LOG_PARTS]; /* the start is one; handlers and ends are not counted */
	uint64_t bytes[LOG_PARTS];  /* of memory, before packing */
	uint64_t registers;         /* bytes of them, of effects alone, before packing */
	uint32_t version;           /* of the log */
	uint64_t unseen;            /* bytes of output that it does not have */
	uint64_t addresses;         /* bytes of addresses that the program had at most; 0:
				       not known */
	bool ended;                 /* with the program */
	bool ended_early;           /* before that, by itself */
	char reason[256];           /* why */
	struct bt_error damage;     /* it is read up to there: damage, or a copy of a file that the
				       trace lacks; BT_E_NO_MEMORY, BT_E_IO: the rest could not be
				       read; code 0: none */
	bool has_processor;
	struct processor_offer processor;
};

/* Reads the log of the trace. False: it has none. A log that is damaged or cut off is read up to
 * there. */
bool log_digest_read(struct log_digest *d, const struct trace *t);

/* What that code says of a log: "is damaged", "cannot be read on". */
const char *log_damage_words(enum bt_error_code code);

/* The bytes of addresses that a replay of the log needs (--memory-limit), in whole GB: those that
 * the program had, and those that are kept for the engine. */
uint64_t log_digest_memory(const struct log_digest *d);

/* How a replay gets these where it does not have them. Returns text. */
enum { LOG_REMEDY_MAX = 100 };
const char *log_digest_memory_remedy(const struct log_digest *d, char text[LOG_REMEDY_MAX]);

#endif
