/* SPDX-License-Identifier: MIT */
/* Which loops only wait. Each is code of this program: where it comes to its end the processor runs
 * it, too, so that what a loop expects of its instructions is what they do. */
#include "tests/unit/unit.h"

#include <sys/uio.h>
#include <unistd.h>

#include "collector/backend/engine/spin.h"
#include "lib/array_size.h"

/* rdi: words, of which the first is what is waited for. */
#define LOOP(name, body)                                                                         \
	void name(uint64_t *words);                                                              \
	__asm__(".pushsection .text\n" #name ": cmpq $0, (%rdi)\n jne 9f\n" body "\n jmp " #name \
		"\n 9: ret\n .popsection");

/* One whose body has to come to the results that it compares with; natively it is run once. */
#define RIGHT(name, body)                                                               \
	void name(uint64_t *words);                                                     \
	__asm__(".pushsection .text\n" #name ": " body "\n cmpq $0, (%rdi)\n je " #name \
		"\n ret\n 8: ud2\n .popsection");

LOOP(loads, "cmpl $5, 8(%rdi)\n je 9f")
LOOP(pauses, "pause")
LOOP(counts_up, "incl %ecx\n cmpl $1000000, %ecx\n je 9f")
LOOP(counts_down, "subq $3, %rcx\n jz 9f")
LOOP(counts_in_memory, "addl $1, 16(%rdi)")
LOOP(counts_in_many_places,
     "incq 8(%rdi)\n incq 16(%rdi)\n incq 24(%rdi)\n incq 32(%rdi)\n incq 40(%rdi)")
LOOP(delays, "cmpl $20, %ecx\n jne 1f\n xorl %ecx, %ecx\n 1: incl %ecx")
LOOP(delays_and_works,
     "cmpl $20, %ecx\n jne 1f\n xorl %ecx, %ecx\n leal 3(%rax,%rax,4), %eax\n 1: incl %ecx")
LOOP(squares, "imul %ecx, %ecx")
LOOP(shuffles, "leal 3(%rcx,%rcx,4), %ecx")
LOOP(walks, "movq (%rdi), %rax\n addq $8, %rdi\n cmpq %rdi, %rsi\n je 9f")
LOOP(fills, "movq %rax, (%rsi)\n addq $8, %rsi")
LOOP(rotates_places,
     "movq 8(%rdi), %rax\n movq 16(%rdi), %rdx\n movq %rax, 16(%rdi)\n movq %rdx, 8(%rdi)")
LOOP(asks_the_time, "rdtsc")
LOOP(takes_what_is_free,
     "xorl %eax, %eax\n movl $1, %edx\n lock cmpxchgq %rdx, 8(%rdi)\n jne 1f\n incq 16(%rdi)\n 1:")
LOOP(is_refused, "xorl %eax, %eax\n movl $1, %edx\n lock cmpxchgq %rdx, 24(%rdi)\n je 9f")
LOOP(takes_a_lock, "movl $1, %eax\n xchgl %eax, 24(%rdi)\n testl %eax, %eax\n je 9f")
LOOP(sets_a_bit, "lock btsl $0, 24(%rdi)\n jnc 9f")
LOOP(sums, "xorl %eax, %eax\n xorl %ecx, %ecx\n 1: addq 8(%rdi,%rcx,8), %rax\n incl %ecx\n cmpl "
	   "$3, %ecx\n jne 1b\n cmpq $7, %rax\n je 9f")
LOOP(calls, "callq 2f\n testl %eax, %eax\n jne 9f\n callq 3f\n jmp 4f\n 2: pushq %rbp\n movq %rsp, "
	    "%rbp\n movl 8(%rdi), %eax\n leave\n ret\n 3: movl 16(%rdi), %eax\n ret\n 4:")
LOOP(calls_by_pointer,
     "leaq 2f(%rip), %rax\n callq *%rax\n jmp 4f\n 2: movl 8(%rdi), %eax\n ret\n 4:")
LOOP(keeps_in_its_frame, "movq 8(%rdi), %rax\n movq %rax, -16(%rsp)\n cmpq $9, -16(%rsp)\n je 9f")

void reads_nothing(uint64_t *words);
__asm__(".pushsection .text\nreads_nothing: addl $1, %ecx\n jne reads_nothing\n ret\n .popsection");

