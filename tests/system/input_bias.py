#!/usr/bin/env python3
"""input_bias.py - inputBias bounds what src_dist takes from providers in one turn, and nothing is
lost by it.

Updates come in bursts of 200. By default no turn ends early for less than 600 messages; with a bias
of 1 the bursts are cut up, and the consumer sees the same as ever.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import tempfile

import conf_examples
import mirror

BASE = """*rmds*startList : src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*inProcess : True
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*2.route*hostList : 127.0.0.1:14103
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
"""
MESSAGES = 20000


def counters(system):
    cut = mirror.value(system, "src_dist.1", "src_dist.inputCut")  # first: it must not be ahead
    return cut, mirror.value(system, "src_dist.1", "src_dist.messagesIn")


def share(system):
    """Messages for each turn that was cut, once enough have come."""
    mirror.await_value(system, "src_dist.1", "src_dist.messagesIn", lambda n: n > MESSAGES)
    cut, messages = counters(system)
    print(f"{messages} messages, {cut} turns cut")
    return messages / cut if cut else float("inf")


def run_with(folder, items, bias):
    conf = os.path.join(folder, f"{bias or 'default'}.cnf")
    with open(conf, "w", encoding="ascii") as out:
        out.write(BASE + (f"*src_dist*transmissionBus*inputBias : {bias}\n" if bias else ""))
    run = conf_examples.load_run()
    system = run.System(conf)
    consumer = None
    try:
        assert run.up(system) == 0, "it did not start"
        consumer = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p",
                                      "14202", "-f", items,
                                      "-u", "demo", "-seqcheck", "-secs", "600", "-l", "1",
                                      stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
        found = share(system)
        consumer.send_signal(signal.SIGINT)
        text, _ = consumer.communicate(timeout=60)
        assert re.search(r"[1-9]\d* checked, 0 gaps, 0 lost", text), text
        return found
    finally:
        if consumer:
            consumer.kill()
            consumer.communicate()
        run.down(system)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", "400", "X", stdout=out).wait()
        sources = [conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", port, "-L",
                                      "127.0.0.1", "-U", "20000",
                                      "-tps", "100", "-seqdata", stdout=subprocess.DEVNULL)
                   for port in ("14102", "14103")]
        try:
            assert run_with(folder, items,
                            None) >= 600, "a turn was cut for less than the default share"
            assert run_with(folder, items, 1) < 300, "bursts are not cut up"
        finally:
            for source in sources:
                source.terminate()
                source.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
