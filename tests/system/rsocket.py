#!/usr/bin/env python3
"""rsocket.py - every connection of the chain over rsockets, which are fake: TCP below, and worse
manners than those of librdmacm. Nothing is lost and nothing is out of order; a consumer that stops
is cut alone; memory is bounded; each refusal says why."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import signal
import subprocess
import sys

import conf_examples
import daemons

FAKE = os.environ["RMDS_FAKE_RSOCKET"]
ITEMS, CONSUMERS = 100, 6
PROGRAMS = ("p2ps", "src_dist", "rmdscnf", "rmdsmon", "rmdstestclient", "sink_driven_src")
CONF = """\
*rrcp*inProcess : True
*rrcp*interface : lo
*rrcp*authKeyFile : none
*runDir : {folder}/run
*p2ps*rsslPort : 14202
*p2ps*rsocketPort : 14302
*p2ps*guaranteedOutputBuffers : 20
*p2ps*maxOutputBuffers : 40
*p2ps*tcpSendBufSize : 64K
*p2ps*slowTimeout : 2
*src_dist*rsocketServerPort : 14103
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*1.route*connectionType : rsocket
"""


def prefix(folder):
    """Programs with a plug-in beside them: none at first."""
    shutil.copytree(os.path.join(conf_examples.ROOT, "conf"), f"{folder}/share/openrmds")
    os.makedirs(f"{folder}/bin")
    os.makedirs(f"{folder}/lib/openrmds")
    for name in PROGRAMS:
        shutil.copy(os.path.join(conf_examples.BIN, name), f"{folder}/bin")
    conf_examples.BIN = f"{folder}/bin"
    return f"{folder}/lib/openrmds/librmds-rsocket.so"


def ended(*words, **more):
    run = subprocess.run([os.path.join(conf_examples.BIN, words[0]), *words[1:]],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                         timeout=120, **more)
    return run.returncode, run.stdout + run.stderr


def expect(code, pattern, found):
    is_right = found[0] == code and re.search(pattern, found[1])
    assert is_right, f"not {code} with '{pattern}': {found}"


def consume(*words):
    return ended("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14302", "-ct", "rsocket",
                 "-il", "A.N", "-secs", "1", *words)


def without_a_plugin(bed):
    missing = r"/lib/openrmds/librmds-rsocket.so is not there: install the package openrmds-verbs"
    expect(3, r"rsocketPort 14302 \(.*/c.cnf:6\): .*" + missing,
           ended("p2ps", "-c", bed.conf, "-fg"))
    expect(3, r"rsocketServerPort 14103 \(.*/c.cnf:11\): .*" + missing,
           ended("src_dist", "-c", bed.conf, "-fg"))
    _, said = ended("rmdscnf", "-files", "check", bed.conf)
    for name in ("rsocketPort of p2ps", "rsocketServerPort of src", "connectionType of src"):
        assert re.search(name + ".*" + missing, said), said
    expect(1, missing, consume("-timeout", "1"))
    expect(1, missing, ended("sink_driven_src", "-S", "RDFD", "-N", "14102", "-E", "rsocket"))


def without_a_device(bed):
    shutil.copy(FAKE, bed.plugin)
    bare = {**os.environ, "RMDS_FAKE_RSOCKET_NO_DEVICE": "1"}
    expect(3, r"rsocketPort 14302 \(.*/c.cnf:6\): No such device: no RDMA device has this address",
           ended("p2ps", "-c", bed.conf, "-fg", env=bare))
    with open(f"{bed.folder}/other.cnf", "w", encoding="ascii") as out:
        out.write(open(bed.conf, encoding="ascii").read() + "*src_dist*1.route*encrypted : True\n")
    _, said = ended("src_dist", "-c", f"{bed.folder}/other.cnf", "-fg")
    assert re.search(r"connectionType: rsocket carries no TLS", said), said


def start_chain(bed):
    os.environ["RMDS_FAKE_RSOCKET_UNKIND"] = "1"
    bed.items = f"{bed.folder}/items"
    with open(bed.items, "w", encoding="ascii") as out:
        conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
    words = ("sink_driven_src", "-E", "rsocket", "-U", "1000", "-seqdata")
    bed.children.append(conf_examples.tool(*words, "-S", "RDFD", "-N", "14102",
                                           stdout=subprocess.DEVNULL))
    bed.start("src_dist.1", "src_dist")
    bed.start("p2ps.1", "p2ps")
    bed.said("src_dist.1", r"providers on port 14103 \(rsocket\), address 127.0.0.1")
    bed.said("p2ps.1", r"serving consumers on port 14302 \(rsocket\)")
    bed.children.append(conf_examples.tool(*words, "-S", "IDNS", "-host", "127.0.0.1:14103", "-K",
                                           "-f", bed.items, stdout=subprocess.DEVNULL))


def consumer(bed, kind):
    port = "14302" if kind == "rsocket" else "14202"
    return conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", port, "-ct",
                              kind, "-f", bed.items, "-seqcheck", "-secs", "3600", "-l", "1",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def count(bed, name, is_right):
    daemons.until(lambda: f"{name} of p2ps.1 is {bed.values('p2ps.1').get(name)}",
                  lambda: is_right(bed.values("p2ps.1").get(name, 0)))


def consumers_are_served(bed):
    """By TCP and by rsocket at once; one of the latter stops."""
    clients = [consumer(bed, "rsocket") for _ in range(CONSUMERS)] + [consumer(bed, "rssl")]
    bed.children += clients
    count(bed, "p2ps.worker.0.watches", lambda n: n == (CONSUMERS + 1) * ITEMS)
    count(bed, "rsocket.streams", lambda n: n == CONSUMERS + 1)
    count(bed, "rsocket.pinned", lambda n: n == CONSUMERS * (65536 + 131072))
    def kinds():
        return sorted(value for name, value in bed.values("p2ps.1").items()
                      if name.startswith("p2ps.mount.") and name.endswith(".kind"))

    daemons.until(lambda: f"the mounts are {kinds()}",
                  lambda: kinds() == ["RSSL"] + CONSUMERS * ["RSSL/rsocket"])
    assert bed.value("src_dist.1", "src_dist.route.1.transport") == "rsocket"
    clients[0].send_signal(signal.SIGSTOP)
    count(bed, "p2ps.worker.0.mountsCutSlow", lambda n: n == 1)
    count(bed, "p2ps.worker.0.mounts", lambda n: n == CONSUMERS)
    clients[0].send_signal(signal.SIGCONT)
    before = bed.value("p2ps.1", "p2ps.worker.0.updatesOut")
    count(bed, "p2ps.worker.0.updatesOut", lambda n: n > before + 10000)
    for client in clients:
        client.send_signal(signal.SIGINT)
        text, _ = client.communicate(timeout=90)
        if client is not clients[0]:
            assert client.returncode == 0 and " 0 connections lost" in text, text
            assert " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" in text, text
    expect(0, r"updates in", consume("-S", "IDNS", "-il", "X0", "-timeout", "60"))
    count(bed, "rsocket.streams", lambda n: n == 1)


def memory_is_bounded(bed):
    bed.stop("p2ps.1")
    with open(bed.conf, "a", encoding="ascii") as out:
        out.write("*p2ps*rsocketMemory : 200K\n")
    bed.start("p2ps.1", "p2ps")
    bed.said("p2ps.1", "services are offered|NOTICE ready")
    first = consumer(bed, "rsocket")
    bed.children.append(first)
    count(bed, "p2ps.worker.0.mounts", lambda n: n == 1)
    second = consumer(bed, "rsocket")
    bed.children.append(second)
    bed.said("p2ps.1", "accept: rsocketMemory is used up")
    count(bed, "rsocket.refused", lambda n: n > 0)
    first.kill()
    count(bed, "p2ps.worker.0.watches", lambda n: n == ITEMS)


def main(folder):
    plugin = prefix(folder)
    children = []

    def begin(bed):
        bed.plugin, bed.children = plugin, children

    try:
        daemons.run(CONF, begin, without_a_plugin, without_a_device, start_chain,
                    consumers_are_served, memory_is_bounded)
    finally:
        for child in children:
            child.kill()
            child.communicate()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    with daemons.tempfile.TemporaryDirectory() as top:
        sys.exit(main(top))
