/* SPDX-License-Identifier: MIT */
/* What a host can do: its filter by its rows, and a process that is one, for which the kernel is
 * asked. */
#include "collector/replay/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/replay/host_filter.h"
#include "collector/task/syscall_filter.h"
#include "collector/tracee/tracee.h"
#include "format/log_values.h"
#include "lib/array_size.h"
#include "lib/page.h"
#include "tests/unit/unit.h"

enum {
	NUMBERS = 1024,
	X32 = 0x40000000,
	MEMORY = 256 << 20,
	EXIT_32 = 1, /* of the table for 32-bit code (asm/unistd_32.h) */
	GETPID_32 = 20,
	EXIT_GROUP_32 = 252,
};

#define CODE_PAGE 0x10000000u

/* ---- The filter ---- */

struct filter_state {
	struct syscall_filter *filter;
};

static bool passes(const struct syscall_filter *f, uint32_t arch, long nr, uint64_t second,
		   uint64_t third, uint64_t fourth)
{
	const struct seccomp_data call = {
		.nr = (int)nr, .arch = arch, .args = {0, second, third, fourth}};

	return syscall_filter_allows(f, &call);
}

static void set_up_filter(struct filter_state *s)
{
	s->filter = syscall_filter_add(NULL, host_filter, host_filter_length);
	assert_non_null(s->filter);
}

static void few_numbers_pass_and_of_another_table_the_end_alone(void **state)
{
	static const long known[] = {SYS_mmap,         SYS_munmap,  SYS_mprotect,
				     SYS_mremap,       SYS_madvise, SYS_close,
				     SYS_memfd_create, SYS_exit,    SYS_exit_group};
	struct filter_state s;

	(void)state;
	set_up_filter(&s);
	for (long nr = 0; nr < NUMBERS; nr++) {
		bool is_known = false, passed = false;

		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			is_known |= known[i] == nr;
		for (uint64_t bits = 0; bits < 64; bits++) /* of flags and protections */
			passed |= passes(s.filter, AUDIT_ARCH_X86_64, nr, bits, bits, bits) ||
				  passes(s.filter, AUDIT_ARCH_X86_64, nr, bits, MADV_DONTDUMP, 0);
		assert_int_equal(passed, is_known);
		assert_int_equal(passes(s.filter, AUDIT_ARCH_I386, nr, 0, 0, 0),
				 nr == EXIT_32 || nr == EXIT_GROUP_32);
		assert_false(passes(s.filter, AUDIT_ARCH_X86_64, X32 | nr, 0, 0, 0));
	}
	assert_true(passes(s.filter, AUDIT_ARCH_X86_64, -1, 0, 0, 0));
	assert_true(passes(s.filter, AUDIT_ARCH_I386, -1, 0, 0, 0));
	syscall_filter_put(s.filter);
}

static void of_calls_with_flags_only_what_the_replay_needs_passes(void **state)
{
	enum {
		RW = PROT_READ | PROT_WRITE,
		RX = PROT_READ | PROT_EXEC,
		PRIVATE = MAP_PRIVATE | MAP_ANONYMOUS,
	};
	static const struct {
		long nr;
		uint64_t second, third, fourth;
		bool passes;
	} rows[] = {
		{SYS_mmap, 4096, RW, PRIVATE, true},
		{SYS_mmap, 4096, RW | PROT_EXEC, PRIVATE | MAP_FIXED | MAP_GROWSDOWN, true},
		{SYS_mmap, 4096, RW, PRIVATE | MAP_HUGETLB, false},
		{SYS_mmap, 4096, RW, PRIVATE | MAP_LOCKED, false},
		{SYS_mmap, 4096, RW, PRIVATE | MAP_POPULATE, false},
		{SYS_mmap, 4096, RW, MAP_SHARED | MAP_ANONYMOUS, false},
		{SYS_mmap, 4096, RX, MAP_SHARED | MAP_FIXED, true},
		{SYS_mmap, 4096, RW, MAP_SHARED, true},
		{SYS_mmap, 4096, RW | PROT_EXEC, MAP_SHARED, false},
		{SYS_mmap, 4096, RX, MAP_PRIVATE, false},
		{SYS_madvise, 4096, MADV_DONTDUMP, 0, true},
		{SYS_madvise, 4096, 100 /* MADV_HWPOISON */, 0, false},
		{SYS_madvise, 4096, MADV_DONTNEED, 0, false},
		{SYS_memfd_create, MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, true},
		{SYS_memfd_create, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB, 0, 0, false},
		{SYS_memfd_create, 0, 0, 0, false},
	};
	struct filter_state s;

	(void)state;
	set_up_filter(&s);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (passes(s.filter, AUDIT_ARCH_X86_64, rows[i].nr, rows[i].second, rows[i].third,
			   rows[i].fourth) != rows[i].passes)
			fail_msg("row %zu", i);
	syscall_filter_put(s.filter);
}

