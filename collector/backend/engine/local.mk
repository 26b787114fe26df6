collector_libcollector_a_SOURCES += \
	collector/backend/engine/cache_answers.c \
	collector/backend/engine/cache_entry.c \
	collector/backend/engine/cache_killed.c \
	collector/backend/engine/cache_learn.c \
	collector/backend/engine/cache_mappings.c \
	collector/backend/engine/cache_prediction.c \
	collector/backend/engine/cache_profile.c \
	collector/backend/engine/cache_sample.c \
	collector/backend/engine/cache_spin.c \
	collector/backend/engine/cache_stretch.c \
	collector/backend/engine/cache_syscalls.c \
	collector/backend/engine/cache_logged.c \
	collector/backend/engine/cache_words.c \
	collector/backend/engine/engine.c \
	collector/backend/engine/engine_private.h \
	collector/backend/engine/engine_signals.c \
	collector/backend/engine/engine_space.c \
	collector/backend/engine/near_stop.c collector/backend/engine/near_stop.h \
	collector/backend/engine/region_syscalls.c collector/backend/engine/region_syscalls.h \
	collector/backend/engine/spin.c collector/backend/engine/spin.h \
	collector/backend/engine/stretch_state.h \
	collector/backend/engine/sweep.c \
	collector/backend/engine/watch.c collector/backend/engine/watch.h
collector_libcollector_a_SOURCES += \
	collector/backend/engine/x86/operand.c collector/backend/engine/x86/operand.h \
	collector/backend/engine/x86/x86.c collector/backend/engine/x86/x86.h \
	collector/backend/engine/x86/x86_forms.h \
	collector/backend/engine/x86/x86_legacy.c \
	collector/backend/engine/x86/x86_vector.c
collector_libcollector_a_SOURCES += \
	collector/backend/engine/cache/cache_region.c collector/backend/engine/cache/cache_region.h \
	collector/backend/engine/cache/code_cache.c collector/backend/engine/cache/code_cache.h \
	collector/backend/engine/cache/descriptors.c collector/backend/engine/cache/descriptors.h \
	collector/backend/engine/cache/emit.h \
	collector/backend/engine/cache/fragment_kind.h \
	collector/backend/engine/cache/layout.h \
	collector/backend/engine/cache/memory_file.c collector/backend/engine/cache/memory_file.h \
	collector/backend/engine/cache/predictions.c collector/backend/engine/cache/predictions.h \
	collector/backend/engine/cache/logged_calls.c collector/backend/engine/cache/logged_calls.h \
	collector/backend/engine/cache/routine_answered_call.c \
	collector/backend/engine/cache/routine_failed_call.c \
	collector/backend/engine/cache/routine_logged_call.c \
	collector/backend/engine/cache/routine_map_calls.c \
	collector/backend/engine/cache/routine_syscalls.c \
	collector/backend/engine/cache/routine_own_result.c \
	collector/backend/engine/cache/routine_cpuid.c \
	collector/backend/engine/cache/routine_words.c \
	collector/backend/engine/cache/routines.c collector/backend/engine/cache/routines.h \
	collector/backend/engine/cache/routines_private.h \
	collector/backend/engine/cache/state_map.c collector/backend/engine/cache/state_map.h \
	collector/backend/engine/cache/syscall_policy.c collector/backend/engine/cache/syscall_policy.h \
	collector/backend/engine/cache/tables.c collector/backend/engine/cache/tables.h \
	collector/backend/engine/cache/window.c collector/backend/engine/cache/window.h
collector_libcollector_a_SOURCES += \
	collector/backend/engine/translate/fragment_branches.c \
	collector/backend/engine/translate/fragment_check.c \
	collector/backend/engine/translate/fragment_code.c \
	collector/backend/engine/translate/fragment_loop.c \
	collector/backend/engine/translate/fragment_read.c \
	collector/backend/engine/translate/fragment_rounds.c \
	collector/backend/engine/translate/fragment_ticks.c \
	collector/backend/engine/translate/fragment_own_result.c \
	collector/backend/engine/translate/fragment_x87.c \
	collector/backend/engine/translate/lookahead.c collector/backend/engine/translate/lookahead.h \
	collector/backend/engine/translate/translation.h \
	collector/backend/engine/translate/translator.c collector/backend/engine/translate/translator.h
collector_libcollector_a_SOURCES += \
	collector/backend/engine/written_code/robust_list.c collector/backend/engine/written_code/robust_list.h \
	collector/backend/engine/written_code/watch_syscalls.c collector/backend/engine/written_code/watch_syscalls.h \
	collector/backend/engine/written_code/watched_pages.c collector/backend/engine/written_code/watched_pages.h
collector_libcollector_a_SOURCES += \
	collector/backend/engine/persist/untrusted_file.c collector/backend/engine/persist/untrusted_file.h \
	collector/backend/engine/persist/left_caches.c collector/backend/engine/persist/left_caches.h \
	collector/backend/engine/persist/persisted_form.h \
	collector/backend/engine/persist/persisted_groups.c collector/backend/engine/persist/persisted_groups.h \
	collector/backend/engine/persist/persisted_maker.c collector/backend/engine/persist/persisted_maker.h \
	collector/backend/engine/persist/profile.c collector/backend/engine/persist/profile.h \
	collector/backend/engine/persist/profile_entries.c \
	collector/backend/engine/persist/profile_store.c \
	collector/backend/engine/persist/profile_private.h
EXTRA_DIST += collector/backend/engine/README.md collector/backend/engine/x86/README.md collector/backend/engine/cache/README.md collector/backend/engine/translate/README.md collector/backend/engine/written_code/README.md collector/backend/engine/persist/README.md
