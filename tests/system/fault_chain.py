#!/usr/bin/env python3
"""fault_chain.py [all] - the scenarios of rmdsfault, played to src_dist, with a consumer behind p2ps.

src_dist is an application like others: it does what is correct. The consumer keeps its connection
and its login all the while, and has its items again after the last scenario.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile
import time

import conf_examples

SHORT = "provider-dies service-flaps image-breaks-off login-refused-for-now".split()
MORE = """connection-breaks-often service-is-gone image-in-many-parts items-go-stale server-hangs
    item-closed-for-now updates-are-lost messages-are-broken provider-dies-under-load""".split()


def play(name):
    start = time.monotonic()
    done = subprocess.run([os.path.join(conf_examples.BIN, "rmdsfault"), "run", name, "-v",
                           "-S", "RDFD", "-port", "14102", "-ping", "3"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=300)
    assert done.returncode == 0, f"{name}: {done.returncode}\n{done.stdout}{done.stderr}"
    print(f"{done.stdout.splitlines()[-1]}, {time.monotonic() - start:.1f} s", flush=True)


def main():
    conf = os.path.join(conf_examples.ROOT, "conf", "examples", "in-process.cnf")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        system = run.System(conf)
        consumer = None
        try:
            assert run.up(system) == 0, "it did not start"
            consumer = conf_examples.tool(
                "rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202", "-u", "demo",
                "-il", "A.N,B.N", "-secs", "3600", "-timeout", "0", "-l", "2",
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            for name in SHORT + (MORE if sys.argv[1:] == ["all"] else []):
                play(name)
            assert consumer.poll() is None, "the consumer has ended"
            assert run.status(system) == 0, "a program is gone"
            consumer.terminate()
            text = consumer.communicate()[0]
            assert text.count("logged in at") == 1, text[-3000:]
            assert ", 0 connections lost" in text, text[-3000:]
        finally:
            run.down(system)
            if consumer and consumer.poll() is None:
                consumer.kill()
                consumer.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
