/* SPDX-License-Identifier: MIT */
/* Effects are written first, then the event that had them: an event whose record is there is whole.
 *
 * A call's row tells which memory the call wrote (syscall_ranges.h). Where no row does, the
 * program's writable memory is compared before and behind it. Its changes of mappings follow from
 * its arguments and its result (log_shapes.c), or are read (changed_mappings.c). Registers are
 * written where they are not those of the entry with the result in rax. */
#include "collector/record/replay_log.h"

#include <cpuid.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/record/log_shapes.h"
#include "collector/record/unloggable_calls.h"
#include "collector/record/writable_ranges.h"
#include "collector/space/mappings.h"
#include "collector/space/world.h"
#include "collector/supervisor/session.h"
#include "collector/tracee/signal_frame.h"
#include "collector/tracee/tracee.h"
#include "format/log_processor.h"
#include "format/log_values.h"
#include "lib/array_size.h"
#include "lib/call_result.h"
#include "lib/canonical.h"
#include "lib/page.h"

enum {
	PIECE = 1 << 13,       /* of memory, in a record */
	FRAME_MOST = 16 << 10, /* bytes of a signal frame: with AMX there are 12 KB */
	CALLS_MOST = 64 << 10, /* bytes of calls from which on they are a record */
};

/* Where the log is full it ends, and where it cannot be written. If that is among the effects of an
 * event, they have no event, and count for nothing. */
static void put_record(struct replay_log *l, enum bt_record_kind kind, const void *body)
{
	if (l->end)
		return;
	trace_writer_log(l->writer, l->unit, kind, body);
	if (!replay_log_reason(l) && trace_writer_log_bytes(l->writer) >= l->most)
		replay_log_end(l, "it has reached the size that a log may have (--log-size)");
}

const char *replay_log_reason(struct replay_log *l)
{
	if (l->begun && !l->end)
		l->end = trace_writer_log_loss(l->writer);
	return l->end;
}

/* Writes the calls that were made without a stop. */
static void put_calls(struct replay_log *l)
{
	struct bt_record_log_calls rec = {.task = l->task,
					  .tick = l->calls_tick,
					  .calls = slice_of(l->calls.data, l->calls.len)};

	if (l->calls.failed)
		replay_log_end(l, "out of memory");
	buf_reset(&l->calls); /* before the record: if that is the last, the log's end would write
				 them again */
	put_record(l, BT_RECORD_LOG_CALLS, &rec);
}

/* They come before whatever comes now. */
static void write_record(struct replay_log *l, enum bt_record_kind kind, const void *body)
{
	if (l->calls.len)
		put_calls(l);
	put_record(l, kind, body);
}

static bool is_logged(const struct replay_log *l, const struct task *task)
{
	return l->writer && l->begun && !l->end && task->number == l->task;
}

static void sink_put(void *arg, enum bt_record_kind kind, const void *body)
{
	write_record(arg, kind, body);
}

void replay_log_init(struct replay_log *l, struct trace_writer *w, uint64_t most, const char *cache)
{
	*l = (struct replay_log){
		.writer = w, .most = most, .room = calloc(SYSCALL_RANGES_ENOUGH, sizeof *l->room)};
	l->outputs.sink = (struct log_sink){sink_put, l};
	log_content_init(&l->content, w, l->outputs.sink, cache);
}

void replay_log_release(struct replay_log *l)
{
	memory_copy_release(&l->before);
	log_content_release(&l->content);
	guarded_pages_release(&l->guards);
	log_outputs_release(&l->outputs);
	buf_release(&l->calls);
	free(l->room);
	l->room = NULL;
}

void replay_log_end(struct replay_log *l, const char *reason)
{
	struct bt_record_log_end rec = {.reason = bt_str(reason)};

	if (!l->writer || !l->begun || l->end)
		return;
	if (!l->calls.failed && l->calls.len)
		put_calls(l);
	if (l->end) /* for want of room for them */
		return;
	l->end = reason;
	trace_writer_log(l->writer, l->unit, BT_RECORD_LOG_END, &rec);
}

/* ---- Effects ---- */

static void put_data(void *arg, uint64_t addr, const uint8_t *bytes, size_t n)
{
	struct bt_record_log_data rec = {.addr = addr, .bytes = slice_of(bytes, n)};

	write_record(arg, BT_RECORD_LOG_DATA, &rec);
}

