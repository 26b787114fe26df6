/* SPDX-License-Identifier: MIT */
/* Mappings are read from the kernel, never computed: a system call says only where something has
 * changed.
 *
 * A change is a patch: a range, the known mappings that lie in it, and those that are there now.
 * update_parts() makes one for each range that a system call has changed and one for the stack,
 * widens it until no mapping is partly in it, and reads what is there (mappings_around()). Where
 * that is not enough, one patch is of the whole space (address_space_refresh()).
 *
 * apply_patches() compares the two lists of each patch. Without a difference nothing happens. Else
 * a new epoch begins: the observer is told of what has gone, then of what has come, and copies of
 * code pages that are no longer true are dropped.
 *
 * Spaces that a fork made of one another share their table of code pages as long as they have the
 * same code; so may their backend's extensions. address_space_part() ends that before one of them
 * changes.
 *
 * Code may change without a system call: the file that it is mapped from is written to.
 * mapped_files.h sees others' writes. Where the program itself can write to the file through
 * another mapping, its code `follows` the file and counts as mutable. */
#include "collector/space/address_space_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/space/world.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/build_id.h"
#include "lib/page.h"

enum {
	IMAGE_HEAD = 16384, /* enough of an ELF file for its program headers and notes */
};

static bool copy_maps(struct address_space *s, const struct address_space *parent)
{
	for (size_t i = 0; i < parent->mappings.count; i++)
		if (!mappings_add(&s->mappings, &parent->mappings.maps[i]))
			return false;
	return true;
}

/* Whether the program's code can be there. Our own code does not count. */
static bool is_program_code(const struct mapping *m)
{
	return m->prot & PROT_EXEC && m->start - WORLD_RESERVED_START >= WORLD_RESERVED_SIZE;
}

