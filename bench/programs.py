#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# programs.py BUILDDIR [NAME...]: does a real program do the same under btrec? Runs each program natively and recorded, in a directory of
# its own with the same name, and compares stdout, stderr, exit status and the files it made. Prints a table:
# same output, exit status, instructions that ran outside of the code cache and their share of all (as far as `btrec info` says so), wall time
# against native.
# BTREC_BACKEND (engine) is the backend; BTREC_TIMEOUT (300) how many seconds one run may take.
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BACKEND = os.environ.get("BTREC_BACKEND", "engine")
PATIENCE = float(os.environ.get("BTREC_TIMEOUT", "300"))
OUTSIDE_MOST = 0.1 # percent
HERE = os.path.dirname(os.path.abspath(__file__))

# Name, what has to be there, shell command. It runs in an empty directory with input.txt, a text of some 300 KB, in it.
PROGRAMS = [
    ("true", "true", "true"),
    ("sh: dash", "dash", "dash -c 'for i in 1 2 3; do echo $i; done; exit 4'"),
    ("bash: loop, arrays", "bash", "bash -c 'for ((i=0;i<3000;i++)); do a[i%7]=$((i*i)); done; echo ${a[@]}; [[ abcd =~ b(.)d ]]; echo ${BASH_REMATCH[1]}'"),
    ("bash: fork, pipes", "bash", "bash -c 'x=0; for f in a b c d; do x=$(($x+$(echo $f | wc -c))); done; echo $x; (exit 3); echo $?; trap \"echo bye\" EXIT'"),
    ("bash: trap, kill", "bash", "bash -c 'trap \"echo usr1\" USR1; kill -USR1 $$; sleep 0.1 & wait; echo end'"),
    ("ls -lR", "ls", "ls -lR /usr/include/linux"),
    ("sort", "sort", "sort -k2 input.txt | md5sum; sort -u input.txt | wc -l"),
    ("sort, threads", "sort", "sort --parallel=2 -S 100M input.txt input.txt input.txt | sha1sum"),
    ("find", "find", "find /usr/include -name 's*.h' -size +1k | sort"),
    ("cp, rm, mv, mkdir", "cp", "mkdir d; cp -r /usr/include/linux/netfilter d/; mv d e; rm e/netfilter/x*; ls e/netfilter | wc -l"),
    ("md5sum, sha512sum, b2sum, cksum", "b2sum", "md5sum input.txt; sha512sum input.txt; b2sum input.txt; cksum input.txt"),
    ("cat, head, tail, wc, cut, tr, uniq", "cut", "cat input.txt | tr a-z A-Z | cut -c3-40 | uniq -c | tail -50; head -c 1000 input.txt; wc input.txt"),
    ("seq, factor, expr, date, printf", "factor", "seq 1 300 | factor | tail -30; expr 3 \\* 4; date -d @1e9 -u; printf '%08.3f\\n' 2.5"),
    ("dd", "dd", "dd if=input.txt of=copy bs=7 count=2000 status=none; cmp -n 14000 copy input.txt; echo $?"),
    ("timeout, env, nice, tee", "timeout", "timeout 5 env A=b nice -n 1 sh -c 'echo $A' | tee f; timeout 0.2 sleep 5; echo $?"),
    ("xargs -P", "xargs", "ls /usr/include/linux/*.h | xargs -P2 -n40 cat | wc"),
    ("grep", "grep", "grep -nE '(foo|bar|the) [a-z]+' input.txt | md5sum; grep -P '\\bthe(?= )' input.txt | wc -l"),
    ("sed", "sed", "sed -E 's/([a-z]+) ([a-z]+)/\\2 \\1/g' input.txt | md5sum"),
    ("awk", "awk", "awk '{for(i=1;i<=NF;i++) n[$i]++} END {for (w in n) print n[w], w}' input.txt | sort | tail -20"),
    ("diff", "diff", "sort input.txt > a; diff input.txt a | md5sum"),
    ("bc", "bc", "echo 'scale=200; 4*a(1)' | bc -l"),
    ("make", "make", "printf 'all: a b\\na b:\\n\\techo $@ > $@\\n' > Makefile; make -j2 -s; cat a b"),
    ("gzip", "gzip", "gzip -9 < input.txt > z; gzip -d < z | cmp - input.txt; md5sum z"),
    ("bzip2", "bzip2", "bzip2 < input.txt > z; bzip2 -d < z | cmp - input.txt; md5sum z"),
    ("xz", "xz", "xz -T1 < input.txt > z; xz -d < z | cmp - input.txt; md5sum z"),
    ("xz, threads", "xz", "xz -T2 --block-size=50000 < input.txt | xz -dT2 | md5sum"),
    ("zstd", "zstd", "zstd -q -19 < input.txt | zstd -d | md5sum"),
    ("tar", "tar", "tar --sort=name --mtime=@0 -czf t.tgz -C /usr/include/linux . && tar tzf t.tgz | wc -l; mkdir x; tar xzf t.tgz -C x; ls x | wc -l"),
    ("git", "git", "git init -q .; git config user.email a@b; git config user.name n; git add .; export GIT_AUTHOR_DATE=@1e9 GIT_COMMITTER_DATE='1000000000 +0000' "
     "GIT_AUTHOR_DATE='1000000000 +0000'; git commit -qm one; echo x >> input.txt; git diff | tail -3; git commit -qam two; git log --stat; git gc -q; git fsck; rm -rf .git"),
    ("sqlite3", "sqlite3", "sqlite3 :memory: 'create table t(a,b); with recursive c(x) as (select 1 union all select x+1 from c where x<20000) "
     "insert into t select x, x*7919 % 1000 from c; create index i on t(b); select b,count(*),sum(a) from t group by b order by 2,1 limit 9;'"),
    ("perl", "perl", "perl -ne '$n{$_}++ for split; END { print map \"$_ $n{$_}\\n\", (sort { $n{$b} <=> $n{$a} || $a cmp $b } keys %n)[0..20] }' input.txt"),
    ("perl: fork, signals, sort", "perl", "perl -e '$SIG{ALRM}=sub{$n++}; if (fork) { wait; print \"$?\\n\" } else { exit 7 } use Time::HiRes \"ualarm\"; "
     "ualarm 20000; 1 while !$n; print \"alarm\\n\"; eval { die {a=>1} }; print $@->{a}'"),
    ("python3", "/usr/bin/python3", "/usr/bin/python3 -c 'import collections,re,json,decimal; t=open(\"input.txt\").read(); "
     "print(collections.Counter(re.findall(r\"\\w+\",t)).most_common(20)); print(json.dumps(sorted(set(t.split()))[:20])); print(decimal.Decimal(2).sqrt())'"),
    ("python3: threads, subprocess", "/usr/bin/python3", "/usr/bin/python3 -c 'import threading,subprocess,queue; q=queue.Queue(); "
     "w=[threading.Thread(target=lambda i=i: q.put(sum(j*i for j in range(20000)))) for i in range(4)]; [t.start() for t in w]; [t.join() for t in w]; "
     "print(sorted(q.get() for _ in w)); print(subprocess.run([\"sh\",\"-c\",\"echo hi; exit 3\"],capture_output=True))'"),
    *[("python3: " + name, "/usr/lib/python3.11/test/test_argparse.py", "/usr/bin/python3 -m test -q %s 2>&1 | sed '/load avg/d; /passed in/d; s/in [0-9.]* *\\(ms\\|sec\\).*//; s/[0-9.]* sec//; s/duration:.*//'" % name)
      for name in ("test_json", "test_re", "test_dict", "test_zlib", "test_threading", "test_subprocess", "test_ssl")],
    ("gcc -O2 -c", "gcc", "printf '#include <stdio.h>\\n#include <stdlib.h>\\nint f(int n){return n<2?n:f(n-1)+f(n-2);} int main(void){printf(\"%%d\\\\n\",f(20));return 0;}\\n' > f.c; "
     "gcc -O2 -o f f.c; ./f; gcc -O3 -S f.c; md5sum f.s"),
    ("g++: exceptions, iostream", "g++", "printf '#include <iostream>\\n#include <stdexcept>\\n#include <map>\\nint main(){std::map<int,std::string> m; for(int i=0;i<99;i++) try { if(i%%3) "
     "throw std::runtime_error(std::to_string(i)); } catch(std::exception&e){m[i]=e.what();} for(auto&p:m) std::cout<<p.first<<p.second<<\"\\\\n\";}\\n' > x.cc; g++ -O1 -o x x.cc && ./x"),
    ("gcc, make -j2: a real project, from configure to its programs", "gcc", "$BTREC_TREE/configure -q >/dev/null 2>&1; make -s -j2 btrec btview >/dev/null 2>&1; echo $?; rm -f config.log; "
     "find . -name '*.o' | sort | xargs md5sum; ./btrec --version; cp input.txt Makefile; rm config.status"),
    ("clang", "clang", "echo 'int f(int n){return n<2?n:f(n-1)+f(n-2);}' > f.c; clang -O2 -S f.c && md5sum f.s"),
    ("ld, objdump, strip", "objdump", "objdump -d /bin/true | md5sum; cp /bin/true t; strip t; readelf -a t | md5sum"),
    ("gdb", "gdb", "gdb -nx -batch -ex 'info functions main' /bin/true"),
    ("openssl enc, dgst, genrsa", "openssl", "openssl enc -aes-256-cbc -pbkdf2 -S 0011223344556677 -k x -in input.txt | md5sum; openssl dgst -sha3-512 input.txt; "
     "openssl genrsa 1024 2>/dev/null | openssl rsa -check -noout 2>&1"),
    ("openssl speed", "openssl", "openssl speed -seconds 1 -bytes 1024 sha256 aes-128-cbc >/dev/null 2>&1; echo $?"),
    ("node", "node", "node -e 'let m=new Map(); for (const w of require(\"fs\").readFileSync(\"input.txt\",\"utf8\").split(/\\s+/)) m.set(w,(m.get(w)||0)+1); "
     "console.log([...m].sort((a,b)=>b[1]-a[1]||(a[0]<b[0]?-1:1)).slice(0,10)); function f(n){return n<2?n:f(n-1)+f(n-2)} console.log(f(25))'"),
    ("node: async, worker", "node", "node -e 'const {Worker,isMainThread}=require(\"worker_threads\"); const w=new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(42)\",{eval:true}); "
     "w.on(\"message\",x=>console.log(x)); setTimeout(()=>console.log(\"t\"),300)'"),
    ("java", "java", "mkdir c; printf 'public class T{static int f(int n){return n<2?n:f(n-1)+f(n-2);} public static void main(String[] a)throws Exception{System.out.println(f(27));String s=null;"
     "for(int i=0;i<2000;i++)try{s.length();}catch(NullPointerException e){s=i%%2==0?null:null;}Thread t=new Thread(()->System.out.println(1));t.start();t.join();}}\\n' > T.java; "
     "javac -d c T.java 2>&1 && java -cp c T || java -version 2>&1 | head -1"),
    ("Go", "go", "printf 'package main\\nimport \"fmt\"\\nfunc main(){c:=make(chan int);for i:=0;i<8;i++{go func(i int){c<-i*i}(i)};s:=0;for i:=0;i<8;i++{s+=<-c};fmt.Println(s)}\\n' > a.go; "
     "GOCACHE=$PWD/.c GO111MODULE=off go build -o a a.go && ./a; rm -rf .c"),
    ("Rust", "rustc", "printf 'use std::collections::HashMap; use std::thread; fn main(){let h:Vec<_>=(0..4u64).map(|i|thread::spawn(move||(0..9999u64).map(|x|x*i).sum::<u64>())).collect();"
     "let v:Vec<u64>=h.into_iter().map(|t|t.join().unwrap()).collect();println!(\"{:%s}\",v);let mut m=HashMap::new();m.insert(1,2);println!(\"{}\",m[&1]);"
     "println!(\"{}\",std::panic::catch_unwind(||{panic!(\"x\")}).is_err());}' '?' > a.rs; rustc -O a.rs 2>/dev/null; ./a 2>&1 | sed 's/thread .*panicked/panicked/'"),
    ("musl program", "musl-gcc", "printf '#include <stdio.h>\\n#include <pthread.h>\\nvoid*f(void*p){return p;}int main(void){pthread_t t;void*r;pthread_create(&t,0,f,\"thread\");pthread_join(t,&r);puts(r);return 5;}\\n' > m.c; "
     "musl-gcc -static -o m m.c && ./m; echo $?; musl-gcc -o m m.c && ./m"),
    ("LuaJIT", "luajit", "luajit -e 'local s=0 for i=1,3e6 do s=s+i%7 end print(s)'"),
    ("pcre2-jit", "git", "grep -cP '(?:a|e|i)[^aeiou]{2,5}(\\w)\\1' input.txt"),
    ("vim, ed", "ed", "printf '1,3p\\n/the/\\ns/the/THE/\\np\\nq\\n' | ed -s input.txt"),
    ("tmux, script", "script", "script -qec 'echo in a terminal; tty | cut -c1-5' /dev/null"),
    ("valgrind", "valgrind", "valgrind -q --tool=none dash -c 'echo $((3*4)) | cat; exit 4'; echo $?; valgrind -q --leak-check=full ls /usr/include/linux | tail -3"),
    ("sbcl", "sbcl", "sbcl --noinform --non-interactive --eval '(progn (defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (print (f 24)) (gc :full t) (print (handler-case (error \"x\") (error () 7))) (print (expt 3 200)))'"),
    ("guile", "guile", "guile --no-auto-compile -c '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (display (f 22)) (newline) (display (catch #t (lambda () (vector-ref (vector 1) 5)) (lambda a (car a))))'"),
    ("racket", "racket", "racket -n -l racket/base -e '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (displayln (f 24)) (displayln (with-handlers ([void (lambda (e) 3)]) (car 1)))'"),
    ("chez", "chezscheme", "echo '(define (f n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (f 24) (collect) (expt 7 90)' | chezscheme -q"),
    ("ecl", "ecl", "ecl -norc -eval '(progn (print (loop for i below 3000 sum (* i i))) (ext:quit 4))'"),
    ("clisp", "clisp", "clisp -q -norc -x '(progn (defun f (n) (if (< n 2) n (+ (f (- n 1)) (f (- n 2))))) (f 15))'"),
    ("poly", "poly", "echo 'fun f 0 = 0 | f 1 = 1 | f n = f (n-1) + f (n-2); f 24; 1 div 0 handle Div => 5;' | poly -q"),
    ("ocaml", "ocaml", "echo 'let rec f n = if n < 2 then n else f (n-1) + f (n-2);; f 20;; (try raise Not_found with Not_found -> 3);;' | ocaml -noprompt -color never"),
    ("gforth", "gforth", "gforth -e ': f dup 2 < if else dup 1- recurse swap 2 - recurse + then ; 22 f . cr 1 0 catch . bye'"),
    ("swipl", "swipl", "swipl -q -g 'numlist(1,300,L),foldl([X,A,B]>>(B is A+X*X),L,0,S),writeln(S),catch(atom_length(_,_),E,(E=error(T,_),writeln(T))),halt(3)'"),
    ("erlang", "erl", "erl -noshell -eval 'F = fun G(N) when N < 2 -> N; G(N) -> G(N-1) + G(N-2) end, io:format(\"~p~n\", [F(22)]), P = self(), [spawn(fun() -> P ! X end) || X <- lists:seq(1,300)], io:format(\"~p~n\", [lists:sum([receive Y -> Y end || _ <- lists:seq(1,300)])]), halt(2).'"),
    ("mono", "mono", "cp /usr/lib/mono/4.5/mscorlib.dll . 2>/dev/null; mono --version | head -1; mono /usr/lib/mono/4.5/gacutil.exe 2>&1 | head -3; rm -f mscorlib.dll"),
    ("pypy3", "pypy3", "pypy3 -c 'def f(n):\n  return n if n < 2 else f(n-1)+f(n-2)\nprint(f(24)); print(sum(i*i for i in range(300000)))'"),
    ("qemu-x86_64", "qemu-x86_64", "qemu-x86_64 /usr/bin/ls /usr/include/linux | md5sum; qemu-x86_64 /usr/bin/bash -c 'echo $((3*4)); exit 5'"),
    ("tclsh", "tclsh", "echo 'proc f n {if {$n<2} {return $n}; expr {[f [expr {$n-1}]]+[f [expr {$n-2}]]}}; puts [f 16]; puts [catch {error x}]; after 50 {set ok 1}; vwait ok; exit 6' | tclsh"),
    ("expect", "expect", "expect -c 'log_user 0; spawn sh -c {read x; echo got $x}; send hi\\r; expect -re {got (.*)\\r}; puts $expect_out(1,string)'"),
    ("zsh, ksh, fish", "zsh", "zsh -fc 'a=(3 1 2); print ${(on)a} ${#a}; f() { return 4 }; f; print $?'; ksh -c 'typeset -i n=0; while ((n<500)); do ((n++)); done; print $n | cat'; fish --no-config -c 'for i in (seq 3); echo $i; end; string match -r \"b.\" abc'"),
    ("busybox", "busybox", "busybox sh -c 'ls /usr/include/linux | busybox sort -r | busybox head -3; busybox awk \"BEGIN{print 2^10}\"; busybox md5sum input.txt; busybox gzip -c input.txt | busybox gunzip | busybox wc'"),
    ("jq, xmllint", "jq", "seq 1 2000 | jq -s 'map(select(.%7==0))|add'; echo '<a><b c=\"1\">x</b></a>' | xmllint --xpath '//b/@c' -"),
    ("m4, bison, flex, nasm", "nasm", "echo 'define(f,`ifelse($1,0,1,`eval($1*f(decr($1)))`)`)f(7)' | m4; printf '%%%%\\nS: \"a\" S | ;\\n' > g.y; bison -o g.c g.y; wc -l < g.c; printf '%%%%\\n[a-z]+ ECHO;\\n' > l.l; flex -o l.c l.l; wc -l < l.c; printf 'section .text\\nglobal _start\\n_start: mov eax,60\\nmov edi,9\\nsyscall\\n' > a.asm; nasm -felf64 a.asm && ld -o a a.o && ./a; echo $?"),
    ("gpg", "gpg", "mkdir -m 700 g; export GNUPGHOME=$PWD/g; gpg --batch --passphrase x --pinentry-mode loopback -c -o i.gpg input.txt 2>/dev/null; gpg --batch -q --passphrase x --pinentry-mode loopback -d i.gpg | md5sum; gpgconf --kill all; rm -rf g i.gpg"),
    ("socat, curl, python http", "socat", "socat -u FILE:input.txt STDOUT | md5sum; socat TCP-LISTEN:18732,reuseaddr,fork EXEC:cat & p=$!; sleep 1; head -c 5000 input.txt | socat - TCP:127.0.0.1:18732 | md5sum; kill $p; wait $p; echo $?"),
    ("rsync", "rsync", "rsync -a /usr/include/linux/netfilter d/; ls d/netfilter | wc -l; rsync -an --delete --itemize-changes /usr/include/linux/netfilter/ d/netfilter/; rm -rf d"),
    ("vim, emacs", "vim.tiny", "cp input.txt v.txt; vim.tiny -u NONE -es -c '%s/the/THE/g' -c 'g/^$/d' -c wq v.txt; md5sum v.txt; emacs --batch -Q --eval '(progn (princ (format \"%d\\n\" (apply (function +) (number-sequence 1 1000)))) (kill-emacs 3))'"),
    ("dc, gawk, mawk", "dc", "dc -e '100k 2v p'; gawk 'BEGIN{print systime()>0, strftime(\"%Y\",0,1), gensub(/b/,\"x\",1,\"abc\")}'; mawk '{s+=length($0)} END {print s}' input.txt"),
    ("dot", "dot", "seq 1 60 | awk 'BEGIN{print \"digraph {\"}{print $1\"->\"int($1/2)}END{print \"}\"}' | dot -Tplain | md5sum"),
    ("gs", "gs", "printf '%%!PS\\n/f{dup 2 lt{}{dup 1 sub f exch 2 sub f add}ifelse}def 16 f == quit\\n' > a.ps; gs -q -dBATCH -dNOPAUSE -sDEVICE=nullpage a.ps"),
    ("convert", "convert", "convert -size 200x200 gradient:red-blue -rotate 30 -blur 0x3 PPM:- | md5sum"),
    ("fakeroot", "fakeroot", "fakeroot sh -c 'touch f; chown 5:6 f; stat -c %u:%g f; id -u'; rm -f f"),
    ("tmux", "tmux", "tmux -L btrec-odd -f /dev/null new-session -d 'echo hello > h; sleep 0.2'; sleep 1; cat h; tmux -L btrec-odd ls 2>&1 | sed 's/ .*//'"),
    ("postgres", "/usr/lib/postgresql/15/bin/initdb", "mkdir pg; chown nobody pg; setpriv --reuid=nobody --clear-groups sh -c '/usr/lib/postgresql/15/bin/initdb -D pg -A trust -U u --no-sync >/dev/null 2>&1; echo $?; echo \"select sum(i) from generate_series(1,10000) i\" | /usr/lib/postgresql/15/bin/postgres --single -D pg postgres 2>/dev/null | tail -3'; rm -rf pg"),
]


