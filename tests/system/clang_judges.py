#!/usr/bin/env python3
"""clang_judges.py SOURCE - the judges of tools/rmds test do not look again at what they found good,
and look again at all that a change may have made bad."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys
import tempfile

SCRIPT = os.path.join(os.path.realpath(sys.argv[1]), "tests", "clang_judges.py")
FILES = ("src/a.c", "src/b.c", "tests/c.c")
# A judge that writes down what it is given, and calls a file bad that says so.
JUDGE = """#!/bin/sh
[ "$1" = --version ] && exec echo "$0" 14
for word; do case $word in *.c)
    echo "${{0##*/}} ${{word##*/}}" >>{folder}/asked
    grep -q bad $word && echo "$word: error" && echo "$word: error" >&2 && exit 1
esac; done
exit 0
"""


class Project:
    def __init__(self, folder):
        self.folder = folder
        self.build = os.path.join(folder, "build-x")
        for name in ("src", "tests", "bin", "build-x/log"):
            os.makedirs(os.path.join(folder, name))
        shutil.copy(SCRIPT, os.path.join(folder, "tests"))
        self.write("src/a.h", "1")
        self.write(".clang-tidy", "1")
        for name in FILES:
            self.write(name, "fine")
        for name in ("clang", "clang-tidy"):
            self.write("bin/" + name, JUDGE.format(folder=folder))
            os.chmod(os.path.join(folder, "bin", name), 0o755)
        entries = [{"file": os.path.join(folder, name), "directory": folder,
                    "command": f"clang -o x.o -c {folder}/{name}"} for name in FILES]
        self.write("build-x/compile_commands.json", json.dumps(entries))
        self.write("product", "src/a.c\nsrc/b.c\n")
        self.write("changed", "src/b.c\n")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def run(self, *words):
        """(exit code, what was judged)"""
        self.write("asked", "")
        path = os.path.join(self.folder, "bin") + ":" + os.environ["PATH"]
        done = subprocess.run([sys.executable, os.path.join(self.folder, "tests/clang_judges.py"),
                               self.build, *words], cwd=self.folder, check=False,
                              env=dict(os.environ, PATH=path), capture_output=True, text=True)
        with open(os.path.join(self.folder, "asked"), encoding="utf-8") as file:
            return done.returncode, sorted(file.read().split("\n"))[1:]

    def tidy(self):
        return self.run("tidy", "product", "changed")

    def warnings(self):
        return self.run("warnings", "product")


def main():
    with tempfile.TemporaryDirectory() as folder:
        project = Project(folder)
        every = (0, ["clang-tidy a.c", "clang-tidy b.c", "clang-tidy b.c"])
        assert project.tidy() == every
        assert project.warnings() == (0, ["clang c.c"])
        assert project.tidy() == (0, []) and project.warnings() == (0, [])
        project.write("src/a.h", "2")
        assert project.tidy() == every and project.warnings() == (0, ["clang c.c"])
        project.write(".clang-tidy", "2")
        assert project.tidy() == every
        # What the last commit changed is another question than what was judged before.
        project.write("changed", "src/a.c\n")
        assert project.tidy() == (0, ["clang-tidy a.c"])
        project.write("src/a.c", "bad")
        for _ in range(2):
            code, asked = project.tidy()
            assert code == 1 and "clang-tidy a.c" in asked and "clang-tidy b.c" not in asked, asked
        project.write("tests/c.c", "bad")
        for _ in range(2):
            assert project.warnings() == (1, ["clang c.c"])
        project.write("src/a.c", "mended")
        project.write("tests/c.c", "mended")
        assert project.tidy()[0] == 0 and project.warnings()[0] == 0
        assert project.tidy() == (0, []) and project.warnings() == (0, [])


if __name__ == "__main__":
    main()
