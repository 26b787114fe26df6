EXTRA_DIST += doc/ARCHITECTURE.md doc/FORMAT.md doc/HOWTO.md doc/PROOF.md doc/QUIRKS.md
