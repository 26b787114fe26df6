/* SPDX-License-Identifier: MIT */
#include "decoder/cause/failed_calls.h"

#include <string.h>

#include "lib/array_size.h"
#include "syscalls/syscall_names.h"

enum {
	LOOKED_AT = 1000, /* the newest that failed; behind them the cause is not looked for */
	EACH_CALL = -1,
	ABORT = 6, /* SIGABRT */
	/* errno (syscalls/errno.def) */
	NOT_THERE = 2,
	NO_DEVICE = 6,
	INTERRUPTED = 4,
	NO_CHILD = 10,
	NOT_YET = 11,
	INVALID = 22,
	NO_TERMINAL = 25,
	NOT_SEEKABLE = 29,
	UNKNOWN_CALL = 38,
	NO_SOCKET = 88,
	NOT_KNOWN_THERE = 95,
	IN_PROGRESS = 115,
};

/* How much a failed call may have to do with the end. */
enum weight {
	WEIGHT_NONE,    /* every program has it: never shown */
	WEIGHT_LIBRARY, /* a look into one of many places: shown if there is nothing better */
	WEIGHT_CAUSE,
};

/* Calls that fail in programs that are well: those of libc and runtimes at their start, and
 * questions whose answer is an error. To show them would hide the one that matters. path: part of
 * the call's path; NULL: whatever it is. */
static const struct probe {
	int nr; /* EACH_CALL */
	uint32_t error;
	const char *path;
	enum weight weight;
} probes[] = {
	{EACH_CALL, NOT_YET, NULL, WEIGHT_NONE},
	{EACH_CALL, INTERRUPTED, NULL, WEIGHT_NONE},
	{EACH_CALL, IN_PROGRESS, NULL, WEIGHT_NONE},
	{EACH_CALL, UNKNOWN_CALL, NULL, WEIGHT_NONE},           /* is the kernel new enough? */
	{SYSCALL_NR_ioctl, NO_TERMINAL, NULL, WEIGHT_NONE},     /* isatty() */
	{SYSCALL_NR_lseek, NOT_SEEKABLE, NULL, WEIGHT_NONE},    /* stdio, of a pipe */
	{SYSCALL_NR_getpeername, NO_SOCKET, NULL, WEIGHT_NONE}, /* bash: is it run by rshd? */
	{EACH_CALL, NO_DEVICE, "/dev/tty", WEIGHT_NONE},        /* shells */
	{SYSCALL_NR_wait4, NO_CHILD, NULL, WEIGHT_NONE},        /* shells, make */
	{SYSCALL_NR_readlink, INVALID, NULL, WEIGHT_NONE},      /* realpath(): no link */
	{SYSCALL_NR_readlinkat, INVALID, NULL, WEIGHT_NONE},
	{SYSCALL_NR_arch_prctl, INVALID, NULL, WEIGHT_NONE}, /* ld.so, of a shadow stack */
	{SYSCALL_NR_fgetxattr, NOT_KNOWN_THERE, NULL, WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "ld.so.preload", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/locale/", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "locale-archive", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "LC_MESSAGES", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/gconv/", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/nscd/socket", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/etc/localtime", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/terminfo/", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/selinux", WEIGHT_NONE},
	/* Programs that print a stack look for debug information. */
	{EACH_CALL, NOT_THERE, "/.build-id/", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, ".debug", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, ".dwp", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "linux-vdso.so", WEIGHT_NONE}, /* sanitizers */
	{EACH_CALL, NOT_THERE, "pyvenv.cfg", WEIGHT_NONE},    /* Python's start, and its imports */
	{EACH_CALL, NOT_THERE, "pybuilddir.txt", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "._pth", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "__pycache__", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/Modules/Setup.local", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/site-packages", WEIGHT_LIBRARY},
	{EACH_CALL, NOT_THERE, "/dist-packages", WEIGHT_LIBRARY},
	{EACH_CALL, NOT_THERE, "/lib/python", WEIGHT_LIBRARY},
	{EACH_CALL, NOT_THERE, "glibc-hwcaps", WEIGHT_NONE},
	{EACH_CALL, NOT_THERE, "/tls/", WEIGHT_LIBRARY},
	{EACH_CALL, NOT_THERE, ".so", WEIGHT_LIBRARY},
};

static bool has_part(struct slice s, const char *part)
{
	return s.len && memmem(s.at, s.len, part, strlen(part));
}

