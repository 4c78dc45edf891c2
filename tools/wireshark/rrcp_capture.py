#!/usr/bin/env python3
"""rrcp_capture.py OUT.pcap - one packet of each type, one with a tag, one again, and broken
ones."""
# SPDX-License-Identifier: Apache-2.0
import struct
import sys

SESSION, OTHER = 0x0123456789abcdef, 0x1111222233334444


def network(name):
    value = 2166136261
    for c in name.encode():
        value = (value ^ c) * 16777619 & 0xffffffff
    return value


def packet(kind, body, flags=0, trailer=b"", length=None):
    size = 24 + len(body) + len(trailer)
    return struct.pack(">HBBBBHQII", 0x5252, 0x11, kind, flags, 0, length or size, SESSION,
                       network("net1"), 10000000) + body + trailer


def data(seq=7, held=3):
    update = struct.pack(">BBHI", 34, 0x10, 3, 77) + b"rest"
    chunks = struct.pack(">HBBIHH", 12, 0xc0, 0, 1, 257, 0) + update
    chunks += struct.pack(">HBB", 2, 0xe0, 0) + b"ok"
    return struct.pack(">QIHH", seq, held, 2, 40) + chunks


def packets():
    yield packet(1, data())
    yield packet(1, data(), flags=1)
    yield packet(1, data(2 ** 63 + 5, 1), flags=2,
                 trailer=struct.pack(">BBHI", 1, 2, 0, 5) + bytes(16))
    long = struct.pack(">HBBIHHQI", 3, 0x90, 0, 9, 2, 3, OTHER, 1000) + b"abc"
    yield packet(2, struct.pack(">QQQHH", 2 << 48 | 1, OTHER, 0, 1, 52) + long)
    yield packet(3, struct.pack(">QQQIHH", OTHER, 1 << 48 | 4, 5, 99, 256, 1))
    beacon = struct.pack(">QQQIHHIHBB", 8, 4, 1767225600000, 1, 40001, 5, 2000, 10, 13, 1)
    yield packet(4, beacon + b"hosta.1.rrcpd\0\0\0" + b"\1\0050.1.0")
    yield packet(5, struct.pack(">QQHHIIII", SESSION, 4, 2, 1, 0, 1, 2, 3))
    yield packet(6, struct.pack(">QHBBHHII", 4, 1, 2, 0, 50, 0, 0, 1))
    yield packet(7, struct.pack(">QB", 9, 1))
    yield packet(8, struct.pack(">QQ", OTHER, 0x5566) + bytes(108))
    yield packet(9, struct.pack(">QQQIIIIHH", OTHER, 20, 25, 3, 4, 77, 1000, 12, 0))
    yield packet(10, struct.pack(">HHQ", 1, 7, 2 ** 40))
    yield packet(1,
                 struct.pack(">QIHH", 7, 3, 2, 40) + struct.pack(">HBBIHH", 500, 0xc0, 0, 1, 2, 0))
    yield packet(5, b"short")
    yield packet(1, data(), length=1000)
    yield b"something else on this port"
    yield packet(1, data(8)) + packet(1, data(9), flags=1) + packet(7, struct.pack(">QB", 9, 1))
    yield packet(1, data(10)) + packet(1, data(11), length=1000)
    yield packet(1, bytes(40), flags=6, trailer=struct.pack(">BBHI", 1, 2, 0, 6) + bytes(16))


def main():
    with open(sys.argv[1], "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, payload in enumerate(packets()):
            udp = struct.pack(">HHHH", 40001, 9000, 8 + len(payload), 0) + payload
            ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0,
                             bytes([127, 0, 0, 1]), bytes([239, 255, 82, 82]))
            frame = bytes(12) + b"\x08\x00" + ip + udp
            out.write(struct.pack("<IIII", 1700000000, i * 1000, len(frame), len(frame)) + frame)


main()
