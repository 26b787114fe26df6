/* SPDX-License-Identifier: MIT */
/* What symbols.c and unwind.c share, and nobody else: the image of a space at an epoch. */
#ifndef BT_SYMBOLS_PRIVATE_H
#define BT_SYMBOLS_PRIVATE_H

#include "decoder/image.h"
#include "decoder/kept.h"
#include "decoder/symbols.h"

/* The image of an address space at an epoch; NULL only without memory. */
struct image *symbols_image(struct symbols *s, uint32_t space, uint32_t epoch);

const struct model *symbols_model(const struct symbols *s);

/* The kept stack of a thread where the files that its frames are in do not tell as much as then;
 * else NULL. */
const struct kept_stack *symbols_kept_stack(struct symbols *s, const struct model_snapshot *snap,
					    const struct bt_record_thread *thread);

/* Notes a stack, if it is to be noted. */
void symbols_note_stack(struct symbols *s, const struct kept_stack *stack);

#endif
