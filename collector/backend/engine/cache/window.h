/* SPDX-License-Identifier: MIT */
/* The window: what tasks of one address space alone write in the engine's region. Tracer and tracee
 * both have it mapped, so that nothing is copied by system calls. Where it cannot be shared (a
 * system call filter of the program's might end it for asking), it is private memory of the tracee
 * and every access goes through the kernel: slower, otherwise the same. Used by the engine and the
 * table of descriptors. The program can write to it: any bytes may be read there. */
#ifndef BT_WINDOW_H
#define BT_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct window {
	uint8_t *bytes; /* the tracer's mapping of it, NULL: private */
	int areas; /* if tasks run side by side: descriptor of the memory file with the areas in use
		      (window_grow()); 0: there is but one window */
	bool filtered;  /* the program has a system call filter of its own */
	bool inherited; /* by a fork: the tracee's mapping there is its parent's */
};

/* Maps it in a stopped task whose signals are blocked, by system calls made in it. name: address in
 * the tracee of a string, by which the kernel shows it (memfd_create(2)). over: mappings that are
 * there give way. no_file: as code_cache_map(); the window is private. areas: with room for windows
 * of all data areas, and with table 1, where that can be. Returns 0, -BT_E_GONE, or -BT_E_NO_MEMORY
 * when the kernel refuses. */
int window_map(struct window *w, pid_t tid, uint64_t name, bool over, bool no_file, bool areas);

/* The window of this data area is about to be used. False when there is no room. */
bool window_grow(const struct window *w, uint32_t area);

/* The tracer's mapping goes. */
void window_close(struct window *w);

/* A stopped task's window, at an offset from the first one (area_window()). Whether it was all
 * there. */
bool window_read(const struct window *w, pid_t tid, uint64_t at, void *bytes, size_t n);
bool window_write(const struct window *w, pid_t tid, uint64_t at, const void *bytes, size_t n);

/* Writes zeros. Where the window is shared, the memory of pages that lie wholly in the range is
 * given back. */
void window_clear(const struct window *w, pid_t tid, uint64_t at, size_t n);

#endif
