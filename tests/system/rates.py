#!/usr/bin/env python3
"""rates.py - filterFile through the whole chain: fields are left out, updates merged, trades pass.

A publisher says one hundred updates of each item by hand, every tenth of them a trade: consumers
get each trade, in order, the last value of every field, and never the field that is left out. Then
it sends thousands a second: what goes out stays within the interval. In between the file changes:
a mistake keeps the old lines, new ones give the open items a new image.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import tempfile
import time

import conf_examples
import mirror

ITEMS = ("A.O", "B.O", "C.N")
ROUNDS, CYCLE, TRADES = 100, 50, 5
CONF = """\
*rmds*startList : rrcpd.net1.1, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*src_dist*dictionaryPath : {conf}/RDMFieldDictionary
*src_dist*filterFile : {folder}/filters
*src_dist*RDFD*cacheLocation : srcDist
*p2ps*rsslPort : 14202
"""
FILTERS = "interval RDFD * MARKET_PRICE 100ms\ndrop RDFD * * NETCHNG_1\n"


def sample():
    """One cycle: quotes 101, 102, ..., and the trades 301 to 305."""
    field = '<field id="%d" type="REAL" value="%d"/>'
    text = ""
    for i in range(CYCLE):
        is_trade = i % 10 == 9
        text += f'<update type="{2 if is_trade else 1}">'
        text += field % (6, 301 + i // 10) if is_trade else field % (22, 101 + i) + field % (11, i)
        text += "</update>\n"
    image = field % (22, 100) + field % (6, 300) + field % (11, 1)
    return ('<?xml version="1.0" encoding="UTF-8"?>\n<sample version="1"><item name="Q.O" '
            f'domain="6">\n<refresh>{image}</refresh>\n{text}</item></sample>\n')


def messages(text):
    """(class, item, {field: value}) of each message that a consumer printed."""
    found = []
    for line in text.splitlines():
        head = re.match(r"(REFRESH|UPDATE) +(\S+) MARKET_PRICE", line)
        value = re.match(r"\s+(\S+)\s+-?\d+\s+(\S+)$", line)
        if head:
            found.append((head[1], head[2], {}))
        elif value and found:
            found[-1][2][value[1]] = value[2]
    return found


def fold(said, item):
    image = {}
    for kind, name, fields in said:
        if name == item:
            image = {**({} if kind == "REFRESH" else image), **fields}
    return image


def last(count, is_trade):
    """Of an item that has had so many updates: what its last quote, or trade, said."""
    step = next(i for i in range(count - 1, -1, -1) if (i % 10 == 9) == is_trade) % CYCLE
    return 301 + step // 10 if is_trade else 101 + step


class Chain:
    """Publisher, daemons, and one consumer that prints all it gets."""

    def __init__(self, folder, conf=CONF):
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        self.run = conf_examples.load_run()
        self.folder = folder
        self.write("rmds.cnf", conf.format(folder=folder, conf=os.path.join(
            conf_examples.ROOT, "conf")))
        self.write("filters", FILTERS)
        self.write("sample.xml", sample())
        self.system = self.run.System(os.path.join(folder, "rmds.cnf"))
        self.publisher = subprocess.Popen(
            [os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", "RDFD", "-N", "14102", "-L",
             "127.0.0.1", "-Q", os.path.join(folder, "sample.xml"), "-q", "Q.O", "-K", "-U", "0",
             "-c"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="ascii") as out:
            out.write(text)

    def say(self, *lines):
        self.publisher.stdin.write("".join(line + "\n" for line in lines))
        self.publisher.stdin.flush()

    def consumer(self, out):
        return conf_examples.tool(
            "rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202", "-il",
            ",".join(ITEMS), "-u", "demo", "-X", "-dict",
            os.path.join(conf_examples.ROOT, "conf"), "-secs", "3600", stdout=out)

    @staticmethod
    def images():
        text = subprocess.run(
            [os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1",
             "-p", "14202", "-il", ",".join(ITEMS), "-u", "demo", "-t", "-X", "-e", "-dict",
             os.path.join(conf_examples.ROOT, "conf")],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
            timeout=120).stdout
        return {name: fields for kind, name, fields in messages(text) if kind == "REFRESH"}

    def counts(self):
        """How many updates each item has had."""
        path = os.path.join(self.folder, "counts")
        self.say(f"counts {path}")
        end = time.monotonic() + mirror.WAIT_S
        while not os.path.exists(path):
            assert time.monotonic() < end, "the publisher writes no counts"
            time.sleep(0.15)
        with open(path, encoding="ascii") as lines:
            return {words[3]: int(words[0]) for words in map(str.split, lines) if words[0] != "#"}

    def wait(self, name, is_right, instance="src_dist.1"):
        return mirror.await_value(self.system, instance, name, is_right)

    def counters(self):
        found = mirror.values(self.system, "src_dist.1")
        return [found[f"src_dist.updates{name}"] for name in ("In", "Out", "Merged", "Filtered")]

    def settle(self):
        """Nothing is pending, and p2ps has all that went out."""
        self.wait("src_dist.updatesPending", lambda n: n == 0)
        out = self.counters()[1]
        self.wait("p2ps.worker.0.updatesOut", lambda n: n >= out, "p2ps.1")

    def hang_up(self):
        for program in self.system.load()["programs"]:
            if program["name"] == "src_dist.1":
                os.kill(program["pid"], signal.SIGHUP)

    def log(self):
        path = next(p["log"] for p in self.system.load()["programs"] if p["name"] == "src_dist.1")
        with open(path, encoding="utf-8", errors="replace") as text:
            return text.read()

    def wait_for_log(self, words):
        end = time.monotonic() + mirror.WAIT_S
        while words not in self.log():
            assert time.monotonic() < end, f"{words}: not in the log\n{self.log()}"
            time.sleep(0.15)

    def close(self):
        self.run.down(self.system)
        self.publisher.kill()
        self.publisher.communicate()


def by_hand(chain):
    for _ in range(ROUNDS):
        chain.say(*(f"it {item} update" for item in ITEMS))
    total = ROUNDS * len(ITEMS)
    chain.wait("src_dist.updatesIn", lambda n: n == total)
    chain.settle()
    heard, out, merged, filtered = chain.counters()
    assert out + merged == heard == total and filtered == 0, chain.counters()
    assert out < total, "nothing was merged"
    return out


def at_full_speed(chain):
    """Each trade costs itself and what is pending then; else there is one update an interval."""
    heard, out, _, _ = chain.counters()
    begin = time.monotonic()
    chain.say("ur 3000")
    chain.wait("src_dist.updatesIn", lambda n: n > heard + 6000)
    chain.say("ur 0")
    previous = None
    while previous != (previous := chain.counters()[0]):
        time.sleep(0.2)
    chain.settle()
    seconds = time.monotonic() - begin
    heard_then, out_then, _, _ = chain.counters()
    trades = (heard_then - heard) / 10 + len(ITEMS)
    bound = 2 * trades + len(ITEMS) * (seconds / 0.1 + 2)
    print(f"{heard_then - heard} updates in {seconds:.1f} s, {out_then - out} went out, "
          f"at most {bound:.0f} may")
    assert trades <= out_then - out + len(ITEMS) and out_then - out <= bound


def new_lines(chain):
    """A mistake keeps the old lines; then all fields of one item go out again."""
    chain.write("filters", FILTERS + "interval RDFD * * soon\n")
    chain.hang_up()
    chain.wait_for_log("filters:3: time soon: expected milliseconds")
    assert all("NETCHNG_1" not in image for image in chain.images().values())
    chain.write("filters", "keep RDFD A.O * *\n" + FILTERS)
    chain.hang_up()
    end = time.monotonic() + mirror.WAIT_S
    while "NETCHNG_1" not in chain.images()["A.O"]:
        assert time.monotonic() < end, "no image by the new lines"
    assert "NETCHNG_1" not in chain.images()["B.O"]


def judge(said, counts):
    """What the consumer that was there from the start has printed."""
    for item in ITEMS:
        trades = [fields["TRDPRC_1"] for kind, name, fields in said
                  if kind == "UPDATE" and name == item and "TRDPRC_1" in fields]
        wanted = [str(301 + i % TRADES) for i in range(counts[item] // 10)]
        assert trades == wanted, f"{item}: {len(trades)} trades of {len(wanted)}, or out of order"
        image = fold(said, item)
        assert ("NETCHNG_1" in image) == (item == "A.O"), image
        assert image["BID"] == str(last(counts[item], False)), f"{item}: {image}"
        assert image["TRDPRC_1"] == str(last(counts[item], True)), f"{item}: {image}"
    assert all("NETCHNG_1" not in fields for _, name, fields in said if name != "A.O")


def check(chain):
    path = os.path.join(chain.folder, "heard")
    with open(path, "w", encoding="utf-8") as out:
        client = chain.consumer(out)
    try:
        chain.wait("p2ps.worker.0.watches", lambda n: n == len(ITEMS), "p2ps.1")
        chain.wait("src_dist.itemsOpen", lambda n: n == len(ITEMS))
        by_hand(chain)
        by_p2ps = chain.images()
        assert by_p2ps == {item: {"BID": "149", "TRDPRC_1": "305"} for item in ITEMS}, by_p2ps
        at_full_speed(chain)
        counts = chain.counts()
        new_lines(chain)
    finally:
        client.send_signal(signal.SIGINT)
        client.wait()
    with open(path, encoding="utf-8") as text:
        said = messages(text.read())
    judge(said, counts)


def main():
    with tempfile.TemporaryDirectory() as folder:
        chain = Chain(folder)
        try:
            assert chain.run.up(chain.system) == 0, "the chain did not start"
            check(chain)
        finally:
            chain.close()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
