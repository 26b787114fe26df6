/* SPDX-License-Identifier: MIT */
/* The recording's parts of a process and of a task, besides what is in the trace. Each is made when
 * the process or task comes, and freed when that is forgotten. */
#ifndef BT_TASK_RECORD_H
#define BT_TASK_RECORD_H

#include "collector/backend/backend.h"
#include "collector/task/stop_point.h"
#include "collector/task/task.h"
#include "format/syscall_codec.h"
#include "format/syscall_details.h"
#include "lib/buf.h"

/* Of a process: process->record. */
struct process_record {
	bool fatal_kept;       /* its fatal snapshot has been taken */
	unsigned request_mark; /* of the last request for a snapshot of it (recording.request) */
	bool main_told;        /* a task's entry of main has been recorded */
	struct first_message *message; /* held; NULL: none */
	struct sign_budget *signs;     /* by first sign; NULL: at none was it stopped */
	uint64_t rearm_at; /* time at which disarmed signs are armed again; 0: none is disarmed */
};

/* Of a task: task->record. */
struct task_record {
	struct replay_log *log; /* the recording's; NULL: it keeps none */
	/* System calls made without a stop, as a CALLS record holds them. */
	uint64_t tick, count;
	struct bt_syscall_codec codec;
	struct buf bytes;
	struct bt_details_codec details_codec;
	struct buf details;

	uint64_t history_counted; /* bytes of its history, as counted in recording.history_used */

	const struct stop_point *stop_point, *stop_points_end; /* the next of --snap-at, in order */
	enum backend_reach reach; /* precision of the stop there, as the backend gave it */

	/* Snapshots. */
	bool halted;          /* for the one that is being taken */
	int64_t bucket;       /* rate limit of handled events: the credit that they have left */
	uint64_t bucket_time; /* 0: not begun */
	uint64_t suppressed[BT_SNAPSHOT_KINDS];
	struct {
		uint64_t sp, from; /* at the entry: rsp, and the return address there. sp 0: none */
		bool brief;
	} sign; /* the last function at whose entry the moment was kept */
};

#endif
