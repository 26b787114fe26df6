# SPDX-License-Identifier: MIT
# Real programs that must do the same under btrec, and how that is found out: each runs natively and recorded, in a directory of its own with
# the same name, and stdout, stderr, exit status and the files it made are compared. tests/e2e/programs.py runs a few, bench/programs.py all.
import glob
import hashlib
import os
import re
import shutil
import signal
import subprocess
import time

PATIENCE = float(os.environ.get("BTREC_TIMEOUT", "300")) # seconds that one run may take
OUTSIDE_MOST = 0.1 # percent
HERE = os.path.dirname(os.path.abspath(__file__))
# What depends on how fast it was.
NO_SPEED = "sed -E 's/: [0-9]+ /: N /; s/ in [0-9.]+s/ in T/; s/ +[0-9.]+k/ Nk/g'"

# Name, what has to be there, shell command. It runs in an empty directory with input.txt, a text of some 300 KB, in it.
# What is promised (doc/PROOF.md): natively each of these must say something and end with 0, or the comparison says nothing.
REQUIRED = [
    ("bash: loop, arrays", "bash", "bash -c 'for ((i=0;i<3000;i++)); do a[i%7]=$((i*i)); done; echo ${a[@]}; [[ abcd =~ b(.)d ]]; echo ${BASH_REMATCH[1]}'"),
    ("bash: fork, pipes", "bash", "bash -c 'x=0; for f in a b c d; do x=$(($x+$(echo $f | wc -c))); done; echo $x; (exit 3); echo $?; trap \"echo bye\" EXIT'"),
    ("bash: trap, kill", "bash", "bash -c 'trap \"echo usr1\" USR1; kill -USR1 $$; sleep 0.1 & wait; echo end'"),
    ("ls -lR", "ls", "ls -lR /usr/include/linux"),
    ("sort", "sort", "sort -k2 input.txt | md5sum; sort -u input.txt | wc -l"),
    ("sort, threads", "sort", "sort --parallel=2 -S 100M input.txt input.txt input.txt | sha1sum"),
    ("cp, rm, mv, mkdir", "cp", "set -e; mkdir d; cp -r /usr/include/linux/netfilter d/; mv d e; rm e/netfilter/x*; ls e/netfilter | wc -l"),
    ("md5sum, sha512sum, b2sum, cksum", "b2sum", "set -e; md5sum input.txt; sha512sum input.txt; b2sum input.txt; cksum input.txt"),
    ("cat, head, tail, wc, cut, tr, uniq", "cut", "set -e; cat input.txt | tr a-z A-Z | cut -c3-40 | uniq -c | tail -50; head -c 1000 input.txt; wc input.txt"),
    ("seq, factor, expr, date, printf", "factor", "set -e; seq 1 300 | factor | tail -30; expr 3 \\* 4; date -d @1000000000 -u; printf '%08.3f\\n' 2.5"),
    ("dd", "dd", "dd if=input.txt of=copy bs=7 count=2000 status=none; cmp -n 14000 copy input.txt; echo $?"),
    ("timeout, env, nice, tee", "timeout", "timeout 5 env A=b nice -n 1 sh -c 'echo $A' | tee f; timeout 0.2 sleep 5; echo $?"),
    ("gzip", "gzip", "set -e; gzip -9n < input.txt > z; gzip -d < z | cmp - input.txt; md5sum z"),
    ("bzip2", "bzip2", "set -e; bzip2 < input.txt > z; bzip2 -d < z | cmp - input.txt; md5sum z"),
    ("xz", "xz", "set -e; xz -T1 < input.txt > z; xz -d < z | cmp - input.txt; md5sum z"),
    ("xz, threads", "xz", "xz -T2 --block-size=50000 < input.txt | xz -dT2 | md5sum"),
    ("tar", "tar", "set -e; tar --sort=name --mtime=@0 -czf t.tgz -C /usr/include/linux . && tar tzf t.tgz | wc -l; mkdir x; tar xzf t.tgz -C x; ls x | wc -l"),
    ("git", "git", "set -e; git init -q .; git config user.email a@b; git config user.name n; git add .; export GIT_AUTHOR_DATE=@1e9 GIT_COMMITTER_DATE='1000000000 +0000' "
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
    *[("python3: " + name, "/usr/lib/python3.*/test/test_argparse.py", "/usr/bin/python3 -m test -q %s >o 2>&1; echo $?; sed '/load avg/d; /passed in/d; s/in [0-9.]* *\\(ms\\|sec\\).*//; s/[0-9.]* sec//; s/duration:.*//' o; rm o" % name)
      for name in ("test_json", "test_re", "test_dict", "test_zlib", "test_threading", "test_subprocess", "test_ssl")],
    ("gcc -O2 -c", "gcc", "set -e; printf '#include <stdio.h>\\n#include <stdlib.h>\\nint f(int n){return n<2?n:f(n-1)+f(n-2);} int main(void){printf(\"%%d\\\\n\",f(20));return 0;}\\n' > f.c; "
     "gcc -O2 -o f f.c; ./f; gcc -O3 -S f.c; md5sum f.s"),
    ("g++: exceptions, iostream", "g++", "set -e; printf '#include <iostream>\\n#include <stdexcept>\\n#include <map>\\nint main(){std::map<int,std::string> m; for(int i=0;i<99;i++) try { if(i%%3) "
     "throw std::runtime_error(std::to_string(i)); } catch(std::exception&e){m[i]=e.what();} for(auto&p:m) std::cout<<p.first<<p.second<<\"\\\\n\";}\\n' > x.cc; g++ -O1 -o x x.cc; ./x"),
    ("gcc, make -j2: a real project, from configure to its programs", "gcc", "set -e; $BTREC_TREE/configure -q >/dev/null 2>&1; make -s -j2 btrec btview >/dev/null 2>&1; rm -f config.log; "
     "find . -name '*.o' | sort | xargs md5sum; ./btrec --version; cp input.txt Makefile; rm config.status"),
    ("g++, cmake, make -j2: a real project (googletest), its samples' tests", "/usr/src/googletest/CMakeLists.txt", "set -e; cmake -DCMAKE_BUILD_TYPE=Release -Dgtest_build_samples=ON "
     "/usr/src/googletest 2>&1 | sed '/written to/d'; make -s -j2 >o 2>&1; sed '/%/d' o; find . -name '*.o' -o -name '*.a' -o -name 'sample*_unittest' | grep -v Tmp | sort | xargs md5sum; "
     "for s in googletest/sample*_unittest; do $s --gtest_print_time=0 || echo $?; done; find . -mindepth 1 -delete"),
    ("gcc and g++, make -j2: a few files", "g++", "set -e; printf 'C = $(notdir $(wildcard $T/lib/[b-h]*.c))\nall: $(C:.c=.o) thrown2\n%%.o: $T/lib/%%.c; gcc -std=gnu11 -D_GNU_SOURCE -O1 -I$T -c $<\n"
     "thrown%%: $T/tests/programs/exceptions.cc; g++ -O$* -o $@ $<\n' > Makefile; make -j2 T=$BTREC_TREE >o 2>&1; sort o | sed \"s:$BTREC_TREE::\"; rm o; md5sum *.o; ./thrown2 x || echo $?"),
    ("openssl enc, dgst, genrsa", "openssl", "set -e; openssl enc -aes-256-cbc -pbkdf2 -S 0011223344556677 -k x -in input.txt | md5sum; openssl dgst -sha3-512 input.txt; "
     "openssl genrsa 1024 2>/dev/null | openssl rsa -check -noout 2>&1"),
    ("openssl speed", "openssl", "openssl speed -seconds 1 -bytes 1024 sha256 aes-128-cbc >o 2>&1; echo $?; " + NO_SPEED + " o; rm o"),
    ("node", "node", "node -e 'let m=new Map(); for (const w of require(\"fs\").readFileSync(\"input.txt\",\"utf8\").split(/\\s+/)) m.set(w,(m.get(w)||0)+1); "
     "console.log([...m].sort((a,b)=>b[1]-a[1]||(a[0]<b[0]?-1:1)).slice(0,10)); function f(n){return n<2?n:f(n-1)+f(n-2)} console.log(f(25))'"),
    ("node: async, worker", "node", "node -e 'const {Worker,isMainThread}=require(\"worker_threads\"); const w=new Worker(\"require(\\\"worker_threads\\\").parentPort.postMessage(42)\",{eval:true}); "
     "w.on(\"message\",x=>{console.log(x); setTimeout(()=>console.log(\"t\"),300)})'"),
    ("java", "javac", "set -e; mkdir c; printf 'public class T{static int f(int n){return n<2?n:f(n-1)+f(n-2);} public static void main(String[] a)throws Exception{System.out.println(f(27));String s=null;"
     "for(int i=0;i<2000;i++)try{s.length();}catch(NullPointerException e){s=i%%2==0?null:null;}Thread t=new Thread(()->System.out.println(1));t.start();t.join();}}\\n' > T.java; "
     "javac -d c T.java; java -cp c T"),
    ("Go", "go", "set -e; printf 'package main\\nimport \"fmt\"\\nfunc main(){c:=make(chan int);for i:=0;i<8;i++{go func(i int){c<-i*i}(i)};s:=0;for i:=0;i<8;i++{s+=<-c};fmt.Println(s)}\\n' > a.go; "
     "GOCACHE=$PWD/.c GO111MODULE=off go build -o a a.go; ./a; rm -rf .c"),
    ("Rust", "rustc", "set -e; printf 'use std::collections::HashMap; use std::thread; fn main(){let h:Vec<_>=(0..4u64).map(|i|thread::spawn(move||(0..9999u64).map(|x|x*i).sum::<u64>())).collect();"
     "let v:Vec<u64>=h.into_iter().map(|t|t.join().unwrap()).collect();println!(\"{:%s}\",v);let mut m=HashMap::new();m.insert(1,2);println!(\"{}\",m[&1]);"
     "println!(\"{}\",std::panic::catch_unwind(||{panic!(\"x\")}).is_err());}' '?' > a.rs; rustc -O a.rs 2>/dev/null; ./a 2>&1 | sed 's/thread .*panicked/panicked/'"),
]

# More of them.
OTHERS = [
    ("true", "true", "true"),
    ("sh: dash", "dash", "dash -c 'for i in 1 2 3; do echo $i; done; exit 4'"),
    ("find", "find", "find /usr/include -name 's*.h' -size +1k | sort"),
    ("xargs -P", "xargs", "ls /usr/include/linux/*.h | xargs -P2 -n40 wc -c | grep -v total | sort | md5sum"),
    ("grep", "grep", "grep -nE '(foo|bar|the) [a-z]+' input.txt | md5sum; grep -P '\\bthe(?= )' input.txt | wc -l"),
    ("sed", "sed", "sed -E 's/([a-z]+) ([a-z]+)/\\2 \\1/g' input.txt | md5sum"),
    ("awk", "awk", "awk '{for(i=1;i<=NF;i++) n[$i]++} END {for (w in n) print n[w], w}' input.txt | sort | tail -20"),
    ("diff", "diff", "sort input.txt > a; diff input.txt a | md5sum"),
    ("bc", "bc", "echo 'scale=200; 4*a(1)' | bc -l"),
    ("make", "make", "printf 'all: a b\\na b:\\n\\techo $@ > $@\\n' > Makefile; make -j2 -s; cat a b"),
    ("zstd", "zstd", "zstd -q -19 < input.txt | zstd -d | md5sum"),
    ("clang", "clang", "echo 'int f(int n){return n<2?n:f(n-1)+f(n-2);}' > f.c; clang -O2 -S f.c && md5sum f.s"),
    ("ld, objdump, strip", "objdump", "objdump -d /bin/true | md5sum; cp /bin/true t; strip t; readelf -a t | md5sum"),
    ("gdb", "gdb", "gdb -nx -batch -ex 'info functions main' /bin/true"),
    ("musl program", "musl-gcc", "printf '#include <stdio.h>\\n#include <pthread.h>\\nvoid*f(void*p){return p;}int main(void){pthread_t t;void*r;pthread_create(&t,0,f,\"thread\");pthread_join(t,&r);puts(r);return 5;}\\n' > m.c; "
     "musl-gcc -static -o m m.c && ./m; echo $?; musl-gcc -o m m.c && ./m; echo $?"),
    ("LuaJIT", "luajit", "luajit -e 'local s=0 for i=1,3e6 do s=s+i%7 end print(s)'"),
    ("pcre2-jit", "grep", "grep -cP '(?:a|e|i)[^aeiou]{2,5}(\\w)\\1' input.txt"),
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

# Those of them, and smaller forms of others, that take a second or a few.
SHORT = {"bash: loop, arrays", "bash: fork, pipes", "bash: trap, kill", "ls -lR", "sort", "sort, threads", "cp, rm, mv, mkdir", "md5sum, sha512sum, b2sum, cksum",
         "cat, head, tail, wc, cut, tr, uniq", "seq, factor, expr, date, printf", "dd", "timeout, env, nice, tee", "gzip", "bzip2", "xz", "xz, threads", "tar", "git", "sqlite3",
         "perl", "perl: fork, signals, sort", "python3", "python3: threads, subprocess", "python3: test_json", "python3: test_dict", "gcc -O2 -c", "g++: exceptions, iostream",
         "gcc and g++, make -j2: a few files", "openssl enc, dgst, genrsa", "openssl speed", "node", "LuaJIT", "pcre2-jit", "xargs -P", "find", "grep", "sed", "awk", "diff", "musl program"}


def there(need):
    return bool(glob.glob(need)) if need.startswith("/") else shutil.which(need) is not None


def text():
    """Words with a repeatable order, 300 KB of lines."""
    words, state, lines = open(os.path.join(HERE, "real_programs.py")).read().split(), 12345, []
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


def environment(scratch):
    """What the programs get of ours. rustup finds its tools below HOME."""
    found = {"PATH": os.environ["PATH"], "HOME": scratch, "LC_ALL": "C.UTF-8", "TMPDIR": "/tmp", "TZ": "UTC",
             "BTREC_TREE": os.path.dirname(os.path.dirname(HERE)), "XDG_CACHE_HOME": os.path.join(scratch, "cache")}
    rustup = os.environ.get("RUSTUP_HOME") or os.path.expanduser("~/.rustup")
    return dict(found, RUSTUP_HOME=rustup) if os.path.isdir(rustup) else found


def run(command, scratch, before=()):
    """Status, stdout, stderr, files, seconds."""
    folder = os.path.join(scratch, "work")
    shutil.rmtree(folder, True)
    os.mkdir(folder)
    with open(os.path.join(folder, "input.txt"), "w") as file:
        file.write(text())
    began = time.monotonic()
    process = subprocess.Popen([*before, "sh", "-c", command], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               start_new_session=True, env=environment(scratch))
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


def different(native, recorded):
    return {name for name, a, b in zip(("status", "stdout", "stderr", "files"), native, recorded) if a != b}


def outside(btrec, trace):
    """The instructions that ran outside the code cache, as it is printed, and at most what share of all they are, in percent."""
    said = subprocess.run([btrec, "info", trace], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode(errors="replace")
    found = re.search(r"^stepped +(\d+) instructions outside the code cache(?:, less than ([\d.]+) % of all)?", said, re.M)
    if not found:
        return "-", 100
    return found.group(1), float(found.group(2)) if found.group(2) else 100 if int(found.group(1)) else 0
