/* SPDX-License-Identifier: MIT */
/* Records: the structs, and encode, decode and print made from records.def.
 * A decoded record borrows its str and blob fields from the bytes it was decoded from. */
#ifndef BT_RECORD_H
#define BT_RECORD_H

#include <stdio.h>

#include "format/records.def"
#include "lib/buf.h"
#include "lib/error.h"
#include "lib/regs.h"
#include "lib/slice.h"

/* A point of a task (design, "point"): the instant after `tick` conditional branches and
 * `transfers` further transfers, before the instruction at rip; rcx tells iterations of a REP
 * instruction apart. */
struct bt_point {
	uint64_t tick, transfers, rip, rcx;
};

enum bt_task_how {
	BT_TASK_INITIAL, /* started by the recorder */
	BT_TASK_FORK,    /* a process with a copy of the address space */
	BT_TASK_VFORK,   /* a process that shares the address space until it execs or exits */
	BT_TASK_THREAD,  /* a thread of its parent's process */
	BT_TASK_CLONE,   /* a process that shares the address space for good */
};

enum bt_exit_kind {
	BT_EXIT_STATUS,  /* exited; status is its exit status */
	BT_EXIT_SIGNAL,  /* killed; status is the signal */
	BT_EXIT_UNKNOWN, /* vanished: another thread's execve, or the recorder lost it */
};

enum bt_signal_action {
	BT_ACTION_HANDLER,   /* its handler is entered next */
	BT_ACTION_IGNORE,    /* dropped: ignored, or default action is to ignore */
	BT_ACTION_TERMINATE, /* default action: the process dies */
	BT_ACTION_CORE,      /* default action: the process dies with a core dump */
	BT_ACTION_STOP,      /* default action: the process stops */
	BT_ACTION_CONTINUE,
};

/* The code of a signal where the source does not tell it: no kernel gives that one. */
#define BT_SIGNAL_CODE_UNTOLD 0x80000000u

enum bt_snapshot_kind {
	BT_SNAPSHOT_FAULT,   /* a synchronous fault that a handler will see */
	BT_SNAPSHOT_SIGNAL,  /* an asynchronous signal that a handler will see */
	BT_SNAPSHOT_FATAL,   /* a signal that ends the process */
	BT_SNAPSHOT_EXIT,    /* an exit (--snap-exit) */
	BT_SNAPSHOT_REQUEST, /* btrec snap, or btrec_snapshot() in the program */
	BT_SNAPSHOT_IMPORT,  /* a sample of an imported capture */
	BT_SNAPSHOT_KINDS
};

enum bt_sched {
	BT_SCHED_IN,      /* arrives */
	BT_SCHED_OUT,     /* departs: it blocks */
	BT_SCHED_PREEMPT, /* departs, though it could run on */
};

/* What the words of a BRANCH_WORDS record are. */
enum bt_branch_words {
	BT_WORDS_FLAGS,    /* perf's flags word of a branch entry, but for what the entry holds
			      (FORMAT.md, section 7) */
	BT_WORDS_COUNTERS, /* the counters that came with the entry */
};

/* Instruction classes that count as ticks (header.tick_classes). */
enum bt_tick_class {
	BT_TICK_JCC = 1,
	BT_TICK_JRCXZ = 2,
	BT_TICK_LOOP = 4,
};

enum bt_record_kind {
#define R(number, NAME, name, text) BT_RECORD_##NAME = number,
	BT_RECORDS(R)
#undef R
};

typedef uint8_t bt_field_u8;
typedef uint16_t bt_field_u16;
typedef uint32_t bt_field_u32;
typedef uint64_t bt_field_u64;
typedef struct slice bt_field_str;
typedef struct slice bt_field_blob;
typedef struct bt_point bt_field_point;
typedef struct bt_regs bt_field_regs;

#define F(type, field) bt_field_##type field;
#define R(number, NAME, name, text) \
	struct bt_record_##name {   \
		BT_FIELDS_##name(F) \
	};
BT_RECORDS(R)
#undef R
#undef F

struct bt_record {
	uint16_t kind; /* enum bt_record_kind, or a number this version does not know (no member of
			  u valid) */
	union {
#define R(number, NAME, name, text) struct bt_record_##name name;
		BT_RECORDS(R)
#undef R
	} u;
};

/* Appends kind, length and body. body points at the struct bt_record_<name> of that kind. */
void bt_record_encode(struct buf *out, enum bt_record_kind kind, const void *body);

/* Takes one record off the front of in. Returns 1; 0 at the end; -BT_E_CORRUPT when the bytes are
 * no record (in is then used up). A kind this version does not know gives 1 with the number in
 * kind. */
int bt_record_decode(struct slice *in, struct bt_record *rec);

/* "MAP", or NULL for an unknown kind. */
const char *bt_record_name(uint16_t kind);

/* One line "NAME field=value ..." with strings escaped, for `btrec dump` and for people. */
void bt_record_print(FILE *to, const struct bt_record *rec);

/* A slice for a C string. */
struct slice bt_str(const char *s);

/* Prints bytes as a quoted string in which no byte can act on a terminal. */
void bt_print_escaped(FILE *to, struct slice s);

#endif
