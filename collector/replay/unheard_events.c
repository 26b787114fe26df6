/* SPDX-License-Identifier: MIT */
#include "collector/replay/unheard_events.h"

void unheard_task(struct session *session, struct supervisor *sup, struct task *task)
{
	(void)session;
	(void)sup;
	(void)task;
}

void unheard_signal(struct session *session, struct supervisor *sup, struct task *task,
		    const struct arrived_signal *signal)
{
	(void)session;
	(void)sup;
	(void)task;
	(void)signal;
}

void unheard_switch(struct session *session, struct supervisor *sup, const struct unit *unit,
		    uint32_t from, uint32_t to, const struct bt_point *point)
{
	(void)session;
	(void)sup;
	(void)unit;
	(void)from;
	(void)to;
	(void)point;
}

void unheard_request(struct session *session, struct supervisor *sup, struct task *task,
		     const char *label)
{
	(void)session;
	(void)sup;
	(void)task;
	(void)label;
}

void unheard_tick(struct session *session, struct supervisor *sup)
{
	(void)session;
	(void)sup;
}
