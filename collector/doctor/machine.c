/* SPDX-License-Identifier: MIT */
#include "collector/doctor/machine.h"

#include <cpuid.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/directories.h"

enum {
	FILE_MAX = 1 << 14, /* of /proc/cpuinfo the first processor is enough */
};

/* Where /proc has processes only (subset=pid, as services have it) uname(2) tells what its file
 * would. */
static int read_release(char *out, size_t size)
{
	struct utsname u;

	return uname(&u) ? -errno : snprintf(out, size, "%.*s\n", (int)size - 2, u.release);
}

static int read_here(void *state, const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), cause;
	size_t len = 0;
	ssize_t n = 0;

	(void)state;
	if (fd < 0 && !strcmp(path, MACHINE_RELEASE))
		return read_release(out, size);
	if (fd < 0)
		return -errno;
	while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	cause = errno;
	close(fd);
	if (n < 0)
		return -cause;
	out[len] = '\0';
	return (int)len;
}

static int is_visible(const struct dirent *e) { return e->d_name[0] != '.'; }

static int list_here(void *state, const char *path, char *out, size_t size)
{
	struct dirent **names;
	int count = scandir(path, &names, is_visible, alphasort);
	size_t len = 0;

	(void)state;
	if (count < 0)
		return -errno;
	*out = '\0';
	for (int i = 0; i < count; i++) {
		if (len < size)
			len += (size_t)snprintf(out + len, size - len, " %s", names[i]->d_name);
		free(names[i]);
	}
	free(names);
	return count;
}

static void cpuid_here(void *state, uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
	(void)state;
	__cpuid_count(leaf, subleaf, out[0], out[1], out[2], out[3]);
}

static const char *environment_here(void *state, const char *name)
{
	(void)state;
	return getenv(name);
}

/* The directory that path is in; false where there is none. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!strcmp(path, ".") || !strcmp(path, "/"))
		return false;
	if (slash)
		slash[slash == path] = '\0';
	else
		strcpy(path, ".");
	return true;
}

static int directory_here(void *state, struct machine_directory *out)
{
	char there[MACHINE_PATH_MAX];
	struct statfs fs;
	struct stat st;

	(void)state;
	if (trace_home(out->path, NULL))
		return -ENOENT;
	snprintf(there, sizeof there, "%s", out->path);
	/* The first trace makes directories that are missing. It does not make the target of a
	 * dangling link. */
	while (lstat(there, &st) && errno == ENOENT && go_up(there))
		;
	if (stat(there, &st) || statfs(there, &fs))
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	out->type = (uint64_t)fs.f_type;
	out->room = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	out->writable = !access(there, W_OK | X_OK);
	return 0;
}

static int attempt_here(void *state, enum machine_attempt what)
{
	(void)state;
	return machine_attempt_here(what);
}

struct machine machine_here(void)
{
	static const struct machine_ops ops = {
		.read = read_here,
		.list = list_here,
		.cpuid = cpuid_here,
		.environment = environment_here,
		.directory = directory_here,
		.attempt = attempt_here,
	};

	return (struct machine){.ops = &ops, .perf = &perf_kernel};
}

long long machine_number(const struct machine *m, const char *path, long long otherwise)
{
	char text[64], *end;
	long long value;

	if (m->ops->read(m->state, path, text, sizeof text) <= 0)
		return otherwise;
	value = strtoll(text, &end, 10);
	return end == text ? otherwise : value;
}

static bool find_field(const char *line, const char *key, char *out, size_t size)
{
	size_t len = strlen(key);

	for (; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
		const char *value = line + len;

		if (strncmp(line, key, len))
			continue;
		value += strspn(value, " \t");
		if (*value != ':')
			continue;
		value += 1 + strspn(value + 1, " \t");
		snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
		return true;
	}
	return false;
}

bool machine_field(const struct machine *m, const char *path, const char *key, char *out,
		   size_t size)
{
	char *text = malloc(FILE_MAX);
	bool found = text && m->ops->read(m->state, path, text, FILE_MAX) > 0 &&
		     find_field(text, key, out, size);

	free(text);
	return found;
}
