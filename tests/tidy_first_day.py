"""tidy_first_day.py - each row of tests/FIRST_DAY.md names a test, by a file and words that stand in it, or a reason;
sentences that could not be understood do not come back."""
# SPDX-License-Identifier: Apache-2.0
import re

TABLE = "tests/FIRST_DAY.md"
PROOF = re.compile(r"`([\w./-]+)::((?:[^`])+)`")
SELF = "tests/tidy_first_day.py"
# They stood in README.md, docs/, a manual page or a help.
NOT_UNDERSTOOD = [
    "it never stops to grow",
    "The part behind `@` is the network",
    "Leftmost wins",
    "beats its heart",
    "flows on at every one",
    "`[no]` comes with the reason",
    "the one it does not follow",
    "with that knob alone",
    "smaller than the noise of the rows",
    "it cannot be told |",
    "What has to be is",
    "without a gain that could be told",
    "the idlest is ended",
    "integer, 0.....",
    "having taken its statistics away",
    "sslauto is taken for it",
]
READ = re.compile(r"^(README\.md|docs/.*\.(md|scd|inc)|tools/[\w/]+\.c|src/conf/table\.c)$")


def flat(text):
    return re.sub(r"\s+", " ", text)


def check_row(row, number, text_of, files, say):
    last = re.split(r"(?<!\\) \| ", row.strip().strip("|"))[-1]
    proofs = PROOF.findall(last)
    if not proofs and not re.match(r"no test: \S", last.strip()):
        say(TABLE, number, "neither `file::words` nor `no test: reason` in the last column")
    if PROOF.sub("", last).strip() and proofs:
        say(TABLE, number, f"more than proofs in the last column: {PROOF.sub('', last).strip()}")
    for path, words in proofs:
        if path not in files:
            say(TABLE, number, f"{path} does not exist")
        elif flat(words.replace(r"\|", "|")) not in flat(text_of(path)):
            say(TABLE, number, f"{path} does not have the words: {words}")


def check(files, text_of, say):
    """`files`: all of the tree; `text_of(path)`: the text of one."""
    head = True
    count = 0
    for number, line in enumerate(text_of(TABLE).splitlines(), 1):
        if not line.startswith("|"):
            head = True
        elif head or set(line) <= set("| -"):
            head = False  # the names of the columns, and the line below them
        else:
            check_row(line, number, text_of, set(files), say)
            count += 1
    if count < 100:
        say(TABLE, 0, f"{count} rows: some are gone")
    for path in filter(READ.match, files):
        text = flat(text_of(path))
        for words in NOT_UNDERSTOOD:
            if words in text:
                say(path, 0, f'"{words}": nobody understood this sentence')
