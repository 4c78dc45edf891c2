#!/usr/bin/env python3
"""provider_access.py - who may publish: the port without an access file, with one, and with a bad one.

src_dist runs alone, with its engine inside. Addresses are those of 127.0.0.0/8: the port that is for this host only answers
at 127.0.0.1 and at no other of them.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import socket
import subprocess

import certificates
import conf_examples
import daemons

PORT = 14413
CONF = """*rrcp*interface : lo
*rrcp*inProcess : True
*runDir : {folder}/run
*logTarget : stderr
*src_dist*serverPort : %d
""" % PORT
ALLOWED = "user feed\nuser other\nallow feed SENT * do=publish\n"


def answers(address):
    with socket.socket() as probe:
        probe.settimeout(60)
        return probe.connect_ex((address, PORT)) == 0


def write(bed, text, mode=0o600):
    path = os.path.join(bed.folder, "publishers")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, mode)


def configure(bed, *lines):
    with open(bed.conf, "w", encoding="ascii") as file:
        file.write("\n".join([CONF.format(folder=bed.folder), *lines, ""]))


def start(bed, *lines):
    configure(bed, *lines)
    bed.start("src_dist.1", "src_dist")
    bed.said("src_dist.1", "accepting non-interactive providers")


def publish(bed, user, service, *words):
    """A publisher until src_dist has said what it makes of it."""
    sample = os.path.join(conf_examples.ROOT, "conf", "sample.xml")
    return subprocess.Popen([os.path.join(conf_examples.BIN, "sink_driven_src"), "-S", service, "-host", f"127.0.0.1:{PORT}",
                             "-u", user, "-Q", sample, "-U", "10", *words], cwd=bed.folder, stdout=subprocess.DEVNULL,
                            stderr=open(heard(bed), "wb"))


def heard(bed):
    return os.path.join(bed.folder, "publisher.log")


def tells(bed, pattern):
    """The publisher that was started last says so."""
    def text():
        with open(heard(bed), encoding="utf-8") as file:
            return file.read()
    daemons.until(lambda: f"the publisher says {pattern}; it said {text()}",
                  lambda: re.search(pattern, text()))


def end(publisher):
    publisher.terminate()
    publisher.wait()


def closed_by_default(bed):
    start(bed)
    bed.said("src_dist.1", r"open on 127\.0\.0\.1 only, as providerAccessFile is not set")
    assert answers("127.0.0.1") and not answers("127.0.0.2"), "the port is open to others"
    publisher = publish(bed, "feed", "SENT")
    bed.said("src_dist.1", "service SENT is up")
    end(publisher)
    bed.said("src_dist.1", "service SENT is down")
    bed.stop("src_dist.1")


def open_if_written(bed):
    start(bed, "*src_dist*providerAccessFile : none")
    bed.said("src_dist.1", r"WARNING.*providerAccessFile is none")
    assert answers("127.0.0.1") and answers("127.0.0.2"), "the port is not open"
    bed.stop("src_dist.1")
    start(bed, "*src_dist*providerAccessFile : none", "*listenAddress : 127.0.0.3")
    assert answers("127.0.0.3") and not answers("127.0.0.1"), "listenAddress is not heeded"
    bed.stop("src_dist.1")


def the_file_decides(bed):
    write(bed, ALLOWED)
    start(bed, "*src_dist*providerAccessFile : {}/publishers".format(bed.folder))
    one = publish(bed, "mallory", "SENT")
    bed.said("src_dist.1", r"user mallory.*its login is refused")
    two = publish(bed, "other", "SENT")
    bed.said("src_dist.1", r"service SENT of provider .*user other.* is refused")
    three = publish(bed, "feed", "SENT")
    bed.said("src_dist.1", "service SENT is up")
    for publisher in one, two:
        end(publisher)
    daemons.until(lambda: "the refusals are counted", lambda: bed.value("src_dist.1", "src_dist.servicesRefused") > 0)
    rules_are_read_again(bed)
    end(three)
    bed.stop("src_dist.1")


def a_publisher_has_a_password(bed):
    """And is told what is refused, why, and what to do."""
    write(bed, "user feed password=open-sesame\nallow feed SENT * do=publish\n")
    start(bed, "*src_dist*providerAccessFile : {}/publishers".format(bed.folder))
    password = os.path.join(bed.folder, "password")
    for words, remedy in (((), r"wants a line for this user \(-u\), and its password"),
                          (("-pw", "wrong"), "compare -u and the password with the user line")):
        publisher = publish(bed, "feed", "SENT", *words)
        tells(bed, r"refuses the login of user feed \(1 times\): CLOSED.*user name or password refused"
                   rf".*; .*{remedy}")
        end(publisher)
    assert "service SENT is up" not in bed.log("src_dist.1")
    for text, mode, says in (("open-sesame\n", 0o602, "every user can write it"),
                             ("", 0o600, "first line is empty"),
                             ("x" * 200, 0o600, "first line is too long"),
                             (None, 0, "No such file")):
        if os.path.exists(password):
            os.unlink(password)
        if text is not None:
            with open(password, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(password, mode)
        refused = publish(bed, "feed", "SENT", "-pwfile", password)
        assert refused.wait(60) == 2, says
        tells(bed, f"-pwfile: {password}: .*{says}")
    with open(password, "w", encoding="ascii") as file:
        file.write("open-sesame\nonly the first line counts\n")
    os.chmod(password, 0o600)
    publisher = publish(bed, "feed", "SENT", "-pwfile", password)
    bed.said("src_dist.1", "service SENT is up")
    end(publisher)
    publisher = publish(bed, "feed", "OTHER", "-pwfile", password)
    tells(bed, r"of service OTHER is refused: CLOSED.*; .*allow USER SERVICE \* do=publish")
    end(publisher)
    bed.stop("src_dist.1")


def rules_are_read_again(bed):
    """A mistake changes nothing, a whole file all."""
    process = bed.running["src_dist.1"]
    write(bed, "user feed\npermit\n")
    process.signal(signal.SIGHUP)
    bed.said("src_dist.1", r"providerAccessFile .*/publishers:2: .permit. is not a statement")
    assert "service SENT is down" not in bed.log("src_dist.1")
    write(bed, "user other\nallow other SENT * do=publish\n")
    process.signal(signal.SIGHUP)
    bed.said("src_dist.1", "service SENT is down")


def a_bad_file_lets_nobody_publish(bed):
    """Its mistake is told with file and line."""
    for text, mode, says in (("user feed\npermit\n", 0o600, r"/publishers:2: .permit. is not a statement.*nobody may publish"),
                             ("", 0o600, r"/publishers: no line begins with user: nobody may publish"),
                             (ALLOWED, 0o602, r"every user can write it.*nobody may publish")):
        write(bed, text, mode)
        start(bed, "*src_dist*providerAccessFile : {}/publishers".format(bed.folder))
        bed.said("src_dist.1", says)
        publisher = publish(bed, "feed", "SENT")
        bed.said("src_dist.1", r"user feed.*its login is refused")
        end(publisher)
        assert not re.search("service SENT is up", bed.log("src_dist.1"))
        bed.stop("src_dist.1")


def a_connection_has_to_be_as_the_file_says(bed):
    """TLS, the name in a certificate, its number; what a reload does not let in any more ends."""
    certificates.authority(bed)
    certificates.issue(bed, "feed", "/O=Firm/CN=feed")
    write(bed, "user feed auth=cert tls=yes\nuser other tls=yes\nallow * SENT * do=publish\n")
    start(bed, "*src_dist*providerAccessFile : {}/publishers".format(bed.folder),
          f"*tlsServerPort : {PORT + 1}", "*src_dist*tlsClientCert : request",
          *(f"*src_dist*{name} : {bed.folder}/{file}" for name, file in
            (("tlsCertFile", "server.pem"), ("tlsKeyFile", "server.key"), ("tlsCaFile", "ca.pem"))))
    plain = publish(bed, "other", "SENT")
    tells(bed, "refuses the login of user other.*other must use TLS")
    end(plain)
    publisher = publish(bed, "feed", "SENT", "-host", f"localhost:{PORT + 1}", "-E", "tls",
                        "-tlsCaFile", "ca.pem", "-tlsCertFile", "feed.pem",
                        "-tlsKeyFile", "feed.key")
    bed.said("src_dist.1", "service SENT is up")
    serial = certificates.serial_of(bed, "feed")
    write(bed, f"user feed auth=cert\nallow * SENT * do=publish\nrevoked cert={serial}\n")
    bed.running["src_dist.1"].signal(signal.SIGHUP)
    bed.said("src_dist.1", "its login ends: the certificate is revoked")
    bed.said("src_dist.1", "service SENT is down")
    tells(bed, "refuses the login of user feed.*the certificate is revoked")
    daemons.until(lambda: "the end is counted",
                  lambda: bed.value("src_dist.1", "src_dist.loginsEnded") == 1)
    end(publisher)
    bed.stop("src_dist.1")


if __name__ == "__main__":
    conf_examples.enter_namespace()
    daemons.run(CONF, closed_by_default, open_if_written, the_file_decides, a_publisher_has_a_password,
                a_bad_file_lets_nobody_publish, a_connection_has_to_be_as_the_file_says)
