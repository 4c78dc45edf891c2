#!/usr/bin/env python3
"""direction.py CAPTURE.pcap PORT OUT - the bytes that the end with this port sent, without their
packets."""
# SPDX-License-Identifier: Apache-2.0
import struct
import sys


def main():
    capture, port, target = sys.argv[1:]
    data = open(capture, "rb").read()
    at, start, pieces = 24, None, {}
    while at < len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        tcp = data[at + 16 + 34:at + 16 + size]
        at += 16 + size
        if struct.unpack_from(">H", tcp)[0] != int(port):
            continue
        seq = struct.unpack_from(">I", tcp, 4)[0]
        if tcp[13] & 2:
            start = seq + 1
        else:
            pieces[(seq - start) & 0xffffffff] = tcp[20:]
    with open(target, "wb") as out:
        for offset in sorted(pieces):
            out.seek(offset)
            out.write(pieces[offset])


main()
