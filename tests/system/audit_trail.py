#!/usr/bin/env python3
"""audit_trail.py - the audit trail of a running p2ps: logins, refusals, logouts, reloads; its chain through a kill.

p2ps runs alone, with its engine inside.
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import os
import re
import signal
import stat
import subprocess
import urllib.request

import conf_examples
import daemons

PORT = 14415
CONF = """*rrcp*interface : lo
*rrcp*inProcess : True
*runDir : {folder}/run
*logTarget : stderr
*p2ps*rsslPort : %d
*p2ps*statusPort : %d
*p2ps*accessFile : {folder}/access
*p2ps*accessAudit : {folder}/trail
""" % (PORT, PORT + 1)


def program(name, *words):
    return subprocess.run([os.path.join(conf_examples.BIN, name), *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=90)


def write(bed, text):
    path = os.path.join(bed.folder, "access")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o600)
    return hashlib.sha256(text.encode()).hexdigest()


def trail(bed):
    return os.path.join(bed.folder, "trail")


def lines(bed):
    """Whole ones: p2ps may be writing the last."""
    with open(trail(bed), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("}\n")]


def has(bed, **want):
    def found():
        return [one for one in lines(bed) if want.items() <= one.items()]
    daemons.until(lambda: f"the trail has {want}: {lines(bed)}", found)
    return found()[-1]


def log_in(user, *words):
    program("rmdstestclient", "-h", "127.0.0.1", "-p", str(PORT), "-u", user,
            "-list", "services", "-timeout", "1", *words)


def verify(bed, *words):
    done = program("rmdsaccess", "audit", "verify", trail(bed), *words)
    return done.returncode, done.stdout


def start(bed):
    bed.start("p2ps.1", "p2ps")
    bed.said("p2ps.1", f"listening|port {PORT}")


def who_came_is_told(bed):
    was = write(bed, "user alice\n")
    start(bed)
    assert has(bed, e="start")["now"] == was
    log_in("alice")
    one = has(bed, e="login", v="allow", user="alice")
    assert one["addr"].startswith("127.0.0.1:") and one["sid"].startswith("0."), one
    assert one["by"] == "name" and "tls" not in one, one
    bed.said("p2ps.1", r"mount: host=127\.0\.0\.1:\d+ user=alice logged in")
    bed.said("p2ps.1", r"mount: host=127\.0\.0\.1:\d+ user=alice ended")
    assert has(bed, e="logout", user="alice")["sid"] == one["sid"]
    log_in("mallory")
    denied = has(bed, e="login", v="deny", user="mallory")
    assert denied["code"] == 30 and "rule" not in denied, "no line fits"
    now = write(bed, "user alice\nuser bob\n")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    reload = has(bed, e="reload")
    assert (reload["was"], reload["now"]) == (was, now), reload
    assert stat.S_IMODE(os.stat(trail(bed)).st_mode) & 0o027 == 0
    code, said = verify(bed)
    assert code == 0 and "whole: " in said, said
    done = program("rmdsaccess", "-from", "2026-01-01", "-to", "2100-01-01", "audit", "usage", trail(bed))
    assert done.returncode == 0 and done.stdout.startswith("user,vendor_service,code,items"), done
    daemons.until(lambda: "the lines are counted", lambda: bed.value("p2ps.1", "p2ps.auditWritten") >= 5)


def a_password_stands_as_a_hash(bed):
    """Checked by a thread; the audit trail has neither."""
    hashed = subprocess.run([os.path.join(conf_examples.BIN, "rmdsaccess"), "hash"],
                            input="open-sesame\n", capture_output=True, text=True, check=True,
                            timeout=90).stdout.strip()
    write(bed, f"user alice\nuser carol hash={hashed}\n")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    daemons.until(lambda: "the file is read",
                  lambda: [one["e"] for one in lines(bed)].count("reload") == 2)
    log_in("carol", "-pw", "open-sesam")
    refused = has(bed, e="login", v="deny", user="carol")
    assert refused["why"] == "user name or password refused" and refused["by"] == "password"
    for _ in range(2):
        log_in("carol", "-pw", "open-sesame")
    assert has(bed, e="login", v="allow", user="carol")["by"] == "password"
    for what, count in ("Checked", 2), ("Refused", 1), ("Cached", 1):
        daemons.until(lambda: "passwords are counted",
                      lambda: bed.value("p2ps.1", "p2ps.passwords" + what) == count)
    with open(trail(bed), encoding="utf-8") as file:
        assert "sesam" not in file.read()


def an_order_and_the_line_that_refuses_are_told(bed):
    """The last refusals stand in the status page's JSON, too."""
    write(bed, "user alice\nuser eve disabled\n")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    daemons.until(lambda: "the file is read",
                  lambda: [one["e"] for one in lines(bed)].count("reload") == 3)
    log_in("eve")
    rule = os.path.join(bed.folder, "access") + ":2"
    assert has(bed, e="login", v="deny", user="eve")["rule"] == rule
    with urllib.request.urlopen(f"http://127.0.0.1:{PORT + 1}/status.json", timeout=60) as answer:
        refusals = json.load(answer)["refusals"]
    assert [refusals[0][name] for name in ("event", "user", "rule", "why")] == [
        "login", "eve", rule, "the user is disabled"], refusals
    done = program("rmdsctl", "-run", os.path.join(bed.folder, "run"), "p2ps.1", "drain", "off")
    assert done.returncode == 0, done
    one = has(bed, e="order", order="drain off")
    assert one["who"] and "draining ends" in one["why"], one


