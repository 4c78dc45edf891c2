#!/usr/bin/env python3
"""memory_limit.py VICTIM - p2ps or src_dist reaches memoryLimit.

It refuses what is asked beyond it, what is open goes on ticking without a gap, and the process
stays within the bound it said at its start. Everything is shown by the monitor.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

import conf_examples
import mirror

ITEMS = 60000
LIMIT = 160_000_000
CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*rrcp*maxPktPoolSize : 8000
*rrcp*pktPoolLimitHigh : 7000
*rrcp*pktPoolLimitLow : 6000
*src_dist*rrcpdInstance : 1
*p2ps*rrcpdInstance : 2
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
*p2ps*maxMounts : 20
*maxDecodedMsgSize : 64K
*{victim}*memoryLimit : {limit}
"""


def values(folder, program):
    said = subprocess.run([os.path.join(conf_examples.BIN, "rmdsmon"), "-run", folder, "-once",
                           "-watch", "0.01",
                           "-json"],
                          capture_output=True, text=True, check=False).stdout
    return next(i["values"] for i in json.loads(said)["instances"] if i["name"].startswith(program))


def main():
    victim = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(victim=victim, limit=LIMIT))
        if victim == "src_dist":
            large_reads_are_counted(folder, conf)
        system = run.System(conf)
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        source = conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L",
                                    "127.0.0.1", "-U", "2000",
                                    "-tps", "100", "-tcpnodel", "-seqdata",
                                    stdout=subprocess.DEVNULL)
        client = None
        try:
            assert run.up(system) == 0, "it did not start"
            client = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p",
                                        "14202", "-f", items,
                                        "-u", "demo", "-seqcheck", "-secs", "3600", "-timeout",
                                        "300", "-l", "1",
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            text = ""
            while "items open" not in text and (line := client.stdout.readline()):
                text += line
            updates = mirror.value(system, "p2ps.1", "p2ps.worker.0.updatesOut")
            mirror.await_value(system, "p2ps.1", "p2ps.worker.0.updatesOut",
                               lambda n: n > updates + 4000)
            client.send_signal(signal.SIGINT)
            text += client.communicate(timeout=90)[0]
            print("\n".join(line for line in text.splitlines() if ": closed: " not in line))
            judge(text, values(system.folder, victim))
        finally:
            if client:
                client.kill()
            run.down(system)
            source.terminate()
            source.wait()


def large_reads_are_counted(folder, conf):
    """64 providers with reads of 16 MB each are more than the limit: it does not start."""
    large = os.path.join(folder, "large.cnf")
    with open(large, "w", encoding="ascii") as out:
        out.write(open(conf, encoding="ascii").read() +
                  "*src_dist*1.route*numIpcInputBuffers : 10000\n")
    said = subprocess.run([os.path.join(conf_examples.BIN, "src_dist"), "-c", large, "-fg"],
                          capture_output=True,
                          text=True, check=False, timeout=60)
    assert said.returncode == 1, f"src_dist ended with {said.returncode}: {said.stderr}"
    assert "is too small" in said.stdout + said.stderr, said.stdout + said.stderr


def judge(text, shown):
    opened = re.search(r"(\d+) of (\d+) items open", text)
    updates = re.search(r"(\d+) updates in", text)
    sequence = re.search(r"sequence: (\d+) checked, (\d+) gaps, (\d+) lost, (\d+) duplicates, "
                         r"(\d+) out of order, "
                         r"(\d+) wrong", text)
    print({name: value for name, value in shown.items() if name.startswith("memory.")})
    assert opened and 1000 < int(opened[1]) < int(opened[2]), "the ceiling was not reached"
    assert 'NO_RESOURCES "No memory' in text or 'TOO_MANY_ITEMS "too many' in text, "refused with other words"
    assert int(updates[1]) > 1000 and [int(n)
                                       for n in sequence.groups()[1:]] == [
                                           0] * 5, "what is open did not flow on"
    assert shown["memory.limit"] == LIMIT and shown[
        "memory.max"] <= LIMIT, "another bound than configured"
    assert 0 < shown["memory.resident"] <= shown["memory.max"], "the bound does not hold"


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
