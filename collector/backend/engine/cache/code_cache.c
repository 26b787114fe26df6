/* SPDX-License-Identifier: MIT */
/* The cache is a piece of memory for code and four large arrays beside it: fragments, their exits,
 * spans (the application code that they were made from) and state maps. All are in the order of the
 * code, so a binary search finds fragment or exit by offset. `found` leads from an application
 * address to its fragment, `waiting` to the exits that want a fragment there and have none yet.
 *
 * An exit with a link is a jump. It leads to its fragment, or to an int3 of its own. A new exit is
 * linked at once or waits; a new fragment is given to the exits that wait for it. Where a fragment
 * does not meet an exit's demand (struct fragment_demand), another one supersedes it.
 *
 * code_cache_append() enters a fragment; code_cache_let_in() makes it reachable, and enters it into
 * the tables of indirect branches if it has an entry for these.
 *
 * The code may be running while jumps in it change. write_site() makes one aligned store, and keeps
 * a list of them where the tracee has its own copy.
 *
 * A dropped fragment keeps its memory: it is unlinked, so that the jumps to it lead to their int3s,
 * and counts as dead. code_cache_clear() frees all at once, when dead code is too much or there is
 * no room. Fragments are found by page in an index, which is brought up to date when it is needed.
 * Only a cache with one user drops or unlinks anything. */
#include "collector/backend/engine/cache/code_cache.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/backend/engine/cache/cache_region.h"
#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/cache/routines.h"
#include "lib/bisect.h"
#include "lib/large_array.h"
#include "lib/page.h"
#include "lib/processor.h"

enum {
	STALE_CODE = 4 << 20, /* more code than that, and so many forgotten fragments for each that
				 is not, are too much */
	STALE_FRAGMENTS = 2,
	LAST_CODE = 2 << 20, /* room that is left: more than is mostly made at one entry
				(cache_entry.c); a fragment without room makes the cache full */
	SHARED_ROOM =
		4, /* table 2 of a cache that is shared has room for so many times what it holds */
};

/* Room for one more patch. False without memory. */
static bool grow_patches(struct code_cache *c)
{
	uint32_t cap = c->patch_cap ? c->patch_cap * 2 : 256, *grown;

	if (c->patch_count < c->patch_cap)
		return true;
	grown = realloc(c->patches, cap * sizeof *grown);
	if (!grown)
		return false;
	c->patches = grown;
	c->patch_cap = cap;
	return true;
}

/* Room for so many elements of a large array. False without memory. */
static bool room_for(void *array, size_t needed, size_t *cap, size_t size)
{
	return needed <= *cap || large_array_reserve(array, cap, needed, size);
}

/* The same of one more. */
static bool grow_array(void *array, uint32_t count, size_t *cap, size_t size)
{
	return room_for(array, (size_t)count + 1, cap, size);
}

/* The next piece is aligned, so that what stands in one depends on its place in the piece alone
 * (emit_align_link()). */
static void end_piece(struct code_cache *c, size_t end, size_t align)
{
	c->code_len = (end + align - 1) & ~(align - 1);
	memset(c->code + end, 0xcc, c->code_len - end);
}

static void forget_all(struct code_cache *c)
{
	address_lists_clear(&c->found);
	address_lists_clear(&c->waiting);
	c->fragment_count = c->state_map_len = c->span_count = c->exit_count = c->patch_count = 0;
	c->code_len = ROUTINES_SIZE;
	page_lists_clear(&c->index);
	c->indexed = 0;
	c->dead = 0;
	c->full = false;
}

/* Written with one store: the code may be running (emit_align_link()). */
struct displacement {
	uint32_t value;
} __attribute__((packed));

/* Writes the displacement or operand at site: in the mirror, and later in the tracee where that has
 * it already. */
static void write_site(struct code_cache *c, uint32_t site, uint32_t value)
{
	((volatile struct displacement *)(void *)(c->code + site))->value = value;
	if (c->shared || site >= c->synced)
		return;
	if (grow_patches(c))
		c->patches[c->patch_count++] = site;
	else
		c->synced = site; /* no room for one more patch: all code from here on is copied */
}

