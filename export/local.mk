noinst_LIBRARIES += export/libexport.a
export_libexport_a_SOURCES = \
	export/export.c export/export.h export/export_private.h \
	export/calls.c export/calls_private.h export/folded.c export/perfetto.c \
	export/core.c export/core_memory.c export/core_notes.c export/core_private.h export/linker_list.c export/linker_list.h \
	export/perf_script.c \
	export/runs.c
EXTRA_DIST += export/README.md
EXPORT_LIBS = export/libexport.a $(DECODER_LIBS)
