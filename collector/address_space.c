/* SPDX-License-Identifier: MIT */
#include "collector/address_space.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "collector/code_pages.h"
#include "collector/tracee.h"
#include "collector/world.h"
#include "lib/build_id.h"

enum {
	PAGE = CODE_PAGE,
	IMAGE_HEAD = 16384, /* enough of an ELF file for its program headers and notes */
};

static void free_maps(struct mapping *maps, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(maps[i].path);
	free(maps);
}

static bool copy_maps(struct address_space *s, const struct address_space *parent)
{
	s->maps = calloc(parent->map_count ? parent->map_count : 1, sizeof *s->maps);
	if (!s->maps)
		return false;
	for (size_t i = 0; i < parent->map_count; i++) {
		s->maps[i] = parent->maps[i];
		s->maps[i].path = strdup(parent->maps[i].path);
		if (!s->maps[i].path)
			return false;
		s->map_count++;
	}
	return true;
}

/* Whether code of the program's can be there; what is ours does not count. */
static bool runs(const struct mapping *m)
{
	return m->prot & PROT_EXEC && m->start - WORLD_RESERVED_START >= WORLD_RESERVED_SIZE;
}

/* Whether code of it can change without a word: then a copy of it does not stay the same. */
static bool may_change_unseen(const struct address_space *s)
{
	for (size_t i = 0; i < s->map_count; i++)
		if (runs(&s->maps[i]) && (s->maps[i].prot & PROT_WRITE || s->maps[i].shared))
			return true;
	return false;
}

static bool copy_pages(struct address_space *s, struct address_space *parent, bool same)
{
	if (!same) {
		s->pages = code_pages_copy(parent->pages);
		return s->pages;
	}
	s->pages = code_pages_get(parent->pages);
	s->next_same = parent->next_same;
	parent->next_same = s;
	return true;
}

static void leave_same(struct address_space *s)
{
	struct address_space *before = s->next_same;

	while (before->next_same != s)
		before = before->next_same;
	before->next_same = s->next_same;
	s->next_same = s;
}

/* What is executable is about to differ, or differs, from what spaces have that it was the same as. Without memory they are not told,
 * and the table is begun anew. */
static void part(struct address_space *s)
{
	struct code_pages *own;

	if (s->extension)
		s->extension_ops->apart(s->extension);
	if (code_pages_users(s->pages) == 1)
		return;
	own = code_pages_copy(s->pages);
	if (!own)
		return;
	leave_same(s);
	code_pages_put(s->pages);
	s->pages = own;
}

struct address_space *address_space_new(struct trace_writer *w, uint32_t number, uint32_t unit, struct address_space *parent)
{
	struct address_space *s = calloc(1, sizeof *s);
	struct bt_record_space rec = {.space = number};
	bool same = false;

	if (!s)
		return NULL;
	s->number = number;
	s->unit = unit;
	s->users = 1;
	s->epoch = 1;
	s->next_same = s;
	if (parent) {
		s->epoch = parent->epoch;
		rec.parent = parent->number;
		rec.parent_epoch = parent->epoch;
		s->from_addr = parent->from_addr;
		s->from_byte = parent->from_byte;
		s->from_missing = parent->from_missing;
		same = !may_change_unseen(parent);
		if (!copy_maps(s, parent) || !copy_pages(s, parent, same)) {
			address_space_put(s);
			return NULL;
		}
	} else if (!(s->pages = code_pages_new())) {
		free(s);
		return NULL;
	}
	if (parent && parent->extension) {
		s->watched = parent->watched;
		s->extension_ops = parent->extension_ops;
		s->extension = s->extension_ops->copy(parent->extension, same);
	}
	rec.seq = trace_writer_next_seq(w);
	rec.time = trace_writer_time(w);
	trace_writer_event(w, unit, BT_RECORD_SPACE, &rec);
	return s;
}

struct address_space *address_space_get(struct address_space *s)
{
	s->users++;
	return s;
}

void address_space_put(struct address_space *s)
{
	if (!s || --s->users)
		return;
	if (s->extension)
		s->extension_ops->release(s->extension);
	free_maps(s->maps, s->map_count);
	leave_same(s);
	code_pages_put(s->pages);
	free(s);
}