RIGHT(adds, "movl $0x7fffffff, %eax\n addl $1, %eax\n jno 8f\n js 1f\n ud2\n 1: jc 8f\n cmpl "
	    "$0x80000000, %eax\n jne 8f\n addl %eax, %eax\n jnc 8f\n jnz 8f\n jno 8f")
RIGHT(subtracts,
      "xorl %eax, %eax\n subl $1, %eax\n jnb 8f\n jns 8f\n jo 8f\n cmpq 32(%rdi), %rax\n jne 8f")
RIGHT(compares, "movl $-5, %eax\n cmpl $3, %eax\n jge 8f\n jg 8f\n jbe 8f\n jb 8f\n cmpl $-5, "
		"%eax\n jl 8f\n jnle 8f\n ja 8f\n jnae 8f\n jne 8f")
RIGHT(counts_keep_carry, "xorl %eax, %eax\n subl $1, %eax\n incl %eax\n jnc 8f\n jnz 8f\n decb "
			 "%al\n jnc 8f\n jns 8f\n cmpl $0xff, %eax\n jne 8f")
RIGHT(is_logical, "movl $0xf0, %eax\n andl $0x3c, %eax\n cmpl $0x30, %eax\n jne 8f\n orw $0x0f01, "
		  "%ax\n cmpw $0xf31, %ax\n jne 8f\n xorb $0x31, %al\n jne 8f\n jc 8f\n jo 8f\n "
		  "jnp 8f\n cmpl $0xf00, %eax\n jne 8f")
RIGHT(moves, "movl $0x80ff, %eax\n movzbl %al, %ecx\n cmpl $0xff, %ecx\n jne 8f\n movsbl %al, "
	     "%ecx\n cmpl $-1, %ecx\n jne 8f\n movswq %ax, %rdx\n cmpq $-0x7f01, %rdx\n jne 8f\n "
	     "movslq %edx, %rdx\n cwtl\n cltq\n cmpq %rdx, %rax\n jne 8f\n movb $7, %sil\n cmpb "
	     "$7, %sil\n jne 8f\n movabsq $0x123456789abcdef0, %rdx\n movw $1, %dx\n shrq $12, "
	     "%rdx\n movabsq $0x000123456789abc0, %rcx\n cmpq %rcx, %rdx\n jne 8f")
RIGHT(chooses, "xorl %eax, %eax\n movl $5, %ecx\n cmpl $4, %ecx\n seta %al\n cmpl $1, %eax\n jne "
	       "8f\n cmpl $4, %ecx\n cmovbe %rax, %rcx\n cmpl $5, %ecx\n jne 8f\n cmovge %eax, "
	       "%ecx\n cmpl $1, %ecx\n jne 8f")
RIGHT(shifts,
      "movl $0x81, %eax\n shll $25, %eax\n jnc 8f\n cmpl $0x02000000, %eax\n jne 8f\n shrl $26, "
      "%eax\n jnc 8f\n jnz 8f\n movl $3, %eax\n shrl %eax\n jnc 8f\n cmpl $1, %eax\n jne 8f")
RIGHT(tests_bits,
      "movl $0x10, %eax\n btl $4, %eax\n jnc 8f\n btq $36, %rax\n jc 8f\n testb $0x0f, %al\n jne "
      "8f\n testl %eax, %eax\n je 8f\n testl $0x10, 24(%rdi)\n jne 8f\n testb $1, 24(%rdi)\n je 8f")
RIGHT(exchanges, "movl $9, %eax\n movl $8, %ecx\n xchgl %eax, %ecx\n cmpl $8, %eax\n jne 8f\n "
		 "xaddl %eax, %ecx\n cmpl $9, %eax\n jne 8f\n cmpl $17, %ecx\n jne 8f\n xorl %eax, "
		 "%eax\n lock xaddq %rax, 24(%rdi)\n cmpl $1, %eax\n jne 8f\n "
		 "movl $17, %eax\n cmpxchgl %edi, %ecx\n jne 8f\n cmpl %edi, %ecx\n jne 8f")
