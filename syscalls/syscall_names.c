/* SPDX-License-Identifier: MIT */
#include "syscalls/syscall_names.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"

enum {
	USER32_CS = 0x23, /* the kernel's asm/segment.h */
};

static const char *const names[] = {
#define BT_SYSCALL(number, id) [number] = #id,
#include "syscalls/syscall_names.def"
#undef BT_SYSCALL
};

const char *syscall_name(uint64_t nr, char name[SYSCALL_NAME_MAX])
{
	if (nr < ARRAY_SIZE(names) && names[nr])
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

const char *syscall_of(const struct bt_regs *regs, char name[SYSCALL_NAME_MAX])
{
	if ((int64_t)regs->orig_rax < 0)
		*name = '\0';
	else if (regs->cs == USER32_CS)
		syscall_name_32(regs->orig_rax, name);
	else
		syscall_name(regs->orig_rax, name);
	return name;
}

const char *in_syscall(const struct bt_regs *regs, char text[IN_SYSCALL_MAX])
{
	char name[SYSCALL_NAME_MAX];
	bool is_named = *syscall_of(regs, name) && !strchr(name, ' ');

	snprintf(text, IN_SYSCALL_MAX, "in %s%s", is_named ? "the system call " : "",
		 *name ? name : "a system call");
	return text;
}
