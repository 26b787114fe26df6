/* SPDX-License-Identifier: MIT */
/* Where an address space has what a program's profile names. */
#include "collector/backend/engine/engine_private.h"
#include "lib/array_size.h"

/* Mappings have changed, or files have got numbers. */
static void refresh_view(struct profile_view *v, const struct address_space *s)
{
	v->code_epoch = s->code_epoch;
	v->files = profile_files(v->program);
	v->map_count = 0;
	for (size_t i = 0; i < s->mappings.count && v->map_count < ARRAY_SIZE(v->maps); i++) {
		const struct mapping *m = &s->mappings.maps[i];
		int file = m->ino && address_space_code_kind(s, m->start) == CODE_FIXED
				   ? profile_file(v->program, m)
				   : -1;

		if (file >= 0)
			v->maps[v->map_count++] =
				(struct profile_map){m->start, m->end, m->offset, file};
	}
}

static bool is_old(const struct profile_view *v, const struct address_space *s)
{
	return v->code_epoch != s->code_epoch || v->files != profile_files(v->program);
}

size_t cache_profile_find(struct profile_view *v, const struct address_space *s, uint64_t pc)
{
	if (!v->program)
		return PROFILE_NONE;
	if (is_old(v, s))
		refresh_view(v, s);
	for (size_t i = 0; i < v->map_count; i++) {
		const struct profile_map *m = &v->maps[i];

		if (pc >= m->start && pc < m->end)
			return profile_find(v->program, m->file, m->offset + (pc - m->start));
	}
	return PROFILE_NONE;
}

uint64_t cache_profile_address(struct profile_view *v, const struct address_space *s, size_t i)
{
	struct profile_entry h = profile_get(v->program, i);

	if (is_old(v, s))
		refresh_view(v, s);
	for (size_t k = 0; k < v->map_count; k++) {
		const struct profile_map *m = &v->maps[k];

		if (m->file == h.file && h.offset >= m->offset &&
		    h.offset - m->offset < m->end - m->start)
			return m->start + (h.offset - m->offset);
	}
	return 0;
}
