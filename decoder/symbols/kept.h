/* SPDX-License-Identifier: MIT */
/* Findings from the files of a recorded program (doc/FORMAT.md, "Symbols"): answers to the
 * questions that readers of its trace ask of symbols.h, by question. symbols.c notes them while the
 * reports are made at the end of a recording, and gives them when a file is gone, changed or
 * stripped. Nothing here looks at files of the program but kept_add_sources().
 *
 * Strings and arrays that are added are borrowed; those read from a trace belong to the object. All
 * is bounded: too many or too large ones are left out. One thread. */
#ifndef BT_KEPT_H
#define BT_KEPT_H

#include "decoder/symbols/symbols.h"

struct kept_module {
	const char *path, *build_id; /* build_id: hex, "" none */
	uint64_t dev, ino;
	uint8_t level;   /* enum symbols_level (module_level.h) */
	uint8_t missing; /* enum missing_what + 1, 0: nothing */
};

/* A place that is asked for. In mapped code of a file: its module, and at is the offset in the
 * file. Elsewhere: the address space, where its mapping begins, and at is the address. */
struct kept_where {
	uint32_t module, space;
	uint64_t base, at;
	bool is_return;
};

struct kept_stack {
	uint32_t snapshot, task;
	bool complete;
	const struct stack_frame *frames;
	size_t count;
};

/* Lines of a source file that follow one another, from number `first` (from 1) on. */
struct kept_lines {
	struct kept_lines *next; /* further down */
	uint32_t first;
	struct slice text;
};

struct kept_source {
	const char *path;
	uint64_t size, modified; /* of the file, ns since 1970 */
	bool newer;              /* than the program */
	struct kept_lines *lines, *last;
};

/* Other findings about a frame, in words. */
enum kept_said {
	KEPT_VALUES = 1,  /* its arguments and variables */
	KEPT_ACCESS = 2,  /* the name of what its instruction accessed */
	KEPT_LARGEST = 3, /* the largest of its variables */
};

struct kept;

struct kept *kept_new(void); /* NULL without memory */
void kept_free(struct kept *k);

/* The number of a module, from 1; 0: it is not there. */
uint32_t kept_find_module(const struct kept *k, const struct kept_module *m);
/* The same; adds it where it is not there. 0 where there is no room. */
uint32_t kept_add_module(struct kept *k, const struct kept_module *m);
/* number: of one that is there. It may be changed until it is written. */
struct kept_module *kept_module(const struct kept *k, uint32_t number);
size_t kept_module_count(const struct kept *k);

/* Fills *loc but for its addr. Returns the number of the module that it is in; 0: the place is not
 * there, and *loc is as it was. */
uint32_t kept_find_place(const struct kept *k, const struct kept_where *where,
			 struct location *loc);
/* module: the number of the one that it is in, also where that is not asked for. */
void kept_add_place(struct kept *k, const struct kept_where *where, uint32_t module,
		    const struct location *loc);

const struct kept_stack *kept_find_stack(const struct kept *k, uint32_t snapshot, uint32_t task);
/* Copies the frames. Of several of a thread the longest is kept. */
void kept_add_stack(struct kept *k, const struct kept_stack *stack);

enum {
	KEPT_PIECE = 64, /* bytes of files are kept by pieces, at multiples of it */
};

/* Copies up to n bytes of a module's file. Returns how many consecutive bytes there are. */
size_t kept_find_bytes(const struct kept *k, uint32_t module, uint64_t offset, uint8_t *out,
		       size_t n);
/* Copies a piece: at most KEPT_PIECE bytes at a multiple of it. */
void kept_add_piece(struct kept *k, uint32_t module, uint64_t offset, const uint8_t *bytes,
		    size_t n);

/* NULL: it is not there. */
const struct kept_source *kept_find_source(const struct kept *k, const char *path);
/* Whether the file is no longer the one whose lines are kept. */
bool kept_source_differs(const struct kept_source *source);
/* A line (from 1) without its end. False: it is not kept. */
bool kept_source_line(const struct kept_source *source, uint32_t line, struct slice *text);
/* All of it, with empty lines for those that are not kept; free() it. NULL without memory. */
char *kept_source_text(const struct kept_source *source, size_t *len);
/* Reads the source files of the places that were added. is_newer: tells if one is newer than its
 * program. */
void kept_add_sources(struct kept *k, bool (*is_newer)(void *arg, const char *path), void *arg);

/* Words; NULL: they are not there. */
const char *kept_find_said(const struct kept *k, enum kept_said what, uint32_t snapshot,
			   uint32_t task, uint32_t frame);
void kept_add_said(struct kept *k, enum kept_said what, uint32_t snapshot, uint32_t task,
		   uint32_t frame, const char *text);

/* The symbols of a trace; NULL: it has none, or there is no memory. *damaged: not all of them could
 * be read. */
struct kept *kept_read(const struct trace *t, bool *damaged);

/* The file's name while it is written. It stays where who writes it is killed. */
#define KEPT_UNFINISHED "symbols.new"

/* Writes the symbols of a trace into its directory. Errors: BT_E_EXISTS: it has some, and they are
 * left; BT_E_IO, BT_E_PERMISSION, BT_E_NO_MEMORY: nothing is left behind. */
int kept_write(const struct kept *k, const struct trace *t, struct bt_error *err) BT_MUST_USE;

#endif
