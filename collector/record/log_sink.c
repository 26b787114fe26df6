/* SPDX-License-Identifier: MIT */
#include "collector/record/log_sink.h"

#include "collector/tracee/tracee.h"

void log_sink_memory(const struct log_sink *sink, pid_t tid, uint64_t addr, uint64_t n)
{
	uint8_t bytes[LOG_SINK_PIECE];
	struct bt_record_log_data rec;

	for (uint64_t done = 0; done < n; done += rec.bytes.len) {
		size_t want = n - done < sizeof bytes ? n - done : sizeof bytes;

		rec = (struct bt_record_log_data){
			.addr = addr + done,
			.bytes = slice_of(bytes, tracee_read(tid, addr + done, bytes, want))};
		if (!rec.bytes.len)
			return;
		sink->put(sink->arg, BT_RECORD_LOG_DATA, &rec);
	}
}
