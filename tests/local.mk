# A test ends with 0 passed, 77 skipped (its reason is its last line), 99 could not be run, anything else failed.
# It takes what it needs from the environment below, works in a directory of its own and leaves nothing behind.
TEST_EXTENSIONS = .sh .py
SH_LOG_COMPILER = timeout -k 10 900 bash
PY_LOG_COMPILER = timeout -k 10 900 python3
LOG_COMPILER = timeout -k 10 600
AM_TESTS_ENVIRONMENT = \
	BTREC_SRCDIR='$(abs_top_srcdir)' BTREC_BUILDDIR='$(abs_top_builddir)' \
	BTREC='$(abs_top_builddir)/btrec' BTVIEW='$(abs_top_builddir)/btview' \
	abs_top_builddir='$(abs_top_builddir)' abs_top_srcdir='$(abs_top_srcdir)' PYTHONDONTWRITEBYTECODE=1 \
	CC='$(CC)' CXX='$(CXX)' LC_ALL=C.UTF-8 \
	ASAN_OPTIONS="$${ASAN_OPTIONS:-abort_on_error=1:detect_leaks=1:disable_coredump=0}" \
	UBSAN_OPTIONS="$${UBSAN_OPTIONS:-print_stacktrace=1}";\
	export BTREC_SRCDIR BTREC_BUILDDIR BTREC BTVIEW abs_top_builddir abs_top_srcdir PYTHONDONTWRITEBYTECODE CC CXX LC_ALL ASAN_OPTIONS UBSAN_OPTIONS;

EXTRA_DIST += tests/README.md tests/allowed-skips tests/sh.bash tests/unit/unit.h tests/unit/rooms.bash tests/unit/program.h tests/unit/hand_log.h tests/unit/trace_fixture.h

# Unit tests: one program per module, against the real objects.
UNIT_FORMAT_LIBS = $(FORMAT_LIBS) $(CMOCKA_LIBS) $(FORMAT_SYSTEM_LIBS)
AM_CPPFLAGS += $(CMOCKA_CFLAGS)
UNIT_TESTS = \
	tests/unit/test_address \
	tests/unit/test_hash_table \
	tests/unit/test_options \
	tests/unit/test_slice \
	tests/unit/test_extended_state tests/unit/test_log_calls \
	tests/unit/test_buf \
	tests/unit/test_clock \
	tests/unit/test_content_hash \
	tests/unit/test_content_numbers \
	tests/unit/test_branch \
	tests/unit/test_branch_graph \
	tests/unit/test_point \
	tests/unit/test_insn \
	tests/unit/test_system_store \
	tests/unit/test_error \
	tests/unit/test_record \
	tests/unit/test_block \
	tests/unit/test_reserve \
	tests/unit/test_trace \
	tests/unit/test_trace_cursor \
	tests/unit/test_trace_events \
	tests/unit/test_trace_index \
	tests/unit/test_trace_writer \
	tests/unit/test_history_run \
	tests/unit/test_trace_disk
tests_unit_test_address_LDADD = $(CMOCKA_LIBS)
tests_unit_test_hash_table_LDADD = lib/libbt.a $(CMOCKA_LIBS)
tests_unit_test_hash_table_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
tests_unit_test_options_LDADD = lib/libbt.a $(CMOCKA_LIBS)
tests_unit_test_slice_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_extended_state_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_log_calls_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_buf_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_clock_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_content_hash_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_content_numbers_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_point_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_graph_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_insn_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_system_store_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_error_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_record_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_block_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_reserve_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_reserve_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fallocate,--wrap=fstatfs
tests_unit_test_trace_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_trace_cursor_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_trace_events_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_trace_index_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_trace_writer_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_history_run_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_trace_disk_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_trace_disk_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=fallocate,--wrap=fstatfs

UNIT_TESTS += tests/unit/test_model tests/unit/test_history tests/unit/test_disasm tests/unit/test_disasm_faults \
	tests/unit/test_dump tests/unit/test_no_memory tests/unit/test_system tests/unit/test_verdict tests/unit/test_calls_made tests/unit/test_system_calls tests/unit/test_syscall_text \
	tests/unit/test_syscall_ranges
