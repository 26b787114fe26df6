/* SPDX-License-Identifier: MIT */
#include "decoder/cause/fault.h"

#include <stdio.h>

#include "lib/array_size.h"
#include "tests/unit/model_maker.h"
#include "tests/unit/unit.h"

enum {
	TEXT = 0x401000, /* where the instruction of a case stands */
	RODATA = 0x403000,
	DATA_FILE = 0x700000,
	DATA_OFFSET = 0x1000,
	HEAP = 0x600000,
	PID = 4242,
	KERNEL = 0x80,
	R = 1,
	W = 2,
	X = 4,
};

#define STACK         UINT64_C(0x7ffe00000000)
#define THREADS_STACK UINT64_C(0x7f0000000000)
#define WILD          UINT64_C(0x123456789000)
#define NON_CANONICAL UINT64_C(0x8000000000001234)
#define NO_BRANCH     BT_BRANCH_JCC /* no case arrives by one */

/* One crash: the instruction at TEXT, the registers, what the kernel said, and what is to be said
 * of it. */
struct fault_case {
	const char *name;
	const char *code; /* bytes of the instruction */
	size_t code_len;
	struct bt_regs regs; /* rip 0: TEXT */
	uint32_t signo, signal_code, sender;
	uint32_t tid;        /* 0: PID */
	const char *message; /* of libc, NULL: none */
	const char *sender_name;
	uint64_t addr;
	uint64_t on_stack; /* what lies at rsp */
	int arrived_by;    /* kind of the branch from TEXT to rip, or NO_BRANCH */
	const char *text;
	const char *brief; /* NULL: any */
};

#define CODE(bytes) .code = bytes, .code_len = sizeof bytes - 1

