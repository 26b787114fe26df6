/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "collector/tracee/tracee.h"

enum {
	SCRIPT_DEPTH = 5, /* interpreters of interpreters, as the kernel follows them (fs/exec.c) */
	SCRIPT_HEAD = 256, /* bytes of a script that it reads (BINPRM_BUF_SIZE) */
};

/* With CAP_SYS_PTRACE in the recorder, a traced program keeps the privileges its file gives it
 * (ptrace(2), "execve(2) under ptrace"). */
bool program_privileges_survive(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

	return !syscall(SYS_capget, &head, sets) &&
	       sets[CAP_TO_INDEX(CAP_SYS_PTRACE)].effective & CAP_TO_MASK(CAP_SYS_PTRACE);
}

struct credentials {
	uid_t euid;
	gid_t egid;
	bool fixed; /* no file adds to them: PR_SET_NO_NEW_PRIVS */
};

static struct credentials own_credentials(void)
{
	return (struct credentials){geteuid(), getegid(),
				    prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) > 0};
}

static struct credentials credentials_of(pid_t pid)
{
	struct credentials c = {geteuid(), getegid(), false};
	unsigned real, effective;
	char line[TRACEE_LINE];

	if (tracee_file_line(pid, "status", "Uid:", line) &&
	    sscanf(line, "%u %u", &real, &effective) == 2)
		c.euid = effective;
	if (tracee_file_line(pid, "status", "Gid:", line) &&
	    sscanf(line, "%u %u", &real, &effective) == 2)
		c.egid = effective;
	if (tracee_file_line(pid, "status", "NoNewPrivs:", line))
		c.fixed = atoi(line);
	return c;
}

/* The privilege that executing path would add to the credentials, in words; NULL: none. */
static const char *privilege_gained(const char *path, struct credentials c)
{
	struct statvfs fs;
	struct stat st;

	if (c.fixed || stat(path, &st) || statvfs(path, &fs) || fs.f_flag & ST_NOSUID)
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != c.euid)
		return "set-uid";
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != c.egid)
		return "set-gid";
	if (c.euid && getxattr(path, "security.capability", NULL, 0) > 0)
		return "given file capabilities";
	return NULL;
}

static bool is_mounted_noexec(const char *path)
{
	struct statvfs fs;

	return !statvfs(path, &fs) && fs.f_flag & ST_NOEXEC;
}

static int not_recordable(struct bt_error *err, const char *path, const char *why)
{
	return bt_fail(err, BT_E_NOT_RECORDABLE, 0, "%s: %s", path, why);
}

static int check_elf(const char *path, const uint8_t *head, size_t len, struct bt_error *err)
{
	if (len < sizeof(Elf64_Ehdr))
		return not_recordable(err, path, "not a program: the file is too short");
	if (head[EI_CLASS] != ELFCLASS64)
		return not_recordable(err, path,
				      "a 32-bit program; btrec records x86-64 programs only");
	if (head[18] != EM_X86_64 || head[19])
		return not_recordable(
			err, path,
			"a program for another processor; btrec records x86-64 programs only");
	return 0;
}

static int check_program(const char *path, int depth, struct bt_error *err);

static int check_interpreter(const char *path, const char *interpreter, int depth,
			     struct bt_error *err)
{
	struct bt_error cause;
	int rc = check_program(interpreter, depth + 1, &cause);

	return rc ? bt_fail(err, cause.code, 0, "%s: its interpreter %s", path, cause.text) : 0;
}

/* Whether a shell would take the file for a script. */
static bool is_text(const uint8_t *head, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (head[i] < ' ' && !memchr("\t\n\r\f", head[i], 4))
			return false;
	return len;
}

