/* SPDX-License-Identifier: MIT */
#include "collector/engine/hints.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/place.h"
#include "lib/buf.h"
#include "lib/slice.h"

enum {
	HINTS_MAX = 1 << 15, /* of a program */
	STORE_MAX = 1 << 19, /* bytes of a file; 32 Ki hints have less */
	STORE_HEAD = 12,
	STORES_MAX = 512, /* programs */
	FILES_MAX = 256, /* as many as a hint has numbers for */
};

struct file {
	uint64_t dev, ino;
	uint8_t build_id_len, build_id[64];
};

struct hint {
	uint64_t offset : 55, file : 8, indirect : 1;
};

struct hint_program {
	struct hint_program *next;
	struct stat exe;
	struct file *files;
	size_t file_count;
	struct hint *hints;
	size_t count, cap;
	uint32_t *index; /* of hints, + 1; open addressing, twice cap */
	bool exact;
	bool changed;	 /* since it was read */
	char name[2 * 64 + 1]; /* of its file: the build-id; "": none */
};

struct hints {
	const char *dir;
	struct hint_program *programs;
};

static const char magic[8] = "btrhint1";

struct hints *hints_new(const char *dir)
{
	struct hints *h = calloc(1, sizeof *h);

	if (h)
		h->dir = dir;
	return h;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int hints_file(const struct hint_program *p, const struct mapping *m)
{
	for (size_t i = 0; i < p->file_count; i++) {
		const struct file *f = &p->files[i];

		if (f->build_id_len != m->build_id_len || memcmp(f->build_id, m->build_id, m->build_id_len))
			continue;
		if (f->build_id_len || (f->dev == m->dev && f->ino == m->ino))
			return (int)i;
	}
	return -1;
}

static int add_file(struct hint_program *p, const struct file *f)
{
	struct file *grown;

	if (p->file_count == FILES_MAX)
		return -1;
	grown = realloc(p->files, (p->file_count + 1) * sizeof *grown);
	if (!grown)
		return -1;
	p->files = grown;
	grown[p->file_count] = *f;
	return (int)p->file_count++;
}

static int file_of(struct hint_program *p, const struct mapping *m)
{
	struct file f = {.dev = m->dev, .ino = m->ino, .build_id_len = m->build_id_len};
	int known = hints_file(p, m);

	memcpy(f.build_id, m->build_id, m->build_id_len);
	return known >= 0 || !m->ino ? known : add_file(p, &f);
}

/* Where the hint is, or a free place. */
static uint32_t *place_of(const struct hint_program *p, const struct hint *h)
{
	size_t mask = 2 * p->cap - 1, i = ((uint64_t)h->offset * 0x9e3779b97f4a7c15u + h->file) >> 32 & mask;

	while (p->index[i] && (p->hints[p->index[i] - 1].offset != h->offset || p->hints[p->index[i] - 1].file != h->file))
		i = (i + 1) & mask;
	return &p->index[i];
}

static bool make_room(struct hint_program *p)
{
	size_t cap = p->cap ? 2 * p->cap : 256;
	struct hint *hints;
	uint32_t *index;

	if (p->count < p->cap)
		return true;
	if (p->count == HINTS_MAX || !(hints = realloc(p->hints, cap * sizeof *hints)))
		return false;
	p->hints = hints;
	index = calloc(2 * cap, sizeof *index);
	if (!index)
		return false;
	free(p->index);
	p->index = index;
	p->cap = cap;
	for (uint32_t i = 0; i < p->count; i++)
		*place_of(p, &hints[i]) = i + 1;
	return true;
}

static void enter(struct hint_program *p, const struct hint *h)
{
	uint32_t *at;

	if (!make_room(p))
		return;
	at = place_of(p, h);
	if (!*at) {
		p->hints[p->count++] = *h;
		*at = (uint32_t)p->count;
		p->changed = true;
	} else if (h->indirect && !p->hints[*at - 1].indirect) {
		p->hints[*at - 1].indirect = true;
		p->changed = true;
	}
}

void hints_add(struct hint_program *p, const struct mapping *m, uint64_t pc, bool indirect)
{
	struct hint h = {.offset = m->offset + (pc - m->start), .indirect = indirect};
	int file = file_of(p, m);

	h.file = (unsigned)file;
	if (file >= 0)
		enter(p, &h);
}

bool hints_are_exact(const struct hint_program *p) { return p->exact; }

void hints_set_exact(struct hint_program *p)
{
	p->changed |= !p->exact;
	p->exact = true;
}

size_t hints_count(const struct hint_program *p) { return p->count; }

bool hints_get(const struct hint_program *p, size_t i, int file, const struct mapping *m, uint64_t *pc, bool *indirect)
{
	const struct hint *h = &p->hints[i];

	if (h->file != (unsigned)file || h->offset < m->offset || h->offset - m->offset >= m->end - m->start)
		return false;
	*pc = m->start + (h->offset - m->offset);
	*indirect = h->indirect;
	return true;
}

/* ---- Kept in a file: magic, checksum of what follows; whether exact, the files' build-ids, the hints of each ---- */

static bool path_of(const struct hints *h, const struct hint_program *p, const char *suffix, char path[PATH_MAX])
{
	return h->dir && *p->name && snprintf(path, PATH_MAX, "%s/%s%s", h->dir, p->name, suffix) < PATH_MAX;
}

static uint32_t checksum(const uint8_t *bytes, size_t n) { return (uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)n); }

