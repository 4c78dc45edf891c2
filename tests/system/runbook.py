#!/usr/bin/env python3
"""runbook.py - each log line and counter that docs/runbook.md names is one of the programs'."""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def literals():
    """The string literals of the programs, neighbours joined as the compiler does."""
    found = set()
    for folder in ("src", "p2ps", "srcdist", "rrcpd", "tools/rmdsrec"):
        for path in glob.glob(os.path.join(ROOT, folder, "**", "*.c"), recursive=True):
            with open(path, encoding="utf-8") as source:
                text = source.read()
            for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text):
                found.add("".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', match[0])))
    return found


def is_said(line, said):
    """Does one literal contain the fixed pieces of the line, in order?"""
    pieces = [piece.strip() for piece in line.split("...") if piece.strip(" :;,()")]
    for text in said:
        at = 0
        for piece in pieces:
            at = text.find(piece, at)
            if at < 0:
                break
            at += len(piece)
        else:
            return True
    return False


def bare(counter):
    return counter.removeprefix("src_dist.").removeprefix("rmdsrec.")


def main():
    said = literals()
    with open(os.path.join(ROOT, "docs", "runbook.md"), encoding="utf-8") as page:
        text = page.read()
    tables, counters = text.split("## Counters")
    counters = counters.split("\n## ")[0]
    lines = re.findall(r"^\| `([^`]+)` \|", tables, re.M)
    names = [name for row in re.findall(r"^\| (`[^|]+) \|", counters, re.M)
             for name in re.findall(r"`([^`]+)`", row)]
    wrong = [line for line in lines if not is_said(line, said)]
    wrong += [name for name in names
              if not any(re.search(rf"(^|\.){re.escape(bare(name))}$", t) for t in said)]
    print(f"{len(lines)} log lines and {len(names)} counters compared")
    for one in wrong:
        print(f"not said by any program: {one}")
    assert len(lines) > 30 and len(names) > 15, "the tables were not found"
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
