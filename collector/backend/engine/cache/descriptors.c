/* SPDX-License-Identifier: MIT */
/* A row of the table is two bytes: the upper bits of a descriptor's number, and a kind. The kind
 * says how calls on it go: they return at once, may wait, or are to be made at a stop; where a log
 * is kept also whether it is one of the program's outputs. The number's
 * lower bits choose the row, so one descriptor can put another one out.
 *
 * descriptor_kind() finds the kind by statx(2) of /proc/TID/fd/N: of a file by the type of its file
 * system, of others by their mode and device number. mountinfo says that type; answers for the last
 * mounts are kept. No question goes to a file system that may not answer.
 *
 * The tracer learns late. At the exit of a call it notes one descriptor that is worth a look
 * (descriptors_left()), and enters it when the task goes into the cache again
 * (descriptors_ready()). A call that closes takes out the rows at its entry and again at its exit;
 * meanwhile nothing is entered.
 *
 * Where calls unseen can change the descriptors (io_uring, another process, 32-bit calls), the
 * table is not used any more (`shared`). While tasks of the space have different descriptors
 * (`split`), it is not used either. */
#include "collector/backend/engine/cache/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collector/backend/engine/cache/syscall_policy.h"
#include "collector/tracee/output_files.h"
#include "lib/array_size.h"
#include "lib/call_result.h"

/* The meaning of a byte of the table. */
enum {
	UNKNOWN = DESCRIPTOR_UNKNOWN,
	AT_ONCE = DESCRIPTOR_AT_ONCE,
	STOPS = DESCRIPTOR_STOPS,
	WAITS = DESCRIPTOR_WAITS,

	MNT_ID_UNIQUE = 0x4000,   /* STATX_MNT_ID_UNIQUE */
	DESCRIPTOR_END = 1 << 29, /* numbers below have a row */
	X32_FIRST = 0x40000000, /* numbers of the x32 table (arch/x86/include/uapi/asm/unistd.h) */
	X32_COUNT = 0x1000,
};

/* ---- What a descriptor is ---- */

/* File systems of this machine's own: their reads and writes wait for nothing but a disk. */
static bool is_local(const char *type)
{
	static const char *const local[] = {
		"ext2",    "ext3",   "ext4",     "xfs",     "btrfs", "tmpfs",
		"ramfs",   "rootfs", "devtmpfs", "overlay", "f2fs",  "bcachefs",
		"zfs",     "jfs",    "reiserfs", "vfat",    "exfat", "ntfs3",
		"iso9660", "udf",    "squashfs", "erofs"};

	for (size_t i = 0; i < ARRAY_SIZE(local); i++)
		if (!strcmp(type, local[i]))
			return true;
	return false;
}

/* procfs shows where a call is made, and memory can be written through it. */
static uint8_t kind_of_files(const char *type)
{
	if (!*type || !strcmp(type, "proc"))
		return STOPS;
	return is_local(type) ? AT_ONCE : WAITS;
}

/* Of the file system mounted under this id, as the task sees it (proc_pid_mountinfo(5)). */
static uint8_t kind_of_mount(pid_t tid, uint64_t id)
{
	char path[40], line[8192], type[32] = "";
	unsigned long long number;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/mountinfo", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return STOPS;
	while (fgets(line, sizeof line, f)) {
		const char *dash = strstr(line, " - ");

		if (sscanf(line, "%llu ", &number) != 1 || number != id)
			continue;
		if (dash && sscanf(dash, " - %31s", type) != 1)
			type[0] = 0;
		break;
	}
	fclose(f);
	return kind_of_files(type);
}

/* By the id that no other mount ever gets, where the kernel has such (Linux 6.8): another may have
 * the same id as one that is gone, and the same device. */
static uint8_t kind_on_mount(struct descriptors *d, pid_t tid, const char *path,
			     const struct statx *st)
{
	struct statx in_mountinfo = *st;
	struct mount_kind *m;

	for (unsigned i = 0; i < MOUNT_KINDS; i++) {
		m = &d->mounts[i];
		if (m->id == st->stx_mnt_id && m->major == st->stx_dev_major &&
		    m->minor == st->stx_dev_minor && m->id)
			return m->kind;
	}
	if (st->stx_mask & MNT_ID_UNIQUE &&
	    statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_MNT_ID, &in_mountinfo))
		return STOPS;
	m = &d->mounts[d->mount_next++ % MOUNT_KINDS];
	*m = (struct mount_kind){st->stx_mnt_id, st->stx_dev_major, st->stx_dev_minor,
				 kind_of_mount(tid, in_mountinfo.stx_mnt_id)};
	return m->kind;
}

