#!/usr/bin/env python3
"""names.py BUILD - a host's name has several addresses, and its daemon listens on one of them: publisher, consumers and
routes find it, whichever address the resolver names first.

A mount namespace has an /etc/hosts of its own. Each round listens on another address, so the order of the resolver does
not matter: in one of the rounds the first address refuses.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys
import tempfile

import conf_examples
import daemons
from running import spaces
from running.program import Program

BUILD = os.path.realpath(sys.argv[1])
ADDRESSES = "127.0.0.2", "127.0.0.3"
HOST, PROVIDER, PORT = "several", 14402, 14413
SAMPLE = os.path.join(conf_examples.ROOT, "conf", "sample.xml")
CONF = """*rrcp*interface : lo
*rrcp*inProcess : True
*runDir : {folder}/run
*logTarget : stderr
*src_dist*serverPort : %d
*src_dist*providerAccessFile : none
*src_dist*1.route*hostList : %s:%d
""" % (PORT, HOST, PROVIDER)


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def name_the_host(folder):
    files = {"hosts": "".join(f"{address} {HOST}\n" for address in ("::1", *ADDRESSES)),
             "host.conf": "multi on\n", "nsswitch.conf": "hosts: files\n"}
    for name, text in files.items():
        own, path = os.path.join(folder, name), os.path.join("/etc", name)
        write(own, text)
        if os.path.exists(path):
            subprocess.run(["mount", "--bind", own, path], check=True)


def start(bed, name, program, *words):
    bed.running[name] = Program(name, [program, *words], os.path.join(bed.folder, name + ".log"))
    open(bed.running[name].log, "wb").close()
    bed.running[name].start(stdin=subprocess.PIPE)


def tool(name):
    return os.path.join(conf_examples.BIN, name)


def all_find(bed, address):
    write(bed.conf, CONF.format(folder=bed.folder) + f"*listenAddress : {address}\n")
    start(bed, "provider", tool("sink_driven_src"), "-S", "RDFD", "-N", str(PROVIDER),
          "-L", address, "-Q", SAMPLE)
    bed.said("provider", "listening on port")
    bed.start("src_dist.1", "src_dist")
    bed.said("src_dist.1", "service RDFD is up")
    bed.said("src_dist.1", "accepting non-interactive providers")
    start(bed, "publisher", tool("sink_driven_src"), "-S", "SENT", "-host", f"{HOST}:{PORT}",
          "-Q", SAMPLE)
    bed.said("src_dist.1", "service SENT is up")
    start(bed, "consumer", tool("rmdstestclient"), "-S", "RDFD", "-h", HOST, "-p", str(PROVIDER),
          "-il", "DEMO1.O")
    bed.said("consumer", "1 of 1 items open")
    # librmds of the applications.
    start(bed, "example", os.path.join(BUILD, "examples", "example_consumer"), HOST, str(PROVIDER),
          "me", "RDFD", "DEMO1.O")
    bed.said("example", re.escape("DEMO1.O"))
    bed.close()


def main():
    if not spaces.enter(conf_examples.INSIDE, "-n", "-m"):
        print("SKIP: no namespaces for the network and for mounts may be made here")
        sys.exit(77)
    spaces.loopback_up()
    with tempfile.TemporaryDirectory() as folder:
        name_the_host(folder)
        daemons.run(CONF, *[lambda bed, address=address: all_find(bed, address)
                            for address in ADDRESSES])


main()
