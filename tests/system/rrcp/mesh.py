#!/usr/bin/env python3
"""mesh.py SCENARIO - real rrcpd daemons with `transport : mesh`, in namespaces without multicast."""
# SPDX-License-Identifier: Apache-2.0
import os
import random
import signal
import sys
import traceback

from bed import BIN, Bed, clean, run, skip, until


def keys(bed):
    path = os.path.join(bed.dir, "keys")
    if not os.path.exists(path):
        with open(path, "w") as file:
            file.write("1 " + "ab" * 32 + "\n")
        os.chmod(path, 0o600)
    return f"*rrcp*authKeyFile : {path}"


def hosts(bed, count):
    """Namespaces on a network that carries no multicast."""
    names = bed.namespaces(count)
    for name in names:
        run("ip", "-n", name, "route", "del", "224.0.0.0/4", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "multicast", "off")
    return names


def node(bed, number, spaces, peers, *lines):
    return bed.rrcpd(number, "*rrcp*transport : mesh", f"*rrcp*peers : {peers}", keys(bed), *lines,
                     interface="eth0", space=spaces[number - 1])


def hears(daemon, *others):
    for other in others:
        until(lambda other=other: daemon.alive() and f".{other}.rrcpd is heard" in daemon.text(),
              lambda other=other: f"{other} is not heard: {daemon.text()}")


def carries(bed, spaces, pub, subs, *words, lost=0):
    """Messages of one node reach others, all of them."""
    readers = [bed.perf("sub", sub, *words, space=spaces[sub - 1]) for sub in subs]
    sent = bed.perf("pub", pub, "-rate", 5000, "-seconds", 2, space=spaces[pub - 1]).result()
    for reader in readers:
        got = reader.result()
        clean(got, lost)
        assert got["received"] == sent["sent"], (got, sent)


def nodes_are_learnt_from_another(bed):
    """Nodes 1 and 3 know node 2 only, which knows them; node 3 comes late, is killed, and comes back."""
    spaces = hosts(bed, 3)
    first = node(bed, 1, spaces, "10.66.0.2")
    second = node(bed, 2, spaces, "10.66.0.1, 10.66.0.2, 10.66.0.3:8500")
    hears(first, 2)
    carries(bed, spaces, 1, [2])
    third = node(bed, 3, spaces, "10.66.0.2")
    for daemon, others in ((first, (3,)), (second, (1, 3)), (third, (1, 2))):
        hears(daemon, *others)
    carries(bed, spaces, 1, [2, 3])
    third.kill()
    third = node(bed, 3, spaces, "10.66.0.2")
    hears(third, 1, 2)
    until(lambda: first.text().count(".3.rrcpd is heard") == 2, first.text)
    carries(bed, spaces, 3, [1, 2])
    assert "is refused" not in first.text() + second.text() + third.text()
    shown = run(f"{BIN}/rmdsmon", "-run", bed.dir, "-print", "RRCP",
                check=False).stdout
    assert "10.66.0.2:8500" in shown and "mesh over UDP" in shown, shown
    assert bed.counters(1)["repairsMulticast"] == 0


def a_repair_goes_to_who_asks(bed):
    spaces = hosts(bed, 3)
    every = "10.66.0.1 10.66.0.2 10.66.0.3"
    daemons = [node(bed, 1, spaces, every), node(bed, 2, spaces, every),
               node(bed, 3, spaces, every, "*rrcp*lossPct : 2", "*rrcp*faultSeed : 7")]
    for number, daemon in enumerate(daemons, 1):
        hears(daemon, *({1, 2, 3} - {number}))
    carries(bed, spaces, 1, [2, 3])
    assert bed.counters(1)["repairsUnicast"] > 0 and bed.counters(1)["repairsMulticast"] == 0
    assert bed.counters(3)["pktsRepaired"] > 0 and bed.counters(2)["retransPktsRcvd"] == 0


def who_reads_nothing_is_sent_nothing(bed):
    """Nodes 1 and 3 have publishers alone. Then somebody reads at node 3, while they send."""
    spaces = hosts(bed, 3)
    every = "10.66.0.1 10.66.0.2 10.66.0.3"
    daemons = [node(bed, number, spaces, every) for number in (1, 2, 3)]
    for number, daemon in enumerate(daemons, 1):
        hears(daemon, *({1, 2, 3} - {number}))
    reader = bed.perf("sub", 2, "-publishers", 2, space=spaces[1])
    senders = [bed.perf("pub", i, "-rate", 2000, "-seconds", 8, space=spaces[i - 1])
               for i in (1, 3)]
    until(lambda: all(bed.counters(i)["skippedReceived"] > 100 for i in (1, 3)),
          lambda: f"nothing is left out: {bed.counters(1)} {bed.counters(3)}")
    late = bed.perf("sub", 3, "-publishers", 2, space=spaces[2])
    sent = sum(sender.result()["sent"] for sender in senders)
    got, got_late = reader.result(), late.result()
    clean(got)
    clean(got_late)
    assert got["received"] == sent > got_late["received"], (got, got_late, sent)
    for number in (1, 2, 3):
        counters = bed.counters(number)
        assert counters["skipsRefused"] == 0, counters
    assert bed.counters(2)["skippedReceived"] == 0 < bed.counters(1)["packetsSkipped"]