/* ---- A process ---- */

/* A filter that fails mremap(2) of more than a page with EFAULT. */
static void move_single_pages(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, BT_PAGE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EFAULT),
	};
	const struct sock_fprog filter = {ARRAY_SIZE(code), code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* One that stands before its program's first instruction. */
static pid_t new_program(void (*prepare)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		if (prepare)
			prepare();
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	assert_int_equal(ptrace(PTRACE_SETOPTIONS, pid, NULL,
				(void *)(long)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL)),
			 0);
	return pid;
}

/* One that is a host, with a page of code at which it stands. */
static pid_t new_prepared_host(void (*prepare)(void), const void *code, size_t size)
{
	const struct bt_record_log_shape page = {.what = BT_SHAPE_MAP,
						 .start = CODE_PAGE,
						 .end = CODE_PAGE + BT_PAGE,
						 .prot = PROT_READ | PROT_EXEC};
	pid_t pid = new_program(prepare);
	struct bt_regs regs;
	struct bt_error err;

	assert_int_equal(host_confine(pid, MEMORY, &err), 0);
	assert_int_equal(host_shape(pid, &page), HOST_DONE);
	assert_true(host_write(pid, CODE_PAGE, slice_of(code, size)));
	assert_int_equal(tracee_get_regs(pid, &regs), 0);
	regs.rip = CODE_PAGE;
	regs.orig_rax = UINT64_MAX;
	assert_int_equal(tracee_set_regs(pid, &regs), 0);
	return pid;
}

static pid_t new_host(const void *code, size_t size) { return new_prepared_host(NULL, code, size); }

static void end(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	waitpid(pid, &status, __WALL);
}

/* Lets it run its code with this number in rax; the wait status that comes. */
static int run_with(pid_t pid, uint64_t rax)
{
	struct bt_regs regs;
	int status;

	assert_int_equal(tracee_get_regs(pid, &regs), 0);
	regs.rax = rax;
	assert_int_equal(tracee_set_regs(pid, &regs), 0);
	assert_int_equal(ptrace(PTRACE_CONT, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	return status;
}

static const uint8_t a_call[] = {0x0f, 0x05, 0xcc}, a_32_bit_call[] = {0xcd, 0x80, 0xcc};

static void a_call_of_its_own_kills_it(void **state)
{
	static const long calls[] = {SYS_open,   SYS_openat, SYS_socket, SYS_fork,  SYS_clone,
				     SYS_execve, SYS_write,  SYS_ptrace, SYS_prctl, SYS_getpid};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		pid_t pid = new_host(a_call, sizeof a_call);
		int status = run_with(pid, (uint64_t)calls[i]);

		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS &&
			    !WCOREDUMP(status));
	}
}

static void a_32_bit_call_but_the_end_kills_it(void **state)
{
	pid_t pid = new_host(a_32_bit_call, sizeof a_32_bit_call);
	int status = run_with(pid, GETPID_32);

	(void)state;
	if (WIFSTOPPED(status)) { /* a kernel without 32-bit calls */
		assert_int_equal(WSTOPSIG(status), SIGSEGV);
		end(pid);
		return;
	}
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS);
	status = run_with(new_host(a_32_bit_call, sizeof a_32_bit_call), EXIT_32);
	assert_true(WIFEXITED(status));
}

/* How a replay answers the calls of the program: the kernel is told no number. */
static void a_call_that_the_tracer_cancels_does_no_harm(void **state)
{
	pid_t pid = new_host(a_call, sizeof a_call);
	struct bt_regs regs;
	int status;

	(void)state;
	assert_int_equal(tracee_get_regs(pid, &regs), 0);
	regs.rax = SYS_getpid;
	assert_int_equal(tracee_set_regs(pid, &regs), 0);
	assert_int_equal(tracee_run_to_stop(pid, PTRACE_SYSCALL), SIGTRAP | 0x80);
	assert_int_equal(waitpid(pid, &status, __WALL), pid);
	assert_int_equal(tracee_get_regs(pid, &regs), 0);
	regs.orig_rax = UINT64_MAX;
	assert_int_equal(tracee_set_regs(pid, &regs), 0);
	assert_int_equal(tracee_run_to_stop(pid, PTRACE_SYSCALL), SIGTRAP | 0x80);
	end(pid);
}

