/* SPDX-License-Identifier: MIT */
/* An address is looked up in three steps: the mapping that it lies in, the module of that mapping,
 * and in the module the function, line and inlined frames.
 *
 * A module is in an image (image.h). Mappings of code are looked up one by one, and the module of
 * each is kept by the mapping. An address of data may belong to a module that another mapping
 * showed; for these the image of all mappings of the epoch is made, and kept by space and epoch.
 *
 * Each answer is kept by module, address and whether it is a return address. Strings are kept
 * once; all lives as long as the symbols.
 *
 * What a module lacks is asked for once (check_missing()) and named once, for looking for debug
 * files is slow. */
#include "decoder/symbols/symbols.h"

#include <elfutils/libdwfl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoder/symbols/answers.h"
#include "decoder/symbols/debug_name.h"
#include "decoder/symbols/inlined.h"
#include "decoder/symbols/intern.h"
#include "decoder/symbols/module_level.h"
#include "decoder/symbols/plt.h"
#include "decoder/symbols/seen_sources.h"
#include "decoder/symbols/source.h"
#include "decoder/symbols/symbols_private.h"
#include "decoder/symbols/unpacked.h"
#include "lib/array_size.h"
#include "lib/content_hash.h"
#include "lib/demangle.h"
#include "lib/grow.h"
#include "lib/hash_table.h"
#include "lib/page.h"

enum {
	PROT_EXECUTE = 4,
};

/* Which image a space has at an epoch. */
struct space_image {
	uint32_t space, epoch;
	struct image *image;
};

/* A lookup's result. */
struct cached {
	const struct image_module *module;
	bool is_return;
	struct location loc;
};

struct symbols {
	const struct model *model;
	struct intern strings;
	struct image **images;
	size_t image_count;
	struct space_image *views; /* sorted by space and epoch */
	size_t view_count, view_cap;
	struct hash_table mapped; /* whose code a mapping is, by its address: the module's address,
				     or 0 for nobody's that is known, + 1 */
	struct cached *cache;
	size_t cache_count, cache_cap;
	struct hash_table cached; /* the number in the cache, counted from 1 on, by cache_key() */
	struct inlined_frame **inlined; /* to free */
	size_t inlined_count;
	struct missing_module *missing;
	size_t missing_count;
	struct seen_sources sources;
	struct answers answers;
	struct vouched vouched;
	struct trace_copies copies;
	Dwarf_OOM no_memory;
};

int symbols_open(struct symbols **out, const struct model *m, struct bt_error *err)
{
	struct symbols *s = calloc(1, sizeof *s);

	if (!s)
		return bt_no_memory(err, NULL);
	s->model = m;
	trace_copies_init(&s->copies);
	*out = s;
	return 0;
}

void symbols_on_no_memory(struct symbols *s, Dwarf_OOM end) { s->no_memory = end; }

void symbols_close(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->image_count; i++)
		image_free(s->images[i]);
	for (size_t i = 0; i < s->inlined_count; i++)
		free(s->inlined[i]);
	intern_release(&s->strings);
	free(s->images);
	free(s->views);
	hash_table_release(&s->mapped);
	hash_table_release(&s->cached);
	free(s->cache);
	free(s->inlined);
	free(s->missing);
	seen_sources_release(&s->sources);
	answers_release(&s->answers);
	trace_copies_release(&s->copies);
	free(s);
}

const struct model *symbols_model(const struct symbols *s) { return s->model; }

static bool images_push(struct symbols *s, struct image *im)
{
	struct image **images = realloc(s->images, (s->image_count + 1) * sizeof *images);

	if (!images)
		return false;
	s->images = images;
	images[s->image_count++] = im;
	return true;
}

/* The newest image that the mappings do not contradict, else a new one. */
static struct image *image_for(struct symbols *s, const struct space_map *const *maps, size_t count)
{
	struct image *im;

	for (size_t i = s->image_count; i-- > 0;)
		if (image_accepts(s->images[i], maps, count))
			return s->images[i];
	im = image_new(&s->vouched, &s->copies, s->no_memory);
	if (im && !images_push(s, im)) {
		image_free(im);
		return NULL;
	}
	return im;
}

