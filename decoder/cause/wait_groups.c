/* SPDX-License-Identifier: MIT */
#include "decoder/cause/wait_groups.h"

#include <stdlib.h>
#include <string.h>

static struct wait_group *find_same(struct wait_groups *g, const struct wait_group *wanted)
{
	for (size_t i = 0; i < g->count; i++)
		if (g->at[i].place.addr == wanted->place.addr &&
		    !strcmp(g->at[i].text, wanted->text))
			return &g->at[i];
	return NULL;
}

static void add_group(struct wait_groups *g, const struct wait_group *of, size_t most)
{
	struct wait_group *same = find_same(g, of);

	if (same)
		same->threads++;
	else if (g->count < most)
		g->at[g->count++] = *of;
	else
		g->left++;
}

int wait_groups_find(struct wait_groups **out, const struct model *m, struct symbols *s,
		     const struct model_snapshot *snap, size_t most, struct bt_error *err)
{
	struct wait_groups *g = calloc(1, sizeof *g);
	struct own_code *own = NULL;
	struct waits w = {0};
	int rc = g ? waits_find(&w, m, s, snap, err) : bt_no_memory(err, NULL);

	if (!rc)
		rc = own_code_open(&own, m, s, snap, snap->thread_count ? snap->threads[0] : NULL,
				   err);
	for (int dead = 1; !rc && dead >= 0; dead--)
		for (size_t i = 0; i < w.count; i++) {
			struct wait_group of = {
				.thread = w.at[i].thread, .dead = dead, .threads = 1};

			if (wait_is_dead(&w.at[i]) != dead)
				continue;
			wait_text(of.text, &w.at[i], s, snap);
			own_code_frame(own, snap, of.thread, &of.place);
			add_group(g, &of, most < WAIT_GROUPS_MAX ? most : WAIT_GROUPS_MAX);
		}
	own_code_close(own);
	waits_release(&w);
	if (rc) {
		free(g);
		g = NULL;
	}
	*out = g;
	return rc;
}

const char *wait_groups_heading(const struct wait_groups *g)
{
	return g->count == 1 && g->at[0].threads == 1 && !g->left ? "What the program does"
								  : "What the threads do";
}
