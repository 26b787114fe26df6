/* SPDX-License-Identifier: MIT */
/* A small machine runs random programs, writes down each branch as it is, and the records that the
 * code cache would write. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "collector/history/branch_log.h"
#include "lib/array_size.h"
#include "lib/processor.h"

enum {
	BASE = 0x401000,
	CODE = 400, /* instructions, one byte each */
	STACK = 32,
	TRUTH = 200000, /* branches of one run */
	SEGMENT_LEN = 9,
	PLAIN = BT_BRANCH_KINDS,
};

struct truth {
	struct bt_branch b;
	struct ring_state after;
};

struct instruction {
	uint8_t kind; /* enum bt_branch_kind, or PLAIN */
	uint64_t to;
};

struct machine {
	uint64_t seed;
	struct instruction code[CODE];
	uint64_t predictions[CODE]; /* where the indirect branch there is predicted to lead, 0 */
	uint64_t pc;
	uint64_t stack[STACK];
	unsigned depth;

	struct truth *truth;
	size_t truth_count;
	struct ring_state now;

	struct segment_table *segments;
	struct branch_log *log;
	size_t limit;
	uint64_t bits;    /* the register of the cache's code */
	uint32_t current; /* segment */
	struct branch_log_record *buffer;
	size_t buffered;
	bool crowded; /* the log has been, since the last settle */

	struct branch_ring ring;
	size_t settled;      /* truth_count at the last settle */
	size_t clean;        /* the branches before this number are not compared */
	unsigned scribble;   /* percent of the records that the program damages */
	uint64_t ticks_said; /* by the records, damaged or not, and by the stepper */
};

static unsigned below(struct machine *m, unsigned n)
{
	return (unsigned)(unit_random(&m->seed) % n);
}

static uint64_t random_pc(struct machine *m) { return BASE + below(m, CODE); }

static void write_code(struct machine *m, size_t first, size_t end, unsigned conditionals)
{
	static const uint8_t others[] = {BT_BRANCH_JMP,  BT_BRANCH_CALL,  BT_BRANCH_RET,
					 BT_BRANCH_IJMP, BT_BRANCH_ICALL, BT_BRANCH_RET};

	for (size_t i = first; i < end; i++) {
		unsigned r = below(m, 100);
		uint8_t kind = PLAIN;

		if (r < conditionals)
			kind = BT_BRANCH_JCC;
		else if (r < 40)
			kind = others[below(m, sizeof others)];
		else if (r < 42)
			kind = BT_BRANCH_SYSCALL;
		m->code[i] = (struct instruction){kind, random_pc(m)};
	}
	if (end == CODE)
		m->code[CODE - 1] = (struct instruction){BT_BRANCH_JMP, random_pc(m)};
}

static void note(struct machine *m, const struct bt_branch *b)
{
	if (b->kind == BT_BRANCH_JCC) {
		m->now.tick++;
		m->now.transfers = 0;
	} else {
		m->now.transfers++;
	}
	assert_true(m->truth_count < TRUTH);
	m->truth[m->truth_count++] = (struct truth){*b, m->now};
}

/* Executes the instruction at pc. Returns whether it was a branch, which is in *b then. */
static bool execute(struct machine *m, struct bt_branch *b)
{
	const struct instruction *in = &m->code[m->pc - BASE];
	uint64_t from = m->pc, to = in->to;
	bool taken = true;

	if (in->kind == PLAIN) {
		m->pc++;
		return false;
	}
	if (in->kind == BT_BRANCH_JCC)
		taken = below(m, 3);
	else if (in->kind == BT_BRANCH_RET && m->depth)
		to = m->stack[--m->depth];
	else if (in->kind == BT_BRANCH_RET || in->kind == BT_BRANCH_IJMP ||
		 in->kind == BT_BRANCH_ICALL)
		to = m->predictions[from - BASE] && below(m, 4) ? m->predictions[from - BASE]
								: random_pc(m);
	else if (in->kind == BT_BRANCH_SYSCALL)
		to = from + 1;
	if ((in->kind == BT_BRANCH_CALL || in->kind == BT_BRANCH_ICALL) && m->depth < STACK)
		m->stack[m->depth++] = from + 1;
	m->pc = taken ? to : from + 1;
	*b = (struct bt_branch){
		.from = from, .to = m->pc, .kind = in->kind, .flags = taken ? BT_BRANCH_TAKEN : 0};
	note(m, b);
	return true;
}

