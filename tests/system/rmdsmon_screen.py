#!/usr/bin/env python3
"""rmdsmon_screen.py - the screen of rmdsmon on a terminal: overview, one instance, filter, help,
other sizes, the end.

The terminal is a pseudo terminal; what rmdsmon writes is drawn into a grid of characters as xterm
would."""
# SPDX-License-Identifier: Apache-2.0
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import conf_examples

WAIT_S = 90
CONF = """\
*rrcp*interface : lo
*rrcp*authKeyFile :
*p2ps*rsslPort : 14202
*runDir : {folder}
*logDir : {folder}
"""
KEYS = " enter open  b back  / filter  s sort  h hour  p pause  ? help  q end"
SEQUENCE = re.compile(
    r"\x1b\[([?>]?)([0-9;]*)([A-Za-z@`])|\x1b[()].|\x1b[=>78M]|[\r\n\b\x0e\x0f\x07]|[^\x00-\x1f\x7f]")


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Grid:
    """The part of xterm that ncurses uses."""

    def __init__(self, rows, columns):
        self.rest, self.last = "", " "
        self.resize(rows, columns)

    def resize(self, rows, columns):
        self.rows, self.columns, self.row, self.column = rows, columns, 0, 0
        self.lines, self.top, self.bottom = [[" "] * columns for _ in range(rows)], 0, rows - 1

    def text(self):
        return ["".join(line).rstrip() for line in self.lines]

    def put(self, character):
        if self.column >= self.columns:
            self.row, self.column = min(self.row + 1, self.rows - 1), 0
        self.lines[self.row][self.column] = self.last = character
        self.column += 1

    def blank(self, row, begin, end):
        self.lines[row][begin:end] = " " * (min(end, self.columns) - begin)

    def erase(self, kind, how):
        if kind == "J":
            for row in range(self.row + 1 if how == 0 else 0, self.rows if how != 1 else self.row):
                self.blank(row, 0, self.columns)
        self.blank(self.row, 0 if how else min(self.column, self.columns),
                   self.columns if how != 1 else min(self.column + 1, self.columns))

    def scroll(self, up):
        """The lines of the scrolling region, by one."""
        empty = [" "] * self.columns
        if up:
            self.lines[self.top:self.bottom + 1] = self.lines[self.top + 1:self.bottom +
                                                              1] + [empty]
        else:
            self.lines[self.top:self.bottom + 1] = [empty] + self.lines[self.top:self.bottom]

    def feed(self, up):
        if self.row == (self.bottom if up else self.top):
            self.scroll(up)
        else:
            self.row = min(max(self.row + (1 if up else -1), 0), self.rows - 1)

    def control(self, final, numbers):
        first = numbers[0] if numbers else 0
        count = max(first, 1)
        if final == "H":
            self.row, self.column = count - 1, max(numbers[1] if len(numbers) > 1 else 1, 1) - 1
        elif final == "d":
            self.row = count - 1
        elif final in "G`":
            self.column = count - 1
        elif final in "AB":
            self.row += count if final == "B" else -count
        elif final in "CD":
            self.column += count if final == "C" else -count
        elif final in "JK":
            self.erase(final, first)
        elif final == "X":
            self.blank(self.row, self.column, self.column + count)
        elif final == "P":
            self.lines[self.row] = (self.lines[self.row][:self.column] +
                                    self.lines[self.row][self.column + count:] +
                                    [" "] * count)[:self.columns]
        elif final == "b":
            for _ in range(count):
                self.put(self.last)
        elif final in "ST":
            for _ in range(count):
                self.scroll(final == "S")
        elif final == "r":
            self.top, self.bottom = count - 1, (numbers[1] if len(numbers) > 1 and numbers[1]
                                                else self.rows) - 1
            self.row, self.column = 0, 0
        else:
            check(final in "mhlnct", f"the grid does not know CSI {numbers} {final}")
        self.row, self.column = min(max(self.row, 0), self.rows - 1), min(max(self.column, 0),
                                                                          self.columns)

    def write(self, text):
        text, at = self.rest + text, 0
        while at < len(text):
            found = SEQUENCE.match(text, at)
            if not found:
                check(text[at] == "\x1b" and len(text) - at < 20,
                      f"the grid does not know {text[at:at + 20]!r}")
                break  # the rest of it is on the way
            at = found.end()
            whole = found.group()
            if found.group(3):
                self.control(found.group(3), [int(n or 0) for n in found.group(2).split(";")])
            elif whole == "\r":
                self.column = 0
            elif whole in ("\n", "\x1bM"):
                self.feed(up=whole == "\n")
            elif whole == "\b":
                self.column = max(min(self.column, self.columns) - 1, 0)
            elif whole >= " ":
                self.put(whole)
        self.rest = text[at:]


