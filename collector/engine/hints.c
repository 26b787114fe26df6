/* SPDX-License-Identifier: MIT */
#include "collector/engine/hints.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/engine/chain_template.h"
#include "collector/engine/kept_file.h"
#include "collector/place.h"
#include "lib/buf.h"
#include "lib/build_id.h"
#include "lib/content_hash.h"

enum {
	NAME_MIN = 8, /* bytes of a build-id that is likely to be nobody else's */
	HINTS_MAX = 1 << 18, /* of a program */
	STORES_MAX = 512, /* programs */
	FILES_MAX = 256, /* as many as a hint has numbers for */
	PLACES_SEEN = 128, /* hints that have a template in common are not far from one another */
	TEMPLATES_MAX = 96 << 20, /* of a program */
	FILE_SIZE_MAX = 2 * TEMPLATES_MAX,
	MADE_MAX = 96 << 20, /* of a recording */
	STORED_MAX = 384 << 20, /* of all programs */
	WORTH = 1 << 18, /* bytes that are written in the time that a hint, a stop, spares in some runs */
	WORTH_MIN = 16, /* hints that are worth writing the smallest file */
	MORE_SHARE = 4, /* what has come since a file was written stands in a second one, until that would be so large a part of the first */
};

/* What tells a file from others: its build-id; or, of one that has none, which it is and since when (stat(2)), behind a byte that makes it
 * as long as no build-id is. len 0: not known. */
struct identity {
	uint8_t len, bytes[BT_BUILD_ID_MAX];
};

struct file {
	uint64_t dev, ino;
	struct identity id;
};

_Static_assert(TEMPLATE_BYTES <= (int)KEPT_PIECE_MAX, "a template is a piece of a file");

/* Where the template of a hint is; hints that have one in common have one place. */
struct place_of_template {
	uint32_t at; /* in the file, in the second one (more), or in what was made */
	uint32_t size : 24, made : 1, tried : 1, more : 1, weak : 1; /* weak: one that had no checkpoint did not do */
};

struct hint_list {
	struct hint *hints;
	struct place_of_template *templates; /* by hint */
	size_t count, cap;
	uint32_t *index; /* of hints, + 1; open addressing, twice cap */
	bool borrowed;	 /* they lie in the first file's head */
};

struct hint_program {
	struct hint_program *next;
	struct hints *all;
	struct stat exe;
	struct file *files;
	size_t file_count;
	struct {
		uint64_t dev, ino;
		int number;
	} last; /* file that had hints entered; ino 0: none */
	struct hint_list list;
	bool exact;
	bool changed;	 /* since it was read, in what matters */
	size_t added;	 /* hints and templates since then */
	char name[2 * BT_BUILD_ID_MAX + 1]; /* of its file: the identity; "": none */
	struct kept_file first, more; /* a new one takes a file's place by rename */
	uint8_t *head;	 /* of the first one, all but the templates; NULL: there is none */
	struct buf made; /* templates that are not in the file */
};

struct hints {
	const char *dir;
	bool ticks;
	uint64_t stamp;
	struct hint_program *programs;
	struct kept_window window;
	size_t made; /* bytes of templates */
};

static const char magic[8] = "btrhint6";
static const char counted[] = ".ticks", second[] = ".more"; /* suffixes of files: where no history is kept; the second one */

struct hints *hints_new(const char *dir, bool ticks, uint64_t stamp)
{
	struct hints *h = calloc(1, sizeof *h);

	if (!h)
		return NULL;
	h->dir = dir;
	h->ticks = ticks;
	h->stamp = stamp;
	return h;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct identity identity_of_stat(const struct stat *s)
{
	const uint64_t which[] = {s->st_dev, s->st_ino, (uint64_t)s->st_size, (uint64_t)s->st_mtim.tv_sec, (uint64_t)s->st_mtim.tv_nsec};
	struct identity id = {.len = 1 + sizeof which};

	memcpy(id.bytes + 1, which, sizeof which);
	return id;
}

/* Of the file at the mapping's path, if that is the one that is mapped. */
static struct identity identity_of(const struct mapping *m)
{
	struct identity id = {.len = m->build_id_len};
	struct stat s;