static void put_state(struct replay_log *l, const struct task *task, bool extended)
{
	uint8_t bytes[TRACEE_EXTENDED];
	struct bt_record_log_state rec = {.task = task->number, .regs = task->regs};

	if (extended)
		rec.extended = slice_of(bytes, tracee_get_extended(task->host_tid, bytes));
	write_record(l, BT_RECORD_LOG_STATE, &rec);
}

/* The path of the file that the pages are of, as btrec can open it; NULL: there is none. */
static const char *source_of(pid_t tid, const struct log_shape *s, const char *path_there,
			     char path[PATH_MAX])
{
	int n = s->of_descriptor ? snprintf(path, PATH_MAX, "/proc/%d/fd/%d", (int)tid, s->fd)
		: path_there && *path_there == '/'
			? snprintf(path, PATH_MAX, "/proc/%d/root%s", (int)tid, path_there)
			: 0;

	return n > 0 && n < PATH_MAX ? path : NULL;
}

/* Fills in the fields of rec that the shape takes from its mapping. */
static void take_from_mapping(const struct log_shape *s, const struct mapping *m,
			      struct bt_record_log_shape *rec)
{
	rec->start = s->downward ? m->start : rec->start;
	rec->end = s->is_whole ? m->end : rec->end;
	if (!s->inherits)
		return;
	rec->prot = m->prot;
	rec->dev = m->dev;
	rec->ino = m->ino;
	rec->offset = m->ino ? m->offset + (rec->start - m->start) : 0;
}

static void put_shape(void *arg, pid_t tid, const struct log_shape *s)
{
	struct replay_log *l = arg;
	struct bt_record_log_shape rec = {.what = (uint8_t)s->what,
					  .start = s->start,
					  .end = s->end,
					  .prot = s->prot,
					  .grows = s->grows,
					  .from = s->from,
					  .dev = s->dev,
					  .ino = s->ino,
					  .offset = s->ino ? s->offset : 0,
					  .shared = s->shared};
	bool belongs = s->inherits || s->downward || s->is_whole, has_content = s->has_content,
	     same;
	struct mapping m = {.path = NULL};
	char room[PATH_MAX];
	const char *source;
	struct stat file;

	if (belongs && mappings_at(tid, s->start, &m)) {
		take_from_mapping(s, &m, &rec);
		rec.grows |= s->inherits && l->some_grow && mappings_grow_at(tid, m.start);
	}
	source = source_of(tid, s, s->inherits ? m.path : s->path, room);
	if (s->inherits && m.path && !m.ino) /* memory of no file is zero when it is new */
		has_content = false;
	free(m.path);
	if (rec.prot & PROT_READ && l->reads_run)
		rec.prot |= PROT_EXEC;
	if (s->of_descriptor && !stat(source, &file)) {
		rec.dev = file.st_dev;
		rec.ino = file.st_ino;
		rec.offset = s->offset;
		/* Files that are shared to be read, as those of a locale, are written by few. */
		rec.shared = s->shared && (rec.prot & PROT_WRITE || !S_ISREG(file.st_mode));
	}
	same = has_content && rec.what == BT_SHAPE_MAP &&
	       log_content_is_same(&l->content, tid, rec.start, rec.end);
	if (same) /* a replay has these bytes there, in pages of its own */
		rec.what = BT_SHAPE_PROTECT;
	write_record(l, BT_RECORD_LOG_SHAPE, &rec);
	if (has_content && !same) /* fresh pages are zero there */
		log_content_put(&l->content, tid, rec.start, rec.end,
				&(struct log_file){source, rec.ino, rec.offset, s->is_old});
}

static void put_shape_and_guards(void *arg, pid_t tid, const struct log_shape *s)
{
	struct replay_log *l = arg;

	if (!guarded_pages_put(&l->guards, tid, s, put_shape, l))
		replay_log_end(l, "out of memory");
}

