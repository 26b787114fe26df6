/* SPDX-License-Identifier: MIT */
/* Shared by the engine's source files, and nobody else: engine_space.c keeps its part of an address
 * space, cache_entry.c brings a task into the cache, cache_stretch.c out of it, engine.c decides
 * what its stops mean. engine_signals.c keeps signals that cannot be reported where they come. A
 * task's part is struct engine_task, an address space's is struct engine_space. Outside a stretch
 * in the cache task->regs are the application's. */
#ifndef BT_ENGINE_PRIVATE_H
#define BT_ENGINE_PRIVATE_H

#include "collector/backend/backend.h"
#include "collector/backend/engine/cache/code_cache.h"
#include "collector/backend/engine/cache/descriptors.h"
#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/cache/logged_calls.h"
#include "collector/backend/engine/cache/window.h"
#include "collector/backend/engine/persist/left_caches.h"
#include "collector/backend/engine/persist/profile.h"
#include "collector/backend/engine/spin.h"
#include "collector/backend/engine/translate/translator.h"
#include "collector/backend/engine/written_code/watched_pages.h"
#include "collector/backend/step/stepper.h"
#include "lib/logged_call.h"

enum {
	RECORD_SIZE = RECORD_BYTES,
	RECORDS_READ = 4096, /* at once: 64 KiB stay in a near cache until they are counted */
};

/* Counts of the cache's code while others wait for the turn. It lies in the tracee (layout.h), as
 * does the context: */
struct turn_watch {
	uint64_t spins, spins_from, spin_next, pauses, waited;
};

/* The context. The program can write any number there: negative offsets are kept as unsigned
 * numbers, as sums of these wrap around. */
struct context {
	uint64_t spill, rax, rcx, bits, r11;
	uint64_t next;
	uint64_t limit, stop, mask, back, flags, entry, rdx;
	uint64_t syscalls;
	uint64_t syscall_next;
	uint64_t slots[CTX_SLOT_COUNT];
	uint64_t from;
	uint64_t r10;
	uint64_t calling;
	uint64_t table;
	uint64_t cpuid;
	uint64_t sample;
	uint64_t heap, code_bytes;
	uint64_t device;
	struct turn_watch turn;
	uint64_t lent[LENT_COUNT];
	uint64_t log_next;
	uint64_t answer;
	uint32_t answer_ticks, answer_noted;
	uint64_t stream;
	uint64_t ticks_left, transfers_left, stop_block;
	uint64_t own_results;
	uint64_t rbx;
};
_Static_assert(sizeof(struct context) == CTX_SIZE, "layout.h");
_Static_assert(sizeof(struct branch_log_record) == RECORD_BYTES, "layout.h");

/* A system call made in the cache, as the cache's code notes it. */
struct syscall_note {
	uint32_t nr;
	int32_t next;  /* CTX_NEXT then: the records before it */
	uint64_t bits; /* conditionals since the last of those, as in a record */
	uint64_t result;
};

/* The first arguments of the call that is noted next. */
struct args_note {
	uint32_t marker; /* NOTE_OF_ARGS */
	uint32_t pages;  /* the third one */
	uint64_t args[2];
};
/* All arguments of the call that is noted before, which has failed. */
struct failed_note {
	uint32_t marker; /* NOTE_OF_FAILURE */
	uint16_t ends[FAILURE_PIECES];
	uint64_t args[SYSCALL_ARGS];
	/* the memory behind pointers among them */
};
/* Of the call that is noted before, where a log is kept. */
struct logged_note {
	uint32_t marker; /* NOTE_OF_LOG */
	uint32_t stream;
	uint64_t args[SYSCALL_ARGS];
	uint32_t lengths[BT_LOGGED_DATA];
	int32_t data; /* from LOG_END */
	uint32_t unused_too;
};
/* Of rdtscp and CPUID, behind the note. */
struct registers_note {
	uint32_t ecx, ebx;
	uint64_t unused[2];
};
_Static_assert(sizeof(struct registers_note) == NOTE_SIZE, "layout.h");
_Static_assert(sizeof(struct logged_note) == LOGGED_BYTES && LOGGED_BYTES % NOTE_SIZE == 0,
	       "layout.h");