/* The index of the view, or where it belongs. */
static size_t view_index(const struct symbols *s, uint32_t space, uint32_t epoch)
{
	size_t low = 0, high = s->view_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct space_image *v = &s->views[mid];

		if (v->space < space || (v->space == space && v->epoch < epoch))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static bool insert_view(struct symbols *s, size_t at, struct space_image v)
{
	struct space_image *views = array_grow(s->views, s->view_count, &s->view_cap, sizeof v);

	if (!views)
		return false;
	s->views = views;
	memmove(&s->views[at + 1], &s->views[at], (s->view_count - at) * sizeof v);
	s->views[at] = v;
	s->view_count++;
	return true;
}

struct image *symbols_image(struct symbols *s, uint32_t space, uint32_t epoch)
{
	size_t at = view_index(s, space, epoch), count;
	const struct space_map **maps = NULL;
	struct image *im;

	if (at < s->view_count && s->views[at].space == space && s->views[at].epoch == epoch)
		return s->views[at].image;
	count = trace_index_maps(s->model->index, space, epoch, &maps);
	im = image_for(s, maps, count);
	if (im && insert_view(s, at, (struct space_image){space, epoch, im}))
		image_add(im, s->model, space, epoch, maps, count);
	free(maps);
	return im;
}

/* The image that has the module of a mapping of code, else the newest that may take it in. */
static struct image *image_for_map(struct symbols *s, const struct space_map *map)
{
	for (size_t i = s->image_count; i-- > 0;)
		if (image_module_at(s->images[i], map, map->start) &&
		    image_accepts(s->images[i], &map, 1))
			return s->images[i];
	return image_for(s, &map, 1);
}

/* Mappings come and go by the thousand; those of code, of which a history has most of its
 * addresses, are looked into one by one. */
static struct image_module *module_of_code(struct symbols *s, uint32_t space, uint32_t epoch,
					   const struct space_map *map)
{
	struct image *im;

	if (!image_has_module(map))
		return NULL;
	im = image_for_map(s, map);
	if (im)
		image_add(im, s->model, space, epoch, &map, 1);
	return im ? image_module_at(im, map, map->start) : NULL;
}

/* The module that an address of a mapping is in, or NULL. Data may belong to the module of another
 * mapping, so all modules are looked at. */
static struct image_module *module_at(struct symbols *s, uint32_t space, uint32_t epoch,
				      const struct space_map *map, uint64_t addr)
{
	struct image_module *module;
	const struct hash_slot *slot;
	struct image *im;

	if (!(map->prot & PROT_EXECUTE)) {
		im = symbols_image(s, space, epoch);
		return im ? image_module_at(im, map, addr) : NULL;
	}
	slot = hash_table_find(&s->mapped, (uintptr_t)map);
	if (slot)
		return (struct image_module *)(uintptr_t)(slot->number - 1);
	module = module_of_code(s, space, epoch, map);
	hash_table_add(&s->mapped,
		       (struct hash_slot){
			       (uintptr_t)map,
			       {(uintptr_t)module + 1}}); /* without memory it is looked up again */
	return module;
}

struct image_module *symbols_module(struct symbols *s, uint32_t space, uint32_t epoch,
				    uint64_t addr)
{
	const struct space_map *map = trace_index_map_at(s->model->index, space, epoch, addr);

	return map ? module_at(s, space, epoch, map, addr) : NULL;
}

struct strange_time *symbols_strange_time(struct symbols *s)
{
	return s->copies.count ? &s->copies.time : NULL;
}

struct intern *symbols_strings(struct symbols *s) { return &s->strings; }

/* Whether both are reasons why names are missing, of which one is told of a module, and none that
 * is told beside them. */
static bool is_same_remark(enum missing_what a, enum missing_what b)
{
	return (a == MISSING_VOUCHED) == (b == MISSING_VOUCHED) &&
	       (a == MISSING_SLOW) == (b == MISSING_SLOW);
}

/* Names what lookups miss, once. */
static void add_missing(struct symbols *s, const char *module, const char *build_id,
			enum missing_what what, const char *source)
{
	struct missing_module *missing;
	const char *path = intern_str(&s->strings, module), *id = intern_str(&s->strings, build_id);

	for (size_t i = 0; i < s->missing_count; i++)
		if (s->missing[i].source == source && is_same_remark(s->missing[i].what, what) &&
		    (source || (s->missing[i].module == path && s->missing[i].build_id == id)))
			return;
	missing = realloc(s->missing, (s->missing_count + 1) * sizeof *missing);
	if (!missing)
		return;
	s->missing = missing;
	missing[s->missing_count++] = (struct missing_module){
		.module = path, .build_id = id, .what = what, .source = source};
}

static void note_missing(struct symbols *s, const struct image_module *mod, enum missing_what what,
			 const char *source)
{
	add_missing(s, mod->path, mod->build_id, what, source);
}

/* The answers that the trace keeps; NULL: none. */
static const struct kept *kept_of(struct symbols *s)
{
	bool was_read = s->answers.read;
	const struct kept *k = answers_kept(&s->answers, s->model->trace);

	if (!was_read && s->answers.damaged)
		add_missing(s, "symbols", "", MISSING_KEPT, NULL);
	return k;
}

static const struct kept_source *kept_source_of(struct symbols *s, const char *path)
{
	const struct kept *k = kept_of(s);

	return k ? kept_find_source(k, path) : NULL;
}

/* A source that was edited after the program was built has other lines. The program was there when
 * the recording began, whatever the file's date says: it may have been copied since. */
static void check_source(struct symbols *s, const struct image_module *mod, const char *path)
{
	const uint64_t real =
		315532800u *
		UINT64_C(
			1000000000); /* 1980: dates before that are made up (reproducible builds) */
	uint64_t started = s->model->trace->header.started,
		 built = started && started < mod->modified ? started : mod->modified;
	const struct kept_source *source;

	if (!*path || built < real || !seen_sources_add(&s->sources, mod, path) ||
	    !source_is_newer(path, built))
		return;
	source = kept_source_of(s, path);
	if (!source || source->newer)
		note_missing(s, mod, MISSING_SOURCE, path);
}

/* Whether the split debug information of a module is packed into one file, FILE.dwp, where gdb
 * looks for it: beside the module, or beside its debug file. */
static bool has_package(const struct image_module *mod)
{
	const char *beside[] = {mod->path, NULL};
	bool found = false;

	dwfl_module_info(mod->mod, NULL, NULL, NULL, NULL, NULL, NULL, &beside[1]);
	for (size_t i = 0; i < ARRAY_SIZE(beside) && !found; i++) {
		char *package;

		if (!beside[i] || asprintf(&package, "%s.dwp", beside[i]) < 0)
			continue;
		found = !access(package, R_OK);
		free(package);
	}
	return found;
}

static void check_missing(struct symbols *s, struct image_module *mod)
{
	module_examine(mod);
	if (mod->trusted && !mod->missing_noted)
		note_missing(s, mod, MISSING_VOUCHED, NULL);
	if (mod->refused && mod->state != IMAGE_FILE_OK)
		mod->lack = MISSING_REFUSED + 1;
	if (mod->lack && !mod->missing_noted)
		note_missing(s, mod, (enum missing_what)(mod->lack - 1), NULL);
	mod->missing_noted = true;
}

static void look_up_line(struct symbols *s, Dwarf_Die *unit, Dwarf_Addr pc, struct location *loc)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, pc);
	int number = 0;

	if (!line)
		return;
	dwarf_lineno(line, &number);
	loc->line = number;
	loc->file = source_path(&s->strings, unit, dwarf_linesrc(line, NULL, NULL));
}