static const struct fault_case cases[] = {
	{"null structure", CODE("\x48\xc7\x43\x10\x07\0\0\0"), .signo = 11, .signal_code = 1,
	 .addr = 0x10, .brief = "null write",
	 .text = "write to 0x10 through rbx, a null structure pointer, at offset 16"},
	{"null pointer", CODE("\x48\x8b\x03"), .signo = 11, .signal_code = 1, .addr = 0,
	 .brief = "null read", .text = "read from 0x0 through rbx, a null pointer"},
	{"null array", CODE("\x48\x8b\x04\xcb"), .regs.rcx = 5, .signo = 11, .signal_code = 1,
	 .addr = 0x28, .brief = "null read",
	 .text = "read from 0x28 through rbx, a null array pointer, index rcx = 5 times 8"},
	{"near null", CODE("\x8b\x43\x08"), .regs.rbx = 0x20, .signo = 11, .signal_code = 1,
	 .addr = 0x28, .brief = "read close to null",
	 .text = "read from 0x28 through rbx = 0x20, too small to be a pointer, at offset 8"},
	{"read-modify-write", CODE("\x48\xff\x03"), .signo = 11, .signal_code = 1, .addr = 0,
	 .brief = "null update", .text = "update of 0x0 through rbx, a null pointer"},
	{"null constant", CODE("\x8b\x04\x25\0\0\0\0"), .signo = 11, .signal_code = 1,
	 .brief = "null read", .text = "read from 0x0, a null pointer"},
	{"unmapped", CODE("\x88\x03"), .regs.rbx = WILD, .signo = 11, .signal_code = 1,
	 .addr = WILD, .brief = "write where nothing is mapped",
	 .text = "write to 0x123456789000 through rbx = 0x123456789000, where nothing is mapped"},
	{"past the end of the heap", CODE("\x88\x03"), .regs.rbx = HEAP + 0x1008, .signo = 11,
	 .signal_code = 1, .addr = HEAP + 0x1008,
	 .text = "write to 0x601008 through rbx = 0x601008, where nothing is mapped, 8 bytes past "
		 "the end of [heap]"},
	{"read-only", CODE("\x88\x43\x01"), .regs.rbx = RODATA, .signo = 11, .signal_code = 2,
	 .addr = RODATA + 1, .brief = "write in read-only memory",
	 .text = "write to 0x403001 through rbx = 0x403000, at offset 1, in read-only memory "
		 "(app)"},
	{"thread storage", CODE("\x64\x48\x8b\x04\x25\x28\0\0\0"), .regs.fs_base = WILD,
	 .signo = 11, .signal_code = 1, .addr = WILD + 0x28,
	 .brief = "read where nothing is mapped",
	 .text = "read from 0x123456789028 through fs_base = 0x123456789000, where nothing is "
		 "mapped"},
	{"non-canonical", CODE("\x48\x8b\x03"), .regs.rbx = NON_CANONICAL, .signo = 11,
	 .signal_code = KERNEL, .brief = "read from a non-canonical address",
	 .text = "read from 0x8000000000001234 through rbx = 0x8000000000001234, a non-canonical "
		 "address"},
	{"text for a pointer", CODE("\x48\x8b\x03"), .regs.rbx = 0x4847464544434241, .signo = 11,
	 .signal_code = KERNEL,
	 .text = "read from 0x4847464544434241 (the text \"ABCDEFGH\") through rbx = "
		 "0x4847464544434241, a non-canonical address"},
	{"text for an address",
	 CODE("\x48\xa1"
	      "AAAAAAAA"),
	 .signo = 11, .signal_code = KERNEL,
	 .text = "read from 0x4141414141414141 (the text \"AAAAAAAA\"), a non-canonical address"},
	{"call to null", CODE("\xff\xd3"), .regs.rip = 0, .arrived_by = BT_BRANCH_ICALL,
	 .signo = 11, .signal_code = 1, .brief = "call to null",
	 .text = "call to 0x0, a null function pointer, at app+0x1000 by \"call rbx\""},
	{"call to unmapped", CODE("\xff\xd3"), .regs.rip = WILD, .arrived_by = BT_BRANCH_ICALL,
	 .regs.rbx = WILD, .signo = 11, .signal_code = 1, .addr = WILD,
	 .text = "call to 0x123456789000, where nothing is mapped, at app+0x1000 by \"call rbx\""},
	{"jump into the heap", CODE("\xff\xe3"), .regs.rip = HEAP, .arrived_by = BT_BRANCH_IJMP,
	 .regs.rbx = HEAP, .signo = 11, .signal_code = 2, .addr = HEAP,
	 .brief = "jump to memory that is not executable",
	 .text = "jump to 0x600000, in memory that is not executable ([heap]), at app+0x1000 by "
		 "\"jmp rbx\""},
	{"return to unmapped", CODE("\xc3"), .regs.rip = WILD, .arrived_by = BT_BRANCH_RET,
	 .signo = 11, .signal_code = 1, .addr = WILD,
	 .brief = "return to an address where nothing is mapped",
	 .text = "return to 0x123456789000, where nothing is mapped: the stack held no return "
		 "address there, as when it is overwritten, at app+0x1000 by \"ret\""},
	{"wild without history", CODE("\x90"), .regs.rip = WILD, .signo = 11, .signal_code = 1,
	 .addr = WILD, .text = "execution at 0x123456789000, where nothing is mapped"},
	{"call to non-canonical", CODE("\xff\xd3"), .regs.rbx = NON_CANONICAL, .signo = 11,
	 .signal_code = KERNEL, .brief = "call to a non-canonical address",
	 .text = "call to 0x8000000000001234, a non-canonical address, by \"call rbx\""},
	{"return to non-canonical", CODE("\xc3"), .on_stack = 0x4141414141414141, .signo = 11,
	 .signal_code = KERNEL,
	 .text = "return to 0x4141414141414141, a non-canonical address (the text \"AAAAAAAA\"): "
		 "the stack held no return address there, as when it is overwritten"},
	{"misaligned", CODE("\x0f\x29\x03"), .regs.rbx = HEAP + 1, .signo = 11,
	 .signal_code = KERNEL, .brief = "misaligned write",
	 .text = "write to 0x600001, which is not aligned to the 16 bytes that \"movaps xmmword "
		 "ptr [rbx], xmm0\" needs"},
	{"misaligned area of the processor's state", CODE("\x0f\xae\x07"), .regs.rdi = HEAP + 4,
	 .signo = 11, .signal_code = KERNEL,
	 .text = "write to 0x600004, which is not aligned to the 16 bytes that \"fxsave [rdi]\" "
		 "needs"},
	{"the same, of another size", CODE("\x0f\xae\x27"), .regs.rdi = HEAP + 16, .signo = 11,
	 .signal_code = KERNEL,
	 .text = "update of 0x600010, which is not aligned to the 64 bytes that \"xsave [rdi]\" "
		 "needs"},
	{"alignment check", CODE("\x89\x40\x01"), .regs.rax = HEAP, .regs.eflags = 0x40202,
	 .signo = 7, .signal_code = 1, .brief = "misaligned access",
	 .text = "write to 0x600001, which is not aligned to its 4 bytes, and alignment is checked "
		 "(the AC flag is set)"},
	{"split lock", CODE("\xf0\x48\xff\x03"), .regs.rbx = HEAP + 61, .regs.eflags = 0x202,
	 .signo = 7, .signal_code = 1,
	 .text = "update of 0x60003d, which is not aligned to its 8 bytes"},
	{"return from an interrupt", CODE("\x48\xcf"), .on_stack = 0x1234, .signo = 11,
	 .signal_code = KERNEL, .brief = "",
	 .text = "return by \"iretq\": the frame on the stack is none that a program may return "
		 "by"},
	{"too long", CODE("\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90"),
	 .signo = 11, .signal_code = KERNEL, .brief = "general protection fault",
	 .text = "general protection fault, bytes 66 66 66 66 66 66 66 66 66 66 66 66 66 66 66: no "
		 "known instruction, or one of more than 15 bytes"},
	{"privileged", CODE("\xf4"), .signo = 11, .signal_code = KERNEL,
	 .brief = "privileged instruction",
	 .text = "privileged instruction \"hlt\": only the kernel may run it"},
	{"stack overflow by push", CODE("\x50"), .regs.rsp = STACK, .signo = 11, .signal_code = 1,
	 .addr = STACK - 8, .brief = "stack overflow",
	 .text = "stack overflow: write to 0x7ffdfffffff8, below the end of the stack (rsp = "
		 "0x7ffe00000000, 132 KiB deep)"},
	{"stack overflow by a frame", CODE("\x48\x89\x44\x24\x08"), .regs.rsp = STACK - 0x2000,
	 .signo = 11, .signal_code = 1, .addr = STACK - 0x2000 + 8,
	 .text = "stack overflow: write to 0x7ffdffffe008, below the end of the stack (rsp = "
		 "0x7ffdffffe000, 140 KiB deep)"},
	{"stack overflow above the stack pointer", CODE("\x88\x84\x24\0\0\0\1"),
	 .regs.rsp = STACK - 0x2000000, .signo = 11, .signal_code = 1, .addr = STACK - 0x1000000,
	 .text = "stack overflow: write to 0x7ffdff000000, below the end of the stack (rsp = "
		 "0x7ffdfe000000, 32900 KiB deep)"},
	{"stack overflow by another register", CODE("\x88\x03"), .regs.rsp = STACK - 0x2000000,
	 .regs.rbx = STACK - 0x1000000, .signo = 11, .signal_code = 1, .addr = STACK - 0x1000000,
	 .text = "stack overflow: write to 0x7ffdff000000, below the end of the stack (rsp = "
		 "0x7ffdfe000000, 32900 KiB deep)"},
	{"stack overflow of a thread", CODE("\x88\x04\x24"), .regs.rsp = THREADS_STACK - 0x2000000,
	 .regs.fs_base = THREADS_STACK + 0x20000, .tid = PID + 1, .signo = 11, .signal_code = 1,
	 .addr = THREADS_STACK - 0x2000000,
	 .text = "stack overflow: write to 0x7efffe000000, below the end of the stack (rsp = "
		 "0x7efffe000000, 32896 KiB deep)"},
	{"the same, of the first thread", CODE("\x88\x04\x24"),
	 .regs.rsp = THREADS_STACK - 0x2000000, .regs.fs_base = THREADS_STACK + 0x20000,
	 .signo = 11, .signal_code = 1, .addr = THREADS_STACK - 0x2000000,
	 .text = "write to 0x7efffe000000 through rsp = 0x7efffe000000, where nothing is mapped"},
	{"below a frame that fits", CODE("\x88\x84\x24\0\0\xe0\xff"), .regs.rsp = STACK + 8,
	 .signo = 11, .signal_code = 1, .addr = STACK + 8 - 0x200000,
	 .text = "write to 0x7ffdffe00008 through rsp = 0x7ffe00000008, at offset -2097152, where "
		 "nothing is mapped"},
	{"below the stack, by another register", CODE("\x88\x03"), .regs.rsp = STACK + 8,
	 .regs.rbx = STACK - 0x2000, .signo = 11, .signal_code = 1, .addr = STACK - 0x2000,
	 .text = "write to 0x7ffdffffe000 through rbx = 0x7ffdffffe000, where nothing is mapped, "
		 "8192 bytes before [stack]"},
	{"below the stack, with the stack pointer elsewhere", CODE("\x88\x03"),
	 .regs.rsp = HEAP + 0x800, .regs.rbx = STACK - 8, .signo = 11, .signal_code = 1,
	 .addr = STACK - 8,
	 .text = "write to 0x7ffdfffffff8 through rbx = 0x7ffdfffffff8, where nothing is mapped, 8 "
		 "bytes before [stack]"},
	{"beyond the file", CODE("\x8b\x03"), .regs.rbx = DATA_FILE + 0x1010, .signo = 7,
	 .signal_code = 2, .addr = DATA_FILE + 0x1010,
	 .brief = "read beyond the end of a mapped file",
	 .text = "read from 0x701010, byte 8208 of data: beyond the end of the file"},
	{"division by zero", CODE("\xf7\xf3"), .signo = 8, .signal_code = 1, .addr = TEXT,
	 .brief = "division by zero", .text = "integer division by zero: the divisor ebx is 0"},
	{"division by half a register", CODE("\xf6\xf7"), .regs.rbx = 0xff00ff, .signo = 8,
	 .signal_code = 1, .addr = TEXT, .text = "integer division by zero: the divisor bh is 0"},
	{"division by memory", CODE("\x48\xf7\x3c\x24"), .on_stack = (uint64_t)-1, .signo = 8,
	 .signal_code = 1, .addr = TEXT, .brief = "division overflow",
	 .text = "integer division overflow: divided by [rsp] = -1, the quotient does not fit into "
		 "64 bits"},
	{"floating point", CODE("\xd9\xfa"), .signo = 8, .signal_code = 7, .addr = TEXT,
	 .brief = "invalid floating-point operation", .text = "invalid floating-point operation"},
	{"ud2", CODE("\x0f\x0b"), .signo = 4, .signal_code = 2, .addr = TEXT,
	 .brief = "illegal instruction ud2",
	 .text = "illegal instruction ud2: compilers put it where code must not be reached, and "
		 "for __builtin_trap"},
	{"no instruction", CODE("\x06\x06"), .signo = 4, .signal_code = 2, .addr = TEXT,
	 .brief = "illegal instruction",
	 .text = "illegal instruction, bytes 06 06 cc cc cc cc cc cc"},
	{"int3", CODE("\xcc\x90"), .regs.rip = TEXT + 1, .signo = 5, .signal_code = KERNEL,
	 .brief = "breakpoint instruction", .text = "breakpoint instruction int3 at app+0x1000"},
	{"seccomp", CODE("\x90"), .regs.rax = 110, .signo = 31, .signal_code = 1,
	 .brief = "getppid refused by a seccomp filter",
	 .text = "getppid refused by a seccomp filter"},
	{"from outside", CODE("\x90"), .signo = 11, .signal_code = 0, .sender = 77,
	 .brief = "sent by process 77", .text = "SIGSEGV, sent by process 77 (user 0)"},
	{"from outside, by name", CODE("\x90"), .signo = 15, .signal_code = 0, .sender = 77,
	 .sender_name = "supervisor", .brief = "sent by supervisor (pid 77)",
	 .text = "SIGTERM, sent by process 77 (supervisor, user 0)"},
	{"by itself", CODE("\x90"), .signo = 3, .signal_code = (uint32_t)-6, .sender = PID,
	 .brief = "", .text = "SIGQUIT, raised by the program itself"},
	{"by itself, with what libc says", CODE("\x90"), .signo = 6, .signal_code = (uint32_t)-6,
	 .sender = PID, .message = "free(): invalid pointer",
	 .text = "SIGABRT, raised by the program itself with abort"},
	{"SIGABRT without abort", CODE("\x90"), .signo = 6, .signal_code = 0, .sender = PID,
	 .text = "SIGABRT, raised by the program itself"},
	{"timer whose number is ours", CODE("\x90"), .signo = 14, .signal_code = (uint32_t)-2,
	 .sender = PID, .text = "SIGALRM, sent by a timer: alarm timer ran out"},
	{"first timer", CODE("\x90"), .signo = 26, .signal_code = (uint32_t)-2,
	 .text = "SIGVTALRM, sent by a timer: virtual timer ran out"},
	{"real-time timer", CODE("\x90"), .signo = 34, .signal_code = (uint32_t)-2,
	 .text = "SIGRTMIN+0, sent by a timer"},
	{"code that nobody knows", CODE("\x90"), .signo = 15, .signal_code = (uint32_t)-60,
	 .sender = 7, .text = "SIGTERM: asked to end"},
	{"broken pipe", CODE("\x90"), .signo = 13, .signal_code = 0, .sender = PID, .brief = "",
	 .text = "SIGPIPE: write to a pipe or socket that nobody reads"},
	{"broken pipe, raised", CODE("\x90"), .signo = 13, .signal_code = (uint32_t)-6,
	 .sender = PID, .text = "SIGPIPE, raised by the program itself"},
	{"broken pipe, sent", CODE("\x90"), .signo = 13, .signal_code = 0, .sender = 77,
	 .sender_name = "supervisor", .brief = "sent by supervisor (pid 77)",
	 .text = "SIGPIPE, sent by process 77 (supervisor, user 0)"},
	{"broken pipe in a PID namespace", CODE("\x90"), .signo = 13, .signal_code = 0, .sender = 2,
	 .text = "SIGPIPE: write to a pipe or socket that nobody reads"},
	{"file too large", CODE("\x90"), .signo = 25, .signal_code = 0, .sender = PID,
	 .text = "SIGXFSZ: its limit of file size was reached"},
};

