/* SPDX-License-Identifier: MIT */
#include "format/syscall_codec.h"

#include <inttypes.h>

#include "lib/error.h"
#include "lib/point.h"

void bt_syscall_encode(struct bt_syscall_codec *c, struct buf *out, const struct bt_syscall *call)
{
	buf_leb(out, call->tick - c->tick);
	buf_leb(out, call->nr);
	buf_sleb(out, (int64_t)call->result);
	c->tick = call->tick;
}

int bt_syscall_decode(struct bt_syscall_codec *c, struct slice *in, struct bt_syscall *call)
{
	uint64_t ticks;

	*call = (struct bt_syscall){0};
	if (!in->len)
		return in->bad ? -BT_E_CORRUPT : 0;
	ticks = slice_leb(in);
	call->tick = c->tick + ticks;
	call->nr = slice_leb(in);
	call->result = (uint64_t)slice_sleb(in);
	if (call->tick < ticks || in->bad) {
		*call = (struct bt_syscall){0};
		return -BT_E_CORRUPT;
	}
	c->tick = call->tick;
	return 1;
}

void bt_syscall_print(FILE *to, const struct bt_syscall *call)
{
	if (call->tick == BT_TICKS_UNKNOWN)
		fputs("tick=?", to);
	else
		fprintf(to, "tick=%" PRIu64, call->tick);
	fprintf(to, " nr=%" PRIu64 " result=0x%" PRIx64, call->nr, call->result);
}
