collector_libcollector_a_SOURCES += \
	collector/engine/x86.c collector/engine/x86.h collector/engine/x86_forms.h \
	collector/engine/x86_legacy.c collector/engine/x86_vector.c
