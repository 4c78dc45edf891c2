#!/usr/bin/env python3
"""build_progress.py SOURCE - what tools/rmds build asks of CMake, and what it shows: one repainted
line on a terminal, elsewhere a few; the log is whole."""
# SPDX-License-Identifier: Apache-2.0
import os
import pty
import re
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
NINJA = "".join(f"[{n}/400] Building C object src/x/CMakeFiles/x.dir/file{n}.c.o\n"
                for n in range(1, 401)) + "warning: w\n"
BAD = []


def check(condition, what):
    if not condition:
        BAD.append(what)


def show(folder, out):
    """What show_progress makes of ninja's lines goes to `out`; its log."""
    log = os.path.join(folder, "log")
    done = subprocess.run(["bash", "-c",
                           f'. "{SOURCE}/tools/rmds-lib.sh"; . "{SOURCE}/tools/rmds-build.sh"; '
                           f'show_progress "build release" "{log}"'], input=NINJA, text=True,
                          stdout=out, check=False,
                          env={**os.environ, "TERM": "xterm"}, timeout=90)
    check(done.returncode == 0, f"exit code {done.returncode}")
    with open(log, encoding="ascii") as file:
        check(file.read() == NINJA, "the log is not what ninja said")


def terminal(folder):
    ours, theirs = pty.openpty()
    pid = os.fork()
    if pid == 0:  # reads, so that the other side never waits
        os.close(theirs)
        with open(os.path.join(folder, "screen"), "wb") as file:
            try:
                while True:
                    file.write(os.read(ours, 65536))
                    file.flush()
            except OSError:
                os._exit(0)
    os.close(ours)
    show(folder, theirs)
    os.close(theirs)
    os.waitpid(pid, 0)
    with open(os.path.join(folder, "screen"), encoding="ascii", newline="") as file:
        text = file.read()
    check("\n" not in text, f"more than a line: {text[:300]!r}")
    lines = text.split("\r")
    check(re.search(r"build release +400 of 400, \d+ s  \S*file400\.c\.o\x1b\[K", lines[-2])
          and lines[-1] == "\x1b[K",
          f"the last line: {lines[-2:]}")
    check(max(len(line) for line in lines) <= 79 + len("\x1b[K"),
          "a line is longer than the terminal")


def file(folder):
    with open(os.path.join(folder, "out"), "w+", encoding="ascii") as out:
        show(folder, out)
        out.seek(0)
        lines = out.read().splitlines()
    check(len(lines) <= 10 and all(re.match(r"\[\.\.\]  build release +\d+ of 400, \d+ s$", line)
                                   for line in lines), f"{lines}")


def without_cmocka(folder):
    """Where cmocka is missing the programs are built without the tests; once tests are wanted, they
    are there."""
    os.mkdir(os.path.join(folder, "bin"))
    open(os.path.join(folder, "CMakePresets.json"), "w", encoding="ascii").close()
    for name, text in (("pkg-config", "exit 1"), ("cmake", f"""echo "$*" >>{folder}/asked
[ "$1" = --preset ] || exit 0
touch {folder}/build/build.ninja
case "$*" in *=OFF) echo RMDS_TESTS:BOOL=OFF ;; *) echo RMDS_TESTS:BOOL=ON ;; esac >{folder}/build/CMakeCache.txt""")):
        path = os.path.join(folder, "bin", name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
    for target in ("chain", "product", "test_x", "product"):
        subprocess.run(["bash", "-c",
                        f'root={folder}; . "{SOURCE}/tools/rmds-lib.sh"; . '
                        f'"{SOURCE}/tools/rmds-build.sh"; '
                        f"configure_build release {target}"], check=False, timeout=90,
                       stdout=subprocess.DEVNULL,
                       env={**os.environ,
                            "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"]})
    with open(os.path.join(folder, "asked"), encoding="ascii") as file:
        asked = file.read().replace(folder, "").splitlines()
    build = "--build /build --target "
    wanted = ["--preset release -DRMDS_TESTS=OFF", build + "chain", build + "product",
              "--preset release -DRMDS_TESTS=ON",
              build + "test_x", build + "product"]
    check(asked == wanted, f"CMake was asked {asked}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        terminal(folder)
        file(folder)
        without_cmocka(folder)
    print("\n".join(BAD) or "ok")
    return 1 if BAD else 0


if __name__ == "__main__":
    sys.exit(main())
