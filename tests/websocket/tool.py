#!/usr/bin/env python3
"""tool.py - rmdstestclient reads JSON as it reads RSSL: the same items, updates and values.

Four consumers stand beside each other on one p2ps: RSSL, JSON, JSON over TLS, and JSON in batches
and over three connections. At the end the publisher's counts say that none of them missed an
update. Then views, snapshots, posts and the list of services; and p2ps is killed and comes back.
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

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "system"))
import chain_faults  # noqa: E402
import conf_examples  # noqa: E402
import mirror  # noqa: E402
import serve  # noqa: E402

RATE, WAIT_S = 2000, 120
JSON = ("-ct", "websocket", "-p", str(serve.PORT))
RSSL = ("-p", "14202")
CLEAN = [0] * 6


def start(folder, *words):
    return subprocess.Popen(
        [os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1",
         "-f", os.path.join(folder, "items"), "-timeout", "90", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(client):
    text = client.stdout.read()
    assert client.wait(WAIT_S) == 0, (client.args, client.returncode, text)
    return text


def result(folder, *words):
    """What a run that ends by itself says: its text, and its figures."""
    path = os.path.join(folder, "result.json")
    text = finish(start(folder, "-json", path, *words))
    with open(path, encoding="ascii") as found:
        return text, json.load(found)


def sequence(text):
    found = re.search(r"sequence: (\d+) checked, (\d+) gaps, (\d+) lost, (\d+) duplicates, "
                      r"(\d+) out of order, (\d+) wrong, (\d+) before their image", text)
    assert found, text
    checked, *bad = (int(n) for n in found.groups())
    assert checked > 0 and bad == CLEAN, text


def wait_for(is_it, what):
    end = time.monotonic() + WAIT_S
    while not is_it():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def nobody_misses_an_update(folder, source, tls):
    counts = os.path.join(folder, "counts")
    ends = ("-seqcheck", "-tt", "-secs", "1", "-drain", "90", "-counts", counts)
    kinds = (RSSL, JSON, ("-ct", "wss", "-p", str(serve.TLS_PORT), "-tlsCaFile", tls),
             (*JSON, "-conns", "3", "-batch", "7"))
    clients = [start(folder, *kind, "-json", os.path.join(folder, f"{n}.json"), *ends)
               for n, kind in enumerate(kinds)]
    try:
        for client in clients:
            for line in client.stdout:
                if " measured" in line:
                    break
        source.stdin.write(f"ul 0\nur 0\ncounts {counts}\n")
        source.stdin.flush()
        for n, client in enumerate(clients):
            text = finish(client)
            sequence(text)
            assert "; 0 items behind the publisher at the end" in text, text
            with open(os.path.join(folder, f"{n}.json"), encoding="ascii") as found:
                figures = json.load(found)
            assert figures["latency"]["samples"] > 0, figures
    finally:
        for client in clients:
            client.kill()
            client.wait()
        source.stdin.write(f"ur {RATE}\nul 50\n")
        source.stdin.flush()


def what_is_asked_for_comes_alike(folder, items):
    names = []
    for kind in (RSSL, JSON):
        text, _ = result(folder, *kind, "-snap", "-e", "-seqcheck")
        sequence(text)
        assert f"{len(items)} of {len(items)} items" in text, text
        for view in (("-vnames", "BID,ASK,ACVOL_1"), ("-view", "22,25,32")):
            sequence(result(folder, *kind, *view, "-seqcheck", "-secs", "0.3")[0])
        for end in range(3):
            text, _ = result(folder, *kind, "-post", "50", "-secs", str(0.5 + 9 * end))
            if re.search(r"[1-9]\d* posts, [1-9]\d* acknowledged, 0 refused", text):
                break
        else:
            raise AssertionError(text)
        shown, _ = result(folder, *kind, "-d", "3", "-l", "2", "-e")
        names.append(set(re.findall(r"^ +(\w+) +-?\d+  ", shown, re.M)) - {"TIM_TRK_1"})
        listed = subprocess.run(
            [os.path.join(conf_examples.BIN, "rmdstestclient"), "-list", "services", "-h",
             "127.0.0.1", *kind], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            check=True, timeout=WAIT_S).stdout
        assert re.search(r"^RDFD +1  up .*MARKET_PRICE", listed, re.M), listed
    assert len(names[0]) > 60 and names[0] == names[1], names[0] ^ names[1]


def a_killed_p2ps_is_found_again(folder, run, system):
    client = start(folder, *JSON, "-seqcheck", "-secs", "3600")
    seen = "p2ps.worker.0.updatesOut"

    def flows():
        before = mirror.await_value(system, "p2ps.1", seen, lambda n: True)
        mirror.await_value(system, "p2ps.1", seen, lambda n: n > before + RATE)

    try:
        flows()
        chain_faults.kill_entry(run, system, "p2ps.1")
        flows()
        client.send_signal(signal.SIGINT)
        text = finish(client)
    finally:
        client.kill()
        client.wait()
    sequence(text)
    assert "1 connections lost" in text or "1 connection lost" in text, text


def its_words_are_judged(folder):
    for words, wanted in ((("-ct", "carrier"), "rssl (TCP), tls, rsocket, websocket or wss"),
                          (("-ct", "ws", "-tlsCaFile", "x"), "need tls or wss")):
        client = start(folder, *words)
        text, _ = client.communicate(timeout=WAIT_S)
        assert client.returncode == 1 and wanted in text, text
    done = subprocess.run(
        [os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", "X", "-N", "0", "-E", "ws"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode == 1 and "rssl (TCP), tls or rsocket, not ws" in done.stderr, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        source = subprocess.Popen(
            [os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", "RDFD", "-N", "14102", "-L",
             "127.0.0.1", "-U", str(RATE), "-tps", "100", "-seqdata", "-ts", "-tsn", "*", "-UL",
             "50", "-c"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        try:
            with serve.chain(folder, serve.PATIENT, *serve.tls_lines(folder), source=source) as (
                    run, system, items):
                nobody_misses_an_update(folder, source, os.path.join(folder, "cert.pem"))
                what_is_asked_for_comes_alike(folder, items)
                a_killed_p2ps_is_found_again(folder, run, system)
                its_words_are_judged(folder)
        finally:
            source.kill()
            source.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
