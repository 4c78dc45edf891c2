#!/usr/bin/env python3
"""capture.py - makes the captures that the golden tests read.

    capture.py TRANSPORT.hex OUT

TRANSPORT.hex has lines "C hex" and "S hex", bytes of the connecting and the listening end. OUT is
pcap, or pcapng when it is so called. Segments are cut at odd places, some come out of order, some
twice: a reader has to put the streams together again.
"""
# SPDX-License-Identifier: Apache-2.0
import random
import struct
import sys

CLIENT = (bytes([127, 0, 0, 1]), 40000)
SERVER = (bytes([127, 0, 0, 1]), 14002)


def packet(source, target, seq, flags, data):
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], seq, 0, 5 << 4, flags, 65535, 0, 0)
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp) + len(data), 0, 0, 64, 6, 0,
                     source[0], target[0])
    return b"\0" * 12 + b"\x08\x00" + ip + tcp + data


def packets(path):
    rng = random.Random(1)
    seq = {"C": 0xfffffff0, "S": 1000}  # the first wraps
    ends = {"C": (CLIENT, SERVER), "S": (SERVER, CLIENT)}
    for side in "CS":
        yield packet(*ends[side], seq[side], 0x02 if side == "C" else 0x12, b"")
        seq[side] += 1
    for line in open(path, encoding="ascii"):
        if line[:2] not in ("C ", "S "):
            continue
        side, data = line[0], bytes.fromhex(line[2:])
        cuts = []
        while data:
            size = rng.randint(1, 1400)
            cuts.append(packet(*ends[side], seq[side] & 0xffffffff, 0x18, data[:size]))
            seq[side] += len(data[:size])
            data = data[size:]
        if len(cuts) > 1:
            cuts[0], cuts[1] = cuts[1], cuts[0]
        yield from cuts
        yield cuts[0]


def main():
    source, target = sys.argv[1:]
    with open(target, "wb") as out:
        if target.endswith("ng"):
            out.write(struct.pack("<IIIHHqI", 0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0, -1, 28))
            out.write(struct.pack("<IIHHIHHB3xHHI", 1, 32, 1, 0, 0, 9, 1, 9, 0, 0, 32))
        else:
            out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, data in enumerate(packets(source)):
            if target.endswith("ng"):
                time = 1700000000 * 10**9 + i * 1000000
                body = data + b"\0" * (-len(data) % 4)
                length = 32 + len(body)
                out.write(struct.pack("<IIIIIII", 6, length, 0, time >> 32, time & 0xffffffff,
                                      len(data), len(data)) + body + struct.pack("<I", length))
            else:
                out.write(struct.pack("<IIII", 1700000000, i * 1000, len(data), len(data)) + data)


main()
