/* SPDX-License-Identifier: MIT */
/* Where an address space has what a program's hints speak of. */
#include "collector/engine/engine_private.h"

/* Mappings have changed, or files have got numbers. */
static void refresh(struct engine_space *es, const struct address_space *s)
{
	es->hinted = s->code_epoch;
	es->hinted_files = hints_files(es->hints);
	es->hint_map_count = 0;
	for (size_t i = 0; i < s->mappings.count && es->hint_map_count < sizeof es->hint_maps / sizeof es->hint_maps[0]; i++) {
		const struct mapping *m = &s->mappings.maps[i];
		int file = m->ino && address_space_code_kind(s, m->start) == CODE_FIXED ? hints_file(es->hints, m) : -1;

		if (file >= 0)
			es->hint_maps[es->hint_map_count++] = (struct hint_map){m->start, m->end, m->offset, file};
	}
}

static bool is_old(const struct engine_space *es, const struct address_space *s)
{
	return es->hinted != s->code_epoch || es->hinted_files != hints_files(es->hints);
}

size_t cache_hints_find(struct engine_space *es, const struct address_space *s, uint64_t pc)
{
	if (!es->hints)
		return HINT_NONE;
	if (is_old(es, s))
		refresh(es, s);
	for (size_t i = 0; i < es->hint_map_count; i++) {
		const struct hint_map *m = &es->hint_maps[i];

		if (pc >= m->start && pc < m->end)
			return hints_find(es->hints, m->file, m->offset + (pc - m->start));
	}
	return HINT_NONE;
}

uint64_t cache_hints_address(struct engine_space *es, const struct address_space *s, size_t i)
{
	struct hint h = hints_get(es->hints, i);

	if (is_old(es, s))
		refresh(es, s);
	for (size_t k = 0; k < es->hint_map_count; k++) {
		const struct hint_map *m = &es->hint_maps[k];

		if (m->file == h.file && h.offset >= m->offset && h.offset - m->offset < m->end - m->start)
			return m->start + (h.offset - m->offset);
	}
	return 0;
}
