#!/usr/bin/env python3
"""rule_table.py - each rule of tr_json2 has its test: is the table of README.md true?"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SECTIONS = {1: 10, 2: 7, 3: 5, 4: 4, 5: 7, 6: 2, 7: 1, 8: 3, 9: 1, 10: 1, 13: 2}


def text_of(name):
    folder = os.path.join(HERE, "..", "..") if "/" in name else HERE
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return file.read()


def main():
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (\d+)\.(\d+) \| [^|]+ \| ([^|]+) \|$", file.read(), re.M)
    found = [(int(section), int(rule)) for section, rule, _ in rows]
    wanted = [(section, rule + 1) for section, count in SECTIONS.items() for rule in range(count)]
    assert found == wanted, sorted(set(found) ^ set(wanted))
    for section, rule, tests in rows:
        named = re.findall(r"`(\S+)` (\w+)", tests)
        assert named, f"rule {section}.{rule} has no test"
        for file, test in named:
            # Once where it is defined, once where it is run.
            uses = re.findall(rf"\b{test}\b", text_of(file))
            assert len(uses) > 1, f"rule {section}.{rule}: {test} is not run by {file}"
    print(f"{len(rows)} rules, each with a test")


if __name__ == "__main__":
    sys.exit(main())
