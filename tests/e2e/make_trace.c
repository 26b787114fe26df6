/* SPDX-License-Identifier: MIT */
/* Writes a trace that is the same every time, for tests of what shows traces:
 *   make_trace DIR PROGRAM [rounds [argument...]]
 * PROGRAM is screen_sample.S, assembled. It is walked, not run: the lengths and targets of its
 * instructions are those of its bytes, and the conditionals go as decided here. rounds: of its loop
 * (default 36: some 300 branches). The arguments become the recorded command line. STACK in the
 * environment: gone (it was not kept), wrong (a return address was written over). */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/trace_writer.h"
#include "lib/branch.h"
#include "lib/insn.h"

enum {
	PAGE = 4096,
	TEXT = 0x401000, /* where PROGRAM's text is linked, at offset PAGE of the file */
	LEAF = TEXT + 0x100,
	HANDLER = TEXT + 0x140,
	STACK = 0x7ffd0000,
	STACK_SIZE = 0x10000,
	INNER_ROUNDS = 3,
	SIGNAL_ROUND = 10,
	MAIN_TASK = 1,
	OTHER_TASK = 2,
	SPACE = 1,
	EPOCH = 1,
};

struct walk {
	struct trace_writer *w;
	uint8_t code[PAGE];
	uint64_t rip, rsp;
	uint64_t stack[STACK_SIZE / 8];
	uint64_t tick, transfers, position;
	struct bt_branch_codec codec;
	struct buf entries;
	uint64_t first;
	struct bt_point chunk; /* where the chunk begins */
	uint64_t scribble;     /* the number of an entry that something wrote on; 0: none */
	bool stack_gone, stack_wrong;
};

static void die(const char *what)
{
	perror(what);
	exit(99);
}

static struct bt_point point_of(const struct walk *k)
{
	return (struct bt_point){.tick = k->tick, .transfers = k->transfers, .rip = k->rip};
}

static struct bt_insn insn_at(const struct walk *k, uint64_t addr)
{
	struct bt_insn insn;

	if (addr < TEXT || addr >= TEXT + PAGE ||
	    bt_insn_decode(k->code + (addr - TEXT), TEXT + PAGE - addr, &insn)) {
		fprintf(stderr, "make_trace: no instruction at %#lx\n", (unsigned long)addr);
		exit(99);
	}
	return insn;
}

static void entry(struct walk *k, struct bt_branch b)
{
	if (k->scribble && k->position == k->scribble)
		b.from ^= 1;
	bt_branch_encode(&k->codec, &k->entries, &b);
	k->position++;
	if (b.kind == BT_BRANCH_JCC) {
		k->tick++;
		k->transfers = 0;
	} else if (bt_branch_info[b.kind].transfer) {
		k->transfers++;
	}
}

static void chunk_begin(struct walk *k)
{
	k->codec = (struct bt_branch_codec){0};
	buf_reset(&k->entries);
	k->first = k->position;
	k->chunk = point_of(k);
}

static void chunk_end(struct walk *k, uint32_t task)
{
	struct bt_record_branches r = {
		.task = task,
		.first = k->first,
		.count = k->position - k->first,
		.tick = k->chunk.tick,
		.transfers = k->chunk.transfers,
		.epoch = EPOCH,
		.space = SPACE,
		.entries = slice_of(k->entries.data, k->entries.len),
	};

	trace_writer_branches(k->w, &r);
	chunk_begin(k);
}

static void push(struct walk *k, uint64_t v)
{
	k->rsp -= 8;
	k->stack[(k->rsp - STACK) / 8] = v;
}

static uint64_t pop(struct walk *k)
{
	uint64_t v = k->stack[(k->rsp - STACK) / 8];

	k->rsp += 8;
	return v;
}

static void branch(struct walk *k, enum bt_branch_kind kind, uint64_t to, bool taken)
{
	entry(k, (struct bt_branch){.from = k->rip,
				    .to = to,
				    .kind = (uint8_t)kind,
				    .flags = taken ? BT_BRANCH_TAKEN : 0});
	k->rip = to;
}

/* Runs to the next branch and over it. taken: of a conditional; to: of an indirect one, 0
 * elsewhere. */
