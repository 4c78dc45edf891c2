#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""chain.py - the whole chain on the loopback of a network namespace of its own, for one test.

    chain.py BIN_DIR [-set LINE]... [-in-process | -two-p2ps | -remote] -- COMMAND [ARGUMENT...]

Starts two rrcpd, src_dist and p2ps, waits until each says that it is ready, and runs COMMAND with

    CHAIN_DIR            a folder of its own, the current one of COMMAND; access.conf in it is the
                         accessFile, which lets everybody in at first
    CHAIN_BIN            BIN_DIR, for our other programs
    CHAIN_PROVIDER_PORT  where src_dist looks for an interactive provider
    CHAIN_NIPROV_PORT    where src_dist listens for non-interactive providers
    CHAIN_P2PS_PORT      where p2ps serves consumers
    CHAIN_IN_PROCESS     is there when no rrcpd is
    CHAIN_P2PS2_PORT     with -two-p2ps, where the second one, p2ps2, does

With -remote, p2ps is that of a remote site, whose src_dist, site, is a consumer of a p2ps hq.

COMMAND asks for things in lines on its standard output that begin with '@', and reads one line
with the answer ("ok" or a reason) from its standard input:

    @stop NAME    ends rrcpd1, rrcpd2, src_dist, p2ps or p2ps2 with SIGTERM and waits for its end
    @kill NAME    the same with SIGKILL
    @start NAME   starts it again and waits until it is ready
    @hup NAME     sends SIGHUP
    @level NAME PATH N   waits until its statistics entry PATH is N

Exit status: that of COMMAND; 1 when a program of the chain died, would not end, or left something
behind; 77 when there can be no namespace here.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0,
                os.path.join(
                    os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))),
                    "tools"))
from running import spaces  # noqa: E402
from running.program import Program  # noqa: E402

PROVIDER_PORT, NIPROV_PORT, P2PS_PORT, P2PS2_PORT, HQ_PORT = 14002, 14003, 14202, 14203, 14204
REMOTE = [
    "*net2.rrcp*multicastAddress : 239.255.82.83",
    "*net2.rrcp*multicastPort : 8501",
    "*1.src_dist*rrcpdInstance : 1",
    "*1.p2ps*rrcpdInstance : 2",
    f"*1.p2ps*rsslPort : {HQ_PORT}",
    "*2.src_dist*networkList : net2",
    "*2.src_dist*rrcpdInstance : 3",
    "*2.src_dist*serverPort : 0",
    "*2.src_dist*siteName : SITE",
    "*2.src_dist*1.route*routeType : consumer",
    f"*2.src_dist*1.route*hostList : 127.0.0.1:{HQ_PORT}",
    "*2.p2ps*networkList : net2",
    "*2.p2ps*rrcpdInstance : 3",
    f"*2.p2ps*rsslPort : {P2PS_PORT}",
]
READY_S, END_S = 60, 60
COMMAND_S = 420
SOURCE_DIR = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Member(Program):
    """One program of the chain."""

    def __init__(self, name, arguments, folder):
        super().__init__(name, arguments, os.path.join(folder, name + ".out"))
        self.folder = folder

    def up(self):
        """"ok", or why it is not ready."""
        trouble = self.start_daemon(os.path.join(self.folder, self.name + ".notify"), READY_S)
        return f"{self.name}: {trouble}" if trouble else "ok"

    def wait_level(self, path, value):
        """Until the statistics entry `path` of the program is `value`."""
        monitor = os.path.join(os.path.dirname(self.words[0]), "rmdsmon")
        segment = "%s.%s" % (os.path.basename(self.words[0]), self.words[4])
        end = time.monotonic() + READY_S
        seen = None
        while time.monotonic() < end:
            said = subprocess.run([monitor, "-run", os.path.join(self.folder, "run"), "-once",
                                   "-watch", "0.01", "-json"],
                                  capture_output=True, text=True, check=False).stdout
            for instance in json.loads(said)["instances"] if said else []:
                if instance["name"] == segment:
                    seen = str(instance["values"].get(path))
            if seen == value:
                return "ok"
            time.sleep(0.15)
        return "%s: %s is %s, not %s, after %d s" % (self.name, path, seen, value, READY_S)

    def end(self, number=signal.SIGTERM):
        """Ends it; "ok", or what was wrong with its end."""
        if self.child is None:
            return "ok"
        trouble = None if self.alive() else f"died: {self.code()}"
        if self.alive() and number == signal.SIGKILL:
            self.kill()
        elif self.alive():
            trouble = self.stop(END_S)
        self.child = None
        return f"{self.name}: {trouble}" if trouble else "ok"


