"""report.py - JSON, CSV and one HTML page with SVG charts out of benchmark rows; no packages needed."""
# SPDX-License-Identifier: Apache-2.0
import csv
import html
import json
import math
import os
import subprocess

COLOURS = ["#0b6", "#c33", "#36c", "#a60", "#828", "#088", "#666", "#b4a", "#480", "#a88"]


def number(value):
    """At most three significant digits, thousands separated."""
    if value is None:
        return "-"
    if isinstance(value, bool) or isinstance(value, str):
        return str(value)
    if isinstance(value, dict):
        return ", ".join(f"{name} {number(one)}" for name, one in value.items())
    if isinstance(value, list):
        return " ".join(number(one) for one in value)
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def short(value):
    """10.1 M of 10,100,000."""
    return f"{value / 1e6:.3g} M" if value >= 1e6 else number(value)


def ticks(low, high, is_log):
    if is_log:
        first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
        return [10.0**e for e in range(first, last + 1) if low <= 10.0**e <= high * 1.0001]
    step = 10.0 ** math.floor(math.log10(max(high - low, 1e-9)))
    while (high - low) / step < 4:
        step /= 2
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


class Chart:
    """Lines, bands and marks over two axes, each linear or logarithmic."""

    WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 940, 420, 70, 270, 34, 46

    def __init__(self, title, x_name, y_name, log_x=False, log_y=False):
        self.title, self.x_name, self.y_name = title, x_name, y_name
        self.log_x, self.log_y = log_x, log_y
        self.lines, self.bands, self.bars = [], [], []

    def line(self, name, points, colour=None, width=1.2, dash="", marks=False):
        points = [(x, y) for x, y in points if y is not None and (y > 0 or not self.log_y)]
        if points:
            colour = colour or COLOURS[len(self.lines) % len(COLOURS)]
            self.lines.append((name, sorted(points), colour, width, dash, marks))

    def band(self, low, high, colour):
        self.bands.append((sorted(low), sorted(high), colour))

    def bar(self, x0, x1, y, name=""):
        self.bars.append((x0, x1, y, name))

    def scale(self):
        xs = [x for line in self.lines for x, _ in line[1]]
        ys = [y for line in self.lines for _, y in line[1]]
        for low, high, _ in self.bands:
            ys += [y for _, y in low + high]
        for x0, x1, y, _ in self.bars:
            xs += [x0, x1]
            ys.append(y)
        if not xs:
            xs, ys = [1, 10], [1, 10]
        self.x0, self.x1 = min(xs), max(xs)
        self.y0, self.y1 = (min(ys), max(ys) * 1.1) if self.log_y else (0, max(ys) * 1.08 or 1)
        if self.x0 == self.x1:
            self.x0, self.x1 = self.x0 * 0.9, self.x1 * 1.1 or 1
        if self.y0 == self.y1:
            self.y1 = self.y0 + 1

    @staticmethod
    def share(value, low, high, is_log):
        if is_log:
            return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
        return (value - low) / (high - low)

    def x(self, value):
        room = self.WIDTH - self.LEFT - self.RIGHT
        return self.LEFT + room * self.share(value, self.x0, self.x1, self.log_x)

    def y(self, value):
        room = self.HEIGHT - self.TOP - self.BOTTOM
        return self.HEIGHT - self.BOTTOM - room * self.share(value, self.y0, self.y1, self.log_y)

    def axes(self):
        out = []
        bottom, right = self.HEIGHT - self.BOTTOM, self.WIDTH - self.RIGHT
        for value in ticks(self.x0, self.x1, self.log_x):
            at = self.x(value)
            out.append(f'<line x1="{at:.1f}" y1="{self.TOP}" x2="{at:.1f}" y2="{bottom}" class="g"/>'
                       f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{number(value)}</text>')
        for value in ticks(self.y0, self.y1, self.log_y):
            at = self.y(value)
            out.append(f'<line x1="{self.LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}" class="g"/>'
                       f'<text x="{self.LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{number(value)}</text>')
        out.append(f'<text x="{self.LEFT}" y="18" class="t">{html.escape(self.title)}</text>'
                   f'<text x="{(self.LEFT + right) / 2}" y="{self.HEIGHT - 8}" text-anchor="middle">'
                   f'{html.escape(self.x_name)}</text>'
                   f'<text transform="translate(14 {(self.TOP + bottom) / 2}) rotate(-90)" '
                   f'text-anchor="middle">{html.escape(self.y_name)}</text>')
        return out

    def labels(self):
        """Names at the ends of the lines, moved apart where they would meet."""
        ends = sorted(((self.y(points[-1][1]), name, colour)
                       for name, points, colour, _, _, _ in self.lines), key=lambda e: e[0])
        out, last = [], -100.0
        for at, name, colour in ends:
            at = max(at, last + 12)
            last = at
            out.append(f'<text x="{self.WIDTH - self.RIGHT + 6}" y="{at + 4:.1f}" fill="{colour}" '
                       f'class="s">{html.escape(name)}</text>')
        return out

    def svg(self):
        self.scale()
        out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.WIDTH} {self.HEIGHT}" '
               f'role="img" aria-label="{html.escape(self.title)}">'] + self.axes()
        for x0, x1, y, name in self.bars:
            out.append(f'<rect x="{self.x(x0):.1f}" y="{self.y(y):.1f}" '
                       f'width="{max(self.x(x1) - self.x(x0), 0.8):.1f}" '
                       f'height="{self.HEIGHT - self.BOTTOM - self.y(y):.1f}" fill="{COLOURS[0]}"/>')
            if name:
                at = f"{self.x(x0):.1f} {self.HEIGHT - self.BOTTOM - 6}"
                out.append(f'<text class="s" transform="translate({at}) rotate(-90) translate(0 '
                           f'{(self.x(x1) - self.x(x0)) / 2 + 3:.1f})">{html.escape(name)} {number(y)}</text>')
        for low, high, colour in self.bands:
            path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in low + high[::-1])
            out.append(f'<polygon points="{path}" fill="{colour}" opacity="0.2"/>')
        for _, points, colour, width, dash, marks in self.lines:
            path = " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)
            out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                       f'stroke-width="{width}" stroke-dasharray="{dash}"/>')
            if marks or len(points) == 1:
                out += [f'<circle cx="{self.x(x):.1f}" cy="{self.y(y):.1f}" r="3" fill="{colour}"/>'
                        for x, y in points]
        return "\n".join(out + self.labels() + ["</svg>"])