/* Whether the space's code can change unseen: then no copy of it stays true. */
static bool may_change_unseen(const struct address_space *s)
{
	for (size_t i = 0; i < s->mappings.count; i++)
		if (is_program_code(&s->mappings.maps[i]) &&
		    mapping_is_mutable(&s->mappings.maps[i]))
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

void address_space_part(struct address_space *s)
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

struct address_space *address_space_new(const struct observer *observer, uint32_t number,
					uint32_t unit, struct address_space *parent)
{
	struct address_space *s = calloc(1, sizeof *s);
	bool same = false;

	if (!s)
		return NULL;
	s->observer = observer;
	s->number = number;
	s->unit = unit;
	s->users = 1;
	s->epoch = s->code_epoch = 1;
	s->next_same = s;
	s->files = mapped_files_new();
	if (parent) {
		mapped_files_copy(&s->files, &parent->files);
		s->finder = parent->finder;
		function_stops_copy(&s->stops, &parent->stops);
		s->epoch = parent->epoch;
		s->from_addr = parent->from_addr;
		s->from_byte = parent->from_byte;
		s->from_missing = parent->from_missing;
		s->heap_end = parent->heap_end;
		s->code_epoch = parent->code_epoch;
		s->grows = parent->grows;
		s->reads_run = parent->reads_run;
		s->lends_code = parent->lends_code;
		s->unsure = true; /* a call that nobody saw may have kept mappings from the child */
		s->leaves_out = s->stale = parent->leaves_out;
		same = !may_change_unseen(parent) && !s->leaves_out;
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
	observer->ops->space(observer->arg, s, parent);
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
	mappings_release(&s->mappings);
	mapped_files_release(&s->files);
	origins_release(&s->origins);
	function_stops_release(&s->stops);
	leave_same(s);
	code_pages_put(s->pages);
	if (s->ahead.batch)
		code_pages_batch_put(s->ahead.batch);
	free(s);
}

/* Makes the program's view of a reading of /proc/PID/maps: pages that the backend has
 * write-protected are writable in it. */
struct map_view {
	struct mapping_list list;
	bool joins; /* the last one may be continued: one of the two is of our making */
};

static bool continues_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->end == b->start && a->prot == b->prot && a->shared == b->shared &&
	       a->dev == b->dev && a->ino == b->ino &&
	       (!a->ino || a->offset + (a->end - a->start) == b->offset) &&
	       !strcmp(a->path, b->path);
}

/* Takes over the piece [start, end) of m. False without memory. */
static bool view_add(struct map_view *v, const struct mapping *m, uint64_t start, uint64_t end,
		     bool watched)
{
	struct mapping piece = *m, *last = v->list.count ? &v->list.maps[v->list.count - 1] : NULL;
	bool joins = v->joins || watched;

	piece.start = start;
	piece.end = end;
	piece.offset += m->ino ? start - m->start : 0;
	piece.prot |= watched ? PROT_WRITE : 0;
	v->joins = watched;
	if (!last || !joins || !continues_mapping(last, &piece))
		return mappings_add(&v->list, &piece);
	last->end = end;
	return true;
}

static bool view_split(struct map_view *v, const struct address_space *s, const struct mapping *m)
{
	bool watched = false, ok = true;

	if (mapping_is_mutable(m) || !(m->prot & PROT_EXEC))
		return view_add(v, m, m->start, m->end, false);
	for (uint64_t at = m->start, end; ok && at < m->end; at = end) {
		end = s->extension_ops->watched(s->extension, at, m->end, &watched);
		ok = view_add(v, m, at, end, watched);
	}
	return ok;
}

/* Without memory the list stays as the kernel has it. */
static void show_as_program(const struct address_space *s, struct mapping_list *l)
{
	struct map_view v = {0};
	bool ok = true;

	if (!s->watched || !s->extension)
		return;
	for (size_t i = 0; ok && i < l->count; i++)
		ok = view_split(&v, s, &l->maps[i]);
	if (!ok) {
		mappings_release(&v.list);
		return;
	}
	mappings_release(l);
	*l = v.list;
}

static bool same_mapping(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->prot == b->prot &&
	       a->shared == b->shared && a->offset == b->offset && a->dev == b->dev &&
	       a->ino == b->ino && !strcmp(a->path, b->path);
}

/* The mappings that are now in the place of some known ones. */
struct patch {
	struct map_range range; /* no mapping, known or new, is partly in it */
	size_t first, end;      /* the known ones there */
	struct mapping_list now;
};

/* The last one of the same file whose build-id is known. */
static const struct mapping *beginning_of(const struct mapping *m, const struct mapping *maps,
					  size_t count)
{
	while (count--)
		if (maps[count].ino == m->ino && maps[count].dev == m->dev &&
		    maps[count].build_id_len)
			return &maps[count];
	return NULL;
}

static void read_build_id(const struct address_space *s, pid_t pid, struct mapping *m,
			  const struct patch *p)
{
	const struct mapping *first;

	if (!m->ino && strcmp(m->path, "[vdso]"))
		return;
	if (m->offset == 0) {
		size_t size = m->end - m->start < IMAGE_HEAD ? m->end - m->start : IMAGE_HEAD, n;
		uint8_t *head = malloc(size);

		n = head ? tracee_read(pid, m->start, head, size) : 0;
		m->build_id_len = head ? (uint8_t)bt_build_id(head, n, m->build_id) : 0;
		m->looked_at = n;
		free(head);
		return;
	}
	/* Other segments have the build-id of the mapping of the file's beginning; that lies before
	 * them. */
	m->looked_at = true;
	first = beginning_of(m, p->now.maps, (size_t)(m - p->now.maps));
	if (!first)
		first = beginning_of(m, s->mappings.maps, p->first);
	if (!first)
		return;
	m->build_id_len = first->build_id_len;
	memcpy(m->build_id, first->build_id, sizeof m->build_id);
}

/* Whether the memory file is sealed: nobody can write it (F_SEAL_WRITE), or make it shorter and
 * then longer, with zeros. That is known of the program's own file, and with CAP_CHECKPOINT_RESTORE
 * of all. */
static bool is_sealed(pid_t pid, const struct mapping *m)
{
	const int all = F_SEAL_WRITE | F_SEAL_SHRINK;
	char paths[2][80];
	bool sealed = false;

	snprintf(paths[0], sizeof paths[0], "/proc/%d/exe", (int)pid);
	snprintf(paths[1], sizeof paths[1], "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	for (int i = 0; i < 2 && !sealed; i++) {
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK), seals;
		struct stat st;

		if (fd < 0)
			continue;
		seals = fstat(fd, &st) || st.st_ino != m->ino || st.st_dev != m->dev
				? 0
				: fcntl(fd, F_GET_SEALS);
		sealed = seals > 0 && (seals & all) == all;
		close(fd);
	}
	return sealed;
}

