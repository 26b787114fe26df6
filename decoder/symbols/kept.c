/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/kept_private.h"

#include <stdlib.h>
#include <string.h>

#include "lib/content_hash.h"
#include "lib/grow.h"

enum {
	ARENA_MAX = 64 << 20,
};

struct kept *kept_new(void)
{
	struct kept *k = calloc(1, sizeof *k);

	if (k)
		arena_init(&k->arena, ARENA_MAX);
	return k;
}

void kept_free(struct kept *k)
{
	if (!k)
		return;
	arena_release(&k->arena);
	free(k->modules);
	free(k->places);
	hash_table_release(&k->by_where);
	free(k->stacks);
	free(k->pieces);
	hash_table_release(&k->by_offset);
	free(k->sources);
	hash_table_release(&k->by_path);
	free(k->said);
	free(k);
}

static bool is_module(const struct kept_module *a, const struct kept_module *b)
{
	return a->dev == b->dev && a->ino == b->ino && !strcmp(a->path, b->path) &&
	       !strcmp(a->build_id, b->build_id);
}

uint32_t kept_find_module(const struct kept *k, const struct kept_module *m)
{
	for (size_t i = 0; i < k->module_count; i++)
		if (is_module(&k->modules[i], m))
			return (uint32_t)i + 1;
	return 0;
}

uint32_t kept_add_module(struct kept *k, const struct kept_module *m)
{
	uint32_t number = kept_find_module(k, m);
	struct kept_module *all;

	if (number || k->module_count == MODULES_MAX)
		return number;
	all = array_grow(k->modules, k->module_count, &k->module_cap, sizeof *all);
	if (!all)
		return 0;
	k->modules = all;
	all[k->module_count] = *m;
	return (uint32_t)++k->module_count;
}

struct kept_module *kept_module(const struct kept *k, uint32_t number)
{
	return &k->modules[number - 1];
}

size_t kept_module_count(const struct kept *k) { return k->module_count; }

static uint64_t where_key(const struct kept_where *w)
{
	const uint64_t parts[] = {w->module, w->space, w->base, w->at, w->is_return};

	return content_hash(parts, sizeof parts).first;
}

static bool is_where(const struct kept_where *a, const struct kept_where *b)
{
	return a->module == b->module && a->space == b->space && a->base == b->base &&
	       a->at == b->at && a->is_return == b->is_return;
}

struct wanted_place {
	const struct kept *kept;
	const struct kept_where *where;
};

static bool is_wanted_place(const void *arg, const struct hash_slot *slot)
{
	const struct wanted_place *w = arg;

	return is_where(&w->kept->places[slot->number - 1].where, w->where);
}

uint32_t kept_find_place(const struct kept *k, const struct kept_where *where, struct location *loc)
{
	const struct wanted_place wanted = {k, where};
	const struct hash_slot *slot =
		hash_table_find_same(&k->by_where, where_key(where), is_wanted_place, &wanted);
	const struct kept_place *place = slot ? &k->places[slot->number - 1] : NULL;
	const struct location *found;

	if (!place || !place->module || place->module > k->module_count)
		return 0;
	found = &place->loc;
	loc->module = k->modules[place->module - 1].path;
	loc->build_id = k->modules[place->module - 1].build_id;
	loc->vaddr = found->vaddr;
	loc->in_file = found->in_file;
	loc->function = found->function;
	loc->offset = found->offset;
	loc->file = found->file;
	loc->line = found->line;
	loc->has_lines = found->has_lines;
	loc->inlined = found->inlined;
	loc->inlined_count = found->inlined_count;
	return place->module;
}

void kept_add_place(struct kept *k, const struct kept_where *where, uint32_t module,
		    const struct location *loc)
{
	struct location there;
	struct kept_place *all;

	if (loc->inlined_count > INLINED_MAX || k->place_count == PLACES_MAX ||
	    kept_find_place(k, where, &there))
		return;
	all = array_grow(k->places, k->place_count, &k->place_cap, sizeof *all);
	if (!all)
		return;
	k->places = all;
	if (hash_table_add(&k->by_where,
			   (struct hash_slot){where_key(where), {k->place_count + 1}}))
		all[k->place_count++] = (struct kept_place){*where, module, *loc};
}

const struct kept_stack *kept_find_stack(const struct kept *k, uint32_t snapshot, uint32_t task)
{
	for (size_t i = 0; i < k->stack_count; i++)
		if (k->stacks[i].snapshot == snapshot && k->stacks[i].task == task)
			return &k->stacks[i];
	return NULL;
}

