// SPDX-License-Identifier: MIT
/* plugins ROUNDS FILE...: loads such a library (plugin.c, VALUE 1, 2, ...), calls it and unloads it, one behind the other, so that mostly one
 * stands where another stood. Prints how often that was so, and how many values were wrong. tests/e2e/engine_fresh.py */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long expected(long value, long x, long calls)
{
	long sum = value;

	for (long k = 0; k < x; k++)
		sum = k & value ? sum * 3 + value : sum + k * value;
	return sum + calls * 1000003;
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? atol(argv[1]) : 0, same = 0, wrong = 0;
	uintptr_t last = 0;

	for (long i = 0; i < rounds; i++) {
		int which = (int)(i % (argc - 2));
		void *library = dlopen(argv[2 + which], RTLD_NOW);
		long (*plugin)(long) = library ? (long (*)(long))dlsym(library, "plugin") : NULL;

		if (!plugin) {
			fprintf(stderr, "%s\n", dlerror());
			return 2;
		}
		same += (uintptr_t)plugin >> 12 == last; /* the page: no two are alike byte for byte */
		last = (uintptr_t)plugin >> 12;
		for (long calls = 1; calls <= 3; calls++)
			wrong += plugin(i % 7 + calls) != expected(which + 1, i % 7 + calls, calls);
		wrong += dlclose(library) != 0;
	}
	printf("%s, %ld wrong\n", same > rounds / 2 ? "at one place" : "at many places", wrong);
	return 0;
}
