/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include <string.h>

#include "export/export_private.h"

const struct export_kind export_kinds[] = {
	{.name = "core",
	 .help = "a core file of the moment, as gdb reads it; not for a terminal",
	 .print_moment = export_core,
	 .is_binary = true},
	{.name = "folded",
	 .help = "stacks with the number of their branches, for flame graphs",
	 .print_moment = export_folded},
	{.name = "perfetto",
	 .help = "calls as slices, in JSON that Perfetto and Chrome read",
	 .print_moment = export_perfetto},
	{.name = "perf-script",
	 .help = "a line a snapshot with its branches, as perf script prints brstack",
	 .print = export_perf_script},
	{0},
};

const struct export_kind *export_find(const char *name)
{
	for (const struct export_kind *k = export_kinds; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}
