"""world.py - several hosts' worth of real daemons, providers, proxies and checking consumers.

    pa pb         providers            each host is a network namespace; all hang on one bridge
    s1 s2         rrcpd, src_dist      both src_dist offer the same service; s1 prefers pa, s2 pb
    d1 d2         rrcpd, p2ps
    c             consumers, some of them behind a proxy

Everything happens in network, mount and process namespaces of our own: what is left at the end is
ours to find, and gone with us.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "rrcp"))
from bed import read_segment  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
from running import spaces  # noqa: E402
from running.program import Program, text_of  # noqa: E402

BIN = os.environ.get("RMDS_BIN") or os.path.join(ROOT, "build", "bin")
TESTS = os.path.join(os.path.dirname(BIN), "tests")
SKIP = 77
INSIDE = "CHAOS_INSIDE"
HOSTS = ["pa", "pb", "s1", "s2", "d1", "d2", "c"]
SERVICE = "RDFD"
PING_S = 3
READY_S = 60.0
STOP_S = 30.0  # an orderly stop takes no longer, even where the machine is busy; see Process.stop_s

PROVIDER, CONSUMER = 14100, 14002


def address(host):
    return f"10.77.0.{HOSTS.index(host) + 1}"


def skip(why):
    print("skipped:", why)
    sys.exit(SKIP)


def enter_namespaces():
    probe = "mount -t tmpfs none /run && ip link add b0 type bridge && ip link add v0 type veth peer name e0"
    if not spaces.enter(INSIDE, "-n", "-m", "-p", "-f", "--kill-child", "--mount-proc", trial=probe):
        skip("no namespaces of our own with a bridge and a tmpfs")


def run(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stdout}"
    return done.stdout


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Process(Program):
    """A child on a host."""

    stop_s = STOP_S  # chaos.py has its own bound

    def __init__(self, world, host, name, words, env=None):
        super().__init__(name, ["nsenter", f"--net=/run/netns/{host}", *words],
                         os.path.join(world.dir, f"{name}.out"), env)
        self.world, self.host, self.is_stopped = world, host, False
        world.processes.append(self)

    def start(self, **more):
        """In a session of its own: Ctrl-C is for the harness, which stops all in order."""
        self.is_stopped = False
        return super().start(**{"start_new_session": True, **more})

    def signal(self, number):
        self.is_stopped = (number == signal.SIGSTOP or
                           (self.is_stopped and number != signal.SIGCONT))
        super().signal(number)

    def stop(self, seconds=None):
        """In order. What was wrong with it, or None."""
        return super().stop(seconds or self.stop_s)


class Daemon(Process):
    """A daemon with a log file on its host's small disk; started when it says it is ready."""

    def __init__(self, world, host, program, *words):
        instance = host[1:]
        self.program = program
        self.journal = os.path.join(world.dir, host, "log", f"{program}.log")
        super().__init__(world, host, f"{program}.{host}", [
            os.path.join(BIN, program), *words, "-c", world.config(host), "-instance", instance,
            "-node", host, "-fg", "-log", self.journal],
            {"RMDS_TEST_WALL_SHIFT": os.path.join(world.dir, host, "wall")})

    def up(self):
        path = os.path.join(self.world.dir, self.host, f"{self.name}.notify")
        trouble = self.start_daemon(path, READY_S)
        assert trouble is None, f"{self.name} {trouble}: {self.tail()}"

    def text(self, start=0):
        return text_of(self.journal, start)

    def size(self):
        return os.path.getsize(self.journal) if os.path.exists(self.journal) else 0

    def is_joined(self):
        """rrcpd hears all others; who else is attached to its rrcpd, as far as its log tells."""
        if "rrcpd." in self.name:
            return self.figures()["peersNow"] == sum("rrcpd." in name for name in self.world.daemons) - 1
        text = self.text()
        return text.rfind("attached, port") > text.rfind("lost its rrcpd")

    def figures(self):
        """What it says of itself in shared memory."""
        path = self.program + (".net1" if "rrcpd." in self.name else "")
        return read_segment(os.path.join(self.world.dir, self.host, "run", f"{path}.{self.host[1:]}", "stats"))

    def kernel_bytes(self, name):
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as file:
            found = re.search(rf"^{name}:\s+(\d+) kB", file.read(), re.M)
        if not found:  # it has ended, and nobody has asked how
            raise ProcessLookupError(self.name)
        return int(found[1]) * 1024

    def memory(self):
        """What may not grow: its own memory, without the packets that rrcpd keeps. Those and the shared rings fill
        up in the first hour, and have bounds of their own."""
        return self.kernel_bytes("RssAnon") - self.figures().get("memoryBytes", 0)

    def open_files(self):
        return len(os.listdir(f"/proc/{self.child.pid}/fd"))

    def beyond_bound(self):
        """More than it said at start that it would take, or None."""
        peak, bound = self.kernel_bytes("VmHWM"), self.figures()["memory.max"]
        return f"{peak} bytes were resident, {bound} is the bound" if peak > bound else None

    def tail(self):
        return text_of(self.log)[-2000:] + self.text()[-2000:]