static bool has_path(const struct syscall_known *call, const char *part)
{
	for (unsigned i = 0; i < SYSCALL_ARGS; i++)
		if (call->pointed[i].is_known && has_part(call->pointed[i].bytes, part))
			return true;
	return false;
}

static enum weight weight_of(const struct syscall_known *call)
{
	uint32_t error = (uint32_t)-call->result;

	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		const struct probe *p = &probes[i];

		if ((p->nr == EACH_CALL || (!call->compat && call->nr == (uint64_t)p->nr)) &&
		    error == p->error && (!p->path || has_path(call, p->path)))
			return p->weight;
	}
	return WEIGHT_CAUSE;
}

static bool is_same(const struct syscall_known *a, const struct syscall_known *b)
{
	const struct syscall_shape *shape = syscall_shape(a->nr);

	if (a->nr != b->nr || a->result != b->result || a->has_args != b->has_args)
		return false;
	for (unsigned i = 0; i < syscall_arg_count(shape); i++) {
		struct slice x = a->pointed[i].bytes, y = b->pointed[i].bytes;
		enum syscall_arg_kind kind = shape->args[i].kind;

		/* An address says nothing of the purpose; a mode may be no argument at all. */
		if (kind == SYSCALL_ARG_ADDRESS || kind == SYSCALL_ARG_OPEN_MODE)
			continue;
		if (a->pointed[i].is_known != b->pointed[i].is_known || x.len != y.len ||
		    (x.len && memcmp(x.at, y.at, x.len)) ||
		    (!a->pointed[i].is_known && a->args[i] != b->args[i]))
			return false;
	}
	return true;
}

static void choose_calls(struct failed_calls *f, enum weight weight)
{
	for (size_t i = f->all.count; i-- > 0;) {
		const struct system_call *call = &f->all.at[i];

		if (weight_of(&call->known) != weight)
			continue;
		if (f->count && is_same(&call->known, &f->shown[f->count - 1]->known)) {
			f->repeated[f->count - 1]++;
			continue;
		}
		if (f->count == FAILED_CALLS_SHOWN)
			break;
		f->repeated[f->count] = 1;
		f->shown[f->count++] = call;
	}
	for (size_t i = 0; i < f->count / 2; i++) { /* oldest first */
		size_t k = f->count - 1 - i;
		const struct system_call *call = f->shown[i];
		unsigned repeated = f->repeated[i];

		f->shown[i] = f->shown[k];
		f->repeated[i] = f->repeated[k];
		f->shown[k] = call;
		f->repeated[k] = repeated;
	}
}

/* Whether the program has ended itself, as one does that could not go on. */
static bool is_own_failure(const struct model *m, const struct focus *f)
{
	enum bt_exit_kind kind;
	uint32_t status;
	bool core;

	if (f->snap && f->snap->rec->kind == BT_SNAPSHOT_FATAL)
		return f->snap->signal && f->snap->signal->signo == ABORT;
	if (f->snap && f->snap->rec->kind != BT_SNAPSHOT_EXIT &&
	    f->snap->rec->kind != BT_SNAPSHOT_FAILURE && f->snap->rec->kind != BT_SNAPSHOT_MESSAGE)
		return false;
	if (f->task->exit)
		return f->task->exit->kind == BT_EXIT_STATUS && f->task->exit->status;
	return focus_exit(m, &kind, &status, &core) && kind == BT_EXIT_STATUS && status;
}

int failed_calls_find(struct failed_calls *f, const struct model *m, const struct focus *focus,
		      struct bt_error *err)
{
	struct system_calls_wanted wanted = {
		.pid = focus->task ? focus->task->pid : 0,
		.until = focus->snap ? focus->snap->until : UINT64_MAX,
		.failed = true,
		.most = LOOKED_AT,
	};
	int rc;

	*f = (struct failed_calls){0};
	if (!focus->task || focus_is_outside(focus) || !is_own_failure(m, focus))
		return 0;
	rc = system_calls_find(&f->all, m, &wanted, err);
	if (rc)
		return rc;
	choose_calls(f, WEIGHT_CAUSE);
	if (!f->count)
		choose_calls(f, WEIGHT_LIBRARY);
	return 0;
}

void failed_calls_release(struct failed_calls *f)
{
	system_calls_release(&f->all);
	*f = (struct failed_calls){0};
}
