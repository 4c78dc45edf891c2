#!/usr/bin/env python3
"""road.py SOURCE BUILD - what tools/rmds up prints works when it is followed to the letter; ps,
status, logs, mon and down find what is up without being told, want a name where there are several,
and never find what is not theirs."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request

SOURCE, BUILD = (os.path.realpath(word) for word in sys.argv[1:3])
sys.path.insert(0, os.path.join(SOURCE, "tools"))
from running import spaces  # noqa: E402

BIN = os.path.join(BUILD, "bin")
WAIT_S = 120
SECOND = """*rmds*startList : rrcpd.net1.1, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*multicastPort : 8600
*Src_Dist*1.route*hostList : 127.0.0.1:24102
*Src_Dist*transmissionBus*serverPort : 24103
*p2ps*rsslPort : 24202
"""




def check(condition, what):
    if not condition:
        raise AssertionError(what)


def rmds(*words, code=0, wants=()):
    """A verb; `up` without the build that its script starts with."""
    door = [sys.executable, os.path.join(SOURCE, "tools", "rmds-run.py")]
    done = subprocess.run(door + list(words), cwd=SOURCE, capture_output=True, text=True,
                          timeout=WAIT_S, check=False)
    text = done.stdout + done.stderr
    check(done.returncode == code, f"{words}: exit code {done.returncode}, wanted {code}\n{text}")
    for want in wants:
        check(re.search(want, text, re.M), f"{words}: no '{want}' in\n{text}")
    return text


def line(text, word):
    found = re.search(rf"^ +{word} +(.*)$", text, re.M)
    check(found, f"no line '{word}' in\n{text}")
    return found[1]


def until(command, wanted):
    """Run a printed command until it has said something, then end it."""
    child = subprocess.Popen(command, shell=True, cwd=SOURCE, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True,
                             start_new_session=True)
    said = ""
    try:
        for row in child.stdout:
            said += row
            if re.search(wanted, said, re.M):
                return said
        raise AssertionError(f"{command}: no '{wanted}' in\n{said}")
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait()


def the_road(_):
    """up without an argument; then every line that it printed."""
    text = rmds("up", wants=[r"^\[ok\]  sink_driven_src ", r"^\[ok\]  p2ps\.1 ",
                             r"DEMO1\.O: BID [\d.]+ ASK [\d.]+"])
    port, service, item = re.search(r"localhost:(\d+), service (\w+), item (\S+)",
                                    line(text, "consumers")).groups()
    subprocess.run([os.path.join(BIN, "rmdstestclient"), "-S", service, "-h", "localhost", "-p",
                    port, "-il", item, "-e",
                    "-timeout", "60"], check=True, timeout=WAIT_S, stdout=subprocess.DEVNULL)
    until(line(text, "try"), rf"UPDATE  {item} [^\n]*\n +BID +22 ")
    example = os.path.join(BUILD, "examples", "example_consumer")
    if os.path.exists(example):
        until(f"{example} localhost {port} me {service} {item}",
              rf"^{item} UPDATE  .*BID [\d.]+  ASK [\d.]+")
    page = urllib.request.urlopen(line(text, "page").split()[0], timeout=WAIT_S).read().decode()
    check("<html" in page, f"no page: {page[:200]}")
    check(os.path.isdir(line(text, "logs")), "no folder of logs")
    follower = subprocess.Popen([sys.executable, os.path.join(SOURCE, "tools", "rmds-run.py"),
                                 "logs", "-f", "-n", "1", "p2ps"],
                                stdout=subprocess.PIPE, text=True)
    check("p2ps" in follower.stdout.readline(), "logs -f: no line")
    subprocess.run([os.path.join(BIN, "rmdstestclient"), "-S", service, "-h", "localhost", "-p",
                    port, "-il", item, "-X"],
                   check=True, timeout=WAIT_S, stdout=subprocess.DEVNULL)
    while "connected, rmdstestclient" not in (row := follower.stdout.readline()):
        check("p2ps" in row, f"logs -f p2ps: {row}")
    for command in line(text, "next").split(" · "):
        once = command + (" -once" if command.endswith("mon") else "")
        done = subprocess.run(once, shell=True, cwd=SOURCE, capture_output=True, text=True,
                              timeout=WAIT_S, check=False)
        check(done.returncode == 0 and "p2ps" in done.stdout,
              f"{once}: {done.returncode}\n{done.stdout}{done.stderr}")
    follower.communicate(timeout=WAIT_S)  # it ends with the system
    check(follower.returncode == 0, "logs -f")
    rmds("status", code=1, wants=["nothing is up; .* up starts"])
    for verb in ("ps", "logs"):
        rmds(verb, code=1, wants=["nothing is up"])


def two(folder):
    """Two systems: a name is wanted, and each name finds its own."""
    conf = os.path.join(folder, "second.cnf")
    with open(conf, "w", encoding="ascii") as file:
        file.write(SECOND)
    first = rmds("up")
    try:
        rmds("up", code=1, wants=["demo is up already"])
        text = rmds("up", conf,
                    wants=["publisher +none is started: src_dist connects to 127.0.0.1:24102"])
        for verb in ("status", "down", "mon", "logs"):
            rmds(verb, code=1,
                 wants=["^demo +up +5 of 5", "^second +up +3 of 3", f"say which: .* {verb} demo"])
        check([row["name"] for row in json.loads(rmds("ps", "--json"))] == ["demo", "second"],
              "ps --json")
        rmds("status", "--all", wants=["^demo, ", "^second, "])
        rmds("status", "third", code=1, wants=['no system "third" is up; there are: demo, second'])
        check("sink_driven_src" not in rmds("status", "second"), "that publisher is the other's")
        said = rmds("mon", "second", "-once")
        check("p2ps.1" in said and "rrcpd.net1.2" not in said, f"not the second one: {said}")
        rmds("logs", "second", "src_dist", "-n", "1000", wants=["src_dist.* ready, pid"])
        rmds("logs", "second", "nothing", code=1,
             wants=["has no program \"nothing\"; there are: rrcpd"])
        the_printed_publisher(text)
        rmds("down", "second")
        rmds("status", wants=["sink_driven_src"])
    finally:
        rmds("down", "--all")
    check(not os.path.isdir(line(first, "logs")), "the folder is still there")


def the_printed_publisher(text):
    """up CONF printed a command that is a publisher for it."""
    consumer = subprocess.Popen([os.path.join(BIN, "rmdstestclient"), "-S", "RDFD", "-h",
                                 line(text, "consumers"), "-il", "A",
                                 "-e", "-timeout", str(WAIT_S)], stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True)
    first = consumer.stderr.readline()
    child = subprocess.Popen("exec " + line(text, "start one"), shell=True, cwd=SOURCE,
                             stdout=subprocess.DEVNULL)
    try:
        said = first + consumer.communicate(timeout=WAIT_S)[1]
        check(consumer.returncode == 0, said)
        check(re.search(r"service RDFD is not offered here; there is none yet(?s:.*)service RDFD "
                        r"is offered now", said), said)
    finally:
        child.terminate()
        child.wait()


def not_ours(folder):
    """Systems of another place, of an earlier boot, with another process's pid, in a folder open to
    others."""
    conf = os.path.join(folder, "second.cnf")
    with open(conf, "w", encoding="ascii") as file:
        file.write(SECOND.replace(", src_dist.1, p2ps.1", ""))
    mine = os.environ["RMDS_STATE"]
    os.environ["RMDS_STATE"] = os.path.join(folder, "another")
    try:
        rmds("up", conf)
        state = json.loads(rmds("ps", "--json"))[0]
        os.environ["RMDS_STATE"] = mine
        rmds("ps", code=1, wants=["nothing is up"])
        os.environ["RMDS_STATE"] = os.path.join(folder, "another")
        os.chmod(os.environ["RMDS_STATE"], 0o777)
        rmds("ps", code=1, wants=["nothing is up"])
        os.chmod(os.environ["RMDS_STATE"], 0o700)
        file = os.path.join(state["folder"], "system.json")
        with open(file, encoding="utf-8") as saved:
            true = json.load(saved)
        wrong = dict(true, programs=[dict(true["programs"][0], started=1)])
        with open(file, "w", encoding="utf-8") as saved:
            json.dump(wrong, saved)
        rmds("ps", wants=["^second +GONE +0 of 1"])
        rmds("status", code=1, wants=["rrcpd.net1.1 +gone"])
        with open(file, "w", encoding="utf-8") as saved:
            json.dump(true, saved)
        rmds("status")
        rmds("down")
        os.makedirs(state["folder"])
        with open(file, "w", encoding="utf-8") as saved:
            json.dump(dict(true, boot="an earlier one"), saved)
        rmds("ps", code=1, wants=["nothing is up"])
        check(not os.path.exists(state["folder"]), "what an earlier boot left is still there")
    finally:
        os.environ["RMDS_STATE"] = os.path.join(folder, "another")
        rmds("down", "--all")
        os.environ["RMDS_STATE"] = mine


def interrupted(_):
    """Ctrl-C in the midst of up: what had been started is stopped, and nothing is left."""
    words = [sys.executable, "-u", os.path.join(SOURCE, "tools", "rmds-run.py"), "up"]
    with subprocess.Popen(words, cwd=SOURCE, stdout=subprocess.PIPE, text=True) as child:
        first = child.stdout.readline()
        child.send_signal(signal.SIGINT)
        said = first + child.communicate(timeout=WAIT_S)[0]
    check(child.returncode == 1 and "interrupted" in said, f"exit code {child.returncode}\n{said}")
    for pid in re.findall(r"pid (\d+)", said):
        check(not os.path.exists(f"/proc/{pid}"), f"{pid} still runs:\n{said}")
    rmds("ps", code=1, wants=["nothing is up"])


def taken(_):
    """A port that somebody else has is told with its holder before anything is started."""
    with socket.create_server(("127.0.0.1", 14202)):
        rmds("up", code=1,
             wants=[rf"\[no\]  p2ps\.1 +port 14202 \(rsslPort\) is taken by pid {os.getpid()} "
                    rf"\(python3"])
    rmds("ps", code=1)


def main():
    for program in ("p2ps", "src_dist", "rrcpd", "sink_driven_src", "rmdstestclient", "rmdsmon",
                    "rmdscnf"):
        if not os.path.exists(os.path.join(BIN, program)):
            print(f"SKIP: this build has no {program}")
            return 77
    os.environ["RMDS_BIN"] = BIN
    for case in (the_road, two, not_ours, interrupted, taken):
        print(case.__name__, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["RMDS_STATE"] = os.path.join(folder, "state")
            try:
                case(folder)
            finally:
                rmds("down", "--all")
    print("the road leads where it says")
    return 0


if __name__ == "__main__":
    spaces.enter_network("RMDS_ROAD_INSIDE")
    sys.exit(main())
