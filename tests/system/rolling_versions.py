#!/usr/bin/env python3
"""rolling_versions.py - every daemon is restarted in turn with another version, there and back.

RMDS_OLD_BIN names a folder with p2ps, src_dist, rrcpd and rmdscnf of an older version, as
old_build.sh makes it; where it is not set, they are built of the commit before this one, and
without the history of git the test is skipped. All daemons run the old version first, then
one after the other gets the new one, and then one after the other the old one again, under a
consumer with a list of two p2ps. All run on one network with a key. Twice: with two providers, and
with two src_dist that mirror one numbered provider (mirrorSequence).

In each mixture every item is open and ticks, no record and no packet is dropped for its version,
and no update is lost silently. In the mirrored turn one version goes on where the other one was.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import tempfile
import time

import conf_examples
import mirror
import rolling_restart

OLD, NEW = os.environ.get("RMDS_OLD_BIN", ""), conf_examples.BIN
NEEDED = ("p2ps", "src_dist", "rrcpd", "rmdscnf")
ORDER = ("p2ps.1", "p2ps.2", "src_dist.1", "src_dist.2", "rrcpd.net1.1", "rrcpd.net1.2")
DICTIONARIES = ", ".join(os.path.join(conf_examples.ROOT, "conf", name)
                         for name in ("RDMFieldDictionary", "enumtype.def"))
MIRRORED = """\
*src_dist*hostList : 127.0.0.1:14102
*src_dist*mirrorGroup : pair
*src_dist*mirrorMode : hot
*src_dist*mirrorSequence : True
"""
REFUSED = ("drop.version", "drop.type", "drop.flags", "drop.body")  # as rrcpd counts them


def version(folder):
    said = subprocess.run([os.path.join(folder, "p2ps"), "-version"], capture_output=True,
                          text=True, check=False)
    return (said.stdout + said.stderr).splitlines()[0]


def provider(port, is_numbered):
    more = ("-seqnum",) if is_numbered else ()
    return conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", port, "-L", "127.0.0.1", "-U",
                              "2000", "-tps", "100", "-tcpnodel", "-seqdata", *more,
                              stdout=subprocess.DEVNULL)


def names_of(system):
    return [p["name"] for p in system.load()["programs"]]


def check_mixture(system, done, folder):
    """All in `done` run from `folder`, and nobody drops what the others send."""
    for program in system.load()["programs"]:
        runs = os.path.dirname(os.readlink(f"/proc/{program['pid']}/exe"))
        is_there = os.path.samefile(runs, folder)
        assert is_there == (program["name"] in done), f"{program['name']} runs from {runs}"
    for name in ("rrcpd.net1.1", "rrcpd.net1.2"):
        drops = {key: count for key, count in mirror.values(system, name).items()
                 if key.endswith(REFUSED)}
        assert len(drops) == len(REFUSED), f"{name} does not say what it drops: {drops}"
        assert not any(drops.values()), f"{name} dropped packets of another version: {drops}"


def ticks(system):
    """Each p2ps that serves items goes on."""
    for name in ("p2ps.1", "p2ps.2"):
        found = mirror.values(system, name)
        if found.get("p2ps.worker.0.watches", 0) > 0:
            before = found["p2ps.worker.0.updatesOut"]
            mirror.await_value(system, name, "p2ps.worker.0.updatesOut",
                               lambda n, before=before: n > before + rolling_restart.ITEMS)


def standing_by(system):
    """The items that the one src_dist carries are followed by the other one."""
    end = time.monotonic() + mirror.WAIT_S
    while time.monotonic() < end:
        kept = [mirror.value(system, f"src_dist.{i}", "src_dist.replayItems") or 0 for i in (1, 2)]
        if sum(kept) >= rolling_restart.ITEMS:
            return
        time.sleep(0.15)
    raise AssertionError(f"items kept ready {kept}")


def resumed(system):
    return sum(mirror.value(system, f"src_dist.{i}", "src_dist.resumed") or 0 for i in (1, 2))


def roll(run, system, folder, is_mirrored):
    """All daemons, one after the other, to the version in `folder`. Items that went on unseen."""
    done, unseen = [], 0
    run.BIN = folder
    for name in ORDER:
        if is_mirrored:
            standing_by(system)
        before = resumed(system)
        rolling_restart.restart(run, system, name)
        rolling_restart.all_open(system)
        ticks(system)
        done.append(name)
        check_mixture(system, done, folder)
        after = resumed(system)
        unseen += max(0, after - before) if name.startswith("src_dist") else 0
    return unseen


def judge(text, code, is_mirrored, unseen):
    print(text)
    mirror.judge(text, code)
    assert "login closed: NONE p2ps is shutting down" in text, "p2ps did not take leave"
    assert not is_mirrored or unseen > 0, "no item went on unseen with the other version"
    print(f"{unseen} items went on unseen with the other version")


def turn(is_mirrored):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        run = conf_examples.load_run()
        conf = os.path.join(folder, "rmds.cnf")
        key = os.path.join(folder, "net1.key")
        subprocess.run([os.path.join(NEW, "rrcpd"), "--make-key", key], check=True,
                       stdout=subprocess.DEVNULL)
        text = rolling_restart.CONF.replace("authKeyFile :", f"authKeyFile : {key}")
        text += f"*dictionaryPath : {DICTIONARIES}\n"  # nothing stands beside the old programs
        if is_mirrored:
            text = "".join(line + "\n" for line in text.splitlines() if "hostList" not in line)
            text += MIRRORED
        with open(conf, "w", encoding="ascii") as out:
            out.write(text)
        system = run.System(conf)
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(rolling_restart.ITEMS), "X",
                               stdout=out).wait()
        ports = ["14102"] if is_mirrored else ["14102", "14112"]
        children = [provider(port, is_mirrored) for port in ports]
        try:
            run.BIN = OLD
            assert run.up(system) == 0, "the old version did not start"
            client = conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h",
                                        "127.0.0.1:14202,127.0.0.1:14203", "-f", items, "-u",
                                        "demo", "-seqcheck", "-secs", "3600", "-l", "1",
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            children.append(client)
            rolling_restart.all_open(system)
            check_mixture(system, names_of(system), OLD)
            unseen = roll(run, system, NEW, is_mirrored) + roll(run, system, OLD, is_mirrored)
            client.send_signal(signal.SIGINT)
            text, _ = client.communicate(timeout=90)
            judge(text, client.returncode, is_mirrored, unseen)
        finally:
            run.down(system)
            for child in children:
                child.terminate()
                child.wait()


def with_the_commit_before():
    """This test again, with those programs."""
    asked = subprocess.run(["git", "-C", conf_examples.ROOT, "rev-parse", "--short", "HEAD~1"],
                           capture_output=True, text=True, check=False)
    if asked.returncode:
        print("SKIP: RMDS_OLD_BIN is not set, and git has no commit before this one")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        build = os.path.join(conf_examples.ROOT, "tests", "system", "old_build.sh")
        subprocess.run([build, asked.stdout.strip(), folder], check=True)
        return subprocess.run([sys.executable, *sys.argv], check=False,
                              env={**os.environ, "RMDS_OLD_BIN": folder}).returncode


def main():
    if not OLD:
        return with_the_commit_before()
    if not all(os.access(os.path.join(OLD, name), os.X_OK) for name in NEEDED):
        print(f"{OLD} of RMDS_OLD_BIN has not all of {', '.join(NEEDED)}")
        return 1
    conf_examples.enter_namespace()
    print(f"{version(OLD)} and {version(NEW)}", flush=True)
    for is_mirrored in (False, True):
        print("two src_dist that mirror one provider:" if is_mirrored else "two providers:",
              flush=True)
        turn(is_mirrored)
    return 0


if __name__ == "__main__":
    sys.exit(main())
