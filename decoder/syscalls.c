/* SPDX-License-Identifier: MIT */
#include "decoder/syscalls.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[] = {
#define BT_SYSCALL(number, id) [number] = #id,
#include "decoder/syscalls.def"
#undef BT_SYSCALL
};

const char *syscall_name(uint64_t nr, char name[SYSCALL_NAME_MAX])
{
	if (nr < sizeof names / sizeof *names && names[nr])
		snprintf(name, SYSCALL_NAME_MAX, "%s", names[nr]);
	else
		snprintf(name, SYSCALL_NAME_MAX, "system call %" PRId64, (int64_t)nr);
	return name;
}

const char *syscall_name_32(uint64_t nr, char name[SYSCALL_NAME_MAX])
{
	snprintf(name, SYSCALL_NAME_MAX, "32-bit system call %" PRId64, (int64_t)nr);
	return name;
}
