noinst_LIBRARIES += format/libformat.a
format_libformat_a_SOURCES = \
	format/block.c format/block.h \
	format/syscall.c format/syscall.h \
	format/record.c format/record.h format/records.def \
	format/reserve.c format/reserve.h \
	format/trace_reader.c format/trace_reader.h \
	format/trace_writer.c format/trace_writer.h
EXTRA_DIST += format/README.md
