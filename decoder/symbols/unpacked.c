/* SPDX-License-Identifier: MIT */
#include "decoder/symbols/unpacked.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "decoder/symbols/elf_sections.h"
#include "lib/regular_file.h"

enum {
	COMPRESSED_BY_ZSTD = 2, /* ELFCOMPRESS_ZSTD, which older headers lack */
	/* A section unpacks to this multiple of its size at most, and so do all sections of a file:
	 * debug information packs to a third or a tenth. */
	RATIO_MAX = 64,
	ALIGNMENT_MAX = 4096,
};

static const uint64_t size_max = UINT64_C(8) << 30; /* of a file */

static bool is_compressed(const Elf64_Shdr *sh)
{
	return sh->sh_flags & SHF_COMPRESSED && !(sh->sh_flags & SHF_ALLOC) &&
	       sh->sh_type == SHT_PROGBITS && sh->sh_size > sizeof(Elf64_Chdr);
}

static bool is_zstd(const struct elf_sections *s, const Elf64_Shdr *sh, Elf64_Chdr *ch)
{
	return is_compressed(sh) && regular_file_read(s->fd, ch, sizeof *ch, sh->sh_offset) &&
	       ch->ch_type == COMPRESSED_BY_ZSTD;
}

static bool has_zstd(const struct elf_sections *s)
{
	Elf64_Chdr ch;

	for (size_t i = 0; i < s->count; i++)
		if (is_zstd(s, &s->at[i], &ch))
			return true;
	return false;
}

/* Unpacks `in` bytes of one file at from to `out` bytes of another at to. */
static bool unpack_section(int fd, uint64_t from, uint64_t in, int copy, uint64_t to, uint64_t out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	size_t room = ZSTD_DStreamInSize(), rc = 1;
	uint8_t *packed = malloc(room), *plain = malloc(ZSTD_DStreamOutSize());
	bool good = stream && packed && plain;

	while (good && (in || rc)) {
		size_t n = in < room ? (size_t)in : room;
		ZSTD_inBuffer source = {.src = packed, .size = n};
		ZSTD_outBuffer target;

		good = n && regular_file_read(fd, packed, n, from);
		from += n;
		in -= n;
		do {
			target = (ZSTD_outBuffer){.dst = plain, .size = ZSTD_DStreamOutSize()};
			rc = good ? ZSTD_decompressStream(stream, &target, &source) : 0;
			good = good && !ZSTD_isError(rc) && target.pos <= out &&
			       pwrite(copy, plain, target.pos, (off_t)to) == (ssize_t)target.pos;
			to += target.pos;
			out -= good ? target.pos : 0;
		} while (good && (source.pos < source.size || (rc && target.pos == target.size)));
	}
	ZSTD_freeDStream(stream);
	free(packed);
	free(plain);
	return good && !out;
}

/* To the end of the copy; sh becomes what the section is there. */
static bool append_section(const struct elf_sections *s, Elf64_Shdr *sh, const Elf64_Chdr *ch,
			   int copy, uint64_t *end, uint64_t end_max)
{
	uint64_t packed = sh->sh_size - sizeof *ch,
		 alignment = ch->ch_addralign ? ch->ch_addralign : 1;

	if (alignment > ALIGNMENT_MAX || alignment & (alignment - 1) ||
	    ch->ch_size / RATIO_MAX > packed)
		return false;
	*end = (*end + alignment - 1) & ~(alignment - 1);
	if (ch->ch_size > end_max - *end ||
	    !unpack_section(s->fd, sh->sh_offset + sizeof *ch, packed, copy, *end, ch->ch_size))
		return false;
	sh->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
	sh->sh_offset = *end;
	sh->sh_size = ch->ch_size;
	sh->sh_addralign = alignment;
	*end += ch->ch_size;
	return true;
}

static bool copy_whole(int fd, int copy, uint64_t size)
{
	off_t at = 0;

	while ((uint64_t)at < size)
		if (sendfile(copy, fd, &at, size - (uint64_t)at) <= 0)
			return false;
	return true;
}

static bool unpack_all(struct elf_sections *s, int copy)
{
	struct stat st;
	uint64_t end, end_max;

	if (fstat(s->fd, &st) || (uint64_t)st.st_size > size_max ||
	    !copy_whole(s->fd, copy, (uint64_t)st.st_size))
		return false;
	end = (uint64_t)st.st_size;
	end_max = (end + ALIGNMENT_MAX) * RATIO_MAX;
	for (size_t i = 0; i < s->count; i++) {
		Elf64_Chdr ch;

		if (is_zstd(s, &s->at[i], &ch) &&
		    !append_section(s, &s->at[i], &ch, copy, &end, end_max))
			return false;
	}
	return pwrite(copy, s->at, s->count * sizeof *s->at, (off_t)s->header.e_shoff) ==
	       (ssize_t)(s->count * sizeof *s->at);
}

int unpacked_file(int fd)
{
	struct elf_sections s;
	int copy = -1;

	if (elf_sections_read(&s, fd) && has_zstd(&s))
		copy = memfd_create("unpacked", MFD_CLOEXEC);
	if (copy >= 0 && !unpack_all(&s, copy)) {
		close(copy);
		copy = -1;
	}
	elf_sections_release(&s);
	if (copy < 0)
		return fd;
	close(fd);
	return copy;
}

bool unpacked_is_compressed(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct elf_sections s = {0};
	bool found = false;

	if (fd >= 0 && elf_sections_read(&s, fd))
		for (size_t i = 0; i < s.count; i++)
			found |= is_compressed(&s.at[i]);
	elf_sections_release(&s);
	if (fd >= 0)
		close(fd);
	return found;
}
