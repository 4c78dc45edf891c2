#!/usr/bin/env python3
"""backbone_health.py - rrcpd says when its backbone does not work: nobody else is heard, the interface goes, no packet
can be sent, another network or other keys on the same group; and that it does again."""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess

import conf_examples
import daemons

CONF = """\
*rrcp*interface : v0
*rrcp*authKeyFile : none
*runDir : {folder}/run
*logTarget : stderr
*p2ps*networkName : net2
*src_dist*networkName : net2
*p2ps*rsslPort : 14202
*src_dist*serverPort : 0
"""
PLACE = r"239\.255\.82\.82:8500 \(v0 10\.77\.0\.1\)"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def make_network():
    ip("link", "add", "v0", "type", "veth", "peer", "name", "v1")
    ip("address", "add", "10.77.0.1/24", "dev", "v0")
    for name in ("v0", "v1"):
        ip("link", "set", name, "up")


def alone(bed):
    """One node alone on a real interface; not when both sides are attached to it."""
    bed.start("rrcpd.net1.1", "rrcpd", "net1")
    bed.start("rrcpd.net2.1", "rrcpd", "net2")
    bed.start("p2ps.1", "p2ps")
    bed.start("src_dist.1", "src_dist")
    bed.said("rrcpd.net1.1", rf"WARNING another network sends to {PLACE}: its networkName is not net1, \d+ packets")
    bed.shown("rrcpd.net1.1", "WARN", "another network sends to our group")
    bed.said("rrcpd.net1.1", rf"WARNING no other node heard on {PLACE} for 10 s")
    assert "no other node" not in bed.log("rrcpd.net2.1"), bed.log("rrcpd.net2.1")
    for name in ("p2ps.1", "src_dist.1", "rrcpd.net2.1"):
        bed.stop(name)
    bed.said("rrcpd.net1.1", rf"NOTICE no other network sends to {PLACE} any more, after \d+ s")
    bed.shown("rrcpd.net1.1", "WARN", "no other node heard on 239.255.82.82:8500 (v0 10.77.0.1)")
    assert bed.monitor("-once")[0] == 5, "rmdsmon's exit code"


def interface(bed):
    """The cable is pulled, the interface is taken down, both are back."""
    ip("link", "set", "v1", "down")
    bed.said("rrcpd.net1.1", "WARNING interface v0 has no carrier: nothing is sent or heard on it")
    bed.shown("rrcpd.net1.1", "WARN", "interface v0 has no carrier")
    ip("link", "set", "v0", "down")
    bed.said("rrcpd.net1.1", "WARNING interface v0 is down: nothing is sent or heard on it")
    bed.said("rrcpd.net1.1", rf"WARNING no packet can be sent to {PLACE}: the kernel refuses each one: Network is unr")
    assert bed.value("rrcpd.net1.1", "ready") == 0, "ready"
    ip("link", "set", "v1", "up")
    ip("link", "set", "v0", "up")
    bed.said("rrcpd.net1.1", r"NOTICE interface v0 is up, after \d+ s")
    bed.said("rrcpd.net1.1", r"NOTICE packets are sent again, after \d+ s")


def together(bed):
    """A second node: all is well."""
    bed.start("rrcpd.net1.2", "rrcpd", "net1", "-instance", "2")
    bed.said("rrcpd.net1.1", rf"NOTICE other nodes are heard on {PLACE}, after \d+ s")
    bed.shown("rrcpd.net1.1", "ok", "")
    bed.shown("rrcpd.net1.2", "ok", "")
    assert bed.monitor("-once")[0] == 0, "rmdsmon's exit code"
    assert bed.value("rrcpd.net1.1", "ready") == 1, "ready"


def other_keys(bed):
    """A node whose packets are not signed, where ours are."""
    bed.stop("rrcpd.net1.2")
    bed.stop("rrcpd.net1.1")
    keys = os.path.join(bed.folder, "keys")
    with open(keys, "w", encoding="ascii") as file:
        file.write("1 " + "5a" * 32 + "\n")
    os.chmod(keys, 0o600)
    with open(bed.conf, "a", encoding="ascii") as file:
        file.write(f"*1.rrcpd*rrcp*authKeyFile : {keys}\n*1*rrcp*authKeyFile : {keys}\n")
    bed.start("rrcpd.net1.1", "rrcpd", "net1")
    bed.start("rrcpd.net1.2", "rrcpd", "net1", "-instance", "2")
    bed.said("rrcpd.net1.1", rf"WARNING packets to {PLACE} are dropped: they are not signed; authKeyFile must be")
    bed.shown("rrcpd.net1.1", "WARN", "packets are not signed")


if __name__ == "__main__":
    conf_examples.enter_namespace()
    make_network()
    daemons.run(CONF, alone, interface, together, other_keys)
