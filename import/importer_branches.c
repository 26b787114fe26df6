/* SPDX-License-Identifier: MIT */
#include "import/importer_private.h"
#include "lib/insn.h"
#include "lib/page.h"

/* --- branches --- */

static void runs_close(struct runs *r)
{
	buf_leb(&r->bytes, r->length);
	buf_leb(&r->bytes, r->word);
	r->length = 0;
}

static void runs_put(struct runs *r, uint64_t word)
{
	r->any |= word != 0;
	if (r->length && r->word != word)
		runs_close(r);
	r->word = word;
	r->length++;
}

static void runs_flush(struct importer *im, struct runs *r, const struct thread *t,
		       enum bt_branch_words what)
{
	struct bt_record_branch_words body = {
		.task = t->task, .first = t->first, .count = t->count, .what = (uint8_t)what};

	if (r->length)
		runs_close(r);
	body.words = slice_of(r->bytes.data, r->bytes.len);
	if (r->any && r->bytes.failed)
		importer_no_memory(im);
	else if (r->any && importer_writer(im))
		trace_writer_branch_words(im->writer, &body);
	im->pending += r->bytes.len;
	buf_reset(&r->bytes);
	r->length = 0;
	r->any = false;
}

void importer_flush_chunk(struct importer *im, struct thread *t)
{
	struct bt_record_branches body = {.task = t->task,
					  .first = t->first,
					  .count = t->count,
					  .tick = BT_TICKS_UNKNOWN,
					  .epoch = t->chunk_epoch,
					  .space = t->chunk_space,
					  .entries = slice_of(t->entries.data, t->entries.len)};

	if (!t->count)
		return;
	runs_flush(im, &t->flags, t, BT_WORDS_FLAGS);
	runs_flush(im, &t->counters, t, BT_WORDS_COUNTERS);
	if (t->entries.failed)
		importer_no_memory(im);
	else if (importer_writer(im))
		trace_writer_branches(im->writer, &body);
	t->first += t->count;
	t->count = 0;
	buf_reset(&t->entries);
	t->codec = (struct bt_branch_codec){0};
}

static void put_entry(struct thread *t, const struct bt_branch *b, uint64_t flags,
		      uint64_t counters)
{
	bt_branch_encode(&t->codec, &t->entries, b);
	runs_put(&t->flags, flags);
	runs_put(&t->counters, counters);
	t->count++;
}

/* perf's type of a branch (PERF_BR_*) as a kind of ours. A system call is not: ours goes to where
 * user code went on. */
static uint8_t kind_of_type(unsigned type)
{
	static const uint8_t kinds[16] = {
		[1] = BT_BRANCH_JCC + 1,  [2] = BT_BRANCH_JMP + 1,   [3] = BT_BRANCH_IJMP + 1,
		[4] = BT_BRANCH_CALL + 1, [5] = BT_BRANCH_ICALL + 1, [6] = BT_BRANCH_RET + 1,
	};

	return kinds[type & 15] ? kinds[type & 15] - 1 : BT_BRANCH_BRANCH;
}

/* Puts the page of code at addr into the trace, and gives up to n bytes of the code there; empty
 * where it is not known. */
struct slice importer_put_code(struct importer *im, struct thread *t, uint64_t addr, size_t n)
{
	struct import_process *p = &im->processes[t->process];
	struct bt_record_code body = {
		.space = p->space, .epoch = p->epoch, .addr = page_down(addr)};
	struct slice page, code = code_map_at(&p->code, addr, n, &page);

	if (page.len && importer_writer(im)) {
		body.object = trace_writer_object(im->writer, page.at, page.len);
		body.seq = importer_seq(im);
		importer_event(im, BT_RECORD_CODE, &body);
		im->pending += page.len;
	}
	return code;
}

/* The kind of a branch that perf did not classify, from its instruction. Not for a system call:
 * perf's entry ends in the kernel, ours where user code goes on. Other instructions that do not
 * branch were interrupted. */
