#!/usr/bin/env python3
"""slow_consumer.py - one of ten consumers stops reading: it is cut with a reason, nobody else
notices.

The stopped one is marked slow, its updates are conflated, and after slowTimeout without progress
it is cut; the others get every update in order, and none of them is ever marked slow. It comes
back as soon as it reads again. In the end p2ps is told to stop while a client does not read.
"""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import signal
import subprocess
import tempfile
import time

import conf_examples
import mirror

CONSUMERS, ITEMS, RATE, DRAIN_S = 10, 200, 1000, 20
CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*rrcp*peerTimeout : 30000
*p2ps*instanceTimeout : 30000
*src_dist*rrcpdInstance : 1
*p2ps*rrcpdInstance : 2
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
*p2ps*guaranteedOutputBuffers : 20
*p2ps*maxOutputBuffers : 40
*p2ps*tcpSendBufSize : 64K
*p2ps*slowTimeout : 2
"""


def consumer(items):
    return conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202",
                              "-f", items, "-u",
                              "demo", "-seqcheck", "-secs", "3600", "-l", "1",
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)


def worker(name):
    return "p2ps.worker.0." + name


def stop_one(system, victim):
    mirror.await_value(system, "p2ps.1", worker("watches"), lambda n: n == CONSUMERS * ITEMS)
    victim.send_signal(signal.SIGSTOP)
    mirror.await_value(system, "p2ps.1", worker("mountsSlowNow"), lambda n: n == 1)
    mirror.await_value(system, "p2ps.1", worker("slowMerged"), lambda n: n > 0)
    mirror.await_value(system, "p2ps.1", worker("mountsCutSlow"), lambda n: n == 1)
    mirror.await_value(system, "p2ps.1", worker("mounts"), lambda n: n == CONSUMERS - 1)
    victim.send_signal(signal.SIGCONT)


def judge(system, clients, victim):
    updates = mirror.value(system, "p2ps.1", worker("updatesOut"))
    mirror.await_value(system, "p2ps.1", worker("updatesOut"),
                       lambda n: n > updates + CONSUMERS * RATE)
    for client in clients:
        client.send_signal(signal.SIGINT)
        text, _ = client.communicate(timeout=90)
        if client is victim:
            print(f"the stopped one:\n{text}")
            continue
        assert client.returncode == 0 and " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" in text, text
        assert " 0 connections lost" in text and "; 0 resyncs" in text, text
    logs = ""
    for path in glob.glob(os.path.join(system.folder, "*p2ps*.log")):
        with open(path, encoding="utf-8", errors="replace") as log:
            logs += log.read()
    assert logs.count(" slow: ") == 1 and "cut: output buffer overflow" in logs, logs
    assert logs.count(" is conflated: ") == 1 and " of 40 output buffers for " in logs, logs
    assert mirror.value(system, "p2ps.1", worker("conflated")) == 0


def drain(system, victim):
    """SIGTERM while a client does not read what is left for it: it is not waited for too long."""
    mirror.await_value(system, "p2ps.1", worker("watches"), lambda n: n == ITEMS)
    victim.send_signal(signal.SIGSTOP)
    mirror.await_value(system, "p2ps.1", worker("mountsSlowNow"), lambda n: n == 1)
    daemon = next(p for p in system.load()["programs"] if p["name"] == "p2ps.1")
    began = time.monotonic()
    os.kill(daemon["pid"], signal.SIGTERM)
    _, status = os.waitpid(daemon["pid"], 0)
    took = time.monotonic() - began
    print(f"with a stopped client p2ps ended after {took:.1f} s")
    assert status == 0 and took < DRAIN_S, f"status {status}, {took:.1f} s"


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
        children = [conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L",
                                       "127.0.0.1", "-U", str(RATE),
                                       "-tps", "100", "-tcpnodel", "-seqdata",
                                       stdout=subprocess.DEVNULL)]
        try:
            assert run.up(system) == 0, "it did not start"
            clients = [consumer(items) for _ in range(CONSUMERS)]
            children += clients
            stop_one(system, clients[0])
            judge(system, clients, clients[0])
            children.append(consumer(items))
            drain(system, children[-1])
        finally:
            run.down(system)
            for child in children:
                child.send_signal(signal.SIGCONT)
                child.terminate()
                child.communicate()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