/* The whole of a file that nobody else can have written. *bytes is the caller's. */
static size_t read_own(const char *path, uint8_t **bytes)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	ssize_t n = 0;

	*bytes = NULL;
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)) && st.st_size <= STORE_MAX)
		*bytes = malloc((size_t)st.st_size + 1);
	if (*bytes)
		n = read(fd, *bytes, (size_t)st.st_size);
	close(fd);
	return n > 0 ? (size_t)n : 0;
}

static void decode(struct hint_program *p, struct slice s)
{
	bool exact = slice_u8(&s);
	unsigned files = slice_u8(&s);

	for (unsigned i = 0; i < files && s.len; i++) {
		struct file f = {.build_id_len = slice_u8(&s)};
		uint64_t hints, offset = 0;

		if (!f.build_id_len || f.build_id_len > sizeof f.build_id || s.len < f.build_id_len)
			return;
		memcpy(f.build_id, slice_take(&s, f.build_id_len).at, f.build_id_len);
		if (add_file(p, &f) != (int)i)
			return;
		for (hints = slice_leb(&s); hints && s.len; hints--) {
			uint64_t v = slice_leb(&s);

			offset += (uint64_t)((int64_t)(v >> 2) ^ -(int64_t)(v >> 1 & 1));
			enter(p, &(struct hint){.offset = offset, .file = i, .indirect = v & 1});
		}
	}
	p->exact = exact;
}

static void load(const struct hints *h, struct hint_program *p)
{
	char path[PATH_MAX];
	uint8_t *bytes;
	size_t n;

	if (!path_of(h, p, "", path))
		return;
	n = read_own(path, &bytes);
	if (n > STORE_HEAD && !memcmp(bytes, magic, sizeof magic)) {
		struct slice s = slice_of(bytes + sizeof magic, n - sizeof magic);

		if (slice_u32(&s) == checksum(s.at, s.len))
			decode(p, s);
	}
	free(bytes);
	p->changed = false;
}

