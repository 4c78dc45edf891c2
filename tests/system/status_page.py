#!/usr/bin/env python3
"""status_page.py SOURCE BUILD [browser] - the status port of every daemon: metrics, JSON and the page, over
a chain that carries data, while a daemon hangs, and after it was killed. With `browser`: as a person sees it.
Pictures of the page go to the folder RMDS_PICTURES, if that is set."""
# SPDX-License-Identifier: Apache-2.0
import http.client
import http.server
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

SOURCE, BUILD = os.path.realpath(sys.argv[1]), os.path.realpath(sys.argv[2])
os.environ.update(RMDS_ROOT=SOURCE, RMDS_BUILD=BUILD)
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(SOURCE, "tools/report"), os.path.join(SOURCE, "tests/system")]
import browser  # noqa: E402
import chain  # noqa: E402
import prometheus  # noqa: E402

PORTS = {"p2ps.1": 18081, "src_dist.1": 18082, "rrcpd.net1.1": 18083, "rrcpd.net1.2": 18084}
PUBLISHER = ["-U", 5000, "-tps", 500]
# Few and small buffers, so that a consumer is soon a slow one.
LINES = ["*p2ps*maxOutputBuffers : 40", "*p2ps*guaranteedOutputBuffers : 20",
         "*p2ps*tcpSendBufSize : 16384", "*p2ps*slowTimeout : 60", "*p2ps*statusPort : 18081",
         "*src_dist*statusPort : 18082", "*1.rrcpd*statusPort : 18083",
         "*2.rrcpd*statusPort : 18084", "*p2ps*statusConnections : 3",
         # Another name of this host stands for other hosts: a daemon of ours, a liar, and nobody.
         "*statusPeers : 127.0.0.1:18081, localhost:18082, localhost:18086, localhost:18087"]
LIES = [b"", b"null", b"[[[", b'{"identity": 7, "host": []}', b'{"identity": "x", "host": {"length": 9}}', b"[" * 100000,
        b'{"identity": "x.1.p2ps", "host": [null, 7, [], {"name": {}}, {"name": ""}]}']
LIAR = {"identity": "<b>liar</b>." + "z" * 9000, "host": [
    {"name": "<img src=x onerror=document.title=1>", "state": "fine", "note": "n" * 9000, "port": 8081.5, "mono_ns": "now",
     "figures": {"updatesIn": "many", "itemsOpen": -1, "mounts": 1e999, "__proto__": {"mounts": 7}, "services": 3}},
    *({"name": f"p2ps.{i}", "state": "ok", "port": 99999, "figures": [1]} for i in range(500))]}


def skip(why):
    print(f"SKIP: {why}")
    sys.exit(77)


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def get(port, path, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, answer.getheader("Content-Type"), body


def until(what, condition, seconds=90):
    deadline = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < deadline, f"{what}: not within {seconds} s")
        time.sleep(0.15)


def metrics(port):
    """{name with labels: value}; every line is one, or a comment, and families stand together."""
    status, kind, body = get(port, "/metrics")
    check(status == 200 and kind.startswith("text/plain; version=0.0.4"), "/metrics")
    found, done, family, described = {}, set(), None, None
    for line in body.splitlines():
        if line.startswith("# HELP "):
            described = line.split()[2]
            check("Without a description" not in line,
                  f"{described} is no row of src/status/figures.c: add one that says what it is")
            continue
        if line.startswith("# TYPE "):
            family, shape = line.split()[2:]
            check(family not in done, f"{family} stands in two places")
            check(described == family, f"{family} has no HELP")
            lint(family, shape)
            done.add(family)
            continue
        match = re.fullmatch(r'([a-z_0-9]+(?:\{(?:[a-z_]+="(?:[^"\\]|\\.)*",?)*\})?) ([0-9.e+-]+)',
                             line)
        check(match and match.group(1).startswith(family), f"not a sample of {family}: {line}")
        check(match.group(1) not in found, f"twice: {line}")
        found[match.group(1)] = float(match.group(2))
    return found


def lint(name, shape):
    """The rules of `promtool check metrics`, for machines without it."""
    words = name.split("_")
    check(re.fullmatch("[a-z][a-z0-9_]*", name), f"{name}: not in lower case")
    check((shape == "counter") == name.endswith("_total"), f"{name} is a {shape}")
    check(shape == "histogram" or words[-1] not in ("count", "sum", "bucket"),
          f"{name}: the suffix of a histogram")
    check(not {"gauge", "counter", "histogram", "summary"} & set(words),
          f"{name}: the type in the name")
    units = {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d",
             "milliseconds", "microseconds"}
    check(not units & set(words), f"{name}: not a base unit")


