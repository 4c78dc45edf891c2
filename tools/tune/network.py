"""network.py - adapters, sockets and multicast."""
# SPDX-License-Identifier: Apache-2.0
import re

from tune.costs import cost
from tune.look import Finding

BUFFER = 67108864  # what docs/tuning.md asks for
IFF_MULTICAST = 0x1000
MEMBERSHIPS = 20  # what Linux allows unless told otherwise; rrcpd joins one or two for each network
HEADERS = 28  # of IPv4 and UDP
PACKET = 1472  # maxPacketSize unless said


def pairs(text):
    """{name: value} of the lines of ethtool; of a name that stands twice the list of both."""
    found = {}
    for name, value in re.findall(r"^[ \t]*([^:\n]+):[ \t]*(\S+)", text or "", re.M):
        found.setdefault(name.strip(), []).append(value)
    return found


def rings(host, name):
    of = pairs(host.ethtool("g", name)).get("RX", [])
    if len(of) < 2 or not all(value.isdigit() for value in of[:2]):
        return Finding("..", f"{name} ring", "ethtool -g says nothing of it")
    most, now = int(of[0]), int(of[1])
    if now < most:
        return Finding("no", f"{name} ring", f"{now} of {most} packets", cost("loss"),
                       ["the link may be down for a moment meanwhile"],
                       runs=[["ethtool", "-G", name, "rx", str(most)]],
                       backs=[["ethtool", "-G", name, "rx", str(now)]])
    return Finding("ok", f"{name} ring", f"{now} packets, all it has")


def coalescing(host, name):
    of = pairs(host.ethtool("c", name))
    adaptive, wait = of.get("Adaptive RX", ["?"])[0], of.get("rx-usecs", ["n/a"])[0]
    if not wait.isdigit():
        return Finding("..", f"{name} interrupts", "ethtool -c says nothing of it")
    if adaptive == "on" or int(wait) > 0:
        wait_us = "a time of its own choice" if adaptive == "on" else f"up to {wait} us"
        is_adaptive = adaptive == "on"
        words = ["adaptive-rx", "off"] if is_adaptive else []
        back = ["adaptive-rx", "on"] if is_adaptive else []
        return Finding("no", f"{name} interrupts", f"the adapter waits before it interrupts: "
                       f"adaptive {adaptive}, {wait} us",
                       f"{wait_us} at each packet that comes alone; in favour of the rate at "
                       f"high ones", runs=[["ethtool", "-C", name, *words, "rx-usecs", "0"]],
                       backs=[["ethtool", "-C", name, *back, "rx-usecs", wait]])
    return Finding("ok", f"{name} interrupts", "at once")


def switch(name, offloads_, to):
    return ["ethtool", "-K", name, *(word for one in offloads_ for word in (one, to))]


def offloads(host, name):
    of = pairs(host.ethtool("k", name))
    wanted = ("generic-segmentation-offload", "generic-receive-offload")
    off = [word for word in wanted if of.get(word, ["on"])[0] == "off"]
    if not of:
        return Finding("..", f"{name} offloads", "ethtool -k says nothing of them")
    if off:
        short = {"generic-segmentation-offload": "gso", "generic-receive-offload": "gro"}
        return Finding("no", f"{name} offloads", f"{', '.join(off)}: off; the backbone hands over "
                       f"runs of packets", cost("offload"),
                       runs=[switch(name, [short[word] for word in off], "on")],
                       backs=[switch(name, [short[word] for word in off], "off")])
    return Finding("ok", f"{name} offloads", "segmentation and receive offload are on")


def dropped(host, name):
    of = {what: host.number(f"sys/class/net/{name}/statistics/{what}") or 0
          for what in ("rx_missed_errors", "rx_fifo_errors", "rx_dropped")}
    lost = {what: count for what, count in of.items() if count}
    if lost:
        return Finding("no", f"{name} losses", ", ".join(f"{what} {count:,}"
                                                         for what, count in lost.items()),
                       cost("loss"), ["look whether they grow; the ring and its CPU are first"])
    return Finding("ok", f"{name} losses", "none since boot")


def flags(host, name):
    value = host.read(f"sys/class/net/{name}/flags") or "0"
    mtu = host.number(f"sys/class/net/{name}/mtu") or 0
    is_multicast = bool(int(value, 0) & IFF_MULTICAST)
    if not is_multicast:
        return Finding("no", f"{name} multicast", "off: no group can be joined on it",
                       "not a matter of microseconds: nothing of the backbone goes through",
                       runs=[["ip", "link", "set", name, "multicast", "on"]],
                       backs=[["ip", "link", "set", name, "multicast", "off"]])
    if 0 < mtu < PACKET + HEADERS:
        return Finding("no", f"{name} multicast", f"on, but the MTU is {mtu}: packets of {PACKET} "
                       f"bytes go in two fragments", cost("fragments"),
                       [f"*rrcp*maxPacketSize : {mtu - HEADERS} in rmds.cnf of all hosts of the "
                        f"network"])
    more = " (maxPacketSize 1472 fits all; " + cost("large packets") + ")" if mtu > 1500 else ""
    return Finding("ok", f"{name} multicast", f"on, MTU {mtu}{more}")