/* Memory files are made to be written, and can be, unlike others, while they are executed
 * (Linux 6.18). */
static bool follows_file(pid_t pid, const struct mapping *m)
{
	static const char memory_file[] = "/memfd:";

	return !m->shared && !strncmp(m->path, memory_file, sizeof memory_file - 1) &&
	       m->prot & PROT_EXEC && !is_sealed(pid, m);
}

static void examine_mapped_file(const struct address_space *s, pid_t pid, struct mapping *m,
				const struct patch *p)
{
	m->follows = follows_file(pid, m);
	read_build_id(s, pid, m, p);
}

/* Walks the known and the present mappings side by side: calls drop for those that are only known,
 * add for those that are new. Returns whether they differ. Both callbacks may be NULL. */
struct map_diff {
	void (*drop)(struct address_space *s, const struct mapping *m,
		     const struct mapping_list *now);
	void (*add)(struct address_space *s, const struct mapping *m);
};

static bool diff_maps(struct address_space *s, struct patch *p, const struct map_diff *act)
{
	size_t i = p->first, j = 0, count = p->now.count;
	const struct mapping *known = s->mappings.maps;
	struct mapping *now = p->now.maps;
	bool differ = false;

	while (i < p->end || j < count) {
		if (i < p->end && j < count && same_mapping(&known[i], &now[j])) {
			now[j].build_id_len = known[i].build_id_len;
			now[j].looked_at = known[i].looked_at;
			now[j].searched = known[i].searched;
			now[j].follows = known[i].follows;
			memcpy(now[j].build_id, known[i].build_id, sizeof now[j].build_id);
			i++;
			j++;
		} else if (j == count || (i < p->end && known[i].start <= now[j].start)) {
			differ = true;
			if (act->drop)
				act->drop(s, &known[i], &p->now);
			i++;
		} else {
			differ = true;
			if (act->add)
				act->add(s, &now[j]);
			j++;
		}
	}
	return differ;
}

/* Drops the copies of the code pages in the range, and tells the extension. Returns how many there
 * were. */
static size_t forget_code(struct address_space *s, uint64_t start, uint64_t end)
{
	size_t pages;

	if (start >= end)
		return 0;
	address_space_part(s);
	pages = code_pages_drop(s->pages, start, end);
	if (s->extension)
		s->extension_ops->changed(s->extension, start, end);
	return pages;
}

bool address_space_has_code(const struct address_space *s, uint64_t start, uint64_t end)
{
	const struct mapping_list *l = &s->mappings;

	for (size_t i = mappings_behind(l, start); i < l->count && l->maps[i].start < end; i++)
		if (is_program_code(&l->maps[i]))
			return true;
	return code_pages_touch(s->pages, start, end);
}

void address_space_forget(struct address_space *s, uint64_t start, uint64_t end)
{
	/* A system call changes all of the pages on which its range lies. */
	start = page_down(start);
	end = page_up(end) < end ? end : page_up(end);
	if (address_space_has_code(s, start, end) && forget_code(s, start, end))
		s->epoch++; /* code that is read there next belongs to no earlier branch */
}

/* Whether both mappings have the same contents and rights at addr. */
static bool same_at(const struct mapping *a, const struct mapping *b, uint64_t addr)
{
	return a->prot == b->prot && a->shared == b->shared && a->dev == b->dev &&
	       a->ino == b->ino && !strcmp(a->path, b->path) &&
	       (!a->ino || a->offset + (addr - a->start) == b->offset + (addr - b->start));
}

/* Forgets code in the parts of m that the other list (the new one or the old one) does not have: m
 * may have been split, or have grown. */
static void forget_lost_code(struct address_space *s, const struct mapping *m,
			     const struct mapping_list *other)
{
	uint64_t at = m->start;

	for (size_t i = mappings_behind(other, m->start);
	     i < other->count && other->maps[i].start < m->end; i++) {
		const struct mapping *n = &other->maps[i];
		uint64_t start = n->start > m->start ? n->start : m->start,
			 end = n->end < m->end ? n->end : m->end;

		if (!same_at(m, n, start))
			continue;
		forget_code(s, at, start);
		at = end;
	}
	forget_code(s, at, m->end);
}