static void step(struct walk *k, bool taken, uint64_t to)
{
	struct bt_insn insn = insn_at(k, k->rip);
	uint64_t next;

	for (; bt_insn_branch_kind(insn.class) < 0; insn = insn_at(k, k->rip))
		k->rip += insn.len;
	next = k->rip + insn.len;
	if (!to)
		to = next + (uint64_t)insn.displacement;
	switch (insn.class) {
	case BT_INSN_JCC:
		branch(k, BT_BRANCH_JCC, taken ? to : next, taken);
		break;
	case BT_INSN_RET:
		branch(k, BT_BRANCH_RET, pop(k), true);
		break;
	case BT_INSN_CALL:
	case BT_INSN_ICALL:
		push(k, next);
		branch(k, (enum bt_branch_kind)bt_insn_branch_kind(insn.class), to, true);
		break;
	case BT_INSN_SYSCALL:
		branch(k, BT_BRANCH_SYSCALL, next, true);
		break;
	default:
		branch(k, (enum bt_branch_kind)bt_insn_branch_kind(insn.class), to, true);
	}
}

static struct bt_regs regs_of(const struct walk *k, uint64_t rbp)
{
	return (struct bt_regs){.rip = k->rip,
				.rsp = k->rsp,
				.rbp = rbp,
				.rax = LEAF,
				.rdx = 0x2a,
				.cs = 0x33,
				.ss = 0x2b,
				.eflags = 0x10246,
				.orig_rax = UINT64_MAX};
}

struct moment {
	enum bt_snapshot_kind kind;
	uint32_t number;
	int signo, code;
	enum bt_signal_action action;
};

static void snapshot(struct walk *k, const struct moment *m, uint64_t rbp,
		     const struct bt_record_thread *other)
{
	uint64_t event = trace_writer_next_seq(k->w), seq;
	struct bt_record_signal signal = {
		.seq = event,
		.task = MAIN_TASK,
		.point = point_of(k),
		.signo = (uint32_t)m->signo,
		.code = (uint32_t)m->code,
		.addr = m->signo == SIGSEGV ? 8 : 0,
		.sync = m->signo == SIGSEGV,
		.action = (uint8_t)m->action,
		.sender = m->signo == SIGSEGV ? 0 : 1000,
	};
	struct bt_record_snapshot snap = {
		.snapshot = m->number,
		.task = MAIN_TASK,
		.kind = (uint8_t)m->kind,
		.point = point_of(k),
		.space = SPACE,
		.epoch = EPOCH,
		.position = k->position,
		.event = event,
	};
	struct bt_record_thread thread = {
		.snapshot = m->number,
		.task = MAIN_TASK,
		.point = point_of(k),
		.position = k->position,
		.epoch = EPOCH,
		.regs = regs_of(k, rbp),
	};
	uint64_t low = other ? other->regs.rsp : k->rsp;
	struct bt_record_memory memory = {
		.snapshot = m->number,
		.space = SPACE,
		.addr = low,
		.bytes = slice_of(&k->stack[(low - STACK) / 8], STACK + STACK_SIZE - low),
	};

	chunk_end(k, MAIN_TASK);
	seq = trace_writer_next_seq(k->w);
	snap.seq = seq;
	thread.seq = trace_writer_next_seq(k->w);
	if (!k->stack_gone)
		memory.seq = trace_writer_next_seq(k->w);
	trace_writer_event(k->w, 1, BT_RECORD_SIGNAL, &signal);
	trace_writer_event(k->w, 1, BT_RECORD_SNAPSHOT, &snap);
	trace_writer_event(k->w, 1, BT_RECORD_THREAD, &thread);
	if (!k->stack_gone)
		trace_writer_event(k->w, 1, BT_RECORD_MEMORY, &memory);
	if (other) {
		struct bt_record_thread t = *other;

		t.snapshot = m->number;
		t.seq = trace_writer_next_seq(k->w);
		trace_writer_event(k->w, 1, BT_RECORD_THREAD, &t);
	}
}

/* A signal that a handler sees, in the middle of the loop. */
static void interrupt(struct walk *k, uint64_t rbp)
{
	const struct moment usr1 = {.kind = BT_SNAPSHOT_SIGNAL,
				    .number = 1,
				    .signo = SIGUSR1,
				    .action = BT_ACTION_HANDLER};
	uint64_t back = k->rip;

	snapshot(k, &usr1, rbp, NULL);
	branch(k, BT_BRANCH_ASYNC, HANDLER, true);
	for (struct bt_insn insn = insn_at(k, k->rip); insn.class != BT_INSN_SYSCALL;
	     insn = insn_at(k, k->rip))
		k->rip += insn.len;
	branch(k, BT_BRANCH_SYSCALL, back, true);
}

