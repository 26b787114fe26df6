/* SPDX-License-Identifier: MIT */
/* Branch trace store records: order, wrap, loss, padding, torn records, the kernel's half, switches
 * among branches. */
#include "hardware_decoders/bts_flow.h"

#include "lib/buf.h"
#include "tests/unit/unit.h"

enum {
	ITEMS = 4096,
	SIZE = 4096, /* of the ring: 170 records and two thirds */
	KERNEL_BIT = 63,
};

#define KERNEL (1ull << KERNEL_BIT)

struct seen {
	struct flow_item items[ITEMS];
	size_t count;
};

static void keep(void *arg, const struct flow_item *item)
{
	struct seen *s = arg;

	assert_true(s->count < ITEMS);
	s->items[s->count++] = *item;
}

static void is_branch(const struct flow_item *item, uint64_t from, uint64_t to)
{
	assert_int_equal(item->kind, FLOW_BRANCH);
	assert_int_equal(item->branch.from, from);
	assert_int_equal(item->branch.to, to);
	assert_true(bt_branch_taken(&item->branch));
}

static void is_gap(const struct flow_item *item, enum bt_gap_reason reason)
{
	assert_int_equal(item->kind, FLOW_GAP);
	assert_int_equal(item->branch.kind, BT_BRANCH_GAP);
	assert_int_equal(item->branch.to, reason);
}

static const struct bts_code no_code;

static void put(struct buf *b, uint64_t from, uint64_t to, uint64_t flags)
{
	buf_u64(b, from);
	buf_u64(b, to);
	buf_u64(b, flags);
}

/* A ring and its writer, as the kernel's. */
struct ring {
	uint8_t data[SIZE];
	struct bts_ring r;
};

static void ring_bytes(struct ring *g, const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		g->data[g->r.head++ % SIZE] = b->data[i];
}

static void ring_put(struct ring *g, uint32_t type, uint16_t misc, uint64_t one, uint64_t two)
{
	struct buf b = {0};

	buf_u32(&b, type);
	buf_u16(&b, misc);
	buf_u16(&b, BTS_RECORD);
	buf_u64(&b, one);
	buf_u64(&b, two);
	ring_bytes(g, &b);
	buf_release(&b);
}

static void ring_branch(struct ring *g, uint64_t n) { ring_put(g, 9, 2, 0x1000 + n, 0x2000 + n); }

static struct ring *ring_new(void)
{
	struct ring *g = calloc(1, sizeof *g);

	assert_non_null(g);
	g->r.data = g->data;
	g->r.size = SIZE;
	return g;
}

static void look(struct ring *g, struct seen *s)
{
	s->count = 0;
	bts_ring_read(&g->r, &no_code, keep, s);
	g->r.seen = g->r.head;
}

static void records_come_oldest_first(void **state)
{
	struct seen *s = calloc(1, sizeof *s);
	struct buf b = {0};

	(void)state;
	put(&b, 0x401000, 0x401010, 0);
	put(&b, 0x401020, 0x401000, 1 << 4);
	put(&b, 0, 0, 0); /* padding */
	bts_records(slice_of(b.data, b.len), &no_code, keep, s);
	assert_int_equal(s->count, 2);
	is_branch(&s->items[0], 0x401000, 0x401010);
	is_branch(&s->items[1], 0x401020, 0x401000);
	assert_int_equal(s->items[0].branch.flags, BT_BRANCH_TAKEN);
	assert_int_equal(s->items[1].branch.flags, BT_BRANCH_TAKEN | BT_BRANCH_PREDICTION_KNOWN);
	assert_int_equal(s->items[0].branch.kind, BT_BRANCH_BRANCH);
	buf_release(&b);
	free(s);
}

