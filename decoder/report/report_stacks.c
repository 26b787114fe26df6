/* SPDX-License-Identifier: MIT */
/* The stacks of all threads of the moment, each checked against the calls its branch history left
 * open.
 *
 * put_stack() unwinds a thread, writes the frames (recursion as one round, a long stack's middle
 * left out), and compares them with the open calls (callstack_check()). If the unwinding ended
 * early, frames from the history follow. If the two disagree, the open calls are listed as well.
 *
 * The thread of the report comes first. The others' words are written to the end of the text,
 * compared with those of the threads before, and taken back: threads with the same words get one
 * heading (put_others()). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/callstack.h"
#include "decoder/cause/own_code.h"
#include "decoder/report/report_private.h"
#include "decoder/values/frame_values.h"
#include "lib/grow.h"
#include "syscalls/syscall_names.h"

enum {
	FRAMES_MAX = 1 << 18, /* 8 MiB of small ones */
	FRAMES_HEAD = 40,     /* shown of a long stack: its innermost and outermost frames */
	FRAMES_TAIL = 10,
	RECURSION_PERIOD_MAX = 8, /* functions that call each other in turn */
	RECURSION_ROUNDS_MIN = 3, /* more rounds than this are shown as one */
	OPEN_CALLS_SHOWN = 20,
	SUMMARY_FRAMES_MIN = 3,
	SECTIONS = 3,          /* before the stack: their empty lines can go */
	THREADS_AS_LINES = 64, /* more stacks are not among the lines for the viewer */
	FRAMES_WITH_LOCALS = 4,
	LOCALS_SHOWN = 8, /* of one frame */
	ARGUMENTS_WIDTH = 70,
	LOCALS_WIDTH = 100,
	NAME_WIDTH = 60, /* of a variable, at most */
};

/* A thread's stack as it is written. */
struct shown_stack {
	const struct bt_record_thread *thread;
	struct thread_values *values; /* NULL: none are shown */
	size_t valued;                /* frames that may have some */
	size_t with_locals;           /* frames whose local variables were shown */
};

struct shown_arguments {
	const struct frame_values *values;
	size_t width;
};

static bool put_arguments(void *arg, struct text *t, size_t part)
{
	const struct shown_arguments *a = arg;

	return frame_values_put_arguments(t, a->values, part, a->width);
}

/* Arrays and structures among the arguments are shown as local variables are: a line each. One that
 * is nowhere (optimized out) gets no line. */
static bool is_line_of_its_own(const struct frame_value *v)
{
	return (v->kind == VALUE_LOCAL || !v->is_plain) && *v->text != '<';
}

/* A value on the line that began at byte `begin`. */
static void put_clipped(struct report *r, const char *value, size_t begin)
{
	size_t before = r->t.buf.len, room = LOCALS_WIDTH - text_width(&r->t, begin);

	text_outside(&r->t, value);
	if (text_width(&r->t, before) <= room)
		return;
	while (text_width(&r->t, before) > room - 3)
		r->t.buf.len--;
	while (r->t.buf.len > before && (r->t.buf.data[r->t.buf.len] & 0xc0) == 0x80)
		r->t.buf.len--; /* not in the midst of a character */
	text_printf(&r->t, "...");
}

/* A value without the address that a reference to it has. */
static const char *referred(const char *text)
{
	const char *behind = *text == '@' ? strstr(text, ": ") : NULL;

	return behind ? behind + 2 : text;
}

/* Whether a line says the same as one before it: a variable that was passed to an inlined function
 * under its own name. */
static bool is_told(const struct frame_values *v, const bool *shows, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (shows[k] && !strcmp(v->at[k].name, v->at[i].name) &&
		    !strcmp(referred(v->at[k].text), referred(v->at[i].text)))
			return true;
	return false;
}

/* The file of a part of a frame. */
static const char *part_file(const struct location *loc, size_t part)
{
	return part && part <= loc->inlined_count ? loc->inlined[part - 1].file : loc->file;
}

