// SPDX-License-Identifier: MIT
/* pt_stream encode TRACE TASK SEED FLAGS FILE: writes the Intel PT stream that a processor would
 * have written of the task's recorded history into FILE, and prints the entries that can be had
 * back from it, as `branches` does. pt_stream decode TRACE TASK FILE [KNOWN]: reads a stream with
 * the code that the trace has, and prints its entries; with KNOWN as one whose first bytes, so
 * many, were read before, and on stderr how many entries these were. FLAGS, any of: c return
 * compression, i interrupts, p synchronization points on the way, s one every 2 KiB, o overflows, l
 * long TNT packets, n none. The recorded history is the stepper's, so every branch is in it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/model/history.h"
#include "hardware_decoders/pt_flow.h"
#include "tests/simulated/pt_writer.h"

enum {
	STREAM_MAX = 64 << 20,
	STACK = 64, /* return addresses that the processor remembers */
	RARE = 50,
	PERIOD = 2048, /* bytes */
};

struct maker {
	const struct model *m;
	struct history h;
	struct pt_writer w;
	const char *flags;
	uint64_t random;
	uint64_t stack[STACK];
	unsigned depth;
	size_t since; /* where the last synchronization point is */
};

static void die(const char *what)
{
	fprintf(stderr, "pt_stream: %s\n", what);
	exit(1);
}

static uint64_t next_random(struct maker *k)
{
	k->random = k->random * 6364136223846793005u + 1442695040888963407u;
	return k->random >> 33;
}

static bool wants(const struct maker *k, char flag) { return strchr(k->flags, flag) != NULL; }

static bool rarely(struct maker *k, char flag)
{
	return wants(k, flag) && next_random(k) % RARE == 0;
}

/* --- packets --- */

static void put_bit(struct maker *k, bool bit)
{
	if (!k->w.bit_count)
		k->w.bit_max = wants(k, 'l') && next_random(k) % 2 ? 47 : 6;
	pt_writer_bit(&k->w, bit);
}

/* A synchronization point; execution stands at ip. The processor forgets addresses there. */
static void put_sync(struct maker *k, uint64_t ip)
{
	k->since = k->w.out.len;
	pt_writer_sync(&k->w, ip);
	k->depth = 0;
}

/* --- history --- */

static void print(const struct bt_branch *b)
{
	if (b->kind == BT_BRANCH_GAP)
		printf("gap %s\n", bt_gap_info[b->to].name);
	else
		printf("%s %d %" PRIx64 " %" PRIx64 "\n", bt_branch_info[b->kind].name,
		       bt_branch_taken(b), b->from, b->to);
}

static struct bt_insn insn_of(const struct maker *k, const struct history_entry *e)
{
	uint8_t bytes[BT_INSN_MAX];
	size_t n = trace_index_code(k->m->index, e->space, e->epoch, e->from, bytes, sizeof bytes);
	struct bt_insn insn = {0};

	if (!n || bt_insn_decode(bytes, n, &insn))
		die("a branch whose code the trace does not have");
	return insn;
}

/* Whether a conditional jump to the instruction behind it was taken cannot be had back: the flow is
 * the same. */
static void print_history(const struct maker *k, const struct history_entry *e, uint64_t to)
{
	struct bt_branch b = {
		.kind = e->kind, .flags = e->flags & BT_BRANCH_TAKEN, .from = e->from, .to = to};

	if (e->kind == BT_BRANCH_JCC && to == e->from + insn_of(k, e).len)
		b.flags = 0;
	print(&b);
}

static void put_return(struct maker *k, const struct history_entry *e)
{
	if (wants(k, 'c') && k->depth && k->stack[k->depth - 1] == e->to) {
		k->depth--;
		put_bit(k, true);
	} else {
		pt_writer_tip(&k->w, e->to);
	}
}

static void remember_return(struct maker *k, const struct history_entry *e)
{
	struct bt_insn insn = insn_of(k, e);

	if (e->kind == BT_BRANCH_CALL && !insn.displacement)
		return;
	if (k->depth == STACK)
		memmove(k->stack, k->stack + 1, --k->depth * sizeof *k->stack);
	k->stack[k->depth++] = e->from + insn.len;
}

