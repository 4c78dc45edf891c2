#!/usr/bin/env python3
"""bench_published.py SOURCE BUILD NAME - the quick form of a published procedure, and all that it
leaves.

Nothing is said of how fast anything is; only that every update was checked, that what has to be in
the report is there, and that the published table stands beside."""
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os
import subprocess
import sys
import tempfile

SOURCE, BUILD, NAME = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3]
sys.path.insert(0, os.path.join(SOURCE, "tools/report"))
# Keys that each row has, rows at least, processes that must have been there, words of the page.
EXPECTED = {
    "lbm": ("part pairs size rate msgs_per_s mean_us stddev_us max_us p999_us samples", 4, [],
            ["860,000", "3:3", "bypass"]),
    "producer": ("rate out_per_s wanted_out_per_s", 1,
                 ["p2ps.1", "p2ps.4", "rrcpd.net1.2", "src_dist.1", "publisher.RDFD"],
                 ["SLERT10 InfiniBand"]),
    "component": ("component rate out_per_s component_cpu_pct", 2,
                  ["src_dist.1", "p2ps.1", "publisher.SVC1"], ["16 cores and 4x1GigE"]),
    "stacked": ("instances rate out_per_s gbit_per_s to_consumers_gbit_per_s backbone_gbit_per_s",
                1, ["src_dist.2", "p2ps.2", "rrcpd.net0.1"], ["congestion control"]),
    "points": ("rate points mean_us stddev_us max_us min_us published_mean_us", 1,
               ["p2ps.1", "sink_driven_src"], ["Mean of the points"]),
}


def check_merging():
    """Two runs that are added up say the same as one run of all their samples."""
    import lbm  # noqa: E402
    with tempfile.TemporaryDirectory() as folder:
        texts = ("# ns: sum 6000 min 1000 max 3000\n1000 1007 1\n2000 2015 1\n3000 3015 1\n",
                 "# ns: sum 9000 min 1004 max 8000\n1000 1007 1\n7936 7999 1\n")
        runs = []
        for i, text in enumerate(texts):
            path = os.path.join(folder, str(i))
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            runs.append(lbm.Histogram(path))
    whole = lbm.added(runs)
    assert whole.count() == 5 and whole.buckets[(1000, 1007)] == 2
    figures = whole.figures()
    assert figures["mean_us"] == 3.0 and figures["min_us"] == 1.0, figures
    assert figures["max_us"] == 8.0 and figures["p50_us"] == 2.0, figures
    assert lbm.added([]).figures()["mean_us"] is None
    cells = lbm.published_latency(SOURCE)
    one = [c for c in cells if (c["pairs"], c["rate"], c["size"]) == ("1:1", 860000, 64)]
    assert one[0]["max_us"] == 379 and one[0]["runs"] == 2, one
    assert lbm.highest_published(SOURCE)[("3:3", 64)] == 2460000


def check_rows(rows, keys, programs):
    for row in rows:
        missing = [key for key in keys.split() if row.get(key) is None]
        assert not missing, (missing, row)
        wrong = row["lost"] + row.get("wrong", 0)
        assert wrong == 0, row
    names = {name for row in rows for name in row.get("cpu", {})}
    assert set(programs) <= names, (programs, names)
    if NAME == "stacked":
        for row in rows:
            assert 0 < row["to_consumers_gbit_per_s"] <= row["gbit_per_s"], row
            assert row["backbone_gbit_per_s"] > 0, row


def main():
    if NAME == "lbm":
        check_merging()
    keys, least, programs, words = EXPECTED[NAME]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "rows.json")
        script = [os.path.join(SOURCE, "tools/rmds.d/bench", NAME), "--quick", "--json", out,
                  "--out", folder] + (["--fifo", "0"] if NAME == "lbm" else [])
        run = subprocess.run([sys.executable, *script], check=False, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True,
                             env={**os.environ, "RMDS_ROOT": SOURCE, "RMDS_BUILD": BUILD,
                                  "RMDS_ALLOW_ROOT": "1", "TMPDIR": folder})
        text = run.stdout + run.stderr
        if "on the host's loopback" in text or "unshare" in text:
            print("no network namespace of our own")
            sys.exit(77)
        assert run.returncode == 0, text
        with open(out, encoding="utf-8") as file:
            result = json.load(file)
        with open(os.path.join(folder, NAME + ".csv"), encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        with open(os.path.join(folder, NAME + ".html"), encoding="utf-8") as file:
            page = file.read()
        left = [name for name in os.listdir(folder) if name.startswith("rmds-")]
    assert result["bench"] == NAME and {"load", "configuration"} <= set(result["machine"])
    rows = result["results"]
    assert len(rows) >= least and len(table) == len(rows), text
    check_rows(rows, keys, programs)
    for word in words:
        assert word in page, word
    assert not left, left
    print("all good")


if __name__ == "__main__":
    main()
