#!/usr/bin/env python3
"""bench_rates.py SOURCE BUILD - `bench rates` with few updates leaves its rows.

Nothing is said of how fast anything is; only that each figure is there and can be one."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
ROWS = ("an update: none", "an update: an interval, merged", "a type that passes: more than none",
        "lines of other items : none", "none, this build : the other")


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "rates.json")
        words = [os.path.join(SOURCE, "tools/rmds.d/bench/rates"), "--rounds", "1", "--updates",
                 "2000", "--against", BUILD, "--json", out]
        run = subprocess.run([sys.executable, *words], check=False, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True,
                             env={**os.environ, "RMDS_ROOT": SOURCE, "RMDS_BUILD": BUILD,
                                  "TMPDIR": folder})
        assert run.returncode in (0, 1), run.stdout + run.stderr
        with open(out, encoding="utf-8") as file:
            rows = {row["work"]: row for row in json.load(file)["rows"]}
    counted = ["lines of other items : none, instructions"] if shutil.which("valgrind") else []
    assert {*ROWS, *counted} <= set(rows), run.stdout
    assert all(row["value"] > 0 for name, row in rows.items() if "more than" not in name), rows
    print("all good")


if __name__ == "__main__":
    main()
