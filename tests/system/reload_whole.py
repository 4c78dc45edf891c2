#!/usr/bin/env python3
"""reload_whole.py - a reload takes all of a new configuration, or nothing, whichever file is bad.

Each attempt brings new values, a new certificate, new rules and a new list of revoked certificates;
one file of them is bad. The daemon names that file, and everything is as before. At last all are
good, and everything is new, the certificates of routes, too.
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import os
import re
import shutil
import socket
import ssl
import subprocess
import threading

import conf_examples
import daemons

CONF = """*rrcp*interface : lo
*rrcp*authKeyFile : {folder}/now/group.key
*runDir : {folder}/run
*p2ps*rsslPort : 0
*p2ps*tlsPort : 14443
*tlsRequireClientCert : True
*p2ps*accessFile : {folder}/now/access
*src_dist*serverPort : 0
*src_dist*tlsServerPort : 14444
*src_dist*1.route*hostList : 127.0.0.1:14445
*src_dist*1.route*encrypted : True
*src_dist*1.route*tlsCertFile : {folder}/now/route.pem
*src_dist*1.route*tlsKeyFile : {folder}/now/route.key
*tlsCertFile : {folder}/now/server.pem
*tlsKeyFile : {folder}/now/server.key
*tlsCaFile : {folder}/now/ca.pem
#include "{folder}/now/more.cnf"
"""
AUTHORITY = """[ca]
default_ca = it
[it]
database = {folder}/index
default_md = sha256
default_crl_days = {days}
"""
PORTS = {"p2ps": 14443, "src_dist": 14444}
NAMES = ("rrcpd.net1.1", "src_dist.1", "p2ps.1")


class Files:
    """Two good sets of files, old and new, beside the one that the daemons read."""
    def __init__(self, folder):
        self.folder = folder
        self.now = os.path.join(folder, "now")
        with open(os.path.join(folder, "index"), "w", encoding="ascii"):
            pass
        self.sign(None, "ca")
        for name in ("old", "new"):
            os.mkdir(self.at(name))
            for which in ("server", "route"):
                self.sign("ca", f"{name}/{which}")
            shutil.copy(self.at("ca.pem"), self.at(name))
            self.write(f"{name}/group.key", f"1 {'ab' * 32}\n", 0o600)
            self.revoked(f"{name}/crl.pem", 30)
        for name in ("alice", "bob"):
            self.sign("ca", name)
        self.write("old/access", "user *\n", 0o640)
        self.write("new/access", "user alice\n", 0o640)
        self.write("old/more.cnf", "*itemLimit : 30\n")
        self.write(
            "new/more.cnf", f"*itemLimit : 12\n*p2ps*tlsCrlFile : {self.now}/crl.pem\n"
            f"*src_dist*tlsCrlFile : {self.now}/crl.pem\n")
        self.take("old")

    def at(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, mode=0o644):
        with open(self.at(name), "w", encoding="ascii") as out:
            out.write(text)
        os.chmod(self.at(name), mode)

    def openssl(self, *words, stdin=None):
        subprocess.run(["openssl", *words], check=True, capture_output=True, input=stdin, text=True)

    def sign(self, authority, name):
        key, out = self.at(name + ".key"), self.at(name + ".pem")
        signed = [
            "-CA",
            self.at(authority + ".pem"), "-CAkey",
            self.at(authority + ".key"), "-addext", "basicConstraints=CA:FALSE"
        ] if authority else []
        self.openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                     "-nodes", "-days", "9", "-subj", "/CN=" + os.path.basename(name), "-addext",
                     "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", out,
                     *signed)
        os.chmod(key, 0o600)

    def revoked(self, name, days, *certificates):
        """The list of the authority, with these in it."""
        conf = self.at("ca.cnf")
        self.write("ca.cnf", AUTHORITY.format(folder=self.folder, days=days))
        for one in certificates:
            self.openssl("ca", "-config", conf, "-keyfile", self.at("ca.key"), "-cert",
                         self.at("ca.pem"), "-revoke", self.at(one + ".pem"))
        end = [] if days else [
            "-crl_lastupdate", "20200101000000Z", "-crl_nextupdate", "20200102000000Z"
        ]
        self.openssl("ca", "-config", conf, "-keyfile", self.at("ca.key"), "-cert",
                     self.at("ca.pem"), "-gencrl", *end, "-out", self.at(name))

    def take(self, name):
        shutil.rmtree(self.now, ignore_errors=True)
        shutil.copytree(self.at(name), self.now)


class Provider:
    """What src_dist dials: it notes the certificate that is shown, and says nothing."""
    def __init__(self, files):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(files.at("old/server.pem"), files.at("old/server.key"))
        self.context.load_verify_locations(files.at("ca.pem"))
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.socket = socket.create_server(("127.0.0.1", 14445))
        self.shown, self.peer = None, None
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            plain, _ = self.socket.accept()
            try:
                self.peer = self.context.wrap_socket(plain, server_side=True)
                self.shown = print_of(self.peer)
            except OSError:
                plain.close()

    def hang_up(self):
        self.peer.close()


def print_of(secret):
    return hashlib.sha256(secret.getpeercert(True)).hexdigest()


def served(files, port, user="alice"):
    """The certificate of a port; None: `user` is refused with his own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(files.at(user + ".pem"), files.at(user + ".key"))
    with socket.create_connection(("127.0.0.1", port), 60) as plain:
        try:
            with context.wrap_socket(plain) as secret:
                shown = print_of(secret)
                secret.settimeout(0.05)  # a refusal by TLS 1.3 comes behind the handshake
                try:
                    return shown if secret.recv(1) else None
                except TimeoutError:
                    return shown
        except OSError:
            return None