/* null, zero, full, random, urandom (Documentation/admin-guide/devices.txt). */
static bool is_endless_device(const struct statx *st)
{
	static const uint8_t minors[] = {3, 5, 7, 8, 9};

	for (size_t i = 0; i < sizeof minors; i++)
		if (st->stx_rdev_major == 1 && st->stx_rdev_minor == minors[i])
			return true;
	return false;
}

static bool is_null_device(const struct statx *st)
{
	return st->stx_rdev_major == 1 && st->stx_rdev_minor == 3;
}

/* Whether the descriptor can write to its file. */
static bool is_writable(pid_t tid, uint32_t fd)
{
	char name[32], rest[TRACEE_LINE];

	snprintf(name, sizeof name, "fdinfo/%u", fd);
	return !tracee_file_line(tid, name, "flags:", rest) ||
	       (strtoul(rest, NULL, 8) & O_ACCMODE) != O_RDONLY;
}

/* zero, full: reads fill a page at a time, and look behind each whether there is a signal
 * (read_iter_zero() in Linux' drivers/char/mem.c). */
static bool is_zero_device(const struct statx *st)
{
	return st->stx_rdev_major == 1 && (st->stx_rdev_minor == 5 || st->stx_rdev_minor == 7);
}

static bool changes_mapping(const struct files_apart *a, pid_t tid, uint32_t fd,
			    const struct statx *st)
{
	for (size_t i = 0; i < a->mappings->count; i++)
		if (a->mappings->maps[i].ino && a->mappings->maps[i].ino == st->stx_ino)
			return is_writable(tid, fd);
	return false;
}

/* The descriptor's kind where a log is kept; kind: the one that it has without a log. */
static uint8_t kind_apart(const struct files_apart *a, pid_t tid, uint32_t fd,
			  const struct statx *st, uint8_t kind)
{
	int stream = output_files_find(a->outputs, tid, (int)fd,
				       makedev(st->stx_dev_major, st->stx_dev_minor), st->stx_ino);

	if (changes_mapping(a, tid, fd, st))
		return STOPS;
	if (S_ISCHR(st->stx_mode) && !is_null_device(st)) /* a signal cuts what others give */
		kind = is_zero_device(st) ? DESCRIPTOR_PAGE : WAITS;
	if (stream)
		return kind == AT_ONCE ? (uint8_t)(DESCRIPTOR_STREAM_1 + stream - 1)
				       : (uint8_t)STOPS;
	return kind;
}

/* The kind of a file of that name. */
static uint8_t kind_of_file(struct descriptors *d, pid_t tid, const char *path,
			    const struct statx *st)
{
	if (S_ISCHR(st->stx_mode))
		return is_endless_device(st) ? AT_ONCE : WAITS;
	if (S_ISREG(st->stx_mode) || S_ISDIR(st->stx_mode))
		return st->stx_mask & (STATX_MNT_ID | MNT_ID_UNIQUE)
			       ? kind_on_mount(d, tid, path, st)
			       : (uint8_t)STOPS;
	return S_ISLNK(st->stx_mode) ? STOPS : WAITS;
}

/* The table's byte for a descriptor. Asks no file system that may not answer: one of FUSE may be
 * served by the very program that is stopped. */
static uint8_t descriptor_kind(struct descriptors *d, pid_t tid, uint32_t fd,
			       const struct files_apart *apart)
{
	struct statx st;
	char path[48];
	uint8_t kind;

	snprintf(path, sizeof path, "/proc/%d/fd/%u", (int)tid, fd);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC,
		  STATX_TYPE | STATX_INO | STATX_MNT_ID | MNT_ID_UNIQUE, &st))
		return UNKNOWN;
	kind = kind_of_file(d, tid, path, &st);
	return apart ? kind_apart(apart, tid, fd, &st, kind) : kind;
}

/* ---- The table ---- */

static uint64_t row_at(uint32_t fd)
{
	return DESCRIPTORS_AT + (uint64_t)(fd % DESCRIPTOR_ROWS) * DESCRIPTOR_BYTES;
}

/* The contents of its row, but for the kind. */
static uint32_t number_in_row(uint32_t fd)
{
	return fd >> DESCRIPTOR_NUMBER_BITS << DESCRIPTOR_KIND_BITS;
}

