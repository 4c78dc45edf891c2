#!/usr/bin/env python3
"""tidy.py [--unneeded] - the tree checked as text: what no compiler sees. Prints findings; exit
code 1 if any. --unneeded prints rows of tidy_known.py that let nothing pass any more."""
# SPDX-License-Identifier: Apache-2.0
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize

import tidy_first_day
import tidy_graph
import tidy_words
from tidy_known import PYTHON_LINES_TOO_LONG

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# tests/bench/limits holds prototypes as they were measured: they are data here, not our code.
CODE = re.compile(r"^(src|include|srcdist|p2ps|rrcpd|tools|tests)/(?!bench/limits/).*\.[ch]$")
# Engines do no I/O and read no clock: bytes, time and events in; bytes and events out.
# (rwf reads dictionary files only as bytes its caller hands over.)
ENGINES = tuple(
    f"src/{name}/"
    for name in ("rwf", "rssl", "rrcp", "rrmp", "omm", "marketfeed", "page", "itemkey", "conflate",
                 "cache", "delay", "recording")
) + ("p2ps/core/", "srcdist/core/")
ENGINE_FORBIDDEN = re.compile(
    r"#include "
    r"<(sys/socket|netinet/.*|time|sys/time|unistd|pthread|stdio|poll|sys/epoll|event2/.*)\.h>"
)
STDIO_USE = re.compile(r"\b(printf|fprintf|vfprintf|puts|fputs|fopen|stdout|stderr|FILE)\b")
# Headers of outside libraries, each for the one folder that may see it.
ONE_FOLDER = {
    "crypt.h": ("p2ps/credentials.c", "tools/rmdsaccess/"),
    "dlfcn.h": ("src/netio/", "src/seal/"),
    "event2/": "src/base/",
    "infiniband/": "src/netio/",
    "intel-ipsec-mb.h": "src/seal/",
    "numa.h": "src/base/",
    "openssl/": ("src/audit/", "src/jwt/", "src/netio/", "src/seal/", "src/ws/"),
    "rdma/": "src/netio/",
    "xxhash.h": ("src/recording/", "src/rrmp/"),
    "zlib.h": "src/rssl/",
    "zstd.h": "src/recording/",
    "lz4.h": "src/rssl/",
    "ncurses.h": "tools/rmdsmon/",
}
# Headers of the compiler, the C library and the kernel.
SYSTEM = re.compile(
    r"(sys|netinet|net|arpa|linux)/\w+\.h|(assert|cpuid|ctype|dirent|endian|errno|fcntl|ftw|getopt|glob|grp|ifaddrs|"
    r"inttypes|libgen|limits|locale|malloc|math|netdb|poll|pthread|pwd|regex|sched|semaphore|setjmp|signal|spawn|"
    r"stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|string|strings|syslog|termios|time|"
    r"unistd|wchar|x86intrin)\.h|rmds/\w+\.h"
)
FORBIDDEN_CALLS = {
    r"\b(strcpy|strcat|sprintf|vsprintf|gets)\(": "has no bound",
    r"\b(atoi|atol|atof)\(": "cannot report a wrong number",
    r"\b(rand|srand|random)\(": "use base/prng.h",
}
MACHINE_PATHS = re.compile(r"(/w" r"ork/|/f" r"arm/|/tmp/w" r"t/|/r" r"oot/)")
findings = []


def say(path, line, text):
    findings.append(f"{path}:{line}: {text}")


