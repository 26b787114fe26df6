#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Real programs are recorded with --replayable, each from a copy that is deleted with the directory in which it ran, and replayed: the same output
# and status. A few are run by `make check`, all by `./check --full` (BTREC_REPLAY_ALL=1), where one of those promised that is not there is a failure.
import glob
import pty
import select
import shlex
import termios

import real_programs
from replays import *

PATIENCE = 900 # seconds that one run may take
MAKES_ANOTHER = None # instead of a status: the log ends where the program makes another process or thread
ALL = bool(os.environ.get("BTREC_REPLAY_ALL"))


def first(pattern):
    return sorted(glob.glob(pattern))[0] if glob.glob(pattern) else pattern


CC1 = first("/usr/lib/gcc/x86_64-linux-gnu/*/cc1")
LINKER = "-dynamic-linker /lib64/ld-linux-x86-64.so.2 -o linked %s a.o -lc %s" % (
    " ".join(first("/usr/lib/x86_64-linux-gnu/" + name) for name in ("crt1.o", "crti.o")), first("/usr/lib/x86_64-linux-gnu/crtn.o"))
C_SOURCE = r"""cat > a.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static int by_value(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(int argc, char **argv) {
	int v[1000]; char line[200]; FILE *f = fopen(argc > 1 ? argv[1] : "input.txt", "r"); long sum = 0;
	for (int i = 0; i < 1000; i++) v[i] = i * 7919 % 1000;
	qsort(v, 1000, sizeof *v, by_value);
	while (f && fgets(line, sizeof line, f)) sum = sum * 31 + (long)strlen(line);
	printf("%s %d %d %ld %ld\n", argv[0], fib(15), v[500], sum, (long)time(NULL));
	return 3;
}
END
"""
PYTHON_SCRIPT = r"""cat > script.py <<'END'
import collections, decimal, hashlib, json, os, random, re, sys, time
t = open("input.txt").read()
print(collections.Counter(re.findall(r"\w+", t)).most_common(20))
print(json.dumps(sorted(set(t.split()))[:20]), decimal.Decimal(2).sqrt(), hashlib.sha256(t.encode()).hexdigest())
print(time.time(), random.random(), os.getpid(), os.listdir("."), file=sys.stderr)
with open("made", "w") as file:
    file.write(t.upper())
print(len(open("made").read()))
END
"""
# Without their cases that start a process or a thread.
PYTHON_TESTS = {
    "test_json": "test_json.test_decode test_json.test_default test_json.test_dump test_json.test_encode_basestring_ascii test_json.test_enum test_json.test_fail test_json.test_float "
                 "test_json.test_indent test_json.test_pass1 test_json.test_pass2 test_json.test_pass3 test_json.test_recursion test_json.test_scanstring test_json.test_separators "
                 "test_json.test_speedups test_json.test_unicode",
    "test_re": "test_re", "test_dict": "test_dict", "test_zlib": "test_zlib",
}
SILENT = {"true", "test", "sleep", "touch", "truncate", "who", "tsort"}

