/* SPDX-License-Identifier: MIT */
/* counter COUNT: a short loop around a counter in static memory, which the code (position
 * independent) reaches relative to itself. */
#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long counter;

int main(int argc, char **argv)
{
	unsigned long count = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	for (counter = 0; counter < count;)
		counter++;
	printf("%lu\n", counter);
	return 0;
}