class Chain:
    def __init__(self, binaries, lines, options, folder):
        self.binaries, self.folder = binaries, folder
        self.conf = os.path.join(folder, "rmds.cnf")
        self.failures = []
        for sub in ("run", "log"):
            os.mkdir(os.path.join(folder, sub))
        with open(os.path.join(folder, "access.conf"), "w") as out:
            out.write("user *\n")
        for name in ("RDMFieldDictionary", "enumtype.def"):  # EMA providers look for them here
            shutil.copy(os.path.join(SOURCE_DIR, "conf", name), folder)
        with open(self.conf, "w") as out:
            out.write("\n".join(self.conf_lines(options) + lines) + "\n")
        self.programs = {}
        plan = [] if "-in-process" in options else [("rrcpd1", "rrcpd", 1), ("rrcpd2", "rrcpd", 2)]
        plan += [("src_dist", "src_dist", 1)]
        if "-remote" in options:
            plan += [("hq", "p2ps", 1), ("rrcpd3", "rrcpd", 3, "net2"), ("site", "src_dist", 2),
                     ("p2ps", "p2ps", 2)]
        else:
            plan += [("p2ps", "p2ps", 1)] + [("p2ps2", "p2ps", 2)] * ("-two-p2ps" in options)
        for name, program, instance, *network in plan:
            self.programs[name] = Member(name, [
                os.path.join(binaries, program), "-c", self.conf, "-instance", str(instance),
                "-fg", *network], folder)

    def conf_lines(self, options):
        lines = ["*%sDir : %s/%s" % (what, self.folder, what) for what in ("run", "log")]
        lines += [
            "*rrcp*interface : lo",
            "*rrcp*multicastAddress : 239.255.82.82",
            "*rrcp*authKeyFile :",
            "*src_dist*1.route*hostList : 127.0.0.1:%d" % PROVIDER_PORT,
            "*src_dist*serverPort : %d" % NIPROV_PORT,
            "*p2ps*accessFile : %s/access.conf" % self.folder,
            # Nothing is merged for a consumer in Java that waits for a CPU among other tests.
            "*p2ps*maxOutputBuffers : 20000",
        ]
        if "-in-process" in options:
            lines.append("*inProcess : True")
        elif "-remote" in options:
            lines += REMOTE
        else:
            lines += ["*src_dist*rrcpdInstance : 1", "*p2ps*rrcpdInstance : 2"]
        if "-remote" not in options:
            lines += ["*1.p2ps*rsslPort : %d" % P2PS_PORT, "*2.p2ps*rsslPort : %d" % P2PS2_PORT]
        return lines

    def start(self):
        for program in self.programs.values():
            said = program.up()
            if said != "ok":
                self.failures.append(said)
                return False
        return True

    def command(self, line):
        words = line[1:].split()
        program = self.programs.get(words[1]) if len(words) > 1 else None
        if program is None:
            return "no such thing: " + line
        if words[0] == "level" and len(words) == 4:
            return program.wait_level(words[2], words[3])
        if words[0] == "start":
            return program.up()
        if words[0] == "stop":
            return program.end()
        if words[0] == "kill":
            return program.end(signal.SIGKILL)
        if words[0] == "hup":
            program.signal(signal.SIGHUP)
            return "ok"
        return "no such thing: " + line

    def stop(self):
        for program in reversed(list(self.programs.values())):
            said = program.end()
            if said != "ok":
                self.failures.append(said)
        for where, _, files in os.walk(os.path.join(self.folder, "run")):
            self.failures += ["left behind: " + os.path.join(where, name) for name in files]

    def run(self, command):
        """The command's exit status; answers what it asks meanwhile."""
        env = dict(os.environ, CHAIN_DIR=self.folder, CHAIN_BIN=self.binaries,
                   CHAIN_PROVIDER_PORT=str(PROVIDER_PORT), CHAIN_NIPROV_PORT=str(NIPROV_PORT),
                   CHAIN_P2PS_PORT=str(P2PS_PORT), CHAIN_P2PS2_PORT=str(P2PS2_PORT))
        if "rrcpd1" not in self.programs:
            env["CHAIN_IN_PROCESS"] = "1"
        child = subprocess.Popen(command, cwd=self.folder, env=env, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True, bufsize=1)
        watchdog = threading.Timer(COMMAND_S, child.kill)
        watchdog.start()
        for line in child.stdout:
            if line.startswith("@"):
                said = self.command(line.strip())
                print("%s: %s" % (line.strip(), said), flush=True)
                child.stdin.write(said + "\n")
                child.stdin.flush()
            else:
                print(line, end="", flush=True)
        watchdog.cancel()
        return child.wait()

    def show_logs(self):
        for program in self.programs.values():
            print("---- %s" % program.name)
            if not os.path.exists(program.log):
                continue
            with open(program.log, errors="replace") as log:
                print("".join(log.readlines()[-60:]), end="")


def enter_namespace():
    """Runs this program again in a network namespace of its own."""
    if not spaces.enter("CHAIN_NAMESPACE", "-n"):
        print("SKIP: no network namespace can be made here")
        sys.exit(77)
    del os.environ["CHAIN_NAMESPACE"]
    spaces.loopback_up(has_multicast=True)


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 3 or "--" not in arguments:
        print(__doc__)
        return 2
    cut = arguments.index("--")
    command, options = arguments[cut + 1:], arguments[1:cut]
    enter_namespace()
    lines = [options[i + 1] for i, word in enumerate(options) if word == "-set"]
    folder = tempfile.mkdtemp(prefix="chain.")
    lines = [line.replace("CHAIN_DIR", folder) for line in lines]
    chain = Chain(os.path.abspath(arguments[0]), lines, options, folder)
    status = 1
    try:
        if chain.start():
            status = chain.run(command)
    finally:
        chain.stop()
    for failure in chain.failures:
        print("chain: " + failure)
    if chain.failures and status in (0, 77):
        status = 1
    if status not in (0, 77):
        chain.show_logs()
    if not os.environ.get("CHAIN_KEEP"):
        shutil.rmtree(folder)
    return status


if __name__ == "__main__":
    sys.exit(main())