# Each has the text as its standard input, too. Name, what has to be there, what is made beforehand (shell), the command; its program is copied into the
# directory first. {} in it is the directory.
REQUIRED = [
    ("bash: loops, arrays, builtins", "bash", "", ["bash", "-c", "for ((i=0;i<3000;i++)); do a[i%7]=$((i*i)); done; echo ${a[@]}; [[ abcd =~ b(.)d ]]; echo ${BASH_REMATCH[1]}; declare -A m; "
     "while read -r x y z; do m[$x]+=${#y}; ((n++ > 300)) && break; done < input.txt; for k in ${!m[@]}; do printf '%s=%q ' $k ${m[$k]}; done; mapfile -n 20 l < input.txt; "
     "echo ${#l[@]} ${l[3]^^} $RANDOM $SECONDS $EPOCHREALTIME; printf '%(%F)T\\n'; trap 'echo usr1' USR1; kill -USR1 $$; cd /; pwd; type cd; echo {a..e}{1..3} *"], 0),
    *[("coreutils: " + command.split()[0], command.split()[0], "", shlex.split(command), 0) for command in COREUTILS],
    ("gzip", "gzip", "", "gzip -9nc input.txt", 0), ("gzip -d", "gzip", "gzip -9n input.txt", "gzip -dc input.txt.gz", 0),
    ("bzip2", "bzip2", "", "bzip2 -c input.txt", 0), ("bzip2 -d", "bzip2", "bzip2 input.txt", "bzip2 -dc input.txt.bz2", 0),
    ("xz", "xz", "", "xz -T1 -c input.txt", 0), ("xz -d", "xz", "xz -T1 input.txt", "xz -T1 -dc input.txt.xz", 0),
    ("zstd", "zstd", "", "zstd --single-thread --no-asyncio -q -c input.txt", 0), ("zstd -d", "zstd", "zstd -q input.txt", "zstd --single-thread --no-asyncio -q -d -c input.txt.zst", 0),
    ("tar", "tar", "mkdir d; cp -r /usr/include/linux/netfilter d", "tar cvf - d", 0), ("tar: extract", "tar", "mkdir d; cp -r /usr/include/linux/netfilter d; tar cf t d", "tar xvf t -C .", 0),
    ("sed", "sed", "", ["sed", "-E", "s/([a-z]+) ([a-z]+)/\\2 \\1/g", "input.txt"], 0), ("sed -i", "sed", "", ["sed", "-n", "-i.old", "-e", "s/a/b/w /dev/stdout", "input.txt"], 0),
    ("awk", "awk", "", ["awk", "{for(i=1;i<=NF;i++) n[$i]++} END {for (w in n) print n[w], w; print srand(), rand()}", "input.txt"], 0),
    ("grep -P, pcre2-jit", "grep", "", ["grep", "-nP", "(?:a|e|i)[^aeiou]{2,5}(\\w)\\1", "input.txt"], 0), ("grep -E", "grep", "", ["grep", "-nE", "(foo|bar|the) [a-z]+", "input.txt"], 0),
    ("bc", "bc", "echo 'scale=300; 4*a(1)' > pi; echo quit >> pi", "bc -l pi", 0),
    ("sqlite3, in memory", "sqlite3", "", ["sqlite3", ":memory:", "create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<20000) insert into t select x, x*7919 % 1000 from c; "
     "create index i on t(b); select b,count(*),sum(a) from t group by b order by 2,1 limit 9; select random(), datetime('now');"], 0),
    ("sqlite3, on a file", "sqlite3", "", ["sqlite3", "made.db", "pragma journal_mode=wal; pragma mmap_size=1000000; create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<5000) "
     "insert into t select x, hex(randomblob(20)) from c; create index i on t(b); update t set b = a where a % 3 = 0; select count(*), max(b) from t; vacuum; select sum(a) from t;"], 0),
    ("perl", "perl", "", ["perl", "-ne", "$n{$_}++ for split; END { print map \"$_ $n{$_}\\n\", (sort { $n{$b} <=> $n{$a} } keys %n)[0..20]; print time, rand, $$, \"\\n\"; $SIG{ALRM}=sub{$a++}; "
     "use Time::HiRes 'ualarm'; ualarm 2000; 1 while !$a; eval { die {a=>1} }; print $@->{a}, sprintf('%.9f', exp 1), \"\\n\"; open F, '>made'; print F 'x'; }", "input.txt"], 0),
    ("python3: a script", "/usr/bin/python3", PYTHON_SCRIPT, "/usr/bin/python3 script.py", 0),
    *[("python3: " + name, "/usr/lib/python3.*/test/test_argparse.py", "", ["/usr/bin/python3", "-c", "import sys, unittest, test.support as s\n"
       "suite = unittest.TestSuite()\n"
       "def add(t):\n  for x in t:\n    if isinstance(x, unittest.TestSuite): add(x)\n    elif not any(w in x.id() for w in ('gh94675', 'gh_94675', 'main_module')): suite.addTest(x)\n"
       "add(unittest.defaultTestLoader.loadTestsFromNames(['test.' + n for n in %r.split()]))\n"
       "r = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)\nsys.exit(not r.wasSuccessful())" % names], 0) for name, names in PYTHON_TESTS.items()],
    ("cc1 -O2", CC1, C_SOURCE + "gcc -E a.c > a.i", [CC1, "-quiet", "-fpreprocessed", "-O2", "a.i", "-o", "-"], 0),
    ("ld", "ld", C_SOURCE + "gcc -c a.c", "ld --verbose " + LINKER, 0),
    ("LuaJIT", "luajit", "", ["luajit", "-e", "local s=0 for i=1,3e6 do s=s+i%7 end print(s) local t={} for l in io.lines('input.txt') do t[#t+1]=l:upper() end table.sort(t) print(t[1], #t, os.time(), collectgarbage('count'))"], 0),
    ("openssl enc", "openssl", "", "openssl enc -aes-256-cbc -pbkdf2 -k x -a -in input.txt", 0), ("openssl dgst", "openssl", "", "openssl dgst -sha3-512 input.txt", 0),
    ("openssl genrsa", "openssl", "", "openssl genrsa 1024", 0),
    ("jq", "jq", "seq 1 2000 > n", ["jq", "-s", "map(select(.%7==0))|add, now, (map(tostring)|join(\",\")|length)", "n"], 0),
    ("xmllint", "xmllint", "echo '<a><b c=\"1\">x</b></a>' > x.xml", ["xmllint", "--format", "x.xml"], 0),
    ("a musl program", "musl-gcc", C_SOURCE + "musl-gcc -static -o program a.c", "{}/program input.txt", 3), ("a musl program, dynamic", "musl-gcc", C_SOURCE + "musl-gcc -o program a.c", "{}/program input.txt", 3),
    ("a static-pie program", "gcc", C_SOURCE + "gcc -O2 -static-pie -o program a.c", "{}/program input.txt", 3), ("a static program", "gcc", C_SOURCE + "gcc -O2 -static -o program a.c", "{}/program input.txt", 3),
]
# Others of doc/PROGRAMS.md that have one thread.
OTHERS = [
    ("true", "true", "", "true", 0), ("dash", "dash", "", ["dash", "-c", "for i in 1 2 3; do echo $i; read -r x < input.txt; done; exit 4"], 4),
    ("find", "find", "", "find /usr/include -name s*.h -size +1k -printf '%p %s %T@\\n'", 0), ("diff", "diff", "sort input.txt > a", "diff input.txt a", 1),
    ("ed", "ed", "", "ed -s input.txt", 1), ("dc", "dc", "", ["dc", "-e", "100k 2v p"], 0),
    ("gawk", "gawk", "", ["gawk", 'BEGIN{print systime(), strftime("%Y",0,1), gensub(/b/,"x",1,"abc"), rand()}; {n += NF}; END {print n}', "input.txt"], 0),
    ("mawk", "mawk", "", ["mawk", "{s+=length($0)} END {print s}", "input.txt"], 0), ("m4", "m4", "cat > a.m4 <<'END'\ndefine(`f',`ifelse($1,0,1,`eval($1*f(decr($1)))')')f(7)\nEND\n", "m4 a.m4", 0),
    ("nasm", "nasm", "printf 'section .text\\nglobal _start\\n_start: mov eax,60\\nmov edi,9\\nsyscall\\n' > a.asm", "nasm -E a.asm", 0),
    ("busybox", "busybox", "", ["busybox", "awk", "{n[$1]++} END {for (w in n) print n[w], w}", "input.txt"], 0),
    ("zsh", "zsh", "", ["zsh", "-fc", "a=(3 1 2); print ${(on)a} ${#a}; f() { return 4 }; f; print $? $RANDOM; exit 5"], 5),
    ("fish", "fish", "", ["fish", "--no-config", "-c", "for i in 1 2 3; echo $i; end; string match -r 'b.' abc"], 0),
    ("clang -cc1", "clang", C_SOURCE + "clang -E a.c > a.i", [first("/usr/lib/llvm-*/bin/clang"), "-cc1", "-O2", "-S", "a.i", "-o", "-"], 0),
    ("objdump", "objdump", "cp /bin/true t", "objdump -d t", 0), ("readelf", "readelf", "cp /bin/true t", "readelf -a t", 0), ("strip", "strip", "cp /bin/true t", "strip -v t", 0),
    ("git", "git", "git init -q .", "git hash-object -w input.txt", 0), ("git: log", "git", "git init -q .; git add .; git -c user.name=n -c user.email=e commit -qm one; git ls-files", "git --no-pager log --stat", 0),
    ("make", "make", "printf 'all:\\n\\t$(info made)\\n' > Makefile", "make -n", 0),
    ("jq -n", "jq", "", ["jq", "-n", "[limit(500; range(1e9))] | map(. * .) | add, now"], 0),
    ("clisp", "clisp", "", ["/usr/lib/clisp-2.49.93+/base/lisp.run", "-M", "/usr/lib/clisp-2.49.93+/base/lispinit.mem", "-q", "-norc", "-x", "(progn (defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (f 15))"], 0),
    ("ecl", "ecl", "", ["ecl", "-norc", "-eval", "(progn (print (loop for i below 3000 sum (* i i))) (ext:quit 4))"], MAKES_ANOTHER),
    ("sbcl", "sbcl", "", ["sbcl", "--core", "/usr/lib/sbcl/sbcl.core", "--noinform", "--non-interactive", "--eval", "(progn (defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (print (f 20)) (gc :full t) (print (handler-case (error \"x\") (error () 7))) (print (expt 3 200)))"], MAKES_ANOTHER),
    ("guile", "guile", "", ["guile", "--no-auto-compile", "-c", "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 18)) (newline)"], MAKES_ANOTHER),
    ("racket", "racket", "", ["racket", "-n", "-l", "racket/base", "-e", "(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (displayln (f 18))"], 0),
    ("Chez Scheme", "chezscheme", "echo '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 20)) (collect) (exit)' > a.ss", "chezscheme -q a.ss", 0),
    ("gforth", "gforth", "", ["gforth", "-e", ": f dup 2 < if else dup 1- recurse swap 2 - recurse + then ; 18 f . cr 1 0 catch . bye"], 0),
    ("SWI-Prolog", "swipl", "", ["swipl", "-q", "-g", "numlist(1,300,L),foldl([X,A,B]>>(B is A+X*X),L,0,S),writeln(S),halt(3)"], MAKES_ANOTHER),
    ("Tcl", "tclsh", "echo 'proc f n {if {$n<2} {return $n}; expr {[f [expr {$n-1}]]+[f [expr {$n-2}]]}}; puts [f 12]; puts [catch {error x}]; puts [clock seconds]; exit 6' > a.tcl", "tclsh a.tcl", 6),
    ("pypy3", "pypy3", "", ["pypy3", "-c", "def f(n):\n  return n if n < 2 else f(n-1)+f(n-2)\nprint(f(20)); print(sum(i*i for i in range(300000)))"], 0),
    ("lua", "lua5.4", "", ["lua5.4", "-e", "local t={} for l in io.lines('input.txt') do t[#t+1]=l:upper() end table.sort(t) print(t[1], #t, os.time(), math.random())"], 0),
    ("ruby", "ruby", "", ["ruby", "--disable-gems", "-e", "puts File.read('input.txt').split.tally.max_by(5) { |w, n| [n, w] }.inspect, rand, Process.pid"], 0),
    ("php", "php", "", ["php", "-n", "-r", "$n = array_count_values(preg_split('/\\s+/', file_get_contents('input.txt'))); arsort($n); print_r(array_slice($n, 0, 5)); echo mt_rand(), microtime(true);"], 0),
    ("vim -es", "vim.tiny", "", ["vim.tiny", "-u", "NONE", "-es", "-c", "%s/the/THE/g", "-c", "g/^$/d", "-c", "%p", "-c", "wq", "input.txt"], 0),
    ("dot", "dot", "seq 1 60 | awk 'BEGIN{print \"digraph {\"}{print $1\"->\"int($1/2)}END{print \"}\"}' > a.dot", "dot -Tplain a.dot", MAKES_ANOTHER),
    ("gs", "gs", "printf '%%!PS\\n/f{dup 2 lt{}{dup 1 sub f exch 2 sub f add}ifelse}def 16 f == quit\\n' > a.ps", "gs -q -dBATCH -dNOPAUSE -sDEVICE=nullpage a.ps", 0),
    ("file", "file", "", "file /bin/ls input.txt", 0), ("flex", "flex", "printf '%%%%\\n[a-z]+ ECHO;\\n' > l.l", "flex -t l.l", MAKES_ANOTHER), ("bison", "bison", "printf '%%%%\\nS: \"a\" S | ;\\n' > g.y", "bison -v -o g.c g.y", MAKES_ANOTHER),
    ("rsync --version", "rsync", "", "rsync --version", 0), ("socat", "socat", "", "socat -u FILE:input.txt STDOUT", 0), ("expect", "expect", "", ["expect", "-c", "puts [expr 6*7]; exit 2"], 2),
    ("gpg", "gpg", "", "gpg --version", 0), ("valgrind", "valgrind", "", "/usr/bin/valgrind.bin -q --tool=none /bin/echo inside", 0), ("gdb", "gdb", "", ["gdb", "-nx", "-batch", "-ex", "info functions main", "/bin/true"], MAKES_ANOTHER),
    ("ksh", "ksh93", "", ["ksh93", "-c", "typeset -i n=0; while ((n<500)); do ((n++)); done; print $n $RANDOM"], 0),
    ("ocaml", "ocamlrun", "echo 'let rec f n = if n < 2 then n else f (n-1) + f (n-2);; print_int (f 18);; try raise Not_found with Not_found -> print_int 3;;' > a.ml", "ocaml a.ml", 0),
    ("poly", "poly", "echo 'fun f 0 = 0 | f 1 = 1 | f n = f (n-1) + f (n-2); f 18; OS.Process.exit OS.Process.success;' > a.sml", "poly -q --script a.sml", MAKES_ANOTHER),
    ("emacs", "emacs", "ln -s /usr/lib/emacs/*/native-lisp native-lisp", ["emacs", "--batch", "-Q", "--eval", "(progn (princ (format \"%d\n\" (apply (function +) (number-sequence 1 1000)))) (kill-emacs 3))"], 3),
    ("mono", "mono-sgen", "", "mono-sgen --version", 0),
    ("qemu-x86_64", "qemu-x86_64", "", "qemu-x86_64 /bin/echo inside", MAKES_ANOTHER), ("node", "node", "", ["node", "-e", "console.log(6*7)"], MAKES_ANOTHER), ("java", "java", 'home=$(readlink -f "$(command -v java)"); ln -s "${home%/bin/java}/lib" lib', "java -version", MAKES_ANOTHER),
    ("Go", "go", "", "go version", MAKES_ANOTHER), ("rustc", "rustc", "", "rustc --version", MAKES_ANOTHER), ("openssl speed", "openssl", "", "openssl speed -seconds 1 -bytes 1024 sha256", 0),
]
# Of these `make check` runs, where replay.py has none of the kind.
SHORT = {"bzip2", "xz", "zstd", "grep -P, pcre2-jit", "sqlite3, on a file", "LuaJIT", "a musl program, dynamic", "a static-pie program", "ld", "less"}


