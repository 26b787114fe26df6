/* SPDX-License-Identifier: MIT */
/* A profile in a file: a head (files, entries, the places of their groups, the index), then the
 * groups. The form is that of memory, so that it is used without decoding; the stamp says which
 * btrec and processor can. The head is read as a whole; a group is read when it is wanted, as a
 * program may want few.
 *
 * New and changed entries go to a second file of the same form, so that few of them cost little.
 * When they would be a large part of the first file, that is written anew (is_little_more()). A
 * file is written under another name and renamed; users of the old one keep it.
 *
 * Any byte may be wrong, or written by somebody who computed the right sum: is_whole() checks
 * offsets and the index before anything is used.
 *
 * The newest program with an interpreter is also linked under the interpreter's name, for programs
 * without a profile (become_similar()). When there are too many files, the oldest go
 * (shrink_folder()). */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/backend/engine/persist/profile_private.h"
#include "lib/content_hash.h"
#include "lib/directories.h"

enum {
	STORES_MAX = 512, /* programs */
	STATE_ENTRIES_SEEN =
		128, /* entries that have a group in common are not far from one another */
	FILE_SIZE_MAX = 2 * PROFILE_PERSISTED_MAX,
	STORED_MAX = 384 << 20, /* of all programs */
	MORE_SHARE = 4, /* later entries stand in a second file, until that would be so large a part
			   of the first */
};

static const char magic[8] = "btrhint8";
/* Suffixes of files: of the kind of fragment (fragment_kind.h), in this order, */
enum { KIND_SUFFIXES = 3 };
static const char *const kind_suffixes[KIND_SUFFIXES] = {".ticks", ".logged", ".apart"};
/* and of the second file. */
static const char second[] = ".more";
/* Suffix of a file named by an interpreter: a link to the file of a program that has it. */
static const char of_similar[] = ".similar";

/* Groups that were met last, by their old places, with their new ones. */
struct places_seen {
	struct {
		struct persisted_location place, now;
	} list[STATE_ENTRIES_SEEN];
	size_t count;
};

/* The new place of a group; NULL: it was not met lately. */
static const struct persisted_location *place_seen(const struct places_seen *s,
						   const struct persisted_location *t)
{
	for (size_t i = s->count; i-- && s->count - i <= STATE_ENTRIES_SEEN;) {
		const struct persisted_location *o = &s->list[i % STATE_ENTRIES_SEEN].place;

		if (o->at == t->at && o->made == t->made && o->more == t->more)
			return &s->list[i % STATE_ENTRIES_SEEN].now;
	}
	return NULL;
}

static void see_place(struct places_seen *s, struct persisted_location place,
		      struct persisted_location now)
{
	s->list[s->count % STATE_ENTRIES_SEEN].place = place;
	s->list[s->count++ % STATE_ENTRIES_SEEN].now = now;
}

struct stored {
	char magic[8];
	uint64_t check; /* of all that follows but the groups */
	uint64_t stamp;
	uint64_t base; /* of a second file: the first one's check; else 0 */
	uint32_t files, entries, cap, groups_at;
	uint64_t exact;
};

static size_t round_up(size_t n) { return (n + 7) & ~(size_t)7; }

/* The offsets of the parts of a head, and of its end. */
static void lay_out(const struct stored *st, size_t at[5])
{
	at[0] = sizeof *st;
	at[1] = at[0] + st->files * sizeof(struct profile_file);
	at[2] = at[1] + st->entries * sizeof(struct profile_entry);
	at[3] = at[2] + st->entries * sizeof(struct persisted_location);
	at[4] = round_up(at[3] + 2 * (size_t)st->cap * sizeof(uint32_t));
}

struct file_name {
	char text[sizeof((struct profile *)0)->name + 64];
};

static struct file_name name_of(const struct profile *p, const char *suffix)
{
	const struct fragment_kind kind = p->all->kind;
	const bool has[KIND_SUFFIXES] = {kind.ticks, kind.logged, kind.apart};
	struct file_name n;
	size_t len = 0;

	len += (size_t)snprintf(n.text, sizeof n.text, "%s", p->name);
	for (size_t i = 0; i < KIND_SUFFIXES; i++)
		if (has[i])
			len += (size_t)snprintf(n.text + len, sizeof n.text - len, "%s",
						kind_suffixes[i]);
	snprintf(n.text + len, sizeof n.text - len, "%s", suffix);
	return n;
}

static bool is_last_suffix(const char *suffix)
{
	return !*suffix || !strcmp(suffix, second) || !strcmp(suffix, of_similar) ||
	       (*suffix == '.' && suffix[1] && !suffix[1 + strspn(suffix + 1, "0123456789")]);
}

