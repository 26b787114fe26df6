/* SPDX-License-Identifier: MIT */
/* A Dwfl is told of each file that code was mapped from, at the place where it lay, and then
 * answers for it. A module is one such file at one place.
 *
 * Whether the file on disk is still what was mapped is found out before that (examine_file()): by
 * its build-id; without one in the trace, by the code that ran; without that, by inode and age. A
 * file that is gone or another may be one of those in the trace (trace_copies.h), else it has a
 * stand-in: the debug file with its build-id. The vdso has no
 * file: it is put together from the pages that are in the trace.
 *
 * libdwfl cannot move a file with fixed addresses. Where one lies elsewhere, a second Dwfl has it
 * at the addresses in the file, and the difference is kept in the module (`moved`).
 *
 * Modules are also sorted by their start, each with how far those up to it reach. So the modules
 * at an address are found without a look at all of them, though they may overlap. */
#include "decoder/symbols/image.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/symbols/unpacked.h"
#include "decoder/symbols/vouched.h"
#include "lib/bisect.h"
#include "lib/page.h"
#include "lib/regular_file.h"

enum {
	PROT_EXECUTE = 4,
	VDSO_MAX = 1 << 20,
	COMPARED_MAX = 1 << 30, /* bytes of a mapping of which the trace's code is compared with the
				   file's */
};

/* A search for a module's debug file. */
struct debug_search {
	struct image_module *im;
	int fd;
	char *path; /* libdwfl frees it */
};

static bool same_file(const struct image_module *im, const struct space_map *map)
{
	size_t len = space_map_path_len(map->path);

	return strlen(im->path) == len && !memcmp(im->path, map->path, len);
}

static bool is_vdso(const struct space_map *map) { return !strcmp(map->path, "[vdso]"); }

static bool is_code_map(const struct space_map *map) { return (map->prot & PROT_EXECUTE) != 0; }

static void to_hex(char out[2 * 64 + 1], const uint8_t *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";

	if (n > 64)
		n = 64;
	for (size_t i = 0; i < n; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * n] = 0;
}

/* Takes a debug file for a module: by build-id, or on the user's word where the trace has none. */
static bool take_debug_file(void *arg, int fd, const char *path)
{
	struct debug_search *search = arg;
	struct image_module *im = search->im;
	char hex[2 * 64 + 1];

	/* Of a program whose file is not there, code that was looked at has been refused. */
	vouched_build_id(fd, hex);
	if (*im->build_id ? strcmp(hex, im->build_id) != 0
			  : im->state != IMAGE_FILE_OK && vouched_has_code(fd)) {
		im->refused = true;
		return false;
	}
	search->fd = fd;
	search->path = strdup(path);
	im->trusted |= !*im->build_id;
	im->vouched->used = true;
	return true;
}

/* The user's own debug file, else where such files are installed. It asks debuginfod only when
 * DEBUGINFOD_URLS is set. */
static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			  const char *file, const char *link, GElf_Word link_crc, char **found)
{
	struct debug_search search = {.im = *userdata, .fd = -1};

	if (search.im && search.im->vouched &&
	    vouched_offer(search.im->vouched, search.im->path, search.im->build_id, take_debug_file,
			  &search)) {
		*found = search.path;
		return search.fd;
	}
	/* A stranger's file may name any: by its build-id alone. */
	if (search.im && search.im->of_trace)
		return dwfl_standard_find_debuginfo(mod, userdata, name, base, NULL, NULL, 0,
						    found);
	return dwfl_standard_find_debuginfo(mod, userdata, name, base, file, link, link_crc, found);
}

/* dwfl_standard_find_debuginfo wants the module's own file first. Where that is gone or another,
 * the separate debug file has the same segments and the symbols, so it stands in. */
static int find_stand_in(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
			 char **file_name, Elf **elf)
{
	int fd = dwfl_build_id_find_elf(mod, userdata, name, base, file_name, elf);

	if (fd < 0 && !*elf)
		fd = find_debuginfo(mod, userdata, name, base, NULL, NULL, 0, file_name);
	return fd;
}

static int find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
		    char **file_name, Elf **elf)
{
	struct image_module *im = *userdata;

	if (im && im->state == IMAGE_FILE_MEMORY) {
		*elf = im->memory_elf;
		im->memory_elf = NULL; /* the Dwfl ends it */
		return -1;
	}
	return find_stand_in(mod, userdata, name, base, file_name, elf);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address,
};

