#!/usr/bin/env python3
"""slow_merged.py quotes|trades|worker - who does not keep up for a while gets merged updates.

quotes  a consumer stops reading: it is told, gets merged updates, and is in real time again when
        it reads
trades  the same with updates of a type that is never merged: it gets each of them, in order
worker  p2ps itself is stopped until it is behind on its inbound ring: all get merged updates
The other consumers get every update in order, and no client gets a second image.
"""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import signal
import subprocess
import sys
import tempfile

import conf_examples
import mirror
import slow_consumer
from slow_consumer import worker

CONSUMERS, ITEMS, RATE = 3, 100, 1000
BEHIND = 6000  # updates, some 190 bytes each on the ring: a quarter of userQLimit is 377 KB
TYPES = ",".join(str(i) for i in range(12))


def conf_of(what):
    conf = slow_consumer.CONF.replace("slowTimeout : 2", "slowTimeout : 120")
    more = {"quotes": "", "trades": f"*p2ps*conflateExempt : {TYPES}\n",
            "worker": "*rrcp*userQLimit : 1024\n*rrcp*maxMsgSize : 64K\n"}
    return conf + more[what]


def await_worker(system, name, holds):
    mirror.await_value(system, "p2ps.1", worker(name), holds)


def stop_for_a_while(system, victim, what):
    await_worker(system, "watches", lambda n: n == CONSUMERS * ITEMS)
    victim.send_signal(signal.SIGSTOP)
    await_worker(system, "mountsConflatedNow", lambda n: n == 1)
    if what == "trades":
        await_worker(system, "slowBytes", lambda n: n > 100000)
    else:
        await_worker(system, "slowMerged", lambda n: n > 2 * RATE)
    victim.send_signal(signal.SIGCONT)
    await_worker(system, "mountsConflatedNow", lambda n: n == 0)
    await_worker(system, "mountsSlowNow", lambda n: n == 0)


def stop_p2ps(system):
    """It reads on behind more than a quarter of what it may lag, and less than all of it."""
    await_worker(system, "watches", lambda n: n == CONSUMERS * ITEMS)
    daemon = next(p for p in system.load()["programs"] if p["name"] == "p2ps.1")
    os.kill(daemon["pid"], signal.SIGSTOP)
    sent = mirror.value(system, "src_dist.1", "src_dist.updatesOut")
    try:
        mirror.await_value(system, "src_dist.1", "src_dist.updatesOut",
                           lambda n: n > sent + BEHIND)
    finally:
        os.kill(daemon["pid"], signal.SIGCONT)
    await_worker(system, "workerBehind", lambda n: n == 1)
    await_worker(system, "updatesPending", lambda n: n == 0)
    updates = mirror.value(system, "p2ps.1", worker("updatesOut"))
    await_worker(system, "updatesOut", lambda n: n > updates + CONSUMERS * RATE)


def judge(clients, victim, what):
    for client in clients:
        client.send_signal(signal.SIGINT)
        text, _ = client.communicate(timeout=90)
        assert client.returncode == 0 and " 0 connections lost" in text, text
        assert " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" in text, text
        is_merged = what == "worker" or (client is victim and what == "quotes")
        assert ("; 0 resyncs" in text) != is_merged, text


def judge_figures(system, what):
    images = mirror.value(system, "p2ps.1", worker("refreshOut"))
    assert images == CONSUMERS * ITEMS, f"{images} images for {CONSUMERS * ITEMS} streams"
    for name, where in (("slowMerged", "quotes"), ("updatesMerged", "worker")):
        merged = mirror.value(system, "p2ps.1", worker(name))
        assert (merged > 0) == (what == where), f"{merged} merged"
    for name in ("conflated", "slowLost", "mountsCutSlow", "gapsSeen"):
        assert mirror.value(system, "p2ps.1", worker(name)) == 0, name
    logs = ""
    for path in glob.glob(os.path.join(system.folder, "*p2ps*.log")):
        with open(path, encoding="utf-8", errors="replace") as log:
            logs += log.read()
    begins, ends = ((" is behind: ", " has caught up: ") if what == "worker" else
                    (" is conflated: ", " is not conflated any more: "))
    assert begins in logs and ": conflating since " in logs and ends in logs, logs


def main():
    what = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(conf_of(what))
        system = run.System(conf)
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        children = [conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L",
                                       "127.0.0.1", "-U", str(RATE), "-tps", "100", "-tcpnodel",
                                       "-seqdata", stdout=subprocess.DEVNULL)]
        try:
            assert run.up(system) == 0, "it did not start"
            clients = [slow_consumer.consumer(items) for _ in range(CONSUMERS)]
            children += clients
            if what == "worker":
                stop_p2ps(system)
            else:
                stop_for_a_while(system, clients[0], what)
            judge_figures(system, what)
            judge(clients, clients[0], what)
        finally:
            run.down(system)
            for child in children:
                child.send_signal(signal.SIGCONT)
                child.terminate()
                child.communicate()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
