/* SPDX-License-Identifier: MIT */
#include "export/export.h"

#include <string.h>

#include "export/export_private.h"

const struct export_kind export_kinds[] = {
	{"perf-script", "a line a snapshot with its branches, as perf script prints brstack",
	 export_perf_script},
	{0},
};

const struct export_kind *export_find(const char *name)
{
	for (const struct export_kind *k = export_kinds; k->name; k++)
		if (!strcmp(k->name, name))
			return k;
	return NULL;
}
