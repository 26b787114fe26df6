/* SPDX-License-Identifier: MIT */
/* reads_clock WHAT N: rdtsc, rdtscp, cpuid and xgetbv, N rounds, and a sum of all that they gave: "leaves": cpuid and xgetbv, with flags alive across
 * them; of rdtsc and rdtscp "flags": in a loop, with flags alive across them; "line": many of
 * them in a line; "cycle": in a cycle without a conditional, until N alarms have come; "alarms": in a loop, while handlers of alarms read the clock,
 * too; "ever": in a cycle like that, for ever, behind a line "ready"; "calls": between system calls. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t alarms;
static unsigned long sum, most;
static sigjmp_buf back;

#define READ                          \
	"rdtsc\n\t"                   \
	"lea (%[s],%[s],4), %[s]\n\t" \
	"lea (%[s],%%rax), %[s]\n\t"  \
	"lea (%[s],%%rdx,2), %[s]\n\t"
#define READ_AUX                     \
	"rdtscp\n\t"                 \
	"lea (%[s],%%rcx), %[s]\n\t" \
	"lea (%[s],%%rax), %[s]\n\t" \
	"lea (%[s],%%rdx,2), %[s]\n\t"
#define CLOBBERS "rax", "rcx", "rdx", "cc"

/* The conditional stands behind the instruction; carry, overflow and the others go across it. r11 is what the engine keeps its own in. */
static unsigned long with_flags(unsigned long n)
{
	unsigned long seen = 0;

	for (unsigned long i = 0; i < n; i++)
		__asm__ volatile("mov %[i], %%r11\n\t"
				 "cmp $3, %b[i]\n\t"
				 "rdtsc\n\t"
				 "jb 1f\n\t"
				 "add $1, %[seen]\n"
				 "1:\tlea (%[s],%%rax), %[s]\n\t"
				 "lea (%[s],%%rdx,2), %[s]\n\t"
				 "cmp %%r11, %[i]\n\t"
				 "rdtscp\n\t"
				 "jne 2f\n\t"
				 "lea (%[s],%%rcx,2), %[s]\n\t"
				 "add %%r11, %[s]\n\t"
				 "mov %b[i], %%r10b\n\t"
				 "add $100, %%r10b\n\t" READ_AUX
				 "pushfq\n\tpop %%r10\n\t"
				 "and $0x8d5, %%r10d\n\t"
				 "add %%r10, %[seen]\n"
				 "2:"
				 : [s] "+r"(sum), [seen] "+r"(seen)
				 : [i] "r"(i)
				 : CLOBBERS, "r10", "r11");
	return seen;
}

/* Leaves that are known to be the same on all processors, and one that is not (1: it has the processor's number, which is left out). */
static unsigned long leaves(unsigned long n)
{
	static const unsigned which[][2] = {{0, 0}, {7, 0}, {0xd, 0}, {0xd, 1}, {0x80000000, 5}, {0x80000008, 0}, {1, 0}, {4, 1}};
	unsigned long seen = 0;

	for (unsigned long i = 0; i < n; i++) {
		const unsigned *w = which[i % (sizeof which / sizeof which[0])];
		unsigned long a = w[0] | 0xabcdull << 32, b = i, c = w[1] | 0x1234ull << 32, d = ~0ul, low, high;

		__asm__ volatile("mov %%rbx, %%r11\n\t"
				 "cmp $5, %b[i]\n\t"
				 "cpuid\n\t"
				 "jb 1f\n\t"
				 "add %%r11, %[seen]\n"
				 "1:"
				 : "+a"(a), "+b"(b), "+c"(c), "+d"(d), [seen] "+r"(seen)
				 : [i] "r"(i)
				 : "cc", "r11");
		if (w[0] == 1)
			b &= 0xffffff;
		__asm__ volatile("cmp $9, %b[i]\n\t.byte 0x3e\n\txgetbv\n\tadc $1, %[seen]"
				 : "=a"(low), "=d"(high), [seen] "+r"(seen)
				 : [i] "r"(i), "c"(0)
				 : "cc");
		sum = sum * 31 + a + 3 * b + 5 * c + 7 * d + 11 * low + 13 * high;
	}
	return seen;
}

static void in_line(unsigned long n)
{
	for (unsigned long i = 0; i < n; i++)
		__asm__ volatile(".rept 60\n\t" READ ".byte 0x3e\n\t" READ_AUX ".byte 0x66\n\t" READ ".endr" : [s] "+r"(sum) : : CLOBBERS);
}

/* Left by a handler alone. */
static void cycle(void)
{
	__asm__ volatile("1:\t" READ "mov %[s], %[m]\n\t" READ_AUX "mov %[s], %[m]\n\tjmp 1b"
			 : [s] "+r"(sum), [m] "=m"(sum)
			 :
			 : CLOBBERS, "memory");
}

static void on_alarm(int signo)
{
	(void)signo;
	__asm__ volatile(READ READ_AUX : [s] "+r"(sum) : : CLOBBERS);
	if (++alarms == (sig_atomic_t)most)
		setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
}

static void leave(int signo)
{
	on_alarm(signo);
	siglongjmp(back, 1);
}

static void begin_alarms(void (*handler)(int), unsigned long n)
{
	const struct sigaction action = {.sa_handler = handler};

	most = n;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &(struct itimerval){{0, 700}, {0, 700}}, NULL);
}

static void between_calls(unsigned long n)
{
	char bytes[8];

	for (unsigned long i = 0; i < n; i++) {
		__asm__ volatile(READ READ_AUX : [s] "+r"(sum) : : CLOBBERS);
		sum += (unsigned long)getppid() + (unsigned long)lseek(-1, 0, SEEK_SET);
		if (read(0, bytes, sizeof bytes) > 0)
			sum += (unsigned char)bytes[0];
	}
}

int main(int argc, char **argv)
{
	static unsigned long n, seen;

	if (argc != 3)
		return 2;
	n = strtoul(argv[2], NULL, 10);
	if (!strcmp(argv[1], "flags"))
		seen = with_flags(n);
	else if (!strcmp(argv[1], "leaves"))
		seen = leaves(n);
	else if (!strcmp(argv[1], "line"))
		in_line(n);
	else if (!strcmp(argv[1], "calls"))
		between_calls(n);
	if (!strcmp(argv[1], "cycle")) {
		sigsetjmp(back, 1);
		if (!most)
			begin_alarms(leave, n);
		if (alarms < (sig_atomic_t)n)
			cycle();
	}
	if (!strcmp(argv[1], "alarms")) {
		begin_alarms(on_alarm, n);
		while (alarms < (sig_atomic_t)n)
			seen = with_flags(50);
	}
	if (!strcmp(argv[1], "ever")) {
		puts("ready");
		fflush(stdout);
		cycle();
	}
	printf("%lx %lu\n", sum, seen);
	return 0;
}