def set_out(setup, command):
    """A directory with an input and a copy of the program, and the command with that."""
    folder = fresh_dir("work")
    with open(os.path.join(folder, "input.txt"), "w") as file:
        file.write(real_programs.text())
    done = subprocess.run(["sh", "-c", setup], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    equal(done.returncode, 0, "status of what is made beforehand (%s)" % done.stdout.decode(errors="replace"))
    argv = [word.replace("{}", folder) if word.startswith("{}") else word for word in (shlex.split(command) if isinstance(command, str) else command)]
    copy = os.path.join(folder, "bin", os.path.basename(argv[0]))
    os.mkdir(os.path.dirname(copy))
    shutil.copy(shutil.which(argv[0]), copy)
    return folder, [copy, *argv[1:]]


def replays_to_the_end(trace, status, out, err):
    again = execute([BTREC, "replay", trace], cwd="/", timeout=PATIENCE)
    said = again.own_err
    equal(again.status, 0, "status of the replay (%s)" % again.err[-2000:].decode(errors="replace"))
    if status == MAKES_ANOTHER:
        check("makes another process or thread" in said, "the replay says %s" % said)
        check(out.startswith(again.out), "output")
        return
    ends = "killed by SIG" if status < 0 else "exited with %d\n" % status
    check(ends in said, "the replay says %s" % said)
    equal(again.out == out, True, "whether output is the same; %d bytes, %d replayed" % (len(out), len(again.out)))
    equal(again.program_err, err, "errors")


def add(name, need, setup, command, status, required):
    if not ALL and name not in SHORT:
        return

    @case(name if name.startswith(("coreutils:", "python3:")) else ("promised: " if required else "others: ") + name)
    def replayed_alone():
        if not real_programs.there(need):
            raise (Failure if ALL and required else Skip)("%s is not there" % need)
        folder, argv = set_out(setup, command)
        result = record(argv, ["--replayable", "--quiet"], cwd=folder, stdin=real_programs.text().encode(), timeout=PATIENCE)
        check(status in (result.status, MAKES_ANOTHER), "status %d (%s)" % (result.status, result.err[-500:].decode(errors="replace")))
        check(result.out or status == MAKES_ANOTHER or os.path.basename(argv[0]) in SILENT, "it says nothing")
        shutil.rmtree(folder)
        replays_to_the_end(result.trace, status, result.out, result.err)
        shutil.rmtree(result.trace)


# Programs in a terminal, and what is typed.
TYPED = {
    "less": (["less", "-X", "input.txt"], b" /the\rG1g?a\r/b\rq"),
    "bash -i": (["bash", "--norc", "-i"], b"echo $((6*7))\rfor i in 1 2 3; do echo $i; done\recho $COLUMNS $-\rexit 3\r"),
    "python3 -i": (["/usr/bin/python3", "-q", "-i"], b"6*7\rimport os\ros.get_terminal_size()\rexit(4)\r"),
}


def in_terminal(argv, keys, folder):
    """What the program writes, and how it ends."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.execve(argv[0], argv, {**os.environ, "TERM": "xterm", "HOME": folder})
    setting = termios.tcgetattr(terminal)
    setting[3] &= ~termios.ECHO # the terminal's own words are none of the program's
    termios.tcsetattr(terminal, termios.TCSANOW, setting)
    os.write(terminal, keys)
    out, until = b"", time.monotonic() + TIMEOUT
    try:
        while select.select([terminal], [], [], max(0, until - time.monotonic()))[0]:
            data = os.read(terminal, 65536)
            if not data:
                break
            out += data
    except OSError: # the other side is closed
        pass
    os.close(terminal) # and hangs up what has not ended
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), out.replace(b"\r", b"") # which the terminal adds


def add_typed(name, argv, keys):
    @case("typed: " + name)
    def replayed_typed():
        if not real_programs.there(argv[0]):
            raise Skip("%s is not there" % argv[0])
        folder, alone = set_out("", argv)
        trace = fresh("trace")
        status, out = in_terminal([BTREC, "run", "-q", "--replayable", "-o", trace, "--", *alone], keys, folder)
        check(len(out) > 20, "it says %s" % out)
        shutil.rmtree(folder)
        again = execute([BTREC, "replay", trace], cwd="/", stderr=subprocess.STDOUT, timeout=PATIENCE)
        equal(again.status, 0, "status of the replay")
        replayed_out, said = again.out.replace(b"\r", b"").rsplit(b"btrec: ", 1)
        equal(replayed_out, out, "output")
        check(said.endswith(b"exited with %d\n" % status), said)


for rows in (REQUIRED, OTHERS):
    for row in rows:
        add(*row, rows is REQUIRED)
for name in TYPED:
    if ALL or name in SHORT:
        add_typed(name, *TYPED[name])
assert not SHORT - {row[0] for row in REQUIRED} - set(TYPED)

main(sanitized=3)
