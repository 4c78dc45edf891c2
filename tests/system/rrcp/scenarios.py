#!/usr/bin/env python3
"""scenarios.py NAME - one scenario of real rrcpd daemons; exit 0 passed, 1 failed, 77 skipped.

Each publishes numbered, checksummed messages, does something cruel, and checks what the subscribers
really received: in order, once, or told."""
# SPDX-License-Identifier: Apache-2.0
import os
import random
import re
import shutil
import signal
import socket
import struct
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bed import BIN, IS_ROOT, PATIENCE_S, Bed, clean, run, skip, until  # noqa: E402

GROUP = "239.255.82.82"
FOR_EVER = ("-seconds", 3600)  # until it is told to end
RANDOM = random.Random(int(os.environ.get("RRCP_SEED", "1")))


def two_daemons_of_one_host_carry_messages(bed):
    bed.rrcpd(1)
    bed.rrcpd(2)
    sub = bed.perf("sub", 2, "-seconds", 1)
    bed.perf("pub", 1, "-rate", 20000, "-seconds", 1).result()
    figures = sub.result()
    clean(figures)
    assert figures["gaps"] == 0


def large_messages_are_cut_and_put_together(bed):
    bed.rrcpd(1)
    bed.rrcpd(2)
    sub = bed.perf("sub", 2, "-seconds", 1, "-size", 1000000)
    bed.perf("pub", 1, "-rate", 10, "-size", 1000000, "-seconds", 1).result()
    clean(sub.result())


def local_users_hear_each_other(bed):
    bed.rrcpd(1)
    sub = bed.perf("sub", 1, "-seconds", 1)
    bed.perf("pub", 1, "-rate", 20000, "-seconds", 1).result()
    clean(sub.result())


def a_publisher_that_cannot_keep_its_rate_ends_all_the_same(bed):
    bed.rrcpd(1)
    figures = bed.perf("pub", 1, "-rate", 100000000, "-seconds", 0.5).result()
    assert 0 < figures["sent"] < 100000000, figures


def a_question_is_answered_by_unicast(bed):
    bed.rrcpd(1)
    bed.rrcpd(2)
    bed.perf("ping", 2, "-reply", *FOR_EVER)
    for seconds in (2, 20, 60):  # longer where the machine is slow
        figures = bed.perf("ping", 1, "-rate", 100, "-seconds", seconds).result()
        if figures["answered"] > 20:
            break
    assert figures["answered"] > 20 and figures["corrupt"] == 0, figures


def of_peers(counters, name):
    return [counters[key] for key in counters if key.startswith("peer.") and key.endswith("." + name)]


def is_repair_counted(counters):
    """And per node: who it was that lost, who repaired, how far away."""
    return (counters["shim.dropped"] > 0 and counters["pktsRepaired"] > 0 and
            sum(of_peers(counters, "pktsRepaired")) == counters["pktsRepaired"] and
            sum(of_peers(counters, "retransReqSent")) == counters["retransReqSent"] and
            max(of_peers(counters, "rttUs")) > 0)


def lost_and_reordered_packets_are_repaired(bed):
    bad = ("*rrcp*lossPct : 1", "*rrcp*reorderPct : 0.5", "*rrcp*delayUs : 300",
           "*rrcp*faultSeed : 7", "*rrcp*udpRecvBufSize : 32768")
    bed.rrcpd(1, *bad)
    bed.rrcpd(2, *bad)
    bed.rrcpd(3, *bad)
    subs = [bed.perf("sub", i) for i in (2, 3)]
    bed.perf("pub", 1, "-rate", 30000, "-seconds", 3).result()
    for sub in subs:
        figures = sub.result()
        clean(figures)
        assert figures["gaps"] == 0, figures
    if bed.in_process:
        return
    for i in (2, 3):
        until(lambda i=i: is_repair_counted(bed.counters(i)), lambda i=i: str(bed.counters(i)))
    until(lambda: sum(of_peers(bed.counters(1), "retransPktsSent")) > 0, lambda: str(bed.counters(1)))
    for i in (2, 3):
        bed.programs[i - 1].kill(signal.SIGTERM)
    until(lambda: not of_peers(bed.counters(1), "rttUs"), "nodes that left are still shown")


def a_killed_sink_daemon_is_found_again(bed):
    bed.rrcpd(1)
    sink = bed.rrcpd(2)
    other = bed.rrcpd(3)
    subs = [bed.perf("sub", i) for i in (2, 3)]
    pub = bed.perf("pub", 1, "-rate", 20000, *FOR_EVER)
    for _ in range(2):
        bed.flows(2)
        time.sleep(RANDOM.uniform(0.2, 0.8))
        sink.kill()
        sink = bed.rrcpd(2)
    until(lambda: bed.counters(2)["users"] == 1, "the subscriber is not attached again")
    bed.flows(2)
    pub.end()
    victim, bystander = subs[0].result(), subs[1].result()
    clean(victim, lost=None)
    assert 1 <= victim["daemon_downs"] <= 2, victim  # killed again before it was attached: one
    clean(bystander)
    assert bystander["gaps"] == 0 and bystander["daemon_downs"] == 0, bystander
    assert other.alive()


def a_killed_source_daemon_is_found_again(bed):
    source = bed.rrcpd(1)
    sink = bed.rrcpd(2)
    sub = bed.perf("sub", 2, "-publishers", 0)
    pub = bed.perf("pub", 1, "-rate", 20000, *FOR_EVER)
    bed.flows(2)
    time.sleep(RANDOM.uniform(0.2, 0.8))
    source.kill()
    bed.rrcpd(1)
    until(lambda: bed.counters(1)["users"] == 1, "the publisher is not attached again")
    bed.flows(2, 20000)
    pub.end()
    sub.end()
    figures = sub.result()
    clean(figures, lost=None)
    assert figures["publishers"] == 2, figures  # the same program, a new session and port
    assert figures["peers_down"] >= 1, figures
    # Same name, same host: it is known at once, not when its silence has lasted.
    until(lambda: "is down: it was started anew" in sink.text(), sink.text)
    assert "silent for peerTimeout" not in sink.text(), sink.text()