def limits(host):
    writes, found = [], []
    for name in ("rmem_max", "wmem_max"):
        value = host.number(f"proc/sys/net/core/{name}")
        if value is None:
            continue
        found.append(f"{name} {value:,}")
        if value < BUFFER:
            writes.append((f"proc/sys/net/core/{name}", str(BUFFER)))
    if not found:
        return Finding("..", "UDP buffers", "net.core is not shown in this namespace")
    if writes:
        return Finding("no", "UDP buffers", ", ".join(found) + ": what a daemon without "
                       "CAP_NET_ADMIN gets", cost("udp buffers"), writes=writes)
    return Finding("ok", "UDP buffers", ", ".join(found))


def tcp(host):
    value = host.read("proc/sys/net/ipv4/tcp_wmem")
    return Finding("ok" if value else "..", "TCP buffers",
                   f"tcp_wmem {' '.join(value.split())}: {cost('tcp buffers')}" if value
                   else "not shown")


def overflows(host):
    lines = [line.split() for line in (host.read("proc/net/snmp") or "").splitlines()
             if line.startswith("Udp:")]
    if len(lines) != 2 or "RcvbufErrors" not in lines[0]:
        return Finding("..", "UDP losses", "not shown")
    lost = int(lines[1][lines[0].index("RcvbufErrors")])
    if lost:
        return Finding("no", "UDP losses", f"{lost:,} packets found no room in a socket since boot",
                       cost("loss"), ["udpRecvBufSize in rmds.cnf, a CPU of its own for rrcpd; "
                                      "rcvSockDrops of rrcpd says whether they were its own"])
    return Finding("ok", "UDP losses", "none in a socket since boot")


def membership(host):
    value = host.number("proc/sys/net/ipv4/igmp_max_memberships")
    if value is None:
        return Finding("..", "groups", "not shown")
    if value < MEMBERSHIPS:
        return Finding("no", "groups", f"at most {value} a socket", cost("memberships"),
                       writes=[("proc/sys/net/ipv4/igmp_max_memberships", str(MEMBERSHIPS))])
    return Finding("ok", "groups", f"at most {value} a socket")


def reverse_path(host, interfaces):
    strict = [name for name in interfaces
              if max(host.number(f"proc/sys/net/ipv4/conf/{name}/rp_filter") or 0,
                     host.number("proc/sys/net/ipv4/conf/all/rp_filter") or 0) == 1]
    if strict and len(interfaces) > 1:
        return Finding("no", "rp_filter", f"strict on {', '.join(strict)}, and there are several "
                       f"interfaces", cost("reverse path"),
                       writes=[(f"proc/sys/net/ipv4/conf/{n}/rp_filter", "2") for n in strict])
    return Finding("ok", "rp_filter", "no multicast is dropped for its way")


def queriers(host):
    found = []
    for path in host.names("sys/class/net/*/bridge"):
        name = path.split("/")[3]
        if (host.number(f"{path}/multicast_snooping") and
                not host.number(f"{path}/multicast_querier")):
            found.append(Finding("no", f"IGMP {name}", "snoops, and asks nobody itself",
                                 cost("igmp"), ["or a querier elsewhere in this network"],
                                 [(f"{path}/multicast_querier", "1")]))
    return found or [Finding("..", "IGMP", "no bridge here; the switch cannot be seen from here",
                             cost("igmp"), ["look for an IGMP querier in the network of the "
                                            "backbone"])]


def ports(host):
    words = (host.read("proc/sys/net/ipv4/ip_local_port_range") or "").split()
    if len(words) != 2:
        return Finding("..", "ports", "not shown")
    return Finding("ok", "ports", f"{words[0]} to {words[1]} are given to any program; keep "
                   f"multicastPort, unicastPort and rsslPort outside")


def all_of(host, interfaces):
    found = []
    for name in interfaces:
        found += [check(host, name) for check in (rings, coalescing, offloads, dropped, flags)]
    if not interfaces:
        found.append(Finding("..", "adapters", "none with a device; --interface IF names one"))
    return [*found, limits(host), tcp(host), overflows(host), membership(host),
            reverse_path(host, interfaces), *queriers(host), ports(host)]
