/* SPDX-License-Identifier: MIT */
/* The software engine: application code runs translated, in a code cache inside the traced process.
 * The stepper executes everything else at the application's own addresses, an instruction at a
 * time: system calls, deliveries of signals, faults, instructions that are not for the cache. So
 * the kernel and the program see only application state.
 *
 * engine_resume() sends a task into the cache (cache_enter()), or steps it where a signal is to be
 * delivered or a system call goes on. At a stop et->in_cache says who ran it. Behind a step of the
 * stepper the task goes into the cache again, unless the supervisor has to know (meaning_of()).
 *
 * In the cache there are three stops.
 * - A trap of ours (on_trap()): for a fragment that is missing, room for records, an instruction
 *   that is not for the cache, a stop that was wanted, or a function at which tasks are stopped.
 * - A signal (on_signal()). If the instruction may have raised it, the task leaves the cache and
 *   executes it once more at its application address, so that siginfo is authentic
 *   (engine_signals_raise_again()).
 * - An interruption (cache_interrupted()): the supervisor wants a task that may wait in a system
 *   call; or the task has run long enough for signals of its timers to come again.
 *
 * A signal that came where the application's state cannot be found is held until the next trap of
 * ours (engine_signals.c). engine_stop_soon() asks for such a trap. */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "collector/backend/engine/region_syscalls.h"
#include "collector/backend/engine/watch.h"
#include "collector/task/cut_transfer.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"

/* ---- The stepper, for what the cache does not do ---- */

int engine_step(struct backend *b, struct task *task, int signo, enum bt_signal_action action)
{
	const struct engine_space *es =
		engine_space_made(task); /* also of one that is only stepped there */
	struct engine_task *et = task->backend;
	int rc;

	engine_set_in_cache(et, false);
	et->opened = es ? es->opened : 0;
	rc = stepper_ops.resume(b, task, signo, action);
	stepper_stop_behind(task);
	return rc;
}

static enum backend_stop step_engine_task(struct backend *b, struct task *task,
					  const struct wait_event *ev, siginfo_t *info)
{
	enum backend_stop stop = stepper_ops.stopped(b, task, ev, info);

	stepper_stop_behind(task);
	return stop;
}

/* ---- Stops ---- */

/* Drops the fragments at pc, whose code has changed. Others made from those bytes go when the bytes
 * are read again. */
static void drop_fragment_at(struct code_cache *c, uint64_t pc)
{
	for (int counting = 0; counting < 2; counting++) {
		uint32_t fragment = code_cache_find_of(c, pc, counting);

		if (fragment != FRAGMENT_NONE)
			code_cache_drop_fragment(c, fragment);
	}
}

/* The task stands where its state is known: reports a held signal, or the stop that was wanted. */
static enum backend_stop report_stop(struct task *task, siginfo_t *info)
{
	struct engine_task *et = task->backend;

	if (!et->holds || stepper_keep_trap(task, &et->held, true)) {
		et->holds = et->stop_wanted = false;
		return BACKEND_SLICE;
	}
	et->holds = false;
	return engine_signals_deliver(task, info, &et->held);
}

static void engine_stop_soon(struct backend *b, struct task *task)
{
	enum {
		PATIENCE = 4, /* mostly a safe point, or the end of the room for records, comes
				 within a millisecond */
	};
	struct engine_task *et = task->backend;
	const uint64_t now[3] = {UINT64_MAX, 1,
				 et->ticks ? UINT64_MAX
					   : 0}; /* limit (where history is kept), stop, mask */
	struct engine_space *es = engine_space_made(task);
	uint64_t calling = 0;

	(void)b;
	et->looks = 0;
	et->confirms = false;
	et->asked = et->stop_wanted ? et->asked + 1 : 0;
	et->stop_wanted = true;
	if (!et->in_cache)
		stepper_interrupt_call(task);
	if (!et->in_cache || !es)
		return;
	if (!window_write(&es->window, task->host_tid, engine_window_at(task, CTX_LIMIT), now,
			  sizeof now)) {
		et->stop_wanted = false; /* gone */
		return;
	}
	/* The task says that it is about to call before it looks whether a stop is wanted. */
	atomic_thread_fence(memory_order_seq_cst);
	/* Asked again and again it may be in a page fault that another task is to serve
	 * (userfaultfd(2)), of those that wait for it. */
	if (et->asked >= PATIENCE ||
	    (window_read(&es->window, task->host_tid, engine_window_at(task, CTX_CALLING), &calling,
			 sizeof calling) &&
	     calling))
		(void)!tracee_resume(task->host_tid, PTRACE_INTERRUPT, 0);
}