/* Of functions of libraries that are inlined there, none. */
static void put_locals(struct report *r, const struct frame_values *v, const struct location *loc)
{
	bool shows[FRAME_VALUES_MAX] = {false};
	size_t shown = 0, left = 0, begin;

	for (size_t i = 0; i < v->count && i < FRAME_VALUES_MAX; i++) {
		const struct frame_value *l = &v->at[i];

		shows[i] = is_line_of_its_own(l) && !is_told(v, shows, i) &&
			   (r->o->all || !own_code_is_library_source(part_file(loc, l->part)));
		if (!shows[i] || shown == LOCALS_SHOWN) {
			left += shows[i];
			continue;
		}
		shown++;
		begin = r->t.buf.len;
		text_printf(&r->t, "         ");
		text_outside(&r->t, l->name);
		text_printf(&r->t, " = ");
		put_clipped(r, l->text, begin);
		text_printf(&r->t, "\n");
	}
	if (left)
		text_printf(&r->t, "         ... and %zu more\n", left);
}

static void put_frame(struct report *r, struct shown_stack *s, const struct stack_frame *f,
		      size_t number)
{
	uint32_t space = r->focus.snap->rec->space, epoch = s->thread->epoch;
	struct frame_values values = {0};
	struct shown_arguments arguments = {&values, ARGUMENTS_WIDTH};
	struct location loc;

	report_about(r, &(struct report_about){.kind = REPORT_FRAME,
					       .task = s->thread->task,
					       .position = s->thread->position,
					       .frame = number,
					       .has_place = true,
					       .space = space,
					       .epoch = epoch,
					       .addr = f->pc,
					       .is_return = f->is_return});
	symbols_lookup(r->s, space, epoch, f->pc, f->is_return, &loc);
	text_mark(&r->t, *loc.file ? TEXT_PLAIN : TEXT_QUIET);
	if (s->values && number < s->valued && !f->is_history &&
	    own_code_has(r->own, space, epoch, f->pc - f->is_return))
		frame_values_get(s->values, number, &values);
	text_printf(&r->t, "  #%-3zu ", number);
	text_frame_arguments(&r->t, &loc, 7, false, put_arguments, &arguments);
	text_printf(&r->t, "%s\n",
		    f->is_guess     ? " (" STACK_GUESS ")"
		    : f->is_history ? " (" STACK_BY_HISTORY ")"
				    : "");
	report_about(r, &(struct report_about){.kind = REPORT_REMARK});
	if (values.count && s->with_locals < FRAMES_WITH_LOCALS) {
		put_locals(r, &values, &loc);
		s->with_locals++;
	}
	frame_values_release(&values);
}

static bool same_frame(const struct stack_frame *a, const struct stack_frame *b)
{
	return a->pc == b->pc && a->is_return == b->is_return && a->is_guess == b->is_guess;
}

/* Recursion: how often the `period` frames from i on follow each other. */
static size_t rounds_of(const struct stack_frame *frames, size_t count, size_t i, size_t period)
{
	size_t n = 0;

	while (i + period + n < count && same_frame(&frames[i + n], &frames[i + period + n]))
		n++;
	return n / period + 1;
}

static size_t find_recursion(const struct stack_frame *frames, size_t count, size_t i,
			     size_t *rounds)
{
	for (size_t period = 1; period <= RECURSION_PERIOD_MAX; period++) {
		*rounds = rounds_of(frames, count, i, period);
		if (*rounds > RECURSION_ROUNDS_MIN)
			return period;
	}
	return 0;
}

static void put_recursion(struct report *r, struct shown_stack *s, const struct stack_frame *frames,
			  size_t number, size_t period, size_t rounds)
{
	for (size_t k = 0; k < period; k++)
		put_frame(r, s, &frames[k], number + k);
	if (period == 1)
		text_printf(&r->t, "  ...  the same frame %zu times\n", rounds);
	else
		text_printf(&r->t, "  ...  the same %zu frames %zu times\n", period, rounds);
}

