"""report.py - JSON, CSV and one HTML page with SVG charts out of benchmark rows; no packages
needed."""
# SPDX-License-Identifier: Apache-2.0
import csv
import html
import json
import os
import subprocess

import host
import plot

# One door for the benchmarks: rows, pages and pictures.
COLOURS, GREY, Chart, percentiles, number, short = (
    plot.COLOURS, plot.GREY, plot.Chart, plot.percentiles, plot.number, plot.short)

# Column names in words; what is not here is made of the name itself.
WORDS = {"rate": "updates/s wanted", "achieved": "updates/s", "told_lost": "losses told",
         "out_of_place": "out of order or wrong",
         "reached": "rate reached", "due_reached": "rate reached, as due",
         "due_achieved": "updates/s, as due",
         "due_mean_us": "mean as due, us", "due_p999_us": "99.9 % as due, us",
         "due_lost": "lost, as due",
         "due_ratio": "mean as due, times bare physics",
         "pipe6_mean_us": "bare physics mean, us", "ratio": "times bare physics",
         "ratio_low": "lowest", "ratio_high": "highest", "p999_ratio": "99.9 %, times bare physics",
         "published_mean_us": "best published mean, us", "must_mean_us": "must, us",
         "goal_mean_us": "goal, us",
         "in_per_s": "updates/s in", "out_per_s": "updates/s out",
         "wanted_out_per_s": "updates/s out wanted",
         "prototype_out_per_s": "bare physics, updates/s out",
         "cpu_us_per_update": "CPU of an update, us",
         "why_not": "why not", "steal_pct": "taken by the host, %",
         "stddev_us": "standard deviation, us",
         "p50_us": "50 %, us", "p99_us": "99 %, us", "p999_us": "99.9 %, us",
         "msgs_per_s": "messages/s"}
UNITS = (("_us", ", us"), ("_ns", ", ns"), ("_pct", ", %"), ("_ms", ", ms"), ("_per_s", "/s"),
         ("_s", ", s"), ("_mb", ", MB"))


def column_words(column):
    """'drain, s' of drain_s."""
    if column in WORDS:
        return WORDS[column]
    for tail, unit in UNITS:
        if column.endswith(tail):
            return column[:-len(tail)].replace("_", " ") + unit
    return column.replace("_", " ")


def cell(column, value):
    """A row that did not do what was asked of it says so in words."""
    words = {"reached": "not reached", "due_reached": "not reached", "holds": "does not hold"}
    if column in words and isinstance(value, bool):
        return "<td>yes</td>" if value else f'<td class="bad">{words[column]}</td>'
    is_bad = ((column == "steal_pct" and (value or 0) > host.STEAL_MAX_PCT) or
              (column == "verdict" and str(value).startswith(("misses", "LOSES"))) or
              (column in ("lost", "due_lost", "told_lost", "out_of_place") and value))
    return f"<td{' class=' + chr(34) + 'bad' + chr(34) if is_bad else ''}>{html.escape(number(value))}</td>"


def table(rows, columns):
    head = "".join(f'<th title="{html.escape(c)}">{html.escape(column_words(c))}</th>'
                   for c in columns)
    body = "".join("<tr>" + "".join(cell(c, row.get(c)) for c in columns) + "</tr>" for row in rows)
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


STYLE = """
:root { color-scheme: light dark; --g: #8884; --bad: #c0322b; --paper: #fff; --ink: #1b1f24; --box: #fdecea; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff7b70; --paper: #15181c; --ink: #e4e7ea; --box: #3a1d1b; } }
body { font: 15px/1.45 system-ui, sans-serif; max-width: 980px; margin: 2em auto; padding: 0 1em;
  background: var(--paper); color: var(--ink); }
svg { width: 100%; height: auto; font: 11px system-ui, sans-serif; fill: currentColor; margin: 1em 0; }
svg .g { stroke: var(--g); } svg .t { font-size: 14px; font-weight: 600; } svg .s { font-size: 10.5px; }
svg .b { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: 3px 9px; text-align: right; vertical-align: bottom; border-bottom: 1px solid var(--g); }
th { font-weight: 600; max-width: 8em; } td { white-space: nowrap; }
th:first-child, td:first-child { position: sticky; left: 0; background: var(--paper); }
.wide { overflow-x: auto; }
pre { white-space: pre-wrap; font-size: 12px; } h1 { font-size: 1.4em; margin-bottom: 0.3em; } h2 { font-size: 1.1em; }
.sum { font-size: 1.15em; } .bad { color: var(--bad); font-weight: 600; }
.warn { background: var(--box); border-left: 4px solid var(--bad); padding: 0.6em 1em; }
@media (max-width: 600px) { body { margin: 1em auto; } .chart { overflow-x: auto; } .chart svg { min-width: 640px; } }
"""


def page(title, sentence, charts, tables, machine, notes):
    """The whole report as one self-contained page: the answer, how far to believe it, pictures,
    tables."""
    rows = tables[0][1] if tables else []
    parts = [f"<h1>{html.escape(title)}</h1>",
             f'<p class="sum"><strong>{html.escape(sentence)}</strong></p>',
             f"<p>{html.escape(host.conditions(machine))}</p>"]
    parts += [f'<p class="warn">{html.escape(text)}</p>' for text in host.warnings(machine, rows)]
    parts += [f'<div class="chart">{chart.svg()}</div>' for chart in charts]
    for name, of, columns in tables:
        parts.append(f"<h2>{html.escape(name)}</h2>{table(of, columns)}")
    parts += [f"<p>{html.escape(note)}</p>" for note in notes if note]
    parts.append("<details><summary>Machine, configuration and command</summary><pre>" +
                 html.escape(json.dumps(machine, indent=1)) + "</pre></details>")
    return (f'<!doctype html><html lang="en"><meta charset="utf-8">'
            f'<meta name="viewport" '
            f'content="width=device-width"><title>{html.escape(title)}</title>'
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
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True) as run:
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
    return ("CPU of each process, %", [{key: row[key], **row.get("cpu", {})} for row in rows],
            [key, *names])


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
        say(f"{key} {row[key]}: before {row['before']:,} +-{row['before_noise_pct']} %, now "
            f"{row['now']:,} "
            f"+-{row['now_noise_pct']} %, x{row['ratio']} ({row['low']}..{row['high']}), "
            f"{row['verdict']}")
    return [(f"Beside the earlier run, {value}", beside, list(beside[0]))] if beside else []


def compare(rows, earlier, key, value, more_is_better=False):
    """Beside an earlier run: ratio, its spread from the single rounds, the noise of each, and a
    plain word. One round of each side tells nothing of the noise: then no word is said."""
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
        out.append({key: row[key], "before": before[value], "before_noise_pct": noises[0],
                    "now": row[value],
                    "now_noise_pct": noises[1], "ratio": round(row[value] / before[value], 3),
                    "low": round(low, 3),
                    "high": round(high, 3), "verdict": word})
    return out
