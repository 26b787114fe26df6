/* SPDX-License-Identifier: MIT */
/* Each thread's wait is found by itself (find_wait()): its system call by its registers, then, of a
 * futex, the lock's kind by the functions on the stack (table `uses`), then its owner by its memory
 * (owner_of()). A join is told without names: the futex is the number of a thread of the moment,
 * where glibc keeps it. Then the owners are followed from thread to thread (find_rings()). */
#include "decoder/cause/waits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/function_name.h"
#include "decoder/symbols/text.h"
#include "lib/array_size.h"
#include "lib/hash_table.h"
#include "syscalls/syscall_names.h"
#include "syscalls/syscall_text.h"

enum {
	FRAMES_MAX = 48, /* looked through for the function that waits, and a handler */
	/* Of struct pthread (glibc's nptl/descr.h): its tid, behind a tcbhead_t of 704 bytes and a
	 * list_t; the thread's fs_base points to it. */
	THREAD_ID = 720,
	/* Of pthread_mutex_t (struct_mutex.h) and its __kind (nptl/pthreadP.h). */
	MUTEX_OWNER = 8,
	MUTEX_KIND = 16,
	MUTEX_CONTENDED = 2, /* its lock; musl's, whose mutex is another, is never so */
	MUTEX_ROBUST = 16,
	MUTEX_INHERITS = 32,
	/* Of pthread_rwlock_t (struct_rwlock.h). */
	RWLOCK_PHASE = 8,
	RWLOCK_WRITERS = 12,
	RWLOCK_OWNER = 24,
	RWLOCK_SIZE = 56,
	CONDITION_SIZE = 48,
	BARRIER_SIZE = 32,
	SEMAPHORE_SIZE = 32,
	/* linux/futex.h */
	FUTEX_OPERATION = 0x7f,
	FUTEX_THREAD = 0x3fffffff,
	LOCK_PI = 6,
	LOCK_PI2 = 13,
	RING_SHOWN = 8,
};

enum layout {
	LAYOUT_NONE,
	LAYOUT_MUTEX,
	LAYOUT_RWLOCK,
};

/* Functions that wait, without the underscores and GI_ that glibc puts before some. A name of Rust
 * or C++ may have more before it. */
static const struct use {
	const char *function;
	enum wait_kind kind;
	enum layout layout;
	const char *what;
	uint32_t size;
} uses[] = {
	{"pthread_mutex_lock", WAIT_LOCK, LAYOUT_MUTEX, "mutex", 1},
	{"pthread_mutex_lock_full", WAIT_LOCK, LAYOUT_MUTEX, "mutex", 1},
	{"pthread_mutex_cond_lock", WAIT_LOCK, LAYOUT_MUTEX, "mutex", 1},
	{"pthread_mutex_timedlock", WAIT_LOCK, LAYOUT_MUTEX, "mutex", 1},
	{"pthread_mutex_clocklock_common", WAIT_LOCK, LAYOUT_MUTEX, "mutex", 1},
	{"pthread_mutex_clocklock", WAIT_LOCK, LAYOUT_MUTEX, "mutex", 1},
	{"pthread_rwlock_rdlock", WAIT_LOCK, LAYOUT_RWLOCK, "read-write lock", RWLOCK_SIZE},
	{"pthread_rwlock_timedrdlock", WAIT_LOCK, LAYOUT_RWLOCK, "read-write lock", RWLOCK_SIZE},
	{"pthread_rwlock_clockrdlock", WAIT_LOCK, LAYOUT_RWLOCK, "read-write lock", RWLOCK_SIZE},
	{"pthread_rwlock_wrlock", WAIT_LOCK, LAYOUT_RWLOCK, "read-write lock", RWLOCK_SIZE},
	{"pthread_rwlock_timedwrlock", WAIT_LOCK, LAYOUT_RWLOCK, "read-write lock", RWLOCK_SIZE},
	{"pthread_rwlock_clockwrlock", WAIT_LOCK, LAYOUT_RWLOCK, "read-write lock", RWLOCK_SIZE},
	{"pthread_cond_wait", WAIT_OBJECT, LAYOUT_NONE, "condition variable", CONDITION_SIZE},
	{"pthread_cond_timedwait", WAIT_OBJECT, LAYOUT_NONE, "condition variable", CONDITION_SIZE},
	{"pthread_cond_clockwait", WAIT_OBJECT, LAYOUT_NONE, "condition variable", CONDITION_SIZE},
	{"sem_wait_slow", WAIT_OBJECT, LAYOUT_NONE, "semaphore", SEMAPHORE_SIZE},
	{"sem_wait_slow64", WAIT_OBJECT, LAYOUT_NONE, "semaphore", SEMAPHORE_SIZE},
	{"sem_wait", WAIT_OBJECT, LAYOUT_NONE, "semaphore", SEMAPHORE_SIZE},
	{"sem_timedwait", WAIT_OBJECT, LAYOUT_NONE, "semaphore", SEMAPHORE_SIZE},
	{"sem_clockwait", WAIT_OBJECT, LAYOUT_NONE, "semaphore", SEMAPHORE_SIZE},
	{"pthread_barrier_wait", WAIT_OBJECT, LAYOUT_NONE, "barrier", BARRIER_SIZE},
	{"pthread_once", WAIT_OBJECT, LAYOUT_NONE, "pthread_once_t", 4},
	{"pthread_once_slow", WAIT_OBJECT, LAYOUT_NONE, "pthread_once_t", 4},
	{"cxa_guard_acquire", WAIT_OBJECT, LAYOUT_NONE, "initialization of a static variable", 8},
	{"lll_lock_wait_private", WAIT_PRIVATE, LAYOUT_NONE, "libc", 1},
	{"Mutex::lock_contended", WAIT_OBJECT, LAYOUT_NONE, "Rust mutex", 4},
	{"RwLock::read_contended", WAIT_OBJECT, LAYOUT_NONE, "Rust read-write lock", 8},
	{"RwLock::write_contended", WAIT_OBJECT, LAYOUT_NONE, "Rust read-write lock", 8},
	{"Condvar::wait_optional_timeout", WAIT_OBJECT, LAYOUT_NONE, "Rust condition variable", 4},
	{"Once::call", WAIT_OBJECT, LAYOUT_NONE, "Rust once cell", 4},
	{"thread::park", WAIT_OBJECT, LAYOUT_NONE, "unpark", 0},
};

