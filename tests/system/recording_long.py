#!/usr/bin/env python3
"""recording_long.py CASE NUMBER [RATE] - what takes long of rmdsrec.

round SECONDS RATE   so long a recording at that rate, with data of every kind, is played and
                     recorded again: its streams are the same
kills NUMBER         so many recorders are killed at random moments: each file opens, has every
                     chunk but the last one, and names it if a part of it is there
"""
# SPDX-License-Identifier: Apache-2.0
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

import recording

KINDS = ("QUOTE.K", "ORDERS.K domain=7", "BOOK.K domain=8", "MAKERS.K domain=9",
         "SYMBOLS.K domain=10", "SALES.K domain=12", "CURVE.K domain=22", "NEWS.K", "PAGE.K")
ITEMS = 1000
WAIT_S = 3600


class Publisher(recording.Publisher):
    """With an item of each kind, a hundred updates of each a second."""

    words = ("-kinds", "100")


def wait_for(is_right, text, pause_s):
    end = time.monotonic() + WAIT_S
    while not is_right():
        assert time.monotonic() < end, text
        time.sleep(pause_s)


class Recorder:
    def __init__(self, port, path, items):
        self.path = path
        self.control = path + ".control"
        self.program = subprocess.Popen(
            [os.path.join(recording.BIN, "rmdsrec"), "record", path, "-host", f"127.0.0.1:{port}",
             "-S", "RDFD", "-f", items, "-o", "100000", "-buffer", "1024",
             "-control", self.control], stdout=subprocess.PIPE, text=True)

    def state(self):
        """How many items are open, and how many messages came."""
        found = re.search(r"ok connected, (\d+) of \d+ items open, (\d+) messages",
                          tell(self.control))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def wait_until_still(self):
        """Until no message has come since the last look."""
        last = []

        def is_still():
            last.append(self.state()[1])
            return len(last) > 1 and last[-1] > 0 and last[-1] == last[-2]
        wait_for(is_still, "messages do not end", 2)

    def end(self):
        self.program.send_signal(signal.SIGTERM)
        text = self.program.communicate()[0]
        assert self.program.returncode == 0, text
        print(text, flush=True)
        assert "the connection 0 times" in text, \
            "a connection was lost: the machine is too busy for this rate"


def tell(control):
    return recording.rmdsrec("tell", control, "st").stdout


def updates(path):
    done = subprocess.run([os.path.join(recording.BIN, "rmdsrec"), "info", path],
                          capture_output=True, text=True, check=False)
    return recording.updates_of(done.stdout)


def round_trip(folder, seconds, rate):
    items, control = os.path.join(folder, "items"), os.path.join(folder, "control")
    first, second = (os.path.join(folder, name) for name in ("first.rrec", "second.rrec"))
    with open(items, "w", encoding="ascii") as out:
        out.write("".join(f"R{i}.N\n" for i in range(ITEMS)) + "\n".join(KINDS) + "\n")
    publisher = Publisher()
    try:
        recorder = Recorder(publisher.port, first, items)
        wait_for(lambda: recorder.state()[0] == ITEMS + len(KINDS), "items do not open", 0.5)
        publisher.rate(rate)
        begin = time.monotonic()
        wait_for(lambda: time.monotonic() >= begin + seconds, "", 1)
        recorder.end()
    finally:
        publisher.close()
    wanted = updates(first)[0]
    player = recording.Player(first, "-speed", "max", "-waitItems", str(ITEMS + len(KINDS)),
                              "-control", control)
    recorder = Recorder(player.port, second, items)
    wait_for(lambda: "ok ended at" in tell(control), "the replay does not end", 1)
    recorder.wait_until_still()
    wait_for(lambda: updates(second)[0] >= wanted, "not every update comes", 2)
    recorder.end()
    code, text = player.end()
    assert code == 0, text
    done = subprocess.run([os.path.join(recording.BIN, "rmdsrec"), "compare", first, second],
                          capture_output=True, text=True, check=False)
    print(text + done.stdout, flush=True)
    assert done.returncode == 0, done.stdout


def kills(folder, number):
    draw = random.Random(1)
    torn = 0
    publisher = recording.Publisher()
    try:
        publisher.rate(2000)
        for i in range(number):
            path = os.path.join(folder, f"{i}.rrec")
            recorder = recording.Recorder(publisher.port, path, "-images", "1")
            size, more_s = draw.randrange(5000, 60000), draw.uniform(0, 1)
            wait_for(lambda path=path, size=size: os.path.exists(path) and
                     os.stat(path).st_size >= size, "nothing is recorded", 0.001)
            time.sleep(more_s)
            recorder.end(signal.SIGKILL)
            info = recording.rmdsrec("info", path)
            damages = [line for line in info.stdout.splitlines() if line.startswith("damaged")]
            assert "it was cut off" in info.stdout, info.stdout
            assert info.returncode == (5 if damages else 0) and len(damages) <= 1, info.stdout
            assert all(re.search("the file ends within a block, at byte", line)
                       for line in damages), info.stdout
            torn += len(damages)
            recording.check_sequence(path)
            os.unlink(path)
    finally:
        publisher.close()
    print(f"{number} recorders killed, each file whole up to its last chunk; {torn} ended within "
          "a block")


def main():
    case, number = sys.argv[1], int(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        if case == "round":
            round_trip(folder, number, int(sys.argv[3]))
        else:
            kills(folder, number)


if __name__ == "__main__":
    sys.exit(main())
