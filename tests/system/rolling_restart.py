#!/usr/bin/env python3
"""rolling_restart.py - every daemon and each provider is restarted in turn under a running
consumer.

Each daemon ends soon after SIGTERM with code 0, and says so to who is connected. The consumer has a
list of two p2ps and loses no update silently: what is missing is covered by a suspect state and a
fresh image; in the end all items are open and tick.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import tempfile
import time

import conf_examples
import mirror

ITEMS = 100
DRAIN_S = 20  # it is five seconds, and the machine may be busy
CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1, src_dist.2, p2ps.1, p2ps.2
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*rrcpdInstance : 1
*p2ps*rrcpdInstance : 2
*1.src_dist*1.route*hostList : 127.0.0.1:14102, 127.0.0.1:14112
*2.src_dist*1.route*hostList : 127.0.0.1:14112, 127.0.0.1:14102
*src_dist*serverPort : 0
*1.p2ps*rsslPort : 14202
*2.p2ps*rsslPort : 14203
"""


def restart(run, system, name):
    state = system.load()
    program = next(p for p in state["programs"] if p["name"] == name)
    began = time.monotonic()
    os.kill(program["pid"], signal.SIGTERM)
    _, status = os.waitpid(program["pid"], 0)
    took = time.monotonic() - began
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0, f"{name} ended with {status}"
    assert took < DRAIN_S, f"{name} took {took:.1f} s to end"
    served = {"rrcpd.net1.1": "src_dist.1", "rrcpd.net1.2": "p2ps.1"}.get(name)
    if served:
        mirror.await_value(system, served, "ready", lambda n: n == 0)
    fresh, trouble, log = run.start(system, run.Entry(name),
                                    90 + len(state["programs"]) + int(began) % 1000)
    assert not trouble, f"{name} did not come back: {trouble}, {log}"
    state["programs"] = [fresh if p is program else p for p in state["programs"]]
    system.save(state)
    if served:
        mirror.await_value(system, served, "ready", lambda n: n == 1)
    print(f"{name}: ended in {took:.2f} s and is back", flush=True)


def all_open(system):
    """The src_dist have every item (for a while perhaps both), and the p2ps serve them all."""
    end = time.monotonic() + mirror.WAIT_S
    while time.monotonic() < end:
        items = [mirror.value(system, f"src_dist.{i}", "src_dist.itemsOpen") for i in (1, 2)]
        served = [mirror.value(system, f"p2ps.{i}", "p2ps.worker.0.watches") for i in (1, 2)]
        if sum(n or 0 for n in items) >= ITEMS and sum(n or 0 for n in served) == ITEMS:
            return
        time.sleep(0.15)
    raise AssertionError(f"items at src_dist {items}, at p2ps {served}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF)
        system = run.System(conf)
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        children = [mirror.provider("14102"), mirror.provider("14112")]
        try:
            assert run.up(system) == 0, "it did not start"
            client = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h",
                                        "127.0.0.1:14202,127.0.0.1:14203", "-f",
                                        items, "-u", "demo", "-seqcheck", "-secs", "3600", "-l",
                                        "1",
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            children.append(client)
            all_open(system)
            for name in ("p2ps.1", "p2ps.2", "src_dist.1", "src_dist.2", "rrcpd.net1.1",
                         "rrcpd.net1.2"):
                restart(run, system, name)
                all_open(system)
            children[0].terminate()
            children[0].wait()  # its src_dist takes the next of its list
            all_open(system)
            client.send_signal(signal.SIGINT)
            text, _ = client.communicate(timeout=90)
            print(text)
            mirror.judge(text, client.returncode)
            assert "login closed: NONE p2ps is shutting down" in text, "p2ps did not take leave"
        finally:
            run.down(system)
            for child in children:
                child.terminate()
                child.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