struct finder {
	const struct model *m;
	struct symbols *s;
	const struct model_snapshot *snap;
	const struct model_task *process; /* a task of it */
	struct hash_table by_tid;         /* index of the moment's thread + 1 */
};

static bool read_u32(const struct finder *f, uint64_t addr, uint32_t *value)
{
	uint8_t b[4];

	if (model_memory(f->m, f->snap, addr, b, sizeof b) < sizeof b)
		return false;
	*value = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
	return true;
}

static const char *without_prefix(const char *name)
{
	name += strspn(name, "_");
	if (!strncmp(name, "GI_", 3))
		name += 3 + strspn(name + 3, "_");
	if (!strncmp(name, "new_sem", 7)) /* __new_sem_wait */
		name += 4;
	return name;
}

static const struct use *use_of(const char *function)
{
	char plain[FUNCTION_NAME_MAX];
	const char *name = without_prefix(function_name_plain(plain, function));
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(uses); i++) {
		size_t n = strlen(uses[i].function);
		const char *tail = len >= n ? name + len - n : "";

		if (!strcmp(tail, uses[i].function) &&
		    (tail == name || (strchr(uses[i].function, ':') && tail[-1] == ':')))
			return &uses[i];
	}
	return NULL;
}

/* The use that a frame's function, or one inlined there, tells. */
static const struct use *use_at(const struct finder *f, const struct bt_record_thread *thread,
				const struct stack_frame *frame)
{
	const struct use *use;
	struct location loc;

	symbols_lookup(f->s, f->snap->rec->space, thread->epoch, frame->pc, frame->is_return, &loc);
	for (size_t i = 0; i < loc.inlined_count; i++) {
		use = use_of(loc.inlined[i].function);
		if (use)
			return use;
	}
	return use_of(loc.function);
}

/* The function of libc that the program called: the outermost one of the library that waits. */
static const char *called_function(const struct finder *f, const struct bt_record_thread *thread,
				   const struct stack_frame *frames, size_t count)
{
	const char *module = NULL, *called = "";
	struct location loc;

	for (size_t i = 0; i < count && !frames[i].is_trampoline; i++) {
		symbols_lookup(f->s, f->snap->rec->space, thread->epoch, frames[i].pc,
			       frames[i].is_return, &loc);
		if (module && strcmp(module, loc.module))
			break;
		module = loc.module;
		called = loc.function;
	}
	return strncmp(called, "__libc_", 7) ? called : called + 7;
}

