#!/usr/bin/env python3
"""mirror_unseen.py - two src_dist hear one numbered provider and mirror each other unseen.

One of them is killed under load, and started again: its items go to the other one, and all of them
back to it (rebalance), many in a second. The consumer gets each update once, and no image.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import conf_examples
import mirror

ITEMS, RATE = 400, 5000  # at one item a second they would not be back in time
CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1, src_dist.2, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*rrcp*peerTimeout : 30000
*p2ps*instanceTimeout : 30000
*src_dist*rrcpdInstance : 1
*p2ps*rrcpdInstance : 2
*src_dist*1.route*hostList : 127.0.0.1:14122
*src_dist*serverPort : 0
*src_dist*mirrorGroup : pair
*src_dist*mirrorMode : hot
*src_dist*mirrorSequence : True
*src_dist*replayTime : 60
*p2ps*rsslPort : 14203
*p2ps*rebalance : True
*p2ps*rebalanceRate : 1000
"""


def flow(system):
    updates = mirror.value(system, "p2ps.1", "p2ps.worker.0.updatesOut")
    mirror.await_value(system, "p2ps.1", "p2ps.worker.0.updatesOut", lambda n: n > updates + 4000)


def start_again(run, system, name):
    """As the one that was killed."""
    program, trouble, _ = run.start(system, run.Entry(name), name)
    assert not trouble, trouble
    state = system.load()
    state["programs"] = [program if p["name"] == name else p for p in state["programs"]]
    system.save(state)


def kill_and_see(run, system, client, report):
    """What the mirror says, after the src_dist that carried items was killed and came again."""
    both = ("src_dist.1", "src_dist.2")
    mirror.await_value(system, "p2ps.1", "p2ps.worker.0.itemsOpen", lambda n: n == ITEMS)
    for name in both:
        mirror.await_value(system, name, "src_dist.itemsOpen", lambda n: n == ITEMS)
    moved = mirror.value(system, "p2ps.1", "p2ps.worker.0.itemsMoved")
    out = [mirror.value(system, name, "src_dist.replayItems") for name in both]
    mirror.passed_on(system, both[0])  # each item has had updates since both have it
    victim = 0 if out[0] < ITEMS else 1  # it does not stand by for all of them
    left = both[1 - victim]
    wanted = ITEMS - mirror.value(system, both[victim], "src_dist.replayItems")
    os.kill(next(p for p in system.load()["programs"] if p["name"] == both[victim])["pid"],
            signal.SIGKILL)
    mirror.await_passing_on(system, left)
    flow(system)
    start_again(run, system, both[victim])
    began = time.monotonic()
    mirror.await_value(system, "p2ps.1", "p2ps.worker.0.itemsMoved", lambda n: n >= moved + wanted)
    print(f"all {wanted} were back after {time.monotonic() - began:.1f} s")
    flow(system)
    client.send_signal(signal.SIGINT)
    text, _ = client.communicate(timeout=90)
    assert client.returncode == 0, text
    said = mirror.values(system, left)
    refused = {k: v for k, v in said.items() if ".resumesRefused." in k and v}
    print(f"{both[victim]} killed, {wanted} items of it; {left} resumed "
          f"{said['src_dist.resumed']}, replayed {said['src_dist.replayed']}, refused {refused}")
    with open(report, encoding="ascii") as result:
        return wanted, said["src_dist.resumed"], json.load(result)


def judge(wanted, resumed, result):
    print({k: result[k] for k in ("updates_total", "refreshes", "checked", "gaps", "lost",
                                  "duplicates", "reorders", "wrong", "early", "suspects")})
    assert [result[k] for k in ("gaps", "lost", "duplicates", "reorders", "wrong", "early")] == \
        [0] * 6, "an update is missing, or came twice"
    assert result["checked"] > 4000, "the data did not flow on"
    # A machine that is too busy for 200 ms shows the switch as suspect and fine, nothing else.
    assert resumed == wanted, "an item got an image"
    assert result["refreshes"] == ITEMS, "a refresh came that nobody asked for"
    if result["suspects"]:
        print(f"{result['suspects']} were suspect for a moment: the switch took over 200 ms here")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF)
        system = run.System(conf)
        items, report = os.path.join(folder, "items"), os.path.join(folder, "report")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        children = [conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14122", "-L",
                                       "127.0.0.1", "-U", str(RATE), "-tps", "100", "-seqdata",
                                       "-seqnum", stdout=subprocess.DEVNULL)]
        try:
            assert run.up(system) == 0, "it did not start"
            for name in ("src_dist.1", "src_dist.2"):
                mirror.await_value(system, name, "src_dist.servicesUp", lambda n: n == 1)
            mirror.await_value(system, "p2ps.1", "p2ps.service.RDFD.instances", lambda n: n == 2)
            client = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p",
                                        "14203", "-f", items, "-u", "demo", "-seqcheck", "-secs",
                                        "3600", "-l", "1", "-json", report,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True)
            children.append(client)
            judge(*kill_and_see(run, system, client, report))
        finally:
            run.down(system)
            for child in children:
                child.terminate()
                child.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    sys.exit(main())