/* Logs the call's changes of mappings. The call is the task's last one that changed some. */
static void put_shapes(struct replay_log *l, const struct task *task,
		       const struct tracee_syscall *call, uint64_t result)
{
	struct log_shape shapes[LOG_SHAPES];
	size_t n = log_shapes_of_call(call, result, &l->heap_end, shapes);

	l->some_grow = task->process->space->grows;
	for (size_t i = 0; i < n; i++)
		put_shape_and_guards(l, task->host_tid, &shapes[i]);
	if (!changed_mappings_look(task->host_tid, call, result, l->some_grow, put_shape_and_guards,
				   l))
		replay_log_end(l, "what a call did to mappings cannot be read");
}

/* ---- The beginning ---- */

/* The kernel's own data stay out, for they change by themselves. The vdso's code reads them, and is
 * hidden. Its bytes are in the log all the same: a program may read whatever /proc/self/maps has.
 */
static bool is_kernels(const struct mapping *m)
{
	return !strncmp(m->path, "[v", 2) && strcmp(m->path, "[vdso]") != 0; /* vvar, vvar_vclock,
										vsyscall */
}

/* False when the mappings cannot be read. */
static bool put_world(struct replay_log *l, const struct task *task)
{
	struct mapping_list all = {0};

	if (!mappings_read(task->host_tid, &all))
		return false;
	for (size_t i = 0; i < all.count; i++) {
		const struct mapping *m = &all.maps[i];
		const bool grows = !strcmp(m->path, "[stack]");
		const struct log_shape shape = {
			.what = BT_SHAPE_MAP,
			.start = m->start,
			.end = m->end,
			.from = grows ? stack_limit_tell(&l->stack, task->host_tid) : 0,
			.prot = m->prot,
			.grows = grows,
			.has_content = true,
			.dev = m->dev,
			.ino = m->ino,
			.offset = m->offset,
			.path = m->path};

		if (!is_kernels(m) && m->start - WORLD_RESERVED_START >= WORLD_RESERVED_SIZE)
			put_shape(l, task->host_tid, &shape);
	}
	mappings_release(&all);
	return true;
}

static void put_processor(struct replay_log *l)
{
	struct bt_record_log_processor rec = {0};
	struct processor_offer offer;
	struct buf leaves = {0};

	processor_offer_read(&offer);
	log_processor_encode(&leaves, &offer);
	rec.xcr0 = offer.xcr0;
	rec.leaves = slice_of(leaves.data, leaves.len);
	if (!leaves.failed)
		write_record(l, BT_RECORD_LOG_PROCESSOR, &rec);
	buf_release(&leaves);
}

/* The task has executed another program, and stands before its first instruction: all that it has
 * is an effect of that call. */
static void put_other_program(struct replay_log *l, struct task *task)
{
	static const struct log_shape all[] = {
		{.what = BT_SHAPE_UNMAP, .end = WORLD_RESERVED_START},
		{.what = BT_SHAPE_UNMAP,
		 .start = WORLD_RESERVED_START + WORLD_RESERVED_SIZE,
		 .end = BT_USER_END - BT_PAGE}}; /* the kernel maps nothing on the last one */

	if (!is_logged(l, task) || !l->executes)
		return;
	l->executes = false;
	l->heap_end = tracee_heap_start(task->host_tid);
	world_hide_vdso(task->host_tid);
	guarded_pages_release(&l->guards);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		put_shape(l, task->host_tid, &all[i]);
	if (!put_world(l, task))
		replay_log_end(l, "the memory of the program that it executes cannot be read");
	put_state(l, task, true);
	write_record(l, BT_RECORD_LOG_CALL, &l->execution);
}

void replay_log_program(struct replay_log *l, struct task *task)
{
	struct bt_record_log rec = {.version = BT_LOG_VERSION, .task = task->number};

	if (!l->writer || l->end)
		return;
	l->reads_run = tracee_personality(task->host_tid) & READ_IMPLIES_EXEC;
	if (l->begun) {
		put_other_program(l, task);
		return;
	}
	l->unit = task->unit->number;
	l->task = task->number;
	l->heap_end = tracee_heap_start(task->host_tid);
	world_hide_vdso(task->host_tid);
	log_outputs_begin(&l->outputs, task->host_tid);
	put_processor(l);
	if (!put_world(l, task))
		return;
	put_state(l, task, true);
	rec.point = task_point(task);
	l->begun = true;
	write_record(l, BT_RECORD_LOG, &rec);
}