def tracked():
    out = subprocess.run(
        ["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False
    )
    if out.returncode == 0:
        return [f for f in out.stdout.splitlines() if os.path.isfile(os.path.join(ROOT, f))]
    return [
        os.path.relpath(os.path.join(d, f), ROOT)
        for d, _, files in os.walk(ROOT)
        if "/build" not in d and "/.git" not in d
        for f in files
    ]


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def check_head(path, lines):
    if len(lines) < 2 or "SPDX-License-Identifier: Apache-2.0" not in "".join(lines[:12]):
        say(path, 1, "no SPDX line below the head comment")
    if not lines[0].startswith("/*"):
        say(path, 1, "the first line must say what the file is: /* name - what it is. */")


def check_includes(path, lines):
    for number, line in enumerate(lines, 1):
        if not line.startswith("#include"):
            continue
        if path.startswith(ENGINES) and ENGINE_FORBIDDEN.search(line):
            if "<stdio.h>" in line and not STDIO_USE.search("\n".join(lines)):
                continue  # snprintf alone is no I/O
            say(path, number, f"an engine does no I/O: {line.strip()}")
        outside = re.match(r"#include <([^>]+)>", line)
        if outside and not path.startswith("tests/") and not SYSTEM.fullmatch(outside.group(1)):
            home = next((f for h, f in ONE_FOLDER.items() if outside.group(1).startswith(h)), None)
            if home is None:
                say(path, number, f"{line.strip()}: name its folder in ONE_FOLDER of tests/tidy.py")
            elif not path.startswith(home):
                say(path, number, f"{line.strip()} belongs to {home} alone")


def check_outside(texts):
    """A row of ONE_FOLDER that nothing includes says nothing."""
    for header, folder in ONE_FOLDER.items():
        if not any(f.startswith(folder) and f"#include <{header}" in t for f, t in texts.items()):
            say("tests/tidy.py", 0, f"ONE_FOLDER: nothing in {folder} includes <{header}>")


def check_lines(path, lines):
    in_code = path.startswith(("src/", "include/", "srcdist/", "p2ps/", "rrcpd/", "tools/"))
    for number, line in enumerate(lines, 1):
        # clang-format keeps to 100; what it cannot break (tables, long literals) has some room.
        if len(line) > 120 and CODE.match(path) and "http" not in line:
            say(path, number, f"{len(line)} columns; 100 is the limit")
        if "\t" in line and CODE.match(path):
            say(path, number, "tab")
        if in_code and CODE.match(path):
            for call, why in FORBIDDEN_CALLS.items():
                if re.search(call, line) and not line.lstrip().startswith(("*", "/*")):
                    say(path, number, f"{line.strip()[:40]}: {why}")
            if re.match(r"typedef (struct|union|enum)\b", line):
                say(path, number, "no typedef for structs: write struct name")
            if re.match(r"^(typedef .*\b\w+_t;|(struct|union|enum) \w+_t\b)", line):
                say(path, number, "names ending in _t belong to POSIX")


def check_header(path, text):
    if path.startswith("include/") and not re.search(r"#ifndef \w+_H\n#define \w+_H", text):
        say(path, 1, "no include guard")


def check_dead(files):
    """Every C file stands in some CMakeLists.txt, by its name."""
    lists = "\n".join(text_of(f) for f in files if f.endswith(("CMakeLists.txt", ".cmake")))
    for path in files:
        if CODE.match(path) and path.endswith(".c") and not path.startswith("tests/package/"):
            name = os.path.basename(path)
            stem = name[:-2]
            if not re.search(r"\b%s\b" % re.escape(name), lists) and not re.search(
                r"\b%s\b" % re.escape(stem), lists
            ):
                say(path, 1, "no CMakeLists.txt names it")


def check_readmes(files):
    folders = {os.path.dirname(f) for f in files if re.match(r"src/[^/]+/[^/]+\.c$", f)}
    for folder in sorted(folders):
        if folder + "/README.md" not in files:
            say(folder, 0, "no README.md")


def check_links(path, lines):
    for number, line in enumerate(lines, 1):
        for link in re.findall(r"\]\(([^)#\s]+)", line):
            target = os.path.join(ROOT, os.path.dirname(path), link)
            if "://" in link:
                continue
            if not os.path.exists(target):
                say(path, number, f"dead link {link}")
            elif os.path.isdir(target) and not any(
                name in os.listdir(target) for name in ("README.md", "rmds.1.scd", "rmds.cnf.5.scd")
            ):
                say(path, number, f"link to {link}, which has no README.md")


# Whose code reads the parameters of a program.
ALL_DAEMONS = ("src/conf/conf.c", "src/conf/relations.c", "src/conf/each.c", "src/attach/",
               "src/daemon/", "src/status/")
READERS = {
    "P2PS": ("p2ps/", *ALL_DAEMONS),
    "SRC": ("srcdist/", "src/rates/", *ALL_DAEMONS),
    "RRCPD": ("rrcpd/", *ALL_DAEMONS),
    "REC": ("tools/rmdsrec/", *ALL_DAEMONS),
    "MD_CONF_TOOLS": ("tools/rmds",),
}
PROGRAMS = {"ALL": "ENGINES | REC", "ENGINES": "P2PS | SRC | RRCPD"}


def check_parameters(files):
    """A program reads the parameters that the table has for it, and none that is absent."""
    table = text_of("src/conf/table.c") + text_of("src/conf/absent.c")
    rows = re.findall(r'\{ "(\w+)", ([\w |]+), ([\w |]+), ([\w |]+),', table)
    absent = re.findall(r'ABSENT\("(\w+)", ([\w |]+), ([\w |]+), ', table)
    if len(rows) != table.count('\n    { "') or len(absent) != table.count('\n    ABSENT('):
        say("src/conf/table.c", 0, "not every row can be read here")
    read = {}
    for program, folders in READERS.items():
        code = "\n".join(text_of(f) for f in files if f.startswith(folders))
        read[program] = set(re.findall(r'"(\w+)(?:\.[^"]*)?"', code))
    for row in rows + absent:
        programs = row[2]
        for name, those in PROGRAMS.items():
            programs = programs.replace(name, those)
        for program in programs.split(" | "):
            if row in absent and row[0] in read[program]:
                say("src/conf/table.c", 0, f"{row[0]}: {program} reads it; make it a row")
            elif row in rows and row[0] not in read[program]:
                say("src/conf/table.c", 0, f"{row[0]}: {program} does not read it; make it ABSENT")


def check_layers(files):
    """Each folder of src/ stands in CONTRIBUTING.md's list, above all that it USES."""
    block = re.search(r"^base <[^\n]*\n(?: [^\n]*\n)*", text_of("CONTRIBUTING.md"), re.M)
    level = {
        name: number
        for number, names in enumerate(block.group(0).split("<"))
        for name in names.split()
    }
    for path in files:
        folder = re.fullmatch(r"src/(\w+)/CMakeLists\.txt", path)
        module = folder and re.search(r"rmds_module\(%s\b([^)]*)\)" % folder.group(1),
                                      text_of(path))
        if not module:
            continue
        name = folder.group(1)
        if name not in level:
            say("CONTRIBUTING.md", 0, f"the list of layers lacks {name}")
            continue
        uses = re.search(r"\bUSES\s+([\w\s]+)", module.group(1))
        words = uses.group(1).split() if uses else []
        for used in words[: words.index("LIBS")] if "LIBS" in words else words:
            if used.islower() and used != name and level.get(used, -1) >= level[name]:
                say(path, 0, f"{name} uses {used}, which stands no lower in CONTRIBUTING.md's list")


def check_columns(files):
    """Python keeps to 100 columns, as C does; a line with a literal of 40 or more to 120."""
    wide = []
    for path in filter(re.compile(r".*\.py$").match, files):
        text = text_of(path)
        lines = text.splitlines()
        if all(len(line) <= 100 for line in lines):
            continue
        literal = [0] * (len(lines) + 1)
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            (first, start), (last, end) = token.start, token.end
            if token.type == tokenize.STRING:
                for number in range(first, last + 1):
                    literal[number] += ((end if number == last else len(lines[number - 1])) -
                                        (start if number == first else 0))
        for number, line in enumerate(lines, 1):
            if len(line) > 120 or len(line) - literal[number] > 60 and len(line) > 100:
                wide.append(f"{path}:{number}")
    if len(wide) > PYTHON_LINES_TOO_LONG:
        say("Python", 0, f"{len(wide)} lines are over 100 columns, {PYTHON_LINES_TOO_LONG} are "
            f"known; break yours. They are: {' '.join(wide)}")


def check_python(files):
    """Names that nothing defines, and imports that nothing uses: pyflakes, where it is
    installed."""
    if not shutil.which("pyflakes3"):
        print("tidy.py: no pyflakes3 here: Python is not linted", file=sys.stderr)
        return
    scripts = [os.path.join(ROOT, f) for f in files if f.endswith(".py")]
    run = subprocess.run(["pyflakes3", *scripts], capture_output=True, text=True, check=False)
    for line in (run.stdout + run.stderr).splitlines():
        findings.append(line.replace(ROOT + "/", "", 1))


def main():
    files = tracked()
    for path in files:
        text = text_of(path)
        lines = text.splitlines()
        if CODE.match(path) and lines:
            check_head(path, lines)
            check_includes(path, lines)
            check_header(path, text)
        if path.endswith(".md"):
            check_links(path, lines)
        if CODE.match(path) or path.endswith((".sh", ".py", ".md", ".cmake", ".txt", ".scd")):
            check_lines(path, lines)
            for number, line in enumerate(lines, 1):
                if MACHINE_PATHS.search(line):
                    say(path, number, "a path of somebody's machine")
    check_python(files)
    check_columns(files)
    check_dead(files)
    check_readmes(files)
    check_parameters(files)
    check_layers(files)
    texts = {f: text_of(f) for f in files if f.endswith((".c", ".h", ".md"))}
    product = re.compile(r"^(src|include|p2ps|srcdist|rrcpd|tools)/.*\.[ch]$")
    code = {f: t for f, t in texts.items() if product.match(f)}
    others = [
        t for f,
        t in texts.items() if f.startswith(("tests/", "docs/")) and f.endswith((".c", ".h"))
    ]
    if "--unneeded" in sys.argv:
        print("\n".join(tidy_graph.unneeded(code, others)))
        return 0
    tidy_graph.check(code, others, say)
    tidy_words.check(files, texts, say)
    tidy_first_day.check(files, text_of, say)
    check_outside(texts)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
