"""lbm.py - the two-run procedure of the published LBM test: runs added up, the published rows."""
# SPDX-License-Identifier: Apache-2.0
import math

import report

FIGURES = ("mean_us", "p50_us", "stddev_us", "min_us", "max_us", "p99_us", "p999_us")


class Histogram:
    """Latencies in ns by bucket, as `rrcpperf sub --counts` writes them; they can be added up."""

    def __init__(self, path=None):
        self.buckets, self.sum, self.least, self.most = {}, 0, None, 0
        if path:
            with open(path, encoding="ascii") as file:
                head = file.readline().split()
                lines = [tuple(map(int, line.split())) for line in file]
            self.sum, self.least, self.most = int(head[3]), int(head[5]), int(head[7])
            self.buckets = {(low, high): count for low, high, count in lines}

    def add(self, other):
        """The statistics over both; the maximum is the larger one."""
        for bucket, count in other.buckets.items():
            self.buckets[bucket] = self.buckets.get(bucket, 0) + count
        self.sum += other.sum
        self.most = max(self.most, other.most)
        if other.buckets:
            self.least = other.least if self.least is None else min(self.least, other.least)

    def count(self):
        return sum(self.buckets.values())

    def percentile(self, percent):
        wanted, seen = max(1, math.ceil(self.count() * percent / 100)), 0
        for bucket in sorted(self.buckets):
            seen += self.buckets[bucket]
            if seen >= wanted:
                return min(bucket[1], self.most)
        return self.most

    def figures(self):
        """{mean_us: ...} of all; None where nothing was measured."""
        count = self.count()
        if not count:
            return dict.fromkeys(FIGURES)
        mean = self.sum / count
        squares = sum(((low + high) / 2 - mean) ** 2 * n for (low, high), n in self.buckets.items())
        found = {"mean_us": mean, "p50_us": self.percentile(50),
                 "stddev_us": math.sqrt(squares / count), "min_us": self.least,
                 "max_us": self.most, "p99_us": self.percentile(99),
                 "p999_us": self.percentile(99.9)}
        return {name: round(value / 1000, 1) for name, value in found.items()}


def added(histograms):
    """One of several."""
    whole = Histogram()
    for one in histograms:
        whole.add(one)
    return whole


def highest_published(root):
    """{(pairs, size): messages a second} of the best published result."""
    best = {}
    for row in report.published(root, "published-throughput.csv"):
        words = row["test"].split()
        if row["unit"] == "messages/s" and words[0] in ("1:1", "3:3"):
            key = (words[0], int(words[1]))
            best[key] = max(best.get(key, 0), float(row["value"]))
    return best


def published_latency(root):
    """The published rows: of runs of one cell the mean of the means, and the larger maximum."""
    cells = {}
    for row in report.published(root, "published-lbm-latency.csv"):
        key = (row["pairs"], row["pair"], row["stack"], int(row["rate"]), int(row["size"]))
        cells.setdefault(key, []).append(row)
    found = []
    for (pairs, pair, stack, rate, size), runs in cells.items():
        values = {name: [float(run[name]) for run in runs] for name in FIGURES}
        merged = {name: max(of) if name == "max_us" else min(of) if name == "min_us" else
                  round(sum(of) / len(of), 1) for name, of in values.items()}
        found.append({"pairs": pairs, "pair": pair, "stack": stack, "rate": rate, "size": size,
                      "runs": len(runs), **merged})
    return found
