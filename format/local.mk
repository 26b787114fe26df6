noinst_LIBRARIES += format/libformat.a
format_libformat_a_SOURCES = \
	format/block.c format/block.h \
	format/branch_entries.c format/branch_entries.h \
	format/history_run.c format/history_run.h \
	format/syscall_codec.c format/syscall_codec.h \
	format/syscall_details.c format/syscall_details.h \
	format/file_window.c format/file_window.h \
	format/live_maps.c format/live_maps.h \
	format/pack.c format/pack.h \
	format/record.c format/record.h format/records.def \
	format/reserve.c format/reserve.h \
	format/space_maps.c format/space_maps.h \
	format/trace_cursor.c format/trace_cursor.h \
	format/trace_events.c format/trace_events.h \
	format/trace_index.c format/trace_index.h \
	format/trace_objects.c format/trace_objects.h \
	format/trace_reader.c format/trace_reader.h \
	format/log_values.h format/log_calls.c format/log_calls.h \
	format/log_processor.c format/log_processor.h \
	format/trace_writer.c format/trace_writer.h
EXTRA_DIST += format/README.md
