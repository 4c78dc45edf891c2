#!/usr/bin/env python3
"""rmds-demo.py [--keep] [--browser] - the whole chain on this host for ten seconds: prices, latency, one
failure."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
spec = importlib.util.spec_from_file_location("rmds_run",
                                              os.path.join(ROOT, "tools", "rmds-run.py"))
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)
# noqa: E402  rmds-run.py has made the folder known
from running import machine, prices, publisher, spaces, verbs

CONF = run.DEMO
CONSUMER_PORT = 14202
SHOWN = 8  # rows of the table
ITEMS = 1000
RATE = int(os.environ.get("RMDS_DEMO_RATE", "20000"))
SECONDS = int(os.environ.get("RMDS_DEMO_SECONDS", "4"))
PATIENCE_S = 90  # how long something may take before it counts as missing
say = run.say


def enter_namespace():
    """A network of our own, so that nothing of this host is in the way; else the host's
    loopback."""
    if spaces.enter("RMDS_DEMO_INSIDE", "-n"):
        spaces.loopback_up()
        say("ok", "network", "private namespace, group 239.255.82.82 on lo")
    else:
        say("ok", "network", "the host's loopback (no namespace allowed), group 239.255.82.82")


def head():
    commit = subprocess.run(
        ["sh", "-c", 'git -C "$0" rev-parse --short HEAD', ROOT], capture_output=True, text=True,
        check=False
    ).stdout.strip()
    uname = os.uname()
    print(
        f"openrmds demo        commit {commit or 'unknown'} · {os.cpu_count()} cores · "
        f"{uname.sysname} {uname.release}"
    )


def program(name):
    return os.path.join(run.BIN, name)


def await_that(condition, child):
    """Whether it became true while the program ran; the limit is there for what never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if child.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def consumer(folder, name, seconds, extra):
    out = os.path.join(folder, name + ".json")
    with open(os.path.join(folder, name + ".log"), "wb") as log:
        child = subprocess.Popen(
            [program("rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1", "-p", str(CONSUMER_PORT)]
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
    """Prices as they move, and the latency of every update meanwhile."""
    waits = machine.Waits()
    child, out = consumer(folder, "latency", SECONDS, ["-tt", "-discard", "1"])
    table = prices.Prices(program("rmdstestclient"), "RDFD", CONSUMER_PORT,
                          [f"DEMO{i}.O" for i in range(SHOWN)], 3600)
    print()
    deadline = time.monotonic() + SECONDS + 90
    try:
        table.show_until(lambda: child.poll() is not None or time.monotonic() > deadline,
                         sys.stdout.isatty())
    finally:
        waits.stop()
        table.stop()
    code, r = result(child, out, 1)
    print()
    if code != 0 or not r:
        with open(os.path.join(folder, "latency.log"), encoding="utf-8", errors="replace") as f:
            print("".join("      " + line for line in f.readlines()[-8:]), end="")
        say("no", "rmdstestclient", f"ended with code {code}")
        return False
    say("ok", "rmdstestclient",
        f"logged in as demo, {r['open']:,} of {r['items']:,} images in {r['open_s']:.2f} s")
    print_latency(r)
    for line in textwrap.wrap(waits.sentence(), 110):
        print(f"      {line}")
    print()
    if not table.is_moving():
        say("no", "rmdstestclient", "not every price of the table moved")
        return False
    return r["lost"] == 0 and r["reorders"] == 0 and r["wrong"] == 0


def print_latency(r):
    l = r["latency"]
    print(f"\n      latency, publisher to consumer, {r['updates_per_s']:,.0f} updates/s" +
          " " * 16 + "us")
    print(
        f"        min {l['min_us']:,} · mean {l['mean_us']:,.0f} · p50 {l['p50_us']:,} · p99 "
        f"{l['p99_us']:,}"
        f" · p99.9 {l['p999_us']:,} · max {l['max_us']:,}    lost {r['lost']} · out of order "
        f"{r['reorders']}"
    )
    chart(l.get("histogram_10us", []))
    print()


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
        f"{r['suspects']:,} times suspect, {max(0, r['refreshes'] - r['items']):,} fresh images "
        f"after it;"
        f" undetected losses: {silent}",
    )
    return silent == 0 and healed


def leave_up(system, browser):
    """The publisher of the demo makes room for a slower one that stays; then the road."""
    state = system.load()
    run.stop(state["publisher"])
    port = int(state["addresses"]["providers"][0][1])
    trouble = run.publisher_start(system, state, port, publisher.RATE)
    if trouble:
        say("no", "sink_driven_src", trouble)
        return False
    door = verbs.Door(run)
    if door.prove(system) != 0:
        return False
    if browser:
        say("ok", "browser", f"the chain stays up; look at {state['addresses']['live'][0]}")
    door.road(system)
    return True


def arguments():
    parser = argparse.ArgumentParser(
        prog="tools/rmds demo",
        description="The whole chain on this host: prices, latency, one failure.",
        allow_abbrev=False
    )
    parser.add_argument("--keep", action="store_true",
                        help="leave the chain up at the end, with a slower publisher")
    parser.add_argument("--browser", action="store_true",
                        help="the same, and say where a browser shows the prices as they move")
    words = parser.parse_args(["--help" if word == "-help" else word for word in sys.argv[1:]])
    words.keep |= words.browser
    return words


def whole(system, folder):
    with open(os.path.join(folder, "items"), "w", encoding="ascii") as f:
        f.write("".join(f"DEMO{i}.O\n" for i in range(ITEMS)))
    return run.up(system, RATE) == 0 and measure(folder) and fail_and_heal(system, folder)


def main():
    words = arguments()
    keep = words.keep
    if not os.environ.get("RMDS_DEMO_INSIDE"):
        head()
    for name in ("sink_driven_src", "src_dist", "rrcpd", "p2ps", "rmdstestclient"):
        if not os.access(program(name), os.X_OK):
            raise SystemExit(f"[no]  {name:<20} is not built; run tools/rmds build")
    if not keep:
        enter_namespace()
    folder = tempfile.mkdtemp(prefix="rmds-demo-")
    if not keep:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
    system = run.System(CONF)
    if system.load() and any(run.alive(p) for p in run.members(system.load())):
        shutil.rmtree(folder)
        raise SystemExit(f"[no]  {system.name:<20} is up already; stop it first: tools/rmds down "
                         f"{system.name}")
    good = kept = False
    try:
        good = whole(system, folder)
        good = kept = (good and leave_up(system, words.browser)) if keep else good
    except KeyboardInterrupt:
        print()
        say("no", "demo", "interrupted; what it started is stopped")
        return 130
    finally:
        if not good and os.path.isdir(system.folder):
            logs = os.path.join(folder, "logs")
            os.makedirs(logs, exist_ok=True)
            for name in os.listdir(system.folder):
                if name.endswith(".log"):
                    shutil.copy(os.path.join(system.folder, name), logs)
        if not (keep and kept):
            run.down(system, quiet=True)
        if good:
            shutil.rmtree(folder, ignore_errors=True)
    if not good:
        say("no", "demo", f"the logs: {folder}")
        return 1
    if not keep:
        say("ok", "everything stopped", "nothing left behind")
        rmds = verbs.door(ROOT)
        print(
            f"\n      your own applications: {rmds} up    starts this chain with a publisher, "
            f"leaves it up, and says"
            f"\n                             where EMA, ETA and other consumers connect ({rmds} "
            f"demo --keep: after the demo)"
            f"\n      moving prices in a browser: {rmds} demo --browser"
            f"\n      next: {rmds} bench latency --quick · docs/README.md · {rmds} --help"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
