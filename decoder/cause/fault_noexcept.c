/* SPDX-License-Identifier: MIT */
/* An exception that meets a function which none may leave. The unwinder finds that in its first
 * phase, and ends the program in the second. Code of clang does so by a landing of the function
 * itself. For code of gcc the personality routine does, and which frame it was called for stands in
 * the unwinder's own: libgcc's struct _Unwind_Context has stack pointer and place of the frame side
 * by side (unwind-dw2.c: cfa, ra). Where both values belong to one frame of the stack, that is no
 * coincidence.
 *
 * Compilers mark so what is noexcept, and what runs while another exception unwinds the stack: a
 * destructor that throws then. Which of both it was is known where the task threw nothing before.
 * With functions inlined in the frame, any of them may be the one. */
#include <stdlib.h>
#include <string.h>

#include "decoder/cause/fault_private.h"
#include "decoder/cause/own_code.h"
#include "decoder/cause/throws.h"
#include "decoder/symbols/function_name.h"
#include "decoder/symbols/text.h"

enum {
	FRAMES_MAX = 256,
	THROWS_MAX = 32,
	UNWINDER_MAX = 4096, /* bytes of its frames */
	TEXT_MAX = THROWN_TYPE_MAX + THROWN_WHAT_MAX,
};

struct stopped {
	struct fault_context *c;
	struct stack_frame *frames;
	size_t count;
};

/* Whether all functions of a place are one, a part of which is code of its own (f.cold). */
static bool is_one_function(const struct location *loc)
{
	char own[FUNCTION_NAME_MAX], part[FUNCTION_NAME_MAX];

	function_name_plain(own, loc->function);
	for (size_t i = 0; i < loc->inlined_count; i++)
		if (strcmp(own, function_name_plain(part, loc->inlined[i].function)) != 0)
			return false;
	return true;
}

static void look_up(const struct stopped *s, size_t frame, struct location *loc)
{
	symbols_lookup(s->c->s, s->c->f->space, s->c->f->epoch, s->frames[frame].pc,
		       s->frames[frame].is_return, loc);
}

static bool is_unwinder(const struct stopped *s, size_t frame)
{
	struct location loc;

	look_up(s, frame, &loc);
	return !strncmp(loc.function, "_Unwind_", strlen("_Unwind_")) ||
	       !strncmp(text_basename(loc.module), "libgcc_s.so", strlen("libgcc_s.so"));
}

/* The frame that the personality routine, frame `at`, was called for. 0: it is not known. */
static size_t frame_met(const struct stopped *s, size_t at)
{
	uint64_t words[UNWINDER_MAX / 8], begin = s->frames[at].cfa;
	size_t raised = at + 1, size, n, found = 0;

	while (raised < s->count && is_unwinder(s, raised))
		raised++;
	size = raised < s->count ? s->frames[raised - 1].cfa - begin : 0;
	if (!size || size > sizeof words || raised == at + 1)
		return 0;
	n = model_memory(s->c->m, s->c->snap, begin, (uint8_t *)words, size) / 8;
	for (size_t i = raised + 1; i < s->count && !s->frames[i].is_guess; i++)
		for (size_t k = 0; k + 1 < n; k++)
			if (words[k] && words[k] == s->frames[i - 1].cfa &&
			    words[k + 1] == s->frames[i].pc) {
				if (found && found != i)
					return 0;
				found = i;
			}
	return found;
}

/* Of another thread an exception unwinds nothing here. */
static bool is_first_throw(const struct fault_context *c)
{
	const struct model_snapshot *throws[THROWS_MAX];
	size_t all, n = throws_until(c->m, c->snap, throws, THROWS_MAX, &all), own = 0;

	for (size_t i = 0; i < n; i++)
		own += throws[i]->rec->task == c->snap->rec->task;
	return all == n && own == 1;
}

static void say_frame(struct fault_context *c, const struct thrown *t, const struct location *loc,
		      bool with_line)
{
	struct inlined_frame part = own_code_part(loc);
	bool is_first = is_first_throw(c), is_one = is_one_function(loc);
	char text[TEXT_MAX], name[160], plain[FUNCTION_NAME_MAX];

	text_brief_name(name, sizeof name, part.function);
	thrown_text(t, text, sizeof text);
	fault_say(c, "%s %s %s", text,
		  !is_first ? "met a function that no exception may leave then:"
		  : is_one  ? "left the noexcept function"
			    : "left a noexcept function:",
		  name);
	if (*part.file && with_line)
		fault_say(c, " (%.200s:%d)", text_basename(part.file), part.line);
	if (!is_one)
		fault_say(c, " or one that has it inlined");
	if (is_first && is_one)
		fault_brief(c, "threw %s out of noexcept %s", text,
			    function_name_plain(plain, part.function));
	else
		fault_brief(c, "threw %s", text);
}

bool fault_say_noexcept(struct fault_context *c, uint64_t unwinder, bool is_landing, uint64_t place)
{
	struct stopped s = {.c = c, .frames = calloc(FRAMES_MAX, sizeof *s.frames)};
	const struct model_snapshot *snap = NULL;
	size_t at = 0, frame = 0;
	struct location loc;
	struct thrown t;
	bool complete;

	if (s.frames && c->thread)
		s.count = symbols_unwind(c->s, c->snap, c->thread, s.frames, FRAMES_MAX, &complete);
	while (at < s.count && s.frames[at].pc != unwinder)
		at++;
	if (at + 1 < s.count)
		frame = is_landing ? at + 1 : frame_met(&s, at);
	if (frame)
		snap = throw_handled(c->m, c->s, c->snap, c->thread, s.frames, s.count);
	if (snap) {
		look_up(&s, frame, &loc);
		thrown_read(&t, c->s, snap);
		snap = *loc.function ? snap : NULL;
	}
	if (snap)
		say_frame(c, &t, &loc, s.frames[frame].pc != place);
	free(s.frames);
	return snap != NULL;
}
