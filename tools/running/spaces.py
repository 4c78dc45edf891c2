"""spaces.py - a script that runs in namespaces of its own: what it starts meets nobody, and nothing
of it stays behind."""
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import sys


def enter(mark, *kinds, trial="true"):
    """Run this script again behind `unshare KINDS`; the environment variable `mark` tells the
    second run from the first. True: this is the second run. False: no such namespaces can be had
    here, in which the shell command `trial` works."""
    if os.environ.get(mark):
        return True
    words = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), *kinds]
    if not shutil.which("unshare") or not shutil.which("ip"):
        return False
    if subprocess.run([*words, "sh", "-c", trial], capture_output=True,
                      check=False).returncode != 0:
        return False
    os.environ[mark] = "1"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


def loopback_up(has_multicast=False):
    """The loopback of a new network namespace is down."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    if has_multicast:
        subprocess.run(["ip", "link", "set", "lo", "multicast", "on"], check=True)
        subprocess.run(["ip", "route", "add", "224.0.0.0/4", "dev", "lo"], check=False)


def enter_network(mark):
    """For a test: a network namespace with a loopback; without one the test is skipped."""
    if not enter(mark, "-n"):
        print("SKIP: no network namespace may be made here")
        sys.exit(77)
    loopback_up()