static void keep_inlined(struct symbols *s, struct location *loc, struct inlined_result *r)
{
	struct inlined_frame **all;

	if (!r->count)
		return;
	all = realloc(s->inlined, (s->inlined_count + 1) * sizeof *all);
	if (!all) {
		free(r->frames);
		return;
	}
	s->inlined = all;
	all[s->inlined_count++] = r->frames;
	loc->inlined = r->frames;
	loc->inlined_count = r->count;
}

static void look_up_debug(struct symbols *s, struct image_module *mod, uint64_t pc,
			  struct location *loc)
{
	Dwarf_Addr bias;
	struct debug_unit *unit = image_module_unit(mod, pc, &bias);
	struct inlined_result r;
	bool split_missing;

	if (!unit)
		return;
	look_up_line(s, &unit->die, pc - bias, loc);
	unit = unit_with_functions(&mod->units, unit, &split_missing);
	if (split_missing && !mod->split_noted)
		note_missing(s, mod, has_package(mod) ? MISSING_PACKAGE : MISSING_SPLIT, NULL);
	mod->split_noted |= split_missing;
	inlined_at(&s->strings, &mod->units, unit, pc - bias, &r);
	keep_inlined(s, loc, &r);
	check_source(s, mod, loc->file);
	for (size_t i = 0; i < loc->inlined_count; i++)
		check_source(s, mod, loc->inlined[i].file);
	if (!*loc->function && *r.function) {
		loc->function = r.function;
		loc->offset = r.entry ? loc->addr - (r.entry + bias) : 0;
	}
}

