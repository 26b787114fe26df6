/* SPDX-License-Identifier: MIT */
/* Preloaded into btrec: from the request number REFUSED_FROM on the kernel sets no registers any more. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "ptrace.inc"

static bool refuse(enum __ptrace_request request)
{
	static int requests;

	if ((request != PTRACE_SETREGS && request != PTRACE_POKEUSER) || ++requests < atoi(getenv("REFUSED_FROM")))
		return false;
	errno = EIO;
	return true;
}

static void change(enum __ptrace_request request, void *data)
{
	(void)request;
	(void)data;
}
