#!/usr/bin/env python3
"""clang_judges.py BUILD warnings OTHERS        what clang says of the files of a build that it configured
clang_judges.py BUILD tidy FILES CHANGED     what clang-tidy says of them; the analyzer looks at CHANGED

Exit code 1 if anything. OTHERS, FILES and CHANGED are lists: a path relative to the project in each
line; `warnings` leaves OTHERS out. A file that was found good is not judged again while it, every
header, the judge and the options are the same: BUILD/log/judged.* have what is known to be good."""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
NO_ANALYZER = "--checks=-clang-analyzer-*"


def digest(*parts):
    whole = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        whole.update(b"%d:" % len(data) + data)
    return whole.hexdigest()


def content(path):
    with open(path, "rb") as file:
        return file.read()


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip()]


def surroundings():
    """What every verdict depends on: the headers of the project, and the judges."""
    parts = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "build")))
        parts += [content(os.path.join(folder, name)) for name in sorted(names)
                  if name.endswith(".h")]
    parts += [content(os.path.join(ROOT, ".clang-tidy")), content(__file__)]
    for tool in ("clang", "clang-tidy"):
        parts.append(subprocess.run([tool, "--version"], capture_output=True, check=False).stdout)
    return digest(*parts)


class Judged:
    """The files that are known to be good, each by a digest of what its verdict depends on."""

    def __init__(self, path):
        self.path = path
        self.known = set(lines(path)) if os.path.exists(path) else set()
        self.around = surroundings()
        self.good = set()

    def key(self, kind, entry):
        return digest(self.around, kind, entry["command"], content(entry["file"]))

    def left(self, kind, entries):
        """Those of ENTRIES that are not known to be good."""
        keys = [(self.key(kind, entry), entry) for entry in entries]
        self.good |= {key for key, _ in keys if key in self.known}
        return [entry for key, entry in keys if key not in self.known]

    def keep(self):
        with open(self.path + ".new", "w", encoding="ascii") as file:
            file.writelines(key + "\n" for key in sorted(self.good))
        os.replace(self.path + ".new", self.path)


def warnings_of(entry):
    words = shlex.split(entry["command"])
    words = [w for w in words if w != "ccache" and not w.startswith("-fsanitize")]
    at = words.index("-o")
    del words[at:at + 2]
    done = subprocess.run([*words, "-fsyntax-only"], cwd=entry["directory"], capture_output=True,
                          text=True, check=False)
    return done.stderr if done.returncode else ""


def tidy_of(build, entries, words):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", build, *words,
                           *(entry["file"] for entry in entries)], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return (done.stdout or "clang-tidy failed: error") if done.returncode else ""


def judge(judged, kind, entries, number, how):
    """HOW says what is wrong with a list of at most NUMBER entries; what it says of all."""
    left = judged.left(kind, entries)
    groups = [left[at:at + number] for at in range(0, len(left), number)]
    findings = []
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for group, text in zip(groups, pool.map(how, groups)):
            if text:
                findings.append(text)
            else:
                judged.good |= {judged.key(kind, entry) for entry in group}
    return findings


def main():
    build, verb = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        # What the build makes itself may not be made yet.
        entries = {os.path.realpath(e["file"]): e for e in json.load(file)
                   if os.path.exists(e["file"])}
    named = [[os.path.join(ROOT, name) for name in lines(path)] for path in sys.argv[3:]]
    judged = Judged(os.path.join(build, "log", "judged." + verb))
    if verb == "warnings":
        rest = [entry for path, entry in entries.items() if path not in set(named[0])]
        findings = judge(judged, verb, rest, 1, lambda group: warnings_of(group[0]))
    else:
        every, changed = ([entries[p] for p in paths if p in entries] for paths in named)
        findings = judge(judged, verb, every, 8, lambda group: tidy_of(build, group, [NO_ANALYZER]))
        findings += judge(judged, "analyzer", changed, 4, lambda group: tidy_of(build, group, []))
    judged.keep()
    print("\n".join(findings)[:8000])
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
