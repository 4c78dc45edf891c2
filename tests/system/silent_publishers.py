#!/usr/bin/env python3
"""silent_publishers.py - connections to serverPort that say nothing are bounded, and keep no
publisher out.

src_dist has 64 of them at most: for one more it ends the one that has been silent longest.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import socket
import subprocess
import tempfile

import conf_examples
import mirror

CONF = """*rmds*startList : src_dist.1
*rrcp*interface : lo
*rrcp*inProcess : True
*src_dist*serverPort : 14403
*src_dist*providerLimitPerHost : 0
"""
SILENT_MAX = 64


def silent():
    return socket.create_connection(("127.0.0.1", 14403), timeout=90)


def see_them_end(system, sample):
    crowd = [silent() for _ in range(SILENT_MAX + 1)]
    assert crowd[0].recv(1) == b"", "the first one is still there"
    mirror.await_value(system, "src_dist.1", "src_dist.handshakesEnded", lambda n: n == 1)
    publisher = conf_examples.tool("sink_driven_src", "-S", "IDNS", "-host", "127.0.0.1:14403",
                                   "-Q", sample, "-U", "10",
                                   stdout=subprocess.DEVNULL)
    try:
        mirror.await_value(system, "src_dist.1", "src_dist.providers", lambda n: n == 1)
        assert crowd[1].recv(1) == b"", "nobody made room for the publisher"
        more = silent()  # in the publisher's place: it no longer counts as one of them
        mirror.await_value(system, "src_dist.1", "src_dist.handshakesEnded", lambda n: n == 2)
        more.close()
    finally:
        publisher.terminate()
        publisher.wait()
    for one in crowd:
        one.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf = os.path.join(folder, "c.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF)
        run = conf_examples.load_run()
        system = run.System(conf)
        try:
            assert run.up(system) == 0, "it did not start"
            see_them_end(system, os.path.join(conf_examples.ROOT, "conf", "sample.xml"))
        finally:
            run.down(system)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
