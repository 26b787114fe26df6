/* SPDX-License-Identifier: MIT */
/* What symbols.c and unwind.c share, and nobody else: the image of a space at an epoch. */
#ifndef BT_SYMBOLS_PRIVATE_H
#define BT_SYMBOLS_PRIVATE_H

#include "decoder/image.h"
#include "decoder/symbols.h"

/* The image of an address space at an epoch; NULL only without memory. */
struct image *symbols_image(struct symbols *s, uint32_t space, uint32_t epoch);

const struct model *symbols_model(const struct symbols *s);

#endif