static void set_mask(struct code_cache *c) { write_site(c, c->mask_site, tables_mask(&c->tables)); }

struct code_cache *code_cache_new(const struct processor *processor, bool apart, bool logged)
{
	struct code_cache *c = calloc(1, sizeof *c);

	if (!c)
		return NULL;
	c->users = 1;
	c->mem = c->file = -1;
	c->kind.apart = apart;
	c->kind.logged = logged;
	c->fast_pext = processor->fast_pext;
	c->rorx = processor->rorx;
	c->fast_loop = processor->fast_loop;
	c->segments = segment_table_new();
	if (!c->segments || !address_lists_init(&c->found) || !address_lists_init(&c->waiting) ||
	    !cache_region_reserve(c, ROUTINES_SIZE))
		goto fail;
	forget_all(c);
	routines_emit(c, processor);
	if (!tables_init(&c->tables, region_address(CODE_AT + c->miss),
			 region_address(CODE_AT + c->miss_trap)))
		goto fail;
	set_mask(c);
	return c;
fail:
	code_cache_put(c);
	return NULL;
}

static void *copy_of(const void *bytes, size_t n, size_t room, bool *ok)
{
	void *copy = malloc(room ? room : 1);

	if (copy && n)
		memcpy(copy, bytes, n);
	*ok &= copy != NULL;
	return copy;
}

struct code_cache *code_cache_copy(const struct code_cache *c)
{
	struct code_cache *n = malloc(sizeof *n);
	bool ok = true;

	if (!n)
		return NULL;
	*n = *c;
	n->users = 1;
	n->mem = n->file = -1;
	n->placed = c->placed && !c->shared;
	n->shared = NULL;
	n->segments = segment_table_copy(c->segments);
	n->code = copy_of(c->code, c->code_len, c->code_cap, &ok);
	n->fragments = large_array_copy(c->fragments, c->fragment_count, c->fragment_cap,
					sizeof *c->fragments);
	ok &= address_lists_copy(&n->found, &c->found);
	ok &= address_lists_copy(&n->waiting, &c->waiting);
	ok &= tables_copy(&n->tables, &c->tables);
	n->state_map = large_array_copy(c->state_map, c->state_map_len, c->state_map_cap, 1);
	n->spans = large_array_copy(c->spans, c->span_count, c->span_cap, sizeof *c->spans);
	n->exits = large_array_copy(c->exits, c->exit_count, c->exit_cap, sizeof *c->exits);
	ok &= predictions_copy(&n->predictions, &c->predictions);
	n->patches = copy_of(c->patches, c->patch_count * sizeof *c->patches,
			     c->patch_cap * sizeof *c->patches, &ok);
	ok &= !(c->fragment_cap && !n->fragments) && !(c->state_map_cap && !n->state_map) &&
	      !(c->span_cap && !n->spans) && !(c->exit_cap && !n->exits);
	if (!page_lists_copy(&n->index, &c->index) || !n->segments || !ok) {
		code_cache_put(n);
		return NULL;
	}
	return n;
}

bool code_cache_share(struct code_cache *c, bool running)
{
	/* Changes that the one process has not been told yet cannot be told to the other. */
	if (!c->shared || c->full || tables_has_changes(&c->tables))
		return false;
	if (c->users == 1 && !running) {
		tables_reserve(&c->tables, SHARED_ROOM);
		set_mask(c);
	}
	c->users++;
	return true;
}

void code_cache_put(struct code_cache *c)
{
	if (!c || --c->users)
		return;
	if (c->mem >= 0)
		close(c->mem);
	if (c->file >= 0)
		close(c->file);
	segment_table_put(c->segments);
	if (c->shared)
		munmap(c->shared, REGION_SIZE - SHARED_AT);
	else
		free(c->code);
	large_array_free(c->fragments, c->fragment_cap, sizeof *c->fragments);
	address_lists_release(&c->found);
	address_lists_release(&c->waiting);
	tables_release(&c->tables);
	large_array_free(c->state_map, c->state_map_cap, 1);
	large_array_free(c->spans, c->span_cap, sizeof *c->spans);
	large_array_free(c->exits, c->exit_cap, sizeof *c->exits);
	free(c->patches);
	predictions_release(&c->predictions);
	page_lists_release(&c->index);
	free(c);
}

