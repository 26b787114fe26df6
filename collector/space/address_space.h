/* SPDX-License-Identifier: MIT */
/* An address space of the recorded tree: its mappings, and the code pages that have been executed,
 * by epoch. Its observer (observer.h) is told of each change before anything runs in the space that
 * rests on it. Shared by the tasks of a unit; counted. Used by backends, supervisor and session.
 * One thread. */
#ifndef BT_ADDRESS_SPACE_H
#define BT_ADDRESS_SPACE_H

#include <sys/types.h>

#include "collector/space/code_pages.h"
#include "collector/space/function_stops.h"
#include "collector/space/mapped_files.h"
#include "collector/space/mappings.h"
#include "collector/space/observer.h"
#include "collector/space/origins.h"
#include "lib/insn.h"

/* Copies of code pages. A fork's child and its parent share them, also those that either reads
 * later, until the code of one of them is no longer as at the fork. */
struct code_pages;

enum {
	MAP_RANGES = 8,
};

/* A backend's part of a space, copied and released with it. */
struct space_extension_ops {
	/* Makes the part of a fork's child; NULL: it gets none. same: both have the same code, and
	 * apart() will tell when that ends. */
	void *(*copy)(void *extension, bool same);
	void (*release)(void *extension);
	/* The code of this space changes, or has changed, and that of its parent and children does
	 * not. Called before changed(). */
	void (*apart)(void *extension);
	/* The executable mapping of [start, end) has gone or changed, or a page of it that held
	 * code has. */
	void (*changed)(void *extension, uint64_t start, uint64_t end);
	/* In a private mapping that is executable and not writable: the end (at most `end`) of the
	 * run of pages from addr on that all are *watched, or all are not. A watched page is
	 * writable to the program, and write-protected by the backend. */
	uint64_t (*watched)(void *extension, uint64_t addr, uint64_t end, bool *watched);
	/* The file that [start, end) is privately mapped from has been written to: reads kept bytes
	 * of it again, through a stopped task; tid 0: they may change at any moment, and are kept
	 * no more. Called before changed(). */
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
	bool stale;   /* mappings are those of the parent before the fork, and may be too old */
	bool watched; /* the backend has write-protected pages: a SIGSEGV may be the backend's */
	unsigned users;
	const struct function_finder *finder; /* NULL: no task is stopped at functions */
	struct function_stops stops;
	struct mapping_list mappings;
	struct mapped_files files; /* the files that code is mapped from */
	struct origins origins;    /* of its anonymous memory, if a log tells them */
	unsigned files_looked;     /* the supervisor's count of slices at its last look at them */
	uint64_t heap_end;         /* result of the last brk(); 0: not known */
	uint32_t code_epoch;       /* changes with the mappings that code can run in */
	bool unsure; /* mappings may have changed elsewhere than system calls said: all are to be
			read next */
	int unread; /* errno of the last reading that failed: mappings may be wrong, and no code may
		       run by them; 0: none failed */
	bool leaves_out;         /* a fork's child does not get all of it as it is (MADV_DONTFORK,
				    MADV_WIPEONFORK) */
	struct map_change later; /* the change that address_space_catch_up() is to look at */
	bool reads_run;  /* readable mappings are, or may be, executable, too (READ_IMPLIES_EXEC of
			    personality(2)) */
	bool lends_code; /* a file that code is privately mapped from is, or was, also mapped shared
			    and read-only: mprotect(2) may make that writable */
	bool grows; /* it has mappings that grow downward by themselves, beside the initial stack */
	uint64_t from_addr;    /* breakpoint of --from, 0: none (record/start_location.h) */
	uint64_t from_reached; /* its address, once it was reached */
	uint8_t from_byte;
	pid_t from_lifted; /* a task in a call after which the memory may be out of reach: the
			      breakpoint is taken out during the call. 0: none */
	bool from_missing; /* the start location is in no file mapped so far */
	struct code_pages *pages;
	struct page_ahead {
		struct page_batch *batch; /* the pages that are read ahead; NULL: none */
		uint8_t *bytes;
		size_t used; /* pages of it */
	} ahead;
	struct address_space *next_same; /* with the same pages */
};

