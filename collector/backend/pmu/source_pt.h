/* SPDX-License-Identifier: MIT */
/* Intel PT as a source: a row of the table (branch_source.c). The interface is branch_source.h. */
#ifndef BT_SOURCE_PT_H
#define BT_SOURCE_PT_H

#include "collector/backend/pmu/branch_source.h"

extern const struct branch_source_ops pt_source;

#endif
