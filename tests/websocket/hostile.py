#!/usr/bin/env python3
"""hostile.py harm|memory|tokens|workers - WebSocket consumers that break every rule: what do the others notice?

harm: half handshakes, wrong frames, floods of pings and of wrong messages, consumers that do not
read. Beside them a consumer of RSSL that checks each update, and one of JSON. memory: what many of
them can make p2ps hold. tokens: who asks faster than requestRate waits, and goes on.
workers: of two workers the one with a WebSocket that has not logged in makes room.
"""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

import serve
from client import PING, TEXT, WAIT_S, ask, frame, request
from serve import conf_examples, mirror

SEATS = 8
LINES = (f"*p2ps*wsMaxConnections : {SEATS}", "*p2ps*guaranteedOutputBuffers : 20",
         "*p2ps*maxOutputBuffers : 40", "*p2ps*tcpSendBufSize : 64K", "*p2ps*slowTimeout : 3",
         "*p2ps*loginTimeout : 60", "*p2ps*wsPingTimeout : 600")
WORKER = "p2ps.worker.0."


def raw(text=b"", receive=None):
    """A connection that says only this."""
    peer = socket.socket()
    peer.settimeout(WAIT_S)
    if receive:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
    peer.connect(("127.0.0.1", serve.PORT))
    peer.sendall(text)
    return peer


def half_handshakes_take_no_seat():
    """More of them than there are seats: they make room, and who logs in is served."""
    half = [raw(b"GET /WebSocket HTTP/1.1\r\nHost: 127.0.0.1\r\n") for _ in range(2 * SEATS)]
    seated = [serve.logged_in() for _ in range(SEATS)]
    for client in seated:
        client.send({"Type": "Ping"})
        client.take_until(lambda m: m["Type"] == "Pong")
    for peer in half:
        peer.close()
    return seated


def one_too_many_is_answered(seated):
    """By 503 and words; and those who were refused and stay hold up nobody."""
    status, text = ask(serve.PORT, request(serve.KEY))
    assert " 503 " in status and "Maximum number of WebSocket connections reached" in text, text
    stay = [raw() for _ in range(SEATS)]
    seated.pop().end()
    end = mirror.time.monotonic() + mirror.WAIT_S
    while " 101 " not in ask(serve.PORT, request(serve.KEY))[0]:
        assert mirror.time.monotonic() < end, "who was refused holds a seat"
    for peer in stay:
        peer.close()
    while seated:
        seated.pop().end()


def wrong_frames_end_their_connection(items):
    deep = "[" * 10000 + "]" * 10000
    for code, hostile in ((1002, frame(TEXT, b"{}", mask=None)), (1002, b"\xc1\x80\1\2\3\4"),
                          (1009, b"\x81\xff\x7f" + b"\xff" * 7),
                          (1009, b"\x81\xff" + b"\xff" * 8), (1009, frame(TEXT, b" " * 61431))):
        client = serve.logged_in()
        client.socket.sendall(hostile)
        while client.take() is not None:
            pass
        assert client.close == code, (code, client.close, hostile[:12])
        client.end()
    client = serve.logged_in()
    client.send_frame(TEXT, deep.encode())
    assert client.take()["Text"].startswith("JSON Parser Error: nested too deep")
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    assert client.of(5)["Type"] == "Refresh"
    client.end()


def floods_of_pings_are_not_all_answered(items):
    """16 MB of them; what is not read is not written, and the connection is as good as before."""
    client = serve.logged_in()
    block = frame(PING, b"x" * 125) * 1000
    for _ in range(128):
        client.socket.sendall(block)
    client.send({"ID": 5, "Key": {"Name": items[0]}})
    assert client.of(5, "Refresh")["Key"]["Name"] == items[0]
    client.end()


def answers_that_are_not_read_stop_the_reading(system):
    """Each wrong message is answered, in order, when its sender reads; until then p2ps does not."""
    client = serve.logged_in()
    count, pad = 4000, "x" * 1000
    wrong = [json.dumps({"ID": i + 10, "Type": "Nonsense", "Pad": pad}).encode()
             for i in range(count)]
    sender = threading.Thread(target=lambda: [client.send_frame(TEXT, m) for m in wrong])
    sender.start()
    mirror.await_value(system, "p2ps.1", WORKER + "answersHeldBack", lambda n: n >= 1)
    for i in range(count):
        answer = client.take()
        assert answer["ID"] == i + 10 and answer["Type"] == "Error", (i, answer)
    sender.join()
    client.send({"Type": "Ping"})
    assert client.take() == {"Type": "Pong"}
    client.end()