static uint8_t look_up(const struct window *w, pid_t tid, uint32_t fd)
{
	uint16_t row = 0;
	uint32_t kind;

	if (!window_read(w, tid, row_at(fd), &row, sizeof row))
		return STOPS;
	kind = row ^ number_in_row(fd);
	return kind >> DESCRIPTOR_KIND_BITS ? (uint8_t)UNKNOWN : (uint8_t)kind;
}

static void enter_descriptor(const struct window *w, pid_t tid, uint32_t fd, uint8_t kind)
{
	uint16_t row = (uint16_t)(number_in_row(fd) | kind);

	if (fd < DESCRIPTOR_END)
		(void)!window_write(w, tid, row_at(fd), &row, sizeof row);
}

static void take_out_rows(const struct window *w, pid_t tid, uint32_t first, uint32_t count)
{
	window_clear(w, tid, row_at(first), (size_t)count * DESCRIPTOR_BYTES);
}

static void take_out_all(const struct window *w, pid_t tid)
{
	take_out_rows(w, tid, 0, DESCRIPTOR_ROWS);
}

/* ... and, of others that share a row with one of them, what is known. */
static void forget_descriptors(const struct window *w, pid_t tid, uint32_t first, uint32_t last)
{
	uint32_t from = first % DESCRIPTOR_ROWS, to = last % DESCRIPTOR_ROWS;

	if (first > last)
		return;
	if (last - first >= DESCRIPTOR_ROWS - 1) {
		take_out_all(w, tid);
	} else if (from <= to) {
		take_out_rows(w, tid, from, to - from + 1);
	} else {
		take_out_rows(w, tid, from, DESCRIPTOR_ROWS - from);
		take_out_rows(w, tid, 0, to + 1);
	}
}

/* ---- System calls at stops ---- */

static bool closed_by(const struct tracee_syscall *c, uint32_t *first, uint32_t *last)
{
	switch (c->nr) {
	case SYS_close:
		*first = *last = (uint32_t)c->args[0];
		return true;
	case SYS_dup2:
	case SYS_dup3:
		*first = *last = (uint32_t)c->args[1];
		return true;
	case SYS_close_range:
		*first = (uint32_t)c->args[0];
		*last = (uint32_t)c->args[1];
		return true;
	default:
		return false;
	}
}

/* The flags of clone and its kin; 0 where there are none. */
static uint64_t call_clone_flags(pid_t tid, const struct tracee_syscall *c)
{
	uint64_t flags = 0;

	if (c->nr == SYS_clone || c->nr == SYS_unshare)
		return c->args[0];
	if (c->nr == SYS_vfork)
		return CLONE_VM | CLONE_VFORK;
	if (c->nr == SYS_clone3 &&
	    tracee_read(tid, c->args[0], &flags, sizeof flags) != sizeof flags)
		flags = 0;
	return flags;
}

/* Calls after which a table no longer is of one set of descriptors, which only calls that are seen
 * change. */
static void note_sharing(struct descriptors *d, pid_t tid, const struct tracee_syscall *c,
			 unsigned tasks)
{
	uint64_t flags = call_clone_flags(tid, c);

	if (c->compat || (uint32_t)c->nr - X32_FIRST < X32_COUNT) { /* of another table: anything */
		d->shared = true;
		return;
	}
	switch (c->nr) {
	case SYS_clone:
	case SYS_clone3:
	case SYS_vfork:
		d->split |= flags & CLONE_VM && !(flags & CLONE_FILES);
		d->shared |= flags & CLONE_FILES && !(flags & CLONE_VM);
		break;
	case SYS_unshare:
		d->split |= flags & CLONE_FILES && tasks > 1;
		break;
	case SYS_close_range:
		d->split |= c->args[2] & CLOSE_RANGE_UNSHARE && tasks > 1;
		break;
	case SYS_io_uring_setup: /* its operations close, too */
	case SYS_io_uring_enter:
	case SYS_io_uring_register:
		d->shared = true;
		break;
	}
}

void descriptors_entered(struct descriptors *d, struct descriptors_task *dt, const struct window *w,
			 pid_t tid, const struct tracee_syscall *call, unsigned tasks)
{
	uint32_t first, last;

	note_sharing(d, tid, call, tasks);
	if (call->compat || !closed_by(call, &first, &last))
		return;
	forget_descriptors(w, tid, first, last);
	if (!dt->closing)
		d->closing++;
	dt->closing = true;
}