def there(need):
    return os.path.exists(need) if need.startswith("/") else shutil.which(need) is not None


def text():
    """Words with a repeatable order, 300 KB of lines."""
    words, state, lines = open(os.path.join(HERE, "programs.py")).read().split(), 12345, []
    words = sorted({w.lower() for w in re.findall(r"[A-Za-z]{2,12}", " ".join(words))})
    for _ in range(6000):
        line = []
        for _ in range(8):
            state = (state * 6364136223846793005 + 1442695040888963407) & (1 << 64) - 1
            line.append(words[(state >> 33) % len(words)])
        lines.append(" ".join(line))
    return "\n".join(lines) + "\n"


def digest(folder):
    """What is in a directory."""
    rows = []
    for path, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            full = os.path.join(path, name)
            if os.path.isfile(full) and not os.path.islink(full):
                with open(full, "rb") as file:
                    rows.append((os.path.relpath(full, folder), hashlib.sha256(file.read()).hexdigest()))
    return rows


def run(command, folder, content, before, environment):
    shutil.rmtree(folder, True)
    os.mkdir(folder)
    with open(os.path.join(folder, "input.txt"), "w") as file:
        file.write(content)
    began = time.monotonic()
    process = subprocess.Popen([*before, "sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, env=environment)
    try:
        out, err = process.communicate(timeout=PATIENCE)
        status = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            out, err = process.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
        status = "hangs"
    err = b"".join(line for line in err.splitlines(True) if not line.startswith(b"btrec:"))
    return status, out, err, digest(folder), time.monotonic() - began


def outside(btrec, trace):
    said = subprocess.run([btrec, "info", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(errors="replace")
    found = re.search(r"^stepped +(\d+) instructions outside the code cache(?:, less than ([\d.]+) % of all)?", said, re.M)
    if not found:
        return "-", 0
    return found.group(1), float(found.group(2)) if found.group(2) else 100 if int(found.group(1)) else 0


def compared(native, recorded):
    names = ("status", "stdout", "stderr", "files")
    different = [name for name, a, b in zip(names, native, recorded) if a != b]
    return "yes" if not different else "NO: " + ", ".join(different)


def main():
    build, wanted = os.path.abspath(sys.argv[1]), sys.argv[2:]
    btrec = os.path.join(build, "btrec")
    scratch = tempfile.mkdtemp(prefix="btrec-programs.")
    environment = {"PATH": os.environ["PATH"], "HOME": scratch, "LC_ALL": "C.UTF-8", "TMPDIR": "/tmp", "TZ": "UTC", "BTREC_TREE": os.path.dirname(HERE),
                   "BTREC_BUILD": build}
    rows = failed = over = 0
    print("| program | same | exit | instructions outside the cache | % of all, at most | time / native |\n|---|---|---|---|---|---|", flush=True)
    try:
        for name, need, command in PROGRAMS:
            if wanted and not any(w in name for w in wanted):
                continue
            if not there(need):
                print("| %s | not installed | | | | |" % name, flush=True)
                continue
            folder, trace, content = os.path.join(scratch, "work"), os.path.join(scratch, "trace"), text()
            native = run(command, folder, content, [], environment)
            again = run(command, folder, content, [], environment)
            recorded = run(command, folder, content, [btrec, "run", "--backend", BACKEND, "-q", "-o", trace, "--"], environment)
            same = compared(native, recorded)
            if compared(native, again) != "yes" and same != "yes":
                same += " (differs natively, too)"
            failed += same.startswith("NO") and "natively" not in same
            rows += 1
            stepped, share = outside(btrec, trace)
            over += share > OUTSIDE_MOST
            print("| %s | %s | %s | %s | %.4f | %.1f |" % (name, same, recorded[0], stepped, share, recorded[4] / native[4]), flush=True)
            if wanted and same != "yes":
                for a, b in zip(native[1:3], recorded[1:3]):
                    if a != b:
                        print("  natively: %r\n  recorded: %r" % (a[-1500:], b[-1500:]))
            shutil.rmtree(trace, True)
    finally:
        shutil.rmtree(scratch, True)
    print("%d programs, %d not the same, %d with more than %.1f %% outside the cache; backend %s, %s" %
          (rows, failed, over, OUTSIDE_MOST, BACKEND, os.uname().release))
    sys.exit(1 if failed or over else 0)


main()
