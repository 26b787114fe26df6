/* SPDX-License-Identifier: MIT */
/* Which branches the list shows: words that all must hold, as they are typed behind &.
 *
 *	function:NAME  it leads from or to this function (lib/name_pattern.h)
 *	module:GLOB    ... to or from a file of this name
 *	file:GLOB      ... a source of this name, or a line of it (config.c:10)
 *	kind:NAME      call, ret, jcc ...
 *	thread:TASK    the history of another task
 *	EXPRESSION     its line has a match of this regular expression
 *
 * A ! before a word turns it round. */
#ifndef BT_BRANCH_FILTER_H
#define BT_BRANCH_FILTER_H

#include "tui/search.h"
#include "tui/viewer.h"

enum {
	FILTER_TEXT_MAX = 256,
	FILTER_WORDS_MAX = 8,
};

enum filter_kind {
	FILTER_EXPRESSION,
	FILTER_FUNCTION,
	FILTER_MODULE,
	FILTER_FILE,
	FILTER_KIND,
	FILTER_THREAD,
	FILTER_KINDS
};

struct filter_word {
	enum filter_kind kind;
	bool inverted;
	size_t value; /* offset in text */
	struct search search;
};

struct branch_filter {
	char typed[FILTER_TEXT_MAX]; /* "": shows everything */
	char text[FILTER_TEXT_MAX];  /* the same, cut into words */
	struct filter_word words[FILTER_WORDS_MAX];
	size_t count;
	bool has_thread;
	uint32_t thread;
};

/* False: why says what is wrong with the text. */
bool branch_filter_parse(struct branch_filter *f, const char *text, char why[SEARCH_WHY_MAX]);
/* Makes `to`, which is released, what `from` is, and `from` empty. */
void branch_filter_move(struct branch_filter *to, struct branch_filter *from);
void branch_filter_release(struct branch_filter *f);

/* Whether entry i of v->history is wanted: for struct entry_match. arg: a struct branch_filter. */
bool branch_filter_wants(void *arg, struct viewer *v, size_t i);

#endif
