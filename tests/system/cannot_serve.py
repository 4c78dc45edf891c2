#!/usr/bin/env python3
"""cannot_serve.py - a daemon that is cut off from the backbone, or has nothing to serve, says so:
in the log, in rmdsmon and its exit code, on the status port; and takes it back when it is
mended."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import urllib.error
import urllib.request

import conf_examples
import daemons

CONF = """\
*rrcp*interface : lo
*rrcp*authKeyFile :
*runDir : {folder}/run
*logTarget : stderr
*p2ps*rsslPort : 14202
*p2ps*statusPort : 18081
*p2ps*rrcpdInstance : 2
*rmdsrec*statusPort : 18082
*rmdsrec*rrcpdInstance : 2
*rmdsrec*recordFollow : True
*rmdsrec*recordFile : {folder}/day/%Y%m%d-%H%M%S.rrec
*src_dist*serverPort : 14203
*src_dist*serviceList : RDFD
"""


def get(port, path):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=60) as answer:
        return answer.read().decode()


def probe(port, path):
    """Status and text for a probe, which asks with a Host of its own."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/{path}",
                                     headers={"Host": "vega.example"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read().decode()


def cut_off(bed):
    """Where it looked, which line says so, and what there is in place of it; for every eye."""
    bed.start("rrcpd.net1.1", "rrcpd", "net1")
    bed.said("rrcpd.net1.1", "ready")
    bed.start("src_dist.1", "src_dist")
    bed.start("p2ps.1", "p2ps")
    place = re.escape(bed.folder)
    bed.said("p2ps.1",
             rf"WARNING backbone net1: no rrcpd at {place}/run/rrcpd\.net1\.2/attach \(networkName "
             rf"net1, "
                       rf"the default; rrcpdInstance 2, {place}/c\.cnf:7\); found there: "
                       rf"rrcpd\.net1\.1; "
                       r"trying every second; for [2-9] s now")
    bed.shown("p2ps.1", "WARN", "no rrcpd for network net1, instance 2")
    code, _ = bed.monitor("-once")
    assert code == 5, f"rmdsmon's exit code is {code}"
    now = json.loads(get(18081, "status.json"))
    assert (now["state"], now["note"]) == ("warn", "no rrcpd for network net1, instance 2"), now
    assert next(d["state"] for d in now["host"] if d["name"] == "p2ps.1") == "warn", now["host"]
    samples = get(18081, "metrics")
    for sample in ('rmds_ready{process="p2ps",number="1"} 0',
                   'rmds_troubles{process="p2ps",number="1"} 1'):
        assert sample in samples, f"no {sample}"
    assert probe(18081, "ready") == (503,
                                     "not ready: no rrcpd for network net1, instance 2\n"), probe(
                                         18081, "ready")
    assert probe(18081, "healthz") == (200, "ok\n"), probe(18081, "healthz")
    cut_off_recorder(bed, place)


def cut_off_recorder(bed, place):
    """As p2ps; it has no folder to write to, either."""
    bed.start("rmdsrec.1", "rmdsrec")
    bed.said("rmdsrec.1",
             rf"WARNING backbone net1: no rrcpd at {place}/run/rrcpd\.net1\.2/attach \(networkName "
             rf"net1, the default; rrcpdInstance 2, {place}/c\.cnf:9\)")
    bed.said("rmdsrec.1", rf"WARNING cannot write {place}/day/[0-9-]+\.rrec: No such file or directory")
    bed.shown("rmdsrec.1", "WARN", "no rrcpd for network net1, instance 2")
    assert probe(18082, "ready") == (503, "not ready: no rrcpd for network net1, instance 2\n"), \
        probe(18082, "ready")
    assert probe(18082, "healthz") == (200, "ok\n"), probe(18082, "healthz")


def attached(bed):
    """The same places say when it is over; one who attaches at once never was in trouble."""
    bed.start("rrcpd.net1.2", "rrcpd", "net1", "-instance", "2")
    bed.said("p2ps.1", r"NOTICE backbone net1: attached to its rrcpd, after \d+ s")
    samples = get(18081, "metrics")
    assert 'rmds_ready{process="p2ps",number="1"} 1' in samples, "ready"
    assert "no rrcpd" not in bed.log("src_dist.1"), bed.log("src_dist.1")
    bed.said("rmdsrec.1", r"NOTICE backbone net1: attached to its rrcpd, after \d+ s")
    bed.shown("rmdsrec.1", "WARN", "cannot write: No such file or directory")
    os.mkdir(os.path.join(bed.folder, "day"))
    bed.said("rmdsrec.1", r"NOTICE recording into .*/day/[0-9-]+\.rrec")
    bed.said("rmdsrec.1", r"NOTICE data are written, after \d+ s")
    bed.shown("rmdsrec.1", "ok", "")
    assert probe(18082, "ready") == (200, "ready\n"), probe(18082, "ready")


def nothing_to_serve(bed):
    """Attached, but nobody provides anything; until somebody does."""
    bed.said("src_dist.1", "WARNING no provider is connected")
    bed.said("p2ps.1", "WARNING no service is offered on the backbone")
    bed.shown("src_dist.1", "WARN", "no provider is connected")
    bed.shown("p2ps.1", "WARN", "no service is offered")
    items = os.path.join(bed.folder, "items")
    with open(items, "w", encoding="ascii") as file:
        file.write("X1\n")
    provider = conf_examples.tool("sink_driven_src", "-S", "RDFD", "-host", "127.0.0.1:14203", "-f",
                                  items,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    other = conf_examples.tool("sink_driven_src", "-S", "IDNS", "-host", "127.0.0.1:14203", "-f", items,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        bed.said("src_dist.1", r'WARNING .*service IDNS is not offered: serviceList is "RDFD"')
        bed.said("src_dist.1", r"NOTICE a provider is connected, after \d+ s")
        bed.said("p2ps.1", r"NOTICE services are offered, after \d+ s")
        bed.shown("src_dist.1", "ok", "")
        bed.shown("p2ps.1", "ok", "")
        assert probe(18081, "ready") == (200, "ready\n"), probe(18081, "ready")
    finally:
        for publisher in (provider, other):
            publisher.terminate()
            publisher.wait()


def lost(bed):
    """An rrcpd that ends is missed like one that never was."""
    bed.stop("rrcpd.net1.2")
    bed.shown("p2ps.1", "WARN", "no rrcpd for network net1, instance 2")
    bed.shown("rmdsrec.1", "WARN", "no rrcpd for network net1, instance 2")
    assert "no other node" not in bed.log("rrcpd.net1.1"), "on the loopback nobody else is needed"


if __name__ == "__main__":
    conf_examples.enter_namespace()
    daemons.run(CONF, cut_off, attached, nothing_to_serve, lost)