/* The last of it as a terminal would show it, but for what it would obey. */
static void say(struct walk *k)
{
	static const char text[] =
		"begun\n\x1b[33mwarning:\x1b[0m\tlittle left\nvisits: 10%\rvisits: 90%\n";
	struct bt_record_last_words said = {.task = MAIN_TASK,
					    .total = sizeof text - 1,
					    .text = slice_of(text, sizeof text - 1)};

	said.seq = trace_writer_next_seq(k->w);
	trace_writer_event(k->w, 1, BT_RECORD_LAST_WORDS, &said);
}

static void visit(struct walk *k)
{
	step(k, true, 0); /* call visit */
	for (int i = 1; i <= INNER_ROUNDS; i++)
		step(k, i < INNER_ROUNDS, 0);
	step(k, true, LEAF);
	step(k, true, 0);
	step(k, true, 0);
}

/* The other thread waits in a system call. */
static struct bt_record_thread other_thread(struct walk *k)
{
	struct bt_record_thread t = {.task = OTHER_TASK, .epoch = EPOCH, .in_syscall = 1};

	k->rip = TEXT;
	k->rsp = STACK + STACK_SIZE / 2;
	chunk_begin(k);
	step(k, true, 0); /* call setup */
	step(k, true, 0);
	chunk_end(k, OTHER_TASK);
	t.point = point_of(k);
	t.position = k->position;
	t.regs = regs_of(k, 0);
	t.regs.orig_rax = 202; /* futex */
	return t;
}

/* The ring has wrapped: 1200 entries and 800 ticks lie before what it keeps. */
static void walk_begin(struct walk *k)
{
	k->rip = TEXT;
	k->rsp = STACK + STACK_SIZE - 64;
	k->position = 1200;
	k->tick = 800;
	k->transfers = 0;
	chunk_begin(k);
}

static void run(struct walk *k, uint64_t rounds, const struct bt_record_thread *other)
{
	const struct moment end = {.kind = BT_SNAPSHOT_FATAL,
				   .number = 2,
				   .signo = SIGSEGV,
				   .code = SEGV_MAPERR,
				   .action = BT_ACTION_CORE};

	walk_begin(k);
	step(k, true, 0);  /* call setup */
	step(k, true, 0);  /* getpid */
	step(k, false, 0); /* js */
	step(k, true, 0);  /* ret */
	for (uint64_t i = rounds; i > 0; i--) {
		if (rounds - i == SIGNAL_ROUND)
			interrupt(k, i);
		visit(k);
		step(k, i > 1, 0);
		if (k->entries.len > 1 << 16)
			chunk_end(k, MAIN_TASK);
	}
	step(k, true, 0);  /* jmp finish */
	step(k, true, 0);  /* call lookup */
	step(k, false, 0); /* jz; the next instruction faults */
	say(k);
	if (k->stack_wrong)
		k->stack[(k->rsp - STACK) / 8] = TEXT + 5;
	snapshot(k, &end, 0, other);
}

static void map(struct trace_writer *w, struct bt_record_map m)
{
	m.seq = trace_writer_next_seq(w);
	m.space = SPACE;
	m.epoch = EPOCH;
	trace_writer_event(w, 1, BT_RECORD_MAP, &m);
}

static void task(struct trace_writer *w, uint32_t number, uint32_t tid, enum bt_task_how how)
{
	struct bt_record_task t = {.seq = trace_writer_next_seq(w),
				   .task = number,
				   .parent = how != BT_TASK_INITIAL,
				   .unit = 1,
				   .space = SPACE,
				   .pid = 1001,
				   .tid = tid,
				   .how = (uint8_t)how};

	trace_writer_event(w, 1, BT_RECORD_TASK, &t);
}