/* Frames are of the waiting thread. */
static void take_use(const struct finder *f, struct wait *w, const struct stack_frame *frames,
		     size_t count, enum layout *layout)
{
	const struct use *use = NULL;
	bool is_local = false; /* the futex is a variable of the function that waits */

	*layout = LAYOUT_NONE;
	for (size_t i = 0; i < count && !use && !frames[i].is_trampoline; i++) {
		use = use_at(f, w->thread, &frames[i]);
		is_local = w->object >= w->thread->regs.rsp && w->object < frames[i].cfa;
	}
	for (size_t i = 0; i + 1 < count && !*w->interrupted; i++)
		if (frames[i].is_trampoline)
			w->interrupted =
				called_function(f, w->thread, &frames[i + 1], count - i - 1);
	if (!use)
		return;
	w->kind = use->layout == LAYOUT_MUTEX && is_local ? WAIT_REFUSED : use->kind;
	w->what = use->what;
	w->slack = use->size ? use->size - 1 : 0;
	*layout = use->layout;
	if (use->kind == WAIT_PRIVATE)
		w->what = called_function(f, w->thread, frames, count);
}

static bool index_threads(struct finder *f)
{
	if (!hash_table_reserve(&f->by_tid, f->snap->thread_count))
		return false;
	for (size_t i = 0; i < f->snap->thread_count; i++) {
		const struct model_task *task = model_task(f->m, f->snap->threads[i]->task);

		if (task && !hash_table_find(&f->by_tid, task->tid))
			hash_table_add(&f->by_tid,
				       (struct hash_slot){.key = task->tid, .number = i + 1});
	}
	return true;
}

/* The index in the moment of the thread with that number; thread_count: it has none. */
static size_t thread_of(const struct finder *f, uint32_t tid)
{
	const struct hash_slot *slot = hash_table_find(&f->by_tid, tid);

	return slot ? slot->number - 1 : f->snap->thread_count;
}

static bool take_join(const struct finder *f, struct wait *w)
{
	const struct bt_regs *regs = &w->thread->regs;
	size_t i = thread_of(f, (uint32_t)regs->rdx);

	if (i == f->snap->thread_count ||
	    regs->rdi != f->snap->threads[i]->regs.fs_base + THREAD_ID)
		return false;
	w->kind = WAIT_JOIN;
	w->owner = (uint32_t)regs->rdx;
	w->owner_task = model_task(f->m, f->snap->threads[i]->task);
	w->owner_state = OWNER_LIVES;
	return true;
}

/* The number of the thread that holds the lock, 0 unknown or none. Sets w->object to the lock's
 * beginning. */
static uint32_t owner_of(const struct finder *f, struct wait *w, enum layout layout, bool *robust)
{
	uint64_t futex = w->thread->regs.rdi;
	unsigned operation = (unsigned)w->thread->regs.rsi & FUTEX_OPERATION;
	uint32_t word, kind, owner;

	*robust = false;
	if (layout == LAYOUT_RWLOCK) {
		w->object = futex - (futex % 8 ? RWLOCK_WRITERS : RWLOCK_PHASE);
		w->slack = 0;
		return read_u32(f, w->object + RWLOCK_OWNER, &owner) ? owner : 0;
	}
	if (layout != LAYOUT_MUTEX || !read_u32(f, futex, &word) || !word ||
	    !read_u32(f, futex + MUTEX_KIND, &kind) || !read_u32(f, futex + MUTEX_OWNER, &owner))
		return 0;
	*robust = kind & MUTEX_ROBUST;
	if (operation == LOCK_PI || operation == LOCK_PI2 || kind & (MUTEX_ROBUST | MUTEX_INHERITS))
		return word & FUTEX_THREAD;
	return word == MUTEX_CONTENDED ? owner : 0;
}

/* The newest task with that number that had begun at the moment. */
static const struct model_task *owner_task(const struct finder *f, uint32_t tid)
{
	const struct model_task *found = NULL;

	for (size_t i = 0; i < f->m->task_count; i++) {
		const struct model_task *task = &f->m->tasks[i];

		if (task->tid == tid && task->created <= f->snap->rec->seq)
			found = task;
	}
	return found;
}

/* The task that a process began with; NULL: not in the trace. */
static const struct model_task *first_task(const struct finder *f, uint32_t pid)
{
	for (size_t i = 0; i < f->m->task_count; i++)
		if (f->m->tasks[i].pid == pid && f->m->tasks[i].how != BT_TASK_THREAD)
			return &f->m->tasks[i];
	return NULL;
}

