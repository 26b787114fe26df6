#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# btview(1) has the keys of tui/keys.def.
exec bash "${BTREC_SRCDIR:?run by make check}/scripts/key_manual.bash" --check
