/* SPDX-License-Identifier: MIT */
/* How much the files of a module tell: its own, and its debug file. Used by symbols. */
#ifndef BT_MODULE_LEVEL_H
#define BT_MODULE_LEVEL_H

#include "decoder/symbols/image.h"

enum symbols_level {
	LEVEL_NONE, /* the file is not there, or not the one that ran */
	LEVEL_EXPORTED,
	LEVEL_SYMBOLS,
	LEVEL_DEBUG,
};

/* Fills level, lack and has_debug; does so once for each module, because looking for debug files is
 * slow. */
void module_examine(struct image_module *mod);

#endif
