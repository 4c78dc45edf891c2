"""where.py - where the time of a tick went: merges the time stamps that the processes of a chain
left (base/trace.h)."""
# SPDX-License-Identifier: Apache-2.0
import bisect
import glob
import os
import statistics
import struct
import threading
import time

import host
import report

MAGIC = 0x31304352544D5244
HEAD, RECORD = struct.Struct("<QQQQ64s"), struct.Struct("<QQQQ16sIHHQ")
TIME_FID = b"\x0f\x3e"  # TIM_TRK_1
EXCURSION_US = 1000
SHOWN = 20
GAP = 0
# The way of a tick: step, who, what happened; steps of one program follow each other in one thread.
WAY = [(19, "publisher", "made"), (20, "publisher", "19: its write to src_dist is done"),
       (1, "src_dist", "1: the turn has begun"), (2, "src_dist", "1, 2: read, frames taken apart"),
       (3, "src_dist", "3: its message is taken up"), (4, "src_dist", "4: its item is found"),
       (5, "src_dist", "5: room in the outbound ring"), (6, "src_dist", "5, 6: copied, committed"),
       (7, "src_dist", "7: applied to the image"),
       (17, "src_dist", "6: the turn's head is published, rrcpd rung"),
       (8, "rrcpd, sending", "8: in a packet"), (9, "rrcpd, sending", "9: sendmmsg is done"),
       (10, "rrcpd, receiving", "10: recvmmsg is done"),
       (11, "rrcpd, receiving", "10, 11: in the inbound ring"),
       (18, "rrcpd, receiving", "11: published, readers rung"),
       (12, "p2ps", "12: copied from the ring"),
       (13, "p2ps", "13: events of the batch"), (15, "p2ps", "14, 15: with the clients' outputs"),
       (16, "p2ps", "16: the writes to clients are done"), (21, "consumer", "found the message")]
# what is between this step and the one before is a system call above all
CALLS = {20, 2, 9, 10, 16, 17, 18}
KINDS = ("queue", "asleep", "CPU wait", "system calls", "work", "host", "late CPU")
TAKEN = 2  # so many kinds at the end are taken out of the others, for an excursion only
MEANING = {"queue": "the thread was busy with what came earlier",
           "asleep": "the thread slept: wake-up, or it was not rung yet",
           "CPU wait": "it could run and had no CPU (/proc/PID/schedstat)",
           "system calls": "steps that end with one",
           "work": "our own instructions, and what waits for the rest of a batch",
           "host": "time the host gave to others (steal)",
           "late CPU": "a watch of a higher priority, asleep on the same CPU, was woken late, too "
                       "(watch.py): the host had halted or taken the CPU, or the kernel let nobody in"}
# whose CPU it is, in the order of --cpus
ORDER = ("publisher", "src_dist", "rrcpd, sending", "rrcpd, receiving", "p2ps", "consumer")


class Trace:
    """The file of one process, as far as its records are later than `since_ns`."""

    def __init__(self, path, since_ns):
        with open(path, "rb") as file:
            data = file.read()
        magic, capacity, self.sample, written, name = HEAD.unpack_from(data)
        if magic != MAGIC:
            raise SystemExit(f"{path} is no trace")
        self.process = name.rstrip(b"\0").decode()
        self.gaps, self.ticks, self.overrun = {}, {}, False
        first = max(0, written - capacity)
        oldest = None
        for number in range(first, written):
            record = RECORD.unpack_from(data, HEAD.size + number % capacity * RECORD.size)
            key, ns, turn_ns, rest_ns, tail, thread, step, last, sealed = record
            oldest = ns if oldest is None else oldest
            if sealed != number + 1 or ns < since_ns:
                continue
            if key == GAP:
                self.gaps.setdefault(thread, []).append((turn_ns, ns, rest_ns))
            else:
                self.ticks.setdefault(key, {}).setdefault(step,
                                                          (ns, turn_ns, rest_ns, thread, tail))
        self.overrun = first > 0 and oldest is not None and oldest > since_ns

    def waited(self, thread, start, end):
        """How long that thread waited for a CPU between two times, at most."""
        total, of = 0, self.gaps.get(thread, [])
        for at in range(bisect.bisect_right(of, start, key=lambda gap: gap[1]), len(of)):
            begin, stop, waited = of[at]
            if begin >= end:
                break
            total += max(0, min(waited, min(stop, end) - max(begin, start)))
        return min(total, max(0, end - start))


