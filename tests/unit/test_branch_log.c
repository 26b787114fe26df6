/* SPDX-License-Identifier: MIT */
/* A small machine runs random programs, writes down each branch as it is, and the records that the code cache would write. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "collector/engine/branch_log.h"
#include "collector/processor.h"

enum {
	BASE = 0x401000,
	CODE = 400,	/* instructions, one byte each */
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
	uint64_t pc;
	uint64_t stack[STACK];
	unsigned depth;

	struct truth *truth;
	size_t truth_count;
	struct ring_state now;

	struct segment_table *segments;
	struct branch_log *log;
	size_t limit;
	uint64_t bits;		/* the register of the cache's code */
	uint32_t current;	/* segment */
	struct branch_log_record *buffer;
	size_t buffered;
	bool crowded; /* the log has been, since the last settle */

	struct branch_ring ring;
	size_t settled; /* truth_count at the last settle */
	size_t clean;	/* the branches before this number are not compared */
	unsigned scribble; /* percent of the records that the program damages */
	uint64_t ticks_said; /* by the records, damaged or not, and by the stepper */
};

static unsigned below(struct machine *m, unsigned n) { return (unsigned)(unit_random(&m->seed) % n); }

static uint64_t random_pc(struct machine *m) { return BASE + below(m, CODE); }

static void write_code(struct machine *m, size_t first, size_t end, unsigned conditionals)
{
	static const uint8_t others[] = {BT_BRANCH_JMP, BT_BRANCH_CALL, BT_BRANCH_RET, BT_BRANCH_IJMP, BT_BRANCH_ICALL, BT_BRANCH_RET};

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
	else if (in->kind == BT_BRANCH_RET || in->kind == BT_BRANCH_IJMP || in->kind == BT_BRANCH_ICALL)
		to = random_pc(m);
	else if (in->kind == BT_BRANCH_SYSCALL)
		to = from + 1;
	if ((in->kind == BT_BRANCH_CALL || in->kind == BT_BRANCH_ICALL) && m->depth < STACK)
		m->stack[m->depth++] = from + 1;
	m->pc = taken ? to : from + 1;
	*b = (struct bt_branch){.from = from, .to = m->pc, .kind = in->kind, .flags = taken ? BT_BRANCH_TAKEN : 0};
	note(m, b);
	return true;
}

