#!/usr/bin/env python3
"""proxy.py NAME=LISTEN_ADDRESS:PORT>HOST:PORT... - an unreliable wire in front of RSSL servers.

Commands on standard input, a line each: NAME good | NAME stall | NAME delay SECONDS | NAME split
BYTES | NAME reset | NAME swallow. `good` ends stall, delay and split; connections that were
swallowed stay silent until one end gives them up. Standard output: `ready`, then nothing.
"""
# SPDX-License-Identifier: Apache-2.0
import collections
import heapq
import itertools
import selectors
import socket
import struct
import sys
import time

HELD_MAX = 1 << 18  # bytes of one direction; then its sender is not read


class Pipe:
    """One direction: what was read from `source` and is not yet written to `target`."""

    def __init__(self, wire, source, target):
        self.wire, self.source, self.target = wire, source, target
        self.chunks, self.size, self.ended = collections.deque(), 0, False

    def take(self):
        try:
            data = self.source.recv(65536)
        except BlockingIOError:
            return True
        if not data:
            self.ended = True
        elif not self.wire.is_swallowed:
            self.chunks.append([time.monotonic() + self.wire.line.delay, data])
            self.size += len(data)
        return True

    def put(self, now):
        """Seconds until there is more to do, or None."""
        line = self.wire.line
        if line.stalled or self.wire.is_swallowed:
            return None
        for _ in range(64):
            if not self.chunks:
                if self.ended:
                    raise ConnectionError
                return None
            due, data = self.chunks[0]
            if due > now:
                return due - now
            piece = data[:line.split] if line.split else data
            try:
                sent = self.target.send(piece)
            except BlockingIOError:
                return 0.002
            self.size -= sent
            if sent == len(data):
                self.chunks.popleft()
            else:
                self.chunks[0][1] = data[sent:]
        return 0


class Wire:
    """A connection and its continuation."""

    def __init__(self, line, near, far):
        self.line, self.near, self.far = line, near, far
        self.is_swallowed = self.is_joined = False
        self.pipes = [Pipe(self, near, far), Pipe(self, far, near)]


class Line:
    def __init__(self, text):
        self.name, _, rest = text.partition("=")
        listen, _, target = rest.partition(">")
        host, _, port = listen.rpartition(":")
        self.target = (target.rpartition(":")[0], int(target.rpartition(":")[2]))
        self.listener = socket.create_server((host, int(port)), backlog=64)
        self.listener.setblocking(False)
        self.delay, self.split, self.stalled, self.wires = 0.0, 0, False, set()


class Proxy:
    def __init__(self, texts):
        self.lines = {line.name: line for line in map(Line, texts)}
        self.selector = selectors.DefaultSelector()
        self.timers, self.order, self.done, self.pending = [], itertools.count(), False, b""
        for line in self.lines.values():
            self.selector.register(line.listener, selectors.EVENT_READ, line)
        self.selector.register(sys.stdin.buffer.raw, selectors.EVENT_READ, self)

    def accept(self, line):
        try:
            near, _ = line.listener.accept()
        except OSError:
            return  # gone again
        far = socket.socket()
        near.setblocking(False)
        far.setblocking(False)
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire = Wire(line, near, far)
        line.wires.add(wire)
        try:
            far.connect(line.target)
        except BlockingIOError:
            self.selector.register(far, selectors.EVENT_WRITE, wire)
        except OSError:
            self.drop(wire)

    def join(self, wire):
        if wire not in wire.line.wires:
            return
        if wire.far.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self.drop(wire)
            return
        self.selector.unregister(wire.far)
        wire.is_joined = True
        for pipe in wire.pipes:
            self.selector.register(pipe.source, selectors.EVENT_READ, pipe)

    def drop(self, wire, abort=False):
        wire.line.wires.discard(wire)
        for end in (wire.near, wire.far):
            if end.fileno() < 0:
                continue
            try:
                self.selector.unregister(end)
            except KeyError:
                pass
            if abort:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()

    def pump(self, pipe):
        try:
            wire = pipe.wire
            if wire not in wire.line.wires:
                return
            if wire.is_swallowed and all(p.ended for p in wire.pipes):
                raise ConnectionError
            wait = pipe.put(time.monotonic())
            is_full = pipe.size >= HELD_MAX or pipe.ended
            registered = pipe.source in self.selector.get_map()
            if is_full and registered:
                self.selector.unregister(pipe.source)
            elif not is_full and not registered:
                self.selector.register(pipe.source, selectors.EVENT_READ, pipe)
            if wait is not None:
                heapq.heappush(self.timers, (time.monotonic() + wait, next(self.order), pipe))
        except OSError:
            self.drop(pipe.wire)

    def pump_all(self, line):
        for wire in list(line.wires):
            for pipe in wire.pipes:
                if wire.is_joined:
                    self.pump(pipe)

    def command(self, words):
        line, verb = self.lines[words[0]], words[1]
        if verb == "good":
            line.delay, line.split, line.stalled = 0.0, 0, False
            self.pump_all(line)
        elif verb == "stall":
            line.stalled = True
        elif verb == "delay":
            line.delay = float(words[2])
        elif verb == "split":
            line.split = int(words[2])
        elif verb == "swallow":
            for wire in line.wires:
                wire.is_swallowed = True
        elif verb == "reset":
            for wire in list(line.wires):
                self.drop(wire, abort=True)

    def commands(self):
        data = sys.stdin.buffer.raw.read(4096)
        self.done = not data
        *lines, self.pending = (self.pending + (data or b"")).split(b"\n")
        for text in lines:
            self.command(text.decode().split())

    def event(self, key, mask):
        if key.data is self:
            self.commands()
        elif isinstance(key.data, Line):
            self.accept(key.data)
        elif isinstance(key.data, Wire):
            self.join(key.data)
        elif mask and key.fileobj.fileno() >= 0:
            try:
                key.data.take()
            except OSError:
                key.data.ended = True
            self.pump(key.data)

    def run(self):
        print("ready", flush=True)
        while not self.done:
            wait = max(0.0, self.timers[0][0] - time.monotonic()) if self.timers else None
            for key, mask in self.selector.select(wait):
                self.event(key, mask)
            now = time.monotonic()
            while self.timers and self.timers[0][0] <= now:
                self.pump(heapq.heappop(self.timers)[2])


if __name__ == "__main__":
    Proxy(sys.argv[1:]).run()