static bool is_indirect(uint8_t kind)
{
	return kind == BT_BRANCH_RET || kind == BT_BRANCH_IJMP || kind == BT_BRANCH_ICALL;
}

static uint32_t translate(struct machine *m, uint64_t pc)
{
	struct segment s = {.pc = pc, .from = pc, .kind = SEGMENT_FALL};

	while (m->code[s.from - BASE].kind == PLAIN && s.from - pc < SEGMENT_LEN &&
	       m->code[s.from + 1 - BASE].kind != BT_BRANCH_SYSCALL)
		s.from++;
	s.end = s.from + 1;
	if (m->code[s.from - BASE].kind == PLAIN) {
		s.to = s.end;
	} else {
		s.kind = m->code[s.from - BASE].kind;
		s.tick = s.kind == BT_BRANCH_JCC;
		if (s.tick || s.kind == BT_BRANCH_JMP || s.kind == BT_BRANCH_CALL)
			s.to = m->code[s.from - BASE].to;
		else if (is_indirect(s.kind))
			s.to = m->predictions[s.from - BASE];
	}
	return segment_add(m->segments, &s);
}

static void damage(struct machine *m, struct branch_log_record *r)
{
	switch (below(m, 6)) {
	case 0:
		*r = (struct branch_log_record){0};
		break;
	case 1:
		r->segment = below(m, 2) ? below(m, 200) : (uint32_t)unit_random(&m->seed);
		break;
	case 2:
		r->kind = below(m, 2) ? below(m, 16) : (uint32_t)unit_random(&m->seed);
		break;
	case 3:
		r->bits ^= 1ull << below(m, 64);
		break;
	case 4:
		r->bits = branch_log_written(unit_random(&m->seed) >> below(m, 64));
		break;
	default:
		*r = (struct branch_log_record){.bits = unit_random(&m->seed),
						.to = unit_random(&m->seed) >> below(m, 64)};
	}
}

static uint64_t ticks_of(uint64_t bits)
{
	uint64_t n = 0;

	while (bits >>= 1)
		n++;
	return n;
}

static void flush(struct machine *m)
{
	for (size_t i = 0; i < m->buffered; i++) {
		if (below(m, 100) < m->scribble)
			damage(m, &m->buffer[i]);
		m->ticks_said += ticks_of(branch_log_bits(m->buffer[i].bits));
	}
	branch_log_records(m->log, m->buffer, m->buffered);
	m->buffered = 0;
}

static void record(struct machine *m, enum branch_log_kind kind, uint32_t segment)
{
	struct branch_log_record r = {
		.bits = branch_log_written(m->bits), .segment = segment, .kind = kind};

	if (kind == BRANCH_LOG_INDIRECT)
		r.to = segment_get(m->segments, segment)->pc;
	m->buffer[m->buffered++] = r;
	m->bits = 1;
	if (m->buffered == 512)
		flush(m);
}

/* At the begin of a segment. */
static void safe_point(struct machine *m)
{
	if (m->bits >> 61 || !below(m, 40))
		record(m, BRANCH_LOG_DIRECT, m->current);
}

/* Execution comes to another segment. Returns false where the cache is left, for want of a
 * translation. */
static bool enter_segment(struct machine *m, const struct segment *left)
{
	bool indirect = is_indirect(left->kind) &&
			left->to != m->pc; /* what is as predicted leaves no record */
	bool direct = left->kind == BT_BRANCH_JMP || left->kind == BT_BRANCH_CALL;
	bool system_call = m->code[m->pc - BASE].kind == BT_BRANCH_SYSCALL;

	if (direct && left->to <= left->from)
		record(m, BRANCH_LOG_LOOP, m->current);
	if (system_call ||
	    (!segment_at(m->segments, m->pc, segment_generation(m->segments)) && below(m, 2))) {
		flush(m);
		m->ticks_said += ticks_of(m->bits);
		if (indirect || below(m, 2))
			branch_log_arrive(m->log, m->bits,
					  indirect ? BRANCH_LOG_INDIRECT : BRANCH_LOG_DIRECT,
					  m->pc);
		else
			branch_log_end(m->log, m->bits, m->pc);
		return false;
	}
	m->current = translate(m, m->pc);
	if (indirect)
		record(m, BRANCH_LOG_INDIRECT, m->current);
	safe_point(m);
	return true;
}

