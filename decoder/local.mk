noinst_LIBRARIES += decoder/libdecoder.a
decoder_libdecoder_a_SOURCES = \
	decoder/model/calls_made.c decoder/model/calls_made.h \
	decoder/model/disasm.c decoder/model/disasm.h \
	decoder/model/dump.c decoder/model/dump.h \
	decoder/model/history.c decoder/model/history.h \
	decoder/model/last_words.c decoder/model/last_words.h \
	decoder/model/model.c decoder/model/model.h \
	decoder/model/model_branches.c \
	decoder/model/model_failures.c \
	decoder/model/model_private.h \
	decoder/model/model_snapshots.c \
	decoder/model/model_tasks.c \
	decoder/model/signals.c decoder/model/signals.h \
	decoder/model/system.c decoder/model/system.h \
	decoder/model/system_calls.c decoder/model/system_calls.h \
	decoder/model/verdict.c decoder/model/verdict.h \
	decoder/symbols/answers.c decoder/symbols/answers.h \
	decoder/symbols/debug_type.c decoder/symbols/debug_type.h \
	decoder/symbols/debug_unit.c decoder/symbols/debug_unit.h \
	decoder/symbols/function_name.c decoder/symbols/function_name.h \
	decoder/symbols/image.c decoder/symbols/image.h \
	decoder/symbols/inlined.c decoder/symbols/inlined.h decoder/symbols/debug_name.c decoder/symbols/debug_name.h \
	decoder/symbols/intern.c decoder/symbols/intern.h \
	decoder/symbols/symbol_ranges.c decoder/symbols/symbol_ranges.h \
	decoder/symbols/kept.c decoder/symbols/kept.h \
	decoder/symbols/kept_file.c \
	decoder/symbols/kept_private.h \
	decoder/symbols/kept_sources.c \
	decoder/symbols/module_level.c decoder/symbols/module_level.h \
	decoder/symbols/plt.c decoder/symbols/plt.h \
	decoder/symbols/seen_sources.c decoder/symbols/seen_sources.h \
	decoder/symbols/source.c decoder/symbols/source.h \
	decoder/symbols/source_address.c decoder/symbols/source_address.h \
	decoder/symbols/symbols.c decoder/symbols/symbols.h \
	decoder/symbols/symbols_private.h \
	decoder/symbols/tail_jumps.c decoder/symbols/tail_jumps.h \
	decoder/symbols/text.c decoder/symbols/text.h \
	decoder/symbols/unpacked.c decoder/symbols/unpacked.h \
	decoder/symbols/unwind.c \
	decoder/symbols/elf_sections.c decoder/symbols/elf_sections.h \
	decoder/symbols/strange_elf.c decoder/symbols/strange_elf.h \
	decoder/symbols/strange_time.c decoder/symbols/strange_time.h \
	decoder/symbols/xz_size.c decoder/symbols/xz_size.h \
	decoder/symbols/trace_copies.c decoder/symbols/trace_copies.h \
	decoder/symbols/vouched.c decoder/symbols/vouched.h \
	decoder/values/frame_values.c decoder/values/frame_values.h \
	decoder/values/program_object.c decoder/values/program_object.h decoder/values/known_memory.c decoder/values/known_memory.h \
	decoder/values/object_place.c decoder/values/object_place.h \
	decoder/values/said_values.c decoder/values/said_values.h \
	decoder/values/sequence_type.c decoder/values/sequence_type.h \
	decoder/values/value_text.c decoder/values/value_text.h \
	decoder/cause/annotation.c decoder/cause/annotation.h \
	decoder/cause/callstack.c decoder/cause/callstack.h \
	decoder/cause/code_before.c decoder/cause/code_before.h \
	decoder/cause/failed_calls.c decoder/cause/failed_calls.h \
	decoder/cause/failures.c decoder/cause/failures.h \
	decoder/cause/fault.c decoder/cause/fault.h \
	decoder/cause/fault_abort.c \
	decoder/cause/fault_access.c \
	decoder/cause/fault_kind.c \
	decoder/cause/fault_child.c \
	decoder/cause/fault_hang.c \
	decoder/cause/straight_values.c decoder/cause/straight_values.h decoder/cause/fault_name.c \
	decoder/cause/fault_private.h \
	decoder/cause/fault_message.c \
	decoder/cause/fault_noexcept.c \
	decoder/cause/fault_sign.c \
	decoder/cause/fault_stack.c \
	decoder/cause/fault_untold.c \
	decoder/cause/focus.c decoder/cause/focus.h \
	decoder/cause/follower.c decoder/cause/follower.h \
	decoder/cause/fold.c decoder/cause/fold.h \
	decoder/cause/goroutine.c decoder/cause/goroutine.h \
	decoder/cause/headline.c decoder/cause/headline.h \
	decoder/cause/own_code.c decoder/cause/own_code.h \
	decoder/cause/passed_argument.c decoder/cause/passed_argument.h \
	decoder/cause/passed_on.c decoder/cause/passed_on.h \
	decoder/cause/signature.c decoder/cause/signature.h \
	decoder/cause/throws.c decoder/cause/throws.h \
	decoder/cause/wait_groups.c decoder/cause/wait_groups.h \
	decoder/cause/waits.c decoder/cause/waits.h \
	decoder/report/by_cpu.c decoder/report/by_cpu.h \
	decoder/report/json.c decoder/report/json.h \
	decoder/report/json_calls.c \
	decoder/report/json_private.h \
	decoder/report/json_system.c \
	decoder/report/json_waits.c \
	decoder/report/keep.c decoder/report/keep.h \
	decoder/report/report.c decoder/report/report.h \
	decoder/report/report_branches.c \
	decoder/report/report_calls.c \
	decoder/report/report_failures.c \
	decoder/report/report_lines.c decoder/report/report_lines.h \
	decoder/report/report_private.h \
	decoder/report/report_recording.c \
	decoder/report/report_stacks.c \
	decoder/report/report_system.c \
	decoder/report/report_throws.c \
	decoder/report/report_waits.c
EXTRA_DIST += decoder/README.md decoder/model/README.md decoder/symbols/README.md decoder/values/README.md decoder/cause/README.md decoder/report/README.md
DECODER_LIBS = decoder/libdecoder.a $(FORMAT_LIBS)
DECODER_SYSTEM_LIBS = $(JANSSON_LIBS) $(LIBDW_LIBS) $(FORMAT_SYSTEM_LIBS)
