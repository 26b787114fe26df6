/* SPDX-License-Identifier: MIT */
/* The header of perf.data, the attributes and the feature sections.
 *
 * A file begins with a header that says where its parts lie. Behind the records is a table of
 * feature sections, a row for each bit that is set in the header. A capture from a pipe has a short
 * header, and the rest in records (perf_data.c), which call the same functions. If perf was killed
 * before it completed the file, the file is read as far as it goes.
 *
 * Attributes are kept in a table, with the ids by which records name them. The sections give the
 * command line, the processor and the kernel for the trace's header, build-ids of mapped files,
 * names of events and formats of tracepoints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import/perf_private.h"
#include "lib/bisect.h"

enum {
	HEADER_SIZE = 104,      /* of file mode */
	HEADER_SIZE_PLAIN = 72, /* the same without feature bits: before Linux 2.6.33 */
	PIPE_HEADER_SIZE = 16,
	FEATURES = 256,
	ATTRS_MAX = 1 << 16,
	SECTION_SIZE = 16,
	BUILD_ID_SIZE = 20,
	BUILD_ID_ROOM = 24,
};

/* Sections behind the records, by number (tools/perf/util/header.h). */
enum feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_OSRELEASE = 4,
	FEATURE_CPUDESC = 8,
	FEATURE_CPUID = 9,
	FEATURE_CMDLINE = 11,
};

static const char magic[] = "PERFILE2", magic_swapped[] = "2ELIFREP", magic_old[] = "PERFFILE";

static bool begins_with(struct slice file, const char text[9])
{
	return file.len >= 8 && !memcmp(file.at, text, 8);
}

bool perf_data_is(struct slice file)
{
	return begins_with(file, magic) || begins_with(file, magic_swapped) ||
	       begins_with(file, magic_old);
}

int perf_no_memory(struct perf_reader *r) { return bt_no_memory(r->err, "the import"); }

static struct slice file_section(struct slice file, uint64_t offset, uint64_t size)
{
	if (offset > file.len || size > file.len - offset)
		return (struct slice){.bad = true};
	slice_take(&file, (size_t)offset);
	return slice_take(&file, (size_t)size);
}

/* --- tables --- */

int perf_add_attr(struct perf_reader *r, struct slice *attr, struct slice ids, uint64_t offset)
{
	struct perf_attr parsed, *attrs;

	if (!perf_attr_parse(&parsed, attr))
		return bt_fail_at(r->err, BT_E_CORRUPT, offset,
				  "perf.data: the event description at byte %llu is damaged",
				  (unsigned long long)offset);
	if (r->attr_count == ATTRS_MAX)
		return bt_fail_at(r->err, BT_E_CORRUPT, offset, "perf.data: more than %u events",
				  ATTRS_MAX);
	attrs = array_grow(r->attrs, r->attr_count, &r->attr_cap, sizeof *attrs);
	if (!attrs)
		return perf_no_memory(r);
	r->attrs = attrs;
	while (ids.len >= 8) {
		struct perf_id *grown = array_grow(r->ids, r->id_count, &r->id_cap, sizeof *grown);

		if (!grown)
			return perf_no_memory(r);
		r->ids = grown;
		r->ids[r->id_count++] = (struct perf_id){slice_u64(&ids), (uint32_t)r->attr_count};
	}
	r->ids_unsorted = true;
	r->attrs[r->attr_count++] = parsed;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct perf_id *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->attr < y->attr ? -1 : x->attr > y->attr;
}

struct perf_attr *perf_attr_by_id(struct perf_reader *r, uint64_t id)
{
	size_t i;

	if (r->ids_unsorted && r->id_count)
		qsort(r->ids, r->id_count, sizeof *r->ids, compare_ids);
	r->ids_unsorted = false;
	BISECT(i, r->id_count, r->ids[i].id < id);
	return i < r->id_count && r->ids[i].id == id ? &r->attrs[r->ids[i].attr] : NULL;
}

struct slice perf_c_string(struct slice s)
{
	const void *end = s.len ? memchr(s.at, 0, s.len) : NULL;

	if (end)
		s.len = (size_t)((const uint8_t *)end - s.at);
	return s;
}

