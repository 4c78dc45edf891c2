#!/usr/bin/env python3
"""rmdsmon_finds.py - rmdsmon finds the system that is meant: the only one, that of a configuration;
of several it wants one named; another user's is none; and one that may not be read is not called
dead."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import conf_examples
from running import spaces  # conf_examples has made the folder known

WAIT_S = 90
NOBODY = 65534
SYSTEM = "/run/rmds"  # where daemons of the host stand


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def enter_spaces():
    """A network, a /run and a /tmp of our own."""
    if not spaces.enter(conf_examples.INSIDE, "-n", "-m", trial="mount -t tmpfs tmpfs /run"):
        print("no mount namespace may be made here")
        sys.exit(77)
    kept = {path: f"/run/kept{i}" for i, path in enumerate((conf_examples.ROOT, conf_examples.BIN))}
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/run")
    for path, place in kept.items():  # a clone may stand in /tmp
        os.makedirs(place)
        mount("--bind", path, place)
    mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/tmp")
    for path, place in kept.items():
        if not os.path.exists(path):
            os.makedirs(path)
            mount("--bind", place, path)
    os.makedirs(SYSTEM, mode=0o755)
    for name in ("RMDS_STATE", "XDG_RUNTIME_DIR", "TMPDIR"):
        os.environ.pop(name, None)
    spaces.loopback_up()


def monitor(*words, user=None):
    who = {"user": user, "group": user, "extra_groups": []} if user else {}
    run = subprocess.run([os.path.join(conf_examples.BIN, "rmdsmon"), *words, "-once", "-watch",
                          "0"], check=False,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                         **who)
    return run.returncode, run.stdout, run.stderr


def write_conf(folder, name, lines=""):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as out:
        out.write(f"*rrcp*interface : lo\n*rrcp*authKeyFile :\n*logTarget : stderr\n{lines}")
    return path


def start(conf, instance, place=None):
    """An rrcpd as "tools/rmds up" starts it, when it shows its statistics."""
    words = ["rrcpd", "net1", "-c", conf, "-instance", str(instance), "-fg"]
    if place:
        os.makedirs(place, mode=0o700, exist_ok=True)
        words += ["-set", f"*runDir : {place}"]
    daemon = conf_examples.tool(*words, stderr=subprocess.DEVNULL)
    end = time.monotonic() + WAIT_S
    while not os.path.exists(f"{place or SYSTEM}/rrcpd.net1.{instance}/stats"):
        assert time.monotonic() < end and daemon.poll() is None, "rrcpd does not start"
        time.sleep(0.02)
    return daemon


def names(answer):
    return [line.split()[0] for line in answer[1].splitlines()[2:] if line.startswith(" rrcpd")]


def choosing(folder, daemons):
    """Nothing, one, several; by configuration; by the runDir that a configuration sets."""
    own = f"/tmp/openrmds-{os.getuid()}"
    first, second = write_conf(folder, "first.cnf"), write_conf(folder, "second.cnf")
    code, text, _ = monitor()
    assert code == 3 and "0 instances" in text, (code, text)
    os.makedirs(own, mode=0o700)
    daemons.append(start(first, 1, own + "/first"))
    assert names(monitor()) == ["rrcpd.net1.1"], monitor()
    daemons.append(start(second, 2, own + "/second"))
    code, text, said = monitor()
    assert code == 1 and not text, (code, text)
    for place, conf in (("first", first), ("second", second)):
        assert f"rmdsmon -run {own}/{place}   1 daemon of {conf}\n" in said, said
    assert names(monitor("-c", first)) == ["rrcpd.net1.1"], monitor("-c", first)
    assert names(monitor("-c", second)) == ["rrcpd.net1.2"], monitor("-c", second)
    assert names(monitor("-run", own + "/second")) == ["rrcpd.net1.2"]
    named = os.path.join(folder, "run")
    third = write_conf(folder, "third.cnf", f"*runDir : {named}\n")
    os.makedirs(named)
    daemons.append(start(third, 3, named))
    assert names(monitor("-c", third)) == ["rrcpd.net1.3"], monitor("-c", third)


def other_user(folder, daemons):
    """A system of somebody else is not found, nor one that somebody else has put where ours stand;
    where the folder may not be read, that is said."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        count = int(file.read().split()[2])
    if count <= NOBODY:  # a user namespace of an ordinary user
        print("not root: another user cannot be had")
        return
    code, text, _ = monitor(user=NOBODY)
    assert code == 3 and "0 instances" in text, (code, text)
    forged = f"/tmp/openrmds-{NOBODY}"  # ours, under the name of that user's
    shutil.copytree(f"/tmp/openrmds-{os.getuid()}/first/rrcpd.net1.1",
                    f"{forged}/first/rrcpd.net1.1",
                    ignore=lambda _, found: [name for name in found if name != "stats"])
    code, text, _ = monitor(user=NOBODY)
    assert code == 3 and "0 instances" in text, (code, text)
    conf = write_conf(folder, "system.cnf")
    daemons.append(start(conf, 4))
    place = f"{SYSTEM}/rrcpd.net1.4"
    status = os.stat(place)
    assert (status.st_uid, status.st_mode & 0o777) == (os.getuid(), 0o750), status
    code, text, _ = monitor(user=NOBODY)
    assert code == 6 and re.search("permission denied; join group (root|rmds), or run as root",
                                   text), (code, text)
    end = time.monotonic() + WAIT_S
    while True:  # a daemon that still starts gives its folder the right of the group once more
        os.chmod(place, 0o700)
        code, text, _ = monitor(user=NOBODY)
        if code == 6 and "permission denied; run as root" in text:
            break
        assert time.monotonic() < end, (code, text)
    os.chmod(place, 0o750)


def main():
    daemons = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            choosing(folder, daemons)
            other_user(folder, daemons)
        finally:
            for daemon in daemons:
                daemon.terminate()
                daemon.wait()
    print("all good")


if __name__ == "__main__":
    enter_spaces()
    main()