class Terminal:
    """A program on a terminal of that size."""

    def __init__(self, rows, columns, *words):
        self.grid, self.raw = Grid(rows, columns), ""
        go, told = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.close(told)
            os.read(go, 1)  # the terminal has its size by then
            env = {k: v for k, v in os.environ.items() if k not in ("LINES", "COLUMNS")}
            os.execve(words[0], words, {**env, "TERM": "xterm", "LC_ALL": "C.UTF-8"})
        os.close(go)
        self.resize(rows, columns)
        os.close(told)

    def resize(self, rows, columns):
        self.grid.resize(rows, columns)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def take(self, seconds):
        """What it writes within that time into the grid; False: it has ended."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            chunk = os.read(self.fd, 65536).decode(errors="replace")
        except OSError:
            return False
        self.raw += chunk
        self.grid.write(chunk)
        return bool(chunk)

    def until(self, what, condition):
        deadline = time.monotonic() + WAIT_S
        while not condition(self.grid.text()):
            alive = self.take(0.1)
            shown = "\n".join(self.grid.text())
            check(alive, f"{what}: it ended; the screen was\n{shown}")
            check(time.monotonic() < deadline,
                  f"{what}: not within {WAIT_S} s; the screen is\n{shown}")

    def end(self):
        """Its exit code, when it ends by itself."""
        deadline = time.monotonic() + WAIT_S
        while self.take(0.1):
            check(time.monotonic() < deadline, "it does not end")
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)

    def close(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def start(folder, *words):
    """A daemon that is ready."""
    log = os.path.join(folder, words[0] + ".log")
    with open(log, "wb") as out:
        daemon = conf_examples.tool(*words, "-c", os.path.join(folder, "test.cnf"), "-fg",
                                    stderr=out)
    deadline = time.monotonic() + WAIT_S
    while True:
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if "NOTICE ready" in text:
            return daemon
        check(time.monotonic() < deadline and daemon.poll() is None,
              f"{words[0]} is not ready:\n{text}")
        time.sleep(0.05)


def line_of(name, state):
    """An overview in which that instance stands so."""
    return lambda text: any(re.match(rf" {re.escape(name)} +{state} ", line) for line in text)


def overview(terminal):
    terminal.until("the overview", lambda text: text[0].startswith("rmdsmon  host ")
                   and "2 instances" in text[0] and
                   text[1].startswith(" INSTANCE") and "items loss" in text[1] and text[-1] == KEYS)
    for name in ("p2ps.1", "rrcpd.net1.1"):
        terminal.until(f"{name} is well", line_of(name, "(ok|WARN)"))


def sizes(terminal):
    """Every size shows what there is room for; the smallest shows something, and does not end
    it."""
    for rows, columns, is_wide in ((24, 80, False), (50, 200, True), (3, 20, False), (1, 1, None),
                                   (30, 120, True)):
        terminal.resize(rows, columns)
        if is_wide is None:
            continue
        terminal.until(f"{rows} lines of {columns}",
                       lambda text: text[0].startswith("rmdsmon  host "[:columns]) and
                       text[1].startswith(" INSTANCE") and ("items loss" in text[1]) == is_wide and
                       text[-1] == KEYS[:columns].rstrip())
        check(not any(len(line) > columns for line in terminal.grid.text()), "a line is too long")


def one_instance(terminal):
    """Opened, another tab, filtered, and back."""
    terminal.press("\r")
    terminal.until("an instance is opened",
                   lambda text: re.match(r"(p2ps|rrcpd\.net1)\.1  (ok|WARN)", text[0]) and
                   text[1].startswith(" ALL  MOUNTS  SERVICES "))
    terminal.press("\t" * 7)  # the last tab
    terminal.until("its configuration", lambda text: any("logDir" in line for line in text[2:]) and
                   all(".config." in line for line in text[2:-1] if line))
    terminal.press("/runDir\r")
    terminal.until("what contains a text",
                   lambda text: text[0].endswith("/runDir") and "runDir" in text[2] and
                   not any("logDir" in line for line in text[2:]))
    terminal.press("b")
    overview(terminal)


def sorted_and_trends(terminal):
    """s takes the next order; below stands the last minute of the chosen instance, its nodes."""
    terminal.press("s")
    terminal.until("sorted by name", lambda text: text[0].endswith("  by name") and
                   text[2].startswith(" p2ps.1 ") and text[3].startswith(" rrcpd.net1.1 "))
    terminal.until("the minute of the first", lambda text: any(
        re.match(r" p2ps\.1, the last [1-9]\d* s +now +least +most$", line) for line in text) and
        any(re.match(r" in/s +s+ +0 +0 +0$", line) for line in text) and
        any(re.match(r" turn p99 us  .*[0-9]$", line) for line in text))
    terminal.press("\x1bOB")
    terminal.until("the minute of the next", lambda text: any(
        re.match(r" rrcpd\.net1\.1, the last \d+ s ", line) for line in text))
    terminal.press("h")
    terminal.until("the hour that the daemon keeps", lambda text: any(
        re.match(r" rrcpd\.net1\.1, the last \d*[05] s ", line) for line in text) and
        any("h hour" in line for line in text))
    terminal.press("hs" + "s" * 7)
    terminal.until("by trouble again", lambda text: "  by " not in text[0])
    terminal.press("\x1bOA")


def main():
    rmdsmon = os.path.join(conf_examples.BIN, "rmdsmon")
    xterm = subprocess.run(["infocmp", "xterm"], capture_output=True, check=False)
    if not os.path.exists(rmdsmon) or xterm.returncode != 0:
        print("SKIP: no rmdsmon, or no xterm in terminfo")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "test.cnf"), "w", encoding="ascii") as out:
            out.write(CONF.format(folder=folder))
        daemons, terminal = [], None
        try:
            daemons = [start(folder, "rrcpd", "net1", "-instance", "1")]
            daemons.append(start(folder, "p2ps", "-instance", "1"))
            terminal = Terminal(40, 120, rmdsmon, "-run", folder, "-watch", "0.2")
            overview(terminal)
            sizes(terminal)
            sorted_and_trends(terminal)
            one_instance(terminal)
            terminal.press("?")
            terminal.until("the help", lambda text: any("any key goes on" in line for line in text))
            terminal.press("x")
            overview(terminal)
            terminal.press("p")
            terminal.until("the pause", lambda text: text[-1] == " paused: p goes on")
            daemons[0].kill()
            daemons[0].wait()
            terminal.press("p")
            terminal.until("a dead daemon", line_of("rrcpd.net1.1", "DEAD"))
            terminal.resize(30, 80)  # the note takes the place of figures rather than be cut
            terminal.until("the whole note", lambda text: any(
                re.match(r" rrcpd\.net1\.1 +DEAD .*pid \d+, last heartbeat \d+ s ago$", line)
                for line in text))
            terminal.press("q")
            code = terminal.end()
            check(code == 0, f"it ended with {code}")
            check("\x1b[?1049h" in terminal.raw and "\x1b[?1049l" in terminal.raw,
                  "the terminal is not as before")
        finally:
            if terminal:
                terminal.close()
            for daemon in daemons:
                daemon.kill()
                daemon.wait()
    print("all good")
    return 0


if __name__ == "__main__":
    conf_examples.enter_namespace()
    sys.exit(main())
