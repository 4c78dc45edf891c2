#!/usr/bin/env python3
"""report.py SOURCE - the report of a benchmark: every form of it, from rows that are awkward."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import json
import os
import random
import sys
import tempfile
import xml.dom.minidom
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(sys.argv[1], "tools/report"))
import chain  # noqa: E402
import host  # noqa: E402
import plot  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402
import watch  # noqa: E402
import where  # noqa: E402

ROWS = [
    {"rate": 1000, "mean_us": 120.5, "rounds": [118.0, 120.5, 131.0], "lost": 0, "reached": True},
    {"rate": 100000, "mean_us": 161.25, "rounds": [150.0, 161.25, 170.0], "lost": 3,
     "reached": False},
]


def check(condition, what):
    if not condition:
        print("FAILED:", what)
        sys.exit(1)


chart = report.Chart("A <title> & more", "x", "y", log_x=True, log_y=True)
chart.line("ours", [(r["rate"], r["mean_us"]) for r in ROWS], marks=True)
chart.line("nothing known", [(1, None), (2, 0)])
chart.band([(r["rate"], min(r["rounds"])) for r in ROWS],
           [(r["rate"], max(r["rounds"])) for r in ROWS], "#0b6")
xml.dom.minidom.parseString(chart.svg())
empty = report.Chart("empty", "x", "y")
xml.dom.minidom.parseString(empty.svg())
one = report.Chart("one point", "x", "y", log_x=True)
one.line("only", [(1000, 5)])
xml.dom.minidom.parseString(one.svg())
bars = report.Chart("bars", "x", "y")
bars.bar(0, 10, 5)
bars.bar(10, 20, 7, "a <named> one")
xml.dom.minidom.parseString(bars.svg())

page = report.page("T", "S <b>", [chart, bars], [("Rows", ROWS, ["rate", "mean_us", "none"])],
                   {"cpu": "<script>"}, ["note"])
check("<script>" not in page and "<b>" not in page, "text is not escaped")
check("http://" not in page.replace("http://www.w3.org/2000/svg", ""), "the page looks outside")

# Axes that can be read, names that do not leave the picture, latency by percentile.
ticks = plot.log_ticks(100, 2000)
check([round(t) for t in ticks] == [100, 200, 500, 1000, 2000], f"ticks of one decade: {ticks}")
check([report.short(v) for v in (950, 100000, 10100000)] == ["950", "100 k", "10.1 M"],
      "short numbers")
many = report.Chart("many names", "x", "y")
for i in range(40):
    many.line(f"line {i}", [(1, 5), (2, 5)])
svg = xml.dom.minidom.parseString(many.svg())
names = [t for t in svg.getElementsByTagName("text") if t.getAttribute("class") == "s"]
check(len(names) == 40 and all(float(t.getAttribute("y")) <= many.HEIGHT for t in names),
      "names below the picture")
check(plot.percentile_points([[0, 50], [10, 49], [20, 1]]) == [(1, 10), (2, 10), (100, 20)],
      "percentiles")
xml.dom.minidom.parseString(report.percentiles("P",
                                               {"1,000/s": [[0, 50], [10, 50]], "none": []}).svg())
check("99.9 %" in report.percentiles("P", {"x": [[0, 99999], [10, 1]]}).svg(),
      "the percentile's name on the axis")

# The top of a page: what was measured where, in words, and why it should not be believed.
check(host.share((100, 10), (200, 16)) == 6
      and host.ticks("cpu  1 2 3 4 5 6 7 8 9 10\n") == (36, 8), "steal")
check(host.note({}) == "" and "STEAL" not in host.note({"steal_pct": 5})
      and "STEAL 5.1" in host.note({"steal_pct": 5.1}),
      "a row above 5 % is marked")
CALM = {"time": "2026-01-02T03:04:05Z", "host": "vega", "cpus": 2, "cpu": "X", "kernel": "6.1",
        "commit": "abc",
        "load": [0.4, 1, 1], "load_after": [2.0, 1, 1], "steal_pct": 0.3}
check(host.conditions(CALM) ==
      "Measured 2026-01-02 03:04:05 UTC on vega, 2 CPUs (X), Linux 6.1, commit abc. Load 0.4 "
      "before and "
      "2.0 after the run. The host took 0.3 % of the CPUs' time away.", f"{host.conditions(CALM)}")
check(host.warnings(CALM, ROWS) == [] and host.conditions({}) == "", "nothing speaks against it")
busy = host.warnings({**CALM, "load": [7.0], "commit": "abc-dirty"},
                     [{**ROWS[0], "steal_pct": 5.1}, ROWS[1]])
check(len(busy) == 3 and "load 7.0" in busy[0] and "1 of 2 rows" in busy[2], f"{busy}")
noisy = report.page("T", "S", [],
                    [("Rows", [{**ROWS[0], "steal_pct": 9.0}], ["rate", "steal_pct"])], CALM, [])
check('<p class="warn">' in noisy and '<td class="bad">9</td>' in noisy
      and "taken by the host, %" in noisy, "a noisy page")
check([report.column_words(c) for c in ("p99_us", "drain_s", "told_lost")] ==
      ["99 %, us", "drain, s", "losses told"],
      "column names in words")

same = report.compare(ROWS, ROWS, "rate", "mean_us")
check([r["verdict"] for r in same] == ["inconclusive"] * 2, "a run differs from itself")
slower = [dict(r, mean_us=r["mean_us"] * 2, rounds=[x * 2 for x in r["rounds"]]) for r in ROWS]
check([r["verdict"] for r in report.compare(slower, ROWS, "rate", "mean_us")] == ["slower"] * 2,
      "twice as slow is not seen")
check([r["verdict"] for r in report.compare(ROWS, slower, "rate", "mean_us")] == ["faster"] * 2,
      "twice as fast is not seen")

check(all(r["before_noise_pct"] > 0 and r["now_noise_pct"] > 0 for r in same),
      "the noise of each run")
once = [dict(r, rounds=[r["mean_us"]]) for r in ROWS]
check(report.compare(slower, once, "rate", "mean_us")[0]["verdict"] == "inconclusive: one round",
      "one round is said to be enough")
check(report.compare(slower, ROWS, "rate", "mean_us", more_is_better=True)[0]["verdict"] ==
      "better",
      "more is not better")
check('<td class="bad">not reached</td>' in report.table(ROWS, ["rate", "reached"]),
      "a rate that was not reached")

# The rule of `no loss and no lag`: each thing that breaks it is found, and named.
GOOD = {"updates_per_s": 1000.0, "lost": 0, "duplicates": 0, "reorders": 0, "wrong": 0, "early": 0,
        "told_lost": 0,
        "suspects": 0, "lost_connections": 0, "errors": 0, "exit_code": 0, "drained": True,
        "drain_s": 0.2,
        "p99_by_second_us": [100, 99000, 100, 1, 1, 1, 200, 200, 99000]}
check(chain.troubles(GOOD, 1000, {"conflated": 0}) == [], "a good run is not good")
for change, word in (({"updates_per_s": 989.0}, "updates/s"), ({"lost": 1}, "lost"),
                     ({"duplicates": 1}, "duplicates"),
                     ({"told_lost": 1}, "told lost"), ({"suspects": 1}, "suspects"),
                     ({"exit_code": 5}, "ended"),
                     ({"p99_by_second_us": [100, 100, 100, 1, 201, 201]}, "grew"),
                     ({"p99_by_second_us": [100, 100]}, "no time stamps"),
                     ({"p99_by_second_us": [200000, 1, 250001]}, "last third"),
                     ({"drain_s": 1.05}, "not empty"), ({"drained": False}, "not empty")):
    found = chain.troubles({**GOOD, **change}, 1000, {"conflated": 0})
    check(len(found) == 1 and word in found[0], f"{change}: {found}")
check(chain.troubles(GOOD, 1000, {"conflated": 3}) == ["3 conflated"], "conflation")

# What a fault costs: the interval of the median by the sign test (of 15, the fourth from each end),
# and plain words.
check(rounds.interval(list(range(15))) == (3, 11) and rounds.interval(list(range(30))) == (9, 20),
      "the interval")
check([rounds.verdict(low, high, False, 15) for low,
       high in ((0.9, 1.05), (1.06, 1.2), (1.0, 1.1))] ==
      ["holds", "WORSE", "inconclusive"], "the verdict where less is better")
check([rounds.verdict(low, high, True, 15) for low,
       high in ((0.95, 1.1), (0.8, 0.94), (0.9, 1.0))] ==
      ["holds", "WORSE", "inconclusive"], "the verdict where more is better")
check(rounds.verdict(1.0, 1.0, False, 5) == "inconclusive", "five rounds are said to be enough")


def take(costs, least):
    """Rounds of a fault that costs so much, one after the other; how many, and the order of the
    sides."""
    pairs, order = [], []

    def one(is_fault):
        order.append(is_fault)
        return {"p99": 100 * (costs[len(pairs) % len(costs)] if is_fault else 1), "rate": 50}

    check(rounds.take(pairs, least, {"p99": False, "rate": True}, one, lambda: True),
          "there was time")
    return len(pairs), order, rounds.ratios(pairs, {"p99": False, "rate": True})


count, order, told = take([1.01], 6)
check(count == 6 and order[:4] == [True, False, False, True],
      "rounds by turns, no more than needed")
check(told["p99_ratio"] == [1.01] * 3 and told["p99_verdict"] == told["rate_verdict"] == "holds",
      "1 % is under 5 %")
check(take([0.8, 1.3], 6)[0] == 12, "what inconclusive gets twice as many rounds")
check(rounds.take([], 6, {}, None, lambda: False) is False, "no time, no rounds")
check(rounds.grew([1, 1, 1, 9, 9, 9], 7) and not rounds.grew([9, 1, 1, 9, 1, 1], 7),
      "a queue that grew")

# The highest rate: raised until one does not hold twice, then held in most rounds, or the next
# lower one is.
def search(disturbed):
    """The runs made, and what each rate that was tried came to; 40 never holds, `disturbed` do not
    for once."""
    calls = []

    def run(rate, seconds):
        calls.append((rate, seconds))
        return {"holds": rate < 40 and len(calls) not in disturbed}

    tried = chain.hold_highest([10, 20, 30, 40, 50], run, 1, 9, 3)
    return calls, [[r["holds"] for r in runs] for runs in tried]


raised = [(10, 1), (20, 1), (30, 1), (40, 1), (40, 1)]
check(search([]) == (raised + [(30, 9)] * 3, [[True], [True], [True] * 3, [False] * 2]),
      "the search")
check(search([2, 7]) == ([(10, 1), (20, 1), (20, 1), *raised[2:]] + [(30, 9)] * 3,
                         [[True], [False, True], [False, True, True], [False] * 2]),
      "once is not twice")
check(search([7])[1][2] == [True, False, True], "most of the rounds")
check(search([6, 8]) == (raised + [(30, 9)] * 3 + [(20, 9)] * 3,
                         [[True], [True] * 3, [False, True, False], [False] * 2]),
      "the next lower one")

check(chain.cpu_between([(10.0, {"p2ps": 1.0}), (12.0, {"p2ps": 2.0})]) == {"p2ps": 50.0},
      "CPU of a process")
check(chain.cpu_between([(10.0, {"p2ps": 1.0})]) == {}, "CPU without a measurement")

# What the programs of a layer print becomes rows.
def script(name):
    loader = SourceFileLoader(name, os.path.join(sys.argv[1], "tools/rmds.d/bench", name))
    module = module_from_spec(spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


rows, more = script("rssl").parse([
    "# a machine",
    "receivers,frames,by,compressed,m_messages_s,mb_s,wire,bytes_per_write,snd_user_ns,snd_sys_ns,"
    "rcv_user_ns,rcv_sys_ns,m_messages_per_cpu_s",
    "50,packed,conn,none,10.5,700,0.98,9e4,10,20,30,40,12.5",
    "ping-pong: 100 round trips of 74 bytes: mean 21.5 us, p50 20.0, p99 40.0, p99.9 90.0, max "
    "95.0"])
check(len(rows) == 1 and rows[0]["receivers"] == 50 and rows[0]["m_messages_s"] == 10.5,
      "rows of rssl")
check(more["round_trips"] == {"mean": 21.5, "p50": 20.0, "p99": 40.0, "p99.9": 90.0, "max": 95.0},
      "round trips")
trips = {"mean": 21.5}
every = [([{"case": "50", "m_messages_s": rate, "cpu": {}}], {"round_trips": trips})
         for rate in (9.0, 12.0, 10.0)]
rows, more = script("rssl").combine(every + [([], {"damaged": "DAMAGED 3"})])
check(rows == [{"case": "50", "m_messages_s": 10.0, "cpu": {}, "low": 9.0, "high": 12.0,
                "rounds": [9.0, 10.0, 12.0]}] and
      more == {"round_trips": trips, "damaged": "DAMAGED 3"}, f"rounds of rssl: {rows}, {more}")
rows = script("rwf").parse(["decode update,100.50,90.00,130.00,9950248",
                            "RMTES to UTF-8, 36 bytes,50,49,51,2e7",
                            "ETA Java decode update,402.00,4.00"])
check([r["work"] for r in rows] == ["decode update", "RMTES to UTF-8, 36 bytes"], "works of rwf")
check(rows[0]["java_ratio"] == 4 and rows[0]["rounds"] == [90, 100.5, 130],
      "the library beside ours")

# The form without rrcpd: medians of its rounds, every kind of loss, and a rate that was not
# reached.
latency = script("latency")
result = {"updates_per_s": 1000.0, "cpu": {"p2ps.1": 9.0},
          **{k: 0 for k in ("duplicates", "reorders", "wrong", "early")},
          "lost": 1, "told_lost": 2}
figures = {k: 1
           for k in ("samples", "stddev_us", "min_us", "max_us", "p50_us", "p99_us", "p999_us")}
beside = latency.in_process_row(1000, [{**result, "latency": {**figures, "mean_us": mean}}
                                       for mean in (9.0, 5.0, 6.0)])
check(beside["form"] == "in-process" and beside["mean_us"] == 6 and beside["rounds"] == [9, 5, 6],
      f"in-process: {beside}")
check(beside["lost"] == 9 and beside["reached"] and beside["cpu"] == {"p2ps.1": 9.0},
      f"in-process: {beside}")
check(latency.in_process_row(1000, [{**result, "latency": {**figures, "mean_us": 1.0}}],
                             "websocket")["form"] == "websocket", "a row of JSON")
check(not latency.in_process_row(1100,
                                 [{**result, "latency": {**figures, "mean_us": 1.0}}])["reached"],
      "990 of 1100")

# A row counts its runs as due as well: what they lose, and a rate that only they miss.
def latency_row(due, physics=(5.0, 9.0, 5.0), fifo=0):
    bench = object.__new__(latency.Bench)
    bench.published = []
    bench.options = argparse.Namespace(fifo=fifo, cpus="000111" if fifo else None)
    sampled = {"sampled": {"mean_us": 5.0, "stddev_us": 1.0, "max_us": 9}}
    good = {**result, **sampled, "told_lost": 0, "lost": 0,
            "latency": {**figures, "mean_us": 5.0, "histogram_10us": []}}
    row = bench.row(1000, [(physics, good, {**good, **due})])
    bench.show(row)
    return row


row = latency_row({})
check(row["lost"] == row["due_lost"] == 0 and row["reached"] and row["due_reached"]
      and row["verdict"] == "goal", f"{row}")
row = latency_row({"lost": 3, "told_lost": 4, "reorders": 1})
check(row["lost"] == row["due_lost"] == 8 and row["told_lost"] == 4 and row["out_of_place"] == 1,
      f"loss as due: {row}")
check(row["verdict"] == "misses loss" and row["reached"], f"loss as due: {row}")
row = latency_row({"updates_per_s": 900.0})
check(not row["reached"] and not row["due_reached"] and row["verdict"] == "misses rate",
      f"900 of 1000 as due: {row}")

# With CPUs and a priority of its own its limits are narrower, and the tail has one, too.
row = latency_row({}, physics=(3.6, 0.5, 2.5))
check(row["verdict"] == "must" and row["p999_ratio"] == row["due_ratio"] == 2, f"the ordinary policy: {row}")
check(row["must_ratio"] == 1.5 and row["must_p999_ratio"] is None, f"the ordinary policy: {row}")
row = latency_row({}, physics=(3.6, 0.5, 2.5), fifo=50)
check(row["must_ratio"] == row["must_p999_ratio"] == 1.3, f"reserved: {row}")
check(row["verdict"] == "misses ratio, ratio of p99.9", f"reserved: {row}")

# With a watch the tail is judged by the rounds in which the CPUs were in time, if there are enough.
def watched_row(ours, theirs):
    bench = object.__new__(latency.Bench)
    bench.published, bench.options = [], argparse.Namespace(fifo=50, cpus="000111")
    sampled = {"sampled": {"mean_us": 5.0, "stddev_us": 1.0, "max_us": 9}}
    good = {**result, **sampled, "told_lost": 0, "lost": 0}
    rounds = []
    for (us, late), (pipe6, pipe6_late) in zip(ours, theirs):
        stamped = {**good, "late_pct": late,
                   "latency": {**figures, "mean_us": 5.0, "p999_us": us, "histogram_10us": []}}
        as_due = {**good, "latency": {**figures, "mean_us": 5.0}}
        mean = pipe6 and 5.0
        rounds.append(((mean, pipe6, mean, pipe6_late), stamped, as_due))
    bench.show(row := bench.row(1000, rounds))
    return row


LATE, IN_TIME = (9000, 0.6), (400, 0.05)
row = watched_row([LATE, LATE, IN_TIME, IN_TIME, IN_TIME], [(320.0, 0.0)] * 5)
check(row["verdict"] == "must" and row["p999_of_most_us"] == 400 and
      row["p999_ratio_in_time"] == 1.25 == row["p999_ratio"], f"of those in time: {row}")
row = watched_row([(9000, None), LATE, IN_TIME, IN_TIME, IN_TIME], [(None, 0.0)] * 5)
check(row["p999_ratio_in_time"] is None, f"a round without a watch, and no pipe6: {row}")
row = watched_row([LATE, LATE, LATE, IN_TIME, IN_TIME], [(320.0, 0.0)] * 5)
check(row["verdict"] == "misses p99.9, ratio of p99.9", f"too few in time: {row}")

# A run whose consumer ended before the stop has no time of emptying, and does not hold.
bench = object.__new__(latency.Bench)
bench.options, bench.words = argparse.Namespace(items=10, discard=1, cpus=None), []
ended = {k: v for k, v in GOOD.items() if k not in ("drained", "drain_s")}
bench.chain = argparse.Namespace(
    command=lambda words: None,
    client_without_loss=lambda *words, **more: {
        **ended, "cpu": {}, "steal_pct": 0, "troubles": chain.troubles(ended, 1000, {})})
row = bench.hold(1000, 5)
check(not row["holds"] and row["drain_s"] is None and "ended before the stop" in row["why_not"],
      f"never drained: {row}")

# Every published figure of Producer 50/50 stands in the chart, told apart, also beside a single
# row.
fanout = script("fanout")
check(len(fanout.published()) == 6 and list(fanout.published().values())[0] == 10100000,
      f"{fanout.published()}")
row = {"consumers": 50, "in_per_s": 1000, "out_per_s": 50000, "out_low": 49000, "out_high": 51000,
       "wanted_out_per_s": 50000, "prototype_out_per_s": 60000, "cpu_us_per_update": 1.0}
for rows in ([row], [row, {**row, "in_per_s": 2000}]):
    svg = fanout.charts(rows, fanout.published())[0].svg()
    xml.dom.minidom.parseString(svg)
    check(all(f", {name.split(' (')[0]}</text>" in svg for name in fanout.published()),
          "a published result is not in the chart")

# Tuning: ratios to the runs before and after, the verdict beside those of the chain to itself, the
# table in the page.
tuning = script("tuning")


def once(mean, lost=0, reached=True):
    return {"mean_us": mean, "p99_us": 2 * mean, "cpu_pct": 50.0, "lost": lost, "reached": reached}


def knob(*means, **more):
    return tuning.knob_row(tuning.KNOBS[0], 1000, [
        {"before": once(90.0), "knob": once(mean, **more), "after": once(110.0)} for mean in means],
                           itself)


itself = [0.7, 0.8, 0.9, 0.95, 1.0, 1.0, 1.05, 1.1, 1.2, 1.4]
check(knob(50.0, 60.0, 80.0)["mean_us_ratio"] == 0.6
      and knob(50.0, 60.0, 80.0)["mean_us_high"] == 0.8, "the ratio")
check([knob(50.0, 60.0, 65.0)["verdict"], knob(95.0, 95.0, 99.0)["verdict"],
       knob(50.0, 60.0, 150.0)["verdict"],
       knob(150.0, 160.0, 145.0)["verdict"], knob(10.0)["verdict"], knob(50.0, lost=1)["verdict"],
       knob(50.0, reached=False)["verdict"]] ==
      ["better", "inconclusive", "inconclusive", "worse", "inconclusive",
       "LOSES", "rate not reached"], "the verdicts")
machine = {"cpus": 2, "cpu": "X", "kernel": "6", "load": [1.0], "load_after": [2.0], "commit": "c",
           "time": "2026-01-01T0"}
rows = [tuning.as_is_row(1000, [[once(90.0), once(100.0), once(110.0)]]), knob(50.0)]
with open(tuning.PAGE, encoding="utf-8") as file:
    text = file.read()
new = tuning.paged(text, machine, rows)
check(tuning.paged(new, machine, rows) == new and "0.50 (0.50..0.50)" in new,
      "the table in the page")
check(new.split(tuning.BEGIN)[0] == text.split(tuning.BEGIN)[0]
      and new.split(tuning.END)[1] == text.split(tuning.END)[1],
      "the page around the table")
check(all(f"| {k.name} | {k.setting} |" in text for k in tuning.KNOBS),
      "docs/results/tuning.md has not all knobs: tools/rmds bench tuning --page")

with tempfile.TemporaryDirectory() as folder:
    base = os.path.join(folder, "new", "latency")
    extra = os.path.join(folder, "extra.json")
    report.write(base, "latency", {"cpus": 2}, ROWS, ["rate", "mean_us"], page, extra, {"best": 1})
    with open(extra, encoding="utf-8") as file:
        result = json.load(file)
    check(result["machine"] == {"cpus": 2} and result["results"] == ROWS, "the JSON")
    with open(base + ".csv", encoding="utf-8") as file:
        check(file.read().splitlines() == ["rate,mean_us", "1000,120.5", "100000,161.25"],
              "the CSV")
    check(os.path.exists(base + ".html"), "the page")

latency = report.published(sys.argv[1], "published-rmds-latency.csv")
check(any(float(r["updates_per_s"]) == 1000 and float(r["mean_us"]) == 132 for r in latency),
      "the published figures")


class Still:
    """The trace of a program that never waited."""

    def waited(self, *_):
        return 0


def steps_add_up(draws):
    """The times between the steps of a tick make the time of its way, whatever the clocks said of
    turns that had begun before it."""
    trace, dice = Still(), random.Random(7)
    for _ in range(draws):
        marks = [(step, dice.randrange(100000), 0, 0, trace, 0)
                 for step in (0, 20, 1, *range(2, 17), 21)]
        way = where.monotone(marks)
        parts = sum(sum(where.split(*pair).values()) for pair in zip(way, way[1:]))
        total = (way[-1][1] - way[0][1]) / 1000
        check(abs(parts - total) < 1e-6, f"steps of {parts} us make a way of {total}: {marks}")
        check(way[-1][0] == 21 and way[0][0] == 0, f"the way has lost an end: {marks}")


class Stolen:
    """A host that took so many ms."""

    def __init__(self, ms):
        self.ms = ms

    def between(self, *_):
        return self.ms * 1e6


def a_late_cpu_is_told():
    """A watch that was woken late on the CPU of a step has that time; one on the other CPU has
    none, and the kinds make the whole still."""
    trace, ms = Still(), 1000000
    way = [(0, 0, 0, 0, trace, 1), (9, ms, 0, 0, trace, 2), (10, 6 * ms, 6 * ms, 0, trace, 3)]
    pieces = [(this, where.split(before, this)) for before, this in zip(way, way[1:])]
    late = watch.Watch(0)
    late.late = {0: [(0, ms // 2)], 1: [(ms // 2, 2 * ms), (3 * ms, 5 * ms), (9 * ms, 10 * ms)]}
    for cpus, wanted in (("000111", 3500), ("000000", 500), (None, 0)):
        for stolen in (0, 3.6):
            found = where.excursion(way, pieces, 6000, Stolen(stolen), late, cpus)
            check(abs(found["late CPU"] - wanted) < 1, f"on {cpus} late by {found}")
            check(abs(sum(found[kind] for kind in where.KINDS) - 6000) < 1, f"the kinds: {found}")
    check(abs(where.excursion(way, pieces, 6000, Stolen(3.6), late, "000111")["host"] - 100) < 1,
          "what was stolen is taken out once")
    check(where.excursion(way, pieces, 6000, Stolen(0))["asleep"] == 5000, "a watch in none")
    check("late CPU" not in where.kinds_known(None) and "late CPU" in where.kinds_known(late),
          "a watch in none")
    late.late = {0: [(0, 2 * ms), (6 * ms, 6 * ms + 1)], 1: [(ms, 4 * ms)]}
    check(late.share(1) == 0.4, f"the share of all CPUs together: {late.share(1)}")
    late.troubles = {1: "no privilege"}
    check(late.share(1) is None, "a CPU that nobody watched")


def losses_are_summed_once():
    """Two rrcpd with rows of the same names, and rows of peers, which are parts of them."""
    sender = {"rrcpd.net1.repairsBusy": 7, "rrcpd.net1.pktsLostDetected": 0,
              "rrcpd.net1.mcastSent": 5}
    receiver = {"rrcpd.net1.repairsBusy": 0, "rrcpd.net1.pktsLostDetected": 30,
                "rrcpd.net1.pktsLost.timeout": 4, "rrcpd.net1.peer.00ab.pktsLostDetected": 30}
    found = chain.losses_of([sender, receiver])
    check(found == {"repairsBusy": 7, "pktsLostDetected": 30, "pktsLost.timeout": 4}, f"{found}")


losses_are_summed_once()
steps_add_up(2000)
a_late_cpu_is_told()
print("all good")
