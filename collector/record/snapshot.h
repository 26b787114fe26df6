/* SPDX-License-Identifier: MIT */
/* Snapshots: registers, memory and branches that are kept of a moment (doc/GLOSSARY.md). Used by
 * the recording, and where a replay keeps a moment for a trace of its own. The tasks whose memory
 * is read are stopped meanwhile. */
#ifndef BT_SNAPSHOT_H
#define BT_SNAPSHOT_H

#include "collector/record/recording.h"
#include "collector/tracee/tracee.h"

/* Keeps a moment of a stopped task. Fatal, exit and requested ones stop every thread of the
 * process, keep registers, stacks and memory near register values, and flush the whole ring; those
 * of handled events, and of exits with failure of processes other than the first, keep the newest
 * 256 branches and the task's registers, of an exit also the newest 4 KiB of its stack, and are
 * limited in number (snapshot_limit.h).
 * event: seq of the event it belongs to, or 0. label: of a requested one, or NULL. Flushes the
 * trace, unless it was suppressed. Returns the snapshot's number, 0 when suppressed. */
uint32_t snapshot_take(struct recording *r, struct supervisor *sup, struct task *task,
		       enum bt_snapshot_kind kind, uint64_t event, const char *label);

/* Keeps the moment at a function's entry (BT_SNAPSHOT_FUNCTION): as a requested one; or brief: the
 * newest 1,024 branches, the registers and the newest 16 KiB of the task's stack, rate-limited with
 * the handled events. Else as above. */
uint32_t snapshot_take_at_function(struct recording *r, struct supervisor *sup, struct task *task,
				   const char *function, bool brief);

/* Keeps of the end that the task is at only the moment of its process's first message, which is due
 * (first_message.h); limited as exits with failure are. */
void snapshot_take_first_message(struct recording *r, struct supervisor *sup, struct task *task);

/* A stopped task's registers of x87 and vectors as a trace holds them (lib/extended_state.h), in
 * out[]. Empty: it is gone, or the processor does not tell. */
struct slice snapshot_extended(const struct task *task, uint8_t out[TRACEE_EXTENDED]);

/* Writes how many snapshots of the task were suppressed since the last one. */
void snapshot_write_suppressed(struct recording *r, struct task *task);

/* Writes what the task's process has written to its descriptor 2 last (last_words.h), if it has
 * written anything since the last time. */
void snapshot_write_last_words(struct recording *r, struct task *task);

#endif
