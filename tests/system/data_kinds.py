#!/usr/bin/env python3
"""data_kinds.py SOURCE [--write] - every kind of data goes through the whole chain.

Each picture of docs/data-kinds.md is what its command prints, in the order of the page. And of each
kind a consumer that has heard all updates has what a consumer gets that comes late, once from the
source, once from the caches. --write writes the pictures into the page.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile
import time

import conf_examples

SOURCE = os.path.realpath(sys.argv[1])
PAGE = os.path.join(SOURCE, "docs/data-kinds.md")
WAIT_S = 60
CONF = """\
*rmds*startList : rrcpd.net1.1, src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*src_dist*dictionaryPath : {conf}
*src_dist*RDFD*cacheLocation : {place}
*p2ps*enableCache : {cache}
*p2ps*rsslPort : 14202
*p2ps*wsEnable : True
*p2ps*wsPort : 15000
"""
KINDS = {"QUOTE.K": 6, "ORDERS.K": 7, "BOOK.K": 8, "MAKERS.K": 9, "SYMBOLS.K": 10,
         "SALES.K": 12, "CURVE.K": 22, "NEWS.K": 6}
STEPS, ROWS = 25, 8


class World:
    def __init__(self, folder, is_cached):
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        self.folder, self.run, self.consumers = folder, conf_examples.load_run(), []
        conf = os.path.join(folder, "rmds.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(conf=os.path.join(SOURCE, "conf/RDMFieldDictionary"),
                                  cache=is_cached, place="srcDist" if is_cached else "srcApp"))
        self.publisher = subprocess.Popen(
            [os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", "RDFD", "-N", "14102", "-L",
             "127.0.0.1", "-kinds", "0", "-c", "-dict", os.path.join(SOURCE, "conf")],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
        self.system = self.run.System(conf)
        self.run.up(self.system)

    def step(self, name, times):
        self.publisher.stdin.write(f"it {name} update\n" * times)
        self.publisher.stdin.flush()

    def close(self):
        for consumer in self.consumers:
            consumer.child.kill()
            consumer.child.wait()
        self.run.down(self.system)
        self.publisher.kill()
        self.publisher.communicate()


def words_of(*words):
    return [os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1",
            "-p", "14202", *words]


def printed(*words):
    """What it prints of what came, and its exit code."""
    run = subprocess.run(words_of(*words), stdin=subprocess.DEVNULL, capture_output=True,
                         text=True, check=False, timeout=120)
    lines = [line.rstrip() for line in run.stdout.splitlines()
             if not line.startswith("rmdstestclient:")]
    return "\n".join(lines).strip("\n"), run.returncode, run.stderr


class Consumer:
    """One that stays, and prints all it gets."""

    def __init__(self, world, *words):
        self.path = os.path.join(world.folder, "consumer")
        world.consumers.append(self)
        with open(self.path, "w", encoding="utf-8") as out:
            self.child = subprocess.Popen(words_of("-secs", "3600", *words),
                                          stdin=subprocess.PIPE, stdout=out,
                                          stderr=subprocess.STDOUT)

    def text(self):
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def wait(self, pattern, count):
        end = time.monotonic() + WAIT_S
        while len(re.findall(pattern, self.text(), re.M)) < count:
            assert time.monotonic() < end, f"{pattern}, {count} times: {self.text()[-2000:]}"
            time.sleep(0.15)

    def end(self):
        self.child.communicate(b"q\n", timeout=WAIT_S)
        return "\n".join(line.rstrip() for line in self.text().splitlines()
                         if not line.startswith("rmdstestclient:")).strip("\n")


# ---- the page ----

BLOCK = re.compile(r"^    (rmdstestclient [^\n]*)\n((?:    #[^\n]*\n)?)\n```text\n(.*?)^```$",
                   re.M | re.S)


def picture(world, command, more):
    """What that command prints; `more` may say which item is updated meanwhile, and how often."""
    words = command.split()[1:]
    asked = re.search(r"it (\S+) update, (\d+) times", more)
    words = [word for word in words if word not in ("-S", "RDFD", "-h", "localhost")]
    if not asked:
        text, code, error = printed(*words)
        assert code == 0, (command, code, error)
        return text
    consumer = Consumer(world, *words)
    consumer.wait(r"items open on", 1)
    world.step(asked[1], int(asked[2]))
    consumer.wait(r"^UPDATE|^ *\|? *\^", int(asked[2]))
    return consumer.end()


def check_page(world, is_writing):
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    found = list(BLOCK.finditer(page))
    assert len(found) >= 12, len(found)
    out, at = "", 0
    for block in found:
        text = picture(world, block[1], block[2])
        if is_writing:
            out += page[at:block.start(3)] + text + "\n"
            at = block.end(3)
        else:
            assert block[3].rstrip("\n") == text, f"{block[1]}\n--- printed\n{text}\n--- the page"
    if is_writing:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(out + page[at:])


# ---- folding ----

def messages(text, name):
    """[(class, [(indent, words)])] of an item."""
    found = []
    for line in text.splitlines():
        head = re.match(r"(REFRESH|UPDATE) +(\S+) ", line)
        if head:
            found.append((head[1], head[2], []))
        elif found and line.startswith("        "):
            found[-1][2].append((len(line) - len(line.lstrip()), line.split(None, 2)))
    return [(kind, body) for kind, item, body in found if item == name]


def fold(heard):
    """Entries by key, the fields of each by name; {"": fields} of a plain record."""
    state, rows = {}, []
    for kind, body in heard:
        if kind == "REFRESH":
            state, rows = {}, []
        key = ""
        for indent, words in body:
            if indent == 8 and words[0] in ("ADD", "UPDATE", "SET", "DELETE", "summary", "row"):
                key = words[-1]
                if words[0] == "row":
                    rows.append({})
                elif words[0] == "DELETE":
                    state.pop(key)
                elif words[0] in ("ADD", "SET"):
                    state[key] = {}
                elif words[0] == "UPDATE":
                    assert key in state, (key, state)
                continue
            fields = rows[-1] if rows and key == "row" else state.setdefault(key, {})
            fields[words[0]] = words[-1]
    return state, rows[-ROWS:]


def check_folding(world):
    for name, domain in KINDS.items():
        words = ("-il", name, "-md", str(domain), "-l", "3", "-d", "3")
        consumer = Consumer(world, *words)
        consumer.wait(r"items open on", 1)
        world.step(name, STEPS)
        consumer.wait(r"^UPDATE", STEPS)
        # Beside the one that is there: from a cache, where there is one.
        late, code, error = printed(*words, "-e")
        heard = consumer.end()
        assert code == 0, error
        assert len(messages(heard, name)) == STEPS + 1, heard
        assert fold(messages(heard, name)) == fold(messages(late, name)), f"{heard}\n---\n{late}"
        assert fold(messages(late, name))[0] or fold(messages(late, name))[1], late


def check_json(world):
    """A consumer of JSON is shown the same."""
    for name, domain in KINDS.items():
        words = ("-il", name, "-md", str(domain), "-l", "2", "-d", "3", "-e")
        rssl, json = (printed(*words, *more)[0] for more in ((), ("-ct", "websocket", "-p",
                                                                  "15000")))
        # The display of a tick is no ASCII, and written otherwise there.
        rssl, json = (re.sub(r'"\.[^"\n]*"$', '""', text, flags=re.M) for text in (rssl, json))
        assert fold(messages(rssl, name)) == fold(messages(json, name)), f"{rssl}\n---\n{json}"
        assert messages(json, name), json


def check_json_page(world):
    """A partial update says where its cells belong, in JSON, too, and a page takes them there."""
    more = ("-ct", "websocket", "-p", "15000")
    consumer = Consumer(world, "-il", "PAGE.K", "-l", "3", "-d", "3", *more)
    consumer.wait(r"items open on", 1)
    world.step("PAGE.K", 1)
    consumer.wait(r"^UPDATE", 1)
    text = consumer.end()
    assert re.search(r"ROW80_\d+ +\d+ +\{22\} +\d+\.\d\d$", text, re.M), text
    consumer = Consumer(world, "-il", "PAGE.K", "-page", "-l", "0", *more)
    consumer.wait(r"^PAGE", 1)
    world.step("PAGE.K", 1)
    consumer.wait(r"^CHANGE", 1)
    text = consumer.end()
    assert re.search(r"^ +\d \|\w[\w ]{21} *\d+\.\d\d +sample *$", text.split("CHANGE")[1], re.M), text


def check_contributions(world):
    """A good post is in the record of all, a bad one is refused and changes nothing."""
    watching = Consumer(world, "-il", "CONTRIB.K", "-l", "3", "-d", "3")
    watching.wait(r"items open on", 1)
    poster = ("-il", "CONTRIB.K", "-post", "20", "-secs", "1")
    run = subprocess.run(words_of(*poster, "-pf", "BID=99.50,ASK=99.75,DSPLY_NAME=DESK"),
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                         timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    watching.wait(r"ASK\s+25\s+99\.75", 1)
    bad = printed(*poster, "-pf", "BID=-1.00", "-json", os.path.join(world.folder, "bad.json"))
    assert bad[1] == 0, bad
    with open(os.path.join(world.folder, "bad.json"), encoding="utf-8") as file:
        text = file.read()
    assert re.search(r'"naks": [1-9]', text) and '"acks": 0' in text, text
    state, _ = fold(messages(printed("-il", "CONTRIB.K", "-l", "3", "-d", "3", "-e")[0],
                             "CONTRIB.K"))
    assert state[""]["BID"] == "99.50" and state[""]["DSPLY_NAME"] == "DESK", state
    watching.end()
    assert "NAME=VALUE" in printed(*poster, "-pf", "NOSUCH=1")[2]


def check_chain_faults():
    """What does not belong together, and a chain that does not exist."""
    for words, text in ((["-chain", "0#CHAIN.K", "-il", "A"], "the only item"),
                        (["-chain", "A", "-conns", "2"], "one connection"),
                        (["-chain", "A", "-story", "B"], "the only item")):
        _, code, error = printed(*words)
        assert code == 1 and text in error, (words, code, error)


LOOP = """<?xml version="1.0" encoding="UTF-8"?>
<sample version="1"><item name="0#LOOP" domain="6"><refresh><field id="239" value="3"/>
<field id="240" value="A.O"/><field id="241" value="B.O"/><field id="242" value="A.O"/>
<field id="238" value="1#LOOP"/></refresh></item>
<item name="1#LOOP" domain="6"><refresh><field id="239" value="2"/><field id="240" value="C.O"/>
<field id="241" value="D&#27;[2J.O"/><field id="238" value="0#LOOP"/></refresh></item></sample>
"""


def check_loop(folder):
    """A chain that comes back to its own record ends, and is no whole one."""
    path = os.path.join(folder, "loop.xml")
    with open(path, "w", encoding="ascii") as out:
        out.write(LOOP)
    publisher = subprocess.Popen(
        [os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", "RDFD", "-N", "0", "-Q", path,
         "-dict", os.path.join(SOURCE, "conf")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    try:
        port = re.search(r"port (\d+)", publisher.stdout.readline())[1]
        text, code, error = printed("-p", port, "-chain", "0#LOOP", "-e")
    finally:
        publisher.kill()
        publisher.communicate()
    assert code == 4, (text, error)
    assert "chain   0#LOOP: 4 members in 2 records, NOT WHOLE" in text, text
    assert "1 of them stand in it more than once" in text and "comes back" in text, text
    assert "not printable" in text and "\x1b" not in text, text


def check_list():
    """-kinds list names each item that the page has."""
    text = subprocess.run([os.path.join(conf_examples.BIN, "sink_driven_src"), "-kinds", "list"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=True).stdout
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    names = [line.split()[0] for line in text.splitlines()]
    assert len(names) == 13 and all(f" {name}" in page for name in names), text


def main():
    check_list()
    conf_examples.enter_namespace()
    is_writing = "--write" in sys.argv
    for is_cached in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            world = World(folder, is_cached)
            try:
                if not is_cached:
                    check_page(world, is_writing)
                    check_json(world)
                    check_json_page(world)
                    check_contributions(world)
                    check_chain_faults()
                    check_loop(folder)
                if not is_writing:
                    check_folding(world)
            finally:
                world.close()
            if is_writing:
                break
    print("all good")


if __name__ == "__main__":
    main()
