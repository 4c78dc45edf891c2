#!/usr/bin/env python3
"""recording_backbone.py - rmdsrec on the backbone: it records what others have open, each update
once and in order, as a consumer of p2ps gets it; it opens nothing and keeps nothing open; what a
lapped ring has cost is told, and an image follows it; a list of items is opened as by a consumer;
its figures are true."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import csv
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import conf_examples
import recording

CONF = """\
*rmds*startList : rrcpd.net1.1, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*rrcp*inboundRing : 1M
*rrcp*userQLimit : 700
*rrcp*maxMsgSize : 64K
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*src_dist*dictionaryPath : {conf}/RDMFieldDictionary
*src_dist*closeLinger : 1
*p2ps*rsslPort : 14202
"""


STARTED = []


def messages(control):
    done = recording.rmdsrec("tell", control, "st")
    found = re.search(r"(\d+) messages, \d+ files", done.stdout)
    return int(found[1]) if found else 0


def wait_messages(control, count):
    end = time.monotonic() + recording.WAIT_S
    while messages(control) < count:
        assert time.monotonic() < end, (control, messages(control), count)
        time.sleep(0.15)


def consume(path):
    """A consumer of p2ps that has its items."""
    consumer = recording.Recorder("14202", path, "-control", path + ".control")
    STARTED.append(consumer.program)
    consumer.wait_for(lambda text: recording.updates_of(text)[1] >= 20)
    return consumer


class Tape:
    """rmdsrec record -net."""

    def __init__(self, path, run_dir, *more):
        self.path, self.control = path, path + ".control"
        self.errors = open(path + ".errors", "w+", encoding="utf-8")
        self.program = subprocess.Popen(
            [os.path.join(recording.BIN, "rmdsrec"), "record", path, "-net", "net1", "-runDir",
             run_dir, "-control", self.control, *more], stdout=subprocess.PIPE,
            stderr=self.errors, text=True)
        STARTED.append(self.program)

    def state(self):
        done = recording.rmdsrec("tell", self.control, "st")
        return done.stdout if done.returncode == 0 else ""

    def wait_for(self, pattern):
        end = time.monotonic() + recording.WAIT_S
        while time.monotonic() < end:
            if re.search(pattern, self.state()):
                return
            time.sleep(0.15)
        raise AssertionError((pattern, self.state(), self.told()))

    def told(self):
        self.errors.flush()
        with open(self.errors.name, encoding="utf-8") as text:
            return text.read()

    def end(self):
        self.program.send_signal(signal.SIGTERM)
        text = self.program.stdout.read()
        self.program.stdout.close()
        code = self.program.wait()
        told = self.told()
        self.errors.close()
        return code, text, told


def figures_of(run_dir):
    """What rmdsmon shows of the recorder: state, and its values."""
    done = subprocess.run([os.path.join(recording.BIN, "rmdsmon"), "-run", run_dir, "-process",
                           "rmdsrec", "-json"], capture_output=True, text=True, check=False,
                          timeout=recording.WAIT_S)
    (one,) = json.loads(done.stdout)["instances"]
    return one, {name.removeprefix("rmdsrec."): value for name, value in one["values"].items()}


def its_figures_are_shown(publisher, run_dir, folder):
    """Each one is what the recorder says itself, or what the file has."""
    path, seen = os.path.join(folder, "shown.rrec"), os.path.join(folder, "shown-seen.rrec")
    consumer = consume(seen)
    tape = Tape(path, run_dir, "-follow", "-name", "7")
    tape.wait_for("ok attached, 20 of 20 items open")
    publisher.rate(2000)
    wait_messages(tape.control, 1000)
    end = time.monotonic() + recording.WAIT_S
    while figures_of(run_dir)[1]["messagesPerSecond"] == 0:
        assert time.monotonic() < end
    publisher.rate(0)
    while True:  # until nothing moves, and the last chunk is written
        one, values = figures_of(run_dir)
        said = [int(number) for number in re.search(
            r"attached, (\d+) of (\d+) items open, (\d+) messages, (\d+) files, (\d+) chunks, "
            r"(\d+) bytes, .*lost (\d+) messages, (\d+) chunks", tape.state()).groups()]
        names = ("itemsOpen", "itemsNow", "msgsRcvd", "files", "chunks", "bytesWritten",
                 "messagesLost", "chunksLost")
        if said == [values[name] for name in names] and values["messagesPerSecond"] == 0:
            break
        assert time.monotonic() < end, (said, values)
        time.sleep(0.4)
    assert one["name"] == "rmdsrec.7" and one["state"] == "ok", one
    assert one["ready"] == 1 and values["connected"] == 1, (one, values)
    assert values["fileBytesNow"] == values["bytesWritten"] == os.stat(path).st_size, values
    assert 0 < values["diskFree"] and values["bufferMax"] >= 1, values
    assert abs(values["lastChunk"] / 1e9 - os.stat(path).st_mtime) < 1, values
    assert [values[name] for name in ("gapsSeen", "overruns", "recordsLost", "linksLost")] == \
        [0, 0, 0, 0], values
    assert values["bytes"] > values["msgsRcvd"] and values["images"] >= 0, values
    again = recording.rmdsrec("record", path + ".2", "-net", "net1", "-runDir", run_dir, "-follow",
                              "-name", "7")
    assert again.returncode == 2 and "belongs to process" in again.stderr, again
    code, _, _ = tape.end()
    assert code == 0 and not os.path.exists(os.path.join(run_dir, "rmdsrec.7", "stats"))
    consumer.end(signal.SIGTERM)


def a_foreign_source_speaks_for_itself_alone(run_dir, folder):
    """The only source that is up abuses its domains and has no dictionary: of what it has, prices
    are recorded. The dictionary comes from the service that has it, when that is there."""
    path = os.path.join(folder, "foreign.rrec")
    foreign = subprocess.Popen([sys.argv[1], "net1", run_dir], stdout=subprocess.PIPE, text=True)
    STARTED.append(foreign)
    assert foreign.stdout.readline() == "bound\n"
    tape = Tape(path, run_dir, "-follow")
    tape.wait_for("ok attached, 1 of 1 items open")
    publisher = recording.Publisher("14102")
    consumer = consume(os.path.join(folder, "foreign-seen.rrec"))
    tape.wait_for("ok attached, 21 of 21 items open")
    consumer.end(signal.SIGTERM)
    tape.wait_for("ok attached, 1 of 21 items open")
    code, text, told = tape.end()
    assert code == 0 and re.search(r" [1-9]\d* items .* not recorded", text), (code, text, told)
    shown = recording.rmdsrec("info", path).stdout
    assert "20 of RDFD, domain 6" in shown and "1 of RISK, domain 6" in shown, shown
    names = {row["field"] for row in
             csv.DictReader(recording.rmdsrec("export", path).stdout.splitlines())}
    assert "ACVOL_1" in names, names  # the dictionary is whole
    foreign.kill()
    foreign.stdout.close()
    return publisher


def it_has_what_a_consumer_got(publisher, run_dir, folder):
    """Started first, when nobody has anything: it opens nothing, and joins what the consumer opens.
    Once the consumer has gone, nothing is kept open."""
    path, seen = os.path.join(folder, "tape.rrec"), os.path.join(folder, "seen.rrec")
    tape = Tape(path, run_dir, "-follow")
    tape.wait_for("ok attached, 0 of 0 items open")
    consumer = consume(seen)
    tape.wait_for("ok attached, 20 of 20 items open")
    publisher.rate(2000)
    wait_messages(seen + ".control", 2000)
    publisher.rate(0)
    time_out = time.monotonic() + recording.WAIT_S
    while recording.updates_of(recording.rmdsrec("info", path).stdout)[0] != \
            recording.updates_of(recording.rmdsrec("info", seen).stdout)[0]:
        assert time.monotonic() < time_out, "they do not have equally many updates"
        time.sleep(0.2)
    code, text = consumer.end(signal.SIGTERM)
    assert code == 0, text
    tape.wait_for("ok attached, 0 of 20 items open")
    code, text, told = tape.end()
    assert code == 0 and "0 records lost on the way, lapped 0 times" in text, (code, text, told)
    done = recording.rmdsrec("info", path)
    assert done.returncode == 0 and "20 of RDFD, domain 6" in done.stdout, done
    recording.check_sequence(path, True)
    taped, got = recording.streams(path), recording.streams(seen)
    for item in recording.ITEMS:
        lines = [[row for row in rows[item] if row[0] == "UPDATE"] for rows in (taped, got)]
        assert lines[0] == lines[1] and lines[0], item
    rows = list(csv.DictReader(recording.rmdsrec("export", path).stdout.splitlines()))
    ends = {row["item"]: row for row in rows if row["kind"] == "STATUS"}
    assert len(ends) == 20, ends  # each stream ends where its last consumer went


def late_ones_join_what_is_open(publisher, run_dir, folder):
    """A list of what is open already; and it can be played: dictionary and services are in it."""
    path, seen = os.path.join(folder, "late.rrec"), os.path.join(folder, "late-seen.rrec")
    consumer = consume(seen)
    publisher.rate(2000)
    wait_messages(seen + ".control", 500)
    tape = Tape(path, run_dir, "-follow", "-S", "RDFD")
    tape.wait_for("ok attached, 20 of 20 items open")
    wait_messages(tape.control, messages(tape.control) + 2000)
    publisher.rate(0)
    code, text, told = tape.end()
    assert code == 0, (text, told)
    consumer.end(signal.SIGTERM)
    recording.check_sequence(path, True)
    player = recording.Player(path, "-speed", "max", "-waitItems", "20")
    again = recording.Recorder(player.port, os.path.join(folder, "again.rrec"))
    wanted = recording.updates_of(recording.rmdsrec("info", path).stdout)[0]
    again.wait_for(lambda text: recording.updates_of(text)[0] >= wanted)
    code, text = again.end(signal.SIGTERM)
    assert code == 0, text
    player.end()


def check_told(path):
    """Each update follows the one before it, or a suspect state and an image stand between. The
    number of holes."""
    holes = 0
    last, is_suspect = {}, set()
    for row in csv.DictReader(recording.rmdsrec("export", path).stdout.splitlines()):
        item = row["item"]
        if row["kind"] == "STATUS" and "SUSPECT" in row["value"]:
            is_suspect.add(item)
        if row["field"] != "ACVOL_1":
            continue
        value = int(row["value"])
        if row["kind"] == "REFRESH":
            holes += item in last and value > last[item]
            assert item not in last or value == last[item] or item in is_suspect, row
            is_suspect.discard(item)
        elif row["kind"] == "UPDATE":
            assert item not in is_suspect and value == last[item] + 1, (row, last.get(item))
        last[item] = value
    return holes


def a_lapped_ring_is_told(publisher, run_dir, folder):
    """The recorder stands still for longer than the ring lasts: the chain goes on, and what it
    missed is a gap with an image behind it."""
    path, seen = os.path.join(folder, "lapped.rrec"), os.path.join(folder, "fast.rrec")
    consumer = consume(seen)
    tape = Tape(path, run_dir, "-follow")
    tape.wait_for("ok attached, 20 of 20 items open")
    publisher.rate(10000)
    tape.program.send_signal(signal.SIGSTOP)
    wait_messages(seen + ".control", 20000)  # of 130 bytes: more than the ring has
    publisher.rate(1000)
    tape.program.send_signal(signal.SIGCONT)
    end = time.monotonic() + recording.WAIT_S
    while "lapped" not in tape.told():
        assert time.monotonic() < end, tape.state()
        time.sleep(0.15)
    wait_messages(tape.control, messages(tape.control) + 1000)
    publisher.rate(0)
    code, text, _ = tape.end()
    assert code == 0 and re.search(r"lapped [1-9]\d* times; [1-9]", text), text
    code, text = consumer.end(signal.SIGTERM)
    assert code == 0, text
    assert check_told(path) > 0
    check_told(seen)


def a_list_is_opened(publisher, run_dir, folder):
    """Without any consumer."""
    path = os.path.join(folder, "list.rrec")
    tape = Tape(path, run_dir, "-S", "RDFD", "-il", "IT1,IT2")
    tape.wait_for("ok attached, 2 of 2 items open")
    publisher.rate(1000)
    wait_messages(tape.control, 500)
    publisher.rate(0)
    code, text, _ = tape.end()
    assert code == 0 and "2 of 2 were open" in text, text
    done = recording.rmdsrec("info", path)
    assert "2 of RDFD, domain 6" in done.stdout, done


TESTS = (it_has_what_a_consumer_got, late_ones_join_what_is_open, its_figures_are_shown,
         a_lapped_ring_is_told, a_list_is_opened)


@contextlib.contextmanager
def chain_with(begin, ring="1M"):
    """A chain that is up, and the publisher that begin(run folder, folder) has started."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(conf=os.path.join(conf_examples.ROOT, "conf")).replace(
                ": 1M", f": {ring}"))
        run = conf_examples.load_run()
        system = run.System(conf)
        publisher = None
        try:
            assert run.up(system) == 0, "it did not start"
            publisher = begin(system.folder, folder)
            yield publisher, system.folder, folder
        finally:
            for program in STARTED:
                program.kill()
            run.down(system)
            if publisher:
                publisher.close()


def main():
    with chain_with(a_foreign_source_speaks_for_itself_alone) as (publisher, run_dir, folder):
        print("[ok] a_foreign_source_speaks_for_itself_alone", flush=True)
        for test in TESTS:
            test(publisher, run_dir, folder)
            print(f"[ok] {test.__name__}", flush=True)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
