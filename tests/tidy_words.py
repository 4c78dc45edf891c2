"""tidy_words.py - what comments and documents cite exists: files, folders, sections, invariants."""
# SPDX-License-Identifier: Apache-2.0
import os
import re

import tidy_known as known

FILE = re.compile(r"(?<![\w./<$*-])((?:[\w-]+/)*[\w-]+\.(?:c|h|py|md|sh|lua))\b(?![\w(*])")
FOLDER = re.compile(r"`((?:src|include|tests|tools|docs|conf|p2ps|srcdist|rrcpd)/[\w./-]*\w)/?`")
SECTION = re.compile(r"\b(\w+\.md),? (?:section )?(\d+(?:\.\d+)*)")
INVARIANT = re.compile(r"\b([IR]\d{1,2})\b")
NOWHERE = re.compile(r"\bdesign \d|protocol's description|the style guide\b")
TICK = re.compile(r"((?:`\w+` )+)in `([\w/]+\.c)`")


def comments(text):
    for match in re.finditer(r"/\*.*?\*/", text, re.S):
        yield text.count("\n", 0, match.start()) + 1, match.group(0)


class Citations:
    def __init__(self, files, texts, say):
        self.files, self.texts, self.say = set(files), texts, say
        self.sections = {}
        self.invariants = set(re.findall(r"^\| ([IR]\d+) \|", texts["docs/design/invariants.md"],
                                         re.M))

    def resolves(self, path, name):
        """In the same folder or below, in the module's headers, or from the root."""
        folder = os.path.dirname(path)
        for root in ("", "include/", "src/", "docs/design/", "include/rmds/", folder + "/"):
            if root + name in self.files:
                return True
        while folder and folder not in ("src", "tests", "tools", "include"):
            module = folder.replace("src/", "include/", 1)
            for root in (folder, module, module.replace("include/", "include/rmds/", 1)):
                if any(f.startswith(root + "/") and f.endswith("/" + name) for f in self.files):
                    return True
            folder = os.path.dirname(folder)
        return False

    def section_exists(self, document, number):
        if document not in self.sections:
            path = next((f for f in self.files if f.endswith("/design/" + document)), None)
            text = self.texts.get(path, "")
            self.sections[document] = path and set(
                re.findall(r"^(?:#+ |\*\*)(\d+(?:\.\d+)*)\.? ", text, re.M))
        found = self.sections[document]
        return found is None or number in found

    def check_text(self, path, line, text):
        for match in FILE.finditer(text):
            name = match.group(1)
            if "NAME" not in name and not self.resolves(path, name) and (path,
                                                                         name) not in known.ABSENT:
                self.say(path, line + text.count("\n", 0, match.start()),
                         f"names {name}, which does not exist")
        for match in SECTION.finditer(text):
            if not self.section_exists(*match.groups()):
                self.say(path, line + text.count("\n", 0, match.start()),
                         f"{match.group(0)}: no such section")
        for match in NOWHERE.finditer(text):
            if (path, match.group(0)) in known.ABSENT:
                continue
            self.say(path, line + text.count("\n", 0, match.start()),
                     f'"{match.group(0)}" is not in the repository; cite docs/design')

    def check_invariants(self, path, text):
        for match in INVARIANT.finditer(text):
            if match.group(1) not in self.invariants:
                self.say(path, text.count("\n", 0, match.start()) + 1,
                         f"{match.group(1)} is not in docs/design/invariants.md")

    def check_file(self, path):
        text = self.texts[path]
        if path.endswith((".c", ".h")):
            for line, comment in comments(text):
                self.check_text(path, line, comment)
        elif path.endswith(".md") and path != "CHANGELOG.md":
            self.check_text(path, 1, text)
            for match in FOLDER.finditer(text):
                name = match.group(1)
                if not self.resolves(path, name) and not any(
                        f.startswith(name + "/") for f in self.files) and "Your" not in name:
                    self.say(path, text.count("\n", 0, match.start()) + 1,
                             f"names {name}, which does not exist")
        if path.startswith(("tests/sim/", "src/rrcp/", "src/rrmp/", "tests/fuzz/")):
            if path.endswith((".c", ".h", ".md")):
                self.check_invariants(path, text)

    def check_tick(self):
        path = "docs/design/tick.md"
        for number, line in enumerate(self.texts[path].splitlines(), 1):
            for names, file in TICK.findall(line):
                for name in re.findall(r"\w+", names):
                    if not re.search(r"^\w[^;\n]*\b%s\([^;]*?\)\s*\n\{" % name,
                                     self.texts.get(file, ""), re.M):
                        self.say(path, number, f"{name}() is not in {file}: say where it is now")


def check_subjects(texts, say):
    """A comment begins with its subject. What is left of the other kind may not grow."""
    found = [
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
        for path, text in texts.items()
        if path.startswith(("src/", "include/", "p2ps/", "srcdist/", "rrcpd/"))
        for match in re.finditer(r"/\* (What|Who|Said|Told) ", text)
    ]
    if len(found) > known.COMMENTS_WITHOUT_SUBJECT:
        say("comments", 0, f"{len(found)} begin with What, Who, Said or Told, "
            f"{known.COMMENTS_WITHOUT_SUBJECT} are known; begin yours with its subject. They are: "
            + " ".join(found))


def check(files, texts, say):
    check_subjects(texts, say)
    citations = Citations(files, texts, say)
    for path in sorted(texts):
        # tests/bench/limits is kept as it was measured.
        if not path.startswith("tests/bench/limits/"):
            citations.check_file(path)
    citations.check_tick()
