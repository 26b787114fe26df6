/* SPDX-License-Identifier: MIT */
/* From addresses to modules, functions, source lines and inlined frames (libdwfl), for a whole
 * trace. Every address is looked up in the image its address space had at its epoch. A missing file
 * is named once. Used by everything that shows addresses. Strings live as long as the object. One
 * thread (libdwfl). */
#ifndef BT_SYMBOLS_H
#define BT_SYMBOLS_H

#include "decoder/model/model.h"

struct inlined_frame {
	const char *function,
		*file; /* "" when unknown; file and line of the call that was inlined: they lie */
	int line;      /* in the next frame out, the function of the location for the last one */
};

/* Strings are owned by the symbols object. Unknown things are "" and 0. */
struct location {
	uint64_t addr;
	const char *module; /* path of the mapped file */
	uint64_t vaddr; /* link-time address in module; in another file the offset; else the offset
			   in the mapping */
	bool in_file;   /* vaddr is one of the first two: the place is called module+vaddr where no
			   function is known */
	const char *build_id; /* hex */
	const char *function; /* demangled */
	uint64_t offset;      /* from the function's start */
	const char *file; /* of addr itself: of the innermost inlined frame when there are inlined
			     frames */
	int line;
	bool has_lines; /* the module has debug information, though maybe none of addr */
	const struct inlined_frame
		*inlined; /* innermost first; the last one was inlined into function */
	size_t inlined_count;
};

enum missing_what {
	MISSING_FILE,     /* the file is gone */
	MISSING_CHANGED,  /* the file has another build-id than the one recorded, or other code */
	MISSING_UNKNOWN,  /* nothing in the trace tells whether the file is the one that ran */
	MISSING_SYMBOLS,  /* no symbol table at all */
	MISSING_DEBUG,    /* no debug information: no source lines */
	MISSING_UNPACKED, /* its debug information is compressed, and cannot be unpacked */
	MISSING_SPLIT,    /* its split debug information: no inlined frames */
	MISSING_PACKAGE,  /* the same, for it is in a .dwp file; libdw reads none */
	MISSING_SOURCE,  /* a source file is newer than the program: its lines may not be those that
			    ran */
	MISSING_KEPT,    /* the trace's own symbols are damaged */
	MISSING_VOUCHED, /* only the user's word says that the file is the one that ran */
	MISSING_REFUSED, /* the file is gone, and the user's file is not the one that ran */
	MISSING_SLOW, /* the file is a copy in the trace, and copies have taken too long to read */
};

struct missing_module {
	const char *module, *build_id;
	enum missing_what what;
	const char *source; /* of MISSING_SOURCE: its path; else NULL */
};

struct symbols;

int symbols_open(struct symbols **out, const struct model *m, struct bt_error *err) BT_MUST_USE;
void symbols_close(struct symbols *s);

/* libdw calls end, which does not return, where it gets no memory; without this it prints a line
 * and exits with 1 (dwarf_new_oom_handler() in libdw.h). Call it first. */
void symbols_on_no_memory(struct symbols *s, __attribute__((noreturn)) void (*end)(void));

/* Takes files of the program from path, a file or a folder that the user vouches for, where those
 * recorded are not there; path is borrowed. Call it first. Errors: those of vouched_init(). */
int symbols_vouch(struct symbols *s, const char *path, struct bt_error *err) BT_MUST_USE;

/* Whether lookups so far have taken something from there. */
bool symbols_vouched_used(const struct symbols *s);

/* Whether the file mapped at an address is, at its path, the one that was recorded, as far as can
 * be told. */
bool symbols_file_is_there(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr);

/* Notes all that is found out from now on, for symbols_keep(). Call it first. Errors:
 * BT_E_NO_MEMORY. */
int symbols_note(struct symbols *s, struct bt_error *err) BT_MUST_USE;

/* Writes what was found out, and the sources that it names, into the trace, which is closed: its
 * readers have it when the program's files are gone or changed. Errors: BT_E_EXISTS: the trace has
 * symbols; BT_E_IO, BT_E_PERMISSION, BT_E_NO_MEMORY. */
int symbols_keep(struct symbols *s, struct bt_error *err) BT_MUST_USE;

/* Looks addr up; *loc is valid until symbols_close. is_return: addr is a return address, so the
 * line is the call's (addr - 1), while addr, vaddr and offset stay those of addr. Never fails:
 * unknown fields are empty. Cached. */
void symbols_lookup(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
		    bool is_return, struct location *loc);

/* The files that lookups so far have missed, each module and each source once. Owned by s. */
const struct missing_module *symbols_missing(const struct symbols *s, size_t *count);

/* Whether file, as a location has it, is newer than a program that lookups so far have found it in.
 */
bool symbols_source_is_newer(const struct symbols *s, const char *file);

/* A line (from 1) of a source file, as a location has it, into out[cap]: without leading blanks and
 * its end, with spaces for tabs. It is the kept one where the file is gone or has changed since.
 * False: it is not known. */
bool symbols_source_line(struct symbols *s, const char *file, int line, char *out, size_t cap);

/* The kept text of a source file that is gone or has changed since; free() it. Lines that are not
 * kept are empty. NULL: the file is to be read, or there is no memory. */
char *symbols_source_text(struct symbols *s, const char *file, size_t *len);

/* Copies up to n code bytes at addr: the trace's own first, else the module file's when it is the
 * right one. For disassembly around executed code. Returns how many consecutive bytes were there.
 */
size_t symbols_code(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr, uint8_t *out,
		    size_t n);

/* Copies up to n bytes at addr of what a file, the right one, has there and the program cannot have
 * written. Returns how many consecutive bytes there are, up to the end of the page at most. */
size_t symbols_constant(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
			uint8_t *out, size_t n);

const struct model *symbols_model(const struct symbols *s);

struct stack_frame {
	uint64_t pc, cfa;
	bool is_return; /* pc is a return address: look it up as one */
	bool is_cut;    /* its caller is told by memory of the stack that the trace does not have */
	bool is_history; /* memory tells nothing of it: the branch history does (callstack.h) */
	bool is_guess; /* found through rbp, for want of unwind information, or found on from such a
			  frame */
	bool is_trampoline; /* the code that a handler returns to: no call made this frame; the
			       interrupted code is the next frame */
};

/* Which instruction the signal of a snapshot came from, at whose task's rip it did: the one there;
 * but the kernel tells of int3 where it would go on. */
uint64_t symbols_signal_from(struct symbols *s, const struct model_snapshot *snap, uint32_t epoch,
			     uint64_t rip);

/* The stack of a thread of a snapshot, innermost first, by DWARF unwinding from its registers and
 * the memory kept with the snapshot; at most max frames. Code without unwind information is unwound
 * by rbp, where that may be right, and the frames from there on are guesses. Where unwinding stops
 * early, *complete is false. Returns the number of frames (>= 1). */
size_t symbols_unwind(struct symbols *s, const struct model_snapshot *snap,
		      const struct bt_record_thread *thread, struct stack_frame *frames, size_t max,
		      bool *complete);

enum { FRAME_REGISTERS = 17 }; /* rax to r15 and the return address, by their DWARF numbers */

struct frame_registers {
	uint64_t value[FRAME_REGISTERS];
	uint32_t known; /* bit n: register n is */
};

/* The same stack, with the registers that each of its newest frames had, as far as callees have
 * left or saved them. registers[max]. */
size_t symbols_unwind_registers(struct symbols *s, const struct model_snapshot *snap,
				const struct bt_record_thread *thread, struct stack_frame *frames,
				struct frame_registers *registers, size_t max);

#endif
