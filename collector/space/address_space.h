/* SPDX-License-Identifier: MIT */
/* An address space of the recorded tree: its mappings, and the code pages that have been executed,
 * by epoch. Its observer (observer.h) is told of each change before anything runs in the space that
 * rests on it. Shared by the tasks of a unit; counted. Used by backends, supervisor and session.
 * One thread. */
#ifndef BT_ADDRESS_SPACE_H
#define BT_ADDRESS_SPACE_H

#include <sys/types.h>

#include "collector/space/code_pages.h"
#include "collector/space/mapped_files.h"
#include "collector/space/mappings.h"
#include "collector/space/observer.h"
#include "lib/insn.h"

/* Copies of code pages. A fork's child has the same ones as its parent, those that either comes to
 * later too, until what is executable in one of them is no more what it was at the fork. */
struct code_pages;

enum {
	MAP_RANGES = 8,
};

/* What a backend keeps for a space, copied and released with it. */
struct space_extension_ops {
	/* For a fork's child; NULL: it gets none. same: what is executable is the same in both, and
	 * changes only with a word of apart(). */
	void *(*copy)(void *extension, bool same);
	void (*release)(void *extension);
	/* What is executable changes, or has changed, in this space, and not in those that it was
	 * copied from or that were copied from it. Called before changed(). */
	void (*apart)(void *extension);
	/* The executable mapping of [start, end) has gone or changed, or a page of it that held
	 * code has. */
	void (*changed)(void *extension, uint64_t start, uint64_t end);
	/* Of a private mapping that is executable and not writable, from addr on: the end (at most
	 * `end`) of a run of pages that all are, or are not, *watched: writable as the program has
	 * it, and write-protected by the backend. */
	uint64_t (*watched)(void *extension, uint64_t addr, uint64_t end, bool *watched);
	/* The file that [start, end) is privately mapped from has been written to: what is kept of
	 * such bytes is read again, through a stopped task; tid 0: it will change at any moment,
	 * and is kept no more. Called before changed(). */
	void (*reread)(void *extension, pid_t tid, uint64_t start, uint64_t end);
};

/* Where mappings may have changed. */
struct map_change {
	bool all; /* anywhere */
	unsigned count;
	struct map_range {
		uint64_t start, end;
	} ranges[MAP_RANGES];
};

struct address_space {
	const struct observer *observer;
	const struct space_extension_ops *extension_ops;
	void *extension; /* NULL: none */
	uint32_t number, unit, epoch;
	bool stale;   /* what is known of its mappings may be older than it is */
	bool watched; /* the backend has write-protected pages of it: a SIGSEGV may be the backend's
		       */
	unsigned users;
	struct mapping_list mappings;
	struct mapped_files files; /* that code is mapped from */
	unsigned files_looked;     /* when the recorder looked at them last */
	uint64_t heap_end;         /* what brk() gave last; 0: not known */
	uint32_t code_epoch;       /* changes with the mappings that code can run in */
	bool unsure; /* its mappings may have changed elsewhere than system calls said: all are to
			be read next */
	int unread; /* why that failed last (errno): what is known of it may be wrong, nothing of it
		       is to run by that; 0 */
	bool leaves_out;         /* a fork's child does not get all of it as it is (MADV_DONTFORK,
				    MADV_WIPEONFORK) */
	struct map_change later; /* what address_space_catch_up() is to look at */
	bool reads_run;  /* what it maps to be read can be executed, too (READ_IMPLIES_EXEC of
			    personality(2)), or may */
	bool lends_code; /* a file that code is privately mapped from is, or was, mapped shared,
			    too, and not to be written: that may change (mprotect(2)) */
	bool grows; /* it has mappings that grow downward by themselves, beside the initial stack */
	uint64_t from_addr;    /* breakpoint of --from, 0: none (record/start_place.h) */
	uint64_t from_reached; /* where it stood, once it was reached */
	uint8_t from_byte;
	pid_t from_lifted; /* a task in a call behind which the memory might be out of reach: until
			      then it is not there. 0: none */
	bool from_missing; /* the place is in no file mapped so far */
	struct code_pages *pages;
	struct page_ahead {
		struct page_batch *batch; /* what is read ahead comes to lie in it; NULL: none */
		uint8_t *bytes;
		size_t used; /* pages of it */
	} ahead;
	struct address_space *next_same; /* with the same pages */
};

/* A new space with one user; parent (or NULL) is copied: mappings, epoch, code pages (by reference
 * where it can be). The observer, which stays as long as the space, is told of it. NULL without
 * memory. */
