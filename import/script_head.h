/* SPDX-License-Identifier: MIT */
/* The fields that perf script prints before the branches of a sample (perf_sample__fprintf_start
 * and process_event, tools/perf/builtin-script.c), in this order: comm "%16s ", "%s " with
 * callchains, "%8.8s " with --latency; pid and tid "%5d/%-5d ", one of them "%5d ", in later
 * versions of 7 columns; cpu "[%03d] ", "%3d " with --latency; misc, letters in 6 columns; tod, a
 * date; time "%12s: "; period "%10u "; event "%*s: "; others; ip " %16lx", or alone in the lines of
 * a callchain. A line does not name its fields, and a comm can look like any of them. A layout is a
 * set of fields that a line may have; the layout of a file is one that all its samples may have.
 * Pure. Used by brstack_text.c. */
#ifndef BT_SCRIPT_HEAD_H
#define BT_SCRIPT_HEAD_H

#include "import/importer.h"

enum {
	SCRIPT_LAYOUTS = 512, /* layouts have lower numbers */
};

struct script_head {
	struct slice comm, event;
	struct import_thread_id id;
	uint64_t time, ip;
	uint32_t cpu; /* + 1 */
	bool has_ids;
	bool has_ip; /* in the line itself; with a callchain it is in the next line */
};

/* Marks the layouts that a line may have, up to its first branch. */
void script_head_layouts(struct slice line, bool layouts[SCRIPT_LAYOUTS]);

/* Chooses the best layout of a file from the number of samples that fit each. Of layouts that fit
 * nine of ten samples, it prefers exact columns of perf over looser ones, then most fields. Returns
 * false when none fits so many. */
bool script_head_choose(const size_t counts[SCRIPT_LAYOUTS], size_t samples, unsigned *layout);

/* Whether each line of the layout shows that it begins a sample. */
bool script_head_is_strong(unsigned layout);

/* Reads a line of the layout. False when the line does not fit it. */
bool script_head_parse(struct slice line, unsigned layout, struct script_head *head);

/* The address that a line of a callchain begins with. */
bool script_chain_ip(struct slice line, uint64_t *ip);

/* Whether the line is about a guest of a virtual machine: the field machine_pid. */
bool script_head_is_guest(struct slice line);

#endif
