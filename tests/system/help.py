#!/usr/bin/env python3
"""help.py SOURCE - the front door says what it can do, and does nothing of it: nothing is built,
installed, run or left."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
# What must not be called to show help, or to refuse an option.
TRAPS = ("apt-get", "sudo", "cmake", "ninja", "ctest", "cc", "unshare", "rrcpd", "src_dist", "p2ps")
BAD = []


def check(condition, what):
    if not condition:
        BAD.append(what)


class Tree:
    """A copy of the tree, in which every trace shows."""

    def __init__(self, folder):
        self.folder, self.traps = os.path.join(folder, "tree"), os.path.join(folder, "traps")
        for name in ("home", "tmp", "traps"):
            os.mkdir(os.path.join(folder, name))
        for name in ("tools", "tests/bench", "tests/system", "src", "conf"):
            shutil.copytree(os.path.join(SOURCE, name), os.path.join(self.folder, name),
                            symlinks=True,
                            ignore=shutil.ignore_patterns("__pycache__", "target"))
        for name in ("CMakePresets.json", "CMakeLists.txt"):
            shutil.copy(os.path.join(SOURCE, name), self.folder)
        for name in TRAPS:
            path = os.path.join(self.traps, name)
            with open(path, "w", encoding="ascii") as file:
                file.write(f'#!/bin/sh\necho "$0 $*" >>"{folder}/trapped"\nexit 1\n')
            os.chmod(path, 0o755)
        self.root = folder
        self.env = {**os.environ, "PATH": self.traps + ":" + os.environ["PATH"],
                    "HOME": os.path.join(folder, "home"),
                    "TMPDIR": os.path.join(folder, "tmp")}
        for name in ("PYTHONDONTWRITEBYTECODE", "RMDS_ROOT", "RMDS_BUILD", "RMDS_BIN"):
            self.env.pop(name, None)

    def listing(self):
        found = {}
        for folder, _, files in os.walk(self.root):
            found[folder] = 0
            for name in files:
                found[os.path.join(folder, name)] = os.lstat(os.path.join(folder, name)).st_mtime_ns
        return found

    def ask(self, code, *words):
        """What the door says: on standard output if it is help, on standard error if it is a
        reason."""
        done = subprocess.run([os.path.join(self.folder, "tools/rmds"), *words], env=self.env,
                              capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
        text, other = (done.stdout, done.stderr) if code == 0 else (done.stderr, done.stdout)
        check(done.returncode == code and text and not other,
              f"rmds {' '.join(words)}: exit code {done.returncode}, wanted "
              f"{code}\n{done.stdout}{done.stderr}")
        return text


def verbs(tree):
    """Each is listed with a line; its help begins with its usage, and names what it is and -h."""
    text = tree.ask(0, "--help")
    check(text == tree.ask(0) == tree.ask(0, "-h") == tree.ask(0, "help"),
          "--help, -h and help differ")
    check(re.match(r"openrmds \d+\.\d+\.\d+ \(.+\)\n$", tree.ask(0, "--version")), "--version")
    names = re.findall(r"^  ([a-z]+) .*\S {1,}\S", text, re.M)
    there = [name for name in os.listdir(os.path.join(SOURCE, "tools/rmds.d")) if name != "bench"]
    check({"setup", "build", "test", "bench", *there} == set(names),
          f"listed: {names}, there: {there}")
    for name in names:
        said = tree.ask(0, name, "--help")
        check(re.match(rf"usage: tools/rmds {name}\b.*\n\n\S+ .*\n", said)
              and "\n  -h, --help " in said, f"{name}: {said}")
        check(said == tree.ask(0, name, "-h"), f"{name}: -h is not --help")
        check(max(map(len, said.splitlines())) <= 120, f"{name}: a line is too long")
    check(tree.ask(0, "help", "test") == tree.ask(0, "test", "vectors", "--help"),
          "help VERB, VERB WORD --help")


def benchmarks(tree):
    """The list has a line for each; each explains every option that it names."""
    text = tree.ask(0, "bench", "--help")
    check(text == tree.ask(0, "bench"), "bench without a name")
    listed = re.findall(r"^  ([a-z_]+)(.*)", text.split("NAME, ")[1], re.M)
    names = [name for name, said in listed if re.match(r" +[A-Za-z0-9]\S* ", said)]
    check(len(names) == len(listed), f"a benchmark without a word of what it is: {listed}")
    check({*os.listdir(os.path.join(SOURCE, "tools/rmds.d/bench")), "base", "cache",
           "conf"} <= set(names), f"{names}")
    for name in names:
        said = tree.ask(0, "bench", name, "--help")
        check(said.startswith(f"usage: tools/rmds bench {name}"), f"bench {name}: {said}")
        lines = re.sub(r"\n {20,}", " " * 3, said)
        for option in re.findall(r"^  (-.*)", lines, re.M):
            check(re.search(r"\S {2,}\S", option), f"bench {name}: {option} has no explanation")


def chaos(tree):
    """Its head names the options that its program has."""
    done = subprocess.run([sys.executable, "-B",
                           os.path.join(tree.folder, "tests/system/chaos/chaos.py"), "--help"],
                          env=tree.env, capture_output=True, text=True, check=False)
    ours, theirs = (set(re.findall(r"^ +(--[a-z-]+)", text, re.M))
                    for text in (tree.ask(0, "chaos", "--help"), done.stdout))
    check(ours == theirs != set(), f"chaos: {ours ^ theirs}")


def refusals(tree):
    """What is not understood is named, with a remedy, before anything happens."""
    for words, texts in {
        ("tset",): ('no verb "tset"', "did you mean test?", "tools/rmds --help"),
        ("../lib",): ('no verb "../lib"',),
        ("build", "debgu"): ('no preset "debgu"', "did you mean debug?", "tools/rmds build --help"),
        ("test", "--lnog"): ("no option --lnog", "did you mean --long?", "tools/rmds test --help"),
        ("docs", "now"): ('"now"', "takes no argument"),
        ("chaos", "--seeed", "4"): ("did you mean --seed?",),
        ("chaos", "--seed", "four"): ("--seed", "four"),
        ("logs", "-x5"): ("no option -x5", "tools/rmds logs --help"),
        ("status", "--al"): ("did you mean --all?",),
        ("down", "a", "b", "c"): ('"', "tools/rmds down --help"),
        ("bench", "latancy"): ('no benchmark "latancy"', "did you mean latency?",
                               "tools/rmds bench --help"),
        ("bench", "../demo"): ("no benchmark",),
        ("bench", "latency", "--foo"): ("--foo", "tools/rmds bench latency --help"),
        ("bench", "base", "--cvs"): ("did you mean --csv?", "tools/rmds bench base --help"),
    }.items():
        said = tree.ask(2, *words)
        for text in texts:
            check(text in said, f"rmds {' '.join(words)}: no '{text}' in: {said}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder)
        before = tree.listing()
        verbs(tree)
        benchmarks(tree)
        chaos(tree)
        refusals(tree)
        after = tree.listing()
        for path in sorted(set(before.items()) ^ set(after.items())):
            check(False, f"changed: {path[0]}")
    print("\n".join(BAD) or "ok")
    return 1 if BAD else 0


if __name__ == "__main__":
    sys.exit(main())
