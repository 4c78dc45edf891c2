#!/usr/bin/env python3
"""published_roles.py - `rrcpd source` and `rrcpd sink` are two daemons of one network.

As published start scripts have it: both are started without a word on instances, each command comes
back when its daemon is ready, src_dist takes the one and p2ps the other, and data go through both. A
second file named by -c holds what is this host's own.
"""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import signal
import subprocess
import tempfile
import time

import conf_examples

FIRST = """*rrcp*switchReorderFixEnabled : False
*p2ps*rrcpTransport.0*sinkSide*rrcp*userQLimit : 40000
{node}*Src_Dist*{inst}.route*hostList : <sinkdrivensrc_hostname>
*p2ps*rsslPort : 14902
"""
SECOND = """*rrcp*interface : lo
*route*port : 14901
*src_dist*serverPort : 0
*runDir : {folder}
*shmDir : {folder}
*logDir : {folder}
*p2ps*rsslPort : 14002
"""


def program(name, *words):
    return [os.path.join(conf_examples.BIN, name), *words]


def words_of(folder, *words):
    return program(*words, "-c", f"{folder}/first.cnf", "-c", f"{folder}/second.cnf", "-D",
                   "sinkdrivensrc_hostname=127.0.0.1")


def log_of(folder, name):
    with open(f"{folder}/{name}.log", encoding="utf-8") as text:
        return text.read()


def check(folder):
    conf_examples.check_consumer("14002", "RDFD", f"{folder}/items")
    source, sink = log_of(folder, "rrcpd.net1.1"), log_of(folder, "rrcpd.net1.2")
    assert '"source" is a role: this is instance 1 of network net1' in source, source
    assert '"sink" is a role: this is instance 2 of network net1' in sink, sink
    assert "user src_dist.1 attached" in source and "user p2ps" not in source, source
    assert "user p2ps.1.worker0 attached" in sink and "user src_dist" not in sink, sink


def stop_rrcpd(folder):
    for instance in "12":
        path = f"{folder}/rrcpd.net1.{instance}.pid"
        if os.path.exists(path):
            with open(path, encoding="ascii") as text:
                os.kill(int(text.read().split()[0]), signal.SIGTERM)
    deadline = time.monotonic() + 60
    while glob.glob(f"{folder}/*.sock") and time.monotonic() < deadline:
        time.sleep(0.05)
    left = glob.glob(f"{folder}/*.sock")
    assert not left, f"rrcpd has left {left}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("first.cnf", FIRST), ("second.cnf", SECOND)):
            with open(f"{folder}/{name}", "w", encoding="ascii") as out:
                out.write(text.replace("{folder}", folder))
        with open(f"{folder}/items", "w", encoding="ascii") as out:
            subprocess.run(program("sink_driven_src", "-mklist", "20", "X"), stdout=out, check=True)
        children = []
        try:
            for role in ("source", "sink"):  # each command comes back when its daemon is ready
                subprocess.run(words_of(folder, "rrcpd", role), stdin=subprocess.DEVNULL, check=True, timeout=120)
            for words in (program("sink_driven_src", "-S", "RDFD", "-N", "14901", "-L", "127.0.0.1", "-U", "500", "-tps",
                                  "50", "-tcpnodel", "-seqdata"), words_of(folder, "src_dist"), words_of(folder, "p2ps")):
                children.append(subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))
            check(folder)
        finally:
            for child in children:
                child.terminate()
            for child in children:
                child.wait()
            stop_rrcpd(folder)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
