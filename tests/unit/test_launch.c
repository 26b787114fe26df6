/* SPDX-License-Identifier: MIT */
#include "collector/supervisor/launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/array_size.h"
#include "tests/unit/unit.h"

static const char plain[] = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:"
			    "\t0000000000000000\nSeccomp:\t0\nSeccomp_filters:\t0\n";
static const char capable[] = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:"
			      "\t0000000000080000\nSeccomp:\t0\nSeccomp_filters:\t0\n";
static const char filtered[] = "Name:\tx\nCapPrm:\t0000000000000000\nCapEff:"
			       "\t00000000a80425fb\nSeccomp:\t2\nSeccomp_filters:\t1\n";
static const char capable_filtered[] = "Name:\tx\nCapEff:\t00000000a80c25fb\nSeccomp:\t2\n";

static const char traced[] = "Name:\tx\nTracerPid:\t4711\nCapEff:\t0000000000000000\nSeccomp:\t0\n";

static const struct row {
	const char *scope; /* NULL: a kernel without yama */
	const char *status;
	int cause;
	enum bt_error_code code;
	const char *says, *advises;
} rows[] = {
	{NULL, plain, EPERM, BT_E_PERMISSION, "security module", ""},
	{NULL, filtered, EPERM, BT_E_PERMISSION, "seccomp filter", "--cap-add=SYS_PTRACE"},
	{NULL, filtered, ENOSYS, BT_E_PERMISSION, "seccomp filter", "seccomp=unconfined"},
	{"0\n", plain, EPERM, BT_E_PERMISSION, "security module", ""},
	{"1\n", plain, EPERM, BT_E_PERMISSION, "security module", ""},
	{"1\n", filtered, EACCES, BT_E_PERMISSION, "seccomp filter", "--security-opt"},
	{"2\n", plain, EPERM, BT_E_PERMISSION, "ptrace_scope is 2",
	 "sysctl kernel.yama.ptrace_scope=1"},
	{"2\n", filtered, EPERM, BT_E_PERMISSION, "ptrace_scope is 2", "run as root"},
	{"2\n", capable, EPERM, BT_E_PERMISSION, "security module", ""},
	{"2\n", capable_filtered, EPERM, BT_E_PERMISSION, "seccomp filter", "seccomp=unconfined"},
	{"3\n", plain, EPERM, BT_E_PERMISSION, "ptrace_scope is 3", "only a reboot"},
	{"3\n", capable, EPERM, BT_E_PERMISSION, "ptrace_scope is 3", "only a reboot"},
	{"1\n", traced, EPERM, BT_E_PERMISSION, "process 4711", "one tracer"},
	{"3\n", plain, ESRCH, BT_E_IO, "cannot trace", ""},
};

static void put_file(char path[64], const char *text)
{
	int fd;

	strcpy(path, "/tmp/btrec-launch.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text ? text : "", text ? strlen(text) : 0),
			 text ? (ssize_t)strlen(text) : 0);
	close(fd);
	if (!text)
		unlink(path);
}

static void who_forbids_ptrace_is_named_with_what_to_do(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *r = &rows[i];
		char scope[64], status[64];
		struct bt_error err = {0};
		int rc;

		put_file(scope, r->scope);
		put_file(status, r->status);
		rc = launch_refused(&err, r->cause, scope, status);
		unlink(scope);
		unlink(status);
		if (rc != -(int)r->code || err.code != r->code || !strstr(err.text, r->says) ||
		    !strstr(err.text, r->advises))
			fail_msg("row %zu: %d, %s", i, rc, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_forbids_ptrace_is_named_with_what_to_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