/* Logs the memory that gettimeofday, time or getcpu may have written. The arguments are still in
 * their registers. */
static void put_vsyscall(struct replay_log *l, const struct task *task)
{
	const uint64_t at[] = {task->regs.rdi, task->regs.rsi};
	uint8_t bytes[16]; /* struct timeval is the largest */

	for (size_t i = 0; i < ARRAY_SIZE(at); i++) {
		size_t n = tracee_read(task->host_tid, at[i], bytes, sizeof bytes);

		if (n)
			put_data(l, at[i], bytes, n);
	}
}

/* Logs the memory where xsave or its like has stored, as much as the largest form that the system
 * enables takes (CPUID, leaf 0xd). Bytes that the instruction did not write are unchanged. */
static void put_saved_parts(struct replay_log *l, const struct task *task)
{
	unsigned a, enabled, c, d;
	uint8_t bytes[TRACEE_EXTENDED];
	size_t n;

	if (!__get_cpuid_count(0xd, 0, &a, &enabled, &c, &d))
		return;
	n = tracee_read(task->host_tid, task->saved_parts, bytes,
			enabled < sizeof bytes ? enabled : sizeof bytes);
	if (n)
		put_data(l, task->saved_parts, bytes, n);
}

void replay_log_instruction(struct replay_log *l, const struct task *task)
{
	struct bt_record_log_instruction rec = {
		.task = task->number, .point = task_point(task), .regs = task->regs};

	if (!is_logged(l, task))
		return;
	if (task->left_vsyscall)
		put_vsyscall(l, task);
	if (task->has_saved_parts)
		put_saved_parts(l, task);
	write_record(l, BT_RECORD_LOG_INSTRUCTION, &rec);
}

/* ---- System calls ---- */

static size_t read_of_task(void *arg, uint64_t at, void *bytes, size_t n)
{
	const struct task *task = arg;

	return tracee_read(task->host_tid, at, bytes, n);
}

/* Where the call may write memory that its ranges do not hold. */
static enum memory_copy_of writes_more(const struct replay_log *l, const struct task *task)
{
	const struct tracee_syscall *c = &task->syscall;
	const struct syscall_facts *facts = c->compat ? NULL : syscall_facts(c->nr);

	if (!facts || l->ranges.known != SYSCALL_RANGES_KNOWN ||
	    facts->changes & SYSCALL_CHANGES_OTHERS || l->may_break_off)
		return MEMORY_COPY_ALL;
	if (syscall_is(c, SYS_exit_group)) /* nobody sees what is there behind it */
		return MEMORY_COPY_NOTHING;
	if (facts->changes & SYSCALL_CHANGES_MAPS && !log_shapes_knows(c) &&
	    !changed_mappings_knows(c))
		return MEMORY_COPY_ALL;
	return l->file.change == MAPPED_FILE_ANY ||
			       (l->file.change == MAPPED_FILE_NOBODY_KNOWS &&
				facts->changes & SYSCALL_CHANGES_OBJECTS &&
				mappings_share_files(&task->process->space->mappings))
		       ? MEMORY_COPY_FILES
		       : MEMORY_COPY_NOTHING;
}

void replay_log_syscall_enter(struct replay_log *l, struct task *task)
{
	const struct syscall_memory memory = {read_of_task, task};

	if (!is_logged(l, task))
		return;
	l->regs = task->regs;
	l->at = task_point(task);
	l->in_call = true;
	/* Without room the call is unknown. */
	l->ranges = (struct syscall_ranges){.room = l->room ? SYSCALL_RANGES_ENOUGH : 0,
					    .ranges = l->room};
	syscall_ranges_enter(task->syscall.nr, task->syscall.args, &memory, &l->ranges);
	l->detaching = changed_mappings_detach(task->host_tid, &task->syscall);
	address_space_catch_up(task->process->space, task->host_tid);
	l->file = mapped_file_call_enter(task->host_tid, &task->syscall,
					 &task->process->space->mappings);
	log_content_enter(&l->content, task->host_tid, &task->syscall);
	log_outputs_enter(&l->outputs, task->host_tid, &task->syscall);
	l->may_break_off = !task->syscall.compat && l->ranges.known == SYSCALL_RANGES_KNOWN &&
			   !ranges_are_writable(task->host_tid, &task->process->space->mappings,
						&l->guards, &l->ranges);
	l->compares = writes_more(l, task);
	if (l->compares && !memory_copy_take(&l->before, task->host_tid, l->compares,
					     l->file.change == MAPPED_FILE_ANY))
		replay_log_end(l, "out of memory");
}

