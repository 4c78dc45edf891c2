"""attached.py - a user of an rrcpd that writes whatever it likes into its ring, and records of
docs/design/rrmp.md for it."""
# SPDX-License-Identifier: Apache-2.0
import mmap
import os
import socket
import struct

HEAD, DAEMON_SLEEPS, DATA = 64, 192, 4096
APPLICATION = 2
CONTROL, USER_DOWN = 0xFFFFFFFF, 0xFFFFFFFE
INSTANCE, SERVICE, UPDATE, BIND, STATUS = 1, 2, 34, 32, 35


class User:
    """An application (flags APPLICATION), or a program like a daemon (flags 0)."""

    def __init__(self, folder, instance, flags, name=b"forger"):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(f"{folder}/rrcpd.net1.{instance}/attach")
        self.socket.send(struct.pack("<IIIIII64s", 0x54415252, 1, 1, flags, 1 << 20, 0, name))
        reply, fds, _flags, _address = socket.recv_fds(self.socket, 512, 8)
        result, self.port = struct.unpack_from("<iH", reply, 8)
        assert result == 0, reply[40:168].rstrip(b"\0")
        self.session, = struct.unpack_from("<Q", reply, 16)
        self.ring = mmap.mmap(fds[1], DATA + (1 << 20))
        self.doorbell = fds[3]
        os.close(fds[0])
        os.close(fds[1])
        os.close(fds[2])
        self.head = 0

    def send(self, topic, payload, session=0, port=0, flags=0):
        length = 24 + len(payload)
        record = struct.pack("<IHHQIHH", length, 32, flags, session, topic, port, 0) + payload
        record += bytes(-len(record) % 8)
        assert self.head + len(record) < 1 << 20, "the ring is full"
        self.ring[DATA + self.head:DATA + self.head + len(record)] = record
        self.head += len(record)
        self.ring[HEAD:HEAD + 8] = struct.pack("<Q", self.head)
        os.write(self.doorbell, struct.pack("<Q", 1))

    def close(self):
        self.socket.close()
        os.close(self.doorbell)


def topic_of(name):
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def padded(data):
    return data + bytes(-len(data) % 4)


def header(kind, svc, svc_seq=0, flags=0):
    return struct.pack(">BBHI", kind, 0x10 | flags, svc, svc_seq)


def instance_record(name, service, svc=0):
    row = struct.pack(">HHIII", svc, 3, topic_of(service), 1, 0)
    return (header(INSTANCE, 0xFFFF)
            + struct.pack(">QIHHIBBH", 0, 1, 1000, 0, 0, len(name), 0, 1)
            + padded(name.encode()) + row)


def service_record(service, svc=0):
    capabilities = struct.pack(">BBH", 1, 0, 1) + padded(bytes([6]))
    return (header(SERVICE, svc)
            + struct.pack(">IIHBBBBHIIIHBB", 1, topic_of(service), 0, 3, 0, 0, 1, 0, 0, 0, 0, 1,
                          len(service), 0)
            + padded(service.encode()) + capabilities)


def tick_record(kind, svc, svc_seq, handle, item_seq, message):
    return header(kind, svc, svc_seq) + struct.pack(">II", handle, item_seq) + message
