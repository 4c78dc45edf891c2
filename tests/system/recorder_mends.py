#!/usr/bin/env python3
"""recorder_mends.py - what a recorder refuses at its start is found by rmdscnf before; a rotation
that falls due while nothing comes does not end all further ones."""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import tempfile
import time

import conf_examples
import recording

WAIT_S = 90


def check(folder, *lines):
    path = os.path.join(folder, "rmds.cnf")
    with open(path, "w", encoding="ascii") as out:
        out.write("\n".join([
            "*rmds*startList : rmdsrec.1", f"*runDir : {folder}", f"*logDir : {folder}",
            *lines, ""]))
    done = subprocess.run([os.path.join(os.environ["RMDS_BIN"], "rmdscnf"), "-files", "check",
                           path], capture_output=True, text=True, check=False, timeout=WAIT_S)
    return done.returncode, done.stdout + done.stderr


def items_need_a_service(folder):
    place = f"*rmdsrec*recordFile : {folder}/a.rrec"
    code, text = check(folder, place, "*rmdsrec*recordItems : A, B")
    assert code == 1 and "names no service that recordItems are of" in text, text
    items = os.path.join(folder, "items")
    with open(items, "w", encoding="ascii") as out:
        out.write("A service=X\nB\n")
    code, text = check(folder, place, f"*rmdsrec*recordItemFile : {items}")
    assert code == 1 and f"names no service, and B of {items} has none" in text, text
    code, text = check(folder, place, f"*rmdsrec*recordItemFile : {items}",
                       "*rmdsrec*recordServices : X")
    assert code == 0 and "record" not in text, text


def a_pattern_is_understood(folder):
    code, text = check(folder, "*rmdsrec*recordFollow : True",
                       f"*rmdsrec*recordFile : {folder}/%q.rrec")
    assert code == 1 and "has a % without one of YmdHMSi% behind it" in text, text
    code, text = check(folder, "*rmdsrec*recordFollow : True",
                       f"*rmdsrec*recordFile : {folder}/%%%i-%Y%m%d-%H%M%S.rrec")
    assert code == 0 and "record" not in text, text


def a_password_is_for_the_recorder_alone(folder):
    secret = os.path.join(folder, "password")
    with open(secret, "w", encoding="ascii") as out:
        out.write("x\n")
    lines = ["*rmdsrec*recordServer : 127.0.0.1:14002", "*rmdsrec*recordServices : X",
             "*rmdsrec*recordItems : A", f"*rmdsrec*recordFile : {folder}/a.rrec",
             f"*rmdsrec*recordPasswordFile : {secret}"]
    os.chmod(secret, 0o644)
    _, text = check(folder, *lines)
    assert "recordPasswordFile of rmdsrec.1" in text, text
    os.chmod(secret, 0o600)
    code, text = check(folder, *lines)
    assert code == 0 and "record" not in text, text


def a_rotation_of_an_empty_file_ends_no_other(folder):
    """Nobody is at the port for longer than recordRotateTime, and then somebody is."""
    path = os.path.join(folder, "late.rrec")
    recorder = recording.Recorder("14102", path, "-rotateTime", "1")
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        assert recorder.program.poll() is None
        time.sleep(0.4)
    publisher = recording.Publisher("14102")
    try:
        publisher.rate(200)
        recorder.wait_for(recording.chunks_of, os.path.join(folder, "late.2.rrec"))
        code, text = recorder.end(signal.SIGTERM)
        assert code == 0, text
    finally:
        recorder.program.kill()
        publisher.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        items_need_a_service(folder)
        a_pattern_is_understood(folder)
        a_password_is_for_the_recorder_alone(folder)
        a_rotation_of_an_empty_file_ends_no_other(folder)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
