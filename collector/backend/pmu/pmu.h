/* SPDX-License-Identifier: MIT */
/* The pmu backend: programs run natively under the recorder's supervision, the processor records
 * their branches (branch_source.h). Ticks are unknown. Used by btrec run. struct pmu must outlive
 * the supervisor that uses it. */
#ifndef BT_PMU_H
#define BT_PMU_H

#include "collector/backend/pmu/branch_source.h"

/* Runs code as it is, and knows nothing of branches. */
extern const struct backend_ops native_ops;

/* Opens the source (NULL: none). Errors as branch_source_ops.open; nothing is left open then. */
int pmu_open(struct pmu *p, const struct perf_kernel *kernel,
	     const struct branch_source_ops *source, const struct backend_ops *runner,
	     struct bt_error *err) BT_MUST_USE;
void pmu_close(struct pmu *p);

/* The first source of the table that can be used here. NULL: none, err says why not of each. */
const struct branch_source_ops *pmu_choose(const struct perf_kernel *kernel, struct bt_error *err);

#endif
