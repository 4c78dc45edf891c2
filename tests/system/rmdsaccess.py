#!/usr/bin/env python3
"""rmdsaccess.py - the access file as rmdsaccess checks and explains it, and permission data as it prints them."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import tempfile

BIN = os.environ["RMDS_BIN"]
FILE = """default items deny
peset IDN ids=258
pe IDN 5625 LSE & (EQ2000 | MONEY2000)
content RDFD lock nolock=deny
user alice role=rates
user carol role=rates disabled
user bob password=secret
role rates
allow @rates RDFD *
deny * RDFD *.L
allow alice RDFD IBM.L
"""


def run(folder, *words):
    done = subprocess.run([os.path.join(BIN, "rmdsaccess"), *words], cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=60)
    return done.returncode, done.stdout + done.stderr


def expect(folder, code, said, *words):
    got = run(folder, *words)
    assert got[0] == code and said in got[1], (words, got)


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o600)


def roles_of_a_login(folder):
    """Those that an authority gives, and those of the claims of a signed token."""
    write(folder, "claims", "default items deny\ndefault posts deny\npeset P ids=1\nrole r posts=5/9 mounts=2\n"
          "role vip claim=groups:vip\nuser a auth=jwt role=r\nallow @vip S * do=view\n")
    ask = ("explain", "claims", "a", "S", "I")
    expect(folder, 1, "no line fits", *ask)
    for more in ("roles=vip",), ('claims={"groups":["x","vip"]}',), ("roles=r", 'claims={"groups":"vip"}'):
        expect(folder, 0, "claims:7  allow @vip S * do=view", *ask, *more)
    expect(folder, 1, "no line fits", *ask, 'claims={"groups":["x"]}')
    expect(folder, 1, "there is no role vap", *ask, "roles=vap")
    expect(folder, 1, "claims=JSON", *ask, "claims={")
    assert run(folder, "who", "claims", "S", "I", "roles=vip") == (0, "a\n")
    expect(folder, 0, "limits: mounts=2 posts=5/9\n", "what", "claims", "a")
    write(folder, "case", 'a S I roles=vip = allow\na S I = deny\na S I claims={"groups":["vip"]} = allow\n')
    expect(folder, 0, "case: 3 as expected, 0 not", "test", "claims", "case")


def what_changes(folder):
    """Lines about a user, cases with their verdicts, and one file against another."""
    old = """default items deny
peset IDN ids=258
user alice role=rates
user bob password=secret
role rates mounts=2
allow @rates RDFD *
deny bob RDFD *.L
allow bob RDFD *
"""
    write(folder, "old", old)
    new = old.replace("mounts=2", "mounts=3").replace("deny bob RDFD *.L\n", "user carol\n")
    write(folder, "new", new.replace("ids=258", "ids=257,258"))
    write(folder, "turned", old.replace("deny bob RDFD *.L\nallow bob RDFD *\n",
                                        "allow bob RDFD *\ndeny bob RDFD *.L\n"))
    write(folder, "cases", "! who sees London\nalice RDFD BT.L = allow\n\nbob RDFD BT.L = deny\n")
    write(folder, "wrong", "bob RDFD BT.O do=view = deny\n")
    assert run(folder, "what", "old", "alice") == (0, """old:3  user alice role=rates
old:5  role rates mounts=2
old:6  allow @rates RDFD *
limits: mounts=2
what no line fits: items deny, posts allow
"""), run(folder, "what", "old", "alice")
    expect(folder, 1, "eve may not log in: no user line fits", "what", "old", "eve")
    assert run(folder, "diff", "old", "new") == (1, """everybody: + peset IDN ids=257,258
