#!/usr/bin/env python3
"""address_limits.py - one address has its connections and its logins at p2ps, and no more; another
one notices nothing."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import socket
import subprocess
import tempfile

import conf_examples
import mirror

MOST, LOGINS = 50, 40
CONF = f"""*rmds*startList : src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*inProcess : True
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
*p2ps*loginTimeout : 3600
*p2ps*mountLimitPerHost : {MOST}
*p2ps*loginRate : 1
*p2ps*loginBurst : 4
"""


def silent():
    return socket.create_connection(("127.0.0.1", 14202), timeout=90,
                                    source_address=("127.0.0.2", 0))


def rejected(system, count):
    mirror.await_value(system, "p2ps.1", "p2ps.mountsRejected", lambda n: n == count)


@contextlib.contextmanager
def consumers(items, count):
    client = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202",
                                "-f", items, "-conns", str(count), "-u", "demo", "-secs", "600",
                                "-l", "1", stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        client.kill()
        client.wait()


def see_connections(system, items):
    crowd = [silent() for _ in range(MOST)]
    crowd.append(silent())
    rejected(system, 1)
    # Those that were refused are here still, and take nobody's place; the others say nothing.
    for one in crowd[:10]:
        one.close()
    with consumers(items, 1):
        mirror.await_value(system, "p2ps.1", "p2ps.worker.0.loginAccepted", lambda n: n == 1)
    crowd += [silent() for _ in range(5)]
    rejected(system, 1)
    for one in crowd[10:]:
        one.close()


def see_logins(system, items):
    with consumers(items, LOGINS):
        mirror.await_value(system, "p2ps.1", "p2ps.worker.0.loginsThrottled", lambda n: n > 0)
        mirror.await_value(system, "p2ps.1", "p2ps.worker.0.loginAccepted", lambda n: n >= 3)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf, items = os.path.join(folder, "c.cnf"), os.path.join(folder, "items")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF)
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", "2", "X", stdout=out).wait()
        run = conf_examples.load_run()
        system = run.System(conf)
        try:
            assert run.up(system) == 0, "it did not start"
            see_connections(system, items)
            see_logins(system, items)
        finally:
            run.down(system)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
