/* SPDX-License-Identifier: MIT */
/* struct profiles holds a profile for each program that was met, found by its executable file. It
 * is read from the user's cache directory at first (profile_load()), and written when the recording
 * ends or when it gives way: of programs that nobody runs any more IDLE_MAX stay in memory.
 *
 * An entry is a place: the number of a file in the profile, and an offset in it. A file is known
 * again by its build-id, or by what stat(2) says. Beside each entry stands where its group is: in
 * the first file, in the second one, or in `made`, the groups of this recording.
 *
 * A program that has no profile gets that of a similar one: of this recording, else the one that
 * the cache directory has under the interpreter's name. */
#include "collector/backend/engine/persist/profile_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	MADE_MAX = 96 << 20, /* bytes of groups, of a recording */
	WORTH = 1 << 18, /* bytes that are written in the time that an entry, a stop, spares in some
			    runs */
	WORTH_MIN = 16,  /* entries that are worth writing the smallest file */
	IDLE_MAX = 16,   /* programs that nobody uses: a script comes back to its tools; a configure
			    script makes hundreds that run once */
};

struct profiles *profiles_new(const char *dir, struct fragment_kind kind, uint64_t stamp)
{
	struct profiles *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	h->dir = dir;
	h->kind = kind;
	h->stamp = stamp;
	return h;
}

static bool same_stat(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct profile_identity identity_of_stat(const struct stat *s)
{
	const uint64_t which[] = {s->st_dev, s->st_ino, (uint64_t)s->st_size,
				  (uint64_t)s->st_mtim.tv_sec, (uint64_t)s->st_mtim.tv_nsec};
	struct profile_identity id = {.len = 1 + sizeof which};

	memcpy(id.bytes + 1, which, sizeof which);
	return id;
}

/* The identity of a mapping's file; by stat(2) only if the file at its path is the one that is
 * mapped. */
static struct profile_identity identity_of(const struct mapping *m)
{
	struct profile_identity id = {.len = m->build_id_len};
	struct stat s;

	memcpy(id.bytes, m->build_id, m->build_id_len);
	if (id.len || !m->ino || stat(m->path, &s) || s.st_dev != m->dev || s.st_ino != m->ino)
		return id;
	return identity_of_stat(&s);
}

static bool same_identity(const struct profile_identity *a, const struct profile_identity *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len);
}

static int find_file(const struct profile *p, const struct mapping *m,
		     const struct profile_identity *id)
{
	for (size_t i = 0; i < p->file_count; i++) {
		const struct profile_file *f = &p->files[i];

		if (same_identity(&f->id, id) &&
		    (id->len || (f->dev == m->dev && f->ino == m->ino)))
			return (int)i;
	}
	return -1;
}

int profile_file(const struct profile *p, const struct mapping *m)
{
	struct profile_identity id = identity_of(m);

	return find_file(p, m, &id);
}

static int add_file(struct profile *p, const struct profile_file *f)
{
	struct profile_file *grown;

	if (p->file_count == PROFILE_FILES_MAX)
		return -1;
	grown = realloc(p->files, (p->file_count + 1) * sizeof *grown);
	if (!grown)
		return -1;
	p->files = grown;
	grown[p->file_count] = *f;
	return (int)p->file_count++;
}

static int file_of(struct profile *p, const struct mapping *m)
{
	struct profile_file f = {.dev = m->dev, .ino = m->ino};

	if (m->ino && m->dev == p->last.dev && m->ino == p->last.ino)
		return p->last.number;
	f.id = identity_of(m);
	p->last.dev = m->dev;
	p->last.ino = m->ino;
	p->last.number = find_file(p, m, &f.id);
	if (p->last.number < 0 && m->ino)
		p->last.number = add_file(p, &f);
	return p->last.number;
}

void profile_add(struct profile *p, const struct mapping *m, uint64_t pc, bool indirect)
{
	struct profile_entry h = {.offset = m->offset + (pc - m->start), .indirect = indirect};
	const struct persisted_location none = {0};
	int file = file_of(p, m);

	if (file < 0)
		return;
	h.file = (unsigned)file;
	p->added += profile_entries_enter(&p->list, &h, &none);
}

