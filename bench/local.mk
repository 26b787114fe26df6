# Not built by make or make check: `make bench`, with ROUNDS=N.
EXTRA_DIST += bench/README.md bench/bench.bash bench/export.bash bench/replicate.py bench/work.c
CLEANFILES += bench/work
bench: all
	@$(MKDIR_P) bench
	$(CC) -g -O2 -static -o bench/work $(srcdir)/bench/work.c
	bash $(srcdir)/bench/bench.bash . $(ROUNDS)
	bash $(srcdir)/bench/export.bash . $(ROUNDS)
.PHONY: bench