_Static_assert(sizeof(struct failed_note) == FAILURE_BYTES && FAILURE_LEAST % NOTE_SIZE == 0 &&
		       SYSCALL_NOTES_FREE % NOTE_SIZE == 0,
	       "layout.h");
_Static_assert(sizeof(struct syscall_note) == NOTE_SIZE && sizeof(struct args_note) == NOTE_SIZE,
	       "layout.h");
_Static_assert(SYSCALL_NOTES_BYTES % sizeof(struct syscall_note) == 0,
	       "the last note ends at their end");

/* The next system call, and its answer (backend.h): the bytes that the kernel wrote, and at last
 * the bytes that the program, if it writes for its user, is to have in memory. */
struct answer {
	uint64_t next;
	uint64_t nr, result;
	uint32_t tick, arg_count;
	uint64_t args[SYSCALL_ARGS];
	uint32_t lengths[ANSWER_PIECES], form;
	uint64_t ends[ANSWER_PIECES], data[ANSWER_PIECES];
	uint64_t change;
};
struct answer_change {
	struct bt_logged_change change;
	uint64_t saved[4];
};
_Static_assert(sizeof(struct answer_change) == CHANGE_BYTES, "layout.h");
_Static_assert(sizeof(struct answer) == ANSWER_BYTES && ANSWER_BYTES % LOG_ALIGN == 0, "layout.h");

enum { ANSWERS_MOST = LOG_BYTES / ANSWER_BYTES };

/* The facts of a call, as cache_logged.c found them. They are kept: a program makes millions of
 * calls of a few kinds. */
struct logged_known {
	bool is_known;
	bool stops; /* none is made in the cache */
	unsigned arg_count;
	struct logged_row row;
};

/* The answers that the window has. */
struct answers_there {
	uint64_t passed; /* events before the first */
	size_t count, given;
	bool offered;                  /* to the task, in its stretch */
	uint64_t at[ANSWERS_MOST + 1]; /* CTX_ANSWER of each, and behind the last */
	/* Where history is kept, of those that the stretch has used: */
	size_t noted;
	uint64_t ticks[ANSWERS_MOST];
};

/* The engine's part for all tasks. */
struct engine_shared {
	struct profiles *profiles;
	struct left_caches *left;
};

/* Application code that a cache is to forget. */
struct lost_code {
	uint64_t start, end;
};

/* Where an indirect branch led once. */
struct indirect_visit {
	uint64_t from, to;
};

/* Some of those visits, where no history is kept. */
struct cache_sample {
	uint64_t wanted; /* it is being taken over so many branches, conditionals mostly; 0: it is
			    not */
	uint64_t made;   /* until now */
	struct indirect_visit *list;
	size_t count, room;
};

/* The ranges that system calls in the cache may not touch (cache_mappings.c), as last written to a
 * window. */
struct code_ranges {
	uint32_t region, area,
		code_epoch; /* in which region, and area of it; of which code. region 0: never */
	size_t count;
	struct code_range {
		uint64_t start, end;
	} list[CODE_RANGES];
};
_Static_assert(CODE_RANGES_AT >= CTX_SIZE &&
		       CODE_RANGES_AT + CODE_RANGES * sizeof(struct code_range) <= STATUS_AT,
	       "layout.h");

/* Code of a file of the profile's, mapped here. */
struct profile_map {
	uint64_t start, end, offset;
	int file;
};

/* The profile of a program in an address space. */
struct profile_view {
	struct profile *program;     /* NULL: none */
	uint32_t code_epoch;         /* maps is of this epoch of the code, */
	size_t files;                /* and of the time when so many files had a number */
	struct profile_map maps[32]; /* mappings of its files */
	size_t map_count;
	size_t end, ahead; /* index behind the entries made ahead; the number of these */
};

