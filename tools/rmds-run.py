#!/usr/bin/env python3
"""rmds-run.py up|down|status [CONF] - run the programs that a configuration's startList names.

Everything of a running system - pid files, sockets, logs, statistics - stands in folders of its
own, made from the path of the configuration: two systems on one host never meet.
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BIN = os.environ.get("RMDS_BIN") or os.path.join(ROOT, "build", "bin")
READY_S = 60.0
STOP_S = 10.0
HUNG_NS = 5 * 10**9


def say(mark, subject, text):
    print(f"[{mark}]  {subject:<20} {text}", flush=True)


class System:
    """The programs of one configuration, and the folders they share."""

    def __init__(self, conf):
        self.conf = os.path.realpath(conf)
        # RMDS_STATE keeps two systems of one configuration apart, such as two tests side by side.
        own = self.conf + os.environ.get("RMDS_STATE", "")
        tag = hashlib.sha256(own.encode()).hexdigest()[:12]
        base = os.environ.get("RMDS_STATE") or os.path.join(
            os.environ.get("XDG_RUNTIME_DIR") or "/tmp", f"openrmds-{os.getuid()}"
        )
        self.folder = os.path.join(base, tag)
        self.file = os.path.join(self.folder, "system.json")
        self.shm = f"/dev/shm/openrmds-{os.getuid()}-{tag}"

    def load(self):
        try:
            with open(self.file, encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
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
        name = f"{self.program}.{self.instance}"
        for parameter, folder in (("runDir", system.folder), ("shmDir", system.shm)):
            if not conf_get(system.conf, name, parameter)[1]:
                words += ["-set", f"*{parameter} : {folder}"]
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


def wait_ready(listener, child, deadline):
    """READY=1 on the notify socket; None when all is well, else what happened instead."""
    while time.monotonic() < deadline:
        listener.settimeout(0.1)
        try:
            if b"READY=1" in listener.recv(4096):
                return None
        except socket.timeout:
            pass
        if child.poll() is not None:
            return f"ended with code {child.returncode}"
    return f"not ready after {READY_S:.0f} s"


def start(system, entry, number):
    log = os.path.join(system.folder, f"{number}-{entry.text.replace('/', '_')}.log")
    address = os.path.join(system.folder, f"notify.{number}")
    if not os.access(os.path.join(BIN, entry.program), os.X_OK):
        return None, f"there is no program {entry.program}", log
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(address)
        with open(log, "wb") as out:
            child = subprocess.Popen(
                entry.command(system),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                env=dict(os.environ, NOTIFY_SOCKET=address),
            )
        trouble = wait_ready(listener, child, time.monotonic() + READY_S)
    os.unlink(address)
    program = {"name": entry.text, "pid": child.pid, "started": start_time(child.pid), "log": log}
    program["statistics"] = statistics_path(system, entry)
    return program, trouble, log


def statistics_path(system, entry):
    folder, is_set = conf_get(system.conf, f"{entry.program}.{entry.instance}", "shmDir")
    process = entry.program
    if process == "rrcpd":
        process += "." + (entry.network or conf_get(system.conf, "rrcpd", "networkName")[0])
    return os.path.join(folder if is_set else system.shm, f"rmds.{process}.{entry.instance}")


def up(system):
    state = system.load()
    if state and any(alive(p) for p in state["programs"]):
        raise SystemExit("rmds: it is up already; tools/rmds status shows it, down stops it")
    if state:
        clean(system)
    entries = [Entry(e.strip()) for e in conf_get(system.conf, "rmds", "startList")[0].split(",") if e.strip()]
    if not entries:
        raise SystemExit(
            f"rmds: {system.conf} names nothing to start; example: *rmds*startList : rrcpd.net1, p2ps.1"
        )
    os.makedirs(system.folder, mode=0o700, exist_ok=True)
    os.makedirs(system.shm, mode=0o700, exist_ok=True)
    state = {"conf": system.conf, "programs": []}
    for number, entry in enumerate(entries):
        program, trouble, log = start(system, entry, number)
        if program:
            state["programs"].append(program)
            system.save(state)
        if trouble:
            say("no", entry.text, trouble)
            if os.path.exists(log):
                with open(log, encoding="utf-8", errors="replace") as f:
                    print("".join("      " + line for line in f.readlines()[-15:]), end="")
            down(system, quiet=True)
            clean(system)
            return 1
        say("ok", entry.text, f"pid {program['pid']}, ready")
    return 0


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


def status(system):
    state = system.load()
    if not state:
        print("rmds: nothing is up; tools/rmds up starts it")
        return 1
    bad = 0
    for program in state["programs"]:
        age = heartbeat_age_ns(program["statistics"])
        if not alive(program):
            bad = 1
            say("no", program["name"], f"gone (was pid {program['pid']}); its log: {program['log']}")
        elif age is not None and age > HUNG_NS:
            bad = 1
            say("no", program["name"], f"pid {program['pid']} hangs: no heartbeat for {age / 1e9:.0f} s")
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
    shutil.rmtree(system.folder, ignore_errors=True)
    shutil.rmtree(system.shm, ignore_errors=True)


def down(system, quiet=False):
    state = system.load()
    if not state:
        if not quiet:
            print("rmds: nothing is up")
        return 0
    for program in reversed(state["programs"]):
        was_alive = alive(program)
        in_order = stop(program)
        if not quiet:
            text = "stopped" if was_alive else "was gone already"
            say("ok" if in_order else "no", program["name"], text if in_order else "killed after 10 s")
    clean(system)
    return 0


def main():
    verb = sys.argv[1]
    conf = sys.argv[2] if len(sys.argv) > 2 else os.path.join(ROOT, "conf", "rmds.cnf")
    if verb == "up" and not os.path.isfile(conf):
        raise SystemExit(f"rmds: no file {conf}")
    return {"up": up, "down": down, "status": status}[verb](System(conf))


if __name__ == "__main__":
    sys.exit(main())
