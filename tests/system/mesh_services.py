#!/usr/bin/env python3
"""mesh_services.py - two services, two gateways: each is sent the data of the service that its
consumers have items of, and the other one from when an item of it is opened."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess

import conf_examples
import mesh_chain
from three_hosts import HOSTS, until

RATE = "400"
SECOND = "\nfeed*src_dist*2.route*hostList : 10.1.0.10:14003\n"


def counters(host):
    monitor = os.path.join(conf_examples.BIN, "rmdsmon")
    out = host.run(monitor, "-run", host.folder, "-print", "RRCP", check=False,
                   capture_output=True, text=True).stdout
    found = re.findall(r"^\s*rrcpd\.net\d\.(\w+)\s+([\d,]+)", out, re.M)
    return {name: int(value.replace(",", "")) for name, value in found}


def consumer(feed, gateway, service, seconds):
    client = os.path.join(conf_examples.BIN, "rmdstestclient")
    return subprocess.Popen(
        feed.words(client, "-S", service, "-h", HOSTS[gateway], "-p", "14002", "-il", "TRI.N",
                   "-secs", seconds, "-timeout", "60", "-seqcheck", "-l", "1"),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def is_whole(client):
    """An image, then each update once and in order."""
    text = client.communicate()[0]
    updates = re.search(r"([\d,]+) updates in", text)
    sequence = re.search(r"sequence: (\d+) checked, (\d+) gaps, (\d+) lost, (\d+) duplicates, "
                         r"(\d+) out of order, (\d+) wrong", text)
    assert client.returncode == 0 and updates and updates[1] != "0", text
    assert sequence and not any(int(n) for n in sequence.groups()[1:]), text


def wants(host, topics):
    until(lambda: f"{host.name} wants {topics} topics: {counters(host)}",
          lambda: counters(host).get("topicsWanted") == topics and
          counters(host).get("everythingWanted") == 0)


def share_that_comes(host, others):
    """Of the packets that are sent, until `others` of them were left out."""
    before = counters(host)
    until(lambda: f"{host.name} is not sent what it does not want: {counters(host)}",
          lambda: counters(host)["skippedReceived"] > before["skippedReceived"] + others)
    after = counters(host)
    came, skipped = (after[name] - before[name] for name in ("mcastRcvd", "skippedReceived"))
    return came / (came + skipped)


def chain(hosts):
    feed, first, second = hosts["feed"], hosts["gw1"], hosts["gw2"]
    mesh_chain.hears(feed, "gw1", "gw2")
    clients = [consumer(feed, "gw1", "RDFD", "25"), consumer(feed, "gw2", "IDNS", "25")]
    wants(first, 1)
    wants(second, 1)
    # How much depends on how many packets have messages of both services in them.
    for host in (first, second):
        print(f"{host.name} is sent {share_that_comes(host, 600):.2f} of the packets", flush=True)
    assert counters(feed)["packetsSkipped"] > 0
    is_whole(consumer(feed, "gw1", "IDNS", "2"))
    assert counters(first)["topicsWanted"] == 2, counters(first)
    for client in clients:
        is_whole(client)
    for host in hosts.values():
        wants(host, 0)
        assert counters(host)["skipsRefused"] == 0, counters(host)


def main():
    providers = [("-S", service, "-N", port, "-U", RATE, "-tsa")
                 for service, port in (("RDFD", "14002"), ("IDNS", "14003"))]
    with mesh_chain.bed(*providers, more=SECOND) as (hosts, folder, conf):
        for name in HOSTS:
            mesh_chain.start(hosts, folder, conf, name)
        chain(hosts)


if __name__ == "__main__":
    mesh_chain.alone(main)
