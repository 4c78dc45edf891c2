"""daemons.py - daemons in one folder, each with its log, and what rmdsmon shows of them."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import tempfile
import time

import conf_examples
from running.program import Program

WAIT_S = 90


class Bed:
    """All daemons are stopped at the end."""

    def __init__(self, folder, conf):
        self.folder, self.running = folder, {}
        self.conf = os.path.join(folder, "c.cnf")
        self.run_dir = os.path.join(folder, "run")
        with open(self.conf, "w", encoding="ascii") as file:
            file.write(conf.format(folder=folder))

    def start(self, name, program, *words):
        words = [os.path.join(conf_examples.BIN, program), *words, "-fg", "-c", self.conf]
        self.running[name] = Program(name, words, os.path.join(self.folder, name + ".log"))
        open(self.running[name].log, "wb").close()  # one of the same name may have been stopped
        self.running[name].start()

    def stop(self, name):
        self.running.pop(name).stop(WAIT_S)

    def log(self, name):
        return self.running[name].text()

    def said(self, name, pattern):
        until(lambda: f"{name} says {pattern}; it said {self.log(name)}",
              lambda: re.search(pattern, self.log(name)))

    def monitor(self, *words):
        run = subprocess.run([os.path.join(conf_examples.BIN, "rmdsmon"), "-run",
                              self.run_dir, "-watch", "0", *words], stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, check=False, timeout=90)
        return run.returncode, run.stdout

    def value(self, name, path):
        """One statistic of a daemon."""
        return self.values(name)[path]

    def values(self, name):
        """All statistics of a daemon."""
        instances = json.loads(self.monitor("-once", "-json")[1])["instances"]
        return next(one["values"] for one in instances if one["name"] == name)

    def shown(self, name, state, note):
        """State and note of its line in rmdsmon."""
        def line():
            return next((one for one in self.monitor("-once")[1].splitlines()
                         if one.split()[:1] == [name]), "")
        until(lambda: f"rmdsmon shows {name} {state} {note}: {line()}",
              lambda: line().split()[1:2] == [state] and note in line())

    def close(self):
        for name in list(self.running):
            self.stop(name)


def until(what, condition):
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"{what()}: not within {WAIT_S} s"
        time.sleep(0.15)


def run(conf, *steps):
    """Each step with the bed that the one before it has left."""
    with tempfile.TemporaryDirectory() as folder:
        bed = Bed(folder, conf)
        try:
            for step in steps:
                step(bed)
        finally:
            bed.close()
    print("all good")
