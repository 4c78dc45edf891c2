#!/usr/bin/env python3
"""mirror_kills.py - two src_dist mirror each other unseen, and one of them is lost again and again.

Both hear one numbered provider. In each round the one that carries items loses its process, its
rrcpd, its provider connection or its host (the link is down, or all of it stands still). Consumers
must get each update once and in order, no image, and no suspect state.

Two consumers judge: rmdstestclient, a new one for each round, and with --ema an EMA consumer
(MirrorWatch of tests/interop) that stays for all of them.

Suspect is allowed in rounds in which a process that takes part waited 100 ms for a CPU: its
schedstat shows it. A wait counts when it ends, so the largest step between two looks is at least
the longest wait. This script looks each 20 ms; when it comes 100 ms late itself, the round is not
calm either.

Only a calm round judges whether the switch was seen. With fewer than --calm of them of a kind the
script says so and ends with 77: the machine was too busy for an answer.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

import world
from world import BIN, CONSUMER, PROVIDER, SERVICE, Daemon, Process, Proxy, World, address

HOSTS = ["pa", "s1", "s2", "d1", "c"]
KINDS = ["src_dist", "rrcpd", "connection", "link", "host"]
CALM_S, LOOK_S, WAIT_S = 0.1, 0.02, 240
INTEROP = os.path.join(world.ROOT, "tests", "interop")
HEARD = [(f"src_dist.{host}", "src_dist.updatesIn") for host in ("s1", "s2")]
SERVED = ("p2ps.d1", "p2ps.worker.0.updatesOut")
REASONS = ("notReady", "tooOld", "notEqual", "behind", "full")
SILENT = ("lost", "duplicates", "reorders", "numbers")  # what EMA may never see
FLOW = 4  # updates of an item that show that the data flow


class Provider(Process):
    def __init__(self, one):
        super().__init__(one, "pa", "provider", [
            os.path.join(BIN, "sink_driven_src"), "-S", SERVICE, "-N", str(PROVIDER), "-U",
            str(one.rate), "-tps", "1000" if one.rate > 20000 else "200", "-tcpnodel", "-seqdata",
            "-seqnum"])

    def up(self):
        self.start()


class Schedule(threading.Thread):
    """How long the threads of these processes waited for a CPU, at one time at most."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.pids, self.waits, self.ended = pids, {}, threading.Event()
        self.last_look = world.now()
        self.pause = 0.0  # between two looks
        self.look()
        self.worst = {}
        self.start()

    def threads(self):
        for name, pid in self.pids.items():
            try:
                for thread in os.listdir(f"/proc/{pid}/task"):
                    yield name, f"/proc/{pid}/task/{thread}/schedstat"
            except OSError:
                continue  # it is the one that was killed

    def look(self):
        for name, path in self.threads():
            try:
                with open(path, encoding="ascii") as file:
                    waited = int(file.read().split()[1]) / 1e9
            except (OSError, IndexError):
                continue
            if path in self.waits:
                step = waited - self.waits[path]
                self.worst[name] = max(self.worst.get(name, 0.0), step)
            self.waits[path] = waited
        moment = world.now()
        self.pause = max(self.pause, moment - self.last_look)
        self.last_look = moment

    def run(self):
        while not self.ended.wait(LOOK_S):
            self.look()

    def end(self):
        """The longest wait, and the process that had it."""
        self.ended.set()
        self.join()
        self.look()
        return max(((wait, name) for name, wait in self.worst.items()), default=(0.0, ""))


class Consumer(Process):
    """rmdstestclient of one round, and what it says at its end."""

    def __init__(self, one, number):
        self.report = os.path.join(one.dir, f"report.{number}")
        super().__init__(one, "c", "consumer", [
            os.path.join(BIN, "rmdstestclient"), "-S", SERVICE, "-h", address("d1"), "-p",
            str(CONSUMER), "-f", one.items, "-u", "demo", "-seqcheck", "-secs", "3600", "-timeout",
            "0", "-l", "0", "-json", self.report])

    def finish(self):
        self.signal(signal.SIGINT)
        code = self.child.wait(120)
        self.world.processes.remove(self)
        with open(self.report, encoding="ascii") as file:
            found = json.load(file)
        os.unlink(self.report)
        return code, found


