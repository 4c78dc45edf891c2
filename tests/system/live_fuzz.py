#!/usr/bin/env python3
"""live_fuzz.py SECONDS [SEED] - hostile bytes at every port of running daemons, for so long.

Genuine programs talk through a recorder first. Then each port gets their sessions again, with
bytes, lengths and the order of messages changed: RSSL of consumers, of publishers and of a provider
that src_dist dials, the same within TLS and as broken TLS, WebSockets and their JSON, the status
page, the admin sockets, the attach socket with its rings, and the backbone's group and unicast
ports by raw UDP in the name of live nodes. At the end every daemon still runs, no sanitizer has
said a word, a consumer gets its images, memory has not grown, and all daemons end in order.
"""
# SPDX-License-Identifier: Apache-2.0
import mmap
import multiprocessing
import os
import random
import re
import select
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

import conf_examples
import daemons
from running.program import text_of

CONF = """*rrcp*interface : lo
*rrcp*authKeyFile : none
*runDir : {folder}/run
*logMaxSize : 4M
*logger*logLevel : ERROR
*memoryLimit : 1G
*p2ps*rsslPort : 14202
*p2ps*tlsPort : 14203
*p2ps*statusPort : 14204
*p2ps*wsEnable : True
*p2ps*wsPort : 14206
*p2ps*wsTlsPort : 14207
*src_dist*serverPort : 14103
*src_dist*tlsServerPort : 14104
*src_dist*statusPort : 14105
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*2.route*hostList : 127.0.0.1:14109
*tlsCertFile : {folder}/server.pem
*tlsKeyFile : {folder}/server.key
"""
DAEMONS = {
    "rrcpd.net1.1": ("rrcpd", "source"),
    "rrcpd.net1.2": ("rrcpd", "sink"),
    "src_dist.1": ("src_dist", ),
    "p2ps.1": ("p2ps", )
}
SAMPLE = os.path.join(conf_examples.ROOT, "conf", "sample.xml")
FOUND = re.compile(r"(AddressSanitizer|LeakSanitizer|runtime error|assertion|Assertion).*")
WORDS = (0, 1, 2, 0x7f, 0x80, 0xfe, 0xff, 0x7fff, 0x8000, 0xfffe, 0xffff, 0x7fffffff, 0x80000000,
         0xffffffff)
GROWTH = 1.25, 48 << 20  # of resident memory, from the end of the first third to the end

# ---- changing bytes ----


class Mutator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def bytes(self, data):
        """Some of the bytes are others, gone, doubled, or a number that lies."""
        data = bytearray(data)
        for _ in range(self.random.choice((1, 1, 2, 4, 16))):
            at = self.random.randrange(len(data)) if data else 0
            kind = self.random.randrange(7)
            if kind == 0 and data:
                data[at] ^= 1 << self.random.randrange(8)
            elif kind == 1 and data:
                data[at] = self.random.randrange(256)
            elif kind == 2:
                size = self.random.choice((1, 2, 4, 8))
                word = (self.random.choice(WORDS) & ((1 << 8 * size) - 1)).to_bytes(
                    size, self.random.choice(("big", "little")))
                data[at:at + size] = word
            elif kind == 3:
                del data[at:at + self.random.randrange(1, 9)]
            elif kind == 4:
                data[at:at] = data[at:at + self.random.randrange(1, 33)]
            elif kind == 5:
                data[at:at] = self.random.randbytes(self.random.randrange(1, 9))
            elif kind == 6 and self.random.random() < 0.2:
                del data[at:]
        return bytes(data)

    def frame(self, frame):
        """A message of RSSL; most times its length is true: else nothing behind it is read."""
        body = self.bytes(frame[2:])
        if self.random.random() < 0.05:
            return self.bytes(frame)
        return struct.pack(">H", min(len(body) + 2, 0xffff)) + body[:0xfffd]

    def session(self, frames, others):
        """The beginning as it was, then changed messages, some of other sessions."""
        begin = self.random.randrange(len(frames)) if self.random.random() < 0.9 else 0
        out = frames[:begin]
        for frame in frames[begin:begin + self.random.randrange(1, 60)]:
            if self.random.random() < 0.1:
                frame = self.random.choice(self.random.choice(others))
            for _ in range(self.random.choice((1, 1, 1, 2, 8))):
                out.append(self.frame(frame) if self.random.random() < 0.7 else frame)
        return b"".join(out)


