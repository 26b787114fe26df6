/* SPDX-License-Identifier: MIT */
/* Predictions: where the indirect branches of an address space that mostly lead to one place lead.
 * A fragment compares the target with the prediction and goes straight there; its segment says so
 * (segment.h), so nothing is recorded of it but where it was wrong.
 *
 * A prediction is the branch's from one generation of segments to another. It must not close a
 * cycle that leaves no record: the code from the prediction on, up to the next conditional or the
 * next indirect branch that writes a record, does not come back to the branch. So the prediction
 * goes when something of that code does. Or the branch writes a record even where the prediction is
 * right: it *closes* a cycle. Part of the code cache, which drops the fragments of a prediction
 * when it changes. No state but the struct. */
#ifndef BT_PREDICTIONS_H
#define BT_PREDICTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/hash_table.h"

enum {
	PREDICTION_SPANS = 8,
};

struct prediction {
	uint64_t from;  /* the branch */
	uint64_t to;    /* 0: none any more */
	uint32_t wrong; /* times that a prediction of the branch was taken back */
	bool closes;
	uint32_t len; /* of the branch */
	struct {
		uint64_t start, end;
	} spans[PREDICTION_SPANS]; /* the code that leads on from there */
	size_t span_count;
};

struct predictions {
	struct prediction *list;
	size_t count, cap;
	struct hash_table by_from; /* its number in the list, counted from 1 on */
	uint64_t pages[64]; /* a bit for each page, by its number modulo 4096, on which something
			       lies that a prediction has ever rested on */
};

/* Where the branch is predicted to lead, 0: nobody knows. */
uint64_t predictions_find(const struct predictions *g, uint64_t from);

/* The prediction of the branch, or NULL. Valid until the next predictions_put(). */
struct prediction *predictions_get(const struct predictions *g, uint64_t from);

/* Takes over the prediction of a branch. False without memory, or when there are too many. */
bool predictions_put(struct predictions *g, const struct prediction *prediction);

/* The first prediction, from number *i on, that rests on code in [start, end): NULL when there is
 * none. */
struct prediction *predictions_next(const struct predictions *g, uint64_t start, uint64_t end,
				    uint32_t *i);

/* A copy. False without memory; *to can be released then, too. */
bool predictions_copy(struct predictions *to, const struct predictions *from);
void predictions_release(struct predictions *g);

#endif
