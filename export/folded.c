/* SPDX-License-Identifier: MIT */
/* Folded stacks, of which flamegraph.pl and others draw pictures: a line for each stack, outermost
 * function first, with the number of branches that were made with it. All stacks are one tree. The
 * function of a level is the one that the call was made from, so that a function that was left by a
 * jump does not hide the one that called on. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/intern.h"
#include "export/calls_private.h"
#include "export/export_private.h"
#include "lib/content_hash.h"
#include "lib/escape.h"
#include "lib/grow.h"
#include "lib/hash_table.h"
#include "lib/output.h"

enum { NAMES_KNOWN = 1024 };

struct folded_node {
	uint32_t parent; /* the root's is its own */
	const char *name;
	uint64_t count;
};

struct folded {
	FILE *to;
	struct folded_node *nodes; /* the first is the root: it has no name */
	size_t count, cap;
	struct hash_table children; /* number of a node, by parent and name */
	struct intern names;
	/* The nodes of the open calls of a task. */
	uint32_t *open;
	size_t open_count, open_cap;
	/* Names looked up last: a cache, and no lib/hash_table: each address has one place, and the
	 * newest takes it. */
	struct {
		uint64_t addr;
		uint32_t space, epoch;
		const char *name;
	} known[NAMES_KNOWN];
	bool failed;
};

struct wanted_node {
	const struct folded *f;
	uint32_t parent;
	const char *name;
};

static bool is_node(const void *arg, const struct hash_slot *slot)
{
	const struct wanted_node *w = arg;
	const struct folded_node *n = &w->f->nodes[slot->number];

	return n->parent == w->parent && n->name == w->name;
}

/* Without memory the parent, and the export fails. */
static uint32_t child_of(struct folded *f, uint32_t parent, const char *name)
{
	const uint64_t parts[] = {parent, (uintptr_t)name};
	uint64_t key = content_hash(parts, sizeof parts).first;
	struct wanted_node wanted = {f, parent, name};
	const struct hash_slot *slot = hash_table_find_same(&f->children, key, is_node, &wanted);
	struct folded_node *at;

	if (slot)
		return (uint32_t)slot->number;
	at = array_grow(f->nodes, f->count, &f->cap, sizeof *at);
	f->nodes = at ? at : f->nodes;
	if (!at || !hash_table_add(&f->children, (struct hash_slot){key, {f->count}})) {
		f->failed = true;
		return parent;
	}
	at[f->count] = (struct folded_node){.parent = parent, .name = name};
	return (uint32_t)f->count++;
}

static const char *name_at(struct folded *f, struct task_calls *c, const struct history_entry *e)
{
	size_t i = (e->from ^ e->from >> 12) % NAMES_KNOWN;
	char name[FUNCTION_NAME_MAX];

	if (!f->known[i].name || f->known[i].addr != e->from || f->known[i].space != e->space ||
	    f->known[i].epoch != e->epoch) {
		f->known[i].addr = e->from;
		f->known[i].space = e->space;
		f->known[i].epoch = e->epoch;
		f->known[i].name =
			intern_str(&f->names, calls_name(c->s, e->space, e->epoch, e->from, name));
	}
	return f->known[i].name;
}

/* Brings the nodes of the open calls up to date. `base` is the node of the program. */
static void follow_calls(struct folded *f, struct task_calls *c, uint32_t base)
{
	const struct callstack *stack = &c->walk.stack;

	if (f->open_count > stack->count)
		f->open_count = stack->count;
	while (f->open_count < stack->count && !f->failed) {
		uint32_t outer = f->open_count ? f->open[f->open_count - 1] : base;
		uint32_t *open = array_grow(f->open, f->open_count, &f->open_cap, sizeof *open);

		f->failed |= !open;
		if (!open)
			return;
		f->open = open;
		open[f->open_count] = child_of(
			f, outer, name_at(f, c, &c->h.entries[stack->calls[f->open_count].entry]));
		f->open_count++;
	}
}

static const char *program_name(const char *command, char name[FUNCTION_NAME_MAX])
{
	snprintf(name, FUNCTION_NAME_MAX, "%s", *command ? command : "[unknown]");
	return calls_tame(name);
}

static int count_task(void *arg, struct task_calls *c, struct bt_error *err)
{
	struct folded *f = arg;
	char name[FUNCTION_NAME_MAX];
	uint32_t base = child_of(f, 0, intern_str(&f->names, program_name(c->task->command, name)));

	f->open_count = 0;
	while (c->at < c->end && !f->failed) {
		const struct history_entry *e = &c->h.entries[c->at];

		if (e->kind != BT_BRANCH_GAP) {
			uint32_t outer = f->open_count ? f->open[f->open_count - 1] : base,
				 here = child_of(f, outer, name_at(f, c, e));

			f->nodes[here].count++;
		}
		calls_take(c);
		follow_calls(f, c, base);
	}
	return f->failed ? bt_no_memory(err, "the export") : 0;
}

/* Writes the names from the outermost one on. path: room for as many as the tree is deep. */
static void put_node(struct buf *line, const struct folded *f, uint32_t number, uint32_t *path)
{
	size_t n = 0;

	for (; number; number = f->nodes[number].parent)
		path[n++] = number;
	while (n) {
		const char *name = f->nodes[path[--n]].name;

		bt_escape(line, slice_of(name, strlen(name)), true);
		buf_u8(line, n ? ';' : ' ');
	}
}

static int print_folded(const struct folded *f, struct bt_error *err)
{
	uint32_t *path = calloc(f->count, sizeof *path);
	struct buf line = {0};
	int rc = path ? 0 : bt_no_memory(err, "the export");

	for (uint32_t i = 1; i < f->count && !rc; i++) {
		char count[24];

		if (!f->nodes[i].count)
			continue;
		buf_reset(&line);
		put_node(&line, f, i, path);
		snprintf(count, sizeof count, "%" PRIu64 "\n", f->nodes[i].count);
		buf_put(&line, count, strlen(count));
		rc = line.failed ? bt_no_memory(err, "the export")
				 : bt_output(f->to, line.data, line.len, err);
	}
	buf_release(&line);
	free(path);
	return rc;
}

int export_folded(FILE *to, const struct model *m, struct symbols *s,
		  const struct report_options *o, struct bt_error *err)
{
	struct folded *f = calloc(1, sizeof *f);
	int rc;

	if (!f)
		return bt_no_memory(err, "the export");
	f->to = to;
	f->nodes = array_grow(NULL, 0, &f->cap, sizeof *f->nodes);
	if (f->nodes) {
		f->nodes[f->count++] = (struct folded_node){.name = ""};
		rc = calls_of_tasks(m, s, o, count_task, f, err);
	} else {
		rc = bt_no_memory(err, "the export");
	}
	if (!rc)
		rc = print_folded(f, err);
	hash_table_release(&f->children);
	intern_release(&f->names);
	free(f->nodes);
	free(f->open);
	free(f);
	return rc;
}