static void add_map(struct maker *k, uint64_t start, uint64_t size, uint8_t prot, uint64_t offset,
		    const char *path)
{
	maker_add(k, 0, MAP, map, .space = 1, .epoch = 1, .start = start, .end = start + size,
		  .prot = prot, .offset = offset, .path = bt_str(path));
}

static void add_maps(struct maker *k)
{
	add_map(k, TEXT - 0x1000, 0x1000, R, 0, "/nonexistent/app");
	add_map(k, TEXT, 0x1000, R | X, 0x1000, "/nonexistent/app");
	add_map(k, RODATA, 0x1000, R, 0x3000, "/nonexistent/app");
	add_map(k, HEAP, 0x1000, R | W, 0, "[heap]");
	add_map(k, DATA_FILE, 0x2000, R | W, DATA_OFFSET, "/nonexistent/data");
	add_map(k, THREADS_STACK, 0x21000, R | W, 0, "");
	add_map(k, STACK, 0x21000, R | W, 0, "[stack]");
}

static struct model *make(struct maker *k, const struct fault_case *c)
{
	struct bt_regs regs = c->regs;
	struct bt_branch last = {.kind = (uint8_t)c->arrived_by,
				 .flags = BT_BRANCH_TAKEN,
				 .from = TEXT,
				 .to = regs.rip};
	uint64_t signal;