/* A new space with one user; parent (or NULL) is copied: mappings, epoch, code pages (by reference
 * where it can be), function stops. The observer, which stays as long as the space, is told of it.
 * Tasks are stopped at no function until s->finder is set. NULL without memory. */
struct address_space *address_space_new(const struct observer *observer, uint32_t number,
					uint32_t unit, struct address_space *parent);
struct address_space *address_space_get(struct address_space *s);
void address_space_put(struct address_space *s);

/* Reads /proc/PID/maps, and tells the observer what has changed, in a new epoch. If maps or memory
 * cannot be read, and the process is not gone, only s->unread changes. */
void address_space_refresh(struct address_space *s, pid_t pid);

/* The same if nothing can have changed but c's ranges, and the initial stack: reads only these. */
void address_space_update(struct address_space *s, pid_t pid, const struct map_change *c);

/* From here on tasks are stopped at the function whose entry is at addr, or (disarm) not any more.
 * To arm it again has the backend forget the code that it has made of the entry. */
void address_space_arm(struct address_space *s, uint64_t addr);
void address_space_disarm(struct address_space *s, uint64_t addr);

/* Notes that c's ranges may have changed, for address_space_catch_up(), which must come before the
 * task runs on if a mapping there is or was executable. */
void address_space_change_later(struct address_space *s, const struct map_change *c);
/* As address_space_update(), for all changes noted since the last time. */
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

/* Copies up to n bytes of executable code at addr, as it is now, and makes sure that the observer
 * knows its pages. A changed page begins a new epoch, and the extension is told of the changed
 * bytes. Returns how many bytes there are. */
size_t address_space_code(struct address_space *s, pid_t tid, uint64_t addr, uint8_t *bytes,
			  size_t n);

/* The bytes of the page at addr, if it is CODE_FIXED and can be read; the observer knows them then.
 * Else NULL. Valid until the mapping goes. */
const uint8_t *address_space_fixed_page(struct address_space *s, pid_t tid, uint64_t addr);

/* The pages of these n addresses are about to be asked for: reads those that are CODE_FIXED
 * together. */
void address_space_read_ahead(struct address_space *s, pid_t tid, const uint64_t *addrs, size_t n);

/* Takes over pages from addr on that another space had; all of them are in `pages`. A page that
 * this space has with the same bytes, CODE_FIXED, becomes one of this space; the others are dropped
 * from `pages`. count: at most ADDRESS_SPACE_ADOPTED. */
enum { ADDRESS_SPACE_ADOPTED = 32 };
void address_space_adopt(struct address_space *s, pid_t tid, uint64_t addr, size_t count,
			 struct code_pages *pages);

/* The copy of the page at addr, if it is CODE_FIXED and has been read already; else NULL. Valid
 * until the mapping goes. */
const uint8_t *address_space_kept_page(const struct address_space *s, uint64_t addr);

/* Code has been made from the n bytes at offset `at` of a page. Its contents are bytes[4096], and
 * will not change unnoticed. Makes sure that the observer knows the n bytes, as above. Returns
 * whether the whole page was taken, as it is in bytes. */
bool address_space_use(struct address_space *s, uint64_t page, const uint8_t *bytes, size_t at,
		       size_t n);

/* Whether [start, end) has executable mappings, or code that was read. */
bool address_space_has_code(const struct address_space *s, uint64_t start, uint64_t end);

/* [start, end) may have other contents now, though its mappings look the same: drops copies of its
 * pages, and tells the extension. */
void address_space_forget(struct address_space *s, uint64_t start, uint64_t end);

/* [start, end) has been written to, or mapped, by no call of the program's: its code is known no
 * more. The extension reads what it keeps of watched pages again, through the stopped task. */
void address_space_written(struct address_space *s, pid_t tid, uint64_t start, uint64_t end);

/* Looks whether files that code is privately mapped from have been written to, and calls back for
 * each that has been since the last look. Their code counts as unchanged until
 * address_space_reread(). */
void address_space_look_at_files(struct address_space *s, pid_t pid,
				 void (*written)(void *arg, const struct mapping *m), void *arg);

/* Forgets the known code of files that have been written to. It will be read again, some of it now,
 * through the stopped task. */
void address_space_reread(struct address_space *s, pid_t tid);

/* The mapping at addr, or NULL. */
const struct mapping *address_space_map_at(const struct address_space *s, uint64_t addr);

#endif
