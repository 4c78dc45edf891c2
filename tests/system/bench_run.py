#!/usr/bin/env python3
"""bench_run.py SOURCE BUILD latency|fanout|rrcp|peers - a short run of a benchmark, and all that it
leaves: JSON, CSV, page.

Nothing is said of how fast anything is; only that what has to be in the report is there."""
# SPDX-License-Identifier: Apache-2.0
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

SOURCE, BUILD, NAME = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2]), sys.argv[3]
MACHINE = {"cpus", "cpu", "kernel", "load", "load_after", "commit", "configuration"}
CHAIN = {"sink_driven_src", "src_dist.1", "rrcpd.net1.1", "rrcpd.net1.2", "p2ps.1",
         "rmdstestclient"}
# What is run, one after the other in one folder; the keys and the processes that each row must
# have; charts.
LATENCY = {
    "runs": [["--rates", "1000,20000", "--secs", "1", "--discard", "0.2",
              "--websocket"]],
    "keys": "rate achieved mean_us stddev_us min_us max_us p50_us p99_us p999_us samples lost",
    "programs": CHAIN, "rows": 2, "published": "published-rmds-latency.csv"}
FANOUT = {
    "runs": [["--rates", "1000,2000", "--secs", "1", "--consumers", "5", "--watchlist", "20"]],
    "keys": "consumers watchlist in_per_s out_per_s lost cpu_pct",
    "programs": CHAIN, "rows": 2, "published": [
        "best published 10.1 M, SLERT10 InfiniBand", "published 9.34 M, SLES10 InfiniBand"]}
RRCP = {
    "runs": [["--fifo", "0", "--only", "throughput"],
             ["--fifo", "0", "--only", "latency", "--rates", "2000", "--add", "earlier.json"]],
    "keys": "pairs size rate msgs_per_s lost mean_us p99_us p999_us cpu_pct configuration",
    "programs": {"publisher.1", "subscriber.1"}, "rows": 6,
    "published": ["1:1, best published", "3:3, best published"]}
# Applications on ETA Java at both ends; then a provider and a consumer given as commands: our own
# tools.
TESTCLIENT = ("{0}/rmdstestclient -S {{service}} -h 127.0.0.1 -p {{port}} -f {{list}} -secs 1 -tt "
              "-json one.json >&2;"
              "echo result $(tr -d '\\n' <one.json)")
PEERS = {
    "runs": [["--rates", "2000", "--items", "50", "--secs", "0.3", "--discard", "0.1", "--provider",
              os.path.join(BUILD, "bin/sink_driven_src -S {service} -N {port} -U {rate} -tsa"),
              "--consumer",
              TESTCLIENT.format(os.path.join(BUILD, "bin")), "--only", "unpacked"],
             ["--rates", "2000", "--images", "100", "--items", "50", "--secs", "0.3", "--discard",
              "0.1",
              "--only", "packed,books,posts,images"]],
    "keys": "case rate achieved direct_us chain_us factor adds_us to_pipe6 lost told_lost given_up "
            "unanswered load steal_pct verdict",
    "programs": {"src_dist.1", "rrcpd.net1.1", "rrcpd.net1.2", "p2ps.1", "provider", "consumer"},
    "rows": 4, "published": []}
