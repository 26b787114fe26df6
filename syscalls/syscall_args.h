/* SPDX-License-Identifier: MIT */
/* The arguments of system calls (syscall_args.def): how many, what each is called, and its kind.
 * Used by the recorder and the engine's routines, which ask what of memory belongs to a call, and
 * by syscall_text. Constant tables. Pure. */
#ifndef BT_SYSCALL_ARGS_H
#define BT_SYSCALL_ARGS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SYSCALL_ARGS = 6,
	/* Bytes that are kept of what an argument points to. A longer path is cut. */
	SYSCALL_POINTED_MAX = 512,
	SYSCALL_ADDRESS_MAX = 128, /* struct sockaddr_storage */
};

/* Kinds of arguments and results. */
enum syscall_arg_kind {
	SYSCALL_ARG_NONE, /* no argument; no result */
	/* Numbers. */
	SYSCALL_ARG_INT,
	SYSCALL_ARG_UINT,
	SYSCALL_ARG_LONG,
	SYSCALL_ARG_SIZE,
	SYSCALL_ARG_HEX,
	SYSCALL_ARG_OCTAL,
	SYSCALL_ARG_OPEN_MODE, /* octal; given only with some flags, in the argument before */
	SYSCALL_ARG_ADDRESS,   /* of memory that is not kept */
	SYSCALL_ARG_FD,
	SYSCALL_ARG_DIR_FD, /* AT_FDCWD is one */
	SYSCALL_ARG_SIGNAL,
	/* Addresses of what belongs to the call. */
	SYSCALL_ARG_PATH,
	SYSCALL_ARG_STRING,   /* another one that ends with a NUL */
	SYSCALL_ARG_SOCKADDR, /* its length is the next argument */
	/* Numbers that have names (syscall_flags.def). */
	SYSCALL_ARG_ACCESS,
	SYSCALL_ARG_ACCESS_FLAGS,
	SYSCALL_ARG_ADVICE,
	SYSCALL_ARG_ARCH_PRCTL,
	SYSCALL_ARG_AT_FLAGS,
	SYSCALL_ARG_CLOCK,
	SYSCALL_ARG_CLONE_FLAGS,
	SYSCALL_ARG_DOMAIN,
	SYSCALL_ARG_EPOLL_OP,
	SYSCALL_ARG_FCNTL,
	SYSCALL_ARG_FUTEX,
	SYSCALL_ARG_IOCTL,
	SYSCALL_ARG_LOCK,
	SYSCALL_ARG_MAP_FLAGS,
	SYSCALL_ARG_MASK_HOW,
	SYSCALL_ARG_MREMAP_FLAGS,
	SYSCALL_ARG_MSG_FLAGS,
	SYSCALL_ARG_OPEN_BITS,
	SYSCALL_ARG_OPEN_FLAGS,
	SYSCALL_ARG_PRCTL,
	SYSCALL_ARG_PROT,
	SYSCALL_ARG_RENAME_FLAGS,
	SYSCALL_ARG_RESOURCE,
	SYSCALL_ARG_SHUTDOWN,
	SYSCALL_ARG_SOCKET_FLAGS,
	SYSCALL_ARG_SOCKET_LEVEL,
	SYSCALL_ARG_SOCKET_TYPE,
	SYSCALL_ARG_UNLINK_FLAGS,
	SYSCALL_ARG_WAIT_FLAGS,
	SYSCALL_ARG_WHENCE,
	SYSCALL_ARG_KINDS,
};

struct syscall_arg {
	enum syscall_arg_kind kind;
	const char *name;
};

struct syscall_shape {
	enum syscall_arg_kind result;
	struct syscall_arg args[SYSCALL_ARGS]; /* those behind the last are SYSCALL_ARG_NONE */
};

/* The shape of a call of 64-bit code. One that has no row has six plain numbers. */
const struct syscall_shape *syscall_shape(uint64_t nr);

/* How many arguments it has. */
unsigned syscall_arg_count(const struct syscall_shape *shape);

/* How many bytes belong to argument i: with a NUL (*is_text) at most so many. 0: none are kept. */
uint64_t syscall_pointed_size(const struct syscall_shape *shape, unsigned i, const uint64_t *args,
			      bool *is_text);

#endif
