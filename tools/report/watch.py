"""watch.py - how late a CPU runs a thread that nothing of ours can hold up: one watch a CPU, above
the priority of what is measured, sleeps for a millisecond at a time and notes each late wake.

    python3 tools/report/watch.py [--seconds S] [--priority P]    on a machine that does nothing else

A late wake is the host's, or the kernel's where it lets nobody in (interrupts, the share of ordinary
processes): with nothing else to run it is the host's."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import bisect
import os
import signal
import subprocess
import sys
import tempfile
import time

PERIOD_NS = 1_000_000
LATE_NS = 300_000  # below it is what a wake takes beside interrupts
TOLD_NS = 1_000_000  # what the sentences and the share count


def keep(cpu, priority):
    """The watch of one CPU: prints when each late wake was due, and when it came, for as long as
    the one who asked for it lives."""
    parent = os.getppid()
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    print("on", flush=True)
    due = time.monotonic_ns() + PERIOD_NS
    while os.getppid() == parent:
        time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
        now = time.monotonic_ns()
        if now - due > LATE_NS:
            print(due, now, flush=True)
            due = now
        due += PERIOD_NS


class Watch:
    """The watches of all CPUs, or of none where the privilege is not there (`priority` 0, too)."""

    def __init__(self, priority):
        self.late, self.kept, self.began = {}, {}, time.monotonic_ns()
        self.seconds = 0
        for cpu in sorted(os.sched_getaffinity(0)) if priority else ():
            notes = tempfile.TemporaryFile("w+")
            words = [sys.executable, os.path.realpath(__file__), "--keep", str(cpu),
                     "--priority", str(priority)]
            self.kept[cpu] = (subprocess.Popen(words, stdout=notes, stderr=subprocess.DEVNULL),
                              notes)

    def close(self):
        """Ends the watches; may be called again."""
        if self.kept:
            self.seconds = (time.monotonic_ns() - self.began) / 1e9
        for cpu, (process, notes) in self.kept.items():
            process.send_signal(signal.SIGKILL)
            process.wait()
            notes.seek(0)
            lines = notes.read().splitlines()
            if lines and lines[0] == "on":
                pairs = [line.split() for line in lines[1:]]
                self.late[cpu] = [(int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2]
            notes.close()
        self.kept = {}
        return self

    def above(self, cpu):
        """The late wakes of a CPU that count, in ms."""
        return [(stop - begin) / 1e6 for begin, stop in self.late[cpu]
                if stop - begin > TOLD_NS]

    def share(self):
        """For what share of the time one of the CPUs was late, in percent; None: not watched."""
        ms = sum(sum(self.above(cpu)) for cpu in self.late)
        return ms / 10 / max(self.seconds, 1e-9) if self.late else None

    def between(self, start, end, cpus=None):
        """How many ns between two times every one of these CPUs (all watched ones) was late."""
        both = [(start, end)]
        for cpu in self.late if cpus is None else cpus:
            if cpu not in self.late:
                return 0
            both = overlaps(both, self.late[cpu])
        return sum(stop - begin for begin, stop in both) if self.late else 0

    def say(self):
        """A sentence for each CPU."""
        for cpu in self.late:
            above = self.above(cpu)
            longest = max(above, default=0)
            yield (f"CPU {cpu} woke its watch late by more than 1 ms {len(above)} times in "
                   f"{self.seconds:.0f} s, by {longest:.1f} ms at most, "
                   f"{sum(above) / 10 / max(self.seconds, 1e-9):.2f} % of the time")


def overlaps(windows, late):
    """What two ordered lists of windows have in common."""
    out = []
    for start, end in windows:
        at = bisect.bisect_right(late, start, key=lambda one: one[1])
        while at < len(late) and late[at][0] < end:
            out.append((max(start, late[at][0]), min(end, late[at][1])))
            at += 1
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, metavar="S")
    parser.add_argument("--priority", type=int, default=60, metavar="P")
    parser.add_argument("--keep", type=int, metavar="CPU", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keep is not None:
        return keep(options.keep, options.priority)
    watch = Watch(options.priority)
    time.sleep(options.seconds)
    watch.close()
    for line in watch.say():
        print(line)
    return 0 if watch.late else 1


if __name__ == "__main__":
    sys.exit(main())
