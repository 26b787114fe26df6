# SPDX-License-Identifier: MIT
# Two steps of a nightly job; the second fails, and so does the job.
set -e
./script_child first.txt
./script_child no/such/folder/second.txt
echo done
