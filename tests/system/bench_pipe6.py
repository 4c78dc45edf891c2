#!/usr/bin/env python3
"""bench_pipe6.py SOURCE BUILD - pipe6 gets the priority, the CPUs and the socket buffers of the
chain that it stands beside."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile
from argparse import Namespace
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

SOURCE, BUILD = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
os.environ.update(RMDS_ROOT=SOURCE, RMDS_BUILD=BUILD)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tools/report"))
import chain  # noqa: E402

CONF = """*rrcp*udpRecvBufSize : 300
*rrcp*udpSendBufSize : 200
*Src_Dist*tcpRecvBufSize : 50000
*p2ps*tcpSendBufSize : 40000
"""


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def latency():
    loader = SourceFileLoader("latency", os.path.join(SOURCE, "tools/rmds.d/bench/latency"))
    module = module_from_spec(spec_from_loader("latency", loader))
    loader.exec_module(module)
    return module


def words_of(text, **options):
    with tempfile.NamedTemporaryFile("w", suffix=".cnf") as file:
        file.write(text)
        file.flush()
        return latency().like_ours(file.name, Namespace(**{"fifo": 0, "cpus": "", **options}))


def granted(words):
    """What the six processes said they got: bytes by process, priorities."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "pipe6")
        subprocess.run(["cc", "-O1", "-w", "-o", program,
                        os.path.join(SOURCE, "tests/bench/limits/pipe6.c"), "-lm"], check=True)
        as_root = [] if os.geteuid() == 0 else ["unshare", "-r"]
        out = subprocess.run([*as_root, program, "-r", "100", "-t", "0.7", *words], check=True,
                             capture_output=True, text=True,
                             timeout=300).stdout
    found = re.search(r"buffers: (.*); priorities: (.*)", out)
    check(found and "sent->recv: n=" in out, out)
    return [dict(zip(part.split()[::2], map(int, part.split()[1::2]))) for part in found.groups()]


def main():
    if not os.path.exists(os.path.join(chain.BIN, "rmdscnf")):
        print("SKIP: this build has no rmdscnf")
        return 77
    words = words_of(CONF)
    check(words == ["-R", "300", "-W", "200", "-i", "50000", "-o", "40000"], words)
    check(words_of(CONF, fifo=7, cpus="000111") == words + ["-F", "7", "-a", "000111"],
          "priority and CPUs")
    buffers, priorities = granted(words)
    # What the system allows bounds what a process without the privilege is given; TCP is always
    # bound by it.
    with open("/proc/sys/net/core/rmem_max", encoding="ascii") as file:
        allowed = int(file.read())
    check(buffers["B"] in (300 << 10, allowed), f"{buffers}")
    check(buffers["A"] == 200 << 10 and buffers["S"] == 50000 and buffers["D"] == 40000,
          f"{buffers}")
    check(set(priorities.values()) == {0}, f"{priorities}")
    if subprocess.run(["chrt", "-f", "7", "true"], capture_output=True,
                      check=False).returncode == 0:
        check(set(granted(["-F", "7"])[1].values()) == {7}, "the priority")
    print("all good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
