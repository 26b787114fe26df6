/* SPDX-License-Identifier: MIT */
#include "collector/engine/robust_list.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/tracee.h"

enum {
	WORD = 4,
	NEAR = 4096,
	PI = 1, /* in an entry's address: what kind of futex it is of */
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

bool robust_list_writes(pid_t tid, uint64_t start, uint64_t end)
{
	uint64_t at, head[3]; /* struct robust_list_head: the first entry, the words' distance from theirs, the entry that is being locked */
	uint64_t entry;

	if (!find_head(tid, &at))
		return true;
	if (!at || tracee_read(tid, at, head, sizeof head) != sizeof head)
		return false;
	if (has_word(head[2], head[1], start, end))
		return true;
	entry = head[0];
	for (unsigned n = 0; (entry & ~(uint64_t)PI) != at && n < ROBUST_LIST_LIMIT; n++) {
		if (has_word(entry, head[1], start, end))
			return true;
		if (tracee_read(tid, entry & ~(uint64_t)PI, &entry, sizeof entry) != sizeof entry)
			return false;
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
