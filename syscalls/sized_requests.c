/* SPDX-License-Identifier: MIT */
#include "syscalls/sized_requests.h"

#include <stdlib.h>

#include "lib/array_size.h"

enum {
	DIRECTION_READ = 0x80000000u, /* _IOC_READ, asm-generic/ioctl.h */
	DIRECTION_WRITE = 0x40000000u,
	DIRECTION_BOTH = DIRECTION_READ | DIRECTION_WRITE,
	SIZE_MASK = 0x3fff, /* of bits 16 to 29 */
};

/* By type, then number: the halves of a request exchanged. */
static uint32_t order_of(uint32_t request) { return request << 16 | request >> 16; }

static int compare(const void *a, const void *b)
{
	uint32_t x = order_of(*(const uint32_t *)a), y = order_of(*(const uint32_t *)b);

	return x < y ? -1 : x > y;
}

static bool has_any_size(uint32_t request)
{
	static const struct {
		uint32_t direction;
		uint8_t type, first, last;
	} rows[] = {
#define BT_SIZED(number, id)
#define BT_ANY_SIZE(way, type, first, last, id) {DIRECTION_##way, (type), (first), (last)},
#include "syscalls/sized_requests.def"
#undef BT_ANY_SIZE
#undef BT_SIZED
	};
	uint8_t type = (uint8_t)(request >> 8), number = (uint8_t)request;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].direction == (request & DIRECTION_BOTH) && rows[i].type == type &&
		    number >= rows[i].first && number <= rows[i].last)
			return true;
	return false;
}

bool sized_request_is_true(uint32_t request)
{
	static const uint32_t rows[] = {
#define BT_SIZED(number, id) (number),
#define BT_ANY_SIZE(way, type, first, last, id)
#include "syscalls/sized_requests.def"
#undef BT_ANY_SIZE
#undef BT_SIZED
	};

	if (!(request & DIRECTION_BOTH))
		return false;
	return bsearch(&request, rows, ARRAY_SIZE(rows), sizeof *rows, compare) ||
	       has_any_size(request);
}

bool sized_request_writes(uint32_t request) { return request & DIRECTION_READ; }

bool sized_request_has_size(uint32_t request)
{
	return request & DIRECTION_BOTH && sized_request_bytes(request);
}

uint32_t sized_request_bytes(uint32_t request) { return request >> 16 & SIZE_MASK; }
