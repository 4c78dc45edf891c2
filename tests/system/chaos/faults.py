"""faults.py - what may happen to a world: each fault begins, lasts, is undone, and can be known.

`known` is when, in seconds after it began, anybody can know of the fault: a closed socket at once,
silence after the timeout of who listens. None: not before its end (nothing else could take over).
`signs` are what the logs of the daemons say about it: regular expressions over "daemon: line", all
of which must be found. No signs: below every threshold, there is nothing to tell.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import resource
import signal
import struct

from world import PING_S, PROVIDER, run

PEER_S = 3.5  # peerTimeout, instanceTimeout


class Fault:
    weight = 1

    def __init__(self, world, random, victim=None):
        """`victim`: a process by its name; None: it is drawn."""
        self.world, self.random, self.chosen = world, random, victim
        self.known, self.signs = 0.0, []
        self.pick()

    def pick(self):
        raise NotImplementedError

    def begin(self):
        raise NotImplementedError

    def end(self):
        pass

    def claims(self):
        """Two faults that claim the same thing do not overlap."""
        return {self.victim}

    def is_served(self, provider, *sources):
        """Does a src_dist (one of `sources`) have its items from this provider?"""
        return any(self.world.connections(s, PROVIDER + int(s[1:]), provider) for s in sources
                   or ("s1", "s2"))


class OfProcess(Fault):
    """What happens to one of the processes; that it still runs is part of it."""

    def draw(self, *processes):
        self.process = self.random.choice([p for p in processes if self.chosen in (None, p.name)])
        self.victim = self.process.name

    def begin(self):
        assert self.process.alive(), f"{self.victim} had ended by itself with code {self.process.code()}"


class Kill(OfProcess):
    """kill -9, and started again."""

    weight = 5

    def pick(self):
        self.draw(*self.world.daemons.values(), *self.world.providers.values())
        self.length = self.random.choice([0.0, 0.3, 1.0, 2.5])
        self.name = f"kill {self.victim}, again after {self.length} s"
        program, _, host = self.victim.partition(".")
        if program == "rrcpd":
            self.known = None if host[0] == "d" else min(PEER_S, self.length)
            self.signs = [rf"(src_dist|p2ps)\.{host}: .*lost its rrcpd",
                          rf"rrcpd\..*: .*node {host}\.\S+ is down"]
        elif program == "provider":
            self.signs = [r"src_dist\..*: .*provider: host=\S+ ended"] if self.is_served(
                host) else []
        else:
            self.signs = [rf"rrcpd\.{host}: .*has died"]

    def begin(self):
        super().begin()
        self.process.kill()

    def end(self):
        self.process.up()


class Restart(Kill):
    """An orderly stop, and started again."""

    weight = 2

    def pick(self):
        super().pick()
        while self.victim.startswith("provider"):
            super().pick()
        self.name = self.name.replace("kill", "stop")
        self.signs = [rf"{self.victim}: .*NOTICE stopping"]

    def begin(self):
        trouble = self.process.stop()
        assert not trouble, f"{self.victim} {trouble}"


class Freeze(OfProcess):
    """SIGSTOP, SIGCONT."""

    weight = 4

    def pick(self):
        self.draw(*self.world.daemons.values(), *self.world.providers.values())
        self.length = self.random.choice([0.2, 0.8, 2.0, 5.0])
        self.name = f"freeze {self.victim} for {self.length} s"
        program, _, host = self.victim.partition(".")
        if self.length < PEER_S:
            self.known = None
        elif program == "rrcpd":
            self.known = None if host[0] == "d" else PEER_S
            self.signs = [rf"rrcpd\..*: .*node {host}\.\S+ is down: silent",
                          rf"{self.victim}: .*did not run for"]
        elif program == "src_dist":
            self.known = PEER_S
            self.signs = [rf"{self.victim}: .*did not run for", r"p2ps\..*: .*service RDFD "]
        else:
            self.known = PING_S + 1.0
            if program == "p2ps":
                self.signs = [rf"{self.victim}: .*did not run for"]
            elif self.is_served(host):
                self.signs = [r"src_dist\..*: .*ping timeout"]

    def begin(self):
        super().begin()
        self.process.signal(signal.SIGSTOP)

    def end(self):
        self.process.signal(signal.SIGCONT)


class Link(Fault):
    """A host's link goes down, or packets vanish without a word."""

    weight = 4

    def pick(self):
        self.host = self.random.choice(["pa", "pb", "s1", "s2", "d1", "d2"])
        self.victim = f"link {self.host}"
        self.is_silent = self.random.random() < 0.5
        self.length = self.random.choice([0.3, 1.0, 2.5, 5.0])
        self.name = f"{'cut' if self.is_silent else 'link down at'} {self.host} for {self.length} s"
        detection = {"p": PING_S + 1.0, "s": PEER_S, "d": PING_S + 1.0}[self.host[0]]
        self.known = None if self.length < detection else detection
        if self.length > detection and (self.host[0] != "p" or self.is_served(self.host)):
            self.signs = [r"src_dist\..*: .*ping timeout" if self.host[0] == "p"
                          else rf"rrcpd\..*: .*node {self.host}\.\S+ is down: silent"]

    def begin(self):
        if self.is_silent:
            run("bridge", "link", "set", "dev", f"v{self.host}", "state", "0")
        else:
            run("ip", "link", "set", f"v{self.host}", "down")

    def end(self):
        if self.is_silent:
            run("bridge", "link", "set", "dev", f"v{self.host}", "state", "3")
        else:
            run("ip", "link", "set", f"v{self.host}", "up")