def ipv6_carries_a_mesh(bed):
    spaces = hosts(bed, 2)
    first = node(bed, 1, spaces, "[fd66::2]:8501", "*rrcp*unicastPort : 8502")
    second = node(bed, 2, spaces, "[fd66::1]:8502, fd66::2", "*rrcp*unicastPort : 8501")
    hears(first, 2)
    hears(second, 1)
    carries(bed, spaces, 2, [1])


def a_stranger_is_refused_by_name(bed):
    """It has the key, but nobody named it; then the operator names its network."""
    spaces = hosts(bed, 2)
    first = node(bed, 1, spaces, "10.66.0.1")
    second = node(bed, 2, spaces, "10.66.0.1")
    until(lambda: "the node at 10.66.0.2:8500 is refused: no peer has named it" in first.text(),
          first.text)
    assert "rrcpd is heard" not in first.text() + second.text()
    first.kill(signal.SIGTERM)
    first = node(bed, 1, spaces, "10.66.0.1", "*rrcp*peerAddresses : 10.66.0.0/24")
    hears(first, 2)
    hears(second, 1)


def a_path_that_is_too_narrow_is_named(bed):
    spaces = hosts(bed, 3)
    every = "10.66.0.1 10.66.0.2 10.66.0.3"
    run("ip", "-n", spaces[0], "route", "add", "10.66.0.3", "dev", "eth0", "mtu", "1300")
    first = node(bed, 1, spaces, every)
    assert "packets of 1272 bytes" in first.text(), first.text()
    second = node(bed, 2, spaces, every)
    assert "packets of 1472 bytes" in second.text(), second.text()
    third = node(bed, 3, spaces, every)
    hears(second, 1, 3)
    hears(third, 1, 2)
    run("ip", "-n", spaces[1], "route", "add", "10.66.0.3", "dev", "eth0", "mtu", "1200")
    reader = bed.perf("sub", 1, space=spaces[0])
    bed.perf("pub", 2, "-rate", 2000, "-seconds", 2, "-size", 3000, space=spaces[1]).result()
    clean(reader.result())  # the others have what it misses
    until(lambda: "too long for the path to 10.66.0.3:8500, which carries 1172 bytes" in second.text(),
          second.text)
    assert "set maxPacketSize : 1172" in second.text()


def loopback_needs_no_key(bed):
    for number in (1, 2):
        bed.rrcpd(number, "*rrcp*transport : mesh", "*rrcp*peers : 127.0.0.1:8601 127.0.0.1:8602",
                  f"*rrcp*unicastPort : {8600 + number}")
    daemons = bed.programs
    hears(daemons[0], 2)
    hears(daemons[1], 1)
    carries(bed, [None, None], 1, [2])


class Cloud:
    """Eight nodes, each with 1 % loss, and place for a ninth. Faults befall nodes 4 to 8 only."""

    LINES = ("*rrcp*peerAddresses : 10.66.0.0/24", "*rrcp*lossPct : 1",
             "*rrcp*peerTimeout : 8000", "*rrcp*tbchold : 150", "*rrcp*recoverTimeout : 15000")

    def __init__(self, bed):
        self.bed, self.spaces = bed, hosts(bed, 9)
        run("ip", "link", "add", "br1", "type", "bridge", "mcast_snooping", "0")
        run("ip", "link", "set", "br1", "up")
        self.daemons, self.runs = {}, 0
        for number in range(1, 9):
            self.start(number, "10.66.0.1, 10.66.0.2")
        self.is_whole()

    def start(self, number, peers):
        self.runs += 1
        self.daemons[number] = node(self.bed, number, self.spaces, peers, *self.LINES,
                                    f"*rrcp*faultSeed : {self.runs}")

    def hears(self, number, count):
        until(lambda: self.bed.counters(number).get("peersNow") == count,
              lambda: f"node {number} does not hear {count}: {self.daemons[number].text()}")

    def is_whole(self):
        for number in self.daemons:
            self.hears(number, len(self.daemons) - 1)

    def kill(self, dice):
        victim = dice.randint(4, 8)
        self.daemons[victim].kill()
        self.start(victim, "10.66.0.1, 10.66.0.2")

    def partition(self, dice):
        """Some are on a network of their own until each side has given the other up."""
        away = dice.sample(range(4, 9), dice.randint(1, 4))
        for number in away:
            run("ip", "link", "set", f"v{number}", "master", "br1")
        for number in self.daemons:
            side = len(away) if number in away else 8 - len(away)
            self.hears(number, side - 1)
        for number in away:
            run("ip", "link", "set", f"v{number}", "master", "br0")

    def cut(self, dice):
        """What one sends to another goes to no host; the other direction works."""
        deaf, dumb = dice.sample(range(4, 9), 2)
        way = ("10.66.0.%d" % deaf, "dev", "eth0")
        run("ip", "-n", self.spaces[dumb - 1], "neigh", "replace", *way[:1],
            "lladdr", "02:00:00:00:00:ff", "nud", "permanent", *way[1:])
        for number in self.daemons:
            self.hears(number, 6 if number in (deaf, dumb) else 7)
        run("ip", "-n", self.spaces[dumb - 1], "neigh", "del", *way)


