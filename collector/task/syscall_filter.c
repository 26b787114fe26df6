/* SPDX-License-Identifier: MIT */
#include "collector/task/syscall_filter.h"

#include <linux/audit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "collector/task/task.h"
#include "collector/tracee/tracee.h"
#include "lib/array_size.h"
#include "lib/call_result.h"

struct syscall_filter {
	struct syscall_filter *older;
	unsigned users;
	size_t n;
	struct sock_filter code[];
};

struct syscall_filter *syscall_filter_add(struct syscall_filter *older,
					  const struct sock_filter *code, size_t n)
{
	struct syscall_filter *f = malloc(sizeof *f + n * sizeof *code);

	if (!f) {
		syscall_filter_put(older);
		return NULL;
	}
	*f = (struct syscall_filter){.older = older, .users = 1, .n = n};
	memcpy(f->code, code, n * sizeof *code);
	return f;
}

struct syscall_filter *syscall_filter_share(struct syscall_filter *f)
{
	if (f)
		f->users++;
	return f;
}

void syscall_filter_put(struct syscall_filter *f)
{
	while (f && !--f->users) {
		struct syscall_filter *older = f->older;

		free(f);
		f = older;
	}
}

/* ---- Classic BPF (Documentation/networking/filter.rst), as far as seccomp_check_filter() in
 * Linux' kernel/seccomp.c lets it in ---- */

struct bpf_machine {
	uint32_t a, x, memory[BPF_MEMWORDS];
};

/* False: a division by zero, which ends the program with 0. */
static bool compute_operation(struct bpf_machine *m, uint16_t op, uint32_t operand)
{
	switch (op) {
	case BPF_ADD:
		m->a += operand;
		return true;
	case BPF_SUB:
		m->a -= operand;
		return true;
	case BPF_MUL:
		m->a *= operand;
		return true;
	case BPF_DIV:
		m->a = operand ? m->a / operand : 0;
		return operand;
	case BPF_AND:
		m->a &= operand;
		return true;
	case BPF_OR:
		m->a |= operand;
		return true;
	case BPF_XOR:
		m->a ^= operand;
		return true;
	case BPF_LSH: /* the kernel's machine uses five bits of the count */
		m->a <<= operand & 31;
		return true;
	case BPF_RSH:
		m->a >>= operand & 31;
		return true;
	case BPF_NEG:
		m->a = -m->a;
		return true;
	default:
		return false;
	}
}

static bool condition_holds(uint16_t op, uint32_t a, uint32_t operand)
{
	switch (op) {
	case BPF_JEQ:
		return a == operand;
	case BPF_JGT:
		return a > operand;
	case BPF_JGE:
		return a >= operand;
	case BPF_JSET:
		return a & operand;
	default: /* BPF_JA */
		return true;
	}
}

/* False for an instruction that no filter can have. */
static bool load_value(struct bpf_machine *m, uint16_t code, uint32_t k,
		       const struct seccomp_data *call, uint32_t *to)
{
	switch (BPF_MODE(code)) {
	case BPF_IMM:
		*to = k;
		return true;
	case BPF_LEN:
		*to = sizeof *call;
		return true;
	case BPF_MEM:
		*to = m->memory[k % BPF_MEMWORDS];
		return k < BPF_MEMWORDS;
	case BPF_ABS:
		if (BPF_CLASS(code) != BPF_LD || k % sizeof *to || k >= sizeof *call)
			return false;
		memcpy(to, (const char *)call + k, sizeof *to);
		return true;
	default:
		return false;
	}
}

/* Runs the filter, and returns its value. Invalid code gives kill, as the kernel gives for an
 * unknown action. */
static uint32_t run_filter(const struct syscall_filter *f, const struct seccomp_data *call)
{
	struct bpf_machine m = {0};

	for (size_t pc = 0; pc < f->n; pc++) {
		const struct sock_filter *i = &f->code[pc];
		uint32_t operand = BPF_SRC(i->code) == BPF_X ? m.x : i->k;
		bool ok = true;

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			ok = load_value(&m, i->code, i->k, call, &m.a);
			break;
		case BPF_LDX:
			ok = load_value(&m, i->code, i->k, call, &m.x);
			break;
		case BPF_ST:
		case BPF_STX:
			ok = i->k < BPF_MEMWORDS;
			m.memory[i->k % BPF_MEMWORDS] = BPF_CLASS(i->code) == BPF_ST ? m.a : m.x;
			break;
		case BPF_ALU:
			ok = compute_operation(&m, BPF_OP(i->code), operand);
			break;
		case BPF_JMP:
			pc += BPF_OP(i->code) == BPF_JA                        ? i->k
			      : condition_holds(BPF_OP(i->code), m.a, operand) ? i->jt
									       : i->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		case BPF_MISC:
			*(BPF_MISCOP(i->code) == BPF_TAX ? &m.x : &m.a) =
				BPF_MISCOP(i->code) == BPF_TAX ? m.a : m.x;
			break;
		}
		if (!ok)
			break;
	}
	return SECCOMP_RET_KILL_THREAD;
}

