#!/usr/bin/env python3
"""junit.py - what ctest wrote as JUnit.

junit.py FILE [--again FILE]
                          a line for each test with kind, name and reason; of the tests in the second
                          file, which ran once more, those that passed then are unsteady
junit.py --bare FILE      the failed tests whose output shows no finding, a line each
junit.py --failures FILE  the end of what each failed test printed
junit.py --times FILE...  minutes of this machine that the tests of each subject took, of its budget
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys
import xml.etree.ElementTree as tree

# The first that fits a test's name. Builds are the other part of the first budget.
SUBJECTS = [
    ("staying up", 4, "chaos|survives|memory_limit"),
    ("tools", 2, "tools|rmdsmon|wireshark|status|httpd|demo|rwfdump|up_down|report"),
    ("chain", 6, "chain|rrmp|p2ps|srcdist|entitle|omm|itemkey|conf_example|reload|tls_of"),
    ("RRCP", 5, "rrcp|netio|attach"),
    ("RSSL", 3, "rssl|client|example|versions"),
    ("RWF", 2, "rwf|rmtes|cache|conflate|interop"),
    ("ground floor", 8, ""),
]

# What a sanitizer or MD_ASSERT says: a defect, however the test ends the next time.
FINDING = re.compile(r"ERROR: \w*Sanitizer|WARNING: \w*Sanitizer|LeakSanitizer|ThreadSanitizer|"
                     r"runtime error:|: broken promise: ")


def last_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def print_failure(case):
    lines = [line for line in (case.findtext("system-out") or "").splitlines()]
    lines = [line for line in lines if not line.startswith(("[ RUN", "[       OK"))]
    print(f"      {case.get('name')} failed:")
    for line in lines[-40:]:
        print("        " + line[:200])


def is_bare(case):
    return case.get("status") == "fail" and not FINDING.search(case.findtext("system-out") or "")


def print_kinds(case, again):
    status, output = case.get("status"), case.findtext("system-out")
    if status == "run":
        print("passed", case.get("name"), "", sep="\t")
    elif status == "notrun" or case.find("skipped") is not None:
        print("skipped", case.get("name"), last_line(output), sep="\t")
    elif case.get("name") in again:
        print("unsteady", case.get("name"), last_line(output), sep="\t")
    else:
        print("failed", case.get("name"), last_line(output), sep="\t")


def print_times(cases):
    spent = dict.fromkeys((name for name, _, _ in SUBJECTS), 0.0)
    for case in cases:
        subject = next(name for name, _, fits in SUBJECTS if re.search(fits, case.get("name")))
        spent[subject] += float(case.get("time") or 0) / 60 / len(os.sched_getaffinity(0))
    print(", ".join(f"{name} {spent[name]:.1f} of "
                    f"{budget}{' (OVER)' if spent[name] > budget else ''}"
                    for name, budget, _ in reversed(SUBJECTS)))


def cases_of(files):
    return [case for file in files for case in tree.parse(file).getroot().iter("testcase")]


def main():
    words = [word for word in sys.argv[1:] if word.startswith("--")]
    files = [file for file in sys.argv[1:] if not file.startswith("--") and os.path.exists(file)]
    again = set()
    if "--again" in words and len(files) == 2:
        again = {case.get("name") for case in cases_of(files[1:]) if case.get("status") == "run"}
        files.pop()
    cases = cases_of(files)
    if "--times" in words:
        print_times(cases)
        return
    for case in cases:
        if "--bare" in words:
            if is_bare(case):
                print(case.get("name"))
        elif "--failures" not in words:
            print_kinds(case, again)
        elif case.get("status") == "fail":
            print_failure(case)


main()
