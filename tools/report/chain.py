"""chain.py - publisher, src_dist, two rrcpd, p2ps and clients on this host, for benchmarks."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.environ.get("RMDS_ROOT") or os.path.realpath(
    os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")
)
BUILD = os.environ.get("RMDS_BUILD", os.path.join(ROOT, "build"))
BIN = os.path.join(BUILD, "bin")
SOURCE_PORT, SINK_PORT = 14102, 14202


def say(text):
    print(text, flush=True)


def enter_private_network():
    """Run this script again in a network namespace of its own; without one, on the real loopback."""
    if os.environ.get("RMDS_BENCH_NET"):
        return
    os.environ["RMDS_BENCH_NET"] = "host"
    for words in (["unshare", "-n"], ["unshare", "-rn"]):
        if subprocess.run(words + ["true"], capture_output=True, check=False).returncode == 0:
            os.environ["RMDS_BENCH_NET"] = "private"
            script = "ip link set lo up multicast on; ip route add 224.0.0.0/4 dev lo; exec \"$@\""
            os.execvp(words[0], words + ["sh", "-c", script, "sh", sys.executable] + sys.argv)
    say("no network namespace of our own: measuring on the host's loopback")


def machine():
    model = "?"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
        model = found.group(1) if found else platform.machine()
    commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                            capture_output=True, text=True, check=False).stdout.strip()
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(file.readline().split()[1]) // 1024
    return {"cpus": len(os.sched_getaffinity(0)), "cpu": model, "kernel": os.uname().release,
            "memory_mb": memory, "load": list(os.getloadavg()), "commit": commit or "?",
            "network": os.environ.get("RMDS_BENCH_NET", "host"),
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "command": " ".join([os.path.basename(sys.argv[0])] + sys.argv[1:])}


def cpu_seconds(pid):
    """User and system time of a process and its threads."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            words = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def build_limit(name):
    folder = os.path.join(BUILD, "bench")
    os.makedirs(folder, exist_ok=True)
    program = os.path.join(folder, name)
    source = os.path.join(ROOT, "tests/bench/limits", name + ".c")
    subprocess.run(["cc", "-O2", "-w", "-o", program, source, "-lm", "-lpthread"], check=True)
    return program


def scheduling(cpus, fifo):
    """Lines of rmds.cnf that bind the four daemons to CPUs (one digit for each of publisher, src_dist,
    rrcpd, rrcpd, p2ps, client, as pipe6 takes them; '' binds nothing) and give them a priority."""
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


class Chain:
    """The daemons of a configuration, and a publisher that takes commands."""

    def __init__(self, conf, lines=(), publisher=(), prefix=()):
        self.prefix = list(prefix)
        self.folder = tempfile.mkdtemp(prefix="rmds-bench.")
        atexit.register(self.close)
        self.publisher = None
        self.lines = [f"*p2ps*rsslPort : {SINK_PORT}", "*transmissionBus*serverPort : 0", *lines]
        self.conf = os.path.join(self.folder, "bench.cnf")
        with open(os.path.join(ROOT, "conf", conf), encoding="utf-8") as file:
            text = file.read()
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(text + "\n! ---- of this benchmark ----\n" + "\n".join(self.lines) + "\n")
        self.env = {**os.environ, "RMDS_BIN": BIN,
                    "RMDS_STATE": os.path.join(self.folder, "state")}
        self.start_publisher(publisher)
        self.runner("up")

    def runner(self, verb):
        result = subprocess.run([sys.executable, os.path.join(ROOT, "tools/rmds-run.py"), verb,
                                 self.conf], env=self.env, capture_output=True, text=True,
                                check=False)
        if verb == "up" and result.returncode != 0:
            raise SystemExit(result.stdout + result.stderr)
        return result.stdout

    def start_publisher(self, words):
        self.sds_out = os.path.join(self.folder, "sink_driven_src.out")
        with open(self.sds_out, "wb") as out:
            self.publisher = subprocess.Popen(
                [*self.prefix, os.path.join(BIN, "sink_driven_src"), "-S", "RDFD", "-N", str(SOURCE_PORT), "-c",
                 "-seqdata", *map(str, words)],
                stdin=subprocess.PIPE, stdout=out, stderr=subprocess.STDOUT)
        time.sleep(0.3)
        if self.publisher.poll() is not None:
            with open(self.sds_out, encoding="utf-8") as file:
                raise SystemExit(file.read())

    def command(self, text):
        self.publisher.stdin.write((text + "\n").encode())
        self.publisher.stdin.flush()

    def items(self, count):
        path = os.path.join(self.folder, f"items.{count}")
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"RIC{i}.O\n" for i in range(count))
        return path

    def pids(self):
        """By program: those of the daemons, as their pid files in the state say."""
        found = {"sink_driven_src": self.publisher.pid}
        for line in self.runner("status").splitlines():
            match = re.match(r"\[..\]\s+(\S+)\s.*pid (\d+)", line)
            if match:
                found[match.group(1)] = int(match.group(2))
        return found

    def client(self, items, seconds, *words, prefix=()):
        """Run rmdstestclient; its result, its exit code, and the CPU seconds of everyone."""
        pids = self.pids()
        before = {name: cpu_seconds(pid) for name, pid in pids.items()}
        out = os.path.join(self.folder, "client.json")
        if os.path.exists(out):
            os.unlink(out)
        started = time.time()
        run = subprocess.run(
            [*prefix, os.path.join(BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1", "-p",
             str(SINK_PORT), "-f", self.items(items), "-secs", str(seconds), "-seqcheck", "-json",
             out, *map(str, words)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds + 180,
            check=False)
        wall = time.time() - started
        if not os.path.exists(out):
            raise SystemExit(f"rmdstestclient ended with {run.returncode}: {run.stdout}{run.stderr}")
        with open(out, encoding="utf-8") as file:
            result = json.load(file)
        result["exit_code"] = run.returncode
        result["complaints"] = run.stderr.splitlines()[:10]
        result["cpu"] = {name: round(100 * (cpu_seconds(pid) - before[name]) / wall, 1)
                         for name, pid in pids.items()}
        result["cpu"]["rmdstestclient"] = round(100 * result["cpu_s"] / wall, 1)
        return result

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
