/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/answers.h"

#include <string.h>

#include "decoder/symbols/module_level.h"

enum {
	PROT_EXECUTE = 4,
};

void answers_release(struct answers *a)
{
	kept_free(a->kept);
	kept_free(a->noted);
}

const struct kept *answers_kept(struct answers *a, const struct trace *t)
{
	if (!a->read && !a->noted) {
		a->read = true;
		a->kept = kept_read(t, &a->damaged);
	}
	return a->kept;
}

static struct kept_module module_as_kept(const struct image_module *mod)
{
	return (struct kept_module){.path = mod->path,
				    .build_id = mod->build_id,
				    .dev = mod->dev,
				    .ino = mod->ino,
				    .level = mod->level,
				    .missing = mod->lack};
}

static uint32_t number_instead(struct answers *a, struct image_module *mod)
{
	struct kept_module wanted;
	uint8_t level;

	if (!a->kept || mod->state == IMAGE_FILE_MEMORY)
		return 0;
	module_examine(mod);
	wanted = module_as_kept(mod);
	if (!mod->kept)
		mod->kept = kept_find_module(a->kept, &wanted) + 1;
	if (mod->kept == 1)
		return 0;
	level = kept_module(a->kept, mod->kept - 1)->level;
	return level > mod->level || (level == mod->level && mod->state != IMAGE_FILE_OK)
		       ? mod->kept - 1
		       : 0;
}

const struct kept_module *answers_instead(struct answers *a, struct image_module *mod)
{
	uint32_t number = number_instead(a, mod);

	return number ? kept_module(a->kept, number) : NULL;
}

/* An offset in a file serves all processes that map it. Data without a file has addresses alone. */
static struct kept_where where_of(const struct space_map *map, uint32_t space, uint64_t addr,
				  bool is_return, uint32_t module)
{
	if (map->prot & PROT_EXECUTE && *map->path == '/')
		return (struct kept_where){.module = module,
					   .at = addr - map->start + map->offset,
					   .is_return = is_return};
	return (struct kept_where){
		.space = space, .base = map->start, .at = addr, .is_return = is_return};
}

const struct kept_module *answers_look_up(struct answers *a, struct image_module *mod,
					  const struct space_map *map, uint32_t space,
					  bool is_return, struct location *loc)
{
	uint32_t number = mod ? number_instead(a, mod) : 0, owner;
	struct kept_where where;

	if (!a->kept || (mod && !number))
		return NULL;
	where = where_of(map, space, loc->addr, is_return, number);
	owner = where.module || where.space ? kept_find_place(a->kept, &where, loc) : 0;
	return owner ? kept_module(a->kept, owner) : NULL;
}

size_t answers_bytes(struct answers *a, struct image_module *mod, uint64_t offset, uint8_t *out,
		     size_t n)
{
	uint32_t number = number_instead(a, mod);

	return number ? kept_find_bytes(a->kept, number, offset, out, n) : 0;
}

static uint32_t noted_module(struct answers *a, struct image_module *mod)
{
	struct kept_module m;

	if (!a->noted || mod->state != IMAGE_FILE_OK)
		return 0;
	if (!mod->noted) {
		module_examine(mod);
		m = module_as_kept(mod);
		mod->noted = kept_add_module(a->noted, &m) + 1;
	}
	return mod->noted - 1;
}

void answers_note_place(struct answers *a, struct image_module *mod, const struct space_map *map,
			uint32_t space, bool is_return, const struct location *loc)
{
	uint32_t number = noted_module(a, mod);
	struct kept_where where;

	if (!number)
		return;
	where = where_of(map, space, loc->addr, is_return, number);
	kept_add_place(a->noted, &where, number, loc);
}

void answers_note_bytes(struct answers *a, struct image_module *mod, struct slice file,
			uint64_t offset, size_t n)
{
	uint32_t number = noted_module(a, mod);
	uint64_t end = offset + n;

	if (!number)
		return;
	for (uint64_t at = offset - offset % KEPT_PIECE; at < end; at += KEPT_PIECE) {
		size_t left = file.len - (size_t)at;

		kept_add_piece(a->noted, number, at, file.at + at,
			       left < KEPT_PIECE ? left : KEPT_PIECE);
	}
}