everybody: - peset IDN ids=258
alice: - role rates mounts=2
alice: + role rates mounts=3
bob: - deny bob RDFD *.L
carol: + may log in
"""), run(folder, "diff", "old", "new")
    expect(folder, 1, "carol: - may not log in any more", "diff", "new", "old")
    expect(folder, 1, "bob: its lines stand in another order", "diff", "old", "turned")
    assert run(folder, "diff", "old", "old") == (0, "")
    assert run(folder, "diff", "old", "new", "cases") == (
        1, "bob RDFD BT.L = deny: deny -> allow\n"), run(folder, "diff", "old", "new", "cases")
    expect(folder, 0, "cases: 2 as expected, 0 not", "test", "old", "cases")
    expect(folder, 1, "cases:4: bob RDFD BT.L = deny  -> allow", "test", "new", "cases")
    expect(folder, 1, "wrong:1: bob RDFD BT.O do=view = deny  -> allow", "test", "old", "wrong")
    write(folder, "none", "bob RDFD\n")
    expect(folder, 1, "none:1: USER SERVICE ITEM", "test", "old", "none")
    expect(folder, 2, "No such file", "test", "old", "gone")


def which_sessions_end(folder):
    """Those of two p2ps, as rmdsmon prints them."""
    def mount(number, user, host, kind="RSSL", **more):
        values = {"user": user, "host": host, "kind": kind, "position": "10.1.0.7/net",
                  "applicationId": "256", "items": 7, **more}
        return {f"p2ps.mount.{number}.{name}": value for name, value in values.items()}
    first = {**mount("0.1", "alice", "10.1.0.7:5122 TLSv1.3 (desk7)", "RSSL/tls"),
             **mount("0.2", "bob", "10.2.0.1:9"), "p2ps.worker.0.mounts": 2}
    second = {**mount("0.1", "carol", "10.1.0.8:1"), "p2ps.state": "up",
              **mount("1.7", "dave", "[::1]:2", applicationId="300")}
    instances = [{"name": "p2ps.1", "values": first}, {"name": "p2ps.2", "values": second}]
    write(folder, "now", json.dumps({"instances": instances}))
    old = "user alice\nuser bob\nuser carol password=x\nuser dave\n"
    new = "user alice tls=yes\nuser bob from=10.1.0.0/16\nuser carol password=y\nuser dave application=300\n"
    for name, text in (("was", old), ("is", new)):
        write(folder, name, "default items allow\ndefault posts allow\n" + text)
    assert run(folder, "diff", "was", "is", "sessions=now") == (1, """\
0.2 bob 10.2.0.1:9: - ends: bob may not come from 10.2.0.1
0.1 carol 10.1.0.8:1: - ends if it came by password or token: these have changed
2 of 4 sessions
"""), run(folder, "diff", "was", "is", "sessions=now")
    assert run(folder, "diff", "was", "was", "sessions=now") == (0, "0 of 4 sessions\n")
    for text in "{", "{}", '{"p2ps.mount.0.1.user": 7}', '{"p2ps.mount.user": "a"}':
        write(folder, "odd", text)
        expect(folder, 2, "rmdsmon -once -json", "diff", "was", "is", "sessions=odd")
    expect(folder, 2, "No such file", "diff", "was", "is", "sessions=gone")


def who_has_expired(folder):
    write(folder, "ends", "default items allow\ndefault posts allow\nuser alice expires=2001-01-01\n"
          "user bob tls=yes positions=2\nrevoked user=b* before=2027-01-15\nrevoked cert=00:1A:2B\n")
    expect(folder, 0, "ends:3: warning: user alice expired at 2001-01-01T00:00:00Z: it lets nobody in",
           "check", "ends")
    expect(folder, 1, '"the user expired at 2001-01-01T00:00:00Z"', "explain", "ends", "alice", "S", "I")
    expect(folder, 1, '"bob must use TLS"', "explain", "ends", "bob", "S", "I", "tls=no")
    expect(folder, 0, "allow  bob S I", "explain", "ends", "bob", "S", "I", "tls=yes")
    expect(folder, 0, "ends:5  revoked user=b* before=2027-01-15", "what", "ends", "bob")
    write(folder, "more", "default items allow\ndefault posts allow\nuser alice expires=2001-01-01\n"
          "user bob tls=yes positions=3\nrevoked user=b* before=2027-01-15\n")
    code, said = run(folder, "diff", "ends", "more")
    assert code == 1 and "everybody: - revoked cert=00:1A:2B\n" in said, said
    assert "bob: - user bob tls=yes positions=2\nbob: + user bob tls=yes positions=3\n" in said, said


def several_files(folder):
    """Lines of included files have their own names, whoever speaks of them."""
    os.mkdir(os.path.join(folder, "parts"))
    write(folder, "whole", "default items deny\ndefault posts deny\ninclude parts/users\n"
          "allow alice RDFD *\n")
    write(folder, "parts/users", "! staff\ninclude more\nuser carol\n")
    write(folder, "parts/more", "user alice\nuser alice expires=2001-01-01\n")
    expect(folder, 0, "parts/more:2: warning: user alice: nobody comes to this line: line 1 fits",
           "check", "whole")
    assert run(folder, "what", "whole", "alice") == (0, """parts/more:1  user alice
