"""rrcp.py - a receiver of RRCP written from docs/design/rrcp.md alone."""
# SPDX-License-Identifier: Apache-2.0
import aesgcm
from wire import Malformed

TOPIC_USER_DOWN = 0xFFFFFFFE
# Section 12: bytes that stay readable; BEACON and SOLICIT are never encrypted.
CLEAR = {"DATA": 24, "NCF": 24, "BYE": 24, "HSM": 24, "UACK": 32, "NAK": 32, "STATUS": 32, "SKIP": 32,
         "UDATA": 40}


def fnv1a(text):
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


class Refused(Exception):
    """A check of section 4 failed; the argument is its name."""


class Decoder:
    """Section 3 and the checks 1 to 10 of section 4."""

    def __init__(self, document, network, session, keys=None):
        self.doc, self.network, self.session, self.keys = document, fnv1a(network), session, keys
        self.types = {v: k for k, v in document.values["type of Header"].items()}
        self.flags = document.bits["flags of Header"]
        self.chunk = document.bits["flags of Chunk"]

    def packet(self, data):
        """Type name, header and body of a packet, or Refused."""
        if len(data) < 24 or len(data) > 9000:
            raise Refused("size")
        head, body_at = self.doc.decode("Header", data)
        if head["length"] != len(data):
            raise Refused("size")
        self._head(head)
        end = len(data)
        name = self.types[head["type"]]
        if head["flags"] & self.flags["AUTH"]:
            if end < body_at + 24:
                raise Refused("body")
            end -= 24
        if end < self.doc.fixed_size(name):
            raise Refused("body")
        if self.keys:
            data = self._opened(name, head, data, end)
        return name, head, self._body(name, data, body_at, end)

    def _head(self, head):
        if head["magic"] != 0x5252:
            raise Refused("magic")
        if head["version"] >> 4 != 1 or head["version"] < 0x11:
            raise Refused("version")
        if head["network"] != self.network:
            raise Refused("network")
        if head["type"] not in self.types:
            raise Refused("type")
        if head["session"] == 0:
            raise Refused("session")
        if head["session"] == self.session:
            raise Refused("own")
        if head["flags"] & ~sum(self.flags.values()) or head["path"] > 1:
            raise Refused("flags")
        has_tag = head["flags"] & self.flags["AUTH"]
        if self.keys and not has_tag:
            raise Refused("auth missing")
        if head["flags"] & self.flags["SEALED"] and not (self.keys and has_tag):
            raise Refused("auth tag")

    def _opened(self, name, head, data, end):
        """Section 12: the packet as it was before it was encrypted, without its trailer."""
        trailer, _ = self.doc.decode("Trailer", data, end)
        is_sealed = head["flags"] & self.flags["SEALED"]
        clear = CLEAR.get(name, end) if is_sealed else end
        algorithm = trailer["algorithm"]
        if algorithm not in (2, 3):
            raise Refused("auth tag")
        for number, key in self.keys:
            info = b"rrcp1" + self.network.to_bytes(4, "big") + bytes([number, algorithm])
            session_key = aesgcm.hkdf(key, head["session"].to_bytes(8, "big"), info,
                                      16 if algorithm == 2 else 32)
            nonce = bytes(6) + data[end + 2:end + 8]
            plain = aesgcm.opened(session_key, nonce, data[:clear], data[clear:end],
                                  trailer["tag"])
            if number == trailer["key_id"] and plain is not None:
                return data[:clear] + plain
        raise Refused("auth tag")

    def _body(self, name, data, start, end):
        fixed = {f.name: f for f in self.doc.layouts[name]}
        if name in ("DATA", "UDATA"):
            return self._data(name, data, end)
        try:
            body, pos = self.doc.decode(name, data, start, end, 0)
        except Malformed as why:
            raise Refused("count") from why
        if name in ("NAK", "NCF", "SKIP"):
            self._ranges(body, pos == end)
        elif name == "BEACON" and not (1 <= body["name_length"] <= 64 and pos == end):
            raise Refused("count")
        elif pos != end:
            raise Refused("count" if "value_count" in fixed else "body")
        return body

    def _ranges(self, body, is_exact):
        if not 1 <= body["range_count"] <= 64 or not is_exact:
            raise Refused("count")
        after = total = 0
        for r in body["ranges"]:
            total += r["count"]
            if r["count"] == 0 or r["offset"] < after or total > 65536:
                raise Refused("ranges")
            after = r["offset"] + r["count"]

    def _data(self, name, data, end):
        """Chunk by chunk, since the checks of section 4 speak of each."""
        numbers = {}
        for field in self.doc.layouts[name][:-1]:
            size = int(field.size)
            numbers[field.name] = int.from_bytes(data[field.offset:field.offset + size], "big")
        pos, begin, chunks = self.doc.layouts[name][-1].offset, 0, []
        if numbers["chunk_count"] == 0:
            raise Refused("count")
        for i in range(numbers["chunk_count"]):
            try:
                chunk, after = self.doc.decode("Chunk", data, pos, end)
            except Malformed as why:
                raise Refused("chunks") from why
            has = {bit: bool(chunk["flags"] & value) for bit, value in self.chunk.items()}
            is_last = i + 1 == numbers["chunk_count"]
            if (chunk["flags"] & ~sum(self.chunk.values()) or chunk["zero"] or
                    (i == 0 and has["SAME"]) or (i > 0 and not has["BEGIN"]) or
                    (not is_last and not has["END"])):
                raise Refused("chunks")
            begin = begin or (pos if has["BEGIN"] else 0)
            chunks.append({**chunk, **has})
            pos = after
        if pos != end or begin != numbers["first_begin"]:
            raise Refused("chunks")
        return {**numbers, "chunks": chunks}


class Stream:
    """Sections 3 and 7.2: packets of one stream put in order, messages put together."""

    def __init__(self, own_session, first):
        self.own, self.next, self.waiting = own_session, first, {}
        self.pieces = None
        self.messages = []

    def take(self, number, body):
        if number < self.next or number in self.waiting:
            return
        self.waiting[number] = body
        while self.next in self.waiting:
            self._chunks(self.waiting.pop(self.next)["chunks"])
            self.next += 1

    def _chunks(self, chunks):
        head = None
        for c in chunks:
            if not c["SAME"]:
                head = (c["source_port"], c["destination_port"], c["topic"])
            if c["DIRECTED"] and c["destination_session"] != self.own:
                continue
            if c["BEGIN"] and c["END"]:
                self.messages.append((*head, c["payload"]))
                continue
            if c["BEGIN"]:
                self.pieces = (c["total"], b"")
            if self.pieces is None:
                continue
            self.pieces = (self.pieces[0], self.pieces[1] + c["payload"])
            if c["END"]:
                if len(self.pieces[1]) != self.pieces[0]:
                    raise AssertionError("pieces do not add up to total")
                self.messages.append((*head, self.pieces[1]))
                self.pieces = None
