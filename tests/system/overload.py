#!/usr/bin/env python3
"""overload.py - a provider sends more than the backbone may carry.

src_dist says so and reads the provider more slowly: nothing is lost silently, no memory goes beyond
what was said at start, and when the provider slows down everything settles.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import tempfile

import conf_examples
import mirror
from reload import log_of, wait_for

ITEMS, CALM, TOO_MUCH, WAIT_S = 100, 500, 60000, 90
CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*rrcp*maxDataRate : 16M
*rrcp*maxPktPoolSize : 2000
*rrcp*pktPoolLimitHigh : 1500
*rrcp*pktPoolLimitLow : 1000
*src_dist*rrcpdInstance : 1
*p2ps*rrcpdInstance : 2
*maxMsgSize : 64K
*maxDecodedMsgSize : 64K
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
"""


def start_tools(items):
    provider = subprocess.Popen(
        [os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", "RDFD", "-N", "14102", "-L",
         "127.0.0.1", "-U",
         str(CALM), "-tps", "100", "-tcpnodel", "-seqdata", "-c"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    client = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202",
                                "-f", items, "-u",
                                "demo", "-seqcheck", "-secs", "600", "-l", "1",
                                stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
    return provider, client


def set_rate(provider, rate):
    provider.stdin.write(f"ur {rate}\n")
    provider.stdin.flush()


def flows(system, updates):
    before = mirror.value(system, "p2ps.1", "p2ps.worker.0.updatesOut")
    wait_for(lambda: mirror.value(system, "p2ps.1", "p2ps.worker.0.updatesOut") > before + updates,
             "nothing flows")


def level(system, name):
    return mirror.value(system, "src_dist.1", f"src_dist.{name}")


def within_bounds(system):
    for program in system.load()["programs"]:
        said = {k: v for k,
                v in mirror.values(system, program["name"]).items() if k.startswith("memory.")}
        bound = sum(v for k, v in said.items() if k.startswith("memory.max."))
        assert 0 < said["memory.resident"] <= bound, f"{program['name']}: {said}"


def overload(system, provider):
    mirror.await_value(system, "p2ps.1", "p2ps.worker.0.itemsOpen", lambda n: n == ITEMS)
    flows(system, CALM)
    assert level(system, "backboneRefused") == 0
    set_rate(provider, TOO_MUCH)
    wait_for(lambda: level(system, "backboneRefused") > 0, "the ring does not get full", WAIT_S)
    wait_for(lambda: re.search(r"WARNING .*outbound ring full: rrcpd takes less",
                               log_of(system, "src_dist.1")),
             "src_dist does not say that its ring is full")
    flows(system, 10 * CALM)
    within_bounds(system)
    set_rate(provider, CALM)
    wait_for(lambda: "the outbound ring has room again" in log_of(system, "src_dist.1"),
             "it does not settle", WAIT_S)
    wait_for(lambda: level(system, "outboundUse") < level(system, "outboundSize") / 100,
             "what waits stays", WAIT_S)
    refused = level(system, "backboneRefused")
    flows(system, 2 * CALM)
    within_bounds(system)
    assert level(system, "backboneRefused") == refused, "it has not settled"
    assert log_of(system, "src_dist.1").count("outbound ring full") == 1, "said more than once"


def judge(client):
    client.send_signal(signal.SIGINT)
    text, _ = client.communicate(timeout=60)
    print(text)
    assert client.returncode == 0 and f"{ITEMS} of {ITEMS} items open" in text, "not everything is open"
    assert re.search(r"[1-9]\d* checked, 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong",
                     text), "silent loss"


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        conf, items = os.path.join(folder, "rmds.cnf"), os.path.join(folder, "items")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF)
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        system = run.System(conf)
        children = []
        try:
            assert run.up(system) == 0, "it did not start"
            children = start_tools(items)
            overload(system, children[0])
            judge(children[1])
        finally:
            run.down(system)
            for child in children:
                child.terminate()
                child.communicate()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
