/* SPDX-License-Identifier: MIT */
/* A larger stack if the user's limit is small (ulimit -s). Used by the mains. */
#ifndef BT_ROOM_FOR_STACK_H
#define BT_ROOM_FOR_STACK_H

/* Calls command and returns its result. If the soft RLIMIT_STACK is below 1 MiB, command runs on a
 * stack of its own of 8 MiB: libraries have large frames (dwarf_getsrclines() of libdw: 150 KiB)
 * and would end by SIGSEGV. The limit is not changed: the recorded program inherits it. Without
 * memory the command runs on the stack that there is. */
int with_room_for_stack(int (*command)(int argc, char **argv), int argc, char **argv);

#endif
