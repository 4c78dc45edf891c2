#!/usr/bin/env python3
"""relay_services.py - two services of a multicast network, two gateways of a mesh behind a relay: each
is sent the service that its consumers have items of, and the other from when an item is opened."""
# SPDX-License-Identifier: Apache-2.0
import mesh_chain
import mesh_services
import relay
from mesh_services import consumer, counters, is_whole, share_that_comes, wants

HOSTS = {"feed": "10.1.0.11", "relay1": "10.1.0.12", "gw1": "10.1.0.13", "gw2": "10.1.0.14"}
COMMANDS = {**relay.COMMANDS, "gw1": relay.COMMANDS["gw"], "gw2": relay.COMMANDS["gw"]}
SECOND = """*rrcpd.net1.rrcp*relayServices : RDFD, IDNS
*src_dist*2.route*hostList : 10.1.0.10:14003
"""


def start(hosts, folder, conf, name):
    hosts[name] = relay.Host(folder, name, HOSTS[name])
    for command in COMMANDS[name]:
        hosts[name].start(conf, *command.split())


def chain(hosts):
    first, second = hosts["gw1"], hosts["gw2"]
    mesh_chain.hears(hosts["feed"], "gw1", "gw2")
    for host in (first, second):
        mesh_chain.hears(host, "feed")
    wants(hosts["relay1"], 2)
    clients = [consumer(first, "gw1", "RDFD", "25"), consumer(second, "gw2", "IDNS", "25")]
    wants(first, 1)
    wants(second, 1)
    for host in (first, second):
        print(f"{host.name} is sent {share_that_comes(host, 100):.2f} of the packets", flush=True)
    is_whole(consumer(first, "gw1", "IDNS", "2"))
    assert counters(first)["topicsWanted"] == 2, counters(first)
    for client in clients:
        is_whole(client)
    for host in (first, second):
        wants(host, 0)
        assert counters(host)["skipsRefused"] == 0, counters(host)


def main():
    mesh_services.HOSTS = HOSTS
    providers = [("-S", service, "-N", port, "-U", mesh_services.RATE, "-tsa", "-seqdata")
                 for service, port in (("RDFD", "14002"), ("IDNS", "14003"))]
    with mesh_chain.bed(*providers, more=SECOND, write=relay.write_conf,
                        multicast="on") as (hosts, folder, conf):
        for name in HOSTS:
            start(hosts, folder, conf, name)
        chain(hosts)


if __name__ == "__main__":
    mesh_chain.alone(main)