def a_publisher_that_only_ends_on_a_new_daemon_has_lost_nothing(bed):
    source = bed.rrcpd(1)
    sink = bed.rrcpd(2)
    sub = bed.perf("sub", 2, "-publishers", 0)
    pub = bed.perf("pub", 1, "-rate", 1000, *FOR_EVER)
    bed.flows(2)
    pub.kill(signal.SIGSTOP)
    source.kill()
    source = bed.rrcpd(1)
    until(lambda: "is down: it was started anew" in sink.text(), sink.text)
    pub.signal(signal.SIGTERM)  # stopped: it is told to end before it can send another message
    pub.kill(signal.SIGCONT)
    sent = pub.result()["sent"]
    sub.end()
    figures = sub.result()
    clean(figures, lost=None)
    assert figures["peers_down"] >= 1, figures
    assert figures["received"] + figures["lost"] <= sent, (figures, sent)


def anything_may_be_killed_at_any_moment(bed):
    """RRCP_KILLS of daemons and publishers, on a network that loses 1 %; who is alive is whole."""
    lossy = ("*rrcp*lossPct : 1", "*rrcp*reorderPct : 0.5", "*rrcp*delayUs : 300",
             "*rrcp*udpRecvBufSize : 32768")
    kills = int(os.environ.get("RRCP_KILLS", "6"))
    daemons = {i: bed.rrcpd(i, *lossy, f"*rrcp*faultSeed : {i}") for i in (1, 2, 3)}
    subs = [bed.perf("sub", i, "-publishers", 0) for i in (2, 3, 1)]
    publish = ("-rate", 20000, *FOR_EVER)
    pubs = {i: bed.perf("pub", i, *publish) for i in (1, 2)}
    for _ in range(kills):
        time.sleep(RANDOM.uniform(0.2, 1.2))
        if RANDOM.random() < 0.5:
            victim = RANDOM.choice((1, 2, 3))
            daemons[victim].kill()
            daemons[victim] = bed.rrcpd(victim, *lossy, f"*rrcp*faultSeed : {victim + 10}")
        else:
            victim = RANDOM.choice((1, 2))
            pubs[victim].kill()
            pubs[victim] = bed.perf("pub", victim, *publish)
    bed.flows(3, 20000)
    for pub in pubs.values():
        pub.kill()
    for sub in subs:
        sub.end()
        figures = sub.result()
        clean(figures, lost=None)
        assert figures["users_down"] + figures["peers_down"] + figures["daemon_downs"] > 0, figures


def a_killed_user_is_told_to_all_nodes(bed):
    first = bed.rrcpd(1)
    bed.rrcpd(2)
    sub = bed.perf("sub", 2, "-publishers", 0, "-timeout", 10)
    pub = bed.perf("pub", 1, "-rate", 10000, *FOR_EVER)
    bed.flows(2)
    pub.kill()
    figures = sub.result()
    clean(figures)
    assert figures["users_down"] == 1, figures
    assert "has died" in first.text(), first.text()


def a_stopped_subscriber_costs_the_others_nothing(bed):
    small = ("*rrcp*inboundRing : 16M", "*rrcp*userQLimit : 2048", "*rrcp*udpRecvBufSize : 16384")
    bed.rrcpd(1, *small)
    bed.rrcpd(2, *small)
    subs = [bed.perf("sub", 2) for _ in range(3)]
    pub = bed.perf("pub", 1, "-rate", 50000, *FOR_EVER)
    bed.flows(2)
    subs[0].kill(signal.SIGSTOP)
    stopped_at = bed.counters(2)["inboundBytes"]
    until(lambda: bed.counters(2)["inboundBytes"] > stopped_at + (20 << 20), "the ring is not filled")
    subs[0].kill(signal.SIGCONT)
    bed.flows(2)
    pub.end()
    stopped = subs[0].result()
    clean(stopped, lost=None)
    assert stopped["overruns"] >= 1 and stopped["lost"] > 0 and stopped["gaps"] >= 1, stopped
    for sub in subs[1:]:
        figures = sub.result()
        clean(figures)
        assert figures["overruns"] == 0 and figures["gaps"] == 0, figures


def lossless_transfer_waits_for_a_stopped_reader_only_once(bed):
    lines = ("*rrcp*flowControl : min", "*rrcp*inboundRing : 16M", "*rrcp*userQLimit : 2048",
             "*rrcp*udpRecvBufSize : 16384")
    for i in (1, 2):
        bed.rrcpd(i, *lines)
    subs = [bed.perf("sub", 2) for _ in range(2)]
    pub = bed.perf("pub", 1, "-rate", 50000, *FOR_EVER)
    bed.flows(2)
    subs[0].kill(signal.SIGSTOP)
    bed.flows(2, 100000)  # it is waited for, and then no longer
    subs[0].kill(signal.SIGCONT)
    bed.flows(2)
    pub.end()
    figures = subs[1].result()
    clean(figures)
    assert figures["gaps"] == 0, figures
    clean(subs[0].result(), lost=None)


def a_gap_makes_it_leave_and_rejoin_when_asked_to(bed):
    bed.rrcpd(1)
    sink = bed.rrcpd(2, "*rrcp*disconnectOnGaps : True", "*rrcp*lossPct : 20",
                     "*rrcp*nmissing : 1", "*rrcp*faultSeed : 3")
    sub = bed.perf("sub", 2)
    pub = bed.perf("pub", 1, "-rate", 20000, *FOR_EVER)
    until(lambda: sink.text().count("joining the network anew") > 3, sink.text)
    sub.end()
    pub.end()
    figures = sub.result()
    clean(figures, lost=None)
    assert figures["daemon_downs"] >= 1, figures
    assert sink.alive()  # the same process