/* At most n instructions in the code cache. */
static void stretch(struct machine *m, unsigned n)
{
	struct bt_branch b;

	if (m->code[m->pc - BASE].kind == BT_BRANCH_SYSCALL)
		return;
	branch_log_begin(m->log, m->segments, m->pc, m->now.space, m->now.epoch);
	m->current = translate(m, m->pc);
	m->bits = 1;
	safe_point(m);
	while (n--) {
		const struct segment *s = segment_get(m->segments, m->current);
		struct segment left = *s;
		bool last = m->pc == s->from;

		if (execute(m, &b) && b.kind == BT_BRANCH_JCC)
			m->bits = m->bits << 1 | !bt_branch_taken(&b);
		if (last && is_indirect(left.kind) && left.to && left.to != m->pc)
			record(m, BRANCH_LOG_MISS, m->current);
		if (last && !enter_segment(m, &left))
			return;
	}
	flush(m);
	m->ticks_said += ticks_of(m->bits);
	branch_log_end(m->log, m->bits, m->pc);
}

static void single_steps(struct machine *m, unsigned n)
{
	struct bt_branch b;

	while (n--)
		if (execute(m, &b)) {
			m->ticks_said += b.kind == BT_BRANCH_JCC;
			branch_log_epoch(m->log, m->now.space, m->now.epoch);
			branch_log_branch(m->log, &b, true);
		}
}

static void assert_now(struct machine *m)
{
	struct ring_state now = branch_log_now(m->log);

	assert_true(now.tick == m->now.tick);
	assert_true(now.transfers == m->now.transfers);
}

static bool same_branch(const struct bt_branch *a, const struct bt_branch *b)
{
	return a->from == b->from && a->to == b->to && a->kind == b->kind && a->flags == b->flags;
}

static bool same_state(const struct ring_state *a, const struct ring_state *b)
{
	return a->tick == b->tick && a->transfers == b->transfers && a->space == b->space &&
	       a->epoch == b->epoch;
}

/* What the ring says, as a reader would see it: flattened, with the state behind each entry. */
static size_t read_ring(const struct branch_ring *r, struct truth *out)
{
	struct branch_ring copy;
	size_t n = 0;

	branch_ring_init(&copy, 1, &r->before);
	for (uint64_t i = r->oldest; i < r->next; i++) {
		const struct bt_branch *b = &r->entries[i & (r->cap - 1)];

		if (b->kind == BT_BRANCH_EPOCH) {
			copy.now.epoch = (uint32_t)b->to;
			copy.now.space = b->from ? (uint32_t)b->from : copy.now.space;
			continue;
		}
		if (b->kind == BT_BRANCH_GAP) {
			copy.now.tick = b->from;
			copy.now.transfers = b->to >> 8;
		} else if (b->kind == BT_BRANCH_JCC) {
			copy.now.tick++;
			copy.now.transfers = 0;
		} else {
			copy.now.transfers++;
		}
		out[n++] = (struct truth){*b, copy.now};
	}
	branch_ring_release(&copy);
	return n;
}

