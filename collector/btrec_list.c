/* SPDX-License-Identifier: MIT */
#include "collector/btrec_commands.h"
int btrec_list(int argc, char **argv) { (void)argc; (void)argv; return 2; }
