#!/usr/bin/env python3
"""commit_msg.py SOURCE - the commit-msg hook as git calls it, and its installation."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
LONG = "p2ps: count " + "x" * 48
ACCEPTED = ["p2ps: refuse a second login", "bench latency: print the steal",
            "demo, chaos: wait for events", LONG,
            "Merge branch 'other'",
            'Revert "p2ps: what was too long to be a subject of our own, really"',
            "fixup! p2ps: refuse a second login", "rwf: set the read size",
            "docs: put sizes into a table"]
REFUSED = [(LONG + "x", "61 characters, 60 is the limit"),
           ("p2ps: refuse logins; cut silence", "make two"),
           ("p2ps: refuse a second login.", "period"),
           ("refuse a second login", "area: do the thing"),
           ("p2ps: ", "area: do the thing"), ("p2ps: refused a second login", '"refuse"'),
           ("p2ps: refuses a second login", '"refuse"'),
           ("p2ps: refusing a second login", '"refuse"'),
           ("p2ps: wrote the table", '"write"'), ("p2ps: retries the login", '"retry"'),
           ("p2ps: stopped the clock", '"stop"'),
           ("p2ps: the login is refused", "begin with a verb"),
           ("p2ps: refuse a login\nbecause", "no empty line")]
BAD = []


def check(condition, what):
    if not condition:
        BAD.append(what)


class Tree:
    """A repository of its own, which no configuration of this machine reaches."""

    def __init__(self, folder):
        self.folder = folder
        self.env = {name: value for name,
                    value in os.environ.items() if not name.startswith("GIT_")}
        self.env.update(HOME=folder, GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull,
                        GIT_AUTHOR_NAME="a",
                        GIT_AUTHOR_EMAIL="a@b.invalid", GIT_COMMITTER_NAME="a",
                        GIT_COMMITTER_EMAIL="a@b.invalid")
        self.git("init", "-q")
        os.makedirs(os.path.join(folder, "tools/hooks"))
        for path in ("tools/hooks/commit-msg", "tools/rmds-lib.sh"):
            shutil.copy(os.path.join(SOURCE, path), os.path.join(folder, path))
        self.git("add", "tools")
        self.git("commit", "-qm", "tools: begin")

    def git(self, *words):
        return subprocess.run(["git", "-C", self.folder, *words], env=self.env, capture_output=True,
                              text=True,
                              check=False)

    def install(self):
        done = subprocess.run(["bash", "-c",
                               f'. "{self.folder}/tools/rmds-lib.sh"; install_hook "{self.folder}"'],
                              env=self.env, capture_output=True, text=True, check=False)
        check(done.returncode == 0 and not done.stdout + done.stderr, f"install_hook: {done}")

    def commit(self, message, lines=1):
        """One commit that adds a file of so many lines; the branch is as before afterwards."""
        with open(os.path.join(self.folder, "file"), "w", encoding="ascii") as file:
            file.write("line\n" * lines)
        self.git("add", "file")
        before = self.git("rev-parse", "HEAD").stdout.strip()
        done = self.git("commit", "-m", message)
        self.git("reset", "-q", before)
        return done


def messages(tree):
    for message in ACCEPTED:
        done = tree.commit(message)
        check(done.returncode == 0, f"refused: {message!r}: {done.stderr}")
    for message, reason in REFUSED:
        done = tree.commit(message)
        check(done.returncode == 1 and reason in done.stderr,
              f"not refused: {message!r}: {done.stderr}")
    check(tree.commit("p2ps: refuse it", 20).returncode == 0, "20 lines without a body are refused")
    for message in ("p2ps: refuse it", "p2ps: refuse it\n\nSigned-off-by: a <a@b.invalid>"):
        done = tree.commit(message, 21)
        check(done.returncode == 1 and "21 lines change" in done.stderr,
              f"no body, accepted: {done}")
    check(tree.commit("p2ps: refuse it\n\nIt is wrong.", 21).returncode == 0, "a body is refused")


def comments(tree):
    """Lines of git's own in the file of the message are no part of it."""
    path = os.path.join(tree.folder, "message")
    with open(path, "w", encoding="ascii") as file:
        file.write("p2ps: refuse it\n# a comment\n\nwhy\n# ---- >8 ----\nsubject; of what -v "
                   "shows.\n")
    done = subprocess.run([os.path.join(tree.folder, "tools/hooks/commit-msg"), path], env=tree.env,
                          cwd=tree.folder,
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"lines of git are judged: {done.stderr}")


def installation(tree):
    hook = os.path.join(tree.folder, ".git/hooks/commit-msg")
    with open(hook, encoding="ascii") as file:
        ours = file.read()
    tree.install()
    with open(hook, encoding="ascii") as file:
        check(file.read() == ours, "a second installation changes the hook")
    with open(hook, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexit 0\n")
    tree.install()
    check(tree.commit("whatever; it is.").returncode == 0,
          "a hook of the user's own is overwritten")
    os.remove(hook)
    tree.git("config", "core.hooksPath", os.path.join(tree.folder, "own"))
    tree.install()
    check(not os.path.exists(hook) and not os.path.exists(os.path.join(tree.folder, "own")),
          "a hook is installed beside core.hooksPath")
    tree.git("config", "--unset", "core.hooksPath")
    shutil.rmtree(os.path.join(tree.folder, ".git"))
    tree.install()
    check(not os.path.exists(os.path.join(tree.folder, ".git")), "a tree without git is changed")


def main():
    if not shutil.which("git"):
        print("git is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(folder)
        tree.install()
        messages(tree)
        comments(tree)
        installation(tree)
    print("\n".join(BAD) or "ok")
    return 1 if BAD else 0


if __name__ == "__main__":
    sys.exit(main())
