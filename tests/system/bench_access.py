#!/usr/bin/env python3
"""bench_access.py SOURCE BUILD - `bench access --only logins` with few logins leaves its rows.

Nothing is said of how fast anything is; only that logins were let in and none was refused, and that
the consumer lost nothing."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
KEYS = {"p50_us", "p99_us", "quiet_p99_us", "meanwhile_p99_us", "updates_per_s", "load",
        "steal_pct"}


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "access.json")
        words = [os.path.join(SOURCE, "tools/rmds.d/bench/access"), "--only", "logins",
                 "--rounds", "1", "--secs", "0.3", "--logins", "50", "--rate", "500", "--json", out]
        run = subprocess.run([sys.executable, *words], check=False, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True,
                             env={**os.environ, "RMDS_ROOT": SOURCE, "RMDS_BUILD": BUILD,
                                  "TMPDIR": folder})
        assert os.path.exists(out), run.stdout + run.stderr
        with open(out, encoding="utf-8") as file:
            rows = json.load(file)["rows"]
        assert os.listdir(folder) == ["access.json"], os.listdir(folder)
    assert [row["work"].split()[-1] for row in rows] == ["password", "token", "authority"], rows
    for row in rows:
        assert KEYS <= set(row) and row["asked"] > 0 and row["let_in"] > 0, row
        assert row["refused"] == 0 and row["lost"] == 0, row
    print("all good")


if __name__ == "__main__":
    main()