static void drop_mapping(struct address_space *s, const struct mapping *m,
			 const struct mapping_list *now)
{
	s->observer->ops->unmapped(s->observer->arg, s, m);
	s->code_epoch += is_program_code(m);
	function_stops_drop(&s->stops, m->start, m->end);
	if (is_program_code(m))
		forget_lost_code(s, m, now);
	else if (code_pages_touch(s->pages, m->start, m->end))
		forget_code(s, m->start, m->end);
}

static void add_mapping(struct address_space *s, const struct mapping *m)
{
	s->code_epoch += is_program_code(m);
	if (is_program_code(m))
		address_space_part(s);
	/* There may be copies of pages where no mapping was known, as where a stack has grown. They
	 * may be out of date. */
	if (is_program_code(m) && code_pages_touch(s->pages, m->start, m->end))
		forget_lost_code(s, m, &s->mappings);
	s->observer->ops->mapped(s->observer->arg, s, m);
}

/* Whether writes through the mapping go to a file, or may come to. */
static bool shares_file(const struct mapping *m) { return m->shared && m->ino; }

static bool is_code_of(const struct mapping *code, const struct mapping *other)
{
	return is_program_code(code) && !code->shared && !code->follows && shares_file(other) &&
	       code->ino == other->ino && code->dev == other->dev;
}

static void follow_file(struct address_space *s, struct mapping *m)
{
	m->follows = true;
	s->code_epoch++;
	if (s->extension)
		s->extension_ops->reread(s->extension, 0, m->start, m->end);
	forget_code(s, m->start, m->end);
}

static void lend_code(struct address_space *s, struct mapping *code, const struct mapping *other)
{
	if (other->prot & PROT_WRITE)
		follow_file(s, code);
	else
		s->lends_code = true;
}

/* Code that is mapped privately from a file which the program writes through another mapping
 * changes as that does, and no time of the file says when. */
static void follow_own_writes(struct address_space *s)
{
	struct mapping_list *l = &s->mappings;

	for (size_t i = 0; i < l->count; i++) {
		struct mapping *m = &l->maps[i];

		for (size_t k = 0; m->fresh && k < l->count; k++)
			if (is_code_of(m, &l->maps[k]))
				lend_code(s, m, &l->maps[k]);
			else if (is_code_of(&l->maps[k], m))
				lend_code(s, &l->maps[k], m);
		m->fresh = false;
	}
}

/* Has functions looked for in new mappings of code. */
static void find_functions(struct address_space *s, pid_t pid)
{
	struct mapping_list *l = &s->mappings;

	for (size_t i = 0; s->finder && i < l->count; i++) {
		struct mapping *m = &l->maps[i];

		if (m->searched || !m->ino || !is_program_code(m))
			continue;
		m->searched = true;
		s->finder->find(s->finder->arg, &s->stops, pid, m);
		if (mapping_is_mutable(m)) /* it may be other code by now */
			function_stops_drop(&s->stops, m->start, m->end);
	}
}

void address_space_arm(struct address_space *s, uint64_t addr)
{
	struct function_stop *stop = function_stops_at(&s->stops, addr);

	if (!stop || stop->armed)
		return;
	stop->armed = true;
	address_space_forget(s, addr, addr + 1);
}

void address_space_disarm(struct address_space *s, uint64_t addr)
{
	struct function_stop *stop = function_stops_at(&s->stops, addr);

	if (stop)
		stop->armed = false;
}

/* Applies the patches to the known mappings, and tells the observer. The patches, which are taken
 * over, are in the order of their addresses. */
