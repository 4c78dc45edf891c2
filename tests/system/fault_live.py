#!/usr/bin/env python3
"""fault_live.py - rmdsfault serve takes statements from its standard input and from its socket."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import stat
import subprocess
import sys
import tempfile

BIN = os.environ["RMDS_BIN"]


def fault(*words):
    return subprocess.run([os.path.join(BIN, "rmdsfault"), *words], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=120)


class Server:
    """rmdsfault serve; statements on its standard input, an answer a line."""

    def __init__(self, *words):
        self.child = subprocess.Popen([os.path.join(BIN, "rmdsfault"), "serve", "-port", "0",
                                       *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, bufsize=1)
        self.port = re.search(r"listening on port (\d+)", self.child.stdout.readline())[1]

    def ask(self, statement):
        self.child.stdin.write(statement + "\n")
        return self.child.stdout.readline().strip()

    def must(self, statement, wanted="ok"):
        said = self.ask(statement)
        assert said.startswith(wanted), (statement, said)
        return said


def statements(folder):
    control = os.path.join(folder, "control")
    server = Server("-control", control)
    assert stat.S_IMODE(os.stat(control).st_mode) & 0o077 == 0
    client = subprocess.Popen([os.path.join(BIN, "rmdstestclient"), "-S", "DIRECT_FEED",
                               "-h", "127.0.0.1", "-p", server.port, "-il", "A.N", "-sos"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    server.must("updates 100")
    server.must("expect request A.N within 60s")
    server.must("expect post within 50ms", "failed expect post: 0 of 1 came in 0.05 s")
    server.must("send A.N sideways", 'error column 10: "sideways" is none of: image')
    server.must(1002 * "x" + "send * closed", "error the line is too long")
    server.must("say it goes on", "rmdsfault: it goes on")
    assert server.child.stdout.readline().startswith("ok say")
    server.must("repeat 3", "error column 1: repeat and end belong into a script")
    told = fault("tell", control, "send", "*", "recover")
    assert (told.returncode, told.stdout) == (0, "ok send *\n"), told
    told = fault("tell", control, "expect request A.N within 60s")
    assert (told.returncode, told.stdout) == (0, "ok expect request A.N\n"), told
    told = fault("tell", control, "expect exit within 10ms")
    assert told.returncode == 10 and told.stdout.startswith("failed expect exit"), told
    told = fault("tell", control, "nonsense")
    assert told.returncode == 10 and "is no statement" in told.stdout, told
    said = server.ask("help")
    while said != "q":
        assert said, "help ends too soon"
        said = server.child.stdout.readline().strip()
    told = fault("tell", control, "st").stdout
    assert told.startswith("ok 1 clients, 1 items open, "), told
    client.terminate()
    said = client.communicate()[0]
    assert "CLOSED_RECOVER" in said, said
    server.must("q")
    assert server.child.wait(60) == 0
    assert not os.path.exists(control)
    assert fault("tell", control, "st").returncode == 2


def a_script_before_them(folder):
    path = os.path.join(folder, "own.fault")
    with open(path, "w", encoding="ascii") as out:
        out.write("say it begins\nexpect login within 10ms\nsay it goes on\n")
    server = Server(path)
    assert server.child.stdout.readline() == "rmdsfault: it begins\n"
    assert "line 2 FAILED: expect login" in server.child.stdout.readline()
    assert server.child.stdout.readline() == "rmdsfault: it goes on\n"
    server.must("service NEW up")
    server.must("q")
    assert server.child.wait(60) == 0


def command_lines(folder):
    path = os.path.join(folder, "bad.fault")
    with open(path, "w", encoding="ascii") as out:
        out.write("about x\nwait 1 s\n")
    for words, code, text in (
            ([], 1, "a verb is missing"), (["frobnicate"], 1, "the verbs are"),
            (["run"], 1, "needs the name"), (["run", "no-such"], 2, "no-such.fault: No such file"),
            (["check", path], 2, 'bad.fault:2:6: "1" is no duration'),
            (["run", "provider-dies", "-port", "70000"], 1, "-port is a port"),
            (["run", "provider-dies", "-ping", "0"], 1, "-ping is a time"),
            (["run", "provider-dies", "-control", "x"], 1, "-control is for serve"),
            (["run", "provider-dies", "-E", "smoke"], 1, "the wire is rssl"),
            (["run", "provider-dies", "-dict", folder], 2, "RDMFieldDictionary"),
            (["run", "provider-dies", "-port", "0", "--", folder + "/none"], 11, "cannot start"),
            (["show", "provider-dies"], 0, "about   The provider dies")):
        done = fault(*words)
        assert done.returncode == code and text in done.stdout + done.stderr, (words, done)
    busy = Server()
    assert fault("run", "provider-dies", "-port", busy.port).returncode == 3
    busy.must("q")
    busy.child.wait(60)


def make_authority(folder, name):
    """The files of its certificate, which is that of 127.0.0.1, too, and of its key."""
    key, certificate = (os.path.join(folder, f"{name}-{what}.pem") for what in ("key", "own"))
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                           "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
                           certificate, "-days", "2", "-subj", f"/CN={name}", "-addext",
                           "subjectAltName=IP:127.0.0.1"], capture_output=True, check=False)
    assert made.returncode == 0, made.stderr
    return certificate, key


def tls_client(authority, service, port):
    return [os.path.join(BIN, "rmdstestclient"), "-S", service, "-h", "127.0.0.1", "-p", port,
            "-ct", "tls", "-tlsCaFile", authority, "-il", "A.N", "-secs", "60"]


def over_tls(folder):
    """The same port with TLS: a client that knows the authority is played to, another is not."""
    (certificate, key), (foreign, _) = (make_authority(folder, name) for name in ("own", "foreign"))
    path = os.path.join(folder, "tls.fault")
    with open(path, "w", encoding="ascii") as out:
        out.write("updates 100\nexpect request within 60s\nframe packed\n"
                  "expect connect within 60s\nexpect request within 60s\n")
    wire = ["-E", "tls", "-tlsCertFile", certificate, "-tlsKeyFile", key]
    done = fault("run", path, "-port", "0", *wire, "--",
                 *tls_client(certificate, "{service}", "{port}"))
    assert done.returncode == 0, done
    server = Server(*wire)
    with subprocess.Popen(tls_client(foreign, "DIRECT_FEED", server.port), stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL, text=True) as client:
        refused = any("TLS: self-signed certificate" in line for line in client.stderr)
        client.kill()
    assert refused
    server.must("expect login within 1ms", "failed expect login: 0 of 1 came")
    with subprocess.Popen(tls_client(certificate, "DIRECT_FEED", server.port),
                          stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as client:
        server.must("expect login within 60s")
        server.must("expect request A.N within 60s")
        client.kill()
    server.must("q")
    assert server.child.wait(60) == 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        statements(folder)
        a_script_before_them(folder)
        command_lines(folder)
        over_tls(folder)


if __name__ == "__main__":
    sys.exit(main())
