"""peers.py - applications of others at both ends: ours on ETA Java (tests/interop/java-bench), or a
command of the user's."""
# SPDX-License-Identifier: Apache-2.0
import atexit
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time

import chain

sys.path.insert(0, os.path.join(chain.ROOT, "tools"))
from running import ports  # noqa: E402

JAVA = ["java", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xms512m", "-Xmx1g", "-cp",
        f"{chain.BUILD}/interop/classes:{chain.BUILD}/interop/lib/*"]
SERVICE = "RDFD"
ANSWER_S, OPEN_S, QUIET_S = 60, 240, 120
# The words of the figures that the public performance consumer prints, in its block "Steady State
# Statistics".
PRINTED = {"mean_us": r"Latency avg \(usec\): ([\d.]+)",
           "stddev_us": r"Latency std dev \(usec\): ([\d.]+)",
           "max_us": r"Latency max \(usec\): ([\d.]+)", "min_us": r"Latency min \(usec\): ([\d.]+)"}


def build_java():
    """The two programs on ETA Java; the libraries come from Maven Central once, so this needs the
    network."""
    run = subprocess.run([os.path.join(chain.ROOT, "tests/interop/build.sh"), chain.BUILD],
                         check=False,
                         capture_output=True, text=True)
    if run.returncode == 77:
        chain.say(run.stdout.strip() + "; or give a --provider and a --consumer of your own")
        sys.exit(77)
    if run.returncode:
        raise SystemExit(run.stdout + run.stderr)


def item_list(items):
    """A file with the names, one a line."""
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"items.{os.getpid()}.{items}")
    if not os.path.exists(path):
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"RIC{i}.O\n" for i in range(items))
        atexit.register(os.unlink, path)
    return path


def shell(command, port, case, seconds):
    """The words that run the command of a user, in whose text what stands in braces is replaced."""
    for name, value in (("port", port), ("rate", case["rate"]), ("items", case["items"]),
                        ("secs", f"{seconds:g}"),
                        ("service", SERVICE), ("packed", int(case["packed"])),
                        ("domain", case["domain"]),
                        ("posts", case["posts"]), ("generics", case["generics"]),
                        ("list", item_list(case["items"]) if "{list}" in command else "")):
        command = command.replace("{%s}" % name, str(value))
    # then its process is the one whose CPU is looked at
    is_one = not re.search(r"[;&|<>()`$\n]", command)
    return ["sh", "-c", "exec " + command if is_one else command]


def end_group(run):
    """End a program and what it started."""
    if run and run.poll() is None:
        os.killpg(run.pid, signal.SIGTERM)
        try:
            run.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


class Program:
    """One that is told lines and says lines."""

    def __init__(self, words):
        self.name = words[-2] if len(words) > 1 else words[0]
        self.run = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        atexit.register(self.close)

    def read(self):
        for line in self.run.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def tell(self, text):
        self.run.stdin.write(text + "\n")
        self.run.stdin.flush()

    def hear(self, word, seconds=ANSWER_S):
        """The rest of the next line, which begins with that word."""
        try:
            line = self.lines.get(timeout=seconds)
        except queue.Empty:
            raise SystemExit(f"{self.name} did not say \"{word}\" within {seconds} s") from None
        if line is None or line.partition(" ")[0] != word:
            raise SystemExit(f"{self.name} was to say \"{word}\", but " +
                             ("ended" if line is None else f"said: {line}"))
        return line.partition(" ")[2]

    def close(self):
        if self.run.poll() is None:
            self.run.kill()
        self.run.wait()


class JavaProvider:
    """Serves both ways at once; only one has items open at a time."""

    def __init__(self, port, bursts=1000):
        self.port, self.bursts = port, bursts
        self.program = Program([*JAVA, "org.openrmds.interop.BenchProvider", str(port), SERVICE])
        self.program.hear("ready")

    def pid(self):
        return self.program.run.pid

    def begin(self, case, _):
        """Wait until nothing of the last case is open."""
        end = time.monotonic() + QUIET_S
        while self.streams():
            if time.monotonic() > end:
                raise SystemExit(f"{self.streams()} items are still open {QUIET_S} s after the "
                                 f"consumer has gone")
            time.sleep(0.1)
        self.program.tell(f"packed {int(case['packed'])}")

    def streams(self):
        self.program.tell("streams")
        return int(self.program.hear("streams"))

    def wait_open(self, items):
        """For a consumer that does not say when it has all."""
        end = time.monotonic() + OPEN_S
        while self.streams() < items and time.monotonic() < end:
            time.sleep(0.1)

    def rate(self, case):
        rate = case["rate"]
        self.program.tell(f"rate {rate} {max(1, min(rate, self.bursts))} "
                          f"{1 if rate <= 100000 else rate // 10000}")

    def quiet(self, counts):
        """No more updates; (how many it gave up for being late, how many it sent)."""
        self.rate({"rate": 0})
        self.program.tell(f"counts {counts}")
        return tuple(map(int, self.program.hear("counted").split()))

    def end(self):
        """Nothing: it goes on for the next case."""

    def close(self):
        self.program.close()