def who_reads_nothing_is_cut_in_the_end(system, items):
    """One with data that does not read, one with wrong messages: after slowTimeout."""
    cut = mirror.value(system, "p2ps.1", WORKER + "mountsCutSlow")
    log = serve.log_of(system)
    slow = serve.logged_in(receive=4096)
    slow.send({"ID": 5, "Key": {"Name": items}})
    mirror.await_value(system, "p2ps.1", WORKER + "mountsCutSlow", lambda n: n == cut + 1)
    slow.end()
    wrong = serve.logged_in(receive=4096)
    with contextlib.suppress(ConnectionError):
        while True:
            wrong.socket.sendall(frame(TEXT, b"{\"ID\":7,\"Type\":9}" + b" " * 1000))
    mirror.await_value(system, "p2ps.1", WORKER + "mounts", lambda n: n <= 1)
    mirror.await_value(system, "p2ps.1", WORKER + "mountsCutSlow", lambda n: n == cut + 2)
    for why in ("nothing was taken", "its answers were not taken"):
        text = f"cut: output buffer overflow: {why} within slowTimeout, "
        assert serve.log_of(system).count(text) > log.count(text), text
    wrong.end()


def other_origins_are_refused():
    for origin in ("http://evil.example", "http://", "null", "https://127.0.0.1:1"):
        assert " 403 " in ask(serve.PORT, request(serve.KEY, Origin=origin))[0], origin
    assert " 403 " in ask(serve.PORT, request(serve.KEY, Origin="http://", Host=None))[0]


