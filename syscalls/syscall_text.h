/* SPDX-License-Identifier: MIT */
/* System calls as strace(1) writes them: openat(AT_FDCWD, "/etc/app.conf", O_RDONLY) = -1 ENOENT
 * (No such file or directory). Used by everything that shows calls. Constant tables. Pure. Any
 * numbers and bytes can be given. */
#ifndef BT_SYSCALL_TEXT_H
#define BT_SYSCALL_TEXT_H

#include "lib/buf.h"
#include "lib/slice.h"
#include "syscalls/syscall_args.h"

/* The known fields of a call. */
struct syscall_known {
	uint64_t nr;
	bool compat; /* of the table for 32-bit code: its arguments are not told */
	bool has_args, has_result;
	uint64_t args[SYSCALL_ARGS];
	uint64_t result;
	struct {
		bool is_known, is_cut; /* there was more of it */
		struct slice bytes;
	} pointed[SYSCALL_ARGS]; /* memory behind arguments of the kinds that point to some */
};

/* Appends the call's name and arguments; "..." where these are not known. Text of the program is
 * in it, which is not escaped but for quotes. */
void syscall_put_call(struct buf *out, const struct syscall_known *call);

/* Appends one argument. */
void syscall_put_arg(struct buf *out, const struct syscall_known *call, unsigned i);

/* Appends the result: " = 3", " = -1 ENOENT (No such file or directory)"; " = ?" if it has none. */
void syscall_put_result(struct buf *out, const struct syscall_known *call);

/* Whether it is known to have failed. A call that the kernel is about to make again has not. */
bool syscall_has_failed(const struct syscall_known *call);

/* "ENOENT", "No such file or directory"; NULL for an unknown one. */
const char *syscall_errno_name(uint32_t number);
const char *syscall_errno_text(uint32_t number);

#endif
