#!/usr/bin/env python3
"""tools_options.py SOURCE BUILD - options and commands of sink_driven_src and rmdstestclient, as
they look on the wire.

One of them speaks to the other through a recorder; rwfdump says what went by."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time

SOURCE, BIN = os.path.realpath(sys.argv[1]), os.path.join(os.path.realpath(sys.argv[2]), "bin")
WAIT_S = 90


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Tool:
    """A program whose output is kept and which takes commands."""

    def __init__(self, *words):
        self.words, self.text = words, ""
        self.process = subprocess.Popen([os.path.join(BIN, words[0]), *map(str, words[1:])],
                                        stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        bufsize=1)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.text += line

    def command(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def until(self, pattern, count=1, ask=None):
        """Wait until it has said something so often, asked for it or not; the last match."""
        deadline = time.monotonic() + WAIT_S
        while True:
            goes_on = self.reader.is_alive() and time.monotonic() < deadline
            found = list(re.finditer(pattern, self.text, re.M))
            if len(found) >= count:
                return found[-1]
            check(goes_on, f"{self.words}: no '{pattern}' in\n{self.text}")
            if ask:
                self.command(ask)
            time.sleep(0.02)

    def end(self, code):
        ended = self.process.wait(WAIT_S)
        self.reader.join(WAIT_S)
        check(ended == code, f"{self.words}: exit code {ended}, wanted {code}\n{self.text}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join(WAIT_S)
        self.process.stdin.close()
        self.process.stdout.close()


class Publisher(Tool):
    def __init__(self, *words, service="RDFD"):
        super().__init__("sink_driven_src", "-S", service, "-N", "0", "-L", "127.0.0.1", "-c",
                         *words)
        self.port = self.until(r"listening on port (\d+)")[1]

    def items_open(self, count):
        """Ask until so many are open."""
        deadline = time.monotonic() + WAIT_S
        seen = 0
        while True:
            seen += 1
            self.command("st")
            if int(self.until(r", (\d+) items open", seen)[1]) == count:
                return
            check(time.monotonic() < deadline, f"not {count} items open:\n{self.text}")


def client(port, *words):
    return Tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", port, *words)


class Recorder:
    """Carries the bytes of one connection, and keeps them."""

    def __init__(self, port):
        self.listener, self.to = socket.create_server(("127.0.0.1", 0)), int(port)
        self.port = self.listener.getsockname()[1]
        self.bytes = {"up": b"", "down": b""}
        self.thread = threading.Thread(target=self.carry, daemon=True)
        self.thread.start()

    def carry(self):
        near, _ = self.listener.accept()
        with near, socket.create_connection(("127.0.0.1", self.to)) as far:
            ways = {near: ("up", far), far: ("down", near)}
            while True:
                for ready in select.select(self.wanted(ways), [], [], 0.05)[0]:
                    way, other = ways[ready]
                    chunk = ready.recv(65536)
                    if not chunk:
                        return
                    self.keep(way, chunk)
                    other.sendall(chunk)

    def wanted(self, ways):
        return list(ways)

    def keep(self, way, chunk):
        self.bytes[way] += chunk

    def messages(self, way, handshakes):
        """What rwfdump says of it; the first frames are those that make the connection."""
        self.thread.join(WAIT_S)
        self.listener.close()
        content = self.bytes[way]
        for _ in range(handshakes):
            content = content[int.from_bytes(content[:2], "big"):]
        done = subprocess.run([os.path.join(BIN, "rwfdump"), "-i", "rssl", "-"], input=content,
                              capture_output=True,
                              check=False)
        text = done.stdout.decode()
        check(done.returncode == 0 and text, f"rwfdump: {text}{done.stderr.decode()}")
        return text


class Dam(Recorder):
    """Keeps nothing, and while it is closed lets nothing down."""

    is_closed = False

    def wanted(self, ways):
        return [end for end, (way, _) in ways.items() if way == "up" or not self.is_closed]

    def keep(self, way, chunk):
        pass

    def carry(self):
        try:
            super().carry()
        except OSError:
            pass  # both ends were killed


def expect(text, *patterns):
    for pattern in patterns:
        check(re.search(pattern, text), f"no '{pattern}' in\n{text}")


def service(_):
    """-id and -qos are in the directory and in every image; -pos and -aid in the login request."""
    with Publisher("-id", 77, "-qos", "delayed") as publisher:
        wire = Recorder(publisher.port)
        with client(wire.port, "-il", "A", "-e", "-pos", "10.9.8.7/desk", "-aid",
                    "777") as consumer:
            consumer.end(0)
    expect(wire.messages("down", 1), r"entry action=ADD 77\n", r"item DELAYED_UNKNOWN/TICK_BY_TICK",
           r"REFRESH .*domain=MARKET_PRICE .*qos=DELAYED_UNKNOWN/TICK_BY_TICK.*\n.*\n  key "
           r"service=77 name=\"A\"")
    expect(wire.messages("up", 2), r"element Position .*\"10\.9\.8\.7/desk\"",
           r"element ApplicationId .*\"777\"")
    for words in (("-qos", "fast"), ("-id", 65536), ("-maxclients", "few"), ("-stop", "soon")):
        with Tool("sink_driven_src", "-S", "RDFD", "-N", "0", *words) as refused:
            refused.end(1)
            expect(refused.text, words[0])


def dictionary(folder):
    """-dict: those files are served, and a folder without is an error."""
    for name in ("RDMFieldDictionary", "enumtype.def"):
        with open(os.path.join(SOURCE, "conf", name), encoding="utf-8") as source, \
                open(os.path.join(folder, name), "w", encoding="utf-8") as copy:
            copy.write(re.sub(r"^BID ", "OUR_BID ", source.read(), flags=re.M))
    with Publisher("-dict", folder) as publisher:
        with client(publisher.port, "-il", "A", "-d", "3", "-l", "3", "-e") as consumer:
            consumer.end(0)
            expect(consumer.text, r" OUR_BID +22 ")
    with Tool("sink_driven_src", "-S", "RDFD", "-N", "0", "-dict",
              os.path.join(folder, "none")) as refused:
        refused.end(2)


def max_clients(_):
    """One too many is told so; who comes when there is room again is let in."""
    with Publisher("-maxclients", 1) as publisher, client(publisher.port, "-il", "A") as first:
        first.until("1 of 1 items open")
        with client(publisher.port, "-il", "A", "-e", "-timeout", 1) as second:
            second.end(3)
            expect(second.text, "too many clients")
        first.command("q")
        first.end(0)
        publisher.items_open(0)
        with client(publisher.port, "-il", "A", "-e") as third:
            third.end(0)


def stop(folder):
    """-stop ends it; the rates of -rate-profile follow each other, and the last one stays."""
    with Publisher("-stop", 0.2) as publisher:
        publisher.end(0)
    with open(os.path.join(folder, "profile"), "w", encoding="ascii") as file:
        file.write("# seconds rate\n0.1 1000\n0.1 3000\n0.1 2000\n")
    with Publisher("-rate-profile", file.name) as publisher:
        rates = []
        while rates[-1:] != ["2000"]:
            publisher.command("st")
            rates.append(publisher.until(r"of (\d+) updates/s in", len(rates) + 1)[1])
        order = list(dict.fromkeys(rates))
        check(order in (["1000", "3000", "2000"], ["3000", "2000"], ["1000", "2000"], ["2000"]),
              f"rates: {order}")


def hang_up(_):
    """fl: the connection is lost, the client comes again and opens everything again."""
    with Publisher() as publisher, client(publisher.port, "-il", "A,B") as consumer:
        consumer.until("2 of 2 items open")
        publisher.command("fl")
        publisher.until("logged in as", 2)
        publisher.items_open(2)
        consumer.command("q")
        consumer.end(0)
        expect(consumer.text, "1 connection lost", "(?s)logged in at.*logged in at")


def another_service(_):
    """After a loss the id of a service is not taken for granted: where it is another service's,
    nothing is asked."""
    with Publisher("-id", 77) as ours, Publisher("-id", 77, service="OTHER") as other:
        with client(ours.port, "-h", f"127.0.0.1:{ours.port},127.0.0.1:{other.port}", "-il",
                    "A") as consumer:
            consumer.until("1 of 1 items open")
            ours.command("fl")
            other.until("logged in as")
            other.items_open(0)
            other.command("fl")
            ours.until("logged in as", 2)
            ours.items_open(1)
            consumer.command("q")
            consumer.end(0)
            expect(consumer.text, " 2 refreshes, .* 2 connections lost")


def commands(_):
    """op and cl: one item of the list is closed and opened again; pa and re: the login asks for
    it."""
    with Publisher() as publisher:
        wire = Recorder(publisher.port)
        with client(wire.port, "-il", "A,B", "-l", 2) as consumer:
            consumer.until("2 of 2 items open")
            consumer.command("cl A")
            publisher.items_open(1)
            consumer.command("op A")
            publisher.items_open(2)
            consumer.command("op A")  # it is open
            consumer.command("cl C")
            consumer.until("no item C in the list")
            consumer.command("pa")
            consumer.command("re")
            consumer.command("what")
            consumer.until("pause and resume all")
            consumer.command("q")
            consumer.end(0)
            expect(consumer.text, "3 refreshes")
    sent = [line for line in wire.messages("up", 2).splitlines() if line.startswith("message ")]
    sent = [(line.split()[1], "PAUSE" in line) for line in sent if "domain=LOGIN" in line
            or "MARKET_PRICE" in line]
    request, close = ("REQUEST", False), ("CLOSE", False)
    check(sent == [request, request, request, close, request, ("REQUEST", True), request],
          f"on the wire: {sent}")


def short_rate(_):
    """NOT REACHED is said of the present rate alone, and only once it held for a second with an
    item open."""
    with Publisher("-U", 0) as publisher, client(publisher.port, "-il", "A", "-I", 0.2) as consumer:
        publisher.items_open(1)
        consumer.until(r"^20[0-9-]*T", 6)  # a second without updates, as it was wanted
        publisher.command("ur 1000\nst")
        publisher.until("of 1000 updates/s in")
        check("NOT REACHED" not in publisher.text, f"said of a rate just set:\n{publisher.text}")
        publisher.command("ur 100000000")
        publisher.until("of 100000000 updates/s in .* NOT REACHED", ask="st")


def answers(_):
    """A publisher whose queue is full of updates answers requests all the same, and in order with
    these."""
    names = "ABCDEFGH"
    with Publisher("-U", 1000, "-seqdata") as publisher:
        dam = Dam(publisher.port)
        with client(dam.port, "-il", ",".join(names), "-l", 2, "-seqcheck") as consumer:
            consumer.until("8 of 8 items open")
            dam.is_closed = True
            publisher.command("ur 100000000")
            publisher.until(", [1-9][0-9]* blocked", ask="st")
            for name in names:
                publisher.command(f"it {name} image")
            for name in names[1:]:
                consumer.command(f"cl {name}\nop {name}")
            publisher.until(" 23 refreshes, .* 0 errors$", ask="st")
            dam.is_closed = False
            consumer.until(r"^20[0-9-]*T[0-9:]*Z,[0-9]+,[0-9]+,[0-9]+,8,0,", ask="st")
            consumer.command("q")
            # what was under way to a closed stream comes before the image of the new one of this id
            consumer.end(5)
            expect(consumer.text,
                   " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong, [0-9]+ before their "
                   "image")


def statistics(folder):
    """-stats: the lines go into the file, not between the others."""
    path = os.path.join(folder, "stats.csv")
    with Publisher() as publisher, client(publisher.port, "-il", "A", "-I", 0.1, "-stats",
                                          path) as consumer:
        consumer.until("1 of 1 items open")
        deadline = time.monotonic() + WAIT_S
        lines = []
        while len(lines) < 3:
            check(time.monotonic() < deadline, f"{path}: {lines}")
            if os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    lines = file.read().splitlines()
        consumer.command("q")
        consumer.end(0)
        check(lines[0].startswith("time,upd/s,refresh,status,items_open,"), f"the head: {lines[0]}")
        check(all(re.match(r"20[0-9-]*T[0-9:]*Z,", line) for line in lines[1:-1]),
              f"the lines: {lines}")
        check("time,upd/s" not in consumer.text, f"on standard output, too: {consumer.text}")
    with client(1, "-il", "A", "-I", 1, "-stats", os.path.join(folder, "none", "x")) as refused:
        refused.end(2)


def services(_):
    """-list services; a service that is not there is told once, with those that are, and what is
    waited for."""
    with Publisher("-S", "IDNS", "-id", 40) as publisher:
        publisher.command("sv IDNS down")
        with Tool("rmdstestclient", "-h", f"127.0.0.1:{publisher.port}", "-list",
                  "services") as lists:
            lists.end(0)
            expect(lists.text,
                   r"\ASERVICE +ID +STATE +DOMAINS\nIDNS +41 +down +DICTIONARY MARKET_PRICE.*\n"
                   r"RDFD +40 +up +DICTIONARY MARKET_PRICE.*\n\Z")
        with client(publisher.port, "-S", "RDFX", "-il", "A,B", "-timeout", 4) as consumer:
            consumer.end(4)
            told = "service RDFX is not offered here; there are: IDNS \\(down\\), RDFD\n"
            check(len(re.findall(told, consumer.text)) == 1, consumer.text)
            expect(consumer.text,
                   r"(?s)logged in.*waiting for service RDFX, .* \(3 s so far\).*ended while "
                   r"waiting for "
                   r"service RDFX.* 0 updates in")
    with socket.create_server(("127.0.0.1", 0)) as mute:
        with client(mute.getsockname()[1], "-il", "A", "-timeout", 1) as consumer:
            consumer.end(3)
            expect(consumer.text, "ended while waiting for a connection to 127.0.0.1:")
    for words in (("-list", "items"), ("-list", "services", "-conns", 2)):
        with Tool("rmdstestclient", *words) as refused:
            refused.end(1)
            expect(refused.text, "-list")


def refusals(_):
    """Items that are closed for one reason are told as one, with the names of some."""
    with Publisher() as publisher, client(publisher.port, "-il",
                                          ",".join(f"I{i}" for i in range(50))) as consumer:
        consumer.until("50 of 50 items open on 1 connection in")
        for i in range(50):
            publisher.command(f"it I{i} close")
        publisher.items_open(0)
        consumer.command("q")
        consumer.end(4)
        first = re.findall(r"^rmdstestclient: connection 0: I\d+: closed: (.*)$", consumer.text,
                           re.M)
        more = re.findall(r"^rmdstestclient: (\d+) more closed: (.*) \(I\d+, I\d+.*\)$",
                          consumer.text, re.M)
        check(len(first) == 1 and sum(int(n) for n, _ in more) == 49
              and {text for _, text in more} == set(first),
              consumer.text)


def wrong_words(_):
    """A word that an option does not know: which option, which words it knows, and the end."""
    for program, *words in (("sink_driven_src",), ("rmdstestclient", "-S", "RDFD")):
        run = subprocess.run([os.path.join(BIN, program), *words, "-eventMethod", "kqueue"],
                             capture_output=True, text=True, timeout=60, check=False)
        check(run.returncode == 1 and
              "-eventMethod is epoll or poll, not kqueue" in run.stdout + run.stderr, run)


def main():
    for program in ("sink_driven_src", "rmdstestclient", "rwfdump"):
        if not os.path.exists(os.path.join(BIN, program)):
            print(f"SKIP: this build has no {program}")
            return 77
    for case in (service, dictionary, max_clients, stop, hang_up, another_service, commands,
                 short_rate, answers,
                 statistics, services, refusals, wrong_words):
        print(case.__name__, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            case(folder)
    print("all good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
