#!/usr/bin/env python3
"""tokens.py - logins by signed tokens at p2ps: taken, refused, sent anew, expired; keys change.

A WebSocket client shows them; openssl signs, as an identity provider does. p2ps runs alone, with
its engine inside.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import conf_examples
import daemons

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "websocket"))
from client import Client  # noqa: E402

PORT = 15415
CONF = """*rrcp*interface : lo
*rrcp*inProcess : True
*runDir : {folder}/run
*logTarget : stderr
*p2ps*rsslPort : 0
*p2ps*wsEnable : True
*p2ps*allowRSSLConnections : True
*p2ps*wsPort : %d
*p2ps*accessFile : {folder}/access
*p2ps*accessShadowFile : {folder}/shadow
*p2ps*accessAudit : {folder}/trail
*p2ps*jwksFile : {folder}/keys.json
*p2ps*jwtAudience : market-data
*p2ps*jwtSkew : 0
""" % PORT
ACCESS = """user alice auth=jwt
user bob password=secret
user carol auth=jwt,password password=secret
"""


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def run_openssl(*words, data=None):
    return subprocess.run(["openssl", *words], input=data, capture_output=True, check=True,
                          timeout=90).stdout


def make_key(bed, name):
    """An Ed25519 key; the public half as p2ps wants it."""
    path = os.path.join(bed.folder, name)
    run_openssl("genpkey", "-algorithm", "ed25519", "-out", path)
    public = run_openssl("pkey", "-in", path, "-pubout", "-outform", "DER")[-32:]
    return {"kty": "OKP", "crv": "Ed25519", "kid": name, "x": base64url(public)}


def write(bed, name, text):
    with open(os.path.join(bed.folder, name), "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(os.path.join(bed.folder, name), 0o600)


def token(bed, key, life, **claims):
    now = int(time.time())
    body = {"aud": "market-data", "iat": now, "exp": now + life, **claims}
    text = (base64url(json.dumps({"alg": "EdDSA", "kid": key}).encode()) + "." +
            base64url(json.dumps(body).encode()))
    path = os.path.join(bed.folder, "text")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return text + "." + base64url(run_openssl("pkeyutl", "-sign", "-rawin", "-in", path, "-inkey",
                                              os.path.join(bed.folder, key)))


def show(client, text):
    """The answer to a login by this token, a first one or another."""
    client.send({"ID": 1, "Domain": "Login",
                 "Key": {"NameType": "AuthnToken", "Elements": {"AuthenticationToken": text}}})
    return client.take_until(lambda m: m.get("ID") == 1)


def is_open(answer):
    return answer["Type"] == "Refresh" and answer["State"]["Stream"] == "Open"


def trail(bed):
    with open(os.path.join(bed.folder, "trail"), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("}\n")]


def a_token_is_let_in(bed):
    keys = [make_key(bed, "k1")]
    write(bed, "keys.json", json.dumps({"keys": keys}))
    write(bed, "access", ACCESS)
    write(bed, "shadow", ACCESS.replace("user carol", "user nobody"))
    bed.start("p2ps.1", "p2ps")
    bed.said("p2ps.1", f"wsPort {PORT}|port {PORT}")
    client = Client(PORT)
    answer = show(client, token(bed, "k1", 3600, sub="alice"))
    assert is_open(answer) and answer["Key"]["Name"] == "alice", answer
    elements = answer["Key"]["Elements"]
    assert elements["AuthenticationErrorCode"] == 0, elements
    assert 2000 < elements["AuthenticationTTReissue"] - time.time() < 3600, elements
    return client


def others_are_not(bed):
    for text, why in ((token(bed, "k1", -5, sub="alice"), "token refused: expired "),
                      (token(bed, "k1", 60, sub="alice", aud="web"),
                       'token refused: audience "web"'),
                      (token(bed, "k1", 60, sub="bob"),
                       "the user may not log in with a signed token"),
                      (token(bed, "k1", 60, sub="eve"), "user name or password refused"),
                      (token(bed, "k1", 60, sub="alice")[:-4] + "AAAA", "token refused: signature"),
                      ("5f1e7c", "token refused")):
        client = Client(PORT)
        answer = show(client, text)
        state = answer["State"]
        assert state["Stream"] == "Closed" and state["Code"] == "NotEntitled", answer
        assert state["Text"].startswith(why), (why, answer)
        client.end()
    client = Client(PORT)
    answer = client.login(user="alice", Password="secret")
    assert answer["State"]["Stream"] == "Closed", answer
    client.end()
    client = Client(PORT)
    assert is_open(client.login(user="carol", Password="secret"))
    client.end()
    log = bed.log("p2ps.1")
    assert "sha256:" in log and "eyJ" not in log, "the log has a token"
    assert "eyJ" not in json.dumps(trail(bed)), "the audit trail has a token"


def what_another_file_would_say_is_in_the_trail(bed):
    def shadow():
        return [one for one in trail(bed) if one["e"] == "shadow"]
    daemons.until(lambda: f"a difference is recorded: {shadow()}", shadow)
    one = shadow()[0]
    assert (one["user"], one["why"]) == \
        ("carol", "accessShadowFile denies it: user name or password refused"), one
    daemons.until(lambda: "it is counted", lambda: bed.value("p2ps.1", "p2ps.shadowDiffers") > 0)


def a_new_one_is_taken_on_the_same_login(bed):
    client = a_login(bed, 3600)
    answer = show(client, token(bed, "k1", 7200, sub="alice"))
    assert is_open(answer), answer
    assert answer["Key"]["Elements"]["AuthenticationTTReissue"] > time.time() + 3600, answer
    for text, code in ((token(bed, "k1", -5, sub="alice"), 3),
                       (token(bed, "k1", 60, sub="carol"), 9), ("eyJ.x.y", 1)):
        answer = show(client, text)
        assert is_open(answer), answer
        assert answer["Key"]["Elements"]["AuthenticationErrorCode"] == code, answer
    client.end()
    daemons.until(lambda: f"re-issues are in the trail: {trail(bed)}",
                  lambda: [one["v"] for one in trail(bed) if one["e"] == "reissue"] ==
                  ["allow", "deny", "deny", "deny"])
    assert {one["by"] for one in trail(bed) if one["e"] == "login" and one["v"] == "allow"} == \
        {"jwt", "password"}


def a_login(bed, life):
    client = Client(PORT)
    answer = show(client, token(bed, "k1", life, sub="alice"))
    if is_open(answer):
        return client
    assert "expired" in answer["State"]["Text"], answer
    client.end()
    return None


def a_login_ends_with_its_token(bed):
    """The shortest life that this machine can log in with."""
    client, life = None, 2
    while not client:
        client, life = a_login(bed, life), 2 * life
    state = client.take_until(lambda m: m.get("ID") == 1)["State"]
    assert state["Stream"] == "Closed" and state["Code"] == "NotEntitled", state
    assert state["Text"].startswith("the token expired at "), state
    client.end()
    daemons.until(lambda: "it is counted",
                  lambda: bed.value("p2ps.1", "p2ps.worker.0.loginsExpired") >= 1)


def rmdsaccess(bed, *words, data=None):
    done = subprocess.run([os.path.join(conf_examples.BIN, "rmdsaccess"), *words], cwd=bed.folder,
                          input=data, capture_output=True, text=True, check=False, timeout=90)
    return done.returncode, done.stdout + done.stderr


def the_tool_says_which_check_fails(bed):
    good, old = token(bed, "k1", 3600, sub="alice", jti="t-1"), token(bed, "k1", -5, sub="alice")
    words = "jwks=keys.json", "audience=market-data", "skew=0"
    code, said = rmdsaccess(bed, "token", "-", *words, data=good + "\n")
    assert code == 0 and "good  alice, until " in said and "  jti  t-1\n" in said, said
    assert f"sha256={hashlib.sha256(good.encode()).hexdigest()}\n" in said, said
    assert rmdsaccess(bed, "token", good, "-c", bed.conf)[0] == 0
    for text, more, why in ((old, [], "expired "), (good[:-4] + "AAAA", [], "signature"),
                            (good, ["audience=x"], 'audience "market-data"'),
                            (good, ["user=name"], "claim name"), (good, ["life=60"], "it lives "),
                            (good, ["algorithms=RS256"], "algorithm EdDSA")):
        code, said = rmdsaccess(bed, "token", text, *words, *more)
        assert code == 1 and said.startswith("refused  " + why), (why, said)
    assert rmdsaccess(bed, "token", good, "jwks=none")[0] == 2
    code, said = rmdsaccess(bed, "tokenhash", data="5f1e7c\n")
    assert (code, said) == (0, hashlib.sha256(b"5f1e7c").hexdigest() + "\n"), said


def a_reload_ends_what_is_revoked(bed):
    """Sessions of one token, of old tokens of a user, and of a user who has expired."""
    first = token(bed, "k1", 3600, sub="alice", jti="t-1")
    second = token(bed, "k1", 3600, sub="carol")
    clients = []
    for text in first, second:
        clients.append(Client(PORT))
        assert is_open(show(clients[-1], text))
    clients.append(Client(PORT))
    assert is_open(clients[-1].login(user="bob", Password="secret"))
    before = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 60))
    write(bed, "access", ACCESS.replace("user bob", "user bob expires=2001-01-01") +
          f"revoked jti=t-1\nrevoked user=c* before={before}\n")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    for client, why in zip(clients, ("token refused: revoked", "token refused: revoked",
                                     "the user expired at 2001-01-01T00:00:00Z")):
        state = client.take_until(lambda m: m.get("ID") == 1)["State"]
        assert (state["Stream"], state["Code"]) == ("Closed", "NotEntitled"), state
        assert state["Text"] == why, state
        client.end()
    client = Client(PORT)
    assert show(client, first)["State"]["Text"] == "token refused: revoked"
    client.end()
    client = a_login(bed, 3600)
    answer = show(client, first)
    assert is_open(answer) and answer["Key"]["Elements"]["AuthenticationErrorCode"] == 7, answer
    client.end()
    write(bed, "access", ACCESS)


def keys_change_under_it(bed):
    """By a reload, and by themselves; a file of no use changes nothing."""
    write(bed, "keys.json", "{}")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    bed.said("p2ps.1", 'nothing is taken.*jwksFile .*: it has no array "keys"')
    assert a_login(bed, 3600)
    write(bed, "keys.json", json.dumps({"keys": [make_key(bed, "k2")]}))
    bed.said("p2ps.1", r"(?s:jwksFile: 1 keys read.*){2}jwksFile: 1 keys read")
    client = Client(PORT)
    answer = show(client, token(bed, "k1", 3600, sub="alice"))
    assert answer["State"]["Text"] == 'token refused: key id "k1" unknown', answer
    client.end()
    client = Client(PORT)
    assert is_open(show(client, token(bed, "k2", 3600, sub="alice")))
    client.end()
    for what in "Checked", "Refused":
        assert bed.value("p2ps.1", "p2ps.tokens" + what) > 0


def reload_with(bed, text):
    """The configuration, and all that it names."""
    with open(bed.conf, "w", encoding="ascii") as file:
        file.write(text)
    before = bed.value("p2ps.1", "reloads")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    daemons.until(lambda: "it is reloaded", lambda: bed.value("p2ps.1", "reloads") > before)


def a_dry_run_begins_and_ends_with_a_reload(bed):
    """Who has no line comes in by name, and goes when it ends; a wrong password never comes in."""
    with open(bed.conf, encoding="ascii") as file:
        conf = file.read()
    reload_with(bed, conf + "*p2ps*accessDryRun : True\n")
    bed.said("p2ps.1", "WARN.* accessDryRun: what accessFile denies is counted")
    client, other = Client(PORT), Client(PORT)
    assert is_open(client.login(user="zoe"))
    answer = other.login(user="bob", Password="guess")
    assert answer["State"]["Text"] == "user name or password refused", answer
    other.end()
    daemons.until(lambda: f"it is in the trail: {trail(bed)}",
                  lambda: [one["why"] for one in trail(bed)
                           if (one["e"], one.get("user")) == ("dryrun", "zoe")] ==
                  ["user name or password refused"])
    reload_with(bed, conf)
    state = client.take_until(lambda m: m.get("ID") == 1)["State"]
    assert (state["Stream"], state["Code"]) == ("Closed", "NotEntitled"), state
    client.end()
    bed.said("p2ps.1", "accessDryRun has ended: accessFile is enforced")


def a_change_is_read_by_itself(bed):
    """Of a file that is included; nobody sends a signal."""
    write(bed, "access", "include people\n")
    write(bed, "people", ACCESS)
    with open(bed.conf, "a", encoding="ascii") as file:
        file.write("*p2ps*accessWatch : True\n")
    before = bed.value("p2ps.1", "reloads")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    daemons.until(lambda: "it is reloaded", lambda: bed.value("p2ps.1", "reloads") > before)
    client = Client(PORT)
    assert is_open(client.login(user="bob", Password="secret"))
    write(bed, "people", ACCESS.replace("user bob", "user bob disabled"))
    bed.said("p2ps.1", "accessWatch: .*/access or a file that it includes has changed, reloading")
    state = client.take_until(lambda m: m.get("ID") == 1)["State"]
    assert (state["Stream"], state["Text"]) == ("Closed", "the user is disabled"), state
    client.end()
    write(bed, "people", "usr bob\n")
    bed.said("p2ps.1", 'nothing is taken.*/people:1: "usr" is not a statement')


if __name__ == "__main__":
    if not shutil.which("openssl"):
        print("needs the openssl program")
        sys.exit(77)
    conf_examples.enter_namespace()
    daemons.run(CONF, a_token_is_let_in, others_are_not,
                what_another_file_would_say_is_in_the_trail, a_new_one_is_taken_on_the_same_login,
                a_login_ends_with_its_token, the_tool_says_which_check_fails,
                a_reload_ends_what_is_revoked, keys_change_under_it,
                a_dry_run_begins_and_ends_with_a_reload, a_change_is_read_by_itself)