class Proxy(Process):
    def __init__(self, world, host, lines):
        self.lines = lines
        super().__init__(world, host, f"proxy.{host}",
                         [sys.executable, os.path.join(HERE, "proxy.py"), *[f"{k}={v}" for k, v in lines.items()]])

    def up(self):
        self.start(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.child.stdout.readline() == b"ready\n", f"{self.name} did not start"

    def tell(self, text):
        self.child.stdin.write(text.encode() + b"\n")
        self.child.stdin.flush()


class Provider(Process):
    def __init__(self, world, host):
        super().__init__(world, host, f"provider.{host}", [
            os.path.join(BIN, "sink_driven_src"), "-S", SERVICE, "-N", str(PROVIDER), "-U", str(world.rate), "-tps",
            "100", "-tcpnodel", "-seqdata", "-c"])

    def up(self):
        self.start(stdin=subprocess.PIPE)

    def tell(self, text):
        self.child.stdin.write(text.encode() + b"\n")
        self.child.stdin.flush()


class Watcher(Process):
    """chaos_watch, and what it said last."""

    def __init__(self, world, host, name, hosts, *words):
        super().__init__(world, host, name, [
            os.path.join(TESTS, "chaos_watch"), "-S", SERVICE, "-h", ",".join(hosts), "-f", world.items, *words])
        self.items = self.open = self.suspect = self.updates = 0
        self.oldest = 0.0
        self.violations, self.events, self.dumped, self.dump_end = [], [], {}, threading.Event()
        self.end = None

    def up(self):
        self.start(stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.child.stdout:
            words = line.decode(errors="replace").split(None, 3)
            if words[0] == "T":
                numbers = [int(n) for n in line.split()[1:]]
                self.items, self.open, self.suspect = numbers[1:4]
                self.oldest, self.updates = numbers[4] / 1e9, numbers[5]
            elif words[0] == "V":
                self.violations.append((int(words[1]) / 1e9, " ".join(words[2:]).strip()))
            elif words[0] == "C":
                self.events.append((int(words[1]) / 1e9, " ".join(words[2:]).strip()))
            elif words[0] == "D":
                self.dumped[words[1]] = (int(words[2]), words[3].strip())
            elif words[0] == "D.":
                self.dump_end.set()
            elif words[0] == "E":
                self.end = [int(n) for n in line.split()[1:]]

    def tell(self, text):
        self.child.stdin.write(text.encode() + b"\n")
        self.child.stdin.flush()

    def dump(self):
        self.dumped = {}
        self.dump_end.clear()
        self.tell("dump")
        assert self.dump_end.wait(10), f"{self.name} does not answer"
        return self.dumped

    def is_well(self, since):
        return self.items > 0 and self.open == self.items and self.suspect == 0 and self.oldest >= since

    def describe(self):
        return (f"{self.name}: {self.open} of {self.items} open, {self.suspect} suspect, oldest data "
                f"{now() - self.oldest:.2f} s ago")

    def quit(self):
        self.tell("quit")
        code = self.child.wait(10)
        self.reader.join(10)
        return code


class EmaWatcher(Watcher):
    """ChaosWatch of tests/interop: an EMA consumer that speaks as chaos_watch does."""

    def __init__(self, world, host, name, hosts):
        super().__init__(world, host, name, hosts)
        found = os.path.join(os.path.dirname(BIN), "interop")
        self.words[2:] = [
            "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-cp",
            f"{found}/classes:{found}/lib/*", "org.openrmds.interop.ChaosWatch", ",".join(hosts),
            SERVICE, world.items, os.path.join(world.dir, f"{name}.xml")]


class World:
    is_mesh = has_ema = False

    def __init__(self, seed, items=200, rate=4000, hosts=HOSTS):
        self.seed, self.rate, self.hosts, self.processes = seed, rate, hosts, []
        self.dir = tempfile.mkdtemp(prefix="chaos.")
        self.items = os.path.join(self.dir, "items")
        self.item_count = items
        self.mounts = []

    # ---- making it ----

    def network(self):
        run("mount", "-t", "tmpfs", "none", "/run")
        run("mount", "-t", "tmpfs", "none", "/dev/shm")
        os.makedirs("/run/netns")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "br0", "type", "bridge", "mcast_snooping", "0")
        run("ip", "link", "set", "br0", "up")
        for host in self.hosts:
            run("ip", "netns", "add", host)
            run("ip", "link", "add", f"v{host}", "type", "veth", "peer", "name", "eth0", "netns", host)
            run("ip", "link", "set", f"v{host}", "master", "br0", "up")
            for words in (["link", "set", "lo", "up"], ["addr", "add", f"{address(host)}/24", "dev", "eth0"],
                          ["link", "set", "eth0", "up"],
                          ["link", "set", "eth0", "multicast", "off"] if self.is_mesh else
                          ["route", "add", "224.0.0.0/4", "dev", "eth0"]):
                run("ip", "-n", host, *words)

    def config(self, host):
        return os.path.join(self.dir, host, "rmds.cnf")

    def backbone(self):
        """The lines about it; in a mesh two nodes are named, and all learn of each other from them."""
        if not self.is_mesh:
            return ["*rrcp*authKeyFile : none"]
        return ["*rrcp*transport : mesh", f"*rrcp*peers : {address('s1')}, {address('d1')}",
                "*rrcp*peerAddresses : 10.77.0.0/24", f"*rrcp*authKeyFile : {self.dir}/keys"]

    def write_config(self, host, *more):
        folder = os.path.join(self.dir, host)
        other = {"s1": "pa pb", "s2": "pb pa"}.get(host, "pa pb").split()
        lines = [
            f"*runDir : {folder}/run", "*rrcp*interface : eth0", *self.backbone(),
            f"*rrcp*faultSeed : {self.seed * 8 + HOSTS.index(host) + 1}", f"*rrcp*rrcpdInstance : {host[1:]}",
            # Silence is known after three seconds, so that a run has time for many silences.
            f"*pingTimeout : {PING_S}", f"*minPingTimeout : {PING_S}", "*pingInterval : 1",
            "*src_dist*1.route*hostList : " + ", ".join(
                f"{address(p)}:{PROVIDER + int(host[1:]) if host[0] == 's' else PROVIDER}" for p in other if p in self.hosts),
            "*src_dist*serverPort : 0", f"*p2ps*rsslPort : {CONSUMER}", f"*p2ps*workers : {host[1:] if host[0] == 'd' else 1}",
            *more]
        with open(self.config(host), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")

    def folders(self):
        for host in self.hosts:
            for name in ("run", "log"):
                os.makedirs(os.path.join(self.dir, host, name))
            log = os.path.join(self.dir, host, "log")
            run("mount", "-t", "tmpfs", "-o", "size=8m", "none", log)
            self.mounts.append(log)
            with open(os.path.join(self.dir, host, "wall"), "wb") as file:
                file.write(bytes(8))
            self.write_config(host)

    def write_items(self):
        with open(self.items, "w", encoding="ascii") as file:
            subprocess.run([os.path.join(BIN, "sink_driven_src"), "-mklist", str(self.item_count), "X"], stdout=file,
                           check=True)

    def build(self):
        self.network()
        if self.is_mesh:
            run(os.path.join(BIN, "rrcpd"), "--make-key", os.path.join(self.dir, "keys"))
        self.folders()
        self.write_items()
        self.providers = {h: Provider(self, h) for h in ("pa", "pb")}
        lines = {h: {f"{h}-s{n}": f"{address(h)}:{PROVIDER + n}>127.0.0.1:{PROVIDER}" for n in (1, 2)}
                 for h in ("pa", "pb")}
        lines["c"] = {f"c-d{n}": f"127.0.0.1:{14300 + n}>{address(f'd{n}')}:{CONSUMER}" for n in (1, 2)}
        self.proxies = {h: Proxy(self, h, lines[h]) for h in lines}
        self.daemons = {}
        for host, program in (("s1", "src_dist"), ("s2", "src_dist"), ("d1", "p2ps"), ("d2", "p2ps")):
            self.daemons[f"rrcpd.{host}"] = Daemon(self, host, "rrcpd", "net1")
            self.daemons[f"{program}.{host}"] = Daemon(self, host, program)
        near = {n: f"127.0.0.1:{14300 + n}" for n in (1, 2)}
        far = {n: f"{address(f'd{n}')}:{CONSUMER}" for n in (1, 2)}
        self.watchers = [
            Watcher(self, "c", "w1", [near[1], near[2]], "-groups"),
            Watcher(self, "c", "w2", [far[1], far[2]], "-churn", "5", "-seed", str(self.seed)),
            Watcher(self, "c", "w3", [near[2], near[1]]),
            Watcher(self, "c", "w4", [far[2], far[1]], "-groups")]
        if self.has_ema:
            self.watchers.append(EmaWatcher(self, "c", "ema", [far[1], far[2]]))

    def up(self):
        for group in (self.providers, self.proxies, self.daemons):
            for process in group.values():
                process.up()
        for watcher in self.watchers:
            watcher.up()

    # ---- looking at it ----

    def is_well(self, since):
        return all(w.is_well(since) for w in self.watchers)

    def violations(self):
        return sum(len(w.violations) for w in self.watchers)

    def sizes(self):
        return {name: d.size() for name, d in self.daemons.items()}

    def news(self, sizes):
        """What the logs say since then: (daemon, line)."""
        return [(name, line) for name, d in self.daemons.items() for line in d.text(sizes[name]).splitlines()]

    def counts_of(self, host):
        """What a provider itself says of each item."""
        watcher = Watcher(self, host, f"truth.{host}.{len(self.processes)}", [f"127.0.0.1:{PROVIDER}"])
        watcher.up()
        deadline = now() + 10.0
        while not watcher.is_well(0):
            assert now() < deadline, f"{host} does not answer: {watcher.describe()}"
            time.sleep(0.02)
        counts = watcher.dump()
        watcher.quit()
        return counts

    def connections(self, host, port, to=None):
        """Open connections of a host to that port (of another host)."""
        end = f":{port:04X}"
        if to:
            end = "".join(f"{int(n):02X}" for n in reversed(address(to).split("."))) + end
        lines = (line.split() for line in self.sockets(host))
        return sum(words[3] == "01" and words[2].endswith(end) for words in lines)

    def sockets(self, host):
        out = run("nsenter", f"--net=/run/netns/{host}", "cat", "/proc/self/net/tcp", "/proc/self/net/udp")
        # Without an inode: no process has it, the kernel only sees the connection off.
        return [line for line in out.splitlines() if re.match(r"\s*\d+:", line) and line.split()[9] != "0"]

    # ---- ending it ----

    def leftovers(self):
        """What should not be there after everything has been stopped."""
        found = []
        for host in self.hosts:
            found += [f"{host}: file run/{f}" for f in os.listdir(os.path.join(self.dir, host, "run"))]
            found += [f"{host}: socket {s}" for s in self.sockets(host)]
        found += [f"/dev/shm/{f}" for f in os.listdir("/dev/shm")]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) != os.getpid():
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    found.append(f"process {pid} {file.read().replace(bytes(1), b' ').decode(errors='replace')}")
        return found

    def down(self):
        """Everything, in order; what was wrong."""
        wrong = []
        for process in self.processes:
            if process.is_stopped:
                process.signal(signal.SIGCONT)
        for watcher in self.watchers:
            if watcher.alive():
                watcher.quit()
        for daemon in reversed(self.daemons.values()):
            trouble = daemon.stop()
            if trouble:
                wrong.append(f"{daemon.name} {trouble}")
        for process in (*self.proxies.values(), *self.providers.values()):
            process.kill()
        return wrong

    def destroy(self, keep_logs=False):
        for process in self.processes:
            if process.alive():
                process.kill()
        for host in self.hosts:
            subprocess.run(["ip", "netns", "del", host], capture_output=True, check=False)
        if keep_logs:
            kept = tempfile.mkdtemp(prefix="chaos-logs.")
            subprocess.run(f"cp -r {self.dir}/*.out {kept}; for h in {' '.join(self.hosts)}; do cp -r {self.dir}/$h/log {kept}/$h; "
                           "done", shell=True, check=False)
            print("logs:", kept)
        for mount in self.mounts:
            subprocess.run(["umount", mount], check=False)
        subprocess.run(["rm", "-rf", self.dir], check=False)
