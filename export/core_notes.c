/* SPDX-License-Identifier: MIT */
/* Notes of a core file, as the kernel writes them (fs/binfmt_elf.c; struct elf_prstatus and
 * elf_prpsinfo of linux/elfcore.h, siginfo_t of asm-generic/siginfo.h, x86-64). The order is the
 * kernel's: the first thread, the process, then the other threads. Of a thread whose registers of
 * floating point and vectors the trace has not there is no NT_FPREGSET and no NT_X86_XSTATE. */
#include <elf.h>
#include <string.h>

#include "export/core_private.h"
#include "lib/extended_state.h"
#include "lib/page.h"

enum {
	SIGINFO_SIZE = 128,
	NAME_SIZE = 16,
	ARGUMENTS_SIZE = 80,
};

static void put_zeros(struct buf *b, size_t n)
{
	while (n--)
		buf_u8(b, 0);
}

/* owner: at most seven letters. */
static void put_note_of(struct buf *b, const char *owner, uint32_t type, const struct buf *desc)
{
	size_t n = strlen(owner) + 1;

	buf_u32(b, (uint32_t)n);
	buf_u32(b, (uint32_t)desc->len);
	buf_u32(b, type);
	buf_put(b, owner, n);
	put_zeros(b, -n & 3);
	buf_put(b, desc->data, desc->len);
	put_zeros(b, -desc->len & 3);
	b->failed |= desc->failed;
}

static void put_note(struct buf *b, uint32_t type, const struct buf *desc)
{
	put_note_of(b, "CORE", type, desc);
}

static const struct model_task *task_of(const struct core_export *c,
					const struct bt_record_thread *thread)
{
	return model_task(c->m, thread->task);
}

static void put_status(struct buf *b, struct buf *d, const struct core_export *c,
		       const struct bt_record_thread *thread)
{
	const struct bt_record_signal *signal =
		thread->task == c->focus.snap->rec->task ? c->focus.snap->signal : NULL;
	const struct model_task *task = task_of(c, thread);

	buf_reset(d);
	buf_u32(d, signal ? signal->signo : 0);
	buf_u32(d, signal ? signal->code : 0);
	buf_u32(d, 0);
	buf_u16(d, signal ? (uint16_t)signal->signo : 0);
	put_zeros(d, 2 + 16); /* pending and blocked signals are not known */
	buf_u32(d, task ? task->tid : thread->task);
	put_zeros(d, 12 + 64); /* parent, group, session; times */
	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		buf_u64(d, bt_regs_get(&thread->regs, i));
	buf_u32(d, thread->extended.len > 0); /* NT_FPREGSET is valid */
	put_zeros(d, 4);
	put_note(b, NT_PRSTATUS, d);
}

/* NT_X86_XSTATE has what debuggers show of ymm. */
static void put_extended(struct buf *b, struct buf *d, const struct bt_record_thread *thread)
{
	uint8_t bytes[EXTENDED_STATE_SIZE];

	if (!thread->extended.len)
		return;
	extended_state_copy(thread->extended, 0, bytes, sizeof bytes);
	buf_reset(d);
	buf_put(d, bytes, EXTENDED_STATE_LEGACY);
	put_note(b, NT_PRFPREG, d);
	if (!extended_state_has_avx(thread->extended))
		return;
	buf_reset(d);
	buf_put(d, bytes, sizeof bytes);
	put_note_of(b, "LINUX", NT_X86_XSTATE, d);
}

/* The arguments with blanks between them, cut. */
static void put_arguments(struct buf *d, struct slice argv)
{
	size_t n = argv.len < ARGUMENTS_SIZE - 1 ? argv.len : ARGUMENTS_SIZE - 1;

	for (size_t i = 0; i < n; i++)
		buf_u8(d, argv.at[i] ? argv.at[i] : ' ');
	put_zeros(d, ARGUMENTS_SIZE - n);
}

