/* SPDX-License-Identifier: MIT */
#include "collector/tracee/output_files.h"

#include <linux/kcmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/tracee/tracee.h"

/* null, zero, full and their like (Documentation/admin-guide/devices.txt): what is written to them
 * is gone. */
static bool loses_what_it_gets(const struct stat *st)
{
	enum { MEMORY_DEVICES = 1 };

	return S_ISCHR(st->st_mode) && major(st->st_rdev) == MEMORY_DEVICES;
}

void output_files_open(struct output_file files[OUTPUT_FILES], pid_t tid)
{
	char path[64];

	for (int i = 1; i < OUTPUT_FILES; i++) {
		struct output_file *f = &files[i];

		*f = (struct output_file){.held = -1};
		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)tid, i);
		if (stat(path, &f->st))
			f->st.st_mode = 0;
		else if (loses_what_it_gets(&f->st))
			f->held = tracee_copy_descriptor(tid, i);
	}
}

void output_files_close(struct output_file files[OUTPUT_FILES])
{
	for (int i = 1; i < OUTPUT_FILES; i++) {
		if (files[i].st.st_mode && files[i].held >= 0)
			close(files[i].held);
		files[i] = (struct output_file){.held = -1};
	}
}

/* Whether both are one open file description. Where the kernel does not tell (CONFIG_KCMP) they are
 * taken for one. */
static bool is_description(pid_t tid, int fd, int held)
{
	return syscall(SYS_kcmp, getpid(), tid, KCMP_FILE, held, fd) <= 0;
}

int output_files_find(const struct output_file files[OUTPUT_FILES], pid_t tid, int fd, dev_t dev,
		      ino_t ino)
{
	int found = 0;

	for (int i = 1; i < OUTPUT_FILES; i++) {
		const struct output_file *f = &files[i];

		if (f->st.st_mode && f->st.st_dev == dev && f->st.st_ino == ino &&
		    (f->held < 0 || is_description(tid, fd, f->held)) && (!found || i == fd))
			found = i;
	}
	return found;
}
