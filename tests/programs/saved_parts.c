/* SPDX-License-Identifier: MIT */
/* Which states xsave, xsavec and xsaveopt find in use, and a sum of what they stored: with registers written and zero again, behind waits in
 * which others run, in a handler. Status 77: the processor lacks one of them, or AVX. tests/e2e/replay.py */
#include <cpuid.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { X87_SSE_AVX = 7, AREA = 1024, HEADER = 512, HEADER_SIZE = 64 };

static _Alignas(64) unsigned char area[AREA];
static char text[1 << 13];
static size_t length;

static void put_byte(unsigned byte)
{
	text[length++] = "0123456789abcdef"[byte >> 4 & 15];
	text[length++] = "0123456789abcdef"[byte & 15];
}

static void put(const char *s)
{
	while (*s)
		text[length++] = *s++;
	text[length++] = ' ';
}

static void clear(void)
{
	unsigned char *at = area;
	size_t n = sizeof area;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0xa5) : "memory");
	at = area + HEADER;
	n = HEADER_SIZE;
	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(0) : "memory");
}

static void put_sum(void)
{
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof area; i += 12)
		sum = sum * 31 + area[i];
	put_byte(area[HEADER]);
	put_byte(sum);
	text[length++] = ' ';
}

#define SAVE(code) do { \
	clear(); \
	__asm__ volatile(code ::"r"(area), "a"(X87_SSE_AVX), "d"(0) : "memory"); \
	put_sum(); \
} while (0)

static void say(const char *what)
{
	put(what);
	SAVE("xsave64 (%0)");
	SAVE("xsavec64 (%0)");
	SAVE("xsaveopt64 (%0)");
	SAVE("xsavec area(%%rip)");
	text[length++] = '\n';
}

static void on_signal(int signo)
{
	(void)signo;
	say("in a handler,");
	__asm__ volatile("vpxor %%ymm3, %%ymm3, %%ymm3" ::: "xmm3");
	say("ymm3 written,");
}

/* Registers that are computed to be 0 are in use, until a switch between tasks finds that they are as initially; AMD knows vpxor and its like.
 * Later rounds run without a stop, where code is translated. */
static void say_initial(void)
{
	enum { ROUNDS = 20, MXCSR = 24 };
	const unsigned mxcsr = 0x1f80; /* the initial one */

	for (int i = 0; i < ROUNDS; i++) {
		clear();
		memcpy(area + MXCSR, &mxcsr, sizeof mxcsr);
		__asm__ volatile("xrstor64 (%0); vpcmpeqd %%ymm3, %%ymm3, %%ymm3; vpsrlq $32, %%ymm3, %%ymm3; vpsrlq $32, %%ymm3, %%ymm3; xsavec64 (%0)" ::"r"(area), "a"(X87_SSE_AVX), "d"(0) : "memory", "xmm3");
		put_byte(area[HEADER]);
	}
	put("\n");
}

static int lacks(void)
{
	unsigned a, b, c = 0, d;

	__cpuid(1, a, b, c, d);
	if (!(c & bit_OSXSAVE) || !(c & bit_AVX))
		return 1;
	__cpuid_count(0xd, 1, a, b, c, d);
	return (a & 3) != 3;
}

int main(void)
{
	struct timespec t = {.tv_nsec = 2000000};

	if (lacks())
		return 77;
	say("at the beginning,");
	__asm__ volatile("vzeroupper");
	say("vzeroupper,");
	__asm__ volatile("vpcmpeqd %%ymm1, %%ymm1, %%ymm1" ::: "xmm1");
	say("ymm1 written,");
	__asm__ volatile("vzeroall" ::: "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
	say("vzeroall,");
	nanosleep(&t, NULL);
	say("slept,");
	__asm__ volatile("pxor %%xmm0, %%xmm0" ::: "xmm0");
	say("xmm0 written,");
	__asm__ volatile("fldpi; fstp %%st(0)" ::: "st");
	say("x87 used,");
	nanosleep(&t, NULL);
	say("slept,");
	__asm__ volatile("fninit");
	say("fninit,");
	say_initial();
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	say("behind it,");
	return write(1, text, length) != (ssize_t)length;
}