static void a_torn_record_is_a_gap(void **state)
{
	struct seen *s = calloc(1, sizeof *s);
	struct buf b = {0};

	(void)state;
	put(&b, 0x401000, 0x401010, 0);
	put(&b, 0x401000, 0, 0);
	put(&b, 0x401020, 0x401030, 0);
	bts_records(slice_of(b.data, b.len - 7), &no_code, keep, s);
	assert_int_equal(s->count, 3);
	is_branch(&s->items[0], 0x401000, 0x401010);
	is_gap(&s->items[1], BT_GAP_LOST);
	is_gap(&s->items[2], BT_GAP_LOST);
	buf_release(&b);
	free(s);
}

/* syscall; nop; jmp 1f */
static const uint8_t some_code[] = {0x0f, 0x05, 0x90, 0xeb, 0x10};

static size_t read_code(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	size_t left;

	(void)arg;
	if (addr < 0x401000 || addr >= 0x401000 + sizeof some_code)
		return 0;
	left = sizeof some_code - (size_t)(addr - 0x401000);
	memcpy(bytes, some_code + (addr - 0x401000), n < left ? n : left);
	return n < left ? n : left;
}

/* A system call, an interrupt that leads back and one that leads to a handler; a jump between two
 * places in the kernel. */
static void the_kernel_s_half_is_left_out(void **state)
{
	static const struct bts_code code = {.code = read_code};
	struct seen *s = calloc(1, sizeof *s);
	struct flow_join join = {0};
	struct bt_branch out[8];
	struct buf b = {0};
	size_t n = 0;

	(void)state;
	put(&b, 0x401000, KERNEL | 0x100, 0);
	put(&b, KERNEL | 0x120, KERNEL | 0x200, 0);
	put(&b, KERNEL | 0x300, 0x401002, 0);
	put(&b, 0x401002, KERNEL | 0x100, 0);
	put(&b, KERNEL | 0x300, 0x401002, 0);
	put(&b, 0x401003, 0x401015, 0);
	put(&b, 0x401015, KERNEL | 0x100, 0);
	put(&b, KERNEL | 0x300, 0x400500, 0);
	bts_records(slice_of(b.data, b.len), &code, keep, s);
	for (size_t i = 0; i < s->count; i++)
		n += flow_join(&join, &s->items[i], &out[n]);
	assert_int_equal(n, 3);
	assert_int_equal(out[0].kind, BT_BRANCH_SYSCALL);
	assert_int_equal(out[0].from, 0x401000);
	assert_int_equal(out[0].to, 0x401002);
	assert_int_equal(out[1].kind, BT_BRANCH_JMP);
	assert_int_equal(out[2].kind, BT_BRANCH_ASYNC);
	assert_int_equal(out[2].from, 0x401015);
	assert_int_equal(out[2].to, 0x400500);
	buf_release(&b);
	free(s);
}

static void a_ring_is_read_from_where_it_was_left(void **state)
{
	struct seen *s = calloc(1, sizeof *s);
	struct ring *g = ring_new();

	(void)state;
	look(g, s);
	assert_int_equal(s->count, 0);
	for (uint64_t round = 0, n = 0; round < 50; round++) {
		uint64_t first = n;

		for (; n < first + 100; n++)
			ring_branch(g, n);
		look(g, s);
		assert_int_equal(s->count, 100);
		for (size_t i = 0; i < 100; i++)
			is_branch(&s->items[i], 0x1000 + first + i, 0x2000 + first + i);
	}
	free(g);
	free(s);
}

static void what_was_overwritten_is_a_gap(void **state)
{
	struct seen *s = calloc(1, sizeof *s);
	struct ring *g = ring_new();

	(void)state;
	for (uint64_t n = 0; n < 1000; n++)
		ring_branch(g, n);
	look(g, s);
	assert_int_equal(s->count, 1 + SIZE / BTS_RECORD);
	is_gap(&s->items[0], BT_GAP_OVERWRITTEN);
	for (size_t i = 1; i < s->count; i++)
		is_branch(&s->items[i], 0x1000 + 1000 - s->count + i, 0x2000 + 1000 - s->count + i);
	free(g);
	free(s);
}