static void look_up_symbol(struct symbols *s, struct image_module *mod, uint64_t pc,
			   struct location *loc)
{
	GElf_Off offset;
	char plain[1024];
	const char *name = symbol_ranges_find(&mod->symbols, mod->mod, pc - mod->moved, &offset);

	if (!name || !*name)
		return;
	snprintf(plain, sizeof plain, "%s", name);
	plain[strcspn(plain, "@")] = 0; /* the version of a library's symbol */
	loc->function =
		readable_name(&s->strings, strlen(name) < sizeof plain && *plain ? plain : name);
	loc->offset = offset + (loc->addr - pc);
}

static void look_up_stub(struct symbols *s, struct image_module *mod, struct location *loc)
{
	GElf_Addr bias;
	Elf *elf = image_module_elf(mod, &bias);
	uint64_t start;
	const char *target = plt_target(elf, loc->addr - bias, &start);
	char *plain, *name;

	if (!target)
		return;
	plain = demangle(target);
	if (asprintf(&name, "%s@plt", plain ? plain : target) >= 0) {
		loc->function = intern_str(&s->strings, name);
		loc->offset = loc->addr - bias - start;
		free(name);
	}
	free(plain);
}

static void ask_module(struct symbols *s, struct image_module *mod, bool is_return,
		       struct location *loc)
{
	uint64_t pc = loc->addr - is_return;

	check_missing(s, mod);
	loc->has_lines = mod->has_debug;
	loc->vaddr = image_module_vaddr(mod, loc->addr);
	if (!mod->mod)
		return;
	look_up_symbol(s, mod, pc, loc);
	look_up_debug(s, mod, pc, loc);
	if (!*loc->function)
		look_up_stub(s, mod, loc);
}

static void look_up_in_module(struct symbols *s, struct image_module *mod, bool is_return,
			      struct location *loc)
{
	if (strange_time_is_over(mod->units.time)) {
		note_missing(s, mod, MISSING_SLOW, NULL);
		loc->vaddr = image_module_vaddr(mod, loc->addr);
		return;
	}
	strange_time_begin(mod->units.time);
	ask_module(s, mod, is_return, loc);
	strange_time_end(mod->units.time);
}

/* Repeats the remarks on missing files that were made when the answers were kept, about the module
 * and its sources. */
static void tell_as_then(struct symbols *s, struct image_module *mod,
			 const struct kept_module *then, const struct location *loc)
{
	if (then->missing && !mod->kept_told)
		note_missing(s, mod, (enum missing_what)(then->missing - 1), NULL);
	mod->kept_told = true;
	for (size_t i = 0; i <= loc->inlined_count; i++) {
		const char *file = i ? loc->inlined[i - 1].file : loc->file;
		const struct kept_source *source = kept_source_of(s, file);

		if (source && source->newer)
			note_missing(s, mod, MISSING_SOURCE, source->path);
	}
}

/* In what the trace keeps, where the module's files tell less than they did then. */
static bool look_up_kept(struct symbols *s, struct image_module *mod, const struct space_map *map,
			 uint32_t space, bool is_return, struct location *loc)
{
	const struct kept_module *then;

	kept_of(s);
	then = answers_look_up(&s->answers, mod, map, space, is_return, loc);
	if (then && mod)
		tell_as_then(s, mod, then, loc);
	return then;
}

static uint64_t cache_key(const struct cached *c)
{
	const uint64_t parts[] = {(uintptr_t)c->module, c->loc.addr, c->is_return};

	return content_hash(parts, sizeof parts).first;
}

struct wanted_location {
	const struct symbols *symbols;
	struct cached what;
};

static bool is_cached(const void *arg, const struct hash_slot *slot)
{
	const struct wanted_location *w = arg;
	const struct cached *c = &w->symbols->cache[slot->number - 1];

	return c->module == w->what.module && c->loc.addr == w->what.loc.addr &&
	       c->is_return == w->what.is_return;
}