struct image *image_new(struct vouched *vouched, struct trace_copies *copies, Dwarf_OOM no_memory)
{
	struct image *im = calloc(1, sizeof *im);

	if (!im)
		return NULL;
	elf_version(EV_CURRENT);
	im->vouched = vouched;
	im->copies = copies;
	im->no_memory = no_memory;
	im->dwfl = dwfl_begin(&callbacks);
	if (!im->dwfl) {
		free(im);
		return NULL;
	}
	return im;
}

static void module_free(struct image_module *im)
{
	if (im->memory_elf)
		elf_end(im->memory_elf);
	free(im->memory);
	free(im->cus);
	unit_set_release(&im->units);
	symbol_ranges_release(&im->symbols);
	free(im->path);
	free(im);
}

void image_free(struct image *im)
{
	if (!im)
		return;
	dwfl_end(im->dwfl);
	dwfl_end(im->fixed);
	for (size_t i = 0; i < im->count; i++)
		module_free(im->modules[i]);
	free(im->modules);
	free(im->by_start);
	free(im);
}

static bool map_agrees(const struct image_module *im, const struct space_map *map)
{
	char id[2 * 64 + 1];

	if (!same_file(im, map))
		return false;
	if (map->start == im->map_start && map->offset != im->map_offset)
		return false;
	to_hex(id, map->build_id.at, map->build_id.len);
	return !*id || !strcmp(id, im->build_id) || im->state == IMAGE_FILE_MEMORY;
}

bool image_has_module(const struct space_map *map)
{
	return is_code_map(map) && (*map->path == '/' || is_vdso(map));
}

/* How many modules begin before addr. */
static size_t begin_before(const struct image *im, uint64_t addr)
{
	size_t i;

	BISECT(i, im->by_start_count, im->by_start[i]->start < addr);
	return i;
}

static void update_reach(struct image *im, size_t i)
{
	for (uint64_t reach = i ? im->by_start[i - 1]->reach : 0; i < im->by_start_count; i++) {
		struct image_module *mod = im->by_start[i];

		reach = mod->end > reach ? mod->end : reach;
		if (mod->reach == reach)
			return; /* the rest has not changed either */
		mod->reach = reach;
	}
}

/* Of a module whose range is known; there is room. */
static void index_module(struct image *im, struct image_module *mod)
{
	size_t at = begin_before(im, mod->start);

	memmove(im->by_start + at + 1, im->by_start + at,
		(im->by_start_count - at) * sizeof *im->by_start);
	im->by_start[at] = mod;
	im->by_start_count++;
	update_reach(im, at);
}

bool image_accepts(const struct image *im, const struct space_map *const *maps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = is_code_map(maps[i]) ? begin_before(im, maps[i]->end) : 0;
		     j && im->by_start[j - 1]->reach > maps[i]->start; j--) {
			const struct image_module *mod = im->by_start[j - 1];

			if (mod->end > maps[i]->start && !map_agrees(mod, maps[i]))
				return false;
		}
	return true;
}

struct image_module *image_module_at(const struct image *im, const struct space_map *map,
				     uint64_t addr)
{
	for (size_t i = begin_before(im, addr + 1); i && im->by_start[i - 1]->reach > addr; i--) {
		struct image_module *mod = im->by_start[i - 1];

		if (addr < mod->end && (!*map->path || same_file(mod, map)))
			return mod;
	}
	return NULL;
}

/* The difference between addresses in memory and in the file, by the segment that the mapping
 * shows: segments may lie at p_vaddr != p_offset, so the start of the file says nothing. */
static bool bias_of(Elf *elf, const struct space_map *map, uint64_t *bias)
{
	size_t n;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		if (map->offset < page_down(ph.p_offset) ||
		    map->offset >= ph.p_offset + ph.p_filesz)
			continue;
		*bias = map->start - map->offset + ph.p_offset - ph.p_vaddr;
		return true;
	}
	return false;
}

/* Where the trace's mappings and code are. */
struct moment {
	const struct model *m;
	uint32_t space, epoch;
};