static uint32_t translate(struct machine *m, uint64_t pc)
{
	struct segment s = {.pc = pc, .from = pc, .kind = SEGMENT_FALL};

	while (m->code[s.from - BASE].kind == PLAIN && s.from - pc < SEGMENT_LEN && m->code[s.from + 1 - BASE].kind != BT_BRANCH_SYSCALL)
		s.from++;
	s.end = s.from + 1;
	if (m->code[s.from - BASE].kind == PLAIN) {
		s.to = s.end;
	} else {
		s.kind = m->code[s.from - BASE].kind;
		s.tick = s.kind == BT_BRANCH_JCC;
		if (s.tick || s.kind == BT_BRANCH_JMP || s.kind == BT_BRANCH_CALL)
			s.to = m->code[s.from - BASE].to;
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
		*r = (struct branch_log_record){unit_random(&m->seed), (uint32_t)unit_random(&m->seed), (uint32_t)unit_random(&m->seed)};
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
	m->buffer[m->buffered++] = (struct branch_log_record){branch_log_written(m->bits), segment, kind};
	m->bits = 1;
	if (m->buffered == 512)
		flush(m);
}

/* At the begin of a segment. */
static void checkpoint(struct machine *m)
{
	if (m->bits >> 61 || !below(m, 40))
		record(m, BRANCH_LOG_DIRECT, m->current);
}

/* Execution comes to another segment. Returns false where the cache is left, for want of a translation. */
static bool enter_segment(struct machine *m, const struct segment *left)
{
	bool indirect = left->kind == BT_BRANCH_RET || left->kind == BT_BRANCH_IJMP || left->kind == BT_BRANCH_ICALL;
	bool direct = left->kind == BT_BRANCH_JMP || left->kind == BT_BRANCH_CALL;
	bool system_call = m->code[m->pc - BASE].kind == BT_BRANCH_SYSCALL;

	if (direct && left->to <= left->from)
		record(m, BRANCH_LOG_LOOP, m->current);
	if (system_call || (!segment_at(m->segments, m->pc, segment_generation(m->segments)) && below(m, 2))) {
		flush(m);
		m->ticks_said += ticks_of(m->bits);
		if (indirect || below(m, 2))
			branch_log_arrive(m->log, m->bits, indirect ? BRANCH_LOG_INDIRECT : BRANCH_LOG_DIRECT, m->pc);
		else
			branch_log_end(m->log, m->bits, m->pc);
		return false;
	}
	m->current = translate(m, m->pc);
	if (indirect)
		record(m, BRANCH_LOG_INDIRECT, m->current);
	checkpoint(m);
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
	checkpoint(m);
	while (n--) {
		const struct segment *s = segment_get(m->segments, m->current);
		struct segment left = *s;
		bool last = m->pc == s->from;

		if (execute(m, &b) && b.kind == BT_BRANCH_JCC)
			m->bits = m->bits << 1 | !bt_branch_taken(&b);
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
	return a->tick == b->tick && a->transfers == b->transfers && a->space == b->space && a->epoch == b->epoch;
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

		if (s->tick < state->tick || (s->tick == state->tick && s->transfers <= state->transfers))
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
		assert_true(same_branch(&l.newest[(l.count - i) % 64], &m->truth[m->truth_count - i].b));
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
	assert_true(t <= m->clean || m->ring.oldest || scratch[0].b.kind == BT_BRANCH_GAP); /* nothing before that is missing */
	m->settled = m->truth_count;
	m->crowded = false;
}

static void change_code(struct machine *m, unsigned conditionals)
{
	size_t first = below(m, CODE), n = 1 + below(m, 30);
	size_t end = first + n > CODE ? CODE : first + n;

	write_code(m, first, end, conditionals);
	/* A segment that fell short before a system call ends there because of a byte that it does not hold. */
	segment_kill(m->segments, BASE + first - (first > 0), BASE + end);
	if (below(m, 2))
		m->now.epoch++;
}

static void machine_init(struct machine *m, uint64_t seed, struct truth *truth, struct branch_log_record *buffer)
{
	static const size_t limits[] = {1, 7, 40, 300, 5000, 100000};
	const struct processor plain = {0}, best = processor_probe();

	*m = (struct machine){.seed = seed, .truth = truth, .buffer = buffer, .pc = BASE};
	m->now = (struct ring_state){.tick = below(m, 100), .transfers = below(m, 5), .space = 1};
	m->limit = limits[below(m, sizeof limits / sizeof *limits)];
	m->segments = segment_table_new();
	m->log = branch_log_new(m->limit, &m->now, below(m, 2) ? &plain : &best);
	assert_non_null(m->segments);
	assert_non_null(m->log);
	branch_ring_init(&m->ring, m->limit, &m->now);
}

static void machine_release(struct machine *m)
{
	branch_log_free(m->log);
	segment_table_free(m->segments);
	branch_ring_release(&m->ring);
}

static void run_random_program(uint64_t seed, struct truth *truth, struct truth *scratch, struct branch_log_record *buffer)
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
		if (!below(&m, 20))
			settle(&m, scratch);
		if (!below(&m, 10))
			segment_collect(m.segments, branch_log_oldest_generation(m.log, m.segments));
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
static void for_seeds(struct arrays *a, uint64_t count, void (*run)(uint64_t, struct truth *, struct truth *, struct branch_log_record *))
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

static size_t count_gaps(const struct branch_ring *r, enum bt_gap_reason reason)
{
	size_t n = 0;

	for (uint64_t i = r->oldest; i < r->next; i++) {
		const struct bt_branch *b = &r->entries[i & (r->cap - 1)];

		n += b->kind == BT_BRANCH_GAP && (b->to & 0xff) == reason;
	}
	return n;
}

static void run_scribbling_program(uint64_t seed, struct truth *truth, struct truth *scratch, struct branch_log_record *buffer)
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

/* Small programs by hand. */

struct hand {
	struct segment_table *t;
	struct branch_log *log;
	struct branch_ring ring;
};

static const struct ring_state hand_start = {.tick = 10, .transfers = 2, .space = 1};

static void hand_init(struct hand *h, size_t limit)
{
	h->t = segment_table_new();
	h->log = branch_log_new(limit, &hand_start, &(struct processor){0});
	branch_ring_init(&h->ring, limit, &hand_start);
}

static void hand_release(struct hand *h)
{
	branch_log_free(h->log);
	branch_ring_release(&h->ring);
	segment_table_free(h->t);
}

/* Eight bytes, the last of them a branch. */
static uint32_t hand_segment(struct hand *h, uint64_t pc, uint8_t kind, uint64_t to)
{
	struct segment s = {.pc = pc, .from = pc + 7, .end = pc + 8, .to = to, .kind = kind, .tick = kind == BT_BRANCH_JCC};

	return segment_add(h->t, &s);
}

static void hand_begin(struct hand *h, uint64_t pc)
{
	branch_log_begin(h->log, h->t, pc, 1, 0);
}

static void hand_record(struct hand *h, uint64_t bits, uint32_t segment, uint32_t kind)
{
	struct branch_log_record r = {branch_log_written(bits), segment, kind};

	branch_log_records(h->log, &r, 1);
}

/* Settles; then the counts are these, and so many entries are in the ring. */
static void assert_settled(struct hand *h, uint64_t tick, uint64_t transfers, uint64_t entries)
{
	struct ring_state now = branch_log_now(h->log);

	branch_log_settle(h->log, &h->ring);
	assert_int_equal(now.tick, tick);
	assert_int_equal(now.transfers, transfers);
	assert_int_equal(h->ring.now.tick, tick);
	assert_int_equal(h->ring.now.transfers, transfers);
	assert_int_equal(h->ring.next - h->ring.oldest, entries);
}

static void assert_entry(const struct hand *h, uint64_t number, uint8_t kind, uint64_t from, uint64_t to)
{
	const struct bt_branch *b = &h->ring.entries[number & (h->ring.cap - 1)];

	assert_int_equal(b->kind, kind);
	assert_int_equal(b->from, from);
	assert_int_equal(b->to, to);
}

static void laps_of_a_silent_cycle_are_counted(void **state)
{
	struct hand h;
	uint32_t s;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x2000);
	s = hand_segment(&h, 0x2000, BT_BRANCH_JMP, 0x2000);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < 3; i++)
		hand_record(&h, 1, s, BRANCH_LOG_LOOP);
	branch_log_end(h.log, 1, 0x2003);
	assert_settled(&h, 10, 6, 4);
	assert_entry(&h, 0, BT_BRANCH_JMP, 0x1007, 0x2000);
	assert_entry(&h, 3, BT_BRANCH_JMP, 0x2007, 0x2000);
	hand_release(&h);
}