	if (!regs.rip && c->arrived_by == NO_BRANCH)
		regs.rip = TEXT;
	if (!regs.rsp)
		regs.rsp = STACK + 0x20000;
	maker_init(k);
	maker_add(k, 0, SPACE, space, .space = 1);
	maker_add(k, 0, TASK, task, .task = 1, .unit = 1, .space = 1, .pid = PID,
		  .tid = c->tid ? c->tid : PID);
	add_maps(k);
	maker_code(k, 1, 1, TEXT, 0, c->code, c->code_len);
	if (c->arrived_by != NO_BRANCH)
		maker_branches(k, (struct bt_record_branches){.task = 1, .space = 1, .epoch = 1},
			       &last, 1);
	signal = k->seq;
	maker_add(k, 1, SIGNAL, signal, .task = 1, .signo = c->signo, .code = c->signal_code,
		  .addr = c->addr, .sender = c->sender,
		  .message = bt_str(c->message ? c->message : ""),
		  .sender_name = bt_str(c->sender_name ? c->sender_name : ""),
		  .action = BT_ACTION_CORE);
	maker_add(k, 1, SNAPSHOT, snapshot, .snapshot = 1, .task = 1, .kind = BT_SNAPSHOT_FATAL,
		  .space = 1, .epoch = 1, .event = signal, .position = 1);
	maker_add(k, 1, THREAD, thread, .snapshot = 1, .task = 1, .epoch = 1, .position = 1,
		  .regs = regs);
	maker_add(k, 1, MEMORY, memory, .snapshot = 1, .space = 1, .addr = regs.rsp,
		  .bytes = slice_of(&c->on_stack, sizeof c->on_stack));
	return maker_load(k);
}

