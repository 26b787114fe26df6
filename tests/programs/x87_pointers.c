/* SPDX-License-Identifier: MIT */
/* Prints what each instruction that saves the x87 unit's state says of its last instruction and that one's operand: at once, after system calls,
 * and after a while in which others run. tests/e2e/replay.py */
#include <cpuid.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double operand = 1.5;
static _Alignas(64) unsigned char area[1600];

static char text[1 << 13];
static size_t length;

static void put(const char *s)
{
	while (*s)
		text[length++] = *s++;
}

static void put_byte(unsigned byte)
{
	text[length++] = "0123456789abcdef"[byte >> 4];
	text[length++] = "0123456789abcdef"[byte & 15];
}

/* n bytes from `at` on, and the opcode. */
static void say(const char *name, int at, int n, int opcode)
{
	put(name);
	put(": ");
	for (int i = 0; i < n; i++)
		put_byte(area[at + i]);
	put(" opcode ");
	put_byte(area[opcode + 1]);
	put_byte(area[opcode]);
	put("\n");
}

static void pass_time(int how)
{
	struct timespec t = {.tv_nsec = 5000000};

	for (int i = 0; how == 1 && i < 30; i++)
		getppid();
	if (how == 2)
		nanosleep(&t, NULL);
}

#define SAY(code, how, at, n, opcode) do { \
	memset(area, 0xa5, sizeof area); \
	__asm__ volatile("fninit; fldl %0" ::"m"(operand)); \
	pass_time(how); \
	__asm__ volatile(code ::"r"(area), "a"(7), "d"(0) : "memory"); \
	__asm__ volatile("fninit"); \
	say(code, at, n, opcode); \
} while (0)

int main(void)
{
	unsigned a, b, c = 0, d;

	__cpuid(1, a, b, c, d);
	for (int how = 0; how < 3; how++) {
		SAY("fnstenv (%0)", how, 12, 14, 18);
		SAY("fnstenv area(%%rip)", how, 12, 14, 18);
		SAY("fnsave (%0)", how, 12, 14, 18);
		SAY(".byte 0x66; fnstenv (%0)", how, 6, 8, 6);
		SAY("fxsave (%0)", how, 8, 16, 6);
		SAY("fxsave64 (%0)", how, 8, 16, 6);
		SAY("fxsave64 area(%%rip)", how, 8, 16, 6);
		if (!(c & bit_OSXSAVE))
			continue;
		SAY("xsave (%0)", how, 8, 16, 6);
		SAY("xsave64 area(%%rip)", how, 8, 16, 6);
	}
	return write(1, text, length) != (ssize_t)length;
}
