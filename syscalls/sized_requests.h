/* SPDX-License-Identifier: MIT */
/* Requests of ioctl by the numbers that asm-generic/ioctl.h makes: direction, size, type, number
 * (sized_requests.def). For syscall_outputs.c and tests. Constant tables. Pure. */
#ifndef BT_SIZED_REQUESTS_H
#define BT_SIZED_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether direction and size in the number are known to be the truth. */
bool sized_request_is_true(uint32_t request);

/* Whether the direction says that the kernel writes (_IOC_READ: the program reads). */
bool sized_request_writes(uint32_t request);

/* Whether the number has a direction and a size. Old numbers have neither, and neither has a
 * request without an argument. */
bool sized_request_has_size(uint32_t request);

/* The bytes of the structure at the request's argument, by the number. */
uint32_t sized_request_bytes(uint32_t request);

#endif
