/* SPDX-License-Identifier: MIT */
/* For programs that want to mark a moment: under `btrec run` it becomes a snapshot of the whole
 * process; otherwise nothing happens (the kernel answers EINVAL to a prctl it does not know, and
 * errno is kept). No library is needed. */
#ifndef BTREC_H
#define BTREC_H

#include <errno.h>
#include <sys/prctl.h>

/* An option number that Linux does not use: "btrc". */
#define BTREC_PRCTL 0x62747263

#ifdef __cplusplus
extern "C" {
#endif

/* Takes a snapshot named label (at most 127 bytes are kept; may be NULL). Returns 1 when recorded,
 * 0 when not. */
static inline int btrec_snapshot(const char *label)
{
	int saved = errno, recorded = prctl(BTREC_PRCTL, label, 0L, 0L, 0L) == 0;

	errno = saved;
	return recorded;
}

#ifdef __cplusplus
}
#endif

#endif
