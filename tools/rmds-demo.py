#!/usr/bin/env python3
"""rmds-demo.py - the whole chain on this host for half a minute: prices, latency, one failure."""
# SPDX-License-Identifier: Apache-2.0
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
spec = importlib.util.spec_from_file_location("rmds_run", os.path.join(ROOT, "tools", "rmds-run.py"))
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)

CONF = os.path.join(ROOT, "conf", "demo.cnf")
PROVIDER_PORT = 14102
ITEMS = 1000
RATE = int(os.environ.get("RMDS_DEMO_RATE", "20000"))
SECONDS = int(os.environ.get("RMDS_DEMO_SECONDS", "8"))
PATIENCE_S = 90  # how long something may take before it counts as missing
say = run.say


def enter_namespace():
    """A network of our own, so that nothing of this host is in the way; else the host's loopback."""
    if os.environ.get("RMDS_DEMO_INSIDE"):
        subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
        say("ok", "network", "private namespace, group 239.255.82.82 on lo")
        return
    words = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-r", "-n"]
    if subprocess.run(words + ["true"], capture_output=True, check=False).returncode == 0:
        os.environ["RMDS_DEMO_INSIDE"] = "1"
        os.execvp(words[0], words + [sys.executable] + sys.argv)
    say("ok", "network", "the host's loopback (no namespace allowed), group 239.255.82.82")


