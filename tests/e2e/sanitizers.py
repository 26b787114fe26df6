#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# A sanitizer's report fails the test in which it is made, though the process that makes it has no standard error and nobody looks at its status:
# so it is with the recorder.
from e2e import *

FAULT = """
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	volatile int most = INT_MAX;

	(void)argv;
	close(2);
	if (!fork())
		_exit((most += argc) > 0);
	wait(NULL);
	return 0;
}
"""
REPORT = "runtime error: signed integer overflow"
CASE = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from e2e import *

program = sys.argv.pop(1)

@case("a case")
def run():
    equal(execute([program]).status, 0, "status")

main()
"""


def faulty():
    """A program whose child overflows a number."""
    source = fresh("fault") + ".c"
    with open(source, "w") as file:
        file.write(FAULT)
    program = fresh("fault")
    if execute([*CC, "-O0", "-fsanitize=undefined", "-o", program, source]).status:
        raise Skip("the compiler has no UBSan")
    return program


def fails(argv):
    """The test that this is of fails, and shows the report. It would pass without."""
    env = {name: value for name, value in os.environ.items() if not name.endswith("SAN_OPTIONS")}
    ended = execute(argv, env=env)
    check(REPORT in ended.out.decode(), "no report in what it says: %s" % short(ended.out))
    equal(ended.status, 1, "status")


@case("a report fails a case that is all right but for that, and is shown")
def in_python():
    fails([sys.executable, "-c", CASE, HERE, faulty()])


@case("a report fails a test that is a shell script, and is shown")
def in_shell():
    fails(["bash", "-c", 'source "$1"; expect_status 0 "$2"; finish', "test", os.path.join(HERE, "..", "sh.bash"), faulty()])


main()
