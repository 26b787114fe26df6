/* SPDX-License-Identifier: MIT */
/* The file `symbols` of a trace (doc/FORMAT.md). A text stands once in it, before the first record
 * that names it. Places are sorted: neighbours pack well. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "config.h"
#include "decoder/symbols/kept_private.h"
#include "format/trace_cursor.h"
#include "lib/array_size.h"
#include "lib/grow.h"

enum {
	BLOCK_RECORDS = 1 << 20, /* a block is closed behind so many bytes */
	FRAME_SIZE = 17,
};

enum kept_place_flags {
	PLACE_RETURN = 1,
	PLACE_IN_FILE = 2,
	PLACE_HAS_LINES = 4,
};

enum kept_frame_flags {
	FRAME_RETURN = 1,
	FRAME_CUT = 2,
	FRAME_HISTORY = 4,
	FRAME_GUESS = 8,
	FRAME_TRAMPOLINE = 16,
};

/* ---- Writing ---- */

struct encoder {
	struct buf file, records;
	uint64_t ordinal;
	struct hash_table texts; /* their numbers by their addresses */
	uint32_t text_count;
};

static void end_block(struct encoder *e)
{
	if (e->records.len &&
	    bt_block_encode(&e->file, e->ordinal++, slice_of(e->records.data, e->records.len),
			    BT_BLOCK_FULL))
		e->file.failed = true;
	e->file.failed |= e->records.failed;
	buf_reset(&e->records);
}

static void put_record(struct encoder *e, enum bt_record_kind kind, const void *body)
{
	bt_record_encode(&e->records, kind, body);
	if (e->records.len >= BLOCK_RECORDS)
		end_block(e);
}

static uint32_t number_of_text(struct encoder *e, const char *text)
{
	struct hash_slot fresh = {(uintptr_t)text, {e->text_count + 1}};
	const struct hash_slot *slot;

	if (!*text)
		return 0;
	slot = hash_table_find(&e->texts, fresh.key);
	if (slot)
		return (uint32_t)slot->number;
	if (!hash_table_add(&e->texts, fresh))
		e->file.failed = true;
	put_record(e, BT_RECORD_TEXT, &(struct bt_record_text){bt_str(text)});
	return ++e->text_count;
}

static void put_modules(struct encoder *e, const struct kept *k)
{
	for (size_t i = 0; i < k->module_count; i++) {
		const struct kept_module *m = &k->modules[i];
		struct bt_record_module rec = {.path = number_of_text(e, m->path),
					       .build_id = bt_str(m->build_id),
					       .dev = m->dev,
					       .ino = m->ino,
					       .level = m->level,
					       .missing = m->missing};

		put_record(e, BT_RECORD_MODULE, &rec);
	}
}

static int compare_places(const void *a, const void *b)
{
	const struct kept_place *p = *(const struct kept_place *const *)a,
				*q = *(const struct kept_place *const *)b;
	const struct kept_where *x = &p->where, *y = &q->where;

	if (p->module != q->module)
		return p->module < q->module ? -1 : 1;
	if (x->space != y->space)
		return x->space < y->space ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (int)x->is_return - (int)y->is_return;
}

static void put_place(struct encoder *e, const struct kept_place *p)
{
	const struct location *loc = &p->loc;
	struct buf inlined = {0};
	struct bt_record_place rec = {.module = p->module,
				      .space = p->where.space,
				      .base = p->where.base,
				      .at = p->where.at,
				      .vaddr = loc->vaddr,
				      .function = number_of_text(e, loc->function),
				      .offset = loc->offset,
				      .file = number_of_text(e, loc->file),
				      .line = (uint32_t)(loc->line > 0 ? loc->line : 0)};

	rec.flags = (uint8_t)((p->where.is_return ? PLACE_RETURN : 0) |
			      (loc->in_file ? PLACE_IN_FILE : 0) |
			      (loc->has_lines ? PLACE_HAS_LINES : 0));
	for (size_t i = 0; i < loc->inlined_count; i++) {
		buf_leb(&inlined, number_of_text(e, loc->inlined[i].function));
		buf_leb(&inlined, number_of_text(e, loc->inlined[i].file));
		buf_leb(&inlined, (uint32_t)(loc->inlined[i].line > 0 ? loc->inlined[i].line : 0));
	}
	rec.inlined = slice_of(inlined.data, inlined.len);
	put_record(e, BT_RECORD_PLACE, &rec);
	e->file.failed |= inlined.failed;
	buf_release(&inlined);
}

