#!/usr/bin/env python3
"""plain_calls.py LIBRARY - the chain with eventMethod : poll, and in front of the kernel a library
that ends a program at the first call for streams which librspreload does not know."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import subprocess
import sys

import conf_examples
import daemons

CONF = """\
*rrcp*interface : lo
*rrcp*authKeyFile : none
*runDir : {folder}/run
*eventMethod : poll
*p2ps*rsslPort : 14202
*src_dist*serverPort : 14103
*src_dist*1.route*hostList : 127.0.0.1:14102
"""
PLAIN = ("-eventMethod", "poll")


def consume(service, *words):
    run = subprocess.run([os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", service, "-h",
                          "127.0.0.1", "-p", "14202", "-l", "1", "-timeout", "90", *words],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                         timeout=300)
    return run.returncode, run.stdout + run.stderr


def the_library_ends_what_it_does_not_know(bed):
    os.environ["LD_PRELOAD"] = bed.library
    code, said = consume("RDFD", "-il", "A.N")
    del os.environ["LD_PRELOAD"]
    assert code < 0 and "plain_calls: " in said, (code, said)


def numbers_are_in_order(bed):
    bed.start("rrcpd.net1.1", "rrcpd", "-allow-root")
    bed.said("rrcpd.net1.1", "NOTICE ready")
    os.environ["LD_PRELOAD"] = bed.library
    items = f"{bed.folder}/items"
    with open(items, "w", encoding="ascii") as out:
        out.write("A.N\nB.N\nC.N\n")
    words = ("sink_driven_src", *PLAIN, "-U", "500", "-seqdata", "-S")
    bed.children.append(conf_examples.tool(*words, "RDFD", "-N", "14102",
                                           stdout=subprocess.DEVNULL))
    bed.start("src_dist.1", "src_dist")
    bed.start("p2ps.1", "p2ps")
    bed.said("src_dist.1", "NOTICE ready")
    bed.said("p2ps.1", "NOTICE ready")
    bed.children.append(conf_examples.tool(*words, "IDNS", "-host", "127.0.0.1:14103", "-K",
                                           "-f", items,
                                           stdout=subprocess.DEVNULL))
    for service in ("RDFD", "IDNS"):
        code, said = consume(service, *PLAIN, "-f", items, "-seqcheck", "-secs", "2")
        assert code == 0 and re.search(r" 0 connections lost", said), said
        assert " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" in said, said


def main(library):
    children = []

    def begin(bed):
        bed.children, bed.library = children, library

    try:
        daemons.run(CONF, begin, the_library_ends_what_it_does_not_know, numbers_are_in_order)
    finally:
        for child in children:
            child.kill()
            child.communicate()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main(sys.argv[1])