/* What the processor cannot tell: a signal that meets a task in a system call comes before user
 * code goes on. Returns how many entries are one in the trace. */
static size_t put_syscall(struct maker *k, size_t i)
{
	const struct history_entry *e = &k->h.entries[i];
	size_t n = 1;

	while (i + n < k->h.count && e[n].kind == BT_BRANCH_ASYNC && e[n].from == e[n - 1].to)
		n++;
	pt_writer_off(&k->w);
	pt_writer_on(&k->w, e[n - 1].to);
	print_history(k, e, e[n - 1].to);
	return n;
}

static size_t put_async(struct maker *k, size_t i)
{
	const struct history_entry *e = &k->h.entries[i];
	size_t n = 1;

	while (i + n < k->h.count && e[n].kind == BT_BRANCH_ASYNC && e[n].from == e[n - 1].to)
		n++;
	pt_writer_fup(&k->w, e->from);
	pt_writer_off(&k->w);
	pt_writer_on(&k->w, e[n - 1].to);
	print_history(k, e, e[n - 1].to);
	return n;
}

static size_t put_entry(struct maker *k, size_t i)
{
	const struct history_entry *e = &k->h.entries[i];

	if (e->kind == BT_BRANCH_SYSCALL)
		return put_syscall(k, i);
	if (e->kind == BT_BRANCH_ASYNC)
		return put_async(k, i);
	if (e->kind == BT_BRANCH_JCC)
		put_bit(k, e->flags & BT_BRANCH_TAKEN);
	if (e->kind == BT_BRANCH_RET)
		put_return(k, e);
	if (e->kind == BT_BRANCH_IJMP || e->kind == BT_BRANCH_ICALL)
		pt_writer_tip(&k->w, e->to);
	if (e->kind == BT_BRANCH_CALL || e->kind == BT_BRANCH_ICALL)
		remember_return(k, e);
	print_history(k, e, e->to);
	return 1;
}

/* An instruction on the way to entry i, the branch included, 0 where that is not known. */
static uint64_t somewhere(struct maker *k, size_t i)
{
	struct history_insn *insns;
	long n = history_straight(&k->h, k->m, i, 0, &insns);
	uint64_t at = n > 0 ? insns[next_random(k) % (uint64_t)n].addr : 0;

	free(insns);
	return at;
}

/* Entries are lost; the stream goes on where entry i begins. The processor forgets addresses then,
 * too. */
static void put_overflow(struct maker *k, size_t i)
{
	const struct bt_branch gap = {.kind = BT_BRANCH_GAP, .to = BT_GAP_LOST};

	pt_writer_overflow(&k->w);
	k->depth = 0;
	pt_writer_fup(&k->w, k->h.entries[i - 1].to);
	print(&gap);
}

static size_t disturb(struct maker *k, size_t i)
{
	uint64_t at = 0;

	if (rarely(k, 'o') && i && i + 20 < k->h.count) {
		i += 10;
		put_overflow(k, i);
	}
	if ((rarely(k, 'p') || (wants(k, 's') && k->w.out.len - k->since >= PERIOD)) &&
	    (at = somewhere(k, i)) != 0)
		put_sync(k, at);
	/* Not before where something was already: execution does not go back. */
	if (!at && rarely(k, 'i') && (at = somewhere(k, i)) != 0) {
		pt_writer_fup(&k->w, at);
		pt_writer_off(&k->w);
		pt_writer_on(&k->w, at);
	}
	return i;
}

