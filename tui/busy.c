/* SPDX-License-Identifier: MIT */
#include "tui/busy.h"

enum {
	STEPS = 256,          /* between two looks at the clock */
	FIRST_NS = 300000000, /* before progress is shown: most work is shorter */
	AGAIN_NS = 100000000, /* and between two times */
	LOOK_NS = 20000000,   /* between two looks for a key that stops it */
};

void busy_begin(struct busy *b, struct screen *screen, const char *what, size_t total)
{
	*b = (struct busy){
		.screen = screen, .what = what, .total = total, .clock = bt_clock_start()};
	b->told = FIRST_NS - AGAIN_NS;
}

static void tell_progress(const struct busy *b)
{
	unsigned percent = b->total ? (unsigned)(100.0 * (double)b->done / (double)b->total) : 0;
	struct row row;

	row_init(&row, b->screen->utf8);
	row_put(&row, STYLE_NORMAL, "%s: %u %%; ^C stops", b->what, percent < 100 ? percent : 100);
	screen_row(b->screen, b->screen->rows - 1, 0, b->screen->columns, &row, 0, EMPHASIS_NONE,
		   NULL);
	screen_flush(b->screen);
}

bool busy_at(struct busy *b, size_t done)
{
	uint64_t now;

	b->done = done;
	if (!b->screen->terminal || b->stopped)
		return !b->stopped;
	now = bt_clock_now(&b->clock);
	if (now - b->looked < LOOK_NS)
		return true;
	b->looked = now;
	b->stopped = screen_stopped(b->screen);
	if (!b->stopped && now > b->told && now - b->told >= AGAIN_NS) {
		b->told = now;
		tell_progress(b);
	}
	return !b->stopped;
}

static bool watch_work(void *arg, size_t done, size_t total)
{
	struct busy *b = arg;

	b->total = total;
	return busy_at(b, done);
}

struct history_watch busy_watch(struct busy *b)
{
	return (struct history_watch){.goes_on = watch_work, .arg = b};
}

bool busy_goes_on(struct busy *b)
{
	if (++b->done % STEPS)
		return !b->stopped;
	return busy_at(b, b->done);
}
