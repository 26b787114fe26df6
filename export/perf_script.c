/* SPDX-License-Identifier: MIT */
/* The lines of `perf script -F comm,pid,tid,time,event,ip,brstack`: a snapshot each, its branches
 * newest first. Column widths are perf's (tools/perf/builtin-script.c).
 *
 * One pass over the events (export_perf_script()). Records of tasks and programs keep a table of
 * names; each snapshot becomes a line at once. Its branches are those of its task since the last
 * gap or snapshot: a run_reader for each task goes on in that task's file (export_private.h).
 *
 * Text is written without printf, as it is most of the work of an export. Programs loop, so a cache
 * keeps the text of entries that were printed lately.
 *
 * Names may hold any byte: characters that a terminal obeys, or that would begin another line, are
 * replaced. */
#include <stdlib.h>
#include <string.h>

#include "export/export_private.h"
#include "lib/bisect.h"
#include "lib/escape.h"
#include "lib/grow.h"
#include "lib/output.h"

enum {
	OUT_FLUSH = 1 << 18,
	ENTRY_MAX = 72,   /* characters of an entry, and of the excess that is copied behind it */
	ENTRY_USUAL = 48, /* of most of them */
	FLAGS_MAX = 32,   /* of its flags */
	HEAD_MAX = 256,
	CACHE = 512, /* a power of two */
	COMM_MAX = 64,
	COMM_WIDTH = 16,
	TIME_WIDTH = 12,
	TYPE_SHIFT = 20,
	NEW_TYPE_SHIFT = 26,
	TYPE_EXTENDED = 15,
};

/* An entry as it is printed. Programs loop: most entries are printed again soon. These texts are a
 * cache, and no lib/hash_table: each entry has one place, and the newest takes it. */
struct entry_text {
	struct run_entry entry;
	uint32_t len; /* 0: none */
	char text[ENTRY_MAX];
};

struct script_task {
	uint32_t task, pid, tid;
	char comm[COMM_MAX];
	char head[COMM_MAX + 40]; /* the beginning of its lines: name and ids */
	size_t head_len;
	struct run_reader runs;
};

struct script {
	FILE *to;
	const struct trace *t;
	struct script_task **tasks; /* sorted by task */
	size_t count, cap;
	struct buf out;
	bool damaged;
	bool unwritten; /* err says why */
	struct bt_error *err;
	bool closed; /* the trace has END, its last record */
	/* Texts of the line or entry before: most repeat. */
	uint64_t flags;
	char flags_text[FLAGS_MAX];
	size_t flags_len;
	struct entry_text *texts; /* CACHE of them */
	struct buf label, event;  /* the event's name, and as it is printed */
};

static struct script_task *find_task(const struct script *s, uint32_t task, size_t *place)
{
	size_t i;

	BISECT(i, s->count, s->tasks[i]->task < task);
	if (place)
		*place = i;
	return i < s->count && s->tasks[i]->task == task ? s->tasks[i] : NULL;
}

/* A name can hold anything: a line break would begin another sample, and a terminal obeys other
 * bytes. */
static void set_comm(struct script_task *t, struct slice name)
{
	size_t len = 0;

	while (name.len && *name.at && len < COMM_MAX - 1) {
		size_t room = COMM_MAX - 1 - len,
		       good = bt_printable(name.at, name.len < room ? name.len : room);
		struct slice one = slice_take(&name, good ? good : 1);

		memcpy(t->comm + len, good ? (const char *)one.at : "?", one.len);
		len += one.len;
	}
	t->comm[len] = '\0';
	snprintf(t->head, sizeof t->head, "%*s %5d/%-5d ", COMM_WIDTH, t->comm, (int)t->pid,
		 (int)t->tid);
	t->head_len = strlen(t->head);
}

/* The name of a program at its start: the last part of its path. */
static struct slice name_of_path(struct slice path)
{
	size_t n = path.len;

	while (n && path.at[n - 1] != '/')
		n--;
	slice_take(&path, n);
	return path;
}

/* Until it executes another program, a task is called as the one that made it. */
static struct slice first_name(const struct script *s, const struct bt_record_task *r)
{
	const struct script_task *parent = find_task(s, r->parent, NULL);

	if (parent)
		return bt_str(parent->comm);
	return r->how == BT_TASK_INITIAL ? name_of_path(s->t->header.program) : bt_str("");
}

