# SPDX-License-Identifier: MIT
# Past bugs of real Debian programs (tests/gallery/debian.ini): the fix is reverted in Debian's source, that is built, and its first
# screen must hold the sentence and lead into the function. Needs the network and some minutes: a part of ./check --full.
import configparser
import os
import re
import shlex
import shutil
import subprocess

import e2e
from e2e import Skip, case, check
from first_screen import as_shown, first_screen, lacking, on_screen, recorded

GALLERY = os.path.normpath(os.path.join(e2e.HERE, "..", "gallery"))
made = {} # by source and reverted patches: the folder


def apt():
    """apt-get with the sources of this release, and lists of its own: what the machine has configured stays as it is."""
    where = os.path.join(e2e.TMP, "apt")
    if not os.path.isdir(where):
        with open("/etc/os-release") as file:
            release = re.search(r"^VERSION_CODENAME=\"?(\w+)", file.read(), re.M)
        if not release or not shutil.which("apt-get") or not shutil.which("dpkg-source"):
            raise Skip("not a Debian system with dpkg-dev")
        os.makedirs(os.path.join(where, "lists", "partial"))
        os.makedirs(os.path.join(where, "parts"))
        with open(os.path.join(where, "parts", "debian.sources"), "w") as file:
            file.write("Types: deb-src\nURIs: http://deb.debian.org/debian\nSuites: %s\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n" % release.group(1))
    argv = ["apt-get", "-q"]
    for name, value in (("Dir::Etc::SourceList", "/dev/null"), ("Dir::Etc::SourceParts", where + "/parts"), ("Dir::State::Lists", where + "/lists"),
                        ("Dir::Cache::srcpkgcache", ""), ("Dir::Cache::pkgcache", ""), ("APT::Sandbox::User", "")):
        argv += ["-o", "%s=%s" % (name, value)]
    if not any(name.endswith("Sources") or "Sources." in name for name in os.listdir(where + "/lists")):
        done = subprocess.run([*argv, "update"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode or not any("Sources" in name for name in os.listdir(where + "/lists")):
            raise Skip("the registry has no sources: " + done.stdout.decode(errors="replace")[-300:])
    return argv


def do(argv, where, what):
    done = subprocess.run(argv, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=dict(os.environ, CFLAGS="-g -O0", CC="gcc"))
    check(not done.returncode, "%s: %s" % (what, done.stdout.decode(errors="replace")[-2000:]))


def built(row):
    key = (row["source"], row["revert"])
    if key in made:
        return made[key]
    where = e2e.fresh_dir("source")
    fetched = subprocess.run([*apt(), "source", "--download-only", row["source"]], cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    described = [name for name in os.listdir(where) if name.endswith(".dsc")]
    if fetched.returncode or not described:
        raise Skip("no source of %s: %s" % (row["source"], fetched.stdout.decode(errors="replace")[-300:]))
    source = os.path.join(where, "source")
    do(["dpkg-source", "--no-check", "-x", os.path.join(where, described[0]), source], where, "dpkg-source")
    for name in row["revert"].split():
        fix = os.path.join(source, "debian", "patches", name)
        if not os.path.exists(fix):
            raise Skip("%s has no %s: the fixes are known of version %s" % (described[0], name, row["version"]))
        do(["patch", "-s", "-R", "-p1", "-i", fix], source, "reverting " + name)
    for line in row["make"].splitlines():
        do(shlex.split(line), source, line)
    made[key] = source
    return source


def lines_of(source, place):
    """file:line of each line of a function, from its name in the first column, or behind its type, to the brace that ends it."""
    name, function = place.split(":")
    for folder, _, names in os.walk(source):
        if name not in names:
            continue
        with open(os.path.join(folder, name), errors="replace") as file:
            lines = file.read().splitlines()
        begin = [i for i, line in enumerate(lines) if re.match(r"(\w[\w *]*[ *])?%s *\((?!.*;)" % re.escape(function), line)]
        if begin:
            last = next(i for i in range(begin[-1], len(lines)) if lines[i].startswith("}"))
            return ["%s:%d" % (name, i + 1) for i in range(begin[-1], last + 1)]
    raise e2e.Failure("no %s in the source" % place)


def bug_case(name, row):
    @case("%s: %s" % (name, row["fix"]))
    def is_told():
        source = built(row)
        where = e2e.fresh_dir("bug")
        for given in os.listdir(os.path.join(GALLERY, "debian")):
            shutil.copy(os.path.join(GALLERY, "debian", given), where)
        trace, done = recorded([word.replace("{src}", source) for word in shlex.split(row["run"])], where, row.get("until"))
        try:
            shown = first_screen(trace)
        finally:
            done()
        screen = on_screen(shown)
        lacks = lacking(screen, row["sentence"].splitlines(), lines_of(source, row["line"]))
        check(not lacks, "; ".join(lacks) + "\n" + as_shown(screen, shown))


table = configparser.ConfigParser(interpolation=None)
with open(os.path.join(GALLERY, "debian.ini")) as file_:
    table.read_file(file_)
for name_ in table.sections():
    bug_case(name_, table[name_])
e2e.main()
