/* SPDX-License-Identifier: MIT */
/* What glibc says of why it ends a program: of an assertion, of a heap that malloc finds corrupt,
 * of the stack protector and of functions that check their buffers. It keeps the text for debuggers
 * behind its variable __abort_msg (of version GLIBC_PRIVATE, since glibc 2.11): a number, of how
 * many bytes there are with it, and a text that ends with a NUL. The recorder asks a live process
 * for it, the decoder a snapshot, the import a core file. The memory is not trusted. */
#ifndef BT_ABORT_MESSAGE_H
#define BT_ABORT_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Copies up to n bytes of a program's memory at addr; returns how many. */
typedef size_t bt_memory_reader(void *arg, uint64_t addr, void *to, size_t n);

/* Whether the file of that name is glibc's libc. */
bool bt_is_libc(const char *path);

/* Takes the text, without newlines at its end, into text[size], NUL-terminated. base is where the
 * beginning of libc's file is mapped in the program. Returns its length; 0, and text is empty,
 * where there is none or memory does not hold what it should. Whatever that holds, it ends. */
size_t bt_abort_message(bt_memory_reader *read, void *arg, uint64_t base, char *text, size_t size);

#endif
