#!/usr/bin/env python3
"""hung_thread.py - one thread of p2ps, of src_dist and of rrcpd hangs; the process itself goes on.

The thread that carries data is held with ptrace. The log says that it hangs, the watchdog of the
service manager is not beaten any more, rmdsmon calls the process HUNG; and all is well again when
it goes on.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

import conf_examples

WAIT_S = 90
SEIZE, INTERRUPT, DETACH, ALL_THREADS = 0x4206, 0x4207, 17, 0x40000000
CONF = """\
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*serverPort : 0
*p2ps*rsslPort : 14202
*runDir : {folder}
"""
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def ptrace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        print("skipped: no ptrace here:", os.strerror(ctypes.get_errno()))
        sys.exit(77)


class Daemon:
    """A daemon alone: it needs nobody to have a thread."""

    def __init__(self, daemons, folder, sign, *words):
        self.name, self.sign, self.beats, self.is_held = words[0], sign, 0, False
        self.log = os.path.join(folder, self.name + ".log")
        path = os.path.join(folder, self.name + ".notify")
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(path)
        self.manager.setblocking(False)
        with open(self.log, "wb") as log:
            self.process = conf_examples.tool(*words, "-c", os.path.join(folder, "rmds.cnf"), "-fg",
                                              stderr=log,
                                              env={**os.environ, "NOTIFY_SOCKET": path,
                                                                  "WATCHDOG_USEC": "2000000"})
        daemons.append(self)
        self.until("it is ready", lambda: "NOTICE ready" in self.text() and self.hear() > 0)
        self.thread = max(t for t in map(int, os.listdir(f"/proc/{self.process.pid}/task"))
                          if t != self.process.pid and self.comm(t) != "log")

    def comm(self, thread):
        with open(f"/proc/{self.process.pid}/task/{thread}/comm", encoding="ascii") as file:
            return file.read().strip()

    def text(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def hear(self):
        """How often the watchdog was beaten so far."""
        while True:
            try:
                self.beats += self.manager.recv(4096).count(b"WATCHDOG=1")
            except BlockingIOError:
                return self.beats

    def until(self, what, is_so):
        end = time.monotonic() + WAIT_S
        while not is_so():
            is_over = time.monotonic() >= end or self.process.poll() is not None
            assert not is_over, f"{self.name}: {what}: {self.text()}"
            time.sleep(0.15)

    def hold(self):
        ptrace(SEIZE, self.thread)
        ptrace(INTERRUPT, self.thread)
        os.waitpid(self.thread, ALL_THREADS)
        self.is_held = True

    def release(self):
        if self.is_held:
            ptrace(DETACH, self.thread)
        self.is_held = False

    def state(self, folder):
        said = subprocess.run([os.path.join(conf_examples.BIN, "rmdsmon"), "-run", folder, "-once",
                               "-watch", "0",
                               "-json"],
                              capture_output=True, text=True, check=False).stdout
        return next(i["state"].lower() for i in json.loads(said)["instances"]
                    if i["name"].startswith(self.name))

    def judge(self, folder):
        self.until(f"no line with {self.sign!r}", lambda: self.sign in self.text())
        beats = self.hear()
        self.until("not called HUNG", lambda: self.state(folder) == "hung")
        assert self.hear() == beats, f"{self.name}: the watchdog was beaten"
        self.release()
        # A daemon that has nothing to serve for 10 s is in state WARN, which is no hang.
        self.until("no beat after it",
                   lambda: self.hear() > beats and self.state(folder) in ("ok", "warn"))
        print(f"{self.name}: {self.sign!r}, HUNG, not beaten; well again", flush=True)

    def end(self):
        self.process.terminate()
        code = self.process.wait(WAIT_S)
        self.manager.close()
        assert code == 0, f"{self.name} ended with {code}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rmds.cnf"), "w", encoding="ascii") as out:
            out.write(CONF.format(folder=folder))
        daemons = []
        try:
            Daemon(daemons, folder, "worker 0 hangs since ", "p2ps")
            Daemon(daemons, folder, "the route loop of net1 hangs since ", "src_dist")
            Daemon(daemons, folder, "the net loop has not turned for ", "rrcpd", "net1")
            for daemon in daemons:
                daemon.hold()
            for daemon in daemons:
                daemon.judge(folder)
            for daemon in daemons:
                daemon.end()
        finally:
            for daemon in daemons:
                daemon.release()
                daemon.process.kill()
                daemon.process.wait()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
