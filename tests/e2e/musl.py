# SPDX-License-Identifier: MIT
# The tests' programs, built with musl.
import shutil

from e2e import *

COMPILER = shutil.which("musl-gcc")


def musl(source, *flags):
    if not COMPILER:
        raise Skip("musl-gcc is missing (Debian: musl-tools)")
    return build(source, *flags, "-pthread", compiler=[COMPILER])
