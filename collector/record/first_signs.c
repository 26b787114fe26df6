/* SPDX-License-Identifier: MIT */
/* A file's symbols are looked through once in a recording: the places of signs in it are kept by
 * device and inode (struct sign_file), and each mapping of the file's code turns them into
 * addresses. Files come from the program and are not trusted: libelf checks what it reads. */
#include "collector/record/first_signs.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/space/function_stops.h"
#include "collector/space/mapped_files.h"
#include "lib/array_size.h"
#include "lib/demangle.h"
#include "lib/hash_table.h"
#include "lib/name_pattern.h"

enum sign_match {
	MATCH_NAME,   /* the symbol is the text */
	MATCH_PREFIX, /* it begins with it */
	/* A mangled name of Rust's that has it, with its length before it, as the last part of its
	 * path. */
	MATCH_RUST,
	MATCH_RUST_GENERIC, /* the same, of a generic function */
};

struct sign {
	const char *text;
	const char *name; /* as a reader knows it; NULL: the text */
	enum sign_match match;
	enum sign_extent extent;
};

/* The first in the order of a failure's functions that a library exports: its callers have not
 * reported anything yet. */
static const struct sign signs[] = {
	/* No sign, but where the program's own code begins. */
	{"main", NULL, MATCH_NAME, SIGN_POINT},
	/* C (glibc, musl) */
	{"abort", NULL, MATCH_NAME, SIGN_WHOLE},
	{"__assert_fail", NULL, MATCH_NAME, SIGN_WHOLE},
	{"__assert_perror_fail", NULL, MATCH_NAME, SIGN_WHOLE},
	{"__stack_chk_fail", NULL, MATCH_NAME, SIGN_WHOLE},
	{"__fortify_fail", NULL, MATCH_NAME, SIGN_WHOLE},
	{"__chk_fail", NULL, MATCH_NAME, SIGN_WHOLE},
	{"__libc_fatal", NULL, MATCH_NAME, SIGN_WHOLE},
	/* C++ (libstdc++, libc++): the Itanium ABI's names */
	{"__cxa_throw", NULL, MATCH_NAME, SIGN_BRIEF},
	{"__cxa_rethrow", NULL, MATCH_NAME, SIGN_BRIEF},
	{"_ZSt9terminatev", "std::terminate", MATCH_NAME, SIGN_WHOLE},
	{"__cxa_pure_virtual", NULL, MATCH_NAME, SIGN_WHOLE},
	/* Rust (library/std/src/panicking.rs): the handler of all panics, before its hook */
	{"17rust_begin_unwind", "rust_begin_unwind", MATCH_RUST, SIGN_WHOLE},
	{"rust_begin_unwind", NULL, MATCH_NAME, SIGN_WHOLE},
	/* before edition 2021; panic_any */
	{"11begin_panic", "begin_panic", MATCH_RUST_GENERIC, SIGN_WHOLE},
	/* Go (runtime/panic.go) */
	{"runtime.gopanic", NULL, MATCH_NAME, SIGN_BRIEF},
	{"runtime.fatalpanic", NULL, MATCH_NAME, SIGN_WHOLE}, /* nobody has recovered */
	{"runtime.throw", NULL, MATCH_NAME, SIGN_WHOLE},
	{"runtime.fatal", NULL, MATCH_NAME, SIGN_WHOLE},
	/* Sanitizers (compiler-rt, libgcc's copies): functions that instrumented code calls to
	   report */
	{"__asan_report_load", NULL, MATCH_PREFIX, SIGN_WHOLE},
	{"__asan_report_store", NULL, MATCH_PREFIX, SIGN_WHOLE},
	{"__asan_on_error", NULL, MATCH_NAME, SIGN_WHOLE}, /* before any other report is printed */
	{"__ubsan_handle_", NULL, MATCH_PREFIX, SIGN_BRIEF},
	{"__tsan_on_report", NULL, MATCH_NAME, SIGN_BRIEF},
	{"__msan_warning", NULL, MATCH_PREFIX, SIGN_WHOLE},
};

/* Virtual calls of a correct program ask whether their type is right, when it is not in a cache:
 * -fsanitize=vptr. */
static const char no_sign[] = "__ubsan_handle_dynamic_type_cache_miss";

enum {
	SIGN_COUNT = ARRAY_SIZE(signs),
	PLACES_MAX = 4096, /* in one file */
	BEGIN = 4,         /* characters of a symbol that are looked at first */
	BEGIN_BITS = 1 << 12,
};

struct sign_place {
	uint64_t offset; /* in the file */
	uint16_t sign;
};

