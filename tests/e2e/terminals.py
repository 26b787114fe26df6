# SPDX-License-Identifier: MIT
# Processes on terminals of their own, and shells with job control there; for the scripts beside it.
import fcntl
import pty
import select
import struct
import termios

from e2e import *


class Terminal:
    """A process that leads a session on a terminal of its own."""

    def __init__(self, argv, env=None):
        self.seen = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                signal.pthread_sigmask(signal.SIG_SETMASK, [])
                limit_core(0)
                os.chdir(TMP)
                os.execvpe(argv[0], argv, env or dict(os.environ, PS1="$ ", TERM="dumb", HISTFILE="/dev/null"))
            finally:
                os._exit(99)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))

    def expect(self, pattern, seconds=30):
        """Reads on until the pattern comes; what was read up to its end is forgotten. Returns the match."""
        end = time.monotonic() + seconds
        while True:
            match = re.search(pattern.encode(), self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return match
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            try:
                more = os.read(self.fd, 65536) if ready else b""
            except OSError:
                more = b""
            if not more:
                raise Failure("%r does not come; the terminal shows %s" % (pattern, short(self.seen)))
            self.seen += more

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def wait(self, seconds=30):
        """The process's end, as in Result."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.pid = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        raise Failure("still running; the terminal shows %s" % short(self.seen))

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.pid:
            # Closing hangs up; what ignores that is killed with its session's leader.
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        self.close()


def shell():
    if not shutil.which("bash"):
        raise Skip("bash is missing")
    t = Terminal(["bash", "--norc", "--noprofile", "-i"])
    t.expect(r"\$ $")
    return t


def command(argv):
    return " ".join("'%s'" % part for part in argv)


def ask_status(t):
    t.send("echo status=$?.\r")
    return int(t.expect(r"status=(\d+)\.\r").group(1))
