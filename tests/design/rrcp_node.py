"""rrcp_node.py - a node of RRCP written from docs/design/rrcp.md alone, with packets of its own."""
# SPDX-License-Identifier: Apache-2.0
import random

from rrcp import Decoder, Stream, fnv1a

PAYLOAD = 1472 - 52 - 16  # fits UDATA, too


class Node:
    """Sends and repairs (5), receives and asks (7), unicast (8). Time is in nanoseconds."""

    def __init__(self, document, session, seed):
        self.doc, self.session = document, session
        self.decoder = Decoder(document, "net1", session)
        self.types = document.values["type of Header"]
        self.random = random.Random(seed)
        self.now, self.next_seq, self.counter = 0, 1, 0
        self.held = {}                   # seq -> body, for repairs
        self.peer = None
        self.streams = {}                # m, u: what comes
        self.highest = 0
        self.useq, self.unacked = 1, {}  # our unicast stream
        self.repairs = self.asked = 0

    # ---- packets out ----

    def packet(self, name, body, flags=0):
        size = 24 + len(body)
        head = {"magic": 0x5252, "version": 0x11, "type": self.types[name], "flags": flags,
                "length": size, "session": self.session, "network": fnv1a("net1"),
                "tx_time": self.now // 1000 & 0xFFFFFFFF}
        return self.doc.encode("Header", head) + body

    def beacon(self, echo=b""):
        self.counter += 1
        name = b"python.1.rrcpd"
        body = {"next_seq": self.next_seq, "trail": min(self.held, default=self.next_seq),
                "counter": self.counter, "hold_ms": 2000, "interval_ms": 10,
                "name_length": len(name), "name": name}
        if echo:
            body.update(tlv_count=1, tlvs=[{"type": 5, "value_length": len(echo), "value": echo}])
        return self.packet("BEACON", self.doc.encode("BEACON", body))

    def chunks(self, message):
        """A message as chunks, one list for each packet."""
        bits = self.doc.bits["flags of Chunk"]
        pieces = [message[i:i + PAYLOAD] for i in range(0, len(message), PAYLOAD)] or [b""]
        for i, piece in enumerate(pieces):
            flags = bits["BEGIN"] * (i == 0) | bits["END"] * (i + 1 == len(pieces))
            yield {"payload_length": len(piece), "flags": flags, "topic": 5, "source_port": 1,
                   "total": len(message), "payload": piece}

    def data(self, message):
        for chunk in self.chunks(message):
            body = {"seq": self.next_seq, "held": len(self.held), "chunk_count": 1,
                    "first_begin": 40 if chunk["flags"] & 0x80 else 0, "chunks": [chunk]}
            self.held[self.next_seq] = body
            self.next_seq += 1
            yield self.packet("DATA", self.doc.encode("DATA", body))

    def unicast(self, message):
        for chunk in self.chunks(message):
            body = {"useq": self.useq, "destination": self.peer, "chunk_count": 1,
                    "first_begin": 52 if chunk["flags"] & 0x80 else 0, "chunks": [chunk]}
            self.unacked[self.useq] = body
            self.useq += 1
            yield self.packet("UDATA", self.doc.encode("UDATA", body))

    def again(self):
        """What is not acknowledged, once more."""
        for body in self.unacked.values():
            yield self.packet("UDATA", self.doc.encode("UDATA", body), 1)

    # ---- packets in ----

    def take(self, data):
        """The answers to one packet."""
        name, head, body = self.decoder.packet(data)
        self.peer = head["session"]
        if name == "DATA":
            self.stream("m", body["seq"]).take(body["seq"], body)
            self.highest = max(self.highest, body["seq"])
        elif name == "BEACON":
            self.stream("m", body["next_seq"])
            self.highest = max(self.highest, body["next_seq"] - 1)
        elif name == "SOLICIT" and body["target"] == self.session:
            echo = {"receiver": self.peer, "nonce": body["nonce"]}
            yield self.beacon(self.doc.encode("Echo", echo))
        elif name == "NAK":
            yield from self.repair(body)
        elif name == "UACK":
            for useq in [u for u in self.unacked if u < body["next"]]:
                del self.unacked[useq]
        elif name == "UDATA":
            self.stream("u", 1).take(body["useq"], body)
            ack = {"destination": self.peer, "next": self.streams["u"].next, "window": 256}
            yield self.packet("UACK", self.doc.encode("UACK", ack))

    def stream(self, kind, first):
        return self.streams.setdefault(kind, Stream(self.session, first))

    def repair(self, nak):
        for r in nak["ranges"]:
            for seq in range(nak["base"] + r["offset"], nak["base"] + r["offset"] + r["count"]):
                self.repairs += 1
                yield self.packet("DATA", self.doc.encode("DATA", self.held[seq]), 1)

    def ask(self):
        """A NAK for all that is missing."""
        stream = self.streams.get("m")
        if not stream:
            return
        missing = [s for s in range(stream.next, self.highest + 1) if s not in stream.waiting]
        for i in range(0, len(missing), 64):
            part = missing[i:i + 64]
            body = {"target": self.peer, "base": part[0], "range_count": len(part), "attempt": 1,
                    "ranges": [{"offset": s - part[0], "count": 1} for s in part]}
            self.asked += 1
            yield self.packet("NAK", self.doc.encode("NAK", body))