static void encode_file(const struct hint_program *p, unsigned file, struct buf *b)
{
	uint64_t offset = 0, n = 0;

	buf_u8(b, p->files[file].build_id_len);
	buf_put(b, p->files[file].build_id, p->files[file].build_id_len);
	for (size_t i = 0; i < p->count; i++)
		n += p->hints[i].file == file;
	buf_leb(b, n);
	for (size_t i = 0; i < p->count; i++)
		if (p->hints[i].file == file) {
			int64_t d = (int64_t)(p->hints[i].offset - offset);

			buf_leb(b, (uint64_t)(d < 0 ? ~d : d) << 2 | (uint64_t)(d < 0) << 1 | p->hints[i].indirect);
			offset = p->hints[i].offset;
		}
}

static void encode(const struct hint_program *p, struct buf *b)
{
	struct buf body = {0};
	unsigned files = 0;

	for (size_t i = 0; i < p->file_count; i++)
		files += p->files[i].build_id_len != 0;
	if (files > UINT8_MAX)
		files = UINT8_MAX;
	buf_u8(&body, p->exact);
	buf_u8(&body, (uint8_t)files);
	for (unsigned i = 0; files; i++)
		if (p->files[i].build_id_len) {
			encode_file(p, i, &body);
			files--;
		}
	buf_put(b, magic, sizeof magic);
	buf_u32(b, checksum(body.data, body.len));
	buf_put(b, body.data, body.len);
	b->failed |= body.failed;
	buf_release(&body);
}

/* The oldest file gives way when there are many. */
static void make_room_in(const char *dir)
{
	char path[PATH_MAX], oldest[NAME_MAX + 1] = "";
	time_t time = 0;
	struct stat st;
	struct dirent *e;
	size_t n = 0;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (*e->d_name == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (!n++ || st.st_mtime < time) {
			time = st.st_mtime;
			snprintf(oldest, sizeof oldest, "%s", e->d_name);
		}
	}
	if (d)
		closedir(d);
	if (n >= STORES_MAX && snprintf(path, sizeof path, "%s/%s", dir, oldest) < (int)sizeof path)
		unlink(path);
}

static void save(const struct hints *h, const struct hint_program *p)
{
	char path[PATH_MAX], new_path[PATH_MAX], suffix[32];
	struct buf b = {0};
	int fd;

	snprintf(suffix, sizeof suffix, ".%d", (int)getpid());
	if (!p->changed || !p->count || !path_of(h, p, "", path) || !path_of(h, p, suffix, new_path))
		return;
	if (access(h->dir, W_OK) && place_prepare(h->dir, NULL))
		return;
	encode(p, &b);
	unlink(new_path); /* of a recorder that was killed */
	if (access(path, F_OK))
		make_room_in(h->dir);
	fd = b.failed || b.len > STORE_MAX ? -1 : open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool written = write(fd, b.data, b.len) == (ssize_t)b.len;

		close(fd);
		if (!written || rename(new_path, path))
			unlink(new_path);
	}
	buf_release(&b);
}

void hints_free(struct hints *h)
{
	struct hint_program *next;

	for (struct hint_program *p = h ? h->programs : NULL; p; p = next) {
		next = p->next;
		save(h, p);
		free(p->files);
		free(p->hints);
		free(p->index);
		free(p);
	}
	free(h);
}

/* By the build-id of the mappings of its file. */
static void name_program(struct hint_program *p, const struct address_space *s)
{
	for (size_t i = 0; i < s->map_count; i++) {
		const struct mapping *m = &s->maps[i];

		if (m->ino != p->exe.st_ino || m->dev != p->exe.st_dev || m->build_id_len < 8)
			continue;
		for (size_t k = 0; k < m->build_id_len; k++)
			snprintf(p->name + 2 * k, 3, "%02x", m->build_id[k]);
		return;
	}
}

struct hint_program *hints_of(struct hints *h, pid_t pid, const struct address_space *s)
{
	struct hint_program *p;
	struct stat exe;
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	if (stat(path, &exe))
		return NULL;
	for (p = h->programs; p; p = p->next)
		if (same_file(&p->exe, &exe))
			return p;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->exe = exe;
	p->next = h->programs;
	h->programs = p;
	name_program(p, s);
	load(h, p);
	return p;
}