/* The kernel writes a departure before it takes the last branches out of the processor's store. */
static void a_departure_comes_behind_its_branches(void **state)
{
	struct seen *s = calloc(1, sizeof *s);
	struct ring *g = ring_new();

	(void)state;
	ring_put(g, 14, 2, 1000, 3);
	ring_branch(g, 1);
	ring_put(g, 14, 2 | 1 << 13 | 1 << 14, 2000, 3);
	ring_branch(g, 2);
	ring_branch(g, 3);
	ring_put(g, 14, 2, 3000, 5);
	ring_put(g, 14, 2 | 1 << 13, 4000, 5);
	ring_branch(g, 4);
	look(g, s);
	assert_int_equal(s->count, 8);
	assert_int_equal(s->items[0].kind, FLOW_ARRIVE);
	assert_int_equal(s->items[0].time, 1000);
	assert_int_equal(s->items[0].cpu, 3);
	is_branch(&s->items[1], 0x1001, 0x2001);
	is_branch(&s->items[3], 0x1003, 0x2003);
	assert_int_equal(s->items[4].kind, FLOW_DEPART);
	assert_int_equal(s->items[4].time, 2000);
	assert_true(s->items[4].preempted);
	assert_int_equal(s->items[5].kind, FLOW_ARRIVE);
	assert_int_equal(s->items[5].cpu, 5);
	is_branch(&s->items[6], 0x1004, 0x2004);
	assert_int_equal(s->items[7].kind, FLOW_DEPART);
	assert_int_equal(s->items[7].time, 4000);
	assert_false(s->items[7].preempted);
	free(g);
	free(s);
}

static void what_is_no_record_ends_the_way_back(void **state)
{
	struct seen *s = calloc(1, sizeof *s);
	struct ring *g = ring_new();
	struct buf noise = {0};

	(void)state;
	ring_branch(g, 1);
	buf_u64(&noise, 0x1234);
	ring_bytes(g, &noise);
	ring_branch(g, 2);
	look(g, s);
	assert_int_equal(s->count, 2);
	is_gap(&s->items[0], BT_GAP_LOST);
	is_branch(&s->items[1], 0x1002, 0x2002);
	buf_release(&noise);
	free(g);
	free(s);
}

/* Any bytes, any head: it ends, within the ring. */
static void noise_is_survived(void **state)
{
	struct seen *s = calloc(1, sizeof *s);
	struct ring *g = ring_new();
	uint64_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 2000; round++) {
		for (size_t i = 0; i < SIZE; i += 8) {
			/* Headers are likely, so that what lies behind one is reached. */
			uint64_t word = unit_random(&random) % 3
						? (uint64_t)BTS_RECORD << 48 | 2ull << 32 |
							  (unit_random(&random) % 2 ? 9 : 14)
						: unit_random(&random);

			memcpy(g->data + i, &word, 8);
		}
		g->r.head = unit_random(&random) >> unit_random(&random) % 64;
		g->r.seen = g->r.head - unit_random(&random) % (2 * SIZE);
		if (g->r.seen > g->r.head)
			g->r.seen = 0;
		s->count = 0;
		bts_ring_read(&g->r, &no_code, keep, s);
		assert_true(s->count <= SIZE / BTS_RECORD + 2);
		s->count = 0;
		bts_records(slice_of(g->data, unit_random(&random) % SIZE), &no_code, keep, s);
	}
	free(g);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_oldest_first),
		cmocka_unit_test(a_torn_record_is_a_gap),
		cmocka_unit_test(the_kernel_s_half_is_left_out),
		cmocka_unit_test(a_ring_is_read_from_where_it_was_left),
		cmocka_unit_test(what_was_overwritten_is_a_gap),
		cmocka_unit_test(a_departure_comes_behind_its_branches),
		cmocka_unit_test(what_is_no_record_ends_the_way_back),
		cmocka_unit_test(noise_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
