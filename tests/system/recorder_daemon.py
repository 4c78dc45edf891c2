#!/usr/bin/env python3
"""recorder_daemon.py - the recorder as a daemon of the chain: started by startList, told by rmdsctl
and SIGHUP, seen by every eye; a disk that takes no more is told and taken back; nothing is lost
without a word, and what it leaves is whole."""
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

import conf_examples
import recording

CONF = """\
*rmds*startList : rrcpd.net1.1, src_dist.1, p2ps.1, rmdsrec.1, rmdsrec.2
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*src_dist*dictionaryPath : {conf}/RDMFieldDictionary
*p2ps*rsslPort : 14202
*1.rmdsrec*statusPort : 18085
*1.rmdsrec*recordFollow : True
*1.rmdsrec*recordServiceLimit : 15
*1.rmdsrec*recordFile : {folder}/%i-%Y%m%d-%H%M%S.rrec
*2.rmdsrec*recordServer : 127.0.0.1:14202
*2.rmdsrec*recordServices : RDFD
*2.rmdsrec*recordItems : IT1, IT2
*2.rmdsrec*recordFile : {folder}/two.rrec
"""


def get(path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:18085/{path}", timeout=60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as refusal:
        return refusal.read().decode()


class Daemon:
    def __init__(self, system, number):
        self.system, self.name = system, f"rmdsrec.{number}"
        (self.state,) = [p for p in system.load()["programs"] if p["name"] == self.name]

    def told(self, *words):
        done = subprocess.run([os.path.join(recording.BIN, "rmdsctl"), "-run", self.system.folder,
                               self.name, *words], capture_output=True, text=True, check=False,
                              timeout=recording.WAIT_S)
        return done.stdout + done.stderr

    def until(self, pattern, *words):
        end = time.monotonic() + recording.WAIT_S
        while not re.search(pattern, self.told(*words)):
            assert time.monotonic() < end, (pattern, self.told(*words), self.log())
            time.sleep(0.15)

    def messages(self):
        return int(re.search(r"^  (\d+) messages, ", self.told("status"), re.M)[1])

    def until_messages(self, count):
        end = time.monotonic() + recording.WAIT_S
        while self.messages() < count:
            assert time.monotonic() < end, self.told("status")
            time.sleep(0.15)

    def log(self):
        with open(self.state["log"], encoding="utf-8") as text:
            return text.read()

    def until_log(self, pattern):
        end = time.monotonic() + recording.WAIT_S
        while not re.search(pattern, self.log()):
            assert time.monotonic() < end, (pattern, self.log())
            time.sleep(0.15)


def check(path):
    done = subprocess.run([os.path.join(recording.BIN, "rmdscnf"), "-files", "check", path],
                          capture_output=True, text=True, check=False, timeout=recording.WAIT_S)
    return done.returncode, done.stdout + done.stderr


def what_is_wrong_is_found_before_a_start(conf, folder):
    code, text = check(conf)
    assert code == 0 and "record" not in text, text
    wrong = os.path.join(folder, "wrong.cnf")
    with open(wrong, "w", encoding="ascii") as out:
        out.write(f"*rmds*startList : rmdsrec.1, rmdsrec.2\n"
                  f"*runDir : {folder}\n*logDir : {folder}\n"
                  f"*2.rmdsrec*recordItemFile : {folder}/none\n"
                  f"*rmdsrec*recordFile : {folder}/away/%S.rrec\n")
    code, text = check(wrong)
    assert code == 1 and "recordFollow of rmdsrec.1 (the default): nothing to record" in text, text
    assert f"recordItemFile of rmdsrec.2: {folder}/none: No such file" in text, text
    assert f"there is no folder {folder}/away; the recorder makes none" in text, text


def both_record(publisher, one, two, folder):
    """What others have open, and a list from p2ps; of the service that one recorder follows there
    is room for 15 of 20 items, which it says."""
    consumer = recording.Recorder("14202", os.path.join(folder, "seen.rrec"))
    consumer.wait_for(lambda text: recording.updates_of(text)[1] >= 20)
    one.until(r"backbone net1, attached; 15 of 15 items open, [1-9]\d* left out")
    one.until("trouble: service RDFD has all its items")
    one.until_log(r"WARNING service RDFD has as many items in the recording as recordServiceLimit")
    two.until(r"127\.0\.0\.1:14202 as rmds, connected; 2 of 2 items open, 0 left out")
    two.until(r" ready\n")
    publisher.rate(2000)
    one.until_messages(2000)
    assert "not ready: service RDFD has all its items" in get("ready"), get("ready")
    return consumer


def every_eye_sees_it(one):
    samples = get("metrics")
    assert "Without a description" not in samples, samples
    assert 'rmds_rmdsrec_items_open{process="rmdsrec",number="1"} 15' in samples, samples
    now = json.loads(get("status.json"))
    assert now["values"]["rmdsrec.itemsOpen"] == 15 and now["values"]["rmdsrec.file"], now
    assert {"rmdsrec.1", "rmdsrec.2"} <= {daemon["name"] for daemon in now["host"]}, now["host"]
    assert now["values"]["memory.max.items"] > 0, now["values"]
    one.until(r"file .*/1-\d+-\d+\.rrec, \d+\.\d MB, .*\n"
              r"  buffer \d+ of 64 MiB, [1-9]\d* at most; last chunk \d+\.\d s ago")


def another_file_begins(one, folder):
    """By rmdsctl, and by a parameter that SIGHUP changes."""
    before = len(glob.glob(os.path.join(folder, "1-*.rrec")))
    assert "the next message begins another file" in one.told("rotate"), one.told("status")
    one.until(rf"; {before + 1} files, ")
    with open(one.system.conf, "a", encoding="ascii") as out:
        out.write("*1.rmdsrec*recordRotateTime : 100ms\n")
    os.kill(one.state["pid"], signal.SIGHUP)
    one.until(rf"; {before + 3} files, ")
    with open(one.system.conf, "a", encoding="ascii") as out:
        out.write("*1.rmdsrec*recordRotateTime : 0\n")
    assert "configuration read again" in one.told("reload")


def a_full_disk_is_told(two):
    """A limit of the size of a file is as good as a disk: the rest is what a full one does."""
    soft, hard = resource.prlimit(two.state["pid"], resource.RLIMIT_FSIZE)
    resource.prlimit(two.state["pid"], resource.RLIMIT_FSIZE, (4096, hard))
    two.until("trouble: cannot write: File too large")
    two.until(r"lost 0 messages, [1-9]\d* chunks; now: File too large")
    two.until(r" not ready\n")
    resource.prlimit(two.state["pid"], resource.RLIMIT_FSIZE, (soft, hard))
    two.until(r" ready\n")
    two.until(r"lost 0 messages, [1-9]\d* chunks\n")


def what_is_left_is_whole(folder):
    paths = sorted(glob.glob(os.path.join(folder, "1-*.rrec")), key=os.path.getmtime)
    assert len(paths) >= 4, paths
    for path in paths:
        done = recording.rmdsrec("info", path)
        assert done.returncode == 0, (path, done)
    first = min(paths, key=len)
    done = recording.rmdsrec("info", first, "-series")
    assert done.returncode == 0 and "15 of RDFD, domain 6" in done.stdout, done
    done = recording.rmdsrec("info", os.path.join(folder, "two.rrec"))
    assert "2 of RDFD, domain 6" in done.stdout, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(conf=os.path.join(conf_examples.ROOT, "conf"), folder=folder))
        what_is_wrong_is_found_before_a_start(conf, folder)
        run = conf_examples.load_run()
        system = run.System(conf)
        publisher = recording.Publisher("14102")
        consumer = None
        try:
            assert run.up(system) == 0, "it did not start"
            one, two = Daemon(system, 1), Daemon(system, 2)
            consumer = both_record(publisher, one, two, folder)
            every_eye_sees_it(one)
            another_file_begins(one, folder)
            a_full_disk_is_told(two)
            publisher.rate(0)
            code, text = consumer.end(signal.SIGTERM)
            assert code == 0, text
            os.kill(one.state["pid"], signal.SIGTERM)
            one.until_log(r"NOTICE recorded [1-9]\d* messages of 15 items into \d+ files, .*; "
                          r"lost 0 messages, 0 chunks\n(.*\n)*.*NOTICE stopped\n")
        finally:
            if consumer:
                consumer.program.kill()
            run.down(system)
            publisher.close()
        what_is_left_is_whole(folder)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