struct sign_file {
	uint64_t dev;   /* as mappings have it */
	struct stat st; /* at the time of the reading */
	struct sign_file *next;
	size_t count;
	struct sign_place *places;
};

/* A name of the user's, numbered behind the table. */
struct asked_name {
	const char *pattern;            /* lib/name_pattern.h */
	char certain[NAME_PATTERN_MAX]; /* is in every symbol that it names */
	bool found;
};

struct first_signs {
	struct function_finder finder;
	struct asked_name *names;
	size_t name_count;
	/* How the table's symbols begin, by begin_bit(): a bit that is not set belongs to none. It
	 * only spares searches, so it is no lib/hash_table. */
	uint64_t begins[BEGIN_BITS / 64];
	uint32_t begin[SIGN_COUNT]; /* and each, by begin_of() */
	struct hash_table files;    /* by inode, as mappings have it */
	struct sign_file *file_list;
};

static bool ends_in_part(const char *symbol, size_t len, const struct sign *s)
{
	size_t n = strlen(s->text);

	return len > n && !memcmp(symbol + len - n, s->text, n) &&
	       !(symbol[len - n - 1] >= '0' && symbol[len - n - 1] <= '9');
}

/* The same, with type arguments behind it. */
static bool has_part(const char *symbol, const struct sign *s)
{
	const char *at = strstr(symbol, s->text), *behind = at ? at + strlen(s->text) : NULL;

	return at && at > symbol && !(at[-1] >= '0' && at[-1] <= '9') && *behind &&
	       !(*behind >= '0' && *behind <= '9');
}

/* The length of a path that rustc has mangled, without the hash behind it; 0: it is none. By v0
 * (_R ...), or by its older scheme (_ZN ... 17h, 16 digits, E). C++ has _ZN, too, and programs have
 * a hundred thousand of them: the end tells soonest. */
static size_t rust_path(const char *symbol)
{
	enum { HASH = 20 };
	size_t len;

	if (symbol[0] != '_' || (symbol[1] != 'R' && (symbol[1] != 'Z' || symbol[2] != 'N')))
		return 0;
	len = strlen(symbol);
	if (symbol[1] == 'R')
		return len;
	return len > HASH && !memcmp(symbol + len - HASH, "17h", 3) ? len - HASH : 0;
}

/* Whether the name is the last one of a path; generic: by v0 _RINv, and arguments behind it. */
static bool is_rust(const struct sign *s, const char *symbol, size_t path)
{
	if (s->match == MATCH_RUST_GENERIC && symbol[1] == 'R')
		return !strncmp(symbol, "_RINv", 5) && has_part(symbol, s);
	return s->match >= MATCH_RUST && ends_in_part(symbol, path, s);
}

static bool is_plain(const struct sign *s, const char *symbol)
{
	if (s->match == MATCH_NAME)
		return !strcmp(symbol, s->text);
	return s->match == MATCH_PREFIX && !strncmp(symbol, s->text, strlen(s->text)) &&
	       strncmp(symbol, no_sign, sizeof no_sign - 1) != 0;
}

static bool is_asked(const struct asked_name *name, const char *symbol)
{
	char *plain;
	bool is;

	if (!strcmp(symbol, name->pattern))
		return true;
	if (!strstr(symbol, name->certain))
		return false;
	plain = demangle(symbol);
	is = name_pattern_matches(name->pattern, plain ? plain : symbol);
	free(plain);
	return is;
}

/* The first characters of a symbol, zeros behind its end. */
static uint32_t begin_of(const char *symbol)
{
	uint32_t begin = 0;

	for (unsigned i = 0; i < BEGIN && symbol[i]; i++)
		begin |= (uint32_t)(unsigned char)symbol[i] << 8 * i;
	return begin;
}

static unsigned begin_bit(uint32_t begin) { return begin * 0x9E3779B1u >> 20; }

static bool may_begin_sign(const struct first_signs *f, uint32_t begin)
{
	unsigned bit = begin_bit(begin);

	return f->begins[bit / 64] >> bit % 64 & 1;
}

int first_signs_match(const struct first_signs *f, const char *symbol)
{
	uint32_t begin;
	size_t path;

	for (size_t i = 0; i < f->name_count; i++)
		if (is_asked(&f->names[i], symbol))
			return (int)(SIGN_COUNT + i);
	path = rust_path(symbol);
	begin = begin_of(symbol);
	if (!path && !may_begin_sign(f, begin))
		return -1;
	for (size_t i = 0; i < SIGN_COUNT; i++)
		if (path ? is_rust(&signs[i], symbol, path)
			 : f->begin[i] == begin && is_plain(&signs[i], symbol))
			return (int)i;
	return -1;
}

