/* SPDX-License-Identifier: MIT */
#include "tests/simulated/pt_writer.h"

#include <intel-pt.h>
#include <stdlib.h>

enum {
	PACKET_MAX = 64,
};

void pt_writer_init(struct pt_writer *w) { *w = (struct pt_writer){.bit_max = 6, .clock = 1000}; }

void pt_writer_release(struct pt_writer *w) { buf_release(&w->out); }

static void put(struct pt_writer *w, const struct pt_packet *p)
{
	uint8_t bytes[PACKET_MAX];
	struct pt_encoder *e;
	struct pt_config c;
	int n;

	pt_config_init(&c);
	c.begin = bytes;
	c.end = bytes + sizeof bytes;
	e = pt_alloc_encoder(&c);
	n = e ? pt_enc_next(e, p) : -1;
	if (n < 0)
		abort();
	buf_put(&w->out, bytes, (size_t)n);
	pt_free_encoder(e);
}

static void put_plain(struct pt_writer *w, enum pt_packet_type type)
{
	const struct pt_packet p = {.type = type};

	put(w, &p);
}

void pt_writer_flush(struct pt_writer *w)
{
	struct pt_packet p = {.type = w->bit_max > 6 ? ppt_tnt_64 : ppt_tnt_8};

	if (!w->bit_count)
		return;
	p.payload.tnt.bit_size = (uint8_t)w->bit_count;
	p.payload.tnt.payload = w->bits;
	put(w, &p);
	w->bits = w->bit_count = 0;
}

void pt_writer_bit(struct pt_writer *w, bool taken)
{
	w->bits = w->bits << 1 | taken;
	if (++w->bit_count == w->bit_max)
		pt_writer_flush(w);
}

/* What the last address that was written has in common with this one is left out. */
static void put_ip(struct pt_writer *w, enum pt_packet_type type, uint64_t ip)
{
	uint64_t same = w->last_ip ^ ip;
	struct pt_packet p = {.type = type};

	pt_writer_flush(w);
	p.payload.ip.ipc = !(same >> 16)   ? pt_ipc_update_16
			   : !(same >> 32) ? pt_ipc_update_32
					   : pt_ipc_sext_48;
	p.payload.ip.ip = ip & (!(same >> 16)   ? 0xffff
				: !(same >> 32) ? 0xffffffff
						: 0xffffffffffff);
	put(w, &p);
	w->last_ip = ip;
}

void pt_writer_tip(struct pt_writer *w, uint64_t to) { put_ip(w, ppt_tip, to); }

void pt_writer_fup(struct pt_writer *w, uint64_t at) { put_ip(w, ppt_fup, at); }

/* Addresses are forgotten then. */
void pt_writer_overflow(struct pt_writer *w)
{
	pt_writer_flush(w);
	put_plain(w, ppt_ovf);
	w->last_ip = 0;
}

static void put_mode(struct pt_writer *w)
{
	struct pt_packet p = {.type = ppt_mode, .payload.mode.leaf = pt_mol_exec};

	p.payload.mode.bits.exec = pt_set_exec_mode(ptem_64bit);
	put(w, &p);
}

static void put_time(struct pt_writer *w)
{
	const struct pt_packet p = {.type = ppt_tsc, .payload.tsc.tsc = w->clock};

	put(w, &p);
}

void pt_writer_sync(struct pt_writer *w, uint64_t ip)
{
	pt_writer_flush(w);
	put_plain(w, ppt_psb);
	w->last_ip = 0;
	put_time(w);
	if (w->on) {
		put_mode(w);
		put_ip(w, ppt_fup, ip);
	}
	put_plain(w, ppt_psbend);
}

void pt_writer_on(struct pt_writer *w, uint64_t ip)
{
	put_time(w);
	put_mode(w);
	put_ip(w, ppt_tip_pge, ip);
	w->on = true;
}

void pt_writer_off(struct pt_writer *w)
{
	const struct pt_packet p = {.type = ppt_tip_pgd, .payload.ip.ipc = pt_ipc_suppressed};

	pt_writer_flush(w);
	put(w, &p);
	w->on = false;
}
