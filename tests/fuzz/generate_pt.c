/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/generate_pt.h"

#include <intel-pt.h>
#include <stdlib.h>

enum {
	AT = 0x400000,
	STREAM = 4096,
};

/* A loop with calls, a system call, a jump through a register and one that never ends. */
static const uint8_t code[] = {
	0x74, 0x07,                   /* 00 je 09 */
	0xe8, 0x09, 0x00, 0x00, 0x00, /* 02 call 10 */
	0x0f, 0x05,                   /* 07 syscall */
	0x75, 0xf5,                   /* 09 jne 00 */
	0xff, 0xe0,                   /* 0b jmp rax */
	0xcc,                         /* 0d int3 */
	0xeb, 0xfe,                   /* 0e jmp 0e */
	0xc3,                         /* 10 ret */
};

static void put(struct pt_encoder *e, const struct pt_packet *p)
{
	if (pt_enc_next(e, p) < 0)
		abort();
}

static void plain(struct pt_encoder *e, enum pt_packet_type type)
{
	const struct pt_packet p = {.type = type};

	put(e, &p);
}

static void ip(struct pt_encoder *e, enum pt_packet_type type, uint64_t addr)
{
	const struct pt_packet p = {
		.type = type,
		.payload.ip = {.ipc = addr ? pt_ipc_sext_48 : pt_ipc_suppressed, .ip = addr}};

	put(e, &p);
}

static void tnt(struct pt_encoder *e, uint8_t n, uint64_t bits)
{
	const struct pt_packet p = {.type = n > 6 ? ppt_tnt_64 : ppt_tnt_8,
				    .payload.tnt = {.bit_size = n, .payload = bits}};

	put(e, &p);
}

static void mode(struct pt_encoder *e, enum pt_exec_mode m)
{
	struct pt_packet p = {.type = ppt_mode, .payload.mode.leaf = pt_mol_exec};

	p.payload.mode.bits.exec = pt_set_exec_mode(m);
	put(e, &p);
}

static void sync(struct pt_encoder *e, enum pt_exec_mode m)
{
	plain(e, ppt_psb);
	mode(e, m);
	ip(e, ppt_fup, AT);
	plain(e, ppt_psbend);
}

/* From AT back to AT, as the code above allows. */
static void round_of_all(struct pt_encoder *e)
{
	tnt(e, 2, 1); /* not taken; the return as compressed */
	ip(e, ppt_tip_pgd, 0);
	ip(e, ppt_tip_pge, AT + 9);
	tnt(e, 3, 6); /* taken, taken, not taken: at the jump through a register */
	ip(e, ppt_tip, AT);
	tnt(e, 20, 0xfffff);
	ip(e, ppt_fup, AT);
	ip(e, ppt_tip_pgd, 0);
	ip(e, ppt_tip_pge, AT);
}

void pt_input(struct buf *out, unsigned kind)
{
	uint8_t *bytes = calloc(1, STREAM);
	struct pt_encoder *e;
	struct pt_config c;
	uint64_t n = 0;

	pt_config_init(&c);
	c.begin = bytes;
	c.end = bytes + STREAM;
	e = bytes ? pt_alloc_encoder(&c) : NULL;
	if (!e)
		abort();
	for (unsigned i = 0; i < 3; i++) {
		sync(e, kind == PT_INPUT_32 ? ptem_32bit : ptem_64bit);
		round_of_all(e);
		if (kind == PT_INPUT_OVERFLOW) {
			plain(e, ppt_ovf);
			ip(e, ppt_fup, AT + 2);
		} else if (kind == PT_INPUT_ENDLESS) {
			tnt(e, 2, 2);
			ip(e, ppt_tip, AT + 0xe);
		} else if (kind == PT_INPUT_KERNEL) {
			tnt(e, 1, 0);
			ip(e, ppt_tip, 0xffffffff81000000);
		} else if (kind == PT_INPUT_ASYNC) {
			ip(e, ppt_fup, AT);
			ip(e, ppt_tip, AT + 9);
			ip(e, ppt_fup, AT + 9);
			ip(e, i % 2 ? ppt_tip : ppt_tip_pgd, i % 2 ? 0xffffffff81000000 : 0);
		}
	}
	if (pt_enc_get_offset(e, &n) < 0)
		abort();
	buf_u16(out, sizeof code);
	buf_put(out, code, sizeof code);
	buf_put(out, bytes, (size_t)n);
	pt_free_encoder(e);
	free(bytes);
}
