#!/usr/bin/env python3
"""delayed.py - a delayed service through the whole chain: nothing early, everything in the end.

The configuration is conf/examples/delayed.cnf, but for the folder of the delayed data. A publisher
says updates by hand; a consumer of both services prints them, and each line has its time.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import tempfile
import threading
import time

import conf_examples
import mirror
import rates

ITEM = "A.O"
UPDATES = 20
DELAY_S = 2.0


class Listener:
    """A consumer of one service: (time, class, fields) of each message."""

    def __init__(self, service):
        self.said = []
        self.client = conf_examples.tool(
            "rmdstestclient", "-S", service, "-h", "127.0.0.1", "-p", "14202", "-il", ITEM, "-u",
            "demo", "-X", "-dict", os.path.join(conf_examples.ROOT, "conf"), "-secs", "3600",
            stdout=subprocess.PIPE, text=True)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        for line in self.client.stdout:
            head = re.match(r"(REFRESH|UPDATE) +(\S+) MARKET_PRICE", line)
            value = re.match(r"\s+BID\s+-?\d+\s+(\S+)$", line)
            if head:
                self.said.append((time.monotonic(), head[1], []))
            elif value and self.said:
                self.said[-1][2].append(int(value[1]))

    def bids(self, kind="UPDATE"):
        return [bids[0] for _, is_kind, bids in list(self.said) if is_kind == kind and bids]

    def times(self):
        return [at for at, kind, _ in list(self.said) if kind == "UPDATE"]

    def wait(self, is_right, what):
        end = time.monotonic() + mirror.WAIT_S
        while not is_right():
            assert time.monotonic() < end, f"{what}: {self.said}"
            time.sleep(0.15)

    def close(self):
        self.client.kill()
        self.thread.join()
        self.client.stdout.close()
        self.client.wait()


class Chain(rates.Chain):
    """The example, and the publisher."""

    def __init__(self, folder):
        with open(os.path.join(conf_examples.ROOT, "conf", "examples", "delayed.cnf"),
                  encoding="ascii") as text:
            self.conf = text.read().replace("/var/tmp", folder)
        super().__init__(folder)

    def write(self, name, text):
        super().write(name, self.conf if name == "rmds.cnf" else text)


def check(chain):
    live, late = Listener("RDFD"), Listener("RDFD_DELAYED")
    try:
        live.wait(lambda: live.bids("REFRESH"), "no live image")
        late.wait(lambda: late.bids("REFRESH"), "no delayed image")
        said = []
        for _ in range(UPDATES):
            said.append(time.monotonic())
            chain.say(f"it {ITEM} update")
            time.sleep(0.15)
        wanted = [101 + i for i in range(UPDATES) if i % 10 != 9]
        for listener in live, late:
            listener.wait(lambda listener=listener: len(listener.times()) >= UPDATES,
                          "not all came")
        assert live.bids() == wanted, live.bids()
        assert late.bids() == wanted, late.bids()
        early = [a - b for a, b in zip(late.times(), said) if a - b < DELAY_S]
        assert len(late.times()) == UPDATES, late.said
        assert not early, early
        assert chain.wait("src_dist.delayedItems", lambda n: n == 1)
    finally:
        live.close()
        late.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        chain = Chain(folder)
        try:
            assert chain.run.up(chain.system) == 0, "the chain did not start"
            check(chain)
        finally:
            chain.close()
        assert any(name.startswith("RDFD_") for name in os.listdir(folder)), os.listdir(folder)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
