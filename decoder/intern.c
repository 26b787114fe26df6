/* SPDX-License-Identifier: MIT */
#include "decoder/intern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *s)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3;
	return (size_t)(h ^ h >> 29);
}

/* The slot that holds text, or the free one where it belongs. cap is a power of two and never full.
 */
static char **slot_of(char **slots, size_t cap, const char *text)
{
	size_t i = hash_of(text) & (cap - 1);

	while (slots[i] && strcmp(slots[i], text))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static bool grow(struct intern *in)
{
	size_t cap = in->cap ? in->cap * 2 : 256;
	char **slots = calloc(cap, sizeof *slots);

	if (!slots)
		return false;
	for (size_t i = 0; i < in->cap; i++)
		if (in->slots[i])
			*slot_of(slots, cap, in->slots[i]) = in->slots[i];
	free(in->slots);
	in->slots = slots;
	in->cap = cap;
	return true;
}

const char *intern_str(struct intern *in, const char *text)
{
	char **slot;

	if (!text || !*text)
		return "";
	if (in->count * 2 >= in->cap && !grow(in))
		return "";
	slot = slot_of(in->slots, in->cap, text);
	if (!*slot) {
		*slot = strdup(text);
		in->count += *slot != NULL;
	}
	return *slot ? *slot : "";
}

void intern_release(struct intern *in)
{
	for (size_t i = 0; i < in->cap; i++)
		free(in->slots[i]);
	free(in->slots);
	*in = (struct intern){0};
}