/* Whether name_of() can have given that name: other files are the user's. */
static bool is_file_name(const char *name)
{
	size_t digits = strspn(name, "0123456789abcdef");
	const char *suffix = name + digits;

	if (digits < 2 * PROFILE_NAME_MIN || digits > 2 * BT_BUILD_ID_MAX || digits % 2)
		return false;
	for (size_t i = 0; i < KIND_SUFFIXES; i++) {
		size_t n = strlen(kind_suffixes[i]);

		if (!strncmp(suffix, kind_suffixes[i], n))
			suffix += n;
	}
	return is_last_suffix(suffix);
}

/* Whether this can be the beginning of a file of `size` bytes. */
static bool head_makes_sense(const struct stored *st, size_t size)
{
	size_t at[5];

	if (memcmp(st->magic, magic, sizeof magic) || st->files > PROFILE_FILES_MAX ||
	    st->entries > st->cap || st->cap > PROFILE_MAX || (st->cap & (st->cap - 1)))
		return false;
	lay_out(st, at);
	return at[4] == st->groups_at && at[4] <= size;
}

/* The struct at the beginning of a head. */
static const struct stored *head_at(const uint8_t *bytes) { return (const void *)bytes; }

/* The offset behind the last group. */
static size_t end_of_groups(const uint8_t *head)
{
	const struct stored *st = head_at(head);
	const struct persisted_location *groups;
	size_t at[5], end = st->groups_at;

	lay_out(st, at);
	groups = (const void *)(head + at[2]);
	for (size_t i = 0; i < st->entries; i++)
		if (groups[i].size && groups[i].at + (size_t)groups[i].size > end)
			end = groups[i].at + (size_t)groups[i].size;
	return end;
}

/* Whether each slot of the index names an entry or none, and at least one none, so that a search
 * ends. */
static bool index_is_sound(const uint8_t *head)
{
	const struct stored *st = head_at(head);
	size_t at[5], none = 0;
	const uint32_t *index;

	lay_out(st, at);
	index = (const void *)(head + at[3]);
	for (size_t i = 0; i < 2 * (size_t)st->cap; i++) {
		if (index[i] > st->entries)
			return false;
		none += !index[i];
	}
	return none || !st->cap;
}

/* Whether the head is one that encode_head() made, or somebody with the right sum, in a file with
 * all of the groups. */
static bool is_whole(const uint8_t *head, size_t len, size_t size)
{
	const struct stored *st = head_at(head);

	return head_makes_sense(st, size) && st->groups_at == len &&
	       st->check == content_hash(head + offsetof(struct stored, stamp),
					 len - offsetof(struct stored, stamp))
				    .first &&
	       end_of_groups(head) <= size && index_is_sound(head);
}

/* Reads a file's head, for the caller to free. NULL: there is none, or it is damaged. */
static uint8_t *read_head(const struct untrusted_file *f)
{
	struct stored st;
	uint8_t *head;

	if (!untrusted_file_read(f, 0, &st, sizeof st) || !head_makes_sense(&st, f->size))
		return NULL;
	head = malloc(st.groups_at);
	if (!head || (untrusted_file_read(f, 0, head, st.groups_at) &&
		      is_whole(head, st.groups_at, f->size)))
		return head;
	free(head);
	return NULL;
}

static bool copy_files(struct profile *p, const struct profile_file *files, size_t n)
{
	struct profile_file *copy = malloc((n + 1) * sizeof *files);

	if (!copy)
		return false;
	memcpy(copy, files, n * sizeof *files);
	free(p->files);
	p->files = copy;
	p->file_count = n;
	return true;
}

/* Uses the head of the first file in place. */
static bool use_first(struct profiles *h, struct profile *p, uint8_t *head)
{
	const struct stored *st = head_at(head);
	size_t at[5];

	if (st->stamp != h->stamp || st->base)
		return false;
	lay_out(st, at);
	if (!copy_files(p, (const void *)(head + at[0]), st->files))
		return false;
	p->list = (struct profile_entries){.entries = (void *)(head + at[1]),
					   .groups = (void *)(head + at[2]),
					   .index = (void *)(head + at[3]),
					   .count = st->entries,
					   .cap = st->cap,
					   .borrowed = true};
	p->exact = st->exact;
	p->head = head;
	return true;
}

static bool learn_of(struct profile *p, const struct profile_entry *h, struct persisted_location t)
{
	size_t i;

	t.more = t.size != 0;
	if (h->file >= p->file_count || !profile_entries_own(&p->list) ||
	    (!profile_entries_enter(&p->list, h, &t) &&
	     profile_entries_find(&p->list, h->file, h->offset) == PROFILE_NONE))
		return false;
	i = profile_entries_find(&p->list, h->file, h->offset);
	p->list.groups[i] = t; /* an entry of the first file may have got one */
	return true;
}

