#!/usr/bin/env python3
"""rmdsctl.py SOURCE BUILD - an operator tells running daemons what to do: list, trace, kick, drain,
log level, reload; and strangers, half requests and floods on the admin sockets get nothing, and
hold nobody up."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import os
import re
import resource
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request

SOURCE, BUILD = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
os.environ.update(RMDS_ROOT=SOURCE, RMDS_BUILD=BUILD)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "tools/report"), os.path.join(SOURCE, "tests/system")]
import chain  # noqa: E402

LINES = ["*p2ps*statusPort : 18081"]
WAIT_S = 90


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def until(what, condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not within {WAIT_S} s")
        time.sleep(0.05)


def ctl(*words, **more):
    run = subprocess.run([os.path.join(chain.BIN, "rmdsctl"), *words], stdin=subprocess.DEVNULL,
                         capture_output=True,
                         text=True, check=False, timeout=WAIT_S, **more)
    return run.returncode, run.stdout, run.stderr


def rows(text):
    """A list as dictionaries by its header; the lines below a row are left out."""
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")
             and not line.endswith(":")]
    names = lines[0].split()
    return [dict(zip(names, line.split())) for line in lines[1:] if line.split() != names]


def good(*words):
    code, out, error = ctl(*words)
    check(code == 0, f"rmdsctl {' '.join(words)}: {code} {out} {error}")
    return out


def refused(code, sentence, *words):
    found, out, error = ctl(*words)
    check(found == code and sentence in error, f"rmdsctl {' '.join(words)}: {found} {out} {error}")


def consumer(bed, user, count=100):
    return subprocess.Popen(
        [os.path.join(chain.BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1", "-p",
         str(chain.SINK_PORT),
         "-f", bed.items(count), "-u", user],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def mounts():
    code, out, _ = ctl("p2ps", "list", "mounts")
    return {row["USER"]: row for row in rows(out)} if code == 0 else {}


def ready():
    try:
        with urllib.request.urlopen("http://127.0.0.1:18081/ready", timeout=60) as answer:
            return answer.status, answer.read().decode().strip()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode().strip()


def socket_of(name):
    """Its path, out of the list that rmdsctl gives when it does not know which daemon is meant."""
    _, _, error = ctl("reload")
    return next(line.split()[1] for line in error.splitlines() if line.split()[:1] == [name])


# ---- what an operator does ----

def lists(bed):
    """Every list and a trace say what this chain carries."""
    for name in ("p2ps", "src_dist", "rrcpd.net1"):
        until(f"{name} is ready", lambda one=name: re.search(
            rf"\.1\.{re.escape(one)}  version \S+  pid \d+  up \d+ s  ready", good()))
    until("the mounts", lambda: {"jim", "joe"} <= set(mounts()))
    until("a number of each",
          lambda: all(re.fullmatch(r"0\.[1-9]\d*", row["ID"]) for row in mounts().values()))
    until("their items",
          lambda: [mounts()[user]["ITEMS"] for user in ("jim", "joe")] == ["100", "100"])
    check(rows(good("p2ps.1", "list", "services"))[0]["STATE"] == "up", "the service at p2ps")
    provider = rows(good("src_dist", "list", "providers"))[0]
    check(provider["ID"] == "0.0" and provider["STATE"] == "ready", f"the provider: {provider}")
    check(provider["USER"] == "-" and provider["KIND"] == "interactive",
          f"a provider of a route has no user: {provider}")
    service = rows(good("src_dist", "list", "services"))[0]
    check((service["SERVICE"], service["ITEMS"]) == ("RDFD", "100") and int(service["UPDATES"]) > 0,
          f"the service at src_dist: {service}")
    check(len(rows(good("src_dist", "list", "items", "RDFD"))) == 100, "items of src_dist")
    items = rows(good("p2ps", "list", "items"))
    check(len(items) == 100 and {row["WATCHERS"] for row in items} == {"2"},
          f"items of p2ps: {items[:3]}")
    name = items[0]["ITEM"]
    out = good("trace", "RDFD", name)
    here = next(row for row in rows(out.split("src_dist.1:")[0]) if row.get("ITEM") == name)
    there = next(row for row in rows(out.split("src_dist.1:")[1]) if row.get("ITEM") == name)
    check(here["STATE"] == "live" and there["STATE"] == "open", out)
    check(here["HANDLE"] == there["HANDLE"], f"the handle is that of the source: {out}")
    check(there["PROVIDER"] == provider["PROVIDER"] and ".src_dist" in here["SOURCE"], out)
    came = [int(value) for row in (here, there) for key,
            value in row.items() if key.startswith("IN-")]
    check(len(came) == 2 and min(came) > 0, f"updates come: {out}")
    check(len(re.findall(r"^  watcher 0\.\d+ (?:jim|joe) ", out, re.M)) == 2,
          f"its watchers: {out}")
    flows(bed)


def kicks(bed, log):
    """One consumer is cut, by its number or its user; the tool connects again, the other one never
    notices."""
    old = mounts()
    out = good("p2ps", "kick", old["jim"]["ID"])
    check(rows(out)[0]["USER"] == "jim", out)
    until("jim is back with another number",
          lambda: mounts().get("jim", old["jim"])["ID"] != old["jim"]["ID"])
    check(mounts()["joe"]["ID"] == old["joe"]["ID"], "joe is left alone")
    until("the log says that it was cut",
          lambda: "cut: an operator disconnected it" in log("p2ps.1"))
    who = rf"NOTICE rmdsctl: \S+ \(uid {os.getuid()}, pid \d+\): kick {re.escape(old['jim']['ID'])}: 1 disconnected"
    until("the log says who did it", lambda: re.search(who, log("p2ps.1")))
    good("p2ps", "kick", "user", "joe")
    until("joe is back", lambda: mounts().get("joe", old["joe"])["ID"] != old["joe"]["ID"])
    good("src_dist", "kick", "0.0")
    until("the provider is back", lambda: "ready" in ctl("src_dist", "list", "providers")[1])
    flows(bed)


def flows(bed):
    """Updates reach consumers: the number grows."""
    before = bed.values("p2ps")["p2ps.worker.0.updatesOut"]
    until("updates", lambda: bed.values("p2ps")["p2ps.worker.0.updatesOut"] > before + 500)
    return True


def drains(bed, log):
    """No new consumer, every screen says so; who is connected stays."""
    before = set(mounts())
    check("new consumers are refused" in good("p2ps", "drain"), "drain")
    until("not ready", lambda: ready() == (503, "not ready: draining: new consumers are refused"))
    late = consumer(bed, "late")
    try:
        until("a refusal", lambda: bed.values("p2ps")["p2ps.mountsRejected"] > 0)
        check(set(mounts()) == before, f"those who were there: {mounts()}")
        good("p2ps", "drain", "off")
        until("the late one is in", lambda: "late" in mounts())
        until("ready again", lambda: ready() == (200, "ready"))
    finally:
        late.kill()
        late.wait()
    until("the log",
          lambda: "draining begins" in log("p2ps.1") and "draining ends" in log("p2ps.1"))


def levels(log):
    good("p2ps", "loglevel", "debug")
    until("the level in the log", lambda: "the log level is DEBUG" in log("p2ps.1"))
    good("p2ps", "reload")
    until("the reload", lambda: "reload: configuration read again" in log("p2ps.1"))
    check("loglevel LEVEL" in good("rrcpd.net1.1", "help"), "every daemon has the common verbs")


def mistakes():
    refused(1, "say which daemon is meant", "reload")
    refused(1, "say which daemon is meant", "rrcpd", "reload")
    refused(2, "no daemon with an admin socket", "-run", "/nonexistent", "status")
    refused(2, "no daemon with an admin socket", "p2ps.7", "status")
    refused(1, "seconds from 0 to 60", "-secs", "x", "trace", "RDFD", "RIC0.O")
    refused(3, 'p2ps has no verb "kcik"; help lists those it has', "p2ps", "kcik", "0.1")
    refused(3, "kick wants: ID | user NAME | all", "p2ps", "kick")
    refused(3, '"x.1" is no mount', "p2ps", "kick", "x.1")
    refused(3, "no such consumer is connected", "p2ps", "kick", "0.999999")
    refused(3, "no such consumer is connected", "p2ps", "kick", "user", "nobody at all")
    refused(3, "no such provider is connected", "src_dist", "kick", "0.63")
    refused(3, "lists mounts, services and items", "p2ps", "list", "providers")
    refused(3, "has that item open", "p2ps", "trace", "RDFD", "NOT.THERE")
    refused(3, '"loud" is no level', "p2ps", "loglevel", "loud")
    refused(3, "on or off", "p2ps", "drain", "perhaps")


# ---- strangers ----

def raw(path, data, half=False):
    """What the daemon answers to these bytes."""
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(WAIT_S)
        try:
            one.connect(path)
        except BlockingIOError:  # its queue of connections is full
            return b""
        try:
            one.sendall(data)
            if half:
                one.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        answer = b""
        try:
            while part := one.recv(65536):
                answer += part
        except ConnectionResetError:
            pass
        return answer


def ask_as(uid, path):
    """A child with another user id asks; its answer, or the errno of connect()."""
    ours, theirs = os.pipe()
    folder = os.open(os.path.dirname(path), os.O_DIRECTORY)
    child = os.fork()
    if child == 0:
        try:
            os.fchdir(folder)
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.write(theirs, raw(os.path.basename(path), b"status\n"))
        except OSError as error:
            os.write(theirs, f"errno {error.errno}".encode())
        os._exit(0)
    os.close(theirs)
    os.close(folder)
    os.waitpid(child, 0)
    with os.fdopen(ours, "rb") as pipe:
        return pipe.read()


def strangers(path, log):
    mode = os.stat(path).st_mode
    check(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600,
          f"{path} has mode {stat.S_IMODE(mode):o}")
    if os.getuid() != 0 or not can_be(65534):
        print("no other user here: the credentials of strangers are not tried")
        return
    os.chmod(os.path.dirname(path), 0o755)  # as if the folder's mode did not keep strangers out
    answer = ask_as(65534, path)
    check(answer == b"errno 13", f"the mode keeps another user out: {answer}")
    os.chmod(path, 0o666)
    answer = ask_as(65534, path)
    os.chmod(path, 0o600)
    check(answer.startswith(b"error: only root and the user"),
          f"the kernel says who asks: {answer}")
    until("it is in the log",
          lambda: re.search(r"WARNING rmdsctl: .*uid 65534.* refused", log("p2ps.1")))


def without_descriptors(path, log):
    """A client that cannot be accepted is told once, and answered when there is room again."""
    with open(os.path.join(os.path.dirname(path), "pid"), encoding="ascii") as file:
        pid = int(file.read())
    limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (3, limits[1]))
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(WAIT_S)
        client.connect(path)
        client.sendall(b"status\n")
        until("it is in the log",
              lambda: "admin socket: accept: Too many open files; not accepting for a second"
              in log("p2ps.1"))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        check(client.recv(4096).startswith(b"ok"), "the client is answered when there is room")
    check(log("p2ps.1").count("not accepting") < 5, "the daemon does not try without a pause")


def can_be(uid):
    """In a namespace of one user there is no other one."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return any(int(first) <= uid < int(first) + int(count)
                   for first, _, count in (line.split() for line in file))