/* By the code that ran, of which one page that differs says enough. */
static enum image_file_state compare_code(Elf *elf, const struct moment *at,
					  const struct space_map *map)
{
	enum image_file_state state = IMAGE_FILE_UNKNOWN;
	uint64_t len = map->end - map->start < COMPARED_MAX ? map->end - map->start : COMPARED_MAX;
	size_t size = 0;
	const char *bytes = elf_rawfile(elf, &size);

	for (uint64_t done = 0;
	     bytes && done < len && map->offset < size && done < size - map->offset;
	     done += BT_PAGE) {
		uint64_t offset = map->offset + done;
		uint8_t page[BT_PAGE];
		size_t n = trace_index_code(at->m->index, at->space, at->epoch, map->start + done,
					    page, BT_PAGE);

		if (n > size - offset)
			n = size - offset; /* memory goes on with zeros */
		if (memcmp(page, bytes + offset, n))
			return IMAGE_FILE_CHANGED;
		if (n)
			state = IMAGE_FILE_OK;
	}
	return state;
}

/* Whether it is the very file, as far as the trace tells (a core file does not), and older than the
 * recording. Numbers of files that are gone are given to others, such as the next build. */
static bool may_be_same(int fd, const struct moment *at, const struct space_map *map)
{
	uint64_t started = at->m->trace->header.started / 1000000000;
	struct stat st;

	if (fstat(fd, &st) || (uint64_t)st.st_mtime > started)
		return false;
	return !map->ino || (st.st_ino == map->ino && st.st_dev == map->dev);
}

/* Without a recorded build-id. */
static enum image_file_state examine_unnamed(Elf *elf, int fd, const struct moment *at,
					     const struct space_map *map, bool has_id)
{
	enum image_file_state state = compare_code(elf, at, map);

	return state == IMAGE_FILE_UNKNOWN && !has_id && may_be_same(fd, at, map) ? IMAGE_FILE_OK
										  : state;
}

static bool has_fixed_addresses(Elf *elf)
{
	GElf_Ehdr eh;

	return gelf_getehdr(elf, &eh) && eh.e_type == ET_EXEC;
}

/* Whether the open file is the mapped one; for IMAGE_FILE_OK im gets its extent. trusted: it is
 * unless something contradicts that. */
static enum image_file_state examine_file(struct image_module *im, int fd, const struct moment *at,
					  const struct space_map *map, bool trusted)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	enum image_file_state state = IMAGE_FILE_NO_ELF;
	const void *id = NULL;
	char hex[2 * 64 + 1];
	ssize_t n;

	if (elf && elf_kind(elf) == ELF_K_ELF) {
		n = dwelf_elf_gnu_build_id(elf, &id);
		to_hex(hex, id, n > 0 ? (size_t)n : 0);
		if (*im->build_id)
			state = strcmp(hex, im->build_id) ? IMAGE_FILE_CHANGED : IMAGE_FILE_OK;
		else
			state = examine_unnamed(elf, fd, at, map, *hex);
		if (trusted && state == IMAGE_FILE_UNKNOWN) {
			im->trusted = true;
			state = IMAGE_FILE_OK;
		}
		if (state == IMAGE_FILE_OK && !bias_of(elf, map, &im->bias))
			state = IMAGE_FILE_NO_ELF;
		im->moved = has_fixed_addresses(elf) ? im->bias : 0;
	} else if (*im->build_id) {
		state = IMAGE_FILE_CHANGED;
	}
	elf_end(elf);
	return state;
}

/* When the file cannot say where it begins and ends in memory: with the mappings of it that adjoin.
 */
static void take_extent(struct image_module *im, const struct moment *at)
{
	const struct space_map *next;

	while (im->offset &&
	       (next = trace_index_map_at(at->m->index, at->space, at->epoch, im->start - 1)) &&
	       same_file(im, next)) {
		im->start = next->start;
		im->offset = next->offset;
	}
	while ((next = trace_index_map_at(at->m->index, at->space, at->epoch, im->end)) &&
	       same_file(im, next) && next->offset)
		im->end = next->end;
}

/* Debug files are found by build-id. */
static void report_stand_in(struct image *image, struct image_module *im,
			    const struct space_map *map)
{
	if (!map->build_id.len && !(im->vouched && im->vouched->path))
		return;
	im->mod = dwfl_report_module(image->dwfl, im->path, im->start, im->end);
	if (im->mod && map->build_id.len)
		dwfl_module_report_build_id(im->mod, map->build_id.at, map->build_id.len, 0);
}

/* Only pages that ran are in the trace. Section headers that are missing must not be taken for
 * empty ones: without any, the symbols are found by the dynamic segment. */