static void apply_patches(struct address_space *s, pid_t pid, struct patch *patches, size_t n)
{
	static const struct map_diff look = {0}, drop = {.drop = drop_mapping},
				     add = {.add = add_mapping};
	bool differ = false, any_fresh = false;

	for (size_t i = 0; i < n; i++)
		differ |= diff_maps(s, &patches[i], &look);
	if (differ) {
		for (size_t i = 0; i < n; i++)
			for (size_t k = 0; k < patches[i].now.count; k++)
				if (!patches[i].now.maps[k].looked_at) {
					struct mapping *m = &patches[i].now.maps[k];

					examine_mapped_file(s, pid, m, &patches[i]);
					m->fresh = is_program_code(m) || shares_file(m);
					any_fresh |= m->fresh;
				}
		s->epoch++;
		for (size_t i = 0; i < n;
		     i++) /* first everything that goes: a mapping may have moved over another */
			diff_maps(s, &patches[i], &drop);
		for (size_t i = 0; i < n; i++)
			diff_maps(s, &patches[i], &add);
		for (size_t i = n; i-- > 0;)
			if (!mappings_replace(&s->mappings, patches[i].first, patches[i].end,
					      &patches[i].now))
				s->unsure = true;
		if (any_fresh) {
			follow_own_writes(s);
			find_functions(s, pid);
		}
	}
	for (size_t i = 0; i < n; i++)
		mappings_release(&patches[i].now);
}

void address_space_refresh(struct address_space *s, pid_t pid)
{
	struct patch all = {.end = s->mappings.count};

	struct bt_regs regs;

	errno = 0;
	/* A recorder may see the mappings of a process that it may not look into (CAP_PERFMON,
	 * Linux 6.16). */
	if (!tracee_may_look(pid) || !mappings_read(pid, &all.now)) {
		bool hidden = errno == ENOENT ||
			      errno == ESRCH; /* unless it is gone: hidepid of proc(5) */

		s->unread = !hidden ? errno : tracee_get_regs(pid, &regs) ? 0 : EACCES;
		s->unsure = true;
		return;
	}
	s->unread = 0;
	s->unsure = false;
	show_as_program(s, &all.now);
	origins_show(&s->origins, &all.now);
	apply_patches(s, pid, &all, 1);
}

/* Widens the patch's range until no mapping is partly in it, and reads what is there now. */
static bool read_patch(const struct address_space *s, int fd, struct patch *p)
{
	enum {
		ROUNDS = 8,
	};
	const struct mapping_list *l = &s->mappings;
	struct map_range *r = &p->range;

	for (int round = 0; round < ROUNDS; round++) {
		struct mapping_list *now = &p->now;

		p->first = p->end = mappings_behind(l, r->start);
		while (p->end < l->count && l->maps[p->end].start < r->end)
			p->end++;
		if (p->first < p->end) {
			r->start = l->maps[p->first].start < r->start ? l->maps[p->first].start
								      : r->start;
			r->end =
				l->maps[p->end - 1].end > r->end ? l->maps[p->end - 1].end : r->end;
		}
		mappings_release(now);
		if (!mappings_around(fd, r->start, r->end, now))
			return false;
		show_as_program(s, now);
		origins_show(&s->origins, now);
		if (!now->count ||
		    (now->maps[0].start >= r->start && now->maps[now->count - 1].end <= r->end))
			return true;
		r->start = now->maps[0].start < r->start ? now->maps[0].start : r->start;
		r->end = now->maps[now->count - 1].end > r->end ? now->maps[now->count - 1].end
								: r->end;
	}
	return false;
}

/* Brings the patches into order; of two that overlap one is left, which is to be read again.
 * Returns how many there are. */
static size_t sort_patches(struct patch *patches, size_t n, bool *overlap)
{
	*overlap = false;
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && patches[k].range.start < patches[k - 1].range.start; k--) {
			struct patch p = patches[k];

			patches[k] = patches[k - 1];
			patches[k - 1] = p;
		}
	for (size_t i = 0; i + 1 < n; i++) {
		struct patch *p = &patches[i], *next = &patches[i + 1];

		if (p->range.end <= next->range.start)
			continue;
		*overlap = true;
		p->range.end = p->range.end > next->range.end ? p->range.end : next->range.end;
		mappings_release(&next->now);
		memmove(next, next + 1, (n - i - 2) * sizeof *next);
		n--;
		i--;
	}
	return n;
}

/* The mappings beside it are looked at, too: those in it may be one with them now. */
static struct patch patch_around(uint64_t start, uint64_t end)
{
	return (struct patch){.range = {start ? start - 1 : 0, end + 1 ? end + 1 : end}};
}