bool profile_is_worth(const struct profile *p, size_t n)
{
	return n > (p->head ? WORTH_MIN + p->more.size / WORTH : 1);
}

bool profile_is_full(const struct profile *p) { return p->list.count >= PROFILE_MAX; }

bool profile_is_exact(const struct profile *p) { return p->exact; }

void profile_set_exact(struct profile *p)
{
	p->changed |= !p->exact;
	p->exact = true;
}

size_t profile_count(const struct profile *p) { return p->list.count; }

size_t profile_files(const struct profile *p) { return p->file_count; }

size_t profile_find(const struct profile *p, int file, uint64_t offset)
{
	return file < 0 ? PROFILE_NONE : profile_entries_find(&p->list, (uint64_t)file, offset);
}

struct profile_entry profile_get(const struct profile *p, size_t i) { return p->list.entries[i]; }

/* ---- Groups ---- */

struct slice profile_group_at(const struct profile *p, const struct persisted_location *t)
{
	if (t->made && t->size)
		return slice_of(p->made.data + t->at, t->size);
	return untrusted_file_piece(t->more ? &p->more : &p->first, &p->all->window, t->at,
				    t->size);
}

struct slice profile_group(const struct profile *p, size_t i)
{
	return profile_group_at(p, &p->list.groups[i]);
}

uint64_t profile_group_key(const struct profile *p, size_t i)
{
	const struct persisted_location *t = &p->list.groups[i];

	return t->size ? 1ull << 34 | (uint64_t)t->made << 33 | (uint64_t)t->more << 32 | t->at : 0;
}

void profile_drop_group(struct profile *p, size_t i)
{
	if (!profile_entries_own(&p->list))
		return;
	p->list.groups[i] = (struct persisted_location){.weak = true};
	p->added++;
}

bool profile_wants_group(const struct profile *p, size_t i)
{
	return *p->name && p->all->dir && !p->list.groups[i].size && !p->list.groups[i].tried;
}

struct fragment_kind profile_kind(const struct profile *p) { return p->all->kind; }

bool profile_group_was_weak(const struct profile *p, size_t i) { return p->list.groups[i].weak; }

void profile_put_group(struct profile *p, const size_t *entries, size_t n, struct slice bytes)
{
	bool fits = bytes.len && bytes.len <= PERSISTED_BYTES &&
		    p->made.len + bytes.len <= PROFILE_PERSISTED_MAX &&
		    p->all->made + bytes.len <= MADE_MAX;
	uint32_t at = (uint32_t)p->made.len;

	if (!n || !profile_entries_own(&p->list))
		return;
	if (fits)
		buf_put(&p->made, bytes.at, bytes.len);
	fits = fits && !p->made.failed;
	for (size_t i = 0; i < n; i++) {
		struct persisted_location *t = &p->list.groups[entries[i]];

		t->tried = true;
		if (fits)
			*t = (struct persisted_location){.at = at,
							 .size = (uint32_t)bytes.len & 0xffffff,
							 .made = true,
							 .tried = true,
							 .weak = t->weak};
	}
	if (fits) {
		p->added += n;
		p->all->made += bytes.len;
	}
}

static void free_program(struct profile *p)
{
	untrusted_file_close(&p->first);
	untrusted_file_close(&p->more);
	free(p->files);
	profile_entries_release(&p->list);
	free(p->head);
	p->all->made -= p->made.len;
	buf_release(&p->made);
	free(p);
}

static void free_programs(struct profile *first)
{
	struct profile *next;

	for (struct profile *p = first; p; p = next) {
		next = p->next;
		free_program(p);
	}
}

void profile_use(struct profile *p)
{
	if (p)
		p->uses++;
}

/* If there are too many profiles without users, the one whose last user left first gives way. */
static void drop_idle(struct profiles *h)
{
	struct profile **oldest = NULL, *p;
	size_t idle = 0;

	for (struct profile **at = &h->programs; *at; at = &(*at)->next)
		if (!(*at)->uses) {
			idle++;
			if (!oldest || (*at)->left < (*oldest)->left)
				oldest = at;
		}
	if (idle <= IDLE_MAX)
		return;
	p = *oldest;
	*oldest = p->next;
	profile_save(h, p);
	free_program(p);
}

