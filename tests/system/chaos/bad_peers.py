#!/usr/bin/env python3
"""bad_peers.py NAME - one kind of bad manners at one door; without NAME: lists them.

A provider, src_dist, rrcpd and p2ps on one host, and a consumer that checks every update of the good
service all the time: whatever the bad peer does, that consumer notices nothing, no daemon ends, and
the log says plainly what happened. Exit 0 passed, 1 failed, 77 skipped.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import random
import re
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
from world import (CONSUMER, PROVIDER, TESTS, Daemon, Process, Provider, Watcher, World, address,  # noqa: E402
                   enter_namespaces, now, run)

HOST = "s1"
BAD, PUBLISHER, GROUP, MOUNTS = 14110, 14003, 8500, 100
RANDOM = random.Random(5)


class Bench(World):
    """Everything on one host."""

    def __init__(self):
        super().__init__(1, items=50, rate=2000, hosts=[HOST])

    def write_config(self, host, *more):
        folder = os.path.join(self.dir, host)
        with open(self.config(host), "w", encoding="ascii") as file:
            file.write("\n".join([
                f"*runDir : {folder}/run", "*rrcp*interface : eth0", "*rrcp*authKeyFile : none",
                "*src_dist*routeCount : 2", f"*src_dist*1.route*hostList : 127.0.0.1:{PROVIDER}",
                f"*src_dist*2.route*hostList : 127.0.0.1:{BAD}", f"*src_dist*serverPort : {PUBLISHER}",
                f"*p2ps*rsslPort : {CONSUMER}", f"*p2ps*maxMounts : {MOUNTS}", *more]) + "\n")

    def build(self):
        self.network()
        self.folders()
        self.write_items()
        self.providers = {HOST: Provider(self, HOST)}
        self.proxies = {}
        self.daemons = {f"{p}.{HOST}": Daemon(self, HOST, p, *w)
                        for p, w in (("rrcpd", ["net1"]), ("src_dist", []), ("p2ps", []))}
        self.watchers = [Watcher(self, HOST, "good", [f"127.0.0.1:{CONSUMER}"])]

    # ---- what scenarios use ----

    def bad(self, *words, name="bad"):
        process = Process(self, HOST, f"{name}.{len(self.processes)}", [os.path.join(TESTS, "bad_peer"), *words])
        process.start()
        return process

    def said(self, process):
        with open(process.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def python(self, text):
        """A piece of Python on the host."""
        return run("nsenter", f"--net=/run/netns/{HOST}", sys.executable, "-c", text)

    def told(self, daemon, pattern, seconds=90.0):
        log = self.daemons[f"{daemon}.{HOST}"]
        until(lambda: re.search(pattern, log.text()), seconds,
              lambda: f"{daemon} says nothing like \"{pattern}\":\n{log.text()[-3000:]}")

    def still_well(self):
        since = now()
        good = self.watchers[0]
        until(lambda: good.is_well(since), 90, lambda: f"the good consumer suffers: {good.describe()}")


def until(condition, seconds, why):
    end = now() + seconds
    while not condition():
        assert now() < end, why() if callable(why) else why
        time.sleep(0.02)


GARBAGE = """
import os, random, socket
r = random.Random(3)
for i in range(60):
    s = socket.create_connection(("127.0.0.1", {port}))
    try:
        s.sendall(bytes(r.randrange(256) for _ in range(r.choice([1, 3, 100, 5000]))))
        s.settimeout(0.2)
        s.recv(100)
    except OSError:
        pass
    s.close()
"""


# ---- the consumers' door ----

def garbage_from_consumers(bench):
    bench.python(GARBAGE.format(port=CONSUMER))
    bench.told("p2ps", r"mount: host=127\.0\.0\.1:\d+ ended: (?!closed by the peer)")


def nonsense_from_a_consumer(bench):
    bad = bench.bad("consumer", "nonsense", "127.0.0.1", str(CONSUMER))
    bad.child.wait(90)
    bench.told("p2ps", r"mount: host=\S+ (user=\S+ )?(ended|cut): .*(decode|malformed|cannot)")


def mutated_messages_of_consumers(bench):
    for _ in range(3):
        bench.bad("consumer", "mutate", "127.0.0.1", str(CONSUMER)).child.wait(90)
    bench.told("p2ps", r"mount: host=\S+ (user=\S+ )?(ended|cut)")


def ten_thousand_logins_on_a_connection(bench):
    bad = bench.bad("consumer", "logins", "127.0.0.1", str(CONSUMER))
    bad.child.wait(90)
    assert re.search(r"answers [1-9]", bench.said(bad)), bench.said(bad)
    bench.told("p2ps", r"WARNING mount: host=127\.0\.0\.1:\d+: \d+ logins after the first one")


def more_connections_than_allowed(bench):
    bench.python(f"""