struct file_change {
	struct replay_log *log;
	const struct task *task;
};

/* Guards in mappings of files, which nobody can read, come with Linux 6.15. Of code that lies there
 * the new one runs from here on, as in the replay. */
static void put_file_change(void *arg, uint64_t addr, uint64_t n)
{
	const struct file_change *c = arg;
	struct guarded_range guard;

	address_space_written(c->task->process->space, c->task->host_tid, addr, addr + n);
	for (uint64_t at = addr; at < addr + n; at = guard.end) {
		guard = guarded_pages_first(&c->log->guards, at, addr + n);
		log_sink_memory(&c->log->outputs.sink, c->task->host_tid, at, guard.start - at);
	}
}

/* Logs the pages behind the file's end. Inodes are compared by number alone, so the pages may
 * belong to another file and have content. */
static void put_file_cut(void *arg, uint64_t start, uint64_t end)
{
	const struct file_change *c = arg;
	const struct log_shape fresh = {.what = BT_SHAPE_MAP,
					.start = start,
					.end = end,
					.inherits = true,
					.has_content = true,
					.is_old = true};

	put_shape_and_guards(c->log, c->task->host_tid, &fresh);
	address_space_written(c->task->process->space, c->task->host_tid, start, end);
}

static void put_difference(void *arg, uint64_t addr, const uint8_t *bytes, size_t n)
{
	const struct file_change *c = arg;

	put_data(c->log, addr, bytes, n);
}

static void put_written(struct replay_log *l, struct task *task, uint64_t result)
{
	const struct syscall_memory memory = {read_of_task, task};
	struct file_change change = {l, task};
	const struct mapped_file_sink sink = {put_file_change, put_file_cut, &change};

	if (l->compares)
		memory_copy_compare(&l->before, task->host_tid, put_difference, put_file_cut,
				    &change);
	else if (l->file.change == MAPPED_FILE_PART)
		mapped_file_call_exit(&l->file, task->host_tid, &task->syscall, result, &sink);
	/* Memory that the call makes the stack grow into is in no copy, but in the ranges. */
	if (l->compares == MEMORY_COPY_ALL && !l->may_break_off)
		return;
	syscall_ranges_exit(result, &memory, &l->ranges);
	for (size_t i = 0; i < l->ranges.count; i++)
		log_sink_memory(&l->outputs.sink, task->host_tid, l->ranges.ranges[i].start,
				l->ranges.ranges[i].length);
}

/* The registers with which the task goes on if the call did nothing but return. */
static bool is_plain_return(const struct bt_regs *entry, const struct bt_regs *now)
{
	struct bt_regs expected = *entry;

	expected.rax = now->rax;
	expected.orig_rax = now->orig_rax;
	return !memcmp(&expected, now, sizeof expected);
}

/* The call may have set where the heap ends, without mapping anything (prctl(2), PR_SET_MM). */
static void follow_heap(struct replay_log *l, const struct task *task, uint64_t result)
{
	const struct tracee_syscall *c = &task->syscall;
	struct prctl_mm_map map;

	if (result || !syscall_is(c, SYS_prctl) || (uint32_t)c->args[0] != PR_SET_MM)
		return;
	if (c->args[1] == PR_SET_MM_BRK)
		l->heap_end = c->args[2];
	else if (c->args[1] == PR_SET_MM_MAP &&
		 tracee_read(task->host_tid, c->args[2], &map, sizeof map) == sizeof map)
		l->heap_end = map.brk;
}

