/* SPDX-License-Identifier: MIT */
#include "collector/engine/hints.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "collector/place.h"
#include "lib/buf.h"

enum {
	HINTS_MAX = 1 << 15, /* of a program */
	HEAD_MAX = 1 << 19, /* bytes of a file's head; 32 Ki hints have less */
	HEAD_FIXED = 16,
	STORES_MAX = 512, /* programs */
	FILES_MAX = 256, /* as many as a hint has numbers for */
	TEMPLATE_MAX = 1 << 16, /* bytes */
	TEMPLATES_MAX = 16 << 20, /* of a program */
	MADE_MAX = 64 << 20, /* of a recording */
	STORED_MAX = 256 << 20, /* of all programs */
	WORTH = 1 << 20, /* bytes that are written in the time that a hint, a stop, spares in some runs */
	NO_TEMPLATE = 1, /* as a size: none can be made; 0: none was */
};

struct file {
	uint64_t dev, ino;
	uint8_t build_id_len, build_id[64];
};

/* Where the template of a hint is. */
struct place_of_template {
	uint32_t at; /* in the file, or in what was made */
	uint32_t size : 24, made : 1, tried : 1;
};

struct hint_list {
	struct hint *hints;
	struct place_of_template *templates; /* by hint */
	size_t count, cap;
	uint32_t *index; /* of hints, + 1; open addressing, twice cap */
};

struct hint_program {
	struct hint_program *next;
	struct hints *all;
	struct stat exe;
	struct file *files;
	size_t file_count;
	struct hint_list list, before; /* before: what was known when hints_begin() was called */
	bool exact;
	bool changed;	 /* since it was read, in what matters */
	size_t added;	 /* hints since then */
	size_t stored;	 /* bytes of the file */
	char name[2 * 64 + 1]; /* of its file: the build-id; "": none */
	const uint8_t *mapped; /* the file, NULL: it is not needed. A new one takes its place by rename; nobody writes to it */
	struct buf made; /* templates that are not in the file */
};

struct hints {
	const char *dir;
	uint64_t stamp;
	struct hint_program *programs;
	size_t made; /* bytes of templates */
};

static const char magic[8] = "btrhint2";

