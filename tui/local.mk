noinst_LIBRARIES += tui/libtui.a
tui_libtui_a_SOURCES = \
	tui/branch_filter.c tui/branch_filter.h \
	tui/branch_list.c tui/branch_list.h \
	tui/branch_moves.c tui/branch_moves.h \
	tui/branch_row.c tui/branch_row.h \
	tui/branch_view.c \
	tui/busy.c tui/busy.h \
	tui/entry_match.c tui/entry_match.h \
	tui/process_view.c \
	tui/search.c tui/search.h \
	tui/tree_view.c \
	tui/calls.c tui/calls.h \
	tui/disassembly_view.c \
	tui/help_view.c \
	tui/hints.def \
	tui/keymap.c tui/keymap.h tui/keys.def \
	tui/label.c tui/label.h \
	tui/layout.c tui/layout.h \
	tui/lines.c tui/lines.h \
	tui/register_view.c \
	tui/refusal.c tui/refusal.h \
	tui/report_output.c tui/report_output.h \
	tui/report_rows.c tui/report_rows.h \
	tui/row.c tui/row.h \
	tui/screen.c tui/screen.h \
	tui/source_file.c tui/source_file.h \
	tui/source_view.c \
	tui/summary_view.c \
	tui/terminal_text.c tui/terminal_text.h \
	tui/terminfo.c tui/terminfo.h \
	tui/syscall_view.c tui/thread_view.c \
	tui/thread_stack.c tui/thread_stack.h \
	tui/tui.c tui/tui.h \
	tui/view.c tui/view.h \
	tui/viewer.c tui/viewer.h
EXTRA_DIST += tui/README.md
TUI_LIBS = tui/libtui.a $(EXPORT_LIBS)
TUI_SYSTEM_LIBS = $(NCURSES_LIBS) $(DECODER_SYSTEM_LIBS)
bin_PROGRAMS += btview
btview_SOURCES = tui/btview_main.c
btview_LDADD = $(TUI_LIBS) $(TUI_SYSTEM_LIBS)
