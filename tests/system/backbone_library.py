#!/usr/bin/env python3
"""backbone_library.py BENCH - an application on the backbone has every image and every update of its
items, in order, from a publisher through src_dist and two rrcpd; that src_dist or its rrcpd dies is
told to each item, and each gets a new image."""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import tempfile

import chain_faults
import conf_examples
import recording

CONF = """\
*rmds*startList : rrcpd.net1.1, rrcpd.net1.2, src_dist.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*rrcpdInstance : 1
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
"""
WAIT_S = 90


class Application:
    def __init__(self, bench, run_dir, *words):
        self.program = subprocess.Popen(
            [bench, "items", "-run-dir", run_dir, "-instance", "2", "-secs", "80", *words],
            stdout=subprocess.PIPE, text=True)
        self.lines = []

    def wait_for(self, start):
        for line in self.program.stdout:
            self.lines.append(line)
            if line.startswith(start):
                return line
        raise AssertionError(f"no line {start}: {''.join(self.lines)}")

    def end(self):
        self.program.send_signal(signal.SIGTERM)
        line = self.wait_for("figures")
        self.program.stdout.close()
        assert self.program.wait(WAIT_S) == 0, "".join(self.lines)
        return {key: float(value) for key, value in (word.split("=") for word in line.split()[1:])}


def figures_hold(figures, items):
    assert figures["images"] == items and figures["undetected"] == 0, figures
    assert figures["wrong"] == 0 and figures["undecodable"] == 0, figures


def check(bench, run, system):
    publisher = recording.Publisher("14102")
    try:
        application = Application(bench, system.folder, "-n", "500",
                                  "-updates", "1000000000")
        application.wait_for("images 500")
        publisher.rate(5000)
        application.wait_for("updates")
        kill_one(run, system, application, "src_dist.1")
        kill_one(run, system, application, "rrcpd.net1.2")
        figures = application.end()
        figures_hold(figures, 500)
        assert figures["suspects"] >= 1000 and figures["updates"] > 0, figures
    finally:
        publisher.close()


def kill_one(run, system, application, name):
    chain_faults.kill_entry(run, system, name)
    application.wait_for("suspect")
    application.wait_for("recovered")
    application.wait_for("updates")


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF)
        run = conf_examples.load_run()
        system = run.System(conf)
        try:
            assert run.up(system) == 0, "it did not start"
            check(sys.argv[1], run, system)
        finally:
            run.down(system)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