UNIT_DECODER_LIBS = $(DECODER_LIBS) $(CMOCKA_LIBS) $(DECODER_SYSTEM_LIBS)
EXTRA_DIST += tests/unit/model_maker.h tests/unit/sample_library.h tests/unit/trace_maker.h tests/unit/scarce_disk.h tests/unit/scarce_memory.h tests/unit/scratch.h
tests_unit_test_model_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_history_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_disasm_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_disasm_faults_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_dump_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_system_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_verdict_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_calls_made_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_system_calls_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_syscall_text_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_syscall_ranges_LDADD = syscalls/libsyscalls.a $(CMOCKA_LIBS)
tests_unit_test_no_memory_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_no_memory_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_abort_message tests/unit/test_output tests/unit/test_regular_file tests/unit/test_escape tests/unit/test_large_array tests/unit/test_late_library tests/unit/test_fold tests/unit/test_calls tests/unit/test_keys tests/unit/test_row \
	tests/unit/test_view tests/unit/test_label tests/unit/test_terminal_text
UNIT_TUI_LIBS = $(TUI_LIBS) $(CMOCKA_LIBS) $(TUI_SYSTEM_LIBS)
tests_unit_test_escape_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_abort_message_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_output_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_regular_file_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_large_array_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_late_library_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_fold_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_calls_LDADD = $(UNIT_TUI_LIBS)
tests_unit_test_keys_LDADD = $(UNIT_TUI_LIBS)
tests_unit_test_row_LDADD = $(UNIT_TUI_LIBS)
tests_unit_test_terminal_text_LDADD = $(UNIT_TUI_LIBS)
tests_unit_test_view_LDADD = $(UNIT_TUI_LIBS)
tests_unit_test_label_LDADD = $(UNIT_TUI_LIBS)

UNIT_TESTS += tests/unit/test_last_words tests/unit/test_fault tests/unit/test_focus tests/unit/test_symbols tests/unit/test_symbol_ranges tests/unit/test_strange_elf tests/unit/test_strange_time tests/unit/test_trace_copies tests/unit/test_xz_size tests/unit/test_debug_files tests/unit/test_debug_unit tests/unit/test_callstack tests/unit/test_demangle tests/unit/test_function_name tests/unit/test_name_pattern tests/unit/test_text
tests_unit_test_symbols_LDADD = $(UNIT_DECODER_LIBS) -ldl
tests_unit_test_symbols_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=trace_index_maps
tests_unit_test_debug_files_LDADD = $(UNIT_DECODER_LIBS) -ldl
tests_unit_test_strange_elf_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_symbol_ranges_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_strange_time_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_trace_copies_LDADD = $(UNIT_DECODER_LIBS) -ldl
tests_unit_test_xz_size_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_debug_unit_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_callstack_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_demangle_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_name_pattern_LDADD = $(UNIT_FORMAT_LIBS)
tests_unit_test_function_name_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_text_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_last_words_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_fault_LDADD = $(UNIT_DECODER_LIBS)
tests_unit_test_focus_LDADD = $(UNIT_DECODER_LIBS)

UNIT_TESTS += tests/unit/test_x86 tests/unit/test_x86_cpu
tests_unit_test_x86_SOURCES = tests/unit/test_x86.c tests/unit/x86_oracle.c tests/unit/x86_oracle.h
tests_unit_test_x86_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_x86_cpu_SOURCES = tests/unit/test_x86_cpu.c tests/unit/x86_oracle.c tests/unit/x86_oracle.h
tests_unit_test_x86_cpu_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)