void replay_log_syscall_exit(struct replay_log *l, struct task *task, const struct bt_point *at,
			     uint64_t result, uint64_t seq)
{
	struct bt_record_log_call rec = {.seq = seq,
					 .task = task->number,
					 .point = l->at,
					 .regs = l->regs,
					 .result = result,
					 .again = task->syscall_restarts};
	const char *unloggable;
	uint64_t told;

	(void)at;
	if (!is_logged(l, task) || !l->in_call)
		return;
	l->in_call = false;
	if (syscall_is(&task->syscall, SYS_personality))
		l->reads_run = tracee_personality(task->host_tid) & READ_IMPLIES_EXEC;
	if (!result &&
	    (syscall_is(&task->syscall, SYS_execve) || syscall_is(&task->syscall, SYS_execveat))) {
		l->executes = true; /* replay_log_program() goes on */
		l->execution = rec;
		return;
	}
	unloggable = unloggable_call(task, &task->syscall, result);
	if (unloggable) {
		replay_log_end(l, unloggable);
		return;
	}
	follow_heap(l, task, result);
	put_shapes(l, task, &task->syscall, result);
	if (!changed_mappings_tell(task->host_tid, &l->detaching, put_shape_and_guards, l))
		replay_log_end(l, "what a call did to mappings cannot be read");
	put_written(l, task, result);
	stack_limit_call(&l->stack, task->host_tid, &task->syscall, &l->outputs.sink);
	told = log_outputs_put(&l->outputs, task->host_tid, &task->syscall, result);
	rec.told = told && told == result;
	if (syscall_is(&task->syscall, SYS_rt_sigreturn) || !is_plain_return(&l->regs, &task->regs))
		put_state(l, task, syscall_is(&task->syscall, SYS_rt_sigreturn));
	write_record(l, BT_RECORD_LOG_CALL, &rec);
}

/* Logs the call's effects that its bytes in LOG_CALLS do not have. A call that has such effects is
 * the first one of its record. Returns how many bytes the user has seen. */
static uint64_t put_effects_of_made(struct replay_log *l, const struct task *task,
				    const struct bt_logged_call *call)
{
	const struct syscall_facts *facts = syscall_facts(call->nr);
	struct tracee_syscall made = {.nr = call->nr};
	struct bt_record_log_output output = {.stream = (uint8_t)call->output.stream,
					      .addr = call->output.addr,
					      .bytes = call->output.bytes};
	const char *unloggable;

	memcpy(made.args, call->args, sizeof made.args);
	if (!facts || facts->changes & SYSCALL_CHANGES_MAPS) {
		unloggable = unloggable_call(task, &made, call->result);
		if (unloggable) {
			replay_log_end(l, unloggable);
			return 0;
		}
		put_shapes(l, task, &made, call->result);
	}
	if (!call->output.stream || call->output.stream >= OUTPUT_FILES ||
	    call_has_failed(call->result) || !output.bytes.len)
		return 0;
	write_record(l, BT_RECORD_LOG_OUTPUT, &output);
	return output.bytes.len;
}

void replay_log_made(struct replay_log *l, const struct task *task,
		     const struct bt_logged_call *call)
{
	struct bt_logged_call later = *call;
	uint64_t told;

	if (!is_logged(l, task))
		return;
	told = call->form == BT_LOGGED_CALL ? put_effects_of_made(l, task, call) : 0;
	later.told = told && told == call->result;
	if (l->end) /* for want of room for them */
		return;
	if (!l->calls.len) {
		l->calls_tick = call->tick;
		l->codec = (struct log_calls_codec){.tick = call->tick};
	}
	if (later.tick < l->codec.tick) /* a number that the program has written over */
		later.tick = l->codec.tick;
	log_calls_encode(&l->codec, &l->calls, &later);
	if (l->calls.failed || l->calls.len >= CALLS_MOST)
		put_calls(l);
}

void replay_log_flush(struct replay_log *l)
{
	if (l->calls.len)
		put_calls(l);
}

/* ---- Signals ---- */

/* Logs the pages of [start, start + FRAME_MOST) that can be read. */
static void put_frame(struct replay_log *l, const struct task *task, uint64_t start)
{
	for (uint64_t at = 0; at < FRAME_MOST; at += BT_PAGE) {
		uint8_t bytes[BT_PAGE];
		size_t n = tracee_read(task->host_tid, start + at, bytes, sizeof bytes);

		if (n)
			put_data(l, start + at, bytes, n);
	}
}

/* Logs what the kernel has written of a frame that had no room below sp. */
static void put_failed_frame(struct replay_log *l, const struct task *task, uint64_t sp)
{
	put_frame(l, task, page_down(sp - FRAME_MOST));
	put_frame(l, task, page_down(sp));
}

