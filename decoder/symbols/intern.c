/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/intern.h"

#include <stdlib.h>
#include <string.h>

#include "lib/content_hash.h"

static bool is_same_text(const void *wanted, const struct hash_slot *slot)
{
	return !strcmp(wanted, slot->pointer);
}

const char *intern_str(struct intern *in, const char *text)
{
	struct hash_slot *slot, kept;

	if (!text || !*text)
		return "";
	kept.key = content_hash(text, strlen(text)).first;
	slot = hash_table_find_same(&in->texts, kept.key, is_same_text, text);
	if (slot)
		return slot->pointer;
	kept.pointer = strdup(text);
	if (kept.pointer && hash_table_add(&in->texts, kept))
		return kept.pointer;
	free(kept.pointer);
	return "";
}

void intern_release(struct intern *in)
{
	for (struct hash_slot *slot = NULL; (slot = hash_table_next(&in->texts, slot));)
		free(slot->pointer);
	hash_table_release(&in->texts);
}
