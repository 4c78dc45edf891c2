#!/usr/bin/env python3
"""published_roles.py - printed configuration, printed command lines, `rrcpd source` and `rrcpd
sink`.

published.cnf has lines as reports print them; a second file named by -c holds what is this host's
own. `rrcpd source` and `rrcpd sink` come back when they are ready and are two daemons of one
network: src_dist takes the one and p2ps the other. Publisher and consumer are started as printed.
"""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import signal
import subprocess
import tempfile
import time

import conf_examples

HERE = os.path.dirname(os.path.realpath(__file__))
SECOND = """*rrcp*interface : lo
*p2ps*rsslPort : 14902
*src_dist*serverPort : 0
*runDir : {folder}
*logDir : {folder}
"""
PUBLISHER = "-S RDFD -N 14002 -Q sample.xml -q GOOG.O -K -c -tcpnodel -ts -tsn RTRSY.O -UL 10 -tps 500"
CONSUMER = ("-S RDFD -h 127.0.0.1 -p 14902 -md 6 decodeFormat 3 -l 1 -o 500 -u rmds -tt "
            "-lmfile result -f rdf.1kitems -ct rssl -rf 12")


def program(name, *words):
    return [os.path.join(conf_examples.BIN, name), *words]


def words_of(folder, *words):
    return program(*words, "-c", f"{HERE}/published.cnf", "-c", f"{folder}/second.cnf", "-D",
                   "sinkdrivensrc_hostname=127.0.0.1")


def log_of(folder, name):
    with open(f"{folder}/{name}.log", encoding="utf-8") as text:
        return text.read()


def check(folder):
    for seconds in ("2", "60"):  # the longer one where the machine stood still
        done = subprocess.run(program("RMDSTestClient", *CONSUMER.split(), "-secs", seconds,
                                      "-timeout", "90"), cwd=folder,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=300)
        if "latency (all): nothing" not in done.stdout:
            break
    said = done.stdout + done.stderr
    print(said)
    assert done.returncode == 0, "the consumer was not satisfied"
    assert "rdf.1kitems was not there: made" in said and "1000 of 1000 items" in said and "latency (all): " in said
    with open(f"{folder}/result", encoding="ascii") as text:
        head = text.readline()
    assert " item=RTRSY.O " in head, f"{head}: it was RTRSY.O that carried the times"
    done = subprocess.run(program("testclient", "-S", "RDFD", "-p", "14902", "-items", "RTRSY.O", "-vnames", "BID,ASK",
                                  "-X", "-e"), cwd=folder, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=300)
    fields = {line.split()[0] for line in done.stdout.splitlines() if line.startswith("        ")}
    assert done.returncode == 0 and fields == {"BID", "ASK"}, f"{fields}: {done.stdout}"
    source, sink = log_of(folder, "rrcpd.net1.1"), log_of(folder, "rrcpd.net1.2")
    assert '"source" is a role: this is instance 1 of network net1' in source, source
    assert '"sink" is a role: this is instance 2 of network net1' in sink, sink
    assert "user src_dist.1 attached" in source and "user p2ps" not in source, source
    assert "user p2ps.1.worker0 attached" in sink and "user src_dist" not in sink, sink


def stop_rrcpd(folder):
    for instance in "12":
        path = f"{folder}/rrcpd.net1.{instance}/pid"
        if os.path.exists(path):
            with open(path, encoding="ascii") as text:
                os.kill(int(text.read().split()[0]), signal.SIGTERM)
    deadline = time.monotonic() + 60
    while glob.glob(f"{folder}/rrcpd.*/") and time.monotonic() < deadline:
        time.sleep(0.15)
    left = glob.glob(f"{folder}/rrcpd.*/")
    assert not left, f"rrcpd has left {left}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/second.cnf", "w", encoding="ascii") as out:
            out.write(SECOND.replace("{folder}", folder))
        os.symlink(os.path.join(conf_examples.ROOT, "conf", "sample.xml"), f"{folder}/sample.xml")
        subprocess.run(program("rmdscnf", "-D", "sinkdrivensrc_hostname=127.0.0.1", "check",
                               f"{HERE}/published.cnf",
                               f"{folder}/second.cnf"), check=True)
        children = []
        try:
            for role in ("source", "sink"):  # each command comes back when its daemon is ready
                subprocess.run(words_of(folder, "rrcpd", role), stdin=subprocess.DEVNULL,
                               check=True, timeout=120)
            publisher = subprocess.Popen(program("Sink_Driven_Src", *PUBLISHER.split()), cwd=folder,
                                         stdin=subprocess.PIPE,
                                         stdout=subprocess.DEVNULL, text=True)
            children.append(publisher)
            for name in ("src_dist", "p2ps"):
                children.append(subprocess.Popen(words_of(folder, name), stdin=subprocess.DEVNULL))
            publisher.stdin.write("ur 5000\n")
            publisher.stdin.flush()
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
