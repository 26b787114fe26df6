/* SPDX-License-Identifier: MIT */
/* Guesses: where the indirect branches of an address space that mostly lead to one place lead. A fragment compares the target with the guess
 * and goes straight there; its segment says so (segment.h), so nothing is recorded of it but where it was wrong.
 *
 * A guess is the branch's from one generation of segments to another. It must not close a cycle that leaves no record: the code from
 * the guess on, up to the next conditional or the next indirect branch without a guess, does not come back to the branch. So the guess
 * goes when something of that code does. */
#ifndef BT_GUESSES_H
#define BT_GUESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GUESS_SPANS = 8,
	GUESS_PAGE_BITS = 12,
};

struct guess {
	uint64_t from; /* the branch; 0: a free place */
	uint64_t to;   /* 0: none any more */
	uint32_t wrong; /* how often it had to be taken back */
	uint32_t len;  /* of the branch */
	struct {
		uint64_t start, end;
	} spans[GUESS_SPANS]; /* the code that leads on from there */
	size_t span_count;
};

struct guesses {
	struct guess *list; /* open addressing by from */
	uint32_t count, cap; /* cap: 0 or a power of two */
	uint64_t pages[64]; /* a bit for each page, by its number modulo 4096, on which something lies that a guess has ever rested on */
};

/* Where the branch is guessed to lead, 0: nobody knows. */
uint64_t guesses_find(const struct guesses *g, uint64_t from);

/* What is known of the branch, NULL. Valid until the next guesses_put(). */
struct guess *guesses_get(const struct guesses *g, uint64_t from);

/* Takes over what is known of a branch. False without memory, or when there are too many. */
bool guesses_put(struct guesses *g, const struct guess *guess);

/* The first guess, from number *i on, that rests on code in [start, end): NULL when there is none. */
struct guess *guesses_next(const struct guesses *g, uint64_t start, uint64_t end, uint32_t *i);

/* A copy. False without memory; *to can be released then, too. */
bool guesses_copy(struct guesses *to, const struct guesses *from);
void guesses_release(struct guesses *g);

#endif
