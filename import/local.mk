noinst_LIBRARIES += import/libimport.a
import_libimport_a_SOURCES = \
	import/brstack_branch.c import/brstack_branch.h \
	import/brstack_text.c import/brstack_text.h \
	import/capture.c import/capture.h \
	import/code_file.c import/code_file.h \
	import/code_map.c import/code_map.h \
	import/core_file.c import/core_file.h import/core_private.h \
	import/core_map.c import/core_stack.c \
	import/importer.c import/importer.h import/importer_private.h \
	import/importer_branches.c import/importer_threads.c \
	import/perf_aux.c \
	import/perf_data.c import/perf_data.h \
	import/perf_event.c import/perf_event.h \
	import/perf_file.c \
	import/perf_private.h \
	import/perf_queue.c \
	import/perf_tracing.c \
	import/perf_unpack.c \
	import/script_head.c import/script_head.h \
	import/text_cursor.c import/text_cursor.h
EXTRA_DIST += import/README.md
IMPORT_LIBS = import/libimport.a hardware_decoders/libhardware_decoders.a $(FORMAT_LIBS)
