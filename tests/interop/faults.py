#!/usr/bin/env python3
"""faults.py BUILD_DIR - the scenarios of rmdsfault, played to an EMA consumer that knows nothing of it.

EMA does what is correct, but for what stands in OTHERWISE. Four run side by side, each with a
consumer of its own.
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import os
import subprocess
import sys

BUILD = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
RUN = os.path.join(HERE, "run.sh")
FAULT = os.path.join(BUILD, "bin", "rmdsfault")
# What EMA does not do, and what rmdsfault says of it.
OTHERWISE = {
    # Its log tells of the closed dictionary streams.
    "dictionary-changes": "line 13: expect dictionary: 0 of 1 came",
    # After a frame whose flags it does not know it pings and does no more.
    "frames-are-broken": "line 21: expect connect: 0 of 1 came",
    # After an update that ends in the middle of its fields it reads and pings no more.
    "messages-are-broken": "line 14: expect request: 0 of 1 came",
}

# It asks again as fast as it is answered: a quick machine makes that more than the scenario allows.
SOMETIMES = {"item-closed-for-now": "line 10: forbid request|exit"}


def scenarios():
    listed = subprocess.run([FAULT, "list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in listed.splitlines() if " skipped: " not in line]


def play(name):
    environment = dict(os.environ, JAVA_OPTS="-XX:TieredStopAtLevel=1 -Xshare:auto")
    done = subprocess.run([FAULT, "run", name, "-port", "0", "-ping", "3", "-v", "--", RUN, BUILD,
                           "FaultConsumer"], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=500)
    wanted = 10 if name in OTHERWISE else 0
    is_right = done.returncode == wanted and OTHERWISE.get(name, "") in done.stdout
    if name in SOMETIMES and done.returncode == 10:
        is_right = SOMETIMES[name] in done.stdout
    print(f"{'ok ' if is_right else 'NOT'} {name}: exit code {done.returncode}", flush=True)
    return "" if is_right else f"---- {name}\n{done.stdout}"


def main():
    built = subprocess.run([os.path.join(HERE, "build.sh"), BUILD], check=False)
    if built.returncode != 0:
        return built.returncode
    names = sys.argv[2:] or scenarios()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        trouble = [text for text in pool.map(play, names) if text]
    print("\n".join(trouble))
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
