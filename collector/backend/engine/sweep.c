/* SPDX-License-Identifier: MIT */
/* For tests (test_knobs.alarm_each, kill_at): the cache's code is stepped, and SIGALRM comes at
 * each so many instructions of it: wherever a task can be stopped, the places must say what the
 * application's state is. Or SIGKILL comes behind so many: then what can be read of a dead task
 * must. */
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/backend/engine/engine_private.h"
#include "collector/backend/engine/x86/x86.h"
#include "collector/tracee/tracee.h"

enum {
	OPCODE_PUSHF = 0x9c,
	OPCODE_SYSCALL = 0x05, /* behind 0x0f */
};

/* The instruction at an offset of the code. False: it is none that this table knows. */
static bool insn_at(const struct code_cache *c, uint64_t rip, struct x86_insn *insn)
{
	uint64_t at = rip - region_address(CODE_AT);

	return at < c->code_len && !x86_decode(c->code + at, c->code_len - at, insn);
}

static enum sweep_shows insn_shows(const struct x86_insn *insn)
{
	if (insn->map == X86_MAP_1 && insn->opcode == OPCODE_PUSHF)
		return SWEEP_PUSHED;
	return insn->map == X86_MAP_0F && insn->opcode == OPCODE_SYSCALL ? SWEEP_R11
									 : SWEEP_NOTHING;
}

static bool is_swept(const struct backend *b) { return b->tests->alarm_each || b->tests->kill_at; }

int engine_run(const struct backend *b, struct task *task)
{
	struct engine_task *et = task->backend;
	const struct engine_space *es = engine_space_made(task);
	struct x86_insn insn = {0};
	struct bt_regs regs;
	bool known;

	if (!is_swept(b))
		return tracee_resume(task->host_tid, PTRACE_CONT, 0);
	if (tracee_get_regs(task->host_tid, &regs))
		return -BT_E_GONE;
	known = insn_at(es->cache, regs.rip, &insn);
	et->sweep.shows = known ? insn_shows(&insn) : SWEEP_NOTHING;
	/* Not each iteration: a test that clears its memory would do nothing else. */
	et->sweep.over = known && insn.traits & X86_REPEATED &&
			 !tracee_set_breakpoint(task->host_tid, regs.rip + insn.len);
	return tracee_resume(task->host_tid, et->sweep.over ? PTRACE_CONT : PTRACE_SINGLESTEP, 0);
}

static void hide_trap_flag(pid_t tid, enum sweep_shows what, struct bt_regs *regs)
{
	uint8_t high;

	if (what == SWEEP_PUSHED && tracee_read(tid, regs->rsp + 1, &high, 1) == 1) {
		high &= (uint8_t) ~(EFLAGS_TF >> 8);
		tracee_write(tid, regs->rsp + 1, &high, 1);
	} else if (what == SWEEP_R11) {
		regs->r11 &= ~(uint64_t)EFLAGS_TF;
		(void)!tracee_set_regs(tid, regs); /* gone: the next request finds out */
	}
}

static bool catches_alarms(pid_t tid)
{
	struct tracee_signals s;

	return !tracee_signals(tid, &s) && s.caught >> (SIGALRM - 1) & 1;
}

static bool is_step(const struct engine_task *et, const siginfo_t *info)
{
	if (info->si_signo != SIGTRAP)
		return false;
	return et->sweep.over ? info->si_code == TRAP_BRKPT || info->si_code == TRAP_HWBKPT
			      : tracee_may_have_stepped(info); /* QUIRK(step-dr6-lost) */
}

int sweep_stopped(const struct backend *b, struct task *task, const siginfo_t *info,
		  struct bt_regs *regs)
{
	struct engine_task *et = task->backend;
	bool step = is_swept(b) && is_step(et, info);

	if (et->sweep.over && tracee_set_breakpoint(task->host_tid, 0))
		return -BT_E_GONE;
	et->sweep.over = false;
	if (!step)
		return 0;
	hide_trap_flag(task->host_tid, et->sweep.shows, regs);
	et->sweep.steps++;
	if (b->tests->alarm_each && et->sweep.steps % b->tests->alarm_each == 0 &&
	    catches_alarms(task->host_tid))
		(void)!syscall(SYS_tgkill, task->process->host_pid, task->host_tid, SIGALRM);
	if (et->sweep.steps == b->tests->kill_at)
		(void)!syscall(SYS_tgkill, task->process->host_pid, task->host_tid, SIGKILL);
	return engine_run(b, task) ? -BT_E_GONE : 1;
}
