/* SPDX-License-Identifier: MIT */
#include "collector/replay/silent_observer.h"

static void see_space(void *arg, const struct address_space *s, const struct address_space *parent)
{
	(void)arg;
	(void)s;
	(void)parent;
}

static void see_mapping(void *arg, const struct address_space *s, const struct mapping *m)
{
	(void)arg;
	(void)s;
	(void)m;
}

static void see_code(void *arg, const struct address_space *s, uint64_t addr, const uint8_t *bytes,
		     uint64_t *content)
{
	(void)arg;
	(void)s;
	(void)addr;
	(void)bytes;
	*content = 1;
}

static void see_branches(void *arg, const struct branch_run *run)
{
	(void)arg;
	(void)run;
}

static void see_syscall(void *arg, struct task *task, const struct bt_syscall *call,
			const struct bt_syscall_details *details)
{
	(void)arg;
	(void)task;
	(void)call;
	(void)details;
}

static void see_processor(void *arg, const struct task *task, const struct processor_change *c)
{
	(void)arg;
	(void)task;
	(void)c;
}

static void see_note(void *arg, const struct task *task, const char *text)
{
	(void)arg;
	(void)task;
	(void)text;
}

const struct observer_ops silent_observer_ops = {
	.space = see_space,
	.mapped = see_mapping,
	.unmapped = see_mapping,
	.code = see_code,
	.branches = see_branches,
	.syscall = see_syscall,
	.processor = see_processor,
	.note = see_note,
};
