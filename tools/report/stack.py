"""stack.py - chains of any shape on this host, for the benchmarks of stacked processes: several
publishers, src_dist, rrcpd, p2ps and clients, in one network namespace or in several with veth
pairs between them."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import chain
import host

sys.path.insert(0, os.path.join(chain.ROOT, "tools"))
from running.program import Program  # noqa: E402

MUST_NOT = ("conflated", "slowMerged", "workerBehind", "gapsSeen", "mountsCutSlow")
READY_S, OPEN_S, DRAIN_S = 60, 180, 20


class Space:
    """A network namespace that is held by a process."""

    def __init__(self, name):
        self.name = name
        self.holder = subprocess.Popen(["unshare", "-n", "sleep", "infinity"],
                                       stdin=subprocess.DEVNULL)
        ours = os.readlink("/proc/self/ns/net")
        while os.readlink(f"/proc/{self.holder.pid}/ns/net") == ours:
            time.sleep(0.01)
        self.ip("link", "set", "lo", "up")

    def words(self):
        return ["nsenter", "-t", str(self.holder.pid), "-n"]

    def ip(self, *words):
        subprocess.run([*self.words(), "ip", *words], check=True, capture_output=True)

    def link(self, name, other, other_name, subnet):
        """A veth pair to another one: .1 here, .2 there."""
        self.ip("link", "add", name, "type", "veth", "peer", "name", other_name, "netns",
                str(other.holder.pid))
        for space, interface, last in ((self, name, 1), (other, other_name, 2)):
            space.ip("addr", "add", f"{subnet}.{last}/24", "dev", interface)
            space.ip("link", "set", interface, "up", "multicast", "on")

    def route_multicast(self, interface):
        self.ip("route", "add", "224.0.0.0/4", "dev", interface)

    def bytes(self, interface):
        """(received, sent) by its counters."""
        run = subprocess.run([*self.words(), "cat", "/proc/net/dev"], check=True,
                             capture_output=True, text=True)
        line = next(line for line in run.stdout.splitlines()
                    if line.strip().startswith(interface + ":"))
        words = line.split(":")[1].split()
        return int(words[0]), int(words[8])

    def close(self):
        self.holder.kill()
        self.holder.wait()


class Publisher:
    """A sink_driven_src that takes commands; its counts are what its clients compare with."""

    def __init__(self, stack, service, port, words, space):
        self.service, self.port = service, port
        self.counts = os.path.join(stack.folder, f"counts.{service}")
        self.log = os.path.join(stack.folder, f"sink_driven_src.{service}.log")
        prefix = space.words() if space else []
        with open(self.log, "wb") as out:
            self.child = subprocess.Popen(
                [*prefix, os.path.join(chain.BIN, "sink_driven_src"), "-S", service, "-N",
                 str(port), "-c", "-seqdata", *map(str, words)],
                stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)

    def command(self, text):
        self.child.stdin.write((text + "\n").encode())
        self.child.stdin.flush()

    def quiet(self):
        for text in ("ul 0", "ur 0", f"counts {self.counts}"):
            self.command(text)

    def close(self):
        try:
            self.command("q")
            self.child.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.child.kill()
            self.child.wait()


class Client:
    """An rmdstestclient that checks everything, and when it had what."""

    def __init__(self, stack, name, publisher, items, seconds, words, space):
        self.name, self.publisher = name, publisher
        self.out = os.path.join(stack.folder, f"{name}.json")
        self.opened, self.measured = threading.Event(), threading.Event()
        self.measured_at, self.lines = None, []
        prefix = space.words() if space else []
        self.run = subprocess.Popen(
            [*prefix, os.path.join(chain.BIN, "rmdstestclient"), "-S", publisher.service, "-f",
             items, "-secs", str(seconds), "-seqcheck", "-tt", "-l", "0", "-drain", str(DRAIN_S),
             "-counts", publisher.counts, "-json", self.out, "-timeout", str(OPEN_S),
             *map(str, words)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        for line in self.run.stdout:
            self.lines.append(line)
            if " items open on " in line:
                self.opened.set()
            if line == "rmdstestclient: measured\n":
                self.measured_at = time.monotonic()
                self.measured.set()
        self.opened.set()
        self.measured.set()

    def result(self, stopped_at):
        """Its figures. What came between its own end and the stop of the publisher was not late."""
        try:
            code = self.run.wait(DRAIN_S + 30)
        except subprocess.TimeoutExpired:
            self.run.kill()
            code = self.run.wait()
        if not os.path.exists(self.out):
            raise SystemExit(f"{self.name} ended with {code}: {''.join(self.lines)}")
        with open(self.out, encoding="utf-8") as file:
            found = json.load(file)
        waited = stopped_at - (self.measured_at or stopped_at)
        if "drain_s" in found:  # else it ended before the stop
            found["drain_s"] = round(max(0, found["drain_s"] - waited), 3)
        return {**found, "exit_code": code}


class Stack:
    """Everything of one configuration; closed at the end, however that comes."""

    def __init__(self, conf, lines):
        self.folder = tempfile.mkdtemp(prefix="rmds-stack.")
        atexit.register(self.close)
        self.lines, self.programs, self.publishers, self.spaces = list(lines), {}, [], []
        self.conf = os.path.join(self.folder, "stack.cnf")
        with open(os.path.join(chain.ROOT, "conf", conf), encoding="utf-8") as file:
            text = file.read()
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write("\n".join([text, "! ---- of this benchmark ----", f"*runDir : {self.folder}",
                                  "*rrcp*authKeyFile : none", "*transmissionBus*serverPort : 0",
                                  *self.lines]) + "\n")

    def space(self, name):
        self.spaces.append(Space(name))
        return self.spaces[-1]

    def daemon(self, program, instance, network=None, space=None):
        """Started, and ready."""
        middle = [network] if program == "rrcpd" else []
        name = ".".join([program, *middle, str(instance)])
        words = [*(space.words() if space else []), os.path.join(chain.BIN, program)]
        if network:
            words += [network] if program == "rrcpd" else ["-set", f"*networkName : {network}"]
        words += ["-c", self.conf, "-instance", str(instance), "-fg"]
        one = Program(name, words, os.path.join(self.folder, name + ".log"),
                      {"RMDS_ALLOW_ROOT": "1"})
        wrong = one.start_daemon(os.path.join(self.folder, name + ".ready"), READY_S)
        self.programs[name] = one
        if wrong:
            with open(one.log, encoding="utf-8", errors="replace") as file:
                raise SystemExit(f"{name}: {wrong}\n{file.read()[-2000:]}")

    def publisher(self, service, port, *words, space=None):
        self.publishers.append(Publisher(self, service, port, words, space))
        return self.publishers[-1]

    def items(self, name, count, first=0):
        path = os.path.join(self.folder, f"items.{name}")
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"RIC{i}.O\n" for i in range(first, first + count))
        return path

    def rate(self, whole):
        """So many updates a second of all publishers together, a time in 500 a second of each."""
        for one in self.publishers:
            one.command("ul 500")
            one.command(f"ur {max(1, whole // len(self.publishers))}")

    def cpu(self):
        pids = {name: one.pid for name, one in self.programs.items()}
        pids.update({f"publisher.{one.service}": one.child.pid for one in self.publishers})
        return time.monotonic(), {name: chain.cpu_seconds(pid) for name, pid in pids.items()}

    def counted(self):
        """What the p2ps have counted that must not happen."""
        out = subprocess.run([os.path.join(chain.BIN, "rmdsmon"), "-run", self.folder, "-json",
                              "-once", "-watch", "0"],
                             capture_output=True, text=True, check=False).stdout
        found = {}
        for instance in json.loads(out)["instances"]:
            for name, value in instance["values"].items():
                last = name.rsplit(".", 1)[-1]
                if name.startswith("p2ps.worker.") and last in MUST_NOT:
                    found[last] = found.get(last, 0) + value
        return found

    def measure(self, clients, seconds, wanted, look=None):
        """Runs clients [(name, publisher, items, words, space)] beside each other until all have
        measured. `wanted`: updates a second that all of them together should get. `look`, if any,
        is called when all items are open, and again when all have measured. The sum of their
        figures, and what speaks against it."""
        for one in self.publishers:
            if os.path.exists(one.counts):
                os.unlink(one.counts)
        before, steal = self.counted(), host.Steal()
        running = [Client(self, name, publisher, items, seconds, words, space)
                   for name, publisher, items, words, space in clients]
        limit = time.monotonic() + OPEN_S + seconds
        for one in running:
            one.opened.wait(max(0, limit - time.monotonic()))
        looks = [self.cpu()]
        seen = [look()] if look else []
        for one in running:
            one.measured.wait(max(0, limit + 30 - time.monotonic()))
        looks.append(self.cpu())
        seen += [look()] if look else []
        for one in self.publishers:
            one.quiet()
        stopped_at = time.monotonic()
        results = [one.result(stopped_at) for one in running]
        after = self.counted()
        counters = {name: value - before.get(name, 0) for name, value in after.items()}
        return self.sum(results, wanted, counters, looks, seen, steal)

    @staticmethod
    def sum(results, wanted, counters, looks, seen, steal):
        troubles = [text for one in results for text in chain.troubles(one, 0, {})]
        whole = round(sum(one["updates_per_s"] for one in results))
        if whole < 0.99 * wanted:
            troubles.append(f"{whole:,} of {wanted:,} updates/s")
        troubles += [f"{count:,} {name}" for name, count in counters.items() if count]
        lost = ("lost", "duplicates", "reorders", "wrong", "early", "told_lost")
        cpu = chain.cpu_between(looks)
        seconds = looks[1][0] - looks[0][0]
        cpu["clients"] = round(100 * sum(one["cpu_s"] for one in results) / max(seconds, 0.001), 1)
        return {"updates_per_s": whole, "lost": sum(one[key] for one in results for key in lost),
                "p99_us": max(one["latency"]["p99_us"] for one in results), "cpu": cpu,
                "cpu_pct": round(sum(cpu.values()), 1), "seconds": round(seconds, 1), "looks": seen,
                "holds": not troubles, "why_not": "; ".join(dict.fromkeys(troubles)),
                "steal_pct": steal.pct()}

    def close(self):
        for one in self.publishers:
            one.close()
        for one in reversed(list(self.programs.values())):
            if one.child and one.alive():
                one.signal(15)
                try:
                    one.child.wait(10)
                except subprocess.TimeoutExpired:
                    one.child.kill()
                    one.child.wait()
        for one in self.spaces:
            one.close()
        self.publishers, self.programs, self.spaces = [], {}, []
        shutil.rmtree(self.folder, ignore_errors=True)


def options_of(parser, secs=10, hold=30, rounds=5):
    """Options that all benchmarks of stacks have."""
    parser.add_argument("--quick", action="store_true",
                        help="one low rate, a second: a few seconds in all")
    parser.add_argument("--rates", type=chain.rates_of("updates"), metavar="A,B,C",
                        help="measure these updates/s, and seek no highest rate")
    parser.add_argument("--rounds", type=int, metavar="N",
                        help=f"rounds of the highest rate ({rounds})")
    parser.add_argument("--secs", type=float, metavar="S", help=f"seconds at each rate ({secs})")
    parser.add_argument("--hold", type=float, default=hold, metavar="S",
                        help=f"seconds for which the highest rate must hold ({hold})")
    parser.add_argument("--json", metavar="FILE", help="write the rows to this file, too")
    parser.add_argument("--out", default=os.path.join(chain.BUILD, "reports"), metavar="FOLDER",
                        help="where the report goes (build/reports)")
    options = chain.parse(parser)
    options.rates = options.rates or ([2000] if options.quick else None)
    options.secs = options.secs or (1 if options.quick else secs)
    options.rounds = options.rounds or (1 if options.quick else rounds)
    return options


def rows_of(options, search, run):
    """A row of each rate asked for; else of the search, the highest that held behind the others."""
    if options.rates:
        return [run(rate, options.secs) for _ in range(options.rounds) for rate in options.rates]
    tried = chain.hold_highest(search, run, options.secs, options.hold, options.rounds)
    return [row for runs in tried for row in runs]


def highest(rows):
    """The best rate that held in most of its runs of the longest length; None: there is none."""
    best = None
    for rate in sorted({row["rate"] for row in rows}):
        of = [row for row in rows if row["rate"] == rate]
        if chain.most_hold(of):
            best = sorted(of, key=lambda row: row["out_per_s"])[len(of) // 2]
    return best
