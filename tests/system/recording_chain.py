#!/usr/bin/env python3
"""recording_chain.py - what comes out of the chain is recorded, played into it in place of the
publisher, and recorded once more: each item has the same updates in the same order."""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import tempfile

import conf_examples
import recording

CONF = """\
*rmds*startList : rrcpd.net1.1, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*src_dist*dictionaryPath : {conf}/RDMFieldDictionary
*p2ps*rsslPort : 14202
"""


def record_live(folder):
    """A recording of the publisher, as p2ps gives it out."""
    path = os.path.join(folder, "whole.rrec")
    publisher = recording.Publisher("14102")
    try:
        recorder = recording.Recorder("14202", path)
        recorder.wait_for(lambda text: all(recording.streams(path).values()) if text else False)
        publisher.rate(2000)
        recorder.wait_for(lambda text: recording.updates_of(text)[0] > 4000)
        publisher.rate(0)
        code, text = recorder.end(signal.SIGTERM)
        assert code == 0, text
    finally:
        publisher.close()
    recording.check_sequence(path)
    return path


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(conf=os.path.join(conf_examples.ROOT, "conf")))
        run = conf_examples.load_run()
        system = run.System(conf)
        try:
            assert run.up(system) == 0, "it did not start"
            path = record_live(folder)
            recording.play_and_record(path, os.path.join(folder, "again.rrec"), "14102", "14202")
        finally:
            run.down(system)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
