"""chain.py - publisher, src_dist, two rrcpd, p2ps and clients on this host, for benchmarks."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import atexit
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import host

ROOT = os.environ.get("RMDS_ROOT") or os.path.realpath(
    os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
)
BUILD = os.environ.get("RMDS_BUILD", os.path.join(ROOT, "build"))
BIN = os.environ.get("RMDS_BIN") or os.path.join(BUILD, "bin")
SOURCE_PORT, SINK_PORT = 14102, 14202
RATE_MAX = 100000000


def say(text):
    print(text, flush=True)


# Namespaces of the benchmark's own: with one for processes, all that it started ends with it,
# however it ends;
# with one for mounts, what its programs share in /dev/shm is gone with them.
SPACES = (["unshare", "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc"],
          ["unshare", "-r", "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc"],
          ["unshare", "-n"], ["unshare", "-rn"])
NETWORK = "ip link set lo up multicast on && ip route add 224.0.0.0/4 dev lo"
STOP_S = 15


SPACES_OF_HOST = (["unshare", "-m", "-p", "-f", "--kill-child", "--mount-proc"],)


def enter_private_network(is_private=True):
    """Run this script again in namespaces of its own, as far as there are any, else on the real
    loopback. Nothing of it is left when this process ends, be it killed: see follow_parent().
    Adapters are in the network of the host: without `is_private` that one is kept."""
    if os.environ.get("RMDS_BENCH_NET"):
        follow_parent()
        return
    words = []
    for space in SPACES if is_private else SPACES_OF_HOST:
        script = NETWORK if is_private else "true"
        script += " && mount -t tmpfs -o mode=1777 tmpfs /dev/shm" if "-m" in space else ""
        trial = [*space, "sh", "-c", script]
        if subprocess.run(trial, capture_output=True, check=False).returncode == 0:
            # The shell stays, as the first process, to reap what loses its parent.
            words = [*space, "sh", "-c", script + ' && "$@"; exit $?', "sh"]
            break
    if not words and is_private:
        say("no network namespace of our own: measuring on the host's loopback")
    sys.exit(run_again(words))


def run_again(words):
    """This script, behind those words; told to stop when this process is, or is no more."""
    life, ours = os.pipe()
    folder = tempfile.mkdtemp(prefix="rmds-bench.")
    is_private = words and words[:-4] not in SPACES_OF_HOST
    env = {**os.environ, "RMDS_BENCH_NET": "private" if is_private else "host",
           "RMDS_BENCH_LIFE": str(life),
           "TMPDIR": folder}
    inner = subprocess.Popen(words + [sys.executable] + sys.argv, env=env, pass_fds=[life],
                             stdin=subprocess.DEVNULL, start_new_session=True)
    os.close(life)
    asked = []

    def stop(number, _):
        if not asked:
            os.close(ours)
            signal.alarm(STOP_S)
        asked.append(number)

    signal.signal(signal.SIGALRM, lambda *_: inner.kill())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    inner.wait()
    shutil.rmtree(folder, ignore_errors=True)
    return 128 + asked[0] if asked else inner.returncode


def follow_parent():
    """End in good order as soon as nobody holds the other end of the pipe."""
    life = os.environ.pop("RMDS_BENCH_LIFE", None)
    if life is None:
        return

    def stop(*_):
        signal.signal(signal.SIGTERM, lambda *_: None)
        raise SystemExit(128 + signal.SIGTERM)

    def watch():
        os.read(int(life), 1)
        os.kill(os.getpid(), signal.SIGTERM)

    os.set_inheritable(int(life), False)
    atexit.register(shutil.rmtree, os.environ["TMPDIR"], ignore_errors=True)
    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=watch, daemon=True).start()


def rates_of(what):
    """A type for --rates: 10000,1e5 of that. More than RATE_MAX a second no publisher takes."""
    def parse(text):
        try:
            found = [int(float(rate)) for rate in text.split(",")]
        except (ValueError, OverflowError):  # a word, nan; inf
            found = [0]
        if min(found) < 1 or max(found) > RATE_MAX:
            raise argparse.ArgumentTypeError(f"numbers of {what} per second, as 10000,100000, are "
                                             f"expected, "
                                             f"from 1 to {RATE_MAX:,}")
        return found

    return parse


def parse(parser):
    """The options of a benchmark. The front door asks first whether they are right, before it
    builds."""
    name = "rmds bench " + os.path.basename(sys.argv[0])
    parser.error = lambda text: parser.exit(2,
                                            f"{name}: {text}; tools/{name} --help lists the "
                                            f"options\n")
    options = parser.parse_args()
    if os.environ.get("RMDS_PARSE_ONLY"):
        sys.exit(0)
    return options


def cpu_seconds(pid):
    """User and system time of a process and its threads."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            words = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def cpu_between(looks):
    """Percent of a CPU that each process used between two looks at all of them."""
    if len(looks) < 2:
        return {}
    (start, before), (end, after) = looks[:2]
    return {name: round(100 * (after[name] - before[name]) / (end - start), 1) for name in before}


