/* SPDX-License-Identifier: MIT */
/* Whether a filter lets a call pass: random ones, against the kernel's own answer. */
#include <errno.h>
#include <linux/audit.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/task/syscall_filter.h"
#include "lib/array_size.h"
#include "tests/unit/unit.h"

enum {
	FILTERS = 400,
	CALLS = 40,
	BODY = 24,
	LENGTH = BODY + 8,
	ASKED = SYS_getppid, /* has no arguments, and takes any */
};

static uint32_t random_word(uint64_t *state)
{
	static const uint32_t odd[] = {0, 1, 2, 31, 0x7fffffff, 0x80000000, 0xffffffff};
	uint32_t r;

	*state = *state * 6364136223846793005u + 1442695040888963407u;
	r = (uint32_t)(*state >> 33);
	return r % 5 ? r * 2654435761u : odd[r / 5 % ARRAY_SIZE(odd)];
}

static struct sock_filter random_instruction(uint64_t *state, size_t left)
{
	static const uint16_t ops[] = {BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_AND,
				       BPF_OR,  BPF_XOR, BPF_LSH, BPF_RSH, BPF_NEG},
			      jumps[] = {BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET};
	uint32_t k = random_word(state), which = random_word(state);
	uint16_t op = ops[which / 16 % ARRAY_SIZE(ops)], source = which & 0x10000 ? BPF_X : BPF_K;

	switch (which % 12) {
	case 0:
	case 1:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						    k % (sizeof(struct seccomp_data) / 4) * 4);
	case 2:
		return (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, k);
	case 3:
		return (struct sock_filter)BPF_STMT(BPF_LDX | BPF_IMM, k);
	case 4:
		return (struct sock_filter)BPF_STMT(
			which & 0x100 ? BPF_LD | BPF_MEM : BPF_LDX | BPF_MEM, 0);
	case 5:
		return (struct sock_filter)BPF_STMT(which & 0x100 ? BPF_ST : BPF_STX, 0);
	case 6:
		return (struct sock_filter)BPF_STMT(BPF_MISC | (which & 0x100 ? BPF_TAX : BPF_TXA),
						    0);
	case 7:
		return (struct sock_filter)BPF_STMT(
			which & 0x100 ? BPF_LD | BPF_W | BPF_LEN : BPF_LDX | BPF_W | BPF_LEN, 0);
	case 8:
		if (left > 1)
			return (struct sock_filter)BPF_JUMP(
				BPF_JMP | jumps[which / 16 % 4] | source, k,
				(uint8_t)(k / 7 % left), (uint8_t)(k / 49 % left));
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0);
	case 9:
		return (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, left > 1 ? k % 2 : 0);
	default:
		if (op == BPF_NEG)
			source = BPF_K;
		if ((op == BPF_LSH || op == BPF_RSH) && source == BPF_K)
			k %= 32;
		if (op == BPF_DIV && source == BPF_K && !k)
			k = 3;
		return (struct sock_filter)BPF_STMT(BPF_ALU | op | source, op == BPF_NEG ? 0 : k);
	}
}

/* All calls but one pass; of that a bit of what was computed decides, and a division by zero kills
 * it: the filter says so of itself. */
static size_t random_filter(struct sock_filter *code, uint64_t seed)
{
	uint64_t state = seed;
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ASKED, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] =
		(struct sock_filter)BPF_STMT(BPF_ST, 0); /* what is loaded must have been stored */
	for (size_t i = 0; i < BODY; i++)
		code[n++] = random_instruction(&state, BODY - i);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1u << seed % 32, 0, 1);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return n;
}

static void random_call(uint64_t seed, unsigned i, struct seccomp_data *call)
{
	uint64_t state = seed ^ (i + 1) * 0x9E3779B97F4A7C15u;

	*call = (struct seccomp_data){.nr = ASKED, .arch = AUDIT_ARCH_X86_64};
	for (int k = 0; k < 6; k++)
		call->args[k] = (uint64_t)random_word(&state) << 32 | random_word(&state);
}

