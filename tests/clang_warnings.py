#!/usr/bin/env python3
"""clang_warnings.py BUILD [FILE] - what clang says of every file of a build that it configured;
exit code 1 if anything. FILE names those that are left out, one a line, relative to the project."""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys


def judge(entry):
    words = shlex.split(entry["command"])
    words = [w for w in words if w != "ccache" and not w.startswith("-fsanitize")]
    at = words.index("-o")
    del words[at:at + 2]
    done = subprocess.run([*words, "-fsyntax-only"], cwd=entry["directory"], capture_output=True,
                          text=True, check=False)
    return done.stderr if done.returncode else ""


def left_out(path):
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
    with open(path, encoding="utf-8") as file:
        return {os.path.join(root, line.strip()) for line in file}


def main():
    others = left_out(sys.argv[2]) if len(sys.argv) > 2 else ()
    with open(os.path.join(sys.argv[1], "compile_commands.json"), encoding="utf-8") as file:
        # What the build makes itself may not be made yet.
        entries = {e["file"]: e for e in json.load(file) if os.path.exists(e["file"])
                   and os.path.realpath(e["file"]) not in others}.values()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        findings = [text for text in pool.map(judge, entries) if text]
    print("\n".join(findings)[:8000])
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