UNIT_TESTS += tests/unit/test_segment tests/unit/test_lookahead tests/unit/test_stop_point tests/unit/test_timer_pace tests/unit/test_destination tests/unit/test_code_pages tests/unit/test_origins tests/unit/test_watched_pages tests/unit/test_address_lists tests/unit/test_state_map tests/unit/test_page_lists tests/unit/test_log_objects tests/unit/test_mapped_copies tests/unit/test_mapped_ranges tests/unit/test_file_store tests/unit/test_present_pages tests/unit/test_memory_copy tests/unit/test_persisted_groups tests/unit/test_untrusted_file tests/unit/test_record_copy tests/unit/test_branch_log tests/unit/test_branch_log_cases tests/unit/test_branch_log_gaps tests/unit/test_branch_log_kept tests/unit/test_branch_log_long tests/unit/test_branch_log_predictions tests/unit/test_predictions tests/unit/test_safe_points tests/unit/test_spin tests/unit/test_branch_ring tests/unit/test_syscall_record tests/unit/test_fragment_loop
tests_unit_test_timer_pace_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_stop_point_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_destination_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_lookahead_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_segment_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_watched_pages_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_origins_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_code_pages_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_page_lists_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_present_pages_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_memory_copy_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_file_store_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_mapped_ranges_LDADD = commands/libcommands.a $(UNIT_FORMAT_LIBS)
tests_unit_test_mapped_copies_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_log_objects_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_address_lists_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_state_map_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_persisted_groups_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_untrusted_file_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_predictions_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_spin_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_safe_points_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_fragment_loop_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_record_copy_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_log_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_log_cases_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_log_gaps_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_log_kept_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_log_long_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_log_predictions_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_syscall_record_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_branch_ring_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)

UNIT_TESTS += tests/unit/test_host tests/unit/test_syscall_filter tests/unit/test_observer tests/unit/test_requests tests/unit/test_launch tests/unit/test_event_queue tests/unit/test_due tests/unit/test_limits tests/unit/test_map_syscalls tests/unit/test_syscall_views tests/unit/test_mapped_files tests/unit/test_function_stops
tests_unit_test_host_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_syscall_filter_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_observer_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_requests_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_syscall_views_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_map_syscalls_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_function_stops_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_mapped_files_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_limits_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_launch_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_event_queue_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_due_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)

UNIT_TESTS += tests/unit/test_lbr_stack tests/unit/test_lbr_bpf tests/unit/test_pt_code
tests_unit_test_lbr_stack_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_lbr_bpf_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)
tests_unit_test_pt_code_LDADD = collector/libcollector.a $(UNIT_FORMAT_LIBS)

UNIT_TESTS += tests/unit/test_import
tests_unit_test_import_SOURCES = tests/unit/test_import.c tests/fuzz/generate_captures.c tests/fuzz/generate_captures.h \
	tests/fuzz/generate_pt.c tests/fuzz/generate_pt.h
tests_unit_test_import_LDADD = $(IMPORT_LIBS) $(IPT_LIBS) $(CMOCKA_LIBS) $(FORMAT_SYSTEM_LIBS)
tests_unit_test_import_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

UNIT_TESTS += tests/unit/test_brstack_text
tests_unit_test_brstack_text_LDADD = $(IMPORT_LIBS) $(CMOCKA_LIBS) $(FORMAT_SYSTEM_LIBS)

UNIT_TESTS += tests/unit/test_bts_flow
tests_unit_test_bts_flow_LDADD = $(HARDWARE_LIBS) $(CMOCKA_LIBS) $(HARDWARE_SYSTEM_LIBS)

UNIT_TESTS += tests/unit/test_bisect
tests_unit_test_bisect_LDADD = $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/test_stack_share
tests_unit_test_stack_share_LDADD = lib/libbt.a $(CMOCKA_LIBS)

# (other folders' unit tests go here: UNIT_TESTS += tests/unit/test_x, and its _LDADD)

if HAVE_CMOCKA
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
else
TESTS += tests/unit/cmocka_missing.sh
check-local:
	@echo "The unit tests did not run: they need cmocka. Install the Debian package libcmocka-dev and run configure again."
endif

