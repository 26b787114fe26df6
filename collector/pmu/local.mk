collector_libcollector_a_SOURCES += \
	collector/pmu/branch_source.h \
	collector/pmu/lbr_bpf.c collector/pmu/lbr_bpf.h \
	collector/pmu/lbr_window.h \
	collector/pmu/native.c \
	collector/pmu/perf_kernel.c collector/pmu/perf_ops.h \
	collector/pmu/pmu.c collector/pmu/pmu.h \
	collector/pmu/source.c
EXTRA_DIST += collector/pmu/README.md