static void world(struct walk *k, const char *program, struct slice argv)
{
	struct bt_record_space space = {.seq = trace_writer_next_seq(k->w), .space = SPACE};
	struct bt_record_exec exec = {.task = MAIN_TASK,
				      .space = SPACE,
				      .path = bt_str(program),
				      .argv = argv,
				      .tid = 1001};
	struct bt_record_code code = {.space = SPACE,
				      .epoch = EPOCH,
				      .addr = TEXT,
				      .object = trace_writer_object(k->w, k->code, PAGE)};

	trace_writer_event(k->w, 1, BT_RECORD_SPACE, &space);
	task(k->w, MAIN_TASK, 1001, BT_TASK_INITIAL);
	exec.seq = trace_writer_next_seq(k->w);
	trace_writer_event(k->w, 1, BT_RECORD_EXEC, &exec);
	map(k->w, (struct bt_record_map){.start = TEXT,
					 .end = TEXT + PAGE,
					 .prot = 5,
					 .offset = PAGE,
					 .path = bt_str(program)});
	map(k->w, (struct bt_record_map){.start = STACK,
					 .end = STACK + STACK_SIZE,
					 .prot = 3,
					 .path = bt_str("[stack]")});
	code.seq = trace_writer_next_seq(k->w);
	trace_writer_event(k->w, 1, BT_RECORD_CODE, &code);
	task(k->w, OTHER_TASK, 1002, BT_TASK_THREAD);
}

static void finish(struct walk *k)
{
	struct bt_record_exit exited = {.seq = trace_writer_next_seq(k->w),
					.task = OTHER_TASK,
					.kind = BT_EXIT_SIGNAL,
					.status = SIGSEGV};
	struct bt_record_end end = {.kind = BT_EXIT_SIGNAL, .status = SIGSEGV};

	trace_writer_event(k->w, 1, BT_RECORD_EXIT, &exited);
	exited = (struct bt_record_exit){.seq = trace_writer_next_seq(k->w),
					 .task = MAIN_TASK,
					 .point = point_of(k),
					 .kind = BT_EXIT_SIGNAL,
					 .status = SIGSEGV,
					 .core = 1,
					 .last = 1,
					 .regs = regs_of(k, 0)};
	trace_writer_event(k->w, 1, BT_RECORD_EXIT, &exited);
	end.seq = trace_writer_next_seq(k->w);
	trace_writer_event(k->w, 0, BT_RECORD_END, &end);
}

static void read_code(struct walk *k, const char *program)
{
	int fd = open(program, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, k->code, PAGE, PAGE);

	if (n <= 0)
		die(program);
	close(fd);
}

int main(int argc, char **argv)
{
	struct bt_record_header h = {
		.started = 1700000000000000000u,
		.program = bt_str("sample"),
		.cwd = bt_str("/"),
		.backend = bt_str("step"),
		.source = bt_str("bits"),
		.reason = bt_str("made by a test"),
		.tick_classes = BT_TICK_JCC | BT_TICK_JRCXZ | BT_TICK_LOOP,
		.ring = 16,
		.page_size = PAGE,
		.cpu = bt_str("a processor"),
		.kernel = bt_str("a kernel"),
		.recorder_pid = 1000,
		.version = bt_str("0"),
	};
	struct walk *k = calloc(1, sizeof *k);
	struct bt_record_thread other;
	struct bt_error err;
	struct buf args = {0};

	if (argc < 3 || !k) {
		fprintf(stderr, "usage: make_trace DIR PROGRAM [rounds [argument...]]\n");
		return 2;
	}
	if (getenv("SCRIBBLE"))
		k->scribble = strtoull(getenv("SCRIBBLE"), NULL, 10);
	k->stack_gone = getenv("STACK") && !strcmp(getenv("STACK"), "gone");
	k->stack_wrong = getenv("STACK") && !strcmp(getenv("STACK"), "wrong");
	read_code(k, argv[2]);
	buf_put(&args, "sample", sizeof "sample");
	for (int i = 4; i < argc; i++)
		buf_put(&args, argv[i], strlen(argv[i]) + 1);
	h.argv = slice_of(args.data, args.len);
	if (trace_writer_open(&k->w, argv[1], &h, &err)) {
		fprintf(stderr, "make_trace: %s\n", err.text);
		return 99;
	}
	world(k, argv[2], h.argv);
	other = other_thread(k);
	run(k, argc > 3 ? strtoull(argv[3], NULL, 10) : 36, &other);
	finish(k);
	trace_writer_close(k->w);
	buf_release(&k->entries);
	buf_release(&args);
	free(k);
	return 0;
}