/* ---- Files ---- */

/* The offset in the file of code at this link-time address; 0: it is none. */
static uint64_t offset_of(Elf *elf, uint64_t value)
{
	size_t count = 0;

	if (elf_getphdrnum(elf, &count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X &&
		    value >= p.p_vaddr && value - p.p_vaddr < p.p_filesz)
			return value - p.p_vaddr + p.p_offset;
	}
	return 0;
}

static void add_place(struct sign_file *file, uint64_t offset, uint16_t sign)
{
	struct sign_place *places;

	if (!offset || file->count == PLACES_MAX)
		return;
	for (size_t i = 0; i < file->count; i++)
		if (file->places[i].offset == offset)
			return;
	places = realloc(file->places, (file->count + 1) * sizeof *places);
	if (!places)
		return;
	file->places = places;
	places[file->count++] = (struct sign_place){offset, sign};
}

/* The strings of a symbol table: NULL, or len bytes of which the last is 0. */
static const char *strings_of(Elf *elf, const GElf_Shdr *table, size_t *len)
{
	Elf_Scn *scn = elf_getscn(elf, table->sh_link);
	GElf_Shdr shdr;
	/* Compressed data may unpack to any size. Linkers do not compress symbols. */
	Elf_Data *data = scn && gelf_getshdr(scn, &shdr) && !(shdr.sh_flags & SHF_COMPRESSED)
				 ? elf_getdata(scn, NULL)
				 : NULL;
	const char *strings = data ? data->d_buf : NULL;

	*len = strings ? data->d_size : 0;
	return *len && !strings[*len - 1] ? strings : NULL;
}

/* There may be a million of them: each is looked at where it lies (libelf(3): data of a symbol
 * table is an array of the class's structs). */
static void look_through(struct first_signs *f, struct sign_file *file, Elf *elf, Elf_Scn *scn,
			 const GElf_Shdr *shdr)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	const Elf64_Sym *symbols = data && gelf_getclass(elf) == ELFCLASS64 ? data->d_buf : NULL;
	size_t count = symbols ? data->d_size / sizeof *symbols : 0, len;
	const char *strings = strings_of(elf, shdr, &len);

	for (size_t i = 0; strings && i < count; i++) {
		const Elf64_Sym *sym = &symbols[i];
		int sign;

		if (sym->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(sym->st_info) != STT_FUNC ||
		    sym->st_name >= len)
			continue;
		sign = first_signs_match(f, strings + sym->st_name);
		if (sign < 0)
			continue;
		add_place(file, offset_of(elf, sym->st_value), (uint16_t)sign);
		if (sign >= SIGN_COUNT)
			f->names[sign - SIGN_COUNT].found = true;
	}
}

static void read_file(struct first_signs *f, struct sign_file *file, int fd)
{
	bool seen_symtab = false, seen_dynsym = false;
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	/* An ELF file has one of each at most (gABI); so no more is read than the file is long. */
	while (elf && (scn = elf_nextscn(elf, scn))) {
		bool *seen = !gelf_getshdr(scn, &shdr)    ? NULL
			     : shdr.sh_type == SHT_SYMTAB ? &seen_symtab
			     : shdr.sh_type == SHT_DYNSYM ? &seen_dynsym
							  : NULL;

		if (!seen || *seen || shdr.sh_flags & SHF_COMPRESSED)
			continue;
		*seen = true;
		look_through(f, file, elf, scn, &shdr);
	}
	elf_end(elf);
}

/* Whether the slot's file is on the mapping's device. */
static bool is_file_of(const void *wanted, const struct hash_slot *slot)
{
	const struct sign_file *file = slot->pointer;
	const struct mapping *m = wanted;

	return file->dev == m->dev;
}

static bool is_as_read(const struct sign_file *file, const struct stat *st)
{
	return file->st.st_ino == st->st_ino && file->st.st_dev == st->st_dev &&
	       file->st.st_size == st->st_size && file->st.st_mtim.tv_sec == st->st_mtim.tv_sec &&
	       file->st.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

/* An empty entry for the file of m. NULL without memory. */
static struct sign_file *add_file(struct first_signs *f, const struct mapping *m)
{
	struct sign_file *file = calloc(1, sizeof *file);

	if (!file ||
	    !hash_table_add(&f->files, (struct hash_slot){.key = m->ino, .pointer = file})) {
		free(file);
		return NULL;
	}
	file->dev = m->dev;
	file->next = f->file_list;
	f->file_list = file;
	return file;
}

/* Reads the file at path, if it is that of m. Another file may have taken its place under its name.
 * (A file system in layers gives mappings a device of its own.) */
static bool read_at(struct first_signs *f, struct sign_file *file, const char *path,
		    const struct mapping *m)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is_it;

	if (fd < 0)
		return false;
	is_it = !fstat(fd, &file->st) && S_ISREG(file->st.st_mode) && file->st.st_ino == m->ino;
	file->count = 0;
	if (is_it)
		read_file(f, file, fd);
	close(fd);
	return is_it;
}

