/* SPDX-License-Identifier: MIT */
/* What symbols.c shares with unwind.c and frame_values.c, and nobody else: images and modules. */
#ifndef BT_SYMBOLS_PRIVATE_H
#define BT_SYMBOLS_PRIVATE_H

#include "decoder/image.h"
#include "decoder/intern.h"
#include "decoder/symbols.h"

/* The image of an address space at an epoch; NULL only without memory. */
struct image *symbols_image(struct symbols *s, uint32_t space, uint32_t epoch);

/* The module of the code at an address; NULL: none. */
struct image_module *symbols_module(struct symbols *s, uint32_t space, uint32_t epoch,
				    uint64_t addr);

/* Names that live as long as the symbols. */
struct intern *symbols_strings(struct symbols *s);

#endif
