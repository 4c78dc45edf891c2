#!/usr/bin/env python3
"""consumer_rates.py - rates that consumers choose by their QoS, through the whole chain.

A publisher says updates of three items by hand, every tenth of them a trade. One consumer asks for
each update, one for a merged one in 100 ms, one for the best between 50 ms and 1 s over a
WebSocket: all get each trade in order and the last values, and only the first gets each update. A
rate that is not listed is refused with those that are.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import tempfile
import time

import conf_examples
import mirror
import rates

CONF = rates.CONF.replace("*src_dist*filterFile : {folder}/filters\n", "") + """\
*p2ps*wsEnable : True
*p2ps*wsPort : 15200
*p2ps*conflateRates : jit, 100, 1000
"""
CONSUMERS = {"each": ("-p", "14202"), "merged": ("-p", "14202", "-qos", "100"),
             "json": ("-p", "15200", "-ct", "websocket", "-qos", "50-1000")}
TOTAL = rates.ROUNDS * len(rates.ITEMS)


def command(*options):
    return ["rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-il", ",".join(rates.ITEMS), "-u",
            "demo", "-dict", os.path.join(conf_examples.ROOT, "conf"), *options]


def refusal():
    run = command("-p", "14202", "-t", "-e", "-qos", "250", "-timeout", "60")
    run[0] = os.path.join(conf_examples.BIN, run[0])
    return subprocess.run(run, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=120)


def p2ps(chain, name, is_right):
    chain.wait(f"p2ps.worker.0.{name}", is_right, "p2ps.1")


def say_all(chain):
    """What the publisher says, until all of it is out."""
    p2ps(chain, "watches", lambda n: n == len(rates.ITEMS) * len(CONSUMERS))
    chain.wait("src_dist.itemsOpen", lambda n: n == len(rates.ITEMS))
    for _ in range(rates.ROUNDS):
        chain.say(*(f"it {item} update" for item in rates.ITEMS))
    p2ps(chain, "updatesIn", lambda n: n == TOTAL)
    p2ps(chain, "updatesPending", lambda n: n == 0)
    p2ps(chain, "updatesMerged", lambda n: n > 0)


def trades_of(said, item):
    return [fields["TRDPRC_1"] for kind, of, fields in said
            if kind == "UPDATE" and of == item and "TRDPRC_1" in fields]


def has_all(said):
    """The last quote of each item, and as many trades as there were."""
    return all(rates.fold(said, item).get("BID") == str(rates.last(rates.ROUNDS, False)) and
               len(trades_of(said, item)) >= rates.ROUNDS // 10 for item in rates.ITEMS)


def await_all(path):
    end = time.monotonic() + mirror.WAIT_S
    while True:
        with open(path, encoding="utf-8") as lines:
            text = lines.read()
        said = rates.messages(text[:text.rfind("\n") + 1])  # the last line may be half written
        if has_all(said):
            return said
        assert time.monotonic() < end, f"{path}: {said[-20:]}"
        time.sleep(0.1)


def listen(chain):
    """What each consumer has printed, until it has all."""
    running = []
    try:
        for name, options in CONSUMERS.items():
            path = os.path.join(chain.folder, name)
            with open(path, "w", encoding="utf-8") as out:
                running.append((name, path, conf_examples.tool(
                    *command("-X", "-I", "0.2", "-secs", "3600", *options), stdout=out)))
        say_all(chain)
        return {name: await_all(path) for name, path, _ in running}
    finally:
        for _, _, client in running:
            client.send_signal(signal.SIGINT)
            client.wait()


def judge(name, said):
    updates = sum(kind == "UPDATE" for kind, _, _ in said)
    print(f"{name}: {updates} of {TOTAL} updates")
    assert updates == TOTAL if name == "each" else updates < TOTAL, (name, updates)
    for item in rates.ITEMS:
        trades = trades_of(said, item)
        assert trades == [str(301 + i % rates.TRADES) for i in range(rates.ROUNDS // 10)], trades
        image = rates.fold(said, item)
        assert image["TRDPRC_1"] == str(rates.last(rates.ROUNDS, True)), (name, item, image)


def check(chain):
    for name, said in listen(chain).items():
        judge(name, said)
    done = refusal()
    text = done.stdout + done.stderr
    assert "it offers REALTIME/TICK_BY_TICK, REALTIME/JIT_CONFLATED, " \
        "REALTIME/TIME_CONFLATED:100" in text, text


def main():
    with tempfile.TemporaryDirectory() as folder:
        chain = rates.Chain(folder, CONF)
        try:
            assert chain.run.up(chain.system) == 0, "the chain did not start"
            check(chain)
        finally:
            chain.close()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
