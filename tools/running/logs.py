"""logs.py - the logs of several programs as one, in the order of time."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import time

STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
LAST_BYTES = 1 << 20  # of each file: enough for any number of lines that a person reads


def stamped(path, data, stamp=""):
    """[(time, path, line)]; a line without a time belongs to the one before it."""
    found = []
    for line in data.decode("utf-8", "replace").splitlines():
        if STAMP.match(line):
            stamp = line.split(" ", 1)[0]
        found.append((stamp, path, line))
    return found


class Tail:
    """A file that grows, or that is made anew by a program that was started again."""

    def __init__(self, path):
        self.path, self.at, self.rest, self.inode = path, 0, b"", None

    def last(self):
        try:
            with open(self.path, "rb") as file:
                self.inode = os.fstat(file.fileno()).st_ino
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - LAST_BYTES))
                data = file.read()
                self.at = max(0, size - LAST_BYTES) + len(data)
        except OSError:
            return []
        return stamped(self.path, data)

    def more(self):
        try:
            with open(self.path, "rb") as file:
                status = os.fstat(file.fileno())
                if status.st_ino != self.inode or status.st_size < self.at:
                    self.at, self.rest, self.inode = 0, b"", status.st_ino
                file.seek(self.at)
                data = self.rest + file.read()
                self.at = file.tell()
        except OSError:
            return []
        whole, newline, self.rest = data.rpartition(b"\n")
        return stamped(self.path, whole + newline)


def show(paths, count, follow, is_over):
    """The last `count` lines of all together; then, as they come, those that follow until
    `is_over()`."""
    tails = [Tail(path) for path in paths]
    lines = sorted((line for tail in tails for line in tail.last()), key=lambda line: line[0])
    for _, _, line in lines[-count:] if count else []:
        print(line, flush=True)
    while follow:
        ends = is_over()
        for _, _, line in sorted((line for tail in tails for line in tail.more()),
                                 key=lambda line: line[0]):
            print(line, flush=True)
        if ends:
            return
        time.sleep(0.2)