def a_second_p2ps_needs_its_own(bed):
    done = program("p2ps", "-fg", "-c", bed.conf, "-set", "*p2ps*rsslPort : 0", "-set", f"*runDir : {bed.folder}/other",
                   "-set", "*p2ps*statusPort : 0")
    assert done.returncode == 2 and "another process writes its audit trail there" in done.stderr, done


def the_chain_goes_on_after_a_kill(bed):
    bed.running["p2ps.1"].signal(signal.SIGKILL)
    daemons.until(lambda: "p2ps is gone", lambda: not bed.running["p2ps.1"].alive())
    bed.running.pop("p2ps.1")
    with open(trail(bed), "a", encoding="ascii") as file:
        file.write('{"n":9,"prev":"half a li')
    code, said = verify(bed)
    assert code == 0 and "the last line is not finished (24 bytes)" in said, said
    start(bed)
    daemons.until(lambda: f"it says that it has started: {lines(bed)}",
                  lambda: [one["e"] for one in lines(bed)][-2:] == ["cut", "start"])
    log_in("alice")
    bed.stop("p2ps.1")
    code, said = verify(bed)
    assert code == 0 and "each accounted for: 1" in said, said
    assert lines(bed)[-1]["e"] == "stop"


def what_was_changed_shows(bed):
    """By itself, or by the head that the log named."""
    start(bed)
    bed.stop("p2ps.1")
    with open(trail(bed), encoding="utf-8") as file:
        good = file.read()
    path = os.path.join(bed.folder, "p2ps.1.log")
    with open(path, encoding="utf-8") as file:
        number, head = re.findall(r"audit trail .*it ends for now, line (\d+) has SHA-256 (\w+)", file.read())[-1]
    assert verify(bed, f"{number}:{head}")[0] == 0
    with open(trail(bed), "w", encoding="utf-8") as file:
        file.write(good.replace('"user":"mallory"', '"user":"malory"'))
    code, said = verify(bed)
    assert code == 1 and "is not the SHA-256 of the line before" in said, said
    with open(trail(bed), "w", encoding="utf-8") as file:
        file.write("".join(good.splitlines(True)[:-1]))
    assert verify(bed)[0] == 0, "a trail cut at a line looks whole"
    code, said = verify(bed, f"{number}:{head}")
    assert code == 1 and "is not in it" in said, said


if __name__ == "__main__":
    conf_examples.enter_namespace()
    daemons.run(CONF, who_came_is_told, a_password_stands_as_a_hash,
                an_order_and_the_line_that_refuses_are_told, a_second_p2ps_needs_its_own,
                the_chain_goes_on_after_a_kill, what_was_changed_shows)
