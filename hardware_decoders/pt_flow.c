/* SPDX-License-Identifier: MIT */
/* libipt decodes packets and follows the code; this file makes branches from its output.
 *
 * pt_flow_next() makes one step at a time: to the next synchronization point, or one event, or one
 * instruction. A step puts items into a small queue, from which they are taken first.
 *
 * libipt gives instructions without their targets. So a branch is pending until the next
 * instruction, its target, is known; then it becomes an item. An event may come first and end
 * tracing there: the branch led into the kernel or out of a filter.
 *
 * Undecodable bytes become a gap, and decoding goes on at the next synchronization point. Each step
 * is paid from a budget, so that no stream takes for ever. When it is used up, run_out() goes on in
 * the newest part, twice at most. */
#include "hardware_decoders/pt_flow.h"

#include <intel-pt.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "lib/array_size.h"
#include "lib/insn.h"
#include "lib/late_library.h"

enum {
	QUEUE = 8, /* items that one step can make, and more */
	/* Instructions without one that consumes trace. Real code has branches; a cycle of direct
	 * jumps consumes nothing, and libipt would follow it for ever. */
	QUIET_MAX = 1 << 16,
	/* The most instructions decoded of a stream: BUDGET_BASE, and BUDGET_PER_BYTE for each
	 * byte; */
	BUDGET_BASE = 1 << 20,
	BUDGET_PER_BYTE = 1024,
	/* if that runs out, more for the newest part, twice at most. That part has at least NEWEST
	 * bytes, the usual distance of synchronization points, if there is one before them. Bytes
	 * beyond NEWEST_MAX add nothing, so that no odd stream takes for ever. */
	NEWEST = 2048,
	NEWEST_MAX = 16 << 10,
	NEWEST_PER_BYTE = 16 << 10,
};

/* clang-format off */
#define LIBIPT_FUNCTIONS(F) \
	F(pt_cpu_errata) F(pt_errstr) F(pt_image_set_callback) F(pt_insn_alloc_decoder) \
	F(pt_insn_event) F(pt_insn_free_decoder) F(pt_insn_get_image) F(pt_insn_get_offset) \
	F(pt_insn_get_sync_offset) F(pt_insn_next) F(pt_insn_sync_forward) F(pt_insn_sync_set) \
	F(pt_insn_time)
/* clang-format on */
#define LIBIPT_SYMBOL(name) LATE_SYMBOL(struct libipt, name)

struct libipt {
	LIBIPT_FUNCTIONS(LATE_FUNCTION)
};

static const struct late_symbol libipt_symbols[] = {LIBIPT_FUNCTIONS(LIBIPT_SYMBOL)};

struct pt_flow {
	struct pt_flow_config config;
	struct libipt ipt;
	struct pt_insn_decoder *decoder; /* NULL: the stream is empty */
	int status;                      /* of libipt: events and the end */
	bool synced, ended, user;        /* user: the flow is in user code */
	uint64_t sync;                   /* offset of the newest synchronization point + 1 */
	/* A branch instruction whose target is the next instruction. */
	bool pending;
	struct bt_branch branch;
	uint64_t behind; /* the instruction behind it */
	bool trap;       /* it leads into the kernel, as an int3 does: no branch of user code */
	uint64_t budget, spent, quiet;
	unsigned reserves; /* times that the budget was used up */
	bool ran_out;
	uint64_t event_tsc; /* of the event that is being taken, 0: none is, or it has no time */
	int gap;            /* the reason + 1 of the item before, if that is a gap */
	struct flow_item queue[QUEUE];
	unsigned first, count;
};

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip,
		     void *context)
{
	const struct pt_flow *f = context;
	size_t n;

	(void)asid;
	n = f->config.code(f->config.arg, ip, buffer, size);
	return n ? (int)n : -pte_nomap;
}

static int load_libipt(struct libipt *ipt, struct bt_error *err)
{
	return late_library_load(IPT_SONAME, libipt_symbols, ARRAY_SIZE(libipt_symbols), ipt, err);
}

