/* SPDX-License-Identifier: MIT */
/* The contents of registers at a place of the program, in the words of the source: "c->next". Used
 * by the name of a failed access. It borrows the context and the thread's values. */
#ifndef BT_FOLLOWER_H
#define BT_FOLLOWER_H

#include "decoder/cause/fault_private.h"
#include "decoder/cause/straight_values.h"
#include "decoder/values/frame_values.h"

enum { FOLLOWER_TEXT_MAX = sizeof((struct fault_name *)0)->pointer };

/* The content of a register; text "": it has no name. */
struct expression {
	char text[FOLLOWER_TEXT_MAX];
	Dwarf_Die type;
	bool has_value; /* value is that of the text */
	uint64_t value;
	bool is_moved;    /* the register holds a pointer to another element, */
	bool is_moved_by; /* moved_by bytes away; false: the distance is not known */
	uint64_t moved_by;
};

struct variable_in_memory {
	char name[FOLLOWER_TEXT_MAX];
	uint64_t addr, size;
	Dwarf_Die type;
	bool is_global; /* of no function */
};

/* Those of an instruction's registers that are known. */
struct known_registers {
	struct bt_regs regs;
	uint32_t known;
};

/* Fill c, values and the place; then follower_follow(). */
struct follower {
	struct fault_context *c;
	struct thread_values *values;
	/* The place: */
	size_t frame;
	uint64_t pc;             /* in its code; of a caller, its call */
	const struct history *h; /* or NULL */
	size_t end;              /* of the entries before it */
	struct bt_regs regs;     /* of the frame there, */
	uint32_t known;          /* bit n: register n is known */
	bool is_memory_written;  /* since then */
	/* Of the registers before the instruction at pc: */
	struct expression held[BT_REG_COUNT];
	const char *arrow; /* the text between a pointer and a member: "->" or "." */
	/* Those of follower.c: */
	struct variable_in_memory *variables;
	size_t variable_count;
	struct disasm *insns;
	uint32_t *unchanged; /* registers that neither it nor a later instruction changes */
	size_t count;
	struct straight_values straight;
	unsigned globals_sought;
	bool is_history; /* the instructions are of the history */
};

/* Follows the code before the place, and fills held. Release it in any case. Returns false without
 * memory. */
bool follower_follow(struct follower *f);
void follower_release(struct follower *f);

/* Puts a, b and c together; false: they are too long. */
bool follower_join(char *out, size_t cap, const char *a, const char *b, const char *c);

/* The type that a pointer or a reference leads to. False: it is none. */
bool follower_pointer_target(Dwarf_Die *pointer, Dwarf_Die *target);

/* Names the object that an operand refers to, whose base register holds an expression. member: text
 * of the member, "" for none. size: of the accessed bytes, 0: a pointer, which may be all that a
 * structure has. */
bool follower_name_operand(const struct follower *f, const struct disasm_memory *m, uint64_t size,
			   const struct known_registers *r, const struct expression *base,
			   char *text, size_t cap, char member[FOLLOWER_TEXT_MAX],
			   Dwarf_Die *target, Dwarf_Die *type);

#endif