import socket, time
s = [socket.create_connection(("127.0.0.1", {CONSUMER})) for _ in range(600)]
time.sleep(0.5)
""")
    bench.told("p2ps", r"\d+ connections without a login gave way to others at maxMounts")
    late = Watcher(bench, HOST, "late", [f"127.0.0.1:{CONSUMER}"])
    late.up()
    until(lambda: late.is_well(0), 90, lambda: f"nobody gets in afterwards: {late.describe()} {late.events[-3:]}")
    late.quit()


def ten_thousand_requests_for_unknown_items(bench):
    bad = bench.bad("consumer", "unknown", "127.0.0.1", str(CONSUMER))
    assert bad.child.wait(90) == 0
    assert "ended 10000" in bench.said(bad), bench.said(bad)
    bench.told("p2ps", r"WARNING mount: host=127\.0\.0\.1:\d+: \d+ requests refused: no such service")


# ---- the providers' door ----

def garbage_from_a_provider(bench):
    server = subprocess.Popen(["nsenter", f"--net=/run/netns/{HOST}", sys.executable, "-c", f"""
import socket
s = socket.create_server(("127.0.0.1", {BAD}))
while True:
    c, _ = s.accept()
    c.sendall(bytes(range(256)) * 20)
    c.close()
"""])
    try:
        bench.told("src_dist", rf"provider: host=127\.0\.0\.1:{BAD} ended: (?!closed by the peer)")
    finally:
        server.kill()
        server.wait()


def nonsense_from_a_provider(bench):
    bench.bad("provider", "nonsense", str(BAD))
    bench.told("src_dist", rf"provider: host=127\.0\.0\.1:{BAD} cut: a message cannot be decoded")


def consumer_of_bad(bench, items="X0"):
    path = os.path.join(bench.dir, "bad.items")
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(items.split(",")) + "\n")
    watcher = Watcher(bench, HOST, "bad.watch", [f"127.0.0.1:{CONSUMER}"])
    watcher.words[watcher.words.index("-S") + 1] = "BAD"
    watcher.words[watcher.words.index("-f") + 1] = path
    watcher.up()
    return watcher


def a_provider_that_answers_on_wrong_streams(bench):
    bad = bench.bad("provider", "ids", str(BAD))
    watcher = consumer_of_bad(bench, "X0,X1,X2")
    until(lambda: "requests 3" in bench.said(bad), 90, lambda: bench.said(bad))
    bench.told("src_dist", rf"provider: host=127\.0\.0\.1:{BAD}: \d+ messages on streams that are not open")
    assert watcher.open == 0 and not watcher.violations, (watcher.open, watcher.violations)


def a_provider_that_sends_updates_before_images(bench):
    bench.bad("provider", "early", str(BAD))
    watcher = consumer_of_bad(bench, "X0,X1,X2")
    until(lambda: watcher.is_well(0) and watcher.updates > 100, 90, lambda: watcher.describe())
    assert not watcher.violations, watcher.violations[:5]
    bench.told("src_dist", rf"provider: host=127\.0\.0\.1:{BAD}: \d+ updates before their image")


def a_provider_that_refuses_for_ever(bench):
    bad = bench.bad("provider", "recover", str(BAD))
    watcher = consumer_of_bad(bench, ",".join(f"X{i}" for i in range(20)))
    until(lambda: "requests 20" in bench.said(bad), 90, lambda: bench.said(bad))
    time.sleep(5)
    asked = max(int(n) for n in re.findall(r"requests (\d+)", bench.said(bad)))
    assert asked <= 20 * 8, f"asked {asked} times in 5 s for 20 items: a refusal must slow it down"
    assert not watcher.violations, watcher.violations[:5]
    bench.told("src_dist", rf"provider: host=127\.0\.0\.1:{BAD}: \d+ items refused for now")


def a_provider_that_never_answers(bench):
    bad = bench.bad("provider", "silent", str(BAD))
    watcher = consumer_of_bad(bench, "X0,X1,X2")
    until(lambda: "requests 3" in bench.said(bad), 90, lambda: bench.said(bad))
    bench.told("src_dist", rf"provider: host=127\.0\.0\.1:{BAD}: \d+ requests not answered")
    assert not watcher.violations, watcher.violations[:5]


def garbage_from_publishers(bench):
    bench.python(GARBAGE.format(port=PUBLISHER))
    bench.told("src_dist", r"provider: host=127\.0\.0\.1:\d+ ended: (?!closed by the peer)")


def nonsense_from_a_publisher(bench):
    bench.bad("publisher", "nonsense", "127.0.0.1", str(PUBLISHER)).child.wait(90)
    bench.told("src_dist", r"provider: host=127\.0\.0\.1:\d+ cut: a message cannot be decoded")


def a_publisher_gets_in(bench):
    def is_in():
        late = bench.bad("publisher", "logins", "127.0.0.1", str(PUBLISHER))
        late.child.wait(90)
        return re.search(r"answers [1-9]", bench.said(late))

    until(is_in, 90, "no publisher gets in")


def ten_thousand_logins_of_a_publisher(bench):
    a_publisher_gets_in(bench)


def more_publishers_than_allowed(bench):
    crowd = bench.bad("publisher", "crowd", "127.0.0.1", str(PUBLISHER))
    bench.told("src_dist", r"provider: host=127\.0\.0\.1:\d+ ended: no login, and its address has as many connections")
    until(lambda: "closed " in bench.said(crowd), 90, lambda: bench.said(crowd))
    bench.still_well()
    a_publisher_gets_in(bench)  # while the crowd stands
    crowd.kill()
    a_publisher_gets_in(bench)


def a_flood_of_connections_of_publishers(bench):
    with subprocess.Popen(["nsenter", f"--net=/run/netns/{HOST}", sys.executable, "-c", f"""
