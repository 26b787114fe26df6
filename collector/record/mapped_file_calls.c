/* SPDX-License-Identifier: MIT */
#include "collector/record/mapped_file_calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/array_size.h"

enum named_by { BY_FD, BY_PATH, BY_PATH_IF_CUT }; /* the last: with O_TRUNC alone */

static const struct {
	uint16_t nr;
	uint8_t arg; /* the descriptor, or the flags */
	enum named_by by;
} rows[] = {
	{SYS_write, 0, BY_FD},           {SYS_pwrite64, 0, BY_FD},  {SYS_writev, 0, BY_FD},
	{SYS_pwritev, 0, BY_FD},         {SYS_pwritev2, 0, BY_FD},  {SYS_ftruncate, 0, BY_FD},
	{SYS_fallocate, 0, BY_FD},       {SYS_sendfile, 0, BY_FD},  {SYS_copy_file_range, 2, BY_FD},
	{SYS_splice, 2, BY_FD},          {SYS_ioctl, 0, BY_FD},     {SYS_truncate, 0, BY_PATH},
	{SYS_creat, 0, BY_PATH},         {SYS_openat2, 0, BY_PATH}, {SYS_open, 1, BY_PATH_IF_CUT},
	{SYS_openat, 2, BY_PATH_IF_CUT},
};

static bool is_mapped(const struct mapping_list *maps, uint64_t ino)
{
	for (size_t i = 0; i < maps->count; i++)
		if (maps->maps[i].ino && maps->maps[i].ino == ino)
			return true;
	return false;
}

static bool descriptor_is_mapped(pid_t tid, int fd, const struct mapping_list *maps)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, fd);
	return !stat(path, &st) && S_ISREG(st.st_mode) && is_mapped(maps, st.st_ino);
}

bool call_changes_mapped_file(pid_t tid, const struct tracee_syscall *call,
			      const struct mapping_list *maps)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t arg = call->args[rows[i].arg];

		if (!syscall_is(call, rows[i].nr))
			continue;
		return rows[i].by == BY_FD ? descriptor_is_mapped(tid, (int)arg, maps)
					   : rows[i].by == BY_PATH || arg & O_TRUNC;
	}
	return false;
}

bool pages_are_mapped_twice(pid_t tid, uint64_t addr)
{
	struct mapping_list all = {0};
	const struct mapping *new = NULL;
	bool found = false;
	size_t at;

	if (!mappings_read(tid, &all))
		return true;
	at = mappings_behind(&all, addr);
	if (at < all.count && all.maps[at].start <= addr)
		new = &all.maps[at];
	for (size_t i = 0; i < all.count && new &&new->ino && !found; i++) {
		const struct mapping *m = &all.maps[i];

		found = m != new && m->dev == new->dev && m->ino == new->ino &&
			m->offset < new->offset + (new->end - new->start) &&
			new->offset < m->offset + (m->end - m->start) &&
			((m->shared && m->prot & PROT_WRITE) ||
			 (new->shared &&new->prot &PROT_WRITE));
	}
	mappings_release(&all);
	return found;
}
