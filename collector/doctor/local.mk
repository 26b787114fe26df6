collector_libcollector_a_SOURCES += \
	collector/doctor/doctor.c collector/doctor/doctor.h collector/doctor/doctor_private.h collector/doctor/rows.def \
	collector/doctor/doctor_events.c \
	collector/doctor/doctor_json.c \
	collector/doctor/doctor_text.c \
	collector/doctor/machine.c collector/doctor/machine.h \
	collector/doctor/machine_attempts.c \
	collector/doctor/probes_around.c \
	collector/doctor/probes_permit.c \
	collector/doctor/probes_processor.c \
	collector/doctor/probes_record.c
EXTRA_DIST += collector/doctor/README.md