/* Undoes the octal escapes of /proc/PID/maps (a newline in a path is \012). */
static void unescape(char *path)
{
	char *to = path;

	for (char *at = path; *at; at++, to++) {
		if (!strncmp(at, "\\012", 4)) {
			*to = '\n';
			at += 3;
		} else {
			*to = *at;
		}
	}
	*to = '\0';
}

/* A number of digits below base, and the one character behind it. */
static uint64_t take_number(const char **at, unsigned base)
{
	uint64_t v = 0;

	for (;; (*at)++) {
		unsigned digit = (unsigned)(**at - '0');

		if (digit > 9)
			digit = **at >= 'a' ? (unsigned)(**at - 'a') + 10 : base;
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	*at += **at != '\0';
	return v;
}

/* "start-end perms offset major:minor inode path": scanf would be a tenth of what recording a short program costs. */
static bool parse_map(char *line, struct mapping *m)
{
	const char *at = line, *perms;
	unsigned major_;

	*m = (struct mapping){0};
	line[strcspn(line, "\n")] = '\0';
	m->start = take_number(&at, 16);
	m->end = take_number(&at, 16);
	perms = at;
	if (strlen(at) < 5)
		return false;
	at += 5;
	m->offset = take_number(&at, 16);
	major_ = (unsigned)take_number(&at, 16);
	m->dev = makedev(major_, (unsigned)take_number(&at, 16));
	m->ino = take_number(&at, 10);
	at += strspn(at, " ");
	m->prot = (uint8_t)((perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) | (perms[2] == 'x' ? PROT_EXEC : 0));
	m->shared = perms[3] == 's';
	m->path = strdup(at);
	if (m->path)
		unescape(m->path);
	return m->path && m->start < m->end;
}

static bool read_maps(pid_t pid, struct mapping **out, size_t *count)
{
	struct mapping *maps = NULL;
	size_t n = 0, cap = 0, line_cap = 0;
	char path[32], *line = NULL;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	while (getline(&line, &line_cap, f) > 0) {
		if (n == cap) {
			size_t new_cap = cap ? cap * 2 : 64;
			struct mapping *grown = realloc(maps, new_cap * sizeof *maps);

			if (!grown)
				break;
			maps = grown;
			cap = new_cap;
		}
		if (parse_map(line, &maps[n]))
			n++;
	}
	free(line);
	fclose(f);
	*out = maps;
	*count = n;
	return n > 0;
}

/* What is read of /proc/PID/maps becomes the program's view: pages that the backend has write-protected are writable there. */
struct map_view {
	struct mapping *maps;
	size_t count, cap;
	bool joins; /* the last one may be continued: one of the two is of our making */
};

static bool continues(const struct mapping *a, const struct mapping *b)
{
	return a->end == b->start && a->prot == b->prot && a->shared == b->shared && a->dev == b->dev && a->ino == b->ino &&
	       (!a->ino || a->offset + (a->end - a->start) == b->offset) && !strcmp(a->path, b->path);
}

/* Takes over the piece [start, end) of m. False without memory. */
static bool view_add(struct map_view *v, const struct mapping *m, uint64_t start, uint64_t end, bool watched)
{
	size_t cap = v->cap ? v->cap * 2 : 256;
	struct mapping piece = *m, *grown;

	piece.start = start;
	piece.end = end;
	piece.offset += m->ino ? start - m->start : 0;
	piece.prot |= watched ? PROT_WRITE : 0;
	if (v->count && (v->joins || watched) && continues(&v->maps[v->count - 1], &piece)) {
		v->maps[v->count - 1].end = end;
		v->joins = watched;
		return true;
	}
	if (v->count == v->cap) {
		grown = realloc(v->maps, cap * sizeof *grown);
		if (!grown)
			return false;
		v->maps = grown;
		v->cap = cap;
	}
	piece.path = strdup(m->path);
	v->maps[v->count] = piece;
	v->count += piece.path != NULL;
	v->joins = watched;
	return piece.path;
}

static bool view_split(struct map_view *v, const struct address_space *s, const struct mapping *m)
{
	bool watched = false, ok = true;

	if (m->shared || m->prot & PROT_WRITE || !(m->prot & PROT_EXEC))
		return view_add(v, m, m->start, m->end, false);
	for (uint64_t at = m->start, end; ok && at < m->end; at = end) {
		end = s->extension_ops->watched(s->extension, at, m->end, &watched);
		ok = view_add(v, m, at, end, watched);
	}
	return ok;
}

/* Without memory the list stays as the kernel has it. */
static void show_as_program(const struct address_space *s, struct mapping **maps, size_t *count)
{
	struct map_view v = {0};
	bool ok = true;

	if (!s->watched || !s->extension)
		return;
	for (size_t i = 0; ok && i < *count; i++)
		ok = view_split(&v, s, &(*maps)[i]);
	if (!ok) {
		free_maps(v.maps, v.count);
		return;
	}
	free_maps(*maps, *count);
	*maps = v.maps;
	*count = v.count;
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->prot == b->prot && a->shared == b->shared && a->offset == b->offset &&
	       a->dev == b->dev && a->ino == b->ino && !strcmp(a->path, b->path);
}

static void read_build_id(pid_t pid, struct mapping *m, const struct mapping *maps, size_t count)
{
	uint8_t head[IMAGE_HEAD];

	if (!m->ino && strcmp(m->path, "[vdso]"))
		return;
	if (m->offset == 0) {
		size_t n = tracee_read(pid, m->start, head, m->end - m->start < IMAGE_HEAD ? m->end - m->start : IMAGE_HEAD);

		m->build_id_len = (uint8_t)bt_build_id(head, n, m->build_id);
		return;
	}
	/* The other segments of a file: as the mapping of its beginning, which lies before them. */
	for (size_t i = 0; i < count && maps[i].start < m->start; i++)
		if (maps[i].ino == m->ino && maps[i].dev == m->dev && maps[i].build_id_len) {
			m->build_id_len = maps[i].build_id_len;
			memcpy(m->build_id, maps[i].build_id, sizeof m->build_id);
		}
}

static void write_unmap(const struct address_space *s, struct trace_writer *w, const struct mapping *m)
{
	struct bt_record_unmap rec = {.seq = trace_writer_next_seq(w), .space = s->number, .epoch = s->epoch, .start = m->start, .end = m->end};

	trace_writer_event(w, s->unit, BT_RECORD_UNMAP, &rec);
}

static void write_map(const struct address_space *s, struct trace_writer *w, const struct mapping *m)
{
	struct bt_record_map rec = {
		.seq = trace_writer_next_seq(w),
		.space = s->number,
		.epoch = s->epoch,
		.start = m->start,
		.end = m->end,
		.prot = m->prot,
		.shared = m->shared,
		.offset = m->offset,
		.dev = m->dev,
		.ino = m->ino,
		.path = bt_str(m->path),
		.build_id = slice_of(m->build_id, m->build_id_len),
	};

	trace_writer_event(w, s->unit, BT_RECORD_MAP, &rec);
}

/* Walks the old and the new list side by side, calling drop for what is only in the old, add for what is only in the
 * new one. Returns whether they differ. Both callbacks may be NULL. */
struct map_diff {
	void (*drop)(struct address_space *s, struct trace_writer *w, const struct mapping *m, const struct mapping *now, size_t now_count);
	void (*add)(struct address_space *s, struct trace_writer *w, const struct mapping *m);
};

static bool diff_maps(struct address_space *s, struct trace_writer *w, struct mapping *maps, size_t count, const struct map_diff *act)
{
	size_t i = 0, j = 0;
	bool differ = false;

	while (i < s->map_count || j < count) {
		if (i < s->map_count && j < count && same_mapping(&s->maps[i], &maps[j])) {
			maps[j].build_id_len = s->maps[i].build_id_len;
			memcpy(maps[j].build_id, s->maps[i].build_id, sizeof maps[j].build_id);
			i++;
			j++;
		} else if (j == count || (i < s->map_count && s->maps[i].start <= maps[j].start)) {
			differ = true;
			if (act->drop)
				act->drop(s, w, &s->maps[i], maps, count);
			i++;
		} else {
			differ = true;
			if (act->add)
				act->add(s, w, &maps[j]);
			j++;
		}
	}
	return differ;
}

/* Returns how many pages it had. */
static size_t forget(struct address_space *s, uint64_t start, uint64_t end)
{
	size_t pages;

	if (start >= end)
		return 0;
	part(s);
	pages = code_pages_drop(s->pages, start, end);
	if (s->extension)
		s->extension_ops->changed(s->extension, start, end);
	return pages;
}

static bool has_code(const struct address_space *s, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < s->map_count; i++)
		if (runs(&s->maps[i]) && s->maps[i].start < end && start < s->maps[i].end)
			return true;
	return code_pages_touch(s->pages, start, end);
}

