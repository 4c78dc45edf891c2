#!/usr/bin/env python3
"""one_life.py - the daemons start, obey signals and end alike.

The same steps for each of them: in the foreground and in the background, by option and by default;
what each signal logs; where the log goes; what a service manager gets; the exit codes.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import socket
import subprocess
import tempfile
import time

import conf_examples

WAIT_S = 60
DAEMONS = {"rrcpd": (["rrcpd", "net1"], "rrcpd.net1", "background"),
           "src_dist": (["src_dist"], "src_dist", "foreground"),
           "p2ps": (["p2ps"], "p2ps", "foreground"),
           "rmdsrec": (["rmdsrec"], "rmdsrec", "foreground")}


def until(is_so, what):
    end = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(0.01)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_alive(pid):
    """A zombie is not."""
    return re.search(r"^State:\s+[^ZX]", read(f"/proc/{pid}/status"), re.M) is not None


class Life:
    def __init__(self, folder, name, place=None):
        self.name, self.folder = name, os.path.join(folder, place or name)
        self.words, self.process, self.default = DAEMONS[name]
        os.mkdir(self.folder)
        self.conf = self.write("rmds.cnf", "")
        self.pid_file = os.path.join(self.folder, f"{self.process}.1", "pid")
        self.log = os.path.join(self.folder, f"{self.process}.1.log")

    def write(self, name, lines):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"*runDir : {self.folder}\n*logDir : {self.folder}\n"
                       f"*rrcp*interface : lo\n*rmdsrec*recordFollow : True\n"
                       f"*rmdsrec*recordFile : {self.folder}/%Y%m%d-%H%M%S.rrec\n{lines}")
        return path

    def run(self, *options, conf=None):
        """A start that comes back by itself."""
        return subprocess.run([os.path.join(conf_examples.BIN, self.words[0]), *self.words[1:],
                               "-c", conf or self.conf,
                               *options], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=WAIT_S,
                              check=False)

    def start(self, *options, **more):
        return conf_examples.tool(*self.words, "-c", self.conf, *options, **more)

    def pid(self):
        return int(read(self.pid_file) or 0)

    def end(self, pid):
        os.kill(pid, signal.SIGTERM)
        until(lambda: not is_alive(pid), f"{self.name} does not end")

    # ---- what they have in common ----

    def obeys_signals_in_the_foreground(self):
        log = os.path.join(self.folder, "fg")
        path = os.path.join(self.folder, "notify")
        manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        manager.bind(path)
        manager.settimeout(WAIT_S)
        heard = []

        def hear(word):
            while not any(text.startswith(word) for text in heard):
                heard.append(manager.recv(4096).decode())

        with open(log, "wb") as out:
            daemon = self.start("-fg", stderr=out, env={**os.environ, "NOTIFY_SOCKET": path})
        for word in ("READY=1", "STATUS=", "WATCHDOG=1"):
            hear(word)
        assert self.pid() == daemon.pid, "the pid file"
        for number, line in ((signal.SIGUSR1, r"NOTICE .*memory\.limit=[1-9]"),
                             (signal.SIGUSR2, "NOTICE log level is DEBUG now"),
                             (signal.SIGUSR2, "NOTICE log level is NOTICE now"),
                             (signal.SIGUSR2, "NOTICE log level is INFO now"),
                             (signal.SIGHUP, "NOTICE reload: configuration read again")):
            daemon.send_signal(number)
            until(lambda line=line: re.search(line, read(log)),
                  lambda line=line: f"{line}: {read(log)}")
        second = self.run("-fg")
        assert second.returncode == 3, second
        assert f"instance 1 runs already: {self.pid_file} is held by pid {daemon.pid}" in second.stderr, second
        daemon.terminate()
        assert daemon.wait(WAIT_S) == 0
        hear("STOPPING=1")
        manager.close()
        text = read(log)
        assert re.search(rf"NOTICE ready, pid {daemon.pid}\n", text), text
        assert re.search(r"NOTICE stopping on signal 15 \(Terminated\)\n(.*\n)*.*NOTICE stopped\n$",
                         text), text
        assert not os.path.exists(self.log), "-fg logs to standard error alone"
        assert not os.path.exists(self.pid_file), "the pid file stays"

    def comes_back_when_it_is_ready_in_the_background(self, *options):
        """And is alive, with its log in logDir and not on the terminal."""
        start = self.run(*options)
        assert (start.returncode, start.stdout, start.stderr) == (0, "", ""), start
        pid = self.pid()
        until(lambda: f"NOTICE ready, pid {pid}\n" in read(self.log), lambda: read(self.log))
        assert is_alive(pid)
        assert os.getsid(pid) == pid and os.readlink(f"/proc/{pid}/fd/2") == "/dev/null"
        self.end(pid)
        assert read(self.log).endswith("NOTICE stopped\n"), read(self.log)
        os.unlink(self.log)

    def says_that_it_stays_in_the_foreground(self):
        err = os.path.join(self.folder, "err")
        with open(err, "wb") as out:
            daemon = self.start(stderr=out)
        wanted = f"{self.process}: ready in the foreground, pid {daemon.pid}, log {self.log}; with -d"
        until(lambda: wanted in read(err), lambda: read(err))
        daemon.terminate()
        assert daemon.wait(WAIT_S) == 0 and "NOTICE ready" in read(self.log)
        os.unlink(self.log)

    def says_what_it_does_by_default(self):
        text = self.run("-help").stdout
        wanted = {"background": "Without -fg and -d it goes to the background",
                  "foreground": "Without -fg and -d it stays"}
        assert wanted[self.default] in text, text
        if self.default == "background":
            self.comes_back_when_it_is_ready_in_the_background()
        else:
            self.says_that_it_stays_in_the_foreground()

    def logs_to_the_file_of_the_option_alone(self):
        path = os.path.join(self.folder, "own.log")
        start = self.run("-d", "-log", path, "-loglevel", "DEBUG")
        assert (start.returncode, start.stderr) == (0, ""), start
        self.end(self.pid())
        assert "NOTICE stopped" in read(path) and not os.path.exists(self.log)
        assert self.run("-fg", "-loglevel", "LOUD").returncode == 1

    def logs_with_priorities_to_the_journal(self):
        """Where JOURNAL_STREAM is its standard error, and with logTarget : journal."""
        err = os.path.join(self.folder, "err")
        line = rf"^<5>\S+\.1\.{re.escape(self.process)} NOTICE ready, pid \d+$"
        journal = self.write("journal.cnf", "*logTarget : journal\n")
        for conf, words, offset, pattern in ((self.conf, ["-fg"], 0, line),
                                             (self.conf, ["-fg"], 1, "Z .* NOTICE ready"),
                                             (journal, [], 1, line)):
            with open(err, "wb") as out:
                status = os.stat(out.fileno())
                if not words and self.default == "background":
                    continue  # the command comes back
                daemon = conf_examples.tool(*self.words, "-c", conf, *words, stderr=out, env={
                    **os.environ, "JOURNAL_STREAM": f"{status.st_dev}:{status.st_ino + offset}"})
            until(lambda pattern=pattern: re.search(pattern, read(err), re.M), lambda: read(err))
            daemon.terminate()
            assert daemon.wait(WAIT_S) == 0

    def hands_its_exit_code_to_the_shell(self):
        both = self.run("-fg", "-d")
        assert both.returncode == 1 and "-fg and -d contradict each other" in both.stderr, both
        # 2: a folder that cannot be; 1: a value that only the start finds wrong.
        nowhere = os.path.join(self.conf, "log")
        lost = self.run("-d", "-log", nowhere)
        assert lost.returncode == 2 and f"log file {nowhere}: Not a directory" in lost.stderr, lost
        small = self.write("small.cnf", "*memoryLimit : 1M\n")
        for option in ("-d", "-fg"):
            refused = self.run(option, conf=small)
            assert refused.returncode == 1, (option, refused)
        said = self.run("-d", conf=small).stderr
        assert f"not started; the reason stands in its log, {self.log}" in said, said
        assert re.search("CRITICAL memoryLimit .* is too small", read(self.log)), read(self.log)
        assert not os.path.exists(self.pid_file), "the pid file stays"


def gives_up_without_rrcpd(life):
    """-noretry: for those who start daemons in order, and want to know."""
    ended = life.run("-fg", "-noretry", "-set", "*attachTimeout : 200ms")
    assert ended.returncode == 4, ended
    assert "CRITICAL backbone: no rrcpd within attachTimeout, and -noretry was given" in ended.stderr, ended


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in DAEMONS:
            life = Life(folder, name)
            life.obeys_signals_in_the_foreground()
            life.says_what_it_does_by_default()
            life.comes_back_when_it_is_ready_in_the_background("-d")
            life.logs_to_the_file_of_the_option_alone()
            life.logs_with_priorities_to_the_journal()
            life.hands_its_exit_code_to_the_shell()
            if name != "rrcpd":
                gives_up_without_rrcpd(life)
        rrcpd = Life(folder, "rrcpd", "unplugged")
        away = rrcpd.run("-fg", "-set", "*rrcp*interface : nosuch0")
        assert away.returncode == 2 and "nosuch0" in away.stderr, away


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
