#!/usr/bin/env python3
"""junit.py FILE - what ctest wrote as JUnit, one line a test: kind, name, reason."""
# SPDX-License-Identifier: Apache-2.0
import sys
import xml.etree.ElementTree as tree


def last_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


for case in tree.parse(sys.argv[1]).getroot().iter("testcase"):
    status = case.get("status")
    output = case.findtext("system-out")
    if status == "run":
        print("passed", case.get("name"), "", sep="\t")
    elif status == "notrun" or case.find("skipped") is not None:
        print("skipped", case.get("name"), last_line(output), sep="\t")
    else:
        print("failed", case.get("name"), last_line(output), sep="\t")
