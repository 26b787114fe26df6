/* SPDX-License-Identifier: MIT */
/* Where a variable's bytes are at a place of the code: DWARF's location descriptions (DWARF 5,
 * 2.5, 2.6 and those of version 4), evaluated over a frame's registers and known memory. Nothing is
 * guessed: a byte is known, or there is a reason why it is not. DWARF is not to be trusted: an
 * evaluation takes a bounded number of steps. */
#ifndef BT_OBJECT_PLACE_H
#define BT_OBJECT_PLACE_H

#include <elfutils/libdw.h>

#include "decoder/values/known_memory.h"

enum object_state {
	OBJECT_KNOWN,
	OBJECT_OPTIMIZED_OUT, /* the compiler says that it is nowhere */
	OBJECT_NOT_KEPT,      /* the trace has not that memory or register */
	OBJECT_NOT_SAVED,     /* a callee may have changed that register */
	OBJECT_NOT_MAPPED,    /* no memory was there */
	OBJECT_NOT_SET,       /* it will be stored there a few instructions later */
	OBJECT_NOT_DECODED,   /* told by what is not evaluated here */
	OBJECT_STATES,
};

/* "<optimized out>", as debuggers say. */
extern const char *const object_state_texts[OBJECT_STATES];

enum { OBJECT_BYTES_MAX = 64 };

/* The bytes of a variable, or where they are. */
struct object {
	bool in_memory;
	uint64_t addr;                   /* of in_memory */
	uint8_t bytes[OBJECT_BYTES_MAX]; /* otherwise: its bytes, from registers and constants */
	uint64_t known;                  /* bit n: byte n is known */
	enum object_state why;           /* reason why other bytes are not known */
	unsigned reg; /* it is this register alone, by DWARF number + 1; 0: it is not */
};

/* A frame, as locations ask for it. */
struct frame_place {
	const struct known_memory *memory;
	const struct frame_registers *registers;
	/* Those of vectors (lib/extended_state.h); empty: the trace has them not. NULL: they may
	 * be others by now, as callees need not preserve them. */
	const struct slice *extended;
	uint64_t cfa;        /* 0: unknown */
	uint64_t bias;       /* addresses less those in the DWARF */
	Dwarf_Addr pc;       /* in the DWARF; of a caller, in its call */
	Dwarf_Die *function; /* has the frame's base; NULL: none */
	/* The value at the function's entry of the parameter in this register, DWARF number; NULL:
	 * not known of any. */
	bool (*at_entry)(void *arg, unsigned reg, uint64_t *value);
	void *arg;
};

/* Finds a variable by its location or its constant value. */
void object_locate(struct object *o, const struct frame_place *f, Dwarf_Die *variable);

/* The value of an attribute that is a DWARF expression. */
enum object_state object_expression(const struct frame_place *f, Dwarf_Attribute *attr,
				    uint64_t *value);

/* The value of operations that refer to nothing but registers and memory, as those of a CFA do. */
enum object_state object_operations(const struct frame_place *f, Dwarf_Op *ops, size_t count,
				    uint64_t *value);

/* Copies n bytes at an offset of the object. */
enum object_state object_read(const struct object *o, const struct known_memory *k, uint64_t offset,
			      void *out, size_t n);

/* The object at an address. */
struct object object_at(uint64_t addr);

#endif
