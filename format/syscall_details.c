/* SPDX-License-Identifier: MIT */
#include "format/syscall_details.h"

#include "lib/error.h"

enum {
	ARG_BITS = 0x0f,
	CUT = 0x80,
};

void bt_pointed_encode(struct buf *out, const struct bt_pointed *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		buf_u8(out, (uint8_t)(p[i].arg | (p[i].is_cut ? CUT : 0)));
		buf_leb(out, p[i].bytes.len);
		buf_put(out, p[i].bytes.at, p[i].bytes.len);
	}
}

int bt_pointed_decode(struct slice *in, struct bt_pointed *p)
{
	uint64_t size;
	uint8_t lead;

	*p = (struct bt_pointed){0};
	if (!in->len)
		return in->bad ? -BT_E_CORRUPT : 0;
	lead = slice_u8(in);
	size = slice_leb(in);
	p->bytes = slice_take(in, size <= in->len ? (size_t)size : SIZE_MAX);
	p->arg = lead & ARG_BITS;
	p->is_cut = lead & CUT;
	if (in->bad || lead & ~(CUT | ARG_BITS) || p->arg >= BT_SYSCALL_ARGS) {
		*p = (struct bt_pointed){0};
		return -BT_E_CORRUPT;
	}
	return 1;
}

void bt_details_encode(struct bt_details_codec *c, struct buf *out, uint64_t call,
		       const struct bt_syscall_details *d)
{
	buf_leb(out, call - c->next);
	buf_u8(out, (uint8_t)d->count);
	for (unsigned i = 0; i < d->count; i++)
		buf_leb(out, d->args[i]);
	buf_u8(out, (uint8_t)d->pointed_count);
	bt_pointed_encode(out, d->pointed, d->pointed_count);
	c->next = call + 1;
}

static bool read_details(struct slice *in, struct bt_syscall_details *d)
{
	d->count = slice_u8(in);
	if (d->count > BT_SYSCALL_ARGS)
		return false;
	for (unsigned i = 0; i < d->count; i++)
		d->args[i] = slice_leb(in);
	d->pointed_count = slice_u8(in);
	if (d->pointed_count > BT_SYSCALL_ARGS)
		return false;
	for (unsigned i = 0; i < d->pointed_count; i++)
		if (bt_pointed_decode(in, &d->pointed[i]) != 1)
			return false;
	return !in->bad;
}

int bt_details_decode(struct bt_details_codec *c, struct slice *in, uint64_t *call,
		      struct bt_syscall_details *d)
{
	uint64_t between;

	*d = (struct bt_syscall_details){0};
	*call = 0;
	if (!in->len)
		return in->bad ? -BT_E_CORRUPT : 0;
	between = slice_leb(in);
	if (!read_details(in, d) || c->next + between < between ||
	    c->next + between == UINT64_MAX) {
		*d = (struct bt_syscall_details){0};
		return -BT_E_CORRUPT;
	}
	*call = c->next + between;
	c->next = *call + 1;
	return 1;
}
