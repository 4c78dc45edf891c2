#!/usr/bin/env python3
"""rmdsmon_finds.py - rmdsmon finds the system that is meant: the only one, that of a configuration; of several it wants
one named; another user's is none; and one that may not be read is not called dead."""
# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys
import tempfile
import time

import conf_examples
from running import spaces  # conf_examples has made the folder known

WAIT_S = 90
OWN = f"/dev/shm/openrmds-{os.getuid()}-"
NOBODY = 65534


def enter_spaces():
    """A network and a /dev/shm of our own."""
    if not spaces.enter(conf_examples.INSIDE, "-n", "-m", trial="mount -t tmpfs tmpfs /dev/shm"):
        print("no mount namespace may be made here")
        sys.exit(77)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", "/dev/shm"], check=True)
    spaces.loopback_up()


def monitor(*words, user=None):
    who = {"user": user, "group": user, "extra_groups": []} if user else {}
    run = subprocess.run([os.path.join(conf_examples.BIN, "rmdsmon"), *words, "-once", "-watch", "0"], check=False,
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, **who)
    return run.returncode, run.stdout, run.stderr


def write_conf(folder, name, lines=""):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as out:
        out.write(f"*rrcp*interface : lo\n*rrcp*authKeyFile :\n*runDir : {folder}\n*logTarget : stderr\n{lines}")
    return path


def start(conf, instance, shm=None):
    """An rrcpd as "tools/rmds up" starts it, when it shows its statistics."""
    words = ["rrcpd", "net1", "-c", conf, "-instance", str(instance), "-fg"]
    if shm:
        os.makedirs(shm, mode=0o700, exist_ok=True)
        words += ["-set", f"*shmDir : {shm}"]
    daemon = conf_examples.tool(*words, stderr=subprocess.DEVNULL)
    end = time.monotonic() + WAIT_S
    while not os.path.exists(f"{shm or '/dev/shm'}/rmds.rrcpd.net1.{instance}"):
        assert time.monotonic() < end and daemon.poll() is None, "rrcpd does not start"
        time.sleep(0.02)
    return daemon


def names(answer):
    return [line.split()[0] for line in answer[1].splitlines()[2:] if line.startswith(" rrcpd")]


def choosing(folder, daemons):
    """Nothing, one, several; by configuration; by the shmDir that a configuration sets."""
    first, second = write_conf(folder, "first.cnf"), write_conf(folder, "second.cnf")
    code, text, _ = monitor()
    assert code == 3 and "0 instances" in text, (code, text)
    os.makedirs(f"/dev/shm/openrmds-{os.getuid() + 1}-0123", exist_ok=True)
    daemons.append(start(first, 1, OWN + "first"))
    assert names(monitor()) == ["rrcpd.net1.1"], monitor()
    daemons.append(start(second, 2, OWN + "second"))
    code, text, said = monitor()
    assert code == 1 and not text, (code, text)
    for place, conf in (("first", first), ("second", second)):
        assert f"rmdsmon -shm {OWN}{place}   1 daemon of {conf}\n" in said, said
    assert names(monitor("-c", first)) == ["rrcpd.net1.1"], monitor("-c", first)
    assert names(monitor("-c", second)) == ["rrcpd.net1.2"], monitor("-c", second)
    assert names(monitor("-shm", OWN + "second")) == ["rrcpd.net1.2"]
    named = os.path.join(folder, "shm")
    third = write_conf(folder, "third.cnf", f"*shmDir : {named}\n")
    os.makedirs(named)
    daemons.append(start(third, 3, named))
    assert names(monitor("-c", third)) == ["rrcpd.net1.3"], monitor("-c", third)


def other_user(folder, daemons):
    """A system of somebody else is not found; where the folder is open and the file is not, that is said."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        count = int(file.read().split()[2])
    if count <= NOBODY:  # a user namespace of an ordinary user
        print("not root: another user cannot be had")
        return
    code, text, _ = monitor(user=NOBODY)
    assert code == 3 and "0 instances" in text, (code, text)
    conf = write_conf(folder, "system.cnf")
    daemons.append(start(conf, 4))
    os.chmod("/dev/shm/rmds.rrcpd.net1.4", 0o640)
    code, text, _ = monitor(user=NOBODY)
    assert code == 6 and "permission denied; join group root, or run as root" in text, (code, text)
    os.chmod("/dev/shm/rmds.rrcpd.net1.4", 0o600)
    code, text, _ = monitor(user=NOBODY)
    assert code == 6 and "permission denied; run as root" in text, (code, text)


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
