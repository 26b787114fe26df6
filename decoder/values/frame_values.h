/* SPDX-License-Identifier: MIT */
/* Arguments and local variables of the frames of a thread at a moment, with their values: by DWARF,
 * over the registers that unwinding gives each frame and the memory that is known. Used by the
 * report, the JSON, the viewer and the explanation of faults. A value that is not known is called
 * so, never guessed. It borrows symbols and model. One thread (symbols.h). */
#ifndef BT_FRAME_VALUES_H
#define BT_FRAME_VALUES_H

#include "decoder/symbols/text.h"
#include "decoder/values/object_place.h"
#include "decoder/values/value_text.h"

enum {
	VALUED_FRAMES_MAX = 64, /* the newest of a stack; older ones have no values */
	FRAME_VALUES_MAX = 64,
};

enum frame_value_kind {
	VALUE_ARGUMENT,
	VALUE_LOCAL,
};

struct frame_value {
	const char *name; /* owned by the symbols */
	enum frame_value_kind kind;
	size_t part;   /* whose it is: the number of the inlined frame, or inlined_count for the
			  function of the location */
	bool is_plain; /* one value, no array or structure but strings */
	char text[VALUE_TEXT_MAX]; /* from outside */
};

/* In the order of the DWARF, arguments first. */
struct frame_values {
	struct frame_value *at;
	size_t count;
};

struct thread_values;

/* Unwinds a thread. Errors: BT_E_NO_MEMORY. */
int thread_values_open(struct thread_values **out, struct symbols *s,
		       const struct model_snapshot *snap, const struct bt_record_thread *thread,
		       struct bt_error *err) BT_MUST_USE;
void thread_values_close(struct thread_values *t);

/* The values of frame n of symbols_unwind()'s stack: none where the frame has no debug information,
 * and without memory. Release them. */
void frame_values_get(struct thread_values *t, size_t n, struct frame_values *v);
void frame_values_release(struct frame_values *v);

/* Puts " (c=0x0, key=0x4a "port")", at most about `width` columns of it: then later arguments are
 * left out. False, and nothing is put, where that part has no arguments that are told. */
bool frame_values_put_arguments(struct text *t, const struct frame_values *v, size_t part,
				size_t width);

/* ---- For the explanation of a fault ---- */

/* A variable, as found(arg, ...) is told of it. */
struct frame_variable {
	const char *name;
	enum frame_value_kind kind;
	size_t level; /* 0: the function's own, 1: of what is inlined into it ... */
	Dwarf_Die entry;
	Dwarf_Die type;
	bool has_type;
	struct object object;
};

/* Calls found() for each variable at an address of code, as its place is there: pc may lie before
 * that of the thread's newest frame, in the same function. */
void frame_variables_each(struct thread_values *t, size_t n, uint64_t pc,
			  void (*found)(void *arg, const struct frame_variable *v), void *arg);

/* The addresses of the function that has the pc, which must be in one piece. */
bool frame_function_range(struct thread_values *t, size_t n, uint64_t pc, uint64_t *start,
			  uint64_t *end);

/* The newest frame with that pc. */
bool thread_values_find(const struct thread_values *t, uint64_t pc, size_t *n);

/* The registers that frame n has by the System V ABI, which has callees preserve them: those of
 * which *known has the bit, by the number in lib/regs.def. */
void thread_values_registers(struct thread_values *t, size_t n, struct bt_regs *regs,
			     uint32_t *known);

/* Makes frame 0 that of a function at pc which frame n had called, and which has left the stack but
 * for its return address: it goes on with a jump. Older frames are gone then. */
void thread_values_enter(struct thread_values *t, size_t n, uint64_t pc);

const struct known_memory *thread_values_memory(const struct thread_values *t);

#endif
