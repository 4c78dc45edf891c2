# prometheus.py - promtool for the tests: where it is, what it says of metrics, rules and expressions.
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import shutil
import subprocess
import tempfile

RULES = "conf/monitoring/alerts.yml"
DASHBOARD = "conf/monitoring/dashboard.json"


def tool():
    return os.environ.get("RMDS_PROMTOOL") or shutil.which("promtool")


def run(*words, text=None):
    """Exit code, and what it said."""
    done = subprocess.run([tool(), *words], input=text, capture_output=True, text=True,
                          check=False, timeout=90)
    return done.returncode, done.stdout + done.stderr


def seconds(text):
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def alerts(source):
    """{name: expression, how long, severity, summary} of the rules."""
    found = {}
    with open(os.path.join(source, RULES), encoding="ascii") as file:
        for rule in file.read().split("- alert: ")[1:]:
            found[rule.split()[0]] = {
                "expr": re.search(r"expr: '(.*)'$", rule, re.M)[1],
                "for": seconds(re.search(r"for: (\w+)$", rule, re.M)[1]),
                "severity": re.search(r"severity: (\w+)", rule)[1],
                "summary": re.search(r"summary: '(.*)' }$", rule, re.M)[1]}
    return found


def queries(source):
    """{title: expression} of the dashboard."""
    with open(os.path.join(source, DASHBOARD), encoding="ascii") as file:
        return {panel["title"]: target["expr"] for panel in json.load(file)["panels"]
                for target in panel["targets"]}


def write(path, data):
    with open(path, "w", encoding="ascii") as out:  # JSON is YAML
        json.dump(data, out)
    return path


def as_rules(folder, expressions):
    """A file of rules, an alert for each of {name: expression}."""
    rules = [{"alert": name, "expr": expr} for name, expr in expressions.items()]
    return write(os.path.join(folder, "rules.yml"), {"groups": [{"name": "asked", "rules": rules}]})


def check_expressions(expressions):
    """Each of {name: expression} is PromQL."""
    with tempfile.TemporaryDirectory() as folder:
        return run("check", "rules", as_rules(folder, expressions))


def test_rules(rules, tests):
    with tempfile.TemporaryDirectory() as folder:
        return run("test", "rules", write(os.path.join(folder, "tests.yml"), {
            "rule_files": [rules], "evaluation_interval": "10s", "tests": tests}))


def show_something(series, expressions):
    """Each of {name: expression} has a result over these series."""
    asked = [{"eval_time": "6m", "alertname": name, "exp_alerts": [{"exp_labels": {}}]}
             for name in expressions]
    with tempfile.TemporaryDirectory() as folder:
        rules = as_rules(folder, {name: f"count({expr}) > 0" for name, expr in expressions.items()})
        return test_rules(rules, [{"interval": "10s", "input_series": series, "alert_rule_test": asked}])


def series_of(text, instance, rate=10):
    """The samples of a /metrics as series of six minutes: counters and histograms grow, the rest stays."""
    grows, found = set(), []
    for line in text.splitlines():
        if line.startswith("# TYPE ") and line.split()[3] in ("counter", "histogram"):
            grows.add(line.split()[2])
        match = re.fullmatch(r"([a-z0-9_]+)(?:\{(.*)\})? (\S+)", line)
        if not match:
            continue
        name, labels, value = match.groups()
        family = re.sub("_(bucket|sum|count)$", "", name)
        labels = ",".join(filter(None, (labels, f'instance="{instance}",job="rmds"')))
        found.append({"series": f"{name}{{{labels}}}",
                      "values": f"{value}+{rate if {name, family} & grows else 0}x40"})
    return found