def build_limit(name):
    ready = os.path.join(os.path.dirname(BIN), "lib", "openrmds", name)
    if os.access(ready, os.X_OK):  # a package brings it, and needs no compiler
        return ready
    folder = os.path.join(BUILD, "bench")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, name)
    source = os.path.join(ROOT, "tests/bench/limits", name + ".c")
    subprocess.run(["cc", "-O2", "-w", "-o", program, source, "-lm", "-lpthread"], check=True)
    return program


def self_signed(folder):
    """A certificate for 127.0.0.1 and its key, in that folder: their paths."""
    cert, key = (os.path.join(folder, name) for name in ("cert.pem", "key.pem"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return cert, key


def conf_value(conf, process, parameter):
    """What that process takes from a configuration."""
    out = subprocess.run([os.path.join(BIN, "rmdscnf"), "get", conf, process, parameter],
                         check=True,
                         capture_output=True, text=True).stdout
    return out.split("\t")[0]


def scheduling(cpus, fifo):
    """Lines of rmds.cnf that bind the four daemons to CPUs (one digit for each of publisher,
    src_dist, rrcpd, rrcpd, p2ps, client, as pipe6 takes them; '' binds nothing) and give them a
    priority."""
    lines = [f"*schedPolicy : fifo\n*schedPriority : {fifo}"] if fifo else []
    if cpus:
        for at, names in ((1, ("src_dist*mainThreadCpu", "src_dist*sourceThreadCpu")),
                          (2, ("1.rrcpd*mainThreadCpu", "1.rrcpd*rrcpThreadCpu")),
                          (3, ("2.rrcpd*mainThreadCpu", "2.rrcpd*rrcpThreadCpu")),
                          (4, ("p2ps*mainThreadCpu", "p2ps*writeThreadCpu"))):
            lines += [f"*{name} : {cpus[at]}" for name in names]
    return lines


def bound(cpus, at):
    """What runs a program on the CPU of that place."""
    return ["taskset", "-c", cpus[at]] if cpus else []


LOSSES = re.compile(r"rrcpd\.[^.]+\.(rcvSockDrops|sndErrors\.noBufs|pktsLostDetected|pktsRepaired"
                    r"|pktsLost\.\w+|nakDroppedRate|repairsBusy|submitFull)")


def losses_of(instances):
    """The sum of what each rrcpd counts of all its peers together: {name: value}."""
    found = {}
    for values in instances:
        for key, value in values.items():
            name = LOSSES.fullmatch(key)
            if name:
                found[name[1]] = found.get(name[1], 0) + value
    return found


DRAIN_MAX_S, LAG_MAX_US, LAG_GROWTH_MAX = 1.0, 250000, 2


def thirds(result):
    """p99 of the first and of the last third: the median of those of its seconds, which a stall of
    the host in one of them does not decide. None: nothing was timed there."""
    seconds = result["p99_by_second_us"]
    part = len(seconds) // 3
    if not part:
        return None, None
    return statistics.median(seconds[:part]), statistics.median(seconds[-part:])


def troubles(result, wanted, counters):
    """What speaks against `no loss and no lag` in a client's result; `counters` is what the daemons
    counted meanwhile. Empty: every update of every item came once, nothing was conflated or
    suspect, and the queues did not grow: p99 of the last third of the run, by thirds(), is at most
    twice that of the first and 250 ms, and a second after the publisher was stopped nothing came any more."""
    found = []
    if result["updates_per_s"] < 0.99 * wanted:
        found.append(f"{result['updates_per_s']:,.0f} of {wanted:,} updates/s")
    for key in ("lost", "duplicates", "reorders", "wrong", "early", "told_lost", "suspects",
                "lost_connections", "errors"):
        if result[key]:
            found.append(f"{result[key]:,} {key.replace('_', ' ')}")
    found += [f"{count:,} {name}" for name, count in counters.items() if count]
    if result["exit_code"]:
        found.append(f"rmdstestclient ended with {result['exit_code']}")
    first, last = thirds(result)
    if first is None:
        found.append("no time stamps in the first or the last third")
    else:
        if last > LAG_GROWTH_MAX * first:
            found.append(f"p99 grew from {first:,} to {last:,} us")
        if last > LAG_MAX_US:
            found.append(f"p99 of the last third {last:,} us")
    if "drained" not in result:
        found.append("the consumer ended before the stop")
    elif not result["drained"] or result["drain_s"] > DRAIN_MAX_S:
        found.append(f"queues were not empty a second after the stop ({result['drain_s']} s)")
    return found


def most_hold(runs):
    """The median run holds: on a machine shared with others one of five may be disturbed."""
    return 2 * sum(r["holds"] for r in runs) > len(runs)


def hold_highest(rates, run, seconds, hold_s, rounds):
    """Raise the rate until one does not hold twice; then hold the highest that did for longer, in
    each of the rounds, or the next lower one. `run(rate, seconds)` gives a row with `holds`. The
    runs of each rate that was tried."""
    tried = []
    for rate in rates:
        tried.append([run(rate, seconds)])
        if not tried[-1][0]["holds"]:
            tried[-1].append(run(rate, seconds))
        if not tried[-1][-1]["holds"]:
            break
    for runs, rate in reversed([(r, rate) for r, rate in zip(tried, rates) if r[-1]["holds"]]):
        runs.clear()
        while len(runs) < rounds and 2 * sum(not r["holds"] for r in runs) < rounds:
            runs.append(run(rate, hold_s))
        if most_hold(runs):
            break
    return tried


class Chain:
    """The daemons of a configuration, and a publisher that takes commands."""

    def __init__(self, conf, lines=(), publisher=(), prefix=(), daemons=BIN, client=()):
        """`daemons`: the folder of the four daemons. They are started as their own tree starts them, with the
        options that they know; all else is of this tree. `client`: words of each rmdstestclient."""
        self.client_words = list(client)
        own = os.path.join(daemons, "../../tools/rmds-run.py")
        self.runs = own if os.path.exists(own) else os.path.join(ROOT, "tools/rmds-run.py")
        self.prefix = list(prefix)
        self.folder = tempfile.mkdtemp(prefix="rmds-bench.")
        atexit.register(self.close)
        self.publisher = None
        self.client_started = 0  # on the clock of time.monotonic()
        self.lines = [f"*p2ps*rsslPort : {SINK_PORT}", "*transmissionBus*serverPort : 0", *lines]
        self.conf = os.path.join(self.folder, "bench.cnf")
        with open(os.path.join(ROOT, "conf", conf), encoding="utf-8") as file:
            text = file.read()
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(text + "\n! ---- of this benchmark ----\n" + "\n".join(self.lines) + "\n")
        self.counts = os.path.join(self.folder, "counts")
        self.env = {**os.environ, "RMDS_BIN": daemons,
                    "RMDS_STATE": os.path.join(self.folder, "state")}
        self.start_publisher(publisher)
        self.runner("up")

    def runner(self, verb):
        result = subprocess.run([sys.executable, self.runs, verb, self.conf], env=self.env, capture_output=True, text=True,
                                check=False)
        if verb == "up" and result.returncode != 0:
            raise SystemExit(result.stdout + result.stderr)
        return result.stdout

    def start_publisher(self, words):
        self.sds_out = os.path.join(self.folder, "sink_driven_src.out")
        with open(self.sds_out, "wb") as out:
            self.publisher = subprocess.Popen(
                [*self.prefix, os.path.join(BIN, "sink_driven_src"), "-S", "RDFD", "-N",
                 str(SOURCE_PORT), "-c",
                 "-seqdata", *map(str, words)],
                stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
        time.sleep(0.3)
        if self.publisher.poll() is not None:
            with open(self.sds_out, encoding="utf-8") as file:
                raise SystemExit(file.read())

    def command(self, text):
        self.publisher.stdin.write((text + "\n").encode())
        self.publisher.stdin.flush()

    def quiet(self):
        """No more updates, those with the time included; and how many each item has had."""
        self.command("ul 0")
        self.command("ur 0")
        self.command(f"counts {self.counts}")

    def items(self, count):
        path = os.path.join(self.folder, f"items.{count}")
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"RIC{i}.O\n" for i in range(count))
        return path

    def run_dir(self):
        """The folder in which each daemon has one of its own."""
        for folder, _, files in os.walk(os.path.join(self.folder, "state")):
            if "system.json" in files:
                with open(os.path.join(folder, "system.json"), encoding="utf-8") as file:
                    programs = json.load(file)["programs"]
        return os.path.dirname(os.path.dirname(programs[0]["statistics"]))

    def instances(self):
        """What every daemon says of itself: {instance: {name: value}}."""
        out = subprocess.run([os.path.join(BIN, "rmdsmon"), "-run", self.run_dir(), "-json",
                              "-once", "-watch", "0"],
                             capture_output=True, text=True, check=False).stdout
        return {instance["name"]: instance["values"] for instance in json.loads(out)["instances"]}

    def values(self, process):
        """What the instances of that program say: {name: value}."""
        return {name: value for instance,
                values in self.instances().items() if instance.split(".")[0] == process
                for name, value in values.items()}

    def pids(self):
        """By program: those of the daemons, as their pid files in the state say."""
        found = {"sink_driven_src": self.publisher.pid} if self.publisher else {}
        for line in self.runner("status").splitlines():
            match = re.match(r"\[..\]\s+(\S+)\s.*pid (\d+)", line)
            if match:
                found[match.group(1)] = int(match.group(2))
        return found

    def counters(self):
        """What p2ps has counted that must not happen: conflation, gaps, clients cut."""
        values = self.values("p2ps")
        return {name: sum(v for k,
                          v in values.items() if re.fullmatch(rf"p2ps\.worker\.\d+\.{name}", k))
                for name in ("conflated", "slowMerged", "workerBehind", "gapsSeen",
                             "mountsCutSlow")}

    def backbone_losses(self):
        """What the rrcpd have counted of packets that did not come at once, all of them together:
        that were missing, that came again, and those given up, by why."""
        return losses_of(values for name, values in self.instances().items()
                         if name.split(".")[0] == "rrcpd")

    def client_without_loss(self, wanted, items, seconds, *words, prefix=()):
        """The same as client(), and `troubles`."""
        before = self.counters()
        result = self.client(items, seconds, *words, prefix=prefix)
        after = self.counters()
        result["troubles"] = troubles(result, wanted, {k: after[k] - before[k] for k in after})
        return result

    def client(self, items, seconds, *words, prefix=(), stops=True, opened=None):
        """Run rmdstestclient; its result, its exit code, and the CPU of everyone. When its
        measurement is over the publisher is stopped, if it `stops`, and what each item has had is
        compared with what arrived. `opened()` is called when all items are open."""
        out = os.path.join(self.folder, "client.json")
        for path in (out, self.counts):
            if os.path.exists(path):
                os.unlink(path)
        steal = host.Steal()
        with subprocess.Popen(
                [*prefix, os.path.join(BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1",
                 "-p",
                 str(SINK_PORT), "-f", self.items(items), "-secs", str(seconds), "-seqcheck",
                 "-json",
                 out, *(["-drain", "10", "-counts", self.counts] if stops else []),
                 *self.client_words, *map(str, words)],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True) as run:
            self.client_started = time.monotonic()
            killer = threading.Timer(seconds + 180, run.kill)
            killer.start()
            try:
                lines, looks = self.follow(run, stops, opened)
                complaints = run.stderr.read()
                run.wait()
            except BaseException:
                run.kill()
                raise
            finally:
                killer.cancel()
        if not os.path.exists(out):
            raise SystemExit(f"rmdstestclient ended with {run.returncode}: "
                             f"{''.join(lines)}{complaints}")
        with open(out, encoding="utf-8") as file:
            result = json.load(file)
        if looks and not stops:
            looks[-1][1]["rmdstestclient"] = result["cpu_s"]  # it may have been gone by then
        return {**result, "exit_code": run.returncode, "complaints": complaints.splitlines()[:10],
                "cpu": cpu_between(looks), "steal_pct": steal.pct()}

    def follow(self, run, stops, opened):
        """What it prints; and looks at the clock and everyone's CPU when all items are open, and
        when it has measured: then the publisher is stopped."""
        pids, lines, looks = {**self.pids(), "rmdstestclient": run.pid}, [], []
        for line in run.stdout:
            lines.append(line)
            is_measured = line == "rmdstestclient: measured\n" if stops else " updates in " in line
            if " items open on " in line or is_measured:
                looks.append((time.monotonic(),
                              {name: cpu_seconds(pid) for name, pid in pids.items()}))
            if opened and " items open on " in line:
                opened()
            if is_measured and stops:
                self.quiet()
        return lines, looks

    def close(self):
        if not self.publisher:
            return
        self.runner("down")
        try:
            self.command("q")
            self.publisher.wait(10)
        except (OSError, subprocess.TimeoutExpired):
            self.publisher.kill()
            self.publisher.wait()
        self.publisher = None
        shutil.rmtree(self.folder, ignore_errors=True)
