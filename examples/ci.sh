#!/bin/sh
# SPDX-License-Identifier: MIT
# ci.sh COMMAND [ARGUMENT]...: for a job of CI, runs the tests recorded. Of tests that pass nothing is left. Of a failure it prints
# what the first screen says and an annotation of the source line (GitHub Actions shows it beside the code), and leaves the trace in
# btrec-trace/, for the job to keep. Ends as the tests end.
[ $# -gt 0 ] || { echo "usage: ci.sh COMMAND [ARGUMENT]..." >&2; exit 2; }
trace=${BTREC_CI_TRACE:-btrec-trace}
rm -rf "$trace"
btrec run -q --only-crashes -o "$trace" -- "$@"
status=$?
if [ -d "$trace" ]; then
	btview --summary "$trace"
	btview --format github "$trace"
fi
exit $status