# Fuzz targets. replay_X runs target X over a corpus in the tests; `make fuzz-targets` (clang, with
# CFLAGS=-fsanitize=fuzzer-no-link) makes libfuzzer_X.
FUZZ_TARGETS = block record branch graph insn x86 trace model report views import export pt ring pack elf log
REPLAY = tests/fuzz/replay_main.c tests/fuzz/fuzz.h
FUZZ_LIBS = $(FORMAT_LIBS) $(FORMAT_SYSTEM_LIBS)
LIBFUZZER_FLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
check_PROGRAMS += tests/fuzz/generate_corpus tests/fuzz/replay_block tests/fuzz/replay_record tests/fuzz/replay_branch tests/fuzz/replay_graph \
	tests/fuzz/replay_insn tests/fuzz/replay_x86 tests/fuzz/replay_trace tests/fuzz/replay_model tests/fuzz/replay_report \
	tests/fuzz/replay_views tests/fuzz/replay_import tests/fuzz/replay_export tests/fuzz/replay_pt tests/fuzz/replay_ring tests/fuzz/replay_pack tests/fuzz/replay_elf tests/fuzz/replay_log
EXTRA_PROGRAMS = tests/fuzz/libfuzzer_block tests/fuzz/libfuzzer_record tests/fuzz/libfuzzer_branch tests/fuzz/libfuzzer_graph \
	tests/fuzz/libfuzzer_insn tests/fuzz/libfuzzer_x86 tests/fuzz/libfuzzer_trace tests/fuzz/libfuzzer_model \
	tests/fuzz/libfuzzer_report tests/fuzz/libfuzzer_views \
	tests/fuzz/libfuzzer_import tests/fuzz/libfuzzer_export tests/fuzz/libfuzzer_pt tests/fuzz/libfuzzer_ring tests/fuzz/libfuzzer_pack tests/fuzz/libfuzzer_elf tests/fuzz/libfuzzer_log
CLEANFILES += $(EXTRA_PROGRAMS)
tests_fuzz_generate_corpus_SOURCES = tests/fuzz/generate_corpus.c tests/fuzz/generate_captures.c tests/fuzz/generate_captures.h \
	tests/fuzz/generate_elf.c tests/fuzz/generate_elf.h tests/fuzz/generate_failures.c tests/fuzz/generate_failures.h tests/fuzz/generate_log.c tests/fuzz/generate_log.h tests/fuzz/generate_pt.c tests/fuzz/generate_pt.h \
	tests/fuzz/generate_ring.c tests/fuzz/generate_ring.h tests/fuzz/trace_bytes.h tests/fuzz/faults.def
