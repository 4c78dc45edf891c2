#!/usr/bin/env python3
"""documents.py BIN - docs/design is true: its tables and rules, applied to what the engines make,
come to what the engines say."""
# SPDX-License-Identifier: Apache-2.0
import collections
import os
import subprocess
import sys
import tempfile
import unittest

import rrcp
import rrcp_node
from wire import Document, Malformed

HERE = os.path.dirname(os.path.abspath(__file__))
DESIGN = os.path.join(HERE, "..", "..", "docs", "design")
BIN = ""

# The packets of which damaged copies are made: one of each type that a stranger may send.
WHOLE = [
    "525211010000003f0123456789abcdef99bfe84b009896800000000000000007"
    "00000003000200280005c000000001010003000068656c6c6f0002e0006f6b",
    "52521104000000500123456789abcdef99bfe84b009896800000000000000008"
    "00000000000000040000019b76daa800000000019c410000000007d0000a0d00"
    "686f7374612e312e7272637064000000",
    "525211050000003c111122223333444499bfe84b009896800123456789abcdef"
    "00000000000000040002000100000000000000010000000200000001",
    "52521106000000300123456789abcdef99bfe84b00989680"
    "000000000000000400010200000000000000000000000001",
]


def trace(program, *arguments):
    out = subprocess.run([os.path.join(BIN, program), *arguments], capture_output=True, text=True,
                         check=True, timeout=300)
    return [line.split(" ") for line in out.stdout.splitlines()]


def unhex(text):
    return b"" if text == "-" else bytes.fromhex(text)


class Receiver:
    """One node of a run: what it must come to, by the document, from the packets it got."""

    def __init__(self, document, session, keys):
        self.decoder = rrcp.Decoder(document, "net1", session, keys)
        self.session, self.keys = session, keys
        self.streams, self.names, self.ended = {}, {}, set()
        self.told = collections.defaultdict(list)
        self.heard = collections.Counter()
        self.versions = set()

    def packet(self, data):
        name, head, body = self.decoder.packet(data)
        session = head["session"]
        self.heard[name] += 1
        if name == "BEACON":
            self.names[session] = body["name"].decode()
            self._stream(session, "m", body["next_seq"])
        elif name == "DATA":
            self._stream(session, "m", body["seq"]).take(body["seq"], body)
        elif name == "UDATA" and body["destination"] == self.session:
            number = body["useq"] & (1 << 48) - 1
            self._stream(session, "u", 1).take(number, body)
        elif name == "SKIP" and body["target"] == self.session:
            self.versions.add(body["version"])
            for r in body["ranges"]:
                first = body["base"] + r["offset"]
                for number in range(first, first + r["count"]):
                    self._stream(session, "m", first).take(number, {"chunks": []})
        elif name == "BYE":
            self.ended.add(session)

    def _stream(self, session, kind, first):
        return self.streams.setdefault((session, kind), rrcp.Stream(self.session, first))

    def messages(self, session, kind):
        stream = self.streams.get((session, kind))
        return stream.messages if stream else []