/* How many branches had happened when the state was this. */
static size_t truth_index(const struct machine *m, const struct ring_state *state)
{
	size_t lo = 0, hi = m->truth_count;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		const struct ring_state *s = &m->truth[mid].after;

		if (s->tick < state->tick ||
		    (s->tick == state->tick && s->transfers <= state->transfers))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* The newest branches that a look at the log finds. */
struct looked {
	struct bt_branch newest[64];
	uint64_t count;
	bool cut; /* a leg of more branches than are given of it */
};

static void take_looked(void *arg, const struct bt_branch *entries, size_t n)
{
	struct looked *l = arg;

	l->cut |= n == 256;
	for (size_t i = 0; i < n; i++)
		l->newest[l->count++ % 64] = entries[i];
}

/* They are what happened last, as much of it as is in the log. */
static void look(struct machine *m)
{
	struct looked l = {.count = 0};
	uint64_t since = m->truth_count - m->settled;

	branch_log_look(m->log, 1 + below(m, 500), take_looked, &l);
	if (l.cut || m->clean > m->settled)
		return;
	assert_true(l.count <= since);
	assert_true(l.count || !since || m->limit < 64);
	for (uint64_t i = 1; i <= l.count && i <= 64; i++)
		assert_true(same_branch(&l.newest[(l.count - i) % 64],
					&m->truth[m->truth_count - i].b));
}

/* Settles, and compares the ring with what happened, from the newest back. */
static void settle(struct machine *m, struct truth *scratch)
{
	size_t t = m->truth_count, n;
	struct ring_state now;

	m->crowded |= branch_log_crowded(m->log);
	assert_now(m);
	look(m);
	now = branch_log_now(m->log);
	branch_log_settle(m->log, &m->ring);
	assert_true(same_state(&m->ring.now, &now));
	n = read_ring(&m->ring, scratch);
	while (n-- && t > m->clean) {
		const struct truth *got = &scratch[n];

		if (got->b.kind == BT_BRANCH_GAP) {
			assert_int_equal(got->b.to & 0xff, BT_GAP_OVERWRITTEN);
			assert_int_equal(t, truth_index(m, &got->after));
			if (t > m->settled)
				assert_true(m->crowded || m->truth_count - m->settled >= m->limit);
			t = n ? truth_index(m, &scratch[n - 1].after) : 0;
			continue;
		}
		t--;
		assert_true(same_branch(&got->b, &m->truth[t].b));
		assert_true(same_state(&got->after, &m->truth[t].after));
	}
	assert_true(t <= m->clean || m->ring.oldest ||
		    scratch[0].b.kind == BT_BRANCH_GAP); /* nothing before that is missing */
	m->settled = m->truth_count;
	m->crowded = false;
}

/* A branch has another prediction from now on, or none (0). */
static void set_prediction(struct machine *m, size_t i, uint64_t prediction)
{
	m->predictions[i] = prediction;
	segment_kill(m->segments, BASE + i, BASE + i + 1);
}

static void change_code(struct machine *m, unsigned conditionals)
{
	size_t first = below(m, CODE), n = 1 + below(m, 30);
	size_t end = first + n > CODE ? CODE : first + n;

	for (size_t i = 0; i < CODE; i++) /* predictions rest on code */
		if (m->predictions[i])
			set_prediction(m, i, 0);
	write_code(m, first, end, conditionals);
	/* A segment that fell short before a system call ends there because of a byte that it does
	 * not hold. */
	segment_kill(m->segments, BASE + first - (first > 0), BASE + end);
	if (below(m, 2))
		m->now.epoch++;
}

/* Whether the prediction would close a cycle without a conditional and without another branch that
 * leaves a record. */
static bool closes_cycle(const struct machine *m, size_t i, uint64_t pc)
{
	for (size_t n = 0; n < CODE; n++) {
		const struct instruction *in = &m->code[pc - BASE];

		if (pc == BASE + i)
			return true;
		if (in->kind == BT_BRANCH_JCC)
			return false;
		if (in->kind == PLAIN || in->kind == BT_BRANCH_SYSCALL)
			pc++;
		else
			pc = is_indirect(in->kind) ? m->predictions[pc - BASE] : in->to;
		if (!pc)
			return false;
	}
	return true;
}

static void prediction(struct machine *m)
{
	for (unsigned n = below(m, 40); n; n--) {
		size_t i = below(m, CODE);
		uint64_t to = random_pc(m);

		if (is_indirect(m->code[i].kind) && !closes_cycle(m, i, to))
			set_prediction(m, i, below(m, 5) ? to : 0);
	}
}

static void machine_init(struct machine *m, uint64_t seed, struct truth *truth,
			 struct branch_log_record *buffer)
{
	static const size_t limits[] = {1, 7, 40, 300, 5000, 100000};
	const struct processor plain = {0}, best = processor_probe();

	*m = (struct machine){.seed = seed, .truth = truth, .buffer = buffer, .pc = BASE};
	m->now = (struct ring_state){.tick = below(m, 100), .transfers = below(m, 5), .space = 1};
	m->limit = limits[below(m, ARRAY_SIZE(limits))];
	m->segments = segment_table_new();
	m->log = branch_log_new(m->limit, &m->now, below(m, 2) ? &plain : &best);
	assert_non_null(m->segments);
	assert_non_null(m->log);
	branch_ring_init(&m->ring, m->limit, &m->now);
}

static void machine_release(struct machine *m)
{
	branch_log_free(m->log);
	segment_table_put(m->segments);
	branch_ring_release(&m->ring);
}

static void run_random_program(uint64_t seed, struct truth *truth, struct truth *scratch,
			       struct branch_log_record *buffer)
{
	static const unsigned rates[] = {0, 1, 5, 15, 30};
	struct machine m;
	unsigned conditionals, length;

	machine_init(&m, seed, truth, buffer);
	conditionals = rates[below(&m, 5)];
	length = below(&m, 4) ? 60 : 6000;
	write_code(&m, 0, CODE, conditionals);
	for (unsigned i = 0; i < 60 && m.truth_count < TRUTH - 10000; i++) {
		stretch(&m, below(&m, length));
		if (below(&m, 3))
			assert_now(&m);
		single_steps(&m, below(&m, 4));
		if (!below(&m, 5))
			assert_now(&m);
		m.crowded |= branch_log_crowded(m.log);
		if (!below(&m, 10))
			change_code(&m, conditionals);
		if (!below(&m, 4))
			prediction(&m);
		if (!below(&m, 20))
			settle(&m, scratch);
		if (!below(&m, 10))
			segment_collect(m.segments,
					branch_log_oldest_generation(m.log, m.segments));
	}
	assert_now(&m);
	settle(&m, scratch);
	machine_release(&m);
}

struct arrays {
	struct truth *truth, *scratch;
	struct branch_log_record *buffer;
};

static int make_arrays(void **state)
{
	struct arrays *a = malloc(sizeof *a);

	a->truth = calloc(TRUTH, sizeof *a->truth);
	a->scratch = calloc(TRUTH, sizeof *a->scratch);
	a->buffer = calloc(512, sizeof *a->buffer);
	*state = a;
	return 0;
}

static int free_arrays(void **state)
{
	struct arrays *a = *state;

	free(a->truth);
	free(a->scratch);
	free(a->buffer);
	free(a);
	return 0;
}

/* Random seeds run one after another; BTREC_TEST_SEED runs one. */
static void for_seeds(struct arrays *a, uint64_t count,
		      void (*run)(uint64_t, struct truth *, struct truth *,
				  struct branch_log_record *))
{
	const char *one = getenv("BTREC_TEST_SEED");
	uint64_t first = one ? strtoull(one, NULL, 0) : 1;

	for (uint64_t seed = first; seed < first + (one ? 1 : count); seed++) {
		print_message("seed %llu\n", (unsigned long long)seed);
		run(seed, a->truth, a->scratch, a->buffer);
	}
}

static void settling_gives_what_a_random_program_did(void **state)
{
	for_seeds(*state, 400, run_random_program);
}

static void run_scribbling_program(uint64_t seed, struct truth *truth, struct truth *scratch,
				   struct branch_log_record *buffer)
{
	struct machine m;
	struct ring_state before, after;
	uint64_t start;

	machine_init(&m, seed, truth, buffer);
	m.scribble = 1 + below(&m, below(&m, 2) ? 100 : 5);
	start = m.now.tick;
	write_code(&m, 0, CODE, 1 + below(&m, 30));
	for (unsigned i = 0; i < 20; i++) {
		stretch(&m, below(&m, 3000));
		single_steps(&m, below(&m, 4));
		if (!below(&m, 4))
			change_code(&m, 15);
		if (!below(&m, 4))
			prediction(&m);
		before = branch_log_now(m.log);
		assert_true(before.tick == start + m.ticks_said);
		if (below(&m, 3))
			continue;
		branch_log_settle(m.log, &m.ring);
		after = branch_log_now(m.log);
		assert_true(same_state(&before, &after));
		assert_true(same_state(&m.ring.now, &after));
	}
	branch_log_settle(m.log, &m.ring);
	/* What comes later is right again. */
	m.scribble = 0;
	m.now = branch_log_now(m.log);
	m.clean = m.settled = m.truth_count;
	stretch(&m, 1000);
	single_steps(&m, 3);
	stretch(&m, 1000);
	settle(&m, scratch);
	machine_release(&m);
}

static void damaged_records_do_no_harm_to_later_ones(void **state)
{
	for_seeds(*state, 400, run_scribbling_program);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(settling_gives_what_a_random_program_did,
						make_arrays, free_arrays),
		cmocka_unit_test_setup_teardown(damaged_records_do_no_harm_to_later_ones,
						make_arrays, free_arrays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
