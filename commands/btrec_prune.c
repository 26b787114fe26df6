/* SPDX-License-Identifier: MIT */
/* btrec prune: removes the oldest traces of the trace directory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands/btrec_commands.h"
#include "commands/trace_shelf.h"
#include "lib/array_size.h"
#include "lib/say.h"
#include "lib/trace_home.h"

struct prune_arguments {
	struct shelf_limits limits;
	bool trial, help;
};

static int set_keep(void *target, const char *value, struct bt_error *err)
{
	struct shelf_limits *l = &((struct prune_arguments *)target)->limits;
	unsigned long long n;
	int rc = options_number("--keep", value, 0, UINT32_MAX, &n, err);

	l->has_count = true;
	l->count = n;
	return rc;
}

static int set_max_size(void *target, const char *value, struct bt_error *err)
{
	return shelf_size("--max-size", value, &((struct prune_arguments *)target)->limits.size,
			  err);
}

static int set_older(void *target, const char *value, struct bt_error *err)
{
	return shelf_age("--older", value, &((struct prune_arguments *)target)->limits.older, err);
}

static const struct option_row rows[] = {
	{"keep", 0, "N", "keep the newest N traces", .set = set_keep},
	{"max-size", 0, "SIZE", "keep as many as take SIZE together: 500M, 2G",
	 .set = set_max_size},
	{"older", 0, "AGE", "remove those that began longer ago: 12h, 7d", .set = set_older},
	{"dry-run", 'n', NULL, "only say what would be removed",
	 .at = offsetof(struct prune_arguments, trial)},
	{"help", 'h', NULL, "show this", .at = offsetof(struct prune_arguments, help)},
};

enum { ROWS = ARRAY_SIZE(rows) };

static void print_removed(void *arg, const char *path, const struct trace_digest *d)
{
	const struct prune_arguments *args = arg;
	size_t room = 4 * strlen(path) + 1; /* each byte may become four */
	char *safe = malloc(room), size[24];

	printf("%s %s (%s)\n", args->trial ? "would remove" : "removed",
	       safe ? say_safely(safe, room, path) : "", size_words(d->size, size));
	free(safe);
}

int btrec_prune(int argc, char **argv)
{
	struct prune_arguments args = {0};
	const struct shelf_limits *l = &args.limits;
	char dir[BT_PATH_MAX];
	struct bt_error err;
	int rc = options_parse(rows, ROWS, &args, argc, argv, &err);

	if (rc >= 0 && args.help) {
		puts("Usage: btrec prune [OPTIONS]\nRemoves the oldest complete traces of the "
		     "trace directory.\n\nOptions:");
		options_help(stdout, rows, ROWS);
		return 0;
	}
	if (rc >= 0 && rc < argc)
		rc = bt_fail(&err, BT_E_MISUSE, 0, "prune: takes no argument, not %s", argv[rc]);
	if (rc >= 0 && !l->has_count && !l->size && !l->older)
		rc = bt_fail(&err, BT_E_MISUSE, 0,
			     "prune: --keep, --max-size or --older says how "
			     "much is kept");
	if (rc >= 0)
		rc = trace_home(dir, &err);
	if (rc >= 0)
		rc = trace_shelf_prune(dir, l, args.trial, print_removed, &args, &err);
	return rc < 0 ? btrec_complain(&err) : 0;
}