/* The engine's part of an address space. */
struct engine_space {
	struct code_cache *cache;
	struct left_program program;   /* the cache's program: a later process may run it, too */
	struct left_caches *left;      /* the caches of processes that are gone; NULL */
	struct code_pages *left_pages; /* code pages that a later process may have, too; NULL: the
					  cache is not left to any */
	bool leaves; /* code diverged from that of the other users of the shared cache: copy the
			cache before resuming */
	struct lost_code
		lost[16]; /* code that the copy is to forget; the last piece may stand for many */
	size_t lost_count;
	struct profile_view profile; /* of its program */
	struct profile_view similar; /* a similar program's profile, if its own program has none */
	bool knew;                   /* the profile was exact at the beginning */
	bool learns;                 /* fragments that run become entries of the profile */
	uint32_t noted;              /* stops that became entries */
	struct window window;
	/* Where tasks run side by side: */
	bool parallel;
	bool quiesce; /* all tasks are to leave the cache before any goes on, so that something of
			 it can change */
	bool turns;   /* tasks take turns in the first data area: memory for others cannot be had */
	bool turns_told;
	bool area_used[AREAS];       /* by a task */
	uint32_t area_tables[AREAS]; /* the region whose tables are mapped there (regions) */
	uint32_t regions;            /* times that the region was made */
	uint64_t opened;             /* times that watched pages were given back */
	bool mapped;
	unsigned harming; /* calls under way that may harm the region: no task runs in it */
	uint64_t unmade;  /* pc of the last fragment that could not be made; 0 */
	bool torn; /* the program has unmapped a part of the region, or the like: it is to be made
		      anew */
	bool scribbled, scribbled_told; /* the program has written over a context or records */
	uint8_t attempts;               /* to make the region, in vain */
	bool refused;                   /* there is no room for the region: everything is stepped */
	bool filtered; /* the program has a filter that may look at a call's address: no calls are
			  made in the cache */
	bool shares_file;   /* a call in the cache may have made a shared mapping of a file that the
			       space does not know yet */
	bool serves_faults; /* the program may serve page faults itself (userfaultfd(2)) */
	bool ignores_faults; /* it may ignore SIGSEGV or SIGBUS: at a fault of the routines' the
				kernel would undo that */
	bool cpuid_traps;    /* the program may have made CPUID trap: it is left to the processor */
	struct descriptors descriptors;
	uint64_t words; /* bytes written to descriptor 2 in the cache and taken so far */
	pid_t adopted;  /* a task that ran here unseen (--from); 0: everything has been seen */
	bool shared; /* more than one task has run in it: a fork's copy of the region may be newer
			than its source */
	struct branch_log_record *records; /* room to read them into */
	struct syscall_note *notes;        /* likewise */
	uint8_t *log;                      /* likewise, if a log is kept */
	struct logged_known *logged;       /* then: facts of calls, by number; owned */
	struct answers_there *answers;     /* NULL: none are known beforehand */
	struct code_ranges code_ranges;
	struct watched_pages watch;
	struct engine_task *in_syscalls; /* tasks that are in system calls */
	struct engine_task *tasks;       /* whose records may refer to its segments */
	unsigned inside;                 /* tasks of the list that are in the cache */
	struct cache_sample sample;
	size_t dead_wanted; /* dead segments at which they are collected; 0: not set yet */
};

/* Where a step in the cache's code has left TF. */
enum sweep_shows {
	SWEEP_NOTHING,
	SWEEP_PUSHED, /* TF in the flags that were pushed */
	SWEEP_R11,    /* TF in r11 */
};

