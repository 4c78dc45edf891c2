#!/usr/bin/env python3
"""conf_examples.py EXAMPLE.cnf - starts an example of conf/examples and sends data through it.

A provider stands on each port that the example names for providers, a checking consumer connects
to each port for consumers: every item opens, every update arrives once and in order. A port may be
followed by the service it is about, "14102:IDNS"; without, that is RDFD.
"""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from running import spaces  # noqa: E402

BIN = os.environ["RMDS_BIN"]
INSIDE = "RMDS_EXAMPLE_INSIDE"


def enter_namespace():
    spaces.enter_network(INSIDE)


def load_run():
    path = os.path.join(ROOT, "tools", "rmds-run.py")
    spec = importlib.util.spec_from_file_location("rmds_run", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ports_of(conf):
    with open(conf, encoding="ascii") as lines:
        found = re.search(r"^! ports: providers ([\w: ]+), consumers ([\w: ]+)$", lines.read(),
                          re.M)
    return [[(word + ":RDFD").split(":")[:2] for word in words.split()] for words in found.groups()]


def tool(*words, **more):
    return subprocess.Popen([os.path.join(BIN, words[0]), *words[1:]], stdin=subprocess.DEVNULL,
                            **more)


def check_consumer(port, service, items):
    for seconds in ("2", "60"):  # the longer one where the machine stood still
        client = subprocess.run(
            [os.path.join(BIN, "rmdstestclient"), "-S", service, "-h", "127.0.0.1", "-p", port,
             "-f", items,
             "-u", "demo", "-seqcheck", "-secs", seconds, "-timeout", "90", "-l", "1"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
        text = client.stdout + client.stderr
        updates = re.search(r"(\d+) updates in", text)
        if client.returncode != 0 or updates and int(updates[1]) > 0:
            break
    sequence = re.search(r"sequence: (\d+) checked, (\d+) gaps, (\d+) lost, (\d+) duplicates, "
                         r"(\d+) out of order, (\d+) wrong", text)
    print(f"port {port}, service {service}:\n{text}")
    assert client.returncode == 0, "the consumer was not satisfied"
    assert updates and int(updates[1]) > 0, "no update arrived"
    assert sequence and [int(n)
                         for n in sequence.groups()[1:]] == [
                             0] * 5, "not every update once, in order"


def main():
    conf = os.path.join(ROOT, "conf", "examples", sys.argv[1])
    providers, consumers = ports_of(conf)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = load_run()
        system = run.System(conf)
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            tool("sink_driven_src", "-mklist", "100", "X", stdout=out).wait()
        children = [tool("sink_driven_src", "-S", service, "-N", port, "-L", "127.0.0.1", "-U",
                         "1000",
                         "-tps", "100", "-tcpnodel", "-seqdata", stdout=subprocess.DEVNULL)
                    for port, service in providers]
        try:
            assert run.up(system) == 0, "it did not start"
            for port, service in consumers:
                check_consumer(port, service, items)
            assert run.status(system) == 0, "a program is gone"
        finally:
            run.down(system)
            for child in children:
                child.terminate()
                child.wait()


if __name__ == "__main__":
    enter_namespace()
    main()
