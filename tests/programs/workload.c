// SPDX-License-Identifier: MIT
/* A program without a library, whose every instruction is the same in each run: sorting through a function pointer, an
 * interpreter with a jump table, recursion, string instructions, system calls, a signal handler. tests/e2e/gdb_step.py */
#include <stddef.h>
#include <stdint.h>

enum {
	SYS_WRITE = 1,
	SYS_GETPID = 39,
	SYS_EXIT_GROUP = 231,
	NUMBERS = 48
};

static long call_kernel(long nr, long a, long b, long c)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return result;
}

void *memset(void *to, int byte, size_t n);
void *memcpy(void *to, const void *from, size_t n);

void *memset(void *to, int byte, size_t n)
{
	void *at = to;

	__asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(byte) : "memory");
	return to;
}

void *memcpy(void *to, const void *from, size_t n)
{
	void *at = to;

	__asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n)::"memory");
	return to;
}

static int ascending(int a, int b) { return a - b; }
static int descending(int a, int b) { return b - a; }

__attribute__((noinline)) static void sort(int *at, int n, int (*order)(int, int))
{
	int middle, left = 0, right = n - 1;

	if (n < 2)
		return;
	middle = at[n / 2];
	while (left <= right) {
		while (order(at[left], middle) < 0)
			left++;
		while (order(at[right], middle) > 0)
			right--;
		if (left <= right) {
			int other = at[left];

			at[left++] = at[right];
			at[right--] = other;
		}
	}
	sort(at, right + 1, order);
	sort(at + left, n - left, order);
}

/* A stack machine: p push, + - * operate, d duplicate, j skips when the top is odd, . ends. */
__attribute__((noinline)) static long interpret(const char *code)
{
	long stack[16] = {0};
	int top = 0;

	for (;; code++)
		switch (*code - '*') {
		case '*' - '*': top--; stack[top - 1] *= stack[top]; break;
		case '+' - '*': top--; stack[top - 1] += stack[top]; break;
		case ',' - '*': stack[top++] = 3; break;
		case '-' - '*': top--; stack[top - 1] -= stack[top]; break;
		case '.' - '*': return stack[top - 1];
		case '/' - '*': stack[top] = stack[top - 1]; top++; break;
		case '0' - '*': stack[top++] = 10; break;
		case '1' - '*': code += stack[top - 1] & 1; break;
		default: break;
		}
}

__attribute__((noinline)) static unsigned ackermann(unsigned m, unsigned n)
{
	return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

static void print(unsigned long n)
{
	char text[24];
	int at = sizeof(text);

	text[--at] = '\n';
	do
		text[--at] = (char)('0' + n % 10);
	while (n /= 10);
	call_kernel(SYS_WRITE, 1, (long)(text + at), (long)sizeof(text) - at);
}

void run(void);

void run(void)
{
	static int numbers[NUMBERS], copy[NUMBERS];
	unsigned long sum = 0, x = 12345;

	for (int i = 0; i < NUMBERS; i++) {
		x = x * 6364136223846793005UL + 1442695040888963407UL;
		numbers[i] = (int)(x >> 48);
	}
	memcpy(copy, numbers, sizeof(copy));
	sort(numbers, NUMBERS, ascending);
	sort(copy, NUMBERS, descending);
	for (int i = 0; i < NUMBERS; i++)
		sum = sum * 33 + (unsigned)(numbers[i] ^ copy[i]);
	print(sum);
	print((unsigned long)interpret("0,+/*1n/*0-1n,+/*1n,*."));
	print(ackermann(2, 3));
	memset(copy, 1, 64);
	print((unsigned)copy[3]);
	print(call_kernel(SYS_GETPID, 0, 0, 0) > 0);
	call_kernel(SYS_EXIT_GROUP, 7, 0, 0);
}

__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall run\n\tud2\n");