/* The meaning of a stop, by the result of resuming its task. */
static enum backend_stop resume_result(int rc)
{
	return rc == CACHE_WAITS ? BACKEND_SLICE : rc ? BACKEND_GONE : BACKEND_RUNS;
}

/* The application's state was not found: goes on to the next trap of the cache's own, unless
 * another stop is to be waited for. */
static enum backend_stop go_on(struct backend *b, struct task *task, const struct stretch *s)
{
	engine_stop_soon(b, task);
	return s->far && !engine_run(b, task) ? BACKEND_RUNS : BACKEND_GONE;
}

/* Whether a call may have been refused in the cache for want of room alone, which there is now:
 * beside each that writes to the log as much as one may stays free (LOG_OF_CALL). */
static bool lacked_room(const struct engine_space *es, const struct stretch *s)
{
	const uint64_t log = s->ctx.log_next + LOG_BYTES;

	return es->cache->kind.logged &&
	       ((int64_t)s->ctx.syscall_next > -(SYSCALL_NOTES_FREE + LOGGED_BYTES) ||
		(log <= LOG_BYTES && log > LOG_BYTES - LOG_OF_CALL));
}

/* A trap of the cache's own: on into the cache, or out of it. */
static enum backend_stop on_trap(struct backend *b, struct task *task, struct engine_space *es,
				 struct stretch *s, siginfo_t *info)
{
	struct engine_task *et = task->backend;
	bool indirect;
	int rc;

	if (cache_stay(b, task, &s->regs) || cache_make_room(b, task, s))
		return engine_run(b, task) ? BACKEND_GONE : BACKEND_RUNS;
	if (!stretch_at_trap(task, es, s))
		return go_on(b, task, s);
	if (stretch_leave(b, task, es, s))
		return BACKEND_GONE;
	if (et->holds || et->stop_wanted || task_function_stop(task) ||
	    (et->counting && stop_point_side(task) != STOP_POINT_AHEAD))
		return tracee_set_regs(task->host_tid, &task->regs) ? BACKEND_GONE
								    : report_stop(task, info);
	if (s->kind == EXIT_STOP && et->counting)
		et->idle++; /* it may be at the branch that it was to come to */
	if (s->kind == EXIT_STOP && cache_gives_way(task, s))
		return tracee_set_regs(task->host_tid, &task->regs) ? BACKEND_GONE : BACKEND_SPINS;
	indirect = s->arrival == ARRIVED_INDIRECT;
	if (s->kind == EXIT_CHANGED)
		drop_fragment_at(es->cache, task->regs.rip);
	et->straight = s->kind != EXIT_OUTSIDE || lacked_room(es, s);
	if (!et->straight)
		rc = tracee_set_regs(task->host_tid, &task->regs)
			     ? -BT_E_GONE
			     : engine_step(b, task, 0, BT_ACTION_IGNORE);
	else
		rc = cache_enter(b, task, indirect);
	return resume_result(rc);
}

/* The task writes to a watched page: gives the page back, and steps the instruction at its
 * application address, as it may write to its own page. */
static enum backend_stop watched_write(struct backend *b, struct task *task,
				       struct engine_space *es, uint64_t addr)
{
	struct engine_task *et = task->backend;

	if (es->parallel &&
	    engine_space_is_busy(
		    es, task)) { /* others may be running the code that it is about to change */
		es->quiesce = true;
		et->opens = addr;
		return BACKEND_SLICE;
	}
	switch (watch_open(b, task, es, addr, addr + 1, false)) {
	case WATCH_GONE:
		return BACKEND_GONE;
	case WATCH_INTERRUPTED:
		return BACKEND_RUNS;
	case WATCH_NOT: /* the kernel does not let us: nothing better is left */
		return BACKEND_SIGNAL;
	default:
		return engine_step(b, task, 0, BT_ACTION_IGNORE) ? BACKEND_GONE : BACKEND_RUNS;
	}
}