static uint8_t kind_of_code(struct slice code)
{
	struct bt_insn insn;
	int kind;

	if (!code.len || bt_insn_decode(code.at, code.len, &insn))
		return BT_BRANCH_BRANCH;
	kind = bt_insn_branch_kind(insn.class);
	return kind < 0 || kind == BT_BRANCH_SYSCALL ? BT_BRANCH_BRANCH : (uint8_t)kind;
}

/* QUIRK(lbr-speculative): AMD records branches of a wrong path, which never retired. They are in
 * the trace, and not taken. */
static bool is_wrong_path(const struct import_branch *in)
{
	return (in->flags >> IMPORT_SPEC_SHIFT & 3) == 1;
}

static void put_branch(struct importer *im, struct thread *t, const struct import_branch *in,
		       uint64_t slots)
{
	struct slice code =
		slots ? (struct slice){0} : importer_put_code(im, t, in->from, BT_INSN_MAX);

	struct bt_branch b = {.from = in->from,
			      .to = in->to,
			      .cycles = (uint16_t)(in->flags >> IMPORT_CYCLES_SHIFT)};

	if (in->flags & (IMPORT_PREDICTED | IMPORT_MISPREDICTED))
		b.flags = BT_BRANCH_PREDICTION_KNOWN |
			  (in->flags & IMPORT_PREDICTED ? 0 : BT_BRANCH_MISPREDICTED);
	if (slots) {
		b.kind = BT_BRANCH_GAP;
		b.from = slots;
		b.to = BT_GAP_EMPTY;
	} else {
		b.kind = kind_of_type((unsigned)(in->flags >> IMPORT_TYPE_SHIFT));
		if (b.kind == BT_BRANCH_BRANCH && !(in->flags >> IMPORT_TYPE_SHIFT & 15))
			b.kind = kind_of_code(code);
		importer_put_code(im, t, in->to, 1);
		b.flags |= is_wrong_path(in) ? 0 : BT_BRANCH_TAKEN;
	}
	put_entry(t, &b, in->flags ^ bt_branch_perf_flags(&b), in->counters);
}

static bool is_empty_branch(const struct import_branch *b) { return !b->from && !b->to; }

/* Oldest first; equal empty slots are one entry. */
void importer_put_branches(struct importer *im, struct thread *t, const struct import_branch *at,
			   size_t n)
{
	for (size_t i = n; i > 0;) {
		const struct import_branch *b = &at[--i];
		uint64_t slots = is_empty_branch(b);

		while (slots && i > 0 && is_empty_branch(&at[i - 1]) &&
		       at[i - 1].flags == b->flags && at[i - 1].counters == b->counters) {
			slots++;
			i--;
		}
		put_branch(im, t, b, slots);
	}
}

/* The next entry belongs to the space and epoch of now. */
static void enter_epoch(const struct importer *im, struct thread *t)
{
	const struct import_process *p = &im->processes[t->process];
	struct bt_branch epoch = {.kind = BT_BRANCH_EPOCH,
				  .from = p->space == t->space ? 0 : p->space,
				  .to = p->epoch};

	if (!t->count) {
		t->chunk_space = p->space;
		t->chunk_epoch = p->epoch;
	} else if (p->space != t->space || p->epoch != t->epoch) {
		put_entry(t, &epoch, 0, 0);
	}
	t->space = p->space;
	t->epoch = p->epoch;
}

/* A gap before every run: where it begins, and that other branches lie between. */
void importer_begin_run(const struct importer *im, struct thread *t)
{
	struct bt_branch gap = {.kind = BT_BRANCH_GAP,
				.to = im->lost == t->lost ? BT_GAP_UNSAMPLED : BT_GAP_LOST};

	t->lost = im->lost;
	t->gap = 0;
	enter_epoch(im, t);
	put_entry(t, &gap, 0, 0);
}

bool importer_put_entry(struct importer *im, struct thread *t, const struct bt_branch *b)
{
	uint8_t gap = b->kind == BT_BRANCH_GAP ? (uint8_t)(b->to + 1) : 0;

	if (gap && gap == t->gap)
		return false;
	t->gap = gap;
	enter_epoch(im, t);
	if (!gap) {
		importer_put_code(im, t, b->from, 1);
		importer_put_code(im, t, b->to, 1);
	}
	put_entry(t, b, 0, 0);
	return true;
}