def judged_by_promtool():
    """The same by the tool itself, where there is one; and each panel of the dashboard has something to show."""
    if not prometheus.tool():
        print("no promtool here: judged by its rules only")
        return
    series = []
    for name, port in PORTS.items():
        text = get(port, "/metrics")[2]
        code, said = prometheus.run("check", "metrics", text=text)
        check(code == 0 and not said, f"promtool check metrics, {name}: {said}")
        series += prometheus.series_of(text, f"vega:{port}")
    code, said = prometheus.show_something(series, prometheus.queries(SOURCE))
    check(code == 0, f"panels that these daemons leave empty: {said[:9000]}")


def monitor(bed, *words):
    if "-watch" not in words:
        words = ("-watch", "0", *words)
    run = subprocess.run([os.path.join(chain.BIN, "rmdsmon"), "-run", bed.run_dir(), *words],
                         capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                         timeout=90)
    return run.returncode, run.stdout


def served(bed):
    """Every daemon serves all three, and the figures are those of its segment."""
    for name, port in PORTS.items():
        status, kind, body = get(port, "/")
        check(status == 200 and kind.startswith("text/html") and body.endswith("</html>\n"), name)
        status, kind, body = get(port, "/status.json")
        check(status == 200 and kind == "application/json", name)
        now = json.loads(body)
        check(f"{now['process']}.{now['instance']}" == name and now["state"] == "ok", name)
        check(now["pid"] == bed.pids()[name], f"{name}: the pid")
        check({d["name"]: (d["state"], d["port"]) for d in now["host"]} ==
              {n: ("ok", p) for n, p in PORTS.items()},
              f"{name}: the others of this host: {now['host']}")
        check(len(metrics(port)) > 20, name)
    check(get(18081, "/nothing")[0] == 404 and get(18081, "/", "POST")[0] == 405, "refusals")
    check(get(18081, "/", Host="evil.example")[0] == 403, "a foreign name")
    check(get(18081, "/healthz", Host="vega.example")[0] == 200, "a probe")
    for name, port in PORTS.items():
        kept = json.loads(get(port, "/history.json")[2])
        check(kept["pid"] == bed.pids()[name] and kept["everySeconds"] == 5 and
              all(len(sample) == len(kept["columns"]) for sample in kept["samples"]), f"{name}: {kept}")


def rates(bed):
    """Updates per second of each daemon: counted once, not again for each user or provider."""
    overview = json.loads(monitor(bed, "-json", "-once", "-watch", "1")[1])["instances"]
    return {one["name"]: max(one["in_per_s"], one["out_per_s"]) for one in overview}


def table(bed, section, title):
    """The rows of the table that begins with that title, by its column titles; words stand without spaces."""
    lines = monitor(bed, "-print", section)[1].splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[:1] == [title])
    names, found = lines[at].split(), []
    for line in lines[at + 1:]:
        words = line.replace(" M ", "M ").split()
        if len(words) != len(names):
            break
        found.append(dict(zip(names, words)))
    return found


def number(text):
    return float(text.replace(",", "").replace("M", "e6"))


def tables_are_true(bed):
    """Overview and tables of rmdsmon say what this chain carries: one consumer of 100 items of one provider."""
    seen_now = {one["name"]: one for one in
                json.loads(monitor(bed, "-json", "-once", "-watch", "1")[1])["instances"]}
    for name, clients, items, peers in (("p2ps.1", 1, 100, None), ("src_dist.1", 1, 100, None),
                                        ("rrcpd.net1.1", 1, None, 1), ("rrcpd.net1.2", 1, None, 1)):
        one = seen_now[name]
        check((one["clients"], one["items"], one["peers"], one["ready"]) ==
              (clients, items, peers, 1), f"{name}: {one}")
    mount = next(row for row in table(bed, "MOUNTS", "ID") if row["USER"] == "somebody")
    check(mount["ITEMS"] == "100" and mount["SLOW"] == "-" and number(mount["OF"]) == 40,
          f"the mount: {mount}")
    until("the rate of the mount",
          lambda: 3000 < number(next(r for r in table(bed, "MOUNTS", "ID")
                                     if r["USER"] == "somebody")["PER-SEC"]) < 7500)
    service = table(bed, "SERVICES", "SERVICE")[0]
    known = {"SERVICE": "RDFD", "STATE": "up", "INSTANCES": "1", "ACTIVE": "100", "PENDING": "0",
             "PENDING-OUT": "0", "LOAD": "1"}
    check(known.items() <= service.items(), f"the service: {service}")
    collected = monitor(bed, "-mobprint")[1]
    for name, value in (("active", 100), ("pending", 0), ("pendingOut", 0), ("load", 1)):
        check(re.search(rf"Instance: \S+\.1\.p2ps\.service\.RDFD\n( +\w+: \w+: .*\n)* +{name}: Gauge: {value}\n", collected),
              f"{name} of the service for collectors: {collected}")
    for name, value in (("active", 100), ("pending", 0), ("load", 1)):
        check(re.search(rf"Instance: \S+\.1\.src_dist\.service\.RDFD\n( +\w+: \w+: .*\n)* +{name}: Gauge: {value}\n",
                        collected), f"{name} of the service of src_dist for collectors: {collected}")
    provider = table(bed, "ROUTES", "PROVIDER")[0]
    check(provider["SERVICES"] == "1" and number(provider["STREAMS"]) >= 100,
          f"the provider: {provider}")
    check({row["NAME"].split(".")[0] for row in table(bed, "RRCP", "PORT")} <= {"src_dist", "p2ps"},
          "users of rrcpd")
    check("  1 publisher  1 consumer" in monitor(bed, "-once")[1].splitlines()[0], "who takes part")
    until("the totals", lambda: all(3000 < number(n) < 7500 for n in re.findall(
        r"in ([0-9,]+)/s  out ([0-9,]+)/s",
        monitor(bed, "-once", "-watch", "1")[1].splitlines()[0])[0]))


