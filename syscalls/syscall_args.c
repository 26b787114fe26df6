/* SPDX-License-Identifier: MIT */
#include "syscalls/syscall_args.h"

#include <stddef.h>

#include "lib/array_size.h"
#include "syscalls/syscall_names.h"

#define NOTHING                        \
	{                              \
		SYSCALL_ARG_NONE, NULL \
	}
#define ARG(kind, name)                   \
	{                                 \
		SYSCALL_ARG_##kind, #name \
	}

static const struct syscall_shape shapes[] = {
#define BT_CALL(id, kind, ...) \
	[SYSCALL_NR_##id] = {.result = SYSCALL_ARG_##kind, .args = {__VA_ARGS__}},
#include "syscalls/syscall_args.def"
#undef BT_CALL
};

static const struct syscall_shape unknown = {
	.result = SYSCALL_ARG_LONG,
	.args = {ARG(HEX, arg0), ARG(HEX, arg1), ARG(HEX, arg2), ARG(HEX, arg3), ARG(HEX, arg4),
		 ARG(HEX, arg5)},
};

/* Calls without arguments have a row, too: one of their own, or none at all. */
static bool has_row(const struct syscall_shape *shape)
{
	return shape->result || shape->args[0].kind;
}

const struct syscall_shape *syscall_shape(uint64_t nr)
{
	return nr < ARRAY_SIZE(shapes) && has_row(&shapes[nr]) ? &shapes[nr] : &unknown;
}

unsigned syscall_arg_count(const struct syscall_shape *shape)
{
	unsigned n = 0;

	while (n < SYSCALL_ARGS && shape->args[n].kind)
		n++;
	return n;
}

uint64_t syscall_pointed_size(const struct syscall_shape *shape, unsigned i, const uint64_t *args,
			      bool *is_text)
{
	enum syscall_arg_kind kind = shape->args[i].kind;
	uint64_t size;

	*is_text = kind == SYSCALL_ARG_PATH || kind == SYSCALL_ARG_STRING;
	if (!args[i])
		return 0;
	if (*is_text)
		return SYSCALL_POINTED_MAX;
	if (kind != SYSCALL_ARG_SOCKADDR || i + 1 >= SYSCALL_ARGS)
		return 0;
	size = (uint32_t)args[i + 1];
	return size < SYSCALL_ADDRESS_MAX ? size : SYSCALL_ADDRESS_MAX;
}
