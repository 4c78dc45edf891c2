"""machine.py - how busy this machine is and how long a program waits for its turn: what a latency
is to be seen against."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import os
import signal
import time

TURNS = 5  # of src_dist, rrcpd, rrcpd, p2ps, consumer: each is woken by the one before it
PAUSE_S = 0.002
PR_SET_PDEATHSIG, PR_SET_TIMERSLACK = 1, 29


def cpu_times():
    with open("/proc/stat", encoding="ascii") as f:
        return [int(word) for word in f.readline().split()[1:9]]


def stolen(before):
    """Percent of the CPU time since then that the host gave to others."""
    passed = [now - then for now, then in zip(cpu_times(), before)]
    return 100 * passed[7] / max(1, sum(passed))


class Waits:
    """A process that sleeps again and again, and notes how much later than asked for it runs: the
    wait for a core."""

    def __init__(self):
        self.load, self.before, self.waits = os.getloadavg()[0], cpu_times(), []
        reading, writing = os.pipe()
        self.pipe = os.fdopen(reading, "rb")
        self.child = os.fork()
        if self.child == 0:
            try:
                self.note(writing)
            finally:
                os._exit(0)
        os.close(writing)

    @staticmethod
    def note(writing):
        libc, over = ctypes.CDLL(None), []
        signal.signal(signal.SIGTERM, lambda *_: over.append(True))
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        libc.prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0)
        waits = []
        while not over:
            due = time.perf_counter() + PAUSE_S
            time.sleep(PAUSE_S)
            waits.append(max(0, round((time.perf_counter() - due) * 1e6)))
        with os.fdopen(writing, "wb") as out:
            out.write(json.dumps(waits).encode())

    def stop(self):
        if self.child is None:
            return
        os.kill(self.child, signal.SIGTERM)
        with self.pipe:
            self.waits = sorted(json.loads(self.pipe.read() or b"[]")) or [0]
        os.waitpid(self.child, 0)
        self.child, self.steal = None, stolen(self.before)

    def sentence(self):
        """What is normal: the waits as they were, not a figure from elsewhere."""
        cores = len(os.sched_getaffinity(0))
        steal = f", {self.steal:.0f} % of it taken by the host" if self.steal >= 1 else ""
        mean, high = sum(self.waits) / len(self.waits), self.waits[len(self.waits) * 99 // 100]
        return (
            f"normal here: with {cores} core{'s' if cores > 1 else ''} and load "
            f"{self.load:.1f}{steal} a program waited"
                f" {mean:,.0f} us for its turn on average (p99 {high:,} us) while this ran, and an "
                f"update needs"
                f" {TURNS} such turns: {TURNS * mean:,.0f} us.")
