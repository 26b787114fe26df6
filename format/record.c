/* SPDX-License-Identifier: MIT */
#include "format/record.h"

#include <inttypes.h>
#include <string.h>

#include "lib/array_size.h"

enum field_type {
	FIELD_u8,
	FIELD_u16,
	FIELD_u32,
	FIELD_u64,
	FIELD_str,
	FIELD_blob,
	FIELD_point,
	FIELD_regs,
	FIELD_TYPES
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset; /* in the record's struct */
};

struct layout {
	const char *name;
	const struct field *fields;
	size_t count;
};

/* How one type of field is encoded, decoded and printed. */
struct field_ops {
	void (*encode)(struct buf *out, const void *value);
	void (*decode)(struct slice *in, void *value);
	void (*print)(FILE *to, const void *value);
};

#define UINT_OPS(bits, fmt)                                        \
	static void encode_u##bits(struct buf *out, const void *v) \
	{                                                          \
		buf_u##bits(out, *(const uint##bits##_t *)v);      \
	}                                                          \
	static void decode_u##bits(struct slice *in, void *v)      \
	{                                                          \
		*(uint##bits##_t *)v = slice_u##bits(in);          \
	}                                                          \
	static void print_u##bits(FILE *to, const void *v)         \
	{                                                          \
		fprintf(to, fmt, *(const uint##bits##_t *)v);      \
	}
UINT_OPS(8, "%" PRIu8)
UINT_OPS(16, "%" PRIu16)
UINT_OPS(32, "%" PRIu32)
UINT_OPS(64, "0x%" PRIx64)

static void encode_bytes(struct buf *out, const void *v)
{
	const struct slice *s = v;

	buf_u32(out, (uint32_t)s->len);
	buf_put(out, s->at, s->len);
}

static void decode_bytes(struct slice *in, void *v)
{
	uint32_t len = slice_u32(in);

	*(struct slice *)v = slice_take(in, len);
}

static void print_str(FILE *to, const void *v) { bt_print_escaped(to, *(const struct slice *)v); }

static void print_blob(FILE *to, const void *v)
{
	const struct slice *s = v;

	fprintf(to, "[%zu]", s->len);
	for (size_t i = 0; i < s->len && i < 24; i++)
		fprintf(to, "%02x", s->at[i]);
	if (s->len > 24)
		fputs("...", to);
}

static void encode_words(struct buf *out, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_u64(out, v[i]);
}

static void decode_words(struct slice *in, uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = slice_u64(in);
}

static void encode_point(struct buf *out, const void *v) { encode_words(out, v, 4); }
static void decode_point(struct slice *in, void *v) { decode_words(in, v, 4); }

static void print_point(FILE *to, const void *v)
{
	char text[BT_POINT_TEXT];

	bt_point_print(v, text);
	fputs(text, to);
}

static void encode_regs(struct buf *out, const void *v) { encode_words(out, v, BT_REG_COUNT); }
static void decode_regs(struct slice *in, void *v) { decode_words(in, v, BT_REG_COUNT); }

static void print_regs(FILE *to, const void *v)
{
	for (unsigned i = 0; i < BT_REG_COUNT; i++)
		fprintf(to, "%s%s:%" PRIx64, i ? "," : "", bt_reg_info[i].name, bt_regs_get(v, i));
}

static const struct field_ops ops[FIELD_TYPES] = {
	[FIELD_u8] = {encode_u8, decode_u8, print_u8},
	[FIELD_u16] = {encode_u16, decode_u16, print_u16},
	[FIELD_u32] = {encode_u32, decode_u32, print_u32},
	[FIELD_u64] = {encode_u64, decode_u64, print_u64},
	[FIELD_str] = {encode_bytes, decode_bytes, print_str},
	[FIELD_blob] = {encode_bytes, decode_bytes, print_blob},
	[FIELD_point] = {encode_point, decode_point, print_point},
	[FIELD_regs] = {encode_regs, decode_regs, print_regs},
};

#define R(number, NAME, record, text) \
	static const struct field fields_##record[] = {BT_FIELDS_##record(F_##record)};
#define F_ROW(record, t, f) \
	{.name = #f, .type = FIELD_##t, .offset = offsetof(struct bt_record_##record, f)},
#define F_header(t, f)          F_ROW(header, t, f)
#define F_unit(t, f)            F_ROW(unit, t, f)
#define F_space(t, f)           F_ROW(space, t, f)
#define F_task(t, f)            F_ROW(task, t, f)
#define F_exec(t, f)            F_ROW(exec, t, f)
#define F_map(t, f)             F_ROW(map, t, f)
#define F_unmap(t, f)           F_ROW(unmap, t, f)
#define F_code(t, f)            F_ROW(code, t, f)
#define F_syscall_enter(t, f)   F_ROW(syscall_enter, t, f)
#define F_syscall_exit(t, f)    F_ROW(syscall_exit, t, f)
#define F_signal(t, f)          F_ROW(signal, t, f)
#define F_handler(t, f)         F_ROW(handler, t, f)
#define F_switch_(t, f)         F_ROW(switch_, t, f)
#define F_exit(t, f)            F_ROW(exit, t, f)
#define F_detach(t, f)          F_ROW(detach, t, f)
#define F_start(t, f)           F_ROW(start, t, f)
#define F_comm(t, f)            F_ROW(comm, t, f)
#define F_sched(t, f)           F_ROW(sched, t, f)
#define F_calls(t, f)           F_ROW(calls, t, f)
#define F_last_words(t, f)      F_ROW(last_words, t, f)
#define F_main(t, f)            F_ROW(main, t, f)
#define F_snapshot(t, f)        F_ROW(snapshot, t, f)
#define F_thread(t, f)          F_ROW(thread, t, f)
#define F_memory(t, f)          F_ROW(memory, t, f)
#define F_suppressed(t, f)      F_ROW(suppressed, t, f)
#define F_note(t, f)            F_ROW(note, t, f)
#define F_stopped(t, f)         F_ROW(stopped, t, f)
#define F_end(t, f)             F_ROW(end, t, f)
#define F_branches(t, f)        F_ROW(branches, t, f)
#define F_object(t, f)          F_ROW(object, t, f)
#define F_branch_words(t, f)    F_ROW(branch_words, t, f)
#define F_branch_graph(t, f)    F_ROW(branch_graph, t, f)
#define F_symbols(t, f)         F_ROW(symbols, t, f)
#define F_text(t, f)            F_ROW(text, t, f)
#define F_module(t, f)          F_ROW(module, t, f)
#define F_place(t, f)           F_ROW(place, t, f)
#define F_stack(t, f)           F_ROW(stack, t, f)
#define F_file_bytes(t, f)      F_ROW(file_bytes, t, f)
#define F_source(t, f)          F_ROW(source, t, f)
#define F_said(t, f)            F_ROW(said, t, f)
#define F_log(t, f)             F_ROW(log, t, f)
#define F_log_data(t, f)        F_ROW(log_data, t, f)
#define F_log_shape(t, f)       F_ROW(log_shape, t, f)
#define F_log_state(t, f)       F_ROW(log_state, t, f)
#define F_log_output(t, f)      F_ROW(log_output, t, f)
#define F_log_unseen(t, f)      F_ROW(log_unseen, t, f)
#define F_log_stack_limit(t, f) F_ROW(log_stack_limit, t, f)
#define F_log_call(t, f)        F_ROW(log_call, t, f)
#define F_log_signal(t, f)      F_ROW(log_signal, t, f)
#define F_log_handler(t, f)     F_ROW(log_handler, t, f)
#define F_log_exit(t, f)        F_ROW(log_exit, t, f)
#define F_log_end(t, f)         F_ROW(log_end, t, f)
#define F_log_instruction(t, f) F_ROW(log_instruction, t, f)
#define F_log_processor(t, f)   F_ROW(log_processor, t, f)
#define F_log_calls(t, f)       F_ROW(log_calls, t, f)
#define F_log_object(t, f)      F_ROW(log_object, t, f)
#define F_log_piece(t, f)       F_ROW(log_piece, t, f)
#define F_log_again(t, f)       F_ROW(log_again, t, f)
BT_RECORDS(R)
#undef R

static const struct layout *layout_of(uint16_t kind)
{
	static const struct layout layouts[] = {
#define R(number, NAME, record, text) \
	[number] = {#NAME, fields_##record, ARRAY_SIZE(fields_##record)},
		BT_RECORDS(R)
#undef R
	};

	if (kind >= ARRAY_SIZE(layouts) || !layouts[kind].name)
		return NULL;
	return &layouts[kind];
}

void bt_record_encode(struct buf *out, enum bt_record_kind kind, const void *body)
{
	const struct layout *l = layout_of((uint16_t)kind);
	size_t start = out->len, len;

	buf_u16(out, (uint16_t)kind);
	buf_u16(out, 0);
	buf_u32(out, 0);
	for (size_t i = 0; i < l->count; i++)
		ops[l->fields[i].type].encode(out, (const char *)body + l->fields[i].offset);
	if (out->failed)
		return;
	len = out->len - start - 8;
	for (size_t i = 0; i < 4; i++)
		out->data[start + 4 + i] = (uint8_t)(len >> 8 * i);
}

int bt_record_decode(struct slice *in, struct bt_record *rec)
{
	const struct layout *l;
	struct slice body;
	uint16_t reserved;

	memset(rec, 0, sizeof *rec);
	if (!in->len)
		return in->bad ? -BT_E_CORRUPT : 0;
	rec->kind = slice_u16(in);
	reserved = slice_u16(in);
	body = slice_take(in, slice_u32(in));
	if (in->bad || reserved)
		goto corrupt;
	l = layout_of(rec->kind);
	if (!l)
		return 1;
	/* Fields end with the body: a shorter one was written by an older version, and zero is its
	 * default. */
	for (size_t i = 0; i < l->count && body.len; i++)
		ops[l->fields[i].type].decode(&body, (char *)&rec->u + l->fields[i].offset);
	if (!body.bad)
		return 1;
corrupt:
	in->len = 0;
	in->bad = true;
	return -BT_E_CORRUPT;
}

const char *bt_record_name(uint16_t kind)
{
	const struct layout *l = layout_of(kind);

	return l ? l->name : NULL;
}

/* The first field of a type with that name (NULL: any); NULL: there is none. */
static const void *field_of(const struct bt_record *rec, enum field_type type, const char *name)
{
	const struct layout *l = layout_of(rec->kind);

	for (size_t i = 0; l && i < l->count; i++)
		if (l->fields[i].type == type && (!name || !strcmp(l->fields[i].name, name)))
			return (const char *)&rec->u + l->fields[i].offset;
	return NULL;
}

uint32_t bt_record_task(const struct bt_record *rec)
{
	const uint32_t *task = field_of(rec, FIELD_u32, "task");

	return task ? *task : 0;
}

const struct bt_point *bt_record_point(const struct bt_record *rec)
{
	return field_of(rec, FIELD_point, NULL);
}

void bt_record_print(FILE *to, const struct bt_record *rec)
{
	const struct layout *l = layout_of(rec->kind);

	if (!l) {
		fprintf(to, "UNKNOWN kind=0x%x\n", rec->kind);
		return;
	}
	fputs(l->name, to);
	for (size_t i = 0; i < l->count; i++) {
		fprintf(to, " %s=", l->fields[i].name);
		ops[l->fields[i].type].print(to, (const char *)&rec->u + l->fields[i].offset);
	}
	fputc('\n', to);
}

struct slice bt_str(const char *s) { return s ? slice_of(s, strlen(s)) : (struct slice){0}; }

void bt_print_escaped(FILE *to, struct slice s)
{
	fputc('"', to);
	for (size_t i = 0; i < s.len; i++) {
		uint8_t c = s.at[i];

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			fputc(c, to);
		else
			fprintf(to, "\\x%02x", c);
	}
	fputc('"', to);
}
