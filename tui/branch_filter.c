/* SPDX-License-Identifier: MIT */
#include "tui/branch_filter.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array_size.h"
#include "lib/name_pattern.h"
#include "tui/branch_row.h"
#include "tui/label.h"

/* One end of a branch, or a function that is inlined there. */
struct end_part {
	const struct location *loc;
	const char *function, *file;
	int line;
};

static bool is_of_function(const char *wanted, const struct end_part *p)
{
	return name_pattern_matches(wanted, p->function);
}

static bool is_of_module(const char *wanted, const struct end_part *p)
{
	return !fnmatch(wanted, label_basename(p->loc->module), 0) ||
	       !fnmatch(wanted, p->loc->module, 0);
}

static bool is_of_file(const char *wanted, const struct end_part *p)
{
	return !fnmatch(wanted, label_basename(p->file), 0) || !fnmatch(wanted, p->file, 0) ||
	       source_position_matches(wanted, p->file, p->line);
}

static const struct {
	const char *name;
	bool (*wants)(const char *wanted, const struct end_part *p); /* NULL: not of an end */
} kinds[FILTER_KINDS] = {
	[FILTER_EXPRESSION] = {"", NULL},
	[FILTER_FUNCTION] = {"function:", is_of_function},
	[FILTER_MODULE] = {"module:", is_of_module},
	[FILTER_FILE] = {"file:", is_of_file},
	[FILTER_KIND] = {"kind:", NULL},
	[FILTER_THREAD] = {"thread:", NULL},
};

static bool parse_thread(struct branch_filter *f, const char *value, char why[SEARCH_WHY_MAX])
{
	char *end;

	f->has_thread = true;
	f->thread = (uint32_t)strtoul(value, &end, 10);
	if (*value && !*end)
		return true;
	snprintf(why, SEARCH_WHY_MAX, "thread: wants the number of a task or thread");
	return false;
}

static bool parse_word(struct branch_filter *f, char *word, char why[SEARCH_WHY_MAX])
{
	struct filter_word *w = &f->words[f->count];

	*w = (struct filter_word){.inverted = *word == '!'};
	word += w->inverted;
	for (unsigned k = 1; k < FILTER_KINDS; k++)
		if (!strncmp(word, kinds[k].name, strlen(kinds[k].name)))
			w->kind = k;
	word += strlen(kinds[w->kind].name);
	w->value = (size_t)(word - f->text);
	if (w->kind == FILTER_THREAD)
		return parse_thread(f, word, why);
	if (!*word) {
		snprintf(why, SEARCH_WHY_MAX, "a word of the filter has nothing behind it");
		return false;
	}
	f->count++;
	return w->kind != FILTER_EXPRESSION || search_set(&w->search, word, why);
}

bool branch_filter_parse(struct branch_filter *f, const char *text, char why[SEARCH_WHY_MAX])
{
	char *rest = f->text, *word;

	*f = (struct branch_filter){0};
	snprintf(f->typed, sizeof f->typed, "%s", text);
	snprintf(f->text, sizeof f->text, "%s", text);
	while ((word = strtok_r(rest, " ", &rest))) {
		if (f->count == FILTER_WORDS_MAX) {
			snprintf(why, SEARCH_WHY_MAX, "at most %d words", FILTER_WORDS_MAX);
			return false;
		}
		if (!parse_word(f, word, why))
			return false;
	}
	return true;
}

void branch_filter_move(struct branch_filter *to, struct branch_filter *from)
{
	*to = *from;
	*from = (struct branch_filter){0};
}

void branch_filter_release(struct branch_filter *f)
{
	for (size_t i = 0; i < f->count; i++)
		search_release(&f->words[i].search);
	*f = (struct branch_filter){0};
}

static bool end_is_wanted(enum filter_kind kind, const char *value, struct viewer *v,
			  uint32_t space, uint32_t epoch, uint64_t addr)
{
	struct location loc;
	struct end_part p = {.loc = &loc};

	symbols_lookup(v->s, space, epoch, addr, false, &loc);
	p.file = loc.file;
	p.line = loc.line;
	for (size_t i = 0; i < loc.inlined_count; i++) {
		p.function = loc.inlined[i].function;
		if (kinds[kind].wants(value, &p))
			return true;
		p.file = loc.inlined[i].file;
		p.line = loc.inlined[i].line;
	}
	p.function = loc.function;
	return kinds[kind].wants(value, &p);
}

static bool word_holds(const struct filter_word *w, const char *value, struct viewer *v, size_t i)
{
	const struct history_entry *e = &v->history.entries[i];
	uint32_t space, epoch;

	if (w->kind == FILTER_EXPRESSION)
		return branch_row_matches(v, &w->search, i);
	if (w->kind == FILTER_KIND)
		return !fnmatch(value, bt_branch_info[e->kind].name, 0) ||
		       !fnmatch(value, branch_row_kind(e), 0);
	if (e->kind == BT_BRANCH_GAP)
		return false;
	history_target(&v->history, e, &space, &epoch);
	return end_is_wanted(w->kind, value, v, e->space, e->epoch, e->from) ||
	       end_is_wanted(w->kind, value, v, space, epoch, e->to);
}

bool branch_filter_wants(void *arg, struct viewer *v, size_t i)
{
	const struct branch_filter *f = arg;

	for (size_t k = 0; k < f->count; k++)
		if (word_holds(&f->words[k], f->text + f->words[k].value, v, i) ==
		    f->words[k].inverted)
			return false;
	return true;
}
