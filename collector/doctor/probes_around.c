/* SPDX-License-Identifier: MIT */
/* Around a recording: where traces go, core files, symbols. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "collector/doctor/doctor_private.h"
#include "lib/array_size.h"

enum {
	ROOM_MB = 1024, /* a trace of a long run with its rings */
};

/* statfs(2) */
static const struct file_system {
	uint64_t type;
	const char *name, *trouble;
} file_systems[] = {
	{0xef53, "ext4", NULL},
	{0x58465342, "xfs", NULL},
	{0x9123683e, "btrfs", NULL},
	{0x2fc12fc1, "zfs", NULL},
	{0xf2f52010, "f2fs", NULL},
	{0x794c7630, "overlayfs", NULL},
	{0x01021994, "tmpfs", "it takes memory, and does not outlive a reboot"},
	{0x858458f6, "ramfs", "it takes memory, and does not outlive a reboot"},
	{0x6969, "nfs", "over the network: slow"},
	{0xff534d42, "cifs", "over the network: slow"},
	{0xfe534d42, "smb", "over the network: slow"},
	{0x01021997, "9p", "the host's, by its protocol: slow"},
	{0x65735546, "fuse", "by a process of its own: slow"},
};

void probe_directory(struct doctor *d, struct doctor_verdict *v)
{
	struct machine_directory dir = {0};
	const struct file_system *fs = NULL;
	char other[32];
	int rc = d->machine.ops->directory(d->machine.state, &dir);

	if (rc) {
		if (*dir.path)
			verdict_set(v, DOCTOR_NO, "%.150s cannot be used: %s", dir.path,
				    strerror(-rc));
		else
			verdict_set(v, DOCTOR_NO, "no place for traces: HOME is not set");
		verdict_change(
			v, "export BTREC_TRACE_DIR=/var/tmp/btrec-$(id -u) (or btrec run -o DIR)");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(file_systems); i++)
		if (file_systems[i].type == dir.type)
			fs = &file_systems[i];
	snprintf(other, sizeof other, "file system 0x%" PRIx64, dir.type);
	verdict_set(v, DOCTOR_YES, "%.100s, %s, %" PRIu64 " MiB free", dir.path,
		    fs ? fs->name : other, dir.room >> 20);
	if (!dir.writable)
		verdict_set(v, DOCTOR_NO, "%.150s cannot be written to", dir.path);
	else if (dir.room >> 20 < ROOM_MB)
		verdict_set(v, DOCTOR_PARTLY, "%.100s, %s, only %" PRIu64 " MiB free", dir.path,
			    fs ? fs->name : other, dir.room >> 20);
	else if (fs && fs->trouble)
		verdict_set(v, DOCTOR_PARTLY, "%.100s, %s: %s", dir.path, fs->name, fs->trouble);
	if (v->answer != DOCTOR_YES)
		verdict_change(
			v, "export BTREC_TRACE_DIR=/var/tmp/btrec-$(id -u) (or btrec run -o DIR)");
}

void probe_core(struct doctor *d, struct doctor_verdict *v)
{
	char pattern[256] = "";
	uint64_t soft = 0, hard = 0;

	if (d->machine.ops->read(d->machine.state, "/proc/sys/kernel/core_pattern", pattern,
				 sizeof pattern) > 0)
		pattern[strcspn(pattern, "\n")] = '\0';
	doctor_limit(d, "Max core file size", &soft, &hard);
	if (*pattern == '|')
		verdict_set(v, DOCTOR_FACT, "to %.*s, as without btrec",
			    (int)strcspn(pattern + 1, " "), pattern + 1);
	else if (!soft)
		verdict_set(v, DOCTOR_FACT,
			    "none: RLIMIT_CORE is 0 (the trace does not need them)");
	else
		verdict_set(v, DOCTOR_FACT, "as %.100s, as without btrec",
			    *pattern ? pattern : "core");
}

/* Whether a shared library is installed where distributions have them. */
static bool has_library(const struct doctor *d, const char *name)
{
	static const char *const places[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib",
					     "/usr/local/lib"};
	char path[128], byte[2];

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		snprintf(path, sizeof path, "%s/%s", places[i], name);
		if (d->machine.ops->read(d->machine.state, path, byte, sizeof byte) > 0)
			return true;
	}
	return false;
}

static const char *debuginfod_server(const struct doctor *d)
{
	char os[2048] = "\n", *text = os + 1;

	if (d->machine.ops->read(d->machine.state, "/etc/os-release", text, sizeof os - 1) <= 0)
		return "https://debuginfod.elfutils.org";
	if (strstr(os, "\nID=debian"))
		return "https://debuginfod.debian.net";
	return strstr(os, "\nID=ubuntu") ? "https://debuginfod.ubuntu.com"
					 : "https://debuginfod.elfutils.org";
}

void probe_symbols(struct doctor *d, struct doctor_verdict *v)
{
	const char *urls = d->machine.ops->environment(d->machine.state, "DEBUGINFOD_URLS");
	bool library = has_library(d, "libdebuginfod.so.1");
	char names[64];
	int local = d->machine.ops->list(d->machine.state, "/usr/lib/debug/.build-id", names,
					 sizeof names);

	if (urls && *urls && library) {
		verdict_set(v, DOCTOR_YES, "debug information that is missing comes from %.120s",
			    urls);
	} else if (urls && *urls) {
		verdict_set(v, DOCTOR_PARTLY,
			    "DEBUGINFOD_URLS is set, but libdebuginfod is not installed");
		verdict_change(v, "sudo apt install libdebuginfod1");
	} else {
		verdict_set(v, DOCTOR_PARTLY,
			    "names and lines of programs and libraries whose debug information is "
			    "here%s",
			    local > 0 ? " (some packages' is, in /usr/lib/debug)" : "");
		verdict_change(v, "%sexport DEBUGINFOD_URLS=%s",
			       library ? "" : "sudo apt install libdebuginfod1; ",
			       debuginfod_server(d));
	}
}