static int engine_resume(struct backend *b, struct task *task, int signo,
			 enum bt_signal_action action)
{
	struct engine_space *es = engine_space_made(task);
	struct engine_task *et = task->backend;

	if (engine_signals_end_wait(task)) /* it was stopped meanwhile */
		return -BT_E_GONE;
	engine_signals_post_held(task);
	if (es && es->parallel && !es->refused)
		engine_space_join(es, task);
	if (et->syscall_alone && watch_before_syscall(b, task, true))
		return -BT_E_GONE;
	et->syscall_alone = false;
	if (signo && watch_before_signal(b, task, action))
		return -BT_E_GONE;
	if (et->signal_first && !signo) {
		et->signal_first = false;
		engine_set_in_cache(et, false);
		return stepper_take_signal(b, task);
	}
	if (signo || task->in_syscall || task->syscall_restarts || task->transfer.rewound)
		return engine_step(b, task, signo, action);
	return cache_enter(b, task, false);
}

/* A fault of the cache's own: the program has written over memory that the cache needs. The program
 * gets the signal, near where it was; should it go on, it does so in a region that is made anew. */
static enum backend_stop wrecked_cache(const struct backend *b, struct task *task,
				       struct engine_space *es, struct stretch *s)
{
	stretch_guess_state(task, es, s);
	s->lost = s->wrecked = true;
	es->torn = true;
	backend_note(b, task,
		     "the program has changed the code cache's memory: the fault is the cache's "
		     "own, the registers are not exact");
	return stretch_leave(b, task, es, s) || tracee_set_regs(task->host_tid, &task->regs)
		       ? BACKEND_GONE
		       : BACKEND_SIGNAL;
}

/* A fault that came in the midst of a sequence is the cache's own where the program has taken away
 * what that needs; else it was sent, and waits for the next trap of the cache's own. */
static bool is_wreck(const struct engine_task *et, const siginfo_t *info)
{
	return et->holds ||
	       (uint64_t)(uintptr_t)info->si_addr - WORLD_RESERVED_START < WORLD_RESERVED_SIZE;
}

/* A signal while the task was in the cache. After a fault the instruction is executed again at its
 * application address, so that siginfo is authentic. */
static enum backend_stop on_signal(struct backend *b, struct task *task, struct engine_space *es,
				   struct stretch *s, siginfo_t *info)
{
	struct engine_task *et = task->backend;

	if (engine_signals_recognize_posted(task, info))
		return BACKEND_GONE;
	s->fault = tracee_is_fault(info) && info->si_signo != SIGTRAP;
	if (!stretch_find_state(task, es, s)) {
		if (s->fault && is_wreck(et, info))
			return wrecked_cache(b, task, es, s);
		/* Another stop comes first, or the place is far: the signal waits for the next trap
		 * of the cache's own. */
		engine_signals_hold(et, info);
		s->far |= s->fault;
		return go_on(b, task, s);
	}
	if (stretch_leave(b, task, es, s) || tracee_set_regs(task->host_tid, &task->regs))
		return BACKEND_GONE;
	if (watch_is_fault(es, info))
		return watched_write(b, task, es, (uint64_t)(uintptr_t)info->si_addr);
	cache_syscalls_interrupted(task, s);
	/* The page can be executed, but not read (pkeys(7)). */
	if (s->compares && s->fault && info->si_code == SEGV_PKUERR)
		return engine_step(b, task, 0, BT_ACTION_IGNORE) ? BACKEND_GONE : BACKEND_RUNS;
	if (stepper_keep_trap(task, info, false))
		return resume_result(engine_resume(b, task, 0, BT_ACTION_IGNORE));
	if (!task->syscall_restarts && !task->syscall_cut &&
	    engine_signals_may_be_raised(task, info))
		return engine_signals_raise_again(b, task, info) ? BACKEND_GONE : BACKEND_RUNS;
	if (engine_signals_is_to_wait(b, task, info))
		return engine_signals_let_wait(b, task, info);
	cache_syscalls_signalled(task, info);
	task->signal_sent = true;
	return tracee_set_siginfo(task->host_tid, info) ? BACKEND_GONE : BACKEND_SIGNAL;
}

