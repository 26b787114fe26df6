/* SPDX-License-Identifier: MIT */
#include "collector/tracee/call_memory.h"

#include <string.h>

void call_memory_read(struct call_memory *m, pid_t tid, const struct tracee_syscall *call)
{
	const struct syscall_shape *shape = syscall_shape(call->nr);

	m->count = 0;
	for (unsigned i = 0; !call->compat && i < syscall_arg_count(shape); i++) {
		bool is_text;
		size_t size = (size_t)syscall_pointed_size(shape, i, call->args, &is_text), n;
		uint8_t *bytes = m->bytes[m->count];

		n = size ? tracee_read(tid, call->args[i], bytes, size) : 0;
		if (!n)
			continue;
		m->pointed[m->count++] = (struct bt_pointed){
			.arg = i,
			.is_cut = is_text && !memchr(bytes, 0, n),
			.bytes = slice_of(bytes, is_text ? strnlen((char *)bytes, n) : n),
		};
	}
}