/* Adds the entries of the second file, if it belongs to the first one. */
static bool use_more(struct profile *p, const uint8_t *head)
{
	const struct stored *st = head_at(head), *first = head_at(p->head);
	const struct profile_entry *entries;
	const struct persisted_location *groups;
	size_t at[5];

	if (st->stamp != first->stamp || st->base != first->check || st->files < first->files)
		return false;
	lay_out(st, at);
	if (!copy_files(p, (const void *)(head + at[0]), st->files))
		return false;
	entries = (const void *)(head + at[1]);
	groups = (const void *)(head + at[2]);
	for (size_t i = 0; i < st->entries; i++)
		if (!learn_of(p, &entries[i], groups[i]))
			break;
	return true;
}

static void load_first(struct profiles *h, struct profile *p, int dir, const char *suffix)
{
	struct file_name name = name_of(p, suffix);
	uint8_t *head;

	if (!untrusted_file_open(&p->first, dir, name.text, FILE_SIZE_MAX))
		return;
	head = read_head(&p->first);
	if (head && use_first(h, p, head))
		return;
	free(head);
	untrusted_file_close(&p->first);
	p->changed = true; /* another takes its place */
}

static void load_more(struct profile *p, int dir)
{
	struct file_name name = name_of(p, second);
	uint8_t *head;

	if (!untrusted_file_open(&p->more, dir, name.text, FILE_SIZE_MAX))
		return;
	head = read_head(&p->more);
	if (!head || !use_more(p, head))
		untrusted_file_close(&p->more);
	free(head);
}

void profile_load(struct profiles *h, struct profile *p)
{
	int dir = h->dir && *p->name ? directory_open_cache(h->dir, false) : -1;

	p->first.fd = p->more.fd = -1;
	if (dir < 0)
		return;
	load_first(h, p, dir, "");
	if (p->head)
		load_more(p, dir);
	close(dir);
}

void profile_load_similar(struct profiles *h, struct profile *p)
{
	int dir = h->dir ? directory_open_cache(h->dir, false) : -1;

	p->first.fd = p->more.fd = -1;
	if (dir < 0)
		return;
	load_first(h, p, dir, of_similar);
	untrusted_file_close(&p->first); /* its groups are not used */
	close(dir);
}

/* Whether the first file has entry i as it is now. No entry has come before it since: then the file
 * is written anew. */
static bool is_in_first(const struct profile *p, size_t i)
{
	size_t at[5];

	if (i >= head_at(p->head)->entries)
		return false;
	lay_out(head_at(p->head), at);
	return !memcmp(p->head + at[1] + i * sizeof(struct profile_entry), &p->list.entries[i],
		       sizeof(struct profile_entry)) &&
	       !memcmp(p->head + at[2] + i * sizeof(struct persisted_location), &p->list.groups[i],
		       sizeof(struct persisted_location));
}

/* Whether the file of entry i will be known again. A head from somebody else may have any number
 * for it. */
static bool is_of_known_file(const struct profile *p, size_t i)
{
	size_t file = p->list.entries[i].file;

	return file < p->file_count && p->files[file].id.len;
}

/* Copies the entries whose files will be known again. more: only those that the first file does not
 * have. */
static bool keep_list(const struct profile *p, bool more, struct profile_entries *kept)
{
	for (size_t i = 0; i < p->list.count; i++)
		if (is_of_known_file(p, i) && !(more && is_in_first(p, i)) &&
		    !profile_entries_enter(kept, &p->list.entries[i], &p->list.groups[i]))
			return false;
	return kept->count;
}

/* Whether a second file is enough. */
static bool is_little_more(const struct profile *p)
{
	struct places_seen seen = {.count = 0};
	size_t bytes = 0;

	if (!p->head || p->changed)
		return false;
	for (size_t i = 0; i < p->list.count; i++) {
		const struct persisted_location *t = &p->list.groups[i];

		if (is_in_first(p, i))
			continue;
		bytes += sizeof(struct profile_entry) + sizeof(struct persisted_location);
		if (t->size && !place_seen(&seen, t)) {
			bytes += t->size;
			see_place(&seen, *t, *t);
		}
	}
	return bytes < p->first.size / MORE_SHARE;
}

/* Appends the groups of the kept entries, which begin at offset `at` of the file, and enters their
 * places. A group that is not in its old file any more will be made anew. */
static void put_groups(struct profile *p, struct profile_entries *kept, uint32_t at,
		       struct buf *out)
{
	struct places_seen seen = {.count = 0};