struct engine_task {
	bool in_cache;
	uint64_t begin; /* address at which its stretch began */
	bool roomed;    /* records of the stretch have been taken over meanwhile, */
	struct branch_log_record roomed_last; /* the last of which was this, as it was written */
	uint32_t room; /* for the stretch's records, in bytes: the last of those that there are */
	size_t sample_room;   /* arrivals that could be noted in the stretch */
	uint64_t ticks_start; /* if only ticks are counted: r11 at the stretch's beginning; it
				 counts on from there */
	uint32_t begin_generation, begin_epoch; /* of the segments, and of the code, at its
						   beginning: its branches are read by these */
	uint32_t area; /* the data area that is its own where tasks run side by side; AREAS: none */
	uint32_t runs_in; /* the one it runs in, or did last */
	uint64_t opened;  /* the space's count when it was last resumed */
	uint64_t opens; /* it has written there, on a watched page; 0: nowhere. When it is alone the
			   page is given back */
	bool ticks;     /* no history is kept of it */
	bool counting;  /* it is near its stop point: in fragments that count down to that */
	unsigned asked; /* requests to stop after the first one */
	bool stop_wanted;
	unsigned idle;   /* stretches in a row that ended before anything had run */
	bool waited_for; /* others wait for the turn that it has in the cache, and it knows; */
	unsigned watched_later; /* a shift: the delay of this look, relative to the first look's */
	unsigned looks;         /* looks that found that it does not spin (cache_spin.c) */
	struct spin spin;       /* the result of the last look; */
	bool confirms;  /* it counted, and a second look comes soon, at whether it has done nothing
			   else, */
	bool counts_on; /* ... and it has not */
	struct descriptors_task descriptors;
	uint64_t counted;      /* branches, in stretches of which no history is kept */
	uint64_t predicted_at; /* number of branches made at the last look for predictions */
	bool looked_at;        /* the descriptors of a task that ran unseen have been looked at */
	uint64_t gs_base, orig_rax; /* the application's, while it is in the cache */
	bool straight;   /* out of the cache and into it again: signals are hidden as they were
			    (stepper_hide_trap()), */
	bool hid_faults; /* those of watched pages, too */
	bool holds;      /* a signal that came where it could not be reported */
	bool posted;     /* sent again, when something else came before it could be reported */
	siginfo_t held;
	bool ends_pace; /* it is being interrupted for that (engine_due()) */
	bool waits;     /* the signal that is held does, for an instruction */
	bool raises;    /* the instruction that is being stepped is to raise this again */
	siginfo_t raised;
	uint64_t raise_at; /* its address */
	uint64_t blocks;   /* signals that are blocked while it is raised, or the one that is held
			      waits, and were not before: they come behind it */
	bool signal_first; /* a signal comes before the next instruction */
	struct task *task;
	struct engine_space *space; /* the space that has it in its list of tasks */
	struct engine_task *next_in_space, **link_in_space;
	bool in_syscall; /* in the space's list of those in system calls */
	struct engine_task *next_in_syscall, **link_in_syscall; /* link: the pointer to it */
	bool suspends;      /* its call keeps pages from being watched */
	bool harms;         /* its call may take the region away, or parts of it */
	bool syscall_alone; /* it is at the entry of a call that is made when no other is in the
			       cache */
	struct {
		uint64_t steps;
		enum sweep_shows shows; /* of the step that has been begun */
		bool over;              /* ... to a breakpoint behind the instruction */
	} sweep;                        /* for tests */
};

/* How much room the records of a stretch have at most. */
static inline uint32_t records_room(struct fragment_kind kind)
{
	return RECORDS_BYTES - (kind.logged ? LOG_BYTES : 0);
}

/* How a stretch ended. */
enum arrival {
	ARRIVED_NOWHERE, /* between two instructions */
	ARRIVED_DIRECT,  /* along a branch that has just been executed */
	ARRIVED_INDIRECT,
};

struct stretch {
	struct context ctx;
	struct bt_regs regs; /* raw, then the application's */
	uint64_t bits;
	uint64_t rounds; /* of the cycle at the beginning of which its last record stands, since
			    that */
	bool fault;      /* the stop is one */
	enum arrival arrival;
	enum exit_kind kind;
	bool called;     /* a system call has just been made in the cache, and not been noted */
	bool was_called; /* ... or it has been noted, and is not counted yet */
	bool compares;   /* it was reading the code that a fragment is made from, as the instruction
			    itself may not be allowed to */
	bool lost;       /* its branches since the last record are not known */
	bool far;        /* no place was found in many steps */
	bool undone;     /* its last branch */
	bool damaged;    /* the records make no sense */
	bool wrecked; /* the cache does not work any more: the program has written over memory that
			 it needs */
	size_t records;                /* number of records */
	size_t taken;                  /* of them, into the log */
	struct branch_log_record last; /* of them; its bits are as they were written */
};

