/* SPDX-License-Identifier: MIT */
/* Requests, and the keys that make them, from one list (keys.def), which the help view shows; those
 * that the bottom line names (hints.def). Used by all views. Pure; key codes are those of curses.
 */
#ifndef BT_KEYMAP_H
#define BT_KEYMAP_H

#include <stddef.h>

enum view_id {
	VIEW_SUMMARY,
	VIEW_BRANCHES,
	VIEW_SOURCE,
	VIEW_DISASSEMBLY,
	VIEW_REGISTERS,
	VIEW_THREADS,
	VIEW_SYSCALLS,
	VIEW_TREE,
	VIEW_PROCESSES,
	VIEW_HELP,
	VIEW_COUNT
};

#define VIEW_BIT(name) (1u << VIEW_##name)
/* The branch list, and the code panes beside it, in which its cursor can be moved, too. */
#define VIEWS_PATH (VIEW_BIT(BRANCHES) | VIEW_BIT(SOURCE) | VIEW_BIT(DISASSEMBLY))
#define VIEWS_ALL  ((1u << VIEW_COUNT) - 1)

enum request {
	REQUEST_NONE,
#define BT_KEY(name, views, keys, help) REQUEST_##name,
#include "tui/keys.def"
#undef BT_KEY
	REQUEST_COUNT
};

struct key_row {
	enum request request;
	unsigned views;   /* set of VIEW_BIT */
	const char *keys; /* names, separated by single spaces */
	const char *help;
};

extern const struct key_row key_rows[];
extern const size_t key_row_count;

/* The code of the key whose name begins at *names; *names then stands at the next name, or at the
 * end. -1: no such key. */
int key_parse(const char **names);

/* The request of a key in a view. */
enum request keymap_lookup(int key, enum view_id view);

/* A key that the bottom line names. */
struct key_hint {
	enum view_id view;
	enum request request;
	const char *word; /* the request in a word */
};

/* Of each view the most useful first. */
extern const struct key_hint key_hints[];
extern const size_t key_hint_count;

/* The name of a request's first key, of *len bytes. */
const char *keymap_name(enum request r, size_t *len);

#endif
