/* SPDX-License-Identifier: MIT */
#include "collector/record/start_location.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/tracee/tracee.h"
#include "lib/demangle.h"
#include "lib/name_pattern.h"

static const uint8_t int3 = 0xcc;

static bool auxv_value(pid_t pid, uint64_t type, uint64_t *value)
{
	uint64_t pair[2];
	bool found = false;
	FILE *f = tracee_open_file(pid, "auxv");

	while (f && !found && fread(pair, sizeof pair, 1, f) == 1)
		if (pair[0] == type) {
			*value = pair[1];
			found = true;
		}
	if (f)
		fclose(f);
	return found;
}

static uint64_t entry_point(pid_t pid)
{
	uint64_t entry = 0;

	auxv_value(pid, AT_ENTRY, &entry);
	return entry;
}

/* The number to add to link-time addresses of the file whose beginning is mapped at m. */
static uint64_t load_bias(Elf *elf, const struct mapping *m)
{
	size_t count = 0;

	if (elf_getphdrnum(elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD &&
		    p.p_offset <= m->offset && m->offset < p.p_offset + p.p_filesz)
			return m->start - (m->offset - p.p_offset) - p.p_vaddr;
	}
	return 0;
}

/* Whether the symbol names code: a function, or (labels) a label in assembly. The function of an
 * IFUNC is not known before its first call. */
static bool is_place_of_code(Elf *elf, const GElf_Sym *sym, bool labels)
{
	GElf_Shdr shdr;

	if (sym->st_shndx == SHN_UNDEF || !labels)
		return sym->st_shndx != SHN_UNDEF && GELF_ST_TYPE(sym->st_info) == STT_FUNC;
	return GELF_ST_TYPE(sym->st_info) == STT_NOTYPE && sym->st_shndx < SHN_LORESERVE &&
	       gelf_getshdr(elf_getscn(elf, sym->st_shndx), &shdr) && shdr.sh_flags & SHF_EXECINSTR;
}

/* The value of a symbol in one symbol table section, 0 when it is not there. */
static uint64_t symbol_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, const char *name,
			  bool labels)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;

	for (size_t i = 0; data && i < count; i++) {
		GElf_Sym sym;
		const char *s;

		if (!gelf_getsym(data, (int)i, &sym))
			continue;
		s = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (s && !strcmp(s, name) && is_place_of_code(elf, &sym, labels))
			return sym.st_value;
	}
	return 0;
}

struct name_search {
	const char *pattern;
	char certain[NAME_PATTERN_MAX]; /* name_pattern_certain_part() */
	bool (*found)(void *arg, const char *name, uint64_t value);
	void *arg;
};

/* Parts that compilers split off are no beginning of a function. Returns whether to go on. */
static bool try_symbol(const struct name_search *s, const char *symbol, uint64_t value)
{
	char *plain;
	bool goes_on;

	if (!strstr(symbol, s->certain) || strstr(symbol, ".cold"))
		return true;
	plain = demangle(symbol);
	goes_on = !name_pattern_matches(s->pattern, plain ? plain : symbol) ||
		  s->found(s->arg, plain ? plain : symbol, value);
	free(plain);
	return goes_on;
}

static bool search_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *shdr, const struct name_search *s)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t count = shdr->sh_entsize ? shdr->sh_size / shdr->sh_entsize : 0;

	for (size_t i = 0; data && i < count; i++) {
		const char *name;
		GElf_Sym sym;

		if (!gelf_getsym(data, (int)i, &sym) || !is_place_of_code(elf, &sym, false))
			continue;
		name = elf_strptr(elf, shdr->sh_link, sym.st_name);
		if (name && !try_symbol(s, name, sym.st_value))
			return false;
	}
	return true;
}

static void search_functions(Elf *elf, struct name_search *s)
{
	Elf_Scn *scn = NULL;

	name_pattern_certain_part(s->pattern, s->certain);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) &&
		    (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM) &&
		    !search_in(elf, scn, &shdr, s))
			return;
	}
}

static uint64_t find_symbol(Elf *elf, const char *name, bool labels)
{
	uint64_t value = 0;
	Elf_Scn *scn = NULL;

	while (!value && (scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) &&
		    (shdr.sh_type == SHT_SYMTAB || shdr.sh_type == SHT_DYNSYM))
			value = symbol_in(elf, scn, &shdr, name, labels);
	}
	return value;
}

