/* SPDX-License-Identifier: MIT */
/* A fuzz target is one function. libFuzzer calls it, and so does replay_main.c, which runs a corpus
 * in the tests. A target aborts when something that must hold for all bytes does not. */
#ifndef BT_FUZZ_H
#define BT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Some targets have one: changes data, which has size bytes and room for max_size, field by field
 * of the format. The same seed gives the same change. Returns the new size. libFuzzer and
 * replay_main.c call it instead of their own. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						     unsigned seed);

#define MUST(condition)           \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

#endif