def stamp_ns(tail):
    """The time in TIM_TRK_1 at the end of a message, or None."""
    at = tail.rfind(TIME_FID)
    if at < 0 or at + 3 > len(tail) or at + 3 + tail[at + 2] != len(tail):
        return None
    return int.from_bytes(tail[at + 3:], "big") * 1000


class StealLog:
    """How much CPU time the host had taken, looked at fifty times a second."""

    def __init__(self):
        self.samples, self.stop = [], threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.stop.wait(0.02):
            self.samples.append((time.monotonic_ns(), host.now()[1]))

    def between(self, start, end):
        """ns, with a look's distance of doubt on both sides."""
        inside = [steal for at, steal in self.samples if start - 30e6 <= at <= end + 30e6]
        return (inside[-1] - inside[0]) * 1e9 / os.sysconf("SC_CLK_TCK") if len(inside) > 1 else 0

    def close(self):
        self.stop.set()
        self.thread.join()


def role_of(trace, step):
    """Which traces speak of a step: by program, and the two rrcpd by what they did."""
    program = trace.process.split(".")[0]
    return {"sink_driven_src": (19, 20), "src_dist": (1, 2, 3, 4, 5, 6, 7, 17),
            "rrcpd": (8, 9, 10, 11, 18),
            "p2ps": (12, 13, 15, 16), "rmdstestclient": (21,)}.get(program, ()).count(step) > 0


def collect(traces):
    """For each tick that came through: [(step, ns, turn, rest, trace, thread)], in the order of its
    way."""
    senders = [t for t in traces if t.process.startswith("src_dist")]
    ways = []
    for sender in senders:
        for key, steps in sender.ticks.items():
            if 6 not in steps:
                continue
            made = stamp_ns(steps[6][4])
            way = [(0, made, made, made, sender, 0)] if made else []
            submitter = next((t for t in traces if t.process.startswith("rrcpd")
                              and 8 in t.ticks.get(key, {})), None)
            for step, _, _ in WAY:
                for trace in traces:
                    if not role_of(trace, step) or step not in trace.ticks.get(key, {}):
                        continue
                    if step in (10, 11, 18) and trace is submitter or step in (8,
                                                                               9) and trace is not submitter:
                        continue
                    ns, turn, rest, thread, _ = trace.ticks[key][step]
                    way.append((step, ns, turn, rest, trace, thread))
                    break
            if any(step == 16 for step, *_ in way) and way[0][0] in (0, 19):
                ways.append(way)
    return ways


def split(before, this):
    """The time between two steps, in us, by what it was spent on."""
    start = before[1]
    step, end, turn, rest, trace, thread = this
    parts = dict.fromkeys(KINDS, 0.0)
    if end <= start:
        return parts
    left = trace.waited(thread, start, end)
    is_other_thread = before[4] is not trace or before[5] != thread
    own = end - start
    if is_other_thread:
        queue = max(0, min(rest, end) - start)
        asleep = max(0, min(turn, end) - max(start, rest))
        own = end - start - queue - asleep
        used = min(left, asleep)
        parts["asleep"], left = asleep - used, left - used
        parts["CPU wait"] += used
        used = min(left, queue)
        parts["queue"], left = queue - used, left - used
        parts["CPU wait"] += used
    used = min(left, own)
    parts["CPU wait"] += used
    parts["system calls" if step in CALLS else "work"] += own - used
    return {kind: ns / 1000 for kind, ns in parts.items()}


def monotone(way):
    """So that the times between steps add up to that of the way: a turn that began before the step
    ahead of it is no step of the way, and what a program still did when the next one had the tick
    already cost the tick nothing."""
    out, latest = [], way[-1][1]
    for index in range(len(way) - 1, -1, -1):
        step, ns, *rest = way[index]
        if step == 1 and index and not min(way[index - 1][1], latest) <= ns <= latest:
            continue
        latest = min(latest, ns)
        out.append((step, latest, *rest))
    return out[::-1]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def labels():
    return {step: (who, what) for step, who, what in WAY}


