#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# What stepper.py asks of the stepper - branches known by construction, repairs of what does not show - asked of the engine.
import os
import runpy

os.environ["BTREC_TEST_BACKEND"] = "engine"
runpy.run_path(os.path.join(os.path.dirname(os.path.abspath(__file__)), "stepper.py"), run_name="__main__")
