/* SPDX-License-Identifier: MIT */
/* A fingerprint of bytes: XXH3 of 128 bits, in two halves. Either half detects damage; both
 * together identify bytes. It does not resist deliberate collisions. Used for files kept between
 * recordings, and to find equal bytes in memory and in a log. It is in no trace. Pure. */
#ifndef BT_CONTENT_HASH_H
#define BT_CONTENT_HASH_H

#include <stddef.h>
#include <stdint.h>

struct content_hash {
	uint64_t first, second;
};

/* The fingerprint of n bytes. */
struct content_hash content_hash(const void *bytes, size_t n);

#endif
