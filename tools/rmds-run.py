#!/usr/bin/env python3
"""rmds-run.py up|down|status|ps|logs|mon - run the programs that a configuration's startList names.

Everything of a running system - pid files, sockets, logs, statistics - stands in folders of its
own, made from the path of the configuration: two systems on one host never meet. The folders of
one user stand side by side, which is how the verbs find what is up. RMDS_STATE names another
place for them: what a test starts, the user's verbs do not find.
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from running import ports, publisher  # noqa: E402
from running.program import Program  # noqa: E402

DEMO = os.path.join(ROOT, "conf", "demo.cnf")
BIN = os.environ.get("RMDS_BIN") or os.path.join(ROOT, "build", "bin")
READY_S = 60.0
STOP_S = 10.0
HUNG_NS = 5 * 10**9


def say(mark, subject, text):
    print(f"[{mark}]  {subject:<20} {text}", flush=True)


def folders_of_user():
    """Where systems of this user may stand; new ones in the first. XDG_RUNTIME_DIR is not the same
    in every shell."""
    if os.environ.get("RMDS_STATE"):
        return [os.environ["RMDS_STATE"]]
    places = [os.environ.get("XDG_RUNTIME_DIR"), "/tmp", f"/run/user/{os.getuid()}"]
    # That of another user, as su leaves it behind, is closed to daemons that gave their rights up.
    places = [place for place in places if place and (place == "/tmp" or is_own(place))]
    return [os.path.join(place, f"openrmds-{os.getuid()}") for place in dict.fromkeys(places)]


def is_own(folder):
    """Whether the folder is there, and nobody else can have put anything into it."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return os.path.isdir(folder) and status.st_uid == os.getuid() and not status.st_mode & 0o022


def make_folder(folder):
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if not is_own(folder):
        raise SystemExit(
            f"rmds: {folder} belongs to another user, or others may write to it; remove it, or "
            f"name another place"
            " with RMDS_STATE"
        )


def boot():
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            return f.read().strip()
    except OSError:
        return ""


def processes():
    """The namespace that pids are of: a container that shares our folders has other ones."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


class System:
    """The programs of one configuration, and the folders they share."""

    def __init__(self, conf):
        self.conf = os.path.realpath(conf)
        # RMDS_STATE keeps two systems of one configuration apart, such as two tests side by side.
        own = self.conf + os.environ.get("RMDS_STATE", "")
        self.tag = hashlib.sha256(own.encode()).hexdigest()[:12]
        name = os.path.basename(self.conf)
        self.name = name[:-4] if name.endswith(".cnf") else name
        places = [os.path.join(base, self.tag) for base in folders_of_user()]
        there = [place for place in places if is_own(place)
                 and os.path.exists(os.path.join(place, "system.json"))]
        self.folder = (there or places)[0]
        self.file = os.path.join(self.folder, "system.json")

    def load(self):
        try:
            with open(self.file, encoding="utf-8") as f:
                return json.load(f)
        except (FileNotFoundError, ValueError):
            return None

    def save(self, state):
        with open(self.file + ".new", "w", encoding="utf-8") as f:
            json.dump(state, f, indent=1)
        os.replace(self.file + ".new", self.file)


def conf_get(conf, program, parameter):
    """The effective value and whether some line sets it."""
    out = subprocess.run(
        [os.path.join(BIN, "rmdscnf"), "get", conf, program, parameter],
        capture_output=True,
        text=True,
        check=False,
    )
    if out.returncode != 0:
        raise SystemExit(out.stderr.strip() or f"rmds: {conf} has errors; rmdscnf check {conf}")
    value, origin = out.stdout.rstrip("\n").split("\t")
    return value, origin != "default"


def conf_values(conf, program):
    """{path of the parameter: effective value} of one program."""
    out = subprocess.run(
        [os.path.join(BIN, "rmdscnf"), "list", conf, program], capture_output=True, text=True,
        check=False
    )
    lines = [line.partition(" : ") for line in out.stdout.splitlines()]
    # The path starts with node.instance.program.
    return {path.split(".", 3)[-1]: rest.partition("    ! ")[0].strip() for path, colon,
            rest in lines if colon}


class Entry:
    """program[.network][.instance][@namespace] of startList."""

    def __init__(self, text):
        self.text = text
        name, _, self.namespace = text.partition("@")
        parts = name.split(".")
        self.program = parts[0]
        self.network, self.instance = None, "1"
        rest = parts[1:]
        if rest and not rest[0].isdigit():
            self.network = rest.pop(0)
        if rest:
            self.instance = rest.pop(0)
        if rest or not self.program:
            raise SystemExit(
                f'rmds: "{text}" in startList: expected program[.network][.instance][@namespace]'
            )

    def command(self, system):
        words = [os.path.join(BIN, self.program)]
        if self.namespace:
            words = ["ip", "netns", "exec", self.namespace] + words
        if self.program == "rrcpd" and self.network:
            words.append(self.network)
        elif self.network:
            words += ["-set", f"*networkName : {self.network}"]
        words += ["-c", system.conf, "-instance", self.instance, "-fg"]
        words += ["-allow-root"] if os.geteuid() == 0 else []
        name = f"{self.program}.{self.instance}"
        if not conf_get(system.conf, name, "runDir")[1]:
            words += ["-set", f"*runDir : {system.folder}"]
        return words


def start_time(pid):
    """Ticks since boot at which the process started, or None: a pid alone may be somebody else."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
        return None if fields[0] == "Z" else int(fields[19])
    except (FileNotFoundError, ProcessLookupError):
        return None


