/* SPDX-License-Identifier: MIT */
/* Names and meanings of signals and their codes (signals.def), for every view. Pure. */
#ifndef BT_SIGNALS_H
#define BT_SIGNALS_H

#include <stddef.h>
#include <stdint.h>

enum { SIGNAL_NAME_MAX = 24 };

/* "SIGSEGV"; "SIGRTMIN+3"; "signal 77" for an unknown one. Returns name. */
const char *signal_name(uint32_t signo, char name[SIGNAL_NAME_MAX]);

/* The meaning of a signal that ends a program; "" for an unknown one. */
const char *signal_text(uint32_t signo);

/* "SEGV_MAPERR", "SI_KERNEL"; the number for an unknown one. Returns name. */
const char *signal_code_name(uint32_t signo, uint32_t code, char name[SIGNAL_NAME_MAX]);

/* "address not mapped"; "" for an unknown one. */
const char *signal_code_text(uint32_t signo, uint32_t code);

#endif