	for (size_t i = 0; i < kept->count; i++) {
		struct persisted_location *t = &kept->groups[i],
					  now = {.at = (uint32_t)(at + out->len),
						 .tried = t->tried};
		const struct persisted_location *before = t->size ? place_seen(&seen, t) : NULL;
		struct slice bytes = before ? slice_of(NULL, 0) : profile_group_at(p, t);

		if (before) {
			now = *before;
		} else if (t->size && !t->made && !persisted_is_whole(bytes)) {
			now.tried = false;
		} else if (out->len + bytes.len <= PROFILE_PERSISTED_MAX) {
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
	buf_put(b, zeros, round_up(b->len) - b->len);
}

/* Makes a file's head, and in `groups` the part behind it. */
static bool encode_head(struct profile *p, uint64_t stamp, bool more, struct buf *head,
			struct buf *groups)
{
	struct profile_entries kept = {0};
	struct stored st;
	size_t at[5];
	bool ok = keep_list(p, more, &kept);

	memset(&st, 0, sizeof st);
	memcpy(st.magic, magic, sizeof magic);
	st.stamp = stamp;
	st.base = more ? head_at(p->head)->check : 0;
	st.files = (uint32_t)p->file_count;
	st.entries = (uint32_t)kept.count;
	st.cap = (uint32_t)kept.cap;
	st.exact = p->exact;
	lay_out(&st, at);
	st.groups_at = (uint32_t)at[4];
	if (ok) {
		put_groups(p, &kept, st.groups_at, groups);
		buf_put(head, &st, sizeof st);
		buf_put(head, p->files, p->file_count * sizeof *p->files);
		buf_put(head, kept.entries, kept.count * sizeof *kept.entries);
		buf_put(head, kept.groups, kept.count * sizeof *kept.groups);
		put_aligned(head, kept.index, 2 * kept.cap * sizeof *kept.index);
	}
	ok = ok && !head->failed && !groups->failed;
	if (ok) {
		st.check = content_hash(head->data + offsetof(struct stored, stamp),
					head->len - offsetof(struct stored, stamp))
				   .first;
		memcpy(head->data + offsetof(struct stored, check), &st.check, sizeof st.check);
	}
	profile_entries_release(&kept);
	return ok;
}

static bool write_bytes(int fd, const void *bytes, size_t n)
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

static bool write_file(struct profile *p, uint64_t stamp, bool more, int fd)
{
	struct buf head = {0}, groups = {0};
	bool ok = encode_head(p, stamp, more, &head, &groups) &&
		  write_bytes(fd, head.data, head.len) && write_bytes(fd, groups.data, groups.len);

	buf_release(&head);
	buf_release(&groups);
	return ok;
}

/* If there are too many files, or too many bytes in them, deletes the oldest. Returns whether it
 * did. */
static bool shrink_folder(int dir)
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
		if (!is_file_name(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
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

/* Links the file under the interpreter's name, so that the newest program with it stands in for
 * unknown ones. On a file system without links nothing is linked. */
static void become_similar(const struct profile *p, int dir, const struct file_name *of)
{
	struct profile interpreter = {.all = p->all};
	struct file_name name;

	if (!*p->interpreter || !profile_can_be_similar(p))
		return;
	memcpy(interpreter.name, p->interpreter, sizeof interpreter.name);
	name = name_of(&interpreter, of_similar);
	unlinkat(dir, name.text, 0);
	(void)!linkat(dir, of->text, dir, name.text, 0);
}

static void save_in(struct profile *p, int dir)
{
	bool more = is_little_more(p), written;
	char number[DIRECTORY_NEW_NUMBER], suffix[1 + sizeof number];
	struct file_name name = name_of(p, more ? second : ""), fresh;
	int fd;

	directory_new_number(number);
	snprintf(suffix, sizeof suffix, ".%s", number);
	fresh = name_of(p, suffix);
	fd = openat(dir, fresh.text, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	written = write_file(p, p->all->stamp, more, fd);
	close(fd);
	if (!written || renameat(dir, fresh.text, dir, name.text)) {
		unlinkat(dir, fresh.text, 0);
	} else if (!more) {
		become_similar(p, dir, &name);
		name = name_of(p, second); /* it was another's */
		unlinkat(dir, name.text, 0);
	}
}

static bool is_worth_keeping(const struct profile *p)
{
	return p->changed || profile_is_worth(p, p->added);
}

void profile_save(const struct profiles *h, struct profile *p)
{
	int dir;

	if (!h->dir || !*p->name || !is_worth_keeping(p) || !p->list.count)
		return;
	dir = directory_open_cache(h->dir, true);
	if (dir < 0)
		return;
	save_in(p, dir);
	for (int i = 0; i < STORES_MAX && shrink_folder(dir); i++)
		;
	close(dir);
}