/* Without memory it is looked up again the next time. */
static void keep_cached(struct symbols *s, uint64_t key, const struct cached *what)
{
	struct cached *cache = array_grow(s->cache, s->cache_count, &s->cache_cap, sizeof *cache);

	if (!cache)
		return;
	s->cache = cache;
	if (hash_table_add(&s->cached, (struct hash_slot){key, {s->cache_count + 1}}))
		cache[s->cache_count++] = *what;
}

static void look_up_cached(struct symbols *s, struct image_module *mod, bool is_return,
			   struct location *loc)
{
	struct wanted_location wanted = {s, {.module = mod, .is_return = is_return, .loc = *loc}};
	uint64_t key = cache_key(&wanted.what);
	const struct hash_slot *slot = hash_table_find_same(&s->cached, key, is_cached, &wanted);

	if (slot) {
		*loc = s->cache[slot->number - 1].loc;
		return;
	}
	look_up_in_module(s, mod, is_return, loc);
	wanted.what.loc = *loc;
	keep_cached(s, key, &wanted.what);
}

void symbols_lookup(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
		    bool is_return, struct location *loc)
{
	const struct space_map *map = trace_index_map_at(s->model->index, space, epoch, addr);
	struct image_module *mod;

	*loc = (struct location){
		.addr = addr, .module = "", .build_id = "", .function = "", .file = ""};
	if (!map)
		return;
	mod = module_at(s, space, epoch, map, addr);
	if (!mod) {
		if (look_up_kept(s, NULL, map, space, is_return, loc))
			return;
		loc->module = intern_str(&s->strings, map->path);
		loc->vaddr = addr - map->start + map->offset;
		loc->in_file = *map->path == '/';
		return;
	}
	loc->module = intern_str(&s->strings, mod->path);
	loc->build_id = intern_str(&s->strings, mod->build_id);
	loc->in_file = true;
	if (look_up_kept(s, mod, map, space, is_return, loc))
		return;
	look_up_cached(s, mod, is_return, loc);
	answers_note_place(&s->answers, mod, map, space, is_return, loc);
}

bool symbols_file_is_there(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr)
{
	const struct space_map *map = trace_index_map_at(s->model->index, space, epoch, addr);
	const struct image_module *mod = map ? module_at(s, space, epoch, map, addr) : NULL;

	return !mod || (!mod->elsewhere && mod->state != IMAGE_FILE_MISSING &&
			mod->state != IMAGE_FILE_CHANGED);
}

const struct missing_module *symbols_missing(const struct symbols *s, size_t *count)
{
	*count = s->missing_count;
	return s->missing;
}

bool symbols_source_is_newer(const struct symbols *s, const char *file)
{
	for (size_t i = 0; i < s->missing_count; i++)
		if (s->missing[i].source && !strcmp(s->missing[i].source, file))
			return true;
	return false;
}

/* Bytes of the module's file that the mapping shows at addr. */
static size_t file_code(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
			uint8_t *out, size_t n)
{
	const struct space_map *map = trace_index_map_at(s->model->index, space, epoch, addr);
	struct image_module *mod =
		map && *map->path == '/' ? module_at(s, space, epoch, map, addr) : NULL;
	GElf_Addr bias;
	Elf *elf;
	size_t size = 0;
	const char *bytes;
	uint64_t offset;

	if (!mod)
		return 0;
	offset = addr - map->start + map->offset;
	if (n > map->end - addr)
		n = map->end - addr;
	if (!mod->mod || mod->state != IMAGE_FILE_OK ||
	    !(elf = dwfl_module_getelf(mod->mod, &bias))) {
		kept_of(s);
		return answers_bytes(&s->answers, mod, offset, out, n);
	}
	bytes = elf_rawfile(elf, &size);
	if (!bytes || offset >= size)
		return 0;
	if (n > size - offset)
		n = size - offset;
	memcpy(out, bytes + offset, n);
	answers_note_bytes(&s->answers, mod, slice_of(bytes, size), offset, n);
	return n;
}

size_t symbols_code(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr, uint8_t *out,
		    size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t got = trace_index_code(s->model->index, space, epoch, addr + done,
					      out + done, n - done);

		if (!got) {
			/* only up to the next page: the trace may hold that one */
			size_t room = BT_PAGE - (addr + done) % BT_PAGE;

			got = file_code(s, space, epoch, addr + done, out + done,
					n - done < room ? n - done : room);
		}
		if (!got)
			break;
		done += got;
	}
	return done;
}

