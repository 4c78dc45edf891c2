#!/usr/bin/env python3
"""backbone.py SCENARIO - rrcpd over verbs, inside the laboratory (lab.py); exit 0 passed, 1 failed.

Two hosts, three daemons; every message is numbered and checksummed by rrcpperf. The counters of the
RDMA devices say that the packets went there."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import subprocess
import sys
import time

BIN = os.environ.get("RMDS_BIN", "build/bin")
MESSAGES = int(os.environ.get("RDMA_MESSAGES", "100000"))
RATE = int(os.environ.get("RDMA_RATE", "2500"))
PATIENCE_S = 240  # the processors are emulated
WORK = "/tmp/rdma"
STARTED = []
PREFIX = []  # before each command


def until(condition, why):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(why)
        time.sleep(0.1)


def text(name):
    with open(f"{WORK}/{name}.log", errors="replace") as file:
        return file.read()


def start(name, *words):
    with open(f"{WORK}/{name}.log", "ab") as log:
        child = subprocess.Popen(list(map(str, [*PREFIX, *words])), stdin=subprocess.DEVNULL,
                                 stdout=log, stderr=log)
    STARTED.append((name, child))
    return child


def until_ready(name, child, before=0):
    until(lambda: text(name).count("NOTICE ready") > before or child.poll() is not None,
          f"{name} is not ready")
    assert child.poll() is None, f"{name} ended"


def rrcpd(host, instance, *lines):
    """A daemon on the interface of `host`; ready, and joined."""
    name = f"rrcpd{host}{instance}"
    os.makedirs(f"{WORK}/run{host}", exist_ok=True)
    before = text(name).count("NOTICE ready") if os.path.exists(f"{WORK}/{name}.log") else 0
    with open(f"{WORK}/{name}.cnf", "w") as file:
        file.write(f"*rrcp*transport : verbs\n*rrcp*interface : rdma{host}\n"
                   f"*rrcp*authKeyFile : none\n*runDir : {WORK}/run{host}\n"
                   "*rrcp*maxPktPoolSize : 20000\n*rrcp*pktPoolLimitHigh : 17000\n"
                   "*rrcp*pktPoolLimitLow : 14000\n"
                   "*rrcp*recoverTimeout : 5000\n*rrcp*tbchold : 100\n" +
                   "".join(f"{line}\n" for line in lines or ("*rrcp*peerTimeout : 60000",)))
    child = start(name, f"{BIN}/rrcpd", "-c", f"{WORK}/{name}.cnf", "-node", f"host{host}",
                  "-instance", instance, "-fg", "-allow-root")
    until_ready(name, child, before)
    return child


def perf(mode, host, instance, *words):
    name = f"{mode}{host}{instance}.{len(STARTED)}"
    child = start(name, f"{BIN}/rrcpperf", mode, "-json", "-run-dir", f"{WORK}/run{host}",
                  "-instance", instance, *words)
    if mode == "sub":
        until(lambda: "subscribed" in text(name), f"{name} does not subscribe")
    return name, child


def figures(name, child):
    """What a rrcpperf printed when it ended."""
    child.wait(PATIENCE_S)
    lines = [line for line in text(name).splitlines() if line.startswith("{")]
    assert lines, f"{name} printed nothing"
    print(name, lines[-1])
    return json.loads(lines[-1])


def is_clean(sub):
    """In order, once, or told."""
    assert sub["untold"] == 0 and sub["duplicates"] == 0 and sub["corrupt"] == 0, sub
    return sub


def sent_packets(host):
    with open(f"/sys/class/infiniband/rxe{host}/ports/1/hw_counters/sent_pkts") as file:
        return int(file.read())


def know_each_other(count):
    names = [name for name, _ in STARTED if name.startswith("rrcpd")]
    until(lambda: all(text(name).count(" is heard ") >= count - 1 for name in names),
          "the nodes do not hear each other")


def messages_are_carried_each_way():
    for host, instance in ((1, 1), (2, 1), (2, 2)):
        rrcpd(host, instance)
    know_each_other(3)
    before = [sent_packets(host) for host in (1, 2)]
    words = ("-publishers", 2, "-timeout", PATIENCE_S, "-warmup", 0)
    subs = [perf("sub", host, instance, *words) for host, instance in ((1, 1), (2, 1), (2, 2))]
    pubs = [perf("pub", host, 1, "-rate", RATE, "-seconds", 1.25 * MESSAGES / RATE)
            for host in (1, 2)]
    sent = [figures(*pub)["sent"] for pub in pubs]
    assert min(sent) >= MESSAGES * 0.75, sent  # the emulator may be too slow for the rate
    for sub in subs:
        got = is_clean(figures(*sub))
        # Told losses before the first message of a publisher have no number. How many are lost
        # is a matter of the emulator.
        assert sum(sent) / 2 < got["received"], (got, sent)
        assert got["received"] + got["lost"] <= sum(sent), (got, sent)
    grown = [sent_packets(host) - old for host, old in zip((1, 2), before)]
    print("packets by RDMA:", *grown)
    assert min(grown) > MESSAGES / 100, grown  # at most about 100 messages of a packet


def a_device_goes_and_comes_back():
    rrcpd(1, 1, "*rrcp*peerTimeout : 5000")
    rrcpd(2, 1, "*rrcp*peerTimeout : 5000")
    know_each_other(2)
    sub = perf("sub", 2, 1, "-publishers", 9, "-timeout", PATIENCE_S, "-warmup", 0)
    pub = perf("pub", 1, 1, "-rate", 1000, "-seconds", 3600, "-warmup", 0)
    begin = sent_packets(1)
    until(lambda begin=begin: sent_packets(1) > begin + 100, "nothing is sent")
    subprocess.run(["timeout", "120", "rdma", "link", "delete", "rxe1"], check=True)
    until(lambda: "the device was removed" in text("rrcpd11"), "the removal is not noticed")
    until(lambda: "silent for peerTimeout" in text("rrcpd21"), "the silence is not noticed")
    subprocess.run(["rdma", "link", "add", "rxe1", "type", "rxe", "netdev", "rdma1"], check=True)
    until(lambda: text("rrcpd11").count("group joined") == 2, "the device is not opened again")
    until(lambda: text("rrcpd21").count(" is heard ") >= 2, "the node does not come back")
    begin = sent_packets(1)
    until(lambda begin=begin: sent_packets(1) > begin + 100, "nothing is sent again")
    pub[1].send_signal(signal.SIGTERM)
    figures(*pub)
    time.sleep(1)
    sub[1].send_signal(signal.SIGTERM)
    got = is_clean(figures(*sub))
    assert got["peers_down"] >= 1 and got["lost"] > 0, got


def a_daemon_is_killed():
    first = rrcpd(1, 1)
    rrcpd(2, 1)
    know_each_other(2)
    sub = perf("sub", 2, 1, "-publishers", 9, "-timeout", PATIENCE_S, "-warmup", 0)
    pub = perf("pub", 1, 1, "-rate", 1000, "-seconds", 3600, "-warmup", 0)
    for kill in range(2):
        begin = sent_packets(1)
        until(lambda begin=begin: sent_packets(1) > begin + 50, "nothing is sent")
        first.kill()
        first.wait()
        first = rrcpd(1, 1)
        until(lambda kill=kill: text("rrcpd21").count(" is heard ") >= 2 + kill,
              "the new session is not heard")
        until(lambda kill=kill: text("rrcpd11").count(" attached: ") >= 2 + kill,
              "the publisher is not attached again")
    pub[1].send_signal(signal.SIGTERM)
    pub[1].wait(PATIENCE_S)
    sub[1].send_signal(signal.SIGTERM)
    is_clean(figures(*sub))


def refused(name, *lines, before=(), process="rrcpd"):
    """What a daemon says that cannot start."""
    os.makedirs(f"{WORK}/run1", exist_ok=True)
    with open(f"{WORK}/{name}.cnf", "w") as file:
        file.write(f"*rrcp*transport : verbs\n*rrcp*authKeyFile : none\n*runDir : {WORK}/run1\n" +
                   "".join(f"{line}\n" for line in lines))
    child = start(name, *before, f"{BIN}/{process}", "-c", f"{WORK}/{name}.cnf", "-fg",
                  "-allow-root")
    assert child.wait(PATIENCE_S) != 0, f"{name} is not refused: {text(name)}"
    print(name, text(name)[-400:])
    return text(name)


def expect(said, *parts):
    for part in parts:
        assert part in said, (part, said)


def too_little_memory_may_be_pinned():
    # A user with the capability to lock memory is never refused.
    said = refused("small", "*rrcp*interface : rdma1",
                   before=("setpriv", "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock",
                           "prlimit", "--memlock=65536:65536"))
    expect(said, f"transport ({WORK}/small.cnf:1)", "the limit of this process is 64 KB",
           "LimitMEMLOCK=infinity")


def run(*words):
    subprocess.run(words, check=True)


def each_refusal_says_why():
    mine = "*rrcp*interface : rdma1"
    expect(refused("mtu", mine, "*rrcp*maxPacketSize : 4096"),
           f"maxPacketSize ({WORK}/mtu.cnf:5): packets of 4096 bytes, and port 1 of rxe1 carries "
           "1024; write that, or raise the MTU")
    run("ip", "link", "add", "plain1", "type", "veth", "peer", "name", "plain2")
    run("ip", "addr", "add", "10.99.0.1/24", "dev", "plain1")
    for name in ("plain1", "plain2"):
        run("ip", "link", "set", name, "up")
    expect(refused("other", "*rrcp*interface : plain1"), f"interface ({WORK}/other.cnf:4): plain1",
           "has no RDMA device", "devices of this host: rxe1, rxe2")
    run("ip", "link", "set", "rdma1", "down")
    expect(refused("down", mine), "port 1 of rxe1 is down: look at the cable, the switch")
    run("ip", "link", "set", "rdma1", "up")
    run("mount", "-t", "tmpfs", "none", "/etc/libibverbs.d")
    expect(refused("providers", mine), f"transport ({WORK}/providers.cnf:1): the kernel has an RDMA "
           "device, and libibverbs knows none: install the package ibverbs-providers")
    run("umount", "/etc/libibverbs.d")
    os.rename("/dev/infiniband/rdma_cm", "/dev/infiniband/away")
    expect(refused("ucm", mine), "load the module rdma_ucm")
    os.rename("/dev/infiniband/away", "/dev/infiniband/rdma_cm")
    for host in (1, 2):
        run("rdma", "link", "delete", f"rxe{host}")
    expect(refused("none", mine), f"transport ({WORK}/none.cnf:1): verbs, and this host has no RDMA "
           "device: look at `rdma link`")


def other_transports_are_not_heard():
    rrcpd(1, 1)
    rrcpd(2, 1, "*rrcp*transport : udp")
    for name in ("rrcpd11", "rrcpd21"):
        until(lambda name=name: "is an rrcpd running on another host, with this transport" in
              text(name), f"{name} does not say that it is alone")


def main(scenario):
    os.makedirs(WORK, exist_ok=True)
    try:
        scenario()
        print("passed")
        return 0
    except Exception as error:  # noqa: BLE001 - any failure is shown with the logs
        print("FAILED:", repr(error))
        for name in dict(STARTED):
            print(f"--- {name}\n{text(name)[-2500:]}")
        return 1
    finally:
        for _, child in STARTED:
            if child.poll() is None:
                child.kill()


if __name__ == "__main__":
    sys.exit(main(globals()[sys.argv[1]]))
