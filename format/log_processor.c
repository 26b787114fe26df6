/* SPDX-License-Identifier: MIT */
#include "format/log_processor.h"

enum {
	LEAF_BYTES = 24,
};

void log_processor_encode(struct buf *bytes, const struct processor_offer *o)
{
	for (size_t i = 0; i < o->count; i++) {
		const struct processor_leaf *l = &o->leaves[i];
		const uint32_t words[LEAF_BYTES / 4] = {l->leaf, l->subleaf, l->eax,
							l->ebx,  l->ecx,     l->edx};

		for (size_t w = 0; w < LEAF_BYTES / 4; w++)
			buf_u32(bytes, words[w]);
	}
}

void log_processor_decode(const struct bt_record_log_processor *rec, struct processor_offer *o)
{
	struct slice in = rec->leaves;

	*o = (struct processor_offer){.xcr0 = rec->xcr0};
	while (in.len >= LEAF_BYTES && o->count < PROCESSOR_OFFERED) {
		struct processor_leaf *l = &o->leaves[o->count++];

		l->leaf = slice_u32(&in);
		l->subleaf = slice_u32(&in);
		l->subleaf_mask = UINT32_MAX;
		l->eax = slice_u32(&in);
		l->ebx = slice_u32(&in);
		l->ecx = slice_u32(&in);
		l->edx = slice_u32(&in);
	}
}
