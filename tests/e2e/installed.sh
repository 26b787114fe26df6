#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# installed.sh BINDIR MANDIR COMPLETIONDIR INCLUDEDIR DOCDIR: what `make install` put there works from there (make installcheck).
source "${BTREC_SRCDIR:?run by make installcheck}/tests/sh.bash" || exit 99
[ $# -eq 5 ] || { echo "usage: installed.sh BINDIR MANDIR COMPLETIONDIR INCLUDEDIR DOCDIR"; exit 99; }
bin=$1 man=$2 completion=$3 include=$4 doc=$5
export PATH=$bin:$PATH
cd "$work" || exit 99

expect "btrec is the installed one" [ "$(command -v btrec)" = "$bin/btrec" ]
expect_status 0 btrec --version
expect_status 0 btview --version
for page in btrec btview; do
	expect "man finds $page" [ "$(MANPATH=$man man -w "$page" 2>"$work/err")" = "$man/man1/$page.1" ]
done

# bash-completion looks for a file of the command's name.
for command in btrec btview; do
	expect "completion of $command" bash -c 'source "$1/$2" && complete -p "$2"' bash "$completion" "$command"
done

cat >crash.c <<'END'
#include <btrec.h>
#include <stdio.h>
int main(void)
{
	int recorded = btrec_snapshot("before");

	printf("recorded %d\n", recorded);
	fflush(stdout);
	*(volatile int *)8 = 1;
}
END
expect "btrec.h compiles" $CC -g -O0 -static -I"$include" -o crash crash.c
ulimit -c 0
{ btrec run -o trace --from main ./crash >"$work/out" 2>"$work/err"; } 2>"$work/killed"
expect_text "$work/out" '^recorded 1$'
btview --stdio trace >report 2>"$work/err"
expect_text report 'write to 0x8'
expect_text report 'main\+0x[0-9a-f]+ .*crash.c:9'
expect_text report 'request'
for file in README.md FORMAT.md report.schema.json cpus.schema.json doctor.schema.json list.schema.json; do
	expect "$file is installed" [ -s "$doc/$file" ]
done
finish
