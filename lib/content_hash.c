/* SPDX-License-Identifier: MIT */
#include "lib/content_hash.h"

/* All of it is in the header: there is no library to load when btrec starts. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct content_hash content_hash(const void *bytes, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(bytes, n);

	return (struct content_hash){h.low64, h.high64};
}
