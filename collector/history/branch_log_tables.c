/* SPDX-License-Identifier: MIT */
/* The segment tables that a log's records are read by. Most logs have one; an execve, which leaves
 * the old image's records undecoded, brings another. */
#include "collector/history/branch_log_private.h"

#include <assert.h>

static size_t index_of(const struct branch_log *log, const struct segment_table *t)
{
	size_t i = 0;

	while (i < log->table_count && log->tables[i].table != t)
		i++;
	return i;
}

void branch_log_change_table(struct branch_log *log, struct segment_table *t)
{
	size_t before = index_of(log, log->at.table), i = index_of(log, t);

	if (before < log->table_count)
		log->tables[before].last = log->next - 1;
	if (!t)
		return;
	if (i == log->table_count) {
		assert(i < TABLES_MAX);
		log->tables[log->table_count++].table = segment_table_get(t);
	}
	log->tables[i].last = UINT64_MAX;
}

void branch_log_drop_tables(struct branch_log *log)
{
	for (size_t i = 0; i < log->table_count;) {
		struct table_use *use = &log->tables[i];

		if (use->last >= log->oldest) {
			i++;
			continue;
		}
		segment_table_put(use->table);
		*use = log->tables[--log->table_count];
	}
}

bool branch_log_holds(const struct branch_log *log, const struct segment_table *t)
{
	return index_of(log, t) < log->table_count;
}

size_t branch_log_table_memory(const struct branch_log *log)
{
	size_t bytes = 0;

	for (size_t i = 0; i < log->table_count; i++)
		if (segment_table_holders(log->tables[i].table) == 1)
			bytes += segment_table_memory(log->tables[i].table);
	return bytes;
}