tests_fuzz_generate_corpus_LDADD = $(FUZZ_LIBS) $(IPT_LIBS)
tests_fuzz_replay_block_SOURCES = tests/fuzz/fuzz_block.c $(REPLAY)
tests_fuzz_replay_block_LDADD = $(FUZZ_LIBS)
tests_fuzz_replay_record_SOURCES = tests/fuzz/fuzz_record.c $(REPLAY)
tests_fuzz_replay_record_LDADD = $(FUZZ_LIBS)
tests_fuzz_replay_branch_SOURCES = tests/fuzz/fuzz_branch.c $(REPLAY)
tests_fuzz_replay_branch_LDADD = $(FUZZ_LIBS)
tests_fuzz_replay_graph_SOURCES = tests/fuzz/fuzz_graph.c $(REPLAY)
tests_fuzz_replay_graph_LDADD = $(FUZZ_LIBS)
tests_fuzz_replay_insn_SOURCES = tests/fuzz/fuzz_insn.c $(REPLAY)
tests_fuzz_replay_insn_LDADD = $(FUZZ_LIBS)
tests_fuzz_replay_x86_SOURCES = tests/fuzz/fuzz_x86.c tests/unit/x86_oracle.c $(REPLAY)
tests_fuzz_replay_x86_LDADD = collector/libcollector.a $(FUZZ_LIBS)
tests_fuzz_replay_trace_SOURCES = tests/fuzz/fuzz_trace.c tests/fuzz/trace_bytes.h $(REPLAY)
tests_fuzz_replay_trace_LDADD = $(FUZZ_LIBS)
tests_fuzz_replay_model_SOURCES = tests/fuzz/fuzz_model.c tests/fuzz/trace_bytes.h $(REPLAY)
tests_fuzz_replay_model_LDADD = $(DECODER_LIBS) $(DECODER_SYSTEM_LIBS)
tests_fuzz_replay_report_SOURCES = tests/fuzz/fuzz_report.c tests/fuzz/trace_bytes.h $(REPLAY)
tests_fuzz_replay_report_LDADD = $(DECODER_LIBS) $(DECODER_SYSTEM_LIBS)
tests_fuzz_replay_views_SOURCES = tests/fuzz/fuzz_views.c tests/fuzz/trace_bytes.h $(REPLAY)
tests_fuzz_replay_views_LDADD = $(TUI_LIBS) $(TUI_SYSTEM_LIBS)
tests_fuzz_libfuzzer_block_SOURCES = tests/fuzz/fuzz_block.c
tests_fuzz_libfuzzer_block_LDADD = $(FUZZ_LIBS)
tests_fuzz_libfuzzer_block_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_record_SOURCES = tests/fuzz/fuzz_record.c
tests_fuzz_libfuzzer_record_LDADD = $(FUZZ_LIBS)
tests_fuzz_libfuzzer_record_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_branch_SOURCES = tests/fuzz/fuzz_branch.c
tests_fuzz_libfuzzer_branch_LDADD = $(FUZZ_LIBS)
tests_fuzz_libfuzzer_branch_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_graph_SOURCES = tests/fuzz/fuzz_graph.c
tests_fuzz_libfuzzer_graph_LDADD = $(FUZZ_LIBS)
tests_fuzz_libfuzzer_graph_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_insn_SOURCES = tests/fuzz/fuzz_insn.c
tests_fuzz_libfuzzer_insn_LDADD = $(FUZZ_LIBS)
tests_fuzz_libfuzzer_insn_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_x86_SOURCES = tests/fuzz/fuzz_x86.c tests/unit/x86_oracle.c
tests_fuzz_libfuzzer_x86_LDADD = collector/libcollector.a $(FUZZ_LIBS)
tests_fuzz_libfuzzer_x86_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_trace_SOURCES = tests/fuzz/fuzz_trace.c
tests_fuzz_libfuzzer_trace_LDADD = $(FUZZ_LIBS)
tests_fuzz_libfuzzer_trace_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_model_SOURCES = tests/fuzz/fuzz_model.c
tests_fuzz_libfuzzer_model_LDADD = $(DECODER_LIBS) $(DECODER_SYSTEM_LIBS)
tests_fuzz_libfuzzer_model_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_report_SOURCES = tests/fuzz/fuzz_report.c
tests_fuzz_libfuzzer_report_LDADD = $(DECODER_LIBS) $(DECODER_SYSTEM_LIBS)
tests_fuzz_libfuzzer_report_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_views_SOURCES = tests/fuzz/fuzz_views.c
tests_fuzz_libfuzzer_views_LDADD = $(TUI_LIBS) $(TUI_SYSTEM_LIBS)
tests_fuzz_libfuzzer_views_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_replay_import_SOURCES = tests/fuzz/fuzz_import.c $(REPLAY)
tests_fuzz_replay_import_LDADD = $(IMPORT_LIBS) $(FORMAT_SYSTEM_LIBS)
tests_fuzz_replay_export_SOURCES = tests/fuzz/fuzz_export.c tests/fuzz/trace_bytes.h $(REPLAY)
tests_fuzz_replay_export_LDADD = $(EXPORT_LIBS) $(DECODER_SYSTEM_LIBS)
tests_fuzz_libfuzzer_import_SOURCES = tests/fuzz/fuzz_import.c
tests_fuzz_libfuzzer_import_LDADD = $(IMPORT_LIBS) $(FORMAT_SYSTEM_LIBS)
tests_fuzz_libfuzzer_import_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_libfuzzer_export_SOURCES = tests/fuzz/fuzz_export.c
tests_fuzz_libfuzzer_export_LDADD = $(EXPORT_LIBS) $(DECODER_SYSTEM_LIBS)
tests_fuzz_libfuzzer_export_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_replay_pt_SOURCES = tests/fuzz/fuzz_pt.c $(REPLAY)
tests_fuzz_replay_pt_LDADD = $(HARDWARE_LIBS) $(HARDWARE_SYSTEM_LIBS)
tests_fuzz_libfuzzer_pt_SOURCES = tests/fuzz/fuzz_pt.c
tests_fuzz_libfuzzer_pt_LDADD = $(HARDWARE_LIBS) $(HARDWARE_SYSTEM_LIBS)
tests_fuzz_libfuzzer_pt_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_replay_pack_SOURCES = tests/fuzz/fuzz_pack.c $(REPLAY)
tests_fuzz_replay_pack_LDADD = $(FUZZ_LIBS)
tests_fuzz_libfuzzer_pack_SOURCES = tests/fuzz/fuzz_pack.c
tests_fuzz_libfuzzer_pack_LDADD = $(FUZZ_LIBS)
tests_fuzz_libfuzzer_pack_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_replay_ring_SOURCES = tests/fuzz/fuzz_ring.c $(REPLAY)
tests_fuzz_replay_ring_LDADD = collector/libcollector.a hardware_decoders/libhardware_decoders.a $(FUZZ_LIBS)
tests_fuzz_libfuzzer_ring_SOURCES = tests/fuzz/fuzz_ring.c
tests_fuzz_libfuzzer_ring_LDADD = collector/libcollector.a hardware_decoders/libhardware_decoders.a $(FUZZ_LIBS)
tests_fuzz_libfuzzer_ring_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_replay_elf_SOURCES = tests/fuzz/fuzz_elf.c tests/fuzz/trace_bytes.h $(REPLAY)
tests_fuzz_replay_elf_LDADD = $(DECODER_LIBS) $(DECODER_SYSTEM_LIBS)
tests_fuzz_libfuzzer_elf_SOURCES = tests/fuzz/fuzz_elf.c
tests_fuzz_libfuzzer_elf_LDADD = $(DECODER_LIBS) $(DECODER_SYSTEM_LIBS)
tests_fuzz_libfuzzer_elf_LDFLAGS = $(LIBFUZZER_FLAGS)
tests_fuzz_replay_log_SOURCES = tests/fuzz/fuzz_log.c tests/fuzz/trace_bytes.h $(REPLAY)
tests_fuzz_replay_log_LDADD = collector/libcollector.a $(FUZZ_LIBS)
tests_fuzz_libfuzzer_log_SOURCES = tests/fuzz/fuzz_log.c
tests_fuzz_libfuzzer_log_LDADD = collector/libcollector.a $(FUZZ_LIBS)
tests_fuzz_libfuzzer_log_LDFLAGS = $(LIBFUZZER_FLAGS)
fuzz-targets: $(EXTRA_PROGRAMS) tests/fuzz/generate_corpus
.PHONY: fuzz-targets

