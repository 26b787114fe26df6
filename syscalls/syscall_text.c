/* SPDX-License-Identifier: MIT */
#include "syscalls/syscall_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/array_size.h"
#include "lib/call_result.h"
#include "syscalls/syscall_names.h"

enum {
	PIECE_MAX = 64,
	CURRENT_DIRECTORY = -100, /* AT_FDCWD */
	CREATES = 0100,           /* O_CREAT */
	TEMPORARY = 020000000,    /* the bit of O_TMPFILE that is not O_DIRECTORY */
	UNIX = 1,                 /* address families */
	INET = 2,
	INET6 = 10,
	NAME_AT = 2, /* in struct sockaddr_un */
	INET_SIZE = 8,
	INET6_SIZE = 24,
	/* The kernel's own results; a program never sees them: the call is made again
	   (include/linux/errno.h). */
	RESTARTS = 512,
	RESTARTS_LAST = 516,
};

struct flag {
	enum syscall_arg_kind kind;
	uint32_t mask, value;
	const char *name;
};

#define ALL UINT32_MAX
static const struct flag flags[] = {
#define BT_FLAG(kind, mask, value, id) {SYSCALL_ARG_##kind, mask, value, #id},
#include "syscalls/syscall_flags.def"
#undef BT_FLAG
};

static const struct {
	const char *name, *text;
} errors[] = {
#define BT_ERRNO(number, id, text) [number] = {#id, text},
#include "syscalls/errno.def"
#undef BT_ERRNO
};

static const char *const signals[] = {
#define BT_SIGNAL(number, id, text) [number] = "SIG" #id,
#include "lib/signals.def"
};

const char *syscall_errno_name(uint32_t number)
{
	return number < ARRAY_SIZE(errors) ? errors[number].name : NULL;
}

const char *syscall_errno_text(uint32_t number)
{
	return number < ARRAY_SIZE(errors) ? errors[number].text : NULL;
}

static void put_text(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_text(struct buf *out, const char *fmt, ...)
{
	char text[PIECE_MAX];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (n > 0)
		buf_put(out, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

/* ---- Arguments ---- */

static void put_quoted(struct buf *out, struct slice s, bool is_cut)
{
	put_text(out, "\"");
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] == '"' || s.at[i] == '\\')
			buf_u8(out, '\\');
		buf_u8(out, s.at[i]);
	}
	put_text(out, is_cut ? "\"..." : "\"");
}

static bool is_row_of(const struct flag *f, enum syscall_arg_kind kind, uint32_t value)
{
	return f->kind == kind && (value & f->mask) == f->value;
}

/* Names are joined by bars. Bits that have none come last, as a number. */
static void put_flags(struct buf *out, enum syscall_arg_kind kind, uint32_t value)
{
	uint32_t left = value, known = 0;
	bool has_any = false;

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		if (!is_row_of(&flags[i], kind, value) || known & flags[i].mask)
			continue;
		put_text(out, "%s%s", has_any ? "|" : "", flags[i].name);
		has_any = true;
		known |= flags[i].mask;
		left &= ~flags[i].mask;
	}
	if (left || !has_any)
		put_text(out, left > 9 ? "%s0x%" PRIx32 : "%s%" PRIu32, has_any ? "|" : "", left);
}

static void put_unix_address(struct buf *out, struct slice name)
{
	bool is_abstract = name.len && !name.at[0];
	size_t n;

	put_text(out, "{AF_UNIX, ");
	if (is_abstract) {
		put_text(out, "@");
		slice_take(&name, 1);
	}
	for (n = 0; n < name.len && name.at[n]; n++)
		;
	put_quoted(out, slice_of(name.at, n), false);
	put_text(out, "}");
}

static void put_sockaddr(struct buf *out, struct slice s)
{
	struct slice at = s;
	uint16_t family = slice_u16(&at), port;

	if (family == UNIX && !at.bad) {
		put_unix_address(out, at);
	} else if (family == INET && s.len >= INET_SIZE) {
		port = (uint16_t)(s.at[2] << 8 | s.at[3]);
		put_text(out, "{AF_INET, %u.%u.%u.%u:%u}", s.at[4], s.at[5], s.at[6], s.at[7],
			 port);
	} else if (family == INET6 && s.len >= INET6_SIZE) {
		put_text(out, "{AF_INET6, [");
		for (unsigned i = 8; i < INET6_SIZE; i += 2)
			put_text(out, "%s%x", i > 8 ? ":" : "", s.at[i] << 8 | s.at[i + 1]);
		put_text(out, "]:%u}", s.at[2] << 8 | s.at[3]);
	} else {
		put_text(out, "{");
		put_flags(out, SYSCALL_ARG_DOMAIN, family);
		put_text(out, ", %zu bytes}", s.len);
	}
}

