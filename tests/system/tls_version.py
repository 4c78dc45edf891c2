#!/usr/bin/env python3
"""tls_version.py - tlsMinVersion decides which TLS a consumer may speak."""
# SPDX-License-Identifier: Apache-2.0
import os
import socket
import ssl
import subprocess
import tempfile

import conf_examples

CONF = """*rmds*startList : p2ps.1
*rrcp*interface : lo
*rrcp*inProcess : True
*p2ps*rsslPort : 0
*p2ps*tlsPort : 14443
*p2ps*tlsCertFile : {folder}/cert.pem
*p2ps*tlsKeyFile : {folder}/key.pem
*p2ps*tlsMinVersion : {version}
"""


def spoken(newest):
    """The version agreed with p2ps by a client that goes up to `newest`; None when it is refused."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = newest
    with socket.create_connection(("127.0.0.1", 14443), 60) as plain:
        try:
            with context.wrap_socket(plain) as secret:
                return secret.version()
        except ssl.SSLError:
            return None


def suite_taken(ciphers):
    """Whether p2ps takes a client of TLS 1.2 that knows these alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(ciphers + ":@SECLEVEL=0")
    with socket.create_connection(("127.0.0.1", 14443), 60) as plain:
        try:
            with context.wrap_socket(plain):
                return True
        except ssl.SSLError:
            return False


def an_open_door_has_to_be_meant(folder):
    """A plain port, rsslPort or wsPort, beside one that asks for certificates: an error, unless a
    line says that it is wanted."""
    conf = os.path.join(folder, "door.cnf")
    lines = CONF.format(folder=folder, version="1.2")
    lines += f"*tlsRequireClientCert : True\n*tlsCaFile : {folder}/cert.pem\n*runDir : {folder}/run\n"
    web = "*p2ps*wsEnable : True\n*p2ps*wsPort : 14243\n"
    for text, remedy in (
            (lines.replace("rsslPort : 0", "rsslPort : 14202"), "allowRSSLConnections : False"),
            (lines + web, "wsPort : 0"),
            (lines + web + "*p2ps*allowRSSLConnections : False\n", "wsPort : 0"),
            (lines.replace("tlsPort", "wsTlsPort") + web, "wsPort : 0")):
        with open(conf, "w", encoding="ascii") as out:
            out.write(text)
        said = subprocess.run([os.path.join(conf_examples.BIN, "p2ps"), "-c", conf, "-fg"],
                              check=False, timeout=60, stderr=subprocess.PIPE, text=True)
        assert said.returncode == 1 and remedy in said.stderr, said


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout",
                        f"{folder}/key.pem", "-out", f"{folder}/cert.pem"], check=True, capture_output=True)
        conf = os.path.join(folder, "c.cnf")
        run = conf_examples.load_run()
        an_open_door_has_to_be_meant(folder)
        for version, old in (("1.2", "TLSv1.2"), ("1.3", None)):
            with open(conf, "w", encoding="ascii") as out:
                out.write(CONF.format(folder=folder, version=version))
            system = run.System(conf)
            try:
                assert run.up(system) == 0, "it did not start"
                assert spoken(ssl.TLSVersion.TLSv1_3) == "TLSv1.3"
                assert spoken(ssl.TLSVersion.TLSv1_2) == old, f"{version}: {spoken(ssl.TLSVersion.TLSv1_2)}"
                assert suite_taken("ECDHE-RSA-AES256-GCM-SHA384") == bool(old)
                for weak in ("ECDHE-RSA-AES128-SHA", "AES128-GCM-SHA256", "AES256-SHA"):
                    assert not suite_taken(weak), weak
            finally:
                run.down(system)


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