/* Whether others of its unit run now: they can be asked to stop, and will. */
static inline bool engine_others_run(const struct task *task)
{
	return task->unit->running > task_runs_code(task);
}

/* ---- engine_space.c ---- */

/* The task's space as it is; NULL where the engine has not made one. */
static inline struct engine_space *engine_space_made(const struct task *task)
{
	return task->process ? task->process->space->extension : NULL;
}

/* The engine's part for all tasks, made now if need be. NULL without memory. */
struct engine_shared *engine_shared_of(struct backend *b);
void engine_shared_free(struct engine_shared *shared); /* of NULL: nothing */

/* The task's space with its region in place (made now, if need be). NULL when it cannot be had. */
struct engine_space *engine_space_of(struct backend *b, struct task *task);

/* Why there is no room for the region. */
enum engine_refusal {
	REFUSED_TAKEN,  /* the program has something there */
	REFUSED_LIMIT,  /* RLIMIT_AS or RLIMIT_DATA */
	REFUSED_FILTER, /* seccomp(2) */
	REFUSED_KERNEL,
};

/* Tells the observer, and the user, that the task's process is single-stepped, and why. */
void engine_refuse(const struct backend *b, const struct task *task, enum engine_refusal why);

/* Whether another task is stopped in the cache, or, if tasks run side by side, may be running
 * anywhere. This one has just left the cache or comes to it. */
bool engine_space_is_busy(const struct engine_space *es, const struct task *task);

/* The kind that the cache's fragments must be of for the task that is about to run. */
struct fragment_kind engine_space_kind(const struct backend *b, const struct engine_space *es);

/* Whether the space cannot go on with its cache as it is. */
bool engine_space_wants_change(const struct backend *b, const struct engine_space *es);

/* In what company the task may run on. */
enum backend_company engine_space_company(const struct task *task);

/* The task is about to enter the cache: maps the tables in its data area if need be, and sets
 * et->runs_in. Returns 0; 1 when another stop came first and is still to be waited for;
 * -BT_E_NO_MEMORY or -BT_E_UNSUPPORTED when it cannot be now; or -BT_E_GONE. */
int engine_space_prepare_area(struct task *task, struct engine_space *es);

/* The offset in the windows of `at` in the window that the task runs in. */
uint64_t engine_window_at(const struct task *task, uint64_t at);

/* Whether engine_space_collect() would do something. */
bool engine_space_has_much_dead(const struct engine_space *es);

/* The task is about to record in this space; the task will not record there any more. */
void engine_space_join(struct engine_space *es, struct task *task);
void engine_space_leave(struct task *task);

/* The task enters the cache, or has left it. */
void engine_set_in_cache(struct engine_task *et, bool in_cache);

/* Frees dead segments when there are many: those that no record refers to; if these are too few,
 * all, after settling the records. The task is about to enter the cache. */
void engine_space_collect(struct engine_space *es, const struct task *task);

/* ---- cache_learn.c ---- */

/* The cache is about to be cleared, or to go: enters the fragments that have run in it into the
 * profile. */
void cache_learn(const struct task *task, struct engine_space *es);

/* The task will run no more in its address space. With the last task the fragments that have run
 * there are entered into the profile, and the cache is kept for the next process. */
void cache_keep(const struct backend *b, struct task *task);

/* ---- cache_prediction.c ---- */

/* Looks at the task's newest branches; if no history is kept, begins a sample or looks at one. A
 * branch that mostly leads to one place gets that as its prediction; a prediction that is mostly
 * wrong goes. The task is about to enter the cache, in which no task is. */
void cache_prediction(const struct backend *b, struct task *task, struct engine_space *es,
		      const struct code_source *source);

/* Whether cache_prediction() is due. */
bool cache_predictions_now(const struct backend *b, const struct task *task,
			   const struct engine_space *es);

/* ---- cache_sample.c ---- */

/* Begins a sample over so many branches, from the next entry on, unless memory is short. The cache
 * has one user, no task is in it, and no history is kept. */