/* Frames of libraries from i on. */
static size_t library_frames(struct report *r, const struct bt_record_thread *thread,
			     const struct stack_frame *frames, size_t count, size_t i)
{
	size_t n = 0;

	while (i + n < count && !own_code_has(r->own, r->focus.snap->rec->space, thread->epoch,
					      frames[i + n].pc - frames[i + n].is_return))
		n++;
	return n;
}

/* Of them those that fold: a frame that is marked says so itself. */
static size_t foldable_frames(struct report *r, const struct bt_record_thread *thread,
			      const struct stack_frame *frames, size_t count, size_t i)
{
	size_t n = library_frames(r, thread, frames, count, i);

	for (size_t k = 0; k < n; k++)
		if (frames[i + k].is_guess || frames[i + k].is_history)
			return k;
	return n;
}

static void put_library_frames(struct report *r, size_t n)
{
	text_mark(&r->t, TEXT_QUIET);
	text_printf(&r->t, "  ...  %zu frames of libraries\n", n);
}

/* Whether libraries' frames that follow each other are one line: not where there are no others. */
static bool folds_libraries(struct report *r, const struct bt_record_thread *thread,
			    const struct stack_frame *frames, size_t count)
{
	return r->own && !r->o->all && library_frames(r, thread, frames, count, 0) < count;
}

/* first: the number of the first one. */
static void put_frames(struct report *r, struct shown_stack *s, const struct stack_frame *frames,
		       size_t count, size_t first)
{
	bool folds = folds_libraries(r, s->thread, frames, count);
	size_t lines = 0, rounds, period, library;

	for (size_t i = 0; i < count; lines++) {
		bool shown = lines < FRAMES_HEAD || count - i <= FRAMES_TAIL;

		library = shown && folds ? foldable_frames(r, s->thread, frames, count, i) : 0;
		if (library > 1) {
			put_library_frames(r, library);
			i += library;
			continue;
		}
		period = shown ? find_recursion(frames, count, i, &rounds) : 0;
		if (period) {
			put_recursion(r, s, &frames[i], first + i, period, rounds);
			i += period * rounds;
			continue;
		}
		if (shown)
			put_frame(r, s, &frames[i], first + i);
		else if (lines == FRAMES_HEAD)
			text_printf(&r->t, "  ...\n");
		i++;
	}
}

/* A summary has the frames of the user's own code, as many as the screen has room for; where there
 * are none, those of libraries. */
static void put_summary_frames(struct report *r, struct shown_stack *s,
			       const struct stack_frame *frames, size_t count)
{
	size_t used = report_screen_lines(r) - SECTIONS,
	       room = used + SUMMARY_FRAMES_MIN < SUMMARY_LINES ? SUMMARY_LINES - used
								: SUMMARY_FRAMES_MIN,
	       rounds, period, step;
	bool folds = folds_libraries(r, s->thread, frames, count);

	for (size_t i = 0, lines = 1; i < count; i += step, lines++) {
		size_t library = folds ? library_frames(r, s->thread, frames, count, i) : 0;

		if (lines >= room && count - i > 1) {
			text_printf(&r->t, "  ...  %zu more frames\n", count - i);
			return;
		}
		step = library ? library : 1;
		if (library > 1) {
			put_library_frames(r, library);
			continue;
		}
		period = library ? 0 : find_recursion(frames, count, i, &rounds);
		if (period == 1) {
			put_recursion(r, s, &frames[i], i, period, rounds);
			step = rounds;
			lines++;
		} else {
			put_frame(r, s, &frames[i], i);
		}
	}
}