/* ---- Fragments and exits ---- */

uint32_t code_cache_find_of(const struct code_cache *c, uint64_t pc, bool counting)
{
	uint32_t i = address_lists_first(&c->found, pc);

	while (i != FRAGMENT_NONE &&
	       (c->fragments[i].pc != pc || c->fragments[i].counting != counting))
		i = address_lists_next(&c->found, pc, i);
	return i;
}

uint32_t code_cache_find(const struct code_cache *c, uint64_t pc)
{
	return code_cache_find_of(c, pc, c->counting);
}

/* The address by which table 2 knows it. */
static uint64_t key_of(const struct fragment *frag)
{
	return frag->counting ? frag->pc | TABLE2_COUNTING : frag->pc;
}

bool code_cache_room(struct code_cache *c, size_t n, size_t align, uint8_t **bytes,
		     uint32_t *offset)
{
	if (c->full || c->code_len + n + 2 * CODE_ALIGN_LOOP > CODE_SIZE ||
	    !cache_region_reserve(c, n + 2 * CODE_ALIGN_LOOP))
		return false;
	end_piece(c, c->code_len, align);
	*bytes = c->code + c->code_len;
	*offset = (uint32_t)c->code_len;
	return true;
}

bool code_cache_add_state_map(struct code_cache *c, const uint8_t *list, uint32_t len)
{
	if (!len)
		return true;
	if (!grow_array(&c->state_map, c->state_map_len + len - 1, &c->state_map_cap, 1))
		return false;
	memcpy(c->state_map + c->state_map_len, list, len);
	c->state_map_len += len;
	return true;
}

bool code_cache_add_span(struct code_cache *c, uint64_t start, uint64_t end)
{
	const struct span s = {start & SPAN_START_MAX, (end - start) & SPAN_LEN_MAX};

	if (s.start != start || span_end(&s) != end ||
	    !grow_array(&c->spans, c->span_count, &c->span_cap, sizeof *c->spans))
		return false;
	c->spans[c->span_count++] = s;
	return true;
}

static void patch_site(struct code_cache *c, uint32_t site, uint32_t leads_to)
{
	write_site(c, site, leads_to - (site + 4));
}

/* Notes that the exit's jump leads to the fragment. */
static void enter_link(struct code_cache *c, uint32_t exit, uint32_t fragment)
{
	c->exits[exit].linked = fragment;
	c->exits[exit].next = c->fragments[fragment].incoming;
	c->fragments[fragment].incoming = exit;
}

void code_cache_link(struct code_cache *c, uint32_t exit, uint32_t fragment)
{
	const struct cache_exit *x = &c->exits[exit];
	const struct fragment *frag = &c->fragments[fragment];

	enter_link(c, exit, fragment);
	patch_site(c, x->site, x->fresh && frag->fresh ? frag->fresh : frag->body);
}

static void wait_for_fragment(struct code_cache *c, uint32_t exit)
{
	c->exits[exit].linked = FRAGMENT_NONE;
	address_lists_put(&c->waiting, c->exits[exit].target, exit);
}

static bool add_exit(struct code_cache *c, const struct cache_exit *x)
{
	if (!grow_array(&c->exits, c->exit_count, &c->exit_cap, sizeof *c->exits) ||
	    !address_lists_reserve(&c->waiting, c->exit_count))
		return false;
	c->exits[c->exit_count] = *x;
	c->exits[c->exit_count].counting = c->counting;
	c->exits[c->exit_count].linked = FRAGMENT_NONE;
	c->exits[c->exit_count++].next = EXIT_NONE;
	assert(x->kind != EXIT_LINK || !x->site || x->site % 8 <= 4); /* emit_align_link() */
	assert(c->exit_count < 2 ||
	       x->trap > c->exits[c->exit_count - 2].trap); /* code_cache_exit_at() */
	return true;
}

