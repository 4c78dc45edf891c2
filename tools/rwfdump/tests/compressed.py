#!/usr/bin/env python3
"""compressed.py FROM_CLIENT HOW OUT - what a client sent, with both compressions offered and its
messages compressed.

HOW: zlib, lz4, or what nobody can expand: other."""
# SPDX-License-Identifier: Apache-2.0
import sys
import zlib


def literals(data):
    """A block of LZ4 that holds all of it as it is."""
    rest = len(data) - 15
    return (bytes([0xf0]) + b"\xff" * (rest // 255) + bytes([rest % 255]) if rest >= 0
            else bytes([len(data) << 4])) + data


def main():
    source, how, target = sys.argv[1:]
    with open(source, "rb") as file:
        data = file.read()
    stream = zlib.compressobj()
    methods = {"zlib": lambda bytes_: stream.compress(bytes_) + stream.flush(zlib.Z_SYNC_FLUSH),
               "lz4": literals,
               "other": lambda bytes_: b"\xff" * 5}
    at, frames = 0, []
    while at < len(data):
        length = int.from_bytes(data[at:at + 2], "big")
        frames.append(data[at:at + length])
        at += length
    request = bytearray(frames[0])
    assert request[9] == 1, "the request has a bitmap of compressions"
    request[10] = 3
    with open(target, "wb") as out:
        out.write(request)
        for frame in frames[1:]:
            if frame[2] == 2 and len(frame) > 3:
                content = methods[how](frame[3:])
                frame = (3 + len(content)).to_bytes(2, "big") + b"\x04" + content
            out.write(frame)


main()