class Watch(Process):
    """The EMA consumer of all rounds."""

    def __init__(self, one, build):
        found = os.path.join(build, "interop")
        super().__init__(one, "c", "ema", [
            "java", "-XX:-UsePerfData", "-Xms256m", "-Xmx1g", "-XX:+UseSerialGC", "-cp",
            f"{found}/classes:{found}/lib/*", "org.openrmds.interop.MirrorWatch",
            f"{address('d1')}:{CONSUMER}", SERVICE, one.items])

    def up(self):
        self.start(stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def report(self):
        """What it has seen since the last report."""
        self.child.stdin.write(b"report\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())

    def settled(self):
        """The same, added up until each item is fine and has had an update since."""
        found, end = self.report(), world.now() + WAIT_S
        while world.now() < end:
            time.sleep(0.1)
            more = self.report()
            found = {key: more[key] if key in ("open", "still") else found[key] + more[key]
                     for key in more}
            if more["open"] == self.world.item_count and more["still"] == 0:
                break
        return found


class Mirrors(World):
    is_numbered = True

    def __init__(self, options):
        super().__init__(options.seed, options.items, options.rate, HOSTS)
        self.options = options

    def write_config(self, host, *more):
        silence = self.options.silence
        super().write_config(
            host, f"*rrcp*peerTimeout : {silence}", f"*p2ps*instanceTimeout : {silence}",
            "*src_dist*mirrorGroup : pair", "*src_dist*mirrorMode : hot",
            f"*src_dist*mirrorSequence : {self.is_numbered}",
            f"*src_dist*replayTime : {self.options.replay}",
            "*src_dist*replayBytes : 1024M",
            # All of a silence comes at once, and the consumers have few CPUs: none is slow so soon.
            "*p2ps*maxOutputBuffers : 50000", "*p2ps*outputThresholdBreach : 90",
            "*p2ps*slowTime : 60000", "*p2ps*slowTimeout : 60", *more)

    def build(self):
        self.network()
        self.folders()
        self.write_items()
        self.providers = {"pa": Provider(self)}
        self.proxies = {"pa": Proxy(self, "pa", {
            f"pa-s{n}": f"{address('pa')}:{PROVIDER + n}>127.0.0.1:{PROVIDER}" for n in (1, 2)})}
        self.daemons, self.watchers = {}, []
        for host, program in (("s1", "src_dist"), ("s2", "src_dist"), ("d1", "p2ps")):
            self.daemons[f"rrcpd.{host}"] = Daemon(self, host, "rrcpd", "net1")
            self.daemons[f"{program}.{host}"] = Daemon(self, host, program)
        self.ema = Watch(self, self.options.ema) if self.options.ema else None

    def up(self):
        super().up()
        if self.ema:
            self.ema.up()

    # ---- what they say of themselves ----

    def figure(self, name, path):
        """0 while the program is not there, or has not said it yet."""
        try:
            return self.daemons[name].figures().get(path, 0)
        except OSError:
            return 0

    def source(self, host, path):
        return self.figure(f"src_dist.{host}", f"src_dist.{path}")

    def until(self, what, condition, seconds=WAIT_S):
        end = world.now() + seconds
        while not condition():
            if world.now() > end:
                raise AssertionError(f"{what}: not in {seconds} s; {self.describe()}")
            time.sleep(0.02)

    def describe(self):
        for daemon in self.daemons.values():
            print(daemon.name, self.items_of(daemon), sep="\n")
        return {host: {path: self.source(host, path) for path in (
            "itemsOpen", "replayItems", "updatesIn", "resumed", "servicesUp")}
            for host in ("s1", "s2")}

    def items_of(self, daemon):
        done = subprocess.run([os.path.join(BIN, "rmdsctl"), "-run", os.path.join(
            self.dir, daemon.host, "run"), daemon.program, "list", "items"],
            capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def carried(self):
        """The items that p2ps has of each of both; of a src_dist that was lost none by and by."""
        lines = self.items_of(self.daemons["p2ps.d1"]).splitlines()
        return {host: sum(f" {host}." in line for line in lines) for host in ("s1", "s2")}

    def is_ready(self):
        """Both have all items, and what one carries the other follows, and nothing else."""
        if not (all(self.source(h, "itemsOpen") == self.item_count for h in ("s1", "s2")) and
                sum(self.source(h, "replayItems") for h in ("s1", "s2")) == self.item_count):
            return False
        carried = self.carried()
        return (sum(carried.values()) == self.item_count and
                all(carried[a] == self.source(b, "replayItems")
                    for a, b in (("s1", "s2"), ("s2", "s1"))))

    def flow(self, *places):
        """Each item has had some updates there."""
        wanted = [self.figure(*p) + FLOW * self.item_count for p in places]
        self.until("the data flow", lambda: all(
            self.figure(*p) >= n for p, n in zip(places, wanted)))

    # ---- faults ----

    def processes_of(self, host):
        return [p for p in self.processes if p.host == host and p.alive()]

    def begin(self, kind, host):
        if kind in ("src_dist", "rrcpd"):
            self.daemons[f"{kind}.{host}"].kill()
        elif kind == "connection":
            self.proxies["pa"].tell(f"pa-{host} reset")
        elif kind == "link":
            world.run("ip", "link", "set", f"v{host}", "down")
        else:
            for process in self.processes_of(host):
                process.signal(signal.SIGSTOP)

    def end(self, kind, host):
        if kind in ("src_dist", "rrcpd"):
            self.daemons[f"{kind}.{host}"].up()
        elif kind == "link":
            world.run("ip", "link", "set", f"v{host}", "up")
        elif kind == "host":
            for process in self.processes_of(host):
                process.signal(signal.SIGCONT)


def refusals(one, host):
    return {why: one.source(host, f"resumesRefused.{why}") for why in REASONS}


def answers(one, host):
    return one.source(host, "resumed") + sum(refusals(one, host).values())


class Round:
    """A fault, and what was seen of it."""

    def __init__(self, one, kind):
        self.one, self.kind = one, kind
        one.until("the service is up", lambda: one.figure(
            "p2ps.d1", f"p2ps.service.{SERVICE}.instances") == 2 and all(
                one.source(h, "servicesUp") == 1 for h in ("s1", "s2")))
        client = Consumer(one, "client")
        client.start()
        one.until("the consumers are served", lambda: one.figure(
            "p2ps.d1", "p2ps.worker.0.watches") >= one.item_count * (2 if one.ema else 1))
        one.until("both have all items", one.is_ready)
        one.flow(*HEARD, SERVED)
        carried = one.carried()
        self.victim = max(carried, key=carried.get)
        self.left = "s2" if self.victim == "s1" else "s1"
        before = one.ema.settled() if one.ema else {}
        assert not any(before.get(k) for k in SILENT), f"before the loss: {before}"
        self.switch(carried[self.victim])
        self.others = one.ema.settled() if one.ema else None
        self.code, self.client = client.finish()
        one.end(kind, self.victim)

    def switch(self, carried):
        one, refused = self.one, refusals(self.one, self.left)
        wanted = answers(one, self.left) + carried
        pids = {p.name: p.pid for p in one.processes if p.alive() and p.host != self.victim}
        schedule, began = Schedule(pids), world.now()
        one.begin(self.kind, self.victim)
        one.until("the other one goes on", lambda: answers(one, self.left) >= wanted)
        one.flow(SERVED)
        self.took = world.now() - began
        self.waited, self.waiter = max(schedule.end(), (schedule.pause, "this script"))
        self.refused = {why: n - refused[why] for why, n in refusals(one, self.left).items()
                        if n > refused[why]}

    def is_calm(self):
        return self.waited < CALM_S

    def silent(self):
        """Lost or repeated without a word."""
        found = sum(self.client[k] for k in ("gaps", "duplicates", "reorders", "wrong", "early"))
        if self.others:
            found += sum(self.others[k] for k in SILENT)
        return found

    def seen(self):
        """Suspect states, and images that nobody asked for."""
        suspects, images = self.client["suspects"], self.client["refreshes"] - self.one.item_count
        if self.others:
            suspects, images = suspects + self.others["suspects"], images + self.others["images"]
        return suspects, images

    def wrong(self):
        if self.code != 0 or self.silent():
            return "an update is missing, or came twice, untold"
        if self.client["checked"] < self.one.item_count:
            return "the consumer was not served"
        if self.others and (self.others["closed"] or self.others["still"] or
                            self.others["open"] < self.one.item_count):
            return "the EMA consumer was not served"
        if self.is_calm() and any(self.seen()):
            return "the switch was seen, though no process waited for a CPU"
        return None

    def describe(self):
        suspects, images = self.seen()
        return (f"{self.kind} of {self.victim}: {self.took:.2f} s, longest wait for a CPU "
                f"{1000 * self.waited:.0f} ms ({self.waiter}), {self.client['checked']} updates, "
                f"{self.others['updates'] if self.others else 0} of EMA, {self.silent()} wrong, "
                f"{self.others['merged'] if self.others else 0} merged, "
                f"{suspects} suspect, {images} images"
                f"{', refused ' + str(self.refused) if self.refused else ''}")


def play(one, options):
    rounds = []
    end = world.now() + options.seconds
    while len(rounds) < options.rounds and world.now() < end:
        kind = options.kinds[len(rounds) % len(options.kinds)]
        rounds.append(Round(one, kind))
        print(f"{len(rounds)}: {rounds[-1].describe()}", flush=True)
        if rounds[-1].wrong():
            print(f"{rounds[-1].wrong()}: {rounds[-1].client}, EMA {rounds[-1].others}", flush=True)
            assert options.go_on, rounds[-1].wrong()
    return rounds


def row(name, rounds):
    """One line of the table at the end."""
    calm = [r for r in rounds if r.is_calm()]
    print(f"{name:12} {len(rounds):6} {sum(r.silent() for r in rounds):6} "
          f"{sum(any(r.seen()) for r in rounds):5} {len(calm):5} "
          f"{sum(any(r.seen()) for r in calm):5} {sum(r.seen()[0] for r in rounds):8} "
          f"{sum(r.seen()[1] for r in rounds):7} "
          f"{statistics.median(r.took for r in rounds):8.2f} s "
          f"{max(r.took for r in rounds):6.2f} s")


def summary(rounds, options):
    print(f"switches at {options.rate} updates/s of {options.items} items; seen: suspect, or an "
          "image; calm: no process waited 100 ms for a CPU; took: from the loss until all flows")
    print(f"{'lost':12} rounds untold  seen  calm  seen  suspect  images   median took    most")
    for kind in sorted({r.kind for r in rounds}):
        row(kind, [r for r in rounds if r.kind == kind])
    row("all", rounds)


def unjudged(rounds, options):
    """The kinds of which too few rounds were calm, and how many were."""
    calm = {kind: sum(r.is_calm() for r in rounds if r.kind == kind) for kind in options.kinds}
    return {kind: count for kind, count in calm.items() if count < options.calm}


def made_ready(build):
    """The folder of the EMA consumer's classes, or None where it cannot be built."""
    if build and subprocess.run([os.path.join(INTEROP, "build.sh"), build],
                                check=False).returncode:
        print("no EMA consumer: its classes cannot be built here")
        return None
    return build


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--rounds", type=int, default=len(KINDS))
    words.add_argument("--seconds", type=float, default=1e9, help="begin no round after so long")
    words.add_argument("--kinds", default=",".join(KINDS), type=lambda text: text.split(","))
    words.add_argument("--rate", type=int, default=2000)
    words.add_argument("--items", type=int, default=100)
    words.add_argument("--silence", type=int, default=3500, help="peerTimeout, instanceTimeout, ms")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--replay", type=int, default=20, help="replayTime, s")
    words.add_argument("--calm", type=int, default=1, help="rounds of each kind at least, else 77")
    words.add_argument("--ema", help="build folder: an EMA consumer beside ours")
    words.add_argument("--go-on", action="store_true", help="behind a round that is wrong, too")
    words.add_argument("--keep", action="store_true", help="the logs")
    options = words.parse_args()
    options.ema = made_ready(options.ema)  # here, since Maven may need the network
    world.enter_namespaces()
    one, is_well = Mirrors(options), False
    try:
        one.build()
        one.up()
        rounds = play(one, options)
        summary(rounds, options)
        if any(r.wrong() for r in rounds):
            sys.exit(1)
        wrong = one.down()
        assert not wrong, wrong
        is_well = True
        few = unjudged(rounds, options)
        if few:
            print(f"not judged: of these fewer than {options.calm} rounds were calm: {few}")
            sys.exit(77)
    finally:
        one.destroy(keep_logs=options.keep or not is_well)


if __name__ == "__main__":
    main()
