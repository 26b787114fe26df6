/* SPDX-License-Identifier: MIT */
/* Code in private writable memory runs as other code does as long as nobody writes to it: its pages
 * are write-protected in the tracee. A write faults, the page is the program's again, its fragments
 * are unlinked; when execution comes to the page again, it is protected again, and the fragments
 * whose bytes have changed go. A page for which this happens often is left alone for a while, and
 * its fragments compare themselves. The program sees neither the faults nor a system call that
 * fails. It can see the protections in /proc/self/maps.
 *
 * Used by cache_entry.c, engine.c and engine_space.c. A page may be protected only while no system
 * call in progress may write to it. */
#ifndef BT_WATCH_H
#define BT_WATCH_H

#include "collector/backend/engine/engine_private.h"

/* How an attempt to change protections ended. */
enum watch_result {
	WATCH_DONE,
	WATCH_NOT,         /* the page is not to be watched (now) */
	WATCH_INTERRUPTED, /* another stop of the task came before or after it; the task has
			      task->regs there */
	WATCH_GONE,
};

/* Code is to be made from the page of a CODE_MUTABLE mapping, in a task that is stopped outside of
 * system calls: protects it, if it may be. */
enum watch_result watch_page(const struct backend *b, struct task *task, struct engine_space *es,
			     uint64_t page);

/* Whether the page is protected; its bytes then. */
const uint8_t *watch_bytes(const struct engine_space *es, uint64_t page);

/* Reads the bytes of protected pages in [start, end) again: they have changed in spite of the
 * protection. If they cannot be read, or without a task (0), they are unknown: watch_page() gives
 * such a page back first. */
void watch_reread(struct engine_space *es, pid_t tid, uint64_t start, uint64_t end);

/* To be called now and then: pages that have been compared for long enough may be watched again. */
void watch_sweep(const struct backend *b, struct engine_space *es);

/* Whether watch_sweep() would find such pages. */
bool watch_sweep_is_due(const struct backend *b, const struct engine_space *es);

/* Whether the fault is a write to a page that we have protected. */
bool watch_is_fault(const struct engine_space *es, const siginfo_t *info);

/* Gives the protected pages of [start, end) back to the program. at_entry: the task is at the entry
 * of a system call; else it is stopped outside of one. */
enum watch_result watch_open(const struct backend *b, struct task *task, struct engine_space *es,
			     uint64_t start, uint64_t end, bool at_entry);

/* The task is at the entry of a system call: gives back pages that the kernel may write or remap.
 * If others run in the cache and would meet that, it sets et->syscall_alone instead, and is to be
 * called again, at_last, when no other runs there. A task that was stopped there (SIGSTOP) does not
 * count: it leaves the cache soon after it goes on. Returns 0 or -BT_E_GONE. */
int watch_before_syscall(const struct backend *b, struct task *task, bool at_last);

/* A signal is about to be delivered, from a stop for it: gives back pages that its frame may touch,
 * or all, so that a core file shows the program's protections. Returns as above. */
int watch_before_signal(const struct backend *b, struct task *task, enum bt_signal_action action);

/* The task is at the exit of a system call: has code forgotten whose bytes the call has changed
 * without a fault. */
void watch_after_syscall(struct task *task);

/* The task's call has copied the address space, and the copy is known. */
void watch_forked(struct task *task);

/* The task will not come to the exit of its call. */
void watch_forget_task(struct task *task);

/* The end (at most `end`) of the run of pages from addr on that are all *protected, or all not: the
 * kernel shows them as mappings of their own. */
uint64_t watch_run(const struct engine_space *es, uint64_t addr, uint64_t end, bool *protected);

#endif
