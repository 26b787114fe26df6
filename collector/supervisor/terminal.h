/* SPDX-License-Identifier: MIT */
/* The terminal that a job reads from: which process group it has in the foreground. Used by the
 * supervisor and by btrec run. No state. */
#ifndef BT_TERMINAL_H
#define BT_TERMINAL_H

#include <sys/types.h>

/* Natively the program leads its job's process group, and setpgid(0, 0) changes nothing. Under
 * btrec the front leads the group, and the program leaves it by that call. If it has left, and the
 * front's group is in the foreground of our terminal, the program's group is put there instead.
 * Else nothing happens. front, program: their pids. SIGTTOU must be blocked or ignored. */
void terminal_hand_on(pid_t front, pid_t program);

#endif
