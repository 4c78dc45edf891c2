#!/usr/bin/env python3
"""soak_asked.py - a soak that somebody ends by Ctrl-C has a verdict all the same."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
END_S = 120


def main():
    soak = subprocess.Popen([sys.executable, os.path.join(HERE, "chaos.py"), "--hours", "0.1",
                             "--rate", "500", "--items", "50", "--every", "0.1", "--worst", "60"],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            start_new_session=True)
    said = []
    try:
        for line in soak.stdout:
            said.append(line)
            if "updates with those that come and go" in line:
                os.killpg(soak.pid, signal.SIGINT)
                break
        said += soak.communicate(timeout=END_S)[0].splitlines(True)
    finally:
        if soak.poll() is None:
            os.killpg(soak.pid, signal.SIGKILL)
    if soak.returncode == 77:
        print("".join(said))
        return 77
    text = "".join(said)
    assert soak.returncode == 0, f"ended with {soak.returncode}: {text}"
    assert "Ctrl-C: ended early" in text, text
    assert re.search(r"^[1-9]\d* passed, 0 failed$", text, re.M), text
    print("all good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