def alive(program):
    return start_time(program["pid"]) == program["started"]


def program_state(name, child, log, statistics):
    return {"name": name, "pid": child.pid, "started": start_time(child.pid), "log": log,
            "statistics": statistics}


def members(state):
    """Everything that runs; the publisher first, since the others are started after it."""
    return ([state["publisher"]] if state.get("publisher") else []) + state["programs"]


def start(system, entry, number):
    log = os.path.join(system.folder, f"{number}-{entry.text.replace('/', '_')}.log")
    address = os.path.join(system.folder, f"notify.{number}")
    if not os.access(os.path.join(BIN, entry.program), os.X_OK):
        return None, f"there is no program {entry.program}", log
    command, statistics = entry.command(system), statistics_path(system, entry)
    open(log, "wb").close()  # one of an earlier run
    program = Program(entry.text, command, log)
    try:
        trouble = program.start_daemon(address, READY_S, start_new_session=True)
    except KeyboardInterrupt:
        trouble = "interrupted"
    if not program.child:
        return None, trouble, log
    return program_state(entry.text, program.child, log, statistics), trouble, log


def statistics_path(system, entry):
    folder, is_set = conf_get(system.conf, f"{entry.program}.{entry.instance}", "runDir")
    process = entry.program
    if process == "rrcpd":
        process += "." + (entry.network or conf_get(system.conf, "rrcpd", "networkName")[0])
    return os.path.join(folder if is_set else system.folder, f"{process}.{entry.instance}", "stats")


def publisher_start(system, state, port, rate):
    """sink_driven_src for the chain; what went wrong, or None."""
    log = os.path.join(system.folder, "sink_driven_src.log")
    if ports.is_taken(port):
        return f"port {port} is taken by {ports.holder(port)}; stop that program"
    child = publisher.start(os.path.join(BIN, "sink_driven_src"), publisher.words(ROOT, port, rate),
                            log)
    state["publisher"] = program_state("sink_driven_src", child, log, None)
    system.save(state)
    trouble = publisher.await_port(child, log)
    if not trouble:
        say(
            "ok",
            "sink_driven_src",
            f"pid {child.pid}, service {publisher.SERVICE}, {rate:,} updates/s of all open items "
            f"together",
        )
    return trouble


LISTENING = ("rsslPort", "tlsPort", "serverPort", "tlsServerPort", "statusPort")
WEBSOCKET = (("http", "wsPort"), ("https", "wsTlsPort"))


def addresses(entries, values):
    """What the configuration says of ports: where consumers, providers and browsers go."""
    found = {"consumers": [], "pages": {}, "live": [], "providers": [], "listens": []}
    for entry, value in zip(entries, values):
        for path, text in value.items():
            word = path.rpartition(".")[2]
            if word in LISTENING and text.isdigit() and int(text) > 0:
                found["listens"].append([entry.text, word, int(text)])
        if entry.program == "p2ps" and int(value.get("rsslPort", "0") or 0) > 0:
            found["consumers"].append(int(value["rsslPort"]))
        if int(value.get("statusPort", "0") or 0) > 0:
            host = value.get("statusAddress", "127.0.0.1")
            found["pages"][entry.text] = f"http://{host}:{value['statusPort']}/"
        found["providers"] += providers(value)
        if entry.program == "p2ps" and value.get("wsEnable") == "True":
            websocket(entry, value, found)
    return found


def websocket(entry, value, found):
    """Its ports, and where a browser finds the page with moving prices."""
    host = value.get("listenAddress", "")
    for scheme, word in WEBSOCKET:
        port = int(value.get(word, "0") or 0)
        if port <= 0:
            continue
        found["listens"].append([entry.text, word, port])
        if value.get("wsLivePage") == "True":
            name = "127.0.0.1" if host in ("", "0.0.0.0") else host
            found["live"].append(f"{scheme}://{name}:{port}/")


def providers(value):
    """[host, port, service] of each route's hosts."""
    found = []
    for path, text in value.items():
        if not path.endswith(".route.hostList"):
            continue
        route = path[: -len("hostList")]
        service = value.get(route + "serviceList", "").split(",")[0].strip() or publisher.SERVICE
        for host in filter(None, (word.strip() for word in text.split(","))):
            name, colon, port = host.rpartition(":")
            found.append([name, port, service] if colon and port.isdigit()
                         else [host, value[route + "port"], service])
    return found