int pt_flow_available(struct bt_error *err)
{
	struct libipt ipt;

	return load_libipt(&ipt, err);
}

static int make_decoder(struct pt_flow *f, struct bt_error *err)
{
	struct pt_config c;
	int rc = load_libipt(&f->ipt, err);

	if (rc)
		return rc;
	pt_config_init(&c);
	c.begin = (uint8_t *)(uintptr_t)f->config.bytes.at;
	c.end = c.begin + f->config.bytes.len;
	if (f->config.intel) {
		c.cpu = (struct pt_cpu){.vendor = pcv_intel,
					.family = f->config.family,
					.model = f->config.model,
					.stepping = f->config.stepping};
		/* It fails for processors that it does not know: these are read without errata. */
		(void)f->ipt.pt_cpu_errata(&c.errata, &c.cpu);
	}
	c.cpuid_0x15_eax = f->config.ctc_denominator;
	c.cpuid_0x15_ebx = f->config.ctc_numerator;
	c.mtc_freq = f->config.mtc_freq;
	c.nom_freq = f->config.nominal_ratio;
	f->decoder = f->ipt.pt_insn_alloc_decoder(&c);
	if (!f->decoder ||
	    f->ipt.pt_image_set_callback(f->ipt.pt_insn_get_image(f->decoder), read_code, f) < 0)
		return bt_no_memory(err, "decoding Intel PT");
	return 0;
}

