/* SPDX-License-Identifier: MIT */
/* The form of the file: tukaani.org/xz/xz-file-format.txt (1.1.0), 2 and 3. The form of LZMA2 is
 * told by its decoders, such as Documentation/staging/xz.rst of Linux and lib/xz/xz_dec_lzma2.c. */
#include "decoder/symbols/xz_size.h"

#include <string.h>

#include "lib/regular_file.h"

enum {
	STREAM_HEADER = 12,
	ALIGNMENT = 4,       /* of blocks */
	CHUNKS_MOST = 65536, /* an encoder fills a chunk: 64 KB packed, or 2 MB unpacked */
};

/* Bytes that are read in order. */
struct input {
	int fd;
	uint64_t at, left;
	unsigned chunks;
};

static bool skip(struct input *in, uint64_t n)
{
	if (n > in->left)
		return false;
	in->at += n;
	in->left -= n;
	return true;
}

static bool take(struct input *in, uint8_t *to, size_t n)
{
	return regular_file_read(in->fd, to, n, in->at) && skip(in, n);
}

static uint32_t number(const uint8_t *two) { return (uint32_t)two[0] << 8 | two[1]; }

/* The size of what a block has at its end, by the number of the check (2.1.1.2). */
static uint64_t check_size(uint8_t check) { return check ? UINT64_C(2) << (check + 2) / 3 : 0; }

/* The chunks of one block, up to the control byte that ends them. Control 1 and 2: stored bytes;
 * from 0x80 on: packed ones, with their properties from 0xc0 on. */
static bool add_chunks(struct input *in, uint64_t *unpacked)
{
	uint8_t control, sizes[4];

	while (in->chunks++ < CHUNKS_MOST && take(in, &control, 1)) {
		bool packed = control >= 0x80;

		if (!control)
			return true;
		if ((!packed && control > 2) || !take(in, sizes, packed ? sizeof sizes : 2))
			return false;
		*unpacked += 1 + number(sizes) + (packed ? (control & UINT32_C(0x1f)) << 16 : 0);
		if (!skip(in,
			  packed ? 1 + number(sizes + 2) + (control >= 0xc0) : 1 + number(sizes)))
			return false;
	}
	return false;
}

bool xz_size(int fd, uint64_t offset, uint64_t size, uint64_t *unpacked)
{
	static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};
	struct input in = {.fd = fd, .at = offset, .left = size};
	uint8_t header[STREAM_HEADER], words;

	*unpacked = 0;
	if (!take(&in, header, sizeof header) || memcmp(header, magic, sizeof magic))
		return false;
	while (take(&in, &words, 1)) {
		uint64_t begin;

		if (!words) /* the index */
			return true;
		if (!skip(&in, (words + UINT64_C(1)) * ALIGNMENT - 1))
			return false;
		begin = in.at;
		if (!add_chunks(&in, unpacked) ||
		    !skip(&in, (begin - in.at) % ALIGNMENT + check_size(header[7] & 0xf)))
			return false;
	}
	return false;
}