PROGRAMS = {"latency": ["sink_driven_src", "src_dist", "rrcpd", "p2ps", "rmdstestclient",
                        "rmdsmon"],
            "rrcp": ["rrcpd", "rrcpperf"]}


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def bench(folder, words):
    """Its exit status; what it printed is shown if it fails."""
    env = {**os.environ, "RMDS_ROOT": SOURCE, "RMDS_BUILD": BUILD, "TMPDIR": folder}
    words = [sys.executable, os.path.join(SOURCE, "tools/rmds.d/bench", NAME), *words]
    out = subprocess.run(words, env=env, cwd=folder, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    if out.returncode not in (0, 77):
        print(out.stdout)
    return out.returncode, out.stdout


def check_rows(result, wanted):
    machine, rows = result["machine"], result["results"]
    check(MACHINE <= set(machine), f"of the machine there is no {MACHINE - set(machine)}")
    check(machine["configuration"] and machine["commit"], f"configuration and commit: {machine}")
    check(len(rows) == wanted["rows"], f"{len(rows)} rows: {rows}")
    for row in rows:
        missing = set(wanted["keys"].split()) - set(row)
        check(not missing, f"a row without {missing}: {row}")
        check(wanted["programs"] <= set(row["cpu"]),
              f"CPU of {set(row['cpu'])}, not of {wanted['programs']}")
        check(all(used >= 0 for used in row["cpu"].values()), f"CPU: {row['cpu']}")


def check_csv(path, rows, wanted):
    with open(path, encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    columns = set(wanted["keys"].split()) - {"configuration"}
    check(len(table) == len(rows) and columns <= set(table[0]), f"the CSV: {table}")
    for line, row in zip(table, rows):
        check(all(line[key] == ("" if row[key] is None else str(row[key])) for key in columns),
              f"the CSV has {line}, not {row}")


def published_curves(wanted):
    """{name in the chart: points it has, None: any}"""
    if isinstance(wanted, list):
        return {name: None for name in wanted}
    with open(os.path.join(SOURCE, "tests/bench/data", wanted), encoding="utf-8") as file:
        names = [row["configuration"]
                 for row in csv.DictReader(line for line in file if not line.startswith("#"))]
    return {name: names.count(name) for name in names}


def check_page(path, wanted):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    check("http" not in page.replace("http://www.w3.org/2000/svg", ""), "the page looks outside")
    charts = [xml.dom.minidom.parseString(svg) for svg in re.findall(r"<svg .*?</svg>", page, re.S)]
    check(len(charts) >= 2, f"{len(charts)} charts")
    drawn = {}  # what the pointer shows of a line: the points that it may have
    for line in charts[0].getElementsByTagName("polyline"):
        title = line.getElementsByTagName("title")[0].firstChild.data
        drawn.setdefault(title.removeprefix("published: "),
                         []).append(len(line.getAttribute("points").split()))
    for name, points in published_curves(wanted["published"]).items():
        check(name in drawn, f"the first chart has no line '{name}', but {sorted(drawn)}")
        check(points is None or points in drawn[name],
              f"'{name}' is drawn with {drawn[name]} points of {points}")


def check_peers(rows):
    """Everything arrived, both ways."""
    for row in rows:
        for key in ("lost", "told_lost", "direct_lost", "unanswered"):
            check(row[key] == 0, f"{row['case']}: {key} is {row[key]}")
        check(row["direct_us"] > 0 and row["chain_us"] > 0 and row["factor"] > 0, f"no time: {row}")


def run_where(folder):
    """Some ticks are followed over the whole way, and the times between their steps add up."""
    code, text = bench(folder, ["--where", "--sample", "5", "--rates", "3000", "--secs", "0.5",
                                "--discard", "0", "--out", "reports"])
    check(code == 0, f"--where ended with {code}")
    with open(os.path.join(folder, "reports/where.json"), encoding="utf-8") as file:
        found = json.load(file)["analysis"]["3000"]
    check(found["followed"] > 0 and "ticks, p50" in text, f"no tick was followed: {text}")
    steps = [row["step"].partition(":")[0] for row in found["rows"]]
    programs = ["publisher", "src_dist", "rrcpd, sending", "rrcpd, receiving", "p2ps", "consumer"]
    check(list(dict.fromkeys(steps)) == programs and len(steps) >= 17,
          f"the steps are {found['rows']}")
    total = sum(row["mean_us"] * row["ticks"] for row in found["rows"]) / found["followed"]
    check(abs(total - found["mean_us"]) < 1 + 0.01 * total,
          f"the steps make {total} us, the ticks {found['mean_us']}")
    check(abs(sum(found["kinds"].values()) - found["mean_us"]) < 1 + 0.01 * total,
          f"kinds: {found['kinds']}")


def run(folder):
    wanted = {"latency": LATENCY, "fanout": FANOUT, "rrcp": RRCP, "peers": PEERS}[NAME]
    for words in wanted["runs"]:
        code, text = bench(folder,
                           ["--quick", *words, "--json", "earlier.json", "--out", "reports"])
        if code == 77:
            print(text)
            return 77
        check(code == 0, f"{words}: it ended with {code}: {text.strip()[-300:]}")
        check("report: reports/" in text, f"it does not say where the report is: {text}")
    base = os.path.join(folder, re.search(r"report: (reports/[\w-]+)", text)[1])
    check(os.path.basename(base).startswith(NAME), f"the report is {base}")
    with open(base + ".json", encoding="utf-8") as file:
        result = json.load(file)
    with open(os.path.join(folder, "earlier.json"), encoding="utf-8") as file:
        check(json.load(file) == result, "--json FILE is not what stands beside the page")
    check_rows(result, wanted)
    check_csv(base + ".csv", result["results"], wanted)
    check_page(base + ".html", wanted)
    if NAME == "peers":
        check_peers(result["results"])
    if NAME == "latency":
        rows = [(row["form"], row["rate"]) for row in result["websocket"] if row["samples"] > 0]
        check(rows == [("websocket", 1000), ("websocket", 20000)], f"the rows of JSON: {rows}")
        run_where(folder)
    return 0


def main():
    for program in PROGRAMS.get(NAME, PROGRAMS["latency"]):
        if not os.path.exists(os.path.join(BUILD, "bin", program)):
            print(f"SKIP: this build has no {program}")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        code = run(folder)
    print("all good" if code == 0 else "skipped")
    return code


if __name__ == "__main__":
    sys.exit(main())