def rules_name_metrics():
    """Each metric that the alert rules and the dashboard ask for is one that these daemons show."""
    known = {re.sub(r"_(?:bucket|sum|count)$", "", sample.split("{")[0])
             for port in PORTS.values() for sample in metrics(port)}
    folder = os.path.join(SOURCE, "conf/monitoring")
    with open(os.path.join(folder, "alerts.yml"), encoding="ascii") as file:
        asked = re.findall(r"^ +expr: '(.*)'$", file.read(), re.M)
    with open(os.path.join(folder, "dashboard.json"), encoding="ascii") as file:
        asked += [target["expr"] for panel in json.load(file)["panels"] for target in panel["targets"]]
    check(len(asked) > 30, f"{len(asked)} expressions")
    for expression in asked:
        names = {name.removesuffix("_bucket") for name in
                 re.findall(r"(?:rmds|process)_[a-z0-9_]+", expression)}
        check(names <= known or expression.startswith("up{"), f"{expression}: no {names - known}")


def figures(bed):
    """What goes through shows: rates, the mount, its service, the route."""
    key = 'rmds_p2ps_worker_updates_out_total{process="p2ps",number="1",worker="0"}'
    before = metrics(18081)[key]
    until("updates", lambda: metrics(18081)[key] > before + 1000)
    now = json.loads(get(18081, "/status.json")[2])["values"]
    users = [v for k, v in now.items() if re.fullmatch(r"p2ps\.mount\.0\.\d+\.user", k)]
    check(users == ["somebody"], f"the mounts: {users}")
    check([v for k, v in now.items() if k.endswith(".items") and ".mount." in k] == [100], "items")
    most = {"p2ps.quota.1.user": "somebody", "p2ps.quota.1.mounts": 1, "p2ps.quota.1.items": 100,
            "p2ps.quota.1.refused": 0}
    until("the user beside what he may have", lambda: most.items() <= {
        k: v for k, v in json.loads(get(18081, "/status.json")[2])["values"].items()
        if k.startswith("p2ps.quota.")}.items())
    check(next(row for row in table(bed, "MOUNTS", "TOP"))["USER"] == "somebody", "users in rmdsmon")
    check(now["p2ps.service.RDFD.state"] == "up", "the service")
    until("each shows what goes through once",
          lambda: all(3000 < rate < 7500 for rate in rates(bed).values()))
    check(now["p2ps.worker.0.turnUs"]["count"] > 100, "turns of the loop")
    source = json.loads(get(18082, "/status.json")[2])["values"]
    check(source["src_dist.route.1.state"] == "up" and source["src_dist.service.RDFD.state"] == "up",
          "the route")
    check(source["src_dist.provider.0.kind"] == "interactive", "the provider")
    net = json.loads(get(18083, "/status.json")[2])["values"]
    check("src_dist.1" in [v for k, v in net.items() if k.endswith(".name")], "the user of rrcpd")
    tables_are_true(bed)
    code, text = monitor(bed, "-print", "MOUNTS")
    check(code == 0 and re.search(r"^ *0\.\d+ +somebody ", text, re.M), f"rmdsmon: {text}")


def held_up():
    """Nobody who holds on to the port keeps others from it, or slows the data down."""
    idle = []
    for _ in range(10):
        one = socket.create_connection(("127.0.0.1", 18081))
        one.sendall(b"GET / HTTP/1.1\r\nX")
        idle.append(one)
    until("a refusal", lambda: status_or_nothing(18081) == 503)
    for one in idle:
        one.close()
    until("an answer again", lambda: status_or_nothing(18081) == 200)


