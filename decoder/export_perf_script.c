/* SPDX-License-Identifier: MIT */
/* The lines of `perf script -F comm,pid,tid,time,event,ip,brstack`: a snapshot each, its branches newest first. Written by hand and
 * not with printf: it is most of the work of an export. Column widths are perf's (tools/perf/builtin-script.c). */
#include <stdlib.h>
#include <string.h>

#include "decoder/export_private.h"
#include "lib/escape.h"

enum {
	OUT_FLUSH = 1 << 18,
	ENTRY_MAX = 96, /* characters of an entry */
	COMM_MAX = 64,
	COMM_WIDTH = 16,
	TYPE_SHIFT = 20,
	NEW_TYPE_SHIFT = 26,
	TYPE_EXTENDED = 15,
};

struct script_task {
	uint32_t task, pid, tid;
	char comm[COMM_MAX];
	struct run_reader runs;
};

struct script {
	FILE *to;
	const struct trace *t;
	struct script_task **tasks; /* sorted by task */
	size_t count, cap;
	struct buf out;
	bool damaged;
};

static struct script_task *find_task(const struct script *s, uint32_t task, size_t *place)
{
	size_t lo = 0, hi = s->count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (s->tasks[mid]->task < task)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (place)
		*place = lo;
	return lo < s->count && s->tasks[lo]->task == task ? s->tasks[lo] : NULL;
}

static bool add_task(struct script *s, const struct bt_record_task *r)
{
	struct script_task *t;
	size_t place;

	if (find_task(s, r->task, &place))
		return true;
	if (s->count == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 64;
		struct script_task **at = realloc(s->tasks, cap * sizeof *at);

		if (!at)
			return false;
		s->tasks = at;
		s->cap = cap;
	}
	t = calloc(1, sizeof *t);
	if (!t)
		return false;
	*t = (struct script_task){.task = r->task, .pid = r->pid, .tid = r->tid};
	memmove(s->tasks + place + 1, s->tasks + place, (s->count - place) * sizeof *s->tasks);
	s->tasks[place] = t;
	s->count++;
	return true;
}