void cache_sample_begin(struct engine_space *es, size_t wanted);
/* Whether the sample has as many branches as were wanted, or no room for more visits. */
bool cache_sample_is_full(const struct cache_sample *s);
void cache_sample_end(struct engine_space *es);
/* For a task that is about to enter the cache: its CTX_SAMPLE; and how many ticks it may run at
 * most, with `ahead` to its stop point. */
uint64_t cache_sample_offset(const struct engine_space *es);
uint64_t cache_sample_ahead(const struct engine_space *es, uint64_t ahead);
/* ... how many transfers it may make without a conditional. */
uint64_t cache_sample_transfers(const struct engine_space *es);
/* The task has left the cache, after so many branches there. Returns 0 or -BT_E_GONE. */
int cache_sample_take(const struct task *task, struct engine_space *es, const struct stretch *s,
		      uint64_t made);
void cache_sample_release(struct cache_sample *s);

/* ---- cache_profile.c ---- */

/* The number of the entry at pc. PROFILE_NONE: there is none, or no profile. */
size_t cache_profile_find(struct profile_view *v, const struct address_space *s, uint64_t pc);

/* The address of entry i in this space, 0: its file is not mapped. */
uint64_t cache_profile_address(struct profile_view *v, const struct address_space *s, size_t i);

/* ---- cache_entry.c ---- */

enum {
	CACHE_WAITS = BACKEND_WAITS,
};

/* Lets the stopped task run in the cache from task->regs, or one step by the stepper where the
 * cache cannot; indirect: it has come there by an indirect branch. Returns 0; CACHE_WAITS: it
 * stands at task->regs, and is to be resumed again when it is alone (engine_space_company()); or
 * -BT_E_GONE. */
int cache_enter(struct backend *b, struct task *task, bool indirect);

/* The task stands at a trap of the cache's own with these registers. If it wants a fragment that
 * can be made of code that does not change, makes it, and puts the task where it would be if the
 * fragment had been there: its stretch goes on. False: the task has to leave the cache. */
bool cache_stay(struct backend *b, struct task *task, const struct bt_regs *raw);

/* The same if the trap is for want of room for records. s->regs are the tracee's; s knows how many
 * records have been taken. */
bool cache_make_room(struct backend *b, struct task *task, struct stretch *s);

/* ---- cache_spin.c ---- */

/* For a task that is about to enter the cache with this context, `ahead` ticks before its stop
 * point. If others wait for its turn, it will stop now and then so that one sees whether it spins.
 * Returns how many ticks it may run at most. */
uint64_t cache_watch_turn(const struct task *task, struct context *ctx, uint64_t ahead);

/* Whether the task will stop so. */
bool cache_is_watched(const struct engine_task *et);

/* The task has left the cache with this stretch, at a trap that may be such a stop. Whether it
 * spins, and is to give up its turn. */
bool cache_gives_way(struct task *task, const struct stretch *s);

/* backend_ops. */
void engine_waited_for(struct backend *b, struct task *task);
bool engine_still_spins(struct backend *b, struct task *task);

/* ---- cache_syscalls.c ---- */

/* For a task that is about to enter the cache with its unit's turn and this context: sets what is
 * granted to system calls there (ctx->syscalls: enum syscall_policy), and what they are judged by.
 */
void cache_syscalls_grant(const struct backend *b, struct task *task, struct engine_space *es,
			  struct context *ctx);

/* The task is at the entry or the exit of a system call that is made at a stop. */
void cache_syscalls_entered(struct task *task);
void cache_syscalls_left(struct task *task);

/* The task is gone. */
void cache_syscalls_forget_task(struct task *task);

/* The task has just left the cache, where a signal or a stop of ours may have interrupted its call:
 * sets whether the kernel will make the call again. */
void cache_syscalls_interrupted(struct task *task, const struct stretch *s);

/* Corrects siginfo of a signal that the task got in the cache, if it tells of a call. */
void cache_syscalls_signalled(const struct task *task, siginfo_t *info);

/* Tells the observer of the system calls made in the cache, and takes the records before them into
 * the task's log. Returns 0 or -BT_E_GONE. */
int cache_syscalls_take(struct task *task, struct engine_space *es, struct stretch *s);

/* Whether a fault in the cache is a routine's, at memory that a system call names. Then *raw, which
 * is to be set in the task, is where the routine goes on. */