void profile_leave(struct profile *p)
{
	if (!p)
		return;
	p->left = ++p->all->leavings;
	if (!--p->uses)
		drop_idle(p->all);
}

void profiles_free(struct profiles *h)
{
	if (!h)
		return;
	for (struct profile *p = h->programs; p; p = p->next)
		profile_save(h, p);
	free_programs(h->programs);
	free_programs(h->similar);
	untrusted_window_release(&h->window);
	free(h);
}

static void put_file_name(char name[2 * BT_BUILD_ID_MAX + 1], const struct profile_identity *id)
{
	for (size_t k = 0; k < id->len; k++)
		snprintf(name + 2 * k, 3, "%02x", id->bytes[k]);
}

static bool is_file_code(const struct mapping *m) { return m->ino && m->prot & PROT_EXEC; }

/* The program's file, by stat(2). The process of a replay is btrec; its program is the first file
 * whose code it has, of which no more is known than the mapping tells. */
static bool find_program(pid_t pid, const struct address_space *s, struct stat *exe)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	if (!s->origins.count)
		return !stat(path, exe);
	*exe = (struct stat){0};
	for (size_t i = 0; i < s->mappings.count && !exe->st_ino; i++)
		if (is_file_code(&s->mappings.maps[i])) {
			exe->st_dev = s->mappings.maps[i].dev;
			exe->st_ino = s->mappings.maps[i].ino;
		}
	return exe->st_ino;
}

/* Names the profile after the execve, when program and interpreter (if it has one) are mapped. */
static void name_program(struct profile *p, const struct address_space *s)
{
	struct profile_identity id = {.len = 0}, interpreter = {.len = 0};

	if (!s->origins.count)
		id = identity_of_stat(&p->exe);
	for (size_t i = 0; i < s->mappings.count; i++) {
		const struct mapping *m = &s->mappings.maps[i];

		if (!is_file_code(m))
			continue;
		if (m->ino != p->exe.st_ino || m->dev != p->exe.st_dev)
			interpreter = interpreter.len ? interpreter : identity_of(m);
		else if (m->build_id_len >= PROFILE_NAME_MIN)
			id = identity_of(m);
	}
	put_file_name(p->name, &id);
	if (interpreter.len >= PROFILE_NAME_MIN)
		put_file_name(p->interpreter, &interpreter);
}

struct profile *profiles_find(struct profiles *h, pid_t pid, const struct address_space *s)
{
	struct profile *p;
	struct stat exe;

	if (!h || !find_program(pid, s, &exe))
		return NULL;
	for (p = h->programs; p; p = p->next)
		if (same_stat(&p->exe, &exe)) {
			p->uses++;
			return p;
		}
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->exe = exe;
	p->uses = 1;
	p->all = h;
	p->next = h->programs;
	h->programs = p;
	name_program(p, s);
	profile_load(h, p);
	return p;
}

/* The kept profile with that interpreter's name; empty if none is kept. NULL without memory. */
static struct profile *kept_similar(struct profiles *h, const char *interpreter)
{
	struct profile *p = h->similar;

	while (p && strcmp(p->name, interpreter))
		p = p->next;
	if (p)
		return p;
	p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->all = h;
	p->next = h->similar;
	h->similar = p;
	memcpy(p->name, interpreter, sizeof p->name);
	profile_load_similar(h, p);
	return p;
}

bool profile_can_be_similar(const struct profile *p)
{
	return p->exact && p->list.count >= SIMILAR_ENTRIES_MIN &&
	       p->list.count <= SIMILAR_ENTRIES_MAX;
}

static struct profile *find_similar(struct profile *p)
{
	struct profile *similar;

	if (!*p->interpreter)
		return NULL;
	for (similar = p->all->programs; similar; similar = similar->next)
		if (similar != p && profile_can_be_similar(similar) &&
		    !strcmp(similar->interpreter, p->interpreter))
			return similar;
	similar = kept_similar(p->all, p->interpreter);
	return similar && profile_can_be_similar(similar) ? similar : NULL;
}

struct profile *profile_similar(struct profile *p)
{
	struct profile *similar = find_similar(p);

	profile_use(similar);
	return similar;
}