RIGHT(addresses, "movl $2, %r9d\n leaq 8(%rdi,%r9,8), %rdx\n cmpq $1, (%rdx)\n jne 8f\n leal "
		 "(,%r9,4), %ecx\n cmpl $8, %ecx\n jne 8f\n cmpq $1, (%rdi,%rcx,2)\n je 8f\n "
		 "endbr64\n nopw 0(%rax,%rax,1)\n mfence\n lfence")
RIGHT(pushes, "pushq $77\n popq %rax\n cmpl $77, %eax\n jne 8f\n pushq %rdi\n popq %r8\n cmpq %r8, "
	      "%rdi\n jne 8f")

static size_t read_here(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	struct iovec local = {bytes, n}, remote = {(void *)(uintptr_t)addr, n};
	ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	(void)arg;
	return got < 0 ? 0 : (size_t)got;
}

static size_t read_nothing(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	(void)arg;
	(void)addr;
	(void)bytes;
	(void)n;
	return 0;
}

enum {
	WORDS = 64,
};

struct scene {
	uint64_t words[WORDS], other[WORDS], stack[WORDS];
	struct bt_regs regs;
};

static void begin(struct scene *s, void (*loop)(uint64_t *))
{
	*s = (struct scene){.words = {0, 0, 0, 1, 0xffffffff}};
	s->regs = (struct bt_regs){.rip = (uintptr_t)loop,
				   .rdi = (uintptr_t)s->words,
				   .rsi = (uintptr_t)s->other,
				   .rsp = (uintptr_t)&s->stack[WORDS - 8]};
}

static struct spin look_so(const struct scene *s, bool whole)
{
	const struct spin_reader reader = {read_here, read_here, NULL};
	struct spin spin;

	spin_look(&s->regs, &reader, whole, &spin);
	return spin;
}

static struct spin look_at(const struct scene *s) { return look_so(s, false); }
static struct spin look_at_whole(const struct scene *s) { return look_so(s, true); }

static enum spin_kind kind_of(void (*loop)(uint64_t *))
{
	static struct scene s;

	begin(&s, loop);
	return look_at(&s).kind;
}

static void what_waits(void **state)
{
	(void)state;
	assert_int_equal(kind_of(loads), SPIN_FIXED);
	assert_int_equal(kind_of(pauses), SPIN_FIXED);
	assert_int_equal(kind_of(is_refused), SPIN_FIXED);
	assert_int_equal(kind_of(takes_a_lock), SPIN_FIXED);
	assert_int_equal(kind_of(sets_a_bit), SPIN_FIXED);
	assert_int_equal(kind_of(sums), SPIN_FIXED);
	assert_int_equal(kind_of(calls), SPIN_FIXED);
	assert_int_equal(kind_of(calls_by_pointer), SPIN_FIXED);
	assert_int_equal(kind_of(keeps_in_its_frame), SPIN_FIXED);
}

static void what_counts(void **state)
{
	(void)state;
	assert_int_equal(kind_of(counts_up), SPIN_COUNTS);
	assert_int_equal(kind_of(counts_down), SPIN_COUNTS);
	assert_int_equal(kind_of(counts_in_memory), SPIN_COUNTS);
}

static void what_works(void **state)
{
	static struct scene s;

	(void)state;
	assert_int_equal(kind_of(counts_in_many_places), SPIN_NOT);
	assert_int_equal(kind_of(squares), SPIN_NOT);
	assert_int_equal(kind_of(shuffles), SPIN_NOT);
	assert_int_equal(kind_of(walks), SPIN_NOT);
	assert_int_equal(kind_of(fills), SPIN_NOT);
	assert_int_equal(kind_of(asks_the_time), SPIN_NOT);
	assert_int_equal(kind_of(reads_nothing), SPIN_NOT);
	begin(&s, rotates_places);
	s.words[1] = 1;
	s.words[2] = 2;
	assert_int_equal(look_at(&s).kind, SPIN_NOT);
	assert_int_equal(kind_of(takes_what_is_free), SPIN_NOT);
}

/* It is the task's own memory that is read; nothing is written. */
static void nothing_changes(void **state)
{
	static struct scene s, before;

	(void)state;
	begin(&s, counts_in_memory);
	before = s;
	assert_int_equal(look_at(&s).kind, SPIN_COUNTS);
	assert_memory_equal(&s, &before, sizeof s);
}

