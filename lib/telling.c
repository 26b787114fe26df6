/* SPDX-License-Identifier: MIT */
#include "lib/telling.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "lib/array_size.h"

enum where {
	ANYWHERE,
	AT_START,
	ANY_CASE, /* anywhere, upper case or lower */
};

/* By who writes them. */
static const struct pattern {
	const char *text;
	enum where where;
	unsigned more;
} patterns[] = {
	/* sanitizers: "==7==ERROR: AddressSanitizer: ...", "f.c:3:9: runtime error: ..." */
	{"SUMMARY:", ANYWHERE, 0},
	{"WARNING: ThreadSanitizer", ANYWHERE, 0},
	{"WARNING: MemorySanitizer", ANYWHERE, 0},
	/* Rust, Go */
	{"panicked at", ANYWHERE, 1},
	{"panic: ", AT_START, 0},
	{"fatal error: ", ANYWHERE, 0},
	/* C++ */
	{"terminate called", AT_START, 0},
	{"  what():", AT_START, 0},
	{"libc++abi: ", AT_START, 0},
	{"pure virtual method called", AT_START, 0},
	/* libc */
	{"Assertion `", ANYWHERE, 0},
	{"Assertion failed", ANY_CASE, 0},
	{"*** stack smashing detected", ANYWHERE, 0},
	{"*** buffer overflow detected", ANYWHERE, 0},
	{"double free or corruption", ANYWHERE, 0},
	{"free(): ", AT_START, 0},
	{"malloc(): ", AT_START, 0},
	{"realloc(): ", AT_START, 0},
	{"munmap_chunk(): ", AT_START, 0},
	{"corrupted ", AT_START, 0}, /* size vs. prev_size, double-linked list */
	{"error while loading shared libraries", ANYWHERE, 0},
	{"symbol lookup error", ANYWHERE, 0},
	/* any program */
	{"error:", ANY_CASE, 0},
	{"fatal:", ANY_CASE, 0},
	{"FATAL", ANYWHERE, 0},
};

/* Behind a Python traceback: "ValueError: ...", "socket.timeout: ..." only where it says so. */
static bool is_exception(struct slice s)
{
	static const char *const ends[] = {"Error", "Exception"};
	size_t n = 0;

	while (n < s.len && (isalnum(s.at[n]) || s.at[n] == '_' || s.at[n] == '.'))
		n++;
	for (size_t i = 0; n && (n == s.len || s.at[n] == ':') && i < ARRAY_SIZE(ends); i++) {
		size_t len = strlen(ends[i]);

		if (n >= len && !memcmp(s.at + n - len, ends[i], len))
			return true;
	}
	return false;
}

static bool has_in_any_case(struct slice s, const char *text, size_t n)
{
	for (size_t i = 0; i + n <= s.len; i++)
		if (!strncasecmp((const char *)s.at + i, text, n))
			return true;
	return false;
}

static bool is_match(const struct pattern *p, struct slice s)
{
	size_t n = strlen(p->text);

	if (n > s.len)
		return false;
	switch (p->where) {
	case AT_START:
		return !memcmp(s.at, p->text, n);
	case ANY_CASE:
		return has_in_any_case(s, p->text, n);
	default:
		return memmem(s.at, s.len, p->text, n);
	}
}

bool telling_line(struct slice line, unsigned *more)
{
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++)
		if (is_match(&patterns[i], line)) {
			*more = patterns[i].more;
			return true;
		}
	if (!is_exception(line))
		return false;
	*more = 0;
	return true;
}
