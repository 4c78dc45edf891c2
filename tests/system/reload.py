#!/usr/bin/env python3
"""reload.py - SIGHUP changes what the reference marks as re-readable, in running daemons, and only
that.

A file with a mistake changes nothing: the log says where it is, and data flow on.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import tempfile
import time

import conf_examples
import mirror

BASE = """*rmds*startList : src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*inProcess : True
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
"""
BEFORE = """*logLevel : WARNING
*p2ps*itemLimit : 30
*p2ps*alice*itemLimit : 5
*p2ps*maxMounts : 10
"""
AFTER = """*logger*logLevel : INFO
*p2ps*itemLimit : 12
*p2ps*alice*itemLimit : 20
*p2ps*maxMounts : 11
*p2ps*timedWrites : True
*p2ps*flushInterval : 20
*Src_Dist*RDFD*rrmpFlushInterval : 20
"""
BROKEN = """*logger*logLevel : INFO
*p2ps*itemLimit : many
*p2ps*alice*itemLimit : 7
*Src_Dist*RDFD*rrmpFlushInterval : soon
"""


def consumer(user, items, seconds):
    return conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202",
                              "-f", items, "-u", user,
                              "-seqcheck", "-secs", str(seconds), "-l", "1", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)


def images(user, items):
    """How many of 40 items this user gets, and what the consumer says."""
    text, _ = consumer(user, items, 1).communicate(timeout=60)
    return int(re.search(r"(\d+) of 40 items open", text)[1]), text


def log_of(system, name):
    program = next(p for p in system.load()["programs"] if p["name"] == name)
    with open(program["log"], encoding="utf-8") as file:
        return file.read()


def wait_for(condition, what, seconds=90):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.15)


def reload(conf, text, system):
    with open(conf, "w", encoding="ascii") as out:
        out.write(BASE + text)
    for program in system.load()["programs"]:
        os.kill(program["pid"], signal.SIGHUP)


def check(conf, items, system):
    for user, wanted in (("demo", 30), ("alice", 5)):
        got, text = images(user, items)
        assert got == wanted, f"{user}: {got} items, {wanted} expected\n{text}"
    reload(conf, AFTER, system)
    for name in ("p2ps.1", "src_dist.1"):
        wait_for(lambda name=name: "reload: configuration read again" in log_of(system, name),
                 f"{name} does not log at its new level")
    assert re.search(r'WARNING .*maxMounts: "11" in place of "10" takes effect at the next start',
                     log_of(system, "p2ps.1")), log_of(system, "p2ps.1")
    for user, wanted in (("demo", 12), ("alice", 20)):
        got, text = images(user, items)
        assert got == wanted, f"after: {user}: {got} items, {wanted} expected\n{text}"
        assert " 0 gaps, 0 lost" in text and not re.search(r"sequence: 0 checked", text), text


def check_broken(conf, items, system):
    """With the values of the second file in force. Each daemon refuses the line that is its own."""
    line = BASE.count("\n") + 2
    own = {"p2ps.1": f'{conf}:{line}: *p2ps*itemLimit: "many" is not ',
           "src_dist.1": f'{conf}:{line + 2}: *Src_Dist*RDFD*rrmpFlushInterval: "soon" is not '}
    reload(conf, BROKEN, system)
    for name, wrong in own.items():
        wait_for(
            lambda name=name: "reload: nothing is taken" in log_of(system, name),
                 f"{name} takes a broken file")
        assert re.search("ERROR .*" + re.escape(wrong), log_of(system, name)), log_of(system, name)
    for user, wanted in (("demo", 12), ("alice", 20)):
        got, text = images(user, items)
        assert got == wanted, f"broken: {user}: {got} items, {wanted} expected\n{text}"


def check_beside_broken(conf, items, system):
    """Somebody who is connected all the time does not notice."""
    beside = consumer("bob", items, 600)
    try:
        mirror.await_value(system, "p2ps.1", "p2ps.worker.0.watches", lambda n: n == 12)
        check_broken(conf, items, system)
        updates = mirror.value(system, "p2ps.1", "p2ps.worker.0.updatesOut")
        mirror.await_value(system, "p2ps.1", "p2ps.worker.0.updatesOut", lambda n: n > updates)
        beside.send_signal(signal.SIGINT)
        text, _ = beside.communicate(timeout=60)
        assert re.search(r"[1-9]\d* checked, 0 gaps, 0 lost",
                         text) and " 0 connections lost" in text, text
    finally:
        beside.kill()
        beside.communicate()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf, items = os.path.join(folder, "c.cnf"), os.path.join(folder, "items")
        with open(conf, "w", encoding="ascii") as out:
            out.write(BASE + BEFORE)
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", "40", "X", stdout=out).wait()
        run = conf_examples.load_run()
        system = run.System(conf)
        source = conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L",
                                    "127.0.0.1", "-U", "1000",
                                    "-tps", "100", "-seqdata", stdout=subprocess.DEVNULL)
        try:
            assert run.up(system) == 0, "it did not start"
            check(conf, items, system)
            check_beside_broken(conf, items, system)
        finally:
            run.down(system)
            source.terminate()
            source.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
