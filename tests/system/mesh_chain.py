#!/usr/bin/env python3
"""mesh_chain.py - docs/mesh.md to the letter: its file in three namespaces without multicast.

Prices reach a gateway, one that comes later, and one whose rrcpd is killed and started again."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import re
import subprocess
import sys
import tempfile

import conf_examples
from three_hosts import HOSTS, Host, ip, prices, until

PAGE = os.path.join(conf_examples.ROOT, "docs", "mesh.md")
COMMANDS = {"feed": ("rrcpd net1 -fg", "src_dist -fg"), "gw1": ("rrcpd net1 -fg", "p2ps -fg"),
            "gw2": ("rrcpd net1 -fg", "p2ps -fg")}


def write_conf(folder):
    with open(PAGE, encoding="ascii") as page:
        text, = re.findall(r"^```\n(! .*?)^```$", page.read(), re.M | re.S)
    subprocess.run([os.path.join(conf_examples.BIN, "rrcpd"), "--make-key",
                    os.path.join(folder, "keys")], check=True, stdout=subprocess.DEVNULL)
    path = os.path.join(folder, "rmds.cnf")
    with open(path, "w", encoding="ascii") as file:
        file.write(text.replace("/etc/rmds", folder))
    check = subprocess.run([os.path.join(conf_examples.BIN, "rmdscnf"), "check", path],
                           capture_output=True, text=True, check=False)
    assert check.returncode == 0, check.stdout + check.stderr
    return path


def start(hosts, folder, conf, name):
    hosts[name] = Host(folder, name, HOSTS[name])
    hosts[name].run("ip", "link", "set", "eth0", "multicast", "off")
    for command in COMMANDS[name]:
        hosts[name].start(conf, *command.split())


def hears(host, *others, times=1):
    for other in others:
        until(lambda: f"{host.name} hears {other}: {host.log('rrcpd')}",
              lambda: host.log("rrcpd").count(f"node {other}.1.rrcpd is heard") >= times)


def kill_and_start_again(host, conf):
    host.running[0].kill()
    host.running.pop(0).wait()
    host.start(conf, *COMMANDS[host.name][0].split())


def chain(hosts, folder, conf):
    for name in ("feed", "gw1"):
        start(hosts, folder, conf, name)
    hears(hosts["feed"], "gw1")
    prices(hosts["feed"], "gw1")
    start(hosts, folder, conf, "gw2")
    hears(hosts["gw2"], "feed", "gw1")
    hears(hosts["gw1"], "feed", "gw2")
    prices(hosts["feed"], "gw2")
    kill_and_start_again(hosts["gw1"], conf)
    hears(hosts["gw1"], "feed", "gw2")
    hears(hosts["feed"], "gw1", times=2)
    for gateway in ("gw1", "gw2"):
        prices(hosts["feed"], gateway)


@contextlib.contextmanager
def bed(*providers, more="", write=write_conf, multicast="off"):
    """A cable, without multicast, the page's file with `more` behind it, and providers of TRI.N with
    these options. Hosts that were started on it end with it."""
    ip("link", "add", "br0", "type", "bridge")
    ip("address", "add", "10.1.0.10/24", "dev", "br0")
    ip("link", "set", "br0", "multicast", multicast, "up")
    hosts = {}
    with tempfile.TemporaryDirectory() as folder:
        conf = write(folder)
        with open(conf, "a", encoding="ascii") as file:
            file.write(more)
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as file:
            file.write("TRI.N\n")
        with open(os.path.join(folder, "provider.log"), "w", encoding="utf-8") as log:
            running = [conf_examples.tool("sink_driven_src", "-L", "10.1.0.10", "-f", items, "-K",
                                          *words, stdout=log, stderr=log) for words in providers]
        try:
            yield hosts, folder, conf
        finally:
            for process in running:
                process.terminate()
                process.wait()
            for host in hosts.values():
                host.close()
    print("all good")


def alone(main):
    """In namespaces of its own, or skipped."""
    if subprocess.run(["unshare", "-r", "-n", "-u", "true"], capture_output=True,
                      check=False).returncode != 0:
        print("no namespaces may be made here")
        sys.exit(77)
    conf_examples.enter_namespace()
    main()


def main():
    provider = ("-S", "RDFD", "-N", "14002", "-U", "100", "-Q",
                os.path.join(conf_examples.ROOT, "conf", "sample.xml"), "-q", "GOOG.O")
    with bed(provider) as (hosts, folder, conf):
        chain(hosts, folder, conf)


if __name__ == "__main__":
    alone(main)
