/* SPDX-License-Identifier: MIT */
/* The limit is read behind a call that may set it, and not computed from its arguments: prlimit64
 * may fail when it has set the limit, for want of a place for the old one, and may be about another
 * process. */
#include "collector/record/stack_limit.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "collector/task/limits.h"
#include "lib/page.h"

/* A limit of 0 is told as 1: a stack grows by pages. */
uint64_t stack_limit_tell(struct stack_limit *l, pid_t tid)
{
	struct rlimit limit;

	l->told = !limits_get(tid, RLIMIT_STACK, &limit) ? 0 : limit.rlim_cur ? limit.rlim_cur : 1;
	return l->told;
}

/* The numbers of setrlimit and prlimit64 differ in the 32-bit table. Calls of it are few. */
static bool may_set_limit(const struct tracee_syscall *call)
{
	return call->compat || syscall_is(call, SYS_setrlimit) || syscall_is(call, SYS_prlimit64);
}

void stack_limit_call(struct stack_limit *l, pid_t tid, const struct tracee_syscall *call,
		      const struct log_sink *sink)
{
	const uint64_t before = l->told;
	struct bt_record_log_stack_limit rec;

	if (!may_set_limit(call))
		return;
	rec.size = stack_limit_tell(l, tid);
	if (rec.size && rec.size != before)
		sink->put(sink->arg, BT_RECORD_LOG_STACK_LIMIT, &rec);
}

bool stack_limit_reaches(const struct stack_limit *l, const struct mapping_list *all, uint64_t addr)
{
	const size_t i = mappings_behind(all, addr);

	return i < all->count && addr < all->maps[i].start &&
	       !strcmp(all->maps[i].path, "[stack]") &&
	       all->maps[i].end - page_down(addr) <= l->told;
}
