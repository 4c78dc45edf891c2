#!/usr/bin/env python3
"""relay.py - the relay of docs/mesh.md to the letter, and a second one, in four namespaces as hosts.

Prices of a multicast network reach a gateway of a mesh. The second relay stands by. The first one is
killed while a consumer checks each update: what it misses it is told, and the second one takes over."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess

import conf_examples
import mesh_chain
import three_hosts
from three_hosts import Host, prices, until

PAGE = os.path.join(conf_examples.ROOT, "docs", "mesh.md")
HOSTS = {"feed": "10.1.0.11", "relay1": "10.1.0.12", "gw": "10.1.0.13", "relay2": "10.1.0.14"}
COMMANDS = {"feed": ("rrcpd net1 -fg", "src_dist -fg"), "relay1": ("rrcpd net1 -fg",),
            "relay2": ("rrcpd net1 -fg",), "gw": ("rrcpd net2 -fg", "p2ps -fg")}
OWN = """relay2*rrcpd.net1.rrcp*relayTo : net2
*src_dist*networkList : net1
*src_dist*1.route*hostList : 10.1.0.10:14002
*p2ps*networkList : net2
*p2ps*rsslPort : 14002
"""
CARRIED = r"nodes of network net1 that are carried onto network net2: (\d+); " \
          r"by other relays, for which this one stands by: (\d+)"


def write_conf(folder):
    with open(PAGE, encoding="ascii") as page:
        text, = re.findall(r"^```\n(\*interface.*?)^```$", page.read(), re.M | re.S)
    for keys in ("keys1", "keys2"):
        subprocess.run([os.path.join(conf_examples.BIN, "rrcpd"), "--make-key",
                        os.path.join(folder, keys)], check=True, stdout=subprocess.DEVNULL)
    path = os.path.join(folder, "rmds.cnf")
    with open(path, "w", encoding="ascii") as file:
        file.write(text.replace("/etc/rmds", folder) + OWN)
    check = subprocess.run([os.path.join(conf_examples.BIN, "rmdscnf"), "check", path],
                           capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout + check.stderr
    return path


def start(hosts, folder, conf, name):
    hosts[name] = Host(folder, name, HOSTS[name])
    for command in COMMANDS[name]:
        hosts[name].start(conf, *command.split())


def carries(host, carried, standing_by):
    """The last that the relay said of it."""
    until(lambda: f"{host.name} carries {carried}, stands by for {standing_by}: {host.log('rrcpd')}",
          lambda: (re.findall(CARRIED, host.log("rrcpd")) or [None])[-1] ==
          (str(carried), str(standing_by)))


def kill(host):
    host.running[0].kill()
    host.running.pop(0).wait()


def watch(host, folder):
    """A consumer that checks the numbers of all updates."""
    path = os.path.join(folder, "consumer.log")
    with open(path, "w", encoding="utf-8") as log:
        words = host.words(os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "RDFD", "-h",
                           HOSTS["gw"], "-p", "14002", "-il", "TRI.N", "-seqcheck", "-secs", "15")
        return path, subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def the_second_takes_over(hosts, folder):
    path, consumer = watch(hosts["gw"], folder)
    until(lambda: text_of(path), lambda: "items open" in text_of(path))
    kill(hosts["relay1"])
    carries(hosts["relay2"], 1, 0)
    consumer.wait()
    text = text_of(path)
    found = re.search(r"sequence: (\d+) checked, (\d+) gaps, (\d+) lost, (\d+) duplicates, "
                      r"(\d+) out of order, (\d+) wrong.* (\d+) resyncs", text)
    assert found and int(found[1]) > 0 and int(found[7]) > 0, text
    assert [int(n) for n in found.groups()[1:6]] == [0] * 5, text
    log = hosts["gw"].log("rrcpd")
    assert "node feed.1.rrcpd is down" in log, log


def refuses_what_cannot_be(host, conf):
    rrcpd = os.path.join(conf_examples.BIN, "rrcpd")
    for lines, why in ((["*net1.rrcp*relayTo : net1"], "is the network of this rrcpd itself"),
                       (["*net1.rrcp*relayTo : net2", "*rrcpd.net1.rrcp*relayServices :"],
                        ": nothing is named"),
                       (["*net1.rrcp*relayTo : net22"], "no line is about a network net22"),
                       (["*net1.rrcp*relayTo : net2", "*net2.rrcp*transport : udp",
                         "*net2.rrcp*multicastAddress : 239.255.82.82"], "groups of their own"),
                       (["*net1.rrcp*relayTo : net2", "*net2.rrcp*disconnectOnGaps : True"],
                        "disconnectOnGaps")):
        words = [word for line in lines for word in ("-set", line)]
        done = host.run(rrcpd, "net1", "-fg", "-c", conf, "-c", host.own, *words, check=False,
                        capture_output=True, text=True)
        assert done.returncode == 1 and why in done.stderr, (done.returncode, done.stderr)


def chain(hosts, folder, conf):
    hosts["gw"] = Host(folder, "gw", HOSTS["gw"])
    refuses_what_cannot_be(hosts["gw"], conf)
    hosts.pop("gw").close()
    for name in ("feed", "relay1", "gw"):
        start(hosts, folder, conf, name)
    carries(hosts["relay1"], 1, 0)
    prices(hosts["gw"], "gw")
    start(hosts, folder, conf, "relay2")
    carries(hosts["relay2"], 0, 1)
    the_second_takes_over(hosts, folder)
    prices(hosts["gw"], "gw")
    hosts["relay1"].start(conf, "rrcpd", "net1", "-fg")
    carries(hosts["relay1"], 0, 1)
    prices(hosts["gw"], "gw")


def main():
    three_hosts.HOSTS = HOSTS
    provider = ("-S", "RDFD", "-N", "14002", "-U", "100", "-seqdata")
    with mesh_chain.bed(provider, write=write_conf, multicast="on") as (hosts, folder, conf):
        chain(hosts, folder, conf)


if __name__ == "__main__":
    mesh_chain.alone(main)