static void every_fault_is_told_in_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct fault_case *c = &cases[i];
		struct maker k;
		struct model *m = make(&k, c);
		struct symbols *s;
		struct bt_error err;
		struct fault f;

		assert_int_equal(symbols_open(&s, m, &err), 0);
		assert_non_null(model_final_snapshot(m));
		assert_int_equal(fault_explain_snapshot(&f, m, s, model_final_snapshot(m), &err),
				 0);
		if (strcmp(f.text, c->text))
			fail_msg("%s:\n  says     %s\n  expected %s", c->name, f.text, c->text);
		assert_string_equal(f.message, c->message ? c->message : "");
		if (c->brief)
			assert_string_equal(f.brief, c->brief);
		symbols_close(s);
		model_free(m);
		maker_release(&k);
	}
}

static void the_instruction_and_its_operands_are_given(void **state)
{
	static const struct fault_case c = {CODE("\x48\x8b\x44\xcb\x10"), .regs.rbx = HEAP,
					    .regs.rcx = 2, .signo = 11, .signal_code = 1};
	struct maker k;
	struct model *m = make(&k, &c);
	struct symbols *s;
	struct bt_error err;
	struct fault f;
	(void)state;

	assert_int_equal(symbols_open(&s, m, &err), 0);
	assert_int_equal(fault_explain_snapshot(&f, m, s, model_final_snapshot(m), &err), 0);
	assert_true(f.has_insn);
	assert_int_equal(f.where, TEXT);
	assert_int_equal(f.value_count, 4);
	assert_string_equal(f.values[0].name, "rax");
	assert_string_equal(f.values[1].name, "rbx");
	assert_int_equal(f.values[1].value, HEAP);
	assert_int_equal(f.values[2].value, 2);
	assert_true(f.values[3].is_address);
	assert_int_equal(f.values[3].value, HEAP + 2 * 8 + 0x10);
	symbols_close(s);
	model_free(m);
	maker_release(&k);
}

