#!/usr/bin/env python3
"""recording_list.py - a recorder that comes late has all of a list of many parts: what a thousand
names of others need does not fit in one record, and each is joined by an image."""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import tempfile

import conf_examples
import recording
import recording_backbone

COUNT = 1000
NAMES = [f"A_NAME_THAT_TAKES_ITS_ROOM_{i:04}.N" for i in range(COUNT)]
PART = 8192  # bytes of keys


def run_in(run_dir, folder):
    path, seen = os.path.join(folder, "long.rrec"), os.path.join(folder, "seen.rrec")
    assert sum(len(name) + 9 for name in NAMES) > 4 * PART  # each key has nine bytes more
    recording.ITEMS = NAMES
    consumer = recording.Recorder("14202", seen)
    recording_backbone.STARTED.append(consumer.program)
    consumer.wait_for(lambda text: f"{COUNT} of RDFD, domain 6" in text)
    tape = recording_backbone.Tape(path, run_dir, "-follow")
    tape.wait_for(f"ok attached, {COUNT} of {COUNT} items open")
    code, text, told = tape.end()
    assert code == 0 and "lapped 0 times" in text, (code, text, told)
    consumer.end(signal.SIGTERM)
    shown = recording.rmdsrec("info", path).stdout
    assert f"{COUNT} of RDFD, domain 6" in shown, shown


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(recording_backbone.CONF.format(
                conf=os.path.join(conf_examples.ROOT, "conf")).replace(": 1M", ": 16M"))
        run = conf_examples.load_run()
        system = run.System(conf)
        publisher = None
        try:
            assert run.up(system) == 0, "it did not start"
            publisher = recording.Publisher("14102")
            run_in(system.folder, folder)
        finally:
            for program in recording_backbone.STARTED:
                program.kill()
            run.down(system)
            if publisher:
                publisher.close()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