/* The place of a thread's stack; NULL where there is no room, or there is a longer one. */
static struct kept_stack *place_for(struct kept *k, const struct kept_stack *stack)
{
	const struct kept_stack *there = kept_find_stack(k, stack->snapshot, stack->task);
	struct kept_stack *all;

	if (there)
		return there->count < stack->count ? &k->stacks[there - k->stacks] : NULL;
	if (k->stack_count == STACKS_MAX)
		return NULL;
	all = array_grow(k->stacks, k->stack_count, &k->stack_cap, sizeof *all);
	if (!all)
		return NULL;
	k->stacks = all;
	return &all[k->stack_count++];
}

void kept_add_stack(struct kept *k, const struct kept_stack *stack)
{
	struct stack_frame *copy;
	struct kept_stack *to;

	if (!stack->count || stack->count > STACK_FRAMES_MAX - k->frame_count)
		return;
	copy = arena_alloc(&k->arena, stack->count * sizeof *copy);
	to = copy ? place_for(k, stack) : NULL;
	if (!to)
		return;
	memcpy(copy, stack->frames, stack->count * sizeof *copy);
	*to = *stack;
	to->frames = copy;
	k->frame_count += stack->count;
}

struct wanted_piece {
	const struct kept *kept;
	uint32_t module;
	uint64_t offset;
};

static bool is_wanted_piece(const void *arg, const struct hash_slot *slot)
{
	const struct wanted_piece *w = arg;
	const struct kept_piece *piece = &w->kept->pieces[slot->number - 1];

	return piece->module == w->module && piece->offset == w->offset;
}

static uint64_t piece_key(uint32_t module, uint64_t offset)
{
	return (uint64_t)module << 48 ^ offset;
}

static const struct kept_piece *find_piece(const struct kept *k, uint32_t module, uint64_t offset)
{
	const struct wanted_piece wanted = {k, module, offset};
	const struct hash_slot *slot = hash_table_find_same(
		&k->by_offset, piece_key(module, offset), is_wanted_piece, &wanted);

	return slot ? &k->pieces[slot->number - 1] : NULL;
}

size_t kept_find_bytes(const struct kept *k, uint32_t module, uint64_t offset, uint8_t *out,
		       size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t skip = (offset + done) % KEPT_PIECE, got;
		const struct kept_piece *piece = find_piece(k, module, offset + done - skip);

		if (!piece || piece->len <= skip)
			break;
		got = piece->len - skip < n - done ? piece->len - skip : n - done;
		memcpy(out + done, piece->bytes + skip, got);
		done += got;
	}
	return done;
}

void kept_add_piece(struct kept *k, uint32_t module, uint64_t offset, const uint8_t *bytes,
		    size_t n)
{
	struct kept_piece *all, piece = {.module = module, .offset = offset, .len = n};

	if (!n || n > KEPT_PIECE || offset % KEPT_PIECE || k->piece_count == PIECES_MAX ||
	    find_piece(k, module, offset))
		return;
	memcpy(piece.bytes, bytes, n);
	all = array_grow(k->pieces, k->piece_count, &k->piece_cap, sizeof *all);
	if (!all)
		return;
	k->pieces = all;
	if (hash_table_add(&k->by_offset,
			   (struct hash_slot){piece_key(module, offset), {k->piece_count + 1}}))
		all[k->piece_count++] = piece;
}

const char *kept_find_said(const struct kept *k, enum kept_said what, uint32_t snapshot,
			   uint32_t task, uint32_t frame)
{
	for (size_t i = 0; i < k->said_count; i++) {
		const struct said_words *w = &k->said[i];

		if (w->what == what && w->snapshot == snapshot && w->task == task &&
		    w->frame == frame)
			return w->text;
	}
	return NULL;
}

void kept_add_said(struct kept *k, enum kept_said what, uint32_t snapshot, uint32_t task,
		   uint32_t frame, const char *text)
{
	struct said_words *all;
	struct slice copy;

	if (k->said_count == SAID_MAX || kept_find_said(k, what, snapshot, task, frame))
		return;
	all = array_grow(k->said, k->said_count, &k->said_cap, sizeof *all);
	if (!all)
		return;
	k->said = all;
	copy = arena_slice(&k->arena, slice_of(text, strlen(text)));
	all[k->said_count++] =
		(struct said_words){what, snapshot, task, frame, (const char *)copy.at};
}
