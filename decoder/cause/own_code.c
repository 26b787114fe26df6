/* SPDX-License-Identifier: MIT */
#include "decoder/cause/own_code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/symbols/text.h"
#include "lib/array_size.h"
#include "lib/hash_table.h"

enum {
	FRAMES_MAX = 64,
	PATH_TEXT_MAX = 1024,
	OWN_FRAMES_MAX = 256, /* Stacks that are used up are deep, and their own code is near. */
};

enum owner {
	OWNER_LIBRARY = 1,
	OWNER_USER,
	OWNER_INLINED, /* a library's, in a function of the user's */
};

struct own_code {
	const struct model *m;
	struct symbols *s;
	/* Whether programs of the system are libraries is found out when one is met: the functions
	 * of a stack cost much to look up. */
	const struct model_snapshot *snap;
	const struct bt_record_thread *thread;
	bool programs_known, programs_are_libraries;
	struct hash_table known; /* enum owner, by known_key() */
	/* The mapping looked at last. Its parts are all of one kind where whole is true. */
	const struct space_map *map;
	uint32_t space, epoch;
	bool whole, own;
};

/* Folders of what is installed. /usr/local is the user's. */
static const char *const system_folders[] = {
	"/lib/",       "/lib32/",      "/lib64/",       "/libx32/",    "/usr/lib/",   "/usr/lib32/",
	"/usr/lib64/", "/usr/libx32/", "/usr/libexec/", "/nix/store/", "/gnu/store/", "/snap/",
};

static const char *const program_folders[] = {
	"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/lib/", "/usr/libexec/",
};

/* Libraries of the toolchain, wherever they lie: programs bring copies. Up to ".so" or a '-'. */
static const char *const toolchain_libraries[] = {
	"ld-linux-x86-64",
	"ld-linux",
	"ld-musl-x86_64",
	"libc",
	"libm",
	"libpthread",
	"libdl",
	"librt",
	"libutil",
	"libresolv",
	"libgcc_s",
	"libstdc++",
	"libc++",
	"libc++abi",
	"libunwind",
	"libgfortran",
	"libquadmath",
	"libgomp",
	"libomp",
	"libasan",
	"libtsan",
	"libubsan",
	"liblsan",
	"libatomic",
	"libclang_rt.asan",
	"libmvec",
	"libanl",
	"libnsl",
	"libthread_db",
	"libc.musl",
	"ld",
	"libclang_rt.tsan",
	"libclang_rt.ubsan_standalone",
};

/* Where the sources of systems, toolchains and packages lie. */
static const char *const source_folders[] = {
	"/usr/include/",  "/usr/local/include/", "/usr/lib/",    "/usr/lib64/",  "/usr/src/",
	"/usr/share/",    "/usr/local/go/",      "/rustc/",      "library/std/", "library/core/",
	"library/alloc/", "../sysdeps/",         "/build/glibc", "/build/gcc",   "/nix/store/",
};

/* The same, anywhere in a path. */
static const char *const source_parts[] = {
	"/.cargo/registry/", "/.cargo/git/",  "/.rustup/toolchains/",
	"/go/pkg/mod/",      "/include/c++/", "/libstdc++-v3/",
	"/libgcc/",          "/compiler-rt/", "/sysdeps/",
};

static bool begins_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool begins_with_one(const char *s, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (begins_with(s, prefixes[i]))
			return true;
	return false;
}

/* Leaves out "folder/.." as the kernel would without links: clang names what it includes so
 * (/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/bits/stl_vector.h). One that
 * does not fit stays as it is. */
static const char *without_dots(const char *file, char plain[PATH_TEXT_MAX])
{
	size_t n = 0;

	if (*file != '/' || !strstr(file, "/../") || strlen(file) >= PATH_TEXT_MAX)
		return file;
	for (const char *at = file; *at;) {
		size_t len = 1 + strcspn(at + 1, "/"); /* with the slash before */

		if (len == 3 && !memcmp(at, "/..", 3)) {
			while (n && plain[--n] != '/')
				;
		} else {
			memcpy(plain + n, at, len);
			n += len;
		}
		at += len;
	}
	plain[n] = 0;
	return plain;
}

bool own_code_is_library_source(const char *file)
{
	char plain[PATH_TEXT_MAX];

	file = without_dots(file, plain);
	if (begins_with_one(file, source_folders, ARRAY_SIZE(source_folders)))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(source_parts); i++)
		if (strstr(file, source_parts[i]))
			return true;
	return false;
}

static bool is_own_source(const char *file)
{
	return *file && *file != '<' && !own_code_is_library_source(file);
}

/* "libfoo.so", "libfoo.so.6", "libfoo.so (deleted)", and "libfoo-2.31.so" of older systems. */
static bool is_shared_library(const char *path)
{
	const char *so = strstr(text_basename(path), ".so");

	return so && (!so[3] || so[3] == '.' || so[3] == ' ');
}

