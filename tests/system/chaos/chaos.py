#!/usr/bin/env python3
"""chaos.py [--seed N] [--faults N] - random faults under load, and consumers that check everything.

Half of the faults come one at a time, the next only after full recovery: they are timed from the
moment the fault can be known. The others overlap. Ends with "N passed, M failed"; exit 0 when M is
0.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
import faults  # noqa: E402
import load  # noqa: E402
from world import BIN, ROOT, Process, World, enter_namespaces, now, skip  # noqa: E402

GIVE_UP_S = 90.0
JOIN_S = 10.0
POLL_S = 0.01
SAMPLE_S = 2.0
MEMORY_S = 5400  # before that a daemon still fills its rings and tables for the first time
# of a daemon's own memory, from the third fifth of a soak to its last
GROWTH, GROWTH_BYTES, GROWTH_FILES = 1.05, 2 << 20, 4
WORST_S = 10.0
ROUND = 20  # faults; with --minutes the clock is read after each round


class Run:
    def __init__(self, world, options):
        self.world, self.options = world, options
        self.random = random.Random(options.seed)
        self.passed, self.failures, self.times, self.number = 0, [], [], 1
        self.seen = 0
        self.is_asked = False  # to end
        self.start = now()
        self.kinds = [k for k in faults.KINDS if not options.only
                      or k.__name__.lower() in options.only]
        for kind, reason in ((faults.Wall, faults.no_wall(BIN)),
                             (faults.Memory, faults.no_memory(BIN))):
            if kind in self.kinds and reason:
                self.kinds.remove(kind)
                print(reason)

    def say(self, text):
        print(f"{now() - self.start:7.2f}  {text}", flush=True)

    def fail(self, text):
        self.failures.append(text)
        self.say(f"FAILED: {text}")

    # ---- one fault ----

    def perform(self, fault):
        """In a thread of its own: begin, last, end."""
        try:
            time.sleep(fault.wait)
            fault.begun = now()
            fault.begin()
            time.sleep(fault.length)
            fault.end()
        except Exception as err:  # whatever it was: the run goes on and counts it
            self.fail(f"{fault.name}: {err}")
            traceback.print_exc()
        fault.ended = now()

    def begin(self, fault, wait=0.0):
        fault.wait, fault.begun, fault.ended = wait, None, None
        fault.thread = threading.Thread(target=self.perform, args=(fault,), daemon=True)
        fault.thread.start()

    @staticmethod
    def known_at(fault):
        if fault.known is not None:
            return fault.begun + fault.known
        return fault.ended  # maybe not yet

    def settle(self, since, what):
        """Until everybody is well again."""
        deadline = now() + GIVE_UP_S
        while not self.world.is_well(since):
            if now() > deadline:
                for watcher in self.world.watchers:
                    if not watcher.is_well(since):
                        self.say(watcher.describe())
                self.fail(f"{what}: not recovered after {GIVE_UP_S:.0f} s")
                return False
            time.sleep(POLL_S)
        # Who is served by others may still be without its rrcpd, or that not heard again: then
        # nobody would tell of
        # its end. A line lost to a full disk is no reason to wait on.
        deadline = now() + JOIN_S
        while self.all_run(what):
            if now() > deadline or all(d.is_joined() for d in self.world.daemons.values()):
                return True
            time.sleep(10 * POLL_S)
        return False

    def all_run(self, what):
        """Nobody ended but by a fault's hand: who else would tell?"""
        ended = [p for p in (*self.world.daemons.values(), *self.world.providers.values())
                 if not p.alive()]
        for process in ended:
            self.fail(f"{what}: {process.name} has ended by itself with code {process.code()}")
        return not ended

    def report(self, what):
        """Violations since the last time."""
        count = 0
        for watcher in self.world.watchers:
            fresh = watcher.violations[getattr(watcher, "seen", 0):]
            watcher.seen = len(watcher.violations)
            count += len(fresh)
            for at, text in fresh[:5]:
                self.say(f"{watcher.name} at {at - self.start:.3f}: {text}")
        if count:
            self.fail(f"{what}: {count} violations")
        return count

    def single(self, fault):
        sizes, recovered = self.world.sizes(), None
        self.begin(fault)
        deadline = now() + fault.length + GIVE_UP_S
        while recovered is None and now() < deadline:
            time.sleep(POLL_S)
            known = self.known_at(fault) if fault.begun else None
            if known is not None and now() >= known and self.world.is_well(known):
                recovered = now() - known
        fault.thread.join()
        settled = self.settle(fault.ended, fault.name) and recovered is not None
        if settled:
            self.times.append((recovered, fault.name))
            self.say(f"#{self.number} {fault.name}: {recovered:.2f} s")
            if recovered > self.options.worst:
                self.fail(f"{fault.name}: recovered only {recovered:.2f} s after it could be known")
        bad = self.report(fault.name)
        told = self.read_logs(fault, sizes)
        if settled and not bad and told and recovered <= self.options.worst:
            self.passed += 1

    def read_logs(self, fault, sizes):
        deadline = now() + GIVE_UP_S
        while True:
            news = [f"{name}: {line}" for name, line in self.world.news(sizes)]
            missing = [s for s in fault.signs if not any(re.search(s, line) for line in news)]
            if not missing or now() > deadline:
                break
            time.sleep(0.1)
        if self.options.verbose or missing:
            for line in news[:60]:
                print("          ", line)
        for sign in missing:
            self.fail(f"{fault.name}: no log line like {sign}")
        return not missing

    def together(self, count):
        chosen = []
        while len(chosen) < count:
            fault = faults.choose(self.world, self.random, self.kinds)
            if not any(fault.claims() & other.claims() for other in chosen):
                chosen.append(fault)
        self.overlap(chosen, 2.0)

    def pair(self):
        """A src_dist and its own rrcpd; a third fault beside them half the time."""
        host = self.random.choice(["s1", "s2"])
        chosen = [faults.Kill(self.world, self.random, f"{program}.{host}")
                  for program in ("src_dist", "rrcpd")]
        while len(chosen) == 2 and self.random.random() < 0.5:
            fault = faults.choose(self.world, self.random, self.kinds)
            if not fault.claims() & {kill.victim for kill in chosen}:
                chosen.append(fault)
        self.overlap(chosen, 1.0)
        return len(chosen)

    def overlap(self, chosen, within):
        for fault in chosen:
            self.begin(fault, self.random.uniform(0.0, within))
        for fault in chosen:
            fault.thread.join()
        what = " + ".join(f.name for f in chosen)
        before = len(self.failures)
        since = max(f.ended for f in chosen)
        if self.settle(since, what):
            self.say(f"#{self.number} {what}: well {now() - since:.2f} s after the last")
        self.report(what)
        if len(self.failures) == before:
            self.passed += len(chosen)

    # ---- the whole ----

    def work(self):
        """What was asked for, beside the load that was asked for."""
        others = load.Load(self.options.load, self.options.seed) if self.options.load else None
        if self.options.hours:
            self.soak()
        else:
            self.faults()
        for wrong in others.end() if others else ():
            self.fail(f"the load: {wrong}")

    def faults(self):
        """So many, or rounds of them until the time is over."""
        end = now() + 60 * self.options.minutes
        self.round(min(self.options.faults, ROUND) if self.options.minutes else self.options.faults)
        while self.options.minutes and now() < end and self.goes_on():
            self.round(min(self.options.faults, ROUND))

    def goes_on(self):
        return len(self.failures) < self.options.give_up

    def round(self, left):
        singles = 0 if self.options.pairs else (left + 1) // 2
        while left > 0 and self.goes_on():
            if self.options.pairs:
                count = self.pair()
            elif singles > 0 and (left == singles or self.random.random() < 0.7):
                self.single(faults.choose(self.world, self.random, self.kinds))
                singles -= 1
                count = 1
            else:
                count = min(self.random.randint(2, 4), left - singles)
                self.together(count)
            left -= count
            self.number += count

    # ---- the soak: no faults, but consumers and items that come and go ----

    def end_when_asked(self):
        """Ctrl-C ends a soak early, with its verdict; a second one ends it without."""
        def asked(*_):
            self.is_asked = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGINT, asked)

    def soak(self):
        began = told = now()
        end, samples = began + 3600 * self.options.hours, []
        self.end_when_asked()
        while now() < end and not self.is_asked and not self.world.violations() and \
                self.all_run("the soak"):
            time.sleep(SAMPLE_S)
            try:
                samples.append({name: (d.memory(), d.open_files())
                                for name, d in self.world.daemons.items()})
            except OSError:  # one has just ended: all_run() tells which
                continue
            goes = self.world.watchers[2 + len(samples) % 2]  # one and the other in turn
            goes.quit()
            goes.up()
            if now() >= told + 60 * self.options.every:
                told += 60 * self.options.every
                self.say(self.standing(samples[-1]))
        if self.is_asked:
            self.say("Ctrl-C: ended early")
        self.settle(now(), "the soak")
        self.report("the soak")
        if now() - began < MEMORY_S:
            self.say(f"too short to say whether memory stays: that takes {MEMORY_S // 60} minutes")
            return
        for name in self.world.daemons:
            self.compare_fifths(name, [s[name] for s in samples])

    def standing(self, sample):
        updates = sum(w.updates for w in self.world.watchers)
        return (f"{updates} updates with those that come and go, {self.world.violations()} "
                "violations; own MiB: " +
                ", ".join(f"{name} {memory / 2**20:.1f}" for name, (memory, _) in sample.items()))

    def compare_fifths(self, name, samples):
        """The third fifth of a soak, when all rings have been full once, and its last."""
        fifth = len(samples) // 5
        before, after = samples[2 * fifth:3 * fifth + 1], samples[-fifth - 1:]
        memory, grown = (statistics.median(m for m, _ in part) for part in (before, after))
        files, more = (statistics.median(f for _, f in part) for part in (before, after))
        self.say(f"{name}: own memory {memory / 2**20:.1f} MiB, at the end {grown / 2**20:.1f} MiB; "
                 f"{files:.0f} open files, at the end {more:.0f}")
        if grown > memory * GROWTH + GROWTH_BYTES or more > files + GROWTH_FILES:
            self.fail(f"{name} grows")
        else:
            self.passed += 1

    def compare(self):
        """Everybody's last image is that of a provider."""
        for provider in self.world.providers.values():
            provider.tell("ur 0")
        self.world.watchers[1].tell("churn")
        time.sleep(1.0)
        self.settle(0, "the end")
        truth = [self.world.counts_of(h) for h in self.world.providers]
        wrong = 0
        for watcher in self.world.watchers:
            for item, (count, state) in watcher.dump().items():
                if state != "ok" or count not in [t[item][0] for t in truth]:
                    wrong += 1
                    if wrong <= 5:
                        self.say(f"{watcher.name} {item}: count {count} {state}, providers "
                                 f"{[t[item][0] for t in truth]}")
        if wrong:
            self.fail(f"{wrong} final images are not the provider's")
        else:
            self.passed += 1
            self.say("final images are the providers'")

    def finish(self):
        self.report("the end")
        ends = [f"{w.name}: {w.updates} updates" for w in self.world.watchers]
        for daemon in self.world.daemons.values():
            if daemon.alive() and daemon.beyond_bound():
                self.fail(f"{daemon.name}: {daemon.beyond_bound()}")
        wrong = self.world.down()
        for watcher, text in zip(self.world.watchers, ends):
            if watcher.end:
                text += f", {watcher.end[1]} images, {watcher.end[2]} jumps told of {watcher.end[3]} missing"
            self.say(text)
        wrong += self.world.leftovers()
        for text in wrong:
            self.fail(f"left behind: {text}")
        if not wrong:
            self.passed += 1
            self.say("nothing is left: processes, shared memory, sockets, files")

    def summary(self):
        if self.times:
            seconds = [t for t, _ in self.times]
            print(f"recovery of {len(seconds)} single faults, from the moment each could be known: "
                  f"median "
                  f"{statistics.median(seconds):.2f} s, worst {max(self.times)[0]:.2f} s "
                  f"({max(self.times)[1]})")
        print(f"seed {self.options.seed}, {now() - self.start:.0f} s, {self.world.violations()} "
              f"violations of the checker")
        print(f"{self.passed} passed, {len(self.failures)} failed")


