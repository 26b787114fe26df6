/* SPDX-License-Identifier: MIT */
/* Whether code is the user's own or a library's: the report and the viewer show the user's own and
 * fold the rest.
 *
 * Library code is all code in the system's shared libraries and the vdso; code that was compiled
 * from a source of the system or of a package (so also a statically linked library and a template's
 * function); and code without a line in a file that has lines. A function that has the user's code
 * inlined is the user's own. A program of the system, such as an interpreter, is a library where
 * the stack has the user's own code.
 *
 * Answers are remembered. It borrows model and symbols. One thread (symbols.h). */
#ifndef BT_OWN_CODE_H
#define BT_OWN_CODE_H

#include "decoder/cause/fold.h"
#include "decoder/symbols/symbols.h"

struct own_code;

/* snap, thread: the moment whose stack tells whether a program of the system is a library; NULL: no
 * stack is known. Errors: BT_E_NO_MEMORY. */
int own_code_open(struct own_code **out, const struct model *m, struct symbols *s,
		  const struct model_snapshot *snap, const struct bt_record_thread *thread,
		  struct bt_error *err) BT_MUST_USE;
void own_code_close(struct own_code *own);

/* Whether the code at an address is the user's own. An address that no mapping has is. */
bool own_code_has(struct own_code *own, uint32_t space, uint32_t epoch, uint64_t addr);

/* Whether a module is a library of libc, a compiler or a sanitizer, wherever it lies. */
bool own_code_is_toolchain_library(const char *path) BT_MUST_USE;
/* Whether a path is that of a program of the system: a shell, make, a compiler. */
bool own_code_is_system_program(struct slice path) BT_MUST_USE;

struct own_place {
	uint64_t addr;
	bool is_return;
};

/* The innermost place on a thread's stack that is the user's own. False if there is none among the
 * first 256 frames: *place is where the thread stands. */
bool own_code_frame(struct own_code *own, const struct model_snapshot *snap,
		    const struct bt_record_thread *thread, struct own_place *place);

/* The function of a place that is to be named for it: the innermost whose source is the user's own,
 * else the innermost of all; with the line in it. Strings are loc's. */
struct inlined_frame own_code_part(const struct location *loc);
/* Whether the function of a place that has this source is the user's own. */
bool own_code_has_part(struct own_code *own, uint32_t space, uint32_t epoch, uint64_t addr,
		       const char *file);
/* Whether a source is the system's, a toolchain's or a package's. "": no. */
bool own_code_is_library_source(const char *file) BT_MUST_USE;

enum {
	FOLDED_NAME_MAX = 80,
	FOLDED_TEXT_MAX = 2 * FOLDED_NAME_MAX + 64,
	FOLDED_LOOKED_AT = 64, /* entries of one line whose functions are named */
};

/* The text of a line of FOLD_LIBRARY, of these entries: "12 branches in libraries", "main:
 * std::map<...>::at inlined (12 branches)". Names are from outside: escape them. */
void own_code_folded_text(struct symbols *s, const struct history_entry *entries,
			  const struct fold_line *line, char out[FOLDED_TEXT_MAX]);

/* Sets sides[0 .. count - 1], enum fold_side of each of the entries, which are of h or copies.
 * Returns how many of them touch the user's own code. */
size_t own_code_sides(struct own_code *own, const struct history *h,
		      const struct history_entry *entries, size_t count, uint8_t *sides);

#endif
