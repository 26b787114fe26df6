/* SPDX-License-Identifier: MIT */
/* perf_ops of the kernel that we run on. */
#include "collector/backend/pmu/perf_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/backend/pmu/lbr_bpf.h"

static int kernel_open(void *arg, const struct perf_event_attr *attr, pid_t tid, int cpu, int group,
		       unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, tid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);

	(void)arg;
	return fd < 0 ? -errno : (int)fd;
}

static int kernel_ioctl(void *arg, int fd, unsigned long request, unsigned long value)
{
	int rc = ioctl(fd, request, value);

	(void)arg;
	return rc < 0 ? -errno : rc;
}

static void *kernel_map(void *arg, int fd, size_t length, int prot, uint64_t offset, int *error)
{
	void *at = mmap(NULL, length, prot, MAP_SHARED, fd, (off_t)offset);

	(void)arg;
	if (at != MAP_FAILED)
		return at;
	*error = errno;
	return NULL;
}

static void kernel_unmap(void *arg, void *at, size_t length)
{
	(void)arg;
	munmap(at, length);
}

static ssize_t kernel_read(void *arg, int fd, void *out, size_t n)
{
	ssize_t rc = read(fd, out, n);

	(void)arg;
	return rc < 0 ? -errno : rc;
}

static void kernel_close(void *arg, int fd)
{
	(void)arg;
	close(fd);
}

static ssize_t kernel_file(void *arg, const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 0;

	(void)arg;
	if (fd < 0)
		return -errno;
	while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		n = -errno;
	close(fd);
	out[len] = '\0';
	return n < 0 ? n : (ssize_t)len;
}

static uint64_t kernel_capabilities(void *arg)
{
	char text[PERF_FILE_MAX];
	const char *line;

	if (kernel_file(arg, "/proc/self/status", text, sizeof text) < 0 ||
	    !(line = strstr(text, "\nCapEff:")))
		return 0;
	return strtoull(line + strlen("\nCapEff:"), NULL, 16);
}

static uint64_t kernel_memlock(void *arg)
{
	struct rlimit limit = {0};

	(void)arg;
	getrlimit(RLIMIT_MEMLOCK, &limit);
	return limit.rlim_cur;
}

static const struct perf_ops kernel_ops = {
	.open = kernel_open,
	.ioctl = kernel_ioctl,
	.map = kernel_map,
	.unmap = kernel_unmap,
	.read = kernel_read,
	.close = kernel_close,
	.file = kernel_file,
	.capabilities = kernel_capabilities,
	.memlock = kernel_memlock,
	.snap_open = lbr_bpf_open,
	.snap_watch = lbr_bpf_watch,
	.snap_forget = lbr_bpf_forget,
	.snap_read = lbr_bpf_read,
	.snap_close = lbr_bpf_close,
};

const struct perf_kernel perf_kernel = {.ops = &kernel_ops};

bool perf_was_idle(const struct perf_kernel *k, const int *fds, unsigned count, uint64_t *idle)
{
	uint64_t enabled = 0, running = 0, now;

	for (unsigned i = 0; i < count; i++) {
		uint64_t v[3] = {0}; /* count, time enabled, time running */

		if (k->ops->read(k->arg, fds[i], v, sizeof v) != sizeof v)
			return true;
		enabled = v[1] > enabled ? v[1] : enabled;
		running += v[2];
	}
	now = enabled > running ? enabled - running : 0;
	if (now <= *idle)
		return false;
	*idle = now;
	return true;
}

long perf_file_number(const struct perf_kernel *k, const char *path)
{
	char text[64], *end;
	long n;

	if (k->ops->file(k->arg, path, text, sizeof text) <= 0)
		return -1;
	n = strtol(text, &end, 10);
	return end == text ? -1 : n;
}

long perf_pmu_type(const struct perf_kernel *k, const char *pmu)
{
	char path[256];

	snprintf(path, sizeof path, "/sys/bus/event_source/devices/%.100s/type", pmu);
	return perf_file_number(k, path);
}
