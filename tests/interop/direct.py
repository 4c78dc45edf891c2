#!/usr/bin/env python3
"""direct.py BUILD_DIR - an EMA consumer connected to sink_driven_src and to a replay directly: it
logs in, takes directory and dictionary, and gets its images."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
ITEMS = ("A.N", "B.N")


def program(name):
    return os.path.join(BUILD, "bin", name)


def port_of(server):
    for line in server.stdout:
        found = re.search(r"listening on port (\d+)", line)
        if found:
            return found[1]
    raise AssertionError("the provider does not listen")


def images_come(port):
    """Both images come to an EMA consumer at that port, before its output ends."""
    environment = dict(os.environ, JAVA_OPTS="-XX:TieredStopAtLevel=1 -Xshare:auto",
                       RMDSFAULT_PORT=port, RMDSFAULT_SERVICE="DIRECT_FEED")
    wanted, said = set(ITEMS), []
    with subprocess.Popen([os.path.join(HERE, "run.sh"), BUILD, "FaultConsumer"], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as consumer:
        for line in consumer.stdout:
            said.append(line)
            found = re.search(r"image of (\S+), Open / Ok", line)
            wanted.discard(found and found[1])
            if not wanted:
                break
        consumer.kill()
    assert not wanted, "".join(said)


def serve(words, use):
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as server:
        try:
            use(port_of(server))
        finally:
            server.kill()


def record(port, path):
    done = subprocess.run([program("rmdsrec"), "record", path, "-host", f"127.0.0.1:{port}", "-S",
                           "DIRECT_FEED", "-il", ",".join(ITEMS), "-secs", "2"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=300)
    assert done.returncode == 0, done


def main():
    built = subprocess.run([os.path.join(HERE, "build.sh"), BUILD], check=False)
    if built.returncode != 0:
        return built.returncode
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "day.rrec")

        def use(port):
            images_come(port)
            record(port, path)
        serve([program("sink_driven_src"), "-S", "DIRECT_FEED", "-N", "0", "-L", "127.0.0.1",
               "-dict", os.path.join(SOURCE, "conf"), "-seqdata"], use)
        serve([program("rmdsrec"), "replay", path, "-N", "0", "-L", "127.0.0.1"], images_come)
    return 0


if __name__ == "__main__":
    sys.exit(main())
