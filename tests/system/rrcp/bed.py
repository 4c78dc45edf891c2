"""bed.py - real rrcpd daemons and rrcpperf programs in a network of their own."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.realpath(__file__).rsplit(os.sep, 4)[0]
sys.path.insert(0, os.path.join(ROOT, "tools"))
from running import spaces  # noqa: E402
from running.program import Program  # noqa: E402

# Of the machine: in a user namespace of our own everybody is.
IS_ROOT = os.environ.setdefault("RRCP_IS_ROOT", str(os.geteuid() == 0)) == "True"

BIN = os.environ.get("RMDS_BIN", "build/bin")
SKIP = 77
PATIENCE_S = 90  # only a failure uses it up


def skip(why):
    print("skipped:", why)
    sys.exit(SKIP)


def run(*words, check=True):
    return subprocess.run(words, check=check, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True)


def enter_private_network():
    """Everything below happens in a network namespace that goes with this process."""
    # Where "ip netns" keeps its names: that of the machine is only root's to write.
    kinds, trial = (["-n"], "true") if IS_ROOT else (["-n", "-m"], "mount -t tmpfs rmds /run")
    if not spaces.enter("RRCP_INSIDE", *kinds, trial=trial):
        skip("no network namespace of our own")
    if not IS_ROOT:
        run("mount", "-t", "tmpfs", "rmds", "/run")
    spaces.loopback_up(has_multicast=True)


class Child(Program):
    """A child in a namespace (or ours); its results are apart from its log."""

    def __init__(self, bed, name, words, space=None, env=None):
        # ip netns exec replaces itself: the pid stays.
        super().__init__(name, ["ip", "netns", "exec", space, *words] if space else words,
                         os.path.join(bed.dir, name + ".log"), env)
        self.out = os.path.join(bed.dir, name + ".out")
        with open(self.out, "ab") as out:
            self.start(stdout=out)

    def kill(self, number=signal.SIGKILL):
        self.signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            return self.child.wait(PATIENCE_S)
        return None

    def end(self):
        """In order: a publisher tells who listens which message was its last, a subscriber prints its figures."""
        assert self.kill(signal.SIGTERM) == 0, self.text()

    def wait(self, seconds):
        return self.child.wait(seconds)

    def result(self, seconds=PATIENCE_S):
        """Wait for a rrcpperf to end; its figures."""
        self.wait(seconds)
        with open(self.out) as out:
            lines = [line for line in out if line.startswith("{")]
        assert lines, f"{self.name} printed nothing: {self.text()}"
        return json.loads(lines[-1])


class Bed:
    """With RRCP_IN_PROCESS the engine is inside each rrcpperf, and there are no daemons."""

    def __init__(self, is_private=True):
        """Not private: in the network of the host, where adapters are."""
        self.in_process = bool(os.environ.get("RRCP_IN_PROCESS"))
        if is_private:
            enter_private_network()
        self.dir = tempfile.mkdtemp(prefix="rrcp")
        os.chmod(self.dir, 0o777)
        self.programs, self.spaces, self.count = [], [], 0

    def close(self):
        for program in self.programs:
            if program.alive():
                program.kill()
        for space in self.spaces:
            run("ip", "netns", "del", space, check=False)
        run("rm", "-rf", self.dir)

    def start(self, name, words, space=None, env=None):
        program = Child(self, name, words, space, env)
        self.programs.append(program)
        return program

    def config(self, name, *lines):
        path = os.path.join(self.dir, name + ".cnf")
        with open(path, "w") as file:
            # Where the machine stands still for some seconds, nobody is to be taken for dead.
            file.write("\n".join([f"*runDir : {self.dir}",
                                  "*rrcp*peerTimeout : 30000", *lines]) + "\n")
        return path

    def rrcpd(self, instance, *lines, network="net1", interface="lo", space=None, prefix=(),
              env=None, binary=f"{BIN}/rrcpd"):
        """An rrcpd that is ready. Lines are rmds.cnf."""
        key = [] if any("authKeyFile" in line for line in lines) else ["*rrcp*authKeyFile : none"]
        config = self.config(f"{network}.{instance}", f"*rrcp*interface : {interface}", *key, *lines)
        if self.in_process:
            return None
        log = os.path.join(self.dir, f"rrcpd.{network}.{instance}.log")
        before = 0  # of its predecessors of the same name
        if os.path.exists(log):
            with open(log, errors="replace") as file:
                before = file.read().count("NOTICE ready")
        program = self.start(f"rrcpd.{network}.{instance}",
                             [*prefix, binary, network, "-c", config, "-instance",
                              str(instance), "-fg"], space, env)
        until(lambda: program.text().count("NOTICE ready") > before,
              lambda: f"rrcpd {instance} is not ready: {program.text()}")
        return program

    def perf(self, mode, instance, *words, network="net1", config=None, space=None):
        self.count += 1
        name = f"{mode}.{self.count}"
        words = [f"{BIN}/rrcpperf", mode, "-json", "-network", network, "-run-dir", self.dir,
                 "-instance", str(instance), *map(str, words)]
        if mode == "sub" and "-timeout" not in words:
            words += ["-timeout", "60"]
        if self.in_process:
            words.append("-in-process")
            config = config or os.path.join(self.dir, f"{network}.{instance}.cnf")
        if config:
            words += ["-c", config]
        program = self.start(name, words, space)
        if mode == "sub":
            until(lambda: "subscribed" in program.text() or not program.alive(),
                  lambda: f"{name} did not subscribe: {program.text()}")
        return program

    def flows(self, instance, messages=2000):
        """Wait until so many more have come to an rrcpd."""
        wanted = self.counters(instance).get("msgsRcvd", 0) + messages
        until(lambda: self.counters(instance).get("msgsRcvd", 0) >= wanted, "nothing arrives")

    def counters(self, instance, network="net1"):
        """The statistics segment of an rrcpd as a dictionary."""
        return read_segment(f"{self.dir}/rrcpd.{network}.{instance}/stats")

    def namespaces(self, count, subnet="10.66.0"):
        """`count` namespaces, each with eth0 on one bridge; skips where the kernel cannot."""
        if run("ip", "link", "add", "br0", "type", "bridge", "mcast_snooping", "0",
               check=False).returncode != 0:
            skip("no bridge in this kernel")
        run("ip", "link", "set", "br0", "up")
        names = []
        for i in range(1, count + 1):
            name = f"rrcp{os.getpid()}n{i}"
            if run("ip", "netns", "add", name, check=False).returncode != 0:
                skip("namespaces cannot be named here")
            self.spaces.append(name)
            names.append(name)
            run("ip", "link", "add", f"v{i}", "type", "veth", "peer", "name", "eth0", "netns",
                name)
            run("ip", "link", "set", f"v{i}", "master", "br0", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "addr", "add", f"{subnet}.{i}/24", "dev", "eth0")
            run("ip", "-n", name, "-6", "addr", "add", f"fd66::{i}/64", "dev", "eth0", "nodad",
                check=False)
            run("ip", "-n", name, "link", "set", "eth0", "up")
            run("ip", "-n", name, "route", "add", "224.0.0.0/4", "dev", "eth0")
        return names


def read_segment(path):
    with open(path, "rb") as file:
        data = file.read()
    count, size = struct.unpack_from("<II", data, 40)
    values = {}
    for i in range(count):
        at = 64 + i * size
        name = data[at:at + 96].split(b"\0")[0].decode()
        kind, _flags, value, aux = struct.unpack_from("<IIQQ", data, at + 96)
        if kind:
            values[name.split(".", 2)[-1] if name.startswith("rrcpd.") else name] = value
            values[(name.split(".", 2)[-1]) + ".high"] = aux
    return values


def until(condition, why):
    """Wait for a condition; the limit is only there so that a failure ends."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, why() if callable(why) else why
        time.sleep(0.02)


def clean(figures, lost=0):
    """What every subscriber must be able to say."""
    assert figures["corrupt"] == 0, figures
    assert figures["duplicates"] == 0, figures
    assert figures["untold"] == 0, figures  # in order, once, or told
    assert figures["received"] > 0, figures
    if lost is not None:
        assert figures["lost"] == lost, figures