static void a_checkpoint_behind_a_checkpoint_is_a_lap_on(void **state)
{
	struct hand h;
	uint32_t s;

	(void)state;
	hand_init(&h, 100);
	s = hand_segment(&h, 0x2000, BT_BRANCH_JMP, 0x2000);
	hand_begin(&h, 0x2000);
	for (int i = 0; i < 3; i++)
		hand_record(&h, 1, s, BRANCH_LOG_DIRECT);
	branch_log_end(h.log, 1, 0x2000);
	assert_settled(&h, 10, 4, 2);
	hand_release(&h);
}

static void a_stretch_without_code_that_goes_nowhere_is_no_gap(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_begin(&h, 0x5000);
	branch_log_end(h.log, 1, 0x5000);
	assert_settled(&h, 10, 2, 0);
	hand_begin(&h, 0x5000);
	branch_log_end(h.log, 1, 0x5001); /* how it came there is not known */
	assert_settled(&h, 10, 2, 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_release(&h);
}

static void an_indirect_jump_into_its_own_segment_is_an_arrival(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_IJMP, 0);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1004); /* not yet there */
	hand_begin(&h, 0x1000);
	branch_log_arrive(h.log, 1, BRANCH_LOG_INDIRECT, 0x1004);
	assert_settled(&h, 10, 3, 1);
	assert_entry(&h, 0, BT_BRANCH_IJMP, 0x1007, 0x1004);
	hand_release(&h);
}