struct hints *hints_new(const char *dir, uint64_t stamp)
{
	struct hints *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	h->dir = dir;
	h->stamp = stamp;
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
static uint32_t *place_of(const struct hint_list *l, uint64_t file, uint64_t offset)
{
	size_t mask = 2 * l->cap - 1, i = (offset * 0x9e3779b97f4a7c15u + file) >> 32 & mask;

	while (l->index[i] && (l->hints[l->index[i] - 1].offset != offset || l->hints[l->index[i] - 1].file != file))
		i = (i + 1) & mask;
	return &l->index[i];
}

static bool make_room(struct hint_list *l)
{
	size_t cap = l->cap ? 2 * l->cap : 256;
	struct hint *hints;
	struct place_of_template *templates;
	uint32_t *index;

	if (l->count < l->cap)
		return true;
	if (l->count == HINTS_MAX || !(hints = realloc(l->hints, cap * sizeof *hints)))
		return false;
	l->hints = hints;
	templates = realloc(l->templates, cap * sizeof *templates);
	if (!templates)
		return false;
	l->templates = templates;
	index = calloc(2 * cap, sizeof *index);
	if (!index)
		return false;
	free(l->index);
	l->index = index;
	l->cap = cap;
	for (uint32_t i = 0; i < l->count; i++)
		*place_of(l, hints[i].file, hints[i].offset) = i + 1;
	return true;
}

static size_t find(const struct hint_list *l, uint64_t file, uint64_t offset)
{
	uint32_t n = l->cap ? *place_of(l, file, offset) : 0;

	return n ? n - 1 : HINT_NONE;
}

/* Whether something is new. */
static bool enter(struct hint_list *l, const struct hint *h, const struct place_of_template *template)
{
	size_t i = find(l, h->file, h->offset);

	if (i != HINT_NONE) {
		if (!h->indirect || l->hints[i].indirect)
			return false;
		l->hints[i].indirect = true; /* its template has no such entry, but gets one */
		return true;
	}
	if (!make_room(l))
		return false;
	l->hints[l->count] = *h;
	l->templates[l->count] = *template;
	*place_of(l, h->file, h->offset) = (uint32_t)++l->count;
	return true;
}

static void list_release(struct hint_list *l)
{
	free(l->hints);
	free(l->templates);
	free(l->index);
	*l = (struct hint_list){0};
}

void hints_add(struct hint_program *p, const struct mapping *m, uint64_t pc, bool indirect)
{
	struct hint h = {.offset = m->offset + (pc - m->start), .indirect = indirect};
	struct place_of_template template = {0};
	int file = file_of(p, m);
	size_t known;

	if (file < 0)
		return;
	h.file = (unsigned)file;
	known = find(&p->before, h.file, h.offset);
	if (known != HINT_NONE) {
		template = p->before.templates[known];
		h.indirect |= p->before.hints[known].indirect;
	}
	p->added += enter(&p->list, &h, &template);
}

bool hints_are_worth_keeping(const struct hint_program *p) { return p->changed || p->added > p->stored / WORTH + 1; }

bool hints_begin(struct hint_program *p)
{
	if (p->before.cap)
		return false;
	p->before = p->list;
	p->list = (struct hint_list){0};
	return true;
}

void hints_end(struct hint_program *p)
{
	for (size_t i = 0; i < p->before.count; i++)
		enter(&p->list, &p->before.hints[i], &p->before.templates[i]);
	list_release(&p->before);
	p->changed = true;
}

bool hints_are_exact(const struct hint_program *p) { return p->exact; }

void hints_set_exact(struct hint_program *p)
{
	p->changed |= !p->exact;
	p->exact = true;
}

size_t hints_count(const struct hint_program *p) { return p->list.count; }

size_t hints_find(const struct hint_program *p, int file, uint64_t offset) { return file < 0 ? HINT_NONE : find(&p->list, (uint64_t)file, offset); }

struct hint hints_get(const struct hint_program *p, size_t i) { return p->list.hints[i]; }

/* ---- Templates ---- */

struct slice hints_template(const struct hint_program *p, size_t i)
{
	const struct place_of_template *t = &p->list.templates[i];

