#!/usr/bin/env python3
"""streams.py SCENARIO - the chain over rsocket and verbs, inside the laboratory (lab.py); exit 0
passed, 1 failed.

Everything runs as a user without capabilities: a send on soft-RoCE is an order to the kernel,
which takes it only with the credentials that opened the device (docs/design/rsocket.md)."""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import signal
import subprocess
import sys

import backbone
from backbone import BIN, PATIENCE_S, WORK, rrcpd, sent_packets, start, text, until

ITEMS = 50
SECONDS = int(os.environ.get("RDMA_SECONDS", "20"))
PRELOAD = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so"


class Rsocket:
    """How each program says that its streams are rsockets."""

    before, provider, consumer = (), ("-E", "rsocket"), ("-ct", "rsocket")
    route = "*src_dist*1.route*connectionType : rsocket"
    port = ("*p2ps*rsslPort : 0", "*p2ps*rsocketPort : 14302")


class Preload:
    """Plain sockets, which librspreload makes rsockets."""

    before = ("env", f"LD_PRELOAD={PRELOAD}")
    provider = consumer = ("-eventMethod", "poll")
    route = "*eventMethod : poll"
    port = ("*p2ps*rsslPort : 14302", "*eventMethod : poll")


def daemon(way, name, host, *lines):
    with open(f"{WORK}/{name}.cnf", "w") as file:
        file.write(f"*runDir : {WORK}/run{host}\n" + "".join(f"{line}\n" for line in lines))
    before = text(name).count("NOTICE ready") if os.path.exists(f"{WORK}/{name}.log") else 0
    child = start(name, *way.before, f"{BIN}/{name}", "-c", f"{WORK}/{name}.cnf", "-fg")
    backbone.until_ready(name, child, before)
    return child


def consumer(way, name, seconds, *words):
    items = ",".join(f"X{n}" for n in range(ITEMS))
    return start(name, *way.before, f"{BIN}/rmdstestclient", "-S", "RDFD", "-h", "10.88.0.2",
                 "-p", "14302", *way.consumer, "-il", items, "-seqcheck", "-secs", seconds,
                 "-l", 1, "-timeout", PATIENCE_S, *words)


def tcp_segments():
    with open("/proc/net/snmp") as file:
        names, values = [line.split() for line in file if line.startswith("Tcp:")]
    return int(dict(zip(names, values))["OutSegs"])


def provider(way):
    return start("provider", *way.before, f"{BIN}/sink_driven_src", "-S", "RDFD", "-N", "14102",
                 "-L", "10.88.0.2", *way.provider, "-seqdata", "-U", "500")


def src_dist(way):
    return daemon(way, "src_dist", 1, "*src_dist*1.route*hostList : 10.88.0.2:14102", way.route)


def p2ps(way):
    return daemon(way, "p2ps", 2, *way.port)


def chain(way):
    """The provider listens on host 2; src_dist and rrcpd on host 1; rrcpd and p2ps on host 2."""
    for host in (1, 2):
        rrcpd(host, 1)
    backbone.know_each_other(len(backbone.STARTED))
    provider(way)
    src_dist(way)
    p2ps(way)


def is_in_order(name):
    said = text(name)
    print(said[-400:])
    assert " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" in said, said
    return said


def all_by_rdma(before, segments):
    grown = [sent_packets(host) - old for host, old in zip((1, 2), before)]
    segments = tcp_segments() - segments
    print("packets by RDMA:", *grown, "segments by TCP:", segments)
    assert min(grown) > 100 and segments < min(grown) / 10, (grown, segments)


def numbers_are_in_order(way):
    chain(way)
    before = [sent_packets(host) for host in (1, 2)]
    segments = tcp_segments()
    for name in ("first", "second"):
        consumer(way, name, SECONDS).wait(PATIENCE_S)
        assert " 0 connections lost" in is_in_order(name), text(name)
    all_by_rdma(before, segments)


def numbers_are_in_order_over_rdma_alone():
    numbers_are_in_order(Rsocket)


def the_chain_is_over_rdma_alone():
    """The short form: three rrcpd on two hosts, one consumer. A machine that is busy with other
    tests may be too slow for the time-outs of connections: the consumer connects again then."""
    rrcpd(2, 2)
    chain(Rsocket)
    before, segments = [sent_packets(host) for host in (1, 2)], tcp_segments()
    consumer(Rsocket, "first", 5).wait(PATIENCE_S)
    is_in_order("first")
    all_by_rdma(before, segments)
    monitor = [*backbone.PREFIX, f"{BIN}/rmdsmon", "-watch", "0", "-print", "RRCP", "-run"]
    shown = [subprocess.run([*monitor, f"{WORK}/run{host}"], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, check=False).stdout for host in (1, 2)]
    for host, said in enumerate(shown, 1):
        assert f"RDMA device rxe{host} port 1, packets of 1024 bytes" in said, said


def numbers_are_in_order_under_a_preload():
    assert os.path.exists(PRELOAD), f"{PRELOAD} is not there: install librdmacm1"
    numbers_are_in_order(Preload)


def images():
    """So many the consumer was given, by its lines of statistics."""
    return sum(map(int, re.findall(r"^[^,\n]+Z,\d+,(\d+),", text("first"), re.MULTILINE)))


def kills_are_told(way=Rsocket):
    """Each program of the chain is killed and started again while a consumer checks the numbers:
    whatever is lost is told, and every item has a new image."""
    chain(way)
    first = consumer(way, "first", 3600, "-I", 1)
    until(lambda: images() >= ITEMS, "no images")
    again = {"rrcpd11": lambda: rrcpd(1, 1), "src_dist": lambda: src_dist(way),
             "provider": lambda: provider(way), "rrcpd21": lambda: rrcpd(2, 1),
             "p2ps": lambda: p2ps(way)}
    for name, restart in again.items():
        had = images()
        child = dict(backbone.STARTED)[name]
        child.kill()
        child.wait()
        restart()
        until(lambda had=had: images() >= had + ITEMS, f"no images after the kill of {name}")
        print("killed", name, "images", had, images(), flush=True)
    first.send_signal(signal.SIGINT)
    first.wait(PATIENCE_S)
    is_in_order("first")


def kills_are_told_under_a_preload():
    kills_are_told(Preload)


def a_consumer_that_is_killed_is_noticed():
    chain(Rsocket)
    killed = consumer(Rsocket, "killed", 3600)
    until(lambda: " connected, " in text("p2ps"), "the consumer does not come")
    before = text("p2ps").count(" ended")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    until(lambda: text("p2ps").count(" ended") > before, "the end of the consumer is not noticed")
    print(text("p2ps")[-2500:])
    print(text("killed")[-2500:])


if __name__ == "__main__":
    os.umask(0)
    os.makedirs(WORK, exist_ok=True)
    for node in glob.glob("/dev/infiniband/*"):
        os.chmod(node, 0o666)
    backbone.PREFIX += ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                        "--inh-caps=-all"]
    sys.exit(backbone.main(globals()[sys.argv[1]]))