static void a_breakpoint_is_the_instruction_before_where_the_program_stands(void **state)
{
	static const struct fault_case c = {CODE("\xcc\x90"), .regs.rip = TEXT + 1, .signo = 5,
					    .signal_code = KERNEL};
	struct maker k;
	struct model *m = make(&k, &c);
	struct stack_frame frame;
	struct symbols *s;
	struct bt_error err;
	struct fault f;
	bool complete;
	(void)state;

	assert_int_equal(symbols_open(&s, m, &err), 0);
	assert_int_equal(fault_explain_snapshot(&f, m, s, model_final_snapshot(m), &err), 0);
	assert_int_equal(f.pc, TEXT + 1);
	assert_int_equal(f.where, TEXT);
	assert_true(f.has_trapped);
	assert_string_equal(f.insn_text, "int3");
	assert_int_equal(symbols_unwind(s, model_final_snapshot(m),
					model_final_snapshot(m)->threads[0], &frame, 1, &complete),
			 1);
	assert_int_equal(frame.pc, TEXT + 1);
	assert_true(frame.is_return);
	symbols_close(s);
	model_free(m);
	maker_release(&k);
}

/* A fault that a handler gets, with the registers that it had, and what the program sends itself
 * then. */
static void add_handled_and_sent(struct maker *k, uint32_t depth, const struct bt_regs *regs)
{
	static const struct bt_regs at_fault = {.rip = TEXT, .rsp = STACK + 0x20000};
	uint64_t signal = k->seq;

	maker_add(k, 1, SIGNAL, signal, .task = 1, .signo = 11, .code = 1, .addr = 0x10, .sync = 1);
	maker_add(k, 1, SNAPSHOT, snapshot, .snapshot = 1, .task = 1, .kind = BT_SNAPSHOT_FAULT,
		  .space = 1, .epoch = 1, .event = signal, .point.rip = TEXT);
	maker_add(k, 1, THREAD, thread, .snapshot = 1, .task = 1, .epoch = 1, .regs = at_fault);
	signal = k->seq;
	maker_add(k, 1, SIGNAL, signal, .task = 1, .signo = 11, .code = (uint32_t)-6, .sender = PID,
		  .action = BT_ACTION_CORE);
	maker_add(k, 1, SNAPSHOT, snapshot, .snapshot = 2, .task = 1, .kind = BT_SNAPSHOT_FATAL,
		  .space = 1, .epoch = 1, .event = signal, .point.rip = regs->rip, .depth = depth);
	maker_add(k, 1, THREAD, thread, .snapshot = 2, .task = 1, .epoch = 1, .regs = *regs);
}