def status_or_nothing(port):
    try:
        return get(port, "/status.json")[0]
    except (OSError, http.client.HTTPException):
        return None


def slow(bed, page):
    """A consumer that does not read shows as a slow one, and what it missed as conflated."""
    words = [os.path.join(chain.BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1", "-p",
             str(chain.SINK_PORT), "-f", bed.items(100), "-u", "sleeper", "-timeout", "0"]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as sleeper:
        try:
            until("the second mount", lambda: '"sleeper"' in get(18081, "/status.json")[2])
            os.kill(sleeper.pid, signal.SIGSTOP)
            bed.command("ur 20000")
            until("a slow consumer", lambda: " slow consumer" in monitor(bed, "-once")[1])
            until("the state in rmdsmon", lambda: "p2ps.1         WARN" in monitor(bed, "-once")[1])
            until("SLOW in its line", lambda: re.search(
                r" sleeper .* SLOW ", monitor(bed, "-print", "MOUNTS")[1]))
            until("conflation", lambda: bed.values("p2ps").get(
                "p2ps.worker.0.mountsConflatedNow", 0) > 0)
            bed.command("ur 5000")  # a machine with other work makes the other consumer slow, too
            until("one slow consumer", lambda: "1 slow consumer" in monitor(bed, "-once")[1])
            if page:
                page.open("http://127.0.0.1:18081/")
                page.wait("document.getElementById('state').textContent === 'WARN'",
                          "the page warns")
                page.wait("/1 slow consumer/.test(document.getElementById('note').textContent)",
                          "it says why")
                page.wait("/^Not all is well: 1 slow consumer\\. /.test(document.getElementById('health').textContent)", "in words")
                page.wait("/p2ps.1\\s+WARN\\s+1 slow consumer/.test(document.getElementById('flow').innerText)", "in the chain")
                page.wait("/conflated\\s+sleeper/.test(document.getElementById('mounts').innerText)",
                          "who it is")
                page.wait("/sleeper/.test(document.getElementById('quotas').innerText)",
                          "it stands beside what it may have")
                if os.environ.get("RMDS_PICTURES"):
                    time.sleep(3)
                    page.picture(os.path.join(os.environ["RMDS_PICTURES"], "slow.png"))
        finally:
            sleeper.kill()
            bed.command("ur 5000")
    until("all well again", lambda: "p2ps.1         ok" in monitor(bed, "-once")[1])


def told(bed, page):
    """Why consumers were told states: the publisher has gone, and comes again."""
    def count():
        return bed.values("p2ps").get("p2ps.worker.0.toldBecause.sourceDown", 0)

    bed.publisher.kill()
    bed.publisher.wait()
    until("that its items are told", lambda: count() >= 100)
    until("the reason in rmdsmon", lambda: re.search(
        r"SOURCE-DOWN .*\n(\s+[\d,]+)*\s+[1-9]", monitor(bed, "-print", "MOUNTS")[1]))
    if page:
        page.open("http://127.0.0.1:18081/")
        page.wait("/sourceDown\\s+[1-9]/.test(document.getElementById('reasons').innerText)",
                  "why streams were told")
    bed.start_publisher(PUBLISHER)
    until("all well again", lambda: "p2ps.1         ok" in monitor(bed, "-once")[1])


def picture(page):
    """The chain as drawn: the lines of each box, which of them is this daemon's, the rates on the arrows."""
    stages = page.evaluate("[...document.querySelectorAll('#flow .box')].map(e => e.innerText.trim().split(/\\n+/))")
    own = page.evaluate("[...document.querySelectorAll('#flow .own b')].map(e => e.textContent)")
    rates = page.evaluate("[...document.querySelectorAll('#flow .arrow')].map(e => e.innerText.trim())")
    return stages, own, [number(text.split(" /s")[0]) if text[0].isdigit() else None for text in rates]


def picture_is_true(page):
    """Every page has the whole chain, and every number of it is what this chain carries: one provider with 100 items
    at 5,000 updates a second, one consumer of them, two nodes with their users."""
    users = {name: len({k for k in json.loads(get(port, "/status.json")[2])["values"]
                        if re.fullmatch(re.escape(name.rpartition(".")[0]) + r"\.user\.\d+\.name",
                                        k)})
             for name, port in PORTS.items() if name.startswith("rrcpd")}
    check(all(users.values()), f"local users: {users}")
    net = {n: [n, "OK", f"{count} local user{'' if count == 1 else 's'}", "1 other node"]
           for n, count in users.items()}
    expected = [["1 publisher"], ["src_dist.1", "OK", "100 items", "1 service"],
                net["rrcpd.net1.1"], net["rrcpd.net1.2"], ["p2ps.1", "OK", "100 items"], ["1 consumer"]]
    for name, port in PORTS.items():
        page.open(f"http://127.0.0.1:{port}/")
        page.wait("/[1-9][0-9,]* \\/s/.test(document.getElementById('flow').textContent)",
                  f"{name}: a rate")
        stages, own, _ = picture(page)
        check(stages == expected and own == [name],
              f"{name}: the boxes are {stages}, its own {own}")
        until(f"{name}: what goes through", lambda: all(
            rate is not None and (i == 2 or 3000 < rate < 7500)
            for i, rate in enumerate(picture(page)[2])))
        until(f"{name}: messages on the backbone", lambda: picture(page)[2][2] > 100)
        words_are_true(page, name)


def words_are_true(page, name):
    """The sentences on top say what the charts below end with, and what this chain carries."""
    def said():
        return page.evaluate("[document.getElementById('health').textContent, document.getElementById('load').textContent,"
                             " [...document.querySelectorAll('#charts .key')].map(e => e.textContent)]")

    words = {"p2ps": "come in, ([0-9.,]+)/s go out to 1 consumer; 100 items open",
             "src_dist": "come in from 1 publisher, ([0-9.,]+)/s go to the backbone; 100 items open",
             "rrcpd": r"are sent, ([0-9.,]+)/s received; \d+ local users?, 1 other node heard"}[name.split(".")[0]]
    health, load, keys = said()
    found = re.fullmatch(rf"All is well: ([0-9.,]+) (?:updates|messages)/s {words}(?:; in the last second: [a-z, ]+)?\.", health)
    check(found, f"{name}: {health}")
    check(keys[0] in (f"in {found[1]}out {found[2]}", f"sent {found[1]}received {found[2]}"),
          f"{name}: {health}: {keys[0]}")
    found = re.fullmatch(r"(Light|Moderate|Heavy) load: [0-9.]+ % of one CPU; the fullest queue is (\d+) % full; 99 % of the turns "
                         r"of its loops took at most ([0-9.,]+) us; memory \d+ MiB of at most [0-9.]+ GiB; host load [0-9.]+ on "
                         r"\d+ CPUs?( \(more than it has: latencies suffer\))?\.", load)
    check(found, f"{name}: {load}")
    check(f"turn p99 {found[3]}l" in keys[1], f"{name}: {load}: {keys[1]}")


def same_words(page):
    """States that this chain is not in: the page judges them as rmdsmon does. Labels of axes have their room."""
    def judged(state, note, values):
        now = json.dumps({"process": "src_dist", "state": state, "note": note, "values": values})
        return page.evaluate(f"trouble({now}, {{queue: [null, null]}})")

    check(judged("warn", "no provider is connected", {}) ==
          ["warn", "WARN", "no provider is connected"], "a trouble")
    check(judged("ok", "", {"src_dist.route.1.state": "up", "src_dist.route.2.state": "waiting"}) ==
          ["warn", "WARN", "1 route without provider"], "a route that is down")
    check(judged("ok", "", {"src_dist.route.1.state": "up"}) == ["ok", "OK", ""], "nothing")
    other_chains(page)
    left = page.evaluate("draw(chart(0), 'x', '', ['x'], () => [100000], 10);"
                         "Math.min(...[...chart(0).querySelectorAll('text')].map(t => t.getBBox().x))")
    check(left >= 0, f"a label of the axis begins at {left}")


def other_chains(page):
    """Pictures of hosts that have only one end of the chain, or several of one kind; and what is wrong with a neighbour."""
    def drawn(*host):
        daemons = [{"state": "ok", "port": 0, "note": "", "mono_ns": 1, "figures": {}, "users": [],
                    "nodes": [], **one} for one in host]
        now = json.dumps({"identity": "vega.9.p2ps", "process": "p2ps", "instance": "9",
                         "state": "ok", "values": {}, "host": daemons})
        return page.evaluate(f"(c => [c.stages.map(s => s.boxes.map(b => [b.name, ...(b.state || []).slice(1, 3), ...b.lines].join(' ').trim()))"
                             f", c.beside])(chainOf({now}))")

    far = [{"name": "lyra.1.rrcpd", "rttUs": 3, "missingNow": 0},
           {"name": "vega.1.rrcpd", "rttUs": 3, "missingNow": 0}]
    net = {"name": "rrcpd.net1.1", "nodes": far, "figures": {"users": 1, "peersNow": 1}}
    p2ps = {"name": "p2ps.1", "figures": {"mounts": 2, "mountsSlowNow": 1, "itemsOpen": 5}}
    source = {"name": "src_dist.1", "figures": {"providers": 3, "itemsOpen": 5, "services": 2,
                                                   "routesDown": 1}}
    boxes, beside = drawn(p2ps, {**net, "users": [{"name": "p2ps.1.worker0"}]})
    check(boxes == [["1 other host lyra.1.rrcpd"], ["rrcpd.net1.1 OK  1 local user 1 other node"],
                    ["p2ps.1 WARN 1 slow consumer 5 items"], ["2 consumers"]] and not beside,
                    f"one end: {boxes} {beside}")
    boxes, _ = drawn(source, {**net, "users": [{"name": "src_dist.1"}], "state": "warn",
                     "note": "interface eth0 is down"})
    check(boxes == [["3 publishers"],
          ["src_dist.1 WARN 1 route without provider 5 items 2 services"],
                    ["rrcpd.net1.1 WARN interface eth0 is down 1 local user 1 other node"],
                    ["1 other host lyra.1.rrcpd"]], f"the other end: {boxes}")
    boxes, beside = drawn(source, {**p2ps, "name": "p2ps.2", "state": "dead"},
                          {**net, "users": [{"name": "src_dist.1"}, {"name": "p2ps.2"}]})
    check([len(stage) for stage in boxes] == [1, 1, 1, 1, 1] and
          boxes[3] == ["p2ps.2 DEAD  5 items"] and
          beside == ["lyra.1.rrcpd"], f"all on one rrcpd: {boxes} {beside}")


class Liar(http.server.BaseHTTPRequestHandler):
    """A peer that says what it is told to; pages of everybody may read it."""
    says = b""

    def do_GET(self):  # noqa: N802
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        try:
            self.wfile.write(self.says)
            while self.says == b"endless":
                self.wfile.write(b" " * 65536)
        except OSError:
            pass

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


def other_hosts(page):
    """The daemons of other hosts stand on the page; who does not answer, or lies, is shown as such and breaks nothing."""
    def row(peer):
        return f"[...document.querySelectorAll('#others .far')].find(e => e.innerText.startsWith('{peer}'))"

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 18086), Liar)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    complaints = list(page.errors)
    try:
        Liar.says = json.dumps(LIAR).replace("Infinity", "1e999").encode()
        page.open("http://127.0.0.1:18081/")
        page.wait(f"/src_dist.1\\s+OK\\s+1 publisher\\s+100 items\\s+[1-9][\\d.,]* in\\/s/.test({row('localhost:18082')}.innerText)",
                  "the daemons of the other host, and what goes through", 60)
        page.wait(f"{row('localhost:18086')}.querySelectorAll('.box').length === 64",
                  "so many and no more of the liar's", 60)
        first = page.evaluate(f"{row('localhost:18086')}.querySelector('.box').innerText.split(/\\n+/)")
        check(first == [LIAR["host"][0]["name"], "WARN", "it does not say how it is"],
              f"words of the liar: {first}")
        check(page.evaluate("document.querySelectorAll('#others img').length") == 0,
              "words of the liar are markup")
        check(page.evaluate(f"{row('localhost:18086')}.querySelectorAll('a').length") == 0,
              "links by ports that are none")
        check(page.evaluate(f"{row('localhost:18086')}.firstChild.innerText.length") < 300,
              "a name without an end")
        check(page.evaluate("document.documentElement.scrollWidth <= innerWidth"),
              "the liar's names make the page wide")
        for lie in [*LIES, b"endless"]:
            Liar.says = lie
            wanted = "its answer is none of a daemon"
            if b"null, 7" in lie or lie == b"endless":
                wanted = "no daemon runs there" if lie != b"endless" else "does not answer"
            page.wait(f"{row('localhost:18086')}.innerText.includes(\"{wanted}\")",
                      f"{lie[:40]}: {wanted}", 60)
        Liar.says = b""
        page.wait(f"{row('localhost:18087')}.innerText.includes('does not answer')",
                  "nobody is there", 60)
        check(page.evaluate("document.getElementById('state').textContent") == "OK",
              "the page itself is well")
        page.open("http://localhost:18081/")
        page.wait("/They answer pages that are opened by a name of statusPeers: http:..127.0.0.1:18081/.test("
                  "document.getElementById('others').innerText)", "opened by a name that is not in the list", 60)
    finally:
        Liar.says = b""
        server.shutdown()
        server.server_close()
    page.errors[:] = complaints  # that requests fail is what the liar is for