static void put_signal(struct buf *out, uint32_t value)
{
	if (value < ARRAY_SIZE(signals) && signals[value])
		put_text(out, "%s", signals[value]);
	else
		put_text(out, "%" PRIu32, value);
}

static void put_address(struct buf *out, uint64_t value)
{
	if (value)
		put_text(out, "0x%" PRIx64, value);
	else
		put_text(out, "NULL");
}

/* The numbers of the kinds that are not named. False: it is another one. */
static bool put_number(struct buf *out, enum syscall_arg_kind kind, uint64_t value)
{
	switch (kind) {
	case SYSCALL_ARG_INT:
	case SYSCALL_ARG_FD:
		put_text(out, "%" PRId32, (int32_t)value);
		return true;
	case SYSCALL_ARG_DIR_FD:
		if ((int32_t)value == CURRENT_DIRECTORY)
			put_text(out, "AT_FDCWD");
		else
			put_text(out, "%" PRId32, (int32_t)value);
		return true;
	case SYSCALL_ARG_UINT:
		put_text(out, "%" PRIu32, (uint32_t)value);
		return true;
	case SYSCALL_ARG_LONG:
		put_text(out, "%" PRId64, (int64_t)value);
		return true;
	case SYSCALL_ARG_SIZE:
		put_text(out, "%" PRIu64, value);
		return true;
	case SYSCALL_ARG_HEX:
		put_text(out, value > 9 ? "0x%" PRIx64 : "%" PRIu64, value);
		return true;
	case SYSCALL_ARG_OCTAL:
	case SYSCALL_ARG_OPEN_MODE:
		put_text(out, "%#" PRIo32, (uint32_t)value);
		return true;
	case SYSCALL_ARG_ADDRESS:
		put_address(out, value);
		return true;
	case SYSCALL_ARG_SIGNAL:
		put_signal(out, (uint32_t)value);
		return true;
	default:
		return false;
	}
}

static void put_pointed(struct buf *out, enum syscall_arg_kind kind,
			const struct syscall_known *call, unsigned i)
{
	if (!call->pointed[i].is_known)
		put_address(out, call->args[i]);
	else if (kind == SYSCALL_ARG_SOCKADDR)
		put_sockaddr(out, call->pointed[i].bytes);
	else
		put_quoted(out, call->pointed[i].bytes, call->pointed[i].is_cut);
}

void syscall_put_arg(struct buf *out, const struct syscall_known *call, unsigned i)
{
	enum syscall_arg_kind kind = syscall_shape(call->nr)->args[i].kind;

	if (kind == SYSCALL_ARG_PATH || kind == SYSCALL_ARG_STRING || kind == SYSCALL_ARG_SOCKADDR)
		put_pointed(out, kind, call, i);
	else if (!put_number(out, kind, call->args[i]))
		put_flags(out, kind, (uint32_t)call->args[i]);
}

static bool is_left_out(const struct syscall_known *call, enum syscall_arg_kind kind, unsigned i)
{
	return kind == SYSCALL_ARG_OPEN_MODE && i && !(call->args[i - 1] & (CREATES | TEMPORARY));
}

void syscall_put_call(struct buf *out, const struct syscall_known *call)
{
	const struct syscall_shape *shape = syscall_shape(call->nr);
	char name[SYSCALL_NAME_MAX];

	put_text(out, "%s(", (call->compat ? syscall_name_32 : syscall_name)(call->nr, name));
	if (call->compat || (!call->has_args && syscall_arg_count(shape)))
		put_text(out, "...");
	for (unsigned i = 0; !call->compat && call->has_args && i < syscall_arg_count(shape); i++) {
		if (is_left_out(call, shape->args[i].kind, i))
			break;
		put_text(out, i ? ", " : "");
		syscall_put_arg(out, call, i);
	}
	put_text(out, ")");
}

/* ---- Results ---- */

static bool is_restart(uint64_t result) { return -result >= RESTARTS && -result <= RESTARTS_LAST; }

bool syscall_has_failed(const struct syscall_known *call)
{
	return call->has_result && call_has_failed(call->result) && !is_restart(call->result);
}

void syscall_put_result(struct buf *out, const struct syscall_known *call)
{
	enum syscall_arg_kind kind =
		call->compat ? SYSCALL_ARG_LONG : syscall_shape(call->nr)->result;
	uint32_t error = (uint32_t)-call->result;

	if (!call->has_result || kind == SYSCALL_ARG_NONE) {
		put_text(out, " = ?");
	} else if (is_restart(call->result)) {
		put_text(out, " = ? (a signal came; the kernel makes it again)");
	} else if (!call_has_failed(call->result)) {
		put_text(out, " = ");
		put_number(out, kind, call->result);
	} else if (syscall_errno_name(error)) {
		put_text(out, " = -1 %s (", syscall_errno_name(error));
		put_text(out, "%s)", syscall_errno_text(error));
	} else {
		put_text(out, " = -1 errno %" PRIu32, error);
	}
}
