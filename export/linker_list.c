/* SPDX-License-Identifier: MIT */
#include "export/linker_list.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/symbols/text.h"
#include "lib/page.h"

enum {
	HEADERS_MAX = 64,
	DYNAMIC_MAX = 1024, /* entries of a file's dynamic section */
	DEBUG_SIZE = 40,    /* struct r_debug */
	MAP_SIZE = 40,      /* the public part of struct link_map */
};

/* An ELF file that is mapped. */
struct mapped_elf {
	const struct space_map *map; /* of its beginning */
	Elf64_Ehdr head;
	Elf64_Phdr headers[HEADERS_MAX];
	uint64_t moved;   /* address less the one in the file */
	uint64_t dynamic; /* address of its dynamic section, 0: none */
	uint64_t dynamic_offset;
	size_t dynamic_count;
};

/* A trace may name a device. */
static int open_mapped(const struct space_map *map)
{
	int fd = open(map->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void look_at_headers(struct mapped_elf *e)
{
	bool is_first = true;

	for (size_t i = 0; i < e->head.e_phnum; i++) {
		const Elf64_Phdr *p = &e->headers[i];

		if (p->p_type == PT_LOAD && is_first) {
			e->moved = e->map->start - page_down(p->p_vaddr);
			is_first = false;
		}
		if (p->p_type == PT_DYNAMIC) {
			e->dynamic = p->p_vaddr;
			e->dynamic_offset = p->p_offset;
			e->dynamic_count = p->p_filesz / sizeof(Elf64_Dyn);
		}
	}
	if (e->dynamic)
		e->dynamic += e->moved;
}

static bool read_elf(struct mapped_elf *e, const struct space_map *map)
{
	int fd = open_mapped(map);
	size_t size;
	bool good;

	*e = (struct mapped_elf){.map = map};
	if (fd < 0)
		return false;
	good = pread(fd, &e->head, sizeof e->head, 0) == sizeof e->head &&
	       !memcmp(e->head.e_ident, ELFMAG, SELFMAG) &&
	       e->head.e_ident[EI_CLASS] == ELFCLASS64 &&
	       e->head.e_phentsize == sizeof *e->headers && e->head.e_phnum <= HEADERS_MAX;
	size = good ? e->head.e_phnum * sizeof *e->headers : 0;
	good = good && pread(fd, e->headers, size, (off_t)e->head.e_phoff) == (ssize_t)size;
	close(fd);
	if (good)
		look_at_headers(e);
	return good;
}

/* The address of the word of DT_DEBUG, or 0. */
static uint64_t debug_word(const struct mapped_elf *e)
{
	size_t count = e->dynamic_count < DYNAMIC_MAX ? e->dynamic_count : DYNAMIC_MAX;
	Elf64_Dyn entry;
	uint64_t found = 0;
	int fd = e->dynamic ? open_mapped(e->map) : -1;

	for (size_t i = 0; fd >= 0 && i < count && !found; i++) {
		if (pread(fd, &entry, sizeof entry,
			  (off_t)(e->dynamic_offset + i * sizeof entry)) != sizeof entry)
			break;
		if (entry.d_tag == DT_DEBUG)
			found = e->dynamic + i * sizeof entry + 8;
	}
	if (fd >= 0)
		close(fd);
	return found;
}

bool linker_list_is_file(const struct space_map *map)
{
	return *map->path == '/' && strncmp(map->path, "/memfd:", 7) != 0;
}

/* The beginning of a file's mapping, of which it has several. */
static bool begins_file(const struct space_map *map)
{
	return linker_list_is_file(map) && !map->offset;
}

/* The mapping of the program: by its name, else the lowest, which it nearly always is. */
static const struct space_map *program_map(const char *command, const struct space_map *const *maps,
					   size_t count)
{
	const struct space_map *lowest = NULL;

	for (size_t i = 0; i < count; i++) {
		const char *name = text_basename(maps[i]->path);
		size_t len = space_map_path_len(name);

		if (!begins_file(maps[i]))
			continue;
		if (*command && strlen(command) == len && !strncmp(name, command, len))
			return maps[i];
		lowest = lowest ? lowest : maps[i];
	}
	return lowest;
}

static void take_program(struct linker_list *l, const struct mapped_elf *e)
{
	l->program = e->map->start;
	l->entry = e->head.e_entry + e->moved;
	l->headers = e->map->start + e->head.e_phoff;
	l->header_count = e->head.e_phnum;
	l->pointer = debug_word(e);
}

static bool is_interpreter(const char *path)
{
	const char *name = text_basename(path);

	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-musl", 7) ||
	       !strncmp(name, "ld-2.", 5);
}

/* Where the file cannot be read its page is missing. */
static void take_page(struct linker_list *l, const struct space_map *map)
{
	struct linker_page *page = &l->pages[l->page_count];
	int fd = open_mapped(map);
	ssize_t n = fd < 0 ? 0 : pread(fd, page->bytes, sizeof page->bytes, 0);

	if (fd >= 0)
		close(fd);
	if (n < SELFMAG || memcmp(page->bytes, ELFMAG, SELFMAG) != 0)
		return;
	page->address = map->start;
	page->len = (size_t)n;
	l->page_count++;
}

/* Files in the order of the list: the program first. */
struct listed_files {
	struct mapped_elf *at;
	size_t count;
};

static int read_files(struct linker_list *l, struct listed_files *files, struct symbols *s,
		      uint32_t space, uint32_t epoch, const char *command,
		      const struct space_map *const *maps, size_t count, struct bt_error *err)
{
	const struct space_map *program = program_map(command, maps, count);

	files->at = calloc(count + 1, sizeof *files->at);
	l->pages = calloc(count + 1, sizeof *l->pages);
	if (!files->at || !l->pages)
		return bt_no_memory(err, "the core file");
	if (program && symbols_file_is_there(s, space, epoch, program->start) &&
	    read_elf(files->at, program)) {
		take_program(l, files->at);
		files->count = 1;
	}
	for (size_t i = 0; i < count; i++) {
		struct mapped_elf *e = &files->at[files->count];

		if (!strcmp(maps[i]->path, "[vdso]"))
			l->vdso = maps[i]->start;
		if (!begins_file(maps[i]) ||
		    !symbols_file_is_there(s, space, epoch, maps[i]->start))
			continue;
		take_page(l, maps[i]);
		if (maps[i] == program)
			continue;
		if (is_interpreter(maps[i]->path) && !l->interpreter)
			l->interpreter = maps[i]->start;
		if (files->count && read_elf(e, maps[i]) && e->dynamic)
			files->count++;
	}
	return 0;
}

/* Where the list can lie: below the lowest mapping. 0: there is no room. */
static uint64_t room_for(size_t size, const struct space_map *const *maps, size_t count)
{
	uint64_t need = page_up(size) + BT_PAGE, lowest = count ? maps[0]->start : 0;

	return lowest > need + BT_PAGE ? page_down(lowest) - need : 0;
}

/* struct r_debug, the maps, their names. */
static void put_list(struct linker_list *l, const struct listed_files *files)
{
	uint64_t maps = l->address + DEBUG_SIZE, name = maps + files->count * MAP_SIZE;

	buf_u64(&l->bytes, 1);
	buf_u64(&l->bytes, maps);
	buf_u64(&l->bytes, 0); /* r_brk: no address for breakpoints */
	buf_u64(&l->bytes, 0); /* the list is consistent */
	buf_u64(&l->bytes, l->interpreter);
	for (size_t i = 0; i < files->count; i++) {
		const struct mapped_elf *e = &files->at[i];
		uint64_t here = maps + i * MAP_SIZE;

		buf_u64(&l->bytes, e->moved);
		buf_u64(&l->bytes, name);
		buf_u64(&l->bytes, e->dynamic);
		buf_u64(&l->bytes, i + 1 < files->count ? here + MAP_SIZE : 0);
		buf_u64(&l->bytes, i ? here - MAP_SIZE : 0);
		name += (i ? strlen(e->map->path) : 0) + 1;
	}
	/* The linker calls the program by no name. */
	for (size_t i = 0; i < files->count; i++) {
		const char *path = i ? files->at[i].map->path : "";

		buf_put(&l->bytes, path, strlen(path) + 1);
	}
}

int linker_list_make(struct linker_list *l, struct symbols *s, uint32_t space, uint32_t epoch,
		     const char *command, const struct space_map *const *maps, size_t count,
		     struct bt_error *err)
{
	struct listed_files files = {0};
	size_t size = DEBUG_SIZE;
	int rc;

	*l = (struct linker_list){0};
	rc = read_files(l, &files, s, space, epoch, command, maps, count, err);
	for (size_t i = 0; !rc && i < files.count; i++)
		size += MAP_SIZE + strlen(files.at[i].map->path) + 1;
	if (!rc && l->pointer)
		l->address = room_for(size, maps, count);
	if (l->address)
		put_list(l, &files);
	if (l->bytes.failed)
		rc = bt_no_memory(err, "the core file");
	free(files.at);
	return rc;
}

void linker_list_release(struct linker_list *l)
{
	buf_release(&l->bytes);
	free(l->pages);
}
