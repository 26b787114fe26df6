/* SPDX-License-Identifier: MIT */
/* Operations of a session (collector/supervisor/session.h) for what means nothing in a replay. They
 * do nothing. */
#ifndef BT_UNHEARD_EVENTS_H
#define BT_UNHEARD_EVENTS_H

#include "collector/supervisor/session.h"

void unheard_task(struct session *session, struct supervisor *sup, struct task *task);
void unheard_signal(struct session *session, struct supervisor *sup, struct task *task,
		    const struct arrived_signal *signal);
void unheard_switch(struct session *session, struct supervisor *sup, const struct unit *unit,
		    uint32_t from, uint32_t to, const struct bt_point *point);
void unheard_request(struct session *session, struct supervisor *sup, struct task *task,
		     const char *label);
void unheard_tick(struct session *session, struct supervisor *sup);

#endif
