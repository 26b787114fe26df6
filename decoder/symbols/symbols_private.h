/* SPDX-License-Identifier: MIT */
/* Shared by symbols.c, unwind.c and frame_values.c, and by nobody else: images and modules. */
#ifndef BT_SYMBOLS_PRIVATE_H
#define BT_SYMBOLS_PRIVATE_H

#include "decoder/symbols/image.h"
#include "decoder/symbols/intern.h"
#include "decoder/symbols/kept.h"
#include "decoder/symbols/symbols.h"

/* The image of an address space at an epoch; NULL only without memory. */
struct image *symbols_image(struct symbols *s, uint32_t space, uint32_t epoch);

/* The module of the code at an address; NULL: none. */
struct image_module *symbols_module(struct symbols *s, uint32_t space, uint32_t epoch,
				    uint64_t addr);

/* The time that is counted of all work with the trace's copies of files (strange_time.h). NULL:
 * none was looked at. */
struct strange_time *symbols_strange_time(struct symbols *s);

/* Names that live as long as the symbols. */
struct intern *symbols_strings(struct symbols *s);

/* The kept stack of a thread where the files that its frames are in do not tell as much as then;
 * else NULL. */
const struct kept_stack *symbols_kept_stack(struct symbols *s, const struct model_snapshot *snap,
					    const struct bt_record_thread *thread);

/* Notes a stack, if it is to be noted. */
void symbols_note_stack(struct symbols *s, const struct kept_stack *stack);

/* The kept words about a frame of a thread, whose stack is the kept one in use; NULL: another stack
 * is, or there are none. symbols_note_said() notes such words, if answers are to be noted; the text
 * is copied. */
const char *symbols_kept_said(struct symbols *s, enum kept_said what,
			      const struct model_snapshot *snap,
			      const struct bt_record_thread *thread, uint32_t frame);
void symbols_note_said(struct symbols *s, enum kept_said what, const struct model_snapshot *snap,
		       const struct bt_record_thread *thread, uint32_t frame, const char *text);

#endif