void perf_add_build_id(struct perf_reader *r, struct slice body, uint16_t misc)
{
	struct perf_build_id b, *grown;
	struct slice id;
	size_t size = BUILD_ID_SIZE;

	slice_take(&body, 4); /* pid */
	id = slice_take(&body, BUILD_ID_ROOM);
	if (misc & PERF_MISC_BUILD_ID_SIZE && !id.bad)
		size = id.at[BUILD_ID_SIZE] < BUILD_ID_SIZE ? id.at[BUILD_ID_SIZE] : BUILD_ID_SIZE;
	b = (struct perf_build_id){.path = perf_c_string(body), .id = {.at = id.at, .len = size}};
	if (body.bad || !b.path.len)
		return;
	grown = array_grow(r->build_ids, r->build_id_count, &r->build_id_cap, sizeof *grown);
	if (!grown)
		return;
	r->build_ids = grown;
	r->build_ids[r->build_id_count++] = b;
}

static int compare_bytes(struct slice a, struct slice b)
{
	size_t n = a.len < b.len ? a.len : b.len;
	int order = n ? memcmp(a.at, b.at, n) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_build_ids(const void *a, const void *b)
{
	const struct perf_build_id *x = a, *y = b;

	return compare_bytes(x->path, y->path);
}

void perf_sort_tables(struct perf_reader *r)
{
	if (r->build_id_count)
		qsort(r->build_ids, r->build_id_count, sizeof *r->build_ids, compare_build_ids);
}

struct slice perf_find_build_id(const struct perf_reader *r, struct slice path)
{
	struct perf_build_id key = {.path = path}, *found = NULL;

	if (r->build_id_count)
		found = bsearch(&key, r->build_ids, r->build_id_count, sizeof key,
				compare_build_ids);
	return found ? found->id : (struct slice){0};
}

/* --- features --- */

/* A string with its length, which counts padding too. */
static struct slice take_string(struct slice *in)
{
	return perf_c_string(slice_take(in, slice_u32(in)));
}

static void take_build_ids(struct perf_reader *r, struct slice in)
{
	while (in.len >= 8) {
		uint16_t misc, size;

		slice_take(&in, 4);
		misc = slice_u16(&in);
		size = slice_u16(&in);
		if (size < 8)
			return;
		perf_add_build_id(r, slice_take(&in, size - 8u), misc);
	}
}

static void take_arguments(struct perf_reader *r, struct slice in)
{
	uint32_t n = slice_u32(&in);

	buf_reset(&r->argv);
	while (n-- && !in.bad && in.len) {
		struct slice argument = take_string(&in);

		buf_put(&r->argv, argument.at, argument.len);
		buf_u8(&r->argv, 0);
	}
}

/* The names of the events, in the order of the attributes. */
static void take_event_names(struct perf_reader *r, struct slice in)
{
	uint32_t n = slice_u32(&in), attr_size = slice_u32(&in);

	for (size_t i = 0; i < n && i < r->attr_count && !in.bad; i++) {
		uint32_t ids;
		struct slice name;

		slice_take(&in, attr_size);
		ids = slice_u32(&in);
		name = take_string(&in);
		slice_take(&in, ids > in.len / 8 ? in.len + 1 : ids * (size_t)8);
		if (!in.bad && name.len)
			snprintf(r->attrs[i].name, sizeof r->attrs[i].name, "%.*s",
				 (int)(name.len < PERF_NAME_MAX ? name.len : PERF_NAME_MAX - 1),
				 (const char *)name.at);
	}
}

static void take_text(struct buf *to, struct slice in)
{
	struct slice text = take_string(&in);

	buf_reset(to);
	buf_put(to, text.at, text.len);
}

static void take_cpuid(struct perf_reader *r, struct slice in)
{
	struct slice text = take_string(&in);

	if (text.len && text.len < sizeof r->cpuid)
		snprintf(r->cpuid, sizeof r->cpuid, "%.*s", (int)text.len, (const char *)text.at);
}

/* Missing parts of a section do no harm: nothing else depends on them. */
int perf_feature(struct perf_reader *r, unsigned feature, struct slice in)
{
	switch (feature) {
	case FEATURE_TRACING_DATA:
		return perf_tracing_data(r, in);
	case FEATURE_BUILD_ID:
		take_build_ids(r, in);
		break;
	case FEATURE_OSRELEASE:
		take_text(&r->kernel, in);
		break;
	case FEATURE_CPUDESC:
		take_text(&r->cpu, in);
		break;
	case FEATURE_CPUID:
		take_cpuid(r, in);
		break;
	case FEATURE_CMDLINE:
		take_arguments(r, in);
		break;
	case PERF_FEATURE_EVENT_DESC:
		take_event_names(r, in);
		break;
	default:
		break;
	}
	return r->argv.failed || r->cpu.failed || r->kernel.failed ? perf_no_memory(r) : 0;
}

/* The table of sections stands behind the records, one row for each bit that is set. */
static int take_features(struct perf_reader *r, struct slice bits, uint64_t end)
{
	int rc = 0;

	for (unsigned i = 0; i < FEATURES && !rc; i++) {
		struct slice row, part;
		uint64_t offset, size;

		if (!(bits.at[i / 8] >> i % 8 & 1))
			continue;
		row = file_section(r->file, end, SECTION_SIZE);
		if (row.bad)
			return 0; /* perf record was cut off before it wrote them */
		end += SECTION_SIZE;
		offset = slice_u64(&row);
		size = slice_u64(&row);
		part = file_section(r->file, offset, size);
		if (part.bad)
			return bt_fail_at(r->err, BT_E_CORRUPT, end - SECTION_SIZE,
					  "perf.data: section %u lies outside the file", i);
		rc = perf_feature(r, i, part);
	}
	return rc;
}

static int take_attrs(struct perf_reader *r, struct slice attrs, uint64_t offset, uint64_t row)
{
	/* A row is the attributes and where the ids are. */
	if (row < SECTION_SIZE + 64 || row > attrs.len + SECTION_SIZE)
		return bt_fail_at(r->err, BT_E_CORRUPT, 16,
				  "perf.data: event descriptions of %llu bytes",
				  (unsigned long long)row);
	for (; attrs.len >= row; offset += row) {
		struct slice one = slice_take(&attrs, (size_t)row), where = one, ids;
		uint64_t at, size;
		int rc;

		slice_take(&where, (size_t)row - SECTION_SIZE);
		one.len -= SECTION_SIZE;
		at = slice_u64(&where);
		size = slice_u64(&where);
		ids = file_section(r->file, at, size);
		if (ids.bad)
			return bt_fail_at(
				r->err, BT_E_CORRUPT, offset,
				"perf.data: the ids of the event at byte %llu lie outside the file",
				(unsigned long long)offset);
		rc = perf_add_attr(r, &one, ids, offset);
		if (rc)
			return rc;
	}
	return 0;
}

static int open_file_mode(struct perf_reader *r, struct slice head, struct slice *data,
			  uint64_t *offset)
{
	uint64_t attr_row = slice_u64(&head), attrs_at = slice_u64(&head),
		 attrs_size = slice_u64(&head), size, end;
	struct slice attrs = file_section(r->file, attrs_at, attrs_size), bits;
	int rc;

	*offset = slice_u64(&head);
	size = slice_u64(&head);
	slice_take(&head, SECTION_SIZE); /* names of events, as they were before 2010 */
	bits = slice_take(&head, head.len < FEATURES / 8 ? 0 : FEATURES / 8);
	if (attrs.bad)
		return bt_fail_at(r->err, BT_E_CORRUPT, 24,
				  "perf.data: its event descriptions lie outside the file");
	if (*offset > r->file.len)
		return bt_fail_at(r->err, BT_E_CORRUPT, 40,
				  "perf.data: its records lie outside the file");
	rc = take_attrs(r, attrs, attrs_at, attr_row);
	if (rc)
		return rc;
	/* The size is 0 if the recording was cut off. */
	r->seen.unclosed = !size;
	if (!size)
		size = r->file.len - *offset;
	r->seen.torn = size > r->file.len - *offset;
	if (r->seen.torn)
		size = r->file.len - *offset;
	*data = file_section(r->file, *offset, size);
	end = *offset + size;
	return r->seen.unclosed || !bits.len ? 0 : take_features(r, bits, end);
}

int perf_file_open(struct perf_reader *r, struct slice *data, uint64_t *offset)
{
	struct slice head = r->file;
	uint64_t size;

	if (begins_with(r->file, magic_swapped))
		return bt_fail_at(
			r->err, BT_E_UNSUPPORTED, 0,
			"perf.data of a machine with another byte order cannot be imported");
	if (begins_with(r->file, magic_old))
		return bt_fail_at(
			r->err, BT_E_UNSUPPORTED, 0,
			"perf.data of version 1 (before Linux 2.6.39) cannot be imported");
	slice_take(&head, 8);
	size = slice_u64(&head);
	if (head.bad || (size != PIPE_HEADER_SIZE && r->file.len < size))
		return bt_fail_at(r->err, BT_E_TRUNCATED, r->file.len,
				  "perf.data: the file ends in its header");
	if (size == PIPE_HEADER_SIZE) {
		*data = head;
		*offset = PIPE_HEADER_SIZE;
		return 0;
	}
	if (size != HEADER_SIZE && size != HEADER_SIZE_PLAIN)
		return bt_fail_at(r->err, BT_E_CORRUPT, 8, "perf.data: a header of %llu bytes",
				  (unsigned long long)size);
	head = slice_take(&head, size - PIPE_HEADER_SIZE);
	return open_file_mode(r, head, data, offset);
}
