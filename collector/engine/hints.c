/* SPDX-License-Identifier: MIT */
#include "collector/engine/hints.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	HINTS_MAX = 1 << 16, /* of a program */
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
};

struct hints {
	struct hint_program *programs;
};

struct hints *hints_new(void) { return calloc(1, sizeof(struct hints)); }

void hints_free(struct hints *h)
{
	struct hint_program *next;

	for (struct hint_program *p = h ? h->programs : NULL; p; p = next) {
		next = p->next;
		free(p->files);
		free(p->hints);
		free(p->index);
		free(p);
	}
	free(h);
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

struct hint_program *hints_of(struct hints *h, pid_t pid)
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
	return p;
}

int hints_file(const struct hint_program *p, const struct mapping *m)
{
	for (size_t i = 0; i < p->file_count; i++) {
		const struct file *f = &p->files[i];

		if (f->dev == m->dev && f->ino == m->ino && f->build_id_len == m->build_id_len && !memcmp(f->build_id, m->build_id, m->build_id_len))
			return (int)i;
	}
	return -1;
}

static int add_file(struct hint_program *p, const struct mapping *m)
{
	struct file *grown;

	if (p->file_count == FILES_MAX || !m->ino)
		return -1;
	grown = realloc(p->files, (p->file_count + 1) * sizeof *grown);
	if (!grown)
		return -1;
	p->files = grown;
	grown[p->file_count] = (struct file){.dev = m->dev, .ino = m->ino, .build_id_len = m->build_id_len};
	memcpy(grown[p->file_count].build_id, m->build_id, m->build_id_len);
	return (int)p->file_count++;
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

void hints_add(struct hint_program *p, const struct mapping *m, uint64_t pc, bool indirect)
{
	int file = hints_file(p, m);
	struct hint h = {.offset = m->offset + (pc - m->start), .indirect = indirect};
	uint32_t *at;

	if (file < 0)
		file = add_file(p, m);
	if (file < 0 || !make_room(p))
		return;
	h.file = (unsigned)file;
	at = place_of(p, &h);
	if (*at) {
		p->hints[*at - 1].indirect |= indirect;
		return;
	}
	p->hints[p->count++] = h;
	*at = (uint32_t)p->count;
}

bool hints_are_exact(const struct hint_program *p) { return p->exact; }

void hints_set_exact(struct hint_program *p) { p->exact = true; }

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
