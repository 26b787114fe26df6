/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/cache/tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/tracee/tracee.h"
#include "lib/page.h"

enum {
	FIRST_BITS = 10,
	SENT_AT_ONCE = 256, /* changes in one call */
	NOBODY = 1,         /* no program jumps there and lives */
};

static uint32_t size_of(const struct tables *t) { return 1u << t->bits; }

uint32_t tables_mask(const struct tables *t) { return (size_of(t) * 16 - 1) & ~15u; }

bool tables_init(struct tables *t, uint64_t miss, uint64_t miss_trap)
{
	*t = (struct tables){.miss = miss, .miss_trap = miss_trap, .bits = FIRST_BITS, .all = true};
	t->pairs = calloc(size_of(t), sizeof *t->pairs);
	return t->pairs;
}

bool tables_copy(struct tables *to, const struct tables *from)
{
	*to = *from;
	to->shared = NULL;
	to->pairs = malloc(size_of(from) * sizeof *to->pairs);
	to->changes = malloc((from->change_cap ? from->change_cap : 1) * sizeof *to->changes);
	if (!to->pairs || !to->changes)
		return false;
	memcpy(to->pairs, from->pairs, size_of(from) * sizeof *to->pairs);
	memcpy(to->changes, from->changes ? from->changes : to->changes,
	       from->change_count * sizeof *to->changes);
	return true;
}

void tables_release(struct tables *t)
{
	if (!t->shared)
		free(t->pairs);
	free(t->changes);
	t->pairs = NULL;
	t->changes = NULL;
}

void tables_fill_first(const struct tables *t, uint64_t *table1)
{
	for (uint32_t i = 0; i < TABLE1_ENTRIES; i++)
		table1[i] = t->miss;
	for (uint32_t i = 0; i < size_of(t) && t->count; i++)
		if (t->pairs[i].pc > NOBODY && !(t->pairs[i].pc & TABLE2_COUNTING))
			table1[t->pairs[i].pc & (TABLE1_ENTRIES - 1)] = t->pairs[i].entry;
}

static struct table_pair *shared_pairs(const struct tables *t)
{
	return (struct table_pair *)(void *)(t->shared + (TABLE2_AT - SHARED_AT));
}

void tables_place(struct tables *t, uint8_t *shared)
{
	t->change_count = 0;
	t->all = true;
	if (!shared)
		return;
	t->shared = shared;
	memcpy(shared_pairs(t), t->pairs, size_of(t) * sizeof *t->pairs);
	free(t->pairs);
	t->pairs = shared_pairs(t);
}

void tables_leave(struct tables *t)
{
	t->change_count = 0;
	t->all = true;
}

bool tables_move_out(struct tables *t)
{
	struct table_pair *own = malloc(size_of(t) * sizeof *own);

	if (!own)
		return false;
	memcpy(own, t->pairs, size_of(t) * sizeof *own);
	t->pairs = own;
	t->shared = NULL;
	return true;
}

bool tables_has_changes(const struct tables *t) { return t->all || t->change_count; }

void tables_free_first(struct tables *t) { t->all = true; }

void tables_clear(struct tables *t)
{
	memset(t->pairs, 0, size_of(t) * sizeof *t->pairs);
	t->count = t->change_count = 0;
	t->all = true;
}

/* n bytes at an offset of the region are to be others now in the tracee. */
static void change_pair(struct tables *t, uint64_t at, struct table_pair pair, uint32_t n)
{
	if (t->all)
		return;
	if (t->change_count == t->change_cap) {
		uint32_t cap = t->change_cap ? 2 * t->change_cap : 256;
		struct table_change *grown = realloc(t->changes, cap * sizeof *grown);

		if (!grown) {
			t->all = true;
			return;
		}
		t->changes = grown;
		t->change_cap = cap;
	}
	t->changes[t->change_count++] = (struct table_change){at, pair, n};
}

/* Frees the entry of table 1. A new entry is not told: the search finds it in table 2. */
static void free_in_table1(struct tables *t, uint64_t pc)
{
	change_pair(t, TABLE1_AT + (pc & (TABLE1_ENTRIES - 1)) * 8,
		    (struct table_pair){.pc = t->miss}, 8);
}

/* A search that runs meanwhile finds the entry with its address, or neither. */
static void set_pair(struct tables *t, struct table_pair *p, uint64_t pc, uint64_t entry)
{
	__atomic_store_n(&p->entry, entry, __ATOMIC_RELEASE);
	__atomic_store_n(&p->pc, pc, __ATOMIC_RELEASE);
	if (!t->shared)
		change_pair(t, TABLE2_AT + (uint64_t)(p - t->pairs) * sizeof *p, *p, sizeof *p);
}

/* Where pc is, or a place for it. */
static struct table_pair *find_pair(const struct tables *t, uint64_t pc)
{
	uint32_t slot = table2_hash(pc) & (size_of(t) - 1);
	struct table_pair *gone = NULL;

	for (; t->pairs[slot].pc && t->pairs[slot].pc != pc; slot = (slot + 1) & (size_of(t) - 1))
		if (t->pairs[slot].pc == NOBODY && !gone)
			gone = &t->pairs[slot];
	return !t->pairs[slot].pc && gone ? gone : &t->pairs[slot];
}