def analyse(folder, more, since_ns, steal, watch=None, cpus=None):
    """What the files say: {rows, kinds, excursions, followed}; None: no tick was followed to its
    end. With a `watch` of the CPUs an excursion knows when they were late; `cpus` are those of the
    six processes, where they have one each."""
    paths = glob.glob(os.path.join(folder, "*/trace")) + [path for path in more
                                                          if os.path.exists(path)]
    traces = [Trace(path, since_ns) for path in sorted(paths)]
    ways = [monotone(way) for way in collect(traces)]
    if not ways:
        return None
    hops, totals, excursions = {}, [], []
    for way in ways:
        pieces = [(this, split(before, this)) for before, this in zip(way, way[1:])]
        total = (way[-1][1] - way[0][1]) / 1000
        totals.append(total)
        for this, parts in pieces:
            hops.setdefault(this[0], []).append(parts)
        if total > EXCURSION_US:
            excursions.append(excursion(way, pieces, total, steal, watch, cpus))
    names, rows = labels(), []
    for step, who, what in WAY:
        if step not in hops:
            continue
        sums = [sum(parts.values()) for parts in hops[step]]
        by_kind = {kind: statistics.fmean(parts[kind] for parts in hops[step]) for kind in KINDS}
        rows.append({"step": f"{who}: {names[step][1]}", "p50_us": statistics.median(sums),
                     "p99_us": percentile(sums, 0.99),
                     "max_us": max(sums), "mean_us": statistics.fmean(sums), "ticks": len(sums),
                     **by_kind})
    mean = statistics.fmean(totals)
    return {"rows": rows, "followed": len(ways), "kinds_known": kinds_known(watch),
            "p50_us": statistics.median(totals), "p99_us": percentile(totals, 0.99),
            "mean_us": mean, "max_us": max(totals),
            "excursions": sorted(excursions, key=lambda e: -e["us"]),
            "kinds": {kind: sum(sum(parts[kind] for parts in of)
                                for of in hops.values()) / len(ways) for kind in KINDS},
            "overrun": [trace.process for trace in traces if trace.overrun]}


def late_cpu(before, this, parts, watch, cpus):
    """Takes out of one step's time, in us, what its CPU was late, and returns it: out of the waits
    first, then out of what seemed to run while the CPU stood still."""
    who = labels()[this[0]][0]
    own = [int(cpus[ORDER.index(who)])] if cpus and who in ORDER else None
    late = watch.between(before[1], this[1], own) / 1000
    taken = 0
    for kind in ("asleep", "CPU wait", "work", "system calls", "queue"):
        part = min(parts[kind], late - taken)
        parts[kind] -= part
        taken += part
    return taken


def kinds_known(watch):
    """Without a watch nobody knows of a late CPU."""
    return [kind for kind in KINDS if kind != "late CPU" or watch and watch.late]


def excursion(way, pieces, total, steal, watch=None, cpus=None):
    """One tick above a millisecond: its kinds, with the part of a late CPU and the host's taken out
    of the others, and its worst hop."""
    pieces = [(this, dict(parts)) for this, parts in pieces]
    worst, parts = max(pieces, key=lambda piece: sum(piece[1].values()))
    worst_us = sum(parts.values())
    if watch:
        for before, (this, of) in zip(way, pieces):
            of["late CPU"] = late_cpu(before, this, of, watch, cpus)
    kinds = {kind: sum(of[kind] for _, of in pieces) for kind in KINDS}
    left = steal.between(way[0][1], way[-1][1]) / 1000 - kinds["late CPU"]  # may be the same time
    taken = min(max(0, left), kinds["work"] + kinds["system calls"])
    for kind in ("work", "system calls"):
        share = kinds[kind] / (kinds["work"] + kinds["system calls"]) if taken else 0
        kinds[kind] -= taken * share
    kinds["host"] = taken
    who, what = labels()[worst[0]]
    return {"at_ns": way[0][1], "us": total, "worst": f"{who}: {what}", "worst_us": worst_us,
            "worst_kind": max(parts, key=parts.get), **kinds}