static void a_handlers_own_signal_does_not_hide_the_fault(void **state)
{
	static const struct {
		uint64_t rip;
		uint32_t depth;
		bool is_told;
	} rows[] = {
		{TEXT + 0x20, 1, true},  /* in the handler */
		{TEXT, 0, true},         /* blocked until it has returned */
		{TEXT + 0x20, 0, false}, /* the handler was left long ago */
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct bt_regs regs = {.rip = rows[i].rip, .rsp = STACK + 0x20000};
		struct model *m;
		struct symbols *s;
		struct bt_error err;
		struct maker k;
		struct fault f;

		maker_init(&k);
		maker_add(&k, 0, SPACE, space, .space = 1);
		maker_add(&k, 0, TASK, task, .task = 1, .unit = 1, .space = 1, .pid = PID,
			  .tid = PID);
		add_maps(&k);
		maker_code(&k, 1, 1, TEXT, 0, "\x48\xc7\x43\x10\x07\0\0\0", 8);
		add_handled_and_sent(&k, rows[i].depth, &regs);
		m = maker_load(&k);
		assert_int_equal(symbols_open(&s, m, &err), 0);
		assert_int_equal(fault_explain_snapshot(&f, m, s, model_final_snapshot(m), &err),
				 0);
		assert_string_equal(f.text, rows[i].is_told
						    ? "SIGSEGV, raised by the program itself; the "
						      "SIGSEGV before it, which a handler got: "
						      "write to 0x10 through rbx, a null structure "
						      "pointer, at offset 16, at app+0x1000"
						    : "SIGSEGV, raised by the program itself");
		symbols_close(s);
		model_free(m);
		maker_release(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_is_told_in_words),
		cmocka_unit_test(the_instruction_and_its_operands_are_given),
		cmocka_unit_test(a_handlers_own_signal_does_not_hide_the_fault),
		cmocka_unit_test(a_breakpoint_is_the_instruction_before_where_the_program_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
