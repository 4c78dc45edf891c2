#!/usr/bin/env python3
"""fault.py GROUP - the scenarios of rmdsfault, played to rmdstestclient: it does what is correct.

The scenarios of a group run side by side; "rest" is what the other groups leave. WRONG has what
rmdstestclient is known not to do: rmdsfault has to say so.
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import os
import re
import subprocess
import sys

BIN = os.environ["RMDS_BIN"]
GROUPS = {
    "connections": """provider-dies provider-dies-under-load connection-breaks-often
        server-is-down-at-first server-hangs pings-are-answered login-refused
        login-refused-for-now login-never-answered login-is-slow""".split(),
    "items": """image-never-comes images-are-late image-in-many-parts image-breaks-off
        item-not-found item-not-entitled item-closed-for-now item-closed item-redirected
        items-go-stale""".split(),
}
# Options of the client beside those of all.
OPTIONS = {
    "login-never-answered": ["-timeout", "3"],
    "image-never-comes": ["-timeout", "4"],
}
# What rmdstestclient does not do: the scenario, and what rmdsfault says of it.
WRONG = {
    "item-redirected": "expect request RMDSFAULT.NEW: 0 of 1 came",
    "dictionary-changes": "expect dictionary: 0 of 1 came",
}
WHOLE = r"0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong"
# What the client's own judgement of the sequence says.
SEQUENCE = {
    "updates-are-lost": r"[1-9]\d* gaps, [1-9]\d* lost, 0 duplicates, 0 out of order, 0 wrong",
    "updates-come-twice": r"0 gaps, 0 lost, [1-9]\d* duplicates, 0 out of order, 0 wrong",
    "updates-out-of-order": r"[1-9]\d* out of order, 0 wrong",
    "provider-dies-under-load": WHOLE,
    "service-flaps": WHOLE,
}


def fault(*words):
    return subprocess.run([os.path.join(BIN, "rmdsfault"), *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=300)


def scenarios():
    """{name: why it is skipped, or None}"""
    listed = fault("list")
    assert listed.returncode == 0, listed.stderr
    found = {}
    for line in listed.stdout.splitlines():
        name, _, text = line.partition(" ")
        _, is_skipped, reason = text.partition("skipped: ")
        found[name] = reason if is_skipped else None
    return found


def play(name):
    done = fault("run", name, "-port", "0", "-ping", "3", "--", os.path.join(BIN, "rmdstestclient"),
                 "-S", "{service}", "-h", "127.0.0.1", "-p", "{port}", "-il", "A.N,B.N",
                 "-seqcheck", "-secs", "280", "-timeout", "280", *OPTIONS.get(name, []))
    wanted = 10 if name in WRONG else 0
    text = done.stdout + done.stderr
    trouble = []
    if done.returncode != wanted:
        trouble.append(f"exit code {done.returncode}, wanted {wanted}")
    if name in WRONG and WRONG[name] not in text:
        trouble.append("it does not say: " + WRONG[name])
    if name in SEQUENCE and not re.search(SEQUENCE[name], text):
        trouble.append("no sequence as in " + SEQUENCE[name])
    return [f"{name}: {what}\n{text}" for what in trouble]


def main():
    found = scenarios()
    group = GROUPS.get(sys.argv[1])
    if group is None:
        others = {name for names in GROUPS.values() for name in names}
        group = [name for name in found if name not in others]
        for name in found:
            if found[name]:
                done = fault("run", name)
                assert done.returncode == 77 and found[name] in done.stdout, (name, done)
    assert set(group) <= set(found), set(group) - set(found)
    with concurrent.futures.ThreadPoolExecutor(len(group)) as pool:
        played = [name for name in group if not found[name]]
        trouble = [line for lines in pool.map(play, played) for line in lines]
    print("\n".join(trouble) or f"{len(played)} scenarios as they should be")
    return 1 if trouble else 0


if __name__ == "__main__":
    sys.exit(main())
