/* SPDX-License-Identifier: MIT */
#include "collector/record/mapped_pages.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collector/record/present_pages.h"
#include "lib/page.h"

enum {
	PIECE = 3 * BT_PAGE,      /* read at once */
	FAILED_MOST = 1 << 14,    /* so many unreadable pages in a row mean that the mapping's file
				     ends before them */
	REPLACED_MOST = 16 << 20, /* bytes that are kept: the text of most libraries is less */
};

static bool is_zero(const uint8_t *page)
{
	return !page[0] && !memcmp(page, page + 1, BT_PAGE - 1);
}

void mapped_pages_find(pid_t tid, uint64_t start, uint64_t end,
		       void (*found)(void *arg, uint64_t addr, const uint8_t *bytes, size_t n),
		       void *arg)
{
	uint8_t bytes[PIECE];
	unsigned failed = 0;

	for (uint64_t at = start; at < end && failed < FAILED_MOST;) {
		size_t want = end - at < PIECE ? (size_t)(end - at) : PIECE;
		size_t n = tracee_read(tid, at, bytes, want) / BT_PAGE * BT_PAGE;

		failed = n ? 0 : failed + 1;
		for (size_t i = 0, from = 0; i < n; i += BT_PAGE) {
			bool zero = is_zero(bytes + i), last = i + BT_PAGE == n;
			size_t run_end = zero ? i : i + BT_PAGE;

			if ((zero || last) && run_end > from)
				found(arg, at + from, bytes + from, run_end - from);
			if (zero)
				from = i + BT_PAGE;
		}
		at += n < want ? n + BT_PAGE : n; /* over a page that cannot be read */
	}
}

void mapped_pages_find_memory(pid_t tid, uint64_t start, uint64_t end,
			      void (*found)(void *arg, uint64_t addr, const uint8_t *bytes,
					    size_t n),
			      void *arg)
{
	struct present_pages present;

	if (!present_pages_open(&present, tid, start, end)) {
		mapped_pages_find(tid, start, end, found, arg);
		return;
	}
	while (present_pages_next(&present, &start, &end))
		mapped_pages_find(tid, start, end, found, arg);
	present_pages_close(&present);
}

void replaced_pages_forget(struct replaced_pages *r) { buf_reset(&r->bytes); }

void replaced_pages_take(struct replaced_pages *r, pid_t tid, const struct tracee_syscall *call)
{
	const uint64_t *args = call->args, n = page_up(args[1]);

	buf_reset(&r->bytes);
	if (!syscall_is(call, SYS_mmap) || args[3] & MAP_ANONYMOUS || !(args[3] & MAP_FIXED) ||
	    (args[3] & MAP_TYPE) != MAP_PRIVATE || args[3] & MAP_GROWSDOWN || n > REPLACED_MOST ||
	    n < args[1] || !buf_reserve(&r->bytes, n))
		return;
	r->start = args[0];
	r->bytes.len = tracee_read(tid, args[0], r->bytes.data, n);
	if (r->bytes.len < n)
		buf_reset(&r->bytes);
}

bool replaced_pages_are_same(const struct replaced_pages *r, pid_t tid, uint64_t start,
			     uint64_t end)
{
	uint8_t now[PIECE];

	if (!r->bytes.len || r->start != start || r->bytes.len != end - start)
		return false;
	for (size_t at = 0, n; at < r->bytes.len; at += n) {
		n = r->bytes.len - at < PIECE ? r->bytes.len - at : PIECE;
		if (tracee_read(tid, start + at, now, n) != n || memcmp(now, r->bytes.data + at, n))
			return false;
	}
	return true;
}

void replaced_pages_release(struct replaced_pages *r) { buf_release(&r->bytes); }