whole:4  allow alice RDFD *
limits: none
what no line fits: items deny, posts deny
"""), run(folder, "what", "whole", "alice")
    expect(folder, 0, "user     parts/more:1  user alice", "explain", "whole", "alice", "RDFD", "I")
    write(folder, "flat", "default items deny\ndefault posts deny\nuser alice\n"
          "user alice expires=2001-01-01\nuser carol\nallow alice RDFD *\n")
    assert run(folder, "diff", "flat", "whole") == (0, ""), run(folder, "diff", "flat", "whole")
    write(folder, "parts/more", "usr alice\ninclude ../whole\ninclude gone\n")
    code, said = run(folder, "check", "whole")
    assert code == 2 and 'parts/more:1: error: "usr" is not a statement' in said, said
    assert "parts/more:3: error: include gone: No such file or directory" in said, said
    assert "whole: " in said and " errors, 0 warnings" in said, said


def combined(folder):
    """As the vendor's library combines them."""
    for want, *parts in (("03138862c0", "03138862c0", "03138862b144c0"),
                         ("03138862a144c0", "03138862c0", "03138862a144c0"),
                         ("0300011b2a2b3c", "0300011b2c", "0300012b3c"),
                         ("0300011a2c", "0300011a2c", "0300012b3c"),
                         ("0300011a2a4b5c", "0300011a2c", "0300014b5c"),
                         ("03138862c0", "03138862c0", "031388c0"),
                         ("0300018d00027d010177d00102777c", "0300027c", "03010177c0",
                          "0301027" + "77c", "0300018c")):
        code, said = run(folder, "lock", "combine", *parts)
        assert code == 0 and said.split()[0] == want, (parts, said)
    expect(folder, 2, "have no end", "lock", "combine", "0301016562", "0300011c")