def head():
    commit = subprocess.run(
        ["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    uname = os.uname()
    print(
        f"openrmds demo        commit {commit or 'unknown'} · {os.cpu_count()} cores · "
        f"{uname.sysname} {uname.release}"
    )


def program(name):
    return os.path.join(run.BIN, name)


def port_taken(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def await_that(condition, child):
    """Whether it became true while the program ran; the limit is there for what never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if child.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def publisher_start(folder):
    if port_taken(PROVIDER_PORT):
        raise SystemExit(f"[no]  sink_driven_src      port {PROVIDER_PORT} is taken; stop what listens there")
    with open(os.path.join(folder, "sink_driven_src.log"), "wb") as log:
        child = subprocess.Popen(
            [program("sink_driven_src"), "-S", "RDFD", "-N", str(PROVIDER_PORT)]
            + ["-Q", os.path.join(ROOT, "conf", "sample.xml"), "-q", "GOOG.O", "-K"]
            + ["-U", str(RATE), "-tsa", "-seqdata"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    if await_that(lambda: port_taken(PROVIDER_PORT), child):
        say("ok", "sink_driven_src", f"pid {child.pid}, service RDFD, {RATE:,} updates/s wanted")
        return child
    child.kill()
    raise SystemExit(f"[no]  sink_driven_src      did not listen; its log: {log.name}")


def consumer(folder, name, seconds, extra):
    out = os.path.join(folder, name + ".json")
    with open(os.path.join(folder, name + ".log"), "wb") as log:
        child = subprocess.Popen(
            [program("rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202"]
            + ["-f", os.path.join(folder, "items"), "-u", "demo", "-secs", str(seconds)]
            + ["-seqcheck", "-json", out]
            + extra,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    return child, out


def result(child, out, limit):
    try:
        code = child.wait(limit)
    except subprocess.TimeoutExpired:
        child.kill()
        return 1, {}
    try:
        with open(out, encoding="utf-8") as f:
            return code, json.load(f)
    except (OSError, ValueError):
        return code, {}


def chart(histogram, width=60):
    """The latencies as a row of bars, from the least to the 99th percentile."""
    bars = " ▁▂▃▄▅▆▇█"
    total = sum(n for _, n in histogram)
    if not total:
        return
    seen, top = 0, histogram[-1][0]
    for at, n in histogram:
        seen += n
        if seen >= total * 0.99:
            top = at
            break
    low = histogram[0][0]
    step = max(10, -(-(top - low + 10) // width))
    columns = [0] * (-(-(top - low + 10) // step))
    for at, n in histogram:
        index = (at - low) // step
        if index < len(columns):
            columns[index] += n
    most = max(columns)
    print("        |" + "".join(bars[-(-n * 8 // most)] for n in columns))
    print("        +" + "-" * len(columns))
    print(f"         {low:<10,}{'us':^{max(2, len(columns) - 20)}}{top:>10,}")


def measure(folder):
    child, out = consumer(folder, "latency", SECONDS, ["-tt", "-discard", "1"])
    code, r = result(child, out, SECONDS + 90)
    if code != 0 or not r:
        with open(os.path.join(folder, "latency.log"), encoding="utf-8", errors="replace") as f:
            print("".join("      " + line for line in f.readlines()[-8:]), end="")
        say("no", "rmdstestclient", f"ended with code {code}")
        return False
    say("ok", "rmdstestclient", f"logged in as demo, {r['open']:,} of {r['items']:,} images in {r['open_s']:.2f} s")
    l = r["latency"]
    print(f"\n      latency, publisher to consumer, {r['updates_per_s']:,.0f} updates/s" + " " * 16 + "us")
    print(
        f"        min {l['min_us']:,} · mean {l['mean_us']:,.0f} · p50 {l['p50_us']:,} · p99 {l['p99_us']:,}"
        f" · p99.9 {l['p999_us']:,} · max {l['max_us']:,}    lost {r['lost']} · out of order {r['reorders']}"
    )
    chart(l.get("histogram_10us", []))
    print()
    return r["lost"] == 0 and r["reorders"] == 0 and r["wrong"] == 0


def images(folder):
    """How many the consumer of the failure has had: the third column of its statistics."""
    with open(os.path.join(folder, "failure.log"), encoding="utf-8", errors="replace") as log:
        lines = [line.split(",") for line in log if line.startswith("20") and line.endswith("\n")]
    return sum(int(words[2]) for words in lines)


def fail_and_heal(system, folder):
    """src_dist is killed and started again under a consumer that checks every update."""
    state = system.load()
    victim = next(p for p in state["programs"] if p["name"].startswith("src_dist"))
    child, out = consumer(folder, "failure", 3600, ["-I", "0.2"])
    await_that(lambda: images(folder) >= ITEMS, child)
    say("..", "failure", "killing src_dist with all items open ...")
    os.kill(victim["pid"], signal.SIGKILL)
    time.sleep(1)
    number = state["programs"].index(victim)
    fresh, trouble, _ = run.start(system, run.Entry(victim["name"]), number)
    if trouble:
        say("no", "failure", f"src_dist did not come back: {trouble}")
        child.kill()
        return False
    state["programs"][number] = fresh
    system.save(state)
    await_that(lambda: images(folder) >= 2 * ITEMS, child)
    child.send_signal(signal.SIGINT)
    _, r = result(child, out, PATIENCE_S)
    if not r:
        say("no", "failure", "the consumer said nothing")
        return False
    silent = r["lost"] + r["duplicates"] + r["reorders"] + r["wrong"]
    healed = r["refreshes"] >= 2 * r["items"]
    say(
        "ok" if silent == 0 and healed else "no",
        "failure",
        f"{r['suspects']:,} times suspect, {max(0, r['refreshes'] - r['items']):,} fresh images after it;"
        f" lost silently: {silent}",
    )
    return silent == 0 and healed


def main():
    if not os.environ.get("RMDS_DEMO_INSIDE"):
        head()
    for name in ("sink_driven_src", "src_dist", "rrcpd", "p2ps", "rmdstestclient"):
        if not os.access(program(name), os.X_OK):
            raise SystemExit(f"[no]  {name:<20} is not built; run tools/rmds build")
    enter_namespace()
    folder = tempfile.mkdtemp(prefix="rmds-demo-")
    os.environ["RMDS_STATE"] = os.path.join(folder, "state")
    system = run.System(CONF)
    publisher, good = None, False
    try:
        with open(os.path.join(folder, "items"), "w", encoding="ascii") as f:
            f.write("".join(f"DEMO{i}.O\n" for i in range(ITEMS)))
        publisher = publisher_start(folder)
        good = run.up(system) == 0 and measure(folder) and fail_and_heal(system, folder)
    finally:
        if not good and os.path.isdir(system.folder):
            logs = os.path.join(folder, "logs")
            os.makedirs(logs, exist_ok=True)
            for name in os.listdir(system.folder):
                if name.endswith(".log"):
                    shutil.copy(os.path.join(system.folder, name), logs)
        run.down(system, quiet=True)
        if publisher:
            publisher.terminate()
            publisher.wait()
        if good:
            shutil.rmtree(folder, ignore_errors=True)
    if good:
        say("ok", "everything stopped", "nothing left behind")
        print(
            "\n      your own applications: tools/rmds up conf/demo.cnf, then EMA/ETA consumers -> "
            "localhost:14202\n      next: docs/ · conf/rmds.cnf · tools/rmds --help"
        )
        return 0
    say("no", "demo", f"the logs: {folder}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