bool code_cache_add_exit(struct code_cache *c, const struct cache_exit *x)
{
	uint32_t fragment, exit = c->exit_count;

	if (!add_exit(c, x))
		return false;
	if (x->kind != EXIT_LINK || !x->site)
		return true;
	fragment = code_cache_find(c, x->target);
	if (fragment == FRAGMENT_NONE || !fragment_meets(&c->fragments[fragment], x->demand))
		wait_for_fragment(c, exit);
	else
		code_cache_link(c, exit, fragment);
	return true;
}

bool code_cache_add_linked_exit(struct code_cache *c, const struct cache_exit *x, uint32_t fragment)
{
	uint32_t exit = c->exit_count;

	if (!add_exit(c, x))
		return false;
	enter_link(c, exit, fragment);
	return true;
}

struct fragment_arrival {
	struct code_cache *cache;
	uint32_t fragment;
};

/* Whether the exit waits no longer: it is linked. */
static bool link_exit(void *arg, uint32_t exit)
{
	const struct fragment_arrival *a = arg;
	const struct fragment *frag = &a->cache->fragments[a->fragment];
	const struct cache_exit *x = &a->cache->exits[exit];

	if (x->target != frag->pc || x->counting != frag->counting ||
	    !fragment_meets(frag, x->demand))
		return false;
	code_cache_link(a->cache, exit, a->fragment);
	return true;
}

static void link_waiting(struct code_cache *c, uint32_t fragment)
{
	struct fragment_arrival a = {c, fragment};

	address_lists_sweep(&c->waiting, c->fragments[fragment].pc, link_exit, &a);
}

struct fragment_demand code_cache_demand(const struct code_cache *c, uint64_t pc)
{
	struct fragment_demand all = {0};

	for (uint32_t i = address_lists_first(&c->waiting, pc); i != EXIT_NONE;
	     i = address_lists_next(&c->waiting, pc, i)) {
		const struct cache_exit *x = &c->exits[i];

		if (x->target != pc || x->counting != c->counting)
			continue;
		all.back |= x->demand.back;
		all.debt = x->demand.debt > all.debt ? x->demand.debt : all.debt;
	}
	return all;
}

bool code_cache_supersede(struct code_cache *c, uint64_t pc)
{
	uint32_t fragment = code_cache_find(c, pc);

	if (fragment == FRAGMENT_NONE ||
	    fragment_meets(&c->fragments[fragment], code_cache_demand(c, pc)))
		return false;
	address_lists_remove(&c->found, pc, fragment);
	c->fragments[fragment].superseded = true;
	return true;
}

bool code_cache_reserve(struct code_cache *c, size_t fragments, size_t exits, size_t spans,
			size_t state_map)
{
	return room_for(&c->fragments, c->fragment_count + fragments, &c->fragment_cap,
			sizeof *c->fragments) &&
	       room_for(&c->exits, c->exit_count + exits, &c->exit_cap, sizeof *c->exits) &&
	       room_for(&c->spans, c->span_count + spans, &c->span_cap, sizeof *c->spans) &&
	       room_for(&c->state_map, c->state_map_len + state_map, &c->state_map_cap, 1) &&
	       address_lists_reserve(&c->found, (uint32_t)(c->fragment_count + fragments)) &&
	       address_lists_reserve(&c->waiting, (uint32_t)(c->exit_count + exits));
}

uint32_t code_cache_append(struct code_cache *c, const struct fragment *fragment)
{
	uint32_t number = c->fragment_count;

	if (!grow_array(&c->fragments, c->fragment_count, &c->fragment_cap, sizeof *c->fragments) ||
	    !address_lists_reserve(&c->found, number))
		return FRAGMENT_NONE;
	c->fragments[number] = *fragment;
	c->fragments[number].counting = c->counting;
	c->fragments[number].incoming = EXIT_NONE;
	c->fragment_count++;
	c->x87 |= fragment->x87;
	address_lists_put(&c->found, fragment->pc, number);
	end_piece(c, fragment->end, CODE_ALIGN);
	return number;
}