check_PROGRAMS += tests/unit/format_example
tests_unit_format_example_LDADD = $(FORMAT_LIBS) $(FORMAT_SYSTEM_LIBS)

# Tests that are scripts. SOURCE_TESTS look at the sources alone: one build of several runs them.
SOURCE_TESTS = \
	tests/unit/include_arrows.sh \
	tests/unit/folder_readmes.sh tests/unit/documents.sh \
	tests/unit/quirks_listed.sh \
	tests/unit/check_counts.sh \
	tests/e2e/configure_packages.sh
SHELL_TESTS = $(SOURCE_TESTS) \
	tests/unit/format_example.sh \
	tests/fuzz/replay.sh \
	tests/unit/room_links.sh \
	tests/unit/key_manual.sh \
	tests/e2e/options_documented.sh \
	tests/e2e/example.sh \
	tests/e2e/waits.sh
TESTS += $(SHELL_TESTS)
EXTRA_DIST += $(SHELL_TESTS) tests/unit/cmocka_missing.sh
EXTRA_DIST += tests/fuzz/corpus_elf.sh tests/fuzz/elf_sample.c tests/fuzz/elf_sample.cc tests/fuzz/elf_sample.f90
EXTRA_DIST += scripts/README.md scripts/debian_package.bash scripts/packages.bash scripts/stages.bash scripts/format.bash scripts/key_manual.bash scripts/pictures.py .clang-format .git-blame-ignore-revs scripts/cppcheck-suppressions examples/stale.c examples/ci.sh examples/ci.yml \
	debian/README.md debian/changelog debian/control debian/copyright debian/rules debian/source/format

