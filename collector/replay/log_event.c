/* SPDX-License-Identifier: MIT */
#include "collector/replay/log_event.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "collector/tracee/tracee.h"
#include "lib/event.h"
#include "lib/insn.h"
#include "syscalls/syscall_names.h"

const char *log_event_name(const struct bt_record *rec, bool compat, char out[LOG_EVENT_NAME])
{
	char name[SYSCALL_NAME_MAX];

	switch (rec->kind) {
	case BT_RECORD_LOG_CALL:
		if (compat)
			snprintf(out, LOG_EVENT_NAME, "the %s",
				 syscall_name_32(rec->u.log_call.regs.orig_rax, name));
		else
			snprintf(out, LOG_EVENT_NAME, "the system call %s",
				 syscall_name(rec->u.log_call.regs.orig_rax, name));
		break;
	case BT_RECORD_LOG_SIGNAL:
		snprintf(out, LOG_EVENT_NAME, "signal %u", rec->u.log_signal.signo);
		break;
	case BT_RECORD_LOG_HANDLER:
		snprintf(out, LOG_EVENT_NAME, "a signal handler");
		break;
	case BT_RECORD_LOG_INSTRUCTION:
		snprintf(out, LOG_EVENT_NAME, "an instruction with a result of its own");
		break;
	default:
		snprintf(out, LOG_EVENT_NAME, "the end of the task");
	}
	return out;
}

uint64_t log_event_seq(const struct bt_record *rec)
{
	return rec->kind == BT_RECORD_LOG_CALL      ? rec->u.log_call.seq
	       : rec->kind == BT_RECORD_LOG_SIGNAL  ? rec->u.log_signal.seq
	       : rec->kind == BT_RECORD_LOG_HANDLER ? rec->u.log_handler.seq
	       : rec->kind == BT_RECORD_LOG_EXIT    ? rec->u.log_exit.seq
						    : 0;
}

const struct bt_point *log_event_point(const struct bt_record *rec)
{
	switch (rec->kind) {
	case BT_RECORD_LOG_CALL:
		return &rec->u.log_call.point;
	case BT_RECORD_LOG_SIGNAL:
		return &rec->u.log_signal.point;
	case BT_RECORD_LOG_HANDLER:
		return &rec->u.log_handler.point;
	case BT_RECORD_LOG_EXIT:
		return &rec->u.log_exit.point;
	case BT_RECORD_LOG_INSTRUCTION:
		return &rec->u.log_instruction.point;
	default:
		return &rec->u.log.point;
	}
}

const struct bt_regs *log_event_regs(const struct bt_record *rec)
{
	return rec->kind == BT_RECORD_LOG_CALL     ? &rec->u.log_call.regs
	       : rec->kind == BT_RECORD_LOG_SIGNAL ? &rec->u.log_signal.regs
						   : NULL;
}

bool log_event_is_nothing(const struct bt_record *rec)
{
	return rec->kind == BT_RECORD_LOG_SIGNAL &&
	       (rec->u.log_signal.action == BT_ACTION_IGNORE ||
		rec->u.log_signal.action == BT_ACTION_STOP ||
		rec->u.log_signal.action == BT_ACTION_CONTINUE);
}

static siginfo_t info_of(const struct bt_record_log_signal *s)
{
	siginfo_t info = {0};

	memcpy(&info, s->info.at, s->info.len < sizeof info ? s->info.len : sizeof info);
	return info;
}

bool log_event_is_given(const struct bt_record *rec)
{
	const struct bt_record_log_signal *s = &rec->u.log_signal;

	return !s->sync || info_of(s).si_code <= 0 || s->signo == SIGBUS || s->signo == SIGSYS ||
	       tracee_is_in_vsyscall(&s->regs);
}

uint64_t log_event_dispatched_from(const struct bt_record *rec)
{
	enum { SYSCALL_LENGTH = 2 }; /* of syscall and of int 0x80 */
	const struct bt_record_log_signal *s = &rec->u.log_signal;
	siginfo_t info;

	if (rec->kind != BT_RECORD_LOG_SIGNAL)
		return 0;
	info = info_of(s);
	if (!tracee_may_be_dispatched(&info) || s->from == s->point.rip)
		return 0;
	return s->point.rip - s->from <= BT_INSN_MAX ? s->from : s->point.rip - SYSCALL_LENGTH;
}

bool log_point_is_next(const struct bt_point *at, const struct bt_point *behind)
{
	return at->tick == behind->tick && at->transfers == behind->transfers &&
	       behind->rip - at->rip - 1 < BT_INSN_MAX;
}

bool log_event_needs_stop(const struct bt_record *rec)
{
	return rec->kind == BT_RECORD_LOG_SIGNAL
		       ? log_event_is_given(rec)
		       : rec->kind == BT_RECORD_LOG_EXIT && rec->u.log_exit.kind == BT_EXIT_SIGNAL;
}
