/* SPDX-License-Identifier: MIT */
#include "collector/space/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "collector/tracee/tracee.h"
#include "lib/bisect.h"

/* linux/fs.h, which may be older than the kernel. */
struct map_query {
	uint64_t size, flags, addr;
	uint64_t start, end, attributes, page_size, offset, ino;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};

enum {
	QUERY_SHARED = 8, /* of attributes; those below are PROT_READ, PROT_WRITE, PROT_EXEC */
	QUERY_COVERING_OR_NEXT = 16,
};

#define MAP_QUERY _IOWR('f', 17, struct map_query)

void mappings_release(struct mapping_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->maps[i].path);
	free(l->maps);
	*l = (struct mapping_list){0};
}

static bool reserve_mappings(struct mapping_list *l, size_t count)
{
	size_t cap = l->cap ? l->cap * 2 : 64;
	struct mapping *grown;

	if (count <= l->cap)
		return true;
	cap = cap < count ? count : cap;
	grown = realloc(l->maps, cap * sizeof *grown);
	if (!grown)
		return false;
	l->maps = grown;
	l->cap = cap;
	return true;
}

bool mappings_add(struct mapping_list *l, const struct mapping *m)
{
	char *path = strdup(m->path);

	if (!path || !reserve_mappings(l, l->count + 1)) {
		free(path);
		return false;
	}
	l->maps[l->count] = *m;
	l->maps[l->count++].path = path;
	return true;
}

size_t mappings_behind(const struct mapping_list *l, uint64_t addr)
{
	size_t i;

	BISECT(i, l->count, addr >= l->maps[i].end);
	return i;
}

bool mappings_replace(struct mapping_list *l, size_t first, size_t end, struct mapping_list *with)
{
	if (!reserve_mappings(l, l->count - (end - first) + with->count))
		return false;
	for (size_t i = first; i < end; i++)
		free(l->maps[i].path);
	memmove(l->maps + first + with->count, l->maps + end, (l->count - end) * sizeof *l->maps);
	if (with->count)
		memcpy(l->maps + first, with->maps, with->count * sizeof *l->maps);
	l->count += with->count - (end - first);
	with->count = 0;
	mappings_release(with);
	return true;
}

/* Undoes the octal escapes of /proc/PID/maps (a newline in a path is \012). */
static void unescape_path(char *path)
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
static uint64_t take_number(char **at, unsigned base)
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

/* "start-end perms offset major:minor inode path": scanf would be a tenth of what recording a short
 * program costs. The path stays the line's. */
static bool parse_map(char *line, struct mapping *m)
{
	char *at = line, *perms;
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
	m->prot = (uint8_t)((perms[0] == 'r' ? PROT_READ : 0) | (perms[1] == 'w' ? PROT_WRITE : 0) |
			    (perms[2] == 'x' ? PROT_EXEC : 0));
	m->shared = perms[3] == 's';
	m->path = at;
	unescape_path(m->path);
	return m->start < m->end;
}

bool mappings_read(pid_t pid, struct mapping_list *out)
{
	struct mapping m;
	size_t line_cap = 0;
	char *line = NULL;
	FILE *f = tracee_open_file(pid, "maps");

	*out = (struct mapping_list){0};
	if (!f)
		return false;
	while (getline(&line, &line_cap, f) > 0)
		if (parse_map(line, &m) && !mappings_add(out, &m)) {
			mappings_release(out);
			break;
		}
	free(line);
	fclose(f);
	return out->count;
}

bool mappings_at(pid_t pid, uint64_t addr, struct mapping *out)
{
	struct mapping_list all = {0};
	bool found;
	size_t i;

	if (!mappings_read(pid, &all))
		return false;
	i = mappings_behind(&all, addr);
	found = i < all.count && all.maps[i].start <= addr;
	if (found) {
		*out = all.maps[i];
		out->path = strdup(out->path);
		found = out->path;
	}
	mappings_release(&all);
	return found;
}

bool mappings_leave_out(pid_t tid)
{
	size_t line_cap = 0;
	char *line = NULL;
	bool told = false, leave_out = false;
	FILE *f = tracee_open_file(tid, "smaps");

	while (f && !leave_out && getline(&line, &line_cap, f) > 0)
		if (!strncmp(line, "VmFlags:", 8)) { /* proc_pid_smaps(5) */
			told = true;
			leave_out = strstr(line, " dc ") || strstr(line, " wf ");
		}
	free(line);
	if (f)
		fclose(f);
	return leave_out || !told;
}

bool mappings_grow_at(pid_t tid, uint64_t start)
{
	size_t line_cap = 0;
	char *line = NULL;
	bool is_it = false, grows = false;
	uint64_t first, end;
	FILE *f = tracee_open_file(tid, "smaps");

	while (f && !grows && getline(&line, &line_cap, f) > 0)
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &first, &end) == 2)
			is_it = first == start;
		else if (is_it && !strncmp(line, "VmFlags:", 8)) /* proc_pid_smaps(5) */
			grows = strstr(line, " gd ");
	free(line);
	if (f)
		fclose(f);
	return grows;
}

int mappings_open(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool add_answer(struct mapping_list *out, const struct map_query *q, char *name)
{
	const struct mapping m = {
		.start = q->start,
		.end = q->end,
		.offset = q->offset,
		.dev = makedev(q->major, q->minor),
		.ino = q->ino,
		.prot = (uint8_t)(q->attributes & (PROT_READ | PROT_WRITE | PROT_EXEC)),
		.shared = q->attributes & QUERY_SHARED,
		.path = name,
	};

	if (!q->name_size)
		name[0] = '\0';
	return mappings_add(out, &m);
}

bool mappings_around(int fd, uint64_t start, uint64_t end, struct mapping_list *out)
{
	char name[PATH_MAX + 32];

	for (uint64_t at = start; at < end;) {
		struct map_query q = {.size = sizeof q,
				      .flags = QUERY_COVERING_OR_NEXT,
				      .addr = at,
				      .name_size = sizeof name,
				      .name_addr = (uintptr_t)name};

		if (ioctl(fd, MAP_QUERY, &q))
			return errno == ENOENT; /* nothing from there on */
		if (q.start >= end)
			return true;
		if (!add_answer(out, &q, name))
			return false;
		at = q.end;
	}
	return true;
}

bool mappings_share_files(const struct mapping_list *all)
{
	for (size_t i = 0; i < all->count; i++)
		if (all->maps[i].shared && all->maps[i].ino)
			return true;
	return false;
}
