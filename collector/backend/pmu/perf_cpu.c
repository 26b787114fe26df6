/* SPDX-License-Identifier: MIT */
#include "collector/backend/pmu/perf_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The value of a field of the first processor: the text behind its colon. */
static const char *field_value(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, len) && (line[len] == '\t' || line[len] == ':'))
			return strchr(line, ':') ? strchr(line, ':') + 2 : NULL;
	}
	return NULL;
}

static unsigned field_number(const char *text, const char *name)
{
	const char *value = field_value(text, name);

	return value ? (unsigned)strtoul(value, NULL, 10) : 0;
}

static bool has_flag(const char *text, const char *flag)
{
	const char *flags = field_value(text, "flags"), *end = flags ? strchr(flags, '\n') : NULL;
	size_t len = strlen(flag);

	for (const char *at = flags; at && (at = strstr(at, flag)) && (!end || at < end); at += len)
		if (at[-1] == ' ' && (at[len] == ' ' || at[len] == '\n' || !at[len]))
			return true;
	return false;
}

void perf_cpu_read(struct perf_cpu *c, const struct perf_kernel *k)
{
	char text[PERF_FILE_MAX];
	const char *vendor;

	*c = (struct perf_cpu){0};
	if (k->ops->file(k->arg, "/proc/cpuinfo", text, sizeof text) <= 0)
		return;
	vendor = field_value(text, "vendor_id");
	c->intel = vendor && !strncmp(vendor, "GenuineIntel", strlen("GenuineIntel"));
	c->family = field_number(text, "cpu family");
	c->model = field_number(text, "model");
	c->stepping = field_number(text, "stepping");
	c->bts = has_flag(text, "bts");
	c->arch_lbr = has_flag(text, "arch_lbr");
}

int perf_refused(const struct perf_kernel *k, int rc, const char *what, const char *busy,
		 struct bt_error *err)
{
	long paranoid = perf_file_number(k, "/proc/sys/kernel/perf_event_paranoid");

	switch (-rc) {
	case EBUSY:
		return bt_fail(err, BT_E_NO_HARDWARE, EBUSY, "%s is busy: %s", what, busy);
	case EACCES:
	case EPERM:
		return bt_fail(err, BT_E_PERMISSION, -rc,
			       "%s is refused with perf_event_paranoid %ld: sudo sysctl "
			       "kernel.perf_event_paranoid=2",
			       what, paranoid);
	case ENOENT:
	case ENODEV:
		return bt_fail(err, BT_E_NO_HARDWARE, -rc,
			       "the kernel knows no performance counters of this processor (a "
			       "virtual machine?)");
	case EOPNOTSUPP:
	case EINVAL:
	case ENOSYS:
		return bt_fail(err, BT_E_UNSUPPORTED, -rc,
			       "the kernel has no %s for this processor", what);
	default:
		return bt_fail(err, BT_E_NO_HARDWARE, -rc, "%s cannot be opened", what);
	}
}