static void put_places(struct encoder *e, const struct kept *k)
{
	const struct kept_place **sorted =
		k->place_count ? reallocarray(NULL, k->place_count, sizeof *sorted) : NULL;

	if (!sorted) {
		e->file.failed |= k->place_count > 0;
		return;
	}
	for (size_t i = 0; i < k->place_count; i++)
		sorted[i] = &k->places[i];
	qsort(sorted, k->place_count, sizeof *sorted, compare_places);
	for (size_t i = 0; i < k->place_count; i++)
		put_place(e, sorted[i]);
	free(sorted);
}

static uint8_t frame_flags(const struct stack_frame *f)
{
	return (uint8_t)((f->is_return ? FRAME_RETURN : 0) | (f->is_cut ? FRAME_CUT : 0) |
			 (f->is_history ? FRAME_HISTORY : 0) | (f->is_guess ? FRAME_GUESS : 0) |
			 (f->is_trampoline ? FRAME_TRAMPOLINE : 0));
}

static void put_stacks(struct encoder *e, const struct kept *k)
{
	for (size_t i = 0; i < k->stack_count; i++) {
		const struct kept_stack *s = &k->stacks[i];
		struct buf frames = {0};
		struct bt_record_stack rec = {
			.snapshot = s->snapshot, .task = s->task, .complete = s->complete};

		for (size_t j = 0; j < s->count; j++) {
			buf_u64(&frames, s->frames[j].pc);
			buf_u64(&frames, s->frames[j].cfa);
			buf_u8(&frames, frame_flags(&s->frames[j]));
		}
		rec.frames = slice_of(frames.data, frames.len);
		put_record(e, BT_RECORD_STACK, &rec);
		e->file.failed |= frames.failed;
		buf_release(&frames);
	}
}

static void put_bytes(struct encoder *e, const struct kept *k)
{
	for (size_t i = 0; i < k->piece_count; i++) {
		const struct kept_piece *p = &k->pieces[i];
		struct bt_record_file_bytes rec = {p->module, p->offset,
						   slice_of(p->bytes, p->len)};

		put_record(e, BT_RECORD_FILE_BYTES, &rec);
	}
}

static void put_sources(struct encoder *e, const struct kept *k)
{
	for (size_t i = 0; i < k->source_count; i++) {
		const struct kept_source *s = &k->sources[i];
		struct bt_record_source rec = {.path = number_of_text(e, s->path),
					       .size = s->size,
					       .modified = s->modified,
					       .newer = s->newer};

		for (const struct kept_lines *l = s->lines; l; l = l->next) {
			rec.first = l->first;
			rec.text = l->text;
			put_record(e, BT_RECORD_SOURCE, &rec);
		}
	}
}

static void put_said(struct encoder *e, const struct kept *k)
{
	for (size_t i = 0; i < k->said_count; i++) {
		const struct said_words *w = &k->said[i];
		struct bt_record_said rec = {w->what, w->snapshot, w->task, w->frame,
					     bt_str(w->text)};

		put_record(e, BT_RECORD_SAID, &rec);
	}
}

static void encode_kept(struct encoder *e, const struct kept *k, const struct trace *t)
{
	struct timespec now;
	struct bt_record_symbols rec = {.version = bt_str(PACKAGE_VERSION)};

	clock_gettime(CLOCK_REALTIME, &now);
	rec.made = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	bt_file_header_encode(&e->file, BT_FILE_SYMBOLS, t->uuid);
	put_record(e, BT_RECORD_SYMBOLS, &rec);
	put_modules(e, k);
	put_stacks(e, k);
	put_said(e, k);
	put_sources(e, k);
	put_bytes(e, k);
	put_places(e, k);
	end_block(e);
}

