/* SPDX-License-Identifier: MIT */
/* What happened, in words: the signal of a snapshot explained from its registers, the instruction,
 * the mappings, the memory kept and the last branches. Used by the report, the JSON and the viewer.
 * Its texts have names from outside: they are escaped where they are shown. */
#ifndef BT_FAULT_H
#define BT_FAULT_H

#include "decoder/disasm.h"
#include "decoder/history.h"
#include "decoder/symbols.h"

enum {
	FAULT_TEXT_MAX = 1000,
	FAULT_MESSAGE_MAX = 1000,
	FAULT_VALUES_MAX = 8,
};

/* A register or memory operand of the instruction, with what it held. */
struct fault_value {
	char name[64];   /* "rbx", "[rbx+0x10]" */
	bool is_address; /* value is where the memory operand lies */
	bool is_held;    /* held is what was in that memory */
	uint64_t value, held;
};

struct fault {
	uint64_t pc;
	uint64_t
		address; /* of the access that failed: the signal's, or what the instruction says */
	uint32_t space, epoch;
	bool has_insn;
	bool is_32_bit;                      /* the code at pc: it is not decoded */
	struct disasm insn;                  /* the one at where */
	uint8_t code[BT_INSN_MAX], code_len; /* else what is there instead */
	bool code_is_cut;                    /* the beginning of an instruction */
	char insn_text[DISASM_TEXT_MAX];
	char insn_named[DISASM_TEXT_MAX]; /* the same with the name of where it calls or jumps:
					     escape it, too */
	uint64_t where; /* the place in the program to look at: of insn, or of the call of abort */
	bool where_is_return;
	bool has_trapped; /* where is an int3: pc is the instruction behind it */
	bool has_caller;  /* where lies in the language's runtime; it was called from here */
	uint64_t caller;
	bool caller_is_return;
	bool pc_is_wild; /* no code can be at pc; where is the branch that went there */
	struct fault_value values[FAULT_VALUES_MAX];
	size_t value_count;
	char text[FAULT_TEXT_MAX];       /* one line; names in it are from outside: escape it for a
					    terminal */
	char message[FAULT_MESSAGE_MAX]; /* what libc says of why it ended the program, "": nothing;
					    from outside, too */
};

/* Explains a moment. thread: whose registers, NULL: none kept. h, end: the branches before it (h
 * may be NULL). */
void fault_explain(struct fault *f, const struct model *m, struct symbols *s,
		   const struct model_snapshot *snap, const struct bt_record_thread *thread,
		   const struct history *h, size_t end);

/* The same of a snapshot's own task, with its history looked up. Returns 0 or -BT_E_NO_MEMORY. */
int fault_explain_snapshot(struct fault *f, const struct model *m, struct symbols *s,
			   const struct model_snapshot *snap, struct bt_error *err) BT_MUST_USE;

#endif
