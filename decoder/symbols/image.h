/* SPDX-License-Identifier: MIT */
/* The image of an address space: the ELF modules at their places, as one Dwfl.
 *
 * Mappings come and go, so a trace has many sets of them; an image takes in the modules of every
 * set that does not contradict it, and is shared by all spaces (forks) and epochs that agree. Used
 * by symbols and unwind only. One thread (libdwfl). */
#ifndef BT_IMAGE_H
#define BT_IMAGE_H

#include <elfutils/libdwfl.h>

#include "decoder/model/model.h"
#include "decoder/symbols/debug_unit.h"
#include "decoder/symbols/symbol_ranges.h"
#include "decoder/symbols/trace_copies.h"
#include "decoder/symbols/vouched.h"

enum image_file_state {
	IMAGE_FILE_OK,
	IMAGE_FILE_MISSING,
	IMAGE_FILE_CHANGED, /* it has another build-id, or other code */
	IMAGE_FILE_UNKNOWN, /* the trace cannot tell whether it is the one that ran: it has neither
			       a build-id nor code of it */
	IMAGE_FILE_NO_ELF,  /* something else is mapped executable */
	IMAGE_FILE_MEMORY,  /* the vdso: read from the trace */
};

struct cu_range {
	Dwarf_Addr start, end; /* as in the file */
	Dwarf_Off offset;      /* of its unit's DIE */
};

/* A module of an image. Its address is stable while the image lives: it is the Dwfl module's user
 * data. */
struct image_module {
	char *path;                /* without " (deleted)"; owned */
	char build_id[2 * 64 + 1]; /* hex, of the recorded mapping; "": none was recorded */
	uint64_t dev, ino;         /* of the recorded mapping */
	enum image_file_state state;
	uint64_t start, end;
	uint64_t reach;  /* the highest end of those that begin before it, and its own */
	uint64_t offset; /* of what lies at start, in the file */
	uint64_t map_start, map_offset; /* of the executable mapping it was found by */
	uint64_t modified; /* of IMAGE_FILE_OK: the file's time of modification, ns since 1970 */
	Dwfl_Module *mod;  /* NULL: nothing to look into. Of modules of the same file at the same
			      bias it is the same */
	uint64_t bias;     /* of IMAGE_FILE_OK: addresses in memory less those in the file */
	uint64_t moved;    /* addresses less those that mod knows: of a file of fixed addresses that
			      lies elsewhere, else 0 */
	Elf *memory_elf;   /* of IMAGE_FILE_MEMORY; Dwfl owns it once it asked for it */
	void *memory;
	struct cu_range *cus; /* index for units that .debug_aranges leaves out; sorted by start */
	size_t cu_count;
	struct unit_set units; /* those that were looked at */
	struct symbol_ranges symbols;
	bool cus_read, missing_noted, split_noted;
	bool has_debug;          /* debug information was found, at its examination */
	struct vouched *vouched; /* the image's */
	Dwarf_OOM no_memory;     /* the image's */
	bool elsewhere; /* its file is a vouched one, or a copy in the trace, and not the one at its
			   path */
	bool of_trace;  /* its file is a copy in the trace; the trace may be a stranger's */
	bool trusted;   /* only the user's word says that the file is the one that ran */
	bool refused;   /* the file that the user named has another build-id, or other code */
	/* For symbols.c. */
	bool examined, kept_told;
	uint8_t level;        /* enum symbols_level, at its examination */
	uint8_t lack;         /* enum missing_what + 1, 0: nothing; the same */
	uint32_t kept, noted; /* its numbers + 1 there (kept.h), 0: not looked for yet */
};

struct image {
	Dwfl *dwfl;
	Dwfl *fixed; /* files of fixed addresses that lie elsewhere, at their own: libdwfl knows no
			other place. NULL: none yet */
	struct image_module **modules;
	struct image_module **by_start;
	size_t count, by_start_count, cap; /* cap: of both arrays */
	bool attached;                     /* the Dwfl has its thread callbacks (unwind.c) */
	struct vouched *vouched;           /* the user's own files (--symbols); not owned */
	struct trace_copies *copies; /* the trace's copies of the program's files; not owned */
	Dwarf_OOM no_memory;         /* libdw calls it where it gets no memory; NULL: its own */
	struct unwind_context *unwinding; /* the state of the present symbols_unwind(), for the
					     Dwfl's callbacks; NULL outside it */
};

/* Makes an empty image; NULL without memory. vouched and copies are borrowed. */
struct image *image_new(struct vouched *vouched, struct trace_copies *copies, Dwarf_OOM no_memory);
void image_free(struct image *im);

/* Whether a mapping is one that modules are found by: of code, of a file or the vdso. */
bool image_has_module(const struct space_map *map);

/* True when the executable mappings do not contradict what the image holds. */
bool image_accepts(const struct image *im, const struct space_map *const *maps, size_t count);

/* Adds the modules of the mappings that are not there yet. */
void image_add(struct image *im, const struct model *m, uint32_t space, uint32_t epoch,
	       const struct space_map *const *maps, size_t count);

/* The module that covers addr and that the mapping belongs to: its file's, or its zeroed data's,
 * which are no file's. NULL: none. */
struct image_module *image_module_at(const struct image *im, const struct space_map *map,
				     uint64_t addr);

/* The file of a module with mod, or NULL; *bias: addresses less those in the file. */
Elf *image_module_elf(const struct image_module *im, GElf_Addr *bias);

/* The link-time address of an address. Without the file: its distance from where the file begins,
 * which is the same for what is linked at 0, as libraries and position-independent programs are. */
uint64_t image_module_vaddr(const struct image_module *im, uint64_t addr);

/* The DWARF of a module with mod, or NULL; *bias: addresses of mod less those in the DWARF. */
Dwarf *image_module_dwarf(struct image_module *im, Dwarf_Addr *bias);

/* The DWARF unit of an address, or NULL; *bias: addresses less those in the DWARF. */
struct debug_unit *image_module_unit(struct image_module *im, uint64_t addr, Dwarf_Addr *bias);

#endif