def build_ema():
    build = os.path.join(ROOT, "tests", "interop", "build.sh")
    if subprocess.run([build, os.path.dirname(BIN)], check=False).returncode:
        skip("the EMA consumer cannot be built here")


def parse():
    parser = argparse.ArgumentParser(prog="tools/rmds chaos", description=__doc__.split("\n\n")[1])
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"),
                        metavar="N",
                        help="the same faults in the same order (random)")
    parser.add_argument("--faults", type=int, default=200, metavar="N", help="how many (200)")
    parser.add_argument("--items", type=int, default=200, metavar="N", help="items (200)")
    parser.add_argument("--rate", type=int, default=4000, metavar="R",
                        help="updates a second of each provider (4000)")
    parser.add_argument("--hours", type=float, default=0, metavar="H",
                        help="a soak: no faults; does memory grow?")
    parser.add_argument("--every", type=float, default=10, metavar="MINUTES",
                        help="a soak says so often where it stands (10)")
    parser.add_argument("--minutes", type=float, default=0, metavar="M",
                        help="faults until so much time has passed, not a number of them")
    parser.add_argument("--pairs", action="store_true",
                        help="each time a src_dist and its rrcpd are killed within a second")
    parser.add_argument("--load", choices=sorted(load.KINDS), metavar="KIND",
                        help="others on each CPU: hogs, bursts (of real-time priority), both")
    parser.add_argument("--only", type=lambda t: t.split(","), metavar="KIND,...",
                        help="kinds, such as kill,link")
    parser.add_argument("--mesh", action="store_true",
                        help="the backbone as a mesh, on links without multicast")
    parser.add_argument("--ema", action="store_true",
                        help="an EMA consumer beside ours (tools/rmds setup --test)")
    parser.add_argument("--give-up", type=int, default=20, metavar="N",
                        help="end after so many failures")
    parser.add_argument("--worst", type=float, default=WORST_S, metavar="SECONDS",
                        help="a recovery may take so long, a stop half of it")
    parser.add_argument("--keep", action="store_true", help="keep the logs")
    parser.add_argument("--verbose", action="store_true",
                        help="show what the daemons log of each fault")
    return parser.parse_args()


