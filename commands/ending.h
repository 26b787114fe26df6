/* SPDX-License-Identifier: MIT */
/* The last line of `btrec run`. Used by the front. */
#ifndef BT_ENDING_H
#define BT_ENDING_H

#include "commands/front.h"

/* Says how the program ended, and where its trace is: "exited with 0; trace: DIR". Of a failure it
 * says the cause (cause.h; "" unknown), and what shows the trace: "SIGSEGV: null read in port
 * config.c:10; btview DIR". */
void ending_say(const struct front_message *m, const char *trace, const char *cause);

#endif
