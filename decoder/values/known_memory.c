/* SPDX-License-Identifier: MIT */
#include "decoder/values/known_memory.h"

size_t known_memory_read(const struct known_memory *k, uint64_t addr, void *out, size_t n)
{
	uint8_t *bytes = out;
	size_t done = 0;

	while (done < n && addr + done >= addr) {
		size_t got = model_memory(symbols_model(k->s), k->snap, addr + done, bytes + done,
					  n - done);

		if (!got)
			got = symbols_constant(k->s, k->space, k->epoch, addr + done, bytes + done,
					       n - done);
		if (!got)
			break;
		done += got;
	}
	return done;
}

bool known_memory_is_mapped(const struct known_memory *k, uint64_t addr)
{
	return trace_index_map_at(symbols_model(k->s)->index, k->space, k->epoch, addr) != NULL;
}