	memcpy(id.bytes, m->build_id, m->build_id_len);
	if (id.len || !m->ino || stat(m->path, &s) || s.st_dev != m->dev || s.st_ino != m->ino)
		return id;
	return identity_of_stat(&s);
}

static bool same_identity(const struct identity *a, const struct identity *b) { return a->len == b->len && !memcmp(a->bytes, b->bytes, a->len); }

static int find_file(const struct hint_program *p, const struct mapping *m, const struct identity *id)
{
	for (size_t i = 0; i < p->file_count; i++) {
		const struct file *f = &p->files[i];

		if (same_identity(&f->id, id) && (id->len || (f->dev == m->dev && f->ino == m->ino)))
			return (int)i;
	}
	return -1;
}

int hints_file(const struct hint_program *p, const struct mapping *m)
{
	struct identity id = identity_of(m);

	return find_file(p, m, &id);
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
	struct file f = {.dev = m->dev, .ino = m->ino};

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

/* Where the hint is, or a free place. */
static uint32_t *place_of(const struct hint_list *l, uint64_t file, uint64_t offset)
{
	size_t mask = 2 * l->cap - 1, i = (offset * 0x9e3779b97f4a7c15u + file) >> 32 & mask;

	while (l->index[i] && (l->hints[l->index[i] - 1].offset != offset || l->hints[l->index[i] - 1].file != file))
		i = (i + 1) & mask;
	return &l->index[i];
}

static void list_release(struct hint_list *l)
{
	if (!l->borrowed) {
		free(l->hints);
		free(l->templates);
		free(l->index);
	}
	*l = (struct hint_list){0};
}

static bool make_room(struct hint_list *l)
{
	size_t cap = l->count < l->cap ? l->cap : l->cap ? 2 * l->cap : 256; /* in the file there is room for none */
	struct hint_list grown = {.count = l->count, .cap = cap};

	if (l->count < l->cap && !l->borrowed)
		return true;
	if (l->count == HINTS_MAX)
		return false;
	grown.hints = malloc(cap * sizeof *grown.hints);
	grown.templates = malloc(cap * sizeof *grown.templates);
	grown.index = calloc(2 * cap, sizeof *grown.index);
	if (!grown.hints || !grown.templates || !grown.index) {
		list_release(&grown);
		return false;
	}
	if (l->count) {
		memcpy(grown.hints, l->hints, l->count * sizeof *grown.hints);
		memcpy(grown.templates, l->templates, l->count * sizeof *grown.templates);
	}
	if (cap == l->cap)
		memcpy(grown.index, l->index, 2 * cap * sizeof *grown.index);
	for (uint32_t i = 0; cap != l->cap && i < l->count; i++)
		*place_of(&grown, l->hints[i].file, l->hints[i].offset) = i + 1;
	list_release(l);
	*l = grown;
	return true;
}

/* What is in the file stays as it is: what has changed since is known by that. */
static bool make_own(struct hint_list *l) { return !l->borrowed || make_room(l); }

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
		if (!h->indirect || l->hints[i].indirect || !make_own(l))
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

void hints_add(struct hint_program *p, const struct mapping *m, uint64_t pc, bool indirect)
{
	struct hint h = {.offset = m->offset + (pc - m->start), .indirect = indirect};
	const struct place_of_template none = {0};
	int file = file_of(p, m);

	if (file < 0)
		return;
	h.file = (unsigned)file;
	p->added += enter(&p->list, &h, &none);
}

bool hints_are_worth(const struct hint_program *p, size_t n)
{
	return n > (p->head ? WORTH_MIN + p->more.size / WORTH : 1);
}

static bool is_worth_keeping(const struct hint_program *p) { return p->changed || hints_are_worth(p, p->added); }

bool hints_are_full(const struct hint_program *p) { return p->list.count >= HINTS_MAX; }

bool hints_are_exact(const struct hint_program *p) { return p->exact; }

void hints_set_exact(struct hint_program *p)
{
	p->changed |= !p->exact;
	p->exact = true;
}

size_t hints_count(const struct hint_program *p) { return p->list.count; }

size_t hints_files(const struct hint_program *p) { return p->file_count; }

size_t hints_find(const struct hint_program *p, int file, uint64_t offset) { return file < 0 ? HINT_NONE : find(&p->list, (uint64_t)file, offset); }

struct hint hints_get(const struct hint_program *p, size_t i) { return p->list.hints[i]; }

/* ---- Templates ---- */

static struct slice template_at(const struct hint_program *p, const struct place_of_template *t)
{
	if (t->made && t->size)
		return slice_of(p->made.data + t->at, t->size);
	return kept_file_piece(t->more ? &p->more : &p->first, &p->all->window, t->at, t->size);
}

struct slice hints_template(const struct hint_program *p, size_t i) { return template_at(p, &p->list.templates[i]); }

uint64_t hints_template_key(const struct hint_program *p, size_t i)
{
	const struct place_of_template *t = &p->list.templates[i];

	return t->size ? 1ull << 34 | (uint64_t)t->made << 33 | (uint64_t)t->more << 32 | t->at : 0;
}

void hints_drop_template(struct hint_program *p, size_t i)
{
	if (!make_own(&p->list))
		return;
	p->list.templates[i] = (struct place_of_template){.weak = true};
	p->added++;
}

bool hints_wants_template(const struct hint_program *p, size_t i)
{
	return *p->name && p->all->dir && !p->list.templates[i].size && !p->list.templates[i].tried;
}

bool hints_are_of_ticks(const struct hint_program *p) { return p->all->ticks; }

bool hints_template_was_weak(const struct hint_program *p, size_t i) { return p->list.templates[i].weak; }

void hints_put_template(struct hint_program *p, const size_t *hints, size_t n, struct slice bytes)
{
	bool fits = bytes.len && bytes.len <= TEMPLATE_BYTES && p->made.len + bytes.len <= TEMPLATES_MAX && p->all->made + bytes.len <= MADE_MAX;
	uint32_t at = (uint32_t)p->made.len;

	if (!n || !make_own(&p->list))
		return;
	if (fits)
		buf_put(&p->made, bytes.at, bytes.len);
	fits = fits && !p->made.failed;
	for (size_t i = 0; i < n; i++) {
		struct place_of_template *t = &p->list.templates[hints[i]];

		t->tried = true;
		if (fits)
			*t = (struct place_of_template){.at = at, .size = (uint32_t)bytes.len & 0xffffff, .made = true, .tried = true, .weak = t->weak};
	}
	if (fits) {
		p->added += n;
		p->all->made += bytes.len;
	}
}

/* Places that were met last, and what has become of them. */
struct places_seen {
	struct {
		struct place_of_template place, now;
	} list[PLACES_SEEN];
	size_t count;
};

/* What has become of the place; NULL: it is not known. */
static const struct place_of_template *place_seen(const struct places_seen *s, const struct place_of_template *t)
{
	for (size_t i = s->count; i-- && s->count - i <= PLACES_SEEN;) {
		const struct place_of_template *o = &s->list[i % PLACES_SEEN].place;

		if (o->at == t->at && o->made == t->made && o->more == t->more)
			return &s->list[i % PLACES_SEEN].now;
	}
	return NULL;
}

static void see_place(struct places_seen *s, struct place_of_template place, struct place_of_template now)
{
	s->list[s->count % PLACES_SEEN].place = place;
	s->list[s->count++ % PLACES_SEEN].now = now;
}

/* ---- Kept in a file: a head (the files, the hints, where their templates are, the index); the templates. As it is in memory, so that it
 * need not be decoded to be used: the stamp says for whom. The head is read as a whole, a template when it is wanted, as a program may want
 * few. What is new or different since is kept in a second file of the same form, by which little that is new costs little to keep ---- */

struct stored {
	char magic[8];
	uint64_t check; /* of all that follows but the templates */
	uint64_t stamp;
	uint64_t base; /* of a second file: the first one's check; else 0 */
	uint32_t files, hints, cap, templates_at;
	uint64_t exact;
};

static size_t up(size_t n) { return (n + 7) & ~(size_t)7; }

/* Where the parts begin; the last one is the end. */
static void lay_out(const struct stored *st, size_t at[5])
{
	at[0] = sizeof *st;
	at[1] = at[0] + st->files * sizeof(struct file);
	at[2] = at[1] + st->hints * sizeof(struct hint);
	at[3] = at[2] + st->hints * sizeof(struct place_of_template);
	at[4] = up(at[3] + 2 * (size_t)st->cap * sizeof(uint32_t));
}

struct file_name {
	char text[sizeof((struct hint_program *)0)->name + 64];
};

static struct file_name name_of(const struct hint_program *p, const char *suffix)
{
	struct file_name n;

	snprintf(n.text, sizeof n.text, "%s%s%s", p->name, p->all->ticks ? counted : "", suffix);
	return n;
}

/* Whether name_of() can have given that name: other files are the user's. */
static bool is_file_name(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");
	const char *suffix = name + digits;

	if (digits < 2 * NAME_MIN || digits > 2 * BT_BUILD_ID_MAX || digits % 2)
		return false;
	if (!strncmp(suffix, counted, strlen(counted)))
		suffix += strlen(counted);
	return !*suffix || !strcmp(suffix, second) || (*suffix == '.' && suffix[1] && !suffix[1 + strspn(suffix + 1, "0123456789")]);
}

/* Whether that can be the beginning of a file of so many bytes. */
static bool makes_sense(const struct stored *st, size_t size)
{
	size_t at[5];

	if (memcmp(st->magic, magic, sizeof magic) || st->files > FILES_MAX || st->hints > st->cap || st->cap > HINTS_MAX || (st->cap & (st->cap - 1)))
		return false;
	lay_out(st, at);
	return at[4] == st->templates_at && at[4] <= size;
}

/* The head of what has been read. */
static const struct stored *head_at(const uint8_t *bytes) { return (const void *)bytes; }

/* Behind all templates. */
static size_t end_of_templates(const uint8_t *head)
{
	const struct stored *st = head_at(head);
	const struct place_of_template *templates;
	size_t at[5], end = st->templates_at;

	lay_out(st, at);
	templates = (const void *)(head + at[2]);
	for (size_t i = 0; i < st->hints; i++)
		if (templates[i].size && templates[i].at + (size_t)templates[i].size > end)
			end = templates[i].at + (size_t)templates[i].size;
	return end;
}

/* Whether it is what encode() made, in a file that has all of the templates. */
static bool is_whole(const uint8_t *head, size_t len, size_t size)
{
	const struct stored *st = head_at(head);

	return makes_sense(st, size) && st->templates_at == len && st->check == content_hash(head + offsetof(struct stored, stamp), len - offsetof(struct stored, stamp)).first &&
	       end_of_templates(head) <= size;
}

/* All but the templates of a file, the caller's to free; NULL: there is none, or it is damaged. */
static uint8_t *read_head(const struct kept_file *f)
{
	struct stored st;
	uint8_t *head;

	if (!kept_file_read(f, 0, &st, sizeof st) || !makes_sense(&st, f->size))
		return NULL;
	head = malloc(st.templates_at);
	if (!head || (kept_file_read(f, 0, head, st.templates_at) && is_whole(head, st.templates_at, f->size)))
		return head;
	free(head);
	return NULL;
}

static bool copy_files(struct hint_program *p, const struct file *files, size_t n)
{
	struct file *copy = malloc((n + 1) * sizeof *files);

	if (!copy)
		return false;
	memcpy(copy, files, n * sizeof *files);
	free(p->files);
	p->files = copy;
	p->file_count = n;
	return true;
}

/* What stands in the head is used where it stands. */
static bool use_first(struct hints *h, struct hint_program *p, uint8_t *head)
{
	const struct stored *st = head_at(head);
	size_t at[5];

	if (st->stamp != h->stamp || st->base)
		return false;
	lay_out(st, at);
	if (!copy_files(p, (const void *)(head + at[0]), st->files))
		return false;
	p->list = (struct hint_list){.hints = (void *)(head + at[1]), .templates = (void *)(head + at[2]), .index = (void *)(head + at[3]), .count = st->hints,
				     .cap = st->cap, .borrowed = true};
	p->exact = st->exact;
	p->head = head;
	return true;
}

static bool learn_of(struct hint_program *p, const struct hint *h, struct place_of_template t)
{
	size_t i;

	t.more = t.size != 0;
	if (h->file >= p->file_count || !make_own(&p->list) || (!enter(&p->list, h, &t) && find(&p->list, h->file, h->offset) == HINT_NONE))
		return false;
	i = find(&p->list, h->file, h->offset);
	p->list.templates[i] = t; /* a hint of the first file may have got one */
	return true;
}

/* What the second file says, if it is the first one's. */
static bool use_more(struct hint_program *p, const uint8_t *head)
{
	const struct stored *st = head_at(head), *first = head_at(p->head);
	const struct hint *hints;
	const struct place_of_template *templates;
	size_t at[5];

	if (st->stamp != first->stamp || st->base != first->check || st->files < first->files)
		return false;
	lay_out(st, at);
	if (!copy_files(p, (const void *)(head + at[0]), st->files))
		return false;
	hints = (const void *)(head + at[1]);
	templates = (const void *)(head + at[2]);
	for (size_t i = 0; i < st->hints; i++)
		if (!learn_of(p, &hints[i], templates[i]))
			break;
	return true;
}

static void load_first(struct hints *h, struct hint_program *p, int dir)
{
	struct file_name name = name_of(p, "");
	uint8_t *head;

	if (!kept_file_open(&p->first, dir, name.text, FILE_SIZE_MAX))
		return;
	head = read_head(&p->first);
	if (head && use_first(h, p, head))
		return;
	free(head);
	kept_file_close(&p->first);
	p->changed = true; /* another takes its place */
}

static void load_more(struct hint_program *p, int dir)
{
	struct file_name name = name_of(p, second);
	uint8_t *head;

	if (!kept_file_open(&p->more, dir, name.text, FILE_SIZE_MAX))
		return;
	head = read_head(&p->more);
	if (!head || !use_more(p, head))
		kept_file_close(&p->more);
	free(head);
}

static void load(struct hints *h, struct hint_program *p)
{
	int dir = h->dir && *p->name ? place_open_cache(h->dir, false) : -1;

	p->first.fd = p->more.fd = -1;
	if (dir < 0)
		return;
	load_first(h, p, dir);
	if (p->head)
		load_more(p, dir);
	close(dir);
}

/* Whether the first file says the same of hint i: nothing has come before it since, as then it is written anew. */
static bool is_in_first(const struct hint_program *p, size_t i)
{
	size_t at[5];

	if (i >= head_at(p->head)->hints)
		return false;
	lay_out(head_at(p->head), at);
	return !memcmp(p->head + at[1] + i * sizeof(struct hint), &p->list.hints[i], sizeof(struct hint)) &&
	       !memcmp(p->head + at[2] + i * sizeof(struct place_of_template), &p->list.templates[i], sizeof(struct place_of_template));
}

/* Those of files that will be known again. more: that the first file has not got. */
static bool keep_list(const struct hint_program *p, bool more, struct hint_list *kept)
{
	for (size_t i = 0; i < p->list.count; i++)
		if (p->files[p->list.hints[i].file].id.len && !(more && is_in_first(p, i)) &&
		    !enter(kept, &p->list.hints[i], &p->list.templates[i]))
			return false;
	return kept->count;
}

/* Whether a second file is enough. */
static bool is_little_more(const struct hint_program *p)
{
	struct places_seen seen = {.count = 0};
	size_t bytes = 0;

	if (!p->head || p->changed)
		return false;
	for (size_t i = 0; i < p->list.count; i++) {
		const struct place_of_template *t = &p->list.templates[i];

		if (is_in_first(p, i))
			continue;
		bytes += sizeof(struct hint) + sizeof(struct place_of_template);
		if (t->size && !place_seen(&seen, t)) {
			bytes += t->size;
			see_place(&seen, *t, *t);
		}
	}
	return bytes < p->first.size / MORE_SHARE;
}

/* The templates of the kept hints behind one another, from `at` of the file on; where they are is entered. One that is not in its file any
 * more is to be made anew. */
static void put_templates(struct hint_program *p, struct hint_list *kept, uint32_t at, struct buf *out)
{
	struct places_seen seen = {.count = 0};

	for (size_t i = 0; i < kept->count; i++) {
		struct place_of_template *t = &kept->templates[i], now = {.at = (uint32_t)(at + out->len), .tried = t->tried};
		const struct place_of_template *before = t->size ? place_seen(&seen, t) : NULL;
		struct slice bytes = before ? slice_of(NULL, 0) : template_at(p, t);

		if (before) {
			now = *before;
		} else if (t->size && !t->made && !template_is_whole(bytes)) {
			now.tried = false;
		} else if (out->len + bytes.len <= TEMPLATES_MAX) {
			now.size = (uint32_t)bytes.len & 0xffffff;
			buf_put(out, bytes.at, bytes.len);
		}
		if (t->size && !before)
			see_place(&seen, *t, now);
		now.weak = t->weak;
		*t = now;
	}
}

static void put_aligned(struct buf *b, const void *bytes, size_t n)
{
	const char zeros[8] = {0};

	buf_put(b, bytes, n);
	buf_put(b, zeros, up(b->len) - b->len);
}

/* The head; and in `templates` what stands behind it. */
static bool encode(struct hint_program *p, uint64_t stamp, bool more, struct buf *head, struct buf *templates)
{
	struct hint_list kept = {0};
	struct stored st;
	size_t at[5];
	bool ok = keep_list(p, more, &kept);

	memset(&st, 0, sizeof st);
	memcpy(st.magic, magic, sizeof magic);
	st.stamp = stamp;
	st.base = more ? head_at(p->head)->check : 0;
	st.files = (uint32_t)p->file_count;
	st.hints = (uint32_t)kept.count;
	st.cap = (uint32_t)kept.cap;
	st.exact = p->exact;
	lay_out(&st, at);
	st.templates_at = (uint32_t)at[4];
	if (ok) {
		put_templates(p, &kept, st.templates_at, templates);
		buf_put(head, &st, sizeof st);
		buf_put(head, p->files, p->file_count * sizeof *p->files);
		buf_put(head, kept.hints, kept.count * sizeof *kept.hints);
		buf_put(head, kept.templates, kept.count * sizeof *kept.templates);
		put_aligned(head, kept.index, 2 * kept.cap * sizeof *kept.index);
	}
	ok = ok && !head->failed && !templates->failed;
	if (ok) {
		st.check = content_hash(head->data + offsetof(struct stored, stamp), head->len - offsetof(struct stored, stamp)).first;
		memcpy(head->data + offsetof(struct stored, check), &st.check, sizeof st.check);
	}
	list_release(&kept);
	return ok;
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

static bool write_file(struct hint_program *p, uint64_t stamp, bool more, int fd)
{
	struct buf head = {0}, templates = {0};
	bool ok = encode(p, stamp, more, &head, &templates) && write_all(fd, head.data, head.len) && write_all(fd, templates.data, templates.len);

	buf_release(&head);
	buf_release(&templates);
	return ok;
}

/* Whether there are too many files, or too much in them; then the oldest gives way. */
static bool shrink(int dir)
{
	int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = again < 0 ? NULL : fdopendir(again);
	char oldest[NAME_MAX + 1] = "";
	uint64_t bytes = 0;
	time_t time = 0;
	struct stat st;
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d))) {
		if (!is_file_name(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		bytes += (uint64_t)st.st_size;
		if (!n++ || st.st_mtime < time) {
			time = st.st_mtime;
			snprintf(oldest, sizeof oldest, "%s", e->d_name);
		}
	}
	if (d)
		closedir(d);
	else if (again >= 0)
		close(again);
	return (n > STORES_MAX || bytes > STORED_MAX) && !unlinkat(dir, oldest, 0);
}

static void save_in(struct hint_program *p, int dir)
{
	bool more = is_little_more(p), written;
	char suffix[32];
	struct file_name name = name_of(p, more ? second : ""), fresh;
	int fd;

	snprintf(suffix, sizeof suffix, ".%d", (int)getpid());
	fresh = name_of(p, suffix);
	unlinkat(dir, fresh.text, 0); /* of a recorder that was killed */
	fd = openat(dir, fresh.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	written = write_file(p, p->all->stamp, more, fd);
	close(fd);
	if (!written || renameat(dir, fresh.text, dir, name.text)) {
		unlinkat(dir, fresh.text, 0);
	} else if (!more) { /* the second one was another's */
		name = name_of(p, second);
		unlinkat(dir, name.text, 0);
	}
}

static void save(const struct hints *h, struct hint_program *p)
{
	int dir;

	if (!h->dir || !*p->name || !is_worth_keeping(p) || !p->list.count)
		return;
	dir = place_open_cache(h->dir, true);
	if (dir < 0)
		return;
	save_in(p, dir);
	for (int i = 0; i < STORES_MAX && shrink(dir); i++)
		;
	close(dir);
}

void hints_free(struct hints *h)
{
	struct hint_program *next;

	for (struct hint_program *p = h ? h->programs : NULL; p; p = next) {
		next = p->next;
		save(h, p);
		kept_file_close(&p->first);
		kept_file_close(&p->more);
		free(p->files);
		list_release(&p->list);
		free(p->head);
		buf_release(&p->made);
		free(p);
	}
	if (h)
		kept_window_release(&h->window);
	free(h);
}

static void name_program(struct hint_program *p, const struct address_space *s)
{
	struct identity id = identity_of_stat(&p->exe);

	for (size_t i = 0; i < s->mappings.count; i++) {
		const struct mapping *m = &s->mappings.maps[i];

		if (m->ino == p->exe.st_ino && m->dev == p->exe.st_dev && m->build_id_len >= NAME_MIN) {
			id = identity_of(m);
			break;
		}
	}
	for (size_t k = 0; k < id.len; k++)
		snprintf(p->name + 2 * k, 3, "%02x", id.bytes[k]);
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
