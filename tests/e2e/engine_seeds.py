# SPDX-License-Identifier: MIT
# Generated programs for the tests: made by seed, kept for a person when they fail (BTREC_KEEP names a directory).
import subprocess

from e2e import *
import engine_generate


def made(seed):
    path = fresh("seed-%d" % seed)
    try:
        engine_generate.generate(seed, path, CC)
    except subprocess.CalledProcessError as error:
        raise Failure("seed %d does not assemble: %s" % (seed, error))
    return path


def kept(seed, path):
    """Where a program that failed is left for a person, if they asked for it."""
    if os.environ.get("BTREC_KEEP"):
        shutil.copy(path, os.path.join(os.environ["BTREC_KEEP"], "seed-%d" % seed))
        shutil.copy(path + ".S", os.path.join(os.environ["BTREC_KEEP"], "seed-%d.S" % seed))
