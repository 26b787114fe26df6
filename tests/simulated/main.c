/* SPDX-License-Identifier: MIT */
/* btrec run, and btrec doctor --json, over a simulated kernel and processor, of the kind that
 * BTREC_SIMULATED names: btrec_simulated run [OPTIONS] PROGRAM..., btrec_simulated doctor */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/backend/pmu/pmu.h"
#include "collector/doctor/doctor.h"
#include "commands/btrec_commands.h"
#include "tests/simulated/simulated.h"

int btrec_complain(const struct bt_error *err)
{
	fprintf(stderr, "btrec: %s\n", err->text);
	return bt_error_exit_status(err->code);
}

static int doctor(struct perf_kernel *k)
{
	struct doctor d;
	struct bt_error err;
	int rc;

	doctor_init(&d, sim_machine(k));
	rc = doctor_print_json(stdout, &d, &err);
	return rc < 0 ? btrec_complain(&err) : rc ? 0 : bt_error_exit_status(BT_E_NO_HARDWARE);
}

/* Other commands are btrec's own: it lies two folders above. */
static int pass_on(char **argv)
{
	char path[4096];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - sizeof "/btrec");

	for (int i = 0; i < 3 && len > 0; i++) {
		while (len > 0 && path[len - 1] != '/')
			len--;
		len--;
	}
	if (len <= 0)
		return 99;
	strcpy(path + len, "/btrec");
	execv(path, argv);
	return 99;
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
	if (strcmp(argv[1], "run") != 0 && strcmp(argv[1], "doctor") != 0) {
		free(s);
		return pass_on(argv);
	}
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
	if (!strcmp(argv[1], "doctor"))
		status = doctor(&k);
	else
		status = btrec_run_on(argc - 1, argv + 1, &k,
				      s->o.native ? &native_ops : &sim_runner_ops);
	sim_release(s);
	free(s);
	return status;
}
