#!/usr/bin/env python3
"""upgrading.py - docs/upgrading.md says the defaults that the programs have, and each limit of them."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
OWNERS = {"p2ps": ("p2ps",), "src_dist": ("Src_Dist",), "rrcp": ("rrcp",), "all": ("",)}
# Limits of one address, user, consumer or publisher: a line of the page names each.
LIMITS = re.compile(r"LimitPer|PerMount$|^(login|request|post)(Rate|Burst)$")


def defaults():
    """(owner, parameter) -> default, of `rmdscnf reference cnf`."""
    program = os.path.join(os.environ["RMDS_BIN"], "rmdscnf")
    text = subprocess.run([program, "reference", "cnf"], check=True, capture_output=True,
                          text=True).stdout
    found = {}
    for line in re.findall(r"^!\*(\S+) : (.*)$", text, re.M):
        owner, _, parameter = line[0].rpartition("*")
        found[owner.partition("*")[0], parameter] = line[1].strip()
    return found


def main():
    known = defaults()
    with open(os.path.join(ROOT, "docs", "upgrading.md"), encoding="utf-8") as page:
        rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\S+) \| [^|]+ \| [^|]+ \|$", page.read(), re.M)
    mistakes = []
    for parameter, owner, value in rows:
        is_value = [known.get((o, parameter)) for o in OWNERS[owner]]
        if value not in is_value:
            mistakes.append(f"{parameter} of {owner} is {is_value[0]}, not {value}")
    said = {row[0] for row in rows}
    for (_, parameter) in known:
        if LIMITS.search(parameter) and parameter not in said:
            mistakes.append(f"{parameter} is not in the table of docs/upgrading.md")
    print(f"{len(rows)} defaults compared", *mistakes, sep="\n")
    return 1 if mistakes or len(rows) < 10 else 0


sys.exit(main())
