/* SPDX-License-Identifier: MIT */
/* A name is gone through once. Groups in brackets are left out or stand for something, and the rest
 * is kept: take_group(). Then the return type, which ends with a space, goes. */
#include "decoder/symbols/function_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "lib/array_size.h"

/* Suffixes that compilers and linkers add to the names of parts and copies of a function. Go's
 * names have dots, too: only these are cut. */
static const char *const suffixes[] = {".cold",     ".part",   ".constprop",  ".isra",
				       ".lto_priv", ".llvm.",  ".localalias", ".clone",
				       ".uniq",     ".__uniq", ".specialized"};

/* Groups that are names: as they begin, and what is kept of them. Compilers number lambdas in
 * different orders. */
static const struct {
	const char *begin, *kept;
} named_groups[] = {
	{"(anonymous namespace)", "(anonymous namespace)"},
	{"(anonymous class)", "{lambda}"}, /* as inlined frames name it */
	{"{lambda", "{lambda}"},
	{"'lambda", "{lambda}"},
	{"<lambda", "{lambda}"},
	{"operator()", "operator()"},
};

/* Brackets in the names of operators. */
static const char *const operators[] = {
	"operator<<=", "operator>>=", "operator<=>", "operator->*", "operator<<", "operator>>",
	"operator<=",  "operator>=",  "operator->",  "operator<",   "operator>",  "operator[]"};

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* The length of the group in brackets that begins at s; of all brackets within it. */
static size_t group_length(const char *s)
{
	size_t depth = 0, n = 0;

	do {
		if (s[n] == '-' && s[n + 1] == '>') /* Rust's fn() -> T */
			n++;
		else if (strchr("<([{", s[n]))
			depth++;
		else if (strchr(">)]}", s[n]))
			depth--;
		n++;
	} while (depth && s[n]);
	return n;
}

struct plain_name {
	char *out;
	size_t len;
	bool is_rust_type; /* in the <T as Trait> that a name of Rust begins with */
};

static void keep_text(struct plain_name *p, const char *text, size_t n)
{
	for (; n && p->len + 1 < FUNCTION_NAME_MAX; n--)
		p->out[p->len++] = *text++;
}

/* Clang's lambdas of functions that no other file sees: main::$_0. */
static size_t numbered_lambda(const char *s)
{
	return begins_with(s, "$_") ? 2 + strspn(s + 2, "0123456789") : 0;
}

static size_t group_of(const char *s)
{
	const char *end;

	if (begins_with(s, "operator()"))
		return strlen("operator()");
	if (*s == '\'')
		return (end = strchr(s + 1, '\'')) ? (size_t)(end - s) + 1 : 1;
	return group_length(s);
}

/* Takes what is at s, if it is more than a character. Returns its length, 0: it is one character.
 */
static size_t take_group(struct plain_name *p, const char *s, const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(named_groups); i++)
		if (begins_with(s, named_groups[i].begin)) {
			keep_text(p, named_groups[i].kept, strlen(named_groups[i].kept));
			return group_of(s);
		}
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (begins_with(s, operators[i])) {
			keep_text(p, operators[i], strlen(operators[i]));
			return strlen(operators[i]);
		}
	if (numbered_lambda(s)) {
		keep_text(p, "{lambda}", strlen("{lambda}"));
		return numbered_lambda(s);
	}
	if (*s == '<' && s == name)
		p->is_rust_type = true;
	else if (*s == '(' && s > name && s[-1] == '.') /* Go's main.(*T).f */
		keep_text(p, s, group_length(s));
	if (*s == '>' && p->is_rust_type)
		p->is_rust_type = false;
	else if (*s && strchr("<([", *s) && s != name)
		return group_length(s);
	return 0;
}

static bool is_suffix(const char *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (begins_with(s, suffixes[i]))
			return true;
	return false;
}

/* Whether s begins with text that follows a function's parameters: qualifiers, and [clone .x]. */
static bool is_behind_name(const char *s)
{
	static const char *const words[] = {" const", " volatile", " &", " [", " noexcept"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (begins_with(s, words[i]))
			return true;
	return false;
}

/* Where the name begins: behind the last space that no operator's name has. */
static size_t type_length(const char *name, size_t len)
{
	const char *word = strstr(name, "operator");
	size_t end = word ? (size_t)(word - name) : len;

	if (*name == '<')
		return 0;
	while (end && (name[end - 1] != ' ' || begins_with(name + end, "namespace)")))
		end--;
	return end;
}

const char *function_name_plain(char out[FUNCTION_NAME_MAX], const char *name)
{
	struct plain_name p = {.out = out};
	size_t type, n;

	for (const char *s = name; *s && !(s > name && is_suffix(s)); s += n ? n : 1) {
		if (s > name && s[-1] == ')' && is_behind_name(s))
			break;
		n = take_group(&p, s, name);
		if (!n)
			keep_text(&p, s, 1);
	}
	/* Rust's f::<T>, and operator<< <T> */
	while (p.len > 2 && strchr(": ", out[p.len - 1]))
		p.len--;
	out[p.len] = '\0';
	type = type_length(out, p.len);
	if (type < p.len)
		memmove(out, out + type, p.len - type + 1);
	return out;
}

/* The length of a suffix at s, with its numbers (".0", ".123"); 0: none is there. */
static size_t suffix_length(const char *s)
{
	size_t n = 0, digits;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes) && !n; i++)
		if (begins_with(s, suffixes[i]))
			n = strlen(suffixes[i]);
	if (!n)
		return 0;
	/* A Go function may be called main.part: compilers number all but these. */
	if (!strchr(".0123456789", s[n]) ||
	    (!s[n] && !begins_with(s, ".cold") && !begins_with(s, ".localalias")))
		return 0;
	n += strspn(s + n, "0123456789");
	while (s[n] == '.' && (digits = strspn(s + n + 1, "0123456789")))
		n += 1 + digits;
	return n;
}

static bool are_suffixes(const char *s)
{
	size_t n;

	while (*s && (n = suffix_length(s)))
		s += n;
	return !*s;
}

size_t function_name_written(const char *name)
{
	static const char clone[] = " [clone ";
	const char *brackets = strstr(name, clone);

	if (brackets && brackets > name && name[strlen(name) - 1] == ']')
		return (size_t)(brackets - name);
	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
		if (dot > name && are_suffixes(dot))
			return (size_t)(dot - name);
	return strlen(name);
}
