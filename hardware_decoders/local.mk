noinst_LIBRARIES += hardware_decoders/libhardware_decoders.a
hardware_decoders_libhardware_decoders_a_SOURCES = \
	hardware_decoders/bts_flow.c hardware_decoders/bts_flow.h \
	hardware_decoders/flow.c hardware_decoders/flow.h \
	hardware_decoders/pt_flow.c hardware_decoders/pt_flow.h
EXTRA_DIST += hardware_decoders/README.md
HARDWARE_LIBS = hardware_decoders/libhardware_decoders.a lib/libbt.a
HARDWARE_SYSTEM_LIBS = $(ZYDIS_LIBS)