def frames_of(stream):
    """Whole messages of RSSL."""
    frames, at = [], 0
    while at + 2 <= len(stream):
        length = struct.unpack_from(">H", stream, at)[0]
        if length < 3 or at + length > len(stream):
            break
        frames.append(stream[at:at + length])
        at += length
    return frames


# ---- recording ----


class Recorder:
    """Stands between two programs and keeps what each says, one pair for each connection."""
    def __init__(self, port, target):
        self.pairs, self.target = [], target
        self.socket = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.socket.accept()
                far = socket.create_connection(("127.0.0.1", self.target), 30)
            except OSError:
                return
            pair = (bytearray(), bytearray())
            self.pairs.append(pair)
            threading.Thread(target=self.carry, args=(near, far, pair), daemon=True).start()

    @staticmethod
    def carry(near, far, pair):
        ends = {near: (far, pair[0]), far: (near, pair[1])}
        try:
            while True:
                for one in select.select(list(ends), [], [])[0]:
                    data = one.recv(65536)
                    other, kept = ends[one]
                    if not data:
                        return
                    if len(kept) < 1 << 18:
                        kept += data
                    other.sendall(data)
        except OSError:
            pass
        finally:
            near.close()
            far.close()

    def sessions(self, side):
        return [
            frames for frames in (frames_of(bytes(pair[side])) for pair in self.pairs)
            if len(frames) > 2
        ]

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)  # accept() in the thread would keep the port
        self.socket.close()


def record_consumers():
    recorder = Recorder(14302, 14202)
    common = [
        "-S", "RDFD", "-h", "127.0.0.1", "-p", "14302", "-il", "A.N,B.N,C.N", "-secs", "1",
        "-timeout", "20"
    ]
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    kinds = ([], ["-batch", "3"], ["-vfids", "22,25"], ["-post", "50"], ["-rtt"], ["-t"],
             ["-md", "SymbolList"], ["-d", "3"], ["-md", "MarketByOrder"])
    runs = [conf_examples.tool("rmdstestclient", *common, *more, **silent) for more in kinds]
    for run in runs:
        run.wait(120)
    recorder.close()
    return recorder.sessions(0)