static void put_process(struct buf *b, struct buf *d, const struct core_export *c)
{
	const struct model_task *task = task_of(c, c->focus.thread);
	const char *name = task ? task->command : "";
	size_t whole = strlen(name), len = whole < NAME_SIZE ? whole : NAME_SIZE - 1;

	buf_reset(d);
	put_zeros(d, 1);
	buf_u8(d, 'R');
	put_zeros(d, 22); /* nice value, flags, user and group */
	buf_u32(d, task ? task->pid : 0);
	put_zeros(d, 12);
	buf_put(d, name, len);
	put_zeros(d, NAME_SIZE - len);
	put_arguments(d, task && task->how == BT_TASK_INITIAL ? c->m->trace->header.argv
							      : slice_of(name, strlen(name)));
	put_note(b, NT_PRPSINFO, d);
}

static void put_signal(struct buf *b, struct buf *d, const struct bt_record_signal *signal)
{
	buf_reset(d);
	buf_u32(d, signal->signo);
	buf_u32(d, 0);
	buf_u32(d, signal->code);
	buf_u32(d, 0);
	if ((int32_t)signal->code > 0) {
		buf_u64(d, signal->addr);
	} else {
		buf_u32(d, signal->sender);
		buf_u32(d, signal->uid);
	}
	put_zeros(d, SIGINFO_SIZE - d->len);
	put_note(b, NT_SIGINFO, d);
}

static void put_pair(struct buf *d, uint64_t type, uint64_t value)
{
	buf_u64(d, type);
	buf_u64(d, value);
}

/* The auxiliary vector's entries by which a debugger finds the program's load address. */
static void put_auxv(struct buf *b, struct buf *d, const struct linker_list *l)
{
	buf_reset(d);
	if (l->vdso)
		put_pair(d, AT_SYSINFO_EHDR, l->vdso);
	put_pair(d, AT_PAGESZ, BT_PAGE);
	if (l->program) {
		put_pair(d, AT_PHDR, l->headers);
		put_pair(d, AT_PHENT, sizeof(Elf64_Phdr));
		put_pair(d, AT_PHNUM, l->header_count);
		put_pair(d, AT_BASE, l->interpreter);
		put_pair(d, AT_ENTRY, l->entry);
	}
	put_pair(d, AT_NULL, 0);
	put_note(b, NT_AUXV, d);
}

static void put_files(struct buf *b, struct buf *d, const struct core_export *c)
{
	uint64_t count = 0;

	for (size_t i = 0; i < c->map_count; i++)
		count += linker_list_is_file(c->maps[i]);
	buf_reset(d);
	buf_u64(d, count);
	buf_u64(d, BT_PAGE);
	for (size_t i = 0; i < c->map_count; i++)
		if (linker_list_is_file(c->maps[i])) {
			buf_u64(d, c->maps[i]->start);
			buf_u64(d, c->maps[i]->end);
			buf_u64(d, c->maps[i]->offset / BT_PAGE);
		}
	for (size_t i = 0; i < c->map_count; i++)
		if (linker_list_is_file(c->maps[i]))
			buf_put(d, c->maps[i]->path, strlen(c->maps[i]->path) + 1);
	put_note(b, NT_FILE, d);
}

void core_notes_put(struct buf *b, const struct core_export *c)
{
	const struct model_snapshot *snap = c->focus.snap;
	struct buf d = {0};

	put_status(b, &d, c, c->focus.thread);
	put_process(b, &d, c);
	if (snap->signal)
		put_signal(b, &d, snap->signal);
	put_auxv(b, &d, &c->list);
	put_files(b, &d, c);
	put_extended(b, &d, c->focus.thread);
	for (size_t i = 0; i < snap->thread_count; i++)
		if (snap->threads[i] != c->focus.thread) {
			put_status(b, &d, c, snap->threads[i]);
			put_extended(b, &d, snap->threads[i]);
		}
	b->failed |= d.failed;
	buf_release(&d);
}
