/* SPDX-License-Identifier: MIT */
/* Attempts: calls that are made to see what comes of them, one function an attempt, by a table at
 * the end. Each gives 0 or more, or -errno.
 *
 * A system call filter may kill the caller, so where this process is filtered a child makes each
 * attempt. Others need a child anyway: to be traced, to trap, to have its limits raised. A child
 * has our memory (vfork, CLONE_VM) where a copy would be most of the cost. */
#include <asm/prctl.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/backend/engine/cache/layout.h"
#include "collector/doctor/machine.h"
#include "collector/task/limits.h"
#include "lib/array_size.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012 /* asm/prctl.h since Linux 4.12 */
#endif

enum {
	TRAPPED = 3,
	BLOCK_STOPS_MAX = 4 * MACHINE_BLOCK_SIZE,
	SNAPSHOT_BYTES = 384, /* 16 entries: a BPF program's stack has 512 bytes */
	HELPER_BRANCH_SNAPSHOT = 176,
	TEST_RUN = 10, /* BPF_PROG_TEST_RUN, later BPF_PROG_RUN */
};

static int attempt_result(long rc) { return rc < 0 ? -errno : (int)rc; }

static int opened_result(long fd)
{
	int rc = attempt_result(fd);

	if (rc >= 0)
		close(rc);
	return rc < 0 ? rc : 0;
}

/* Makes the call in a child, which has our memory: a copy would be most of the cost. The child
 * unmaps what it maps. Returns what the call returns, or -MACHINE_KILLED when the child did not
 * live to tell. */
static int in_child(int (*call)(void))
{
	volatile int result = -MACHINE_KILLED;
	pid_t pid = vfork();

	if (pid == 0) {
		result = call();
		_exit(0);
	}
	if (pid < 0)
		return -errno;
	waitpid(pid, NULL, 0);
	return result;
}

/* ---- Processes and memory ---- */

static int try_proc(void)
{
	char self[32] = "";
	ssize_t len = readlink("/proc/self", self, sizeof self - 1);

	if (len < 0)
		return -ENOENT;
	return atoi(self) == getpid() ? 0 : -EXDEV;
}

/* Runs in a child with our memory: a copy would be most of the cost. It makes no call that could
 * fail, for errno is ours, too. If a filter ends its parent, it ends too. It ends by returning:
 * before a call that does not return AddressSanitizer clears the stack, and needs more of it than
 * there is. */
static int wait_for_end(void *parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == (pid_t)(intptr_t)parent)
		pause();
	return 0;
}

/* The child has a stack of its own: if a filter ends us, the child may use it until after the
 * next attempt has begun, and nobody unmaps it. */
static int try_ptrace(void)
{
	enum { STACK_SIZE = 2 * 4096 };
	uint8_t *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	int rc;

	if (stack == MAP_FAILED)
		return -errno;
	pid_t pid = clone(wait_for_end, stack + STACK_SIZE, CLONE_VM | SIGCHLD,
			  (void *)(intptr_t)getpid());
	if (pid < 0) {
		rc = -errno;
	} else {
		rc = attempt_result(ptrace(PTRACE_SEIZE, pid, NULL, NULL));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	munmap(stack, STACK_SIZE);
	return rc;
}

static int try_vm_read(void)
{
	char from = 1, to = 0;
	struct iovec local = {&to, 1}, remote = {&from, 1};

	return attempt_result(process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
}

/* Whether these bytes of the region can be mapped. They are unmapped again. */
static int map_at(uint64_t offset, size_t size, int protection, int flags, int fd)
{
	void *at = mmap((void *)region_address(offset), size, protection,
			flags | MAP_FIXED_NOREPLACE, fd, (off_t)(fd < 0 ? 0 : offset));

	return at == MAP_FAILED ? -errno : munmap(at, size);
}

/* Code in a memory file, as code_cache_map has it in a program. */
static int map_shared_code(void)
{
	int fd = memfd_create("btrec", MFD_CLOEXEC | MFD_ALLOW_SEALING), rc;

	if (fd < 0)
		return -errno;
	rc = ftruncate(fd, REGION_SIZE)
		     ? -errno
		     : map_at(CODE_AT, CODE_SIZE, PROT_READ | PROT_EXEC, MAP_SHARED, fd);
	close(fd);
	return rc;
}

/* The whole region, with code in a memory file if none can be made elsewhere. */
static int map_region(void)
{
	static const struct limits_share share = {
		.start = WORLD_RESERVED_START,
		.bytes = {[LIMITED_AS] = REGION_SIZE, [LIMITED_DATA] = DATA_SIZE}};
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	struct limits limits = {0};
	int rc;

	limits_raise(&limits, getpid(), &share);
	rc = map_at(0, DATA_SIZE, PROT_READ | PROT_WRITE, flags, -1);
	if (!rc)
		rc = map_at(CODE_AT, CODE_SIZE, PROT_READ | PROT_EXEC, flags, -1);
	return rc == -EACCES || rc == -EPERM ? map_shared_code() : rc;
}

static int try_memfd(void) { return in_child(map_shared_code); }

static bool has_limits(void)
{
	struct rlimit space, data;

	return getrlimit(RLIMIT_AS, &space) || getrlimit(RLIMIT_DATA, &data) ||
	       space.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY;
}

/* Limits are raised for it: in a child, where there are any. */
static int try_region(void) { return has_limits() ? in_child(map_region) : map_region(); }

/* ---- perf and BPF ---- */

static long perf_open(struct perf_event_attr *attr)
{
	attr->size = sizeof *attr;
	attr->disabled = 1;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	return syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static int try_perf(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY};

	return opened_result(perf_open(&attr));
}

static long open_lbr(void)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
				       .config = PERF_COUNT_HW_CPU_CYCLES,
				       .sample_type = PERF_SAMPLE_BRANCH_STACK,
				       .branch_sample_type =
					       PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY};

	return perf_open(&attr);
}

