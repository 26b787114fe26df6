/* SPDX-License-Identifier: MIT */
#include "collector/backend/engine/written_code/robust_list.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collector/tracee/tracee.h"

enum {
	WORD = 4,
	NEAR = 4096,
	PI = 1, /* bit 0 of an entry's address: its futex is a PI futex */
};

/* 0: it has none. False when that cannot be asked. */
static bool find_head(pid_t tid, uint64_t *head)
{
	size_t size;

	*head = 0;
	if (syscall(SYS_get_robust_list, tid, head, &size) == 0)
		return true;
	*head = 0;
	return errno != EPERM; /* it is gone, or the kernel has no such lists */
}

static bool has_word(uint64_t entry, uint64_t offset, uint64_t start, uint64_t end)
{
	uint64_t word = (entry & ~(uint64_t)PI) + offset;

	return entry && word < end && word + WORD > start;
}

/* struct robust_list_head */
struct head {
	uint64_t first, offset, pending; /* offset: of a word from its entry; pending: the entry
					    that is being locked */
};

static bool list_writes(pid_t tid, uint64_t at, const struct head *head, uint64_t start,
			uint64_t end)
{
	uint64_t entry = head->first;

	if (has_word(head->pending, head->offset, start, end))
		return true;
	for (unsigned n = 0; (entry & ~(uint64_t)PI) != at && n < ROBUST_LIST_LIMIT; n++) {
		if (has_word(entry, head->offset, start, end))
			return true;
		if (tracee_read(tid, entry & ~(uint64_t)PI, &entry, sizeof entry) != sizeof entry)
			return false;
	}
	return false;
}

bool robust_lists_write(const pid_t *tids, size_t n, uint64_t start, uint64_t end)
{
	struct iovec remote[ROBUST_LISTS], local;
	struct head heads[ROBUST_LISTS];
	size_t count = 0;
	ssize_t got;

	for (size_t i = 0; i < n && i < ROBUST_LISTS; i++) {
		uint64_t at;

		if (!find_head(tids[i], &at))
			return true;
		if (at)
			remote[count++] = (struct iovec){(void *)(uintptr_t)at, sizeof heads[0]};
	}
	local = (struct iovec){heads, count * sizeof heads[0]};
	got = count ? process_vm_readv(tids[0], &local, 1, remote, count, 0)
		    : 0; /* of a thousand threads one by one it would take milliseconds */
	for (size_t i = 0; i < count; i++) {
		uint64_t at = (uint64_t)(uintptr_t)remote[i].iov_base;

		if (got != (ssize_t)local.iov_len &&
		    tracee_read(tids[0], at, &heads[i], sizeof heads[i]) != sizeof heads[i])
			continue; /* the kernel cannot read it either */
		if (list_writes(tids[0], at, &heads[i], start, end))
			return true;
	}
	return false;
}

bool robust_list_is_near(pid_t tid, uint64_t start, uint64_t end)
{
	uint64_t at;

	if (!find_head(tid, &at))
		return true;
	return at && at < end + NEAR && at + NEAR > start;
}
