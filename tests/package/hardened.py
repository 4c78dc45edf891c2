#!/usr/bin/env python3
"""hardened.py BIN-FOLDER BUILD-TYPE - what the linker and the compiler have done for each program, as readelf tells."""
# SPDX-License-Identifier: Apache-2.0
import os
import platform
import subprocess
import sys

PROGRAMS = ("rrcpd", "src_dist", "p2ps", "rmdsmon", "rmdscnf", "rmdstestclient", "sink_driven_src",
            "rmdsfault", "rmdsrec", "rwfdump", "rrcpperf")
IS_CHECKED = ("__memcpy_chk", "__snprintf_chk", "__vsnprintf_chk", "__fprintf_chk", "__read_chk", "__memset_chk")
ENDBR64 = b"\xf3\x0f\x1e\xfa"  # where an indirect call may go


def read(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def faults(path, build_type):
    """What is missing in a program, in words."""
    header, segments, dynamic = read(path, "-h"), read(path, "-l"), read(path, "-d")
    symbols = read(path, "--dyn-syms")
    found = []
    if "DYN (" not in header:
        found.append("no PIE")
    if "GNU_RELRO" not in segments or "BIND_NOW" not in dynamic and "NOW" not in dynamic:
        found.append("no full RELRO")
    for line in segments.splitlines():
        words = line.split()
        flags = "".join(word for word in words[6:-1] if set(word) <= set("RWE"))
        if words[:1] == ["GNU_STACK"] and "E" in flags:
            found.append("a stack that may be executed")
        if words[:1] == ["LOAD"] and "W" in flags and "E" in flags:
            found.append("memory that may be written and executed")
    if "TEXTREL" in dynamic:
        found.append("relocations in the code")
    if "RUNPATH" in dynamic or "RPATH" in dynamic:
        found.append("a search path for libraries")
    if "__stack_chk_fail" not in symbols:
        found.append("no stack protector")
    with open(path, "rb") as file:  # the mark of the whole program depends on the C library's objects, too
        if platform.machine() == "x86_64" and file.read().count(ENDBR64) < 10:
            found.append("no control-flow protection")
    if build_type != "Debug" and not any(name in symbols for name in IS_CHECKED):
        found.append("no checked copies (_FORTIFY_SOURCE)")
    return found


def main():
    folder, build_type = sys.argv[1:3]
    bad = 0
    there = [name for name in PROGRAMS if os.path.exists(os.path.join(folder, name))]
    assert {"rrcpd", "src_dist", "p2ps"} <= set(there), f"no daemons in {folder}"
    for name in there:
        found = faults(os.path.join(folder, name), build_type)
        print(f"{name:<16} {'; '.join(found) or 'ok'}")
        bad += len(found)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