class Rrcp(unittest.TestCase):
    """docs/design/rrcp.md against src/rrcp."""

    @classmethod
    def setUpClass(cls):
        cls.document = Document(os.path.join(DESIGN, "rrcp.md"))
        cls.runs, run = {}, None
        for words in trace("rrcp_trace", *WHOLE):
            if words[0] == "run":
                run = cls.runs[words[1]] = []
                cls.key = words[2]
            run.append(words)

    def replay(self, name):
        keys = unhex(self.runs[name][0][2])
        receivers = {}
        for words in self.runs[name]:
            if words[0] == "node":
                receivers[words[1]] = Receiver(self.document, int(words[2], 16),
                                               [(9, keys)] if keys else None)
            elif words[0] == "in":
                receivers[words[1]].packet(unhex(words[2]))
            elif words[0] == "msg":
                told = (int(words[4]), int(words[5]), int(words[6]), unhex(words[7]))
                receivers[words[1]].told[int(words[2], 16), words[3]].append(told)
        return receivers

    def check_messages(self, name, least=400):
        count = 0
        for receiver in self.replay(name).values():
            for (session, kind), told in receiver.told.items():
                if session == receiver.session:
                    continue
                mine = [m for m in receiver.messages(session, kind)
                        if m[2] != rrcp.TOPIC_USER_DOWN]
                self.assertEqual(mine, told)
                count += len(told)
        self.assertGreater(count, least)

    def test_messages_of_a_quiet_network_are_those_of_the_engine(self):
        self.check_messages("no-loss")

    def test_messages_are_put_in_order_and_together_where_packets_are_lost(self):
        self.check_messages("loss")

    def test_every_packet_with_a_key_has_the_tag_that_the_document_describes(self):
        self.check_messages("key")

    def test_every_encrypted_packet_opens_as_the_document_describes(self):
        self.check_messages("sealed")

    def test_messages_of_a_mesh_are_those_that_are_wanted(self):
        self.check_messages("mesh", 200)

    def test_what_a_node_of_a_mesh_wants_is_told_in_its_unicast_stream(self):
        nodes = self.replay("mesh")
        wanting = nodes["1"]
        said = [m[3] for m in nodes["0"].messages(wanting.session, "u") if m[0] == 0]
        self.assertGreater(len(said), 0)
        for message in said:
            told, end = self.document.decode("Interest", message)
            self.assertEqual((told["kind"], told["is_all"], end), (1, 0, len(message)))
            self.assertEqual([topic["number"] for topic in told["topics"]], [5])
            self.assertEqual(wanting.versions, {told["version"]})
        self.assertEqual(nodes["2"].versions, set())

    def test_all_types_of_packets_were_seen(self):
        seen = collections.Counter()
        for run in ("loss", "mesh"):
            for receiver in self.replay(run).values():
                seen.update(receiver.heard)
        for name in self.document.values["type of Header"]:
            self.assertGreater(seen[name], 0, name)

    def test_names_leavers_and_ended_users_are_those_of_the_engine(self):
        receivers = self.replay("no-loss")
        for words in self.runs["no-loss"]:
            if words[0] != "event":
                continue
            receiver, session = receivers[words[1]], int(words[3], 16)
            if words[2] == "PEER_INFO":
                self.assertEqual(receiver.names[session], words[6])
            elif words[2] == "PEER_DOWN":
                self.assertIn(session, receiver.ended)
            elif words[2] == "USER_DOWN" and session != receiver.session:
                last = [m for m in receiver.messages(session, "m")
                        if m[2] == rrcp.TOPIC_USER_DOWN]
                self.assertEqual(last, [(int(words[4]), 0, rrcp.TOPIC_USER_DOWN,
                                         bytes([int(words[5])]))])

    def test_requests_name_only_packets_that_were_sent_and_not_received(self):
        sent, got, sessions = collections.defaultdict(set), collections.defaultdict(set), {}
        asked = 0
        for words in self.runs["loss"]:
            if words[0] == "node":
                sessions[words[1]] = int(words[2], 16)
            if words[0] not in ("out", "in"):
                continue
            name, head, body = self.decode(words[-1])
            if name == "DATA" and words[0] == "out":
                sent[head["session"]].add(body["seq"])
            elif name == "DATA":
                got[words[1], head["session"]].add(body["seq"])
            elif name == "NAK" and words[0] == "out":
                for r in body["ranges"]:
                    for seq in range(body["base"] + r["offset"],
                                     body["base"] + r["offset"] + r["count"]):
                        asked += 1
                        self.assertIn(seq, sent[body["target"]])
                        self.assertNotIn(seq, got[words[1], body["target"]])
        self.assertGreater(asked, 10)

    def decode(self, text):
        return rrcp.Decoder(self.document, "net1", 0).packet(unhex(text))

    def test_each_damaged_packet_fails_the_check_that_the_engine_names(self):
        decoder = rrcp.Decoder(self.document, "net1", 0x2222000000000000)
        seen = collections.Counter()
        for words in self.runs["damage"][1:]:
            try:
                decoder.packet(unhex(words[-1]))
                mine = "ok"
            except rrcp.Refused as why:
                mine = str(why)
            self.assertEqual(mine, " ".join(words[1:-1]), words[-1])
            seen[mine] += 1
        for name in ("ok", "size", "magic", "version", "network", "type", "flags", "body", "count",
                     "chunks", "ranges"):
            self.assertGreater(seen[name], 0, name)