# What was installed is tried from where it is (also by distcheck).
EXTRA_DIST += tests/e2e/installed.sh
installcheck-local:
	$(AM_TESTS_ENVIRONMENT) bash '$(abs_top_srcdir)/tests/e2e/installed.sh' '$(DESTDIR)$(bindir)' '$(DESTDIR)$(mandir)' \
		'$(DESTDIR)$(completiondir)' '$(DESTDIR)$(includedir)' '$(DESTDIR)$(docdir)'

# btview in a terminal.
check_PROGRAMS += tests/e2e/make_trace
tests_e2e_make_trace_LDADD = $(FORMAT_LIBS) $(FORMAT_SYSTEM_LIBS)
TESTS += tests/e2e/btview_tmux.sh
EXTRA_DIST += tests/e2e/btview_tmux.sh tests/e2e/screen_sample.S tests/e2e/screens

# End to end: programs are recorded for real. The sample programs are compiled by the tests, without the build's sanitizers.
check_PROGRAMS += tests/tools/branches tests/tools/check_history tests/tools/pt_stream tests/tools/change_log
tests_tools_change_log_LDADD = $(FORMAT_LIBS) $(FORMAT_SYSTEM_LIBS)
tests_tools_pt_stream_SOURCES = tests/tools/pt_stream.c tests/simulated/pt_writer.c tests/simulated/pt_writer.h
tests_tools_pt_stream_LDADD = hardware_decoders/libhardware_decoders.a $(DECODER_LIBS) $(IPT_LIBS) $(DECODER_SYSTEM_LIBS)
tests_tools_check_history_LDADD = $(DECODER_LIBS) $(DECODER_SYSTEM_LIBS)
tests_tools_branches_LDADD = $(DECODER_LIBS) $(DECODER_SYSTEM_LIBS)
check_PROGRAMS += tests/tools/audit_syscalls tests/tools/move_outputs tests/tools/known_requests
tests_tools_known_requests_LDADD = syscalls/libsyscalls.a lib/libbt.a
tests_tools_move_outputs_LDADD = syscalls/libsyscalls.a lib/libbt.a
tests_tools_audit_syscalls_LDADD = syscalls/libsyscalls.a lib/libbt.a
# The doctor on machines that are not here.
check_PROGRAMS += tests/tools/simulated_doctor
SIMULATED_KERNEL = tests/simulated/bts.c tests/simulated/pt.c tests/simulated/pt_writer.c tests/simulated/pt_writer.h tests/simulated/counter.c \
	tests/simulated/doctor.c tests/simulated/kernel.c tests/simulated/lbr.c tests/simulated/options.c tests/simulated/options.def \
	tests/simulated/simulated.h
