collector_libcollector_a_SOURCES += \
	collector/engine/x86.c collector/engine/x86.h \
	tests/unit/x86_oracle.c tests/unit/x86_oracle.h
