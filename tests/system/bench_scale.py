#!/usr/bin/env python3
"""bench_scale.py SOURCE BUILD - `bench scale` with few streams leaves its row.

Nothing is said of how fast anything is; only that each figure is there and can be one."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
KEYS = {"open_s", "stream_bytes", "counted_bytes", "quiet_p99_us", "opening_p99_us",
        "opening_per_s", "waited", "whole_s", "drop_s", "undetected", "steal_pct"}


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "scale.json")
        words = [os.path.join(SOURCE, "tools/rmds.d/bench/scale"), "--only", "lists",
                 "--consumers", "3", "--items", "40", "--json", out]
        run = subprocess.run([sys.executable, *words], check=False, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True,
                             env={**os.environ, "RMDS_ROOT": SOURCE, "RMDS_BUILD": BUILD,
                                  "TMPDIR": folder})
        assert run.returncode == 0, run.stdout + run.stderr
        with open(out, encoding="utf-8") as file:
            result = json.load(file)
    row, = result["results"]
    assert KEYS <= set(row) and row["case"] == "lists" and row["streams"] == 120, row
    assert row["open_s"] > 0 and row["counted_bytes"] > 0 and not row["undetected"], row
    assert "the quiet consumer lost" not in run.stdout, run.stdout
    print("all good")


if __name__ == "__main__":
    main()
