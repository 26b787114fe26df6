/* SPDX-License-Identifier: MIT */
/* __cxa_demangle is part of the Itanium C++ ABI ("3.4 Demangler API"). It is linked from
 * libsupc++.a, where its object needs nothing but libc: no C++ runtime, and no package beyond the
 * compiler's own. elfutils exports none. Rust's names, of both its schemes, are libiberty's to
 * read. gfortran's have no parser: they are two names. */
#include "lib/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

char *__cxa_demangle(const char *name, char *out, size_t *len, int *status);

enum {
	/* Names nest: the parsers are recursive, and a symbol table is not to be trusted. */
	MANGLED_MAX = 8192,
	PLAIN_MAX = 1 << 16, /* Rust's names refer to parts of themselves: they grow without end */
};

struct demangled_text {
	char *text;
	size_t len;
	jmp_buf too_long; /* the library cannot be told to stop */
};

static void append_text(const char *text, size_t len, void *arg)
{
	struct demangled_text *p = arg;

	if (len >= PLAIN_MAX - p->len)
		longjmp(p->too_long, 1);
	memcpy(p->text + p->len, text, len);
	p->len += len;
}

static bool demangle_into(struct demangled_text *p, const char *name)
{
	return !setjmp(p->too_long) && rust_demangle_callback(name, DMGL_NO_OPTS, append_text, p) &&
	       p->len;
}

static char *demangle_rust(const char *name)
{
	struct demangled_text p = {.text = malloc(PLAIN_MAX)};
	char *text = NULL;

	if (p.text && demangle_into(&p, name)) {
		p.text[p.len] = '\0';
		text = realloc(p.text, p.len + 1);
	}
	if (!text)
		free(p.text);
	return text;
}

/* gfortran's: __MODULE_MOD_PROCEDURE (gcc/fortran/trans-decl.cc, gfc_sym_mangled_function_id). */
static char *demangle_fortran(const char *name)
{
	static const char infix[] = "_MOD_", allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
	const char *module = name + 2, *procedure;
	char *plain;
	size_t n;

	if (strncmp(name, "__", 2) != 0 || !(procedure = strstr(module, infix)))
		return NULL;
	n = (size_t)(procedure - module);
	procedure += sizeof infix - 1;
	if (!n || strspn(module, allowed) < n || !*procedure ||
	    procedure[strspn(procedure, allowed)])
		return NULL;
	plain = malloc(n + strlen(procedure) + 3);
	if (plain) {
		memcpy(plain, module, n);
		memcpy(plain + n, "::", 2);
		strcpy(plain + n + 2, procedure);
	}
	return plain;
}

char *demangle(const char *name)
{
	bool rust = !strncmp(name, "_R", 2), either = !strncmp(name, "_ZN", 3);
	char *plain = NULL;
	int status = 0;

	if (!strncmp(name, "__", 2) && strnlen(name, MANGLED_MAX) < MANGLED_MAX)
		return demangle_fortran(name);
	if ((strncmp(name, "_Z", 2) && !rust) || strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return NULL;
	if (rust || either)
		plain = demangle_rust(name);
	return plain || rust ? plain : __cxa_demangle(name, NULL, NULL, &status);
}