def many_users_and_peers_fit_in_the_memory_stated(bed):
    peers = int(os.environ.get("RRCP_PEERS", "16"))
    daemon = bed.rrcpd(1)
    bed.rrcpd(2)
    config = bed.config("peer", "*rrcp*interface : lo", "*rrcp*maxPktPoolSize : 2000",
                        "*rrcp*pktPoolLimitHigh : 1800", "*rrcp*pktPoolLimitLow : 1500")
    crowd = [bed.perf("sub", 1, "-in-process", "-topic", 1, "-timeout", 3600, config=config)
             for _ in range(peers)]
    users = [bed.perf("sub", 1, "-timeout", 300) for _ in range(24)]
    until(lambda: bed.counters(1)["peersNow"] >= peers + 1, "not all peers are seen")
    pub = bed.perf("pub", 2, "-rate", 20000, "-seconds", 3)
    pub.result()
    for user in users:
        clean(user.result())
    with open(f"/proc/{daemon.pid}/status") as file:
        resident = int([line for line in file if line.startswith("VmRSS")][0].split()[1]) // 1024
    counters = bed.counters(1)
    print(f"{peers} peers, 24 users: resident {resident} MiB, engine "
          f"{counters['memoryBytes.high'] >> 20} MiB")
    assert resident < 750, resident
    for peer in crowd:
        peer.kill(signal.SIGTERM)


def two_networks_run_side_by_side(bed):
    for network, port in (("net1", 8500), ("net2", 8502)):
        for i in (1, 2):
            bed.rrcpd(i, f"*rrcp*multicastPort : {port}", network=network)
    subs = [bed.perf("sub", 2, "-seconds", 2, network=n) for n in ("net1", "net2")]
    pubs = [bed.perf("pub", 1, "-rate", 30000, "-seconds", 2, network=n) for n in ("net1", "net2")]
    for pub in pubs:
        pub.result()
    for sub in subs:
        clean(sub.result())


def two_networks_may_share_one_group(bed):
    for network in ("net1", "net2"):
        for i in (1, 2):
            bed.rrcpd(i, network=network)
    subs = [bed.perf("sub", 2, "-seconds", 1, network=n) for n in ("net1", "net2")]
    for n in ("net1", "net2"):
        bed.perf("pub", 1, "-rate", 5000, "-seconds", 1, network=n)
    for sub in subs:
        figures = sub.result()
        clean(figures)
        assert figures["publishers"] == 1, figures


def an_interface_goes_down_and_up(bed):
    names = bed.namespaces(3)
    sink = [bed.rrcpd(i, interface="eth0", space=name) for i, name in enumerate(names, 1)][1]
    subs = [bed.perf("sub", i, space=names[i - 1]) for i in (2, 3)]
    pub = bed.perf("pub", 1, "-rate", 20000, *FOR_EVER, space=names[0])
    bed.flows(2)
    run("ip", "link", "set", "v2", "down")
    time.sleep(1.2)
    run("ip", "link", "set", "v2", "up")
    bed.flows(2, 20000)
    pub.end()
    cut, whole = subs[0].result(), subs[1].result()
    clean(whole)
    clean(cut, lost=None)
    assert cut["lost"] == 0 or cut["gaps"] > 0, cut  # told, if not repaired
    assert "packets are lost for good" in sink.text() or cut["lost"] == 0, sink.text()


QUEUES = ("netem loss 1% delay 1ms 200us",
          "tbf rate 40mbit burst 20kb limit 40kb")  # a port of a switch that bursts fill


def what_a_queue_in_the_network_drops_is_repaired(bed):
    names = bed.namespaces(2)
    for i, name in enumerate(names, 1):
        # A machine that stands still for half a second loses nothing: what is dropped here is always repaired.
        bed.rrcpd(i, "*rrcp*recoverTimeout : 30000", interface="eth0", space=name)
    known = 0
    for queue in QUEUES:
        if run("tc", "qdisc", "replace", "dev", "v2", "root", *queue.split(), check=False).returncode:
            continue  # this kernel has another one
        known += 1
        before = bed.counters(2)["pktsRepaired"]
        sub = bed.perf("sub", 2, "-seconds", 2, space=names[1])
        bed.perf("pub", 1, "-rate", 20000, "-tick", 100000, "-seconds", 2, space=names[0]).result()
        clean(sub.result())
        dropped = int(run("tc", "-s", "qdisc", "show", "dev", "v2").stdout.split("dropped ")[1].split(",")[0])
        assert dropped > 0, queue
        until(lambda: bed.counters(2)["pktsRepaired"] > before, lambda: str(bed.counters(2)))
    if known == 0:
        skip("no queueing discipline in this kernel")


def a_redundant_path_hides_a_dead_one(bed):
    names = bed.namespaces(2)
    run("ip", "link", "add", "br1", "type", "bridge", "mcast_snooping", "0")
    run("ip", "link", "set", "br1", "up")
    for i, name in enumerate(names, 1):
        run("ip", "link", "add", f"w{i}", "type", "veth", "peer", "name", "eth1", "netns", name)
        run("ip", "link", "set", f"w{i}", "master", "br1", "up")
        run("ip", "-n", name, "addr", "add", f"10.67.0.{i}/24", "dev", "eth1")
        run("ip", "-n", name, "link", "set", "eth1", "up")
    both = ("*rrcp*secondInterface : eth1", "*rrcp*secondAddress : 239.255.82.83")
    for i, name in enumerate(names, 1):
        bed.rrcpd(i, *both, interface="eth0", space=name)
    sub = bed.perf("sub", 2, space=names[1])
    pub = bed.perf("pub", 1, "-rate", 20000, *FOR_EVER, space=names[0])
    bed.flows(2)
    run("ip", "link", "set", "v2", "down")
    bed.flows(2, 20000)
    pub.end()
    figures = sub.result()
    clean(figures)
    assert figures["gaps"] == 0, figures


