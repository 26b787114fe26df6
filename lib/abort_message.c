/* SPDX-License-Identifier: MIT */
#include "lib/abort_message.h"

#include <elf.h>
#include <string.h>

enum {
	PHDRS_MAX = 64,
	DYNAMIC_MAX = 128,
	CHAIN_MAX = 4096, /* symbols of one bucket */
};

static const char variable[] = "__abort_msg";

struct program_memory {
	bt_memory_reader *read;
	void *arg;
};

/* The tables that find symbols in a loaded library (gABI, chapter 5; DT_GNU_HASH as binutils' ld
 * writes it). */
struct dynamic {
	uint64_t bias; /* added to a link-time address */
	uint64_t symbols, strings, hash;
};

static bool read_all(const struct program_memory *m, uint64_t addr, void *to, size_t n)
{
	return m->read(m->arg, addr, to, n) == n;
}

static bool find_dynamic(const struct program_memory *m, uint64_t base, struct dynamic *d,
			 Elf64_Phdr *dynamic)
{
	Elf64_Phdr phdrs[PHDRS_MAX];
	Elf64_Ehdr ehdr;
	bool placed = false, found = false;

	if (!read_all(m, base, &ehdr, sizeof ehdr) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG) ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_phentsize != sizeof *phdrs ||
	    ehdr.e_phnum > PHDRS_MAX ||
	    !read_all(m, base + ehdr.e_phoff, phdrs, ehdr.e_phnum * sizeof *phdrs))
		return false;
	for (size_t i = 0; i < ehdr.e_phnum; i++) {
		if (phdrs[i].p_type == PT_LOAD && !phdrs[i].p_offset && !placed) {
			d->bias = base - phdrs[i].p_vaddr;
			placed = true;
		} else if (phdrs[i].p_type == PT_DYNAMIC) {
			*dynamic = phdrs[i];
			found = true;
		}
	}
	return placed && found;
}

static bool read_dynamic(const struct program_memory *m, uint64_t base, struct dynamic *d)
{
	Elf64_Dyn entries[DYNAMIC_MAX];
	Elf64_Phdr dynamic = {.p_type = PT_NULL};
	size_t n;

	if (!find_dynamic(m, base, d, &dynamic))
		return false;
	n = dynamic.p_memsz / sizeof *entries < DYNAMIC_MAX ? dynamic.p_memsz / sizeof *entries
							    : DYNAMIC_MAX;
	if (!read_all(m, d->bias + dynamic.p_vaddr, entries, n * sizeof *entries))
		return false;
	for (size_t i = 0; i < n && entries[i].d_tag != DT_NULL; i++) {
		/* glibc's ld.so puts addresses there where they can be written */
		uint64_t addr = entries[i].d_un.d_ptr >= base ? entries[i].d_un.d_ptr
							      : d->bias + entries[i].d_un.d_ptr;

		if (entries[i].d_tag == DT_SYMTAB)
			d->symbols = addr;
		else if (entries[i].d_tag == DT_STRTAB)
			d->strings = addr;
		else if (entries[i].d_tag == DT_GNU_HASH)
			d->hash = addr;
	}
	return d->symbols && d->strings && d->hash;
}

/* The hash of DT_GNU_HASH: a table of the dynamic linker's, read in the program's memory. */
static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (uint8_t)*name++;
	return h;
}

static bool is_variable(const struct program_memory *m, const struct dynamic *d, uint32_t index,
			Elf64_Sym *sym)
{
	char name[sizeof variable];

	return read_all(m, d->symbols + (uint64_t)index * sizeof *sym, sym, sizeof *sym) &&
	       read_all(m, d->strings + sym->st_name, name, sizeof name) &&
	       !memcmp(name, variable, sizeof name) && sym->st_shndx != SHN_UNDEF;
}

/* The variable's address; 0: there is none. */
static uint64_t find_variable(const struct program_memory *m, const struct dynamic *d)
{
	struct {
		uint32_t buckets, first, bloom, shift;
	} header;
	uint32_t wanted = gnu_hash(variable), index, hash;
	uint64_t buckets, chains;
	Elf64_Sym sym;

	if (!read_all(m, d->hash, &header, sizeof header) || !header.buckets)
		return 0;
	buckets = d->hash + sizeof header + (uint64_t)header.bloom * sizeof(uint64_t);
	chains = buckets + (uint64_t)header.buckets * sizeof(uint32_t);
	if (!read_all(m, buckets + (uint64_t)(wanted % header.buckets) * sizeof index, &index,
		      sizeof index) ||
	    index < header.first)
		return 0;
	for (unsigned n = 0; n < CHAIN_MAX; n++, index++) {
		if (!read_all(m, chains + (uint64_t)(index - header.first) * sizeof hash, &hash,
			      sizeof hash))
			return 0;
		if ((hash | 1) == (wanted | 1) && is_variable(m, d, index, &sym))
			return d->bias + sym.st_value;
		if (hash & 1)
			return 0;
	}
	return 0;
}

bool bt_is_libc(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7);
}

size_t bt_abort_message(bt_memory_reader *read, void *arg, uint64_t base, char *text, size_t size)
{
	const struct program_memory m = {read, arg};
	struct dynamic d = {0};
	uint64_t variable_at, at;
	uint32_t total;
	size_t n;

	*text = '\0';
	if (!read_dynamic(&m, base, &d))
		return 0;
	variable_at = find_variable(&m, &d);
	if (!variable_at || !read_all(&m, variable_at, &at, sizeof at) || !at ||
	    !read_all(&m, at, &total, sizeof total) || total <= sizeof total)
		return 0;
	n = total - sizeof total < size - 1 ? total - sizeof total : size - 1;
	n = m.read(m.arg, at + sizeof total, text, n);
	text[n] = '\0';
	n = strlen(text);
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	return n;
}