static rlim_t limit_of(pid_t pid, __rlimit_resource_t resource)
{
	struct rlimit limit;

	assert_int_equal(prlimit(pid, resource, NULL, &limit), 0);
	assert_int_equal(limit.rlim_cur, limit.rlim_max);
	return limit.rlim_max;
}

static void it_has_nothing_and_may_have_little(void **state)
{
	struct bt_record_log_shape large = {.what = BT_SHAPE_MAP,
					    .start = 1ull << 32,
					    .end = (1ull << 32) + 2ull * MEMORY,
					    .prot = PROT_READ | PROT_WRITE};
	pid_t pid = new_host(a_call, sizeof a_call);
	char line[TRACEE_LINE];

	DIR *descriptors;

	(void)state;
	snprintf(line, sizeof line, "/proc/%d/fd", (int)pid);
	descriptors = opendir(line);
	assert_non_null(descriptors);
	for (const struct dirent *e; (e = readdir(descriptors));)
		assert_int_equal(e->d_name[0], '.');
	closedir(descriptors);
	assert_int_equal(limit_of(pid, RLIMIT_AS), MEMORY);
	assert_int_equal(limit_of(pid, RLIMIT_FSIZE), 0);
	assert_int_equal(limit_of(pid, RLIMIT_CORE), 0);
	assert_int_equal(limit_of(pid, RLIMIT_NPROC), 0);
	assert_true(tracee_file_line(pid, "status", "NoNewPrivs:", line));
	assert_int_equal(atoi(line), 1);
	assert_true(tracee_file_line(pid, "status", "Seccomp:", line));
	assert_int_equal(atoi(line), 2);
	assert_true(tracee_file_line(pid, "oom_score_adj", "", line));
	assert_int_equal(atoi(line), 1000);
	assert_int_equal(host_shape(pid, &large), HOST_FULL);
	large.end = large.start + MEMORY / 2;
	assert_int_equal(host_shape(pid, &large), HOST_DONE);
	end(pid);
}

/* As before Linux 6.17, where mremap(2) does not move several mappings at once. */
static void what_was_moved_and_grew_is_moved_again(void **state)
{
	enum { FIRST = 0x20000000, SECOND = 0x30000000, THIRD = 0x40000000 };
	const struct bt_record_log_shape shapes[] = {
		{.what = BT_SHAPE_MAP, .start = FIRST, .end = FIRST + BT_PAGE, .prot = 3},
		{.what = BT_SHAPE_MOVE, .start = SECOND, .end = SECOND + BT_PAGE, .from = FIRST},
		{.what = BT_SHAPE_MAP,
		 .start = SECOND + BT_PAGE,
		 .end = SECOND + 2 * BT_PAGE,
		 .prot = 3},
		{.what = BT_SHAPE_MOVE, .start = THIRD, .end = THIRD + 2 * BT_PAGE, .from = SECOND},
	};
	const uint8_t text[] = "moved";
	uint8_t there[sizeof text];
	pid_t pid = new_prepared_host(move_single_pages, a_call, sizeof a_call);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		assert_int_equal(host_shape(pid, &shapes[i]), HOST_DONE);
		if (!i)
			assert_true(host_write(pid, FIRST, slice_of(text, sizeof text)));
	}
	assert_int_equal(tracee_read(pid, THIRD, there, sizeof there), sizeof there);
	assert_memory_equal(there, text, sizeof text);
	assert_int_equal(tracee_read(pid, THIRD + BT_PAGE, there, 1), 1);
	assert_int_equal(tracee_read(pid, SECOND, there, 1), 0);
	assert_int_equal(tracee_read(pid, SECOND + BT_PAGE, there, 1), 0);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_numbers_pass_and_of_another_table_the_end_alone),
		cmocka_unit_test(of_calls_with_flags_only_what_the_replay_needs_passes),
		cmocka_unit_test(a_call_of_its_own_kills_it),
		cmocka_unit_test(a_32_bit_call_but_the_end_kills_it),
		cmocka_unit_test(a_call_that_the_tracer_cancels_does_no_harm),
		cmocka_unit_test(it_has_nothing_and_may_have_little),
		cmocka_unit_test(what_was_moved_and_grew_is_moved_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