static void a_checkpoint_may_lie_in_the_middle_of_a_segment(void **state)
{
	struct hand h;
	struct segment rest = {.pc = 0x1004, .from = 0x1007, .end = 0x1008, .to = 0x2000, .kind = BT_BRANCH_JMP};
	uint32_t middle;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x2000);
	middle = segment_add(h.t, &rest);
	hand_begin(&h, 0x1000);
	hand_record(&h, 1, middle, BRANCH_LOG_DIRECT);
	branch_log_arrive(h.log, 1, BRANCH_LOG_DIRECT, 0x2000);
	hand_begin(&h, 0x1000);
	branch_log_arrive(h.log, 1, BRANCH_LOG_DIRECT, 0x1006); /* nothing begins there */
	assert_settled(&h, 10, 3, 1);
	assert_entry(&h, 0, BT_BRANCH_JMP, 0x1007, 0x2000);
	hand_release(&h);
}

static void an_indirect_branch_to_code_not_known_is_the_last_entry(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x123456789a);
	assert_settled(&h, 10, 3, 1);
	assert_entry(&h, 0, BT_BRANCH_RET, 0x1007, 0x123456789a);
	hand_release(&h);
}

/* Jumps in a row from 0x10000 on, 16 bytes apart, and then to `to`. Returns the last one's number. */
static uint32_t hand_jumps(struct hand *h, unsigned n, uint64_t to)
{
	uint32_t last = SEGMENT_NONE;

	for (unsigned i = 0; i < n; i++)
		last = hand_segment(h, 0x10000 + i * 16, BT_BRANCH_JMP, i + 1 < n ? 0x10000 + (i + 1) * 16 : to);
	return last;
}

static void a_leg_of_many_branches_is_whole(void **state)
{
	enum { JUMPS = 1000 };
	struct hand h;
	uint32_t last;

	(void)state;
	hand_init(&h, 5000);
	hand_segment(&h, 0x1000, BT_BRANCH_JCC, 0x10000);
	last = hand_jumps(&h, JUMPS, 0x10000);
	hand_begin(&h, 0x1000);
	hand_record(&h, 2, last, BRANCH_LOG_LOOP);
	hand_record(&h, 1, last, BRANCH_LOG_LOOP);
	branch_log_end(h.log, 1, 0x10020);
	assert_settled(&h, 11, 2 * JUMPS + 2, 2 * JUMPS + 3);
	assert_entry(&h, 0, BT_BRANCH_JCC, 0x1007, 0x10000);
	for (uint64_t i = 0; i < 2 * JUMPS; i++)
		assert_entry(&h, 1 + i, BT_BRANCH_JMP, 0x10000 + i % JUMPS * 16 + 7, 0x10000 + (i + 1) % JUMPS * 16);
	hand_release(&h);
}

static void a_leg_of_many_branches_to_another_place_is_whole(void **state)
{
	struct hand h;
	uint32_t target;

	(void)state;
	hand_init(&h, 5000);
	hand_jumps(&h, 1000, 0x2000);
	hand_segment(&h, 0x2000, BT_BRANCH_RET, 0);
	target = hand_segment(&h, 0x3000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x10000);
	hand_record(&h, 1, target, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x3000);
	assert_settled(&h, 10, 2 + 1001, 1001);
	assert_entry(&h, 0, BT_BRANCH_JMP, 0x10007, 0x10010);
	assert_entry(&h, 1000, BT_BRANCH_RET, 0x2007, 0x3000);
	hand_release(&h);
}

static void damaged_records_use_up_the_long_legs_but_no_short_ones(void **state)
{
	struct hand h;
	uint32_t jumps, place;

	(void)state;
	hand_init(&h, 2000);
	jumps = hand_jumps(&h, 1000, 0x9000); /* nothing is there */
	place = hand_segment(&h, 0x2000, BT_BRANCH_JMP, 0x10000);
	hand_segment(&h, 0x3000, BT_BRANCH_JCC, 0x10000);
	hand_begin(&h, 0x2000);
	for (int i = 0; i < 50; i++)
		hand_record(&h, 1, place, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x2000);
	hand_begin(&h, 0x3000);
	branch_log_end(h.log, 2, 0x10000 + 16 * 999); /* would be too long now */
	hand_begin(&h, 0x3000);
	branch_log_end(h.log, 2, 0x10000 + 16 * 100);
	assert_settled(&h, 12, 100, 1 + 101);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_begin(&h, 0x3000);
	hand_record(&h, 2, jumps, BRANCH_LOG_DIRECT);
	branch_log_end(h.log, 1, 0x10000 + 16 * 999); /* not in another settle */
	assert_settled(&h, 13, 999, 1 + 101 + 1000);
	hand_release(&h);
}

