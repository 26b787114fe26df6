/* SPDX-License-Identifier: MIT */
/* How many elements an array has: an array itself, not a pointer to its first. For everybody. */
#ifndef BT_ARRAY_SIZE_H
#define BT_ARRAY_SIZE_H

#define ARRAY_SIZE(array) (sizeof(array) / sizeof *(array))

#endif