/* engine_stop_soon() has interrupted it: it may have been waiting in a system call, which is made
 * again. */
static enum backend_stop cache_interrupted(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;
	struct engine_space *es = engine_space_made(task);
	struct tracee_signals signals;
	struct stretch s = {0};

	if (et->ends_pace && stepper_end_pace(task, true))
		return BACKEND_GONE;
	if (et->ends_pace && !et->stop_wanted) { /* nobody else asked */
		et->ends_pace = false;
		return engine_run(b, task) ? BACKEND_GONE : BACKEND_RUNS;
	}
	et->ends_pace = false;
	if (tracee_signals(task->host_tid, &signals) || tracee_get_regs(task->host_tid, &s.regs))
		return BACKEND_GONE;
	/* A signal that waits already comes first: it may be a trap or a fault of the cache's. */
	if (et->holds || (signals.pending | signals.shared_pending) & ~signals.blocked)
		return engine_run(b, task) ? BACKEND_GONE : BACKEND_RUNS;
	if (!stretch_find_state(task, es, &s))
		return go_on(b, task, &s);
	if (stretch_leave(b, task, es, &s))
		return BACKEND_GONE;
	cache_syscalls_interrupted(task, &s);
	/* QUIRK(interrupt-eintr) */
	if (task->syscall_cut)
		cut_syscall_again(task);
	task->syscall_restarts |= task->syscall_cut;
	task->syscall_cut = false;
	if (tracee_set_regs(task->host_tid, &task->regs))
		return BACKEND_GONE;
	et->stop_wanted = false;
	return BACKEND_SLICE;
}

static enum backend_stop cache_stopped(struct backend *b, struct task *task, siginfo_t *info)
{
	struct engine_space *es = engine_space_made(task);
	struct stretch s = {0};
	int swept;

	if (tracee_get_siginfo(task->host_tid, info) || tracee_get_regs(task->host_tid, &s.regs))
		return BACKEND_GONE;
	swept = sweep_stopped(b, task, info, &s.regs);
	if (swept)
		return swept < 0 ? BACKEND_GONE : BACKEND_RUNS;
	if (stretch_is_own_trap(es->cache, info, &s.regs))
		return on_trap(b, task, es, &s, info);
	if (cache_syscalls_fault(task, es, info, &s.regs))
		return tracee_set_regs(task->host_tid, &s.regs) || engine_run(b, task)
			       ? BACKEND_GONE
			       : BACKEND_RUNS;
	/* QUIRK(event-stop-first): the end of a step to the next place that had been given up. */
	if (info->si_signo == SIGTRAP && tracee_may_have_stepped(info) &&
	    stretch_is_in_code(&s.regs))
		return engine_run(b, task) ? BACKEND_GONE : BACKEND_RUNS;
	return on_signal(b, task, es, &s, info);
}

/* ---- The interface ---- */

static int engine_task_init(struct backend *b, struct task *task)
{
	struct engine_task *et = calloc(1, sizeof *et);

	if (!et)
		return -BT_E_NO_MEMORY;
	if (task->history)
		task->log = branch_log_new(task->history, &task->ring.now, &b->processor);
	if ((task->history && !task->log) || stepper_ops.task_init(b, task)) {
		free(et);
		return -BT_E_NO_MEMORY;
	}
	task->backend = et;
	return 0;
}

static void engine_task_release(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;

	if (!et)
		return;
	cache_keep(b, task);
	cache_syscalls_forget_task(task);
	watch_forget_task(task);
	engine_space_leave(task);
	stepper_ops.task_release(b, task);
	free(et);
	task->backend = NULL;
}