static void a_silent_cycle_in_vain_costs_one_lap(void **state)
{
	struct hand h;
	uint32_t last;

	(void)state;
	hand_init(&h, 5000);
	last = hand_jumps(&h, 1000, 0x10000);
	hand_begin(&h, 0x10000);
	branch_log_end(h.log, 1, 0x9000);
	hand_begin(&h, 0x10000);
	branch_log_end(h.log, 1, 0x9000);
	hand_begin(&h, 0x10000);
	hand_record(&h, 1, last, BRANCH_LOG_LOOP);
	branch_log_end(h.log, 1, 0x10000);
	assert_settled(&h, 10, 1002, 1001);
	hand_release(&h);
}

/* Laps of a cycle of 1000 jumps, far more than are wanted. With a conditional in each record, or none. */
static void assert_newest_laps(unsigned bits)
{
	enum { LAPS = 1500 };
	struct hand h;
	uint32_t last;
	uint64_t ticks = bits == 1 ? 0 : LAPS;

	hand_init(&h, 1000);
	last = hand_jumps(&h, 1000, bits == 1 ? 0x10000 : 0x9000);
	hand_segment(&h, 0x9000, BT_BRANCH_JCC, 0x10000);
	hand_begin(&h, 0x10000);
	for (int i = 0; i < LAPS; i++)
		hand_record(&h, bits, bits == 1 ? last : 0, bits == 1 ? BRANCH_LOG_LOOP : BRANCH_LOG_DIRECT);
	branch_log_end(h.log, 1, 0x10000 + 16 * 10);
	branch_log_settle(h.log, &h.ring);
	assert_in_range(h.ring.next, 1010, 20000); /* of a million and a half */
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 0);
	assert_int_equal(h.ring.now.tick, 10 + ticks);
	assert_int_equal(h.ring.now.transfers, bits == 1 ? 2 + 1000 * LAPS + 10 : 10);
	for (unsigned i = 1; i <= 10; i++)
		assert_entry(&h, h.ring.next - i, BT_BRANCH_JMP, 0x10000 + (10 - i) * 16 + 7, 0x10000 + (11 - i) * 16);
	assert_entry(&h, h.ring.next - 11, bits == 1 ? BT_BRANCH_JMP : BT_BRANCH_JCC, bits == 1 ? 0x10000 + 999 * 16 + 7 : 0x9007, 0x10000);
	hand_release(&h);
}

static void of_far_too_many_branches_the_newest_are_decoded(void **state)
{
	(void)state;
	assert_newest_laps(1);
	assert_newest_laps(2);
}

static void one_leg_longer_than_the_limit_is_no_loss(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_jumps(&h, 3000, 0x9000);
	hand_begin(&h, 0x10000);
	branch_log_end(h.log, 1, 0x9000);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(h.ring.next, 3000);
	assert_int_equal(h.ring.now.transfers, 3002);
	hand_release(&h);
}

static void a_conditional_that_has_no_bit_is_no_way(void **state)
{
	struct hand h;
	struct segment s = {.pc = 0x1000, .from = 0x1007, .end = 0x1008, .to = 0x2000, .kind = BT_BRANCH_JCC};

	(void)state;
	hand_init(&h, 100);
	segment_add(h.t, &s);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 2, 0x2000);
	assert_settled(&h, 11, 0, 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_release(&h);
}

static void given_up_damage_leaves_the_counts_of_now(void **state)
{
	struct hand h;
	uint32_t place;

	(void)state;
	hand_init(&h, 2000);
	hand_jumps(&h, 1000, 0x9000);
	place = hand_segment(&h, 0x2000, BT_BRANCH_JMP, 0x10000);
	hand_segment(&h, 0x3000, BT_BRANCH_JCC, 0x10000);
	hand_begin(&h, 0x2000);
	for (int i = 0; i < 50; i++)
		hand_record(&h, 1, place, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x2000);
	hand_begin(&h, 0x3000);
	branch_log_end(h.log, 2, 0x10000 + 16 * 999); /* found when looked for alone */
	assert_settled(&h, 11, 999, 1);
	hand_release(&h);
}

