#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Programs that hang: what each thread waits for, who holds it, and what is called a deadlock.
from e2e import *

THREADS = "What the threads do\n"


def program():
    return build("hangs.c", "-pthread")


def sleeps(pid):
    """Whether all threads of a process sleep."""
    for tid in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/stat" % (pid, tid)) as file:
            if file.read().rpartition(")")[2].split()[0] != "S":
                return False
    return True


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(child) for child in file.read().split()]


def hang(kind, options=(), by=signal.SIGTERM, victim=lambda pid: pid):
    """The trace of a program that has hung and was ended by a signal."""
    trace = fresh("trace")
    recorder = start([BTREC, "run", "-q", "-o", trace, *options, "--", program(), kind], stdout=subprocess.PIPE, cwd=TMP)
    equal(recorder.stdout.readline(), b"ready\n", "the program's line")
    pid = victim(children(children(recorder.pid)[0])[0])
    slept = 0
    for _ in range(1000):
        slept = slept + 1 if sleeps(pid) else 0
        if slept == 10:
            break
        time.sleep(0.02)
    equal(slept, 10, "looks at which all of its threads slept")
    os.kill(pid, by)
    recorder.communicate(timeout=TIMEOUT)
    return trace


def said(trace, *options):
    shown = text(trace, *options)
    start_ = shown.index("\nWhat happened\n")
    return shown[start_:shown.index("\nWhere", start_)]


def line(mark):
    return "hangs.c:%d" % line_of("hangs.c", mark)


@case("two threads with two mutexes: who holds which, by their names")
def two():
    trace = hang("two")
    shown = said(trace)
    check("; deadlock: tasks 1 and 2 wait for each other\n" in shown, shown)
    check("\n  task 1 waits for mutex second, which task 2 holds\n      both %s: pthread_mutex_lock(b); /* @both */\n" % line("both") in shown, shown)
    check("\n  task 2 waits for mutex first, which task 1 holds\n      both %s: " % line("both") in shown, shown)
    shown = text(trace)
    check(re.search(r"\nWhere\n  both\S* \S*hangs\.c:%d in .*\n  %d: .*\n  task 1 waits for mutex second, which task 2 holds\n\nStack" % ((line_of("hangs.c", "both"),) * 2), shown), shown)
    waits = report(trace)["waits"]
    fits_schema(report(trace, "-n", 10), "report.schema.json")
    equal(waits["deadlock"], "deadlock: tasks 1 and 2 wait for each other", "in the JSON")
    equal([(w["task"], w["kind"], w["owner"], w["deadlocked"]) for w in waits["threads"]], [(1, "lock", 2, True), (2, "lock", 1, True)], "waits")
    equal(btview("--headline", trace).out.decode().strip(), "SIGTERM: deadlock of 2 threads in both %s" % line("both"), "headline")
    equal(btview("--signature", trace).out.decode().split(None, 1)[1].strip(), "SIGTERM deadlock: both (hangs.c) < two < main", "signature")


@case("the same under --backend step and --parallel, and when it is asked for by btrec snap")
def two_otherwise():
    for options in (["--backend", "step"], ["--parallel"]):
        shown = said(hang("two", options))
        check("; deadlock: tasks 1 and 2 wait for each other\n" in shown, shown)
    trace = fresh("trace")
    recorder = start([BTREC, "run", "-q", "-o", trace, "--", program(), "two"], stdout=subprocess.PIPE, cwd=TMP)
    equal(recorder.stdout.readline(), b"ready\n", "the program's line")
    pid = children(children(recorder.pid)[0])[0]
    wait_until(lambda: sleeps(pid) or None, "its threads sleep")
    time.sleep(0.3)
    equal(execute([BTREC, "snap", str(pid)]).status, 0, "status of snap")
    shown = said(trace)
    check("a snapshot was asked for: btrec snap; deadlock: tasks 1 and 2 wait for each other\n" in shown, shown)
    os.kill(pid, signal.SIGKILL)
    recorder.communicate(timeout=TIMEOUT)


@case("threads in a ring of three; one that joins them is no part of it")
def ring():
    shown = said(hang("ring"))
    check("; deadlock: tasks 2, 3 and 4 wait for each other in a ring\n" in shown, shown)
    for task in (2, 3, 4):
        check(re.search(r"\n  task %d waits for mutex forks(\+0x[0-9a-f]+)?, which task %d holds\n" % (task, (task - 1) % 3 + 2), shown) or
              re.search(r"\n  task %d waits for mutex forks" % task, shown), shown)
    check("\n  task 1 waits for the end of task 2\n      ring %s: pthread_join(threads[i], NULL); /* @joins */\n" % line("joins") in shown, shown)


@case("a thread that waits for itself; one that joins a thread that waits for it")
def itself():
    shown = said(hang("itself"))
    check("; deadlock: task 1 waits for mutex first, which it holds itself\n" in shown, shown)
    check("\nWhat the program does\n" in shown, shown)
    shown = said(hang("join"))
    check("; deadlock: tasks 1 and 2 wait for each other\n" in shown, shown)
    check("\n  task 2 waits for read-write lock table, which task 1 holds\n      read_table %s" % line("reads") in shown, shown)


@case("mutexes that inherit priority: the futex holds the owner")
def inherits():
    shown = said(hang("inherits"))
    # The kernel refuses the lock that would close the ring, to whoever comes last.
    found = re.search(r"\n  task (\d) waits for mutex (first|second), which task (\d) holds\n", shown)
    check(found and found.group(1, 2, 3) in (("1", "second", "2"), ("2", "first", "1")), shown)
    refused = "task %s waits for ever: the kernel refused it its mutex, which would be a deadlock\n" % found.group(3)
    check("; deadlock: " + refused in shown and "\n  " + refused in shown, shown)


