#!/usr/bin/env python3
"""mount_stats.py - what p2ps shows of a mount: how fast it is served, how far it is, its name if
that is asked for."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile

import conf_examples
import mirror
import reload

BASE = """*rmds*startList : src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*inProcess : True
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
*p2ps*sessionStatsWindow : 2
*p2ps*rttInterval : 1
*logger*logLevel : INFO
"""
MOUNT = "p2ps.mount.0.1."


def run_with(folder, items, lookup, name):
    conf = os.path.join(folder, f"{lookup}.cnf")
    with open(conf, "w", encoding="ascii") as out:
        out.write(BASE + (f"*p2ps*disableHostLookup : {lookup}\n" if lookup else ""))
    run = conf_examples.load_run()
    system = run.System(conf)
    consumer = None
    try:
        assert run.up(system) == 0, "it did not start"
        consumer = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p",
                                      "14202", "-f", items,
                                      "-u", "demo", "-aid", "777", "-secs", "600", "-l", "1",
                                      "-rtt", stdout=subprocess.DEVNULL)
        mirror.await_value(system, "p2ps.1", MOUNT + "msgsOutRate", lambda n: n > 0)
        mirror.await_value(system, "p2ps.1", MOUNT + "bytesOutRate", lambda n: n > 0)
        mirror.await_value(system, "p2ps.1", MOUNT + "rttUs", lambda n: n > 0)
        mirror.await_value(system, "p2ps.1", MOUNT + "applicationId", lambda text: text == "777")
        wanted = rf"127\.0\.0\.1:\d+ \({re.escape(name)}\)" if lookup == "False" else r"127\.0\.0\.1:\d+"
        mirror.await_value(system, "p2ps.1", MOUNT + "host",
                           lambda text: re.fullmatch(wanted, text))
        is_said = re.search(rf"INFO .*mount: host=127\.0\.0\.1:\d+ is {re.escape(name)}\n",
                            reload.log_of(system, "p2ps.1"))
        assert bool(is_said) == (lookup == "False"), reload.log_of(system, "p2ps.1")
        consumer.send_signal(signal.SIGINT)
        consumer.wait(timeout=60)
    finally:
        if consumer:
            consumer.kill()
            consumer.wait()
        run.down(system)


def main():
    try:
        name = socket.getnameinfo(("127.0.0.1", 0), socket.NI_NAMEREQD)[0]
    except OSError:
        print("this host has no name for 127.0.0.1")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", "40", "X", stdout=out).wait()
        source = conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14102", "-L",
                                    "127.0.0.1", "-U", "1000",
                                    "-tps", "100", stdout=subprocess.DEVNULL)
        try:
            run_with(folder, items, "False", name)
            run_with(folder, items, "", name)
        finally:
            source.terminate()
            source.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