/* Those that are nobody's stay behind. Tasks may be searching: an entry that one may have found
 * belongs to some fragment at any time, and fragments look at the address themselves. */
static bool grow_tables(struct tables *t)
{
	uint32_t old_size = size_of(t);
	struct table_pair *old = t->bits < TABLE2_BITS ? malloc(old_size * sizeof *old) : NULL,
			  *grown;

	if (!old)
		return false;
	memcpy(old, t->pairs, old_size * sizeof *old);
	grown = t->shared ? t->pairs : realloc(t->pairs, 2 * old_size * sizeof *grown);
	if (!grown) {
		free(old);
		return false;
	}
	memset(grown + old_size, 0, old_size * sizeof *grown);
	for (uint32_t i = 0; i < old_size; i++)
		__atomic_store_n(&grown[i].pc, 0, __ATOMIC_RELEASE);
	t->pairs = grown;
	t->bits++;
	t->count = 0;
	for (uint32_t i = 0; i < old_size; i++)
		if (old[i].pc > NOBODY) {
			struct table_pair *p = find_pair(t, old[i].pc);

			__atomic_store_n(&p->entry, old[i].entry, __ATOMIC_RELEASE);
			__atomic_store_n(&p->pc, old[i].pc, __ATOMIC_RELEASE);
			t->count++;
		}
	free(old);
	t->all |= !t->shared;
	return true;
}

void tables_reserve(struct tables *t, unsigned times)
{
	while (t->count * times > size_of(t) / 2 && grow_tables(t))
		;
}

bool tables_put(struct tables *t, uint64_t pc, uint64_t entry, bool fixed)
{
	struct table_pair *p;

	/* Half empty, so that searches are short, as long as it can grow. */
	if (t->count >= size_of(t) / 2 && (fixed || !grow_tables(t)) &&
	    t->count >= size_of(t) / 4 * 3)
		return false;
	if (pc <= NOBODY)
		return true; /* nobody lives there; each branch to it stops */
	p = find_pair(t, pc);
	t->count += !p->pc;
	set_pair(t, p, pc, entry);
	return true;
}

void tables_remove(struct tables *t, uint64_t pc)
{
	struct table_pair *p = find_pair(t, pc);

	free_in_table1(t, pc);
	if (p->pc == pc && pc > NOBODY)
		set_pair(t, p, NOBODY, t->miss_trap);
}

/* Frees all of table 1. */
static bool send_free(const struct tables *t, pid_t tid)
{
	const struct iovec remote = {(void *)(uintptr_t)region_address(TABLE1_AT), TABLE1_BYTES};
	struct iovec local[TABLE1_BYTES / BT_PAGE];
	uint64_t page[BT_PAGE / sizeof(uint64_t)];
	bool sent = true;

	for (size_t i = 0; i < BT_PAGE / sizeof page[0]; i++)
		page[i] = t->miss;
	for (size_t i = 0; i < TABLE1_BYTES / BT_PAGE; i++)
		local[i] = (struct iovec){page, BT_PAGE};
	if (process_vm_writev(tid, local, TABLE1_BYTES / BT_PAGE, &remote, 1, 0) == TABLE1_BYTES)
		return true;
	for (size_t i = 0; sent && i < TABLE1_BYTES / BT_PAGE;
	     i++) /* one by one, for the program has made some pages unwritable */
		sent = tracee_write(tid, region_address(TABLE1_AT + i * BT_PAGE), page, BT_PAGE);
	return sent;
}

static bool send_all(const struct tables *t, pid_t tid)
{
	return send_free(t, tid) &&
	       (t->shared || tracee_write(tid, region_address(TABLE2_AT), t->pairs,
					  size_of(t) * sizeof *t->pairs));
}

/* Some of the changes, from at on. */
static bool send_some(struct tables *t, pid_t tid, size_t at)
{
	struct iovec local[SENT_AT_ONCE] = {{0}}, remote[SENT_AT_ONCE] = {{0}};
	size_t n = t->change_count - at < SENT_AT_ONCE ? t->change_count - at : SENT_AT_ONCE,
	       bytes = 0;

	for (size_t i = 0; i < n; i++) {
		struct table_change *c = &t->changes[at + i];

		local[i] = (struct iovec){&c->pair, c->len};
		remote[i] = (struct iovec){(void *)(uintptr_t)region_address(c->at), c->len};
		bytes += c->len;
	}
	if (process_vm_writev(tid, local, n, remote, n, 0) == (ssize_t)bytes)
		return true;
	for (size_t i = 0; i < n;
	     i++) /* one by one, for the program has made some pages unwritable */
		if (!tracee_write(tid, (uintptr_t)remote[i].iov_base, local[i].iov_base,
				  local[i].iov_len))
			return false;
	return true;
}

bool tables_push(struct tables *t, pid_t tid)
{
	bool sent = true;

	if (t->all)
		sent = send_all(t, tid);
	else
		for (size_t at = 0; sent && at < t->change_count; at += SENT_AT_ONCE)
			sent = send_some(t, tid, at);
	return sent;
}

bool tables_sync(struct tables *t, pid_t tid)
{
	bool sent = tables_push(t, tid);

	t->all = false;
	t->change_count = 0;
	return sent;
}
