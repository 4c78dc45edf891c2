"""doc_commands.py - the commands that documents show: fenced and indented blocks of Markdown, and the examples of manual
pages.

A block is commands, or configuration (`*name : value`), or its fence says what else it is (```text, ```java).
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import os
import re

Command = collections.namedtuple("Command", "page line text")
Span = collections.namedtuple("Span", "page line text")

# A line is a command if it begins with one of these, or with a program that is named by its path.
PROGRAMS = set("""p2ps src_dist rrcpd rmdsmon rmdsctl rmdsaccess rmdscnf rmdstestclient sink_driven_src rmdsfault rmdsrec rwfdump rrcpperf rrcpsim rrmpsim
    p2psmon src_distmon rrcpmon adsmon adhmon Sink_Driven_Src RMDSTestClient testclient testserver""".split())
OTHERS = set("""apt apt-get awk bash buildah cat cc chmod chown cmake cp ctest curl docker dpkg dpkg-deb echo env export gcc git
    grep install ip iptables java javac journalctl jq keytool kill ln ls make mkdir mv mvn nft openssl ping podman
    printf python3 rm rpm rpmbuild scp sed setcap sh source ssh sudo sysctl systemctl tar taskset tcpdump timeout tshark useradd usermod
    wget""".split())
PATH = re.compile(r"(?:\./|\.\./)?[\w.-]+(?:/[\w.@-]+)+$|/[\w./@-]+$|\./\w+$")
UNIT = "[Service]"
CONFIGURATION = re.compile(r"[!#*]|[\w.{}@<>*-]+[*.][\w.*-]+\s*:|#include|\[Service\]|ExecStart=")


def pages(source):
    """README files everywhere, docs/, and what stands at the top; not CHANGELOG.md, which tells of what was."""
    found = [name for name in os.listdir(source) if name.endswith(".md") and name != "CHANGELOG.md"]
    for top in sorted(os.listdir(source)):
        if top.startswith((".", "build")) or top == "shared" or not os.path.isdir(os.path.join(source, top)):
            continue
        for folder, folders, files in os.walk(os.path.join(source, top)):
            folders[:] = [name for name in folders if name not in ("target", "__pycache__")]
            here = os.path.relpath(folder, source)
            found += [os.path.join(here, name) for name in files
                      if name == "README.md" or (top == "docs" and name.endswith((".md", ".scd")))]
    return sorted(found)


def blocks_of(text, is_manual):
    """[(number of the first line, [line])] of blocks that say nothing of what they are."""
    found, fence, block, before = [], None, None, ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            if fence is None:
                fence, block = line[3:].strip(), (number + 1, [])
            else:
                if fence in ("", "sh"):
                    found.append(block)
                fence = block = None
        elif fence is not None:
            block[1].append(line)
        elif is_manual:
            continue
        elif line.startswith("    ") and (block or not before.strip()):
            if not block:
                block = (number, [])
                found.append(block)
            block[1].append(line[4:])
        else:
            block = None
        before = line
    return found


def examples_of(text):
    """The indented lines of a manual page's EXAMPLES."""
    part = re.search(r"^# EXAMPLES\n(.*?)(?=^# )", text, re.M | re.S)
    if not part:
        return []
    first = text[:part.start(1)].count("\n") + 1
    return [(first + at, [re.sub(r"\+\+$", "", line[1:]).replace("\\_", "_")])
            for at, line in enumerate(part[1].split("\n")) if line.startswith("\t")]


def bare(line):
    """Without the remark."""
    return re.sub(r"(^|\s+)# .*$", "", line).rstrip()


def is_command(line):
    words = line.split()
    while words and re.match(r"\w+=", words[0]):
        words.pop(0)
    return bool(words) and (words[0] in PROGRAMS or words[0] in OTHERS or bool(PATH.match(words[0])))


def logical(first, lines):
    """[(number, line)]: what a backslash ends goes on in the next line."""
    found, number, text = [], first, ""
    for at, line in enumerate(lines, first):
        if not text:
            number = at
        text += bare(line).strip() if text else bare(line)
        if text.endswith("\\"):
            text = text[:-1].rstrip() + " "
            continue
        if text:
            found.append((number, text))
        text = ""
    return found


def read(source, page):
    """([Command], [Span], [Span of a configuration], [complaint]) of a page."""
    with open(os.path.join(source, page), encoding="utf-8") as file:
        text = file.read()
    is_manual = page.endswith(".scd")
    commands, configurations, bad = [], [], []
    for first, lines in blocks_of(text, is_manual) + (examples_of(text) if is_manual else []):
        rows = logical(first, lines)
        if rows and CONFIGURATION.match(rows[0][1]) and not rows[0][1].startswith(UNIT):
            lines = [line.replace("\\_", "_") if is_manual else line for line in lines]
            configurations.append(Span(page, first, "\n".join(lines) + "\n"))
        if not rows or CONFIGURATION.match(rows[0][1]):
            continue
        for number, row in rows:
            if is_command(row):
                commands.append(Command(page, number, row))
            else:
                bad.append(f"{page}:{number}: is this a command? Else begin the block with ```text: {row}")
    commands.sort(key=lambda command: command.line)
    return commands, spans(page, text), configurations, bad


def spans(page, text):
    """`program -option` inside the text."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        for span in re.findall(r"`([^`]+)`", line):
            if span.split() and (span.split()[0] in PROGRAMS or span.startswith("tools/rmds ")):
                found.append(Span(page, number, span))
    return found