void code_cache_let_in(struct code_cache *c, uint32_t fragment)
{
	link_waiting(c, fragment);
	if (c->fragments[fragment].indirect)
		code_cache_publish(c, fragment);
}

uint32_t code_cache_add(struct code_cache *c, const struct fragment *fragment)
{
	uint32_t number = code_cache_append(c, fragment);

	if (number != FRAGMENT_NONE)
		code_cache_let_in(c, number);
	return number;
}

void code_cache_add_routine(struct code_cache *c, size_t n)
{
	end_piece(c, c->code_len + n, CODE_ALIGN);
}

const struct cache_exit *code_cache_exit_at(const struct code_cache *c, uint32_t trap)
{
	size_t i;

	BISECT(i, c->exit_count, c->exits[i].trap < trap);
	return i < c->exit_count && c->exits[i].trap == trap ? &c->exits[i] : NULL;
}

void code_cache_publish(struct code_cache *c, uint32_t fragment)
{
	const struct fragment *frag = &c->fragments[fragment];
	uint32_t mask = tables_mask(&c->tables);

	c->full |= !tables_put(&c->tables, key_of(frag), region_address(CODE_AT + frag->indirect),
			       c->users > 1);
	if (mask != tables_mask(&c->tables))
		set_mask(c);
}

/* The fragment whose code the offset is in: fragments are added in the order of their code. */
static const struct fragment *find_fragment_of_code(const struct code_cache *c, uint32_t offset)
{
	size_t i;

	BISECT(i, c->fragment_count, c->fragments[i].end <= offset);
	return i < c->fragment_count && offset >= c->fragments[i].start ? &c->fragments[i] : NULL;
}

const uint8_t *code_cache_state_map(const struct code_cache *c, const struct fragment *fragment)
{
	return c->state_map + fragment->state_map_at;
}

const struct state_entry *code_cache_state_at(const struct code_cache *c, uint32_t offset,
					      const struct fragment **fragment,
					      struct state_entry *room)
{
	const struct fragment *frag = find_fragment_of_code(c, offset);

	*fragment = frag;
	return frag && state_map_find(code_cache_state_map(c, frag), frag->state_map_len,
				      offset - frag->start, room)
		       ? room
		       : NULL;
}

/* ---- Forgetting ---- */

static bool fragment_overlaps(const struct code_cache *c, const struct fragment *frag,
			      uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < frag->span_count; i++)
		if (c->spans[frag->span_first + i].start < end &&
		    start < span_end(&c->spans[frag->span_first + i]))
			return true;
	return false;
}

/* Nothing leads to the fragment any more: exits that did lead to the one that has superseded it, or
 * wait. */
static void unlink_fragment(struct code_cache *c, uint32_t number)
{
	struct fragment *frag = &c->fragments[number];
	uint32_t exit = frag->incoming, next, other;

	if (!frag->superseded)
		address_lists_remove(&c->found, frag->pc, number);
	frag->incoming = EXIT_NONE;
	other = code_cache_find_of(c, frag->pc, frag->counting);
	for (; exit != EXIT_NONE; exit = next) {
		next = c->exits[exit].next;
		if (c->exits[exit].dead)
			continue;
		if (other != FRAGMENT_NONE &&
		    fragment_meets(&c->fragments[other], c->exits[exit].demand)) {
			code_cache_link(c, exit, other);
			continue;
		}
		patch_site(c, c->exits[exit].site, c->exits[exit].trap);
		wait_for_fragment(c, exit);
	}
	if (!frag->indirect)
		return;
	tables_remove(&c->tables, key_of(frag)); /* table 1 may know either */
	if (other != FRAGMENT_NONE && c->fragments[other].indirect)
		code_cache_publish(c, other);
}