def used(page):
    """What a person does with the page: point at a chart, sort a table, come back later."""
    page.open("http://127.0.0.1:18081/")
    page.wait("document.querySelectorAll('#charts path').length >= 6", "charts")
    page.wait("history.length >= 3", "three looks")
    page.evaluate("(svg => { const a = svg.getBoundingClientRect(); svg.dispatchEvent(new PointerEvent('pointermove', {bubbles: true,"
                  " clientX: a.left + a.width * (460 - 8 - 2 * (460 - CHART_LEFT - 8) / 59) / 460, clientY: a.top + 9})); })"
                  "(document.querySelector('#charts svg'))")
    at, shown = page.evaluate("[hover, document.querySelector('#charts .key').textContent]")
    rate = page.evaluate("history[history.length - 3].rate.map(figure)")
    check(at == 2 and (rate[0] == "-" or shown == f"2 s ago:in {rate[0]}out {rate[1]}"),
          f"the chart at {at}: {shown}, not {rate}")
    page.evaluate("[...document.querySelectorAll('#mounts th button')].find(b => b.textContent === 'user').click()")
    check(page.evaluate("document.querySelector('#mounts th[aria-sort=ascending]').textContent") == "user", "sorted by user")
    the_hour(page)
    now = page.evaluate("history.length")
    page.open("http://127.0.0.1:18081/")
    page.wait(f"history.length > {now}", "the charts go on where they were")


