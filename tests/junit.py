#!/usr/bin/env python3
"""junit.py [--failures] FILE - what ctest wrote as JUnit: a line for each test with kind, name and
reason; with --failures the end of what each failed test printed."""
# SPDX-License-Identifier: Apache-2.0
import sys
import xml.etree.ElementTree as tree


def last_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def print_failure(case):
    lines = [line for line in (case.findtext("system-out") or "").splitlines()]
    lines = [line for line in lines if not line.startswith(("[ RUN", "[       OK"))]
    print(f"      {case.get('name')} failed:")
    for line in lines[-40:]:
        print("        " + line[:200])


failures_only = "--failures" in sys.argv
for case in tree.parse(sys.argv[-1]).getroot().iter("testcase"):
    status = case.get("status")
    if failures_only:
        if status == "fail":
            print_failure(case)
        continue
    output = case.findtext("system-out")
    if status == "run":
        print("passed", case.get("name"), "", sep="\t")
    elif status == "notrun" or case.find("skipped") is not None:
        print("skipped", case.get("name"), last_line(output), sep="\t")
    else:
        print("failed", case.get("name"), last_line(output), sep="\t")