/* Follows the forks from the process up to that of `task`. Returns false where one of them shares
 * its memory, or it is none of them. *copy: the process's own task that is a copy of `task`; NULL:
 * that was another thread than the one that forked, and has none. */
static bool find_copy(const struct finder *f, const struct model_task *task,
		      const struct model_task **copy)
{
	const struct model_task *at = first_task(f, f->process->pid), *forker;
	bool is_copy = true;

	*copy = at;
	/* Each parent is older: numbers descend. */
	for (; at && at->how == BT_TASK_FORK && at->parent < at->task;
	     at = first_task(f, forker->pid)) {
		forker = model_task(f->m, at->parent);
		if (!forker)
			return false;
		if (forker->pid == task->pid) {
			if (!is_copy || forker != task)
				*copy = NULL;
			return true;
		}
		is_copy = is_copy && forker->how != BT_TASK_THREAD;
	}
	return false;
}

/* An owner in a process that this one was forked from. The copy of the thread that forked holds
 * that thread's locks, and may unlock them. Nobody holds the locks of the other threads. */
static void take_forked_owner(const struct finder *f, struct wait *w, const struct model_task *task)
{
	const struct space_map *map =
		trace_index_map_at(f->m->index, f->snap->rec->space, w->thread->epoch, w->object);
	const struct model_task *copy;

	if (!map || map->shared || !find_copy(f, task, &copy))
		return;
	w->owner_task = task;
	if (!copy || copy->task == w->thread->task) {
		w->owner_state = OWNER_ELSEWHERE;
	} else if (thread_of(f, copy->tid) < f->snap->thread_count) {
		w->owner_state = OWNER_LIVES;
		w->owner_task = copy;
	}
}

/* Says who holds the lock as far as that is certain. robust: the kernel tells who waits that the
 * owner has ended. */
static void take_owner(const struct finder *f, struct wait *w, uint32_t tid, bool robust)
{
	const struct model_task *task = tid ? owner_task(f, tid) : NULL;

	if (!task || !f->process)
		return;
	w->owner_task = task;
	if (task->pid != f->process->pid)
		take_forked_owner(f, w, task);
	else if (thread_of(f, tid) < f->snap->thread_count)
		w->owner_state = OWNER_LIVES;
	else if (!robust && task->exit && task->exit->seq < f->snap->rec->seq)
		w->owner_state = OWNER_ENDED;
	if (w->owner_state == OWNER_UNKNOWN)
		w->owner_task = NULL;
	else
		w->owner = w->owner_task->tid;
}

static void find_wait(const struct finder *f, struct wait *w, struct stack_frame *frames)
{
	const struct bt_regs *regs = &w->thread->regs;
	enum layout layout;
	size_t count;
	bool complete, robust;

	if (!w->thread->in_syscall)
		return;
	w->kind = WAIT_CALL;
	if (regs->orig_rax != SYSCALL_NR_futex)
		return;
	w->kind = WAIT_FUTEX;
	w->object = regs->rdi;
	w->is_timed = regs->r10;
	if (take_join(f, w))
		return;
	count = symbols_unwind(f->s, f->snap, w->thread, frames, FRAMES_MAX, &complete);
	take_use(f, w, frames, count, &layout);
	if (w->kind == WAIT_LOCK) {
		uint32_t owner = owner_of(f, w, layout, &robust);

		take_owner(f, w, owner, robust);
	}
}

/* The wait of the thread that a wait is for; NULL when that may yet end it. */
static struct wait *waits_on(const struct finder *f, const struct waits *w, const struct wait *wait)
{
	return wait->owner_state != OWNER_LIVES || wait->is_timed
		       ? NULL
		       : &w->at[thread_of(f, wait->owner)];
}

/* Whether the wait by itself has no end, whatever other threads do. */
static bool is_forsaken(const struct wait *wait)
{
	return !wait->is_timed && (wait->kind == WAIT_REFUSED || wait->owner_state == OWNER_ENDED ||
				   wait->owner_state == OWNER_ELSEWHERE);
}

/* Marks the ring that at is part of. outsiders: there are threads that can go on. */
static void mark_ring(struct waits *w, struct wait **next, struct wait *at, bool outsiders)
{
	bool joins = false;

	w->rings++;
	for (; !at->ring; at = next[at - w->at]) {
		at->ring = w->rings;
		joins = joins || at->kind == WAIT_JOIN;
	}
	for (; joins && outsiders && !at->may_be_cancelled; at = next[at - w->at])
		at->may_be_cancelled = true;
}

