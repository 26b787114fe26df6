noinst_LIBRARIES += lib/libbt.a
lib_libbt_a_SOURCES = \
	lib/array_size.h lib/bisect.h lib/call_result.h lib/canonical.h lib/page.h \
	lib/abort_message.c lib/abort_message.h \
	lib/arena.c lib/arena.h \
	lib/branch.c lib/branch.def lib/branch.h lib/gap.def \
	lib/branch_graph.c lib/branch_graph.h lib/branch_graph_reader.c \
	lib/buf.c lib/buf.h \
	lib/build_id.c lib/build_id.h \
	lib/clock.c lib/clock.h \
	lib/content_hash.c lib/content_hash.h \
	lib/content_numbers.c lib/content_numbers.h \
	lib/demangle.c lib/demangle.h \
	lib/directories.c lib/directories.h \
	lib/err.def lib/error.c lib/error.h \
	lib/escape.c lib/escape.h \
	lib/event.h \
	lib/extended_state.c lib/extended_state.h \
	lib/name_pattern.c lib/name_pattern.h \
	lib/hash_table.c lib/hash_table.h \
	lib/insn.c lib/insn.h \
	lib/grow.c lib/grow.h \
	lib/large_array.c lib/large_array.h \
	lib/large_heap.c lib/large_heap.h \
	lib/late_library.c lib/late_library.h \
	lib/options.c lib/options.h \
	lib/output.c lib/output.h lib/pager.c lib/pager.h \
	lib/point.c lib/point.h \
	lib/processor.c lib/processor.h \
	lib/processor_offer.c lib/processor_offer.h \
	lib/regular_file.c lib/regular_file.h \
	lib/regs.c lib/regs.def lib/regs.h \
	lib/room_for_stack.c lib/room_for_stack.h \
	lib/say.c lib/say.h \
	lib/signals.def lib/slice.c lib/slice.h \
	lib/system_store.c lib/system_store.h \
	lib/stack_share.c lib/stack_share.h \
	lib/telling.c lib/telling.h \
	lib/syscall.h lib/logged_call.h \
	lib/trace_home.c lib/trace_home.h
EXTRA_DIST += lib/README.md