def main():
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "access", FILE)
        write(folder, "bad", "user alice\nalow alice * *\n")
        expect(folder, 0, "access:11: warning: this line decides nothing: line 10", "check", "access")
        expect(folder, 0, "access:10: warning: this line denies posts, too", "check", "access")
        expect(folder, 0, "access:7: warning: 1 user line has a secret in clear", "check", "access")
        expect(folder, 0, "access: 0 errors, 4 warnings", "check", "access")
        os.chmod(os.path.join(folder, "access"), 0o604)
        expect(folder, 0, "access: warning: every user can read it", "check", "access")
        os.chmod(os.path.join(folder, "access"), 0o602)
        expect(folder, 2, "access: error: every user can write it", "check", "access")
        os.chmod(os.path.join(folder, "access"), 0o600)
        expect(folder, 2, 'bad:2: error: "alow" is not a statement', "check", "bad")
        expect(folder, 2, "No such file", "check", "gone")
        code, said = run(folder, "explain", "access", "alice", "RDFD", "BT.L", "lock=0301025625c0")
        assert (code, said) == (1, """deny  alice RDFD BT.L
  user     access:5  user alice role=rates
  name     access:9  allow @rates RDFD *  -> allow
  content  access:4  content RDFD lock nolock=deny
  code     access:3  pe IDN 5625 LSE & (EQ2000 | MONEY2000)  -> 5625 is not held: LSE no, EQ2000 no, MONEY2000 no
  remedy   grant alice IDN LSE,EQ2000
  told     "Access Denied: User req to PE(5625)"
"""), said
        expect(folder, 1, '"the user is disabled"', "explain", "access", "carol", "RDFD", "BT.L")
        expect(folder, 1, "no line fits, the default is to deny", "explain", "access", "bob", "RDFD", "BT.O")
        expect(folder, 1, "no user line fits", "explain", "access", "eve", "RDFD", "BT.O")
        expect(folder, 1, "none is given", "explain", "access", "alice", "RDFD", "BT.O")
        expect(folder, 1, 'do=view|post|private', "explain", "access", "alice", "RDFD", "BT.O", "do=sell")
        expect(folder, 2, "bad:2: error", "explain", "bad", "alice", "RDFD", "BT.O")
        code, said = run(folder, "who", "access", "RDFD", "BT.O", "lock=030102c0")
        assert (code, said) == (0, ""), said  # nolock=deny: it needs nothing, and that is none
        code, said = run(folder, "who", "access", "OTHER", "BT.O")
        assert (code, said) == (0, ""), said
        with open(os.path.join(folder, "access"), "a", encoding="ascii") as file:
            file.write("grant @rates IDN 5625\n")
        code, said = run(folder, "who", "access", "RDFD", "BT.O", "lock=AwECViXA")
        assert (code, said) == (0, "alice\ncarol  (the user is disabled)\n"), said
        expect(folder, 0, "0301016562c0  257: 6562", "lock", "0301016562c0")
        expect(folder, 0, "AwEBZWLA  257: 6562", "lock", "AwEBZWLA")
        expect(folder, 2, "these permission data have no end", "lock", "0301016562")
        with open(os.path.join(folder, "access"), "a", encoding="ascii") as file:
            file.write("fields @rates RDFD * drop 22,25,20-23\nfields alice RDFD *.O keep 22\n")
        expect(folder, 0, "  fields   access:13  fields @rates RDFD * drop 22,25,20-23\n",
               "explain", "access", "alice", "RDFD", "BT.O", "lock=AwECViXA")
        expect(folder, 0, "access:14  fields alice RDFD *.O keep 22\n", "what", "access", "alice")
        expect(folder, 0, "access:13: warning: fields: 22 is named twice", "check", "access")
        with open(os.path.join(folder, "posting"), "w", encoding="ascii") as file:
            file.write("peset P ids=1\ncontent RDFD lock\nuser alice post=create,perm\nuser bob\n"
                       "grant alice P 1 do=post\n")
        expect(folder, 0, "  rights   posting:3  user alice post=create,perm  -> create,perm\n",
               "explain", "posting", "alice", "RDFD", "BT.O", "do=post", "lock=0300011c")
        expect(folder, 0, "  rights   posting:4  user bob  -> none\n",
               "explain", "posting", "bob", "RDFD", "BT.O", "do=post")
        expect(folder, 1, "User req to PE(2)", "explain", "posting", "alice", "RDFD", "BT.O", "do=post",
               "lock=0300012c")
        what_changes(folder)
        combined(folder)
        who_has_expired(folder)
        several_files(folder)
        roles_of_a_login(folder)
        which_sessions_end(folder)
        expect(folder, 2, "neither hexadecimal digits nor base64", "lock", "!!")
    print("all good")


if __name__ == "__main__":
    main()