def eight_nodes_survive_kills_partitions_and_cuts(bed):
    """RRCP_KILLS faults under load, then a ninth node joins. Others miss nothing."""
    dice = random.Random(int(os.environ.get("RRCP_SEED", "1")))
    cloud = Cloud(bed)

    def listen(number, *words):
        return bed.perf("sub", number, *words, space=cloud.spaces[number - 1])

    safe = [listen(number, "-publishers", 2) for number in (1, 2, 3)]
    others = [listen(number, "-publishers", 0) for number in range(4, 9)]
    pubs = [bed.perf("pub", number, "-rate", 500, "-seconds", 3600,
                     space=cloud.spaces[number - 1]) for number in (1, 2)]
    faults = [cloud.kill, cloud.partition, cloud.cut]
    for turn in range(int(os.environ.get("RRCP_KILLS", "3"))):
        bed.flows(3)
        faults[turn % len(faults)](dice)
        cloud.is_whole()
    cloud.start(9, "10.66.0.2")
    cloud.is_whole()
    late = listen(9, "-publishers", 2)
    bed.flows(9)
    for pub in pubs:
        pub.end()
    sent = sum(pub.result()["sent"] for pub in pubs)
    for sub in safe:
        figures = sub.result()
        clean(figures)
        assert figures["received"] == sent and figures["gaps"] == 0, (figures, sent)
    clean(late.result())
    for sub in others:
        sub.end()
        clean(sub.result(), lost=None)
    carries(bed, cloud.spaces, 5, [1, 2, 3, 4, 6, 7, 8, 9])
    for number in cloud.daemons:
        counters = bed.counters(number)
        assert counters["repairsMulticast"] == 0 and counters["pktsRepaired"] > 0, counters
        assert counters["meshRefused"] == counters["meshFull"] == 0, counters


def what_cannot_be_is_said(bed):
    space = hosts(bed, 1)[0]

    def refused(*lines):
        config = bed.config("bad", "*rrcp*transport : mesh", "*rrcp*interface : eth0", *lines)
        program = bed.start("bad", [f"{BIN}/rrcpd", "-c", config, "-fg"], space)
        assert program.wait(60) == 1, program.text()
        return program.text()

    peers = "*rrcp*peers : 10.66.0.2"
    assert "mesh needs a key" in refused(peers, "*rrcp*authKeyFile : none")
    assert "mesh needs a key" in refused(peers)
    assert "needs the address of another node" in refused(keys(bed))
    for bad in ("hostb", "239.1.1.1", "10.66.0.2:0", "[fd66::2:8500", "fe80::1", "10.66.0.2:x"):
        assert 'peers (' in refused(f"*rrcp*peers : {bad}", keys(bed)), bad
    assert "is not of the family" in refused("*rrcp*peers : 10.66.0.2 fd66::2", keys(bed))
    assert "has one path" in refused(peers, keys(bed), "*rrcp*secondInterface : lo")


def main():
    scenarios = {name: value for name, value in globals().items()
                 if callable(value) and getattr(value, "__module__", "") == "__main__"
                 and hasattr(value, "__code__") and value.__code__.co_argcount == 1
                 and value.__code__.co_varnames[:1] == ("bed",)
                 and name != "keys"}
    if len(sys.argv) != 2 or sys.argv[1] not in scenarios:
        print("\n".join(scenarios))
        return 2
    if not os.access(f"{BIN}/rrcpd", os.X_OK):
        skip(f"{BIN}/rrcpd is not built")
    bed = Bed()
    try:
        scenarios[sys.argv[1]](bed)
        return 0
    except Exception:  # noqa: BLE001 - any failure is shown with the logs
        traceback.print_exc()
        for program in bed.programs:
            print(f"--- {program.name}\n{program.text()[-1500:]}")
        return 1
    finally:
        bed.close()


if __name__ == "__main__":
    sys.exit(main())
