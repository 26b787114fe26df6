/* SPDX-License-Identifier: MIT */
/* A name is copied without what the pattern leaves out (simplify_name()); then the pattern is
 * compared with it from each of its components on. */
#include "lib/name_pattern.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/array_size.h"

struct name {
	char text[NAME_PATTERN_MAX];
	size_t len;
};

static void add_char(struct name *n, char c)
{
	if (n->len < sizeof n->text - 1)
		n->text[n->len++] = c;
	n->text[n->len] = '\0';
}

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* The length of "operator<<", "operator()", "operator bool" and the like at `at`; 0: none. */
static size_t operator_length(const char *name, size_t at)
{
	static const char word[] = "operator";
	size_t n = sizeof word - 1;

	if (strncmp(name + at, word, n) != 0 || (at && is_word(name[at - 1])) ||
	    is_word(name[at + n]))
		return 0;
	if (!strncmp(name + at + n, "()", 2))
		return n + 2;
	if (name[at + n] == ' ') /* a conversion, new, delete */
		return n + strcspn(name + at + n, "(");
	return n + strspn(name + at + n, "<>=!+-*/%^&|~,[]\"");
}

/* Suffixes that compilers add to names of copies and parts of functions. Go has dots between names.
 */
static bool is_of_compiler(const char *s)
{
	static const char *const suffixes[] = {".constprop.", ".isra.",     ".part.",
					       ".cold",       ".lto_priv.", ".llvm."};

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (begins_with(s, suffixes[i]))
			return true;
	return false;
}

/* Behind the bracket that closes the one at `at`. An arrow's > closes none. */
static size_t behind_bracket(const char *name, size_t at)
{
	const char open = name[at], close = open == '<' ? '>' : ')';
	unsigned depth = 0;

	for (; name[at]; at++) {
		if (name[at] == open)
			depth++;
		else if (name[at] == close && (at == 0 || name[at - 1] != '-') && !--depth)
			return at + 1;
	}
	return at;
}

/* "::h0123456789abcdef", with which Rust's older names end. */
static void cut_hash(struct name *n)
{
	enum { HASH = 19 };
	const char *hash;

	if (n->len <= HASH)
		return;
	hash = n->text + n->len - HASH;
	if (begins_with(hash, "::h") && strspn(hash + 3, "0123456789abcdef") == HASH - 3)
		n->text[n->len -= HASH] = '\0';
}

/* <T as Trait>::f is T::f, <T>::f too. Returns where the rest of the name goes on. */
static size_t take_self(struct name *n, const char *name, bool keeps_arguments)
{
	size_t end = behind_bracket(name, 0);

	for (size_t i = 1; i + 1 < end; i++) {
		if (begins_with(name + i, " as "))
			break;
		if (name[i] == '<' && !keeps_arguments)
			i = behind_bracket(name, i) - 1;
		else
			add_char(n, name[i]);
	}
	return end;
}

/* The name without parameters and return type; without template arguments unless they are to be
 * kept. */
static void simplify_name(struct name *n, const char *name, bool keeps_arguments)
{
	static const char anonymous[] = "(anonymous namespace)::", rust[] = "{closure";
	size_t at;

	*n = (struct name){.len = 0};
	at = *name == '<' ? take_self(n, name, keeps_arguments) : 0;
	while (name[at]) {
		size_t op = operator_length(name, at);

		if (op) {
			while (op--)
				add_char(n, name[at++]);
		} else if (begins_with(name + at, anonymous)) {
			at += sizeof anonymous - 1;
		} else if (name[at] == '(' || name[at] == '@' || begins_with(name + at, " [") ||
			   is_of_compiler(name + at)) {
			break;
		} else if (name[at] == '<' && !keeps_arguments) {
			at = behind_bracket(name, at);
		} else if (name[at] == '<') {
			for (size_t end = behind_bracket(name, at); at < end; at++)
				add_char(n, name[at]);
		} else if (name[at] == ' ' && !begins_with(name + at + 1, rust)) {
			n->len = 0; /* the text before it is the return type */
			n->text[0] = '\0';
			at++;
		} else if (begins_with(name + at, "[abi:")) {
			at += strcspn(name + at, "]") + 1;
		} else {
			add_char(n, name[at++]);
		}
	}
	cut_hash(n);
}

static void squeeze_name(struct name *n, const char *text)
{
	*n = (struct name){.len = 0};
	for (; *text; text++)
		if (*text != ' ')
			add_char(n, *text);
}

/* Each * is tried with as little as does; the last one alone is ever tried again. */
static bool glob_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	return !pattern[strspn(pattern, "*")];
}

/* Whether the pattern matches from a component on. In a whole name these begin behind a return
 * type, too. */
static bool matches_from_component(const char *pattern, const char *name)
{
	for (const char *at = name; *at; at++) {
		bool begins = at == name || at[-1] == ' ' || strchr(":<./", at[-1]);

		if (begins && *at != ':' && glob_matches(pattern, at))
			return true;
	}
	return false;
}

bool name_pattern_matches(const char *pattern, const char *name)
{
	bool is_operator = strstr(pattern, "operator") != NULL;
	bool whole = begins_with(pattern, "::");
	struct name simple, squeezed, wanted;
	char certain[NAME_PATTERN_MAX];

	if (!*pattern)
		return false;
	if (!strcmp(pattern, name))
		return true;
	name_pattern_certain_part(pattern, certain);
	if (!strstr(name, certain)) /* most names by far */
		return false;
	if (!is_operator && strchr(pattern, '(')) {
		squeeze_name(&squeezed, name);
		squeeze_name(&wanted, pattern);
		return matches_from_component(wanted.text, squeezed.text);
	}
	simplify_name(&simple, name, !is_operator && strchr(pattern, '<'));
	if (strchr(pattern, ' ') && !is_operator)
		return false;
	return whole ? glob_matches(pattern + 2, simple.text)
		     : matches_from_component(pattern, simple.text);
}

/* Mangled names have identifiers as they are. */
void name_pattern_certain_part(const char *pattern, char *out)
{
	size_t best = 0, len, end = strcspn(pattern, "(<");

	*out = '\0';
	if (strstr(pattern, "operator"))
		return;
	for (size_t at = 0; at < end; at += len ? len : 1) {
		for (len = 0; at + len < end && is_word(pattern[at + len]);)
			len++;
		if (len > best && len < NAME_PATTERN_MAX) {
			best = len;
			memcpy(out, pattern + at, len);
			out[len] = '\0';
		}
	}
}

bool source_position_parse(const char *pattern, size_t *file_len, int *line)
{
	const char *colon = strrchr(pattern, ':');
	char *end;
	long n;

	if (!colon || colon == pattern || colon[-1] == ':' || !isdigit((unsigned char)colon[1]))
		return false;
	n = strtol(colon + 1, &end, 10);
	if (*end || n <= 0 || n > 1 << 30)
		return false;
	*file_len = (size_t)(colon - pattern);
	*line = (int)n;
	return true;
}

bool source_position_matches(const char *pattern, const char *file, int line)
{
	size_t len, has = strlen(file);
	int wanted;

	if (!source_position_parse(pattern, &len, &wanted) || wanted != line || has < len)
		return false;
	return !memcmp(file + has - len, pattern, len) &&
	       (has == len || *pattern == '/' ? has == len : file[has - len - 1] == '/');
}
