# What the commands are made of; tests/simulated has a main of its own.
noinst_LIBRARIES += commands/libcommands.a
commands_libcommands_a_SOURCES = \
	commands/cause.c commands/cause.h \
	commands/control.c commands/control.h \
	commands/ending.c commands/ending.h commands/shell_word.c commands/shell_word.h \
	commands/front.c commands/front.h \
	commands/helper.c commands/helper.h \
	commands/inherited.c commands/inherited.h \
	commands/from_names.c commands/from_names.h \
	commands/json_out.c commands/json_out.h \
	commands/log_digest.c commands/log_digest.h \
	commands/mapped_ranges.c commands/mapped_ranges.h \
	commands/missed_stop_points.c commands/missed_stop_points.h \
	commands/mode.c commands/mode.h \
	commands/proc_mount.c commands/proc_mount.h \
	commands/replay_checksum.c commands/replay_checksum.h \
	commands/replay_look.c commands/replay_look.h \
	commands/replay_window.c commands/replay_window.h \
	commands/run_options.c commands/run_options.h \
	commands/signature_groups.c commands/signature_groups.h \
	commands/trace_digest.c commands/trace_digest.h \
	commands/trace_shelf.c commands/trace_shelf.h

bin_PROGRAMS += btrec
btrec_SOURCES = \
	commands/btrec_commands.h \
	commands/btrec_doctor.c \
	commands/btrec_dump.c \
	commands/btrec_import.c \
	commands/btrec_info.c \
	commands/btrec_list.c \
	commands/btrec_pack.c \
	commands/btrec_main.c \
	commands/btrec_prune.c \
	commands/btrec_replay.c \
	commands/btrec_rm.c \
	commands/btrec_run.c \
	commands/btrec_snap.c
# Nothing of the decoder that needs libdw.
btrec_LDADD = commands/libcommands.a collector/libcollector.a import/libimport.a hardware_decoders/libhardware_decoders.a $(DECODER_LIBS) $(JANSSON_LIBS) $(DEMANGLE_LIBS) \
	$(LIBELF_STATIC_LIBS) $(ZSTD_STATIC_LIBS) $(ZLIB_STATIC_LIBS) $(ZYDIS_LIBS)
EXTRA_DIST += commands/README.md
