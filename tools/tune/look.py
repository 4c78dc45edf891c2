"""look.py - what is read of a host, and what is said of it."""
# SPDX-License-Identifier: Apache-2.0
import dataclasses
import glob
import os
import subprocess


@dataclasses.dataclass
class Finding:
    """One thing that was looked at. `mark`: ok, no (it costs something), .. (it cannot be told, or
    it is for the reader to decide)."""

    mark: str
    name: str
    found: str
    cost: str = ""
    advice: list = dataclasses.field(default_factory=list)  # what no command does at run time
    writes: list = dataclasses.field(default_factory=list)  # (path below the root, value)
    runs: list = dataclasses.field(default_factory=list)  # words of commands
    backs: list = dataclasses.field(default_factory=list)  # and those that bring back what was

    def commands(self):
        """What a shell would be given."""
        return [shell(path, value) for path, value in self.writes] + [" ".join(run)
                                                                      for run in self.runs]


def shell(path, value):
    if path.startswith("proc/sys/"):
        word = f"{path.removeprefix('proc/sys/').replace('/', '.')}={value}"
        return "sysctl -w " + (f"'{word}'" if " " in word else word)
    return f"echo {value} > /{path}"


def numbers(text):
    """{0, 1, 2, 8} of "0-2,8"; of what is not such a list nothing."""
    found = set()
    for part in (text or "").split(","):
        low, dash, high = part.strip().partition("-")
        high = high if dash else low
        if low.isdigit() and high.isdigit():
            found.update(range(int(low), min(int(high), 65535) + 1))
    return found


def listed(numbers_of):
    """The reverse: "0-2,8"."""
    parts, run = [], []
    for number in [*sorted(numbers_of), None]:
        if run and number != run[-1] + 1:
            parts.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]))
            run = []
        run.append(number) if number is not None else None
    return ",".join(parts)


class Host:
    """The host whose / is `root`: this one, or a copy of another's /proc and /sys. What ethtool
    printed at the other one is in ROOT/ethtool/IF-g, -k and -c."""

    def __init__(self, root="/"):
        self.root = root
        self.is_this = os.path.realpath(root) == "/"

    def path(self, name):
        return os.path.join(self.root, name)

    def read(self, name):
        """The text of a file without blanks around; None: there is none."""
        try:
            with open(self.path(name), encoding="utf-8", errors="replace") as file:
                return file.read().strip()
        except OSError:
            return None

    def number(self, name):
        """The first number of a file; None: there is none."""
        words = (self.read(name) or "").split()
        try:
            return int(words[0]) if words else None
        except ValueError:
            return None

    def names(self, pattern):
        """Paths below the root that fit, in order."""
        found = glob.glob(os.path.join(glob.escape(self.root), pattern))
        return sorted(os.path.relpath(path, self.root) for path in found)

    def chosen(self, name):
        """The word in brackets of "always [madvise] never"."""
        return (self.read(name) or "").partition("[")[2].partition("]")[0]

    def ethtool(self, option, interface):
        """What it prints, or None."""
        if not self.is_this:
            return self.read(f"ethtool/{interface}-{option}")
        try:
            run = subprocess.run(["ethtool", f"-{option}", interface], capture_output=True,
                                 text=True, timeout=10, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return run.stdout if run.returncode == 0 else None

    def cpus(self):
        return (numbers(self.read("sys/devices/system/cpu/online")) or
                set(range(os.cpu_count() or 1)))

    def isolated(self):
        return numbers(self.read("sys/devices/system/cpu/isolated"))

    def interfaces(self):
        """Those with a device; a bridge, a loopback and a veth have none."""
        return [path.split("/")[3] for path in self.names("sys/class/net/*/device")]

    def is_running(self, program):
        return any(self.read(path) == program for path in self.names("proc/[0-9]*/comm"))

    def words_of_boot(self):
        return (self.read("proc/cmdline") or "").split()