static bool add_task(struct script *s, const struct bt_record_task *r)
{
	struct script_task *t, **at;
	size_t place;

	if (find_task(s, r->task, &place))
		return true;
	at = array_grow(s->tasks, s->count, &s->cap, sizeof *at);
	if (!at)
		return false;
	s->tasks = at;
	t = calloc(1, sizeof *t);
	if (!t)
		return false;
	*t = (struct script_task){.task = r->task, .pid = r->pid, .tid = r->tid};
	set_comm(t, first_name(s, r));
	memmove(s->tasks + place + 1, s->tasks + place, (s->count - place) * sizeof *s->tasks);
	s->tasks[place] = t;
	s->count++;
	return true;
}

/* --- text --- */

/* Eight digits as text. Spreading the nibbles over a word needs no table. */
static void put_digits(char *p, uint64_t x)
{
	x = (x << 16 | x) & 0x0000ffff0000ffff;
	x = (x << 8 | x) & 0x00ff00ff00ff00ff;
	x = (x << 4 | x) & 0x0f0f0f0f0f0f0f0f;
	/* a digit is its value and '0', and 39 more from 10 on */
	x += 0x3030303030303030 + ((x + 0x0606060606060606) >> 4 & 0x0101010101010101) * 39;
	x = __builtin_bswap64(x);
	memcpy(p, &x, sizeof x);
}

/* Writes sixteen bytes, however many of them count. */
static char *put_hex(char *p, uint64_t v)
{
	unsigned n = v ? 16 - (unsigned)__builtin_clzll(v) / 4 : 1;

	v <<= 4 * (16 - n);
	put_digits(p, v >> 32);
	put_digits(p + 8, v & 0xffffffff);
	return p + n;
}

