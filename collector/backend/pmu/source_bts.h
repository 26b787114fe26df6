/* SPDX-License-Identifier: MIT */
/* The branch trace store as a source: a row of the table (branch_source.c). The interface is
 * branch_source.h. The doctor asks about its erratum, too. */
#ifndef BT_SOURCE_BTS_H
#define BT_SOURCE_BTS_H

#include "collector/backend/pmu/branch_source.h"
#include "collector/backend/pmu/perf_cpu.h"

extern const struct branch_source_ops bts_source;

/* Whether its records may have wrong addresses on this processor. */
bool bts_has_erratum(const struct perf_cpu *c);

#endif
