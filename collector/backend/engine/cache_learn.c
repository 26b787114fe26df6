/* SPDX-License-Identifier: MIT */
/* Which fragments a program runs; and those fragments, for the next process. */
#include <stdlib.h>
#include <string.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/backend/engine/engine_private.h"
#include "collector/backend/engine/persist/persisted_maker.h"
#include "collector/space/code_pages.h"
#include "lib/page.h"

enum {
	TOGETHER = 2 * PERSISTED_FRAGMENTS, /* entries behind one another whose fragments are kept
					       with others of the same file */
};

/* Of code that is known again elsewhere. */
static void learn_fragment(struct engine_space *es, const struct address_space *space,
			   const struct fragment *fragment)
{
	const struct mapping *m = address_space_map_at(space, fragment->pc);

	if (m && address_space_code_kind(space, m->start) == CODE_FIXED)
		profile_add(es->profile.program, m, fragment->pc, fragment->indirect != 0);
}

static bool has_area(const struct engine_space *es, uint32_t area)
{
	return !area || es->area_tables[area] == es->regions;
}

/* The fragments that have run here become entries of the profile, in the order in which they were
 * made: nearly that in which they ran. The process may be gone. */
void cache_learn(const struct task *task, struct engine_space *es)
{
	const struct code_cache *c = es->cache;
	size_t n = c->fragment_count < MARKS ? c->fragment_count : MARKS;
	uint8_t *marks, *have_run;
	bool known = false; /* false: no marks can be read, and the profile keeps the places at
			       which tasks stopped */

	if (!es->learns || !n)
		return;
	marks = malloc(n + 1);
	have_run = calloc(n + 1, 1);
	if (!marks || !have_run)
		goto out;
	for (uint32_t area = 0; area < AREAS; area++) {
		if (!has_area(es, area) || !window_read(&es->window, task->host_tid,
							area_window(area) + MARKS_AT, marks, n))
			continue;
		for (size_t i = 0; i < n; i++)
			have_run[i] |= marks[i] == code_cache_mark(c);
		known = true;
	}
	for (size_t i = 0; i < n && !profile_is_full(es->profile.program); i++)
		if (have_run[i] && !c->fragments[i].dead)
			learn_fragment(es, task->process->space, &c->fragments[i]);
	if (known && profile_count(es->profile.program))
		profile_set_exact(es->profile.program);
out:
	free(marks);
	free(have_run);
}

/* The code that has been read of the space: the process may be gone. */
struct kept_code {
	const struct address_space *space;
	uint64_t at; /* the page asked for last */
	const uint8_t *page;
};

static const uint8_t *kept_page(struct kept_code *k, uint64_t addr)
{
	if (!k->page || addr - k->at >= BT_PAGE) {
		k->at = page_down(addr);
		k->page = address_space_kept_page(k->space, addr);
	}
	return k->page;
}

static size_t read_kept(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		const uint8_t *page = kept_page(arg, addr + done);
		size_t at = (addr + done) % BT_PAGE,
		       here = BT_PAGE - at < n - done ? BT_PAGE - at : n - done;

		if (!page)
			break;
		memcpy(bytes + done, page + at, here);
		done += here;
	}
	return done;
}

/* Returns the demand that the group of entry i is to meet: that of the fragment there. */
static struct fragment_demand demand_of(const struct engine_space *es, size_t i, uint64_t pc)
{
	uint32_t fragment = code_cache_find_of(es->cache, pc, false);
	const struct fragment *frag =
		fragment == FRAGMENT_NONE ? NULL : &es->cache->fragments[fragment];

	if (profile_group_was_weak(es->profile.program, i))
		return (struct fragment_demand){.debt = (uint8_t)code_cache_most_debt(es->cache),
						.back = true};
	return frag ? (struct fragment_demand){.debt = frag->debt,
					       .back = frag->checked || frag->passes}
		    : (struct fragment_demand){0};
}

