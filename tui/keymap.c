/* SPDX-License-Identifier: MIT */
#include "tui/keymap.h"

#include <curses.h>
#include <string.h>

#include "lib/array_size.h"

const struct key_row key_rows[] = {
#define BT_KEY(name, in, names, text) \
	{.request = REQUEST_##name, .views = (in), .keys = (names), .help = (text)},
#include "tui/keys.def"
#undef BT_KEY
};

const size_t key_row_count = ARRAY_SIZE(key_rows);

const struct key_hint key_hints[] = {
#define BT_HINT(in, name, text) {.view = VIEW_##in, .request = REQUEST_##name, .word = (text)},
#include "tui/hints.def"
#undef BT_HINT
};

const size_t key_hint_count = ARRAY_SIZE(key_hints);

static const struct key_name {
	const char *name;
	int key;
} key_names[] = {
	{"Down", KEY_DOWN},   {"Up", KEY_UP},      {"Left", KEY_LEFT},    {"Right", KEY_RIGHT},
	{"PgDn", KEY_NPAGE},  {"PgUp", KEY_PPAGE}, {"Home", KEY_HOME},    {"End", KEY_END},
	{"Enter", KEY_ENTER}, {"Tab", '\t'},       {"BackTab", KEY_BTAB}, {"Space", ' '},
	{"F1", KEY_F(1)},     {"Esc", 27},
};

static int key_of(const char *name, size_t len)
{
	if (len == 1)
		return (unsigned char)name[0];
	if (len == 2 && name[0] == '^')
		return name[1] & 0x1f;
	for (size_t i = 0; i < ARRAY_SIZE(key_names); i++)
		if (strlen(key_names[i].name) == len && !memcmp(key_names[i].name, name, len))
			return key_names[i].key;
	return -1;
}

int key_parse(const char **names)
{
	size_t len = strcspn(*names, " ");
	int key = key_of(*names, len);

	*names += len;
	*names += **names == ' ';
	return key;
}

enum request keymap_lookup(int key, enum view_id view)
{
	/* The key sends one or the other, by terminal and mode. */
	if (key == '\r' || key == '\n')
		key = KEY_ENTER;
	for (size_t i = 0; i < key_row_count; i++) {
		const char *names = key_rows[i].keys;

		if (!(key_rows[i].views & 1u << view))
			continue;
		while (*names)
			if (key_parse(&names) == key)
				return key_rows[i].request;
	}
	return REQUEST_NONE;
}

const char *keymap_name(enum request r, size_t *len)
{
	const char *keys = key_rows[r - 1].keys; /* a row for each, in order */

	*len = strcspn(keys, " ");
	return keys;
}
