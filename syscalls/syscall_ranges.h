/* SPDX-License-Identifier: MIT */
/* The memory that the kernel writes for a system call of 64-bit code (syscall_writes.def), found in
 * two steps, as the recorder of a replayable trace stops twice: at the call's entry the most that
 * it can write, from its arguments and the memory that they point to; at its exit what of that
 * belongs to its result.
 *
 * Invariants: the ranges may hold more than was written, never less, as long as nobody but the
 * kernel changed the memory in between. They may overlap. None wraps around the end of the
 * addresses; a range may reach into memory that is not mapped. Nothing is looked at but through the
 * callback; all numbers and bytes may be hostile. Used by recorders and tests. Pure; no allocation.
 *
 * Registers, and what the kernel writes when the task runs on (handlers' frames, rseq) or ends
 * (set_tid_address, robust lists), are not in it: SYSCALL_CHANGES_LATER says that there is some. */
#ifndef BT_SYSCALL_RANGES_H
#define BT_SYSCALL_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls/syscall_args.h"

enum {
	/* Ranges that are enough for every call but one with giant numbers of messages. */
	SYSCALL_RANGES_ENOUGH = 1152,
};

/* The changes that a call makes beside those of memory that its arguments point to. */
enum {
	SYSCALL_CHANGES_MAPS = 1 << 0,      /* the shape of the address space, or all of it */
	SYSCALL_CHANGES_OBJECTS = 1 << 1,   /* contents of a file; it may be mapped */
	SYSCALL_CHANGES_FDS = 1 << 2,       /* the set of open descriptors */
	SYSCALL_CHANGES_TASKS = 1 << 3,     /* the set of tasks */
	SYSCALL_CHANGES_SIGNALS = 1 << 4,   /* mask, handlers, stack of signals */
	SYSCALL_CHANGES_REGISTERS = 1 << 5, /* others than rax, rcx and r11 */
	SYSCALL_CHANGES_LATER = 1 << 6,     /* the kernel writes memory after the call */
	SYSCALL_CHANGES_OTHERS = 1 << 7,    /* memory or state of another process */
};

/* How a call that a signal broke off goes on (signal(7); the kernel's names of the results that
 * only a tracer sees). None: it is not broken off. Several: it depends on its arguments. */
enum {
	SYSCALL_AGAIN_SYS = 1 << 0,    /* ERESTARTSYS: made again unless a handler says otherwise */
	SYSCALL_AGAIN_NOINTR = 1 << 1, /* ERESTARTNOINTR: always made again */
	SYSCALL_AGAIN_NOHAND = 1 << 2, /* ERESTARTNOHAND: made again if no handler runs */
	SYSCALL_AGAIN_BLOCK = 1 << 3,  /* ERESTART_RESTARTBLOCK: by restart_syscall, if none runs */
	SYSCALL_AGAIN_EINTR = 1 << 4,  /* fails with EINTR */
};

/* Whether the output could go to other memory first, and be copied when the task's turn comes. */
enum syscall_scratch {
	SYSCALL_SCRATCH_NONE, /* nothing is written */
	SYSCALL_SCRATCH_YES,
	SYSCALL_SCRATCH_ALIGNED, /* with the same offset in its page */
	SYSCALL_SCRATCH_NO,
};

/* How much is known. */
enum syscall_ranges_known {
	SYSCALL_RANGES_UNKNOWN, /* written pages must be compared; the ranges are some of it */
	SYSCALL_RANGES_GUESSED, /* by the size in an ioctl's number */
	SYSCALL_RANGES_KNOWN,
};

struct syscall_facts {
	unsigned changes, again;
	enum syscall_scratch scratch;
};

/* The facts of a call: its changes, and how it is made again. NULL: no row knows the call. */
const struct syscall_facts *syscall_facts(uint64_t nr);

enum {
	SYSCALL_PLAIN_OUTPUTS = 2, /* of a call, at most */
	/* Bytes of struct linux_dirent64 with the longest name (fs/readdir.c). */
	SYSCALL_ENTRY_MOST = 280,
};

/* An output that starts where an argument says, and is as long as the call's arguments and its
 * result say. */
struct syscall_plain_output {
	uint8_t argument;
	bool is_counted; /* `by` is an argument that counts units; else it is `unit` bytes */
	bool is_cut;     /* to as many units as the result says */
	bool is_ever;    /* also where the call fails */
	bool has_more;   /* up to SYSCALL_ENTRY_MOST bytes behind that, too */
	uint8_t by;
	uint32_t unit;
};

/* The call's outputs, if all are such and all that it writes; -1: they are not. Where the call
 * fails with EFAULT, EIO or EBADMSG, some of an output may have been written. */
int syscall_plain_outputs(uint64_t nr, struct syscall_plain_output out[SYSCALL_PLAIN_OUTPUTS]);

/* The arguments of a call that moves bytes and returns how many. */
struct syscall_moved {
	unsigned buffer, count; /* numbers of arguments */
	bool has_buffer;        /* false: between descriptors */
};

/* Whether it is such a call. `out` is written if so. */
bool syscall_moved_bytes(uint64_t nr, struct syscall_moved *out);

/* Whether the call writes to the file of a descriptor; the argument that is it. */
bool syscall_written_fd(uint64_t nr, unsigned *argument);

/* Whether the call changes the mapping of the pages that two arguments say. */
bool syscall_changed_pages(uint64_t nr, unsigned *start, unsigned *length);

/* Where the longest time stands that a call waits. */
enum syscall_timeout_form {
	SYSCALL_TIMEOUT_SPEC,    /* the address of a timespec, NULL: none */
	SYSCALL_TIMEOUT_MS,      /* an int, negative: none */
	SYSCALL_TIMEOUT_RECEIVE, /* a socket: its option SO_RCVTIMEO */
	SYSCALL_TIMEOUT_SEND,    /* a socket: its option SO_SNDTIMEO */
};

struct syscall_wait {
	enum syscall_timeout_form form;
	unsigned argument;
	int64_t result; /* of the call when the time is over */
};

/* Whether the call waits for a time at most, and fails with EINTR if a signal comes before (so
 * that nobody but its caller makes it again). `out` is written if so. */
bool syscall_longest_wait(uint64_t nr, struct syscall_wait *out);

/* Reads n bytes at an address of the caller's memory; returns how many could be read, from the
 * first on. */
struct syscall_memory {
	size_t (*read)(void *arg, uint64_t at, void *bytes, size_t n);
	void *arg;
};

struct syscall_range {
	uint64_t start, length;
	/* The call failed, and may have copied a part. */
	bool is_partial;
	/* For syscall_ranges_exit() alone. */
	uint8_t when, bound;
	uint32_t unit;
	uint64_t value;
};

struct syscall_ranges {
	enum syscall_ranges_known known;
	size_t count, room;
	struct syscall_range *ranges; /* the caller's, of `room` */
};

/* At the call's entry: makes of `out`, of which room and ranges are set, the most that it can
 * write. If the room is too small the call is unknown. */
void syscall_ranges_enter(uint64_t nr, const uint64_t args[SYSCALL_ARGS],
			  const struct syscall_memory *memory, struct syscall_ranges *out);

/* At its exit: keeps the ranges that it wrote with this result (also one that only a tracer sees:
 * -512 to -516), cut to the length that it wrote. Reads the lengths that the kernel left, so it is
 * to be called before the task runs on. A call that failed because the kernel does not have it, or
 * has no such descriptor, is known to have written nothing. */
void syscall_ranges_exit(uint64_t result, const struct syscall_memory *memory,
			 struct syscall_ranges *out);

#endif