static char *put_long(char *p, uint64_t v)
{
	char digits[20];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *put_c_string(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	return p;
}

/* As perf names types (tools/perf/util/branch.c); "" where it has no name. */
static const char *type_name(uint64_t flags)
{
	static const char *const names[16] = {
		"",       "COND",      "UNCOND",   "IND",  "CALL", "IND_CALL", "RET",   "SYSCALL",
		"SYSRET", "COND_CALL", "COND_RET", "ERET", "IRQ",  "SERROR",   "NO_TX", ""};
	static const char *const more[16] = {"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1",
					     "ARCH_2",     "ARCH_3",     "ARCH_4",     "ARCH_5",
					     "",           "",           "",           "",
					     "",           "",           "",           ""};
	unsigned type = flags >> TYPE_SHIFT & 15;

	return type == TYPE_EXTENDED ? more[flags >> NEW_TYPE_SHIFT & 15] : names[type];
}

static void set_flags(struct script *s, uint64_t flags)
{
	char *p = s->flags_text;

	*p++ = '/';
	*p++ = !(flags & 3) ? '-' : flags & 2 ? 'P' : 'M';
	*p++ = '/';
	*p++ = flags & 4 ? 'X' : '-';
	*p++ = '/';
	*p++ = flags & 8 ? 'A' : '-';
	*p++ = '/';
	p = put_long(p, flags >> 4 & 0xffff);
	*p++ = '/';
	p = put_c_string(p, type_name(flags));
	*p++ = ' ';
	s->flags = flags;
	s->flags_len = (size_t)(p - s->flags_text);
}

static char *make_entry(struct script *s, char *p, const struct run_entry *e)
{
	memcpy(p, " 0x", 3);
	p = put_hex(p + 3, e->from);
	memcpy(p, "/0x", 3);
	p = put_hex(p + 3, e->to);
	if (e->flags != s->flags || !s->flags_len)
		set_flags(s, e->flags);
	memcpy(p, s->flags_text,
	       FLAGS_MAX); /* more than its length: a fixed size is one instruction */
	return p + s->flags_len;
}

static char *put_entry(struct script *s, char *p, const struct run_entry *e)
{
	struct entry_text *t =
		&s->texts[((e->from ^ e->to << 5) * 0x9E3779B97F4A7C15u >> 32) % CACHE];

	if (!t->len || t->entry.from != e->from || t->entry.to != e->to ||
	    t->entry.flags != e->flags) {
		t->entry = *e;
		t->len = (uint32_t)(make_entry(s, t->text, e) - t->text);
	}
	memcpy(p, t->text, ENTRY_USUAL);
	if (t->len > ENTRY_USUAL)
		memcpy(p + ENTRY_USUAL, t->text + ENTRY_USUAL, ENTRY_MAX - ENTRY_USUAL);
	return p + t->len;
}

static void put_text(struct buf *out, const char *text) { buf_put(out, text, strlen(text)); }

/* The name of the event as it is printed, made anew when it is another one. */
static void set_event(struct script *s, struct slice label)
{
	if (!label.len)
		label = bt_str("snapshot");
	if (s->event.len && s->label.len == label.len &&
	    !memcmp(s->label.data, label.at, label.len))
		return;
	buf_reset(&s->label);
	buf_put(&s->label, label.at, label.len);
	buf_reset(&s->event);
	bt_escape(&s->event, label, false);
}

/* A number right-aligned. */
static char *put_padded(char *p, const char *digits, size_t n, size_t width)
{
	for (; n < width; width--)
		*p++ = ' ';
	memcpy(p, digits, n);
	return p + n;
}

static char *put_time(char *p, uint64_t ns)
{
	char text[40], *end = put_long(text, ns / 1000000000);
	uint64_t micro = ns / 1000 % 1000000;

	*end++ = '.';
	for (uint64_t unit = 100000; unit; unit /= 10)
		*end++ = (char)('0' + micro / unit % 10);
	p = put_padded(p, text, (size_t)(end - text), TIME_WIDTH);
	*p++ = ':';
	*p++ = ' ';
	return p;
}

static void put_head(struct script *s, const struct script_task *t,
		     const struct bt_record_snapshot *r)
{
	char text[HEAD_MAX], *p = text, address[16];

	set_event(s, r->label);
	memcpy(p, t->head, t->head_len);
	p += t->head_len;
	if (r->time)
		p = put_time(p, r->time);
	buf_put(&s->out, text, (size_t)(p - text));
	buf_put(&s->out, s->event.data, s->event.len);
	p = put_c_string(text, ":  ");
	p = put_padded(p, address, (size_t)(put_hex(address, r->point.rip) - address),
		       sizeof address);
	buf_put(&s->out, text, (size_t)(p - text));
}

static void flush_script(struct script *s)
{
	if (s->out.len)
		s->unwritten |= bt_output(s->to, s->out.data, s->out.len,
					  s->unwritten ? NULL : s->err) != 0;
	buf_reset(&s->out);
}

static bool put_snapshot(struct script *s, const struct bt_record_snapshot *r)
{
	struct script_task *t = find_task(s, r->task, NULL);
	char *p;

	if (!t)
		return true;
	if (!run_reader_advance(&t->runs, s->t, t->task, r->position))
		return false;
	put_head(s, t, r);
	if (!buf_reserve(&s->out, t->runs.count * ENTRY_MAX))
		return false;
	p = (char *)s->out.data + s->out.len;
	for (size_t i = t->runs.count; i-- > 0;)
		p = put_entry(s, p, &t->runs.at[i]);
	s->out.len = (size_t)(p - (char *)s->out.data);
	put_text(&s->out, "\n");
	if (s->out.len >= OUT_FLUSH)
		flush_script(s);
	return !s->out.failed;
}

static bool take_record(struct script *s, const struct bt_record *rec)
{
	struct script_task *t;

	switch (rec->kind) {
	case BT_RECORD_TASK:
		return add_task(s, &rec->u.task);
	case BT_RECORD_EXEC:
		t = find_task(s, rec->u.exec.task, NULL);
		if (t)
			set_comm(t, name_of_path(rec->u.exec.path));
		return true;
	case BT_RECORD_COMM:
		t = find_task(s, rec->u.comm.task, NULL);
		if (t)
			set_comm(t, rec->u.comm.comm);
		return true;
	case BT_RECORD_SNAPSHOT:
		return put_snapshot(s, &rec->u.snapshot);
	default:
		return true;
	}
}

static void release_script(struct script *s)
{
	for (size_t i = 0; i < s->count; i++) {
		s->damaged |= s->tasks[i]->runs.damaged || (s->closed && s->tasks[i]->runs.torn);
		run_reader_release(&s->tasks[i]->runs);
		free(s->tasks[i]);
	}
	free(s->tasks);
	buf_release(&s->out);
	buf_release(&s->label);
	free(s->texts);
	buf_release(&s->event);
}

int export_perf_script(FILE *to, const struct trace *t, struct bt_error *err)
{
	struct script s = {.to = to, .t = t, .err = err, .texts = calloc(CACHE, sizeof *s.texts)};
	struct trace_cursor events;
	struct bt_record rec;
	int got, rc = 0;

	if (!s.texts)
		return bt_no_memory(err, "the export");
	trace_cursor_init(&events, t, &t->files[0]);
	while (!rc && (got = trace_cursor_next(&events, &rec, NULL)) != 0) {
		if (got == -BT_E_NO_MEMORY)
			rc = bt_no_memory(err, "the export");
		else if (got < 0)
			s.damaged |= got != -BT_E_TRUNCATED;
		else if (!take_record(&s, &rec))
			rc = bt_no_memory(err, "the export");
		s.closed |= got > 0 && rec.kind == BT_RECORD_END && !t->being_written;
	}
	if (!rc)
		flush_script(&s);
	trace_cursor_release(&events);
	release_script(&s);
	return rc ? rc : s.unwritten ? -BT_E_IO : s.damaged;
}