static void forget_sections(uint8_t *image, size_t size, const bool *present)
{
	Elf64_Ehdr *eh = (Elf64_Ehdr *)(void *)image;
	uint64_t end = eh->e_shoff + (uint64_t)eh->e_shnum * sizeof(Elf64_Shdr);

	if (eh->e_shnum && eh->e_shoff < size && end <= size && present[eh->e_shoff / BT_PAGE] &&
	    present[(end - 1) / BT_PAGE])
		return;
	eh->e_shoff = 0;
	eh->e_shnum = eh->e_shstrndx = 0;
}

static void report_vdso(struct image *image, struct image_module *im, const struct model *m,
			uint32_t space, uint32_t epoch, const struct space_map *map)
{
	size_t size = map->end - map->start;
	bool present[VDSO_MAX / BT_PAGE];

	im->state = IMAGE_FILE_MEMORY;
	if (size < BT_PAGE || size > VDSO_MAX || size % BT_PAGE || !(im->memory = calloc(1, size)))
		return;
	for (uint64_t at = 0; at < size; at += BT_PAGE)
		present[at / BT_PAGE] =
			trace_index_code(m->index, space, epoch, map->start + at,
					 (uint8_t *)im->memory + at, BT_PAGE) == BT_PAGE;
	if (!present[0] || memcmp(im->memory, ELFMAG, SELFMAG))
		return;
	forget_sections(im->memory, size, present);
	im->memory_elf = elf_memory(im->memory, size);
	if (im->memory_elf)
		im->mod = dwfl_report_module(image->dwfl, im->path, map->start, map->end);
}

