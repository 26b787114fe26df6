/* SPDX-License-Identifier: MIT */
/* Looks for the vdso where /proc/self/maps has it, and prints the sum of its bytes, and the first of them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start = 0, end = 0, sum = 0;
	char line[512];

	while (maps && fgets(line, sizeof line, maps))
		if (strstr(line, "[vdso]"))
			sscanf(line, "%lx-%lx", &start, &end);
	if (!end)
		return 77;
	for (unsigned long at = start; at < end; at++)
		sum = 31 * sum + *(const unsigned char *)at;
	printf("%lx\n", sum);
	fflush(stdout);
	return write(1, (const void *)start, 4) != 4;
}