/* Whether where is an address: hexadecimal, as tools print it, with 0x or without. It begins with a
 * digit, as no function's name does: `add` is a name, 0add an address. */
static bool parse_address(const char *where, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(where, &end, 16);
	return *where >= '0' && *where <= '9' && !*end && !errno;
}

bool start_location_is_valid(const char *where)
{
	uint64_t value;

	if (*where == '-' || *where == '+' || (*where >= '0' && *where <= '9'))
		return parse_address(where, &value);
	return *where;
}

static bool take_first(void *arg, const char *name, uint64_t value)
{
	(void)name;
	*(uint64_t *)arg = value;
	return false;
}

/* As it is in the symbol table: a function, else a label. */
static uint64_t find_exactly(Elf *elf, const char *where)
{
	uint64_t value = find_symbol(elf, where, false);

	return value ? value : find_symbol(elf, where, true);
}

static uint64_t find_by_pattern(Elf *elf, const char *where)
{
	uint64_t value = 0;
	struct name_search s = {.pattern = where, .found = take_first, .arg = &value};

	search_functions(elf, &s);
	return value;
}

static Elf *open_elf(const char *path, int *fd)
{
	Elf *elf;

	*fd = open(path, O_RDONLY | O_CLOEXEC);
	if (*fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	elf = elf_begin(*fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF)
		return elf;
	elf_end(elf);
	close(*fd);
	return NULL;
}

static uint64_t resolve_in(const struct mapping *m, pid_t pid, const char *where, bool by_pattern)
{
	char path[4200];
	uint64_t value, addr = 0;
	bool number = parse_address(where, &value);
	Elf *elf;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, m->path);
	elf = open_elf(path, &fd);
	if (!elf)
		return 0;
	if (!number)
		value = by_pattern ? find_by_pattern(elf, where) : find_exactly(elf, where);
	if (value)
		addr = value + load_bias(elf, m);
	elf_end(elf);
	close(fd);
	return addr;
}

enum start_location_kind start_location_in_file(const char *path, const char *where,
						bool (*found)(void *arg, const char *name,
							      uint64_t value),
						void *arg)
{
	struct name_search s = {.pattern = where, .found = found, .arg = arg};
	enum start_location_kind kind = START_LOCATION_PATTERN;
	int fd;
	Elf *elf = open_elf(path, &fd);

	if (!elf)
		return START_LOCATION_NO_FILE;
	if (find_exactly(elf, where))
		kind = START_LOCATION_EXACT;
	else
		search_functions(elf, &s);
	elf_end(elf);
	close(fd);
	return kind;
}

/* The main program, whose file is mapped where the entry point is, then the rest in address order.
 */
static uint64_t resolve_place(const struct address_space *space, pid_t pid, const char *where,
			      bool by_pattern)
{
	uint64_t entry = entry_point(pid), addr = 0;
	const struct mapping *main_map = address_space_map_at(space, entry);

	for (int pass = 0; pass < 2 && !addr; pass++)
		for (size_t i = 0; i < space->mappings.count && !addr; i++) {
			const struct mapping *m = &space->mappings.maps[i];
			bool is_main =
				main_map && m->ino == main_map->ino && m->dev == main_map->dev;

			if (m->ino && m->offset == 0 && is_main == (pass == 0))
				addr = resolve_in(m, pid, where, by_pattern);
			if (pass == 1 && *where >= '0' && *where <= '9')
				return 0; /* an address is the main program's */
		}
	return addr;
}

uint64_t start_location_resolve(const struct address_space *space, pid_t pid, const char *where)
{
	uint64_t addr = resolve_place(space, pid, where, false);
	bool number = *where >= '0' && *where <= '9';

	return addr || number ? addr : resolve_place(space, pid, where, true);
}

bool start_location_insert(struct address_space *space, pid_t tid, uint64_t addr)
{
	if (!addr || tracee_read(tid, addr, &space->from_byte, 1) != 1 ||
	    !tracee_write(tid, addr, &int3, 1))
		return false;
	space->from_addr = addr;
	return true;
}

bool start_location_disarm(struct address_space *space, pid_t tid)
{
	return tracee_write(tid, space->from_addr, &space->from_byte, 1);
}

bool start_location_arm_again(struct address_space *space, pid_t tid)
{
	return tracee_write(tid, space->from_addr, &int3, 1);
}
