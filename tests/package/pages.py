#!/usr/bin/env python3
"""pages.py SOURCE - docs/not-supported.md and docs/upgrading.md say what the code says: its words, its parameters, its versions."""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import sys

SOURCE = sys.argv[1]
BAD = []


def read(path):
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        return file.read()


def code():
    """All sources; a string that goes on in the next line is one."""
    paths = [path for folder in ("src", "p2ps", "srcdist", "rrcpd", "tools", "cmake")
             for kind in ("c", "h", "txt") for path in glob.glob(f"{SOURCE}/{folder}/**/*.{kind}", recursive=True)]
    return re.sub(r'"\s*\n\s*"', "", "".join(read(path) for path in paths))


def rows(page):
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in read(page).splitlines()
            if line.startswith("| ") and not line.startswith("| ---")]


def words(text):
    """What is quoted of a program: `words with a blank between them`."""
    return [quoted for quoted in re.findall(r"`([^`]+)`", text) if " " in quoted and not quoted.startswith("tools/rmds")]


def main():
    sources, table = code(), read("src/conf/table.c") + read("src/conf/absent.c")
    absent = set(re.findall(r'ABSENT\("(\w+)"', table))
    there = set(re.findall(r'^    { "(\w+)"', table, re.M))
    for row in rows("docs/not-supported.md"):
        for quoted in words(row[1]):
            if quoted not in sources:
                BAD.append(f"docs/not-supported.md: no program says {quoted!r}")
        for name in re.findall(r"`(\w+)`", row[0]):
            if name not in absent and name != "ViewType":
                BAD.append(f"docs/not-supported.md: {name} is not in the list of absent parameters (src/conf/absent.c)")
        for name in re.findall(r"`(\w*[a-z][A-Z]\w*)`", row[1]):
            if name not in there:
                BAD.append(f"docs/not-supported.md: there is no parameter {name}")
    for row in rows("docs/upgrading.md"):
        for quoted in words(" ".join(row)):
            if not all(part in sources for part in re.split(r"\.\.\.|\b[A-Z]{4,}\b", quoted)):
                BAD.append(f"docs/upgrading.md: no program says {quoted!r}")
    told = [row[1] for row in rows("docs/upgrading.md") if re.fullmatch(r"[\d.]+", row[1])]
    versions = [re.search(pattern, read(path), re.M) for path, pattern in (
        ("src/rrcp/packet.h", r"define PACKET_VERSION\s+0x(\d\d)\b"),
        ("include/rrmp/record.h", r"define RRMP_VERSION\s+(\d+)"),
        ("include/attach/shm.h", r"define ATTACH_SHM_VERSION\s+(\d+)u"),
        ("include/stats/layout.h", r"layout version, (\d+)"))]
    found = [".".join(match.group(1)) if match else "?" for match in versions] # 0x11 is 1.1
    if told != found:
        BAD.append(f"docs/upgrading.md: versions of RRCP, RRMP, attach, statistics: {told}; in the code {found}")
    print("\n".join(BAD) or "they say what the code says")
    return bool(BAD)


if __name__ == "__main__":
    sys.exit(main())