tests_tools_simulated_doctor_SOURCES = tests/tools/simulated_doctor.c $(SIMULATED_KERNEL)
tests_tools_simulated_doctor_LDADD = collector/libcollector.a hardware_decoders/libhardware_decoders.a $(DECODER_LIBS) $(IPT_LIBS) $(DECODER_SYSTEM_LIBS)
TESTS += tests/e2e/history_leads.sh
EXTRA_DIST += tests/e2e/history_leads.sh
# The longest first, the shortest last: all processors are busy to the end.
PYTHON_TESTS = \
	tests/e2e/values.py \
	tests/e2e/crashes.py \
	tests/e2e/pmu_trace.py \
	tests/e2e/first_signs.py \
	tests/e2e/behaviour.py \
	tests/e2e/kills.py \
	tests/e2e/engine_calls.py \
	tests/e2e/engine_stops.py \
	tests/e2e/programs.py \
	tests/e2e/pt_decode.py \
	tests/e2e/engine_written.py \
	tests/e2e/moments.py \
	tests/e2e/profiles.py \
	tests/e2e/signals.py \
	tests/e2e/engine_signals.py \
	tests/e2e/viewer.py \
	tests/e2e/stepper.py \
	tests/e2e/engine_branches.py \
	tests/e2e/engine_alarms.py \
	tests/e2e/gdb_step.py \
	tests/e2e/gallery.py \
	tests/e2e/own_code.py \
	tests/e2e/names.py \
	tests/e2e/daily.py \
	tests/e2e/signatures.py \
	tests/e2e/first_message.py \
	tests/e2e/hangs.py \
	tests/e2e/report.py \
	tests/e2e/replay.py \
	tests/e2e/replay_stranger.py \
	tests/e2e/replay_alarms.py \
	tests/e2e/replay_restarts.py \
	tests/e2e/replay_signals.py \
	tests/e2e/replay_places.py \
	tests/e2e/replay_programs.py \
	tests/e2e/replay_backends.py \
	tests/e2e/trees.py \
	tests/e2e/failures.py \
	tests/e2e/affinity.py \
	tests/e2e/limits.py \
	tests/e2e/memory.py \
	tests/e2e/engine.py \
	tests/e2e/engine_history.py \
	tests/e2e/engine_programs.py \
	tests/e2e/engine_filters.py \
	tests/e2e/engine_forks.py \
	tests/e2e/again.py \
	tests/e2e/engine_region.py \
	tests/e2e/engine_fresh.py \
	tests/e2e/features.py \
	tests/e2e/engine_musl.py \
	tests/e2e/engine_random.py \
	tests/e2e/engine_spins.py \
	tests/e2e/engine_threads.py \
	tests/e2e/begin.py \
	tests/e2e/history.py \
	tests/e2e/doctor.py \
	tests/e2e/pmu.py \
	tests/e2e/last_words.py \
	tests/e2e/failed_calls.py \
	tests/e2e/telling.py \
	tests/e2e/terminal_report.py \
	tests/e2e/out_of_sight.py \
	tests/e2e/stacks.py \
	tests/e2e/symbols.py \
	tests/e2e/parallel.py \
	tests/e2e/import_fixtures.py \
	tests/e2e/import_aux.py \
	tests/e2e/surroundings.py \
	tests/e2e/import_core.py \
	tests/e2e/import_made.py \
	tests/e2e/terminal.py \
	tests/e2e/export_core.py \
	tests/e2e/by_cpu.py \
	tests/e2e/syscall_audit.py \
	tests/e2e/request_rows.py \
	tests/e2e/export_calls.py \
	tests/e2e/older_traces.py \
	tests/e2e/sanitizers.py
TESTS += $(PYTHON_TESTS)
EXTRA_DIST += tests/e2e/older tests/e2e/doctor tests/e2e/recorded_branches.py tests/hardware/README.md tests/hardware/prove.py
EXTRA_DIST += $(PYTHON_TESTS) tests/e2e/e2e.py tests/e2e/replays.py tests/e2e/terminals.py tests/e2e/real_programs.py tests/e2e/gdb_trace.py tests/e2e/musl.py tests/e2e/perf_made.py tests/e2e/first_screen.py tests/e2e/debian_bugs.py \
	tests/programs tests/gallery

# btrec run over a simulated kernel and processor.
check_PROGRAMS += tests/simulated/btrec_simulated
tests_simulated_btrec_simulated_SOURCES = tests/simulated/main.c tests/simulated/runner.c $(SIMULATED_KERNEL) \
	commands/btrec_run.c commands/btrec_commands.h
tests_simulated_btrec_simulated_LDADD = commands/libcommands.a collector/libcollector.a decoder/libdecoder.a hardware_decoders/libhardware_decoders.a $(FORMAT_LIBS) $(IPT_LIBS) $(FORMAT_SYSTEM_LIBS)

# The engine against the stepper, generated programs, programs that check themselves.
EXTRA_DIST += tests/e2e/counted_steps.py tests/e2e/engine_alarms.py tests/e2e/engine_compare.py tests/e2e/engine_events.py tests/e2e/engine_generate.py tests/e2e/engine_points.py tests/e2e/engine_seeds.py