bool own_code_is_toolchain_library(const char *path)
{
	const char *name = text_basename(path);

	for (size_t i = 0; i < ARRAY_SIZE(toolchain_libraries); i++) {
		size_t len = strlen(toolchain_libraries[i]);

		if (!strncmp(name, toolchain_libraries[i], len) &&
		    (name[len] == '-' || begins_with(name + len, ".so")))
			return true;
	}
	return false;
}

static bool is_system_library(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return true;
	return is_shared_library(path) &&
	       (begins_with_one(path, system_folders, ARRAY_SIZE(system_folders)) ||
		own_code_is_toolchain_library(path));
}

static bool is_system_program(const char *path)
{
	return !is_shared_library(path) &&
	       begins_with_one(path, program_folders, ARRAY_SIZE(program_folders));
}

bool own_code_is_system_program(struct slice path)
{
	char text[PATH_TEXT_MAX];
	size_t len = path.len < sizeof text ? path.len : sizeof text - 1;

	if (len)
		memcpy(text, path.at, len);
	text[len] = '\0';
	return is_system_program(text);
}

static bool has_own_source(const struct location *loc)
{
	if (is_own_source(loc->file))
		return true;
	for (size_t i = 0; i < loc->inlined_count; i++)
		if (is_own_source(loc->inlined[i].file))
			return true;
	return false;
}

static bool is_stub(const char *function)
{
	size_t len = strlen(function);

	return len > 4 && !strcmp(function + len - 4, "@plt");
}

static bool stack_has_own(struct own_code *own, const struct model_snapshot *snap,
			  const struct bt_record_thread *thread);

static bool programs_are_libraries(struct own_code *own)
{
	if (!own->programs_known)
		own->programs_are_libraries =
			own->snap && own->thread && stack_has_own(own, own->snap, own->thread);
	own->programs_known = true;
	return own->programs_are_libraries;
}

/* Whether code of the user's own function is a library's that is inlined there. */
static bool is_inlined_library(const struct location *loc)
{
	return loc->inlined_count && *loc->file && own_code_is_library_source(loc->file);
}

/* By its source; by its name where the file has no lines. */
static bool is_own_location(struct own_code *own, const struct location *loc)
{
	if (has_own_source(loc))
		return true;
	if (loc->has_lines || is_stub(loc->function))
		return false;
	return !(is_system_program(loc->module) && programs_are_libraries(own));
}

/* Two that share a key, which is not to be expected, would share an answer. */
static uint64_t known_key(const struct space_map *map, uint64_t addr)
{
	return (uintptr_t)map * 0x9E3779B97F4A7C15u ^ addr;
}

static enum owner look_up_owner(struct own_code *own, uint32_t space, uint32_t epoch, uint64_t addr)
{
	uint64_t key = known_key(own->map, addr);
	const struct hash_slot *slot = hash_table_find(&own->known, key);
	struct location loc;
	enum owner owner;

	if (slot)
		return slot->number;
	symbols_lookup(own->s, space, epoch, addr, false, &loc);
	owner = !is_own_location(own, &loc) ? OWNER_LIBRARY
		: is_inlined_library(&loc)  ? OWNER_INLINED
					    : OWNER_USER;
	/* Without memory it is looked up again. */
	hash_table_add(&own->known, (struct hash_slot){key, {owner}});
	return owner;
}

/* Code in no file is what the program made itself. */
static void take_map(struct own_code *own, uint32_t space, uint32_t epoch, uint64_t addr)
{
	own->map = trace_index_map_at(own->m->index, space, epoch, addr);
	own->space = space;
	own->epoch = epoch;
	own->own = !own->map || !is_system_library(own->map->path);
	own->whole = !own->own || !own->map || *own->map->path != '/';
}

static enum owner owner_of(struct own_code *own, uint32_t space, uint32_t epoch, uint64_t addr)
{
	/* Most branches stay in one mapping. */
	if (!own->map || own->space != space || own->epoch != epoch || addr < own->map->start ||
	    addr >= own->map->end)
		take_map(own, space, epoch, addr);
	if (own->whole)
		return own->own ? OWNER_USER : OWNER_LIBRARY;
	return look_up_owner(own, space, epoch, addr);
}

bool own_code_has(struct own_code *own, uint32_t space, uint32_t epoch, uint64_t addr)
{
	return owner_of(own, space, epoch, addr) != OWNER_LIBRARY;
}

static struct inlined_frame part_of(const struct location *loc, size_t i)
{
	return (struct inlined_frame){
		.function = i < loc->inlined_count ? loc->inlined[i].function : loc->function,
		.file = i ? loc->inlined[i - 1].file : loc->file,
		.line = i ? loc->inlined[i - 1].line : loc->line,
	};
}

struct inlined_frame own_code_part(const struct location *loc)
{
	for (size_t i = 0; i <= loc->inlined_count; i++)
		if (is_own_source(part_of(loc, i).file))
			return part_of(loc, i);
	return part_of(loc, 0);
}

bool own_code_has_part(struct own_code *own, uint32_t space, uint32_t epoch, uint64_t addr,
		       const char *file)
{
	return own_code_has(own, space, epoch, addr) && !own_code_is_library_source(file);
}

