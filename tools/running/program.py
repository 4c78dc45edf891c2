"""program.py - a program that a script starts: its log, when it is ready, how it ends."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import os
import signal
import socket
import subprocess
import threading
import time


@contextlib.contextmanager
def uninterrupted():
    """Ctrl-C waits until the block ends: a child that starts in it is known to its starter."""
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not is_ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = []
    before = signal.signal(signal.SIGINT, lambda *_: pressed.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def text_of(log, start=0):
    """A file that may not be there yet, from that byte on."""
    if not os.path.exists(log):
        return ""
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(start)
        return file.read()


class Program:
    """A child with its output in a file. It can be killed, stopped and started again.

    A daemon says that it is ready by a datagram (as systemd asks for it): see wait_ready()."""

    def __init__(self, name, words, log, env=None):
        self.name, self.words, self.log = name, words, log
        self.env = {**os.environ, **(env or {})}
        self.child = self.listener = None

    @property
    def pid(self):
        return self.child.pid

    def start(self, **more):
        """`more` is for Popen: other pipes, a session of its own."""
        with open(self.log, "ab") as out, uninterrupted():
            more = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": out, **more}
            self.child = subprocess.Popen(self.words, env=self.env, **more)
        return self

    def start_daemon(self, address, seconds, **more):
        """Start it and wait until it is ready. None, or what is wrong; `address`: a file name."""
        if os.path.exists(address):
            os.unlink(address)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as self.listener:
            self.listener.bind(address)
            self.listener.settimeout(0.05)
            self.env["NOTIFY_SOCKET"] = address
            try:
                self.start(**more)
                return self.wait_ready(time.monotonic() + seconds, seconds)
            finally:
                os.unlink(address)

    def wait_ready(self, deadline, seconds):
        while time.monotonic() < deadline:
            try:
                if b"READY=1" in self.listener.recv(4096):
                    return None
            except socket.timeout:
                pass
            if not self.alive():
                return f"ended with code {self.child.returncode}"
        return f"not ready after {seconds:g} s"

    def alive(self):
        return self.child is not None and self.child.poll() is None

    def code(self):
        return self.child.poll() if self.child else None

    def signal(self, number):
        if self.alive():
            self.child.send_signal(number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.child.wait()

    def stop(self, seconds):
        """In order. None, or what was wrong with its end."""
        if not self.alive():
            return f"had ended with code {self.child.returncode}" if self.child else None
        self.signal(signal.SIGTERM)
        try:
            code = self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            return f"did not stop in {seconds:g} s"
        return f"ended with code {code}" if code else None

    def text(self, start=0):
        """Its log, from that byte on."""
        return text_of(self.log, start)
