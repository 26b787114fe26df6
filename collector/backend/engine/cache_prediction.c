/* SPDX-License-Identifier: MIT */
/* Where the indirect branches of a program lead, and predictions from that. */
#include <stdlib.h>

#include "collector/backend/engine/engine_private.h"

/* How sure one is to be. */
struct caution {
	uint64_t wait, wait_most; /* branches from one look to the next: at first; each time twice
				     that (four times where the look was in vain), up to */
	size_t entries;           /* of the history, at each look */
	size_t visits;            /* of a branch among them, at least */
	uint64_t pays;            /* a prediction does after so many */
	uint64_t fragment; /* the first prediction does after so many for each fragment: to forget
			      some, all are looked through (code_cache.h) */
	size_t worth; /* percent of all branches that could be predicted: with fewer there is no
			 prediction */
	size_t share; /* percent of the branch's visits that lead where it will be predicted to */
	size_t share_left; /* fewer, and the prediction goes */
	uint32_t wrong;    /* ... so often at most: then the branch has no prediction any more */
};

static const struct caution cautious = {1 << 20, 1 << 25, 1 << 15, 16, 1 << 14, 16, 6, 70, 50, 2},
			    eager = {16, 16, 256, 1, 0, 0, 0, 1, 50, 8};

enum {
	PREDICTIONS_AT_ONCE = 512,
};

static const struct caution *caution_of(const struct backend *b)
{
	return b->tests->predict_eagerly ? &eager : &cautious;
}

struct sample {
	const struct caution *caution;
	uint64_t made; /* branches until now, conditionals and those that write records */
	size_t visits; /* of a branch, from which on a prediction pays, if all goes on for as long
			  as it went */
	struct indirect_visit *list;
	size_t count;
	uint64_t seen; /* branches of any kind */
};

static void add_visits(void *arg, const struct bt_branch *entries, size_t n)
{
	struct sample *s = arg;

	s->seen += n;
	for (size_t i = 0; i < n && s->count < s->caution->entries; i++)
		if (entries[i].kind == BT_BRANCH_RET || entries[i].kind == BT_BRANCH_IJMP ||
		    entries[i].kind == BT_BRANCH_ICALL)
			s->list[s->count++] =
				(struct indirect_visit){entries[i].from, entries[i].to};
}

static int by_branch(const void *a, const void *b)
{
	const struct indirect_visit *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->to > y->to) - (x->to < y->to);
}

/* One branch of the sample. */
struct site {
	uint64_t from, to; /* to: the target of most of its visits; most: the number of these */
	size_t most, visits;
	size_t first; /* in the list */
};

/* The site whose visits begin at number `first`. */
static struct site site_at(const struct sample *s, size_t first)
{
	struct site site = {.from = s->list[first].from, .first = first};
	size_t i = first, next;

	for (; i < s->count && s->list[i].from == site.from; i = next) {
		for (next = i; next < s->count && s->list[next].from == site.from &&
			       s->list[next].to == s->list[i].to;
		     next++)
			;
		if (next - i > site.most) {
			site.most = next - i;
			site.to = s->list[i].to;
		}
	}
	site.visits = i - first;
	return site;
}

static size_t visits_to(const struct sample *s, const struct site *site, uint64_t to)
{
	size_t n = 0;

	for (size_t i = site->first; i < site->first + site->visits; i++)
		n += s->list[i].to == to;
	return n;
}

static bool is_promising(const struct sample *s, const struct site *site)
{
	return site->visits >= s->visits && site->most * 100 >= site->visits * s->caution->share;
}

/* Whether it has no prediction, and has not been predicted wrongly too often. */
static bool may_be_new(const struct code_cache *c, const struct sample *s, const struct site *site)
{
	const struct prediction *old = predictions_get(&c->predictions, site->from);

	return !old || (!old->to && old->wrong < s->caution->wrong);
}

/* Whether so much could be predicted that it is worth the trouble: of all branches, and of those
 * that are not predicted yet, if all goes on for as long as it went. */
static bool is_worth_it(const struct code_cache *c, const struct sample *s)
{
	uint64_t promising = 0, new = 0;

	for (size_t i = 0; i < s->count;) {
		struct site site = site_at(s, i);

		if (is_promising(s, &site)) {
			promising += site.most;
			new += may_be_new(c, s, &site) ? site.most : 0;
		}
		i += site.visits;
	}
	return promising * 100 >= s->seen * s->caution->worth &&
	       new *(s->made / (s->seen | 1)) >=
		       s->caution->fragment *(c->fragment_count - c->indexed);
}