/* Each thread waits for one at most: a walk that comes back to where it is has found a ring. Each
 * is walked through once. All walks end in rings or forsaken waits where no thread can go on; a
 * brief moment has not all threads. */
static bool find_rings(const struct finder *f, struct waits *w)
{
	struct wait **next = calloc(w->count + 1, sizeof *next);
	size_t *walk = calloc(w->count + 1, sizeof *walk);
	bool outsiders = f->snap->rec->brief;

	for (size_t i = 0; next && walk && i < w->count; i++) {
		next[i] = waits_on(f, w, &w->at[i]);
		outsiders = outsiders || (!next[i] && !is_forsaken(&w->at[i]));
	}
	for (size_t i = 0; next && walk && i < w->count; i++) {
		struct wait *at = &w->at[i];

		for (; at && !walk[at - w->at]; at = next[at - w->at])
			walk[at - w->at] = i + 1;
		if (at && walk[at - w->at] == i + 1)
			mark_ring(w, next, at, outsiders);
	}
	free(walk);
	free(next);
	return next && walk;
}

static int compare_waits(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	return x->thread->task < y->thread->task ? -1 : x->thread->task > y->thread->task;
}

int waits_find(struct waits *w, const struct model *m, struct symbols *s,
	       const struct model_snapshot *snap, struct bt_error *err)
{
	struct finder f = {.m = m, .s = s, .snap = snap, .process = model_task(m, snap->rec->task)};
	struct stack_frame *frames = calloc(FRAMES_MAX, sizeof *frames);
	bool done = index_threads(&f);

	*w = (struct waits){.at = calloc(snap->thread_count + 1, sizeof *w->at)};
	for (size_t i = 0; done && frames && w->at && i < snap->thread_count; i++) {
		w->at[w->count] =
			(struct wait){.thread = snap->threads[i], .what = "", .interrupted = ""};
		find_wait(&f, &w->at[w->count++], frames);
	}
	done = done && frames && w->at && find_rings(&f, w);
	if (done)
		qsort(w->at, w->count, sizeof *w->at, compare_waits);
	hash_table_release(&f.by_tid);
	free(frames);
	return done ? 0 : bt_no_memory(err, "what the threads wait for");
}

void waits_release(struct waits *w)
{
	free(w->at);
	*w = (struct waits){0};
}

bool wait_is_dead(const struct wait *wait)
{
	return (wait->ring && !wait->may_be_cancelled) || is_forsaken(wait);
}

static void say_wait(char out[WAIT_TEXT_MAX], const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void say_wait(char out[WAIT_TEXT_MAX], const char *fmt, ...)
{
	size_t n = strlen(out);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out + n, WAIT_TEXT_MAX - n, fmt, ap);
	va_end(ap);
}

/* " b", " b+0x8", " at 0x7f00"; nothing where its address is not known. */
static void say_object(char out[WAIT_TEXT_MAX], const struct wait *w, struct symbols *s,
		       const struct model_snapshot *snap)
{
	char name[160];
	struct location loc;

	if (!w->object)
		return;
	symbols_lookup(s, snap->rec->space, w->thread->epoch, w->object, false, &loc);
	text_brief_name(name, sizeof name, loc.function);
	if (!*name)
		say_wait(out, " at 0x%" PRIx64, w->object);
	else if (loc.offset <= w->slack)
		say_wait(out, " %s", name);
	else
		say_wait(out, " %s+0x%" PRIx64, name, loc.offset);
}

static void say_owner(char out[WAIT_TEXT_MAX], const struct wait *w)
{
	const struct model_task *owner = w->owner_task;

	switch (w->owner_state) {
	case OWNER_LIVES:
		if (owner->task == w->thread->task)
			say_wait(out, ", which it holds itself");
		else
			say_wait(out, ", which task %u holds", owner->task);
		break;
	case OWNER_ENDED:
		say_wait(out, ", which task %u held when it ended", owner->task);
		break;
	case OWNER_ELSEWHERE:
		say_wait(out,
			 ", which task %u of process %u held when this process was forked from it",
			 owner->task, owner->pid);
		break;
	default:
		break;
	}
}

