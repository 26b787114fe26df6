/* SPDX-License-Identifier: MIT */
/* What bytes are known by: two numbers, of which either is enough to tell damage, and both to tell
 * that bytes are the same. No defence against somebody who looks for bytes that have the same. What
 * is kept on disk has them; they are none of a trace's. */
#ifndef BT_CONTENT_HASH_H
#define BT_CONTENT_HASH_H

#include <stddef.h>
#include <stdint.h>

struct content_hash {
	uint64_t first, second;
};

/* Of n bytes. */
struct content_hash content_hash(const void *bytes, size_t n);

#endif
