#!/usr/bin/env python3
"""authority.py - users by an authority outside, killed, stopped and brought back under load.

docs/examples/authority.py is the authority. A consumer that it has let in loses no update, whatever
becomes of it.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time

import conf_examples
import daemons

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "websocket"))
from client import Client  # noqa: E402

PORT, PROVIDERS, ITEMS, RATE, WS_PORT = 14416, 14417, 50, 2000, 14418
EXAMPLE = os.path.join(conf_examples.ROOT, "docs", "examples", "authority.py")
CONF = """*rrcp*interface : lo
*rrcp*inProcess : True
*runDir : {folder}/run
*logTarget : stderr
*src_dist*1.route*hostList : 127.0.0.1:%d
*src_dist*serverPort : 0
*p2ps*rsslPort : %d
*p2ps*accessFile : {folder}/access
*p2ps*accessAudit : {folder}/trail
*p2ps*authority : {folder}/socket
*p2ps*authorityTimeout : 1
*p2ps*wsEnable : True
*p2ps*allowRSSLConnections : True
*p2ps*wsPort : %d
""" % (PROVIDERS, PORT, WS_PORT)
ACCESS = """default items deny
role rates
user operator password=open-sesame role=rates
role bare
user out9 auth=authority,none
user out6 auth=authority expires=2099-01-01
user out7 auth=authority expires=2020-01-01
user out8 auth=authority tls=yes
user out* auth=authority
allow @rates RDFD *
allow @bare RDFD *
peset IDN ids=257
pe IDN 62 NYSE
grant @rates IDN 62
content RDFD map
map RDFD * IDN 62
"""


def load_example():
    spec = importlib.util.spec_from_file_location("authority_example", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def signed(**claims):
    """As an identity provider makes one; the authority of this test looks at its sum only."""
    parts = [json.dumps(one).encode() for one in ({"alg": "ES256"}, claims)] + [b"x" * 64]
    return ".".join(base64.urlsafe_b64encode(one).rstrip(b"=").decode() for one in parts)


TOKENS = {"outbot1": signed(jti="t-1", iat=1800000000), "outbot2": signed(jti="t-2")}


class Authority:
    """The process; its users stand in a file."""

    def __init__(self, bed):
        self.example, self.process = load_example(), None
        self.socket, self.users = (os.path.join(bed.folder, name) for name in ("socket", "users"))
        self.known = {user: {"password": self.example.hash_of("pw-" + user), "roles": ["rates"]}
                      for user in ("out1", "out2", "out3", "out4", "out5", "out6", "out7", "out8")}
        self.known["out5"].update(roles=["bare"], grants={"IDN": "LSE,NYSE"})
        self.known.update({user: {"token": self.example.token_hash(token), "roles": ["rates"]}
                           for user, token in TOKENS.items()})
        self.write()

    def write(self):
        with open(self.users, "w", encoding="ascii") as file:
            json.dump(self.known, file)

    def start(self):
        self.process = subprocess.Popen([sys.executable, EXAMPLE, self.socket, self.users],
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def change(self, **users):
        self.known.update(users)
        self.write()
        self.process.send_signal(signal.SIGHUP)

    def end(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.process = None


def client(bed, user, password, *words):
    items = os.path.join(bed.folder, "items")
    return conf_examples.tool("rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", str(PORT),
                              "-f", items, "-u", user, "-pw", password, "-l", "1", *words,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def gets_in(bed, user, password=""):
    """A login that ends when it has all items."""
    done = client(bed, user, password or "pw-" + user, "-secs", "1")
    text, _ = done.communicate(timeout=90)
    assert f"{ITEMS} of {ITEMS} items open" in text, text


def is_refused(bed, user, password=""):
    """What the trail says of it; a consumer may try again and again."""
    before = len(denials(bed, user))
    trying = client(bed, user, password or "pw-" + user, "-secs", "1")
    daemons.until(lambda: f"{user} is refused: {trail(bed)}",
                  lambda: len(denials(bed, user)) > before)
    trying.kill()
    trying.communicate()
    return denials(bed, user)[-1]


def denials(bed, user):
    return [one for one in trail(bed)
            if (one["e"], one.get("v"), one.get("user")) == ("login", "deny", user)]


def trail(bed):
    with open(os.path.join(bed.folder, "trail"), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("}\n")]


def has(bed, count=1, **want):
    def found():
        return [one for one in trail(bed) if want.items() <= one.items()]
    daemons.until(lambda: f"the trail has {count} of {want}: {trail(bed)}",
                  lambda: len(found()) >= count)
    return found()[-1]


def flow(bed, times=1):
    name = "p2ps.worker.0.updatesOut"
    before = bed.value("p2ps.1", name)
    daemons.until(lambda: "updates flow", lambda: bed.value("p2ps.1", name) > before + times * RATE)


def is_up(bed, is_so):
    daemons.until(lambda: f"the authority is {'here' if is_so else 'away'}",
                  lambda: bed.value("p2ps.1", "p2ps.authorityUp") == is_so)


def write_access(bed, more=""):
    with open(os.path.join(bed.folder, "access"), "w", encoding="ascii") as file:
        file.write(ACCESS + more)
    os.chmod(os.path.join(bed.folder, "access"), 0o600)


def start(bed):
    write_access(bed)
    with open(os.path.join(bed.folder, "items"), "w", encoding="ascii") as file:
        conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=file).wait()
    bed.source = conf_examples.tool(
        "sink_driven_src", "-S", "RDFD", "-N", str(PROVIDERS), "-L", "127.0.0.1", "-U", str(RATE),
        "-tps", "100", "-seqdata", stdout=subprocess.DEVNULL)
    bed.authority = Authority(bed)
    bed.start("src_dist.1", "src_dist")
    bed.start("p2ps.1", "p2ps")
    bed.said("p2ps.1", f"listening|port {PORT}")
    bed.said("p2ps.1", "service RDFD is up")


def without_it_only_operators_get_in(bed):
    assert is_refused(bed, "out1")["code"] == 29
    gets_in(bed, "operator", "open-sesame")
    bed.shown("p2ps.1", "WARN", "the authority is away")
    bed.authority.start()
    is_up(bed, 1)


def it_decides_and_is_remembered(bed):
    bed.steady = client(bed, "out1", "pw-out1", "-seqcheck", "-secs", "3600")
    has(bed, e="login", v="allow", user="out1")
    flow(bed)
    assert is_refused(bed, "out2", "guess")["why"] == "password or token refused"
    assert is_refused(bed, "outsider")["code"] == 30
    gets_in(bed, "out2")
    gets_in(bed, "out2")
    assert bed.value("p2ps.1", "p2ps.authorityCached") >= 1


def what_the_file_says_counts_beside_it(bed):
    gets_in(bed, "out6")
    for user in ("out7", "out8"):
        assert is_refused(bed, user)["code"] == 3, denials(bed, user)


def show(client, token):
    client.send({"ID": 1, "Domain": "Login",
                 "Key": {"NameType": "AuthnToken", "Elements": {"AuthenticationToken": token}}})
    return client.take_until(lambda m: m.get("ID") == 1)


def tokens_that_it_has_checked_are_revoked_by_the_file(bed):
    """At a reload, and at the next login; one of another id goes on."""
    clients = {user: Client(WS_PORT) for user in TOKENS}
    for user, client in clients.items():
        answer = show(client, TOKENS[user])
        assert answer["Type"] == "Refresh" and answer["Key"]["Name"] == user, answer
    write_access(bed, "revoked jti=t-1\n")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    state = clients["outbot1"].take_until(lambda m: m.get("ID") == 1)["State"]
    assert (state["Code"], state["Text"]) == ("NotEntitled", "token refused: revoked"), state
    late = Client(WS_PORT)
    assert show(late, TOKENS["outbot1"])["State"]["Text"] == "token refused: revoked"
    answer = show(clients["outbot2"], TOKENS["outbot2"])
    assert answer["Type"] == "Refresh", answer
    for client in (late, *clients.values()):
        client.end()
    write_access(bed)
    bed.running["p2ps.1"].signal(signal.SIGHUP)


def login_with_an_end():
    """The answer of before may be remembered until the news of the change have come."""
    found = []

    def has_end():
        client = Client(WS_PORT)
        found[:] = [client, show(client, TOKENS["outbot2"])["Key"]["Elements"]]
        if "AuthenticationTTReissue" not in found[1]:
            client.end()
        return "AuthenticationTTReissue" in found[1]

    daemons.until(lambda: f"{found[1:]}", has_end)
    return found


def a_session_has_the_end_that_it_says(bed):
    """The login refresh of a token says that all is well, and when the next one is due."""
    ends = int(time.time()) + 3600
    bed.authority.change(outbot2={**bed.authority.known["outbot2"], "expires": ends})
    client, elements = login_with_an_end()
    assert elements["AuthenticationErrorCode"] == 0, elements
    assert elements["AuthenticationErrorText"] == "Success", elements
    assert time.time() < elements["AuthenticationTTReissue"] < ends, elements
    ends = int(time.time()) + 2  # it is asked about each session of a user that has changed
    bed.authority.change(outbot2={**bed.authority.known["outbot2"], "expires": ends})
    state = client.take_until(lambda m: m.get("ID") == 1)["State"]
    assert state["Code"] == "NotEntitled", state
    assert re.fullmatch(r"the token expired at \d\d:\d\d:\d\dZ; log in again", state["Text"]), state
    assert time.time() >= ends, state
    client.end()


def codes_that_it_grants_and_takes_back_open_and_close_items(bed):
    other = client(bed, "out5", "pw-out5", "-secs", "3600")
    daemons.until(lambda: "both have their items",
                  lambda: bed.value("p2ps.1", "p2ps.worker.0.watches") == 2 * ITEMS)
    bed.said("p2ps.1", 'name "LSE" of user out5 is not in accessFile, and counts for nothing')
    bed.authority.change(out5={**bed.authority.known["out5"], "grants": {"IDN": "63"}})
    has(bed, count=ITEMS, e="revoke", user="out5")
    other.kill()
    other.communicate()


def it_counts_sessions(bed):
    """Two are let in, the third when one of them has gone; also by another process of it."""
    bed.authority.change(out5={**bed.authority.known["out5"], "logins": 2, "roles": ["rates"]})
    first = client(bed, "out5", "pw-out5", "-secs", "3600")
    second = client(bed, "out5", "pw-out5", "-secs", "3600")
    has(bed, count=3, e="login", v="allow", user="out5")
    assert is_refused(bed, "out5")["why"] == "too many logins"
    bed.authority.end()
    is_up(bed, 0)
    bed.authority.start()
    is_up(bed, 1)
    daemons.until(lambda: "the new process knows both",
                  lambda: bed.value("p2ps.1", "p2ps.authorityWaiting") == 0)
    before = len(denials(bed, "out5"))
    assert is_refused(bed, "out5")["why"] == "too many logins", before
    ends = bed.value("p2ps.1", "p2ps.authorityEnds")
    first.kill()
    first.communicate()
    daemons.until(lambda: "its end is told",
                  lambda: bed.value("p2ps.1", "p2ps.authorityEnds") > ends)
    gets_in(bed, "out5")
    second.kill()
    second.communicate()


def what_it_takes_back_is_gone(bed):
    """Roles, then the user; everybody else goes on."""
    other = client(bed, "out3", "pw-out3", "-secs", "3600")
    has(bed, e="login", v="allow", user="out3")
    daemons.until(lambda: "both have their items",
                  lambda: bed.value("p2ps.1", "p2ps.worker.0.watches") == 2 * ITEMS)
    bed.authority.change(out3={**bed.authority.known["out3"], "roles": []})
    has(bed, count=ITEMS, e="revoke", user="out3")
    bed.authority.known.pop("out3")
    bed.authority.change()
    assert has(bed, e="logout", user="out3")["why"] == "nobody here has that name"
    other.kill()
    other.communicate()


def killed_it_stops_nobody(bed):
    gets_in(bed, "out2")
    bed.authority.end()
    is_up(bed, 0)
    bed.said("p2ps.1", "it is away; new logins are refused")
    flow(bed)
    gets_in(bed, "out2")  # its answer still lives
    assert is_refused(bed, "out4")["code"] == 29
    bed.authority.start()
    is_up(bed, 1)
    gets_in(bed, "out4")


def stopped_it_stops_nobody(bed):
    """It takes questions, and says nothing: first one waits, then it is known to be silent."""
    bed.authority.process.send_signal(signal.SIGSTOP)
    assert is_refused(bed, "out4", "another")["code"] == 29
    is_up(bed, 0)
    flow(bed)
    assert bed.value("p2ps.1", "p2ps.authorityTimeouts") >= 1
    bed.authority.process.send_signal(signal.SIGCONT)
    is_up(bed, 1)
    gets_in(bed, "out2")


def with_allow_the_file_decides(bed):
    """Only about those who are away's users; p2ps is started anew for it."""
    bed.authority.end()
    is_up(bed, 0)
    flow(bed)
    bed.steady.send_signal(signal.SIGINT)
    text, _ = bed.steady.communicate(timeout=90)
    sequence = re.search(r"sequence: (\d+) checked, (\d+) gaps, (\d+) lost, (\d+) duplicates, "
                         r"(\d+) out of order, (\d+) wrong, (\d+) before their image; (\d+) resyncs",
                         text)
    assert sequence and int(sequence[1]) > RATE, text
    assert [int(n) for n in sequence.groups()[1:]] == [0] * 7, text
    assert " 0 connections lost" in text, text
    bed.stop("p2ps.1")
    bed.start("p2ps.1", "p2ps", "-set", "*p2ps*authorityDown : allow")
    bed.said("p2ps.1", "service RDFD is up")
    assert is_refused(bed, "out2")["why"] == "user name or password refused"
    late = client(bed, "out9", "any", "-secs", "3600")
    has(bed, e="login", v="allow", user="out9")
    bed.authority.start()
    assert has(bed, e="logout", user="out9", why="nobody here has that name")
    late.kill()
    late.communicate()


def end(bed):
    if hasattr(bed, "authority"):
        bed.authority.end()
    if hasattr(bed, "source"):
        bed.source.terminate()
        bed.source.wait()


def main():
    conf_examples.enter_namespace()
    beds = []
    try:
        daemons.run(CONF, beds.append, start, without_it_only_operators_get_in,
                    it_decides_and_is_remembered, what_the_file_says_counts_beside_it,
                    tokens_that_it_has_checked_are_revoked_by_the_file,
                    a_session_has_the_end_that_it_says,
                    codes_that_it_grants_and_takes_back_open_and_close_items,
                    it_counts_sessions, what_it_takes_back_is_gone,
                    killed_it_stops_nobody, stopped_it_stops_nobody, with_allow_the_file_decides)
    finally:
        for bed in beds:
            end(bed)


if __name__ == "__main__":
    main()