static int write_all(int fd, const struct buf *b)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n = write(fd, b->data + done, b->len - done);

		if (n < 0 && errno != EINTR)
			return errno;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int write_file(const struct buf *b, const struct trace *t, struct bt_error *err)
{
	char name[32];
	int fd, failure;

	if (t->dir < 0)
		return bt_fail(err, BT_E_MISUSE, 0, "%.300s is no directory", t->path);
	trace_file_name(name, BT_FILE_SYMBOLS, 0);
	/* It gets its name when it is whole: a reader of this moment finds all of it or nothing. */
	fd = openat(t->dir, KEPT_UNFINISHED, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	failure = fd < 0 ? errno : write_all(fd, b);
	if (fd >= 0 && close(fd) && !failure)
		failure = errno;
	if (!failure && linkat(t->dir, KEPT_UNFINISHED, t->dir, name, 0))
		failure = errno;
	/* A file system without hard links. */
	if ((failure == EPERM || failure == EOPNOTSUPP) && fd >= 0)
		failure = renameat(t->dir, KEPT_UNFINISHED, t->dir, name) ? errno : 0;
	if (fd >= 0)
		unlinkat(t->dir, KEPT_UNFINISHED, 0);
	if (failure == EEXIST)
		return bt_fail(err, BT_E_EXISTS, 0, "%.300s has its symbols already", t->path);
	return failure ? bt_fail(err, bt_code_of_errno(failure), failure, "cannot write %.300s/%s",
				 t->path, name)
		       : 0;
}

int kept_write(const struct kept *k, const struct trace *t, struct bt_error *err)
{
	struct encoder e = {0};
	int rc;

	encode_kept(&e, k, t);
	rc = e.file.failed ? bt_no_memory(err, NULL) : write_file(&e.file, t, err);
	buf_release(&e.file);
	buf_release(&e.records);
	hash_table_release(&e.texts);
	return rc;
}

/* ---- Reading ---- */

struct decoder {
	struct kept *kept;
	const char **texts; /* by number */
	size_t count, cap;
	bool damaged;
};

/* A string of the object; of bytes that have a NUL what is before it. */
static const char *copy_text(struct decoder *d, struct slice text)
{
	return (const char *)arena_slice(&d->kept->arena, text).at;
}

static const char *text_of(struct decoder *d, uint64_t number)
{
	if (!number)
		return "";
	if (number <= d->count)
		return d->texts[number - 1];
	d->damaged = true;
	return "";
}

static int line_of(uint64_t line) { return line <= INT_MAX ? (int)line : 0; }

static void take_text(struct decoder *d, const struct bt_record *rec)
{
	const char **texts = array_grow(d->texts, d->count, &d->cap, sizeof *texts);

	if (!texts || !arena_charge(&d->kept->arena, sizeof *texts)) {
		d->damaged = true;
		return;
	}
	d->texts = texts;
	texts[d->count++] = copy_text(d, rec->u.text.text);
}

/* Numbers count modules, so each must have its own. */
static void take_module(struct decoder *d, const struct bt_record *rec)
{
	const struct bt_record_module *r = &rec->u.module;
	struct kept_module m = {.path = text_of(d, r->path),
				.build_id = copy_text(d, r->build_id),
				.dev = r->dev,
				.ino = r->ino,
				.level = r->level,
				.missing = r->missing > MISSING_SOURCE ? 0 : r->missing};
	size_t expected = d->kept->module_count + 1;

	d->damaged |= kept_add_module(d->kept, &m) != expected;
}

static struct inlined_frame *take_inlined(struct decoder *d, struct slice in, size_t *count)
{
	struct inlined_frame frames[INLINED_MAX], *copy;
	size_t n = 0;

	while (in.len && !in.bad && n < INLINED_MAX) {
		uint64_t function = slice_leb(&in), file = slice_leb(&in), line = slice_leb(&in);

		frames[n++] = (struct inlined_frame){text_of(d, function), text_of(d, file),
						     line_of(line)};
	}
	copy = n && !in.bad ? arena_alloc(&d->kept->arena, n * sizeof *frames) : NULL;
	d->damaged |= in.bad || in.len;
	*count = copy ? n : 0;
	return copy ? memcpy(copy, frames, n * sizeof *frames) : NULL;
}

static void take_place(struct decoder *d, const struct bt_record *rec)
{
	const struct bt_record_place *r = &rec->u.place;
	struct kept_where where = {.module = r->space ? 0 : r->module,
				   .space = r->space,
				   .base = r->base,
				   .at = r->at,
				   .is_return = r->flags & PLACE_RETURN};
	struct location loc = {.vaddr = r->vaddr,
			       .in_file = r->flags & PLACE_IN_FILE,
			       .function = text_of(d, r->function),
			       .offset = r->offset,
			       .file = text_of(d, r->file),
			       .line = line_of(r->line),
			       .has_lines = r->flags & PLACE_HAS_LINES};

	loc.inlined = take_inlined(d, r->inlined, &loc.inlined_count);
	kept_add_place(d->kept, &where, r->module, &loc);
}

static void take_stack(struct decoder *d, const struct bt_record *rec)
{
	struct slice in = rec->u.stack.frames;
	size_t count = in.len / FRAME_SIZE;
	struct stack_frame *frames =
		count && count <= STACK_FRAMES_MAX ? calloc(count, sizeof *frames) : NULL;

	d->damaged |= !frames || in.len % FRAME_SIZE;
	for (size_t i = 0; frames && i < count; i++) {
		uint8_t flags;

		frames[i].pc = slice_u64(&in);
		frames[i].cfa = slice_u64(&in);
		flags = slice_u8(&in);
		frames[i].is_return = flags & FRAME_RETURN;
		frames[i].is_cut = flags & FRAME_CUT;
		frames[i].is_history = flags & FRAME_HISTORY;
		frames[i].is_guess = flags & FRAME_GUESS;
		frames[i].is_trampoline = flags & FRAME_TRAMPOLINE;
	}
	if (frames)
		kept_add_stack(d->kept, &(struct kept_stack){.snapshot = rec->u.stack.snapshot,
							     .task = rec->u.stack.task,
							     .complete = rec->u.stack.complete,
							     .frames = frames,
							     .count = count});
	free(frames);
}

static void take_bytes(struct decoder *d, const struct bt_record *rec)
{
	const struct bt_record_file_bytes *r = &rec->u.file_bytes;

	d->damaged |= !r->bytes.len || r->bytes.len > KEPT_PIECE || r->offset % KEPT_PIECE;
	kept_add_piece(d->kept, r->module, r->offset, r->bytes.at, r->bytes.len);
}

/* The records of a file follow one another. */
static void take_source(struct decoder *d, const struct bt_record *rec)
{
	const struct bt_record_source *r = &rec->u.source;
	struct kept *k = d->kept;
	const char *path = text_of(d, r->path);
	struct kept_source *source =
		k->source_count && !strcmp(k->sources[k->source_count - 1].path, path)
			? &k->sources[k->source_count - 1]
			: kept_new_source(k, &(struct kept_source){.path = path,
								   .size = r->size,
								   .modified = r->modified,
								   .newer = r->newer});

	if (source)
		kept_add_lines(k, source, r->first, arena_slice(&k->arena, r->text));
	else
		d->damaged = true;
}

static void take_said(struct decoder *d, const struct bt_record *rec)
{
	const struct bt_record_said *r = &rec->u.said;

	kept_add_said(d->kept, (enum kept_said)r->what, r->snapshot, r->task, r->frame,
		      copy_text(d, r->text));
}

static void take_record(struct decoder *d, const struct bt_record *rec)
{
	static const struct {
		enum bt_record_kind kind;
		void (*take)(struct decoder *d, const struct bt_record *rec);
	} rows[] = {
		{BT_RECORD_TEXT, take_text},        {BT_RECORD_MODULE, take_module},
		{BT_RECORD_PLACE, take_place},      {BT_RECORD_STACK, take_stack},
		{BT_RECORD_FILE_BYTES, take_bytes}, {BT_RECORD_SOURCE, take_source},
		{BT_RECORD_SAID, take_said},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].kind == rec->kind)
			rows[i].take(d, rec);
}

static void read_file(struct decoder *d, const struct trace *t, const struct trace_file *file)
{
	const struct arena *a = &d->kept->arena;
	struct trace_cursor c;
	struct bt_record rec;
	struct bt_error err;
	bool begun = false; /* an empty file is one that was cut off */
	int rc;

	trace_cursor_init(&c, t, file);
	while (!a->over && !a->failed && (rc = trace_cursor_next(&c, &rec, &err)) != 0) {
		if (rc == 1) {
			begun = true;
			take_record(d, &rec);
			continue;
		}
		/* Texts and modules are numbered by their order. */
		d->damaged = true;
		break;
	}
	d->damaged |= a->over || !begun;
	trace_cursor_release(&c);
}

struct kept *kept_read(const struct trace *t, bool *damaged)
{
	struct decoder d = {0};

	*damaged = false;
	for (size_t i = 0; i < t->file_count; i++) {
		if (t->files[i].kind != BT_FILE_SYMBOLS)
			continue;
		d.kept = kept_new();
		if (d.kept)
			read_file(&d, t, &t->files[i]);
		break;
	}
	free(d.texts);
	*damaged = d.damaged;
	return d.kept;
}
