#!/usr/bin/env python3
"""bench_killed.py SOURCE BUILD - a benchmark that is killed, or told to end, leaves nothing: no
process, no file."""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import tempfile
import time

SOURCE, BUILD = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
DAEMONS = {"src_dist", "rrcpd", "p2ps", "sink_driven_src", "rmdstestclient"}


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def until(what, condition, seconds=90):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not within {seconds} s")
        time.sleep(0.05)


def programs(mark):
    """{pid: program} of all that runs with this mark in its environment; a zombie has none."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    found[int(pid)] = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            continue
    return found


def killed_by(number, folder):
    mark = f"RMDS_TEST_MARK={os.getpid()}.{number}"
    name, value = mark.split("=")
    env = {**os.environ, "RMDS_ROOT": SOURCE, "RMDS_BUILD": BUILD, name: value, "TMPDIR": folder}
    with open(os.path.join(folder, "bench.out"), "wb+") as out:
        bench = subprocess.Popen(
            [sys.executable, os.path.join(SOURCE, "tools/rmds.d/bench/fanout"), "--quick",
             "--rates", "1000", "--secs", "60",
             "--consumers", "2", "--out", folder], env=env, stdin=subprocess.DEVNULL, stdout=out,
            stderr=out)
        try:
            until("all of it runs",
                  lambda: DAEMONS <= set(programs(mark).values()) or bench.poll() is not None)
            out.seek(0)
            check(bench.poll() is None, out.read().decode())
            bench.send_signal(number)
            code = bench.wait(90)
            check(code in (-signal.SIGKILL, 128 + number), f"it ended with {code}")
            until(f"nothing is left after signal {number}", lambda: not programs(mark))
        finally:
            for pid in programs(mark):
                os.kill(pid, signal.SIGKILL)
    os.unlink(out.name)
    until("its files are gone", lambda: not os.listdir(folder))


def main():
    for program in DAEMONS:
        if not os.path.exists(os.path.join(BUILD, "bin", program)):
            print(f"SKIP: this build has no {program}")
            return 77
    for number in (signal.SIGTERM, signal.SIGKILL):
        with tempfile.TemporaryDirectory() as folder:
            killed_by(number, folder)
    print("all good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
