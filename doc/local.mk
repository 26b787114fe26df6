EXTRA_DIST += doc/ARCHITECTURE.md doc/report.schema.json doc/FORMAT.md doc/HOWTO.md doc/PROOF.md doc/QUIRKS.md doc/SOURCES.md