import socket
s = [socket.create_connection(("127.0.0.1", {PUBLISHER})) for _ in range(600)]
print("all", flush=True)
input()
"""], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as flood:
        assert flood.stdout.readline() == "all\n"
        bench.still_well()
        a_publisher_gets_in(bench)
        flood.communicate("\n")
    bench.told("src_dist", r"provider: host=127\.0\.0\.1:\d+ ended: ")


# ---- the backbone's door ----

def garbage_on_the_backbone(bench):
    bench.python(f"""
import random, socket, struct
r = random.Random(4)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("{address(HOST)}"))
for i in range(20000):
    data = bytearray(r.randbytes(r.choice([0, 1, 20, 64, 200, 1400])))
    if i % 2 and len(data) >= 20:  # looks right at the start
        data[0:4] = struct.pack(">HBB", 0x5252, 0x11 + r.choice([0, 0, 0x20]), r.randrange(10))
        data[6:8] = struct.pack(">H", len(data))
    s.sendto(bytes(data), ("239.255.82.82", {GROUP}))
""")
    bench.told("rrcpd", r"packets that are none of ours: \d+ dropped")


def main():
    names = [n for n, f in globals().items() if callable(f) and getattr(f, "__code__", None) and
             f.__code__.co_varnames[:1] == ("bench",) and n not in ("consumer_of_bad", "a_publisher_gets_in")]
    if len(sys.argv) < 2:
        print("\n".join(names))
        return 0
    enter_namespaces()
    bench, failed = Bench(), False
    try:
        bench.build()
        bench.up()
        bench.still_well()
        globals()[sys.argv[1]](bench)
        bench.still_well()
        assert not bench.violations(), bench.watchers[0].violations[:5]
        dead = [d.name for d in bench.daemons.values() if not d.alive()]
        assert not dead, f"ended: {dead}"
        for process in bench.processes:
            if process.alive() and process.name.startswith("bad"):
                process.kill()
        wrong = bench.down() + bench.leftovers()
        assert not wrong, wrong
    except Exception:  # whatever it was is a failure of the scenario
        traceback.print_exc()
        failed = True
    finally:
        bench.destroy(failed)
    print("failed" if failed else "passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