static bool mapping_overlaps(const struct mapping *m, const struct map_change *c)
{
	for (unsigned i = 0; i < c->count; i++)
		if (c->ranges[i].start < m->end && m->start < c->ranges[i].end)
			return true;
	return false;
}

/* Begins a patch for each of c's ranges, and one for the stack. */
static size_t begin_patches(struct address_space *s, const struct map_change *c,
			    struct patch *patches)
{
	const struct mapping_list *l = &s->mappings;
	size_t n = 0;

	for (unsigned i = 0; i < c->count; i++)
		patches[n++] = patch_around(c->ranges[i].start, c->ranges[i].end);
	for (size_t i = l->count; i-- > 0;) {
		if (l->maps[i].path[0] != '[' || strcmp(l->maps[i].path, "[stack]"))
			continue;
		s->grows |= mapping_overlaps(&l->maps[i],
					     c); /* parts of it that grow may have other names */
		patches[n++] = patch_around(l->maps[i].start, l->maps[i].end);
		break;
	}
	return n;
}

static bool update_parts(struct address_space *s, pid_t pid, const struct map_change *c)
{
	enum {
		MOST = ARRAY_SIZE(c->ranges) + 1,
	};
	struct patch patches[MOST];
	size_t n = begin_patches(s, c, patches);
	bool ok = !s->grows, overlap = true;
	int fd = ok ? mappings_open(pid) : -1;

	while (fd >= 0 && ok && overlap) {
		for (size_t i = 0; ok && i < n; i++)
			ok = read_patch(s, fd, &patches[i]);
		n = sort_patches(patches, n, &overlap);
	}
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && ok) {
		apply_patches(s, pid, patches, n);
		return true;
	}
	for (size_t i = 0; i < n; i++)
		mappings_release(&patches[i].now);
	return false;
}

void address_space_update(struct address_space *s, pid_t pid, const struct map_change *c)
{
	if (c->all || s->unsure || s->grows || !update_parts(s, pid, c))
		address_space_refresh(s, pid);
}

/* Joins r to a known range that it touches, else adds it. False when there is no room. */
static bool join_range(struct map_change *c, const struct map_range *r)
{
	for (unsigned i = 0; i < c->count; i++) {
		struct map_range *known = &c->ranges[i];

		if (known->start > r->end || r->start > known->end)
			continue;
		known->start = r->start < known->start ? r->start : known->start;
		known->end = r->end > known->end ? r->end : known->end;
		return true;
	}
	if (c->count == MAP_RANGES)
		return false;
	c->ranges[c->count++] = *r;
	return true;
}

void address_space_change_later(struct address_space *s, const struct map_change *c)
{
	s->later.all |= c->all;
	for (unsigned i = 0; i < c->count && !s->later.all; i++)
		s->later.all = !join_range(&s->later, &c->ranges[i]);
}

void address_space_catch_up(struct address_space *s, pid_t pid)
{
	const struct map_change c = s->later;

	if (!c.all && !c.count)
		return;
	s->later = (struct map_change){0};
	address_space_update(s, pid, &c);
}

void address_space_look_at_files(struct address_space *s, pid_t pid,
				 void (*written)(void *arg, const struct mapping *m), void *arg)
{
	for (size_t i = 0; i < s->mappings.count; i++) {
		const struct mapping *m = &s->mappings.maps[i];

		if (is_program_code(m) && !m->shared && mapped_files_look(&s->files, pid, m))
			written(arg, m);
	}
}

void address_space_reread(struct address_space *s, pid_t tid)
{
	for (size_t i = 0; i < s->mappings.count; i++) {
		const struct mapping *m = &s->mappings.maps[i];

		if (!is_program_code(m) || !mapped_files_is_written(&s->files, m))
			continue;
		if (s->extension)
			s->extension_ops->reread(s->extension, tid, m->start, m->end);
		address_space_forget(s, m->start, m->end);
	}
	mapped_files_clear(&s->files);
}

const struct mapping *address_space_map_at(const struct address_space *s, uint64_t addr)
{
	const struct mapping_list *l = &s->mappings;
	size_t i = mappings_behind(l, addr);

	return i < l->count && addr >= l->maps[i].start ? &l->maps[i] : NULL;
}
