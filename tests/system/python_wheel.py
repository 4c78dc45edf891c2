#!/usr/bin/env python3
"""python_wheel.py LIBRARY - the wheel installs into an empty environment without an index, and a
program there has every image and every update of its items, in columns, and is told when src_dist
dies."""
# SPDX-License-Identifier: Apache-2.0
import os
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
*rrcp*attachAccess : uid={uid} consume topics=risk.*
"""
ITEMS = 100
ACVOL_1 = 32
SKIP = 77
WAIT_S = 90


def skip(why):
    print("skipped:", why)
    sys.exit(SKIP)


def environment(folder):
    """The Python of an empty environment that has the wheel alone."""
    made = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True,
                          check=False)
    if made.returncode != 0:
        skip(f"python3 makes no venv: {(made.stdout + made.stderr).strip()[:200]}")
    wheel = subprocess.run([sys.executable, os.path.join(recording.SOURCE, "tools/python/wheel.py"),
                            folder], capture_output=True, text=True, check=True).stdout.strip()
    python = os.path.join(folder, "bin/python3")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index",
                    "--disable-pip-version-check", wheel], check=True)
    return python


def client(folder):
    """Runs in the environment. One line for each thing of interest."""
    import openrmds  # pylint: disable=import-outside-toplevel,import-error

    def tell(text):
        print(text, flush=True)

    with openrmds.Backbone(run_dir=folder, instance="2",
                           dictionary=os.path.join(recording.SOURCE, "conf"),
                           on_denied=lambda count, what: tell(f"denied {what}")) as backbone:
        numbers = [backbone.open("RDFD", f"IT{i}") for i in range(ITEMS)]
        assert numbers == list(range(ITEMS))
        follow(openrmds, backbone, tell)


def in_order(counts, item, is_image, value):
    """ACVOL_1 of sequence data counts the updates of its item."""
    is_next = value == counts.get(item, 0) + 1
    counts[item] = value
    return is_next or is_image


def follow(openrmds, backbone, tell):
    images, suspect, values, updates, told, counts = set(), set(), 0, 0, 0, {}
    for batch in backbone.batches(0.1):
        for row, (item, flags) in enumerate(zip(batch.item, batch.flags)):
            assert not flags & (openrmds.CUT | openrmds.OTHER), flags
            if flags & openrmds.STATE:
                if batch.value[row] == 2 and item in images:
                    images.discard(item)
                    suspect.add(item)
                continue
            values += flags & openrmds.VALUE > 0
            if batch.fid[row] == ACVOL_1:
                assert in_order(counts, item, flags & openrmds.IMAGE, batch.value[row])
            assert (batch.raw_length[row] == 0) == (flags & openrmds.BLANK > 0)
            if flags & openrmds.FIRST and flags & openrmds.IMAGE:
                images.add(item)
            elif flags & openrmds.FIRST:
                updates += 1
        if len(images) == ITEMS and updates > told + 5000 and values > updates:
            told = updates
            tell(f"updates {updates} suspect {len(suspect)}")


def wait_for(program, good):
    for line in program.stdout:
        if good(line.split()):
            return
    raise AssertionError("the client has ended")


def check(run, system, python, library):
    publisher = recording.Publisher("14102")
    words = [python, os.path.realpath(__file__), library, "client", system.folder]
    program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "OPENRMDS_LIBRARY": library})
    try:
        publisher.rate(20000)
        wait_for(program, lambda words: words[0] == "updates" and words[3] == "0")
        chain_faults.kill_entry(run, system, "src_dist.1")
        wait_for(program, lambda words: words[0] == "updates" and words[3] == str(ITEMS))
    finally:
        program.kill()
        program.stdout.close()
        program.wait()
        publisher.close()


def main():
    library = sys.argv[1]
    if sys.argv[2:3] == ["client"]:
        client(sys.argv[3])
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        python = environment(os.path.join(folder, "venv"))
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(uid=os.getuid()))
        run = conf_examples.load_run()
        system = run.System(conf)
        try:
            assert run.up(system) == 0, "it did not start"
            check(run, system, python, library)
        finally:
            run.down(system)


if __name__ == "__main__":
    if sys.argv[2:3] != ["client"]:
        conf_examples.enter_namespace()
    main()