def ipv6_multicast_carries_the_network(bed):
    names = bed.namespaces(2)
    for i, name in enumerate(names, 1):
        bed.rrcpd(i, "*rrcp*multicastAddress : ff15::5252", interface=f"fd66::{i}", space=name)
    sub = bed.perf("sub", 2, "-seconds", 2, space=names[1])
    bed.perf("pub", 1, "-rate", 20000, "-seconds", 2, space=names[0]).result()
    clean(sub.result())


def subnet_broadcast_carries_the_network(bed):
    for i in (1, 2):
        bed.rrcpd(i, "*rrcp*multicastAddress : 127.255.255.255")
    sub = bed.perf("sub", 2, "-seconds", 1)
    bed.perf("pub", 1, "-rate", 10000, "-seconds", 1).result()
    clean(sub.result())


def an_interface_is_never_guessed(bed):
    names = bed.namespaces(1)
    run("ip", "link", "add", "v9", "type", "veth", "peer", "name", "eth7", "netns", names[0])
    run("ip", "link", "set", "v9", "up")
    run("ip", "-n", names[0], "addr", "add", "10.99.0.1/24", "dev", "eth7")
    run("ip", "-n", names[0], "link", "set", "eth7", "up")
    config = bed.config("guess")
    program = bed.start("guess", [f"{BIN}/rrcpd", "-c", config, "-fg"], names[0])
    assert program.wait(PATIENCE_S) == 1
    text = program.text()
    assert "eth0 (10.66.0.1)" in text and "eth7 (10.99.0.1)" in text, text


def verbs_refused(bed, name, *lines):
    """What an rrcpd says that cannot start with transport : verbs."""
    config = bed.config(name, "*rrcp*authKeyFile : none", "*rrcp*transport : verbs", *lines)
    program = bed.start(name, [f"{BIN}/rrcpd", "-c", config, "-fg"])
    assert program.wait(PATIENCE_S) != 0
    return program.text(), config


def verbs_that_cannot_be_used_say_why_and_where(bed):
    text, config = verbs_refused(bed, "device", "*rrcp*interface : lo", "*rrcp*rdmaDevice : mlx5_77")
    assert f"rdmaDevice ({config}:6): this host has no device mlx5_77" in text, text
    text, config = verbs_refused(bed, "group", "*rrcp*interface : lo", "*rrcp*multicastAddress : 127.255.255.255")
    assert f"multicastAddress ({config}:6): 127.255.255.255 is a broadcast address" in text, text
    text, config = verbs_refused(bed, "inside", "*rrcp*inProcess : True")
    assert "write inProcess : False, or transport : udp" in text, text
    # Loopback has no adapter; a build without the libraries has no plug-in.
    text, config = verbs_refused(bed, "loopback", "*rrcp*interface : lo")
    assert f"{config}:4)" in text or f"interface ({config}:5)" in text, text
    whys = ("this host has no RDMA device", "has no RDMA device (", "librmds-verbs.so is not there", "libibverbs",
            "/dev/infiniband/rdma_cm")
    assert any(why in text for why in whys), text