bool cache_syscalls_fault(const struct task *task, const struct engine_space *es,
			  const siginfo_t *info, struct bt_regs *raw);

/* ---- cache_logged.c ---- */

/* The stretch's part of the log is to be taken: into es->log. False: the task is gone. */
bool cache_logged_begin(const struct task *task, struct engine_space *es, const struct stretch *s);

/* Tells the observer what the log needs of this call. Returns how many notes behind `note` told of
 * it. */
size_t cache_logged_take(struct task *task, struct engine_space *es, const struct stretch *s,
			 const struct bt_syscall *call, const struct syscall_note *note,
			 const struct syscall_note *end);

/* Whether it is the note of an instruction; and what one of that tick gave, which (logs) the
 * observer is told. Returns as cache_logged_take(). */
bool cache_logged_is_instruction(const struct syscall_note *note);
size_t cache_logged_instruction(struct task *task, const struct syscall_note *note,
				const struct syscall_note *end, uint64_t tick, bool logs);

/* If a task with these registers of the cache's is stopped while it copies into the log, the rest
 * is copied for it, and *raw is behind that. Whether it was. */
bool cache_logged_finish(const struct task *task, const struct engine_space *es,
			 struct bt_regs *raw);

/* ---- cache_answers.c ---- */

/* For a task that is about to enter the cache, and (et->ticks) counts ticks from et->ticks_start
 * on: answers to the calls that it makes next go into the window, as far as they are not there, and
 * into this context. */
void cache_answers_offer(const struct backend *b, struct task *task, struct engine_space *es,
			 struct context *ctx);

/* The stretch has used the next of them, at this tick. */
void cache_answers_noted(struct engine_space *es, uint64_t tick);

/* Tells which of them the stretch has used, behind which the task stands now. */
void cache_answers_take(const struct backend *b, struct task *task, struct engine_space *es,
			const struct stretch *s);

/* cache_words.c: takes the bytes that the stopped task has written to descriptor 2 in the cache. */
void words_take(const struct task *task, struct engine_space *es);
/* The region has just been made, or is a fork's child's: nothing has been written yet. */
void words_begin(const struct task *task, struct engine_space *es);

/* ---- cache_mappings.c ---- */

/* Whether a task that is about to enter the cache may make calls there that change mappings. Sets
 * in this context, and writes to its window, what such calls are judged by. */
bool cache_mappings_allow(struct task *task, struct engine_space *es, struct context *ctx);

/* The task has made such a call in the cache, with these arguments: notes the change in its space.
 */
void cache_mappings_changed(struct task *task, const struct syscall_note *note,
			    const struct args_note *args);

/* ---- cache_stretch.c ---- */

/* Whether a stop is a trap of the cache's own, by its siginfo and the tracee's registers. */
bool stretch_is_own_trap(const struct code_cache *c, const siginfo_t *info,
			 const struct bt_regs *raw);

/* Finds the application's state at such a trap; s->regs are the tracee's. False when the trap is
 * none of this cache, or as stretch_find_state(). */
bool stretch_at_trap(struct task *task, const struct engine_space *es, struct stretch *s);

/* Brings a task that was stopped anywhere in the cache to the next place at which the application's
 * state is known. Other signals wait meanwhile. False when it is gone, or another stop came first,
 * or (s->far) there is no such place near. */
bool stretch_find_state(struct task *task, const struct engine_space *es, struct stretch *s);

/* Whether these are registers of a tracee in the cache's code. */
bool stretch_is_in_code(const struct bt_regs *raw);

/* Finds the application's state of a task that was killed in the cache and will not run again. In
 * the middle of a sequence it is a guess (s->lost). */
void stretch_guess_state(struct task *task, const struct engine_space *es, struct stretch *s);

/* Takes the records and the state over: the task is out of the cache, task->regs are the
 * application's (not set in the tracee). Returns 0 or -BT_E_GONE. */
int stretch_leave(const struct backend *b, struct task *task, struct engine_space *es,
		  struct stretch *s);

/* Takes the records before number `to` into the task's log that are not there yet. Returns 0 or
 * -BT_E_GONE. */
