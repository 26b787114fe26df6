/* SPDX-License-Identifier: MIT */
/* Data of the kernel for perf: the attributes of an event and the records that they shape
 * (perf_event_open(2), include/uapi/linux/perf_event.h). Pure. The bytes are not trusted. Unknown
 * bits and fields are skipped, never a reason to refuse. Used by the perf.data reader. */
#ifndef BT_PERF_EVENT_H
#define BT_PERF_EVENT_H

#include "import/importer.h"

enum perf_record_type {
	PERF_MMAP = 1,
	PERF_LOST = 2,
	PERF_COMM = 3,
	PERF_EXIT = 4,
	PERF_THROTTLE = 5,
	PERF_FORK = 7,
	PERF_SAMPLE = 9,
	PERF_MMAP2 = 10,
	PERF_AUX = 11,
	PERF_ITRACE_START = 12,
	PERF_LOST_SAMPLES = 13,
	PERF_SWITCH = 14,
	PERF_SWITCH_CPU_WIDE = 15,
	/* From here on perf itself writes them (tools/lib/perf/include/perf/event.h). */
	PERF_USER_FIRST = 64,
	PERF_HEADER_ATTR = 64,
	PERF_TRACING_DATA = 66,
	PERF_HEADER_BUILD_ID = 67,
	PERF_FINISHED_ROUND = 68,
	PERF_AUXTRACE_INFO = 70,
	PERF_AUXTRACE = 71,
	PERF_EVENT_UPDATE = 78,
	PERF_HEADER_FEATURE = 80,
	PERF_COMPRESSED = 81,
	PERF_COMPRESSED2 = 83,
};

enum perf_misc {
	PERF_MISC_CPUMODE = 7,
	PERF_MISC_KERNEL = 1,
	PERF_MISC_MMAP_DATA = 1 << 13,
	PERF_MISC_COMM_EXEC = 1 << 13,
	PERF_MISC_FORK_EXEC = 1 << 13,
	PERF_MISC_SWITCH_OUT = 1 << 13,
	PERF_MISC_SWITCH_PREEMPT = 1 << 14,
	PERF_MISC_MMAP_BUILD_ID = 1 << 14,
	PERF_MISC_BUILD_ID_SIZE = 1 << 15,
};

enum {
	PERF_FEATURE_EVENT_DESC = 12, /* the section with the events' names */
	PERF_NAME_MAX = 96,
	/* A record has at most 65535 bytes. */
	PERF_BRANCHES_MAX = 65536 / 24,
};

struct perf_attr {
	uint32_t type, size;
	uint64_t config, sample_type, read_format, flags, branch_sample_type, regs_user, regs_intr;
	char name[PERF_NAME_MAX];
};

/* Takes the attributes off the front of in, by their own size, and makes a name for the event from
 * them. False when they are malformed. */
bool perf_attr_parse(struct perf_attr *a, struct slice *in);

bool perf_attr_has_branches(const struct perf_attr *a);

/* The place of an event's id in its records, in 8-byte words: from the start in samples, from the
 * end in others. -1: they have none. */
int perf_attr_id_in_sample(const struct perf_attr *a);
int perf_attr_id_in_others(const struct perf_attr *a);

/* The fields of a sample, and of the trailer of other records. */
struct perf_fields {
	struct import_thread_id id;
	uint64_t ip, time, hw_index;
	uint32_t cpu; /* + 1 */
	bool has_branches, has_regs;
	size_t branch_count;
	struct bt_regs regs;
	struct slice stack;
	struct import_branch branches[PERF_BRANCHES_MAX];
};

/* Reads the body of a PERF_SAMPLE. False when the body is shorter than its fields. */
bool perf_sample_parse(const struct perf_attr *a, struct slice body, struct perf_fields *f);

/* Reads the trailer of another record, from its end. False when there is none. */
bool perf_trailer_parse(const struct perf_attr *a, struct slice body, struct perf_fields *f);

/* The time of a record: of a sample or in the trailer; 0 where there is none. */
uint64_t perf_record_time(const struct perf_attr *a, uint32_t type, struct slice body);

#endif
