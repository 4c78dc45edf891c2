#!/usr/bin/env python3
"""load.py - others on the CPUs: hogs, which always have work, and bursts of real-time priority.

    load.py hog
    load.py burst CPU SEED     every second once, at a moment and for a time that are drawn
"""
# SPDX-License-Identifier: Apache-2.0
import os
import random
import subprocess
import sys
import time

KINDS = {"hogs": ("hog",), "bursts": ("burst",), "both": ("hog", "burst")}
BURST_S = (0.05, 0.2)
PRIORITY = 50


def may_burst():
    """Nobody but root, in the host's own namespace of users, may have this priority."""
    def take():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    try:
        return subprocess.run(["true"], preexec_fn=take, check=False).returncode == 0
    except subprocess.SubprocessError:
        return False


class Load:
    """One process of each kind for each CPU. They end with this process, too: it is the first of
    its namespace."""

    def __init__(self, kind, seed):
        self.children = []
        for part in KINDS[kind]:
            for cpu in sorted(os.sched_getaffinity(0)):
                more = (str(cpu), str(seed * 64 + cpu)) if part == "burst" else ()
                self.children.append(subprocess.Popen([sys.executable, __file__, part, *more],
                                                      stdin=subprocess.DEVNULL,
                                                      start_new_session=True))

    def end(self):
        """What was wrong: one that has ended was no load."""
        wrong = [f"{child.args[2]} ended with code {child.returncode}" for child in self.children
                 if child.poll() is not None]
        for child in self.children:
            child.kill()
            child.wait()
        self.children = []
        return wrong


def hog():
    while True:
        pass


def burst(cpu, seed):
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    drawn, second = random.Random(seed), time.monotonic()
    while True:
        length = drawn.uniform(*BURST_S)
        start = second + drawn.uniform(0.0, 1.0 - length)
        time.sleep(max(0.0, start - time.monotonic()))
        end = time.monotonic() + length
        while time.monotonic() < end:
            pass
        second = max(second + 1.0, time.monotonic())


if __name__ == "__main__":
    if sys.argv[1] == "hog":
        hog()
    burst(int(sys.argv[2]), int(sys.argv[3]))