static int engine_proceed(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;
	int rc;

	if (et->in_cache)
		return stepper_go_on(task) || engine_run(b, task) ? -BT_E_GONE : 0;
	rc = stepper_ops.proceed(b, task);
	stepper_stop_behind(task);
	return rc;
}

static void engine_leave(struct backend *b, struct task *task)
{
	struct engine_space *es = engine_space_made(task);

	watch_forget_task(task);
	(void)!engine_signals_end_wait(task);
	/* Pages that cannot be given back stay protected: the task is gone. */
	if (es && es->mapped)
		(void)!watch_open(b, task, es, 0, UINT64_MAX,
				  tracee_syscall_stop(task->host_tid, NULL) ==
					  TRACEE_SYSCALL_ENTRY);
	stepper_ops.leave(b, task);
}

static void engine_rest(struct backend *b, struct task *task)
{
	engine_signals_keep_held(task);
	stepper_ops.rest(b, task);
}

static void engine_execed(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;

	cache_keep(b, task);
	watch_forget_task(task);
	engine_space_leave(task);
	stepper_ops.execed(b, task);
	engine_set_in_cache(et, false);
}

/* Whether a call of the vsyscall page has failed because its result goes to a protected page. The
 * kernel does not say which page. */
static bool vsyscall_writes(const struct engine_space *es, const struct task *task,
			    const siginfo_t *info, uint64_t *addr)
{
	enum {
		RESULT_MAX = 16, /* struct timeval, struct timezone; time_t; two words */
	};
	const uint64_t args[] = {task->regs.rdi, task->regs.rsi, task->regs.rdx};

	if (info->si_signo != SIGSEGV || info->si_code <= 0 || !tracee_is_in_vsyscall(&task->regs))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(args); i++) {
		const struct watched_page *p =
			watched_protected(&es->watch, args[i], args[i] + RESULT_MAX);

		if (p) {
			*addr = p->addr;
			return true;
		}
	}
	return false;
}

/* A signal while the stepper had the task. */
static enum backend_stop step_signalled(struct backend *b, struct task *task, siginfo_t *info)
{
	struct engine_space *es = engine_space_made(task);
	uint64_t addr;

	if (engine_signals_recognize_posted(task, info))
		return BACKEND_GONE;
	if (es && vsyscall_writes(es, task, info, &addr))
		return watched_write(b, task, es, addr);
	if (es && watch_is_fault(es, info))
		return watched_write(b, task, es, (uint64_t)(uintptr_t)info->si_addr);
	if (es && es->parallel && info->si_signo == SIGSEGV && info->si_code > 0 &&
	    ((struct engine_task *)task->backend)->opened != es->opened)
		return engine_step(b, task, 0, BT_ACTION_IGNORE)
			       ? BACKEND_GONE
			       : BACKEND_RUNS; /* the page may have been given back meanwhile */
	if (info->si_signo == SIGSEGV && info->si_code > 0 && stepper_hides_fault(task))
		return stepper_fault_again(task) ? BACKEND_GONE : BACKEND_RUNS;
	if (engine_signals_is_to_wait(b, task, info))
		return engine_signals_let_wait(b, task, info);
	return BACKEND_SIGNAL;
}

static void tell_scribbled(const struct backend *b, const struct task *task)
{
	struct engine_space *es = engine_space_made(task);

	if (!es || !es->scribbled || es->scribbled_told)
		return;
	es->scribbled_told = true;
	backend_note(b, task,
		     "the program has changed what the engine keeps of it: the registers, most of "
		     "all r11 and rcx, may not be exact from here on");
}

static void engine_exiting(struct backend *b, struct task *task, const struct bt_regs *regs)
{
	struct engine_task *et = task->backend;
	struct stretch s = {.regs = *regs};

	if (!et->in_cache) {
		if (!stretch_is_in_code(
			    regs)) /* else it was killed on its way out of the cache or into it */
			stepper_ops.exiting(b, task, regs);
		return;
	}
	stretch_guess_state(task, engine_space_made(task), &s);
	(void)!stretch_leave(b, task, engine_space_made(task), &s);
	tell_scribbled(b, task);
}

