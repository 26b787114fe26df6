/* SPDX-License-Identifier: MIT */
/* Explains a snapshot's signal in words, from its registers, the instruction, the mappings, the
 * kept memory and the last branches. Used by the report, the JSON and the viewer. The texts contain
 * names from outside: escape them to show them. */
#ifndef BT_FAULT_H
#define BT_FAULT_H

#include "decoder/model/disasm.h"
#include "decoder/model/history.h"
#include "decoder/symbols/symbols.h"

enum {
	FAULT_TEXT_MAX = 1000,
	FAULT_MESSAGE_MAX = 1000,
	FAULT_BRIEF_MAX = 304, /* 300 bytes, and "..." */
	FAULT_KIND_MAX = 200,
	FAULT_VALUES_MAX = 8,
};

/* A register or memory operand of the instruction, with its value. */
struct fault_value {
	char name[64];   /* "rbx", "[rbx+0x10]" */
	bool is_address; /* value is the address of the memory operand */
	bool is_held;    /* held is the value in that memory */
	uint64_t value, held;
};

struct fault {
	uint64_t pc;
	uint64_t address; /* address of the failed access: the signal's, or the operand's */
	uint32_t space, epoch;
	bool has_insn;
	bool is_32_bit;                      /* the code at pc; it is not decoded */
	struct disasm insn;                  /* the instruction at where */
	uint8_t code[BT_INSN_MAX], code_len; /* without insn: the bytes there */
	bool code_is_cut;                    /* the beginning of an instruction */
	char insn_text[DISASM_TEXT_MAX];
	char insn_named[DISASM_TEXT_MAX]; /* insn_text with the name of the target of a call or
					     jump: escape it */
	uint64_t where; /* the address that the fault is told of: insn's, or the call of abort */
	bool where_is_return;
	bool has_trapped; /* an int3 is at `where`: pc is the instruction behind it */
	bool has_caller;  /* `where` lies in the language's runtime; caller called it */
	uint64_t caller;
	bool caller_is_return;
	bool pc_is_wild; /* no code can be at pc; `where` is the branch that led there */
	struct fault_value values[FAULT_VALUES_MAX];
	size_t value_count;
	char text[FAULT_TEXT_MAX];       /* one line; escape it for a terminal */
	char brief[FAULT_BRIEF_MAX];     /* text in a few words, "null read", without signal and
					    place; or ""; escape it */
	bool brief_is_sender;            /* brief names the sender of the signal: "sent by sh" */
	char message[FAULT_MESSAGE_MAX]; /* libc's message on ending the program, or ""; escape it,
					    too */
	char kind[FAULT_KIND_MAX];       /* for signatures: the kind of failure, the same for every
					    build of the program: no value, no place, no name of a
					    variable; "" unknown; escape it */
	bool child_told;                 /* text tells of a failed child */
	const struct model_snapshot *child;   /* its last moment; NULL: none was kept */
	const struct bt_record_thread *stuck; /* the first thread that can never go on, of a moment
						 from outside; NULL: none is known to */
	const struct bt_record_thread
		*waiting; /* of a moment from outside: the thread in a system call, made from the
			     user's own code at `where`; NULL: none */
	const struct model_snapshot *before; /* snapshot of an earlier fault, whose handler led to
						this one; NULL: none */
};

/* Explains a snapshot. thread: its registers, or NULL. h, end: the branches before it; h may be
 * NULL. */
void fault_explain(struct fault *f, const struct model *m, struct symbols *s,
		   const struct model_snapshot *snap, const struct bt_record_thread *thread,
		   const struct history *h, size_t end);

/* Whether nothing in the process has brought the moment about: it was asked for, or is a signal
 * from outside. The program may hang. */
bool fault_is_from_outside(const struct model *m, const struct model_snapshot *snap);

/* fault_explain() for the snapshot's own task; loads its history. Returns 0 or -BT_E_NO_MEMORY. */
int fault_explain_snapshot(struct fault *f, const struct model *m, struct symbols *s,
			   const struct model_snapshot *snap, struct bt_error *err) BT_MUST_USE;

#endif