/* Writes the open calls by the history, where the stack cannot be trusted. */
static void put_open_calls(struct report *r, const struct bt_record_thread *thread,
			   const struct history *h, const struct callstack *c)
{
	size_t shown = 0;

	text_printf(&r->t, "  By the branch history these calls were open, innermost first:\n");
	for (size_t i = c->count; i-- > 0 && shown < OPEN_CALLS_SHOWN; shown++) {
		struct location loc;

		symbols_lookup(r->s, r->focus.snap->rec->space, thread->epoch, c->calls[i].from,
			       false, &loc);
		report_about(
			r, &(struct report_about){.kind = REPORT_PLACE,
						  .task = thread->task,
						  .position = h->entries[c->calls[i].entry].number,
						  .has_place = true,
						  .space = r->focus.snap->rec->space,
						  .epoch = thread->epoch,
						  .addr = c->calls[i].from});
		text_printf(&r->t, c->calls[i].is_handler ? "    interrupted at " : "    call at ");
		text_frame(&r->t, &loc, 12, false);
		text_printf(&r->t, "\n");
		report_about(r, &(struct report_about){.kind = REPORT_REMARK});
	}
	if (c->count > shown)
		text_printf(&r->t, "    ... %zu more\n", c->count - shown);
}

/* The history's judgement of the frames that unwinding gave. */
struct judged_stack {
	const struct history *h;
	struct callstack calls;
	struct stack_check check;
	bool complete;
};

static void put_check(struct report *r, struct shown_stack *s, struct judged_stack *j,
		      struct stack_frame *frames, size_t count)
{
	char words[STACK_WORDS_MAX];
	size_t extended;

	/* A summary says only what is wrong. */
	if (*callstack_words(&j->check, words) &&
	    !(r->o->summary && j->check.verdict == STACK_AGREES))
		text_printf(&r->t, "  %s\n", words);
	extended = j->complete ? count
			       : callstack_extend(&j->calls, &j->check, frames, count, FRAMES_MAX);
	if (!j->complete)
		text_printf(&r->t, "  %s\n",
			    callstack_end_words(&frames[count - 1], extended > count));
	if (r->o->summary && extended - count > SUMMARY_FRAMES_MIN)
		extended = count + SUMMARY_FRAMES_MIN;
	put_frames(r, s, frames + count, extended - count, count);
	if (j->calls.count && j->check.verdict == STACK_DISAGREES && !r->o->summary)
		put_open_calls(r, s->thread, j->h, &j->calls);
}

/* Frames that the history contradicts have no values. */
static void open_values(struct report *r, struct shown_stack *s, const struct judged_stack *j)
{
	if (!r->own || thread_values_open(&s->values, r->s, r->focus.snap, s->thread, NULL))
		s->values = NULL; /* the stack itself is worth more */
	s->valued = j->check.verdict == STACK_DISAGREES ? j->check.frame : SIZE_MAX;
}

/* Without its heading. */
static void put_stack(struct report *r, const struct bt_record_thread *thread,
		      struct stack_frame *frames, bool with_values)
{
	/* A part of a history lacks the calls that were made before it. */
	bool is_loaded = r->focus.task && thread->task == r->focus.task->task &&
			 !r->focus.history.is_part,
	     is_judged;
	struct history own = {0};
	struct judged_stack j = {.h = is_loaded ? &r->focus.history : &own,
				 .check.verdict = STACK_UNKNOWN};
	struct shown_stack s = {.thread = thread,
				.with_locals = r->o->summary ? FRAMES_WITH_LOCALS : 0};
	size_t count = symbols_unwind(r->s, r->focus.snap, thread, frames, FRAMES_MAX, &j.complete);

	is_judged = is_loaded || !history_load_calls(&own, r->m, thread->task, NULL, NULL);
	if (is_judged) {
		callstack_build(&j.calls, j.h, r->s, history_index(j.h, thread->position));
		j.check = callstack_check(&j.calls, frames, count);
	}
	if (with_values)
		open_values(r, &s, &j);
	if (r->o->summary && r->own)
		put_summary_frames(r, &s, frames, count);
	else
		put_frames(r, &s, frames, count, 0);
	if (is_judged)
		put_check(r, &s, &j, frames, count);
	thread_values_close(s.values);
	callstack_release(&j.calls);
	history_release(&own);
}