def main():
    options = parse()
    if os.environ.get("RMDS_PARSE_ONLY"):
        return 0
    if options.ema:  # here, since Maven may need the network
        build_ema()
    enter_namespaces()
    for program in ("rrcpd", "src_dist", "p2ps", "sink_driven_src"):
        if not os.access(os.path.join(BIN, program), os.X_OK):
            skip(f"this build has no {program}")
    if "burst" in load.KINDS.get(options.load, ()) and not load.may_burst():
        skip("no process may have real-time priority here")
    print(f"seed {options.seed}, " +
          (f"soak of {options.hours:g} h" if options.hours else f"faults for {options.minutes:g} min"
           if options.minutes else f"{options.faults} faults"), flush=True)
    Process.stop_s = options.worst / 2
    world = World(options.seed, options.items, options.rate)
    world.is_mesh, world.has_ema = options.mesh, options.ema
    run = Run(world, options)
    try:
        world.build()
        world.up()
        if run.settle(now(), "the start"):
            run.say("all is well")
            run.work()
            run.compare()
        run.finish()
    except Exception as err:
        run.fail(str(err))
        traceback.print_exc()
    finally:
        world.destroy(options.keep or bool(run.failures))
    run.summary()
    return 1 if run.failures else 0


if __name__ == "__main__":
    # The seed must survive the change of namespaces.
    if "--seed" not in sys.argv and "-h" not in sys.argv and "--help" not in sys.argv:
        sys.argv += ["--seed", str(int.from_bytes(os.urandom(3), "big"))]
    sys.exit(main())