def every_change_is_told(path, log):
    """However fast they come, and whatever else is asked meanwhile."""
    done = 0
    for number in range(60):
        raw(path, b"list services\n")
        answer = raw(path, b"kick user nobody%d\n" % number)
        check(answer.startswith((b"error: no such consumer",
                                 b"error: more than 32 changes in a second")), str(answer))
        if b"more than" not in answer:
            done += 1
            until("it is in the log", lambda n=number: f"kick user nobody{n}: " in log("p2ps.1"))
    check(done >= 16, f"{done} of 60 were done")  # some of that second were used up before


def hostile(path, bed):
    """Bytes that are no request; and connections that are held open."""
    check(raw(path, b"x" * 5000).startswith(b"error: a request is one line"), "too long")
    check(raw(path, b"kick\x1b[2J 0.1\n").startswith(b"error: control bytes"), "control bytes")
    check(raw(path, b"\n").startswith(b"error: p2ps has no verb"), "an empty line")
    check(raw(path, b"status", half=True) == b"", "half a line, then the end")
    check(raw(path, b"status\nreload\n").startswith(b"ok\n"), "the first of two lines is answered")
    check(raw(path, b"status\n", half=True).startswith(b"ok\n"), "one that sends no more")
    check(raw(path, b"list\t" + b"\xff" * 300 + b"\n").startswith(b"error: p2ps lists"),
          "bytes that are no text")
    check(raw(path, b"a " * 200 + b"\n").startswith(b"error:"), "many words")
    idle = []
    for _ in range(8):
        one = socket.socket(socket.AF_UNIX)
        one.connect(path)
        one.sendall(b"stat")
        idle.append(one)
    until("the ninth is told", lambda: raw(path, b"status\n").startswith(b"error: 8 others ask"))
    flows(bed)
    # The daemon ends those who do not finish their line, after ten seconds.
    idle[0].settimeout(WAIT_S)
    check(idle[0].recv(100).startswith(b"error: no complete line within 10 s"),
          "the slow one is told")
    for one in idle:
        one.close()
    until("others may ask again", lambda: raw(path, b"status\n").startswith(b"ok\n"))
    for _ in range(50):  # those who do not wait for their answer
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            with contextlib.suppress(BrokenPipeError):  # 8 others ask: it may be turned away by now
                one.sendall(b"list items\n")
    until("and again", lambda: raw(path, b"list mounts\n").startswith(b"ok\nID USER"))


