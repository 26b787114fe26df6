collector_libcollector_a_SOURCES += \
	collector/backend/pmu/branch_source.h \
	collector/backend/pmu/source_lbr.c collector/backend/pmu/lbr_private.h \
	collector/backend/pmu/lbr_bpf.c collector/backend/pmu/lbr_bpf.h \
	collector/backend/pmu/lbr_samples.c \
	collector/backend/pmu/lbr_stack.c collector/backend/pmu/lbr_stack.h \
	collector/backend/pmu/lbr_window.h \
	collector/backend/pmu/native.c \
	collector/backend/pmu/perf_kernel.c collector/backend/pmu/perf_ops.h \
	collector/backend/pmu/pmu.c collector/backend/pmu/pmu.h \
	collector/backend/pmu/perf_cpu.c collector/backend/pmu/perf_cpu.h \
	collector/backend/pmu/pt_code.c collector/backend/pmu/pt_code.h \
	collector/backend/pmu/ring.c collector/backend/pmu/ring.h \
	collector/backend/pmu/branch_source.c \
	collector/backend/pmu/source_bts.c collector/backend/pmu/source_bts.h \
	collector/backend/pmu/source_pt.c collector/backend/pmu/source_pt.h
EXTRA_DIST += collector/backend/pmu/README.md

# The programs for the kernel, part of lbr_bpf.o.
EXTRA_DIST += collector/backend/pmu/snapshot.bpf.c
if HAVE_BPF
CLEANFILES += collector/backend/pmu/snapshot.bpf.o
collector/backend/pmu/snapshot.bpf.o: collector/backend/pmu/snapshot.bpf.c collector/backend/pmu/lbr_window.h collector/backend/pmu/$(am__dirstamp)
	$(AM_V_GEN)$(BPF_CLANG) -target bpf -O2 -g -Wall -Wextra -I$(top_srcdir) $(BPF_CPPFLAGS) $(LIBBPF_CFLAGS) \
		-c $(srcdir)/collector/backend/pmu/snapshot.bpf.c -o $@
collector/backend/pmu/lbr_bpf.$(OBJEXT): collector/backend/pmu/snapshot.bpf.o
endif
