#!/usr/bin/env python3
"""mirror_cost.py - the CPU time that mirrorSequence takes of an update, in src_dist and in p2ps.

Two mirrored src_dist, one p2ps and one consumer, with mirrorSequence on and off in turn, so that
what the machine does meanwhile meets both. CPU time is what the kernel says the threads ran.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import signal
import statistics
import sys
import time

import mirror_kills
import world

WHO = {"src_dist": ["src_dist.s1", "src_dist.s2"], "p2ps": ["p2ps.d1"]}


def ran_ns(pid):
    """CPU time of all its threads."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total


class Pair(mirror_kills.Mirrors):
    def turn(self, is_on):
        """Both src_dist anew, with and without."""
        self.is_numbered = is_on
        for host in ("s1", "s2"):
            self.write_config(host)
            daemon = self.daemons[f"src_dist.{host}"]
            trouble = daemon.stop()
            assert not trouble, trouble
            daemon.up()

    def has_all(self):
        kept = sum(self.source(h, "replayItems") for h in ("s1", "s2"))
        return (all(self.source(h, "itemsOpen") == self.item_count for h in ("s1", "s2")) and
                kept == (self.item_count if self.is_numbered else 0))

    def heard(self):
        return sum(self.figure(*path) for path in mirror_kills.HEARD)

    def measure(self, seconds, warm):
        """ns of each kind of program for an update that a provider makes, after `warm` seconds: until
        replayTime is over each block of the replay buffer is new memory."""
        client = mirror_kills.Consumer(self, f"cost.{self.is_numbered}")
        client.start()
        self.until("both have all items", self.has_all)
        self.flow(*mirror_kills.HEARD, mirror_kills.SERVED)
        time.sleep(warm)
        pids = {kind: [self.daemons[name].pid for name in names] for kind, names in WHO.items()}
        before = {kind: sum(map(ran_ns, found)) for kind, found in pids.items()}
        heard = self.heard()
        time.sleep(seconds)
        heard = self.heard() - heard
        after = {kind: sum(map(ran_ns, found)) for kind, found in pids.items()}
        client.signal(signal.SIGINT)
        client.child.wait(120)
        self.processes.remove(client)
        os.unlink(client.report)
        return {kind: (after[kind] - before[kind]) / (heard / 2) for kind in WHO}


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--pairs", type=int, default=5)
    words.add_argument("--seconds", type=float, default=8)
    words.add_argument("--warm", type=float, default=12)
    words.add_argument("--rate", type=int, default=100000)
    words.add_argument("--items", type=int, default=100)
    words.set_defaults(silence=3500, seed=1, replay=8, ema=None)
    options = words.parse_args()
    world.enter_namespaces()
    one, is_well = Pair(options), False
    ratios = {kind: [] for kind in WHO}
    try:
        one.build()
        one.up()
        for number in range(options.pairs):
            found = {}
            for is_on in (True, False) if number % 2 else (False, True):
                one.turn(is_on)
                found[is_on] = one.measure(options.seconds, options.warm)
            for kind in WHO:
                ratios[kind].append(found[True][kind] / found[False][kind])
                print(f"{number + 1}: {kind}: {found[True][kind]:.0f} ns an update with "
                      f"mirrorSequence, {found[False][kind]:.0f} ns without: "
                      f"{ratios[kind][-1]:.3f}", flush=True)
        is_well = True
    finally:
        one.destroy(keep_logs=not is_well)
    for kind, found in ratios.items():
        print(f"{kind} at {options.rate} updates/s: median ratio {statistics.median(found):.3f} of "
              f"{len(found)}, {min(found):.3f} to {max(found):.3f}")


if __name__ == "__main__":
    sys.exit(main())
