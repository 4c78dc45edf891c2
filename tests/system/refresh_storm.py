#!/usr/bin/env python3
"""refresh_storm.py - 100 consumers watch 100,000 items, two each, and what serves them is
restarted: once each.

First the provider, then src_dist, then p2ps. While all items are asked for again, the items of
another service tick on as if nothing were, a new request is served before the recovery is through,
and no daemon's memory goes beyond what it said at its start. In the end every item is open again,
and no update is missing that was not told.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import tempfile
import time

import conf_examples
import mirror

ITEMS, CONSUMERS, WATCHERS, CALM_ITEMS = 100000, 100, 2, 100
CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1, src_dist.2, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*rrcpdInstance : 1
*p2ps*rrcpdInstance : 2
*1.src_dist*1.route*hostList : 127.0.0.1:14102
*2.src_dist*1.route*hostList : 127.0.0.1:14112
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
*maxDecodedMsgSize : 64K
*rrcp*inboundRing : 256M
*rrcp*userQLimit : 65535
*rrcp*peerTimeout : 30000
*p2ps*instanceTimeout : 30000
"""


class Storm:
    """Two providers, the daemons, 100 consumers of the one service and one of the other."""

    def __init__(self, folder):
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        self.run = conf_examples.load_run()
        self.folder = folder
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF)
        self.system = self.run.System(conf)
        self.provider = self.start_provider()
        self.children = [self.tool("sink_driven_src", "-S", "CALM", "-N", "14112", "-L",
                                   "127.0.0.1", "-U", "2000",
                                   "-tps", "100", "-tcpnodel", "-seqdata",
                                   stdout=subprocess.DEVNULL)]
        self.starts = 0

    @staticmethod
    def tool(*words, **more):
        return conf_examples.tool(*words, **more)

    def start_provider(self):
        return self.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L", "127.0.0.1", "-U",
                         "2000", "-tps", "100",
                         "-tcpnodel", "-seqdata", stdout=subprocess.DEVNULL)

    def items(self, count, prefix):
        path = os.path.join(self.folder, prefix)
        if os.path.exists(path):
            return path
        with open(path, "w", encoding="ascii") as out:
            self.tool("sink_driven_src", "-mklist", str(count), prefix, stdout=out).wait()
        return path

    def consumers(self, service, count, prefix, conns):
        client = self.tool("rmdstestclient", "-S", service, "-h", "127.0.0.1", "-p", "14202", "-f",
                           self.items(count, prefix), "-conns", str(conns), "-split", "-u", "demo",
                           "-seqcheck",
                           "-secs", "3600", "-timeout", "300", "-l", "1", stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
        self.children.append(client)
        return client

    def wait(self, instance, name, is_right):
        return mirror.await_value(self.system, instance, name, is_right)

    def p2ps(self, name):
        return mirror.value(self.system, "p2ps.1", f"p2ps.worker.0.{name}")

    def kill(self, name):
        program = next(p for p in self.system.load()["programs"] if p["name"] == name)
        os.kill(program["pid"], signal.SIGKILL)
        os.waitpid(program["pid"], 0)

    def start(self, name):
        state = self.system.load()
        self.starts += 1
        fresh, trouble, log = self.run.start(self.system, self.run.Entry(name), 90 + self.starts)
        assert not trouble, f"{name} did not come back: {trouble}, {log}"
        state["programs"] = [fresh if p["name"] == name else p for p in state["programs"]]
        self.system.save(state)

    def all_is_well(self):
        """Every item is open everywhere, updates of both services pass, and the memory is within
        its bounds."""
        self.wait("src_dist.1", "src_dist.itemsOpen", lambda n: n >= ITEMS)
        self.wait("p2ps.1", "p2ps.worker.0.watches", lambda n: n == WATCHERS * ITEMS + CALM_ITEMS)
        self.wait("p2ps.1", "p2ps.worker.0.itemsOpen", lambda n: n >= ITEMS + CALM_ITEMS)
        for source in ("src_dist.1", "src_dist.2"):
            before = mirror.value(self.system, source, "src_dist.updatesOut")
            self.wait(source, "src_dist.updatesOut", lambda n, past=before: n > past + 1000)
        for program in self.system.load()["programs"]:
            said = {k: v for k, v in mirror.values(self.system, program["name"]).items()
                    if k.startswith("memory.")}
            bound = sum(v for k, v in said.items() if k.startswith("memory.max."))
            assert said["memory.resident"] <= bound, f"{program['name']}: {said}"

    def recover_in_steps(self, is_done):
        """Lets the provider answer for a moment, then stand still while the rest catches up, until
        `is_done()`. Returns what has been recovered then: the order shows however slow anybody
        is."""
        while not is_done():
            self.provider.send_signal(signal.SIGCONT)
            time.sleep(0.002)
            self.provider.send_signal(signal.SIGSTOP)
        return self.p2ps("itemsRecovered")

    def end(self, client):
        client.send_signal(signal.SIGINT)
        text, _ = client.communicate(timeout=60)
        print("\n".join(line for line in text.splitlines() if " logged in at " not in line))
        for program in self.system.load()["programs"]:
            with open(program["log"], encoding="utf-8", errors="replace") as log:
                print("".join(line for line in log if " WARNING " in line or " ERROR " in line),
                      end="")
        assert client.returncode == 0, "the consumer was not satisfied"
        assert " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" in text, "silent loss"
        return text

    def close(self):
        self.run.down(self.system)
        for child in [self.provider, *self.children]:
            child.send_signal(signal.SIGCONT)
            child.terminate()
            child.communicate()


def has_ended(program):
    try:
        program.wait(timeout=0.5)
    except subprocess.TimeoutExpired:
        return False
    return True


def restart_provider(storm):
    """In the midst of the recovery it stands still: the others do not, and who comes then is served
    first."""
    recovered = storm.p2ps("itemsRecovered")
    storm.provider.kill()
    storm.provider.wait()
    storm.wait("src_dist.1", "src_dist.servicesUp", lambda n: n == 0)
    storm.provider = storm.start_provider()
    begun = storm.recover_in_steps(
        lambda: storm.p2ps("itemsRecovered") > recovered + ITEMS / 100) - recovered
    calm = mirror.value(storm.system, "src_dist.2", "src_dist.updatesOut")
    storm.wait("p2ps.1", "p2ps.worker.0.updatesOut", lambda n,
               past=storm.p2ps("updatesOut"): n > past + 1000)
    storm.wait("src_dist.2", "src_dist.updatesOut", lambda n: n > calm + 1000)
    requests = storm.p2ps("requestsIn")
    late = storm.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202", "-il",
                      "NEW.1", "-u", "demo",
                      "-e", "-timeout", "300", "-l", "1")
    storm.wait("p2ps.1", "p2ps.worker.0.requestsIn", lambda n: n > requests)
    by_then = storm.recover_in_steps(lambda: has_ended(late)) - recovered
    assert late.returncode == 0, "the new item was not served"
    print(f"the new item came when {begun} of {ITEMS} had come back, and was there at {by_then}",
          flush=True)
    assert by_then < ITEMS * 0.9, "the new item waited for all that are recovered"
    storm.provider.send_signal(signal.SIGCONT)
    storm.wait("p2ps.1", "p2ps.worker.0.itemsRecovered", lambda n: n >= recovered + ITEMS)


