/* SPDX-License-Identifier: MIT */
/* A moment from outside: a snapshot that was asked for, or a signal that nothing in the program has
 * raised. The program may hang: what is said is whether some of its threads can never go on
 * (waits.h). */
#include "decoder/fault_private.h"
#include "decoder/waits.h"

void fault_explain_hang(struct fault_context *c)
{
	const struct wait *first;
	char text[WAIT_TEXT_MAX];
	struct waits w;
	size_t dead = 0;

	if (!waits_find(&w, c->m, c->s, c->snap, NULL))
		dead = waits_deadlock_text(text, &w, c->s, c->snap, &first);
	if (dead) {
		fault_say(c, "; %s", text);
		*c->f->brief = '\0'; /* who has sent it matters less */
		fault_brief(c, "deadlock of %zu thread%s", dead, dead == 1 ? "" : "s");
		fault_set_cause(c, "deadlock");
		c->f->stuck = first->thread;
	}
	waits_release(&w);
}
