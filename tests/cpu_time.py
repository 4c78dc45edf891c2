#!/usr/bin/env python3
"""cpu_time.py BUILD [PATTERN] - what share of a core each test uses while it runs, beside what its
rmds_test_takes says.

Runs the tests of BUILD whose names match PATTERN one by one, alone. CPU time is that of every
process of the test that was waited for. A line for each test: seconds, CPU seconds, tenths of a
core, and what is stated; the tests whose statement is wrong by half come last again.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import resource
import subprocess
import sys
import time


def tests_of(build, pattern):
    words = ["ctest", "--show-only=json-v1", "-LE", "^long$"]
    shown = subprocess.run(words, cwd=build, check=True, capture_output=True, text=True).stdout
    for test in json.loads(shown)["tests"]:
        if re.search(pattern, test["name"]):
            yield test["name"], stated(test)


def stated(test):
    """The tenths of rmds_test_takes; None: it says nothing."""
    for item in test.get("properties", []):
        if item["name"] == "RESOURCE_GROUPS":
            return sum(need["slots"] for group in item["value"] for need in group["requirements"])
    return None


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(build, name):
    begin, before = time.monotonic(), cpu_s()
    done = subprocess.run(["ctest", "-R", f"^{re.escape(name)}$"], cwd=build, check=False,
                          capture_output=True)
    return time.monotonic() - begin, cpu_s() - before, done.returncode == 0


def main():
    build = sys.argv[1]
    pattern = sys.argv[2] if len(sys.argv) > 2 else ""
    wrong = []
    for name, tenths in tests_of(build, pattern):
        seconds, cpu, is_good = measure(build, name)
        found = round(10 * cpu / seconds) if seconds else 0
        line = (f"{seconds:8.2f} s {cpu:8.2f} s of CPU {found:3d} tenths, stated "
                f"{'none' if tenths is None else tenths:>4}  {name}{'' if is_good else '  FAILED'}")
        print(line, flush=True)
        if seconds > 2 and abs(found - (tenths or 0)) > max(2, found // 2):
            wrong.append(line)
    if wrong:
        print("\nstated wrongly:")
        print("\n".join(wrong))


main()
