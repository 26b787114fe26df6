/* SPDX-License-Identifier: MIT */
/* Shared by the source files of tracee.h alone: stops that are waited for at once. */
#ifndef BT_TRACEE_PRIVATE_H
#define BT_TRACEE_PRIVATE_H

#include "collector/tracee/tracee.h"

enum { KERNEL_SIGSET_SIZE = 8 };

/* Whether the thread is in no stop whose signal could be asked for: killed, or on its way to that.
 */
bool tracee_is_lost(pid_t tid);

/* QUIRK(stop-left): whether the tid is that of a program that another thread has just called. */
bool tracee_is_another_program(pid_t tid);

/* tracee_run_to_stop(), with a signal to deliver or 0. */
int tracee_resume_to_stop(pid_t tid, int request, int signo);

/* Takes the status that was left to be waited for. False: there is none. */
bool tracee_take_status(pid_t tid);

/* The selector of 64-bit code, which is our own (__USER_CS). */
uint16_t tracee_code_selector(void);

#endif
