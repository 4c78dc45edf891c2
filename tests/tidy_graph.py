"""tidy_graph.py - the shape of the code: circles between files, sizes, functions without a
caller."""
# SPDX-License-Identifier: Apache-2.0
import collections
import os
import re

import tidy_known as known

PRODUCT = re.compile(r"^(src|p2ps|srcdist|rrcpd|tools)/.*\.[ch]$")
SIZED = re.compile(r"^(src|include|p2ps|srcdist|rrcpd)/.*\.[ch]$")
LINES_MAX, FUNCTION_MAX = 600, 60

# A definition begins in the first column and its body with a brace in the first column.
DEFINITION = re.compile(
    r"^(?!static\b|typedef\b|#)([A-Za-z_][^;{}#()]*?)\b(\w+)\(([^;{}]*)\)\s*\n\{",
                        re.M)
PROTOTYPE = re.compile(r"^(?!typedef\b|static "
                       r"inline\b|#)[A-Za-z_][^;{}()#=]*?\b(\w+)\([^;{}]*\)[^;{}=]*;",
                       re.M)
# A function in a header, of which every file that includes it has a copy.
INLINE = re.compile(r"^static inline [^;{}()]*?\b(\w+)\([^;{}]*\)\s*\n\{", re.M)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
TAG = re.compile(r"\b(struct|union|enum) \w+")


def words_of(code):
    """Identifiers that may be functions: the tag of a struct may have the same name."""
    return WORD.findall(TAG.sub("", code))


def stem(path):
    return os.path.basename(path).rsplit(".", 1)[0]


def code_of(text):
    """Without comments and the insides of strings; line numbers stay."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def circles(edges):
    """Strongly connected components of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            group = set()
            while node not in group:
                group.add(stack.pop())
            if len(group) > 1:
                found.append(group)

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found


class Tree:
    """All C code, and who defines what."""

    def __init__(self, texts):
        self.code = {path: code_of(text) for path, text in texts.items()}
        self.defined = {}
        for path, code in self.code.items():
            if path.endswith(".c"):
                for match in DEFINITION.finditer(code):
                    line = code.count("\n", 0, match.start()) + 1
                    self.defined.setdefault(match.group(2), []).append((path, line))
        self.inlines = {
            name: [(path, code.count("\n", 0, match.start()) + 1)]
            for path, code in self.code.items() if path.endswith(".h")
            for match in INLINE.finditer(code) for name in [match.group(1)]}

    def folders(self):
        out = collections.defaultdict(list)
        for path in self.code:
            if PRODUCT.match(path):
                out[os.path.dirname(path)].append(path)
        return out


def check_circles(tree, say):
    for folder, paths in sorted(tree.folders().items()):
        own = {name: stem(path) for name, places in tree.defined.items() for path, _ in places
               if path in paths}
        edges = collections.defaultdict(set)
        for path in paths:
            if path.endswith(".c"):
                node = stem(path)
                used = {own[w] for w in words_of(tree.code[path]) if w in own}
                edges[node] |= used - {node}
        for group in circles(edges):
            allowed = [names for names, _ in known.CIRCLES.get(folder, [])]
            if not any(group <= names or "*" in names for names in allowed):
                say(folder, 0, f"circle of files: {' '.join(sorted(group))}; "
                    "move functions down, or hand in what is called back")


def check_shared_headers(tree, say):
    """A header that belongs to no file and declares functions hides who depends on whom."""
    for folder, paths in sorted(tree.folders().items()):
        for path in paths:
            if not path.endswith(".h") or path[:-1] + "c" in paths:
                continue
            owners = {stem(place) for name in PROTOTYPE.findall(tree.code[path])
                      for place, _ in tree.defined.get(name, []) if place in paths}
            if len(owners) > 1 and path not in known.SHARED_HEADERS:
                say(path, 0, f"declares functions of {len(owners)} files "
                    f"({' '.join(sorted(owners))}); give each its own header")


def functions(lines):
    """(name, first line, length) of each function."""
    start = None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
            while start > 0 and lines[start - 1] and not re.search(r"(^[}#]|;$|\*/$)",
                                                                   lines[start - 1]):
                start -= 1
        elif line == "}" and start is not None:
            match = re.search(r"(\w+)\(", " ".join(lines[start:start + 3]))
            yield (match.group(1) if match else "?", start + 1, number - start + 1)
            start = None


def check_sizes(texts, say):
    for path, text in sorted(texts.items()):
        lines = text.splitlines()
        if not SIZED.match(path):
            continue
        if len(lines) > LINES_MAX and path not in known.LONG_FILES:
            say(path, 0, f"{len(lines)} lines; {LINES_MAX} is the limit for one file")
        for name, line, length in functions(lines):
            if length > FUNCTION_MAX and name not in known.LONG_FUNCTIONS:
                say(path, line, f"{name}() has {length} lines; {FUNCTION_MAX} is the limit")


def check_callers(tree, tests, say):
    """Who is defined in src, p2ps, srcdist, rrcpd or tools is called by one of them."""
    words, declared, tested = collections.Counter(), collections.Counter(), set()
    installed = set()
    for path, code in tree.code.items():
        words.update(words_of(code))
        declared.update(PROTOTYPE.findall(code))
        if path.startswith("include/rmds/"):
            installed |= set(WORD.findall(code))
    for text in tests:
        tested |= set(WORD.findall(text))
    for name, places in sorted({**tree.inlines, **tree.defined}.items()):
        path, line = places[0]
        if name == "main" or name in installed:
            continue
        if words[name] > len(places) + declared[name]:
            continue
        if name not in tested and name not in known.UNCALLED and name not in known.FOR_TESTS:
            say(path, line, f"{name}() has no caller: delete it, it comes back with what needs it")
        elif name in tested and name not in known.FOR_TESTS and name not in known.UNCALLED:
            say(path, line, f"{name}() is called by tests only: delete it, or say in "
                "tests/tidy_known.py what it is for")


def check(texts, tests, say):
    """texts: C files of src, include, p2ps, srcdist, rrcpd, tools; tests: C code of tests."""
    tree = Tree(texts)
    check_circles(tree, say)
    check_shared_headers(tree, say)
    check_sizes(texts, say)
    check_callers(tree, tests, say)
    return tree


def unneeded(texts, tests):
    """Rows of tidy_known.py that let nothing pass any more."""
    tree, found = Tree(texts), set()

    def note(path, _line, text):
        found.add(path)
        found.update(WORD.findall(text))

    kept = {name: getattr(known, name) for name in
            ("CIRCLES", "SHARED_HEADERS", "LONG_FILES", "LONG_FUNCTIONS", "FOR_TESTS", "UNCALLED")}
    for name, rows in kept.items():
        setattr(known, name, type(rows)())
    check_shared_headers(tree, note)
    check_sizes(texts, note)
    check_callers(tree, tests, note)
    folders = set()
    check_circles(tree, lambda path, line, text: folders.add(path))
    for name, rows in kept.items():
        setattr(known, name, rows)
        for row in rows:
            if row not in (folders if name == "CIRCLES" else found):
                yield f"tests/tidy_known.py: {name} no longer needs {row}"
