/* SPDX-License-Identifier: MIT */
#include "format/log_calls.h"

#include "lib/error.h"

/* The counts of a call, in a byte. */
enum {
	AGAIN = 1 << 0,
	ARGS_SHIFT = 1, /* 3 bits */
	ARGS_MASK = 7,
	DATA_SHIFT = 4, /* 2 bits */
	DATA_MASK = 3,
	TOLD = 1 << 6,
	INSTRUCTION = 1 << 7, /* alone */
};

/* The numbers of instructions begin at 0. */
static uint64_t instruction_number(enum bt_logged_form form) { return form - BT_LOGGED_RDTSC; }

/* Their results differ little from one to the next. */
static bool reads_clock(enum bt_logged_form form)
{
	return form == BT_LOGGED_RDTSC || form == BT_LOGGED_RDTSCP;
}

static bool gives_ecx(enum bt_logged_form form)
{
	return form == BT_LOGGED_RDTSCP || form == BT_LOGGED_CPUID;
}

static void encode_instruction(struct log_calls_codec *c, struct buf *out,
			       const struct bt_logged_call *call)
{
	buf_leb(out, instruction_number(call->form));
	buf_sleb(out, (int64_t)(call->result - (reads_clock(call->form) ? c->clock : 0)));
	buf_u8(out, INSTRUCTION);
	if (gives_ecx(call->form))
		buf_leb(out, call->ecx);
	if (call->form == BT_LOGGED_CPUID)
		buf_leb(out, call->ebx);
	if (reads_clock(call->form))
		c->clock = call->result;
}

void log_calls_encode(struct log_calls_codec *c, struct buf *out, const struct bt_logged_call *call)
{
	buf_leb(out, call->tick - c->tick);
	c->tick = call->tick;
	if (call->form != BT_LOGGED_CALL) {
		encode_instruction(c, out, call);
		return;
	}
	buf_leb(out, call->nr);
	buf_sleb(out, (int64_t)call->result);
	buf_u8(out, (uint8_t)((call->again ? AGAIN : 0) | (call->told ? TOLD : 0) |
			      call->arg_count << ARGS_SHIFT | call->data_count << DATA_SHIFT));
	for (unsigned i = 0; i < call->arg_count; i++) {
		buf_sleb(out, (int64_t)(call->args[i] - c->args[i]));
		c->args[i] = call->args[i];
	}
	for (unsigned i = 0; i < call->data_count; i++) {
		buf_sleb(out, (int64_t)(call->data[i].addr - c->addr[i]));
		buf_leb(out, call->data[i].bytes.len);
		buf_put(out, call->data[i].bytes.at, call->data[i].bytes.len);
		c->addr[i] = call->data[i].addr;
	}
}

static int fail_corrupt_call(struct bt_logged_call *call)
{
	*call = (struct bt_logged_call){0};
	return -BT_E_CORRUPT;
}

/* What is behind the counts of an instruction, whose number and result are in the call. */
static int decode_instruction(struct log_calls_codec *c, struct slice *in,
			      struct bt_logged_call *call)
{
	uint64_t number = call->nr, ecx, ebx;

	if (in->bad || number > instruction_number(BT_LOGGED_FORMS - 1))
		return fail_corrupt_call(call);
	call->form = BT_LOGGED_RDTSC + (unsigned)number;
	call->nr = 0;
	call->result += reads_clock(call->form) ? c->clock : 0;
	ecx = gives_ecx(call->form) ? slice_leb(in) : 0;
	ebx = call->form == BT_LOGGED_CPUID ? slice_leb(in) : 0;
	if (in->bad || ecx > UINT32_MAX || ebx > UINT32_MAX)
		return fail_corrupt_call(call);
	call->ecx = (uint32_t)ecx;
	call->ebx = (uint32_t)ebx;
	if (reads_clock(call->form))
		c->clock = call->result;
	c->tick = call->tick;
	return 1;
}

int log_calls_decode(struct log_calls_codec *c, struct slice *in, struct bt_logged_call *call)
{
	uint64_t ticks;
	uint8_t counts;

	*call = (struct bt_logged_call){0};
	if (!in->len)
		return in->bad ? -BT_E_CORRUPT : 0;
	ticks = slice_leb(in);
	call->tick = c->tick + ticks;
	call->nr = slice_leb(in);
	call->result = (uint64_t)slice_sleb(in);
	counts = slice_u8(in);
	if (counts == INSTRUCTION && call->tick >= ticks)
		return decode_instruction(c, in, call);
	call->again = counts & AGAIN;
	call->told = counts & TOLD;
	call->arg_count = counts >> ARGS_SHIFT & ARGS_MASK;
	call->data_count = counts >> DATA_SHIFT & DATA_MASK;
	if (in->bad || call->tick < ticks || call->arg_count > BT_SYSCALL_ARGS ||
	    call->data_count > BT_LOGGED_DATA || counts >= TOLD << 1)
		return fail_corrupt_call(call);
	for (unsigned i = 0; i < call->arg_count; i++)
		c->args[i] = call->args[i] = c->args[i] + (uint64_t)slice_sleb(in);
	for (unsigned i = 0; i < call->data_count; i++) {
		uint64_t len;

		c->addr[i] = call->data[i].addr = c->addr[i] + (uint64_t)slice_sleb(in);
		len = slice_leb(in);
		if (in->bad || len > in->len)
			return fail_corrupt_call(call);
		call->data[i].bytes = slice_take(in, (size_t)len);
	}
	if (in->bad)
		return fail_corrupt_call(call);
	c->tick = call->tick;
	return 1;
}