def say(found, sample, print_line):
    """The analysis as text."""
    print_line(f"one tick of {sample:,} was followed: {found['followed']:,} ticks, p50 "
               f"{found['p50_us']:,.0f}, mean "
               f"{found['mean_us']:,.0f}, p99 {found['p99_us']:,.0f}, max {found['max_us']:,.0f} "
               f"us; mean us by step:")
    print_line(f"  {'until':<58}{'p50':>8}{'p99':>8}{'max':>8}{'mean':>8}  " +
               "".join(f"{kind:>13}" for kind in KINDS[:-TAKEN]))
    for row in found["rows"]:
        print_line(
            f"  {row['step']:<58}{row['p50_us']:>8,.0f}{row['p99_us']:>8,.0f}{row['max_us']:>8,.0f}{row['mean_us']:>8,.1f}  "
                   + "".join(f"{row[kind]:>13,.1f}" for kind in KINDS[:-TAKEN]))
    print_line(f"  {'all':<82}{found['mean_us']:>8,.1f}  " +
               "".join(f"{found['kinds'][kind]:>13,.1f}" for kind in KINDS[:-TAKEN]))
    say_excursions(found, print_line)
    for process in found["overrun"]:
        print_line(f"  the trace of {process} was overwritten before it was read: follow fewer "
                   f"ticks (--sample)")


def say_excursions(found, print_line):
    above = found["excursions"]
    total = sum(one["us"] for one in above)
    print_line(f"above 1 ms: {len(above):,} of {found['followed']:,} ticks"
               +
               ("; their time: " +
                ", ".join(f"{kind} {100 * sum(one[kind] for one in above) / total:.0f} %"
                          for kind in found["kinds_known"]) if total else ""))
    seen = set()
    for one in above:
        window = one["at_ns"] // 10_000_000
        if window in seen or len(seen) == SHOWN:
            continue
        seen.add(window)
        print_line(f"  {one['us'] / 1000:>7.1f} ms: {one['worst_us'] / 1000:.1f} ms "
                   f"{one['worst_kind']} until {one['worst']}; "
                   +
                   ", ".join(f"{kind} {one[kind] / 1000:.1f}" for kind in KINDS if one[kind] >= 50))
    if len(above) > len(seen):
        print_line("  (of the ticks of one hundredth of a second the slowest, at most twenty)")


def write(folder, found, machine, sample, json_file, print_line):
    """The report: where.html, .csv, .json; 1 if no tick was followed."""
    rows = [{"rate": rate, **row} for rate, one in found.items() if one for row in one["rows"]]
    columns = ["rate", "step", "ticks", "p50_us", "p99_us", "max_us", "mean_us", *KINDS[:-TAKEN]]
    tables = [("Mean microseconds by step, and what they were spent on", rows, columns)]
    above = [{"rate": rate, "ms": excursion_row["us"] / 1000, "worst": excursion_row["worst"],
              "worst_ms": excursion_row["worst_us"] / 1000,
              "worst_kind": excursion_row["worst_kind"],
              **{kind: excursion_row[kind] / 1000 for kind in one["kinds_known"]}}
             for rate,
             one in found.items() if one for excursion_row in one["excursions"][:SHOWN * 5]]
    if above:
        tables.append(("Ticks above a millisecond, in milliseconds", above, list(above[0])))
    charts = []
    for rate, one in found.items():
        if one:
            chart = report.Chart(f"Mean time until each step, {rate:,} updates/s", "step", "us")
            total = 0
            points = []
            for place, row in enumerate(one["rows"]):
                total += row["mean_us"]
                points.append((place + 1, total))
            chart.line("mean since it was made", points, marks=True)
            charts.append(chart)
    notes = [f"One tick of {sample:,} was followed.",
             *[f"{kind}: {words}." for kind, words in MEANING.items()
               if kind != "late CPU" or any(one and kind in one["kinds_known"]
                                            for one in found.values())],
             "A gap of a thread above 200 us is looked up in /proc/PID/schedstat; what is shorter "
             "counts as what the step does."]
    sentence = "; ".join(f"{rate:,}/s: mean {one['mean_us']:.0f} us, most of it "
                         f"{max(one['kinds'], key=one['kinds'].get)}, "
                         f"{len(one['excursions'])} of {one['followed']} above 1 ms" for rate,
                         one in found.items() if one)
    base = os.path.join(folder, "where")
    body = report.page("Where the time of a tick goes", sentence
                       or "No tick was followed to its end.", charts, tables, machine, notes)
    report.write(base, "where", machine, rows, columns, body, json_file,
                 {"analysis": {str(rate): one for rate, one in found.items()}})
    print_line(f"report: {base}.html, .csv, .json")
    return 0 if rows else 1
