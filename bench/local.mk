# Not built by make or make check: `make bench`, with ROUNDS=N.
EXTRA_DIST += bench/README.md bench/bench.bash bench/export.bash bench/replicate.py bench/work.c \
	bench/programs.py bench/measuring.py bench/ratios.py bench/replay.py bench/threads.c bench/counter.c bench/herd.c bench/reading.py bench/many_mappings.c bench/viewer.py
CLEANFILES += bench/work
bench: all
	@$(MKDIR_P) bench
	$(CC) -g -O2 -static -o bench/work $(srcdir)/bench/work.c
	bash $(srcdir)/bench/bench.bash . $(ROUNDS)
	bash $(srcdir)/bench/export.bash . $(ROUNDS)
	python3 $(srcdir)/bench/ratios.py . $(ROUNDS)
	python3 $(srcdir)/bench/reading.py . $(ROUNDS)
	python3 $(srcdir)/bench/viewer.py . $(ROUNDS)
# What real programs (tests/e2e/real_programs.py) do under btrec, a table for doc/.
bench-programs: all
	python3 $(srcdir)/bench/programs.py .
.PHONY: bench bench-programs