/* A handler's frame had no room on the stack, and SIGSEGV has come in the handler's place. The
 * kernel has written some of the frame (setup_rt_frame(), Linux arch/x86/kernel/signal.c), and has
 * given the call that the first signal interrupted the result that its handler would have found. */
static void put_failed_handler(struct replay_log *l, const struct task *task)
{
	put_failed_frame(l, task, task->regs.rsp);
	put_state(l, task, false);
}

/* The frame may have been for the alternate stack. Which that is, the frame of SIGSEGV's handler
 * tells. Without a handler the program ends, and does not see what was written. */
static void put_failed_alternate(struct replay_log *l, const struct task *task)
{
	uint64_t start, size;

	if (signal_frame_stack(task->host_tid, &task->regs, &start, &size))
		put_failed_frame(l, task, start + size);
}

/* Whether an instruction raises the signal in a replay, too. The stack of a replay grows up to its
 * limit. The recorded one may have been kept from that by another limit (RLIMIT_AS, RLIMIT_MEMLOCK
 * and mlockall, the kernel's overcommit: acct_stack_growth(), Linux 6.12, mm/mmap.c). */
static bool comes_by_itself(const struct replay_log *l, const struct task *task,
			    const struct arrived_signal *signal)
{
	const siginfo_t *info = signal->info;

	if (!signal->sync || signal->sent)
		return false;
	if (info->si_signo != SIGSEGV || info->si_code != SEGV_MAPERR)
		return true;
	address_space_catch_up(task->process->space, task->host_tid);
	return !stack_limit_reaches(&l->stack, &task->process->space->mappings,
				    (uint64_t)(uintptr_t)info->si_addr);
}

void replay_log_signal(struct replay_log *l, const struct task *task,
		       const struct arrived_signal *signal, uint64_t seq)
{
	struct bt_record_log_signal rec = {.seq = seq,
					   .task = task->number,
					   .point = task_point(task),
					   .regs = task->regs,
					   .signo = (uint32_t)signal->info->si_signo,
					   .action = (uint8_t)signal->action,
					   .info = slice_of(signal->info, sizeof *signal->info)};

	rec.regs.orig_rax = UINT64_MAX; /* it tells of a call that is over */
	if (tracee_may_be_dispatched(signal->info))
		rec.from = task->signal_from ? task->signal_from : rec.point.rip;
	if (!is_logged(l, task))
		return;
	rec.sync = comes_by_itself(l, task, signal);
	l->frame_failed = l->enters_handler && rec.signo == SIGSEGV;
	if (l->frame_failed)
		put_failed_handler(l, task);
	l->enters_handler = signal->action == BT_ACTION_HANDLER;
	write_record(l, BT_RECORD_LOG_SIGNAL, &rec);
}

void replay_log_handler(struct replay_log *l, const struct task *task, uint64_t seq)
{
	struct bt_record_log_handler rec = {
		.seq = seq, .task = task->number, .point = task_point(task)};

	if (!is_logged(l, task))
		return;
	if (l->frame_failed)
		put_failed_alternate(l, task);
	l->enters_handler = l->frame_failed = false;
	/* The kernel writes it upwards from rsp. Memory behind the frame has not changed, and
	 * logging it does no harm. */
	put_frame(l, task, task->regs.rsp);
	put_state(l, task, true);
	write_record(l, BT_RECORD_LOG_HANDLER, &rec);
}

void replay_log_exit(struct replay_log *l, struct task *task, enum bt_exit_kind kind, int status,
		     const struct bt_point *at, uint64_t seq)
{
	struct bt_record_log_exit rec = {.seq = seq,
					 .task = task->number,
					 .point = *at,
					 .kind = (uint8_t)kind,
					 .status = (uint32_t)status};

	/* It was killed when the kernel had gone back to where a signal came, before that was told.
	 */
	if (l->in_call && syscall_is(&task->syscall, SYS_rt_sigreturn) &&
	    task->regs.rip != l->regs.rip)
		replay_log_syscall_exit(l, task, at, task->regs.rax, 0);
	if (is_logged(l, task))
		write_record(l, BT_RECORD_LOG_EXIT, &rec);
}
