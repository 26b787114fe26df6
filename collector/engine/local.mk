collector_libcollector_a_SOURCES += \
	collector/engine/address_lists.c collector/engine/address_lists.h \
	collector/engine/branch_log.c collector/engine/branch_log.h collector/engine/branch_log_private.h \
	collector/engine/branch_log_read.c \
	collector/engine/branch_log_settle.c \
	collector/engine/branch_log_tables.c \
	collector/engine/branch_walk.c collector/engine/branch_walk.h \
	collector/engine/cache_syscalls.c \
	collector/engine/cache_entry.c \
	collector/engine/cache_prediction.c \
	collector/engine/cache_sample.c \
	collector/engine/cache_spin.c \
	collector/engine/cache_words.c \
	collector/engine/cache_profile.c \
	collector/engine/cache_learn.c \
	collector/engine/cache_mappings.c \
	collector/engine/cache_stretch.c \
	collector/engine/syscall_policy.c collector/engine/syscall_policy.h \
	collector/engine/fragment_check.c \
	collector/engine/fragment_code.c \
	collector/engine/fragment_kind.h \
	collector/engine/persisted_groups.c collector/engine/persisted_groups.h \
	collector/engine/fragment_read.c \
	collector/engine/fragment_rounds.c \
	collector/engine/fragment_ticks.c \
	collector/engine/fragment_loop.c \
	collector/engine/fragment_x87.c \
	collector/engine/cache_region.c collector/engine/cache_region.h \
	collector/engine/code_cache.c collector/engine/code_cache.h \
	collector/engine/descriptors.c collector/engine/descriptors.h \
	collector/engine/emit.h \
	collector/engine/engine.c collector/engine/engine_private.h \
	collector/engine/engine_space.c \
	collector/engine/routines.c collector/engine/routines.h collector/engine/routine_syscalls.c collector/engine/routines_private.h \
	collector/engine/predictions.c collector/engine/predictions.h \
	collector/engine/profile_entries.c \
	collector/engine/profile.c collector/engine/profile.h collector/engine/profile_private.h \
	collector/engine/profile_kept.c \
	collector/engine/kept_file.c collector/engine/kept_file.h \
	collector/engine/layout.h collector/engine/lookahead.c collector/engine/lookahead.h \
	collector/engine/left_caches.c collector/engine/left_caches.h \
	collector/engine/memory_file.c collector/engine/memory_file.h \
	collector/engine/page_lists.c collector/engine/page_lists.h \
	collector/engine/operand.c collector/engine/operand.h \
	collector/engine/state_map.c collector/engine/state_map.h \
	collector/engine/record_copy.c collector/engine/record_copy.h \
	collector/engine/record_repeat.c collector/engine/record_repeat.h \
	collector/engine/region_syscalls.c collector/engine/region_syscalls.h \
	collector/engine/robust_list.c collector/engine/robust_list.h \
	collector/engine/segment.c collector/engine/segment.h \
	collector/engine/spin.c collector/engine/spin.h \
	collector/engine/timer_signals.c collector/engine/timer_signals.h \
	collector/engine/sweep.c \
	collector/engine/tables.c collector/engine/tables.h \
	collector/engine/persisted_form.h collector/engine/persisted_maker.c collector/engine/persisted_maker.h \
	collector/engine/translation.h \
	collector/engine/translator.c collector/engine/translator.h \
	collector/engine/watch.c collector/engine/watch.h \
	collector/engine/watch_syscalls.c collector/engine/watch_syscalls.h \
	collector/engine/watched_pages.c collector/engine/watched_pages.h \
	collector/engine/window.c collector/engine/window.h \
	collector/engine/x86.c collector/engine/x86.h collector/engine/x86_forms.h \
	collector/engine/x86_legacy.c collector/engine/x86_vector.c
EXTRA_DIST += collector/engine/README.md