def cell(column, value):
    """A row that did not do what was asked of it says so in words."""
    words = {"reached": "not reached", "due_reached": "not reached", "holds": "does not hold"}
    if column in words and value is False:
        return f'<td class="bad">{words[column]}</td>'
    return f"<td>{html.escape(number(value))}</td>"


def table(rows, columns):
    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(cell(c, row.get(c)) for c in columns) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


STYLE = """
:root { color-scheme: light dark; --g: #8884; }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 980px; margin: 2em auto; padding: 0 1em; }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; fill: currentColor; }
svg .g { stroke: var(--g); } svg .t { font-size: 14px; font-weight: 600; } svg .s { font-size: 10px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 2px 8px; text-align: right; border-bottom: 1px solid var(--g); }
.wide { overflow-x: auto; }
pre { white-space: pre-wrap; font-size: 12px; } h1 { font-size: 1.4em; }
.bad { color: #c33; font-weight: 600; }
"""


def page(title, sentence, charts, tables, machine, notes):
    """The whole report as one self-contained page."""
    parts = [f"<h1>{html.escape(title)}</h1><p><strong>{html.escape(sentence)}</strong></p>"]
    parts += [chart.svg() for chart in charts]
    for name, rows, columns in tables:
        parts.append(f"<h2>{html.escape(name)}</h2>{table(rows, columns)}")
    parts.append("<h2>Machine and conditions</h2><pre>" +
                 html.escape(json.dumps(machine, indent=1)) + "</pre>")
    parts += [f"<p>{html.escape(note)}</p>" for note in notes]
    return (f'<!doctype html><html lang="en"><meta charset="utf-8">'
            f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
            f"<style>{STYLE}</style>" + "\n".join(parts) + "</html>\n")


