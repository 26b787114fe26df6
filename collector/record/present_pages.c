/* SPDX-License-Identifier: MIT */
#include "collector/record/present_pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/page.h"

/* Of Documentation/admin-guide/mm/pagemap.rst and include/uapi/linux/fs.h, Linux 6.7, which the
 * headers of older systems lack. */
struct region {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags, start, end, walk_end, regions, region_count, max_pages,
		category_inverted, category_mask, category_anyof_mask, return_mask;
};

#define SCAN           _IOWR('f', 16, struct scan)
#define SCAN_PRESENT   (UINT64_C(1) << 3)
#define SCAN_SWAPPED   (UINT64_C(1) << 4)
#define ENTRY_IS_THERE (UINT64_C(3) << 62) /* an entry's bits 63, present, and 62, swapped */

bool present_pages_open(struct present_pages *p, pid_t tid, uint64_t start, uint64_t end)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)tid);
	*p = (struct present_pages){
		.pagemap = open(path, O_RDONLY | O_CLOEXEC), .at = start, .end = end};
	return p->pagemap >= 0;
}

/* False: the kernel has no such call. */
static bool scan_range(struct present_pages *p, uint64_t *start, uint64_t *end)
{
	struct region found;
	struct scan s = {.size = sizeof s,
			 .start = p->at,
			 .end = p->end,
			 .regions = (uint64_t)(uintptr_t)&found,
			 .region_count = 1,
			 .category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
			 .return_mask = SCAN_PRESENT | SCAN_SWAPPED};
	int n = ioctl(p->pagemap, SCAN, &s);

	if (n < 0)
		return false;
	*start = n ? found.start : p->end;
	*end = n ? found.end : p->end;
	return true;
}

/* One run may be told as several. */
static void read_entries(const struct present_pages *p, uint64_t *start, uint64_t *end)
{
	uint64_t entries[1 << 10], at = p->at, runs = 0;

	*start = *end = p->end;
	while (at < p->end && !runs) {
		uint64_t want = (p->end - at) / BT_PAGE, n;
		ssize_t got;

		want = want < sizeof entries / sizeof *entries ? want
							       : sizeof entries / sizeof *entries;
		got = pread(p->pagemap, entries, want * sizeof *entries,
			    (off_t)(at / BT_PAGE * sizeof *entries));
		n = got > 0 ? (uint64_t)got / sizeof *entries : 0;
		if (!n) { /* it does not tell */
			*start = at;
			return;
		}
		for (uint64_t i = 0; i < n; i++) {
			bool there = entries[i] & ENTRY_IS_THERE;

			if (there && !runs++)
				*start = at + i * BT_PAGE;
			*end = there ? at + (i + 1) * BT_PAGE : *end;
			if (runs && !there)
				break;
		}
		at += n * BT_PAGE;
	}
}

bool present_pages_next(struct present_pages *p, uint64_t *start, uint64_t *end)
{
	if (p->at >= p->end)
		return false;
	if (p->by == PRESENT_PAGES_BY_SCAN && !scan_range(p, start, end))
		p->by = PRESENT_PAGES_BY_ENTRIES;
	if (p->by == PRESENT_PAGES_BY_ENTRIES)
		read_entries(p, start, end);
	p->at = *end;
	return *start < *end;
}

void present_pages_close(struct present_pages *p) { close(p->pagemap); }
