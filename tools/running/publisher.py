"""publisher.py - the publisher of the chain that tools/rmds up and demo start, and the price that
proves the chain."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import time

SERVICE, ITEM = "RDFD", "DEMO1.O"
RATE = 100  # updates/s of all open items together: enough to see prices move, little enough to read
PATIENCE_S = 30


def words(root, port, rate, service=SERVICE):
    """Its arguments: the chain 0#DEMO, prices under any other name, each update checkable and with
    its time."""
    return ["-S", service, "-N", str(port), "-L", "127.0.0.1", "-Q",
            os.path.join(root, "conf", "demo.xml"),
            "-U", str(rate), "-tsa", "-seqdata"]


def start(program, arguments, log):
    with open(log, "wb") as out:
        return subprocess.Popen([program, *arguments], stdin=subprocess.DEVNULL, stdout=out,
                                stderr=out,
                                start_new_session=True)


def await_port(child, log):
    """None once it listens, else what happened instead."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        ended = child.poll()
        with open(log, encoding="utf-8", errors="replace") as said:
            if "listening on port" in said.read():
                return None
        if ended is not None:
            return f"ended with code {ended}"
        if time.monotonic() > deadline:
            return f"does not listen after {PATIENCE_S} s"
        time.sleep(0.02)


def first_price(program, port, service=SERVICE, item=ITEM):
    """(seconds, "BID 398.10 ASK 398.15") as a consumer sees it, or (None, what it said)."""
    begun = time.monotonic()
    done = subprocess.run([program, "-S", service, "-h", "127.0.0.1", "-p", str(port), "-il", item,
                           "-d", "3", "-l", "2",
                           "-e", "-timeout", str(PATIENCE_S)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    fields = dict(re.findall(r"^ +(BID|ASK) +\d+ +(\S+)", done.stdout, re.M))
    if done.returncode != 0 or len(fields) != 2:
        return None, (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
    return time.monotonic() - begun, f"BID {fields['BID']} ASK {fields['ASK']}"
