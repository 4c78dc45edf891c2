#!/usr/bin/env python3
"""demo.py SOURCE BUILD - tools/rmds demo shows prices that move, a latency and a failure, and
leaves nothing behind; with --browser, as with --keep, it leaves the chain up, and the road that it prints is one.
Nothing is said of how fast anything is."""
# SPDX-License-Identifier: Apache-2.0
import os
import pty
import re
import subprocess
import sys
import tempfile
import urllib.request

SOURCE, BUILD = (os.path.realpath(word) for word in sys.argv[1:3])
sys.path.insert(0, os.path.join(SOURCE, "tools"))
from running import spaces  # noqa: E402

BIN = os.path.join(BUILD, "bin")
WAIT_S = 240
PRICE = r"^ +DEMO\d\.O +[\d.]+ +[\d.]+ +[\d.]+ +[\d,]+ +[1-9]\d*$"




def check(condition, what):
    if not condition:
        raise AssertionError(what)


def expect(text, *patterns):
    for pattern in patterns:
        check(re.search(pattern, text, re.M), f"no '{pattern}' in\n{text}")


def command(script, *words):
    return [sys.executable, os.path.join(SOURCE, "tools", script), *words]


def plain(folder):
    """Not on a terminal: the table stands there once, and no escape is written."""
    done = subprocess.run(command("rmds-demo.py"), cwd=SOURCE, capture_output=True, text=True,
                          timeout=WAIT_S, check=False)
    text = done.stdout + done.stderr
    check(done.returncode == 0, f"exit code {done.returncode}\n{text}")
    expect(text, r"^ +RIC +BID +ASK +TRDPRC_1 +VOLUME +updates/s$", PRICE,
           r"latency, publisher to consumer, [\d,]+ updates/s",
           r"min [\d,]+ · mean [\d,]+ · p50 [\d,]+ · p99 [\d,]+ · p99.9 [\d,]+ · max [\d,]+ +lost "
           r"0 · out of order 0",
           r"normal here: with \d+ cores? and load [\d.]+", r"undetected losses: 0$",
           r"everything stopped +nothing left behind")
    as_the_readme_says(text)
    check(len(re.findall(PRICE, text, re.M)) == 8, f"not one table of eight prices:\n{text}")
    check("\x1b" not in text, f"escapes in plain text:\n{text!r}")
    left = [name for name in os.listdir(folder) if name != "state"]
    check(not left and not os.path.exists(os.path.join(folder, "state")), f"left behind: {left}")
    expect(text, r"tools/rmds up +starts this chain with a publisher")


def as_the_readme_says(text):
    """README.md shows lines of a demo: there are lines with these subjects, and the same columns, in that order."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as page:
        shown = re.search(r"^```text\n(\[ok\].*?)^```", page.read(), re.M | re.S)[1]
    at = 0
    for line in filter(None, shown.split("\n")):
        subject = re.match(r"\[ok\]  \S+| +RIC .*| +DEMO\d\.O| +latency, publisher to consumer", line)
        check(subject, f"README.md shows a line of no known kind: {line}")
        found = text.find("\n" + subject[0], at)
        check(found >= 0, f"README.md shows '{line}', which the demo does not, at this place:\n{text}")
        at = found + 1


def terminal_text(near):
    """Everything until the last program has closed the terminal."""
    data = b""
    while True:
        try:
            data += os.read(near, 65536)
        except OSError:
            os.close(near)
            return data.decode().replace("\r", "")


def kept(_):
    """On a terminal: the table is painted again in its place. The chain stays up; a second one is
    refused."""
    near, far = pty.openpty()
    child = subprocess.Popen(command("rmds-demo.py", "--browser"), stdin=subprocess.DEVNULL,
                             stdout=far, stderr=far)
    os.close(far)
    text = terminal_text(near)
    code = child.wait(WAIT_S)
    check(code == 0, f"status {code}\n{text}")
    expect(text, r"\x1b\[9A", PRICE.replace("$", r"(\x1b\[K)?$"),
           r"^ +consumers +localhost:14202, service RDFD, item DEMO1\.O",
           r"^\[ok\]  browser +the chain stays up; look at http://127\.0\.0\.1:14215/$",
           r"^ +prices +http://127\.0\.0\.1:14215/ ")
    page = urllib.request.urlopen("http://127.0.0.1:14215/", timeout=60).read()
    check(b"<title>openrmds live</title>" in page, f"no page, but {page[:200]}")
    for row in re.search(r"^ +next +(.*)$", text, re.M)[1].split(" · "):
        if row.endswith(" down"):
            again = subprocess.run(command("rmds-demo.py", "--keep"), cwd=SOURCE,
                                   capture_output=True, text=True, check=False)
            check(again.returncode == 1 and "up already" in again.stderr,
                  f"a second one: {again.stdout}{again.stderr}")
        once = row + (" -once" if row.endswith("mon") else "")
        done = subprocess.run(once, shell=True, cwd=SOURCE, capture_output=True, text=True,
                              timeout=WAIT_S, check=False)
        check(done.returncode == 0 and "p2ps" in done.stdout, f"{once}: {done.stdout}{done.stderr}")


def main():
    for program in ("p2ps", "src_dist", "rrcpd", "sink_driven_src", "rmdstestclient", "rmdsmon",
                    "rmdscnf"):
        if not os.path.exists(os.path.join(BIN, program)):
            print(f"SKIP: this build has no {program}")
            return 77
    os.chdir(SOURCE)
    os.environ.update(RMDS_BIN=BIN, RMDS_DEMO_RATE="2000", RMDS_DEMO_SECONDS="2", TERM="xterm")
    for case in (plain, kept):
        print(case.__name__, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(RMDS_STATE=os.path.join(folder, "state"), TMPDIR=folder)
            try:
                case(folder)
            finally:
                subprocess.run(command("rmds-run.py", "down", "--all"), capture_output=True,
                               check=False)
    done = subprocess.run(command("rmds-demo.py", "--help"), capture_output=True, text=True,
                          check=False)
    check(done.returncode == 0 and "--keep" in done.stdout and
          "--browser" in done.stdout, done.stdout + done.stderr)
    print("the demo shows what it says")
    return 0


if __name__ == "__main__":
    spaces.enter_network("RMDS_DEMO_TEST_INSIDE")
    sys.exit(main())
