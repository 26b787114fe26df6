/* SPDX-License-Identifier: MIT */
/* Calls between the recording's parts, by the file that defines them. Nobody else includes this. */
#ifndef BT_RECORDING_PRIVATE_H
#define BT_RECORDING_PRIVATE_H

#include "collector/record/recording.h"
#include "collector/record/task_record.h"
#include "collector/supervisor/supervised.h"

/* The recording that the session is. */
static inline struct recording *recording_of(struct session *session)
{
	return (struct recording *)session;
}

/* Fills seq and time and writes an event of the unit. */
#define RECORDING_EVENT(r, unit, KIND, rec)                                   \
	do {                                                                  \
		(rec)->seq = trace_writer_next_seq((r)->writer);              \
		(rec)->time = bt_clock_now((r)->clock);                       \
		trace_writer_event((r)->writer, unit, BT_RECORD_##KIND, rec); \
	} while (0)

/* ---- events.c ---- */

/* One record each, and what has to be written before it. */
void recording_on_start(struct session *session, struct supervisor *sup, struct task *task);
void recording_on_exec(struct session *session, struct supervisor *sup, struct task *task);
void recording_on_syscall_enter(struct session *session, struct supervisor *sup, struct task *task);
void recording_on_syscall_exit(struct session *session, struct supervisor *sup, struct task *task,
			       const struct bt_point *at, uint64_t result);
void recording_on_signal(struct session *session, struct supervisor *sup, struct task *task,
			 const struct arrived_signal *signal);
void recording_on_handler(struct session *session, struct supervisor *sup, struct task *task);
void recording_on_switch(struct session *session, struct supervisor *sup, const struct unit *unit,
			 uint32_t from, uint32_t to, const struct bt_point *point);
void recording_on_exit(struct session *session, struct supervisor *sup, struct task *task,
		       const struct task_end *end);
void recording_on_detach(struct session *session, struct supervisor *sup, struct task *task,
			 const char *reason, bool in_memory);

/* ---- requests.c ---- */

/* Takes the snapshot that was asked for while the task was running. It is stopped, and registers
 * and history agree. */
void recording_serve_request(struct recording *r, struct supervisor *sup, struct task *task);

/* The task has come: sets the first of its points of --snap-at. */
void recording_set_stop_points(const struct recording *r, struct supervisor *sup,
			       struct task *task);

void recording_on_slice(struct session *session, struct supervisor *sup, struct task *task);
void recording_on_request(struct session *session, struct supervisor *sup, struct task *task,
			  const char *label);
void recording_on_stop_point(struct session *session, struct supervisor *sup, struct task *task,
			     enum stop_point_side side);

/* ---- function_moments.c ---- */

void recording_on_function(struct session *session, struct supervisor *sup, struct task *task,
			   uint16_t function);

/* The stopped task's process: arms the functions again whose time has come. */
void function_moments_rearm(struct recording *r, const struct supervisor *sup, struct task *task);

/* ---- history_limit.c ---- */

/* The task's history may have grown or shrunk. If all together use more memory than they may, some
 * are shortened. */
void history_limit_count(struct recording *r, struct supervisor *sup, struct task *task);

/* The same for all tasks: some grow without a stop of their own. To be called every now and then.
 */
void history_limit_count_all(struct recording *r, struct supervisor *sup);

/* The task is gone. */
void history_limit_discount(struct recording *r, const struct task *task);

/* ---- late_start.c ---- */

/* --from: tasks that are native until a place is reached (session.h). */
void recording_on_program(struct session *session, struct supervisor *sup, struct task *task);
void recording_on_native_stop(struct session *session, struct supervisor *sup, struct task *task,
			      const struct wait_event *ev);
bool recording_on_late_start(struct session *session, struct supervisor *sup, struct task *task);
void recording_on_orphan(struct session *session, struct supervisor *sup, struct task *task);

#endif
