#!/usr/bin/env python3
"""certificates.py - users by the certificates of their connections, over TLS and wss.

By subject and by alternative name, together with passwords, and in place of the name of the
login. p2ps runs alone, with its engine inside.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import signal
import subprocess
import sys

import conf_examples
import daemons

PORT, WSS = 14417, 15417
CONF = """*rrcp*interface : lo
*rrcp*inProcess : True
*runDir : {folder}/run
*logTarget : stderr
*p2ps*rsslPort : 0
*p2ps*wsEnable : True
*p2ps*wsPort : 0
*p2ps*tlsPort : %d
*p2ps*wsTlsPort : %d
*p2ps*tlsCertFile : {folder}/server.pem
*p2ps*tlsKeyFile : {folder}/server.key
*p2ps*tlsCaFile : {folder}/ca.pem
*p2ps*tlsClientCert : request
*p2ps*accessFile : {folder}/access
*p2ps*accessAudit : {folder}/trail
""" % (PORT, WSS)
ACCESS = """user desk1 auth=cert
user pricer cert=desk*
user alice password=secret cert=desk1
user guest
"""


def run_openssl(bed, *words):
    subprocess.run(["openssl", *words], cwd=bed.folder, capture_output=True, check=True, timeout=90)


def issue(bed, name, subject, alternative=None):
    """A certificate of our authority."""
    run_openssl(bed, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr")
    words = []
    if alternative:
        with open(os.path.join(bed.folder, f"{name}.ext"), "w", encoding="ascii") as file:
            file.write(f"subjectAltName={alternative}\n")
        words = ["-extfile", f"{name}.ext"]
    run_openssl(bed, "x509", "-req", "-days", "30", "-in", f"{name}.csr", "-CA", "ca.pem",
                "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.pem", *words)
    os.chmod(os.path.join(bed.folder, f"{name}.key"), 0o600)


def trail(bed):
    with open(os.path.join(bed.folder, "trail"), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("}\n")]


def log_in(bed, kind, user, certificate, *words):
    """The audit trail's line about it."""
    before = len([one for one in trail(bed) if one["e"] == "login"])
    shown = ["-tlsCertFile", f"{certificate}.pem", "-tlsKeyFile", f"{certificate}.key"]
    shown = shown if certificate else []
    port = str(WSS if kind == "wss" else PORT)
    subprocess.run([os.path.join(conf_examples.BIN, "rmdstestclient"), "-h", "localhost",
                    "-p", port, "-ct", kind, "-tlsCaFile", "ca.pem", *shown, "-u", user, *words,
                    "-list", "services", "-timeout", "1"], cwd=bed.folder,
                   stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=90)

    def lines():
        return [one for one in trail(bed) if one["e"] == "login"][before:]
    daemons.until(lambda: f"the trail has the login of {user}", lines)
    return lines()[0]


def start(bed, **parameters):
    with open(bed.conf, "a", encoding="ascii") as file:
        for name, value in parameters.items():
            file.write(f"*p2ps*{name} : {value}\n")
    bed.start("p2ps.1", "p2ps")
    bed.said("p2ps.1", f"port {PORT}")
    bed.said("p2ps.1", f"ort {WSS}")


def authority(bed):
    """ca.pem, and a server's certificate of it."""
    run_openssl(bed, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-days", "30", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem")
    issue(bed, "server", "/CN=gw1", "DNS:localhost,IP:127.0.0.1")


def serial_of(bed, name):
    return subprocess.run(["openssl", "x509", "-in", f"{name}.pem", "-noout", "-serial"],
                          cwd=bed.folder, capture_output=True, text=True, check=True,
                          timeout=90).stdout.strip().split("=")[1]


def a_certificate_is_a_user(bed):
    authority(bed)
    issue(bed, "desk1", "/O=Firm/CN=desk1",
          "email:desk1@firm.example,URI:spiffe://firm.example/desk1")
    issue(bed, "other", "/O=Firm/CN=other")
    path = os.path.join(bed.folder, "access")
    with open(path, "w", encoding="ascii") as file:
        file.write(ACCESS)
    os.chmod(path, 0o600)
    start(bed)
    for kind in "tls", "wss":
        one = log_in(bed, kind, "desk1", "desk1")
        assert (one["v"], one["by"], one["cert"]) == ("allow", "cert", "desk1"), one
        assert one["tls"].startswith("TLSv1."), one
        assert log_in(bed, kind, "pricer", "desk1")["v"] == "allow"
        for user, certificate, why in (("desk1", "other", "the certificate is of another user"),
                                       ("desk1", None, "a client certificate is needed"),
                                       ("pricer", "other", "the certificate is of another user"),
                                       ("alice", "desk1", "user name or password refused")):
            one = log_in(bed, kind, user, certificate)
            assert (one["v"], one["why"]) == ("deny", why), one


def a_password_may_be_asked_for_besides(bed):
    assert log_in(bed, "tls", "alice", "desk1", "-pw", "secret")["by"] == "password"
    assert log_in(bed, "tls", "alice", None, "-pw", "secret")["v"] == "deny"
    one = log_in(bed, "tls", "guest", None)
    assert (one["v"], one["by"]) == ("allow", "name") and "cert" not in one, one
    revoke(bed)
    bed.stop("p2ps.1")


def revoke(bed):
    """By its number, at a reload: whoever shows it is refused, as whom he comes or not."""
    with open(os.path.join(bed.folder, "access"), "w", encoding="ascii") as file:
        file.write(ACCESS + f"revoked cert={serial_of(bed, 'desk1')}\n")
    bed.running["p2ps.1"].signal(signal.SIGHUP)
    bed.said("p2ps.1", "access rules read from (?s:.*)access rules read from ")
    for user in "desk1", "guest":
        one = log_in(bed, "tls", user, "desk1")
        assert (one["v"], one["why"]) == ("deny", "the certificate is revoked"), one
        assert one["rule"].endswith("access:5"), one
    assert log_in(bed, "tls", "guest", "other")["v"] == "allow"
    with open(os.path.join(bed.folder, "access"), "w", encoding="ascii") as file:
        file.write(ACCESS)


def an_alternative_name_may_be_the_user_whatever_he_says(bed):
    with open(os.path.join(bed.folder, "access"), "a", encoding="ascii") as file:
        file.write("user *@firm.example auth=cert\n")
    start(bed, tlsUserFrom="email", tlsUserPolicy="replace")
    one = log_in(bed, "tls", "root", "desk1")
    assert (one["v"], one["user"], one["by"]) == ("allow", "desk1@firm.example", "cert"), one
    bed.said("p2ps.1", "user=desk1@firm.example logged in")
    one = log_in(bed, "tls", "guest", "other")
    assert (one["v"], one["why"]) == ("deny", "a client certificate is needed"), one
    bed.stop("p2ps.1")


def each_login_may_need_its_own(bed):
    start(bed, tlsUserFrom="cn", tlsUserPolicy="match")
    assert log_in(bed, "tls", "desk1", "desk1")["v"] == "allow"
    for certificate in "desk1", None:
        assert log_in(bed, "tls", "guest", certificate)["v"] == "deny"


if __name__ == "__main__":
    if not shutil.which("openssl"):
        print("needs the openssl program")
        sys.exit(77)
    conf_examples.enter_namespace()
    daemons.run(CONF, a_certificate_is_a_user, a_password_may_be_asked_for_besides,
                an_alternative_name_may_be_the_user_whatever_he_says, each_login_may_need_its_own)