def record_publisher():
    recorder = Recorder(14303, 14103)
    publisher = conf_examples.tool("sink_driven_src",
                                   "-S",
                                   "IDNS",
                                   "-host",
                                   "127.0.0.1:14303",
                                   "-Q",
                                   SAMPLE,
                                   "-K",
                                   "-U",
                                   "100",
                                   stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
    daemons.until(lambda: "the publisher's session is recorded",
                  lambda: recorder.pairs and len(frames_of(bytes(recorder.pairs[0][0]))) > 20)
    publisher.terminate()
    publisher.wait()
    recorder.close()
    return recorder.sessions(0)


def record_packets(seconds=1.5):
    """What the nodes send on lo: source, its port, destination, its port, payload."""
    packets = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as sniffer:
        sniffer.bind(("lo", 0))
        sniffer.settimeout(0.2)
        end = time.monotonic() + seconds
        while time.monotonic() < end or not packets:
            try:
                packet = sniffer.recv(65536)
            except TimeoutError:
                continue
            head = (packet[0] & 15) * 4
            if packet[9] == socket.IPPROTO_UDP and len(packets) < 2000:
                source, target = packet[12:16], packet[16:20]
                ports = struct.unpack_from(">HH", packet, head)
                packets.append((source, ports[0], target, ports[1], packet[head + 8:]))
    return packets


def record_attach(folder):
    """The request of a p2ps, taken by a socket in place of rrcpd's."""
    place = os.path.join(folder, "fake", "rrcpd.net1.1")
    os.makedirs(place)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(os.path.join(place, "attach"))
        listener.listen()
        listener.settimeout(60)
        lines = [
            f"*runDir : {folder}/fake", "*p2ps*rsslPort : 0", "*p2ps*tlsPort : 0",
            "*p2ps*statusPort : 0", "*rrcpdInstance : 1"
        ]
        words = [word for line in lines for word in ("-set", line)]
        with conf_examples.tool("p2ps",
                                "-c",
                                os.path.join(folder, "c.cnf"),
                                "-fg",
                                *words,
                                stderr=subprocess.DEVNULL) as asker:
            try:
                with listener.accept()[0] as one:
                    return one.recv(4096)
            finally:
                asker.kill()


# ---- attackers: each a process, until the deadline ----


def connect(port, mutator):
    """From one of many addresses, so that limits for each of them let some in."""
    one = socket.socket()
    one.settimeout(2)
    one.bind((f"127.0.{mutator.random.randrange(1, 200)}.{mutator.random.randrange(1, 255)}", 0))
    one.connect(("127.0.0.1", port))
    return one


def talk(one, mutator, data):
    """In pieces; what comes back is read, so that the other side is not stopped."""
    while data:
        size = mutator.random.choice((len(data), len(data), 1460, 3))
        one.sendall(data[:size])
        data = data[size:]
        if select.select([one], [], [], 0)[0] and not one.recv(65536):
            return
    if mutator.random.random() < 0.3:
        one.settimeout(0.02)
        while one.recv(65536):
            pass


def attack_stream(mutator, port, sessions, secret):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with connect(port, mutator) as one:
        if secret and mutator.random.random() < 0.3:
            raw = ssl.MemoryBIO()
            hello = context.wrap_bio(ssl.MemoryBIO(), raw)
            try:
                hello.do_handshake()
            except ssl.SSLWantReadError:
                pass
            talk(one, mutator, mutator.bytes(raw.read()))
            return
        data = mutator.session(mutator.random.choice(sessions), sessions)
        if not secret:
            talk(one, mutator, data)
            return
        with context.wrap_socket(one) as within:
            within.sendall(data)
            if mutator.random.random() < 0.2:
                within.settimeout(0.02)
                within.recv(65536)


WS_HELLO = (b"GET /WebSocket HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
            b"Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: tr_json2\r\n\r\n")
WS_LOGIN = b'{"ID":1,"Domain":"Login","Key":{"Name":"user","Elements":{"ApplicationId":"256"}}}'
WS_TEXTS = (
    WS_LOGIN, b'{"ID":2,"Domain":"Source"}', b'{"ID":5,"Key":{"Name":"A.N","Service":"RDFD"}}',
    b'{"ID":3,"Domain":"Dictionary","Key":{"Name":"RWFFld","Filter":7}}',
    b'{"ID":[6,7],"Key":{"Name":["A.N","B.N"]},"View":["BID",25]}',
    b'{"ID":8,"Streaming":false,"Key":{"Name":"C.N"}}', b'{"ID":5,"Type":"Close"}',
    b'{"ID":5,"Type":"Post","Domain":"MarketPrice","Ack":true,"PostID":1,"Message":{"ID":0,'
    b'"Type":"Update","Domain":"MarketPrice","Fields":{"BID":4.5,"ASK":1,"DSPLY_NAME":"\\u00fc"}}}',
    b'{"ID":5,"Type":"Generic","Domain":"MarketPrice","Map":{"KeyType":"AsciiString",'
    b'"Entries":[{"Action":"Add","Key":"a","Fields":{"BID":1}}]}}', b'{"Type":"Ping"}',
    b'[{"ID":9,"Key":{"Name":"B.N"}},{"ID":5,"Pause":true}]', b"[" * 300)


def ws_frame(mutator, text):
    """Masked; now and then one of many parts, of another kind, or with a length that lies."""
    opcode = 1 if mutator.random.random() < 0.9 else mutator.random.randrange(16)
    if mutator.random.random() < 0.1:
        opcode &= ~1
    elif mutator.random.random() < 0.95:
        opcode |= 0x80
    head = struct.pack(">BBH", opcode, 0x80 | 126, len(text)) + b"\1\2\3\4"
    if mutator.random.random() < 0.05:
        head = mutator.bytes(head)
    return head + bytes(c ^ (i % 4 + 1) for i, c in enumerate(text))


def attack_websocket(mutator, port, secret):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    hello = mutator.bytes(WS_HELLO) if mutator.random.random() < 0.1 else WS_HELLO
    texts = [WS_LOGIN] if mutator.random.random() < 0.9 else []
    for _ in range(mutator.random.randrange(1, 40)):
        text = mutator.random.choice(WS_TEXTS)
        texts.append(mutator.bytes(text) if mutator.random.random() < 0.7 else text)
    frames = [ws_frame(mutator, text) for text in texts]
    with connect(port, mutator) as near, context.wrap_socket(near) if secret else near as one:
        one.sendall(hello)
        if not one.recv(65536).startswith(b"HTTP/1.1 101"):
            return
        one.sendall(b"".join(frames))
        if mutator.random.random() < 0.5:
            one.settimeout(0.02)
            while one.recv(65536):
                pass


def attack_dialler(mutator, listener, sessions):
    """As the provider of route 2: src_dist has connected to us."""
    listener.settimeout(1)
    with listener.accept()[0] as one:
        one.settimeout(1)
        frames = mutator.random.choice(sessions)
        for frame in mutator.session(frames, sessions), mutator.session(frames, sessions):
            if not one.recv(65536):
                return
            one.sendall(frame)


def attack_http(mutator, port):
    lines = [
        b"GET %s HTTP/1.1\r\nHost: localhost:%d\r\nAccept: */*\r\n\r\n" % (path, port)
        for path in (b"/", b"/status.json", b"/metrics", b"/ready", b"/healthz?x=%41")
    ]
    with connect(port, mutator) as one:
        talk(
            one, mutator, b"".join(
                mutator.bytes(mutator.random.choice(lines))
                for _ in range(mutator.random.randrange(1, 5))))


def attack_admin(mutator, path):
    lines = [
        b"status\n", b"help\n", b"list\titems\tRDFD\n", b"list\tmounts\n", b"trace\tRDFD\tA.N\n",
        b"kick\t0.1\n", b"kick\tuser\tx\n", b"list\tproviders\n", b"loglevel\tERROR\n"
    ]
    with socket.socket(socket.AF_UNIX) as one:
        one.settimeout(2)
        one.connect(path)
        line = mutator.bytes(mutator.random.choice(lines))
        if b"reload" in line or b"drain" in line or b"DEBUG" in line:
            return
        one.sendall(line)
        one.settimeout(0.05)
        one.recv(65536)


def attack_attach(mutator, path, request):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.settimeout(0.2)
        one.connect(path)
        if mutator.random.random() < 0.7:
            one.send(mutator.bytes(request) or b"x")
        else:
            one.send(request)
        answer, fds, _, _ = socket.recv_fds(one, 4096, 8)
        try:
            if answer and len(fds) == 4:
                spoil_ring(mutator, fds)
        finally:
            for fd in fds:
                os.close(fd)


def spoil_ring(mutator, fds):
    """Lies about the place of the head, or messages that are none, in the ring to the daemon."""
    size = os.fstat(fds[1]).st_size
    with mmap.mmap(fds[1], size) as ring:
        for _ in range(mutator.random.randrange(1, 40)):
            at = mutator.random.choice(
                (mutator.random.randrange(0, 512), mutator.random.randrange(size - 8))) & ~7
            word = mutator.random.choice(
                (mutator.random.randrange(1 << 64), mutator.random.choice(WORDS),
                 mutator.random.randrange(4096) * 8))
            ring[at:at + 8] = struct.pack("<Q", word)
            os.write(fds[3], struct.pack("<Q", 1))


def attack_backbone(mutator, sender, packets):
    """In the name of a live node, or of one that there is not."""
    for _ in range(64):
        source, from_port, target, to_port, payload = mutator.random.choice(packets)
        if mutator.random.random() < 0.1:
            from_port = mutator.random.randrange(1024, 65536)
        if mutator.random.random() < 0.1:
            source = bytes((127, 0, 3, mutator.random.randrange(256)))
        if mutator.random.random() < 0.2:
            _, _, target, to_port, _ = mutator.random.choice(packets)
        payload = mutator.bytes(payload)[:60000]
        udp = struct.pack(">HHHH", from_port, to_port, 8 + len(payload), 0)
        head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 0, 0, 0, 1, socket.IPPROTO_UDP, 0, source,
                           target)
        sender.sendto(head + udp + payload, (socket.inet_ntoa(target), 0))
    time.sleep(0.002)


