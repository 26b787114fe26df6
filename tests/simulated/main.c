/* SPDX-License-Identifier: MIT */
/* btrec run over a simulated kernel and processor, of the kind that BTREC_SIMULATED names: btrec_simulated run [OPTIONS] PROGRAM... */
#include <stdio.h>
#include <stdlib.h>

#include "collector/btrec_commands.h"
#include "tests/simulated/simulated.h"

int btrec_complain(const struct bt_error *err)
{
	fprintf(stderr, "btrec: %s\n", err->text);
	return bt_error_exit_status(err->code);
}

int main(int argc, char **argv)
{
	const char *text = getenv("BTREC_SIMULATED");
	struct sim *s = calloc(1, sizeof *s);
	struct perf_ops ops = sim_perf_ops;
	struct perf_kernel k = {.ops = &ops, .arg = s};
	struct bt_error err;
	int status;

	if (!s || argc < 2)
		return 99;
	if (sim_options_parse(&s->o, text ? text : "", &err)) {
		fprintf(stderr, "%s\n", err.text);
		free(s);
		return 99;
	}
	if (s->o.real_bpf) {
		ops.snap_open = lbr_bpf_open;
		ops.snap_watch = lbr_bpf_watch;
		ops.snap_forget = lbr_bpf_forget;
		ops.snap_read = lbr_bpf_read;
		ops.snap_close = lbr_bpf_close;
	}
	status = btrec_run_on(argc - 1, argv + 1, &k, &sim_runner_ops);
	sim_release(s);
	free(s);
	return status;
}
