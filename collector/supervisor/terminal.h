/* SPDX-License-Identifier: MIT */
/* The terminal that a job reads from: which process group it has in the foreground. */
#ifndef BT_TERMINAL_H
#define BT_TERMINAL_H

#include <sys/types.h>

/* Natively the program leads its job's process group, and setpgid(0, 0) changes nothing; under
 * btrec the front leads it, and the program leaves it. Where it has, and the front's group is in
 * the foreground of our terminal, the program's is put there instead. front, program: their pids.
 * Nothing happens where any of that is not so. SIGTTOU is to be blocked or ignored. */
void terminal_hand_on(pid_t front, pid_t program);

#endif
