/* SPDX-License-Identifier: MIT */
/* An ELF core file (core(5)): header, program headers, notes, memory. One segment for each range of
 * memory that is known. The rest of a file's mapping a debugger reads from the file, which the note
 * NT_FILE names. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "export/core_private.h"
#include "export/export_private.h"
#include "lib/output.h"
#include "lib/page.h"

enum {
	PIECE = 8192,
	SEGMENTS_MAX = PN_XNUM - 2, /* more would need a section header */
};

static void put_header(struct buf *b, size_t segments)
{
	static const uint8_t ident[EI_NIDENT] = {0x7f,       'E',         'L',       'F',
						 ELFCLASS64, ELFDATA2LSB, EV_CURRENT};

	buf_put(b, ident, sizeof ident);
	buf_u16(b, ET_CORE);
	buf_u16(b, EM_X86_64);
	buf_u32(b, EV_CURRENT);
	buf_u64(b, 0);
	buf_u64(b, sizeof(Elf64_Ehdr));
	buf_u64(b, 0);
	buf_u32(b, 0);
	buf_u16(b, sizeof(Elf64_Ehdr));
	buf_u16(b, sizeof(Elf64_Phdr));
	buf_u16(b, (uint16_t)segments);
	buf_u16(b, 0);
	buf_u16(b, 0);
	buf_u16(b, 0);
}

static uint32_t segment_flags(uint8_t prot)
{
	return (prot & BT_PROT_READ ? PF_R : 0) | (prot & BT_PROT_WRITE ? PF_W : 0) |
	       (prot & BT_PROT_EXEC ? PF_X : 0);
}

static void put_segment(struct buf *b, uint32_t type, uint32_t flags, uint64_t offset,
			uint64_t addr, uint64_t size)
{
	buf_u32(b, type);
	buf_u32(b, flags);
	buf_u64(b, offset);
	buf_u64(b, addr);
	buf_u64(b, 0);
	buf_u64(b, size);
	buf_u64(b, type == PT_LOAD ? size : 0);
	buf_u64(b, 1);
}

static int put_memory(FILE *to, const struct core_export *c, const struct core_extent *r,
		      struct bt_error *err)
{
	uint8_t bytes[PIECE];
	int rc = 0;

	for (uint64_t at = r->start; at < r->end && !rc;) {
		size_t n = r->end - at < sizeof bytes ? (size_t)(r->end - at) : sizeof bytes,
		       got = core_memory_read(c, at, bytes, n);

		if (!got) { /* a page of code that is known in part */
			*bytes = 0;
			got = 1;
		}
		rc = bt_output(to, bytes, got, err);
		at += got;
	}
	return rc;
}

static int put_core(FILE *to, const struct core_export *c, struct bt_error *err)
{
	size_t count = c->range_count < SEGMENTS_MAX ? c->range_count : SEGMENTS_MAX;
	uint64_t offset = sizeof(Elf64_Ehdr) + (count + 1) * sizeof(Elf64_Phdr);
	struct buf head = {0}, notes = {0};
	int rc;

	core_notes_put(&notes, c);
	put_header(&head, count + 1);
	put_segment(&head, PT_NOTE, 0, offset, 0, notes.len);
	offset += notes.len;
	for (size_t i = 0; i < count; i++) {
		const struct core_extent *r = &c->ranges[i];

		put_segment(&head, PT_LOAD, segment_flags(r->prot), offset, r->start,
			    r->end - r->start);
		offset += r->end - r->start;
	}
	rc = head.failed || notes.failed ? bt_no_memory(err, "the core file") : 0;
	if (!rc)
		rc = bt_output(to, head.data, head.len, err);
	if (!rc)
		rc = bt_output(to, notes.data, notes.len, err);
	for (size_t i = 0; i < count && !rc; i++)
		rc = put_memory(to, c, &c->ranges[i], err);
	buf_release(&head);
	buf_release(&notes);
	return rc ? rc : count < c->range_count;
}

int export_core(FILE *to, const struct model *m, struct symbols *s, const struct report_options *o,
		struct bt_error *err)
{
	struct core_export c = {.m = m, .s = s};
	const struct model_task *task;
	int rc = focus_choose(&c.focus, m, o);

	if (rc || !c.focus.thread)
		return bt_fail(err, BT_E_UNSUPPORTED, 0,
			       "the trace has no registers of that moment: no core file");
	task = model_task(m, c.focus.thread->task);
	c.map_count = trace_index_maps(m->index, c.focus.snap->rec->space, c.focus.thread->epoch,
				       &c.maps);
	rc = linker_list_make(&c.list, s, c.focus.snap->rec->space, c.focus.thread->epoch,
			      task ? task->command : "", c.maps, c.map_count, err);
	if (!rc)
		rc = core_memory_find(&c, err);
	if (!rc)
		rc = put_core(to, &c, err);
	linker_list_release(&c.list);
	free(c.ranges);
	free(c.maps);
	return rc;
}