class Packets(Fault):
    """An rrcpd receives badly: loss, reordering, delay."""

    weight = 3

    def pick(self):
        self.process = self.world.daemons["rrcpd." + self.random.choice(["s1", "s2", "d1", "d2"])]
        self.victim = self.process.name
        self.length = self.random.choice([1.0, 3.0])
        loss, late, delay = self.random.choice([(1, 1, 500), (10, 5, 2000), (30, 0, 0),
                                                (0, 20, 30000), (60, 0, 0)])
        self.lines = [f"*rrcp*lossPct : {loss}", f"*rrcp*reorderPct : {late}",
                      f"*rrcp*delayUs : {delay}"]
        self.name = f"packets to {self.victim}: {loss} % lost, {late} % up to {delay} us late, for {self.length} s"
        self.known = None
        self.signs = [rf"{self.victim}: .*for tests: of the packets received"]

    def reload(self, *lines):
        self.world.write_config(self.process.host, *lines)
        self.process.signal(signal.SIGHUP)

    def begin(self):
        self.reload(*self.lines)

    def end(self):
        self.reload()


class Wire(Fault):
    """An RSSL connection through the proxy stalls, is slow, arrives in crumbs, is reset, or
    silent."""

    weight = 5

    def pick(self):
        self.proxy = self.world.proxies[self.random.choice(["pa", "pb", "c"])]
        self.line = self.random.choice(sorted(self.proxy.lines))
        self.victim = f"wire {self.line}"
        self.verb = self.random.choice(["stall", "delay 0.05", "delay 0.5", "split 1", "split 7",
                                        "reset", "swallow"])
        self.length = 0.0 if self.verb in ("reset",
                                           "swallow") else self.random.choice([0.3, 1.0, 2.0])
        if self.verb == "stall" and self.random.random() < 0.3:
            self.length = 6.0
        self.name = f"{self.verb} {self.line}" + (f" for {self.length} s" if self.length else "")
        far = self.line.split("-")[1]
        if self.proxy.host == "c":
            carries, peer = self.world.connections("c", 14300 +
                                                   int(far[1:])), rf"p2ps\.{far}: .*mount.* ended"
        else:
            carries, peer = self.is_served(self.proxy.host,
                                           far), rf"src_dist\.{far}: .*provider.* ended"
        self.known = None
        if self.verb == "reset":
            self.known, self.signs = 0.0, [peer] if carries else []
        elif self.verb == "swallow" or self.length > PING_S + 1:
            self.known, self.signs = PING_S + 1.0, [peer + ".*ping timeout"] if carries else []

    def begin(self):
        self.proxy.tell(f"{self.line} {self.verb}")

    def end(self):
        self.proxy.tell(f"{self.line} good")