def may_log_in(files, user):
    run = subprocess.run([
        os.path.join(conf_examples.BIN, "rmdstestclient"), "-h", "127.0.0.1", "-p", "14443", "-u",
        user, "-ct", "tls", "-tlsCaFile",
        files.at("ca.pem"), "-tlsCertFile",
        files.at("alice.pem"), "-tlsKeyFile",
        files.at("alice.key"), "-list", "services", "-timeout", "1"
    ],
                         stdin=subprocess.DEVNULL,
                         capture_output=True,
                         text=True,
                         check=False,
                         timeout=60)
    return run.returncode != 3, run.stdout + run.stderr


def ctl(bed, *words):
    run = subprocess.run([os.path.join(conf_examples.BIN, "rmdsctl"), "-run", bed.run_dir, *words],
                         stdin=subprocess.DEVNULL,
                         capture_output=True,
                         text=True,
                         check=False,
                         timeout=60)
    return run.returncode, run.stdout + run.stderr


def observe(bed, files):
    limit = {value for path, value in bed.values("p2ps.1").items() if path.endswith("itemLimit")}
    return {
        "limit": limit,
        "consumers": served(files, 14443),
        "publishers": served(files, 14444),
        "bob": may_log_in(files, "bob")[0]
    }


def bad_files(files):
    """Daemon, what it says, and what is done to a file."""
    write, at = files.write, files.at
    return (
        ("p2ps", r'more\.cnf:2: .*"many"',
         lambda: write("now/more.cnf", "*itemLimit : 12\n*itemLimit : many\n")),
        ("src_dist", r"c\.cnf:\d+: .*more\.cnf", lambda: os.unlink(at("now/more.cnf"))),
        ("p2ps", r"tls: server: .*server\.pem: nothing in PEM form",
         lambda: write("now/server.pem", "nothing\n")),
        ("src_dist", r"server\.key: the key does not fit",
         lambda: shutil.copy(at("old/route.key"), at("now/server.key"))),
        ("p2ps", r"server\.key: every user can read this key",
         lambda: os.chmod(at("now/server.key"), 0o604)),
        ("p2ps", r"ca\.pem: No such file", lambda: os.unlink(at("now/ca.pem"))),
        ("p2ps", r"crl\.pem: a certificate is in it",
         lambda: shutil.copy(at("ca.pem"), at("now/crl.pem"))),
        ("p2ps", r"crl\.pem: every user can write", lambda: os.chmod(at("now/crl.pem"), 0o646)),
        ("src_dist", r"ca\.pem: every user can write", lambda: os.chmod(at("now/ca.pem"), 0o646)),
        ("src_dist", r"crl\.pem: No such file", lambda: os.unlink(at("now/crl.pem"))),
        ("p2ps", r"accessFile .*access:2: .alow. is not a statement",
         lambda: write("now/access", "user alice\nalow alice * *\n")),
        ("p2ps", r"accessFile .*access: every user can write it",
         lambda: os.chmod(at("now/access"), 0o642)),
        ("src_dist", r"tls: route1: .*route\.pem: nothing in PEM form",
         lambda: write("now/route.pem", "")),
        ("rrcpd.net1", r"group\.key:1: expected", lambda: write("now/group.key", "1 abc\n", 0o600)),
        ("rrcpd.net1", r"group\.key: others can", lambda: os.chmod(at("now/group.key"), 0o642)),
    )


def refusals(bed, name, count):
    """The lines of reloads that were refused; the log is written a little later."""
    def lines():
        return [line for line in bed.log(name).splitlines() if "ERROR reload: nothing is" in line]
    daemons.until(lambda: f"{name} logs {count} refusals: {lines()}", lambda: len(lines()) >= count)
    return lines()