	if (!t->size)
		return slice_of(NULL, 0);
	if (t->made)
		return slice_of(p->made.data + t->at, t->size);
	return p->mapped && t->at + t->size <= p->stored ? slice_of(p->mapped + t->at, t->size) : slice_of(NULL, 0);
}

void hints_drop_template(struct hint_program *p, size_t i)
{
	p->list.templates[i].size = 0;
	p->changed = true;
}

bool hints_wants_template(const struct hint_program *p, size_t i)
{
	return *p->name && p->all->dir && !p->list.templates[i].size && !p->list.templates[i].tried;
}

void hints_put_template(struct hint_program *p, size_t i, struct slice bytes)
{
	struct place_of_template *t = &p->list.templates[i];

	t->tried = true;
	if (!bytes.len || bytes.len > TEMPLATE_MAX || p->made.len + bytes.len > TEMPLATES_MAX || p->all->made + bytes.len > MADE_MAX)
		return;
	t->at = (uint32_t)p->made.len;
	buf_put(&p->made, bytes.at, bytes.len);
	if (p->made.failed)
		return;
	t->size = (uint32_t)bytes.len & 0xffffff;
	t->made = true;
	p->all->made += bytes.len;
}

/* ---- Kept in a file: magic; length and checksum of the head; the head: whether exact, the files' build-ids, the hints, the templates' stamp and sizes; the
 * templates ---- */

static bool path_of(const struct hints *h, const struct hint_program *p, const char *suffix, char path[PATH_MAX])
{
	return h->dir && *p->name && snprintf(path, PATH_MAX, "%s/%s%s", h->dir, p->name, suffix) < PATH_MAX;
}

static uint32_t checksum(const uint8_t *bytes, size_t n) { return (uint32_t)crc32(crc32(0, NULL, 0), bytes, (uInt)n); }

/* A file that nobody else can have written, -1: there is none. */
static int open_own(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool decode_files(struct hint_program *p, struct slice *s)
{
	unsigned files = slice_u8(s);

	for (unsigned i = 0; i < files; i++) {
		struct file f = {.build_id_len = slice_u8(s)};
		struct slice id = slice_take(s, f.build_id_len);

		if (s->bad || !f.build_id_len || f.build_id_len > sizeof f.build_id)
			return false;
		memcpy(f.build_id, id.at, f.build_id_len);
		if (add_file(p, &f) != (int)i)
			return false;
	}
	return true;
}

/* The templates lie behind one another from `at` on. */
static void decode(struct hint_program *p, struct slice s, uint32_t at, uint64_t stamp, bool *current)
{
	bool exact = slice_u8(&s), ours = slice_u64(&s) == stamp;
	uint64_t last[FILES_MAX] = {0}, count;

	if (!decode_files(p, &s))
		return;
	for (count = slice_leb(&s); count && s.len; count--) {
		uint64_t v = slice_leb(&s), size = slice_leb(&s);
		struct hint h = {.file = slice_u8(&s), .indirect = v & 1};
		struct place_of_template t = {.at = at, .size = ours && size != NO_TEMPLATE ? size & 0xffffff : 0, .tried = ours && size};

		if (s.bad || h.file >= p->file_count || size > TEMPLATE_MAX || at > TEMPLATES_MAX + HEAD_MAX)
			return;
		last[h.file] += (uint64_t)((int64_t)(v >> 2) ^ -(int64_t)(v >> 1 & 1));
		h.offset = last[h.file];
		at += size == NO_TEMPLATE ? 0 : (uint32_t)size;
		enter(&p->list, &h, &t);
	}
	p->exact = exact;
	*current = ours || !exact;
}

static uint32_t templates_at(size_t head) { return (uint32_t)(HEAD_FIXED + head + 7) & ~7u; }

static void load(struct hints *h, struct hint_program *p)
{
	uint8_t fixed[HEAD_FIXED], *head = NULL;
	struct slice s = slice_of(fixed + sizeof magic, sizeof fixed - sizeof magic);
	char path[PATH_MAX];
	uint32_t len = 0, crc;
	bool current = false;
	struct stat st;
	int fd = path_of(h, p, "", path) ? open_own(path) : -1;

	if (fd < 0)
		return;
	if (!fstat(fd, &st))
		p->stored = (size_t)st.st_size;
	if (read(fd, fixed, sizeof fixed) == sizeof fixed && !memcmp(fixed, magic, sizeof magic) && (len = slice_u32(&s)) <= HEAD_MAX) {
		crc = slice_u32(&s);
		head = malloc(len + 1);
		if (head && read(fd, head, len) == (ssize_t)len && checksum(head, len) == crc)
			decode(p, slice_of(head, len), templates_at(len), h->stamp, &current);
		free(head);
	}
	if (current && p->stored > templates_at(len)) {
		void *mapped = mmap(NULL, p->stored, PROT_READ, MAP_PRIVATE, fd, 0);

		p->mapped = mapped == MAP_FAILED ? NULL : mapped;
	}
	close(fd);
	p->changed = !current;
	p->added = 0;
}

static bool is_kept(const struct hint_program *p, const struct hint *h, const uint8_t *files) { return files[h->file] < UINT8_MAX && p->files[h->file].build_id_len; }

/* What has a build-id gets its number in the file. */
static void encode_files(const struct hint_program *p, uint8_t numbers[FILES_MAX], struct buf *b)
{
	size_t start = b->len;
	uint8_t n = 0;

	buf_u8(b, 0);
	for (size_t i = 0; i < p->file_count; i++) {
		numbers[i] = UINT8_MAX;
		if (!p->files[i].build_id_len || n == UINT8_MAX)
			continue;
		numbers[i] = n++;
		buf_u8(b, p->files[i].build_id_len);
		buf_put(b, p->files[i].build_id, p->files[i].build_id_len);
	}
	if (!b->failed)
		b->data[start] = n;
}

/* The head; and in `templates` what stands behind it. */
static void encode(struct hint_program *p, uint64_t stamp, struct buf *head, struct buf *templates)
{
	uint64_t last[FILES_MAX] = {0}, count = 0;
	uint8_t numbers[FILES_MAX] = {0};

	buf_u8(head, p->exact);
	buf_u64(head, stamp);
	encode_files(p, numbers, head);
	for (size_t i = 0; i < p->list.count; i++)
		count += is_kept(p, &p->list.hints[i], numbers);
	buf_leb(head, count);
	for (size_t i = 0; i < p->list.count; i++) {
		const struct hint *h = &p->list.hints[i];
		struct slice template = hints_template(p, i);
		int64_t d = (int64_t)(h->offset - last[h->file]);

		if (!is_kept(p, h, numbers))
			continue;
		if (templates->len + template.len > TEMPLATES_MAX)
			template.len = 0;
		buf_leb(head, (uint64_t)(d < 0 ? ~d : d) << 2 | (uint64_t)(d < 0) << 1 | h->indirect);
		buf_leb(head, !template.len && p->list.templates[i].tried ? NO_TEMPLATE : template.len);
		buf_u8(head, numbers[h->file]);
		buf_put(templates, template.at, template.len);
		last[h->file] = h->offset;
	}
}

static bool write_all(int fd, const void *bytes, size_t n)
{
	const char *at = bytes;

	while (n) {
		ssize_t k = write(fd, at, n);

		if (k <= 0)
			return false;
		at += k;
		n -= (size_t)k;
	}
	return true;
}

static bool write_file(struct hint_program *p, uint64_t stamp, int fd)
{
	struct buf head = {0}, templates = {0}, fixed = {0};
	const char zeros[8] = {0};
	bool ok;

	encode(p, stamp, &head, &templates);
	buf_put(&fixed, magic, sizeof magic);
	buf_u32(&fixed, (uint32_t)head.len);
	buf_u32(&fixed, checksum(head.data, head.len));
	ok = !head.failed && !templates.failed && !fixed.failed && head.len <= HEAD_MAX && write_all(fd, fixed.data, fixed.len) && write_all(fd, head.data, head.len) &&
	     write_all(fd, zeros, templates_at(head.len) - HEAD_FIXED - head.len) && write_all(fd, templates.data, templates.len);
	buf_release(&head);
	buf_release(&templates);
	buf_release(&fixed);
	return ok;
}

/* Whether there are too many files, or too much in them; then the oldest gives way. */
static bool shrink(const char *dir)
{
	char path[PATH_MAX], oldest[NAME_MAX + 1] = "";
	uint64_t bytes = 0;
	time_t time = 0;
	struct stat st;
	struct dirent *e;
	size_t n = 0;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (*e->d_name == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		bytes += (uint64_t)st.st_size;
		if (!n++ || st.st_mtime < time) {
			time = st.st_mtime;
			snprintf(oldest, sizeof oldest, "%s", e->d_name);
		}
	}
	if (d)
		closedir(d);
	return (n > STORES_MAX || bytes > STORED_MAX) && snprintf(path, sizeof path, "%s/%s", dir, oldest) < (int)sizeof path && !unlink(path);
}

static void save(const struct hints *h, struct hint_program *p)
{
	char path[PATH_MAX], new_path[PATH_MAX], suffix[32];
	int fd;

	snprintf(suffix, sizeof suffix, ".%d", (int)getpid());
	if (!hints_are_worth_keeping(p) || !p->list.count || !path_of(h, p, "", path) || !path_of(h, p, suffix, new_path))
		return;
	if (access(h->dir, W_OK) && place_prepare(h->dir, NULL))
		return;
	unlink(new_path); /* of a recorder that was killed */
	fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool written = write_file(p, h->stamp, fd);

		close(fd);
		if (!written || rename(new_path, path))
			unlink(new_path);
	}
	for (int i = 0; i < STORES_MAX && shrink(h->dir); i++)
		;
}

void hints_free(struct hints *h)
{
	struct hint_program *next;

	for (struct hint_program *p = h ? h->programs : NULL; p; p = next) {
		next = p->next;
		save(h, p);
		if (p->mapped)
			munmap((void *)(uintptr_t)p->mapped, p->stored);
		free(p->files);
		list_release(&p->list);
		list_release(&p->before);
		buf_release(&p->made);
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
	p->all = h;
	p->next = h->programs;
	h->programs = p;
	name_program(p, s);
	load(h, p);
	return p;
}