static long load_program(const struct bpf_insn *code, uint32_t count)
{
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
			       .insn_cnt = count,
			       .insns = (uintptr_t)code,
			       .license = (uintptr_t) "Dual MIT/GPL"};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
}

static int try_bpf(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};

	return opened_result(load_program(code, 2));
}

/* A program that calls the helper with room on its stack and returns what that returned. */
static int try_snapshot(void)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_1, .imm = -SNAPSHOT_BYTES},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = SNAPSHOT_BYTES},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_3},
		{.code = BPF_JMP | BPF_CALL, .imm = HELPER_BRANCH_SNAPSHOT},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int program = attempt_result(load_program(code, ARRAY_SIZE(code))), event, rc;
	union bpf_attr run = {.test = {.prog_fd = (uint32_t)program}};

	if (program < 0)
		return program;
	event = attempt_result(open_lbr()); /* the helper has something to say while one runs */
	if (event >= 0)
		ioctl(event, PERF_EVENT_IOC_ENABLE, 0);
	rc = attempt_result(syscall(SYS_bpf, TEST_RUN, &run, sizeof run));
	if (event >= 0)
		close(event);
	close(program);
	return rc < 0 ? rc : (int)run.test.retval;
}

/* ---- What traps ---- */

static void note_trap(int signo)
{
	(void)signo;
	_exit(TRAPPED);
}

/* Whether code in a child traps. prepare gives -errno where that cannot be asked for. */
static int code_traps(int (*prepare)(void), void (*code)(void))
{
	struct sigaction on_fault = {.sa_handler = note_trap};
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		int rc = prepare();

		sigaction(SIGSEGV, &on_fault, NULL);
		if (rc)
			_exit(-rc > TRAPPED ? -rc : EINVAL);
		code();
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -errno;
	if (!WIFEXITED(status))
		return -MACHINE_KILLED;
	return WEXITSTATUS(status) <= TRAPPED ? WEXITSTATUS(status) == TRAPPED
					      : -WEXITSTATUS(status);
}

static int forbid_rdtsc(void) { return attempt_result(prctl(PR_SET_TSC, PR_TSC_SIGSEGV)); }

static void make_rdtsc(void) { __asm__ volatile("rdtsc" ::: "eax", "edx"); }

static int forbid_cpuid(void) { return attempt_result(syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0)); }

static void make_cpuid(void) { __asm__ volatile("cpuid" : : "a"(0), "c"(0) : "ebx", "edx"); }

static int try_rdtsc(void) { return code_traps(forbid_rdtsc, make_rdtsc); }

static int try_cpuid(void) { return code_traps(forbid_cpuid, make_cpuid); }

/* MACHINE_BLOCK_SIZE instructions between two breakpoints, every tenth a branch. */
static void run_blocks(void)
{
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	__asm__ volatile("int3\n\t"
			 ".rept 4\n\t"
			 ".rept 9\n\tnop\n\t.endr\n\t"
			 ".byte 0xeb, 0\n\t" /* jmp to the next instruction */
			 ".endr\n\t"
			 "int3");
	_exit(0);
}

/* int3 tells itself from steps by its si_code. */
static int count_stops(pid_t pid)
{
	siginfo_t info;
	int status, stops = 0;

	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -EPERM;
	for (;; stops++) {
		if (ptrace(PTRACE_SINGLEBLOCK, pid, NULL, NULL))
			return -errno;
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    stops > BLOCK_STOPS_MAX || ptrace(PTRACE_GETSIGINFO, pid, NULL, &info))
			return -EIO;
		if (WSTOPSIG(status) != SIGTRAP || info.si_code == SI_KERNEL)
			return stops;
	}
}

static int try_single_block(void)
{
	pid_t pid = fork();
	int stops;

	if (pid == 0)
		run_blocks();
	if (pid < 0)
		return -errno;
	stops = count_stops(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return stops;
}

int machine_attempt_here(enum machine_attempt what)
{
	static int (*const calls[MACHINE_ATTEMPTS])(void) = {
		[TRY_PROC] = try_proc,
		[TRY_PTRACE] = try_ptrace,
		[TRY_VM_READ] = try_vm_read,
		[TRY_MEMFD] = try_memfd,
		[TRY_REGION] = try_region,
		[TRY_PERF] = try_perf,
		[TRY_BPF] = try_bpf,
		[TRY_SNAPSHOT] = try_snapshot,
		[TRY_SINGLE_BLOCK] = try_single_block,
		[TRY_RDTSC_TRAP] = try_rdtsc,
		[TRY_CPUID_TRAP] = try_cpuid,
	};

	return prctl(PR_GET_SECCOMP) == 0 ? calls[what]() : in_child(calls[what]);
}