static void say_call(char out[WAIT_TEXT_MAX], const struct bt_regs *regs)
{
	struct syscall_known known = {
		.nr = regs->orig_rax,
		.has_args = true,
		.args = {regs->rdi, regs->rsi, regs->rdx, regs->r10, regs->r8, regs->r9}};
	struct buf text = {0};
	char name[IN_SYSCALL_MAX];

	if (strstr(in_syscall(regs, name), "the system call"))
		syscall_put_call(&text, &known);
	if (text.len && !text.failed)
		say_wait(out, "is in %.*s", (int)(text.len < 300 ? text.len : 300),
			 (const char *)text.data);
	else
		say_wait(out, "is %s", name);
	buf_release(&text);
}

/* A handler that waits for what the code it interrupted may hold. */
static void say_interrupted(char out[WAIT_TEXT_MAX], const struct wait *w)
{
	char name[160];

	text_brief_name(name, sizeof name, w->interrupted);
	if (*name && (w->kind == WAIT_PRIVATE || w->kind == WAIT_LOCK))
		say_wait(out, ", in a signal handler that interrupted %s", name);
}

const char *wait_text(char out[WAIT_TEXT_MAX], const struct wait *w, struct symbols *s,
		      const struct model_snapshot *snap)
{
	*out = '\0';
	switch (w->kind) {
	case WAIT_NONE:
		say_wait(out, "runs");
		return out;
	case WAIT_CALL:
	case WAIT_FUTEX:
		say_call(out, &w->thread->regs);
		return out;
	case WAIT_JOIN:
		say_wait(out, "waits for the end of task %u", w->owner_task->task);
		break;
	case WAIT_REFUSED:
		say_wait(out, "waits%s: the kernel refused it its %s, which would be a deadlock",
			 w->is_timed ? "" : " for ever", w->what);
		break;
	case WAIT_PRIVATE:
		say_wait(out, "waits for a lock inside %s", *w->what ? w->what : "libc");
		break;
	default:
		say_wait(out, "waits for %s", w->what);
		say_object(out, w, s, snap);
		say_owner(out, w);
	}
	say_interrupted(out, w);
	if (w->is_timed)
		say_wait(out, ", for a time at most");
	return out;
}

/* "tasks 2, 3 and 4 wait for each other". */
static void say_ring(char out[WAIT_TEXT_MAX], const struct waits *w, uint32_t ring, size_t size)
{
	size_t n = 0;

	say_wait(out, "tasks ");
	for (size_t i = 0; i < w->count && n < RING_SHOWN; i++)
		if (w->at[i].ring == ring) {
			n++;
			say_wait(out, "%s%" PRIu32,
				 n == 1      ? ""
				 : n == size ? " and "
					     : ", ",
				 w->at[i].thread->task);
		}
	if (size > n)
		say_wait(out, " and %zu more", size - n);
	say_wait(out, " wait for each other%s", size > 2 ? " in a ring" : "");
}

size_t waits_deadlock_text(char out[WAIT_TEXT_MAX], const struct waits *w, struct symbols *s,
			   const struct model_snapshot *snap, const struct wait **first)
{
	size_t dead = 0, told = 0;
	char text[WAIT_TEXT_MAX];

	*first = NULL;
	for (size_t i = 0; i < w->count; i++) {
		if (!wait_is_dead(&w->at[i]))
			continue;
		*first = *first ? *first : &w->at[i];
		told += w->at[i].ring == (*first)->ring;
		dead++;
	}
	*out = '\0';
	if (!dead)
		return 0;
	say_wait(out, "deadlock: ");
	if ((*first)->ring && told > 1) {
		say_ring(out, w, (*first)->ring, told);
	} else {
		say_wait(out, "task %" PRIu32 " %s", (*first)->thread->task,
			 wait_text(text, *first, s, snap));
		told = 1;
	}
	if (dead > told)
		say_wait(out, "; %zu more thread%s can never go on", dead - told,
			 dead - told == 1 ? "" : "s");
	return dead;
}

size_t waits_ring_text(char out[WAIT_TEXT_MAX], const struct waits *w)
{
	uint32_t ring = 0;
	size_t size = 0;

	*out = '\0';
	for (size_t i = 0; i < w->count; i++) {
		if (!ring && w->at[i].may_be_cancelled)
			ring = w->at[i].ring;
		size += ring && w->at[i].ring == ring;
	}
	if (ring) {
		say_ring(out, w, ring, size);
		say_wait(out, ", unless one that joins is cancelled");
	}
	return size;
}
