/* SPDX-License-Identifier: MIT */
/* Room for the stack where the user's limit leaves little (ulimit -s). Used by the mains. */
#ifndef BT_ROOM_FOR_STACK_H
#define BT_ROOM_FOR_STACK_H

/* Calls command, and gives what that returns. Where the soft RLIMIT_STACK is below 1 MiB it runs on
 * a stack of 8 MiB of its own: libraries have frames beyond the limit (dwarf_getsrclines() of
 * libdw: 150 KiB), and end by SIGSEGV there. The limit stays as it is: it is the recorded
 * program's, too. Without memory for that the command runs on the stack that there is. */
int with_room_for_stack(int (*command)(int argc, char **argv), int argc, char **argv);

#endif
