/* SPDX-License-Identifier: MIT */
/* The BPF programs, really loaded and attached where the kernel allows it. Without a branch record
 * their windows hold the helper's -ENOENT; when they come, and of whom, is the same. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/backend/pmu/lbr_bpf.h"

enum {
	SYSCALL_STOP = SIGTRAP | 0x80,
	FORGED = 4000000, /* thread ids that nobody has: above the kernel's limit */
};

static struct {
	void *snap;
	struct snap_info info;
} opened;

static bool has_pmu(void)
{
	return perf_pmu_type(&perf_kernel, "cpu") >= 0 ||
	       perf_pmu_type(&perf_kernel, "cpu_core") >= 0;
}

/* A child that makes a system call and then writes to nowhere. It runs from its first stop on. */
static pid_t start_child(void)
{
	int *volatile nowhere = (int *)sizeof(int);
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		signal(SIGSEGV, SIG_DFL); /* cmocka's */
		raise(SIGSTOP);
		syscall(SYS_getpid);
		*nowhere = 1;
		_exit(0);
	}
	assert_int_equal(ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL),
			 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return pid;
}

static int go_on(pid_t pid, int request, int signo)
{
	struct user_regs_struct regs;
	int status;

	assert_int_equal(ptrace(request, pid, NULL, (long)signo), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* The switch is over when a request is served. */
	assert_int_equal(WIFSTOPPED(status) ? ptrace(PTRACE_GETREGS, pid, NULL, &regs) : 0, 0);
	return WIFSTOPPED(status) ? WSTOPSIG(status) : -1;
}

static void stop_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void read_into(pid_t pid, struct snap_read *out)
{
	assert_int_equal(lbr_bpf_read(NULL, opened.snap, pid, out), 0);
}

static void here_the_helper_says_whether_there_is_a_record(void **state)
{
	(void)state;
	if (has_pmu())
		skip();
	assert_int_equal(opened.info.helper, -ENOENT);
}

static void every_stop_is_a_window_of_that_task_and_a_fault_is_marked(void **state)
{
	pid_t one = start_child(), two = start_child();
	struct snap_read out;
	int stop, stops = 0;

	(void)state;
	assert_int_equal(lbr_bpf_watch(NULL, opened.snap, one), 0);
	assert_int_equal(lbr_bpf_watch(NULL, opened.snap, two), 0);
	read_into(one, &out);
	assert_int_equal(out.count, 0);
	kill(one, SIGCONT);
	do {
		stop = go_on(one, PTRACE_SYSCALL, 0);
		read_into(one, &out);
		/* Also when other programs took the CPU meanwhile. */
		assert_true(out.count + out.lost >= 1 || opened.info.helper > 0);
		assert_int_equal(out.fault != NULL, stop == SIGSEGV);
		for (size_t i = 0; i < out.count && !has_pmu(); i++)
			assert_int_equal(out.windows[i]->bytes, -ENOENT);
	} while (stop != SIGSEGV && ++stops < 20);
	assert_int_equal(stop, SIGSEGV);
	assert_true(stops >= 3);
	/* The window in which the fault was raised: that of the stop, unless the task was preempted
	 * in between. */
	if (out.count) {
		assert_true(out.fault->number <= out.windows[out.count - 1]->number);
		assert_true(out.fault->number >= out.windows[0]->number);
	}
	read_into(two, &out);
	assert_int_equal(out.count + out.lost, 0);
	assert_null(out.fault);
	lbr_bpf_forget(NULL, opened.snap, one);
	lbr_bpf_forget(NULL, opened.snap, two);
	assert_int_equal(lbr_bpf_read(NULL, opened.snap, one, &out), -ESRCH);
	stop_child(one);
	stop_child(two);
}

/* A place in the table that was another task's: its windows are not the new one's. */
static void a_place_is_used_again_and_begins_anew(void **state)
{
	pid_t one = start_child(), two;
	struct snap_read out;

	(void)state;
	assert_int_equal(lbr_bpf_watch(NULL, opened.snap, one), 0);
	kill(one, SIGCONT);
	while (go_on(one, PTRACE_SYSCALL, 0) != SIGSEGV)
		;
	lbr_bpf_forget(NULL, opened.snap, one);
	two = start_child();
	assert_int_equal(lbr_bpf_watch(NULL, opened.snap, two), 0);
	read_into(two, &out);
	assert_int_equal(out.count + out.lost, 0);
	assert_null(out.fault);
	lbr_bpf_forget(NULL, opened.snap, two);
	stop_child(one);
	stop_child(two);
}

static void a_full_table_is_told(void **state)
{
	(void)state;
	for (pid_t tid = FORGED; tid < FORGED + LBR_TASKS; tid++)
		assert_int_equal(lbr_bpf_watch(NULL, opened.snap, tid), 0);
	assert_int_equal(lbr_bpf_watch(NULL, opened.snap, FORGED + LBR_TASKS), -ENOSPC);
	lbr_bpf_forget(NULL, opened.snap, FORGED + 7);
	assert_int_equal(lbr_bpf_watch(NULL, opened.snap, FORGED + LBR_TASKS), 0);
	for (pid_t tid = FORGED; tid <= FORGED + LBR_TASKS; tid++)
		lbr_bpf_forget(NULL, opened.snap, tid);
}

static int open_tracepoint(pid_t pid, const char *name)
{
	char path[128];
	struct perf_event_attr a = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof a};
	long id;

	snprintf(path, sizeof path, "/sys/kernel/tracing/events/%s/id", name);
	id = perf_file_number(&perf_kernel, path);
	if (id < 0)
		return -1;
	a.config = (uint64_t)id;
	return perf_kernel.ops->open(NULL, &a, pid, -1, -1, 0);
}

/* QUIRK(signal-deliver-late) */
static void the_order_of_tracepoints_at_a_ptrace_stop(void **state)
{
	pid_t pid = start_child();
	int generate = open_tracepoint(pid, "signal/signal_generate"),
	    deliver = open_tracepoint(pid, "signal/signal_deliver"), stop;
	uint64_t before = 0, count = 0;

	(void)state;
	if (generate < 0 || deliver < 0) {
		stop_child(pid);
		skip();
	}
	kill(pid, SIGCONT);
	do {
		perf_kernel.ops->read(NULL, generate, &before, sizeof before);
		stop = go_on(pid, PTRACE_SYSCALL, 0);
	} while (stop != SIGSEGV);
	perf_kernel.ops->read(NULL, generate, &count, sizeof count);
	assert_true(count > before); /* raised before the stop */
	perf_kernel.ops->read(NULL, deliver, &before, sizeof before);
	go_on(pid, PTRACE_CONT, SIGSEGV); /* it dies of it */
	perf_kernel.ops->read(NULL, deliver, &count, sizeof count);
	assert_int_equal(count, before + 1); /* delivered behind it */
	perf_kernel.ops->close(NULL, generate);
	perf_kernel.ops->close(NULL, deliver);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(here_the_helper_says_whether_there_is_a_record),
		cmocka_unit_test(every_stop_is_a_window_of_that_task_and_a_fault_is_marked),
		cmocka_unit_test(a_place_is_used_again_and_begins_anew),
		cmocka_unit_test(a_full_table_is_told),
		cmocka_unit_test(the_order_of_tracepoints_at_a_ptrace_stop),
	};
	struct bt_error err;
	int failed;

	if (lbr_bpf_open(NULL, &opened.snap, &opened.info, &err)) {
		printf("skipped: %s\n", err.text);
		return 77;
	}
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	lbr_bpf_close(NULL, opened.snap);
	return failed;
}
