#!/usr/bin/env python3
"""three_hosts.py - docs/three-hosts.md to the letter: its file, its keys, its commands, in three network namespaces as
hosts; what the page says one sees is seen, and prices reach consumers of both gateways."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

import browser
import conf_examples

WAIT_S = 90
PAGE = os.path.join(conf_examples.ROOT, "docs", "three-hosts.md")
HOSTS = {"feed": "10.1.0.11", "gw1": "10.1.0.12", "gw2": "10.1.0.13"}


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def blocks():
    """The page's blocks of code: the configuration, the keys, the units, the commands."""
    with open(PAGE, encoding="ascii") as page:
        found = re.findall(r"^```(\w*)\n(.*?)^```$", page.read(), re.M | re.S)
    return [text for kind, text in found if not kind]


class Host:
    """A namespace with a name and an eth0 of its own, on the bridge."""

    def __init__(self, folder, name, address):
        self.name, self.folder, self.running, self.logs = name, os.path.join(folder, name), [], {}
        self.holder = subprocess.Popen(["unshare", "-n", "-u", "sh", "-c", f"hostname {name} && echo up && exec cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", str(self.holder.pid))
        ip("link", "set", f"to-{name}", "master", "br0", "up")
        for words in (["address", "add", f"{address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                      ["link", "set", "lo", "up"]):
            self.run("ip", *words)
        os.makedirs(self.folder, exist_ok=True)
        self.own = os.path.join(self.folder, "own.cnf")
        with open(self.own, "w", encoding="ascii") as file:
            file.write(f"*runDir : {self.folder}\n*logTarget : stderr\n")

    def words(self, *words):
        return ["nsenter", "-t", str(self.holder.pid), "-n", "-u", *words]

    def run(self, *words, **more):
        return subprocess.run(self.words(*words), check=more.pop("check", True), stdin=subprocess.DEVNULL, **more)

    def start(self, conf, program, *words):
        self.logs[program] = os.path.join(self.folder, program + ".log")
        with open(self.logs[program], "w", encoding="utf-8") as log:
            self.running.append(subprocess.Popen(
                self.words(os.path.join(conf_examples.BIN, program), *words, "-c", conf, "-c", self.own),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def log(self, program):
        with open(self.logs[program], encoding="utf-8") as log:
            return log.read()

    def close(self):
        for process in reversed(self.running):
            process.terminate()
        for process in self.running:
            process.wait()
        self.holder.stdin.close()
        self.holder.wait()


def until(what, condition):
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"{what()}: not within {WAIT_S} s"
        time.sleep(0.15)


def write_files(folder):
    """The page's configuration and keys, with its folder in place of /etc/rmds."""
    conf, keys = (text.replace("/etc/rmds", folder) for text in blocks()[:2])
    path = f"{conf_examples.BIN}:{os.environ['PATH']}"
    subprocess.run(["sh", "-e", "-c", keys], check=True, env={**os.environ, "PATH": path})
    path = os.path.join(folder, "rmds.cnf")
    with open(path, "w", encoding="ascii") as file:
        file.write(conf)
    check = subprocess.run([os.path.join(conf_examples.BIN, "rmdscnf"), "check", path], capture_output=True, text=True,
                           check=False)
    assert check.returncode == 0, check.stdout + check.stderr
    return path


def start_daemons(hosts, conf):
    """The commands of the page, each on the hosts that its remark names."""
    for line in blocks()[3].splitlines():
        command, _, where = line.partition("#")
        for name, host in hosts.items():
            if not where or name in where:
                host.start(conf, *command.split())


def see_what_the_page_says(hosts):
    for name, host in hosts.items():
        for other in hosts:
            if other != name:
                until(lambda: f"{name} hears {other}; {host.log('rrcpd')}",
                      lambda: f"node {other}.1.rrcpd is heard" in host.log("rrcpd"))
        monitor = ["rmdsmon", "-run", host.folder, "-once"]
        monitor[0] = os.path.join(conf_examples.BIN, monitor[0])
        until(lambda: f"rmdsmon on {name}: {host.run(*monitor, check=False, capture_output=True, text=True).stdout}",
              lambda: host.run(*monitor, check=False, capture_output=True).returncode == 0)


def each_page_can_read_the_others(hosts):
    """The status port of each host lists its daemons, and lets the pages of the others read that, but no other page."""
    ports = [f"{address}:8081" for address in HOSTS.values()]
    for name, address in HOSTS.items():
        url = f"http://{address}:8081"
        wanted = {"rrcpd.net1.1", "src_dist.1" if name == "feed" else "p2ps.1"}
        for origin in (f"http://{port}" for port in [*ports, "10.1.0.99:8081"]):
            request = urllib.request.Request(f"{url}/host.json", headers={"Origin": origin})
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                here, reader = json.load(answer), answer.headers["Access-Control-Allow-Origin"]
            assert reader == (None if "99" in origin else origin), f"{name}: {origin}: {reader}"
            assert {d["name"] for d in here["host"]} == wanted and here["identity"].startswith(name + "."), here
        with urllib.request.urlopen(url, timeout=WAIT_S) as answer:
            policy = answer.headers["Content-Security-Policy"]
        assert all(f" http://{port}" in policy for port in ports), policy


def one_page_shows_all(folder):
    """In a browser, for whoever wants pictures: status_page.py looks at the same in less time."""
    page = browser.Browser()
    try:
        for name, width, height, dark in (("three", 1100, 1100, False), ("three-phone", 390, 844, True)):
            page.open("http://10.1.0.11:8081/", width=width, height=height, dark=dark)
            page.wait("document.querySelectorAll('#others .box').length === 4 &&"
                      " /p2ps.1\\s+OK[^]*\\d[\\d.,]* in\\/s/.test(document.getElementById('others').innerText)", "other hosts")
            page.wait("document.documentElement.scrollWidth <= innerWidth", "it fits")
            if width < 400:
                page.evaluate("document.getElementById('others').scrollIntoView()")
            page.picture(os.path.join(folder, name + ".png"))
        assert not page.errors, page.errors
    finally:
        page.close()


def prices(host, gateway):
    """An image, then updates."""
    client = os.path.join(conf_examples.BIN, "rmdstestclient")
    out = host.run(client, "-S", "RDFD", "-h", HOSTS[gateway], "-p", "14002", "-il", "TRI.N", "-secs", "2",
                   check=False, capture_output=True, text=True)
    found = re.search(r"([\d,]+) updates in .* ([\d,]+) refreshes", out.stdout)
    assert found and "0" not in found.groups(), out.stdout + out.stderr


def main():
    ip("link", "add", "br0", "type", "bridge")
    ip("address", "add", "10.1.0.10/24", "dev", "br0")
    ip("link", "set", "br0", "up")
    hosts = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for name, address in HOSTS.items():
                hosts[name] = Host(folder, name, address)
            conf = write_files(folder)
            items = os.path.join(folder, "items")
            with open(items, "w", encoding="ascii") as file:
                file.write("TRI.N\n")
            with open(os.path.join(folder, "provider.log"), "w", encoding="utf-8") as log:
                provider = conf_examples.tool(
                    "sink_driven_src", "-S", "RDFD", "-N", "14002", "-L", "10.1.0.10", "-f", items, "-U", "100",
                    "-Q", os.path.join(conf_examples.ROOT, "conf", "sample.xml"), "-q", "GOOG.O", "-K",
                    stdout=log, stderr=log)
            try:
                start_daemons(hosts, conf)
                see_what_the_page_says(hosts)
                each_page_can_read_the_others(hosts)
                for gateway in ("gw1", "gw2"):
                    prices(hosts["feed"], gateway)
                if os.environ.get("RMDS_PICTURES"):
                    one_page_shows_all(os.environ["RMDS_PICTURES"])
            finally:
                provider.terminate()
                provider.wait()
        finally:
            for host in hosts.values():
                host.close()
    print("all good")


if __name__ == "__main__":
    if subprocess.run(["unshare", "-r", "-n", "-u", "true"], capture_output=True, check=False).returncode != 0:
        print("no namespaces may be made here")
        sys.exit(77)
    conf_examples.enter_namespace()
    main()