/* A prediction that is mostly wrong goes. */
static bool take_back(struct code_cache *c, const struct sample *s, const struct site *site,
		      const struct prediction *old)
{
	struct prediction prediction = *old;

	if (site->visits < s->caution->visits ||
	    visits_to(s, site, old->to) * 100 >= site->visits * s->caution->share_left)
		return false;
	prediction.to = 0;
	prediction.wrong++;
	return code_cache_predict(c, &prediction);
}

/* Whether a prediction was made or taken back. */
static bool look_at(struct code_cache *c, const struct code_source *source, const struct sample *s,
		    const struct site *site, bool worth_it)
{
	const struct prediction *old = predictions_get(&c->predictions, site->from);
	uint32_t wrong = old ? old->wrong : 0;
	struct prediction prediction;

	if (old && old->to)
		return take_back(c, s, site, old);
	if (!worth_it || wrong >= s->caution->wrong || !is_promising(s, site) ||
	    !translator_may_predict(c, source, site->from, site->to, &prediction))
		return false;
	prediction.wrong = wrong;
	return code_cache_predict(c, &prediction);
}

/* A look costs a millisecond or two. */
static void wait_longer(struct code_cache *c, const struct caution *caution, bool worth_it)
{
	if (!c->prediction_wait)
		c->prediction_wait = caution->wait;
	else if (c->prediction_wait < caution->wait_most)
		c->prediction_wait *= worth_it ? 2 : 4;
}

/* How many branches the task has made in caches, about: a loop may have no conditional. */
static uint64_t branches_made(const struct task *task)
{
	return ((const struct engine_task *)task->backend)->counted +
	       (task->log ? branch_log_passed(task->log) : 0);
}

bool cache_predictions_now(const struct backend *b, const struct task *task,
			   const struct engine_space *es)
{
	const struct engine_task *et = task->backend;

	if (es->cache->users != 1 || es->cache->busy || engine_space_is_busy(es, task))
		return false;
	if (es->cache->kind.ticks && es->sample.wanted)
		return cache_sample_is_full(&es->sample);
	return (es->cache->kind.ticks || task->log) &&
	       branches_made(task) - et->predicted_at >= (es->cache->prediction_wait
								  ? es->cache->prediction_wait
								  : caution_of(b)->wait);
}

/* Makes predictions of it, and takes some back. */
static void update_predictions(const struct backend *b, struct task *task, struct engine_space *es,
			       const struct code_source *source, struct sample *s)
{
	size_t made = 0;
	bool worth_it;

	s->visits = s->caution->pays * s->caution->entries / (s->made | 1);
	if (s->visits < s->caution->visits)
		s->visits = s->caution->visits;
	qsort(s->list, s->count, sizeof *s->list, by_branch);
	worth_it = is_worth_it(es->cache, s);
	wait_longer(es->cache, caution_of(b), worth_it);
	for (size_t i = 0; i < s->count && made < PREDICTIONS_AT_ONCE;) {
		struct site site = site_at(s, i);

		made += look_at(es->cache, source, s, &site, worth_it);
		i += site.visits;
	}
	((struct engine_task *)task->backend)->predicted_at = s->made;
}

void cache_prediction(const struct backend *b, struct task *task, struct engine_space *es,
		      const struct code_source *source)
{
	const struct caution *caution = caution_of(b);
	struct sample s = {.caution = caution, .made = branches_made(task)};

	if (es->cache->kind.ticks && !es->sample.wanted) {
		cache_sample_begin(es, caution->entries);
		((struct engine_task *)task->backend)->predicted_at = s.made;
	} else if (es->cache->kind.ticks) {
		s.list = es->sample.list;
		s.count = es->sample.count;
		s.seen = es->sample.made + s.count;
		update_predictions(b, task, es, source, &s);
		cache_sample_end(es);
	} else if ((s.list = malloc(caution->entries * sizeof *s.list))) {
		branch_log_look(task->log, caution->entries, add_visits, &s);
		update_predictions(b, task, es, source, &s);
		free(s.list);
	}
}
