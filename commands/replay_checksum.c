/* SPDX-License-Identifier: MIT */
/* All memory counts that the program can read, but pages of zeros: those that it can write the
 * engine may have write-protected. Pages are added up, each with its address: neither how mappings
 * are cut nor their order means anything. */
#include "commands/replay_checksum.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collector/space/mappings.h"
#include "collector/space/world.h"
#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "lib/content_hash.h"
#include "lib/page.h"

enum { PIECE = 64 * BT_PAGE };

static uint64_t registers_hash(const struct bt_regs *regs)
{
	struct bt_regs r = *regs;

	/* The rest is not of the program, or may differ (divergence.h). */
	r.eflags &= ~(uint64_t)(EFLAGS_TF | EFLAGS_RF);
	r.orig_rax = r.cs = r.ss = r.ds = r.es = r.fs = r.gs = 0;
	return content_hash(&r, sizeof r).first;
}

static uint64_t page_hash(uint64_t addr, const uint8_t *page)
{
	const uint64_t both[2] = {addr, content_hash(page, BT_PAGE).first};

	if (!page[0] && !memcmp(page, page + 1, BT_PAGE - 1))
		return 0;
	return content_hash(both, sizeof both).first;
}

static uint64_t mapping_hash(uint8_t *room, pid_t tid, const struct mapping *m)
{
	uint64_t sum = 0;

	for (uint64_t at = m->start; at < m->end; at += PIECE) {
		size_t want = m->end - at < PIECE ? m->end - at : PIECE,
		       n = tracee_read(tid, at, room, want);

		for (size_t i = 0; i + BT_PAGE <= n; i += BT_PAGE)
			sum += page_hash(at + i, room + i);
	}
	return sum;
}

/* Neither ours nor the kernel's ([vsyscall]). */
static bool is_programs(const struct mapping *m)
{
	return m->prot && strncmp(m->path, "[v", 2) != 0 &&
	       m->start - WORLD_RESERVED_START >= WORLD_RESERVED_SIZE;
}

bool replay_checksum_event(struct replay_checksum *c, const struct task *task, uint64_t seq,
			   FILE *to)
{
	struct mapping_list all = {0};
	struct bt_point point;
	char at[BT_POINT_TEXT];
	uint64_t sum;

	if (!c->every || ++c->events % c->every)
		return true;
	if (!c->room)
		c->room = malloc(PIECE);
	if (!c->room || !mappings_read(task->host_tid, &all))
		return false;
	sum = registers_hash(&task->regs);
	for (size_t i = 0; i < all.count; i++)
		if (is_programs(&all.maps[i]))
			sum += mapping_hash(c->room, task->host_tid, &all.maps[i]);
	mappings_release(&all);
	point = task_point(task);
	bt_point_print(&point, at);
	fprintf(to,
		c->json ? "{\"schema\": \"btrec-checksum/1\", \"count\": %" PRIu64
			  ", \"event\": %" PRIu64 ", \"task\": %" PRIu32
			  ", \"point\": \"%s\", \"checksum\": \"%016" PRIx64 "\"}\n"
			: "%" PRIu64 ": event %" PRIu64 " of task %" PRIu32 " at %s: %016" PRIx64
			  "\n",
		c->events, seq, task->number, at, sum);
	return true;
}

void replay_checksum_release(struct replay_checksum *c)
{
	free(c->room);
	c->room = NULL;
}
