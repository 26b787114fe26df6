/* SPDX-License-Identifier: MIT */
/* Errors: one list of codes (err.def) and one struct that carries what a user needs to know.
 * Filled once, where the cause is known; printed once, in a main. Libraries neither print nor exit.
 * Thread rule: a struct bt_error belongs to its caller. */
#ifndef BT_ERROR_H
#define BT_ERROR_H

#include <stdint.h>

enum bt_error_code {
	BT_OK,
#define BT_ERR(name, status) BT_E_##name,
#include "lib/err.def"
#undef BT_ERR
	BT_E_COUNT
};

struct bt_error {
	enum bt_error_code code;
	int os_errno;    /* errno of the failed call, or 0 */
	uint64_t offset; /* byte offset of the fault in the file, if there is one */
	char text[400];  /* one line: the failure, the file or process, a remedy */
};

#define BT_MUST_USE __attribute__((warn_unused_result))

/* Fills err (unless NULL) and returns -code. os_errno != 0 appends its strerror text. */
int bt_fail(struct bt_error *err, enum bt_error_code code, int os_errno, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* bt_fail() with the offset of the damage in a file. */
int bt_fail_at(struct bt_error *err, enum bt_error_code code, uint64_t offset, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Fills err and returns -BT_E_NO_MEMORY: "out of memory", with what it was for ("the report")
 * unless that is NULL. */
int bt_no_memory(struct bt_error *err, const char *what);

/* The code for an errno of a file or a directory: no memory, no permission, or an I/O error. */
enum bt_error_code bt_code_of_errno(int os_errno);

/* The exit status of a command that ends with this error; 0 for BT_OK. code may be negative as
 * returned. */
int bt_error_exit_status(int code);

#endif
