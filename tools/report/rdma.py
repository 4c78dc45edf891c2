"""rdma.py - the adapter of a benchmark over RDMA: which it is, and what its figures are worth."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import glob
import os
import re
import subprocess

GROUP = "239.255.83"  # a network of production has another one
LIMIT = ("The physical limit of an adapter: ib_send_lat and ib_send_bw of perftest; udaddy, mckey "
         "and rstream of librdmacm.")


def devices():
    """The RDMA device behind each interface that has one."""
    found = {}
    for path in sorted(glob.glob("/sys/class/net/*/device/infiniband/*")):
        found[path.split("/")[4]] = os.path.basename(path)
    for path in sorted(glob.glob("/sys/class/infiniband/*/ports/*/gid_attrs/ndevs/*")):
        try:
            with open(path, encoding="ascii") as file:
                found.setdefault(file.read().strip(), path.split("/")[4])
        except OSError:  # a place of the table that is not used
            pass
    return found


def transport(*words):
    """A type for --transport: one of the words, where there is an adapter."""
    def parse(text):
        if text not in words:
            raise argparse.ArgumentTypeError(f"{' or '.join(words)} is expected, not {text}")
        if not devices():
            raise argparse.ArgumentTypeError(
                f"{text}: this host has no RDMA device with an interface; `rdma link` lists them. "
                "Is the adapter's driver loaded? Without --transport the benchmark is over UDP and "
                "TCP")
        return text

    return parse


def add_options(parser, *words):
    parser.add_argument("--transport", type=transport(*words), metavar="|".join(words),
                        help="over the adapter of this host, in its own network")
    parser.add_argument("--interface", metavar="IF",
                        help="with --transport: the adapter's interface (the first)")


class Adapter:
    """What --transport and --interface mean here."""

    def __init__(self, options, parser):
        here = devices()
        if options.interface and options.interface not in here:
            parser.error(f"--interface {options.interface} has no RDMA device; interfaces that "
                         f"have one: {' '.join(here)}")
        self.interface = options.interface or next(iter(here))
        self.device = here[self.interface]
        shown = subprocess.run(["ip", "-o", "-4", "addr", "show", "dev", self.interface],
                               capture_output=True, text=True, check=False).stdout
        found = re.search(r" inet ([\d.]+)", shown)
        if not found:
            parser.error(f"--interface {self.interface} has no IPv4 address")
        self.address = found[1]
        self.label = f"{options.transport} over {self.device}, interface {self.interface}"
        # A device of hardware names the one of its bus.
        if not os.path.exists(f"/sys/class/infiniband/{self.device}/device"):
            self.label += (": A DEVICE OF SOFTWARE, WITHOUT AN ADAPTER. It shows that things work; "
                           "its figures say nothing of speed")

    def lines(self, number=1):
        """The backbone over it, in a group of its own."""
        return ["*rrcp*transport : verbs", f"*rrcp*interface : {self.interface}",
                f"*rrcp*multicastAddress : {GROUP}.{number % 250 + 1}"]


def adapter(options, parser):
    """The Adapter, or None without --transport."""
    if not options.transport and options.interface:
        parser.error("--interface needs --transport")
    return Adapter(options, parser) if options.transport else None