/* In a process of its own: makes the calls, of which the kernel gives an error or not, or which end
 * it. Writes 0 or 1 for each. */
static void ask_kernel(const struct sock_filter *code, size_t n, uint64_t seed, int to)
{
	struct sock_fprog program = {.len = (unsigned short)n,
				     .filter = (struct sock_filter *)(uintptr_t)code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(77);
	for (unsigned i = 0; i < CALLS; i++) {
		struct seccomp_data call;
		char passed;

		random_call(seed, i, &call);
		/* Neither the C library nor we decide where the instruction is: no filter here
		 * looks at that half. */
		passed = syscall(ASKED, call.args[0], call.args[1], call.args[2], call.args[3],
				 call.args[4], call.args[5]) >= 0;
		if (write(to, &passed, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static bool looks_at_address(const struct sock_filter *code, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (code[i].code == (BPF_LD | BPF_W | BPF_ABS) &&
		    code[i].k / 8 == offsetof(struct seccomp_data, instruction_pointer) / 8)
			return true;
	return false;
}

static void test_as_the_kernel(void **state)
{
	unsigned asked = 0, refused = 0, killed = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= FILTERS; seed++) {
		struct sock_filter code[LENGTH];
		size_t n = random_filter(code, seed);
		struct syscall_filter *f;
		int pipes[2], status;
		pid_t child;

		if (looks_at_address(code, n))
			continue;
		assert_false(pipe(pipes));
		child = fork();
		assert_true(child >= 0);
		if (!child)
			ask_kernel(code, n, seed, pipes[1]);
		close(pipes[1]);
		f = syscall_filter_add(NULL, code, n);
		assert_non_null(f);
		for (unsigned i = 0; i < CALLS; i++) {
			struct seccomp_data call;
			char passed = 0;
			bool answered = read(pipes[0], &passed, 1) == 1;

			if (!answered && !i)
				waitpid(child, &status, WNOHANG);
			random_call(seed, i, &call);
			if (syscall_filter_allows(f, &call) != (answered && passed))
				fail_msg("filter %llu, call %u: the kernel %s",
					 (unsigned long long)seed, i,
					 !answered ? "ended the process"
					 : passed  ? "let it pass"
						   : "gave an error");
			asked++;
			refused += answered && !passed;
			if (!answered) {
				killed++;
				break;
			}
		}
		close(pipes[0]);
		syscall_filter_put(f);
		if (waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 77)
			skip(); /* no filters here */
	}
	assert_true(asked > 1000 && refused > 100 && killed > 5);
}

static void test_all_must_agree(void **state)
{
	static const struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
					log[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_LOG)},
					trap[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)},
					none[] = {BPF_STMT(BPF_LD | BPF_IMM, 1)};
	const struct seccomp_data call = {.nr = SYS_mmap};
	struct syscall_filter *f, *older;

	(void)state;
	assert_true(syscall_filter_allows(NULL, &call));
	f = syscall_filter_add(syscall_filter_add(NULL, allow, 1), log, 1);
	assert_true(syscall_filter_allows(f, &call));
	older = syscall_filter_share(f);
	f = syscall_filter_add(f, trap, 1);
	assert_false(syscall_filter_allows(f, &call));
	f = syscall_filter_add(f, allow, 1);
	assert_false(syscall_filter_allows(f, &call));
	assert_true(syscall_filter_allows(older, &call));
	syscall_filter_put(f);
	assert_true(syscall_filter_allows(older, &call));
	syscall_filter_put(older);
	f = syscall_filter_add(NULL, none,
			       1); /* it runs out of its code, which the kernel does not let in */
	assert_false(syscall_filter_allows(f, &call));
	syscall_filter_put(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_the_kernel),
		cmocka_unit_test(test_all_must_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