static void put_history(struct maker *k)
{
	size_t i = 0;

	if (!k->h.count)
		die("no history");
	/* Where the first instruction was: the code before the first entry is straight. */
	put_sync(k, 0);
	pt_writer_on(&k->w, k->h.entries[0].kind == BT_BRANCH_GAP ? k->h.entries[1].from
								  : k->h.entries[0].from);
	while (i < k->h.count && k->h.entries[i].kind == BT_BRANCH_GAP)
		i++;
	while (i < k->h.count && k->h.entries[i].kind != BT_BRANCH_GAP) {
		k->w.clock += 10;
		i = disturb(k, i);
		i += put_entry(k, i);
	}
	if (k->w.on) {
		pt_writer_fup(&k->w, k->h.entries[i - 1].to);
		pt_writer_off(&k->w);
	}
}

static int encode(struct maker *k, const char *seed, const char *path)
{
	FILE *f = fopen(path, "wb");

	if (!f)
		die(strerror(errno));
	pt_writer_init(&k->w);
	k->random = strtoull(seed, NULL, 10);
	k->w.clock += k->random << 32; /* a stream of a higher seed is a later one */
	put_history(k);
	if (k->w.out.failed || fwrite(k->w.out.data, 1, k->w.out.len, f) != k->w.out.len ||
	    fclose(f))
		die("cannot write the stream");
	pt_writer_release(&k->w);
	return 0;
}

/* --- back --- */

static size_t code_of_trace(void *arg, uint64_t addr, uint8_t *bytes, size_t n)
{
	const struct maker *k = arg;

	return trace_index_code(k->m->index, k->h.space, k->h.epoch, addr, bytes, n);
}

/* The stream's entries. What they took is *known. */
static size_t decode_stream(const struct pt_flow_config *c, bool prints, uint64_t *known)
{
	struct flow_join join = {0};
	struct bt_error err = {0};
	struct flow_item item;
	struct pt_flow *flow;
	struct bt_branch b;
	size_t count = 0;

	if (pt_flow_new(&flow, c, &err) < 0)
		die(err.text);
	while (pt_flow_next(flow, &item) == 1) {
		if (prints && item.kind == FLOW_GAP && item.cause)
			fprintf(stderr, "gap at %" PRIx64 ": %s\n", item.addr, item.cause);
		if (!flow_join(&join, &item, &b))
			continue;
		count++;
		if (prints)
			print(&b);
	}
	*known = pt_flow_spent(flow);
	pt_flow_free(flow);
	return count;
}

static int decode(struct maker *k, const char *path, size_t known)
{
	struct pt_flow_config c = {.head = BT_GAP_OVERWRITTEN, .code = code_of_trace, .arg = k};
	uint8_t *stream = malloc(STREAM_MAX);
	FILE *f = fopen(path, "rb");
	uint64_t spent = 0;
	size_t n;

	if (!stream || !f)
		die(strerror(errno));
	n = fread(stream, 1, STREAM_MAX, f);
	fclose(f);
	c.bytes = slice_of(stream, known < n ? known : n);
	if (known)
		fprintf(stderr, "%zu\n", decode_stream(&c, false, &spent));
	c.bytes = slice_of(stream, n);
	c.known = spent;
	decode_stream(&c, true, &spent);
	free(stream);
	return 0;
}

int main(int argc, char **argv)
{
	bool encodes = argc == 7 && !strcmp(argv[1], "encode");
	struct maker k = {.flags = encodes ? argv[5] : ""};
	struct bt_error err = {0};
	struct trace *trace = NULL;
	struct model *m = NULL;
	int rc;

	if (!encodes && (argc < 5 || argc > 6 || strcmp(argv[1], "decode"))) {
		fprintf(stderr, "usage: pt_stream encode TRACE TASK SEED FLAGS FILE | pt_stream "
				"decode TRACE TASK FILE [KNOWN]\n");
		return 2;
	}
	if (trace_open(&trace, argv[2], &err) < 0 || model_load(&m, trace, &err) < 0 ||
	    history_load(&k.h, m, (uint32_t)atoi(argv[3]), &err) < 0)
		die(err.text);
	k.m = m;
	rc = encodes ? encode(&k, argv[4], argv[6])
		     : decode(&k, argv[4], argc == 6 ? strtoull(argv[5], NULL, 10) : 0);
	history_release(&k.h);
	model_free(m);
	return rc;
}
