#!/usr/bin/env python3
"""chain_faults.py VICTIM [EXAMPLE.cnf] - kill -9 of one daemon of the chain under load, and it is
started again.

The checking consumer must have lost nothing silently: each missing update was covered by a suspect
state and a fresh image. VICTIM is an entry of startList in the example of conf/examples, which is
traditional.cnf unless named, or `provider`. It may also be `host` or `route`: then the provider is
not started again, and a second one stands on the other host of the route, or on another route.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import sys
import tempfile

import conf_examples
import mirror

ITEMS, RATE = 200, 5000
OTHER = {"host": "*src_dist*1.route*hostList : 127.0.0.1:14102, 127.0.0.1:14104",
         "route": "*src_dist*2.route*hostList : 127.0.0.1:14104"}


def consumer(items):
    return conf_examples.tool(
        "rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202", "-f", items, "-u", "demo",
        "-seqcheck",
        "-secs", "3600", "-l", "1", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def provider(port="14102"):
    return conf_examples.tool(
        "sink_driven_src", "-S", "RDFD", "-N", port, "-L", "127.0.0.1", "-U", str(RATE), "-tps",
        "100",
        "-tcpnodel", "-seqdata", stdout=subprocess.DEVNULL)


def kill_entry(run, system, name):
    state = system.load()
    victim = next(p for p in state["programs"] if p["name"] == name)
    os.kill(victim["pid"], signal.SIGKILL)
    os.waitpid(victim["pid"], 0)
    program, trouble, log = run.start(system, run.Entry(name), 90)
    assert not trouble, f"{name} did not come back: {trouble}, {log}"
    state["programs"] = [program if p is victim else p for p in state["programs"]]
    system.save(state)


def data_flow(system):
    """Wait for two seconds' worth of updates at the consumer."""
    name = "p2ps.worker.0.updatesOut"
    before = mirror.await_value(system, "p2ps.1", name, lambda n: True)
    mirror.await_value(system, "p2ps.1", name, lambda n: n > before + 2 * RATE)


def judge(text, code):
    print(text)
    updates = re.search(r"(\d+) updates in", text)
    sequence = re.search(r"sequence: (\d+) checked, (\d+) gaps, (\d+) lost, (\d+) duplicates, "
                         r"(\d+) out of order, "
                         r"(\d+) wrong, (\d+) before their image; (\d+) resyncs", text)
    assert code == 0, "the consumer was not satisfied"
    assert updates and sequence, "no figures"
    assert [int(n) for n in sequence.groups()[1:7]] == [0] * 6, "something was lost silently"
    assert int(updates[1]) > 2 * RATE, "the data did not come back"


def main():
    victim = sys.argv[1]
    conf = os.path.join(conf_examples.ROOT, "conf", "examples",
                        sys.argv[2] if len(sys.argv) > 2 else "traditional.cnf")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        others = []
        if victim in OTHER:
            with open(os.path.join(folder, "c.cnf"), "w", encoding="ascii") as out:
                out.write(f'#include "{conf}"\n{OTHER[victim]}\n')
            conf = out.name
            others.append(provider("14104"))
        system = run.System(conf)
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        source = provider()
        client = None
        try:
            assert run.up(system) == 0, "it did not start"
            client = consumer(items)
            data_flow(system)
            if victim in OTHER:
                source.kill()
            elif victim == "provider":
                source.kill()
                source.wait()
                source = provider()
            else:
                kill_entry(run, system, victim)
            data_flow(system)
            client.send_signal(signal.SIGINT)
            text, _ = client.communicate(timeout=90)
            judge(text, client.returncode)
        finally:
            if client and client.poll() is None:
                client.kill()
            run.down(system)
            for child in [source, *others]:
                child.terminate()
                child.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