void address_space_forget(struct address_space *s, uint64_t start, uint64_t end)
{
	if (has_code(s, start, end) && forget(s, start, end))
		s->epoch++; /* what is read there next belongs to no branch of before */
}

/* Whether the same lies at an address in both. */
static bool same_at(const struct mapping *a, const struct mapping *b, uint64_t addr)
{
	return a->prot == b->prot && a->shared == b->shared && a->dev == b->dev && a->ino == b->ino && !strcmp(a->path, b->path) &&
	       (!a->ino || a->offset + (addr - a->start) == b->offset + (addr - b->start));
}

/* What m had and the new list has not: it may have been split, or have grown. */
static void forget_lost(struct address_space *s, const struct mapping *m, const struct mapping *maps, size_t count)
{
	uint64_t at = m->start;

	for (size_t i = 0; i < count && maps[i].start < m->end; i++) {
		uint64_t start = maps[i].start > m->start ? maps[i].start : m->start, end = maps[i].end < m->end ? maps[i].end : m->end;

		if (maps[i].end <= m->start || !same_at(m, &maps[i], start))
			continue;
		forget(s, at, start);
		at = end;
	}
	forget(s, at, m->end);
}

static void drop_mapping(struct address_space *s, struct trace_writer *w, const struct mapping *m, const struct mapping *now, size_t now_count)
{
	write_unmap(s, w, m);
	if (runs(m))
		forget_lost(s, m, now, now_count);
	else if (code_pages_touch(s->pages, m->start, m->end))
		forget(s, m->start, m->end);
}

