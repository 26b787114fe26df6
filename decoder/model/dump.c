/* SPDX-License-Identifier: MIT */
#include "decoder/model/dump.h"

#include <inttypes.h>

#include "format/branch_entries.h"
#include "format/syscall_codec.h"
#include "format/syscall_details.h"
#include "format/trace_cursor.h"
#include "lib/branch.h"

enum { ENTRIES_NOT_SHOWN = 1 << 30 };

static void print_entry(FILE *to, uint64_t number, const struct bt_branch *b)
{
	fprintf(to, "  %" PRIu64 " %s", number, bt_branch_info[b->kind].name);
	if (b->kind == BT_BRANCH_GAP)
		fprintf(to, " missing=%" PRIu64 " reason=%s", b->from, bt_gap_info[b->to].name);
	else if (b->kind == BT_BRANCH_EPOCH)
		fprintf(to, " space=%" PRIu64 " epoch=%" PRIu64, b->from, b->to);
	else
		fprintf(to, " 0x%" PRIx64 " -> 0x%" PRIx64 "%s", b->from, b->to,
			bt_branch_taken(b) ? "" : " not taken");
	if (b->flags & BT_BRANCH_PREDICTION_KNOWN)
		fputs(b->flags & BT_BRANCH_MISPREDICTED ? " mispredicted" : " predicted", to);
	if (b->cycles)
		fprintf(to, " cycles=%u", b->cycles);
	fputc('\n', to);
}

/* Returns 1 when the entries do not fit the record. Not shown, they are read as long as *left has
 * some: a record of some bytes may stand for millions, and nobody would see that it goes on. */
static size_t print_entries(FILE *to, const struct bt_record *rec, bool shown, uint64_t *left)
{
	const struct bt_record_branches *r = branch_entries_record(rec);
	struct branch_entries entries;
	struct bt_branch b;
	uint64_t n = 0;
	int rc;

	if (!shown && *left < r->count)
		return 0;
	*left -= shown ? 0 : r->count;
	rc = branch_entries_init(&entries, rec);
	for (; !rc && (rc = branch_entries_next(&entries, &b)) == 1; n++, rc = 0)
		if (shown)
			print_entry(to, r->first + n, &b);
	branch_entries_release(&entries);
	if (rc == 0 && n == r->count)
		return 0;
	fprintf(to, "  damage: %" PRIu64 " of %" PRIu64 " entries can be read\n", n, r->count);
	return 1;
}

/* The arguments of some calls. Returns 1 when they cannot be read. */
static size_t print_details(FILE *to, const struct bt_record_calls *r)
{
	struct bt_details_codec codec = {0};
	struct slice in = r->details;
	struct bt_syscall_details d;
	uint64_t call;
	int rc;

	while ((rc = bt_details_decode(&codec, &in, &call, &d)) == 1) {
		fprintf(to, "  call %" PRIu64 ":", call);
		for (unsigned i = 0; i < d.count; i++)
			fprintf(to, " 0x%" PRIx64, d.args[i]);
		for (unsigned i = 0; i < d.pointed_count; i++)
			fprintf(to, " *%u=[%zu]", d.pointed[i].arg, d.pointed[i].bytes.len);
		fputc('\n', to);
	}
	if (!rc)
		return 0;
	fputs("  damage: arguments that cannot be read\n", to);
	return 1;
}

/* Returns 1 when the calls do not fit the record. */
static size_t print_calls(FILE *to, const struct bt_record_calls *r)
{
	struct bt_syscall_codec codec = {r->tick};
	struct slice in = r->calls;
	struct bt_syscall call;
	uint64_t n = 0;
	int rc;

	for (; (rc = bt_syscall_decode(&codec, &in, &call)) == 1; n++) {
		fputs("  ", to);
		bt_syscall_print(to, &call);
		fputc('\n', to);
	}
	if (rc == 0 && n == r->count)
		return print_details(to, r);
	fprintf(to, "  damage: %" PRIu64 " of %" PRIu64 " calls can be read\n", n, r->count);
	return 1;
}

/* closed: END, the last that is written, has been printed; `events` is the first file. */
static size_t print_file(FILE *to, const struct trace *t, const struct trace_file *file,
			 bool entries, bool *closed)
{
	uint64_t left = ENTRIES_NOT_SHOWN;
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	size_t damage = 0;
	uint32_t unit = 0;
	bool torn;
	int rc;

	fprintf(to, "file %s, %" PRIu64 " bytes%s\n", file->name, file->size,
		file->kind == BT_FILE_MAPPED ? ": a copy of what the program mapped" : "");
	if (file->kind == BT_FILE_MAPPED)
		return 0;
	trace_cursor_init(&c, t, file);
	while ((rc = trace_cursor_next(&c, &rec, &err)) != 0) {
		if (rc == 1) {
			/* Otherwise the UNIT of the block before would count. */
			if (c.unit != unit && rec.kind != BT_RECORD_UNIT)
				fputs("block begins: unit 0\n", to);
			unit = c.unit;
			bt_record_print(to, &rec);
			if (branch_entries_record(&rec))
				damage += print_entries(to, &rec, entries, &left);
			if (rec.kind == BT_RECORD_CALLS)
				damage += print_calls(to, &rec.u.calls);
			*closed |= rec.kind == BT_RECORD_END && !t->being_written;
			continue;
		}
		torn = err.code == BT_E_TRUNCATED && !*closed;
		fprintf(to, "%s at byte %" PRIu64 ": %s\n",
			torn                         ? "torn"
			: err.code == BT_E_NO_MEMORY ? "not read"
						     : "damage",
			err.offset, err.text);
		damage += !torn;
	}
	trace_cursor_release(&c);
	return damage;
}

size_t trace_dump(FILE *to, const struct trace *t, bool entries)
{
	size_t damage = 0;
	bool closed = false;

	for (size_t i = 0; i < t->file_count; i++)
		damage += print_file(to, t, &t->files[i], entries, &closed);
	return damage;
}
