/* SPDX-License-Identifier: MIT */
#include "commands/inherited.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/grow.h"

static void fill_standard_descriptors(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= 2)
		;
	if (fd > 2)
		close(fd);
}

void inherited_note(struct inherited *i)
{
	struct dirent *e;
	DIR *d;

	fill_standard_descriptors();
	d = opendir("/proc/self/fd");
	while (d && (e = readdir(d))) {
		int fd = atoi(e->d_name), *grown;

		if (fd <= 2 || fd == dirfd(d))
			continue;
		grown = array_grow(i->fds, i->count, &i->cap, sizeof *grown);
		if (!grown)
			break;
		i->fds = grown;
		grown[i->count++] = fd;
	}
	if (d)
		closedir(d);
}

void inherited_drop(const struct inherited *i, int last)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= last && null >= 0; fd++)
		dup3(null, fd, O_CLOEXEC);
	if (null > 2)
		close(null);
	for (size_t n = 0; n < i->count; n++)
		close(i->fds[n]);
}

void inherited_release(struct inherited *i)
{
	free(i->fds);
	*i = (struct inherited){0};
}
