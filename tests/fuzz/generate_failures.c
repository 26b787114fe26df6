/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/generate_failures.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "format/record.h"
#include "format/syscall_details.h"
#include "lib/event.h"
#include "lib/syscall.h"

enum {
	CODE = 0x401000,
	CODE_END = 0x402000,
	STACK = 0x7ffc00001000,
	LOCKS = 0x404000,
	FIRST_PID = 10,
};

/* Records of one trace: their numbers count on. */
struct story {
	struct buf *out;
	uint64_t seq, tick;
	uint32_t snapshots;
};

static void add(struct story *s, enum bt_record_kind kind, const void *body)
{
	bt_record_encode(s->out, kind, body);
}

static struct bt_point point_of(struct story *s)
{
	s->tick++;
	return (struct bt_point){.tick = s->tick, .transfers = 1, .rip = CODE + 0x40};
}

/* A process with one thread; those of the first process are its children. */
static void begin_process(struct story *s, uint32_t task, uint32_t parent, const char *path)
{
	struct bt_record_space space = {.seq = ++s->seq, .space = task};
	struct bt_record_task t = {.seq = ++s->seq,
				   .task = task,
				   .parent = parent,
				   .unit = 1,
				   .space = task,
				   .pid = FIRST_PID * task,
				   .tid = FIRST_PID * task};
	struct bt_record_exec exec = {.seq = ++s->seq,
				      .task = task,
				      .space = task,
				      .path = bt_str(path),
				      .argv = slice_of("app\0arg\0", 8),
				      .tid = FIRST_PID * task};
	struct bt_record_map map = {.seq = ++s->seq,
				    .space = task,
				    .epoch = 1,
				    .start = CODE - 0x1000,
				    .end = CODE_END,
				    .prot = 5,
				    .path = bt_str(path)};
	struct bt_record_code code = {
		.seq = ++s->seq, .space = task, .epoch = 1, .addr = CODE, .object = 1};
	struct bt_record_main entered = {.seq = ++s->seq, .task = task, .point = point_of(s)};

	add(s, BT_RECORD_SPACE, &space);
	add(s, BT_RECORD_TASK, &t);
	add(s, BT_RECORD_EXEC, &exec);
	add(s, BT_RECORD_MAP, &map);
	add(s, BT_RECORD_CODE, &code);
	add(s, BT_RECORD_MAIN, &entered);
}

/* A call that is made at stops; path: what its argument points to. */
static void add_call(struct story *s, uint32_t task, uint64_t nr, unsigned arg, const char *path,
		     long result)
{
	const struct bt_pointed p = {.arg = arg, .bytes = slice_of(path, strlen(path) + 1)};
	struct bt_record_syscall_enter enter = {.seq = ++s->seq,
						.task = task,
						.point = point_of(s),
						.nr = nr,
						.arg0 = 2,
						.arg1 = CODE,
						.arg2 = 16};
	struct bt_record_syscall_exit end = {
		.seq = ++s->seq, .task = task, .nr = nr, .result = (uint64_t)result};
	struct buf pointed = {0};

	bt_pointed_encode(&pointed, &p, 1);
	enter.pointed = slice_of(pointed.data, pointed.len);
	end.point = point_of(s);
	add(s, BT_RECORD_SYSCALL_ENTER, &enter);
	add(s, BT_RECORD_SYSCALL_EXIT, &end);
	buf_release(&pointed);
}

/* Three calls that were made without a stop, of which the second has details. */
static void add_calls(struct story *s, uint32_t task)
{
	static const struct bt_syscall made[] = {
		{.nr = SYS_getpid, .result = 10},
		{.nr = SYS_openat, .result = (uint64_t)-ENOENT},
		{.nr = SYS_read, .result = (uint64_t)-EIO},
	};
	const struct bt_syscall_details open_details = {
		.count = 3,
		.args = {(uint64_t)-100, CODE, 0},
		.pointed_count = 1,
		.pointed = {{.arg = 1, .bytes = slice_of("/etc/missing", 13)}},
	};
	struct bt_record_calls calls = {.seq = ++s->seq, .task = task, .tick = s->tick, .count = 3};
	struct bt_details_codec codec = {0};
	struct buf bytes = {0}, details = {0};

	for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
		buf_leb(&bytes, i);
		buf_leb(&bytes, made[i].nr);
		buf_sleb(&bytes, (int64_t)made[i].result);
	}
	bt_details_encode(&codec, &details, 1, &open_details);
	calls.calls = slice_of(bytes.data, bytes.len);
	calls.details = slice_of(details.data, details.len);
	add(s, BT_RECORD_CALLS, &calls);
	buf_release(&bytes);
	buf_release(&details);
}

