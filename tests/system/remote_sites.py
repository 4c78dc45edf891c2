#!/usr/bin/env python3
"""remote_sites.py chain|ceiling|flaps|crowd - a head office and a remote site, and a long line
between them.

chain    whatever many take crosses once; a site does not feed itself; what is lost is told
ceiling  the head office sends no more than outputRate, and all of it
flaps [SECONDS]  two lines that are cut at random: nothing is lost that is not told
crowd    200 consumers of 20,000 items
"""
# SPDX-License-Identifier: Apache-2.0
import os
import random
import subprocess
import sys
import tempfile
import time

import conf_examples
import wan

HEADERS = 52  # bytes of IP and TCP with time stamps
SITE = """
hq*p2ps*minPingTimeout : 1
paris*p2ps*minPingTimeout : 1
paris*src_dist*siteName : PARIS
paris*src_dist*1.route*routeType : consumer
paris*src_dist*1.route*loginUser : paris
paris*src_dist*1.route*pingTimeout : 3
"""
CLEAN = " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong, 0 before their image"


class World:
    """Both sites with their daemons, the line, and the provider."""

    def __init__(self, folder, more="", rate=500, items=50, lines=1, **line):
        conf = wan.COMMON + SITE + more
        self.folder, self.children = folder, []
        self.hq, self.paris = (wan.Site(folder, name, conf) for name in ("hq", "paris"))
        try:
            self.lines = [wan.Line(self.hq, self.paris, **line) for _ in range(lines)]
        except OSError as error:
            print(error)
            sys.exit(77)
        self.provider = wan.provider(self.hq, rate)
        self.count, self.items = items, wan.make_list(folder, items)
        self.hq.daemons()
        self.paris.daemons()

    def await_service(self):
        """The dictionaries have crossed, too."""
        for name in ("RWFFld", "RWFEnum"):
            wan.until(lambda: self.paris.log("src_dist"),
                      lambda: f"dictionary {name} came from" in self.paris.log("src_dist"))
        return self.images()

    def images(self):
        return self.hq.value("p2ps.1", "p2ps.worker.0.refreshOut")

    def cross_once(self, images):
        streams = self.hq.value("p2ps.1", "p2ps.mount.*.*.items")
        images = self.images() - images
        assert streams == images == self.count, f"{streams} streams, {images} images"

    def consumers(self, count, *words):
        return [self.paris.consumer(self.items, *words) for _ in range(count)]

    def await_open(self, streams):
        self.paris.await_value("p2ps.1", "p2ps.worker.0.watches", lambda n: n == streams)
        self.await_good()

    def await_good(self):
        """The site takes its items, and they flow."""
        self.paris.await_value("src_dist.1", "src_dist.service.RDFD.active",
                               lambda n: n == self.count)
        self.paris.await_value("src_dist.1", "src_dist.itemsOpen", lambda n: n == self.count)
        self.flows()

    def flows(self):
        before = self.paris.value("src_dist.1", "src_dist.updatesIn")
        self.paris.await_value("src_dist.1", "src_dist.updatesIn", lambda n: n > before + 100)

    def close(self):
        self.provider.terminate()
        self.provider.wait()
        for site in (self.hq, self.paris):
            site.close()
        for line in self.lines:
            line.close()


def judge(clients, is_told=False):
    for client in clients:
        text, found = wan.verdict(client)
        assert client.returncode == 0 and CLEAN in text, text
        assert found["updates"] > 0 and (not is_told or found["resyncs"] > 0), text


def restart_p2ps(site):
    """Killed, and started again: what was connected is told at once."""
    process = site.running.pop()
    process.kill()
    process.wait()
    site.start(site.conf, "p2ps", "-fg")


def chain(folder):
    world = World(folder, "hq*src_dist*2.route*routeType : consumer\n"
                          "hq*src_dist*2.route*hostList : 10.9.1.2:14002\n", loss_ppm=5000)
    try:
        images = world.await_service()
        clients = world.consumers(3)
        world.await_open(3 * world.count)
        world.cross_once(images)
        # back at the head office, nobody takes its own data
        wan.until(lambda: world.hq.log("src_dist"),
                  lambda: "is not taken: it came through this site; its path is HQ,PARIS"
                  in world.hq.log("src_dist"))
        assert world.hq.value("src_dist.1", "src_dist.servicesLooped") > 0
        # the path is shown
        world.paris.await_value("src_dist.1", "src_dist.route.1.rttUs", lambda n: n >= 80000)
        world.paris.await_value("src_dist.1", "src_dist.route.1.lagUs", lambda n: n >= 80000)
        restart_p2ps(world.hq)
        wan.until(lambda: world.paris.log("src_dist"),
                  lambda: "service RDFD is down" in world.paris.log("src_dist"))
        world.paris.await_value("src_dist.1", "src_dist.route.1.connects", lambda n: n == 2)
        world.await_good()
        judge(clients, is_told=True)
    finally:
        world.close()


SECURE = """
hq*p2ps*tlsPort : 14443
hq*p2ps*tlsCertFile : {0}/hq.pem
hq*p2ps*tlsKeyFile : {0}/hq.key
hq*p2ps*accessFile : {0}/access
paris*src_dist*1.route*hostList : 10.9.1.1:14443
paris*src_dist*1.route*encrypted : True
paris*src_dist*1.route*tlsCaFile : {0}/hq.pem
paris*src_dist*1.route*loginPasswordFile : {0}/password
"""