def hear_beacon(name):
    """A BEACON of the node whose name begins so, and the port it came from."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as group:
        group.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        group.bind((GROUP, 8500))
        group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                         socket.inet_aton(GROUP) + socket.inet_aton("127.0.0.1"))
        group.settimeout(PATIENCE_S)
        while True:
            data, source = group.recvfrom(65536)
            if data[3] == 4 and name in data[64:64 + data[62]]:
                return data, source[1]


def forge(raw, port, data):
    """To the group from 127.0.0.1:port, as any host of the network can."""
    udp = struct.pack(">HHHH", port, 8500, 8 + len(data), 0) + data
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 1, 17, 0,
                     socket.inet_aton("127.0.0.1"), socket.inet_aton(GROUP))
    raw.sendto(ip + udp, (GROUP, 0))


def forged_packets_silence_nobody(bed):
    for i in (1, 2):
        bed.rrcpd(i)
    sub = bed.perf("sub", 2)
    pub = bed.perf("pub", 1, "-rate", 5000, *FOR_EVER)
    bed.flows(2)
    beacon, port = hear_beacon(b".1.rrcpd")
    far = beacon[:24] + struct.pack(">QQ", 1 << 50, 1) + beacon[40:]
    bye = beacon[:3] + b"\7" + beacon[4:6] + struct.pack(">H", 33) + beacon[8:32] + b"\1"
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        raw.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        for i in range(20):
            forge(raw, port, far)
            forge(raw, port, bye)
            for k in range(20):  # sessions that do not exist
                ghost = struct.pack(">Q", 1000 + 20 * i + k)
                forge(raw, port, beacon[:8] + ghost + beacon[16:])
            bed.flows(2, 200)
    counters = bed.counters(2)
    assert counters["doubts"] > 0 and counters["byesFalse"] > 0, counters
    assert counters["peersDown"] == 0 and counters["peersNow"] == 1, counters
    pub.end()
    clean(sub.result())


def an_open_network_has_to_be_said(bed):
    name, keys = bed.namespaces(1)[0], os.path.join(bed.dir, "made")

    def refused(label, *lines):
        config = bed.config(label, "*rrcp*interface : eth0", *lines)
        program = bed.start(label, [f"{BIN}/rrcpd", "-c", config, "-fg"], name)
        assert program.wait(PATIENCE_S) == 1, program.text()
        return program.text()

    text = refused("silent")
    assert "rrcpd --make-key FILE" in text and "*rrcp*authKeyFile : none" in text, text
    made = run(f"{BIN}/rrcpd", "--make-key", keys).stdout
    assert f"*rrcp*authKeyFile : {keys}" in made, made
    assert os.stat(keys).st_mode & 0o777 == 0o600
    with open(keys) as file:
        before = file.read()
    again = bed.start("again", [f"{BIN}/rrcpd", "--make-key", keys])
    assert again.wait(PATIENCE_S) == 2 and "File exists" in again.text(), again.text()
    with open(keys) as file:
        assert file.read() == before
    os.chmod(keys, 0o644)
    assert "others can read" in refused("shown", f"*rrcp*authKeyFile : {keys}")
    os.chmod(keys, 0o600)
    bed.rrcpd(1, f"*rrcp*authKeyFile : {keys}", interface="eth0", space=name)
    bed.rrcpd(2, interface="eth0", space=name)  # "none" is written down


def an_open_network_hears_its_subnet_only(bed):
    """Node 2 has a second subnet on the same wire; it is heard only where it is named."""
    if bed.in_process:
        skip("rrcpd says it")
    names = bed.namespaces(2)
    run("ip", "-n", names[1], "addr", "del", "10.66.0.2/24", "dev", "eth0")
    run("ip", "-n", names[1], "addr", "add", "10.77.0.2/24", "dev", "eth0")
    run("ip", "-n", names[1], "route", "add", "10.66.0.0/24", "dev", "eth0")
    run("ip", "-n", names[1], "route", "add", "224.0.0.0/4", "dev", "eth0", check=False)
    run("ip", "-n", names[0], "route", "add", "10.77.0.0/24", "dev", "eth0")
    deaf = bed.rrcpd(1, interface="eth0", space=names[0])
    bed.rrcpd(2, "*rrcp*peerAddresses : 10.66.0.0/24", interface="eth0", space=names[1])
    until(lambda: "packets from 10.77.0.2:" in deaf.text(), deaf.text)
    assert "outside the subnet of eth0" in deaf.text() and "peerAddresses" in deaf.text()
    assert "is heard" not in deaf.text(), deaf.text()
    deaf.kill(signal.SIGTERM)
    deaf.wait(PATIENCE_S)
    ears = bed.rrcpd(3, "*rrcp*peerAddresses : 10.1.2.3, 10.77.0.0/24", interface="eth0",
                     space=names[0])
    until(lambda: "2.rrcpd is heard" in ears.text(), ears.text)
    assert "WARNING packets from" not in ears.text(), ears.text()


def a_node_of_another_version_is_named(bed):
    if bed.in_process:
        skip("rrcpd says it")
    daemon = bed.rrcpd(1)
    old = struct.pack(">HBBBBHQIIQB", 0x5252, 0x10, 7, 0, 0, 33, 77, 0, 0, 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind(("127.0.0.1", 0))
        port = int(daemon.text().split("unicast port ")[1].split(",")[0])
        sender.sendto(old, ("127.0.0.1", port))
        place = f"127.0.0.1:{sender.getsockname()[1]}"
        until(lambda: f"the node at {place} speaks protocol version 1.0" in daemon.text(),
              daemon.text)


def send_long_datagrams():
    """Datagrams that are longer than any packet, in the name of node 1 and of nobody, encrypted by their head."""
    beacon, port = hear_beacon(b".1.rrcpd")
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
        raw.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        for size in (9001, 10241, 20000, 65507):
            for session in (beacon[8:16], os.urandom(8)):
                head = beacon[:3] + b"\1\6\0" + struct.pack(">H", size) + session + beacon[16:24]
                forge(raw, port, head + bytes(size - 48) + b"\1\2" + bytes(22))


def with_keys_only_members_are_heard(bed):
    keys, other = os.path.join(bed.dir, "keys"), os.path.join(bed.dir, "other")
    for path, text in ((keys, "# id key\n1 " + "ab" * 32), (other, "1 " + "cd" * 32)):
        with open(path, "w") as file:
            file.write(text + "\n")
        os.chmod(path, 0o600)
    first = bed.rrcpd(1, f"*rrcp*authKeyFile : {keys}")
    if first:
        assert re.search("packets are authenticated: AES-128-GCM by (OpenSSL|libipsec-mb)", first.text()), first.text()
    bed.rrcpd(2, f"*rrcp*authKeyFile : {keys}")
    bed.rrcpd(3, f"*rrcp*authKeyFile : {other}")
    member = bed.perf("sub", 2)
    stranger = bed.perf("sub", 3)
    if not bed.in_process:
        send_long_datagrams()
    bed.perf("pub", 1, "-rate", 20000, "-seconds", 2).result()
    clean(member.result())
    stranger.kill(signal.SIGTERM)
    assert stranger.result()["received"] == 0
    if not bed.in_process:
        until(lambda: bed.counters(2)["truncated"] >= 8, lambda: str(bed.counters(2)))


def keys_are_changed_without_a_pause(bed):
    files = [os.path.join(bed.dir, f"keys{i}") for i in (1, 2)]
    old, new = "1 " + "11" * 32 + "\n", "2 " + "22" * 32 + "\n"

    def write(number, text):
        with open(files[number], "w") as file:
            file.write(text)
        os.chmod(files[number], 0o600)

    for number in (0, 1):
        write(number, old)
    # One encrypts with 256 bits, the other only authenticates with 128.
    daemons = [bed.rrcpd(1, f"*rrcp*authKeyFile : {files[0]}", "*rrcp*packetSecurity : encrypt",
                         "*rrcp*packetCipher : aes256"),
               bed.rrcpd(2, f"*rrcp*authKeyFile : {files[1]}")]
    sub = bed.perf("sub", 2, "-seconds", 5)
    pub = bed.perf("pub", 1, "-rate", 10000, "-seconds", 5)
    time.sleep(1)
    for text in (old + new, new + old, new):
        for number, daemon in enumerate(daemons):
            lines = daemon.text().count("seals now")
            write(number, text)
            daemon.kill(signal.SIGHUP)
            until(lambda: daemon.text().count("seals now") > lines, daemon.text)
        for i in (1, 2):
            until(lambda i=i, text=text: of_peers(bed.counters(i), "keyId") == [int(text[0])],
                  lambda i=i, text=text: f"{i} does not show who seals with {text}")
    pub.result()
    figures = sub.result()
    clean(figures)
    assert figures["gaps"] == 0, figures
    assert "key 2 seals now, 1 accepted" in daemons[0].text()


def the_statistics_are_written_to_the_log(bed):
    daemon = bed.rrcpd(1)
    bed.rrcpd(2)
    sub = bed.perf("sub", 2, "-seconds", 1)
    bed.perf("pub", 1, "-rate", 1000, "-seconds", 1).result()
    clean(sub.result())
    daemon.kill(signal.SIGUSR1)
    until(lambda: "msgsSent=" in daemon.text(), daemon.text)


def the_engine_inside_needs_no_daemon(bed):
    config = bed.config("inside", "*rrcp*interface : lo")
    sub = bed.perf("sub", 1, "-in-process", "-seconds", 1, config=config)
    bed.perf("pub", 1, "-in-process", "-rate", 50000, "-seconds", 1, config=config).result()
    clean(sub.result())


def inside_and_daemon_speak_to_each_other(bed):
    bed.rrcpd(1)
    config = bed.config("inside", "*rrcp*interface : lo")
    sub = bed.perf("sub", 1, "-seconds", 1)
    bed.perf("pub", 1, "-in-process", "-rate", 50000, "-seconds", 1, config=config).result()
    clean(sub.result())


def goodbye_is_heard_at_once(bed):
    first, second = bed.rrcpd(1), bed.rrcpd(2)
    sub = bed.perf("sub", 2, "-publishers", 0)
    pub = bed.perf("pub", 1, "-rate", 1000, *FOR_EVER)
    bed.flows(2)
    pub.end()
    assert first.kill(signal.SIGTERM) == 0
    until(lambda: bed.counters(2)["peersNow"] == 0, "still there")
    assert "silent for peerTimeout" not in second.text(), second.text()
    sub.end()
    clean(sub.result(), lost=0)


def it_runs_without_privileges_on_one_cpu(bed):
    prefix, binary = ["taskset", "-c", "0"], f"{BIN}/rrcpd"
    if IS_ROOT:  # else this process has none to give up
        prefix[:0] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        binary = shutil.copy(binary, bed.dir)  # the tree may lie where only root may look
    os.chmod(bed.dir, 0o777)
    daemons = [bed.rrcpd(i, "*schedPolicy : fifo", prefix=prefix, binary=binary) for i in (1, 2)]
    sub = bed.perf("sub", 2, "-seconds", 1)
    bed.perf("pub", 1, "-rate", 20000, "-seconds", 1).result()
    clean(sub.result())
    assert "schedPolicy" in daemons[0].text()  # it says what it could not have


def it_runs_as_a_real_time_process(bed):
    is_allowed = run("chrt", "-f", "50", "true", check=False).returncode == 0
    for i in (1, 2):
        daemon = bed.rrcpd(i, "*schedPolicy : fifo")
        threads = [int(name) for name in os.listdir(f"/proc/{daemon.pid}/task")]
        is_real_time = os.SCHED_FIFO in map(os.sched_getscheduler, threads)
        assert is_real_time == is_allowed
        assert is_allowed or "schedPolicy: fifo was refused" in daemon.text()
    sub = bed.perf("sub", 2, "-seconds", 1)
    bed.perf("pub", 1, "-rate", 20000, "-seconds", 1).result()
    clean(sub.result())


def the_service_manager_is_told(bed):
    path = os.path.join(bed.dir, "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        manager.settimeout(PATIENCE_S)
        daemon = bed.rrcpd(1, env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
        heard = {manager.recv(256).decode() for _ in range(3)}
        assert heard >= {"READY=1", "WATCHDOG=1"}, heard
        daemon.kill(signal.SIGTERM)
        words = set()
        while "STOPPING=1" not in words:
            words.add(manager.recv(256).decode())


def a_second_daemon_of_the_same_name_is_refused(bed):
    bed.rrcpd(1)
    config = bed.config("net1.1", "*rrcp*interface : lo")
    again = bed.start("again", [f"{BIN}/rrcpd", "net1", "-c", config, "-fg"])
    assert again.wait(PATIENCE_S) == 3, again.text()
    assert "held by pid" in again.text(), again.text()


# ---- hostile users -------------------------------------------------------------------------------

def open_socket(bed):
    user = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    user.connect(f"{bed.dir}/rrcpd.net1.1/attach")
    return user


def ask(user, ring=65536, name=b"hostile"):
    user.send(struct.pack("<IIIIII64s", 0x54415252, 1, 1, 0, ring, 0, name))
    data, fds, _flags, _address = socket.recv_fds(user, 512, 8)
    return data, fds


def nonsense_on_the_attach_socket_is_refused(bed):
    daemon = bed.rrcpd(1)
    sub = bed.perf("sub", 1)
    pub = bed.perf("pub", 1, "-rate", 10000, "-seconds", 2)
    for i in range(200):
        with open_socket(bed) as user:
            user.send(bytes(RANDOM.randrange(256) for _ in range(RANDOM.choice([1, 24, 88, 200]))))
    idle = [open_socket(bed) for _ in range(20)]  # say nothing at all
    with open_socket(bed) as user:
        data, _fds = ask(user, ring=12345)  # no power of two
        assert struct.unpack_from("<i", data, 8)[0] < 0
    pub.result()
    clean(sub.result())
    for user in idle:
        user.close()
    assert daemon.alive()
    why = "this is not a request of the attach protocol, version 1"
    line = f"attach refused: user ? pid={os.getpid()} uid={os.getuid()}: {why}"
    until(lambda: line in daemon.text(), daemon.text)


def is_attached(user, ring=65536, name=b"hostile"):
    try:
        _data, fds = ask(user, ring, name)
    except OSError:
        return False
    for fd in fds:
        os.close(fd)
    return len(fds) == 4


def is_let_in(user, ring=65536, name=b"hostile"):
    with user:
        return is_attached(user, ring, name)


def a_flood_of_the_attach_socket_harms_no_user(bed):
    daemon = bed.rrcpd(1)
    sub = bed.perf("sub", 1)
    pub = bed.perf("pub", 1, "-rate", 10000, *FOR_EVER)
    until(lambda: bed.counters(1)["users"] == 2, "the two did not attach")
    flood = [open_socket(bed) for _ in range(200)]  # say nothing at all
    until(lambda: "rrcpd has as many connections as it accepts" in daemon.text(), daemon.text)
    until(lambda: bed.counters(1)["msgsSent"] > 2000, "the publisher is held up")
    pub.end()
    clean(sub.result())
    for user in flood:
        user.close()
    until(lambda: is_let_in(open_socket(bed)), lambda: f"nobody gets in afterwards: {daemon.text()}")
    assert daemon.alive()


def a_user_that_breaks_its_ring_harms_only_itself(bed):
    import mmap
    daemon = bed.rrcpd(1)
    sub = bed.perf("sub", 1)
    pub = bed.perf("pub", 1, "-rate", 10000, "-seconds", 3)
    for i in range(60):
        with open_socket(bed) as user:
            _data, fds = ask(user)
            assert len(fds) == 4
            try:
                with mmap.mmap(fds[0], 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE):
                    raise AssertionError("the inbound ring can be written")
            except PermissionError:
                pass
            ring = mmap.mmap(fds[1], 4096 + 65536)
            for at in range(4096, 4096 + 65536, 8):
                struct.pack_into("<Q", ring, at, RANDOM.getrandbits(64) if i % 2 else
                                 RANDOM.randrange(64) | RANDOM.choice([0, 32]) << 32)
            struct.pack_into("<Q", ring, 64, RANDOM.choice([8, 4096, 65536, 65544, 1 << 63, 7]))
            for _ in range(3):
                os.write(fds[3], struct.pack("<Q", 1))
            time.sleep(0.02)
            ring.close()
            for fd in fds:
                os.close(fd)
    pub.result()
    clean(sub.result())
    assert "broke its ring" in daemon.text(), daemon.text()


def raw_ring(user):
    """What a user may write: its outbound ring; and its bell."""
    _data, fds = ask(user)
    assert len(fds) == 4
    return ring_of(fds)


def ring_of(fds):
    import mmap
    ring = mmap.mmap(fds[1], 4096 + 65536)
    for fd in fds[:3]:
        os.close(fd)
    return ring, fds[3]


def a_user_that_lies_and_hangs_up_loses_its_place(bed):
    daemon = bed.rrcpd(1)
    for i in range(140):  # more than two times all places
        came = []

        def come():
            came[:] = [open_socket(bed)]
            _data, fds = ask(came[0])
            came.extend(fds)
            return len(fds) == 4 or came[0].close()

        # All may be taken for a moment: those that left are cleared away a little later.
        until(come, lambda: f"places are lost: {daemon.text()}")
        user, ring, bell = came[0], *ring_of(came[1:])
        struct.pack_into("<Q", ring, 64, (1 << 40) if i % 2 else 24)  # head: a lie, or a record that is none
        user.close()
        os.write(bell, struct.pack("<Q", 1))
        if i % 4 > 1:
            struct.pack_into("<Q", ring, 64, 0)  # and takes it back when it has gone
        os.close(bell)
        ring.close()
    until(lambda: bed.counters(1)["users"] == 0, lambda: f"places are lost: {daemon.text()}")
    assert is_let_in(open_socket(bed)), daemon.text()
    assert "broke its ring" in daemon.text(), daemon.text()
    until(lambda: bed.counters(1)["usersViolated"] > 0, "a user that lied is not counted")
    until(lambda: bed.counters(1)["users"] == 0, "the last one is still counted")
    turns = bed.counters(1)["loopTurns"]
    time.sleep(1)
    until(lambda: bed.counters(1)["loopTurns"] > turns, "the net loop stands")
    assert bed.counters(1)["loopTurns"] - turns < 20000, "the net loop spins"


def with_a_reader_that_lies(bed, move):
    """More than the ring holds flows while move(ring, written) tells where a reader is."""
    import threading
    for i in (1, 2):
        bed.rrcpd(i, "*rrcp*flowControl : min", "*rrcp*inboundRing : 4M", "*rrcp*userQLimit : 512")
    sub = bed.perf("sub", 2)
    pub = bed.perf("pub", 1, "-rate", 20000, *FOR_EVER)
    bed.flows(2)
    user = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    user.connect(f"{bed.dir}/rrcpd.net1.2/attach")
    ring, bell = raw_ring(user)
    ended = threading.Event()

    def creep():
        cursor = bed.counters(2)["inboundBytes"]
        while not ended.wait(0.1):
            cursor = move(cursor)
            struct.pack_into("<Q", ring, 264, cursor)

    liar = threading.Thread(target=creep)
    liar.start()
    try:
        bed.flows(2, 50000)
    finally:
        ended.set()
        liar.join()
    pub.end()
    clean(sub.result())
    user.close()
    os.close(bell)
    return bed.counters(2)


def a_reader_that_creeps_holds_nobody_for_long(bed):
    counters = with_a_reader_that_lies(bed, lambda cursor: cursor + 8)
    assert counters["usersGivenUp"] >= 1, counters


def a_reader_at_a_place_that_cannot_be_is_thrown_out(bed):
    counters = with_a_reader_that_lies(bed, lambda cursor: 1 << 60)
    assert counters["usersViolated"] >= 1, counters


def open_to_all(bed):
    """Another uid is a member of the group, for want of the group."""
    if not IS_ROOT:
        skip("another uid cannot be had")
    folder = f"{bed.dir}/rrcpd.net1.1"
    for path, mode in ((bed.dir, 0o711), (folder, 0o711), (folder + "/attach", 0o666)):
        os.chmod(path, mode)


def a_uid_has_its_places_and_its_rate_and_no_more(bed):
    daemon = bed.rrcpd(1, "*rrcp*attachAccess : uid=65534 all")
    open_to_all(bed)
    os.seteuid(65534)
    try:
        users = [open_socket(bed) for _ in range(49)]
        assert [is_attached(user) for user in users] == [True] * 48 + [False]
        users.append(open_socket(bed))
    finally:
        os.seteuid(0)
    assert is_let_in(open_socket(bed)), "others have no place"
    for user in users:
        user.close()
    until(lambda: bed.counters(1)["usersRefused.quota"] == 1, "a refusal is not counted")
    until(lambda: bed.counters(1)["users"] == 0, daemon.text)
    os.seteuid(65534)
    try:
        for _ in range(1100):
            is_let_in(open_socket(bed))
    finally:
        os.seteuid(0)
    until(lambda: bed.counters(1)["usersRefused.rate"] > 0, "nobody attaches too often")
    until(lambda: bed.counters(1)["users"] == 0, daemon.text)
    until(lambda: is_let_in(open_socket(bed)), "others may attach no more")


def a_program_that_attaches_all_the_time_keeps_no_daemon_out(bed):
    daemon = bed.rrcpd(1)

    def is_refused():
        for _ in range(200):
            is_let_in(open_socket(bed))
        return bed.counters(1)["usersRefused.rate"] > 0

    until(is_refused, lambda: f"it may always attach: {daemon.text()}")
    until(lambda: bed.counters(1)["users"] == 0, daemon.text)
    for name in (b"src_dist.1", b"p2ps.1.worker0"):
        got = [is_let_in(open_socket(bed), name=name) for _ in range(8)]
        assert all(got), f"{name}: {got}: {daemon.text()}"


def a_uid_without_a_rule_may_not_attach(bed):
    daemon = bed.rrcpd(1, "*rrcp*attachAccess : uid=65533 consume")
    open_to_all(bed)
    os.seteuid(65534)
    try:
        assert not is_attached(open_socket(bed))
    finally:
        os.seteuid(0)
    until(lambda: bed.counters(1)["usersRefused.access"] == 1, "a refusal is not counted")
    assert "attachAccess lets this uid and its groups do nothing" in daemon.text(), daemon.text()
    os.seteuid(65533)
    try:
        assert is_attached(open_socket(bed))
    finally:
        os.seteuid(0)


def a_uid_that_only_connects_keeps_nobody_out(bed):
    daemon = bed.rrcpd(1, "*rrcp*attachAccess : uid=65534 all")
    open_to_all(bed)
    os.seteuid(65534)
    try:
        flood = [open_socket(bed) for _ in range(96)]  # say nothing at all
    finally:
        os.seteuid(0)
    ours = [open_socket(bed) for _ in range(16)]
    assert all(map(is_attached, ours)), f"others have no connection: {daemon.text()}"
    for user in flood + ours:
        user.close()
    until(lambda: bed.counters(1)["usersRefused.connections"] > 0, "a refusal is not counted")
    assert "uid=65534: this uid has 56 connections, which is the most" in daemon.text(), daemon.text()


def a_uid_with_large_rings_leaves_memory_to_others(bed):
    daemon = bed.rrcpd(1, "*rrcpd*memoryLimit : 2G", "*rrcp*attachAccess : uid=65534 all")
    open_to_all(bed)
    ring = 64 << 20
    room = bed.counters(1)["memory.max.userRings"]
    os.seteuid(65534)
    try:
        users = [open_socket(bed) for _ in range(room // ring)]
        got = [is_attached(user, ring) for user in users]
    finally:
        os.seteuid(0)
    assert sum(got) == room // 4 * 3 // ring and not got[-1], f"{got} of {room}: {daemon.text()}"
    until(lambda: bed.counters(1)["usersRefused.rings"] > 0, "a refusal is not counted")
    assert "uid=65534: the rings of this uid would take more than 3/4" in daemon.text(), daemon.text()
    with open_socket(bed) as ours:
        assert is_attached(ours, ring), f"others have no memory: {daemon.text()}"
    for user in users:
        user.close()


def sixty_four_users_and_no_more(bed):
    bed.rrcpd(1)
    users = []
    for _ in range(64):
        user = open_socket(bed)
        data, fds = ask(user)
        assert struct.unpack_from("<i", data, 8)[0] == 0
        for fd in fds:
            os.close(fd)
        users.append(user)
    with open_socket(bed) as one_more:
        data, fds = ask(one_more)
        assert struct.unpack_from("<i", data, 8)[0] < 0 and not fds
    users.pop().close()
    until(lambda: bed.counters(1)["users"] == 63, "a user that left is still counted")
    for user in users:
        user.close()


def rings_beyond_the_memory_limit_are_refused(bed):
    daemon = bed.rrcpd(1, "*rrcpd*memoryLimit : 2G")
    ring = 128 << 20
    room = bed.counters(1)["memory.max.userRings"] // ring
    users = [open_socket(bed) for _ in range(room)]
    assert all(is_attached(user, ring) for user in users) and room > 0, f"{room} should fit: {daemon.text()}"
    with open_socket(bed) as one_more:
        data, fds = ask(one_more, ring)
    assert struct.unpack_from("<i", data, 8)[0] < 0 and not fds
    why = "the rings of all users would go beyond memoryLimit"
    line = f"attach refused: user hostile pid={os.getpid()} uid={os.getuid()}: {why}"
    until(lambda: line in daemon.text(), daemon.text)
    users.pop().close()
    until(lambda: is_let_in(open_socket(bed), ring), "the room of a user that left is not given again")
    for user in users:
        user.close()


def main():
    scenarios = {name: value for name, value in globals().items()
                 if callable(value) and getattr(value, "__module__", "") == "__main__"
                 and value.__code__.co_varnames[:1] == ("bed",) and name not in ("open_socket", "open_to_all")}
    if len(sys.argv) != 2 or sys.argv[1] not in scenarios:
        print("\n".join(scenarios))
        return 2
    if not os.access(f"{BIN}/rrcpd", os.X_OK):
        skip(f"{BIN}/rrcpd is not built")
    bed = Bed()
    try:
        scenarios[sys.argv[1]](bed)
        return 0
    except Exception:  # noqa: BLE001 - any failure is shown with the logs
        traceback.print_exc()
        for program in bed.programs:
            print(f"--- {program.name}\n{program.text()[-1500:]}")
        return 1
    finally:
        bed.close()


if __name__ == "__main__":
    sys.exit(main())
