/* SPDX-License-Identifier: MIT */
#include "collector/btrec_commands.h"
int btrec_info(int argc, char **argv) { (void)argc; (void)argv; return 2; }
