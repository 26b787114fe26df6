/* SPDX-License-Identifier: MIT */
/* __cxa_demangle is part of the Itanium C++ ABI ("3.4 Demangler API"). It is linked from libsupc++.a, where its object
 * needs nothing but libc: no C++ runtime, and no package beyond the compiler's own. elfutils exports none. */
#include "decoder/demangle.h"

#include <stddef.h>
#include <string.h>

char *__cxa_demangle(const char *name, char *out, size_t *len, int *status);

enum {
	/* Names nest: the parser is recursive, and a symbol table is not to be trusted. */
	MANGLED_MAX = 8192
};

char *demangle(const char *name)
{
	int status = 0;

	if (strncmp(name, "_Z", 2) || strnlen(name, MANGLED_MAX) == MANGLED_MAX)
		return NULL;
	return __cxa_demangle(name, NULL, NULL, &status);
}