class Disk(Fault):
    """No room for log lines."""

    def pick(self):
        self.host = self.random.choice(["s1", "s2", "d1", "d2"])
        self.victim, self.length = f"disk {self.host}", 1.5
        self.name = f"disk for logs of {self.host} is full for {self.length} s"
        self.file = os.path.join(self.world.dir, self.host, "log", "ballast")
        self.daemons = [d for d in self.world.daemons.values() if d.host == self.host]
        self.signs = [rf"{d.name}: .*lines of this log could not be written: No space"
                      for d in self.daemons]

    @staticmethod
    def fill(path, piece):
        with open(path, "ab", buffering=0) as file:
            try:
                while True:
                    file.write(piece)
            except OSError:
                pass

    def begin(self):
        self.fill(self.file, bytes(4096))
        for daemon in self.daemons:  # the last page of its log has room, too
            self.fill(daemon.journal, b"\n")
        for daemon in self.daemons:  # so that there is something to write
            daemon.signal(signal.SIGUSR1)

    def end(self):
        os.unlink(self.file)
        for daemon in self.daemons:
            daemon.signal(signal.SIGUSR1)


class Wall(Fault):
    """The wall clock of a host is set."""

    def pick(self):
        self.host = self.random.choice(["s1", "s2", "d1", "d2"])
        self.victim, self.length = f"wall {self.host}", 1.5
        self.step = self.random.choice([-86400, -3600, -2, 2, 3600, 86400])
        self.name = f"wall clock of {self.host} steps by {self.step} s and back"
        self.signs = [rf"{p}\.{self.host}: .*wall clock was set"
                      for p in ("rrcpd", "src_dist" if self.host[0] == "s" else "p2ps")]

    def shift(self, seconds):
        with open(os.path.join(self.world.dir, self.host, "wall"), "r+b") as file:
            file.write(struct.pack("=q", seconds * 10**9))

    def begin(self):
        self.shift(self.step)

    def end(self):
        self.shift(0)


class Memory(OfProcess):
    """A daemon gets no more memory from the kernel than it has, or little more. It reads its
    configuration meanwhile, so that it asks for some."""

    weight = 2

    def pick(self):
        self.draw(*self.world.daemons.values())
        self.length = self.random.choice([0.5, 1.5, 3.0])
        self.room = self.random.choice([0, 0, 64, 512]) << 10
        self.name = f"memory of {self.victim} may grow by {self.room >> 10} KiB for {self.length} s"
        self.known = None
        self.signs = [rf"{self.victim}: .*NOTICE reload: configuration read again"]

    def limit(self, size):
        resource.prlimit(self.process.pid, resource.RLIMIT_DATA, (size, resource.RLIM_INFINITY))

    def begin(self):
        super().begin()
        self.limit(self.process.kernel_bytes("VmData") + self.room)
        self.process.signal(signal.SIGHUP)

    def end(self):
        assert self.process.alive(), f"{self.victim} ended without memory, code {self.process.code()}"
        self.limit(resource.RLIM_INFINITY)
        self.process.signal(signal.SIGHUP)
        self.process.signal(signal.SIGUSR1)


KINDS = [Kill, Restart, Freeze, Link, Packets, Wire, Disk, Wall, Memory]


def choose(world, random, kinds):
    kind = random.choices(kinds, [k.weight for k in kinds])[0]
    return kind(world, random)


def has(folder, text):
    with open(os.path.join(folder, "rrcpd"), "rb") as file:
        return text in file.read()


def no_wall(folder):
    """Why Wall cannot be with these programs, or None."""
    if has(folder, b"RMDS_TEST_WALL_SHIFT"):
        return None
    return "this build has no hooks for tests: the wall clock is left alone"


def no_memory(folder):
    """Why Memory cannot be with these programs, or None."""
    if not has(folder, b"__asan_init"):
        return None
    return "a sanitizer ends a process when its own memory is refused: memory is left alone"