def the_hour(page):
    """The hour is the daemon's own: a tab that was never open before knows it; what lies about it is not shown."""
    page.evaluate("document.querySelector('#spans [data-span=hour]').click()")
    page.wait("hour.length >= 2 && /-60 min/.test(document.getElementById('charts').textContent)", "the last hour")
    page.wait("(at => hour[at] && 3000 < hour[at].rate[0] && hour[at].rate[0] < 7500 && hour[at].queue[0] !== null &&"
              " hour[at].turn[1] > 0 && hour[at].cpu > 0)(hour.length - 1)", "it says what went through")
    page.evaluate("document.querySelector('#spans [data-span=minutes]').click()")
    columns = ["time", "in", "out"]
    for lie in (None, 7, "x", [], {}, {"pid": 1, "columns": columns, "samples": 9}, {"columns": columns, "samples": [[1, 2, 3]]},
                {"pid": 1, "columns": {"length": 9}, "samples": [[1]]}):
        found = page.evaluate(f"pointsOf({json.dumps(lie)}, {{pid: 1, process: 'p2ps'}})")
        check(found == [], f"{lie}: {found}")
    samples = json.dumps([[1, 7, "many"], "<b>", None, [2, None, 1e9]])
    found = page.evaluate(f"pointsOf({{pid: 1, columns: {json.dumps(columns)}, samples: {samples}}}, {{pid: 1, process: 'p2ps'}})")
    check([point["rate"] for point in found] == [[7, None], [None, 1e9]],
          f"samples that lie: {found}")
    found = page.evaluate(f"pointsOf({{pid: 1, columns: {json.dumps(columns)}, samples: Array(99999).fill([1, 2, 3])}}, {{pid: 1, process: 'p2ps'}}).length")
    check(found == 720, f"too many samples: {found}")


