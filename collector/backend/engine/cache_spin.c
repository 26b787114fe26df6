/* SPDX-License-Identifier: MIT */
/* A task that spins while others of its unit wait for the turn gives it up. While somebody waits
 * the cache's code counts what spinning consists of: PAUSE, and records of safe points with hardly
 * any others between, as in a loop without an indirect branch. Where only ticks are counted the
 * safe points look at a lower bit of their number; a loop that calls fills a room for records that
 * is small. The task stops then, and is looked at (spin.h): whether it spins is what its
 * instructions say. One that works runs eight times as far until the next look: so looks cost less
 * than a hundredth of the time, and a task that begins to spin keeps the turn for at most some
 * eight times as long as it has worked. */
#include <string.h>

#include "collector/backend/engine/engine_private.h"
#include "collector/tracee/tracee.h"
#include "lib/page.h"

enum {
	LOOK_SPINS = 2,    /* the first look: after so many records of safe points (CTX_SPINS), */
	LOOK_PAUSES = 32,  /* ... PAUSEs, */
	LOOK_ROOM = 1024,  /* ... records in all, */
	LOOK_TICKS = 11,   /* ... when the conditionals counted have this bit */
	LOOKS_FURTHER = 4, /* so many times the next look is later by this shift: */
	LOOKS_LATER = 3,
};

static unsigned conditionals_to_stop(const struct task *task)
{
	const struct engine_task *et = task->backend;
	unsigned looks = et->confirms ? 0 : et->looks;

	if (!task->unit->waiting)
		looks += task->unit->yields;
	return LOOKS_LATER * (looks < LOOKS_FURTHER ? looks : LOOKS_FURTHER);
}

static bool is_waited_for(const struct task *task)
{
	const struct unit *u = task->unit;

	return u->tasks > 1 && u->current == task && (u->waiting || u->yields < TURN_YIELDS) &&
	       !task->unwatched;
}

/* With which of the conditionals' bits a task stops that has counted this many so far. */
static uint64_t conditionals_mask(const struct task *task)
{
	const struct engine_task *et = task->backend;

	return TICKS_MASK | (et->looks <= LOOKS_FURTHER
				     ? UINT64_C(1) << (LOOK_TICKS + conditionals_to_stop(task))
				     : 0);
}

static struct turn_watch watch_of(const struct task *task)
{
	uint64_t spins = (uint64_t)LOOK_SPINS << conditionals_to_stop(task);

	return (struct turn_watch){.spins_from = spins,
				   .spins = spins,
				   .pauses = (uint64_t)LOOK_PAUSES << conditionals_to_stop(task)};
}

bool cache_is_watched(const struct engine_task *et)
{
	return et->waited_for && et->looks <= LOOKS_FURTHER;
}

uint64_t cache_watch_turn(const struct task *task, struct context *ctx, uint64_t ahead)
{
	struct engine_task *et = task->backend;
	uint64_t most =
		et->ticks ? TICKS_AHEAD + (UINT64_C(1) << LOOK_TICKS) : LOOK_ROOM * RECORD_TICKS;

	et->waited_for = is_waited_for(task);
	if (!et->waited_for)
		return ahead;
	ctx->turn = watch_of(task);
	ctx->turn.waited = 1;
	et->watched_later = conditionals_to_stop(task);
	most <<= conditionals_to_stop(task);
	return ahead < most ? ahead : most;
}

void engine_waited_for(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;
	const struct engine_space *es = engine_space_made(task);
	const struct turn_watch watch = watch_of(task);
	const uint64_t waited = 1, mask = conditionals_mask(task);

	(void)b;
	if (!et->in_cache || et->stop_wanted ||
	    (et->waited_for && et->watched_later == conditionals_to_stop(task)))
		return;
	et->waited_for = true;
	et->watched_later = conditionals_to_stop(task);
	/* CTX_WAITED is written last, for the code counts only once it is set. If it is set
	 * already, the code may count on from its old count, and the look comes when it was due.
	 */
	(void)!(window_write(&es->window, task->host_tid, engine_window_at(task, CTX_TURN), &watch,
			     sizeof watch) &&
		(!et->ticks ||
		 window_write(&es->window, task->host_tid, engine_window_at(task, CTX_MASK), &mask,
			      sizeof mask)) &&
		window_write(&es->window, task->host_tid, engine_window_at(task, CTX_WAITED),
			     &waited, sizeof waited));
}

struct looked_at {
	struct task *task;
	uint64_t page_at; /* of code that cannot change, the last one */
	const uint8_t *page;
	uint64_t line_at; /* address in its memory that was read last: a read costs much, so a whole
			     line is read ahead */
	size_t line_len;
	uint8_t line[64];
};

static size_t read_spin_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	struct looked_at *l = arg;
	size_t at = addr % BT_PAGE;

	if (!l->page || addr - at != l->page_at) {
		l->page_at = addr - at;
		l->page =
			address_space_fixed_page(l->task->process->space, l->task->host_tid, addr);
	}
	if (!l->page || at + n > BT_PAGE)
		return tracee_read(l->task->host_tid, addr, bytes, n);
	memcpy(bytes, l->page + at, n);
	return n;
}

static size_t read_memory(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	struct looked_at *l = arg;
	size_t at = addr % sizeof l->line;

	if (at + n > sizeof l->line)
		return 0; /* words are aligned */
	if (addr - at != l->line_at || !l->line_len) {
		l->line_at = addr - at;
		l->line_len = tracee_read(l->task->host_tid, l->line_at, l->line, sizeof l->line);
	}
	if (at + n > l->line_len)
		return 0;
	memcpy(bytes, l->line + at, n);
	return n;
}

static void find_task_spin(struct task *task, bool whole, struct spin *spin)
{
	struct looked_at l = {.task = task};
	const struct spin_reader reader = {read_spin_code, read_memory, &l};
	const struct engine_space *es = engine_space_made(task);

	*spin = (struct spin){.kind = SPIN_NOT};
	/* To read memory may be to wait for the program (userfaultfd(2)). */
	if (es && !es->serves_faults && !task->process->space->unread)
		spin_look(&task->regs, &reader, whole, spin);
	spin->tick = task_tick(task);
}

/* A task that counts may be in any short loop of its work, and hold a lock there. So it is looked
 * at again soon: it spins if it has done nothing else, or if a loop around that one changes
 * nothing. */
bool cache_gives_way(struct task *task, const struct stretch *s)
{
	struct engine_task *et = task->backend;
	bool counts_on, gives_way;
	struct spin spin;

	if (!et->waited_for || !is_waited_for(task))
		return false;
	find_task_spin(task, false, &spin);
	counts_on = spin_goes_on(&et->spin, &spin);
	if (spin.kind == SPIN_COUNTS && et->confirms && !counts_on)
		find_task_spin(task, true, &spin);
	gives_way = spin.kind == SPIN_FIXED || counts_on || !s->ctx.turn.pauses;
	et->confirms = spin.kind == SPIN_COUNTS && !gives_way;
	if (counts_on)
		et->looks = et->counts_on ? et->looks + 1
					  : 0; /* by itself: it has to come to its end, too */
	else
		et->looks = gives_way ? 0 : et->looks + 1;
	et->counts_on = counts_on;
	et->spin = spin;
	return gives_way;
}

bool engine_still_spins(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;
	struct spin spin;

	(void)b;
	if (et->spin.kind != SPIN_FIXED || et->holds || task->pending_signal || task->mid_run ||
	    task->process->stop_wanted)
		return false;
	find_task_spin(task, false, &spin);
	return spin.kind == SPIN_FIXED;
}
