/* SPDX-License-Identifier: MIT */
/* The system calls that the kernel makes for a host, whoever asks: the code of a trace is a
 * stranger's, and the code cache that it runs in is no wall, as its tables can be written. A
 * constant of classic BPF (seccomp(2)). Used by host.c; tests evaluate it (syscall_filter.h). */
#ifndef BT_HOST_FILTER_H
#define BT_HOST_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

/* Lets pass: calls without a number, which a tracer has cancelled; the end of the process; calls
 * that change its own memory, and no file's; and a memory file, empty, that nobody but the tracer
 * can make longer. All else kills the process. */
extern const struct sock_filter host_filter[];
extern const size_t host_filter_length;

#endif