static void what_instructions_do(void **state)
{
	static void (*const loops[])(uint64_t *) = {
		adds,    subtracts, compares,   counts_keep_carry, is_logical, moves,
		chooses, shifts,    tests_bits, exchanges,         addresses,  pushes};
	static struct scene s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(loops); i++) {
		begin(&s, loops[i]);
		if (look_at(&s).kind != SPIN_FIXED)
			fail_msg("loop %zu", i);
		s.words[0] = 1;
		loops[i](s.words);
	}
}

static void what_goes_on(void **state)
{
	static struct scene s;
	struct spin first, later;

	(void)state;
	begin(&s, counts_up);
	first = look_at(&s);
	assert_int_equal(first.ticks, 2);
	assert_int_equal(first.step.rcx, 1);
	s.regs.rcx += 500;
	later = look_at(&s);
	later.tick = 2 * 500;
	assert_true(spin_goes_on(&first, &later));
	later.tick += 2; /* something else was done besides */
	assert_false(spin_goes_on(&first, &later));
	later.tick -= 3;
	assert_false(spin_goes_on(&first, &later));
	s.regs.rcx = 1;
	later = look_at(&s);
	later.tick = 2 * 500;
	assert_false(spin_goes_on(&first, &later));
	begin(&s, counts_in_memory);
	first = look_at(&s);
	s.words[2] += 70;
	later = look_at(&s);
	later.tick = 70;
	assert_true(spin_goes_on(&first, &later));
	s.words[2]++;
	later = look_at(&s);
	later.tick = 70;
	assert_false(spin_goes_on(&first, &later));
	begin(&s, loads);
	first = later = look_at(&s);
	assert_false(spin_goes_on(&first, &later));
}

/* What counts in a loop that changes nothing itself, or goes on itself. */
static void what_counts_inside(void **state)
{
	static struct scene s;

	(void)state;
	for (uint64_t k = 1; k <= 20; k++) {
		begin(&s, delays);
		s.regs.rcx = k;
		assert_int_equal(look_at_whole(&s).kind, SPIN_FIXED);
	}
	begin(&s, delays);
	assert_int_equal(look_at(&s).kind, SPIN_COUNTS);
	begin(&s, delays_and_works);
	assert_int_equal(look_at(&s).kind, SPIN_COUNTS);
	assert_int_equal(look_at_whole(&s).kind, SPIN_NOT);
	begin(&s, counts_up);
	assert_int_equal(look_at_whole(&s).kind, SPIN_NOT);
	begin(&s, loads);
	assert_int_equal(look_at_whole(&s).kind, SPIN_FIXED);
}

static void without_its_memory(void **state)
{
	const struct spin_reader no_code = {read_nothing, read_here, NULL},
				 no_memory = {read_here, read_nothing, NULL};
	static struct scene s;
	struct spin spin;

	(void)state;
	begin(&s, loads);
	spin_look(&s.regs, &no_code, false, &spin);
	assert_int_equal(spin.kind, SPIN_NOT);
	spin_look(&s.regs, &no_memory, false, &spin);
	assert_int_equal(spin.kind, SPIN_NOT);
}

static size_t random_bytes(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	uint64_t *state = arg;

	(void)addr;
	for (size_t i = 0; i < n; i++) {
		*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
		bytes[i] = (uint8_t)(*state >> 56);
	}
	return n;
}

/* Whatever code and memory are, it comes to an end. */
static void any_bytes(void **state)
{
	uint64_t seed = 20261127;
	const struct spin_reader reader = {random_bytes, random_bytes, &seed};

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct bt_regs regs = {
			.rip = (uint64_t)i, .rsp = UINT64_MAX - (uint64_t)i, .rcx = seed};
		struct spin spin;

		spin_look(&regs, &reader, i % 2, &spin);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits),
		cmocka_unit_test(what_counts),
		cmocka_unit_test(what_works),
		cmocka_unit_test(nothing_changes),
		cmocka_unit_test(what_instructions_do),
		cmocka_unit_test(what_goes_on),
		cmocka_unit_test(what_counts_inside),
		cmocka_unit_test(without_its_memory),
		cmocka_unit_test(any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
