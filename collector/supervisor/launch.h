/* SPDX-License-Identifier: MIT */
/* Starts the program to record, traced from its execve on, with the signals, limits and descriptors
 * that its user gave it. Used by btrec run. The caller's memory is the child's until the execve. */
#ifndef BT_LAUNCH_H
#define BT_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "lib/error.h"

struct launch {
	const char *path;
	char *const *argv, *const *envp;
	const struct sigaction *actions; /* [NSIG]: dispositions the program inherits */
	sigset_t mask;                   /* its signal mask */
	const struct rlimit *limits;     /* [RLIM_NLIMITS]: its limits, NULL: ours */
	bool fixed_addresses;            /* no address space randomization */
	/* The child shares our memory until its execve: a copy would be most of the cost. This part
	 * is the child's own, and stays for as long. */
	struct {
		int go[2], failure[2];
		uint64_t stack[1024];
	} child;
};

/* Makes and seizes (ptrace(2), PTRACE_SEIZE) a process that goes on to execve as soon as this
 * returns. failure gets the read end of a pipe on which the errno of a failed execve comes (int);
 * it closes when the execve succeeds: *l has to stay until then. Returns the pid, or
 * -BT_E_PERMISSION with who forbids it and what to do, -BT_E_IO. */
pid_t launch_seized(struct launch *l, int *failure, struct bt_error *err) BT_MUST_USE;

/* Fills *err for a ptrace that failed with errno cause: who forbids it, and what to do. scope_file:
 * yama's setting (Documentation/admin-guide/LSM/Yama.rst); status_file: of this process, as proc(5)
 * says. Returns -BT_E_PERMISSION, or -BT_E_IO for a cause that is no refusal. */
int launch_refused(struct bt_error *err, int cause, const char *scope_file,
		   const char *status_file);

#endif