def seen(page):
    """What a person sees, while all is well and while it is not."""
    picture_is_true(page)
    used(page)
    pictures = os.environ.get("RMDS_PICTURES")
    for name, port in PORTS.items():
        page.open(f"http://127.0.0.1:{port}/")
        page.wait("document.getElementById('state').textContent === 'OK'", f"{name} is well")
        page.wait("document.querySelectorAll('#charts path').length >= 6", f"{name}: charts")
        page.wait("/[1-9][0-9,]* \\/s/.test(document.getElementById('flow').textContent)",
                  f"{name}: a rate")
        if pictures:
            time.sleep(8)
            page.picture(os.path.join(pictures, name + ".png"))
    same_words(page)
    other_hosts(page)
    page.open("http://127.0.0.1:18081/")
    page.wait("document.querySelectorAll('#flow a').length === 3", "links to the other daemons")
    page.evaluate("[...document.querySelectorAll('#flow a')].find(a => /src_dist.1/.test(a.textContent)).click()")
    page.wait("/src_dist/.test(document.getElementById('name').textContent)",
              "the page of src_dist")
    page.open("http://127.0.0.1:18081/", width=400, height=2400, dark=True)
    page.wait("/somebody[^]*\\s256\\s+100\\s+\\d+ of 40/.test(document.getElementById('mounts').innerText)",
              "the mount: its application, its items and its buffers")
    page.wait("/RDFD\\s+1\\s+1\\s+100\\s+0\\s+0\\s+1/.test(document.getElementById('services').innerText)", "the service")
    page.wait("/NOTICE\\s+service RDFD is up/.test(document.getElementById('log').innerText)",
              "a notice in the log")
    page.wait("document.documentElement.scrollWidth <= 400", "it fits on a phone")
    for width in (768, 930, 1060):
        page.open("http://127.0.0.1:18081/", width=width, height=900, dark=True)
        page.wait("document.querySelectorAll('#flow .box').length === 6 && /[1-9][0-9,]* \\/s/.test("
                  "document.getElementById('flow').textContent)", f"the chain at {width} pixels")
        page.wait("!!document.querySelector('#mounts td')", "the tables, too")
        check(page.evaluate("document.documentElement.scrollWidth") <= width, f"wider than {width}")
    light = "rgb(246, 247, 249)"
    check(page.evaluate("getComputedStyle(document.body).backgroundColor") != light, "a dark page")
    page.evaluate("document.getElementById('all').open = true")
    page.wait("/p2ps.worker.0.updatesOut/.test(document.getElementById('values').innerText)",
              "all values")
    if pictures:
        time.sleep(8)
        page.picture(os.path.join(pictures, "phone.png"))
    foreign = [u for u in page.requests if not u.startswith(
        ("http://127.0.0.1:", "http://localhost:18081/", "data:", "about:",
         *(f"http://localhost:{port}/host.json" for port in (18082, 18086, 18087))))]
    check(not foreign, f"it asked elsewhere: {foreign}")
    errors = [text for text in page.errors if "net::ERR" not in text and "CORS" not in text]  # of other hosts that are not there
    check(not errors, f"it complained: {errors}")


