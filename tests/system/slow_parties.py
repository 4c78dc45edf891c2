#!/usr/bin/env python3
"""slow_parties.py consumer|consumers|p2ps|rrcpd - one of 51 consumers, 50, a p2ps or an rrcpd is
stopped.

The others do not notice: while it is stopped, they get update after update, in order and none
missing, no memory goes beyond what was said at start, and the log says who is slow. It is told what
it missed when it goes on.
"""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile

import conf_examples
import mirror

# Slow enough that the buffers of those that run hold what comes while the machine stands still.
STOPPED, LIVE, ITEMS, FLOW = 50, 5, 100, 1000
CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, rrcpd.net1.3, src_dist.1, p2ps.1, p2ps.2
*rrcp*interface : lo
*rrcp*authKeyFile :
*p2ps*instanceTimeout : 30000
*src_dist*rrcpdInstance : 1
*1.p2ps*rrcpdInstance : 2
*2.p2ps*rrcpdInstance : {second}
*maxMsgSize : 64K
*maxDecodedMsgSize : 64K
*inboundRing : 1M
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*1.p2ps*rsslPort : 14202
*2.p2ps*rsslPort : 14203
*p2ps*guaranteedOutputBuffers : 10
*p2ps*maxOutputBuffers : 20
*p2ps*tcpSendBufSize : 64K
*p2ps*slowTimeout : 2
"""


class Scene:
    """The daemons, a provider, live consumers at p2ps.1, and somebody who will be stopped."""

    def __init__(self, folder, second, live, flow):
        self.live, self.flow = live, flow
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        self.run = conf_examples.load_run()
        self.items = os.path.join(folder, "items")
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(second=second))
        with open(self.items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        self.system = self.run.System(conf)
        self.children = [conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L",
                                            "127.0.0.1", "-U",
                                            str(flow), "-tps", "100", "-tcpnodel", "-seqdata",
                                            stdout=subprocess.DEVNULL)]

    def consumers(self, port, count):
        client = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p",
                                    str(port), "-f", self.items,
                                    "-conns", str(count), "-u", "demo", "-seqcheck", "-secs",
                                    "3600", "-l", "1",
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.children.append(client)
        return client

    def wait(self, instance, name, is_right):
        return mirror.await_value(self.system, instance, name, is_right)

    def watches(self, instance, count):
        self.wait(instance, "p2ps.worker.0.watches", lambda n: n == count * ITEMS)

    def pid(self, name):
        return next(p for p in self.system.load()["programs"] if p["name"] == name)["pid"]

    def others_flow(self):
        """From now on the live ones get the updates of a second."""
        before = self.wait("p2ps.1", "p2ps.worker.0.updatesOut", lambda n: True)
        self.wait("p2ps.1", "p2ps.worker.0.updatesOut",
                  lambda n: n > before + self.live * self.flow)
        for program in self.system.load()["programs"]:
            said = {k: v for k, v in mirror.values(self.system, program["name"]).items()
                    if k.startswith("memory.")}
            bound = sum(v for k, v in said.items() if k.startswith("memory.max."))
            assert said["memory.resident"] <= bound, f"{program['name']}: {said}"

    def logs(self, name):
        text = ""
        for path in glob.glob(os.path.join(self.system.folder, f"*{name}*.log")):
            with open(path, encoding="utf-8", errors="replace") as log:
                text += log.read()
        return text

    def end(self, client):
        client.send_signal(signal.SIGINT)
        text, _ = client.communicate(timeout=90)
        print(text)
        assert client.returncode == 0, text
        assert " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" in text, "silent loss"
        return int(re.search(r"(\d+) connections? lost",
                             text)[1]), int(re.search(r"; (\d+) resyncs", text)[1])

    def close(self):
        for program in self.system.load()["programs"]:
            if self.run.alive(program):
                os.kill(program["pid"], signal.SIGCONT)
        self.run.down(self.system)
        for child in self.children:
            child.send_signal(signal.SIGCONT)
            child.terminate()
            child.communicate()


def consumer(scene):
    """Stopped for ten seconds: slow, conflated, cut; it comes back, and nobody else was ever
    slow."""
    stopped = scene.consumers(14202, 1)
    scene.watches("p2ps.1", scene.live + 1)
    stopped.send_signal(signal.SIGSTOP)
    scene.wait("p2ps.1", "p2ps.worker.0.slowMerged", lambda n: n > 0)
    scene.wait("p2ps.1", "p2ps.worker.0.mountsCutSlow", lambda n: n == 1)
    for _ in range(10):
        scene.others_flow()
    stopped.send_signal(signal.SIGCONT)
    scene.watches("p2ps.1", scene.live + 1)
    assert scene.end(stopped)[0] == 1, "the one that was stopped should have been cut, once"
    logs = scene.logs("p2ps.1")
    assert logs.count(" slow: ") == 1 and "cut: output buffer overflow" in logs, logs


def consumers(scene):
    """All are marked slow, conflated, cut with the reason; they come back when they go on."""
    stopped = scene.consumers(14202, STOPPED)
    scene.watches("p2ps.1", STOPPED + LIVE)
    stopped.send_signal(signal.SIGSTOP)
    scene.wait("p2ps.1", "p2ps.worker.0.slowMerged", lambda n: n > 0)
    scene.wait("p2ps.1", "p2ps.worker.0.mountsCutSlow", lambda n: n == STOPPED)
    scene.others_flow()
    stopped.send_signal(signal.SIGCONT)
    scene.watches("p2ps.1", STOPPED + LIVE)
    assert scene.end(stopped)[
        0] == STOPPED, "those that were stopped should have been cut, each once"
    logs = scene.logs("p2ps.1")
    assert re.search(r"mount: host=\S+ user=\S+ slow: \d+ of 20 buffers in use", logs), logs
    assert "cut: output buffer overflow" in logs, logs


def p2ps(scene):
    """It is lapped on the ring of its rrcpd, says so, and its consumer is told of the gap."""
    beside = scene.consumers(14203, 1)
    scene.watches("p2ps.2", 1)
    ring = mirror.value(scene.system, "rrcpd.net1.2", "rrcpd.net1.inboundRingBytes")
    begin = mirror.value(scene.system, "rrcpd.net1.2", "rrcpd.net1.inboundBytes")
    os.kill(scene.pid("p2ps.2"), signal.SIGSTOP)
    scene.wait("rrcpd.net1.2", "rrcpd.net1.inboundBytes", lambda n: n > begin + ring)
    scene.others_flow()
    os.kill(scene.pid("p2ps.2"), signal.SIGCONT)
    scene.wait("p2ps.2", "p2ps.worker.0.itemsRecovered", lambda n: n >= ITEMS)
    assert scene.end(beside)[1] > 0, "the consumer of the stopped p2ps was not told"
    assert "was lapped on the inbound ring" in scene.logs("p2ps.2")


def rrcpd(scene):
    """The others declare it down and go on; behind it nothing is lost silently."""
    beside = scene.consumers(14203, 1)
    scene.watches("p2ps.2", 1)
    os.kill(scene.pid("rrcpd.net1.3"), signal.SIGSTOP)
    scene.others_flow()
    scene.wait("rrcpd.net1.1", "rrcpd.net1.peersNow", lambda n: n == 1)
    scene.others_flow()
    before = mirror.value(scene.system, "p2ps.2", "p2ps.worker.0.updatesOut")
    os.kill(scene.pid("rrcpd.net1.3"), signal.SIGCONT)
    scene.wait("rrcpd.net1.1", "rrcpd.net1.peersNow", lambda n: n == 2)
    scene.watches("p2ps.2", 1)
    scene.wait("p2ps.2", "p2ps.worker.0.updatesOut", lambda n: n > before)
    scene.end(beside)
    assert "did not run for" in scene.logs("rrcpd.net1.3")
    assert re.search(r"node \S+ is down: silent for peerTimeout", scene.logs("rrcpd.net1.1"))


def main():
    scenario = {"consumer": consumer, "consumers": consumers, "p2ps": p2ps,
                "rrcpd": rrcpd}[sys.argv[1]]
    with tempfile.TemporaryDirectory() as folder:
        live, flow = (50, 500) if scenario is consumer else (LIVE, FLOW)
        scene = Scene(folder, 3 if scenario is rrcpd else 2, live, flow)
        try:
            assert scene.run.up(scene.system) == 0, "it did not start"
            others = scene.consumers(14202, live)
            scene.watches("p2ps.1", live)
            scenario(scene)
            assert scene.end(others) == (0, 0), "the others noticed"
        finally:
            scene.close()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