def harm(folder):
    with serve.chain(folder, *LINES) as (_, system, items):
        names = os.path.join(folder, "items")
        witness = conf_examples.tool(
            "rmdstestclient", "-S", "RDFD", "-h", "127.0.0.1", "-p", "14202", "-f", names, "-u",
            "demo", "-seqcheck", "-secs", "3600", "-l", "1", stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        mirror.await_value(system, "p2ps.1", WORKER + "watches", lambda n: n == len(items))
        one_too_many_is_answered(half_handshakes_take_no_seat())
        mirror.await_value(system, "p2ps.1", WORKER + "mountsWebSocket", lambda n: n == 0)
        wrong_frames_end_their_connection(items)
        floods_of_pings_are_not_all_answered(items)
        other_origins_are_refused()
        answers_that_are_not_read_stop_the_reading(system)
        who_reads_nothing_is_cut_in_the_end(system, items)
        witness.send_signal(signal.SIGINT)
        text, _ = witness.communicate(timeout=90)
        assert witness.returncode == 0 and " 0 gaps, 0 lost, 0 duplicates, 0 out of order, 0 wrong" \
            in text and " 0 connections lost" in text and "; 0 resyncs" in text, text


def held_by(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) >> 10


def memory(folder):
    """Each of many: a request that does not end, half a message, half a frame, answers unread."""
    with serve.chain(folder, "*p2ps*wsMaxConnections : 200", *LINES[1:]) as (_, system, items):
        pid = next(p["pid"] for p in system.load()["programs"] if p["name"] == "p2ps.1")
        serve.logged_in().end()
        before = held_by(pid)
        some = [raw(b"GET /WebSocket HTTP/1.1\r\nCookie: " + b"x" * 16000) for _ in range(40)]
        clients = [serve.logged_in(receive=4096) for _ in range(120)]
        for i, client in enumerate(clients):
            if i % 3 == 0:
                client.send_frame(TEXT, b" " * 60000, is_last=False)
            elif i % 3 == 1:
                client.socket.sendall(frame(TEXT, b" " * 61430)[:-1])
            else:
                client.send({"ID": 5, "Key": {"Name": items}})
        # What was sent is there: a ping of each that may send one is answered.
        for client in clients[::3]:
            client.send_frame(PING, b"there")
            assert client.take()["Payload"] == b"there"
        mirror.await_value(system, "p2ps.1", WORKER + "watches", lambda n: n > 0)
        grown = held_by(pid) - before
        print(f"p2ps holds {grown} MB more for 160 consumers of the worst kind")
        # 40 requests of 16 KB, 80 messages of 61 KB in buffers that double, 40 queues of 246 KB.
        assert grown < 1 + 80 * 2 * 61430 / 1e6 + 40 * 0.3 + 20, grown
        for peer in some:
            peer.close()
        for client in clients:
            client.end()
        mirror.await_value(system, "p2ps.1", WORKER + "mounts", lambda n: n == 0)
        last = serve.logged_in()
        last.send({"ID": 5, "Key": {"Name": items[0]}})
        assert last.of(5)["Type"] == "Refresh"
        last.end()


def ask_for_all(client, items, first, count):
    """Each in a message of its own, and all of them sent at once: most wait where they were read."""
    client.socket.sendall(b"".join(
        frame(TEXT, json.dumps({"ID": i, "Key": {"Name": items[i % len(items)]}}).encode())
        for i in range(first, first + count)))


def first_refreshes(client, first, count):
    """IDs from `first` on in the order in which their first image comes. An earlier one may get
    another image: of a client that is behind the updates are conflated into one."""
    seen = []
    while len(seen) < count:
        message = client.take()
        if message["Type"] == "Refresh" and message.get("ID", 0) >= first and \
                message["ID"] not in seen:
            seen.append(message["ID"])
    return seen


def tokens(folder):
    """50 requests a second of all consumers of the address, 5 at once."""
    with serve.chain(folder, "*p2ps*requestRate : 50", "*p2ps*requestBurst : 5", *LINES[1:]) as (
            _, system, items):
        client, other = serve.logged_in(), serve.logged_in()
        begin = mirror.time.monotonic()
        ask_for_all(client, items, 100, 120)
        ask_for_all(other, items, 100, 20)
        # The image of an item that is open comes out of the cache, in the order of the requests.
        assert sorted(first_refreshes(other, 100, 20)) == list(range(100, 120))
        assert sorted(first_refreshes(client, 100, 120)) == list(range(100, 220))
        took = mirror.time.monotonic() - begin
        assert took > (140 - 5 - 10) / 50, f"140 requests in {took} s"
        mirror.await_value(system, "p2ps.1", WORKER + "requestsThrottled", lambda n: n >= 2)
        # Its socket is read again: what it says now is heard, too.
        client.send({"Type": "Ping"})
        client.take_until(lambda m: m["Type"] == "Pong")
        ask_for_all(client, items, 300, 20)
        assert sorted(first_refreshes(client, 300, 20)) == list(range(300, 320))
        # One that hangs up while it waits leaves nothing, and holds nobody up.
        ask_for_all(client, items, 400, 200)
        client.end()
        ask_for_all(other, items, 300, 20)
        assert sorted(first_refreshes(other, 300, 20)) == list(range(300, 320))
        other.end()
        mirror.await_value(system, "p2ps.1", WORKER + "watches", lambda n: n == 0)


def silent_at(port):
    return socket.create_connection(("127.0.0.1", port), timeout=WAIT_S)


def workers(folder):
    """Of two seats one is taken at each worker: the first by who is logged in, the second by who
    says nothing. The first worker has a silent consumer of RSSL, who has no such seat to give."""
    with serve.chain(folder, "*p2ps*workers : 2", "*p2ps*wsMaxConnections : 2", *LINES[1:]) as (
            _, system, _items):
        def seats(worker, count):
            mirror.await_value(system, "p2ps.1", f"p2ps.worker.{worker}.mountsWebSocket",
                               lambda n: n == count)

        peers = [silent_at(serve.RSSL_PORT), silent_at(serve.RSSL_PORT)]
        serve.logged_in().end()  # which comes after them
        seats(0, 0)
        seats(1, 0)
        seated = serve.logged_in()
        seats(0, 1)
        peers.append(raw(b"GET /WebSocket HTTP/1.1\r\n"))
        seats(1, 1)
        status, _ = ask(serve.PORT, request(serve.KEY))
        assert " 101 " in status, status
        seated.send({"Type": "Ping"})
        seated.take_until(lambda m: m["Type"] == "Pong")
        for peer in peers + [seated.socket]:
            peer.close()


if __name__ == "__main__":
    conf_examples.enter_namespace()
    with tempfile.TemporaryDirectory() as a_folder:
        {"harm": harm, "memory": memory, "tokens": tokens,
         "workers": workers}[sys.argv[1]](a_folder)
