noinst_LIBRARIES += hardware/libhardware.a
hardware_libhardware_a_SOURCES = \
	hardware/bts_flow.c hardware/bts_flow.h \
	hardware/flow.c hardware/flow.h \
	hardware/pt_flow.c hardware/pt_flow.h
EXTRA_DIST += hardware/README.md
HARDWARE_LIBS = hardware/libhardware.a lib/libbt.a
HARDWARE_SYSTEM_LIBS = $(ZYDIS_LIBS)