int pt_flow_new(struct pt_flow **out, const struct pt_flow_config *config, struct bt_error *err)
{
	struct pt_flow *f = calloc(1, sizeof *f);
	int rc;

	if (!f)
		return bt_no_memory(err, "decoding Intel PT");
	f->config = *config;
	f->budget = BUDGET_BASE + BUDGET_PER_BYTE * (uint64_t)config->bytes.len + config->known;
	rc = config->bytes.len ? make_decoder(f, err) : 0;
	if (rc) {
		pt_flow_free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void pt_flow_free(struct pt_flow *f)
{
	if (f && f->decoder)
		f->ipt.pt_insn_free_decoder(f->decoder);
	free(f);
}

/* --- items --- */

static void put_item(struct pt_flow *f, enum flow_kind kind, const struct bt_branch *b,
		     uint64_t addr, const char *cause)
{
	struct flow_item *item = &f->queue[(f->first + f->count++) % QUEUE];

	f->gap = 0;
	*item = (struct flow_item){.kind = kind, .branch = *b, .addr = addr, .cause = cause};
	/* Without a TSC packet there is a relative time only. */
	if (f->event_tsc)
		item->tsc = f->event_tsc;
	else if (f->ipt.pt_insn_time(f->decoder, &item->tsc, NULL, NULL) < 0)
		item->tsc = 0;
}

static void put_gap(struct pt_flow *f, enum bt_gap_reason reason, uint64_t addr, const char *cause)
{
	struct bt_branch b = {.kind = BT_BRANCH_GAP, .to = reason};

	f->pending = false;
	/* Adjacent gaps of one reason are one gap. */
	if (f->gap != (int)reason + 1)
		put_item(f, FLOW_GAP, &b, addr, cause);
	f->gap = (int)reason + 1;
}

static void put_leave(struct pt_flow *f, enum bt_branch_kind kind, uint64_t from)
{
	struct bt_branch b = {.kind = (uint8_t)kind, .from = from, .flags = BT_BRANCH_TAKEN};

	f->user = f->pending = false;
	put_item(f, FLOW_LEAVE, &b, 0, NULL);
}

static void put_enter(struct pt_flow *f, uint64_t to)
{
	struct bt_branch b = {.to = to};

	f->user = true;
	put_item(f, FLOW_ENTER, &b, 0, NULL);
}

/* The pending branch led out of the traced code. */
static void leave_by_branch(struct pt_flow *f)
{
	if (f->trap)
		put_leave(f, BT_BRANCH_ASYNC, f->behind);
	else if (f->pending && f->branch.kind == BT_BRANCH_SYSCALL)
		put_leave(f, BT_BRANCH_SYSCALL, f->branch.from);
	else
		put_leave(f, BT_BRANCH_ASYNC, f->pending ? f->branch.from : f->behind);
}

/* The instruction at ip comes next: it is where the pending branch led. */
static void arrive_at_ip(struct pt_flow *f, uint64_t ip)
{
	if (flow_is_kernel(ip)) {
		if (f->user)
			leave_by_branch(f);
		f->pending = f->trap = false;
		return;
	}
	if (f->pending && f->user) {
		f->branch.to = ip;
		f->branch.flags =
			f->branch.kind == BT_BRANCH_JCC && ip == f->behind ? 0 : BT_BRANCH_TAKEN;
		put_item(f, FLOW_BRANCH, &f->branch, 0, NULL);
	}
	f->pending = f->trap = false;
	if (!f->user)
		put_enter(f, ip);
}

/* --- synchronization --- */

/* libipt has gone to the synchronization point at that offset. The reader decides by the time whose
 * code follows. */
static void take_sync(struct pt_flow *f, uint64_t at)
{
	const struct bt_branch none = {0};

	f->sync = at + 1;
	f->synced = f->status >= 0;
	if (f->synced)
		put_item(f, FLOW_SYNC, &none, at, NULL);
	else
		put_gap(f, BT_GAP_UNDECODED, 0, f->ipt.pt_errstr(pt_errcode(f->status)));
}

static void next_sync(struct pt_flow *f)
{
	uint64_t at = 0;
	bool found;

	f->status = f->ipt.pt_insn_sync_forward(f->decoder);
	found = f->ipt.pt_insn_get_sync_offset(f->decoder, &at) >= 0;
	if (f->status == -pte_eos || !found || at < f->sync) {
		/* A point with nothing behind it is the end of nothing. */
		if (!f->sync && (!found || at))
			put_gap(f, f->config.head, 0, "no synchronization point (PSB) in it");
		f->ended = true;
		return;
	}
	if (!f->sync && at)
		put_gap(f, f->config.head, 0, NULL);
	take_sync(f, at);
}

static void lose_sync(struct pt_flow *f, uint64_t addr, const char *cause)
{
	put_gap(f, BT_GAP_UNDECODED, addr, cause);
	f->trap = f->synced = f->user = false;
	f->quiet = 0;
}

size_t pt_flow_last_sync(struct slice bytes)
{
	static const uint8_t sync[16] = {2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82,
					 2, 0x82, 2, 0x82, 2, 0x82, 2, 0x82};

	for (size_t at = bytes.len < sizeof sync ? 0 : bytes.len - sizeof sync + 1; at-- > 0;)
		if (!memcmp(bytes.at + at, sync, sizeof sync))
			return at;
	return bytes.len;
}

/* The beginning of the newest part, a synchronization point: at first one that leaves NEWEST bytes,
 * then the last of all. The stream's length if there is none at or behind `from`. */
static size_t newest_part(const struct pt_flow *f, uint64_t from)
{
	const struct slice bytes = f->config.bytes;
	struct slice head = bytes;
	size_t at;

	if (f->reserves == 1)
		head.len -= bytes.len < NEWEST ? bytes.len : NEWEST;
	at = pt_flow_last_sync(head);
	return at == head.len || at < from ? bytes.len : at;
}

/* Decoding takes too long. It goes on in the newest part, which matters most, with a reserve for
 * that; without a gap if it is there already. If the reserve runs out too, once more; then it
 * ends. */
static void run_out(struct pt_flow *f)
{
	const uint64_t len = f->config.bytes.len;
	uint64_t from = f->sync, at = 0;
	size_t next;

	if (f->ipt.pt_insn_get_offset(f->decoder, &at) >= 0 && at > from)
		from = at;
	f->reserves++;
	next = newest_part(f, from);
	at = next < len ? next : from < len ? from : len;
	f->budget = BUDGET_BASE + NEWEST_PER_BYTE * (len - at < NEWEST_MAX ? len - at : NEWEST_MAX);
	if (next == len && f->reserves == 1)
		return;
	f->ran_out = true;
	lose_sync(f, 0, "decoding it takes too long");
	f->ended = next == len;
	if (f->ended)
		return;
	f->status = f->ipt.pt_insn_sync_set(f->decoder, next);
	take_sync(f, next);
}

/* Takes a step from the budget. False: it was used up, and run_out() moved decoding elsewhere. */
static bool may_step(struct pt_flow *f)
{
	if (!f->budget) {
		run_out(f);
		return false;
	}
	f->budget--;
	f->spent++;
	return true;
}

/* --- instructions --- */

/* libipt's class of an instruction that is not of 64-bit mode, which lib/insn.h does not know. */
static int kind_of_class(const struct pt_insn *insn)
{
	switch (insn->iclass) {
	case ptic_cond_jump:
		return BT_BRANCH_JCC;
	case ptic_return:
	case ptic_far_return:
		return BT_BRANCH_RET;
	case ptic_call:
	case ptic_jump:
	case ptic_far_jump:
	case ptic_far_call:
		return BT_BRANCH_BRANCH;
	default:
		return -1;
	}
}

static int insn_branch_kind(const struct pt_insn *insn)
{
	struct bt_insn decoded;

	if (insn->mode != ptem_64bit)
		return kind_of_class(insn);
	return bt_insn_decode(insn->raw, insn->size, &decoded) ? kind_of_class(insn)
							       : bt_insn_branch_kind(decoded.class);
}

/* Whether the target of such a branch is in the trace, not in the code. */
static bool needs_trace(int kind)
{
	return kind >= 0 && kind != BT_BRANCH_JMP && kind != BT_BRANCH_CALL &&
	       kind != BT_BRANCH_BRANCH;
}

static void take_insn(struct pt_flow *f, const struct pt_insn *insn)
{
	int kind = insn_branch_kind(insn);

	arrive_at_ip(f, insn->ip);
	f->quiet = needs_trace(kind) ? 0 : f->quiet + 1;
	f->behind = insn->ip + insn->size;
	if (flow_is_kernel(insn->ip))
		return;
	f->trap = kind < 0 && insn->iclass == ptic_far_call;
	if (kind < 0)
		return;
	f->pending = true;
	f->branch = (struct bt_branch){.kind = (uint8_t)kind, .from = insn->ip};
}

static void next_insn(struct pt_flow *f)
{
	struct pt_insn insn = {.iclass = ptic_error};
	bool last = f->status & pts_eos;

	if (!may_step(f))
		return;
	f->status = f->ipt.pt_insn_next(f->decoder, &insn, sizeof insn);
	/* The address is known even if the instruction there is not. At the end only the address
	 * counts: nothing tells whether the instruction ran. */
	if ((last || f->status < 0) && f->pending && insn.ip)
		arrive_at_ip(f, insn.ip);
	if (last || f->status == -pte_eos) {
		f->ended = true;
	} else if (f->status < 0) {
		lose_sync(f, insn.ip, f->ipt.pt_errstr(pt_errcode(f->status)));
	} else {
		take_insn(f, &insn);
		if (f->quiet > QUIET_MAX)
			lose_sync(
				f, insn.ip,
				"code without an end and without a branch that the trace tells of");
	}
}

/* --- events --- */

typedef void take_event(struct pt_flow *f, const struct pt_event *ev);

static void take_enabled(struct pt_flow *f, const struct pt_event *ev)
{
	/* Never while it is enabled, but for the state that a synchronization point tells. */
	if (f->user)
		put_gap(f, BT_GAP_UNDECODED, ev->variant.enabled.ip, "tracing began twice");
	f->pending = f->trap = false;
	if (!flow_is_kernel(ev->variant.enabled.ip))
		put_enter(f, ev->variant.enabled.ip);
}

/* Tracing stops with the pending branch, because it led to a place that is not traced: the kernel,
 * or code outside of a filter. */
static void take_disabled(struct pt_flow *f, const struct pt_event *ev)
{
	bool near = f->pending && f->branch.kind != BT_BRANCH_SYSCALL;

	if (!f->user)
		return;
	if (near && !ev->ip_suppressed && !flow_is_kernel(ev->variant.disabled.ip)) {
		arrive_at_ip(f, ev->variant.disabled.ip);
		put_leave(f, BT_BRANCH_GAP, 0);
	} else if (near) {
		put_leave(f, BT_BRANCH_GAP, 0);
	} else {
		leave_by_branch(f);
	}
	f->trap = false;
}

static void leave_async(struct pt_flow *f, uint64_t at)
{
	if (!f->user)
		return;
	arrive_at_ip(f, at);
	put_leave(f, BT_BRANCH_ASYNC, at);
}

static void take_async_disabled(struct pt_flow *f, const struct pt_event *ev)
{
	leave_async(f, ev->variant.async_disabled.at);
}

/* Into the kernel where that is traced; between two places in user code when a transaction aborts.
 */
static void take_async_branch(struct pt_flow *f, const struct pt_event *ev)
{
	uint64_t from = ev->variant.async_branch.from, to = ev->variant.async_branch.to;

	if (!f->user || flow_is_kernel(from))
		return;
	if (ev->ip_suppressed || flow_is_kernel(to)) {
		leave_async(f, from);
		return;
	}
	arrive_at_ip(f, from);
	f->pending = true;
	f->branch = (struct bt_branch){.kind = BT_BRANCH_BRANCH, .from = from};
	arrive_at_ip(f, to);
}

static void take_overflow(struct pt_flow *f, const struct pt_event *ev)
{
	put_gap(f, BT_GAP_LOST, ev->ip_suppressed ? 0 : ev->variant.overflow.ip,
		"the processor lost trace packets");
	f->trap = f->user = false;
	if (!ev->ip_suppressed && !flow_is_kernel(ev->variant.overflow.ip))
		put_enter(f, ev->variant.overflow.ip);
}

/* Events that are not here say nothing of branches: paging, modes, power states, ptwrite,
 * frequencies. */
static take_event *const events[] = {
	[ptev_enabled] = take_enabled,
	[ptev_disabled] = take_disabled,
	[ptev_async_disabled] = take_async_disabled,
	[ptev_async_branch] = take_async_branch,
	[ptev_overflow] = take_overflow,
};

static void next_event(struct pt_flow *f)
{
	struct pt_event ev = {.type = ptev_enabled};

	if (!may_step(f))
		return;
	f->status = f->ipt.pt_insn_event(f->decoder, &ev, sizeof ev);
	if (f->status < 0) {
		lose_sync(f, 0, f->ipt.pt_errstr(pt_errcode(f->status)));
		return;
	}
	f->quiet = 0;
	f->event_tsc = ev.has_tsc ? ev.tsc : 0;
	if (ev.type < ARRAY_SIZE(events) && events[ev.type])
		events[ev.type](f, &ev);
	f->event_tsc = 0;
}

int pt_flow_next(struct pt_flow *f, struct flow_item *item)
{
	while (!f->count) {
		if (f->ended || !f->decoder)
			return 0;
		if (!f->synced)
			next_sync(f);
		else if (f->status & pts_event_pending)
			next_event(f);
		else
			next_insn(f);
	}
	*item = f->queue[f->first];
	f->first = (f->first + 1) % QUEUE;
	f->count--;
	return 1;
}

uint64_t pt_flow_spent(const struct pt_flow *f) { return f->spent; }

bool pt_flow_ran_out(const struct pt_flow *f) { return f->ran_out; }
