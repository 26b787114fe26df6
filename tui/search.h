/* SPDX-License-Identifier: MIT */
/* A search: an extended regular expression, and the direction. Case counts only when the expression
 * has an upper-case letter, as in less -i. */
#ifndef BT_SEARCH_H
#define BT_SEARCH_H

#include <regex.h>
#include <stdbool.h>

struct search {
	bool set, backward;
	unsigned serial; /* another number for each expression */
	regex_t expression;
};

enum {
	SEARCH_WHY_MAX = 120,
};

/* Takes an expression, in place of the one before. False: why says what is wrong with it. */
bool search_set(struct search *s, const char *text, char why[SEARCH_WHY_MAX]);
/* The same for a name, in which no character is special. False without memory, too. */
bool search_set_name(struct search *s, const char *name, char why[SEARCH_WHY_MAX]);
void search_release(struct search *s);

bool search_matches(const struct search *s, const char *text);

#endif
