/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "tests/simulated/simulated.h"

static const struct sim_options defaults = {
#define SIM_OPTION(name, value, text) .name = value,
#include "tests/simulated/options.def"
#undef SIM_OPTION
};

static uint64_t *find(struct sim_options *o, const char *name, size_t len)
{
#define SIM_OPTION(option, value, text)                             \
	if (strlen(#option) == len && !strncmp(#option, name, len)) \
		return &o->option;
#include "tests/simulated/options.def"
#undef SIM_OPTION
	return NULL;
}

int sim_options_parse(struct sim_options *o, const char *text, struct bt_error *err)
{
	*o = defaults;
	while (*(text += strspn(text, ","))) {
		size_t len = strcspn(text, "=,");
		uint64_t *value = find(o, text, len);
		char *end;

		if (!value || text[len] != '=')
			return bt_fail(err, BT_E_MISUSE, 0, "BTREC_SIMULATED: %.40s", text);
		*value = strtoull(text + len + 1, &end, 0);
		text = end;
	}
	return 0;
}