static void add_words(struct story *s, uint32_t task, const char *text)
{
	struct bt_record_last_words said = {.seq = ++s->seq,
					    .task = task,
					    .total = strlen(text),
					    .text = bt_str(text),
					    .first = bt_str(text),
					    .telling = bt_str(text)};

	add(s, BT_RECORD_LAST_WORDS, &said);
}

static void add_memory(struct story *s, uint32_t space, uint64_t addr, const void *bytes, size_t n)
{
	struct bt_record_memory memory = {.seq = ++s->seq,
					  .snapshot = s->snapshots,
					  .space = space,
					  .addr = addr,
					  .bytes = slice_of(bytes, n)};

	add(s, BT_RECORD_MEMORY, &memory);
}

static void add_thread(struct story *s, uint32_t task, const struct bt_regs *regs, bool in_call)
{
	struct bt_record_thread thread = {.seq = ++s->seq,
					  .snapshot = s->snapshots,
					  .task = task,
					  .point = point_of(s),
					  .position = 8,
					  .epoch = 1,
					  .in_syscall = in_call,
					  .regs = *regs};

	add(s, BT_RECORD_THREAD, &thread);
}

static void begin_moment(struct story *s, uint32_t task, enum bt_snapshot_kind kind, uint64_t event,
			 const char *label)
{
	struct bt_record_snapshot snap = {.seq = ++s->seq,
					  .snapshot = ++s->snapshots,
					  .task = task,
					  .kind = (uint8_t)kind,
					  .point = point_of(s),
					  .space = task,
					  .epoch = 1,
					  .position = 8,
					  .event = event,
					  .label = bt_str(label)};

	add(s, BT_RECORD_SNAPSHOT, &snap);
}

/* A moment of the task alone, and two frames of its stack. */
static void add_moment(struct story *s, uint32_t task, enum bt_snapshot_kind kind, uint64_t event,
		       const char *label)
{
	static const uint64_t stack[] = {STACK + 0x20, CODE + 0x25, 3, 4, 0, CODE + 0x45};
	const struct bt_regs regs = {.rip = CODE + 0x40,
				     .rsp = STACK,
				     .rbp = STACK,
				     .rdi = 3,
				     .rax = SYS_exit_group,
				     .orig_rax = SYS_exit_group};

	begin_moment(s, task, kind, event, label);
	add_thread(s, task, &regs, kind == BT_SNAPSHOT_EXIT);
	add_memory(s, task, STACK, stack, sizeof stack);
}

static void end_task(struct story *s, uint32_t task, enum bt_exit_kind kind, uint32_t status)
{
	struct bt_record_exit end = {.seq = ++s->seq,
				     .task = task,
				     .point = point_of(s),
				     .kind = (uint8_t)kind,
				     .status = status,
				     .last = 1,
				     .regs = {.rip = CODE + 0x40, .rsp = STACK}};

	add(s, BT_RECORD_EXIT, &end);
}

static void end_trace(struct story *s, enum bt_exit_kind kind, uint32_t status)
{
	struct bt_record_end end = {.seq = ++s->seq, .kind = (uint8_t)kind, .status = status};

	add(s, BT_RECORD_UNIT, &(struct bt_record_unit){0});
	add(s, BT_RECORD_END, &end);
}