def restart_source(storm):
    recovered = storm.p2ps("itemsRecovered")
    storm.kill("src_dist.1")
    storm.start("src_dist.1")
    storm.wait("p2ps.1", "p2ps.worker.0.itemsRecovered", lambda n: n >= recovered + ITEMS)


def restart_p2ps(storm):
    storm.kill("p2ps.1")
    storm.start("p2ps.1")


def main():
    mirror.WAIT_S = 300
    with tempfile.TemporaryDirectory() as folder:
        storm = Storm(folder)
        try:
            assert storm.run.up(storm.system) == 0, "it did not start"
            many = [storm.consumers("RDFD", ITEMS, "X", CONSUMERS // WATCHERS)
                    for _ in range(WATCHERS)]
            calm = storm.consumers("CALM", CALM_ITEMS, "C", 1)
            storm.all_is_well()
            for restart in (restart_provider, restart_source):
                restart(storm)
                storm.all_is_well()
                print(f"{restart.__name__}: all is well again", flush=True)
            text = storm.end(calm)
            assert " 0 connections lost" in text and "; 0 resyncs" in text, "the other service noticed"
            storm.consumers("CALM", CALM_ITEMS, "C", 1)
            storm.all_is_well()
            restart_p2ps(storm)
            storm.all_is_well()
            for client in many:
                storm.end(client)
        finally:
            storm.close()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
