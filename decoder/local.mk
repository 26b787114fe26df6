noinst_LIBRARIES += decoder/libdecoder.a
decoder_libdecoder_a_SOURCES = \
	decoder/annotation.c decoder/annotation.h \
	decoder/answers.c decoder/answers.h \
	decoder/by_cpu.c decoder/by_cpu.h \
	decoder/calls_made.c decoder/calls_made.h \
	decoder/callstack.c decoder/callstack.h \
	decoder/debug_type.c decoder/debug_type.h \
	decoder/debug_unit.c decoder/debug_unit.h \
	decoder/disasm.c decoder/disasm.h \
	decoder/dump.c decoder/dump.h \
	decoder/failures.c decoder/failures.h \
	decoder/fault.c decoder/fault_abort.c decoder/fault_access.c decoder/fault_cause.c decoder/fault_child.c decoder/fault_hang.c decoder/fault_name.c decoder/fault_sign.c decoder/fault_stack.c decoder/fault_untold.c \
	decoder/fault.h decoder/fault_private.h \
	decoder/focus.c decoder/focus.h \
	decoder/fold.c decoder/fold.h \
	decoder/headline.c decoder/headline.h \
	decoder/frame_values.c decoder/frame_values.h \
	decoder/function_name.c decoder/function_name.h \
	decoder/history.c decoder/history.h \
	decoder/image.c decoder/image.h \
	decoder/inlined.c decoder/inlined.h \
	decoder/intern.c decoder/intern.h \
	decoder/json.c decoder/json.h decoder/json_private.h decoder/json_system.c \
	decoder/keep.c decoder/keep.h \
	decoder/kept.c decoder/kept.h decoder/kept_file.c decoder/kept_private.h decoder/kept_sources.c \
	decoder/failed_calls.c decoder/failed_calls.h decoder/system_calls.c decoder/system_calls.h decoder/report_calls.c decoder/json_calls.c decoder/json_waits.c \
	decoder/known_memory.c decoder/known_memory.h \
	decoder/last_words.c decoder/last_words.h \
	decoder/model.c decoder/model.h decoder/model_private.h \
	decoder/model_branches.c decoder/model_failures.c decoder/model_snapshots.c decoder/model_tasks.c \
	decoder/module_level.c decoder/module_level.h \
	decoder/object_place.c decoder/object_place.h \
	decoder/own_code.c decoder/own_code.h \
	decoder/plt.c decoder/plt.h \
	decoder/seen_sources.c decoder/seen_sources.h \
	decoder/report.c decoder/report_branches.c decoder/report_failures.c decoder/report_lines.c decoder/report_lines.h decoder/report_stacks.c decoder/report_system.c decoder/report_waits.c \
	decoder/report.h decoder/report_private.h \
	decoder/sequence_type.c decoder/sequence_type.h \
	decoder/said_values.c decoder/said_values.h \
	decoder/signature.c decoder/signature.h \
	decoder/signals.c decoder/signals.h \
	decoder/source.c decoder/source.h \
	decoder/source_address.c decoder/source_address.h \
	decoder/symbols.c decoder/symbols.h decoder/symbols_private.h \
	decoder/system.c decoder/system.h \
	decoder/tail_jumps.c decoder/tail_jumps.h \
	decoder/text.c decoder/text.h \
	decoder/throws.c decoder/throws.h decoder/report_throws.c \
	decoder/unpacked.c decoder/unpacked.h \
	decoder/unwind.c \
	decoder/value_text.c decoder/value_text.h \
	decoder/verdict.c decoder/verdict.h \
	decoder/vouched.c decoder/vouched.h \
	decoder/wait_groups.c decoder/wait_groups.h \
	decoder/waits.c decoder/waits.h
EXTRA_DIST += decoder/README.md
DECODER_LIBS = decoder/libdecoder.a $(FORMAT_LIBS)
DECODER_SYSTEM_LIBS = $(JANSSON_LIBS) $(LIBDW_LIBS) $(FORMAT_SYSTEM_LIBS)