/* The function of a library that the user's own code calls there, inlined; *own: of that code.
 * NULL: none is. */
static const char *inlined_call(const struct location *loc, const char **own)
{
	for (size_t i = 1; i <= loc->inlined_count; i++)
		if (is_own_source(part_of(loc, i).file)) {
			*own = part_of(loc, i).function;
			return part_of(loc, i - 1).function;
		}
	return NULL;
}

void own_code_folded_text(struct symbols *s, const struct history_entry *entries,
			  const struct fold_line *line, char out[FOLDED_TEXT_MAX])
{
	const char *first = NULL, *own = "", *plural = line->count == 1 ? "" : "es";
	char caller[FOLDED_NAME_MAX], called[FOLDED_NAME_MAX];
	bool several = false;

	for (size_t i = 0; line->inlined && i < line->count && i < FOLDED_LOOKED_AT && !several;
	     i++) {
		const struct history_entry *e = &entries[line->entry + i];
		const char *name, *at;
		struct location loc;

		symbols_lookup(s, e->space, e->epoch, e->from, false, &loc);
		name = inlined_call(&loc, &at);
		several = name && first && (strcmp(name, first) != 0 || strcmp(at, own) != 0);
		if (name && !first) {
			first = name;
			own = at;
		}
	}
	if (!first) {
		snprintf(out, FOLDED_TEXT_MAX, "%" PRIu32 " branch%s in libraries", line->count,
			 plural);
		return;
	}
	text_brief_name(caller, sizeof caller, own);
	text_brief_name(called, sizeof called, first);
	snprintf(out, FOLDED_TEXT_MAX, "%s: %s%s inlined (%" PRIu32 " branch%s)", caller, called,
		 several ? " and others" : "", line->count, plural);
}

size_t own_code_sides(struct own_code *own, const struct history *h,
		      const struct history_entry *entries, size_t count, uint8_t *sides)
{
	static const uint8_t from_sides[] = {[OWNER_LIBRARY] = FOLD_FROM_LIBRARY,
					     [OWNER_USER] = 0,
					     [OWNER_INLINED] = FOLD_FROM_INLINED};
	static const uint8_t to_sides[] = {[OWNER_LIBRARY] = FOLD_TO_LIBRARY,
					   [OWNER_USER] = 0,
					   [OWNER_INLINED] = FOLD_TO_INLINED};
	size_t touched = 0;

	for (size_t i = 0; i < count; i++) {
		const struct history_entry *e = &entries[i];
		uint32_t space, epoch;

		sides[i] = 0;
		if (e->kind == BT_BRANCH_GAP)
			continue;
		history_target(h, e, &space, &epoch);
		sides[i] = (uint8_t)(from_sides[owner_of(own, e->space, e->epoch, e->from)] |
				     to_sides[owner_of(own, space, epoch, e->to)]);
		touched += sides[i] != (FOLD_FROM_LIBRARY | FOLD_TO_LIBRARY);
	}
	return touched;
}

/* Whether a frame of the stack is the user's own, and not a program's of the system. */
static bool stack_has_own(struct own_code *own, const struct model_snapshot *snap,
			  const struct bt_record_thread *thread)
{
	struct stack_frame frames[FRAMES_MAX];
	bool complete;
	size_t n = symbols_unwind(own->s, snap, thread, frames, FRAMES_MAX, &complete);

	for (size_t i = 0; i < n; i++) {
		struct location loc;

		symbols_lookup(own->s, snap->rec->space, thread->epoch, frames[i].pc,
			       frames[i].is_return, &loc);
		if (*loc.module == '/' && !is_system_library(loc.module) &&
		    !is_system_program(loc.module) && is_own_location(own, &loc))
			return true;
	}
	return false;
}

bool own_code_frame(struct own_code *own, const struct model_snapshot *snap,
		    const struct bt_record_thread *thread, struct own_place *place)
{
	struct stack_frame *frames = calloc(OWN_FRAMES_MAX, sizeof *frames);
	bool complete, found = false;
	size_t n = frames ? symbols_unwind(own->s, snap, thread, frames, OWN_FRAMES_MAX, &complete)
			  : 0;

	*place = (struct own_place){.addr = thread->regs.rip};
	for (size_t i = 0; i < n && !found; i++) {
		found = own_code_has(own, snap->rec->space, thread->epoch,
				     frames[i].pc - frames[i].is_return);
		if (found)
			*place = (struct own_place){frames[i].pc, frames[i].is_return};
	}
	free(frames);
	return found;
}

int own_code_open(struct own_code **out, const struct model *m, struct symbols *s,
		  const struct model_snapshot *snap, const struct bt_record_thread *thread,
		  struct bt_error *err)
{
	struct own_code *own = calloc(1, sizeof *own);

	if (!own)
		return bt_no_memory(err, NULL);
	own->m = m;
	own->s = s;
	own->snap = snap;
	own->thread = thread;
	*out = own;
	return 0;
}

void own_code_close(struct own_code *own)
{
	if (!own)
		return;
	hash_table_release(&own->known);
	free(own);
}
