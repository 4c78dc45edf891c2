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


def keep(cpu, priority, parent):
    """The watch of one CPU: prints when each late wake was due, and when it came, for as long as
    the one who asked for it lives."""
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


class Keeper:
    """The process that watches one CPU, and what it has noted."""

    def __init__(self, cpu, priority):
        self.notes, self.troubles = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        words = [sys.executable, os.path.realpath(__file__), "--keep", str(cpu), "--priority",
                 str(priority), "--parent", str(os.getpid())]
        self.process = subprocess.Popen(words, stdout=self.notes, stderr=self.troubles)

    def end(self):
        """([(due, came)], None), or (None, why it did not watch)."""
        has_ended = self.process.poll() is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        notes, troubles = read(self.notes), read(self.troubles)
        if not notes or notes[0] != "on" or has_ended:
            return None, troubles[-1] if troubles else "it did not begin in time"
        pairs = [line.split() for line in notes[1:]]
        return [(int(pair[0]), int(pair[1])) for pair in pairs if len(pair) == 2], None


def read(file):
    with file:
        file.seek(0)
        return file.read().splitlines()


class Watch:
    """The watches of these CPUs (of all that this process may use); of none with priority 0."""

    def __init__(self, priority, cpus=None):
        cpus = os.sched_getaffinity(0) if cpus is None else cpus
        self.late, self.troubles, self.began, self.seconds = {}, {}, time.monotonic_ns(), 0
        self.keepers = {cpu: Keeper(cpu, priority) for cpu in sorted(cpus)} if priority else {}

    def close(self):
        """Ends the watches; may be called again."""
        if self.keepers:
            self.seconds = (time.monotonic_ns() - self.began) / 1e9
        for cpu, keeper in self.keepers.items():
            late, trouble = keeper.end()
            if trouble:
                self.troubles[cpu] = trouble
            else:
                self.late[cpu] = late
        self.keepers = {}
        return self

    def above(self, cpu):
        """The late wakes of a CPU that count, as (due, came)."""
        return [one for one in self.late[cpu] if one[1] - one[0] > TOLD_NS]

    def share(self, seconds):
        """For what share of `seconds`, in percent, some CPU was late, if all of its lateness since
        the beginning lay in them: so at most. None: not all CPUs were watched."""
        if self.troubles or not self.late:
            return None
        windows = union(one for cpu in self.late for one in self.above(cpu))
        return sum(stop - begin for begin, stop in windows) / 1e7 / seconds

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
            above = [(stop - begin) / 1e6 for begin, stop in self.above(cpu)]
            yield (f"CPU {cpu} woke its watch late by more than 1 ms {len(above)} times in "
                   f"{self.seconds:.0f} s, by {max(above, default=0):.1f} ms at most, "
                   f"{sum(above) / 10 / max(self.seconds, 1e-9):.2f} % of the time")
        for cpu, trouble in self.troubles.items():
            yield f"CPU {cpu} had no watch: {trouble}"


def union(windows):
    """Windows that touch become one."""
    out = []
    for start, end in sorted(windows):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


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
    parser.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keep is not None:
        return keep(options.keep, options.priority, options.parent)
    watch = Watch(options.priority)
    time.sleep(options.seconds)
    watch.close()
    for line in watch.say():
        print(line)
    return 0 if watch.late else 1


if __name__ == "__main__":
    sys.exit(main())