void failure_events(struct buf *out)
{
	struct story s = {.out = out};
	static const char said[] = "app: cannot open /etc/missing: No such file or directory\n";

	add(&s, BT_RECORD_UNIT, &(struct bt_record_unit){1});
	begin_process(&s, 1, 0, "/bin/app");
	begin_process(&s, 2, 1, "/bin/child");
	add_call(&s, 2, SYS_openat, 1, "/etc/missing", -ENOENT);
	add_call(&s, 2, SYS_openat, 1, "/etc/missing", -ENOENT);
	add_calls(&s, 2);
	add_moment(&s, 2, BT_SNAPSHOT_MESSAGE, 0, "");
	add_call(&s, 2, SYS_write, 1, said, sizeof said - 1);
	add_words(&s, 2, said);
	add_moment(&s, 2, BT_SNAPSHOT_FAILURE, s.seq, "");
	end_task(&s, 2, BT_EXIT_STATUS, 2);
	add_call(&s, 1, SYS_wait4, 1, "", 20);
	add_moment(&s, 1, BT_SNAPSHOT_FUNCTION, 0, "__cxa_throw");
	add_calls(&s, 1);
	add_words(&s, 1, "terminate called after throwing an instance of 'int'\n");
	add_moment(&s, 1, BT_SNAPSHOT_EXIT, s.seq, "");
	end_task(&s, 1, BT_EXIT_STATUS, 3);
	end_trace(&s, BT_EXIT_STATUS, 3);
}

void hang_events(struct buf *out)
{
	struct story s = {.out = out};
	struct bt_record_task second = {.task = 2,
					.parent = 1,
					.unit = 1,
					.space = 1,
					.pid = FIRST_PID,
					.tid = FIRST_PID + 1,
					.how = BT_TASK_THREAD};
	struct bt_record_signal terminated = {
		.task = 1, .signo = 15, .sender = 1, .action = BT_ACTION_TERMINATE};

	add(&s, BT_RECORD_UNIT, &(struct bt_record_unit){1});
	begin_process(&s, 1, 0, "/bin/app");
	second.seq = ++s.seq;
	add(&s, BT_RECORD_TASK, &second);
	terminated.seq = ++s.seq;
	terminated.point = point_of(&s);
	add(&s, BT_RECORD_SIGNAL, &terminated);
	begin_moment(&s, 1, BT_SNAPSHOT_FATAL, terminated.seq, "");
	for (uint32_t i = 0; i < 2; i++) {
		/* A mutex of glibc that is locked, and contended, by the other thread. */
		const uint32_t mutex[10] = {2, 0, FIRST_PID + 1 - i, 1, 0};
		const uint64_t stack[] = {CODE + 0x25, 0, CODE + 0x35};
		const struct bt_regs regs = {.rip = CODE + 0x32,
					     .rsp = STACK + i * 0x1000,
					     .rax = (uint64_t)-512,
					     .orig_rax = SYS_futex,
					     .rdi = LOCKS + i * 64,
					     .rsi = 128,
					     .rdx = 2};

		add_thread(&s, 1 + i, &regs, true);
		add_memory(&s, 1, LOCKS + i * 64, mutex, sizeof mutex);
		add_memory(&s, 1, STACK + i * 0x1000, stack, sizeof stack);
	}
	end_task(&s, 2, BT_EXIT_SIGNAL, 15);
	end_task(&s, 1, BT_EXIT_SIGNAL, 15);
	end_trace(&s, BT_EXIT_SIGNAL, 15);
}

void hang_symbols(struct buf *out)
{
	static const char *const texts[] = {"/bin/app", "main", "pthread_mutex_lock"};
	struct story s = {.out = out};
	struct bt_record_symbols first = {.made = 1, .version = bt_str("1")};
	struct bt_record_module module = {.path = 1, .level = 3};

	add(&s, BT_RECORD_SYMBOLS, &first);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		add(&s, BT_RECORD_TEXT, &(struct bt_record_text){bt_str(texts[i])});
	add(&s, BT_RECORD_MODULE, &module);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t at = i ? 0x1032 : 0x1024, frames[] = {CODE + 0x32, CODE + 0x25};
		struct bt_record_place place = {
			.module = 1, .at = at, .vaddr = at, .function = 2 + i};
		struct bt_record_stack stack = {.snapshot = 1, .task = 1 + i, .complete = 1};
		struct buf bytes = {0};

		add(&s, BT_RECORD_PLACE, &place);
		for (unsigned k = 0; k < 2; k++) {
			buf_u64(&bytes, frames[k]);
			buf_u64(&bytes, STACK + i * 0x1000 + 8 + k * 8);
			buf_u8(&bytes, (uint8_t)k);
		}
		stack.frames = slice_of(bytes.data, bytes.len);
		add(&s, BT_RECORD_STACK, &stack);
		buf_release(&bytes);
	}
}