static void transfers_behind_an_unknown_conditional_are_counted_from_it(void **state)
{
	struct hand h;
	uint32_t ret;

	(void)state;
	hand_init(&h, 100);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	hand_record(&h, 8, ret, BRANCH_LOG_INDIRECT);
	hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x1000);
	assert_settled(&h, 13, 1, 2);
	hand_release(&h);
}

static void records_outside_a_stretch_are_a_gap(void **state)
{
	struct hand h;
	uint32_t ret;

	(void)state;
	hand_init(&h, 100);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x1000);
	assert_settled(&h, 10, 2, 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_release(&h);
}

static void a_cycle_that_leaves_no_record_ends(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 100);
	hand_segment(&h, 0x1000, BT_BRANCH_JMP, 0x2000);
	hand_segment(&h, 0x2000, BT_BRANCH_CALL, 0x1000);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x9000);
	assert_settled(&h, 10, 2, 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_SCRIBBLED), 1);
	hand_release(&h);
}

/* Each of these records cannot be; what they count is counted, and the next record is whole. */
static void a_record_that_cannot_be_is_a_gap(void **state)
{
	static const struct {
		struct branch_log_record r;
		unsigned ticks;
	} rows[] = {
		{{0, 1, BRANCH_LOG_INDIRECT}, 0},      {{4, 1, 3}, 2},			  {{4, 1, UINT32_MAX}, 2},
		{{1, 99, BRANCH_LOG_INDIRECT}, 0},     {{1, SEGMENT_NONE, BRANCH_LOG_LOOP}, 0}, {{8, 1, BRANCH_LOG_INDIRECT}, 3},
		{{1, 1, BRANCH_LOG_LOOP}, 0},	       {{1, 1, BRANCH_LOG_DIRECT}, 0},	  {{UINT64_MAX, 1, BRANCH_LOG_DIRECT}, 63},
		{{1, 2, BRANCH_LOG_INDIRECT}, 0}, /* dead */
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hand h;
		uint32_t ret, jcc;
		struct bt_branch stepped = {.kind = BT_BRANCH_SYSCALL, .flags = BT_BRANCH_TAKEN, .from = 1, .to = 3};
		size_t gaps;

		hand_init(&h, 100);
		ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
		jcc = hand_segment(&h, 0x2000, BT_BRANCH_JCC, 0x1000);
		hand_segment(&h, 0x3000, BT_BRANCH_RET, 0);
		segment_kill(h.t, 0x3000, 0x3001);
		hand_begin(&h, 0x1000);
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
		hand_record(&h, rows[i].r.bits, rows[i].r.segment, rows[i].r.kind);
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT); /* perhaps part of the gap */
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
		hand_record(&h, 1, jcc, BRANCH_LOG_INDIRECT);
		branch_log_end(h.log, 2, 0x1004);
		branch_log_branch(h.log, &stepped, false);
		branch_log_settle(h.log, &h.ring);
		gaps = count_gaps(&h.ring, BT_GAP_SCRIBBLED);
		assert_int_equal(gaps, 1);
		assert_int_equal(h.ring.now.tick, 11 + rows[i].ticks);
		assert_int_equal(h.ring.now.transfers, 1);
		assert_entry(&h, h.ring.next - 4, BT_BRANCH_RET, 0x1007, 0x1000);
		assert_entry(&h, h.ring.next - 3, BT_BRANCH_RET, 0x1007, 0x2000);
		assert_entry(&h, h.ring.next - 2, BT_BRANCH_JCC, 0x2007, 0x1000);
		assert_entry(&h, h.ring.next - 1, BT_BRANCH_SYSCALL, 1, 3);
		hand_release(&h);
	}
}

static void a_broken_stretch_is_a_gap_and_ticks_go_on(void **state)
{
	struct hand h;
	uint32_t jcc;

	(void)state;
	hand_init(&h, 100);
	jcc = hand_segment(&h, 0x2000, BT_BRANCH_JCC, 0x2000);
	hand_begin(&h, 0x2000);
	hand_record(&h, 4, jcc, BRANCH_LOG_DIRECT);
	branch_log_break(h.log, BT_GAP_DAMAGED);
	hand_begin(&h, 0x2000);
	branch_log_end(h.log, 2, 0x2000);
	assert_settled(&h, 13, 0, 4);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_DAMAGED), 1);
	hand_release(&h);
}

