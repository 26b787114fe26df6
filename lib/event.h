/* SPDX-License-Identifier: MIT */
/* Kinds of events (GLOSSARY.md) and of snapshots, shared by recorder and readers. Records hold
 * these numbers: they never change. */
#ifndef BT_EVENT_H
#define BT_EVENT_H

/* How a task began. */
enum bt_task_how {
	BT_TASK_INITIAL, /* started by the recorder */
	BT_TASK_FORK,    /* a process with a copy of the address space */
	BT_TASK_VFORK,   /* a process that shares the address space until it execs or exits */
	BT_TASK_THREAD,  /* a thread of its parent's process */
	BT_TASK_CLONE,   /* a process that shares the address space for good */
};

/* How a task ended. */
enum bt_exit_kind {
	BT_EXIT_STATUS,  /* exited; status is its exit status */
	BT_EXIT_SIGNAL,  /* killed; status is the signal */
	BT_EXIT_UNKNOWN, /* vanished: another thread's execve, or the recorder lost it */
};

/* The effect of a signal on the task that it reaches. */
enum bt_signal_action {
	BT_ACTION_HANDLER,   /* its handler is entered next */
	BT_ACTION_IGNORE,    /* dropped: ignored, or default action is to ignore */
	BT_ACTION_TERMINATE, /* default action: the process dies */
	BT_ACTION_CORE,      /* default action: the process dies with a core dump */
	BT_ACTION_STOP,      /* default action: the process stops */
	BT_ACTION_CONTINUE,
};

/* Why a snapshot is taken. */
enum bt_snapshot_kind {
	BT_SNAPSHOT_FAULT,    /* a synchronous fault that a handler will see */
	BT_SNAPSHOT_SIGNAL,   /* an asynchronous signal that a handler will see */
	BT_SNAPSHOT_FATAL,    /* a signal that ends the process */
	BT_SNAPSHOT_EXIT,     /* an exit (--snap-exit) */
	BT_SNAPSHOT_REQUEST,  /* btrec snap, or btrec_snapshot() in the program */
	BT_SNAPSHOT_IMPORT,   /* a sample of an imported capture */
	BT_SNAPSHOT_FUNCTION, /* a function is entered: a first sign of failure */
	BT_SNAPSHOT_FAILURE,  /* an exit with failure of a process other than the first */
	BT_SNAPSHOT_MESSAGE,  /* the first write to standard error of a process that failed later */
	BT_SNAPSHOT_KINDS
};

/* A task's arrival on a processor, or its departure. */
enum bt_sched {
	BT_SCHED_IN,      /* arrives */
	BT_SCHED_OUT,     /* departs: it blocks */
	BT_SCHED_PREEMPT, /* departs, though it could run on */
};

#endif
