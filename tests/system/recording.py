#!/usr/bin/env python3
"""recording.py - rmdsrec against sink_driven_src: a recording has what was sent, each update once
and in order; one whose recorder was killed is whole up to its last chunk, and says so; each of
several files can be read alone; a recording that is played is recorded again as it was."""
# SPDX-License-Identifier: Apache-2.0
import csv
import datetime
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
BIN = os.environ["RMDS_BIN"]
WAIT_S = 90
ITEMS = [f"IT{i}" for i in range(20)]


def rmdsrec(*words):
    return subprocess.run([os.path.join(BIN, "rmdsrec"), *words], capture_output=True, text=True,
                          check=False, timeout=WAIT_S)


def port_of(program):
    """The port of a provider that tells where it listens."""
    for line in program.stdout:
        found = re.search(r"listening on port (\d+)", line)
        if found:
            return found[1]
    raise AssertionError("the provider does not listen")


class Publisher:
    """sink_driven_src, which sends nothing until it is told a rate."""

    words = ()

    def __init__(self, port="0"):
        self.program = subprocess.Popen(
            [os.path.join(BIN, "sink_driven_src"), "-S", "RDFD", "-N", port, "-L", "127.0.0.1",
             "-dict", os.path.join(SOURCE, "conf"), "-seqdata", "-U", "0", "-c", *self.words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = port_of(self.program)

    def rate(self, rate):
        self.program.stdin.write(f"ur {rate}\n")
        self.program.stdin.flush()

    def close(self):
        self.program.kill()
        self.program.stdin.close()
        self.program.stdout.close()
        self.program.wait()


class Recorder:
    def __init__(self, port, path, *more, service="RDFD"):
        self.path = path
        self.program = subprocess.Popen(
            [os.path.join(BIN, "rmdsrec"), "record", path, "-host", f"127.0.0.1:{port}", "-S",
             service, "-il", ",".join(ITEMS), *more], stdout=subprocess.PIPE, text=True)

    def wait_for(self, is_right, path=None):
        """Until the file as it stands is right."""
        end = time.monotonic() + WAIT_S
        while time.monotonic() < end:
            if os.path.exists(path or self.path) and is_right(rmdsrec("info", path or
                                                                      self.path).stdout):
                return
            time.sleep(0.4)
        raise AssertionError(rmdsrec("info", path or self.path).stdout)

    def end(self, number):
        self.program.send_signal(number)
        text = self.program.stdout.read()
        self.program.stdout.close()
        return self.program.wait(), text


def chunks_of(text):
    found = re.search(r"chunks +(\d+),", text)
    return int(found[1]) if found else 0


def updates_of(text):
    found = re.search(r"messages +(\d+) updates, (\d+) refreshes", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def counts(path):
    """ACVOL_1 of the updates of each item, and of its images, in order."""
    done = rmdsrec("export", path, "-withImages")
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert rows, done.stderr
    found = {item: [] for item in ITEMS}
    for row in rows:
        if row["field"] == "ACVOL_1":
            found[row["item"]].append((row["kind"], int(row["value"])))
    return found


def from_last_image(values):
    """Without the images ahead of the one that the first update is built on."""
    first = next((i for i, (kind, _) in enumerate(values) if kind == "UPDATE"), len(values))
    return values[max(first - 1, 0):]


def check_sequence(path, has_older_images=False):
    """Each update is the next one of its item; images are those of the moment. The chain may have
    kept images of the publisher before."""
    for item, values in counts(path).items():
        values = from_last_image(values) if has_older_images else values
        assert values and values[0][0] in ("REFRESH", "IMAGE"), (item, values[:3])
        last = values[0][1]
        for kind, value in values[1:]:
            assert value == last + (kind == "UPDATE"), (item, kind, last, value)
            last = value


def a_recording_has_what_was_sent(publisher, folder):
    path = os.path.join(folder, "whole.rrec")
    recorder = Recorder(publisher.port, path, "-images", "1")
    recorder.wait_for(lambda text: updates_of(text)[1] >= len(ITEMS))
    publisher.rate(2000)
    recorder.wait_for(lambda text: updates_of(text)[0] > 4000)
    publisher.rate(0)
    code, text = recorder.end(signal.SIGTERM)
    assert code == 0, text
    assert "20 of 20 were open" in text and "lost        0 messages, 0 chunks" in text, text
    assert os.stat(path).st_mode & 0o777 == 0o640
    info = rmdsrec("info", path)
    assert info.returncode == 0 and "in good order" in info.stdout, info.stdout
    assert "20 of RDFD, domain 6" in info.stdout, info.stdout
    check_sequence(path)
    again = rmdsrec("record", path, "-host", "127.0.0.1:1", "-S", "RDFD", "-il", "A")
    assert again.returncode == 2 and "File exists" in again.stderr, again.stderr


def a_killed_recorder_leaves_whole_chunks(publisher, folder):
    path = os.path.join(folder, "killed.rrec")
    recorder = Recorder(publisher.port, path)
    publisher.rate(2000)
    recorder.wait_for(lambda text: updates_of(text)[0] > 2000 and chunks_of(text) > 2)
    recorder.end(signal.SIGKILL)
    publisher.rate(0)
    info = rmdsrec("info", path)
    assert "it was cut off" in info.stdout, info.stdout
    check_sequence(path)
    with open(path, "rb") as whole:
        content = whole.read()
    torn = os.path.join(folder, "torn.rrec")
    with open(torn, "wb") as out:
        out.write(content[:-100])
    info = rmdsrec("info", torn)
    assert info.returncode == 5, info.stdout
    assert re.search(r"damaged +the file ends within a block, at byte", info.stdout), info.stdout
    check_sequence(torn)


def each_file_of_a_series_is_read_alone(publisher, folder):
    path = os.path.join(folder, "series.rrec")
    recorder = Recorder(publisher.port, path)
    publisher.rate(1000)
    recorder.wait_for(lambda text: updates_of(text)[0] > 500)
    recorder.program.send_signal(signal.SIGHUP)
    second = os.path.join(folder, "series.1.rrec")
    recorder.wait_for(lambda text: updates_of(text)[0] > 500, second)
    publisher.rate(0)
    code, text = recorder.end(signal.SIGINT)
    assert code == 0 and "2 files" in text, text
    info = rmdsrec("info", second)
    assert info.returncode == 0 and "file 2 of its series" in info.stdout, info.stdout
    first, then = counts(path), counts(second)
    for item in ITEMS:
        assert then[item][0] == ("IMAGE", first[item][-1][1]), (item, then[item][0])
    check_sequence(second)


def a_series_is_one_recording(_, folder):
    """What each_file_of_a_series_is_read_alone has left, read and played as one."""
    path, second = os.path.join(folder, "series.rrec"), os.path.join(folder, "series.1.rrec")
    parts = [updates_of(rmdsrec("info", name).stdout)[0] for name in (path, second)]
    info = rmdsrec("info", path, "-series")
    assert info.returncode == 0 and re.search(r"files +2\n", info.stdout), info.stdout
    assert updates_of(info.stdout)[0] == sum(parts), (info.stdout, parts)
    with open(os.path.join(folder, "series.7.rrec"), "wb") as stranger:
        stranger.write(b"no recording")
    os.mkfifo(os.path.join(folder, "series.8.rrec"))
    os.mkdir(os.path.join(folder, "series.9.rrec"))
    done = rmdsrec("info", os.path.join(folder, "series.8.rrec"))
    assert done.returncode == 2 and "cannot read" in done.stderr, done
    export = rmdsrec("export", path, "-series", "-il", "IT3").stdout
    values = [int(row["value"]) for row in csv.DictReader(export.splitlines())
              if row["field"] == "ACVOL_1" and row["kind"] == "UPDATE"]
    assert values == list(range(values[0], values[0] + len(values))), values
    alone = updates_of(rmdsrec("info", second, "-series").stdout)[0]
    assert alone == parts[1], (alone, parts)
    play_and_record(path, os.path.join(folder, "again-series.rrec"), more=["-series"])


class Player:
    """rmdsrec replay."""

    def __init__(self, path, *more, port="0"):
        self.program = subprocess.Popen(
            [os.path.join(BIN, "rmdsrec"), "replay", path, "-N", port, "-L", "127.0.0.1", *more],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = port_of(self.program)

    def end(self):
        self.program.terminate()
        text = self.program.stdout.read()
        self.program.stdout.close()
        return self.program.wait(), text


def streams(path, *more):
    """Of each item, what came: kind, field and value, without the times."""
    done = rmdsrec("export", path, *more)
    found = {item: [] for item in ITEMS}
    for row in csv.DictReader(done.stdout.splitlines()):
        found[row["item"]].append((row["kind"], row["field"], row["value"]))
    return found


def play_and_record(path, again, port="0", to_port=None, more=()):
    """`again` has what `path` has: played on a port, recorded there or where it comes out."""
    player = Player(path, "-speed", "max", "-waitItems", str(len(ITEMS)), *more, port=port)
    recorder = Recorder(to_port or player.port, again)
    wanted = updates_of(rmdsrec("info", path, *more).stdout)[0]
    recorder.wait_for(lambda text: updates_of(text)[0] >= wanted)
    code, text = recorder.end(signal.SIGTERM)
    assert code == 0, text
    code, text = player.end()
    assert code == 0 and "the recording has ended" in text, text
    before, after = streams(path, *more), streams(again)
    for item in ITEMS:
        # Images may come more often: those of the moment at which the item was asked for.
        updates = [row for row in before[item] if row[0] == "UPDATE"]
        assert updates and updates == [row for row in after[item] if row[0] == "UPDATE"], item
        assert before[item][-1] == after[item][-1], item
    check_sequence(again, to_port is not None)
    if to_port: # a chain says states of its own
        return
    done = rmdsrec("compare", path, again, *more)
    assert done.returncode == 0 and f"compared    {len(ITEMS)} items, {wanted} updates" in \
        done.stdout, (done, wanted)


def a_recording_that_is_played_is_recorded_again(_, folder):
    play_and_record(os.path.join(folder, "whole.rrec"), os.path.join(folder, "again.rrec"))


def a_table_becomes_the_recording_it_came_from(_, folder):
    path, table = os.path.join(folder, "whole.rrec"), os.path.join(folder, "day.csv")
    again = os.path.join(folder, "imported.rrec")
    assert rmdsrec("export", path, "-out", table).returncode == 0
    done = rmdsrec("import", again, "-csv", table, "-dict", os.path.join(SOURCE, "conf"))
    assert done.returncode == 0, done
    assert os.stat(again).st_mode & 0o777 == 0o640

    def rows(recording):
        done = rmdsrec("export", recording, "-dict", os.path.join(SOURCE, "conf"))
        for row in csv.DictReader(done.stdout.splitlines()):
            yield row.pop("time"), row
    for (time_before, before), (time_after, after) in itertools.zip_longest(rows(path),
                                                                            rows(again)):
        assert before == after, (before, after)
        assert abs(seconds(time_before) - seconds(time_after)) < 0.001
    with open(table, "a", encoding="ascii") as out:
        out.write("nonsense\n")
    done = rmdsrec("import", os.path.join(folder, "bad.rrec"), "-csv", table)
    assert done.returncode == 2 and "not eight cells" in done.stderr, done


def seconds(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").timestamp()


def a_late_subscriber_gets_the_image_of_the_moment(_, folder):
    path, part = os.path.join(folder, "whole.rrec"), os.path.join(folder, "part.rrec")
    begin = re.search(r"from +(\S+)", rmdsrec("info", path).stdout)[1]
    rows = list(csv.DictReader(rmdsrec("export", path, "-il", "IT3").stdout.splitlines()))
    moment = rows[len(rows) // 2]["time"]
    image = {row["field"]: row["value"] for row in rows if row["time"] <= moment and row["field"]}
    player = Player(path, "-from", f"{seconds(moment) - seconds(begin) + 1e-5:.6f}", "-speed",
                    "0.001", "-as", "AGAIN", "-il", "IT3,IT4", "-waitItems", "3")
    recorder = Recorder(player.port, part, service="AGAIN")
    recorder.wait_for(lambda _: streams(part)["IT3"])
    code, _ = recorder.end(signal.SIGTERM)
    assert code == 4, code  # 18 items are not played
    player.end()
    got = {field: value for kind, field, value in streams(part)["IT3"]
           if kind == "REFRESH" and field}
    assert got == image, {key: (got.get(key), image[key]) for key in image
                          if got.get(key) != image[key]}


def other_names_replay_too(_, folder):
    path = os.path.join(folder, "whole.rrec")
    for name, words in (("rmdsreplay", [path]), ("sink_driven_src", ["-Q", path, "-K"])):
        program = subprocess.Popen([os.path.join(BIN, name), *words, "-N", "0", "-L", "127.0.0.1"],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert port_of(program)
        program.terminate()
        text = program.stdout.read()
        program.stdout.close()
        assert program.wait(WAIT_S) == 0 and "played " in text, (name, text)
    done = subprocess.run([os.path.join(BIN, "sink_driven_src"), "-Q", path, "-U", "5"],
                          capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert done.returncode == 1 and "played as it is" in done.stderr, done


def a_replay_obeys_commands(_, folder):
    path, part = os.path.join(folder, "whole.rrec"), os.path.join(folder, "commanded.rrec")
    control = os.path.join(folder, "control")
    begin = re.search(r"from +(\S+)", rmdsrec("info", path).stdout)[1]
    rows = list(csv.DictReader(rmdsrec("export", path, "-il", "IT3").stdout.splitlines()))
    moment = rows[len(rows) // 2]["time"]
    at = seconds(moment) - seconds(begin) + 1e-5

    def tell(command, code=0):
        done = rmdsrec("tell", control, *command.split())
        assert done.returncode == code, (command, done)
        return done.stdout

    player = Player(path, "-control", control, "-waitItems", "1", "-speed", "max")
    assert os.stat(control).st_mode & 0o077 == 0
    assert "ok waiting at 0.000000" in tell("st")
    tell("pause")
    for command in ("seek 1e8", "seek x", "speed 0", "leap", "pause now"):
        assert tell(command, 1).startswith("error "), command
    recorder = Recorder(player.port, part)
    recorder.wait_for(lambda _: "20 items open" in tell("st"))
    tell(f"seek {at:.6f}")
    assert f"ok paused at {at:.6f}" in tell("st")
    recorder.wait_for(lambda text: updates_of(text)[1] >= len(ITEMS))
    image = {row["field"]: row["value"] for row in rows if row["time"] <= moment and row["field"]}
    recorder.wait_for(lambda _: {field: value for kind, field, value in streams(part)["IT3"]
                                 if kind == "REFRESH" and field} == image)
    tell("speed 1000")
    tell("go")
    recorder.wait_for(lambda _: "ok ended at" in tell("st"))
    last = [row for row in rows if row["field"] == "ACVOL_1"][-1]["value"]
    recorder.wait_for(lambda _: [value for _, field, value in streams(part)["IT3"]
                                 if field == "ACVOL_1"][-1] == last)
    recorder.end(signal.SIGTERM)
    tell("q")
    assert player.program.wait(WAIT_S) == 0 and not os.path.exists(control)
    assert rmdsrec("tell", control, "st").returncode == 2


# Their requests are more bytes than the 400 buffers of a client's queue take.
MANY = [f"{'MANY' * 58}{i}.N" for i in range(11000)]


def every_request_of_many_is_sent(publisher, folder):
    """More requests at once than the queue of the recorder's connection takes."""
    names, path = os.path.join(folder, "many"), os.path.join(folder, "many.rrec")
    with open(names, "w", encoding="ascii") as out:
        out.write("\n".join(MANY) + "\n")
    recorder = Recorder(publisher.port, path, "-f", names, "-o", "100000")
    recorder.wait_for(lambda text: updates_of(text)[1] >= len(MANY) + len(ITEMS))
    publisher.rate(1000)
    recorder.wait_for(lambda text: updates_of(text)[0] > 1000)
    publisher.rate(0)
    code, text = recorder.end(signal.SIGTERM)
    wanted = len(MANY) + len(ITEMS)
    assert code == 0 and f"{wanted} of {wanted} were open" in text, (code, text)
    assert "errors" not in text, text


def images_wait_for_room(_, folder):
    """A client that asks for more images than its queue takes gets each of them."""
    path, again = os.path.join(folder, "many.rrec"), os.path.join(folder, "again-many.rrec")
    length = float(re.search(r"length +(\S+) s", rmdsrec("info", path).stdout)[1])
    player = Player(path, "-from", f"{length - 0.01:.3f}", "-maxBuffers", "20", "-waitItems",
                    "1000000")
    recorder = Recorder(player.port, again, "-f", os.path.join(folder, "many"), "-o", "100000")
    recorder.wait_for(lambda text: updates_of(text)[1] >= len(MANY) + len(ITEMS))
    code, text = recorder.end(signal.SIGTERM)
    assert code == 0 and "the connection 0 times" in text, (code, text)
    code, text = player.end()
    # How many had to wait is a matter of who is faster; that each came and nobody was cut is not.
    assert code == 0 and re.search(r"\d+ images waited for room, 0 clients", text), text


def other_streams_are_told_apart(_, folder):
    first, second = (os.path.join(folder, name) for name in ("whole.rrec", "killed.rrec"))
    done = rmdsrec("compare", first, second)
    assert done.returncode == 5 and "20 items differ" in done.stdout, done
    assert re.search(r"differs +IT\d+ of RDFD, domain 6: \d+ updates", done.stdout), done
    done = rmdsrec("compare", first, os.path.join(folder, "none.rrec"))
    assert done.returncode == 2, done
    assert rmdsrec("compare", first).returncode == 1


def a_recorder_obeys_commands(publisher, folder):
    """Its file is named by the time; it is told to begin another one, and to end."""
    control = os.path.join(folder, "recorder")
    pattern = os.path.join(folder, "at-%Y%m%d-%H%M%S-100%%.rrec")
    done = rmdsrec("record", "x%Q", "-host", "127.0.0.1:1", "-S", "RDFD", "-il", "A")
    assert done.returncode == 1 and "a % without" in done.stderr, done
    for _ in range(2): # within a second: each has a file of its own
        done = rmdsrec("record", os.path.join(folder, "soon-%S.rrec"), "-host", "127.0.0.1:1",
                       "-S", "RDFD", "-il", "A", "-secs", "0.01")
        assert done.returncode == 3, done
    recorder = Recorder(publisher.port, pattern, "-control", control)
    path = re.search(r"recording into (.*)", recorder.program.stdout.readline())[1]
    assert re.search(r"/at-20\d{6}-\d{6}-100%.rrec$", path), path
    recorder.path = path
    publisher.rate(1000)
    recorder.wait_for(lambda text: updates_of(text)[0] > 100)
    said = rmdsrec("tell", control, "st").stdout
    assert said.startswith("ok connected, 20 of 20 items open, ") and " 1 files, " in said, said
    assert rmdsrec("tell", control, "pause").returncode == 1
    assert rmdsrec("tell", control, "rotate").returncode == 0
    recorder.wait_for(lambda text: updates_of(text)[0] > 100, path[:-5] + ".1.rrec")
    publisher.rate(0)
    assert rmdsrec("tell", control, "q").returncode == 0
    text = recorder.program.stdout.read()
    recorder.program.stdout.close()
    assert recorder.program.wait(WAIT_S) == 0 and "written     2 files" in text, text
    assert not os.path.exists(control)


def a_service_that_is_not_offered_is_named(publisher, folder):
    server = f"127.0.0.1:{publisher.port}"
    done = rmdsrec("record", os.path.join(folder, "none.rrec"), "-host", server, "-S", "NOPE", "-S",
                   "RDFD", "-il", "A", "-secs", "1")
    assert done.returncode == 4, done
    assert f"missing     service NOPE was not offered by {server}\n" in done.stdout, done
    assert done.stdout.count("missing ") == 1, done


def a_part_without_records_is_refused(_, folder):
    done = rmdsrec("replay", os.path.join(folder, "whole.rrec"), "-N", "0", "-loop", "-from",
                   "86400")
    assert done.returncode == 1 and "nothing was recorded" in done.stderr, done


def main():
    publisher = Publisher()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in (a_recording_has_what_was_sent, a_killed_recorder_leaves_whole_chunks,
                         each_file_of_a_series_is_read_alone, a_series_is_one_recording,
                         a_recording_that_is_played_is_recorded_again,
                         a_late_subscriber_gets_the_image_of_the_moment,
                         other_names_replay_too, a_replay_obeys_commands,
                         a_table_becomes_the_recording_it_came_from,
                         other_streams_are_told_apart, every_request_of_many_is_sent,
                         images_wait_for_room, a_recorder_obeys_commands,
                         a_part_without_records_is_refused,
                         a_service_that_is_not_offered_is_named):
                print(case.__name__, flush=True)
                case(publisher, folder)
    finally:
        publisher.close()


if __name__ == "__main__":
    sys.exit(main())