static void ticks_that_are_not_known_stay_so(void **state)
{
	static const struct ring_state unknown = {.tick = BT_TICKS_UNKNOWN, .transfers = 5};
	struct hand h;
	uint32_t jcc;

	(void)state;
	h.t = segment_table_new();
	h.log = branch_log_new(20, &unknown, &(struct processor){0});
	branch_ring_init(&h.ring, 20, &unknown);
	jcc = hand_segment(&h, 0x2000, BT_BRANCH_JCC, 0x2000);
	assert_true(branch_log_now(h.log).tick == BT_TICKS_UNKNOWN);
	assert_int_equal(branch_log_now(h.log).transfers, 5);
	hand_begin(&h, 0x2000);
	for (int i = 0; i < 1000; i++)
		hand_record(&h, 4, jcc, BRANCH_LOG_DIRECT);
	branch_log_end(h.log, 1, 0x2000);
	branch_log_settle(h.log, &h.ring);
	assert_true(h.ring.now.tick == BT_TICKS_UNKNOWN);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_OVERWRITTEN), 1);
	assert_in_range(h.ring.next, 20, 200);
	hand_release(&h);
}

static void a_lowered_log_keeps_its_newest_and_says_why_not_more(void **state)
{
	struct hand h;
	size_t before;
	uint32_t ret;

	(void)state;
	hand_init(&h, 1 << 16);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < 50000; i++)
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	before = branch_log_memory(h.log);
	branch_log_lower(h.log, 4096);
	assert_in_range(branch_log_memory(h.log), 1, before / 4);
	for (int i = 0; i < 100; i++)
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x1000);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_LIMIT), 1);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_OVERWRITTEN), 0);
	assert_in_range(h.ring.next, 4096, 3 * 4096);
	assert_int_equal(h.ring.now.transfers, 2 + 50100);
	hand_release(&h);
}

static void what_was_only_counted_is_a_gap_and_counts_go_on(void **state)
{
	struct hand h;
	uint32_t ret, jcc;

	(void)state;
	hand_init(&h, 100);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	jcc = hand_segment(&h, 0x2000, BT_BRANCH_JCC, 0x1000);
	branch_log_count(h.log, 0, 3); /* behind the conditionals before */
	assert_int_equal(branch_log_now(h.log).transfers, 5);
	branch_log_count(h.log, 1000, 4);
	branch_log_count(h.log, 0, 0);
	assert_int_equal(branch_log_now(h.log).tick, 1010);
	assert_int_equal(branch_log_now(h.log).transfers, 4);
	hand_begin(&h, 0x1000);
	hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	hand_record(&h, 1, jcc, BRANCH_LOG_INDIRECT);
	branch_log_arrive(h.log, 2, BRANCH_LOG_DIRECT, 0x1000);
	branch_log_count(h.log, 7, 0);
	branch_log_branch(h.log, &(struct bt_branch){.kind = BT_BRANCH_SYSCALL, .flags = 1, .from = 1, .to = 3}, false);
	assert_settled(&h, 10 + 1000 + 1 + 7, 1, 6);
	assert_int_equal(count_gaps(&h.ring, BT_GAP_OFF), 2);
	assert_entry(&h, 1, BT_BRANCH_RET, 0x1007, 0x1000);
	assert_entry(&h, 3, BT_BRANCH_JCC, 0x2007, 0x1000);
	hand_release(&h);
}

static void a_log_of_counts_alone_keeps_them(void **state)
{
	struct hand h;

	(void)state;
	hand_init(&h, 20);
	for (unsigned i = 0; i < 1000; i++)
		branch_log_count(h.log, i & 3, 5); /* more than there is room for */
	assert_settled(&h, 10 + 1500, 5, 2);
	hand_release(&h);
}

static void the_generation_of_a_stretch_outlives_its_begin(void **state)
{
	struct hand h;
	uint32_t ret;

	(void)state;
	hand_init(&h, 20);
	ret = hand_segment(&h, 0x1000, BT_BRANCH_RET, 0);
	hand_begin(&h, 0x1000);
	for (int i = 0; i < 1000; i++)
		hand_record(&h, 1, ret, BRANCH_LOG_INDIRECT);
	branch_log_end(h.log, 1, 0x1000);
	segment_kill(h.t, 1, 2);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	assert_int_equal(branch_log_oldest_generation(h.log, h.t), 0);
	hand_release(&h);
}