const struct kept_stack *symbols_kept_stack(struct symbols *s, const struct model_snapshot *snap,
					    const struct bt_record_thread *thread)
{
	const struct kept *k = kept_of(s);
	const struct kept_stack *stack =
		k ? kept_find_stack(k, snap->rec->snapshot, thread->task) : NULL;

	for (size_t i = 0; stack && i < stack->count; i++) {
		uint64_t pc = stack->frames[i].pc - stack->frames[i].is_return;
		const struct space_map *map =
			trace_index_map_at(s->model->index, snap->rec->space, thread->epoch, pc);
		struct image_module *mod =
			map ? module_at(s, snap->rec->space, thread->epoch, map, pc) : NULL;

		if (mod && answers_instead(&s->answers, mod))
			return stack;
	}
	return NULL;
}

void symbols_note_stack(struct symbols *s, const struct kept_stack *stack)
{
	if (s->answers.noted)
		kept_add_stack(s->answers.noted, stack);
}

const char *symbols_kept_said(struct symbols *s, enum kept_said what,
			      const struct model_snapshot *snap,
			      const struct bt_record_thread *thread, uint32_t frame)
{
	const struct kept *k = symbols_kept_stack(s, snap, thread) ? kept_of(s) : NULL;

	return k ? kept_find_said(k, what, snap->rec->snapshot, thread->task, frame) : NULL;
}

void symbols_note_said(struct symbols *s, enum kept_said what, const struct model_snapshot *snap,
		       const struct bt_record_thread *thread, uint32_t frame, const char *text)
{
	if (s->answers.noted)
		kept_add_said(s->answers.noted, what, snap->rec->snapshot, thread->task, frame,
			      intern_str(&s->strings, text));
}

bool symbols_source_line(struct symbols *s, const char *file, int line, char *out, size_t cap)
{
	const struct kept_source *source = kept_source_of(s, file);
	struct slice text;

	if (!source || !kept_source_differs(source))
		return source_line(file, line, out, cap);
	if (line <= 0 || !kept_source_line(source, (uint32_t)line, &text))
		return false;
	source_plain_line(text, out, cap);
	return true;
}

char *symbols_source_text(struct symbols *s, const char *file, size_t *len)
{
	const struct kept_source *source = kept_source_of(s, file);

	return source && kept_source_differs(source) ? kept_source_text(source, len) : NULL;
}

int symbols_vouch(struct symbols *s, const char *path, struct bt_error *err)
{
	return vouched_init(&s->vouched, path, err);
}

bool symbols_vouched_used(const struct symbols *s) { return s->vouched.used; }

int symbols_note(struct symbols *s, struct bt_error *err)
{
	s->answers.noted = kept_new();
	return s->answers.noted ? 0 : bt_no_memory(err, NULL);
}

static bool is_newer(void *arg, const char *path) { return symbols_source_is_newer(arg, path); }

int symbols_keep(struct symbols *s, struct bt_error *err)
{
	kept_add_sources(s->answers.noted, is_newer, s);
	return kept_write(s->answers.noted, s->model->trace, err);
}

/* Whether the program cannot have written what its file has at an address: it is in a segment that
 * is mapped without leave to write. Data that becomes read-only after its relocation is in a
 * writable segment. */
static bool is_constant(const struct image_module *mod, uint64_t addr)
{
	GElf_Addr bias;
	Elf *elf = mod->mod && mod->state == IMAGE_FILE_OK ? image_module_elf(mod, &bias) : NULL;
	size_t count;
	GElf_Phdr ph;

	if (!elf || elf_getphdrnum(elf, &count))
		return false;
	for (size_t i = 0; i < count; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    addr - bias - ph.p_vaddr < ph.p_filesz)
			return !(ph.p_flags & PF_W);
	return false;
}

size_t symbols_constant(struct symbols *s, uint32_t space, uint32_t epoch, uint64_t addr,
			uint8_t *out, size_t n)
{
	const struct space_map *map = trace_index_map_at(s->model->index, space, epoch, addr);
	const struct image_module *mod = map && *map->path == '/' && !(map->prot & BT_PROT_WRITE)
						 ? module_at(s, space, epoch, map, addr)
						 : NULL;
	size_t room = BT_PAGE - addr % BT_PAGE;

	/* Of what is kept instead of a file, bytes that may not be read were not noted. */
	if (!mod || (mod->state == IMAGE_FILE_OK && !is_constant(mod, addr)))
		return 0;
	return file_code(s, space, epoch, addr, out, n < room ? n : room);
}
