#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# pictures.py BUILDDIR: the viewer's views as pictures, doc/pictures/NAME.svg: examples/stale.c is recorded, btview runs in tmux, and what stands on
# its screen is drawn, colours included. Also make, whose children fail, for the processes.
import html
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = os.path.abspath(sys.argv[1])
WORK = "/tmp/btrec-pictures" # it is on the pictures
COLUMNS, ROWS, WIDTH, HEIGHT = 100, 30, 8.4, 18
COLOURS = ["#000000", "#c01c28", "#26a269", "#a2734c", "#3465a4", "#a347ba", "#2aa1b3", "#d0cfcc"]
# name of the picture, of the view, and the keys that lead to it
VIEWS = [("summary", "summary", []), ("branches", "branches", ["b", "k", "k", "k"]), ("calls", "calls", ["T", "k"]), ("threads", "threads", ["t", "j"]),
         ("registers", "registers", ["r"]), ("system-calls", "system calls", ["S"]), ("filter", "branches", ["b", "&", "kind:call", "Enter"]),
         ("help", "help", ["h"])]


class Tmux:
    def __init__(self, *command):
        self.environment = dict(os.environ, TMUX_TMPDIR=WORK, LC_ALL="C.UTF-8")
        self.environment.pop("TMUX", None)
        self("new-session", "-d", "-s", "v", "-x", str(COLUMNS), "-y", str(ROWS), *command)
        self("set", "-g", "status", "off")
        self("resize-window", "-t", "v", "-x", str(COLUMNS), "-y", str(ROWS))

    def __call__(self, *arguments):
        return subprocess.run(["tmux", "-u", "-L", "pictures", "-f", "/dev/null", *arguments], env=self.environment, check=True, capture_output=True, text=True).stdout

    def screen(self, view):
        """What stands there, with its escape sequences, once the view is shown and nothing changes."""
        before = None
        for _ in range(200):
            screen = self("capture-pane", "-p", "-e", "-t", "v")
            if screen == before and "[%s]" % view in screen:
                return screen
            before = screen
            time.sleep(0.1)
        sys.exit("pictures.py: %s does not come" % view)


def style_after(style, codes):
    """The style behind an escape sequence: foreground, background, bold, reversed, underlined."""
    front, back, bold, reverse, under = style
    for code in [int(c or 0) for c in codes.split(";")]:
        if code == 0:
            front, back, bold, reverse, under = None, None, False, False, False
        elif code == 1:
            bold = True
        elif code == 4:
            under = True
        elif code == 7:
            reverse = True
        elif 30 <= code < 38:
            front = code - 30
        elif 40 <= code < 48:
            back = code - 40
        elif code in (39, 49):
            front, back = (None, back) if code == 39 else (front, None)
    return front, back, bold, reverse, under


def runs(line, style):
    """Pieces of one style, and the style that goes on in the next line."""
    pieces = []
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        if part.startswith("\x1b"):
            style = style_after(style, part[2:-1])
        elif part:
            pieces.append((part.replace("\x0e", "").replace("\x0f", ""), style))
    return pieces, style


def svg(screen):
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" font-family="monospace" font-size="14">' % (COLUMNS * WIDTH + 16, ROWS * HEIGHT + 16),
           '<rect width="100%" height="100%" fill="#171421"/>']
    style = (None, None, False, False, False)
    for row, line in enumerate(screen.split("\n")[:ROWS]):
        pieces, style = runs(line, style)
        column = 0
        for text, (front, back, bold, reverse, under) in pieces:
            fore, behind = "#d0cfcc" if front is None else COLOURS[front], None if back is None else COLOURS[back]
            if reverse:
                fore, behind = behind or "#171421", fore
            x, y, width = 8 + column * WIDTH, 8 + row * HEIGHT, len(text) * WIDTH
            if behind:
                out.append('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>' % (x, y, width, HEIGHT, behind))
            if text.strip():
                out.append('<text x="%.1f" y="%d" textLength="%.1f" fill="%s"%s%s xml:space="preserve">%s</text>'
                           % (x, y + 14, width, fore, ' font-weight="bold"' * bold, ' text-decoration="underline"' * under, html.escape(text)))
            column += len(text)
    return "\n".join(out + ["</svg>", ""])


def picture(tmux, name, view):
    os.makedirs(os.path.join(ROOT, "doc", "pictures"), exist_ok=True)
    with open(os.path.join(ROOT, "doc", "pictures", name + ".svg"), "w") as file:
        file.write(svg(tmux.screen(view)))


def record(name, *command):
    subprocess.run([os.path.join(BUILD, "btrec"), "run", "-q", "-o", name, "--", *command], cwd=WORK, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def view(trace, views):
    tmux = Tmux("sh", "-c", "cd %s && TERM=screen %s/btview %s" % (WORK, BUILD, trace))
    try:
        tmux.screen("summary")
        for name, title, keys in views:
            for key in keys:
                tmux("send-keys", "-t", "v", key)
            picture(tmux, name, title)
    finally:
        tmux("kill-server")


def main():
    shutil.rmtree(WORK, True)
    os.mkdir(WORK)
    shutil.copy(os.path.join(ROOT, "examples", "stale.c"), WORK)
    subprocess.run(["cc", "-g", "-O1", "-pthread", "stale.c", "-o", "stale"], cwd=WORK, check=True)
    with open(os.path.join(WORK, "Makefile"), "w") as file:
        file.write("all: one two\none:\n\t./stale\ntwo:\n\tfalse\n")
    record("stale.trace", "./stale")
    record("make.trace", "make", "-k")
    view("stale.trace", VIEWS)
    view("make.trace", [("processes", "processes", ["p"])])
    shutil.rmtree(WORK, True)


main()