class CommandProvider:
    """A command that serves items at a rate of its own from its start on."""

    def __init__(self, port, command):
        self.port, self.command, self.run = port, command, None
        atexit.register(self.end)

    def pid(self):
        return self.run.pid

    def begin(self, case, seconds):
        words = shell(self.command, self.port, case, seconds)
        self.run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    start_new_session=True)
        end = time.monotonic() + ANSWER_S
        while not ports.is_taken(self.port):
            if self.run.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"--provider: nobody listens on port {self.port}: {words[-1]}")
            time.sleep(0.05)

    def wait_open(self, items):
        """Unknown: its consumer waits itself."""

    def rate(self, case):
        """It has it since its start."""

    def quiet(self, _):
        return None

    def end(self):
        end_group(self.run)
        self.run = None

    def close(self):
        self.end()


class JavaConsumer:
    def __init__(self):
        self.program = Program([*JAVA, "org.openrmds.interop.BenchConsumer", SERVICE])
        self.program.hear("ready")
        self.number = 0

    def pid(self):
        return self.program.run.pid

    def take(self, provider, port, case, seconds, discard, look):
        """One run; look() is called when the measurement begins and when it ends."""
        self.number += 1
        counts = os.path.join(os.environ.get("TMPDIR", "/tmp"),
                              f"counts.{os.getpid()}.{self.number}")
        self.program.tell(f"run {port} {case['domain']} {case['items']} "
                          f"{seconds if case['measures'] else 0} "
                          f"{discard if case['measures'] else 0} {case['posts']} "
                          f"{case['generics']} {counts}")
        self.program.hear("open", OPEN_S)
        provider.rate(case)
        look()
        self.program.hear("measured", seconds + discard + ANSWER_S)
        look()
        told = provider.quiet(counts)
        if told is None:
            with open(counts, "w", encoding="ascii"):
                pass  # nobody knows how far the items have come
        result = json.loads(self.program.hear("result"))
        os.unlink(counts)
        if told is None:
            result["lost"] = result["told_lost"] = None
        return {**result, "given_up": told and told[0], "sent": told and told[1]}

    def close(self):
        self.program.close()


class CommandConsumer:
    """A command that runs for so many seconds and prints `result {JSON}`, or the public performance
    consumer's summary."""

    def __init__(self, command):
        self.command, self.run = command, None
        atexit.register(self.close)

    def pid(self):
        return self.run.pid

    def take(self, provider, port, case, seconds, discard, look):
        words = shell(self.command, port, case, seconds + discard)
        self.run = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    text=True, start_new_session=True)
        killer = threading.Timer(seconds + discard + OPEN_S, end_group, [self.run])
        killer.start()
        provider.wait_open(case["items"])
        provider.rate(case)
        look()
        text = self.run.stdout.read()
        self.run.wait()
        killer.cancel()
        look()
        provider.rate({**case, "rate": 0})
        return self.figures(text, words[-1])

    @staticmethod
    def figures(text, words):
        found = re.findall(r"^result (\{.*\})$", text, re.M)
        if found:
            result = json.loads(found[-1])
        else:
            part = text.rpartition("Steady State Statistics")[2]
            latency = {key: float(m.group(1)) for key,
                       m in ((k, re.search(p, part)) for k, p in PRINTED.items()) if m}
            rate = re.search(r"Avg update rate: ([\d.]+)", part)
            images = re.search(r"Image retrieval time \(sec\): ([\d.]+)",
                               text.rpartition("OVERALL SUMMARY")[2])
            if not latency and not images:
                raise SystemExit(f"--consumer printed neither `result {{...}}` nor a summary: "
                                 f"{words}\n{text[-2000:]}")
            result = {"latency": latency or None,
                      "updates_per_s": float(rate.group(1)) if rate else 0.0,
                      "images_s": float(images.group(1)) if images else None}
        return {"lost": None, "told_lost": None, "given_up": None, "sent": None, "post": None,
                "generic": None,
                "latency": None, "images_s": None, "updates_per_s": 0.0, **result}

    def close(self):
        end_group(self.run)
