collector_libcollector_a_SOURCES += \
	collector/pmu/branch_source.h \
	collector/pmu/lbr.c collector/pmu/lbr_private.h \
	collector/pmu/lbr_bpf.c collector/pmu/lbr_bpf.h \
	collector/pmu/lbr_samples.c \
	collector/pmu/lbr_stack.c collector/pmu/lbr_stack.h \
	collector/pmu/lbr_window.h \
	collector/pmu/native.c \
	collector/pmu/perf_kernel.c collector/pmu/perf_ops.h \
	collector/pmu/pmu.c collector/pmu/pmu.h \
	collector/pmu/perf_cpu.c collector/pmu/perf_cpu.h \
	collector/pmu/pt_code.c collector/pmu/pt_code.h \
	collector/pmu/ring.c collector/pmu/ring.h \
	collector/pmu/source.c \
	collector/pmu/source_bts.c collector/pmu/source_bts.h \
	collector/pmu/source_pt.c collector/pmu/source_pt.h
EXTRA_DIST += collector/pmu/README.md

# The programs for the kernel, part of lbr_bpf.o.
EXTRA_DIST += collector/pmu/snapshot.bpf.c
if HAVE_BPF
CLEANFILES += collector/pmu/snapshot.bpf.o
collector/pmu/snapshot.bpf.o: collector/pmu/snapshot.bpf.c collector/pmu/lbr_window.h collector/pmu/$(am__dirstamp)
	$(AM_V_GEN)$(BPF_CLANG) -target bpf -O2 -g -Wall -Wextra -I$(top_srcdir) $(BPF_CPPFLAGS) $(LIBBPF_CFLAGS) \
		-c $(srcdir)/collector/pmu/snapshot.bpf.c -o $@
collector/pmu/lbr_bpf.$(OBJEXT): collector/pmu/snapshot.bpf.o
endif
