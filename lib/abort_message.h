/* SPDX-License-Identifier: MIT */
/* glibc's message when it ends a program: a failed assertion, a corrupt heap, the stack protector,
 * a function that checks its buffer. glibc keeps the text for debuggers behind its variable
 * __abort_msg (version GLIBC_PRIVATE, since glibc 2.11): a number, the size with that number, and a
 * text that ends with a NUL. The recorder reads it from a live process, the decoder from a
 * snapshot, the import from a core file. The memory is not trusted. */
#ifndef BT_ABORT_MESSAGE_H
#define BT_ABORT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies up to n bytes of a program's memory at addr; returns how many. */
typedef size_t bt_memory_reader(void *arg, uint64_t addr, void *to, size_t n);

/* Whether the file of that name is glibc's libc. */
bool bt_is_libc(const char *path);

/* Copies the text, without newlines at its end, into text[size], NUL-terminated. base: the address
 * where the beginning of libc's file is mapped. Returns its length; 0, with text empty, if there is
 * none or the memory is not as expected. It ends whatever the memory holds. */
size_t bt_abort_message(bt_memory_reader *read, void *arg, uint64_t base, char *text, size_t size);

#endif
