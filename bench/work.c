/* SPDX-License-Identifier: MIT */
/* work KIND COUNT: does COUNT rounds of something, so that the cost of a round can be told from
 * that of starting. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A sieve's inner loop: nothing but arithmetic and conditional branches that are hard to foretell.
 */
static uint64_t branches(uint64_t x)
{
	for (int i = 0; i < 64; i++)
		x = x & 1 ? x * 3 + 1 : x / 2 + 77;
	return x;
}

/* Conditional branches of two bytes, a few instructions apart, easy to foretell. */
static uint64_t shorts(uint64_t x)
{
	uint64_t count = 64;

	__asm__ volatile("1: testb $1, %%cl\n\tjz 2f\n\tincq %0\n2: testb $2, %%cl\n\tjz "
			 "3f\n\taddq $3, %0\n3: testb $4, %%cl\n\tjnz 4f\n\tdecq %0\n"
			 "4: decq %%rcx\n\tjnz 1b"
			 : "+r"(x), "+c"(count)::"cc");
	return x;
}

static __attribute__((noinline)) uint64_t leaf(uint64_t x) { return x * 2654435761u + 1; }
static __attribute__((noinline)) uint64_t other_leaf(uint64_t x) { return x ^ x >> 7; }

static uint64_t (*const volatile leaves[2])(uint64_t) = {leaf, other_leaf};

static uint64_t calls(uint64_t x)
{
	for (int i = 0; i < 32; i++)
		x = leaves[x & 1](x);
	return x;
}

static uint64_t memory(uint64_t x)
{
	static uint8_t a[4096], b[4096];

	memset(a, (int)x, sizeof a);
	memcpy(b, a, sizeof b);
	return x + b[x & 4095];
}

static uint64_t syscalls(uint64_t x) { return x + (uint64_t)syscall(SYS_getppid); }

/* Closes unopened descriptors, as daemons do. */
static uint64_t closes(uint64_t x) { return x + !close(1000 + (int)(x & 0xffff)) + 1; }

/* Loops without a conditional: where the last jump leads says a CMOV. */
enum { SILENT_ROUNDS = 1 << 20 };

/* ... around a call. */
static uint64_t returns(uint64_t x)
{
	uint64_t count = SILENT_ROUNDS;

	__asm__ volatile("lea -128(%%rsp), %%rsp\n\tlea 1f(%%rip), %%rdx\n\tlea 3f(%%rip), "
			 "%%rdi\n1: call 2f\n\tdec %1\n\tcmovz %%rdi, %%rdx\n\tjmp *%%rdx\n"
			 "2: lea 3(%0,%0), %0\n\tret\n3: lea 128(%%rsp), %%rsp"
			 : "+r"(x), "+r"(count)::"rdx", "rdi", "cc", "memory");
	return x;
}

/* ... an interpreter's, of four operations, in a loop of its program. */
static uint64_t operations(uint64_t x)
{
	static const uint8_t program[] = {0, 1, 2, 3};
	uint64_t count = SILENT_ROUNDS, table[5];
	const uint8_t *at = program;

	__asm__ volatile("lea 1f(%%rip), %%rdx\n\tmov %%rdx, (%3)\n\tlea 2f(%%rip), %%rdx\n\tmov "
			 "%%rdx, 8(%3)\n\tlea 3f(%%rip), %%rdx\n\tmov %%rdx, 16(%3)\n\t"
			 "lea 4f(%%rip), %%rdx\n\tmov %%rdx, 24(%3)\n\tlea 5f(%%rip), %%rdi\n\txor "
			 "%%edx, %%edx\n"
			 "1: lea 7(%0), %0\n\tmovzbl 1(%2,%%rdx), %%eax\n\tjmp *(%3,%%rax,8)\n"
			 "2: lea (%0,%0), %0\n\tmovzbl 2(%2,%%rdx), %%eax\n\tjmp *(%3,%%rax,8)\n"
			 "3: lea (%0,%1), %0\n\tmovzbl 3(%2,%%rdx), %%eax\n\tjmp *(%3,%%rax,8)\n"
			 "4: dec %1\n\tmov (%3), %%rax\n\tcmovz %%rdi, %%rax\n\tjmp *%%rax\n"
			 "5:"
			 : "+r"(x), "+r"(count)
			 : "r"(at), "r"(table)
			 : "rax", "rdx", "rdi", "cc", "memory");
	return x;
}

/* ... around a system call. */
static uint64_t asks(uint64_t x)
{
	uint64_t count = SILENT_ROUNDS >> 8;

	__asm__ volatile(
		"lea 1f(%%rip), %%rdx\n\tlea 3f(%%rip), %%rdi\n1: mov %2, %%eax\n\tsyscall\n\tinc "
		"%0\n\tdec %1\n\tcmovz %%rdi, %%rdx\n\tjmp *%%rdx\n3:"
		: "+r"(x), "+r"(count)
		: "i"(SYS_getppid)
		: "rax", "rcx", "rdx", "rdi", "r11", "cc", "memory");
	return x;
}

static const struct kind {
	const char *name;
	uint64_t (*round)(uint64_t);
} kinds[] = {{"branches", branches}, {"shorts", shorts},         {"calls", calls},
	     {"memory", memory},     {"syscalls", syscalls},     {"closes", closes},
	     {"returns", returns},   {"operations", operations}, {"asks", asks}};

int main(int argc, char **argv)
{
	long count = argc == 3 ? atol(argv[2]) : 0;

	for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof kinds[0]; i++) {
		uint64_t x = 27;

		if (strcmp(kinds[i].name, argv[1]))
			continue;
		while (count-- > 0)
			x = kinds[i].round(x);
		printf("%llu\n", (unsigned long long)x);
		return 0;
	}
	return 2;
}