static void set_comm(struct script_task *t, struct slice name)
{
	size_t n = name.len;

	while (n && name.at[n - 1] != '/')
		n--;
	slice_take(&name, n);
	snprintf(t->comm, sizeof t->comm, "%.*s", (int)(name.len < COMM_MAX ? name.len : COMM_MAX - 1), (const char *)name.at);
	for (char *c = t->comm; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?'; /* a name can hold anything, and a line break would begin another sample */
}

/* --- text --- */

static char *put_hex(char *p, uint64_t v)
{
	static const char digits[] = "0123456789abcdef";
	int shift = v ? 60 - __builtin_clzll(v) / 4 * 4 : 0;

	for (; shift >= 0; shift -= 4)
		*p++ = digits[v >> shift & 15];
	return p;
}

static char *put_decimal(char *p, unsigned v)
{
	char digits[10];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while (v /= 10);
	while (n)
		*p++ = digits[--n];
	return p;
}

static char *put_string(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	return p;
}

/* As perf names types (tools/perf/util/branch.c); "" where it has no name. */
static const char *type_name(uint64_t flags)
{
	static const char *const names[16] = {"", "COND", "UNCOND", "IND", "CALL", "IND_CALL", "RET", "SYSCALL", "SYSRET", "COND_CALL",
		"COND_RET", "ERET", "IRQ", "SERROR", "NO_TX", ""};
	static const char *const more[16] = {"FAULT_ALGN", "FAULT_DATA", "FAULT_INST", "ARCH_1", "ARCH_2", "ARCH_3", "ARCH_4", "ARCH_5",
		"", "", "", "", "", "", "", ""};
	unsigned type = flags >> TYPE_SHIFT & 15;

	return type == TYPE_EXTENDED ? more[flags >> NEW_TYPE_SHIFT & 15] : names[type];
}

static char *put_entry(char *p, const struct run_entry *e)
{
	*p++ = ' ';
	*p++ = '0';
	*p++ = 'x';
	p = put_hex(p, e->from);
	*p++ = '/';
	*p++ = '0';
	*p++ = 'x';
	p = put_hex(p, e->to);
	*p++ = '/';
	*p++ = !(e->flags & 3) ? '-' : e->flags & 2 ? 'P' : 'M';
	*p++ = '/';
	*p++ = e->flags & 4 ? 'X' : '-';
	*p++ = '/';
	*p++ = e->flags & 8 ? 'A' : '-';
	*p++ = '/';
	p = put_decimal(p, (unsigned)(e->flags >> 4 & 0xffff));
	*p++ = '/';
	p = put_string(p, type_name(e->flags));
	*p++ = ' ';
	return p;
}

static void put_text(struct buf *out, const char *text)
{
	buf_put(out, text, strlen(text));
}

static void put_head(struct script *s, const struct script_task *t, const struct bt_record_snapshot *r)
{
	struct slice event = r->label.len ? r->label : bt_str("snapshot");
	char text[160], when[40];

	snprintf(text, sizeof text, "%*s %5d/%-5d ", COMM_WIDTH, t->comm, (int)t->pid, (int)t->tid);
	put_text(&s->out, text);
	if (r->time) {
		snprintf(when, sizeof when, "%5llu.%06llu", (unsigned long long)(r->time / 1000000000), (unsigned long long)(r->time / 1000 % 1000000));
		snprintf(text, sizeof text, "%12s: ", when);
		put_text(&s->out, text);
	}
	bt_escape(&s->out, event, false);
	snprintf(text, sizeof text, ":  %16llx", (unsigned long long)r->point.rip);
	put_text(&s->out, text);
}

static void flush(struct script *s)
{
	if (s->out.len)
		fwrite(s->out.data, 1, s->out.len, s->to);
	buf_reset(&s->out);
}

static bool put_snapshot(struct script *s, const struct bt_record_snapshot *r)
{
	struct script_task *t = find_task(s, r->task, NULL);

	if (!t)
		return true;
	if (!run_reader_advance(&t->runs, s->t, t->task, r->position))
		return false;
	put_head(s, t, r);
	for (size_t i = t->runs.count; i-- > 0;) {
		char *start;

		if (!buf_reserve(&s->out, ENTRY_MAX))
			return false;
		start = (char *)s->out.data + s->out.len;
		s->out.len += (size_t)(put_entry(start, &t->runs.at[i]) - start);
	}
	put_text(&s->out, "\n");
	if (s->out.len >= OUT_FLUSH)
		flush(s);
	return !s->out.failed;
}

static bool take(struct script *s, const struct bt_record *rec)
{
	struct script_task *t;

	switch (rec->kind) {
	case BT_RECORD_TASK:
		return add_task(s, &rec->u.task);
	case BT_RECORD_EXEC:
		t = find_task(s, rec->u.exec.task, NULL);
		if (t)
			set_comm(t, rec->u.exec.path);
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

static void release(struct script *s)
{
	for (size_t i = 0; i < s->count; i++) {
		s->damaged |= s->tasks[i]->runs.damaged;
		run_reader_release(&s->tasks[i]->runs);
		free(s->tasks[i]);
	}
	free(s->tasks);
	buf_release(&s->out);
}

int export_perf_script(FILE *to, const struct trace *t, struct bt_error *err)
{
	struct script s = {.to = to, .t = t};
	const struct bt_record *rec;
	struct event_merge events;
	int rc = event_merge_open(&events, t, err);

	if (rc)
		return rc;
	while (!rc && (rec = event_merge_next(&events)) != NULL)
		if (!take(&s, rec))
			rc = bt_fail(err, BT_E_NO_MEMORY, 0, "out of memory for the export");
	if (!rc)
		flush(&s);
	s.damaged = events.damaged;
	event_merge_close(&events);
	release(&s);
	return rc ? rc : s.damaged;
}