static uint64_t modification_time(int fd)
{
	struct stat st;

	return fstat(fd, &st) || st.st_mtim.tv_sec < 0
		       ? 0
		       : (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

/* Programs map pieces of their own file anew (V8 does): the Dwfl gets a file once at each place,
 * because reporting it again lets go of what it had. */
static Dwfl_Module *reported_before(const struct image *image, const struct image_module *im)
{
	for (size_t i = 0; i < image->count; i++) {
		const struct image_module *other = image->modules[i];
		bool same_place =
			im->moved ? other->moved != 0 : !other->moved && other->bias == im->bias;

		if (other != im && other->mod && other->state == IMAGE_FILE_OK && same_place &&
		    !strcmp(other->path, im->path) && !strcmp(other->build_id, im->build_id))
			return other->mod;
	}
	return NULL;
}

/* Names in a Dwfl are paths, but no two are the same: a module of the same name and range would be
 * taken for the old one. */
static Dwfl_Module *report_elf(struct image *image, const struct image_module *im, int fd)
{
	Dwfl *dwfl = im->moved ? image->fixed : image->dwfl;
	Dwfl_Module *mod;
	char *name;

	if (!dwfl || asprintf(&name, "%s@%zu", im->path, image->count) < 0)
		return NULL;
	mod = dwfl_report_elf(dwfl, name, im->path, fd, im->moved ? 0 : im->bias, true);
	free(name);
	return mod;
}

/* Takes fd. */
static void report_right_file(struct image *image, struct image_module *im, int fd)
{
	im->modified = modification_time(fd);
	if (im->moved && !image->fixed && (image->fixed = dwfl_begin(&callbacks)))
		dwfl_report_begin_add(image->fixed);
	im->mod = reported_before(image, im);
	if (!im->mod) {
		fd = unpacked_file(fd);
		im->mod = report_elf(image, im, fd);
		if (im->mod)
			return; /* fd is the Dwfl's now */
	}
	close(fd);
}

/* A module, where the file that was recorded is not there. */
struct vouching {
	struct image_module *im;
	const struct moment *moment;
	const struct space_map *map;
	struct strange_time *time;
	int fd;
};

static bool take_vouched(void *arg, int fd, const char *path)
{
	struct vouching *v = arg;
	enum image_file_state state;

	(void)path;
	if (!vouched_has_code(fd))
		return false;
	state = examine_file(v->im, fd, v->moment, v->map, true);
	v->im->refused |= state != IMAGE_FILE_OK;
	v->fd = fd;
	return state == IMAGE_FILE_OK;
}

static bool take_copy(void *arg, int fd, const char *path)
{
	struct vouching *v = arg;

	(void)path;
	v->fd = fd;
	v->im->of_trace = examine_file(v->im, fd, v->moment, v->map, false) == IMAGE_FILE_OK;
	v->im->units.time = v->im->of_trace ? v->time : NULL;
	return v->im->of_trace;
}

/* Whether another file than the one at its path is the module's. */
static bool offer_others(struct image *image, struct vouching *v)
{
	struct image_module *im = v->im;

	if (vouched_offer(im->vouched, im->path, im->build_id, take_vouched, v)) {
		im->vouched->used = true;
		return true;
	}
	return trace_copies_offer(image->copies, v->moment->m->trace, im->build_id, take_copy, v);
}

static void report_file(struct image *image, struct image_module *im, const struct moment *moment,
			const struct space_map *map)
{
	struct vouching vouching = {im, moment, map, &image->copies->time, -1};
	struct stat st;
	int fd = regular_file_open(AT_FDCWD, im->path, &st);

	im->state = fd < 0 ? IMAGE_FILE_MISSING : examine_file(im, fd, moment, map, false);
	if (im->state != IMAGE_FILE_OK && offer_others(image, &vouching)) {
		if (fd >= 0)
			close(fd);
		fd = vouching.fd;
		im->state = IMAGE_FILE_OK;
		im->elsewhere = true;
	}
	if (im->state == IMAGE_FILE_OK) {
		report_right_file(image, im, fd);
		fd = -1;
	} else if (im->state != IMAGE_FILE_NO_ELF) {
		take_extent(im, moment);
		report_stand_in(image, im, map);
	}
	if (fd >= 0)
		close(fd);
}

static bool grow_modules(struct image *image)
{
	size_t cap = image->cap ? image->cap * 2 : 16;
	struct image_module **modules, **by_start;

	if (image->count < image->cap)
		return true;
	modules = realloc(image->modules, cap * sizeof *modules);
	if (modules)
		image->modules = modules;
	by_start = realloc(image->by_start, cap * sizeof *by_start);
	if (by_start)
		image->by_start = by_start;
	if (modules && by_start)
		image->cap = cap;
	return modules && by_start;
}

static struct image_module *module_new(struct image *image, const struct space_map *map)
{
	struct image_module *im = grow_modules(image) ? calloc(1, sizeof *im) : NULL;

	if (!im)
		return NULL;
	im->path = strndup(map->path, space_map_path_len(map->path));
	if (!im->path) {
		module_free(im);
		return NULL;
	}
	to_hex(im->build_id, map->build_id.at, map->build_id.len);
	im->vouched = image->vouched;
	im->no_memory = image->no_memory;
	im->dev = map->dev;
	im->ino = map->ino;
	im->map_start = im->start = map->start;
	im->map_offset = im->offset = map->offset;
	im->end = map->end;
	image->modules[image->count++] = im;
	return im;
}

/* Dwfl tells of the whole module, all its segments. */
static void take_range(struct image_module *im)
{
	Dwarf_Addr start, end;
	void **userdata;

	if (!im->mod || !dwfl_module_info(im->mod, &userdata, &start, &end, NULL, NULL, NULL, NULL))
		return;
	*userdata = im;
	/* A moved module is a piece of its file, and only that piece is known to be there. */
	if (!im->moved && start <= im->start && end >= im->end) {
		im->start = start;
		im->end = end;
	}
}

void image_add(struct image *image, const struct model *m, uint32_t space, uint32_t epoch,
	       const struct space_map *const *maps, size_t count)
{
	struct moment moment = {.m = m, .space = space, .epoch = epoch};

	dwfl_report_begin_add(image->dwfl);
	if (image->fixed)
		dwfl_report_begin_add(image->fixed);
	for (size_t i = 0; i < count; i++) {
		struct image_module *im;

		if (!image_has_module(maps[i]))
			continue;
		if (image_module_at(image, maps[i], maps[i]->start))
			continue;
		im = module_new(image, maps[i]);
		if (!im)
			break;
		if (is_vdso(maps[i]))
			report_vdso(image, im, m, space, epoch, maps[i]);
		else
			report_file(image, im, &moment, maps[i]);
		take_range(im);
		index_module(image, im);
	}
	dwfl_report_end(image->dwfl, NULL, NULL);
	if (image->fixed)
		dwfl_report_end(image->fixed, NULL, NULL);
}

static int compare_cus(const void *a, const void *b)
{
	const struct cu_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool add_cu(struct image_module *im, size_t *cap, struct cu_range r)
{
	if (im->cu_count == *cap) {
		struct cu_range *cus;

		*cap = *cap ? *cap * 2 : 64;
		cus = realloc(im->cus, *cap * sizeof *cus);
		if (!cus)
			return false;
		im->cus = cus;
	}
	im->cus[im->cu_count++] = r;
	return true;
}

static int compare_offsets(const void *a, const void *b)
{
	const Dwarf_Off *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The units of which .debug_aranges tells where they lie, in order; free() them. NULL: none. */
static Dwarf_Off *units_with_ranges(Dwarf *dw, size_t *count)
{
	Dwarf_Aranges *ranges;
	Dwarf_Off *units;
	size_t n;

	*count = 0;
	if (dwarf_getaranges(dw, &ranges, &n) || !n || !(units = malloc(n * sizeof *units)))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Arange *range = dwarf_onearange(ranges, i);
		Dwarf_Off at;

		if (range && !dwarf_getarangeinfo(range, NULL, NULL, &at) &&
		    (!*count || units[*count - 1] != at))
			units[(*count)++] = at;
	}
	if (*count)
		qsort(units, *count, sizeof *units, compare_offsets);
	return units;
}

/* clang writes no .debug_aranges, and what is assembled by hand often has none: then the units
 * themselves say. libdwfl has found those that it tells of: to ask all of a C library is slow. */
static void read_cus(struct image_module *im, Dwarf *dw)
{
	Dwarf_Die *cu = NULL;
	Dwarf_Addr bias, base, start, end;
	size_t cap = 0, known;
	Dwarf_Off *units = units_with_ranges(dw, &known);

	im->cus_read = true;
	while ((cu = dwfl_module_nextcu(im->mod, cu, &bias))) {
		Dwarf_Off offset = dwarf_dieoffset(cu);

		if (known && bsearch(&offset, units, known, sizeof *units, compare_offsets))
			continue;
		for (ptrdiff_t at = 0; (at = dwarf_ranges(cu, at, &base, &start, &end)) > 0;)
			if (strange_time_is_over(im->units.time) ||
			    !add_cu(im, &cap, (struct cu_range){start, end, offset}))
				goto out;
	}
	if (im->cu_count)
		qsort(im->cus, im->cu_count, sizeof *im->cus, compare_cus);
out:
	free(units);
}

static const struct cu_range *cu_at(const struct image_module *im, Dwarf_Addr addr)
{
	size_t i;

	BISECT(i, im->cu_count, im->cus[i].start <= addr);
	return i && addr < im->cus[i - 1].end ? &im->cus[i - 1] : NULL;
}

Elf *image_module_elf(const struct image_module *im, GElf_Addr *bias)
{
	Elf *elf = dwfl_module_getelf(im->mod, bias);

	*bias += elf ? im->moved : 0;
	return elf;
}

uint64_t image_module_vaddr(const struct image_module *im, uint64_t addr)
{
	GElf_Addr bias;

	return im->mod && image_module_elf(im, &bias) ? addr - bias : addr - im->start + im->offset;
}

/* The unit by libdwfl, which gives the gaps between a unit's functions, where other units without
 * debug information are, to that unit. */
static struct debug_unit *unit_that_dwfl_tells(struct image_module *im, uint64_t addr,
					       Dwarf_Addr pc)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = dwfl_module_addrdie(im->mod, addr - im->moved, &bias);
	struct debug_unit *u = cu ? unit_of(&im->units, cu) : NULL;

	return u && unit_covers(u, pc) ? u : NULL;
}

Dwarf *image_module_dwarf(struct image_module *im, Dwarf_Addr *bias)
{
	Dwarf *dw = dwfl_module_getdwarf(im->mod, bias);

	if (dw && im->no_memory)
		dwarf_new_oom_handler(dw, im->no_memory);
	return dw;
}

struct debug_unit *image_module_unit(struct image_module *im, uint64_t addr, Dwarf_Addr *bias)
{
	Dwarf *dw = image_module_dwarf(im, bias);
	const struct cu_range *r;
	Dwarf_Die die;
	struct debug_unit *u;

	if (!dw || strange_time_is_over(im->units.time))
		return NULL;
	*bias += im->moved;
	u = unit_that_dwfl_tells(im, addr, addr - *bias);
	if (u)
		return u;
	if (!im->cus_read)
		read_cus(im, dw);
	r = cu_at(im, addr - *bias);
	return r && dwarf_offdie(dw, r->offset, &die) ? unit_of(&im->units, &die) : NULL;
}