class Capture(unittest.TestCase):
    """The packets that the Wireshark dissector is tested with."""

    def packets(self):
        """UDP payloads of a pcap of Ethernet frames, as rrcp_capture.py writes it."""
        script = os.path.join(HERE, "..", "..", "tools", "wireshark", "rrcp_capture.py")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "c.pcap")
            subprocess.run([sys.executable, script, path], check=True, timeout=60)
            with open(path, "rb") as f:
                data = f.read()
        pos = 24
        while pos < len(data):
            length = int.from_bytes(data[pos + 8:pos + 12], "little")
            yield data[pos + 16 + 42:pos + 16 + length]
            pos += 16 + length

    def test_each_packet_is_of_the_type_that_was_meant_and_broken_ones_are_refused(self):
        decoder = rrcp.Decoder(Document(os.path.join(DESIGN, "rrcp.md")), "net1", 0x99)
        seen = []
        for data in self.packets():
            try:
                name, head, body = decoder.packet(data)
                seen.append(name)
                if name == "BEACON":
                    self.assertEqual((body["name"], body["next_seq"]), (b"hosta.1.rrcpd", 8))
                    self.assertEqual([t["value"] for t in body["tlvs"]], [b"0.1.0"])
                if name == "NAK":
                    self.assertEqual(body["ranges"], [{"offset": 0, "count": 1},
                                                      {"offset": 2, "count": 3}])
                self.assertEqual(head["session"], 0x0123456789ABCDEF)
            except rrcp.Refused as why:
                seen.append(str(why))
        self.assertEqual(seen[:16],
                         ["DATA", "DATA", "DATA", "UDATA", "UACK", "BEACON", "NAK", "NCF",
                          "BYE", "SOLICIT", "STATUS", "HSM", "chunks", "body", "size",
                          "size"])


