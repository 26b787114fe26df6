/* SPDX-License-Identifier: MIT */
/* The machine, the kernel and its permissions, as btrec doctor asks them: files are read, and calls
 * are made as a recording would make them, because only a call tells what a filter, a hypervisor or
 * a security module does. Everything is asked through this table, so that tests answer for machines
 * that they do not have. Nothing here changes anything on the machine. */
#ifndef BT_MACHINE_H
#define BT_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/backend/pmu/perf_ops.h"

#define MACHINE_RELEASE \
	"/proc/sys/kernel/osrelease" /* can be read even where there is no such file */

/* Attempts. Each gives 0 or more, or -errno. */
enum machine_attempt {
	TRY_PROC,   /* /proc is that of our PID namespace; -ENOENT: there is none, -EXDEV: another's
		     */
	TRY_PTRACE, /* PTRACE_SEIZE of a child */
	TRY_VM_READ, /* process_vm_readv of our own memory */
	TRY_REGION,  /* the engine's region in a child, with the room that btrec run makes for it */
	TRY_MEMFD,   /* the same with its code in a memory file: faster */
	TRY_PERF,    /* perf_event_open of an event of the kernel's own, in ring 3 */
	TRY_BPF,     /* load of a BPF program for raw tracepoints */
	TRY_SNAPSHOT,     /* a call of bpf_get_branch_snapshot by such a program while an LBR event
			     counts us: bytes */
	TRY_SINGLE_BLOCK, /* PTRACE_SINGLEBLOCK through a child's code of MACHINE_BLOCK_SIZE
			     instructions: stops */
	TRY_RDTSC_TRAP,   /* PR_SET_TSC and RDTSC in a child: 1: it trapped */
	TRY_CPUID_TRAP,   /* ARCH_CPUID and CPUID in a child: 1: it trapped */
	MACHINE_ATTEMPTS,
};

enum {
	MACHINE_KILLED = 4096, /* -this: the call ended the process (a filter, by SIGSYS) */
	MACHINE_BLOCK_BRANCHES = 4,
	MACHINE_BLOCK_SIZE = 40, /* instructions, branches included */
	MACHINE_PATH_MAX = 4096,
};

struct machine_directory {
	char path[MACHINE_PATH_MAX]; /* the directory of new traces */
	uint64_t type;               /* statfs(2), f_type, of it or of its parent that is there */
	uint64_t room;               /* bytes */
	bool writable;
};

struct machine_ops {
	/* The beginning of a file, as a string. Returns its length or -errno. */
	int (*read)(void *state, const char *path, char *out, size_t size);
	/* The names in a directory, each behind a space, sorted. Returns how many, or -errno. */
	int (*list)(void *state, const char *path, char *out, size_t size);
	/* eax, ebx, ecx, edx of CPUID. */
	void (*cpuid)(void *state, uint32_t leaf, uint32_t subleaf, uint32_t out[4]);
	/* Of the environment, or NULL. */
	const char *(*environment)(void *state, const char *name);
	/* Where traces go. Returns 0, or -errno: there is no such place. */
	int (*directory)(void *state, struct machine_directory *out);
	int (*attempt)(void *state, enum machine_attempt what);
};

struct machine {
	const struct machine_ops *ops;
	void *state;
	const struct perf_kernel *perf; /* events are opened with this, and branch sources probed,
					   as btrec run does */
};

/* The machine that we run on. */
struct machine machine_here(void);

/* Makes an attempt on this machine (machine_attempts.c). Returns as `attempt` above. */
int machine_attempt_here(enum machine_attempt what);

/* The whole number that a file consists of, or otherwise. */
long long machine_number(const struct machine *m, const char *path, long long otherwise);

/* The rest of the line of a file that begins with key and a colon, without blanks at its ends.
 * False: there is none. */
bool machine_field(const struct machine *m, const char *path, const char *key, char *out,
		   size_t size);

#endif
