/* SPDX-License-Identifier: MIT */
#include "lib/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const int statuses[BT_E_COUNT] = {
#define BT_ERR(name, status) [BT_E_##name] = status,
#include "lib/err.def"
#undef BT_ERR
};

static void __attribute__((format(printf, 5, 0)))
fill_error(struct bt_error *err, enum bt_error_code code, int os_errno, uint64_t offset,
	   const char *fmt, va_list ap)
{
	int n;

	err->code = code;
	err->os_errno = os_errno;
	err->offset = offset;
	n = vsnprintf(err->text, sizeof err->text, fmt, ap);
	if (os_errno && n >= 0 && (size_t)n < sizeof err->text)
		snprintf(err->text + n, sizeof err->text - (size_t)n, ": %s", strerror(os_errno));
}

int bt_fail(struct bt_error *err, enum bt_error_code code, int os_errno, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		fill_error(err, code, os_errno, 0, fmt, ap);
		va_end(ap);
	}
	return -(int)code;
}

int bt_fail_at(struct bt_error *err, enum bt_error_code code, uint64_t offset, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		va_start(ap, fmt);
		fill_error(err, code, 0, offset, fmt, ap);
		va_end(ap);
	}
	return -(int)code;
}

int bt_no_memory(struct bt_error *err, const char *what)
{
	return what ? bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory for %s", what)
		    : bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory");
}

enum bt_error_code bt_code_of_errno(int os_errno)
{
	switch (os_errno) {
	case ENOMEM:
		return BT_E_NO_MEMORY;
	case EACCES:
	case EPERM:
		return BT_E_PERMISSION;
	default:
		return BT_E_IO;
	}
}

int bt_error_exit_status(int code)
{
	if (code < 0)
		code = -code;
	return statuses[code < BT_E_COUNT ? code : BT_E_MISUSE];
}
