"""client.py - a WebSocket client of the tests: tr_json2 over TCP or TLS, no package needed."""
# SPDX-License-Identifier: Apache-2.0
import base64
import collections
import hashlib
import json
import os
import socket
import ssl
import struct

MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
WAIT_S = 60


def request(key, path="/WebSocket", **headers):
    """The text of a handshake; a header that is None is left out."""
    all_of_them = {
        "Host": "127.0.0.1", "Upgrade": "websocket", "Connection": "Upgrade",
        "Sec-WebSocket-Key": key, "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "tr_json2"}
    all_of_them.update({name.replace("_", "-"): value for name, value in headers.items()})
    lines = [f"{name}: {value}" for name, value in all_of_them.items() if value is not None]
    return f"GET {path} HTTP/1.1\r\n" + "\r\n".join(lines) + "\r\n\r\n"


def ask(port, text):
    """The status line of the answer to a request, and its whole text."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as peer:
        peer.sendall(text.encode())
        answer = b""
        while b"\r\n\r\n" not in answer:
            got = peer.recv(4096)
            if not got:
                break
            answer += got
    return answer.split(b"\r\n")[0].decode(), answer.decode()


def frame(opcode, payload, is_last=True, mask=b"\1\2\3\4"):
    """The bytes of a frame; `mask` None: not masked."""
    bit = 0x80 if mask else 0
    head = bytes([(0x80 if is_last else 0) | opcode])
    if len(payload) < 126:
        head += bytes([bit | len(payload)])
    elif len(payload) < 65536:
        head += struct.pack(">BH", bit | 126, len(payload))
    else:
        head += struct.pack(">BQ", bit | 127, len(payload))
    if not mask:
        return head + payload
    return head + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(payload))


class Client:
    """One connection. Messages of all frames are handed out one after the other."""

    def __init__(self, port, tls=None, receive=None, **headers):
        self.socket = socket.socket()
        self.socket.settimeout(WAIT_S)
        if receive:  # bytes that the kernel takes for us
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.connect(("127.0.0.1", port))
        if tls:
            context = ssl.create_default_context(cafile=tls)
            context.check_hostname = False
            self.socket = context.wrap_socket(self.socket)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(request(key, **headers).encode())
        self.bytes = b""
        while b"\r\n\r\n" not in self.bytes:
            self._more()
        self.head, self.bytes = self.bytes.split(b"\r\n\r\n", 1)
        wanted = base64.b64encode(hashlib.sha1(key.encode() + MAGIC).digest())
        assert b" 101 " in self.head and wanted in self.head, self.head
        self.waiting = collections.deque()
        self.frames = []  # of each frame, how many messages
        self.close = None

    def _more(self):
        got = self.socket.recv(65536)
        if not got:
            raise ConnectionError("the server has closed the connection")
        self.bytes += got

    def _need(self, count):
        while len(self.bytes) < count:
            self._more()

    def frame(self):
        """Opcode and payload of the next frame."""
        self._need(2)
        length, head = self.bytes[1], 2
        assert not length & 0x80, "a frame of the server is masked"
        if length == 126:
            self._need(4)
            length, head = struct.unpack(">H", self.bytes[2:4])[0], 4
            assert length > 125
        elif length == 127:
            self._need(10)
            length, head = struct.unpack(">Q", self.bytes[2:10])[0], 10
            assert length > 65535
        self._need(head + length)
        opcode, payload = self.bytes[0] & 15, self.bytes[head:head + length]
        assert self.bytes[0] & 0x80
        self.bytes = self.bytes[head + length:]
        return opcode, payload

    def send_frame(self, opcode, payload, **how):
        self.socket.sendall(frame(opcode, payload, **how))

    def send(self, *messages):
        for message in messages:
            self.send_frame(TEXT, json.dumps(message).encode())

    def take(self):
        """The next message; Pings are answered and not handed out. None: a close frame came."""
        while not self.waiting:
            opcode, payload = self.frame()
            if opcode == CLOSE:
                self.close = struct.unpack(">H", payload[:2])[0]
                return None
            if opcode == PONG:
                self.waiting.append({"Type": "frame", "Payload": payload})
                continue
            assert opcode == TEXT, opcode
            messages = json.loads(payload.decode("utf-8"), parse_constant=self._bare)
            assert isinstance(messages, list) and messages, payload
            self.frames.append(len(messages))
            for message in messages:
                assert message["Type"] in ("Ping", "Pong") or next(iter(message)) == "ID", message
                if message["Type"] == "Ping":
                    self.send({"Type": "Pong"})
                else:
                    self.waiting.append(message)
        return self.waiting.popleft()

    @staticmethod
    def _bare(word):
        raise AssertionError(f"{word} is not JSON")

    def take_until(self, is_it):
        """The first message for which is_it() is true; those before it are dropped."""
        while True:
            message = self.take()
            assert message is not None, f"closed with {self.close}"
            if is_it(message):
                return message

    def of(self, stream, kind=None):
        return self.take_until(lambda m: m.get("ID") == stream and kind in (None, m["Type"]))

    def login(self, stream=1, user="user", **elements):
        self.send({"ID": stream, "Domain": "Login", "Key": {"Name": user, "Elements": elements}})
        answer = self.take()
        assert answer["ID"] == stream and answer["Domain"] == "Login", answer
        return answer

    def end(self):
        self.socket.close()