/* Whether the call gives a descriptor that is probably used soon. */
static bool opens_descriptor(const struct tracee_syscall *c)
{
	static const uint16_t calls[] = {SYS_open, SYS_openat, SYS_openat2, SYS_creat,
					 SYS_dup,  SYS_dup2,   SYS_dup3};

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (c->nr == calls[i])
			return true;
	return c->nr == SYS_fcntl &&
	       ((int)c->args[1] == F_DUPFD || (int)c->args[1] == F_DUPFD_CLOEXEC);
}

/* The descriptor that is worth a look behind this call, or one that has no row. */
static uint32_t worth_a_look(const struct tracee_syscall *c, uint64_t result)
{
	if (opens_descriptor(c))
		return call_has_failed(result) ? UINT32_MAX : (uint32_t)result;
	return syscall_policy(c->nr) & POLICY_DESCRIPTORS && c->nr != SYS_close &&
			       (int64_t)result != -EBADF
		       ? (uint32_t)c->args[0]
		       : UINT32_MAX;
}

void descriptors_left(struct descriptors *d, struct descriptors_task *dt, const struct window *w,
		      pid_t tid, const struct tracee_syscall *call, uint64_t result)
{
	uint32_t first, last, fd;

	if (call->compat)
		return;
	if (dt->closing && closed_by(call, &first, &last)) {
		forget_descriptors(w, tid, first, last);
		descriptors_forget_task(d, dt);
	}
	fd = worth_a_look(call, result);
	dt->learns = fd < DESCRIPTOR_END;
	dt->learn = fd;
	dt->fresh = opens_descriptor(call);
}

/* Whether a descriptor of the process is an io_uring. */
static bool has_io_uring(pid_t tid)
{
	char path[32], target[32];
	struct dirent *e;
	bool found = false;
	ssize_t n;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)tid);
	dir = opendir(path);
	while (dir && !found && (e = readdir(dir))) {
		n = readlinkat(dirfd(dir), e->d_name, target, sizeof target);
		found = n > 0 && !strncmp(target, "anon_inode:[io_uring]", (size_t)n);
	}
	if (dir)
		closedir(dir);
	return found || !dir;
}

void descriptors_adopted(struct descriptors *d, pid_t first, pid_t tid)
{
	d->shared |= has_io_uring(tid);
	d->split |= syscall(SYS_kcmp, first, tid, KCMP_FILES, 0, 0) != 0;
}

bool descriptors_ready(struct descriptors *d, struct descriptors_task *dt, const struct window *w,
		       pid_t tid, unsigned tasks, const struct files_apart *apart)
{
	bool learns = dt->learns;

	dt->learns = false;
	if (d->shared || (d->split && tasks > 1))
		return false;
	if (d->split || d->stale)
		take_out_all(w, tid);
	d->split = d->stale = false;
	if (learns && !d->closing && (dt->fresh || look_up(w, tid, dt->learn) == UNKNOWN))
		enter_descriptor(w, tid, dt->learn, descriptor_kind(d, tid, dt->learn, apart));
	return true;
}

uint64_t descriptors_device(const struct descriptors *d)
{
	for (unsigned i = 0; i < MOUNT_KINDS; i++)
		if (d->mounts[i].id && d->mounts[i].kind == AT_ONCE)
			return makedev(d->mounts[i].major, d->mounts[i].minor);
	return 0;
}

bool descriptors_may_be_proc(const struct descriptors *d, const struct window *w, pid_t tid,
			     uint32_t fd)
{
	uint8_t kind = d->shared || d->split || d->stale ? UNKNOWN : look_up(w, tid, fd);

	return kind == UNKNOWN || kind == STOPS;
}

bool descriptors_is_proc(pid_t tid, uint32_t fd)
{
	struct statx st;
	char path[48];

	snprintf(path, sizeof path, "/proc/%d/fd/%u", (int)tid, fd);
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_MNT_ID, &st) &&
	       S_ISREG(st.stx_mode) &&
	       (!(st.stx_mask & STATX_MNT_ID) || kind_of_mount(tid, st.stx_mnt_id) == STOPS);
}

void descriptors_forget_task(struct descriptors *d, struct descriptors_task *dt)
{
	if (dt->closing)
		d->closing--;
	dt->closing = false;
}

void descriptors_forked(struct descriptors *d)
{
	d->closing = 0;
	d->split = false;
	d->stale = true;
}