static enum backend_stop meaning_of(struct backend *b, struct task *task,
				    const struct wait_event *ev, siginfo_t *info)
{
	struct engine_task *et = task->backend;
	const bool was_unseen = task->in_unseen_call;
	enum backend_stop stop;

	if (et->in_cache) {
		task->signal_from = 0; /* no call is made there that could be dispatched */
		stop = ev->type == WAIT_INTERRUPT ? cache_interrupted(b, task)
						  : cache_stopped(b, task, info);
		tell_scribbled(b, task);
		return stop;
	}
	stop = step_engine_task(b, task, ev, info);
	if (et->waits)
		stop = engine_signals_waiting_stopped(task, stop);
	if (engine_signals_raise_stopped(b, task, info, &stop))
		return stop;
	if (stop == BACKEND_SYSCALL_ENTER) {
		cache_syscalls_entered(task);
		if (watch_before_syscall(b, task, false))
			return BACKEND_GONE;
	}
	if (stop == BACKEND_SYSCALL_EXIT) {
		engine_signals_tell_waited(task);
		cache_syscalls_left(task);
		watch_after_syscall(task);
		region_after_syscall(b, task);
		et->signal_first = engine_signals_comes_first(task);
	}
	if (stop == BACKEND_SIGNAL)
		return step_signalled(b, task, info);
	if (stop != BACKEND_SLICE)
		return stop;
	if (et->holds && ev->type == WAIT_INTERRUPT) /* no signal can be given to it at such a stop:
							engine_signals_post_held() */
		return BACKEND_SLICE;
	if (et->holds || et->stop_wanted || was_unseen ||
	    stop_point_side(task) != STOP_POINT_AHEAD || task_function_stop(task))
		return report_stop(task, info);
	return resume_result(cache_enter(b, task, false));
}

static enum backend_stop engine_stopped(struct backend *b, struct task *task,
					const struct wait_event *ev, siginfo_t *info)
{
	enum backend_stop stop = meaning_of(b, task, ev, info);

	if (stop == BACKEND_SIGNAL) /* the stepper does not know of those that came in the cache */
		stepper_note_stop(task, stop, info);
	return stop;
}

/* One that is out of the cache will look itself, on its way into it. */
static void engine_due(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;

	(void)b;
	if (!et->in_cache || !stepper_pace_is_over(task))
		return;
	et->ends_pace = true;
	(void)!tracee_resume(task->host_tid, PTRACE_INTERRUPT, 0);
}

static enum backend_company engine_company(const struct backend *b, const struct task *task)
{
	const struct engine_task *et = task->backend;

	(void)b;
	if (task->pending_signal &&
	    task->pending_action ==
		    BT_ACTION_CORE) /* a core file has the registers of all of them */
		return COMPANY_NONE;
	if (task->process->signals_held) /* it may be about to look at them, or have just unblocked
					    one */
		return task->in_syscall ? COMPANY_NONE : COMPANY_TURNS;
	if (task->in_syscall)
		return et->syscall_alone ? COMPANY_NONE : COMPANY_ANY;
	return engine_space_company(task);
}

static bool engine_arrive(struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;
	siginfo_t info;

	return et->in_cache && cache_stopped(b, task, &info) == BACKEND_RUNS;
}

static void engine_close(struct backend *b)
{
	engine_shared_free(b->shared);
	b->shared = NULL;
}

const struct backend_ops engine_ops = {
	.name = "engine",
	.source = "bits",
	.tick_classes = BT_TICK_JCC | BT_TICK_JRCXZ | BT_TICK_LOOP,
	.task_init = engine_task_init,
	.task_release = engine_task_release,
	.resume = engine_resume,
	.proceed = engine_proceed,
	.stop_at = stepper_stop_at, /* it steps when it is near */
	.stop_soon = engine_stop_soon,
	.due = engine_due,
	.waited_for = engine_waited_for,
	.still_spins = engine_still_spins,
	.company = engine_company,
	.leave = engine_leave,
	.rest = engine_rest,
	.forked = watch_forked,
	.execed = engine_execed,
	.exiting = engine_exiting,
	.arrive = engine_arrive,
	.stopped = engine_stopped,
	.close = engine_close,
};