int stretch_take_records(struct task *task, struct engine_space *es, struct stretch *s, size_t to);

/* The task stands at a trap of the cache's own; s->regs are the tracee's. If the trap is a safe
 * point's for want of room for records, and there is nothing else to take, takes the records and
 * returns true. */
bool stretch_take_full(struct task *task, struct engine_space *es, struct stretch *s);

/* After that: gives the records their room again, so that the stretch goes on behind the trap.
 * False: the task is gone. */
bool stretch_go_on(struct task *task, struct engine_space *es, const struct stretch *s);

/* ---- engine_signals.c ---- */

/* Gives the task this signal, which was sent, in the place of the one that it has stopped for.
 * Returns BACKEND_SIGNAL, or BACKEND_GONE. */
enum backend_stop engine_signals_deliver(struct task *task, siginfo_t *info,
					 const siginfo_t *signal);

/* Holds a signal that cannot be reported here. */
void engine_signals_hold(struct engine_task *et, const siginfo_t *info);

/* If the held signal is one that the program blocks, the stepper keeps it as it keeps others. */
void engine_signals_keep_held(struct task *task);

/* Another stop was reported before the held signal: sends the signal again, as a system call may
 * wait for it. If that is not permitted (the program has changed its user), it stays held. */
void engine_signals_post_held(struct task *task);

/* If this is the posted signal, gives it its first siginfo again. Returns 0 or -BT_E_GONE. */
int engine_signals_recognize_posted(struct task *task, siginfo_t *info);

/* The task is behind a call in which it may have waited for the posted signal: writes the first
 * siginfo to its memory. */
void engine_signals_tell_waited(struct task *task);

/* Whether a signal comes before the next instruction, which is not to run: the kernel has found the
 * frame of the sigreturn wrong that the task has just made. */
bool engine_signals_comes_first(const struct task *task);

/* Whether a signal that looks like a fault may be one of the instruction at task->regs.rip, where
 * it is none of the cache's own. Any process may send itself such a signal (rt_sigqueueinfo(2)),
 * and the kernel makes some that no instruction raises (TRAP_PERF). */
bool engine_signals_may_be_raised(const struct task *task, const siginfo_t *info);

/* Steps the instruction at task->regs.rip, which may have raised this signal in the cache: then it
 * raises it again. Other signals are blocked meanwhile: one that came first would leave open
 * whether this one was sent. Returns 0 or -BT_E_GONE. */
int engine_signals_raise_again(struct backend *b, struct task *task, const siginfo_t *info);

/* The stepper's stop may be the one after that step. True: *stop is what the engine returns of it.
 */
bool engine_signals_raise_stopped(struct backend *b, struct task *task, siginfo_t *info,
				  enum backend_stop *stop);

/* Whether a signal is to wait: where a log is kept, one in the midst of an instruction. */
bool engine_signals_is_to_wait(const struct backend *b, const struct task *task,
			       const siginfo_t *info);

/* Lets it wait for that instruction. */
enum backend_stop engine_signals_let_wait(struct backend *b, struct task *task,
					  const siginfo_t *info);

/* The meaning of a stop of the stepper's while a signal waits (et->waits). */
enum backend_stop engine_signals_waiting_stopped(struct task *task, enum backend_stop stop);

/* The held signal does not wait any longer. Returns 0 or -BT_E_GONE. */
int engine_signals_end_wait(struct task *task);

/* ---- sweep.c ---- */

/* Lets a stopped task go on where it is in the cache's code. Returns 0 or -BT_E_GONE. */
int engine_run(const struct backend *b, struct task *task);

/* A stop in the cache, with these registers. Returns 1 when it was nothing but a step of the
 * test's, and the task goes on; else 0, or -BT_E_GONE. */
int sweep_stopped(const struct backend *b, struct task *task, const siginfo_t *info,
		  struct bt_regs *regs);

/* ---- engine.c ---- */

/* One step by the stepper, which delivers signo first. Returns 0 or -BT_E_GONE. */
int engine_step(struct backend *b, struct task *task, int signo, enum bt_signal_action action);

#endif