static bool exit_waits(const struct cache_exit *x)
{
	return x->kind == EXIT_LINK && x->site && x->linked == FRAGMENT_NONE && !x->dead;
}

static void forget_fragment(struct code_cache *c, uint32_t number)
{
	uint32_t end = number + 1 < c->fragment_count ? c->fragments[number + 1].exit_first
						      : c->exit_count;

	for (uint32_t i = c->fragments[number].exit_first; i < end; i++) {
		if (exit_waits(&c->exits[i]))
			address_lists_remove(&c->waiting, c->exits[i].target, i);
		c->exits[i].dead = true;
	}
	c->fragments[number].dead = true;
	c->dead++;
}

void code_cache_drop_fragment(struct code_cache *c, uint32_t number)
{
	assert(c->users == 1);
	if (!c->fragments[number].unlinked)
		unlink_fragment(c, number);
	c->fragments[number].unlinked = false;
	forget_fragment(c, number);
}

/* The state of a walk over the fragments of some pages. */
struct fragment_walk {
	struct code_cache *cache;
	uint64_t start, end;
	bool any;
	bool (*blocked)(void *arg, uint64_t start, uint64_t end);
	void *arg;
};

static bool drop_one(void *arg, uint32_t number)
{
	struct fragment_walk *w = arg;

	if (w->cache->fragments[number].dead)
		return false;
	if (!fragment_overlaps(w->cache, &w->cache->fragments[number], w->start, w->end))
		return true;
	code_cache_drop_fragment(w->cache, number);
	w->any = true;
	return false;
}

static bool index_fragment(struct code_cache *c, uint32_t number)
{
	const struct fragment *frag = &c->fragments[number];

	for (uint32_t i = 0; i < frag->span_count && !frag->dead; i++)
		if (!page_lists_add(&c->index, c->spans[frag->span_first + i].start,
				    span_end(&c->spans[frag->span_first + i]), number))
			return false;
	return true;
}

/* Gives each fragment on the pages of [start, end) that may not be dead. */
static void walk_fragments(struct code_cache *c, uint64_t start, uint64_t end,
			   bool (*keep)(void *arg, uint32_t fragment), void *arg)
{
	while (c->indexed < c->fragment_count && index_fragment(c, c->indexed))
		c->indexed++;
	if (c->indexed == c->fragment_count) {
		page_lists_walk(&c->index, start, end, keep, arg);
		return;
	}
	for (uint32_t i = 0; i < c->fragment_count && start < end; i++) /* no memory for an index */
		if (fragment_overlaps(c, &c->fragments[i], page_down(start),
				      page_down(end - 1) + (BT_PAGE - 1)))
			keep(arg, i);
}

static bool drop_fragments(struct code_cache *c, uint64_t start, uint64_t end)
{
	struct fragment_walk w = {.cache = c, .start = start, .end = end};

	assert(c->users == 1);
	walk_fragments(c, start, end, drop_one, &w);
	segment_kill(c->segments, start, end);
	return w.any;
}

/* The predictions that rest on code there are gone. Drops the fragments that closed a cycle by one.
 */
static void open_cycles(struct code_cache *c, uint64_t start, uint64_t end)
{
	struct prediction *g;

	for (uint32_t i = 0; (g = predictions_next(&c->predictions, start, end, &i)); i++) {
		if (!g->closes)
			continue;
		g->to = 0;
		drop_fragments(c, g->from, g->from + g->len);
	}
}

bool code_cache_predict(struct code_cache *c, const struct prediction *prediction)
{
	if (!predictions_put(&c->predictions, prediction))
		return false;
	drop_fragments(c, prediction->from, prediction->from + prediction->len);
	if (!prediction->to)
		open_cycles(c, prediction->from, prediction->from + prediction->len);
	return true;
}

bool code_cache_drop(struct code_cache *c, uint64_t start, uint64_t end)
{
	struct prediction *g;

	for (uint32_t i = 0; (g = predictions_next(&c->predictions, start, end, &i)); i++) {
		g->to = 0;
		drop_fragments(c, g->from, g->from + g->len);
	}
	return drop_fragments(c, start, end);
}

