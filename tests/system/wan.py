"""wan.py - a head office and remote sites in network namespaces, with a long line between them that
wan_pipe carries: the bed of remote_sites.py."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import time

import conf_examples
from three_hosts import Host

PIPE = os.path.join(os.path.dirname(conf_examples.BIN.rstrip("/")), "tests", "wan_pipe")
WAIT_S = 90

COMMON = """
*rrcp*interface : lo
*rrcp*multicastAddress : 239.255.82.82
*p2ps*rsslPort : 14002
*p2ps*workers : 1
*p2ps*rttInterval : 1
*src_dist*serverPort : 14003
hq*src_dist*1.route*hostList : 127.0.0.1:14010
*src_dist*1.route*hostList : 10.9.1.1:14002
hq*src_dist*siteName : HQ
"""


def until(what, condition, wait_s=WAIT_S):
    end = time.monotonic() + wait_s
    while not (found := condition()):
        assert time.monotonic() < end, f"{what() if callable(what) else what}: not in {wait_s} s"
        time.sleep(0.15)
    return found


class Site(Host):
    """A namespace with a name, whose backbone is its loopback."""

    def __init__(self, folder, name, conf):  # pylint: disable=super-init-not-called
        self.name, self.folder = name, os.path.join(folder, name)
        self.running, self.logs = [], {}
        self.holder = subprocess.Popen(
            ["unshare", "-n", "-u", "sh", "-c", f"hostname {name} && echo up && exec cat"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.run("ip", "link", "set", "lo", "up", "multicast", "on")
        self.run("ip", "route", "add", "224.0.0.0/4", "dev", "lo")
        os.makedirs(self.folder, exist_ok=True)
        self.own = os.path.join(self.folder, "own.cnf")
        self.conf = os.path.join(self.folder, "rmds.cnf")
        with open(self.own, "w", encoding="ascii") as file:
            file.write(f"*runDir : {self.folder}\n*logTarget : stderr\n")
        with open(self.conf, "w", encoding="ascii") as file:
            file.write(conf)

    def daemons(self):
        self.start(self.conf, "rrcpd", "net1", "-fg")
        for program in ("src_dist", "p2ps"):
            self.start(self.conf, program, "-fg")

    def values(self, instance):
        """All that a daemon says of itself, {} when there is none."""
        said = subprocess.run([os.path.join(conf_examples.BIN, "rmdsmon"), "-run", self.folder,
                               "-once", "-watch", "0.01", "-json"],
                              capture_output=True, text=True, check=False).stdout
        return next((i["values"] for i in json.loads(said)["instances"] if i["name"] == instance),
                    {})

    def value(self, instance, name):
        """One of them, or the sum over all mounts and the like where a part of the name is *."""
        found = self.values(instance)
        if "*" not in name:
            return found.get(name)
        pattern = re.compile(re.escape(name).replace(r"\*", r"\d+") + "$")
        return sum(value for key, value in found.items() if pattern.match(key))

    def await_value(self, instance, name, is_right, wait_s=WAIT_S):
        return until(lambda: f"{self.name}: {name} is {self.value(instance, name)}",
                     lambda: (found := self.value(instance, name)) is not None
                     and is_right(found) and (found or True), wait_s)

    def consumer(self, items, *words, where="127.0.0.1:14002"):
        return subprocess.Popen(
            self.words(os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "RDFD", "-h", where,
                       "-f", items, "-seqcheck", "-secs", "3600", "-timeout", "0", "-l", "1",
                       "-json", "-", *words),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


class Line:
    """The long line from one site (its address ends in 1) to another one (2)."""

    count = 0

    def __init__(self, one, two, delay_ms=40, loss_ppm=0, bits=50e6, queue=250000):
        Line.count += 1
        self.net, device = f"10.9.{Line.count}", f"wan{Line.count}"
        self.pipe = subprocess.Popen(
            [PIPE, str(one.holder.pid), str(two.holder.pid), device, str(int(delay_ms * 1000)),
             str(loss_ppm), str(int(bits)), str(int(bits)), str(queue)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        if self.pipe.stdout.readline() != "ready\n":
            raise OSError("no long line can be made here")
        for number, site in enumerate((one, two), 1):
            site.run("ip", "address", "add", f"{self.net}.{number}/24", "dev", device)
            site.run("ip", "link", "set", device, "up")

    def say(self, order):
        self.pipe.stdin.write(order + "\n")
        self.pipe.stdin.flush()

    def figures(self):
        """Packets, bytes, lost ones and dropped ones, from the first site and from the second."""
        self.say("figures")
        numbers = [int(n) for n in self.pipe.stdout.readline().split()]
        return numbers[:4], numbers[4:]

    def close(self):
        self.pipe.stdin.close()
        self.pipe.wait()


def provider(site, rate, *words, port=14010):
    """Its standard input takes commands."""
    return subprocess.Popen(
        site.words(os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", "RDFD", "-N",
                   str(port), "-L", "127.0.0.1", "-U", str(rate), "-tps", "100", "-seqdata", "-c",
                   *words),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, bufsize=1)


def make_list(folder, count):
    path = os.path.join(folder, f"items{count}")
    with open(path, "w", encoding="ascii") as out:
        conf_examples.tool("sink_driven_src", "-mklist", str(count), "X", stdout=out).wait()
    return path


def verdict(client):
    """What a consumer has found, after it was stopped."""
    client.terminate()
    text, _ = client.communicate(timeout=WAIT_S)
    start = text.find("\n{")
    return text, json.loads(text[start:]) if start >= 0 else {}
