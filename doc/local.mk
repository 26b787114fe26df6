EXTRA_DIST += doc/ARCHITECTURE.md doc/COST.md doc/GLOSSARY.md doc/HOWTO.md doc/PROGRAMS.md doc/PROOF.md doc/QUIRKS.md doc/ROOMS.md doc/SOURCES.md \
	doc/hardware.md doc/recording.md doc/replay.md doc/trace-reading.md doc/turns.md doc/viewer.md doc/pictures \
	doc/engine/branches.md doc/engine/code-that-changes.md doc/engine/fragments.md doc/engine/history.md doc/engine/in-and-out.md \
	doc/engine/kept.md doc/engine/lookahead.md doc/engine/processor.md doc/engine/region.md doc/engine/side-by-side.md \
	doc/engine/stop-points.md doc/engine/syscalls.md
dist_doc_DATA = README.md NEWS COPYING doc/FORMAT.md doc/LIMITS.md doc/cpus.schema.json doc/doctor.schema.json doc/list.schema.json doc/replay.schema.json doc/report.schema.json