/* The path is one of ours (also of a process in a chroot), or (another mount namespace) one of the
 * process's. */
static void path_of(char path[PATH_MAX], pid_t pid, const struct mapping *m, bool ours)
{
	int n = ours ? snprintf(path, PATH_MAX, "%s", m->path)
		     : snprintf(path, PATH_MAX, "/proc/%d/root%s", (int)pid, m->path);

	if (n >= PATH_MAX)
		*path = 0;
}

/* The file of m, as it is now; NULL: it cannot be read. */
static const struct sign_file *file_of(struct first_signs *f, pid_t pid, const struct mapping *m)
{
	struct hash_slot *slot = hash_table_find_same(&f->files, m->ino, is_file_of, m);
	struct sign_file *file = slot ? slot->pointer : NULL;
	char path[PATH_MAX];
	struct stat st;

	for (int ours = 1; ours >= 0; ours--) {
		path_of(path, pid, m, ours);
		if (file && !stat(path, &st) && is_as_read(file, &st))
			return file;
	}
	if (!file && !(file = add_file(f, m)))
		return NULL;
	for (int ours = 1; ours >= 0; ours--) {
		path_of(path, pid, m, ours);
		/* A file system of a process's own may wait for one that we have stopped. */
		if (mapped_files_answers(ours ? getpid() : pid, m->path) &&
		    read_at(f, file, path, m))
			return file;
	}
	file->count = 0;
	return file;
}

static void find_signs(void *arg, struct function_stops *stops, pid_t pid, const struct mapping *m)
{
	const struct sign_file *file = file_of(arg, pid, m);

	for (size_t i = 0; file && i < file->count; i++) {
		uint64_t offset = file->places[i].offset;

		if (offset >= m->offset && offset - m->offset < m->end - m->start)
			function_stops_add(stops, m->start + (offset - m->offset),
					   file->places[i].sign);
	}
}

/* ---- The whole ---- */

struct first_signs *first_signs_new(const char *const *names, size_t count)
{
	struct first_signs *f = calloc(1, sizeof *f);

	if (!f)
		return NULL;
	f->finder = (struct function_finder){.find = find_signs, .arg = f};
	f->names = calloc(count + 1, sizeof *f->names);
	f->name_count = f->names ? count : 0;
	for (size_t i = 0; i < SIGN_COUNT; i++) {
		unsigned bit;

		f->begin[i] = begin_of(signs[i].text);
		bit = begin_bit(f->begin[i]);
		f->begins[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	for (size_t i = 0; i < f->name_count; i++) {
		f->names[i].pattern = names[i];
		name_pattern_certain_part(names[i], f->names[i].certain);
	}
	if (f->names)
		return f;
	free(f);
	return NULL;
}

void first_signs_free(struct first_signs *f)
{
	if (!f)
		return;
	for (struct sign_file *file = f->file_list, *next; file; file = next) {
		next = file->next;
		free(file->places);
		free(file);
	}
	hash_table_release(&f->files);
	free(f->names);
	free(f);
}

const struct function_finder *first_signs_finder(const struct first_signs *f) { return &f->finder; }

size_t first_signs_count(const struct first_signs *f) { return SIGN_COUNT + f->name_count; }

enum sign_extent first_signs_extent(const struct first_signs *f, uint16_t sign)
{
	(void)f;
	return sign < SIGN_COUNT ? signs[sign].extent : SIGN_ASKED;
}

bool first_signs_is_main(const struct first_signs *f, uint16_t sign)
{
	return !strcmp(first_signs_name(f, sign), "main");
}

const char *first_signs_name(const struct first_signs *f, uint16_t sign)
{
	if (sign >= SIGN_COUNT)
		return f->names[sign - SIGN_COUNT].pattern;
	return signs[sign].name ? signs[sign].name : signs[sign].text;
}

bool first_signs_found(const struct first_signs *f, size_t name) { return f->names[name].found; }
