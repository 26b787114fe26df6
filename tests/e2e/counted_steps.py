# SPDX-License-Identifier: MIT
# How many instructions btrec steps (PTRACE_SINGLESTEP): what the way to a stop point costs.
import os

from e2e import *


def steps_of(*argv):
    """How many instructions btrec had stepped, when it was run so."""
    told = fresh("steps")
    preload = {**os.environ, "LD_PRELOAD": build("counted_steps.c", "-shared", "-fPIC", name="libcounted_steps.so"), "STEPS_FILE": told,
               "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
    execute([BTREC, *argv], env=preload)
    return os.path.getsize(told) if os.path.exists(told) else 0


def far_in_line(path, least):
    """Of the places of a trace (engine_points.places()) those that have so many instructions between the last transfer and them."""
    found, line = [], 0
    for before, place in zip(path, path[1:]):
        line = line + 1 if before[:2] == place[:2] and before[2] < place[2] else 0
        if line >= least:
            found.append(place)
    return found