static void the_oldest_generation_is_that_of_the_oldest_stretch(void **state)
{
	struct hand h;
	struct segment_table *other = segment_table_new();

	(void)state;
	hand_init(&h, 100);
	assert_int_equal(branch_log_oldest_generation(h.log, h.t), UINT32_MAX);
	segment_kill(h.t, 1, 2);
	segment_kill(h.t, 1, 2);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	segment_kill(h.t, 1, 2);
	hand_begin(&h, 0x1000);
	branch_log_end(h.log, 1, 0x1000);
	assert_int_equal(branch_log_oldest_generation(h.log, h.t), 2);
	assert_int_equal(branch_log_oldest_generation(h.log, other), UINT32_MAX);
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(branch_log_oldest_generation(h.log, h.t), UINT32_MAX);
	segment_table_free(other);
	hand_release(&h);
}

static void many_short_stretches_crowd_the_log_before_it_loses_any(void **state)
{
	struct hand h;
	struct bt_branch b = {.kind = BT_BRANCH_SYSCALL, .flags = BT_BRANCH_TAKEN, .from = 0x1000, .to = 0x1002};

	(void)state;
	hand_init(&h, 1000);
	for (int i = 0; i < 5000; i++) {
		hand_begin(&h, 0x1000);
		branch_log_end(h.log, 1, 0x1000);
		branch_log_branch(h.log, &b, false);
		if (branch_log_crowded(h.log))
			branch_log_settle(h.log, &h.ring);
	}
	branch_log_settle(h.log, &h.ring);
	assert_int_equal(h.ring.next, 5000);
	assert_int_equal(h.ring.now.transfers, 5002);
	hand_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(settling_gives_what_a_random_program_did, make_arrays, free_arrays),
		cmocka_unit_test_setup_teardown(damaged_records_do_no_harm_to_later_ones, make_arrays, free_arrays),
		cmocka_unit_test(laps_of_a_silent_cycle_are_counted),
		cmocka_unit_test(a_checkpoint_behind_a_checkpoint_is_a_lap_on),
		cmocka_unit_test(a_stretch_without_code_that_goes_nowhere_is_no_gap),
		cmocka_unit_test(an_indirect_jump_into_its_own_segment_is_an_arrival),
		cmocka_unit_test(a_checkpoint_may_lie_in_the_middle_of_a_segment),
		cmocka_unit_test(an_indirect_branch_to_code_not_known_is_the_last_entry),
		cmocka_unit_test(a_leg_of_many_branches_is_whole),
		cmocka_unit_test(a_leg_of_many_branches_to_another_place_is_whole),
		cmocka_unit_test(damaged_records_use_up_the_long_legs_but_no_short_ones),
		cmocka_unit_test(a_silent_cycle_in_vain_costs_one_lap),
		cmocka_unit_test(of_far_too_many_branches_the_newest_are_decoded),
		cmocka_unit_test(one_leg_longer_than_the_limit_is_no_loss),
		cmocka_unit_test(a_conditional_that_has_no_bit_is_no_way),
		cmocka_unit_test(given_up_damage_leaves_the_counts_of_now),
		cmocka_unit_test(transfers_behind_an_unknown_conditional_are_counted_from_it),
		cmocka_unit_test(records_outside_a_stretch_are_a_gap),
		cmocka_unit_test(a_lowered_log_keeps_its_newest_and_says_why_not_more),
		cmocka_unit_test(what_was_only_counted_is_a_gap_and_counts_go_on),
		cmocka_unit_test(a_log_of_counts_alone_keeps_them),
		cmocka_unit_test(the_generation_of_a_stretch_outlives_its_begin),
		cmocka_unit_test(a_cycle_that_leaves_no_record_ends),
		cmocka_unit_test(a_record_that_cannot_be_is_a_gap),
		cmocka_unit_test(a_broken_stretch_is_a_gap_and_ticks_go_on),
		cmocka_unit_test(ticks_that_are_not_known_stay_so),
		cmocka_unit_test(the_oldest_generation_is_that_of_the_oldest_stretch),
		cmocka_unit_test(many_short_stretches_crowd_the_log_before_it_loses_any),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