@case("a read-write lock and a mutex")
def rwlock():
    shown = said(hang("readers"))
    check("; deadlock: tasks 1 and 2 wait for each other\n" in shown, shown)
    check("\n  task 2 waits for read-write lock table, which task 1 holds\n" in shown, shown)
    check("\n  task 1 waits for mutex second, which task 2 holds\n      readers %s: " % line("holds") in shown, shown)


@case("a mutex whose owner has ended; one that was held when the process was forked")
def left():
    shown = said(hang("left"))
    check("; deadlock: task 1 waits for mutex first, which task 2 held when it ended\n" in shown, shown)
    trace = hang("forked", victim=lambda pid: children(pid)[0])
    parent = report(trace)["processes"][0]["pid"]
    check("; deadlock: task 2 waits for mutex first, which task 1 of process %d held when this process was forked from it; " % parent in said(trace), said(trace))


@case("locks and forks: a copy has the copied thread as owner, or none; memory that is shared has no copy")
def forks():
    child = lambda pid: children(pid)[0]
    trace = hang("forked-other", victim=child)
    parent = report(trace, "-n", 1)["processes"][0]["pid"]
    check("; deadlock: task 3 waits for mutex first, which task 2 of process %d held when this process was forked from it; " % parent in said(trace), said(trace))
    shown = said(hang("fork-holder", victim=child))
    check("deadlock" not in shown and "\n  task 3 waits for mutex first, which task 2 holds\n" in shown, shown)
    shown = said(hang("vfork", victim=child))
    check("deadlock" not in shown and re.search(r"\n  task 3 waits for mutex first\n", shown), shown)


@case("a handler that waits for malloc's lock, which what it interrupted may hold")
def handler():
    shown = said(hang("handler"))
    check("\n  task 1 waits for a lock inside malloc, in a signal handler that interrupted free\n      allocate %s: " % line("handler") in shown, shown)
    check("deadlock" not in shown, shown)


@case("a loop without an end: the function that is not left, and not those that it calls")
def spins():
    trace = fresh("trace")
    recorder = start([BTREC, "run", "-q", "-o", trace, "--", program(), "spins"], stdout=subprocess.PIPE, cwd=TMP)
    equal(recorder.stdout.readline(), b"ready\n", "the program's line")
    pid = children(children(recorder.pid)[0])[0]
    time.sleep(1)
    os.kill(pid, signal.SIGTERM)
    recorder.communicate(timeout=TIMEOUT)
    shown = said(trace)
    found = re.search(r"; task 1 has not left spin for at least (\d+) ticks\n", shown)
    check(found, shown)
    check("\n  task 1 runs\n" in shown, shown)


@case("a ring with a join that another thread may cancel is no deadlock; one that nobody can is")
def cancelled():
    trace = hang("cancels", by=signal.SIGUSR1)
    equal(report(trace, "-n", 1)["exit"].get("status"), 0, "status of the program that cancels")
    trace = hang("cancels")
    shown = said(trace)
    check("deadlock" not in shown, shown)
    check("; tasks 2 and 3 wait for each other, unless one that joins is cancelled\n" in shown, shown)
    waits = report(trace, "-n", 1)["waits"]
    equal((waits["deadlock"], [w["deadlocked"] for w in waits["threads"]]), (None, [False] * 3), "in the JSON")
    shown = said(hang("cannot-cancel"))
    check("; deadlock: tasks 2 and 3 wait for each other\n" in shown, shown)


@case("a handler that has run does not end a wait for a lock; nor does a robust lock whose owner waits")
def goes_on():
    shown = said(hang("signalled"))
    check("; deadlock: tasks 2 and 3 wait for each other\n" in shown, shown)
    shown = said(hang("robust-ring"))
    check("; deadlock: tasks 1 and 2 wait for each other\n" in shown, shown)


@case("waits that may end are no deadlock")
def controls():
    expected = {
        "condition": ["task 2 and 3 more, each waits for condition variable filled\n      fill %s: " % line("condition"),
                      "task 1 waits for semaphore seats\n      condition %s: " % line("semaphore")],
        "timed": ["task 1 waits for mutex first, which it holds itself, for a time at most\n      timed %s: " % line("timed")],
        "refused": ["task 1 waits: the kernel refused it its mutex, which would be a deadlock, for a time at most\n"],
        "held": ["task 1 waits for mutex first, which task 2 holds\n      held %s: " % line("held"), "task 2 is in clock_nanosleep(CLOCK_REALTIME, 0, "],
        "timed-ring": ["task 2 waits for mutex first, which task 1 holds, for a time at most\n", "task 1 waits for mutex second, which task 2 holds\n"],
        "semaphore-ring": ["task 1 waits for mutex second, which task 2 holds\n", "task 2 waits for semaphore seats\n"],
        "pipe": ["task 1 is in read(3, 0x"],
        "writer": ["task 1 is in pause()\n"],
    }
    for kind, lines in expected.items():
        trace = hang(kind)
        shown = said(trace)
        check("deadlock:" not in shown, "%s: %s" % (kind, shown))
        for wanted in lines:
            check("\n  " + wanted in shown, "%s: no %s in %s" % (kind, wanted, shown))
        if kind == "condition": # the place is not the sender's
            with open("/proc/self/comm") as file:
                sender = "%s (pid %d)" % (file.read().strip(), os.getpid())
            equal(btview("--headline", trace).out.decode().strip(), "SIGTERM, sent by %s, while in condition %s" % (sender, line("semaphore")), "headline")


if __name__ == "__main__":
    main()