def gone(bed, page):
    """A daemon that hangs, then one that was killed, is shown as such, here and in the monitor."""
    if page:
        page.open("http://127.0.0.1:18081/")
        page.wait("document.getElementById('state').textContent === 'OK'", "it is well")
    pid = bed.pids()["p2ps.1"]
    os.kill(pid, signal.SIGSTOP)
    try:
        until("rmdsmon says HUNG", lambda: "p2ps.1         HUNG" in monitor(bed, "-once")[1])
        check(monitor(bed, "-once")[0] == 4, "rmdsmon's exit code")
        if page:
            page.wait("document.getElementById('state').textContent === 'GONE'",
                      "the page says GONE")
            page.open("http://127.0.0.1:18082/")
            page.wait("/p2ps.1\\s+HUNG/.test(document.getElementById('flow').innerText)",
                      "the pages of the others say HUNG")
    finally:
        os.kill(pid, signal.SIGCONT)
    until("rmdsmon says ok", lambda: "p2ps.1         ok" in monitor(bed, "-once")[1])
    if page:
        page.open("http://127.0.0.1:18081/")
        page.wait("document.getElementById('state').textContent === 'OK'", "it is well again")
    os.kill(pid, signal.SIGKILL)
    until("rmdsmon says DEAD", lambda: "p2ps.1         DEAD" in monitor(bed, "-once")[1])
    if page:
        page.wait("document.getElementById('state').textContent === 'GONE'", "the page says GONE")
        page.open("http://127.0.0.1:18082/")
        page.wait("/p2ps.1\\s+DEAD/.test(document.getElementById('flow').innerText)",
                  "the pages of the others say DEAD")


def main():
    wants_browser = sys.argv[3:] == ["browser"]
    if wants_browser and not browser.find():
        skip("no Chromium")
    if not os.path.exists(os.path.join(chain.BIN, "p2ps")):
        skip("this build has no p2ps")
    chain.enter_private_network()
    if os.environ["RMDS_BENCH_NET"] != "private":
        skip("no network namespace of our own")
    bed = chain.Chain("reference-latency.cnf", LINES, PUBLISHER)
    client = page = None
    try:
        client = subprocess.Popen(
            [os.path.join(chain.BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1", "-p",
             str(chain.SINK_PORT), "-f", bed.items(100), "-u", "somebody", "-timeout", "0"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name, port in PORTS.items():
            until(f"{name} answers", lambda p=port: status_or_nothing(p) == 200)
        until("the mount", lambda: '"somebody"' in get(18081, "/status.json")[2])
        until("the items", lambda: re.search(r'\.items":100,', get(18081, "/status.json")[2]))
        if wants_browser:
            page = browser.Browser()
            seen(page)
        else:
            served(bed)
            judged_by_promtool()
            rules_name_metrics()
            figures(bed)
            held_up()
        slow(bed, page)
        told(bed, page)
        gone(bed, page)
    finally:
        if page:
            page.close()
        if client:
            client.kill()
            client.wait()
        bed.close()
    print("all good")
    return 0


if __name__ == "__main__":
    sys.exit(main())
