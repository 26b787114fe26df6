/* SPDX-License-Identifier: MIT */
/* alarmed KIND [MICROSECONDS [SIGNALS]]: a signal every so often (100) comes into a loop of that kind,
 * whose state each handler mixes into a sum. Says "begins"; ends behind so many of them (40) and prints the sum: it
 * tells where the signals came. */
#include <immintrin.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>

enum {
	ROOM = 8 << 20,
	PATTERN = 256,
};

static volatile uint64_t cell, other;
static volatile sig_atomic_t count;
static long signals = 40;
static uint64_t sum;
static uint8_t *room;
static sigjmp_buf out;

static void on_alarm(int signo)
{
	(void)signo;
	if (!cell) /* the loop has not begun */
		return;
	sum = sum * 0x9e3779b97f4a7c15u + cell + 3 * other + room[cell * 4099 % ROOM];
	if (++count == signals)
		siglongjmp(out, 1);
}

/* Transfers without conditionals. */
static void spin(void)
{
	__asm__ volatile("1: incq %0\n"
			 "jmp 2f\n"
			 "2: addq $3, %1\n"
			 "jmp 1b"
			 : "+m"(cell), "+m"(other));
	__builtin_unreachable();
}

/* So many direct jumps in a row that no fragment of the engine holds them all. The locked additions
 * take longer than all else: a jump costs the engine nothing, but a replay counts each up to a
 * signal. */
static void chain(void)
{
	__asm__ volatile("1: incq %0\n"
			 ".rept 100\n"
			 ".rept 10\n"
			 "jmp 2f\n"
			 "2:\n"
			 ".endr\n"
			 "lock addq $3, %1\n"
			 ".endr\n"
			 "jmp 1b"
			 : "+m"(cell), "+m"(other));
	__builtin_unreachable();
}

/* A line of code so long that no fragment of the engine holds it. */
static void line(void)
{
	__asm__ volatile("1: incq %0\n"
			 ".rept 500\n"
			 "addq $3, %1\n"
			 "rolq %1\n"
			 ".endr\n"
			 "jmp 1b"
			 : "+m"(cell), "+m"(other));
	__builtin_unreachable();
}

/* Two-byte branches. */
static void branches(void)
{
	__asm__ volatile("1: incq %0\n"
			 "testb $8, %0\n"
			 "jne 2f\n"
			 "incq %1\n"
			 "2: testb $3, %1\n"
			 "je 1b\n"
			 "jmp 1b"
			 : "+m"(cell), "+m"(other));
	__builtin_unreachable();
}

/* Two-byte branches, of code that the program makes. */
static void jit(void)
{
	/* incq (%rdi); testb $8, (%rdi); jne 1f; incq (%rsi); 1: jmp back */
	static const uint8_t code[] = {0x48, 0xff, 0x07, 0xf6, 0x07, 0x08, 0x75,
				       0x03, 0x48, 0xff, 0x06, 0xeb, 0xf3};
	void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (made == MAP_FAILED)
		exit(2);
	memcpy(made, code, sizeof code);
	if (mprotect(made, 4096, PROT_READ | PROT_EXEC))
		exit(2);
	((void (*)(volatile uint64_t *, volatile uint64_t *))(uintptr_t)made)(&cell, &other);
}

static void conditionals(void)
{
	for (;;) {
		cell = cell * 6364136223846793005u + 1;
		if (cell >> 63)
			other += cell;
		if (cell >> 62 & 1)
			other ^= cell;
	}
}

/* Instructions whose results are not the same twice. */
static void results(void)
{
	for (;;) {
		other += __rdtsc();
		cell++;
	}
}

static void rep(void)
{
	for (;;) {
		uint64_t n = ROOM;
		void *at = room;

		__asm__ volatile("rep stosb" : "+c"(n), "+D"(at) : "a"((int)cell) : "memory");
		n = ROOM / 16; /* it is slow */
		at = room;
		__asm__ volatile("repe scasb" : "+c"(n), "+D"(at) : "a"((int)cell) : "memory", "cc");
		cell++;
	}
}

__attribute__((target("avx2"))) static void gather(void)
{
	__m256i at = _mm256_setr_epi32(0, 1 << 18, 1 << 19, 3 << 18, 1 << 20, 5 << 18, 3 << 19,
				       7 << 18),
		all = _mm256_setzero_si256(), mask = _mm256_set1_epi32(ROOM / 4 - 1);

	for (;;) {
		all = _mm256_add_epi32(
			all, _mm256_i32gather_epi32((const int *)(void *)room,
						    _mm256_and_si256(at, mask), 4));
		at = _mm256_add_epi32(at, _mm256_set1_epi32(1024 * 17));
		_mm256_storeu_si256((__m256i *)(void *)room, all);
		cell++;
	}
}

/* The room repeats its first n bytes: one step, where it is stepped. */
static void fill_behind(size_t n)
{
	const uint8_t *from = room;
	uint8_t *to = room + n;

	n = ROOM - n;
	__asm__ volatile("rep movsb" : "+c"(n), "+S"(from), "+D"(to)::"memory");
}

static const struct {
	const char *name;
	void (*loop)(void);
} kinds[] = {{"spin", spin}, {"chain", chain}, {"line", line}, {"branches", branches}, {"jit", jit}, {"conditionals", conditionals}, {"rep", rep}, {"gather", gather}, {"results", results}};

int main(int argc, char **argv)
{
	const long each = argc > 2 ? atol(argv[2]) : 100;
	const struct itimerval often = {{0, each}, {0, each}}, never = {{0, 0}, {0, 0}};
	const char *kind = argc > 1 ? argv[1] : "";

	if (!strcmp(kind, "gather") && !__builtin_cpu_supports("avx2"))
		return 77;
	if (argc > 3)
		signals = atol(argv[3]);
	room = malloc(ROOM);
	if (!room)
		return 2;
	for (size_t i = 0; i < PATTERN; i++)
		room[i] = (uint8_t)(i * 7);
	fill_behind(PATTERN);
	puts("begins");
	fflush(stdout);
	signal(SIGALRM, on_alarm);
	if (!sigsetjmp(out, 1)) {
		setitimer(ITIMER_REAL, &often, NULL);
		for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
			if (!strcmp(kinds[i].name, kind))
				kinds[i].loop();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d %llx\n", (int)count, (unsigned long long)sum);
	return 0;
}