static void add_mapping(struct address_space *s, struct trace_writer *w, const struct mapping *m)
{
	if (runs(m))
		part(s);
	write_map(s, w, m);
}

void address_space_refresh(struct address_space *s, struct trace_writer *w, pid_t pid)
{
	static const struct map_diff look = {0}, drop = {.drop = drop_mapping}, add = {.add = add_mapping};
	struct mapping *maps;
	size_t count;

	if (!read_maps(pid, &maps, &count))
		return;
	show_as_program(s, &maps, &count);
	if (!diff_maps(s, w, maps, count, &look)) {
		free_maps(maps, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		if (!maps[i].build_id_len)
			read_build_id(pid, &maps[i], maps, count);
	s->epoch++;
	diff_maps(s, w, maps, count, &drop); /* first everything that goes: a mapping may have moved over another */
	diff_maps(s, w, maps, count, &add);
	free_maps(s->maps, s->map_count);
	s->maps = maps;
	s->map_count = count;
}

/* Of every space that has the page now. */
static void write_page(struct address_space *s, struct trace_writer *w, uint64_t addr, const uint8_t *bytes)
{
	struct bt_record_code rec = {.addr = addr, .object = trace_writer_code(w, bytes, PAGE)};
	struct address_space *at = s;

	do {
		rec.space = at->number;
		rec.epoch = at->epoch;
		rec.seq = trace_writer_next_seq(w);
		trace_writer_event(w, at->unit, BT_RECORD_CODE, &rec);
		at = at->next_same;
	} while (at != s);
}

/* Tells the extension which bytes of a page are others now. */
static void tell_changed(struct address_space *s, uint64_t addr, const uint8_t *before, const uint8_t *now)
{
	size_t first = 0, end = PAGE;

	while (first < PAGE && before[first] == now[first])
		first++;
	while (end > first && before[end - 1] == now[end - 1])
		end--;
	if (s->extension && first < end)
		s->extension_ops->changed(s->extension, addr + first, addr + end);
}

/* The page at addr is `now`; before: as it was known, or NULL. */
static void set_page(struct address_space *s, struct trace_writer *w, uint64_t addr, const uint8_t *before, const uint8_t *now)
{
	if (before || address_space_code_kind(s, addr) != CODE_FIXED)
		part(s);
	if (before) {
		s->epoch++;
		tell_changed(s, addr, before, now);
	}
	if (code_pages_set(s->pages, addr, now))
		write_page(s, w, addr, now);
}

/* Makes the copy of the page at addr agree with the n bytes at addr + at, which are what is there now. */
static void check_page(struct address_space *s, struct trace_writer *w, pid_t tid, uint64_t addr, size_t at, const uint8_t *bytes, size_t n)
{
	const uint8_t *before = code_pages_find(s->pages, addr);
	uint8_t now[PAGE] = {0};

	if (before && !memcmp(before + at, bytes, n))
		return;
	tracee_read(tid, addr, now, PAGE);
	memcpy(now + at, bytes, n);
	set_page(s, w, addr, before, now);
}

void address_space_use(struct address_space *s, struct trace_writer *w, uint64_t page, const uint8_t *bytes, size_t at, size_t n)
{
	const uint8_t *before = code_pages_find(s->pages, page);

	if (!before || memcmp(before + at, bytes + at, n))
		set_page(s, w, page, before, bytes);
}

int address_space_fetch(struct address_space *s, struct trace_writer *w, pid_t tid, uint64_t addr, uint8_t *bytes, struct bt_insn *insn)
{
	size_t at = addr % PAGE, here = PAGE - at < BT_INSN_MAX ? PAGE - at : BT_INSN_MAX;
	size_t got = tracee_read(tid, addr, bytes, here);
	int rc = bt_insn_decode(bytes, got, insn);

	if (rc == -BT_E_TRUNCATED && got == here && here < BT_INSN_MAX) {
		got += tracee_read(tid, addr + here, bytes + here, BT_INSN_MAX - here);
		rc = bt_insn_decode(bytes, got, insn);
	}
	if (got && rc) /* what is no instruction is worth keeping too: the report shows it */
		check_page(s, w, tid, addr - at, at, bytes, got < here ? got : here);
	if (rc)
		return rc;
	check_page(s, w, tid, addr - at, at, bytes, insn->len < here ? insn->len : here);
	if (insn->len > here)
		check_page(s, w, tid, addr + here, 0, bytes + here, insn->len - here);
	return 0;
}

enum code_kind address_space_code_kind(const struct address_space *s, uint64_t addr)
{
	const struct mapping *m = address_space_map_at(s, addr);

	if (!m || !(m->prot & PROT_EXEC))
		return CODE_NONE;
	return m->prot & PROT_WRITE || m->shared ? CODE_MUTABLE : CODE_FIXED;
}

const uint8_t *address_space_fixed_page(struct address_space *s, struct trace_writer *w, pid_t tid, uint64_t addr)
{
	uint64_t page = addr & ~(uint64_t)(PAGE - 1);
	const uint8_t *known;
	uint8_t now[PAGE];

	if (address_space_code_kind(s, page) != CODE_FIXED)
		return NULL;
	known = code_pages_find(s->pages, page);
	if (known)
		return known;
	if (tracee_read(tid, page, now, PAGE) != PAGE)
		return NULL;
	set_page(s, w, page, NULL, now);
	return code_pages_find(s->pages, page);
}

const uint8_t *address_space_kept_page(const struct address_space *s, uint64_t addr)
{
	uint64_t page = addr & ~(uint64_t)(PAGE - 1);

	return address_space_code_kind(s, page) == CODE_FIXED ? code_pages_find(s->pages, page) : NULL;
}

/* The bytes of one page, from its copy where that cannot be out of date. */
static bool code_of_page(struct address_space *s, struct trace_writer *w, pid_t tid, uint64_t page, size_t at, uint8_t *bytes, size_t n)
{
	const uint8_t *fixed;

	if (address_space_code_kind(s, page) == CODE_MUTABLE) {
		if (tracee_read(tid, page + at, bytes, n) != n)
			return false;
		check_page(s, w, tid, page, at, bytes, n);
		return true;
	}
	fixed = address_space_fixed_page(s, w, tid, page);
	if (fixed)
		memcpy(bytes, fixed + at, n);
	return fixed;
}

size_t address_space_code(struct address_space *s, struct trace_writer *w, pid_t tid, uint64_t addr, uint8_t *bytes, size_t n)
{
	size_t done = 0;

	while (done < n) {
		uint64_t page = (addr + done) & ~(uint64_t)(PAGE - 1);
		size_t at = (addr + done) % PAGE, here = PAGE - at < n - done ? PAGE - at : n - done;

		if (!code_of_page(s, w, tid, page, at, bytes + done, here))
			break;
		done += here;
	}
	return done;
}

const struct mapping *address_space_map_at(const struct address_space *s, uint64_t addr)
{
	size_t lo = 0, hi = s->map_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (addr >= s->maps[mid].end)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->map_count && addr >= s->maps[lo].start ? &s->maps[lo] : NULL;
}
