"""host.py - what a figure was measured on: the machine, its load, and the CPU time that its host
took away."""
# SPDX-License-Identifier: Apache-2.0
import os
import platform
import re
import subprocess
import sys
import time

ROOT = os.environ.get("RMDS_ROOT") or os.path.realpath(
    os.path.join(os.path.dirname(os.path.realpath(__file__)), "../.."))
STEAL_MAX_PCT = 5  # a row with more is marked: repeat it
STOLEN = 7  # place of `steal` in a line of /proc/stat; the two places behind it are parts of others


def ticks(line):
    """(all, stolen by the host) of the first line of /proc/stat."""
    fields = [int(word) for word in line.split()[1:9]]
    return sum(fields), fields[STOLEN] if len(fields) > STOLEN else 0


def now():
    with open("/proc/stat", encoding="ascii") as file:
        return ticks(file.readline())


def share(before, after):
    """Of the time of all CPUs between two looks, what the host gave to others, in percent."""
    return round(100 * (after[1] - before[1]) / max(1, after[0] - before[0]), 1)


class Steal:
    """A clock of stolen time."""

    def __init__(self):
        self.last = now()

    def pct(self):
        """Since the last call, or since it was made."""
        before, self.last = self.last, now()
        return share(before, self.last)


def note(row):
    """What a printed row says of stolen time: nothing where nothing is known, a loud word above the
    limit."""
    steal = row.get("steal_pct")
    if steal is None:
        return ""
    return f"  STEAL {steal} %: repeat" if steal > STEAL_MAX_PCT else f"  steal {steal} %"


def machine():
    model = "?"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        found = re.search(r"model name\s*: (.*)", file.read())
        model = found.group(1) if found else platform.machine()
    commit = subprocess.run(["sh", "-c", 'git -C "$0" describe --always --dirty', ROOT],
                            capture_output=True, text=True, check=False).stdout.strip()
    with open("/proc/meminfo", encoding="utf-8") as file:
        memory = int(file.readline().split()[1]) // 1024
    return {"host": os.uname().nodename, "cpus": len(os.sched_getaffinity(0)), "cpu": model,
            "kernel": os.uname().release, "memory_mb": memory, "load": list(os.getloadavg()),
            "ticks": now(), "commit": commit or "?",
            "network": os.environ.get("RMDS_BENCH_NET", "host"),
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "command": " ".join([os.path.basename(sys.argv[0])] + sys.argv[1:])}


def mark(rows, of):
    """Rows that were measured all at once share the steal of the whole run; gives its note."""
    steal = share(of["ticks"], now())
    for row in rows:
        row["steal_pct"] = steal
    return note({"steal_pct": steal})


def ended(of):
    """Adds what is known at the end of a run to machine()'s answer."""
    of["load_after"] = list(os.getloadavg())
    of["steal_pct"] = share(of.pop("ticks"), now())


def headline(of):
    """The line that a benchmark prints first."""
    return f"{of['cpus']} CPUs, {of['cpu']}, Linux {of['kernel']}, load {of['load'][0]:.2f}, commit {of['commit']}"


def conditions(of):
    """The same in sentences, for the top of a page."""
    text = ""
    if "time" in of:
        text += f"Measured {of['time'].replace('T', ' ').replace('Z', ' UTC')}"
        text += f" on {of['host']}" if "host" in of else ""
    text += f", {of['cpus']} CPUs" if "cpus" in of else ""
    text += f" ({of['cpu']})" if "cpu" in of else ""
    text += f", Linux {of['kernel']}" if "kernel" in of else ""
    text += f", commit {of['commit']}" if "commit" in of else ""
    text = text.removeprefix(", ") + "." if text else ""
    if "load" in of:
        text += f" Load {of['load'][0]:.1f} before"
        text += f" and {of['load_after'][0]:.1f} after the run." if "load_after" in of else " the run."
    if "steal_pct" in of:
        text += f" The host took {of['steal_pct']} % of the CPUs' time away."
    return text.strip()


def warnings(of, rows):
    """Why these figures should not be believed, in sentences; none: nothing speaks against them."""
    found = []
    if "load" in of and of["load"][0] > 0.5 * of.get("cpus", 1):
        found.append(f"The machine was busy before the run began: load {of['load'][0]:.1f} on "
                     f"{of.get('cpus', 1)} CPUs. "
                     "Measure again on an idle machine.")
    if of.get("commit", "").endswith("-dirty"):
        found.append("The programs were built from a tree with uncommitted changes.")
    noisy = [row for row in rows if (row.get("steal_pct") or 0) > STEAL_MAX_PCT]
    if noisy:
        found.append(f"In {len(noisy)} of {len(rows)} rows the host took more than {STEAL_MAX_PCT} "
                     f"% of the CPU time away; "
                     "they are marked. Repeat them.")
    return found