def write(base, bench, machine, rows, columns, body, json_file=None, more=None):
    """BASE.json, .csv and .html; and JSON_FILE, if one is named."""
    os.makedirs(os.path.dirname(os.path.abspath(base)), exist_ok=True)
    result = {"bench": bench, "machine": machine, "results": rows, **(more or {})}
    for path in [base + ".json"] + ([json_file] if json_file else []):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    with open(base + ".csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    with open(base + ".html", "w", encoding="utf-8") as file:
        file.write(body)


def value(text):
    """A number where it is one."""
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text


def run_program(words):
    """The lines that a program prints, shown while it runs."""
    lines = []
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as run:
        for line in run.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    if run.returncode != 0:
        raise SystemExit(f"{words[0]} ended with {run.returncode}")
    return lines


def published(root, name):
    """Rows of a CSV of published figures."""
    path = os.path.join(root, "tests/bench/data", name)
    with open(path, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def cpu_table(rows, key):
    """What each process used, in percent of one CPU."""
    names = sorted({name for row in rows for name in row.get("cpu", {})})
    return ("CPU of each process, %", [{key: row[key], **row.get("cpu", {})} for row in rows], [key, *names])


def rounds_of(row, value):
    """The single figures that a row is the median of."""
    if isinstance(row.get("rounds"), list):
        return row["rounds"]
    return [one[value] for one in row.get("every_round", []) if one.get(value)] or [row[value]]


def noise_pct(row, value):
    """Half the distance between the lowest and the highest round, in percent of the figure."""
    rounds = rounds_of(row, value)
    return round(50 * (max(rounds) - min(rounds)) / row[value], 1) if len(rounds) > 1 else None


def compare_file(path, rows, key, value, say, more_is_better=False):
    """The table of compare() with the results in a file, printed too."""
    with open(path, encoding="utf-8") as file:
        beside = compare(rows, json.load(file)["results"], key, value, more_is_better)
    for row in beside:
        say(f"{key} {row[key]}: before {row['before']:,} +-{row['before_noise_pct']} %, now {row['now']:,} "
            f"+-{row['now_noise_pct']} %, x{row['ratio']} ({row['low']}..{row['high']}), {row['verdict']}")
    return [(f"Beside the earlier run, {value}", beside, list(beside[0]))] if beside else []


def compare(rows, earlier, key, value, more_is_better=False):
    """Beside an earlier run: ratio, its spread from the single rounds, the noise of each, and a plain word.
    One round of each side tells nothing of the noise: then no word is said."""
    old = {row[key]: row for row in earlier}
    out = []
    for row in rows:
        before = old.get(row[key])
        if not before or not before.get(value) or not row.get(value):
            continue
        ratios = [a / b for a in rounds_of(row, value) for b in rounds_of(before, value) if b]
        low, high = min(ratios), max(ratios)
        more, less = ("better", "worse") if more_is_better else ("slower", "faster")
        word = more if low > 1 else less if high < 1 else "inconclusive"
        noises = noise_pct(before, value), noise_pct(row, value)
        if None in noises:
            word = "inconclusive: one round"
        out.append({key: row[key], "before": before[value], "before_noise_pct": noises[0], "now": row[value],
                    "now_noise_pct": noises[1], "ratio": round(row[value] / before[value], 3), "low": round(low, 3),
                    "high": round(high, 3), "verdict": word})
    return out