def attack_until(end, seed, counter, function, *words):
    """Refusals are the rule, and no finding: the daemons are looked at from outside."""
    mutator = Mutator(seed)
    while time.monotonic() < end:
        try:
            function(mutator, *words)
        except OSError:
            pass
        with counter.get_lock():
            counter.value += 1


def attackers(folder, recorded, listener):
    consumers, publishers, provider, packets, request = recorded
    sender = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    sender.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton("127.0.0.1"))
    found = {
        "consumers": (attack_stream, 14202, consumers, False),
        "consumers, TLS": (attack_stream, 14203, consumers, True),
        "publishers": (attack_stream, 14103, publishers, False),
        "publishers, TLS": (attack_stream, 14104, publishers, True),
        "websockets": (attack_websocket, 14206, False),
        "websockets, TLS": (attack_websocket, 14207, True),
        "provider": (attack_dialler, listener, provider),
        "backbone": (attack_backbone, sender, packets)
    }
    for port in (14204, 14105):
        found[f"status {port}"] = (attack_http, port)
    for name in DAEMONS:
        found[f"admin {name}"] = (attack_admin, os.path.join(folder, "run", name, "ctl"))
        if name.startswith("rrcpd"):
            found[f"attach {name}"] = (attack_attach, os.path.join(folder, "run", name,
                                                                   "attach"), request)
    return found


