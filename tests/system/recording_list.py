#!/usr/bin/env python3
"""recording_list.py - a recorder that comes late has all of a list of many parts: what a thousand
names of others need does not fit in one record, and each is joined by an image."""
# SPDX-License-Identifier: Apache-2.0
import os
import signal

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
    with recording_backbone.chain_with(lambda *_: recording.Publisher("14102"), "16M") as (
            _, run_dir, folder):
        run_in(run_dir, folder)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