static bool prediction_stays(const struct prediction *g,
			     bool (*stays)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	bool all = stays(arg, g->from, g->from + g->len);

	for (size_t i = 0; i < g->span_count; i++)
		all = all && stays(arg, g->spans[i].start, g->spans[i].end);
	return all;
}

static bool all_stay(const struct code_cache *c, const struct fragment *frag,
		     bool (*stays)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	for (uint32_t i = 0; i < frag->span_count; i++)
		if (!stays(arg, c->spans[frag->span_first + i].start,
			   span_end(&c->spans[frag->span_first + i])))
			return false;
	return true;
}

void code_cache_retain(struct code_cache *c, bool (*stays)(void *arg, uint64_t start, uint64_t end),
		       void *arg)
{
	struct prediction *g;

	assert(c->users == 1);
	for (uint32_t i = 0; i < c->fragment_count; i++)
		if (!c->fragments[i].dead && !all_stay(c, &c->fragments[i], stays, arg))
			code_cache_drop_fragment(c, i);
	segment_retain(c->segments, stays, arg);
	for (uint32_t i = 0; (g = predictions_next(&c->predictions, 0, UINT64_MAX, &i)); i++) {
		if (prediction_stays(g, stays, arg))
			continue;
		g->to = 0;
		drop_fragments(c, g->from, g->from + g->len);
	}
}

static bool unlink_one(void *arg, uint32_t number)
{
	struct fragment_walk *w = arg;
	struct fragment *frag = &w->cache->fragments[number];

	if (frag->dead || frag->unlinked)
		return !frag->dead;
	unlink_fragment(w->cache, number);
	frag->unlinked = true;
	return true;
}

void code_cache_unlink(struct code_cache *c, uint64_t start, uint64_t end)
{
	struct fragment_walk w = {.cache = c};

	assert(c->users == 1);
	walk_fragments(c, start, end, unlink_one, &w);
}

static bool is_blocked(const struct fragment_walk *w, const struct fragment *frag)
{
	for (uint32_t i = 0; i < frag->span_count; i++)
		if (w->blocked(w->arg, w->cache->spans[frag->span_first + i].start,
			       span_end(&w->cache->spans[frag->span_first + i])))
			return true;
	return false;
}

static bool relink_one(void *arg, uint32_t number)
{
	struct fragment_walk *w = arg;
	struct code_cache *c = w->cache;
	struct fragment *frag = &c->fragments[number];

	if (frag->dead || !frag->unlinked || is_blocked(w, frag))
		return !frag->dead;
	frag->unlinked = false;
	if (frag->superseded || code_cache_find_of(c, frag->pc, frag->counting) !=
					FRAGMENT_NONE) { /* another has taken its place */
		forget_fragment(c, number);
		return false;
	}
	address_lists_put(&c->found, frag->pc, number);
	link_waiting(c, number);
	if (frag->indirect)
		code_cache_publish(c, number);
	return true;
}

void code_cache_relink(struct code_cache *c, uint64_t start, uint64_t end,
		       bool (*blocked)(void *arg, uint64_t start, uint64_t end), void *arg)
{
	struct fragment_walk w = {.cache = c, .blocked = blocked, .arg = arg};

	assert(c->users == 1);
	walk_fragments(c, start, end, relink_one, &w);
}

bool code_cache_is_stale(const struct code_cache *c)
{
	if (c->users > 1)
		return false;
	return c->full || c->code_len > CODE_SIZE - LAST_CODE ||
	       (c->code_len > STALE_CODE &&
		c->dead / STALE_FRAGMENTS > c->fragment_count - c->dead);
}

void code_cache_clear(struct code_cache *c)
{
	if (c->users > 1 || c->busy) {
		c->full = true;
		return;
	}
	forget_all(c);
	c->clears++;
	tables_clear(&c->tables);
	if (c->synced > c->code_len)
		c->synced = c->code_len;
}
