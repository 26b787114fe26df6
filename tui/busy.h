/* SPDX-License-Identifier: MIT */
/* Work that may be long: a search through millions of branches. The user sees how far it is, and
 * ends it with ^C, Escape or ^G; the viewer goes on. Without a terminal it runs to its end. */
#ifndef BT_BUSY_H
#define BT_BUSY_H

#include "decoder/model/history.h"
#include "lib/clock.h"
#include "tui/screen.h"

struct busy {
	struct screen *screen;
	const char *what; /* "searching" */
	size_t done, total;
	struct bt_clock clock;
	uint64_t told, looked; /* ns: of the last progress shown, and look for keys */
	bool stopped;
};

void busy_begin(struct busy *b, struct screen *screen, const char *what, size_t total);

/* Says how far it is, in steps of which each is long. False once the user has stopped the work. */
bool busy_at(struct busy *b, size_t done);

/* For work of decoder/, which says itself how much there is to do. */
struct history_watch busy_watch(struct busy *b);

/* Counts one step. False once the user has stopped the work. */
bool busy_goes_on(struct busy *b);

#endif