struct address_space *address_space_new(const struct observer *observer, uint32_t number,
					uint32_t unit, struct address_space *parent);
struct address_space *address_space_get(struct address_space *s);
void address_space_put(struct address_space *s);

/* Reads /proc/PID/maps; tells of what changed in a new epoch. Where that or
 * the memory cannot be read (but for a process that is gone) nothing changes but s->unread. */
void address_space_refresh(struct address_space *s, pid_t pid);

/* The same where nothing has changed but in c's ranges, and the initial stack has grown: asks for
 * what is there only. */
void address_space_update(struct address_space *s, pid_t pid, const struct map_change *c);

/* Has changed there, or may have: to be looked at by address_space_catch_up(), before the task runs
 * on where something in c's ranges is executable, or was. */
void address_space_change_later(struct address_space *s, const struct map_change *c);
/* As address_space_update(), of all such changes since the last time. */
void address_space_catch_up(struct address_space *s, pid_t pid);

/* Reads and decodes (as 32-bit code, or 64-bit) the instruction at addr, and makes sure that the
 * observer knows the code pages it is on as they are now (a changed page begins a new epoch).
 * bytes[BT_INSN_MAX] gets the instruction. Returns 0; -BT_E_TRUNCATED when the bytes cannot be
 * read; -BT_E_CORRUPT when they are no instruction. *insn is zeroed on error. */
int address_space_fetch(struct address_space *s, pid_t tid, uint64_t addr, bool code_32,
			uint8_t *bytes, struct bt_insn *insn);

enum code_kind {
	CODE_NONE,    /* not executable, or nothing is there */
	CODE_FIXED,   /* changes only by system calls that change mappings */
	CODE_MUTABLE, /* writable, or shared with a mapping that may be: can change at any moment */
};

enum code_kind address_space_code_kind(const struct address_space *s, uint64_t addr);

/* Copies up to n bytes of executable code at addr, as it is now, and makes sure that the
 * observer knows its pages (a changed page begins a new epoch, and the extension hears of the bytes
 * that changed). Returns how many there are. */
size_t address_space_code(struct address_space *s, pid_t tid, uint64_t addr, uint8_t *bytes,
			  size_t n);

/* The bytes of the page at addr where they are CODE_FIXED; the observer knows them then. NULL
 * otherwise, and where they cannot be read. Valid until the mapping goes. */
const uint8_t *address_space_fixed_page(struct address_space *s, pid_t tid, uint64_t addr);

/* The pages of these n addresses, which are about to be asked for: those that are CODE_FIXED are
 * read together, as far as they can be. */
void address_space_read_ahead(struct address_space *s, pid_t tid, const uint64_t *addrs, size_t n);

/* Of the pages from addr on, which another space had, all of which are in `pages`, those are
 * dropped there that this one has not as they are, CODE_FIXED. The others are known of this one,
 * too, then. count: at most ADDRESS_SPACE_ADOPTED. */
enum { ADDRESS_SPACE_ADOPTED = 32 };
void address_space_adopt(struct address_space *s, pid_t tid, uint64_t addr, size_t count,
			 struct code_pages *pages);

/* The copy of the page at addr where it is CODE_FIXED and has been read already, else NULL. Valid
 * until the mapping goes. */
const uint8_t *address_space_kept_page(const struct address_space *s, uint64_t addr);

/* Code has been made from the n bytes at offset `at` of a page, which are as in bytes[4096] and do
 * not change without a word: makes sure that the observer knows them, as above. Returns whether it
 * took the page for that, and so holds all of it as it is in bytes. */
bool address_space_use(struct address_space *s, uint64_t page, const uint8_t *bytes, size_t at,
		       size_t n);

/* Memory of [start, end) may have other contents now, though its mappings look the same: copies of
 * its pages go, and the extension hears of it. */
void address_space_forget(struct address_space *s, uint64_t start, uint64_t end);

/* Looks whether files that code is privately mapped from have been written to; tells of each that
 * has been since it was last looked at. Code of those is as it was known before until
 * address_space_reread(). */
void address_space_look_at_files(struct address_space *s, pid_t pid,
				 void (*written)(void *arg, const struct mapping *m), void *arg);

/* Forgets what is known of code in files that have been written to: it will be read again, some of
 * it now through the stopped task. */
void address_space_reread(struct address_space *s, pid_t tid);

/* The mapping at addr, or NULL. */
const struct mapping *address_space_map_at(const struct address_space *s, uint64_t addr);

#endif
