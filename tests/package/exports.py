#!/usr/bin/env python3
"""exports.py LIBRARY HEADERS LIST - librmds exports each function of its headers, with its version,
and nothing else; all that an earlier version exported is still there (LIST, one name a line)."""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import subprocess
import sys


def declared(headers):
    """Functions that the headers declare: not static, not typedefs, not members."""
    found = set()
    for path in glob.glob(os.path.join(headers, "*.h")):
        with open(path, encoding="ascii") as file:
            text = re.sub(r"/\*.*?\*/|^#.*?$", "", file.read(), flags=re.S | re.M)
        text = text.replace('extern "C" {', "")
        for _ in range(3):  # bodies, and what they have in them
            text = re.sub(r"\{[^{}]*\}", ";", text)
        for statement in text.split(";"):
            name = re.search(r"\b((?:rmds|rwf)_\w+)\(", statement)
            if name and "static" not in statement and "typedef" not in statement:
                found.add(name[1])
    return found


def exported(library):
    text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True,
                          check=True).stdout
    symbols = {line.split()[2] for line in text.splitlines()}
    return {name.split("@")[0]: name.partition("@@")[2] for name in symbols
            if not name.startswith("OPENRMDS_")}


def main():
    library, headers, path = sys.argv[1:4]
    there, wanted = exported(library), declared(headers)
    with open(path, encoding="ascii") as file:
        before = set(file.read().split())
    bad = [f"{name} is declared and not exported" for name in sorted(wanted - set(there))]
    bad += [f"{name} is exported, and no header declares it"
            for name in sorted(set(there) - wanted)]
    bad += [f"{name} has no version" for name, version in sorted(there.items()) if not version]
    bad += [f"{name} was exported before: a new soname, or keep it"
            for name in sorted(before - set(there))]
    bad += [f"{name} is new: add it to {os.path.basename(path)}"
            for name in sorted(set(there) - before)]
    print("\n".join(bad[:50]) or f"{len(there)} functions")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