bool syscall_filter_allows(const struct syscall_filter *f, const struct seccomp_data *call)
{
	for (; f; f = f->older) {
		uint32_t action = run_filter(f, call) & SECCOMP_RET_ACTION_FULL;

		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG)
			return false;
	}
	return true;
}

/* The number of filters in the list. */
static int count_of(const struct syscall_filter *f)
{
	int n = 0;

	for (; f; f = f->older)
		n++;
	return n;
}

bool syscall_filter_may_refuse(const struct task *task)
{
	return !task->process->filter_is_ours && tracee_is_filtered(task->host_tid);
}

bool syscall_filter_passes(const struct task *task, uint64_t ip, long nr, const uint64_t args[6])
{
	struct seccomp_data call = {
		.nr = (int)nr, .arch = AUDIT_ARCH_X86_64, .instruction_pointer = ip};

	/* A filter was installed unseen (int 0x80), or there was no memory for it. */
	if (!task->filters_unseen && tracee_filters(task->host_tid) > count_of(task->filter))
		return false;
	for (int i = 0; i < 6; i++)
		call.args[i] = args[i];
	return syscall_filter_allows(task->filter, &call);
}

bool syscall_filter_answers(const struct task *task)
{
	return task->filter && !syscall_filter_passes(task, task->regs.rip, (long)task->syscall.nr,
						      task->syscall.args);
}

/* ---- Their installation ---- */

/* SECCOMP_MODE_STRICT as a filter: none of the calls that it allows is one that we inject. */
static const struct sock_filter strict[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD)};

struct installation {
	bool strict, everywhere;
	uint64_t program;
};

/* As the kernel takes the arguments: prctl's first is an int, seccomp's first two are unsigned
 * ints. */
static bool installs_filter(const struct tracee_syscall *c, uint64_t result,
			    struct installation *in)
{
	bool prctl = c->nr == SYS_prctl && (uint32_t)c->args[0] == PR_SET_SECCOMP;
	uint32_t flags = prctl ? 0 : (uint32_t)c->args[1];
	uint64_t mode;

	if (c->compat || !(prctl || c->nr == SYS_seccomp))
		return false;
	mode = prctl                                             ? c->args[1]
	       : (uint32_t)c->args[0] == SECCOMP_SET_MODE_STRICT ? SECCOMP_MODE_STRICT
	       : (uint32_t)c->args[0] == SECCOMP_SET_MODE_FILTER ? SECCOMP_MODE_FILTER
								 : SECCOMP_MODE_DISABLED;
	*in = (struct installation){mode == SECCOMP_MODE_STRICT, flags & SECCOMP_FILTER_FLAG_TSYNC,
				    c->args[2]};
	if (mode != SECCOMP_MODE_STRICT && mode != SECCOMP_MODE_FILTER)
		return false;
	/* With a listener the result is a descriptor. Else any result but 0 is a failure: with
	 * TSYNC it is the thread that could not be synchronized. */
	return flags & SECCOMP_FILTER_FLAG_NEW_LISTENER ? !call_has_failed(result) : !result;
}

/* Adds the filter whose sock_fprog is at this address, if it can be read. */
static void add_program(struct task *task, uint64_t at)
{
	struct sock_filter *code;
	struct sock_fprog program;
	size_t n, size;

	if (tracee_read(task->host_tid, at, &program, sizeof program) != sizeof program)
		return;
	n = program.len < BPF_MAXINSNS ? program.len : BPF_MAXINSNS;
	size = n * sizeof *code;
	code = malloc(size);
	if (code &&
	    tracee_read(task->host_tid, (uint64_t)(uintptr_t)program.filter, code, size) == size)
		task->filter = syscall_filter_add(task->filter, code, n);
	free(code);
}

void syscall_filter_left(struct task_table *t, struct task *task)
{
	struct installation in;

	if (!installs_filter(&task->syscall, task->regs.rax, &in))
		return;
	if (in.strict)
		task->filter = syscall_filter_add(task->filter, strict, ARRAY_SIZE(strict));
	else
		add_program(task, in.program);
	for (struct task *other = in.everywhere ? t->first : NULL; other; other = other->next)
		if (other != task && other->process == task->process) {
			syscall_filter_put(other->filter);
			other->filter = syscall_filter_share(task->filter);
		}
}