class Engine:
    """rrcp_peer: an engine of ours, spoken to in lines."""

    def __init__(self):
        self.process = subprocess.Popen([os.path.join(BIN, "rrcp_peer")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        out = []
        while (answer := self.process.stdout.readline().strip()) != "done":
            out.append(answer.split(" "))
        return out

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)


class Interoperation(unittest.TestCase):
    """A node written from docs/design/rrcp.md alone works with an engine of ours, with losses."""

    MS = 1000000

    def setUp(self):
        self.engine = Engine()
        self.node = rrcp_node.Node(Document(os.path.join(DESIGN, "rrcp.md")), 0x77, 1)
        self.node.now = 1000 * self.MS
        self.heard = {"m": [], "u": []}
        self.to_node = []

    def tearDown(self):
        self.engine.close()

    def listen(self, lines):
        for words in lines:
            if words[0] == "out":
                self.to_node.append(unhex(words[2]))
            elif words[0] == "msg":
                self.heard[words[1]].append(unhex(words[3]))

    def deliver(self, packets, loss):
        for data in packets:
            if self.node.random.random() >= loss:
                self.listen(self.engine.say(f"in 1 {data.hex()}"))

    def turn(self, loss):
        """A millisecond: the engine's packets reach the node, its answers the engine."""
        self.node.now += self.MS
        self.listen(self.engine.say(f"time {self.node.now}"))
        packets, self.to_node = self.to_node, []
        for data in packets:
            if self.node.random.random() >= loss:
                self.deliver(self.node.take(data), loss)

    def wait(self, loss, is_done):
        for turn in range(20000):
            self.turn(loss)
            if turn % 10 == 0:
                self.deliver([self.node.beacon()], loss)
                self.deliver(self.node.ask(), loss)
            if turn % 100 == 99:
                self.deliver(self.node.again(), loss)
            if is_done():
                return
        self.fail("not done after 20 s")

    def run_with(self, loss):
        node = self.node
        self.wait(0, lambda: node.peer is not None and node.now > 1300 * self.MS)
        sent = {"m": [], "u": []}
        wanted = {"m": [], "u": []}
        for i in range(60):
            message = bytes((i + k) & 255 for k in range((0, 9, 700, 4000)[i % 4]))
            kind = "mu"[i % 5 == 0]
            sent[kind].append(message)
            self.deliver((node.data if kind == "m" else node.unicast)(message), loss)
            wanted[kind].append(message)
            target = f"{node.session:x} 1" if kind == "u" else "0 0"
            self.assertEqual(self.engine.say(f"send {target} {message.hex() or '-'}"), [])
            self.turn(loss)

        def got(kind):
            stream = node.streams.get(kind)
            return [m[3] for m in stream.messages] if stream else []
        self.wait(loss, lambda: self.heard == sent and all(got(k) == wanted[k] for k in "mu"))

    def test_without_losses(self):
        self.run_with(0)
        self.assertEqual((self.node.repairs, self.node.asked), (0, 0))

    def test_with_one_packet_in_ten_lost_each_way(self):
        self.run_with(0.1)
        self.assertGreater(self.node.repairs, 0)
        self.assertGreater(self.node.asked, 0)


class Rrmp(unittest.TestCase):
    """docs/design/rrmp.md against src/rrmp."""

    @classmethod
    def setUpClass(cls):
        cls.document = Document(os.path.join(DESIGN, "rrmp.md"))
        cls.lines = trace("rrmp_trace")

    def record(self, data):
        """Type, and all fields by name; Malformed as section 3 says."""
        head, _ = self.document.decode("Header", data)
        flags = head["version_flags"] & 15
        types = {v: k for k, v in self.document.values["type of Header"].items()}
        if head["version_flags"] >> 4 != 1 or head["type"] not in types:
            raise Malformed("version or type")
        name = types[head["type"]]
        body, _ = self.document.decode(name, data, 8, None, 0, {"header_flags": flags})
        self.check(name, body)
        if name == "REQUEST":
            body["request_flags"] = body["flags"]
        return name, {**head, **body, "flags": flags}

    @staticmethod
    def check(name, body):
        """What section 3 says of values."""
        is_bad = False
        if name in ("UPDATE", "STATUS", "GENERIC", "BIND"):
            is_bad = body["handle"] == 0xFFFFFFFF
        if name in ("REQUEST", "AUDIT"):
            is_bad = body["id"] == 0
        if name in ("REQUEST", "BIND"):
            is_bad |= body["key_length"] == 0
        if name in ("REQUEST", "CLOSE", "POST"):
            is_bad |= body["key_length"] > 4096
        if name == "CLOSE":
            is_bad |= body["key_length"] == 0 and body["handle"] == 0xFFFFFFFF
        if name == "AUDIT":
            is_bad |= body["to"] < body["from"]
        if name == "SERVICE":
            is_bad = body["name_length"] == 0
        if name == "REQUEST" and body["flags"] & 0x80:
            is_bad |= body["kept"] > 8
        if name == "REPLAY":
            is_bad = body["handle"] == 0xFFFFFFFF or body["request_id"] == 0
        if name == "REFUSE":
            is_bad = not 1 <= body["scope"] <= 3
        if name == "LISTPART":
            is_bad = any(not 1 <= row["key_length"] <= 4096 for row in body["keys"])
        if name == "IMAGE":
            is_first = bool(body["flags"] & 1)
            is_bad = (is_first != (body["part"] == 0) or is_first != (body["key_length"] > 0) or
                      bool(body["flags"] & 8) != (body["handle"] == 0xFFFFFFFF))
        if is_bad:
            raise Malformed(name)

    def compare(self, fields, words):
        for word in words:
            name, _, value = word.partition("=")
            wanted = bytes.fromhex(value[1:]) if value[:1] == "x" else int(value)
            self.assertEqual(fields[name], wanted, name)

    def test_every_record_is_encoded_as_the_tables_say(self):
        seen = set()
        for words in self.lines:
            if words[0] == "record":
                name, fields = self.record(unhex(words[2]))
                self.assertEqual(name, words[1])
                self.compare(fields, words[3:])
                seen.add(name)
        self.assertEqual(seen, set(self.document.values["type of Header"]))

    def test_item_keys_are_encoded_as_the_table_says(self):
        for words in self.lines:
            if words[0] == "key":
                data = unhex(words[1])
                fields, end = self.document.decode("ItemKey", data)
                self.assertEqual(end, len(data))
                self.compare(fields, words[2:])

    def test_damaged_records_are_refused_where_the_document_refuses_them(self):
        seen = collections.Counter()
        for words in self.lines:
            if words[0] != "check":
                continue
            try:
                self.record(unhex(words[2]))
                mine = "ok"
            except Malformed:
                mine = "bad"
            self.assertEqual(mine, words[1], words[2])
            seen[mine] += 1
        self.assertGreater(min(seen["ok"], seen["bad"]), 100)


class Attach(unittest.TestCase):
    """docs/design/attach.md against include/attach/shm.h."""

    def test_every_field_in_shared_memory_is_where_the_document_says(self):
        structs = collections.defaultdict(dict)
        for struct, field, offset, size in trace("attach_layout"):
            structs[struct][field] = (int(offset), int(size))
        self.assertEqual(Document(os.path.join(DESIGN, "attach.md")).structs, structs)


if __name__ == "__main__":
    BIN = sys.argv.pop(1)
    unittest.main()
