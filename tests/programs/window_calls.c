// SPDX-License-Identifier: MIT
/* window_calls: some calls that are made without a stop, two of them in one tick, and mappings that come and go between them. */
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	volatile int sum = 0;

	for (int round = 0; round < 3; round++) {
		char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (int i = 0; i < 10; i++) {
			getppid();
			for (int k = 0; k < 5; k++)
				sum += k;
			getppid();
			getppid();
		}
		munmap(memory, 8192);
	}
	return 0;
}
