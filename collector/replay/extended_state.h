/* SPDX-License-Identifier: MIT */
/* The registers beside the general ones, in the form of XSAVE that the processor of the recording
 * has, and brought into that of this one: where a state lies, and how long all of them are, differ
 * between processors (Intel SDM volume 1, 13.4.3). */
#ifndef BT_EXTENDED_STATE_H
#define BT_EXTENDED_STATE_H

#include <stdbool.h>

#include "collector/tracee/tracee.h"
#include "lib/processor_offer.h"
#include "lib/slice.h"

/* Fills out, the n bytes that this processor's form has. False where a state is in use that is not
 * here, or the bytes are none of these. */
bool extended_state_convert(const struct processor_offer *then, const struct processor_offer *here,
			    struct slice in, uint8_t out[TRACEE_EXTENDED], size_t n);

#endif
