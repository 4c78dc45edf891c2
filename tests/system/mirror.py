#!/usr/bin/env python3
"""mirror.py cold|hot - two src_dist offer one service, each from a provider of its own; one is
killed.

Both carry a share of the items. The one that is left takes over the others: with mirrorMode hot
from its cache, without a single request to its provider. Nothing is lost silently.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import conf_examples

ITEMS, WAIT_S = 200, 90
CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1, src_dist.2, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*rrcp*peerTimeout : 30000
*p2ps*instanceTimeout : 30000
*src_dist*rrcpdInstance : 1
*p2ps*rrcpdInstance : 2
*1.src_dist*1.route*hostList : 127.0.0.1:14102
*2.src_dist*1.route*hostList : 127.0.0.1:14112
*src_dist*serverPort : 0
*src_dist*mirrorGroup : pair
*src_dist*mirrorMode : {mode}
*p2ps*rsslPort : 14202
"""


def values(system, instance):
    """All that an instance says of itself, {} when there is none."""
    said = subprocess.run([os.path.join(conf_examples.BIN, "rmdsmon"), "-run", system.folder,
                           "-once", "-watch", "0.01",
                           "-json"],
                          capture_output=True, text=True, check=False).stdout
    return next((i["values"] for i in json.loads(said)["instances"] if i["name"] == instance), {})


def value(system, instance, name):
    return values(system, instance).get(name)


def await_value(system, instance, name, is_right):
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        found = value(system, instance, name)
        if found is not None and is_right(found):
            return found
        time.sleep(0.15)
    raise AssertionError(f"{name} of {instance} is {found}")


def passed_on(system, instance):
    """Which share of the updates that it hears a src_dist gives to the backbone: of 1,000, and of
    those that came meanwhile."""
    def updates():
        found = values(system, instance)
        return found["src_dist.updatesIn"], found["src_dist.updatesOut"]

    end = time.monotonic() + WAIT_S
    heard, given = updates()
    while time.monotonic() < end:
        heard_then, given_then = updates()
        if heard_then >= heard + 1000:
            return (given_then - given) / (heard_then - heard)
    raise AssertionError(f"{instance} hears nothing")


def await_passing_on(system, instance):
    """It speaks for all items: nothing that it hears goes only into its cache."""
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        share = passed_on(system, instance)
        if share > 0.95:
            return
    raise AssertionError(f"{instance} passes on {share:.2f} of what it hears")


def provider(port):
    return conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", port, "-L", "127.0.0.1", "-U",
                              "2000", "-tps",
                              "100", "-tcpnodel", "-seqdata", stdout=subprocess.DEVNULL)


def kill_and_see(system, mode, client):
    """The client's whole output, after one src_dist was killed and its items came back."""
    is_hot, both = mode == "hot", ("src_dist.1", "src_dist.2")
    await_value(system, "p2ps.1", "p2ps.worker.0.itemsOpen", lambda n: n == ITEMS)
    shares = [await_value(system, name, "src_dist.itemsOpen",
                          lambda n: n == ITEMS if is_hot else n > 0) for name in both]
    assert is_hot or sum(shares) == ITEMS, "an item is open at both"
    spoken = [passed_on(system, name) if is_hot else 1 for name in both]
    assert not is_hot or 0.9 < sum(spoken) < 1.1, f"of all items {spoken} are given to the backbone"
    victim = 0 if spoken[0] > 0.1 else 1  # one that speaks for items
    left = both[1 - victim]
    asked = value(system, left, "src_dist.requestsOut")
    os.kill(next(p for p in system.load()["programs"] if p["name"] == both[victim])["pid"],
            signal.SIGKILL)
    await_value(system, left, "src_dist.itemsOpen", lambda n: n == ITEMS)
    await_passing_on(system, left)
    updates = value(system, "p2ps.1", "p2ps.worker.0.updatesOut")
    await_value(system, "p2ps.1", "p2ps.worker.0.updatesOut", lambda n: n > updates + 4000)
    client.send_signal(signal.SIGINT)
    text, _ = client.communicate(timeout=90)
    more = value(system, left, "src_dist.requestsOut") - asked
    reissues = value(system, left, "src_dist.reissuesOut")
    print(f"{text}\nshares {shares}, {spoken} of the updates, {both[victim]} killed; asked by the "
          f"other one after it: "
          f"{more} requests, {reissues} re-issues")
    assert more == (0 if is_hot
                    else shares[
                        victim]), "the provider was asked for what was there, or not for what was not"
    assert not is_hot or reissues == 0, "an image was asked of the provider"
    return text


def judge(text, code):
    updates = re.search(r"(\d+) updates in", text)
    sequence = re.search(r"sequence: (\d+) checked, (\d+) gaps, (\d+) lost, (\d+) duplicates, "
                         r"(\d+) out of order, "
                         r"(\d+) wrong, (\d+) before their image", text)
    assert code == 0, "the consumer was not satisfied"
    assert [int(n) for n in sequence.groups()[1:]] == [0] * 6, "something was lost silently"
    assert int(updates[1]) > 2000, "the data did not flow on"


def main():
    mode = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(mode=mode))
        system = run.System(conf)
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        children = [provider("14102"), provider("14112")]
        try:
            assert run.up(system) == 0, "it did not start"
            for name in ("src_dist.1", "src_dist.2"):
                await_value(system, name, "src_dist.servicesUp", lambda n: n == 1)
            await_value(system, "p2ps.1", "p2ps.service.RDFD.instances", lambda n: n == 2)
            client = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p",
                                        "14202", "-f", items,
                                        "-u", "demo", "-seqcheck", "-secs", "3600", "-l", "1",
                                        stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True)
            children.append(client)
            judge(kill_and_see(system, mode, client), client.returncode)
        finally:
            run.down(system)
            for child in children:
                child.terminate()
                child.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