def a_killed_one_is_told(bed, path):
    """Its socket is there still, and nobody answers; its successor takes it."""
    pid = bed.pids()["p2ps.1"]
    os.kill(pid, signal.SIGKILL)
    until("it is told",
          lambda: "left its socket" in ctl("-run", os.path.dirname(os.path.dirname(path)), "p2ps",
                                           "status")[2])


def main():
    chain.enter_private_network()
    if os.environ["RMDS_BENCH_NET"] != "private":
        print("SKIP: no network namespace of our own")
        return 77
    bed = chain.Chain("reference-latency.cnf", LINES, ["-U", 5000, "-tps", 500])
    clients = []

    def log(name):
        """What it has logged, as the runner knows where."""
        with open(programs[name]["log"], encoding="utf-8") as file:
            return file.read()

    for folder, _, files in os.walk(bed.folder):
        if "system.json" in files:
            with open(os.path.join(folder, "system.json"), encoding="utf-8") as file:
                programs = {one["name"]: one for one in json.load(file)["programs"]}
    try:
        clients = [consumer(bed, "jim"), consumer(bed, "joe")]
        lists(bed)
        path = socket_of("p2ps.1")
        kicks(bed, log)
        drains(bed, log)
        levels(log)
        mistakes()
        strangers(path, log)
        every_change_is_told(path, log)
        without_descriptors(path, log)
        hostile(path, bed)
        a_killed_one_is_told(bed, path)
    finally:
        for client in clients:
            client.kill()
            client.wait()
        bed.close()
    print("all good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