def taken(entries, listens):
    """The first port that somebody else has, in words."""
    outside = {entry.text for entry in entries if entry.namespace}
    for name, word, port in listens:
        if name not in outside and ports.is_taken(port):
            return name, (f"port {port} ({word}) is taken by {ports.holder(port)}; stop that "
                          f"program, or set another {word}")
    return None


def start_all(system, state, entries, rate):
    """What could not be started, as (name, trouble, log), or None."""
    busy = taken(entries, state["addresses"]["listens"])
    if busy:
        return *busy, None
    if rate:
        trouble = publisher_start(system, state, int(state["addresses"]["providers"][0][1]), rate)
        if trouble:
            return "sink_driven_src", trouble, state.get("publisher", {}).get("log")
    for number, entry in enumerate(entries):
        program, trouble, log = start(system, entry, number)
        if program:
            state["programs"].append(program)
            system.save(state)
        if trouble:
            return entry.text, trouble, log
        say("ok", entry.text, f"pid {program['pid']}, ready")
    return None


def up(system, rate=0):
    """Start it; with a rate a publisher for the first route, too."""
    state = system.load()
    if state and any(alive(p) for p in members(state)):
        raise SystemExit(f"rmds: {system.name} is up already; tools/rmds status shows it, down "
                         f"stops it")
    if state:
        clean(system)
    entries = [Entry(e.strip()) for e in conf_get(system.conf, "rmds", "startList")[0].split(",")
               if e.strip()]
    if not entries:
        raise SystemExit(
            f"rmds: {system.conf} names nothing to start; example: *rmds*startList : rrcpd.net1, "
            f"p2ps.1"
        )
    values = [conf_values(system.conf, f"{entry.program}.{entry.instance}") for entry in entries]
    make_folder(os.path.dirname(system.folder))
    make_folder(system.folder)
    state = {
        "conf": system.conf,
        "boot": boot(),
        "processes": processes(),
        "since": time.clock_gettime(time.CLOCK_BOOTTIME),
        "addresses": addresses(entries, values),
        "programs": [],
    }
    system.save(state)
    try:
        failed = start_all(system, state, entries, rate)
    except KeyboardInterrupt:
        failed = "up", "interrupted", None
    except SystemExit:
        down(system, quiet=True)
        raise
    if not failed:
        return 0
    name, trouble, log = failed
    say("no", name, trouble)
    if log and os.path.exists(log):
        with open(log, encoding="utf-8", errors="replace") as f:
            print("".join("      " + line for line in f.readlines()[-15:]), end="")
    down(system, quiet=True)
    clean(system)
    return 1


def heartbeat_age_ns(path):
    """Of the program's statistics; None when there are none."""
    try:
        with open(path, "rb") as f:
            head = f.read(64)
    except OSError:
        return None
    if len(head) < 64 or head[:8] != b"RMDSSTAT":
        return None
    beat = struct.unpack_from("=Q", head, 32)[0]
    return max(0, time.clock_gettime_ns(time.CLOCK_MONOTONIC) - beat)


def hangs_s(program):
    """For how long it has not beaten its heart, or None."""
    age = heartbeat_age_ns(program["statistics"]) if program["statistics"] else None
    return age / 1e9 if age is not None and age > HUNG_NS else None


def status(system):
    state = system.load()
    if not state:
        print("rmds: nothing is up; tools/rmds up starts it")
        return 1
    bad = 0
    for program in members(state):
        if not alive(program):
            bad = 1
            say("no", program["name"],
                f"gone (was pid {program['pid']}); its log: {program['log']}")
        elif hangs_s(program):
            bad = 1
            say("no", program["name"],
                f"pid {program['pid']} hangs: no heartbeat for {hangs_s(program):.0f} s")
        else:
            say("ok", program["name"], f"pid {program['pid']}")
    return bad


def stop(program):
    if not alive(program):
        return True
    try:
        os.kill(program["pid"], signal.SIGTERM)
    except ProcessLookupError:
        return True
    deadline = time.monotonic() + STOP_S
    while time.monotonic() < deadline:
        try:
            os.waitpid(program["pid"], os.WNOHANG)
        except ChildProcessError:
            pass
        if not alive(program):
            return True
        time.sleep(0.02)
    os.kill(program["pid"], signal.SIGKILL)
    return False


def clean(system):
    # Of a version before the run folder.
    old = (system.load() or {}).get("shm", "")
    if old.startswith(f"/dev/shm/openrmds-{os.getuid()}-"):
        shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(system.folder, ignore_errors=True)


def down(system, quiet=False):
    state = system.load()
    if not state:
        if not quiet:
            print("rmds: nothing is up")
        return 0
    for program in reversed(members(state)):
        was_alive = alive(program)
        in_order = stop(program)
        if not quiet:
            text = "stopped" if was_alive else "was gone already"
            say("ok" if in_order else "no", program["name"],
                text if in_order else "killed after 10 s")
    clean(system)
    return 0


def main():
    from running import verbs  # pylint: disable=import-outside-toplevel

    return verbs.main(sys.modules[__name__], sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