def nothing_is_taken(bed, files, provider):
    before, shown = observe(bed, files), provider.shown
    failed = dict.fromkeys(NAMES, 0)
    for daemon, said, spoil in bad_files(files):
        files.take("new")
        spoil()
        name = daemon + ".1"
        code, answer = ctl(bed, daemon, "reload")
        failed[name] += 1
        assert code == 3 and re.search(
            said, answer) and "old configuration stays" in answer, (said, code, answer)
        if daemon != "rrcpd.net1":
            assert observe(bed, files) == before, (said, before, observe(bed, files))
        lines = refusals(bed, name, failed[name])
        assert len(lines) == failed[name] and re.search(said, lines[-1]), (said, lines)
        assert bed.value(name, "reloadsFailed") == failed[name] and bed.value(name,
                                                                              "reloads") == 0, name
    assert re.search(r"last reload failed: .*access: every user can", ctl(bed, "p2ps", "status")[1])
    assert bed.values("p2ps.1")["reloadFailed"].startswith("accessFile")
    note = bed.monitor("-once")[1]  # a trouble of p2ps or src_dist would come first
    assert re.search(
        r"rrcpd\.net1\.1 .*runs the configuration of \d\d:\d\dZ, the last reload"
        r" failed: authKeyFile", note), note
    assert provider.shown == shown, "the route shows what it had"


def all_is_taken(bed, files, provider):
    before, shown = observe(bed, files), provider.shown
    files.take("new")
    for daemon in ("rrcpd.net1", "src_dist", "p2ps"):
        code, answer = ctl(bed, daemon, "reload")
        assert code == 0 and "configuration read again" in answer, (code, answer)
        assert bed.value(daemon + ".1",
                         "reloads") == 1 and "reloadFailed" not in bed.values(daemon + ".1")
    after = observe(bed, files)
    assert not [key for key in before if before[key] == after[key]], (before, after)
    assert (before["bob"], after["bob"]) == (True, False)
    provider.hang_up()
    daemons.until(lambda: "the route shows its new certificate", lambda: provider.shown != shown)


def refused(bed, files, daemon, user, why):
    """The log says why; it leaves lines out beyond five in a second, so the user tries again."""
    def is_said():
        assert not served(files, PORTS[daemon], user)
        return re.search(why, bed.log(daemon + ".1"))
    daemons.until(lambda: f"{daemon} says {why}", is_said)


def revoked_are_refused(bed, files, provider):
    """The list is in force; now bob's certificate comes into it, and that of the provider."""
    files.revoked("now/crl.pem", 30, "bob", "old/server")
    for daemon, port in PORTS.items():
        assert served(files, port, "bob"), "no reload yet"
        assert ctl(bed, daemon, "reload")[0] == 0
        assert not served(files, port, "bob") and served(files,
                                                         port), f"{daemon}: bob alone is refused"
        refused(bed, files, daemon, "bob", "certificate revoked: /CN=bob")
    provider.hang_up()
    bed.said("src_dist.1", "certificate revoked: /CN=server; route 1 failed")
    files.revoked("now/crl.pem", 0)
    for daemon, port in PORTS.items():
        assert ctl(bed, daemon, "reload")[0] == 0
        assert not served(files, port), "a list that has ended refuses everybody"
        bed.said(daemon + ".1", "ERROR tls: server: a list of tlsCrlFile has ended")
        refused(bed, files, daemon, "alice", "CRL has expired")
    files.write("now/more.cnf", "*itemLimit : 12\n")
    for daemon, port in PORTS.items():
        ends = daemon + ".tls.server.crlEnds"
        assert ends in bed.values(daemon + ".1")
        assert ctl(bed, daemon, "reload")[0] == 0
        assert served(files, port) and ends not in bed.values(daemon + ".1")


def check(bed):
    files = Files(bed.folder)
    with open(bed.conf, "r", encoding="ascii") as conf:
        assert files.now in conf.read()
    provider = Provider(files)
    bed.start("rrcpd.net1.1", "rrcpd", "net1")
    bed.start("src_dist.1", "src_dist")
    bed.start("p2ps.1", "p2ps")
    daemons.until(lambda: f"the route has dialled: {bed.log('src_dist.1')}", lambda: provider.shown)
    daemons.until(
        lambda: f"p2ps serves: {bed.log('p2ps.1')}", lambda: all(
            ctl(bed, name, "status")[0] == 0 for name in ("p2ps", "src_dist", "rrcpd.net1")))
    nothing_is_taken(bed, files, provider)
    all_is_taken(bed, files, provider)
    revoked_are_refused(bed, files, provider)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    daemons.run(CONF, check)
