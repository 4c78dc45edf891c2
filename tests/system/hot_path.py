#!/usr/bin/env python3
"""hot_path.py LIBRARY [--long] - no daemon asks for memory, or for the kernel, message by message.

Publisher, src_dist, two rrcpd, p2ps and ten consumers, both caches on; the library counts in every
thread of the daemons what asks for memory: once data flow that is nothing at all. With --long for
ten seconds at the full rate, the system calls counted too: at most one for ten messages, and five
times the data in as many bursts cost no more of them than its bytes explain.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import conf_examples

KINDS = ["malloc", "calloc", "realloc", "aligned", "mmap", "brk"]
CALLERS, FRAMES = 16, 6
BURSTS = 500
CACHES = "*p2ps*enableCache : True\n*Src_Dist*service*cacheLocation : srcDist\n*p2ps*maxMounts : 100\n"
CALLS_PER_MESSAGE = 0.1
# a call that five times the data add moves at least so much, one way or the other
CALL_BYTES = 16384


class Daemon:
    def __init__(self, name, pid, folder):
        self.name, self.pid = name, pid
        self.file = os.path.join(folder, str(pid))

    def counts(self):
        with open(self.file, "rb") as file:
            data = file.read()
        numbers = struct.unpack(f"{len(KINDS) + 1 + CALLERS * FRAMES}Q", data)
        return dict(zip(KINDS, numbers)), numbers[len(KINDS)], numbers[len(KINDS) + 1:]

    def where(self, address):
        with open(f"/proc/{self.pid}/maps", encoding="ascii") as maps:
            for line in maps:
                found = re.match(r"(\w+)-(\w+) \S+ (\w+) \S+ \d+\s+(\S+)", line)
                if found and int(found[1], 16) <= address < int(found[2], 16):
                    at = address - int(found[1], 16) + int(found[3], 16)
                    names = subprocess.run(["addr2line", "-f", "-s", "-e", found[4], hex(at - 1)],
                                           capture_output=True, text=True,
                                           check=False).stdout.split()
                    return f"{os.path.basename(found[4])}: {' '.join(names)}"
        return hex(address)

    def newest_callers(self, count):
        _, total, frames = self.counts()
        for number in range(max(total - min(count, CALLERS), 0), total):
            at = number % CALLERS * FRAMES
            print("   ", " < ".join(self.where(a) for a in frames[at:at + FRAMES] if a))


def count_calls(daemons, seconds):
    """System calls of each daemon a second; None where they cannot be counted."""
    counters = [subprocess.Popen(["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p",
                                  str(d.pid),
                                  "--", "sleep", str(seconds)], stderr=subprocess.PIPE, text=True)
                for d in daemons]
    rates = {}
    for daemon, counter in zip(daemons, counters):
        found = re.search(r"^(\d+),.*raw_syscalls", counter.communicate()[1], re.M)
        rates[daemon.name] = int(found[1]) / seconds if found else None
    return rates


def can_count_calls():
    try:
        done = subprocess.run(["perf", "stat", "-x,", "-e", "raw_syscalls:sys_enter", "true"],
                              capture_output=True, text=True, check=False)
    except OSError:
        return False
    return re.search(r"^\d+,", done.stderr, re.M) is not None


def start_system(run, folder, library):
    conf = os.path.join(folder, "hot_path.cnf")
    with open(os.path.join(conf_examples.ROOT, "conf", "examples", "traditional.cnf"),
              encoding="ascii") as file:
        text = file.read()
    with open(conf, "w", encoding="ascii") as file:
        file.write(text + CACHES)
    counts = os.path.join(folder, "counts")
    os.mkdir(counts)
    os.environ.update(RMDS_STATE=os.path.join(folder, "state"), LD_PRELOAD=library,
                      ALLOC_COUNT_DIR=counts)
    system = run.System(conf)
    try:
        assert run.up(system) == 0, "it did not start"
    finally:
        del os.environ["LD_PRELOAD"]
    return system, [Daemon(p["name"], p["pid"], counts) for p in system.load()["programs"]]


def say(source, command):
    source.stdin.write(command + "\n")
    source.stdin.flush()


def wait_for_data(client):
    """Until all items are open, and some lines of statistics further: every table has its size."""
    lines = 0
    for line in client.stdout:  # time,upd/s,refresh,status,items_open,items_pending,...
        words = line.split(",")
        lines += len(words) > 6 and words[1].isdigit() and int(words[1]) > 0 and words[5] == "0"
        if lines == 4:
            return
    raise AssertionError("no data came")


def judge_memory(daemons, seconds):
    before = [d.counts()[0] for d in daemons]
    time.sleep(seconds)  # the time that is looked at; nothing is concluded from its length
    is_good = True
    for daemon, old in zip(daemons, before):
        more = {kind: count - old[kind] for kind,
                count in daemon.counts()[0].items() if count != old[kind]}
        print(f"{daemon.name:<14} asked for memory {sum(old.values()):,} times before, in "
              f"{seconds} s with data "
              f"{', '.join(f'{kind} {count}' for kind, count in more.items()) or 'never'}")
        assert sum(old.values()) > 0, "nothing is counted"
        if more:
            daemon.newest_callers(sum(more.values()))
            is_good = False
    return is_good


def judge_calls(daemons, source, rate, seconds):
    once = count_calls(daemons, seconds)
    say(source, f"ur {5 * rate}")
    time.sleep(2)
    five = count_calls(daemons, seconds)
    say(source, f"ur {rate}")
    is_good = True
    for name in once:
        allowed = once[name] + 4 * rate * 100 * 10 / CALL_BYTES
        good = once[name] <= CALLS_PER_MESSAGE * rate and five[name] <= allowed
        print(f"{name:<14} system calls a second: {once[name]:,.0f} at {rate:,} updates/s, "
              f"{once[name] / rate:.4f} a "
              f"message; {five[name]:,.0f} at {5 * rate:,}, {five[name] / rate / 5:.4f}"
              f"{'' if good else '   TOO MANY'}")
        is_good &= good
    return is_good


def main():
    library, is_long = sys.argv[1], "--long" in sys.argv
    rate, consumers, seconds = (100000, 10, 10) if is_long else (20000, 10, 2)
    can_count = can_count_calls() if is_long else False
    run = conf_examples.load_run()
    with tempfile.TemporaryDirectory() as folder:
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", "1000", "X", stdout=out).wait()
        source = subprocess.Popen(
            [os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", "RDFD", "-N", "14102", "-L",
             "127.0.0.1",
             "-U", str(rate), "-tps", str(BURSTS), "-tcpnodel", "-seqdata", "-c"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        client = system = None
        try:
            system, daemons = start_system(run, folder, library)
            client = subprocess.Popen(
                [os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1",
                 "-p", "14202",
                 "-f", items, "-u", "demo", "-conns", str(consumers), "-secs", "600", "-I", "1"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            wait_for_data(client)
            is_good = judge_memory(daemons, seconds)
            if can_count:
                is_good &= judge_calls(daemons, source, rate, seconds)
            assert is_good
        finally:
            if client:
                client.send_signal(signal.SIGINT)
                client.communicate()
            if system:
                run.down(system)
            source.terminate()
            source.wait()
    if is_long and not can_count:
        print("system calls cannot be counted here: perf may not, or is not installed")
        sys.exit(77)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