/* Threads of which the same words are said: a pool of them waits in one place. */
struct stack_group {
	const struct bt_record_thread **threads;
	size_t count, cap;
	struct buf words;          /* of put_stack() */
	struct report_piece marks; /* of the words */
};

struct stack_groups {
	struct stack_group *at;
	size_t count, cap;
};

static bool is_of_group(const struct stack_group *g, const struct bt_record_thread *thread,
			struct slice words)
{
	const struct bt_record_thread *first = g->threads[0];
	char ours[IN_SYSCALL_MAX], theirs[IN_SYSCALL_MAX];

	return !first->in_syscall == !thread->in_syscall && g->words.len == words.len &&
	       !memcmp(g->words.data, words.at, words.len) &&
	       (!first->in_syscall ||
		!strcmp(in_syscall(&first->regs, ours), in_syscall(&thread->regs, theirs)));
}

/* The group that the thread joins; NULL without memory. */
static struct stack_group *join_group(struct stack_groups *groups,
				      const struct bt_record_thread *thread, struct slice words)
{
	struct stack_group *at, *g = NULL;
	const struct bt_record_thread **threads;

	for (size_t i = 0; i < groups->count && !g; i++)
		if (is_of_group(&groups->at[i], thread, words))
			g = &groups->at[i];
	if (!g) {
		at = array_grow(groups->at, groups->count, &groups->cap, sizeof *at);
		if (!at)
			return NULL;
		groups->at = at;
		g = &at[groups->count];
		*g = (struct stack_group){.count = 0};
		buf_put(&g->words, words.at, words.len);
	}
	threads = array_grow(g->threads, g->count, &g->cap, sizeof *threads);
	if (!threads || g->words.failed) {
		if (!g->count)
			buf_release(&g->words);
		return NULL;
	}
	g->threads = threads;
	g->threads[g->count++] = thread;
	groups->count += g->count == 1;
	return g;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* "3, 5-9"; sorts them. */
static void put_numbers(struct report *r, uint32_t *numbers, size_t n)
{
	qsort(numbers, n, sizeof *numbers, compare_numbers);
	for (size_t i = 0, same; i < n; i += same) {
		for (same = 1; i + same < n && numbers[i + same] == numbers[i] + same;)
			same++;
		text_printf(&r->t, "%s%u", i ? ", " : "", numbers[i]);
		if (same > 1)
			text_printf(&r->t, "%s%u", same == 2 ? ", " : "-", numbers[i + same - 1]);
	}
}

static void put_heading(struct report *r, const struct bt_record_thread *const *threads, size_t n)
{
	uint32_t *numbers = calloc(n, sizeof *numbers), pid = 0;
	char call[IN_SYSCALL_MAX];

	if (!numbers) {
		r->t.buf.failed = true;
		return;
	}
	for (size_t i = 0; i < n; i++)
		numbers[i] = threads[i]->task;
	report_about_nothing(r);
	text_printf(&r->t, "\n");
	report_about(r, &(struct report_about){.kind = REPORT_THREAD,
					       .task = threads[0]->task,
					       .position = threads[0]->position,
					       .has_place = true,
					       .space = r->focus.snap->rec->space,
					       .epoch = threads[0]->epoch,
					       .addr = threads[0]->regs.rip});
	text_mark(&r->t, TEXT_HEADING);
	text_printf(&r->t, "Stack of ");
	if (n == 1)
		text_printf(&r->t, "task ");
	else
		text_printf(&r->t, "%zu tasks: ", n);
	put_numbers(r, numbers, n);
	for (size_t i = 0; i < n; i++) {
		const struct model_task *task = model_task(r->m, threads[i]->task);

		numbers[i] = task ? task->tid : 0;
		pid = task ? task->pid : pid;
	}
	if (pid) {
		text_printf(&r->t, " (thread%s ", n == 1 ? "" : "s");
		put_numbers(r, numbers, n);
		text_printf(&r->t, " of process %u%s%s)", pid, threads[0]->in_syscall ? ", " : "",
			    threads[0]->in_syscall ? in_syscall(&threads[0]->regs, call) : "");
	}
	text_printf(&r->t, "\n");
	report_about(r, &(struct report_about){.kind = REPORT_REMARK});
	free(numbers);
}

static void put_thread(struct report *r, const struct bt_record_thread *thread,
		       struct stack_frame *frames)
{
	put_heading(r, &thread, 1);
	put_stack(r, thread, frames, true);
}

/* Those beside the first, which is shown already: each by its words, which go to the end of the
 * text and are taken back. */
static void put_others(struct report *r, const struct model_snapshot *snap,
		       struct stack_frame *frames)
{
	struct stack_groups groups = {0};
	size_t end = r->t.buf.len;

	for (size_t i = 0; i < snap->thread_count; i++) {
		struct stack_group *g;
		struct report_piece marks;

		if (snap->threads[i] == r->focus.thread)
			continue;
		put_stack(r, snap->threads[i], frames, false);
		marks = report_take_marks(r, end);
		g = r->t.buf.failed ? NULL
				    : join_group(&groups, snap->threads[i],
						 slice_of(r->t.buf.data + end, r->t.buf.len - end));
		if (g && g->count == 1)
			g->marks = marks;
		else
			report_piece_release(&marks);
		if (g)
			r->t.buf.len = end;
		else
			r->t.buf.failed = true;
	}
	for (size_t i = 0; i < groups.count; i++) {
		struct stack_group *g = &groups.at[i];

		put_heading(r, g->threads, g->count);
		if (g->count == 1) {
			put_stack(r, g->threads[0], frames, true);
		} else { /* their values differ */
			report_put_marks(r, &g->marks);
			buf_put(&r->t.buf, g->words.data, g->words.len);
		}
		report_piece_release(&g->marks);
		buf_release(&g->words);
		free(g->threads);
	}
	free(groups.at);
}

/* A viewer's first screen does not wait for a thousand stacks. */
static void put_left_out(struct report *r, const struct model_snapshot *snap)
{
	report_about_nothing(r);
	text_printf(&r->t, "\nStacks of %zu other tasks: the view of threads has them\n",
		    snap->thread_count - (r->focus.thread != NULL));
}

void report_stacks(struct report *r)
{
	const struct model_snapshot *snap = r->focus.snap;
	struct stack_frame *frames = calloc(FRAMES_MAX, sizeof *frames);

	if (snap && own_code_open(&r->own, r->m, r->s, snap, r->focus.thread, NULL))
		r->own = NULL;
	if (r->focus.thread && frames)
		put_thread(r, r->focus.thread, frames);
	if (r->lines && snap && snap->thread_count > THREADS_AS_LINES)
		put_left_out(r, snap);
	else if (frames && snap && !r->focus.asked && !r->o->summary)
		put_others(r, snap, frames);
	own_code_close(r->own);
	r->own = NULL;
	free(frames);
}

int report_make_stack_lines(struct report_lines *lines, const struct model *m, struct symbols *s,
			    const struct focus *focus, const struct bt_record_thread *thread,
			    const struct report_options *o, struct own_code *own,
			    struct bt_error *err)
{
	struct stack_frame *frames = calloc(FRAMES_MAX, sizeof *frames);
	struct report r = {.t.utf8 = o->utf8,
			   .m = m,
			   .s = s,
			   .o = o,
			   .focus = *focus,
			   .lines = lines,
			   .own = own};
	bool failed = !frames;

	*lines = (struct report_lines){0};
	if (frames) {
		report_about(&r, &(struct report_about){.kind = REPORT_REMARK});
		put_stack(&r, thread, frames, true);
		report_about_nothing(&r);
		failed = r.t.buf.failed || lines->failed;
	}
	free(frames);
	lines->text = r.t.buf;
	return failed ? bt_no_memory(err, "a stack") : 0;
}