static int check_program(const char *path, int depth, struct bt_error *err)
{
	uint8_t head[SCRIPT_HEAD + 1] = {0};
	const char *privilege;
	struct stat st;
	ssize_t n;
	int fd;

	if (stat(path, &st))
		return bt_fail(err,
			       errno == ENOENT || errno == ENOTDIR ? BT_E_NOT_FOUND
								   : BT_E_NOT_RECORDABLE,
			       errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return not_recordable(
			err, path, S_ISDIR(st.st_mode) ? "is a directory" : "not a regular file");
	if (access(path, X_OK))
		return not_recordable(
			err, path,
			is_mounted_noexec(path)
				? "its file system is mounted noexec: nothing on it can be executed"
				: "not executable");
	privilege = program_privileges_survive() ? NULL : privilege_gained(path, own_credentials());
	if (privilege)
		return bt_fail(err, BT_E_NOT_RECORDABLE, 0,
			       "%s: is %s and would run without its privileges under a tracer: "
			       "record it as root, or a copy of it without the bit",
			       path, privilege);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == EACCES && !program_privileges_survive())
		return not_recordable(err, path,
				      "may be executed by you, but not read: nor may its memory "
				      "(without CAP_SYS_PTRACE); record a copy that you may read");
	if (fd < 0) /* the kernel can run it, and so can we */
		return 0;
	n = read(fd, head, sizeof head - 1);
	close(fd);
	if (n >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG))
		return check_elf(path, head, (size_t)n, err);
	if (n >= 2 && head[0] == '#' && head[1] == '!') {
		char *interpreter = (char *)head + 2 + strspn((char *)head + 2, " \t");
		size_t len = strcspn(interpreter, " \t\n");

		if (!len)
			return not_recordable(err, path, "its #! names no interpreter");
		if (interpreter + len == (char *)head + SCRIPT_HEAD)
			return not_recordable(
				err, path,
				"the name of its interpreter is too long for the kernel");
		interpreter[len] = '\0';
		if (depth == SCRIPT_DEPTH)
			return not_recordable(err, path, "too many interpreters");
		return check_interpreter(path, interpreter, depth, err);
	}
	if (n > 0 && !depth && is_text(head, (size_t)n))
		return bt_fail(err, BT_E_NOT_RECORDABLE, 0,
			       "%s: neither a program nor a script with #!; try btrec run sh %s",
			       path, path);
	return not_recordable(err, path, "neither a program nor a script with #!");
}

/* Looks for name in $PATH like execvp(3). The first executable file wins; else the first that is
 * there at all. */
static bool search_path(const char *name, char path[4096])
{
	const char *dirs = getenv("PATH");
	char first[4096] = "";

	if (!dirs)
		dirs = "/bin:/usr/bin";
	for (const char *at = dirs;; at += 1) {
		size_t len = strcspn(at, ":");
		struct stat st;

		snprintf(path, 4096, "%.*s/%s", len ? (int)len : 1, len ? at : ".", name);
		if (!stat(path, &st) && S_ISREG(st.st_mode)) {
			if (!access(path, X_OK))
				return true;
			if (!*first)
				snprintf(first, sizeof first, "%s", path);
		}
		at += len;
		if (!*at)
			break;
	}
	snprintf(path, 4096, "%s", first);
	return *first;
}

int program_find(const char *name, char path[4096], struct bt_error *err)
{
	if (!*name)
		return bt_fail(err, BT_E_NOT_FOUND, 0, "'': the program's name is empty");
	if (strchr(name, '/'))
		snprintf(path, 4096, "%s", name);
	else if (!search_path(name, path))
		return bt_fail(err, BT_E_NOT_FOUND, 0, "%s: program not found in $PATH", name);
	return check_program(path, 0, err);
}

bool program_gains_privileges(pid_t tid, bool at, const uint64_t args[2], char *reason, size_t size)
{
	char name[4096] = "", path[4300];
	const char *privilege;

	if (program_privileges_survive())
		return false;
	tracee_read(tid, args[at], name, sizeof name - 1);
	if (name[0] == '/')
		snprintf(path, sizeof path, "/proc/%d/root%s", (int)tid, name);
	else if (at && (int32_t)args[0] >= 0)
		snprintf(path, sizeof path, "/proc/%d/fd/%d%s%s", (int)tid, (int32_t)args[0],
			 name[0] ? "/" : "", name);
	else
		snprintf(path, sizeof path, "/proc/%d/cwd/%s", (int)tid, name);
	privilege = privilege_gained(path, credentials_of(tid));
	if (!privilege)
		return false;
	snprintf(reason, size,
		 "%.400s is %s: detached at its execve, so that it keeps its privileges", name,
		 privilege);
	return true;
}

void program_of(pid_t tid, char *path, size_t size, struct buf *argv)
{
	char link[32];
	uint8_t bytes[4096];
	ssize_t n;
	FILE *f;

	snprintf(link, sizeof link, "/proc/%d/exe", (int)tid);
	n = readlink(link, path, size - 1);
	path[n < 0 ? 0 : n] = '\0';
	f = tracee_open_file(tid, "cmdline");
	while (f && (n = (ssize_t)fread(bytes, 1, sizeof bytes, f)) > 0)
		buf_put(argv, bytes, (size_t)n);
	if (f)
		fclose(f);
}