/* The address of entry i where it wants a group that can be made here, 0. */
static uint64_t wanted_at(struct engine_space *es, struct kept_code *kept, size_t i)
{
	uint64_t pc = profile_wants_group(es->profile.program, i)
			      ? cache_profile_address(&es->profile, kept->space, i)
			      : 0;

	return pc && kept_page(kept, pc) ? pc : 0;
}

/* Profiles whose fragments are to be kept. */
struct wishes {
	size_t entries[TOGETHER];
	struct persisted_wish list[TOGETHER];
	size_t count;
};

/* The means to make groups. */
struct making {
	struct profile *profile;
	struct persisted_maker *maker;
	struct code_source source;
	struct buf bytes;
};

/* Groups of wishes of one file. */
static void make_of_file(struct making *m, const struct wishes *wanted)
{
	struct wishes w = *wanted;
	size_t kept[TOGETHER];

	for (size_t from = 0, done; from < w.count; from += done) {
		size_t n = 0;

		buf_reset(&m->bytes);
		done = persisted_make(m->maker, &m->source, w.list + from, w.count - from,
				      profile_get(m->profile, w.entries[from]).offset, &m->bytes);
		for (size_t i = from; i < from + done; i++)
			if (w.list[i].kept)
				kept[n++] = w.entries[i];
			else
				profile_put_group(m->profile, &w.entries[i], 1, slice_of(NULL, 0));
		profile_put_group(m->profile, kept, n, slice_of(m->bytes.data, m->bytes.len));
	}
}

static void make_all(struct making *m, const struct wishes *wanted)
{
	bool done[TOGETHER] = {false};

	for (size_t i = 0; i < wanted->count; i++) {
		struct wishes of_file = {.count = 0};

		for (size_t k = i; k < wanted->count; k++) {
			if (done[k] || profile_get(m->profile, wanted->entries[k]).file !=
					       profile_get(m->profile, wanted->entries[i]).file)
				continue;
			of_file.entries[of_file.count] = wanted->entries[k];
			of_file.list[of_file.count++] = wanted->list[k];
			done[k] = true;
		}
		if (of_file.count)
			make_of_file(m, &of_file);
	}
}

static void make_groups(const struct backend *b, struct engine_space *es, struct address_space *s)
{
	struct kept_code kept = {.space = s};
	struct making making = {.profile = es->profile.program,
				.source = {.read = read_kept, .arg = &kept}};
	struct wishes wanted = {.count = 0};
	size_t n = 0;
	uint64_t pc;

	for (size_t i = 0; i < profile_count(es->profile.program); i++)
		n += wanted_at(es, &kept, i) != 0;
	if (!profile_is_worth(es->profile.program, n) ||
	    !(making.maker = persisted_maker_new(&b->processor, profile_kind(es->profile.program))))
		return;
	for (size_t i = 0; i < profile_count(es->profile.program); i++) {
		pc = wanted_at(es, &kept, i);
		if (!pc)
			continue;
		wanted.entries[wanted.count] = i;
		wanted.list[wanted.count++] = (struct persisted_wish){
			.pc = pc,
			.indirect = profile_get(es->profile.program, i).indirect,
			.demand = demand_of(es, i, pc)};
		if (wanted.count == TOGETHER) {
			make_all(&making, &wanted);
			wanted.count = 0;
		}
	}
	make_all(&making, &wanted);
	buf_release(&making.bytes);
	persisted_maker_free(making.maker);
}

void cache_keep(const struct backend *b, struct task *task)
{
	struct address_space *s = task->process ? task->process->space : NULL;
	struct engine_space *es = s ? s->extension : NULL;

	if (!es || es->tasks != task->backend || es->tasks->next_in_space)
		return;
	cache_learn(task, es);
	if (es->knew)
		make_groups(b, es, s);
	code_pages_put(
		es->left_pages); /* of an end that was none: a thread came that had not run yet */
	es->left_pages = es->program.ino && es->mapped ? left_pages_of(&es->program, s) : NULL;
}
