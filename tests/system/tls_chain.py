#!/usr/bin/env python3
"""tls_chain.py - data go through the chain with TLS on every connection from outside.

An interactive provider is reached by an encrypted route, a non-interactive one comes to
tlsServerPort, a checking consumer to tlsPort. The tools speak plain RSSL: what stands between them
and the daemons here does nothing but encrypt.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

import conf_examples

CONF = """*rmds*startList : src_dist.1, p2ps.1
*rrcp*interface : lo
*rrcp*inProcess : True
*src_dist*1.route*hostList : 127.0.0.1:14402
*src_dist*1.route*encrypted : True
*src_dist*1.route*tlsCaFile : {folder}/cert.pem
*src_dist*serverPort : 0
*src_dist*tlsServerPort : 14403
*p2ps*rsslPort : 0
*p2ps*tlsPort : 14404
*tlsCertFile : {folder}/cert.pem
*tlsKeyFile : {folder}/key.pem
"""
ITEMS = 50


def pump(source, sink):
    try:
        while data := source.recv(65536):
            sink.sendall(data)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Tunnel:
    """Accepts on one port and connects to another, one of the two with TLS."""

    def __init__(self, port, to, context, accepts_tls):
        self.to, self.context, self.accepts_tls = to, context, accepts_tls
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            near, _ = self.listener.accept()
            threading.Thread(target=self.join, args=(near,), daemon=True).start()

    def join(self, near):
        try:
            if self.accepts_tls:
                near = self.context.wrap_socket(near, server_side=True)
            far = socket.create_connection(("127.0.0.1", self.to), 60)
            far.settimeout(None)
            if not self.accepts_tls:
                far = self.context.wrap_socket(far, server_hostname="localhost")
        except OSError:
            near.close()
            return
        threading.Thread(target=pump, args=(near, far), daemon=True).start()
        pump(far, near)


def contexts(folder):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", f"{folder}/key.pem", "-out",
                    f"{folder}/cert.pem"], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(f"{folder}/cert.pem", f"{folder}/key.pem")
    client = ssl.create_default_context(cafile=f"{folder}/cert.pem")
    return server, client


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        server, client = contexts(folder)
        Tunnel(14402, 14502, server, True)  # src_dist dials the interactive provider
        Tunnel(14503, 14403, client, False)  # the non-interactive provider dials src_dist
        Tunnel(14504, 14404, client, False)  # the consumer dials p2ps
        conf = os.path.join(folder, "c.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write(CONF.format(folder=folder))
        items = os.path.join(folder, "items")
        with open(items, "w", encoding="ascii") as out:
            conf_examples.tool("sink_driven_src", "-mklist", str(ITEMS), "X", stdout=out).wait()
        sample = os.path.join(conf_examples.ROOT, "conf", "sample.xml")
        common = ["-U", "1000", "-tps", "100", "-tcpnodel"]
        children = [
            conf_examples.tool("sink_driven_src", "-S", "RDFD", "-N", "14502", "-L", "127.0.0.1", "-seqdata", *common),
            conf_examples.tool("sink_driven_src", "-S", "IDNS", "-host", "127.0.0.1:14503", "-Q", sample, *common)]
        run = conf_examples.load_run()
        system = run.System(conf)
        try:
            assert run.up(system) == 0, "it did not start"
            conf_examples.check_consumer("14504", "RDFD", items)
            check_published()
        finally:
            run.down(system)
            for child in children:
                child.terminate()
                child.wait()


def check_published():
    """An item of the sample file, from the provider that came over TLS."""
    client = subprocess.run(
        [os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "IDNS", "-h", "127.0.0.1", "-p", "14504", "-il",
         "GOOG.O", "-u", "demo", "-secs", "2", "-timeout", "90", "-l", "1"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    print(client.stdout + client.stderr)
    assert client.returncode == 0, "the published item did not open"


if __name__ == "__main__":
    conf_examples.enter_namespace()
    sys.exit(main())
