#!/usr/bin/env python3
"""bench_conflation.py SOURCE BUILD - `bench conflation` with few consumers leaves its rows.

Nothing is said of how fast anything is; only that each figure is there, and nothing was lost."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "conflation.json")
        words = [os.path.join(SOURCE, "tools/rmds.d/bench/conflation"), "--rounds", "1", "--secs",
                 "1", "--rate", "40000", "--items", "50", "--consumers", "3", "--json", out]
        run = subprocess.run([sys.executable, *words], check=False, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True,
                             env={**os.environ, "RMDS_ROOT": SOURCE, "RMDS_BUILD": BUILD,
                                  "TMPDIR": folder})
        assert os.path.exists(out), f"{run.returncode}: {run.stdout}{run.stderr}"
        with open(out, encoding="utf-8") as file:
            rows = {row["case"]: row for row in json.load(file)["rows"]}
    assert set(rows) == {"cpu", "beside"}, run.stdout
    for row in rows.values():
        assert row["ratio"] > 0 and not row["wrong"], run.stdout
    print("all good")


if __name__ == "__main__":
    main()