# ---- looking at the daemons ----


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read())[1]) << 10


seen = {}  # so much of each log


def look(bed):
    """All run, and say nothing of a fault; what each has in memory."""
    for name, program in bed.running.items():
        fresh = text_of(program.log, seen.get(name, 0))
        seen[name] = max(os.path.getsize(program.log) - 200, 0)
        said = FOUND.search(fresh)
        assert not said, f"{name}: {said[0]}\n{bed.log(name)[-20000:]}"
        assert program.alive(), f"{name} has ended: {program.code()}\n{bed.log(name)[-20000:]}"
    return {name: resident(program.pid) for name, program in bed.running.items()}


def serves(seconds, *more):
    run = subprocess.run([
        os.path.join(conf_examples.BIN, "rmdstestclient"), "-S", "RDFD", "-h", "127.0.0.1", "-p",
        "14202", "-il", "A.N,B.N,NEW.N", "-e", "-timeout", seconds, *more
    ],
                         stdin=subprocess.DEVNULL,
                         capture_output=True,
                         text=True,
                         check=False,
                         timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr


def attack(bed, recorded, listener, seconds, seed):
    end, third = time.monotonic() + seconds, time.monotonic() + seconds / 3
    counters, processes, before = {}, [], None
    for number, (name, words) in enumerate(attackers(bed.folder, recorded, listener).items()):
        counters[name] = multiprocessing.Value("Q", 0)
        processes.append(
            multiprocessing.Process(target=attack_until,
                                    daemon=True,
                                    args=(end, seed * 1000 + number, counters[name], *words)))
        processes[-1].start()
    while any(one.is_alive() for one in processes):
        after = look(bed)
        if not before and time.monotonic() > third:
            before = after
        time.sleep(0.2)
    assert not [one.exitcode for one in processes if one.exitcode], "an attacker has failed"
    for name, counter in counters.items():
        print(f"{counter.value:9d} attacks  {name}")
        assert counter.value > 0, name
    for name, bytes_now in after.items():
        print(f"{before[name] >> 20:6d} MiB, then {bytes_now >> 20} MiB  {name}")
        assert seconds < 60 or bytes_now < before[name] * GROWTH[0] + GROWTH[1], f"{name} grows"


def check(bed, seconds, seed):
    subprocess.run([
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
        "-subj", "/CN=x", "-keyout", f"{bed.folder}/server.key", "-out", f"{bed.folder}/server.pem"
    ],
                   check=True,
                   capture_output=True)
    providers = [
        conf_examples.tool("sink_driven_src",
                           "-S",
                           service,
                           "-N",
                           port,
                           "-L",
                           "127.0.0.1",
                           "-U",
                           "200",
                           "-Q",
                           SAMPLE,
                           "-K",
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
        for service, port in (("RDFD", "14102"), ("EVIL", "14101"))
    ]
    try:
        dialled = Recorder(14109, 14101)
        for name, words in DAEMONS.items():
            bed.start(name, *words)
        serves("60")
        daemons.until(lambda: "route 2 is recorded", lambda: dialled.sessions(1))
        recorded = (record_consumers(), record_publisher(), dialled.sessions(1), record_packets(),
                    record_attach(bed.folder))
        dialled.close()
        attack(bed, recorded, socket.create_server(("127.0.0.1", 14109)), seconds, seed)
        serves("60")
        look(bed)
    finally:
        for one in providers:
            one.kill()
            one.wait()


def main():
    seconds, seed = float(
        sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    print(f"{seconds:.0f} s, seed {seed}")
    # Reports go into the daemons' logs, which are read here: not into a file of tools/rmds test.
    os.environ["ASAN_OPTIONS"] = "quarantine_size_mb=16:detect_leaks=1"
    with tempfile.TemporaryDirectory() as folder:
        bed = daemons.Bed(folder, CONF)
        try:
            check(bed, seconds, seed)
        finally:
            ends = {name: bed.running.pop(name).stop(daemons.WAIT_S) for name in list(bed.running)}
        assert not any(ends.values()), ends
    print("all good")


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
