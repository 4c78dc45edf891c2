#!/usr/bin/env python3
"""documents.py SOURCE BUILD - every command of README.md, docs/ and the other pages is run, or stands in ELSEWHERE with the
test that runs it, or in NOT_HERE with the reason.

A new command is run without being asked for. It works in a namespace of its own, where /etc, /run, /var/log and /tmp are
copies or empty: rmds.cnf and the daemons' folders are where the pages say. Stand-ins play the few programs that belong to
a whole host (STAND_INS); systemctl starts what the units name.
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import glob
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import doc_commands

SOURCE, BUILD = (os.path.realpath(word) for word in sys.argv[1:3])
sys.path.insert(0, os.path.join(SOURCE, "tools"))
from running import spaces  # noqa: E402

BIN = os.path.join(BUILD, "bin")
WAIT_S = 90

# (page, command, test that runs it)
ELSEWHERE = [
    (r".*", r"tools/rmds demo$", "the_demo_shows_what_it_says"),
    (r"docs/three-hosts\.md", r"rrcpd|src_dist|p2ps|systemctl", "three_hosts_as_the_page_says"),
    (r"docs/tls\.md", r".*", "data_go_through_the_chain_with_tls"),
    (r"docs/applications\.md", r"export|cc .* -Wl,|cc ", "package_install"),
    (r"docs/applications\.md", r"\./consumer", "the_road_leads_where_it_says"),
    (r"docs/applications\.md", r"python3 .*prices|pip install|curl ", "applications_like_the_examples_are_served"),
    (r"docs/websocket\.md", r"rmdstestclient ", "rmdstestclient_reads_json_as_it_reads_rssl"),
    (r"docs/operating\.md", r"tools/rmds package deb", "package_deb_lives_from_upgrade_to_purge"),
    (r"docs/upgrading\.md", r"sudo apt", "package_deb_lives_from_upgrade_to_purge"),
    (r"docs/pages-and-marketfeed\.md", r"build/bin/marketfeed_vectors", "marketfeed_vectors"),
    (r"docs/data-kinds\.md", r"rmdstestclient |sink_driven_src ",
     "every_kind_of_data_goes_through_the_chain"),
    (r"docs/tuning\.md", r"(sudo )?tools/rmds tune ",
     "tune_sees_what_a_host_costs_and_changes_nothing_untold"),
    (r"docs/getting-started\.md", r"java -cp", "interop_getting_started"),
    (r"docs/audit\.md|tools/rmdsaccess/README\.md", r"rmdsaccess .*audit ",
     "the_audit_trail_shows_who_came_and_each_change"),
    (r"tools/rmdsaccess/README\.md", r"rmdsaccess ", "rmdsaccess_explains_the_access_file"),
    (r"docs/fault\.md", r"rmdsfault (serve|tell) ", "rmdsfault_takes_live_statements"),
    (r".*", r"rmdsfault run ", "scenarios_of_faults_connections"),
    (r"tests/interop/README\.md", r"tests/interop/run\.sh|CHAIN_ONLY", "interop_chain_items"),
    (r"tests/sim/rrmp/README\.md", r"rrmpsim --seeds 1\.\.2000 --coverage", "rrmpsim_seeds"),
    (r"tools/wireshark/README\.md", r"tshark .*rssl\.lua", "wireshark_rssl"),
    (r"tools/wireshark/README\.md", r"tshark .*rrcp\.lua", "wireshark_rrcp"),
]

# (page, command, reason)
NOT_HERE = [
    (r"docs/getting-started\.md", r"mvn ", "it fetches from Maven Central; interop_getting_started has its libraries from there"),
    (r".*", r"tools/rmds test$", "it is all tests, this one among them"),
    (r".*", r"journalctl ", "a namespace has no journal"),
    (r".*", r"sysctl -w ", "it sets a value of the whole host"),
    (r"docs/man/rwfdump.*", r"tcpdump ", "it waits for somebody else's packets"),
    (r"tests/bench/README\.md", r"build/bench/",
     "minutes of measuring; each is compiled and links in the builds of the sanitizers"),
]

# What is played, and why.
STAND_INS = {
    "apt-get": "echo: packages of the host",
    "sudo": "the user who may do all is played by whoever runs the test",
    "chown": "a namespace may have no other users: the user has to be one of those that a package makes",
    "systemctl": "starts and stops what the units name",
    "systemd-sysusers": "echo: users of the host",
    "dpkg-deb": "unpacks the programs that were built here",
    "cmake": "echo: what it would compile is compiled already",
    "ctest": "echo: it would run the tests inside a test",
}

# Programs that a reader may not have either: without them the command is passed over.
PERHAPS = ("jq",)

# What a page leaves to its reader, and what only takes time.
READERS = [
    (r"/tmp/new\b", "{folder}/new"), (r"\byour\.cnf\b", "/etc/rmds/rmds.cnf"), (r"(?<=-scenario )NAME\b", "crowd"),
    (r"(?<=kick )0\.12\b", "{mount}"), (r"(-secs|--seconds) \d+", r"\1 1"), (r"-discard \d+", "-discard 0"),
    (r"\b1\.\.200\b", "1..2"), (r"\b40\.\.60\b", "40..41"), (r"\b1\.\.6\b", "1..1"),
]

# Live views and servers: they have to show something that fits, then they are ended.
ENDLESS = [
    (r"tools/rmds mon$", "p2ps"), (r"tools/rmds logs -f$", "p2ps"), (r"sink_driven_src (?!.*&$)", "14002"),
]
HOST = """*rrcp*interface : lo
*rrcp*authKeyFile : none
*rrcp*multicastPort : 8600
*src_dist*1.route*hostList : localhost:24102
*memoryLimit : 600M
*inboundRing : 8M
"""
BAD = []


def check(condition, what):
    if not condition:
        BAD.append(what)
        print("[no]  " + what, flush=True)


class World:
    """A host that is like a reader's: the tree with its programs, a configuration, users, and nothing of this one."""

    def __init__(self, folder):
        self.folder, self.tree = folder, os.path.join(folder, "tree")
        self.children, self.host, self.is_settled = [], [], False
        self.make_tree()
        self.make_host()
        self.env = {**os.environ, "PATH": f"{folder}/standins:{BIN}:{os.environ['PATH']}", "RMDS_ALLOW_ROOT": "1",
                    "RMDS_STATE": f"{folder}/state", "RMDS_SETUP_DONE": "run unit clang test deb", "RMDS_PARSE_ONLY": "1",
                    "HOME": folder, "TERM": "xterm", "TMPDIR": folder}
        for name in ("RMDS_BIN", "RMDS_ROOT", "RMDS_BUILD"):
            self.env.pop(name, None)

    def make_tree(self):
        os.mkdir(self.tree)
        for name in os.listdir(SOURCE):
            if name == "tools":
                shutil.copytree(os.path.join(SOURCE, name), os.path.join(self.tree, name), symlinks=True)
            elif not name.startswith((".", "build")):
                os.symlink(os.path.join(SOURCE, name), os.path.join(self.tree, name))
        for preset in ("build", "build-debug", "build-chaos"):
            os.makedirs(os.path.join(self.tree, preset, "log"))
            os.symlink(BIN, os.path.join(self.tree, preset, "bin"))
            for name in ("build.ninja", "CMakeCache.txt"):
                self.write(os.path.join(self.tree, preset, name), "")
        os.makedirs(os.path.join(self.tree, "build", "bench"))
        for path in glob.glob(os.path.join(SOURCE, "tests", "bench", "*.c")):  # options are checked by tools/rmds
            self.program(os.path.join(self.tree, "build", "bench", os.path.basename(path)[:-2]), "echo stand-in\n")
        self.write(os.path.join(self.tree, "items"), "".join(f"TEST{i}\n" for i in range(10)))
        self.write(os.path.join(self.tree, "LIST"), "".join(f"TEST{i}\n" for i in range(10)))
        for name, path in (("sample.xml", f"{SOURCE}/conf/sample.xml"), ("rmds.cnf", "/etc/rmds/rmds.cnf"),
                           ("capture.pcap", f"{SOURCE}/tests/corpus/fuzz_rwfdump_capture/plain.pcap")):
            os.symlink(path, os.path.join(self.tree, name))
        self.write(os.path.join(self.tree, "earlier.json"), "{}")

    def make_host(self):
        os.mkdir(os.path.join(self.folder, "standins"))
        for name in STAND_INS:
            text = 'echo "$0 $*"\n'
            if name == "sudo":
                text = 'while [ "${1#-}" != "$1" ]; do shift 2; done\nexec "$@"\n'
            elif name == "dpkg-deb":
                text = f'mkdir -p "$3/usr" && ln -s {BIN} "$3/usr/bin"\n'
            elif name == "chown":
                text = 'grep -q "^u ${1%%:*} " ' + f'{SOURCE}/cmake/package/systemd/openrmds.sysusers\n'
            elif name == "systemctl":
                text = f'exec {sys.executable} {os.path.abspath(__file__)} {SOURCE} {BUILD} --systemctl "$@"\n'
            self.program(os.path.join(self.folder, "standins", name), text)
        etc = os.path.join(self.folder, "etc")
        subprocess.run(["cp", "-a", "/etc", etc], check=False, capture_output=True)
        os.makedirs(os.path.join(etc, "rmds"), exist_ok=True)
        for name, text in (("rmds.cnf", HOST), ("keys", ""), ("access", ""), ("publishers", "")):
            self.write(os.path.join(etc, "rmds", name), text)
        subprocess.run(["mount", "--bind", etc, "/etc"], check=True)
        for place in ("/run", "/var/log"):
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], check=True)
        for place in ("/run/rmds", "/var/log/rmds"):
            os.mkdir(place)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def program(self, path, text):
        self.write(path, "#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def run(self, text, **more):
        return subprocess.run(["bash", "-c", text], cwd=self.tree, env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=WAIT_S, **more)

    def start(self, text):
        log = open(os.path.join(self.folder, f"log.{len(self.children)}"), "w+", encoding="utf-8")
        child = subprocess.Popen(["bash", "-c", "exec " + text], cwd=self.tree, env=self.env, stdin=subprocess.DEVNULL,
                                 stdout=log, stderr=log)
        child.log, child.text = log, text
        self.children.append(child)
        return child

    def until(self, text):
        """Try until it works."""
        end = time.monotonic() + WAIT_S
        while (done := self.run(text)).returncode != 0:
            if time.monotonic() > end:
                raise AssertionError(f"{text}: {done.stdout}")
            time.sleep(0.05)
        return done.stdout

    # ---- what a command finds ----

    def demo_is_up(self, wanted):
        is_up = self.run("tools/rmds status").returncode == 0
        if is_up and not wanted:
            self.run("tools/rmds down --all")
        elif wanted and not is_up:
            done = self.run("tools/rmds up")
            check(done.returncode == 0, done.stdout)

    def host_is_up(self, wanted):
        """The daemons of /etc/rmds/rmds.cnf, a publisher, and a consumer that has IBM.N open."""
        if wanted and not self.host:
            self.host = [self.start("sink_driven_src -S RDFD -N 24102 -L 127.0.0.1 -Q sample.xml -q GOOG.O -K -U 100")]
            self.run("systemctl enable --now rrcpd@net1 src_dist@1 p2ps@1")
            self.host.append(self.start("rmdstestclient -S RDFD -h localhost -p 14002 -il IBM.N -secs 3600"))
            self.until("rmdsctl p2ps list items | grep -q IBM.N")
        elif self.host and not wanted:
            self.run("systemctl stop rrcpd@net1 src_dist@1 p2ps@1")
            self.end(self.host)
            self.host = []

    def settle(self):
        """Whatever was started anew serves again."""
        if not self.is_settled:
            self.until("rmdsmon -once")
            self.is_settled = True

    def mount(self):
        return self.until("rmdsctl p2ps list mounts | grep -m 1 -oE '[0-9]+\\.[0-9]+' | head -n 1 | grep .").strip()

    def end(self, children):
        for child in children:
            if child.poll() is None:
                child.terminate()
            elif child.returncode != 0:
                child.log.seek(0)
                check(False, f"{child.text}: ended with code {child.returncode}\n{child.log.read()}")
            child.wait(WAIT_S)
            child.log.close()
            self.children.remove(child)

    def close(self):
        self.host_is_up(False)
        self.run("tools/rmds down --all")
        self.end(list(self.children))


def is_alone(text):
    """It needs no daemon and leaves nothing behind: it may run beside others."""
    return re.match(r"tools/rmds (bench|chaos|soak|build)|rrmpsim|rwfdump|build/bin/rwfdump|echo|rmdscnf (get|reference)", text)


def prepare(world, text):
    """What has to be there, or must not, before this command."""
    if re.match(r"(tools/rmds up|RMDS_BIN=.* up$|sink_driven_src .*&$)", text):
        world.demo_is_up(False)
    elif re.match(r"tools/rmds (ps|status|mon|logs|down)|build/bin/rmdstestclient", text):
        world.demo_is_up(True)
    if re.match(r"rrcpd |tools/rmds up conf/reference|sink_driven_src -S RDFD -N 14002", text):
        world.host_is_up(False)
    elif re.match(r"rmdsmon|p2psmon|rmdsctl|systemctl|rmdstestclient .*localhost", text):
        world.demo_is_up(False)
        world.host_is_up(True)
        world.settle()
        world.is_settled = not re.search(r"systemctl|kick|drain", text)


def show(world, text, wanted):
    """Run it on a terminal until it has shown what is wanted."""
    near, far = pty.openpty()
    child = subprocess.Popen(["bash", "-c", "exec " + text], cwd=world.tree, env=world.env, stdin=far, stdout=far, stderr=far,
                             start_new_session=True)
    os.close(far)
    said, end = "", time.monotonic() + WAIT_S
    while wanted not in said and time.monotonic() < end:
        if select.select([near], [], [], 0.1)[0]:
            try:
                said += os.read(near, 65536).decode(errors="replace")
            except OSError:
                break
    os.killpg(child.pid, signal.SIGTERM)
    child.wait(WAIT_S)
    os.close(near)
    return 0 if wanted in said else 1, said


def perform(world, command, exports):
    text = command.text
    prepare(world, text)
    for pattern, value in READERS:
        if "{mount}" in value and re.search(pattern, text):
            value = value.replace("{mount}", world.mount())
        text = re.sub(pattern, value.replace("{folder}", world.folder), text)
    wanted = next((wanted for pattern, wanted in ENDLESS if re.match(pattern, text)), None)
    if text.endswith("&"):
        return 0, world.start("".join(exports) + text[:-1]) and ""
    if wanted:
        return show(world, text, wanted)
    if text.startswith("export "):
        exports.append(text + "; ")
    done = world.run("".join(exports) + text)
    if " /etc/rmds/rmds.cnf" in text and "install " in text:
        world.write("/etc/rmds/rmds.cnf", HOST)  # the reader writes his own
    if re.search(r"\bdrain\b", text):
        world.run("rmdsctl p2ps drain off")
    return done.returncode, done.stdout


def is_running(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return "\nState:\tZ" not in file.read()
    except (FileNotFoundError, ProcessLookupError):
        return False


def systemctl(words):
    """VERB [--now] UNIT...: ExecStart of the units, with their pid files in /run/units."""
    verb, units = words[0], [word for word in words[1:] if not word.startswith("-")]
    os.makedirs("/run/units", exist_ok=True)
    for unit in units:
        name, _, instance = unit.partition("@")
        pid_file, log = f"/run/units/{unit}", f"/run/units/{unit}.log"
        pid = 0
        if os.path.exists(pid_file):
            with open(pid_file, encoding="ascii") as file:
                pid = int(file.read())
            if not is_running(pid):
                with open(log, encoding="utf-8") as file:
                    print(f"{unit} ended by itself, pid {pid}; its log:\n{file.read()}")
                return 1
        if pid and verb in ("stop", "restart"):
            os.kill(pid, signal.SIGTERM)
            while is_running(pid):
                time.sleep(0.02)
            os.remove(pid_file)
            pid = 0
        elif pid and verb == "reload":
            os.kill(pid, signal.SIGHUP)
        if not pid and verb in ("enable", "start", "restart"):
            with open(f"{SOURCE}/cmake/package/systemd/{name}@.service.in", encoding="ascii") as file:
                start = re.search(r"^ExecStart=(.*)", file.read(), re.M)[1]
            start = start.replace("@CMAKE_INSTALL_FULL_BINDIR@", BIN).replace("%i", instance)
            with open(log, "w", encoding="ascii") as out:
                child = subprocess.Popen(start.split(), stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            with open(pid_file, "w", encoding="ascii") as file:
                file.write(str(child.pid))
    return 0


def treatment(command):
    """The row of ELSEWHERE or NOT_HERE that it stands in."""
    for table in (ELSEWHERE, NOT_HERE):
        for row in table:
            if re.fullmatch(row[0], command.page) and re.match(row[1], command.text):
                return row
    return None


def names_of_tests():
    """Of this build, and what asan and debug have beside: the replays of fuzzers."""
    replays = {name[:-2] + "_replay" for name in os.listdir(os.path.join(SOURCE, "tests", "fuzz"))
               if name.startswith("fuzz_") and name.endswith(".c")}
    said = subprocess.run(["ctest", "--test-dir", BUILD, "-N"], capture_output=True, text=True, check=True, timeout=WAIT_S)
    return replays | set(re.findall(r"^ +Test +#\d+: (\S+)", said.stdout, re.M))


def collect():
    """The commands that are to be run; tables that have rows too many are told."""
    commands, spans, files, used, tests = [], [], [], set(), names_of_tests()
    for page in doc_commands.pages(SOURCE):
        found, inside, lines, bad = doc_commands.read(SOURCE, page)
        spans += inside
        files += lines
        for what in bad:
            check(False, what)
        for command in found:
            row = treatment(command)
            if row:
                used.add(row)
            else:
                commands.append(command)
    check_proofs(tests)
    for row in ELSEWHERE:
        check(row[2] in tests, f"there is no test {row[2]}")
    for row in ELSEWHERE + NOT_HERE:
        check(row in used, f"no command fits {row[:2]}")
    return commands, spans, files


def check_configurations(world, files):
    """Each block of configuration has no error, and no name that nobody knows; so has the example of an access file."""
    path = os.path.join(world.folder, "block.cnf")
    world.write(os.path.join(world.folder, "site.cnf"), "")
    for block in files:
        world.write(path, block.text)
        done = world.run(f"rmdscnf -strict check {path}")
        check(done.returncode == 0, f"{block.page}:{block.line}: {done.stdout}")
    check(len(files) > 3, f"only {len(files)} blocks of configuration were found")
    with open(os.path.join(SOURCE, "docs", "access-file.md"), encoding="utf-8") as page:
        rules = re.search(r"^Example:\n\n```text\n(.*?)^```", page.read(), re.M | re.S)[1]
    world.write(os.path.join(world.folder, "access"), rules)
    os.chmod(os.path.join(world.folder, "access"), 0o600)
    world.write(path, f"{HOST}*p2ps*accessFile : {world.folder}/access\n*runDir : {world.folder}\n*logDir : {world.folder}\n")
    done = world.run(f"rmdscnf -files check {path}")
    check(done.returncode == 0, f"docs/access-file.md, the example: {done.stdout}")


def check_proofs(tests):
    """docs/hardening.md names the test that proves a point in the last column of its tables."""
    with open(os.path.join(SOURCE, "docs", "hardening.md"), encoding="utf-8") as page:
        rows = re.findall(r"^\| .* \| (.*) \|$", page.read(), re.M)
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    check(len(named) > 5, f"docs/hardening.md: only {len(named)} tests are named")
    for name in sorted(named - tests):
        check(False, f"docs/hardening.md: there is no test {name}")


def check_spans(world, spans):
    """Each option that the text names is one of the program's."""
    helps = {}
    for span in spans:
        words = span.text.split()
        who = words[0] if words[0] != "tools/rmds" else " ".join(words[:3 if words[1] == "bench" else 2])
        if words[0].endswith("sim") or who.split()[-1].startswith("-") or who.endswith("NAME"):
            continue
        if who not in helps:
            done = world.run(f"{who} --help")
            helps[who] = done.stdout
            check(done.returncode == 0, f"{span.page}:{span.line}: {who} --help: {done.stdout}")
        for option in re.findall(r"(?<=\s)-{1,2}[A-Za-z][\w-]*", span.text):
            name = option.lstrip("-")
            check(re.search(rf"(?<![\w-])--?{re.escape(name)}(?![\w-])", helps[who]),
                  f"{span.page}:{span.line}: `{span.text}`: {who} --help has no {option}")


def report(world, command, exports):
    begin = time.monotonic()
    for name in PERHAPS:
        if re.search(rf"\b{name}\b", command.text) and not shutil.which(name):
            print(f"[--]  {command.page}:{command.line}: no {name} here: {command.text}")
            return
    code, said = perform(world, command, exports)
    print(f"{time.monotonic() - begin:5.1f} s  {command.page}:{command.line}  {command.text}", flush=True)
    check(code == 0, f"{command.page}:{command.line}: {command.text}: exit code {code}\n{said}")


def in_order(world, commands):
    """Page after page; those about the daemons of a host come last, so that these start once."""
    page, exports = "", []
    for command in sorted(commands, key=lambda one: (bool(re.search("systemctl|rmdsctl|rmdsmon|localhost -p 14002",
                                                                    one.page + one.text)),
                                                     one.page, one.line)):
        if command.page != page:
            world.end([child for child in world.children if child not in world.host])
            page, exports = command.page, []
        report(world, command, exports)


def main():
    commands, spans, files = collect()
    for program in doc_commands.PROGRAMS - {"rrcpsim", "rrmpsim"}:
        if not os.path.exists(os.path.join(BIN, program)):
            print(f"SKIP: this build has no {program}")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        try:
            check_configurations(world, files)
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                beside = [pool.submit(report, world, command, []) for command in commands if is_alone(command.text)]
                beside.append(pool.submit(check_spans, world, spans))
                in_order(world, [command for command in commands if not is_alone(command.text)])
                for one in beside:
                    one.result()
        finally:
            world.close()
            subprocess.run(["umount", "-l", "/etc"], check=False)
    print(f"{len(commands)} commands run, {len(BAD)} findings")
    return 1 if BAD else 0


if __name__ == "__main__":
    if sys.argv[3:4] == ["--systemctl"]:
        sys.exit(systemctl(sys.argv[4:]))
    if not spaces.enter("RMDS_DOCUMENTS_INSIDE", "-n", "-m", "-u", "-p", "--fork", "--mount-proc", "--kill-child"):
        print("SKIP: no namespaces may be made here")
        sys.exit(77)
    spaces.loopback_up()
    sys.exit(main())