def secure(folder):
    """TLS, and a password: the lines of the configuration."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=hq",
                    "-addext", "subjectAltName=IP:10.9.1.1", "-keyout", f"{folder}/hq.key",
                    "-out", f"{folder}/hq.pem"], check=True, capture_output=True)
    for name, text in (("access", "user paris password=secret\nallow * * *\n"),
                       ("password", "secret\n")):
        with open(os.path.join(folder, name), "w", encoding="ascii",
                  opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(text)
    return SECURE.format(folder)


def ceiling(folder, rate=200000, seconds=30):
    """Four times as much is wanted; as the line sees it, with what TLS adds."""
    world = World(folder, f"hq*p2ps*user.paris*outputRate : {rate}\n" + secure(folder),
                  rate=rate // 25, items=100, loss_ppm=0)
    try:
        clients = world.consumers(2)
        world.await_open(2 * world.count)
        world.hq.await_value("p2ps.1", "p2ps.mount.*.*.slowMerged", lambda n: n > 1000)
        assert world.paris.value("src_dist.1", "src_dist.route.1.outputRate") == rate
        begin, (packets, sent, *_) = time.monotonic(), world.lines[0].figures()[0]
        time.sleep(seconds)
        took, (packets_then, sent_then, *_) = time.monotonic() - begin, world.lines[0].figures()[0]
        payload = sent_then - sent - HEADERS * (packets_then - packets)
        share = payload / took / rate
        lag = world.hq.value("p2ps.1", "p2ps.mount.*.*.worstLagUs")
        print(f"ceiling {rate} bytes/s: {payload / took:.0f} bytes/s in {took:.1f} s, "
              f"{share * 100:.1f} %; the worst lag of an item was {lag / 1000:.0f} ms")
        assert share <= 1.05, "more than 5 % above outputRate"
        judge(clients, is_told=True)
    finally:
        world.close()


FLAPS = """
paris*src_dist*2.route*routeType : consumer
paris*src_dist*2.route*loginUser : paris
paris*src_dist*2.route*pingTimeout : 3
paris*src_dist*2.route*hostList : 10.9.2.1:14002
"""


def flap(line, dice, until):
    """The line is cut for so long now, then it is well for a while."""
    line.say("cut")
    time.sleep(dice.choice((0.05, 0.3, 1, 5, 9)) * dice.random())
    line.say("heal")
    time.sleep(min(6 * dice.random(), max(0, until - time.monotonic())))


def flaps(folder, seconds=60):
    """Routes of two lines, cut by turns, sometimes both."""
    dice = random.Random(22)
    world = World(folder, FLAPS, rate=2000, items=500, lines=2, loss_ppm=5000)
    cuts = 0
    try:
        clients = world.consumers(2, "-drain", "60")
        world.await_open(2 * world.count)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if dice.random() < 0.2:
                world.lines[1].say("cut")
            flap(world.lines[0], dice, until)
            world.lines[1].say("heal")
            if dice.random() < 0.5:
                flap(world.lines[1], dice, until)
            cuts += 1
        world.await_good()
        figures = world.paris.values("src_dist.1")
        print(f"{cuts} rounds of cuts in {seconds} s, connections: route 1 "
              f"{figures['src_dist.route.1.connects']}, route 2 "
              f"{figures['src_dist.route.2.connects']}")
        for client in clients:
            text, found = wan.verdict(client)
            print(f"{found['checked']} messages checked, {found['suspects']} suspects told, "
                  f"{found['resyncs']} resyncs that told of {found['told_lost']} lost; "
                  f"gaps {found['gaps']}, lost {found['lost']}, "
                  f"duplicates {found['duplicates']}, wrong {found['wrong']}")
            assert client.returncode == 0 and CLEAN in text, text
    finally:
        world.close()


def crowd(folder, consumers=200, count=20000, rate=500):
    """Each update goes to all consumers: the rate is what a machine that does other work
    still carries beside the opening of four million streams."""
    world = World(folder, rate=rate, items=count, loss_ppm=5000)
    try:
        images = world.await_service()
        client = world.paris.consumer(world.items, "-conns", str(consumers))
        begin = time.monotonic()
        world.paris.await_value("p2ps.1", "p2ps.worker.0.watches",
                                lambda n: n == consumers * count, 900)
        world.paris.await_value("src_dist.1", "src_dist.itemsOpen", lambda n: n == count, 500)
        world.cross_once(images)
        print(f"{consumers} consumers of {count} items in {time.monotonic() - begin:.0f} s, the "
              f"line carried {world.lines[0].figures()[0][1]} bytes and each item once")
        judge([client])
    finally:
        world.close()


def main():
    run = {"chain": chain, "ceiling": ceiling, "flaps": flaps, "crowd": crowd}[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        run(folder, *(int(word) for word in sys.argv[2:]))
    print("all good")


if __name__ == "__main__":
    if subprocess.run(["unshare", "-r", "-n", "-u", "true"], capture_output=True,
                      check=False).returncode != 0 or not os.access("/dev/net/tun", os.R_OK):
        print("no namespaces, or no tun devices, may be made here")
        sys.exit(77)
    conf_examples.enter_namespace()
    main()
