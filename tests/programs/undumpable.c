// SPDX-License-Identifier: MIT
/* Makes itself one whose /proc nobody but root may look into (PR_SET_DUMPABLE), after it has run code in a page that it can write; its child writes that anew,
 * runs it and crashes. tests/e2e/parallel.py */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static uint8_t *code;
static long *volatile no_long;

static int run(uint8_t value)
{
	uint8_t bytes[] = {0xb8, value, 0, 0, 0, 0xc3}; /* mov eax, value; ret */
	int (*function)(void);

	memcpy(code, bytes, sizeof bytes);
	memcpy(&function, &code, sizeof function);
	return function();
}

int main(void)
{
	int sum = 0, status = 0;

	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (uint8_t i = 0; i < 3; i++)
		sum += run(i);
	prctl(PR_SET_DUMPABLE, 0);
	for (uint8_t i = 0; i < 10; i++)
		sum += run(i);
	if (!fork()) {
		for (uint8_t i = 0; i < 3; i++)
			sum += run(i);
		*no_long = sum;
	}
	wait(&status);
	printf("%d, %d\n", sum, status & 0x7f);
	return 0;
}
