#!/usr/bin/env python3
"""publisher_nodelay.py BUILD - sink_driven_src sets TCP_NODELAY on its connections unless it is
told -nagle."""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import re
import socket
import subprocess
import sys
import tempfile

BIN = os.path.join(os.path.realpath(sys.argv[1]), "bin")
PIDFD_GETFD = 438  # the same number on every architecture
WAIT_S = 90


def connections(child):
    """The program's TCP connections, as descriptors of our own."""
    libc = ctypes.CDLL(None, use_errno=True)
    process = os.pidfd_open(child.pid)
    found = []
    for name in os.listdir(f"/proc/{child.pid}/fd"):
        if os.readlink(f"/proc/{child.pid}/fd/{name}").startswith("socket:"):
            number = libc.syscall(PIDFD_GETFD, process, int(name), 0)
            if number < 0:
                print(f"SKIP: no look at another process's sockets here: "
                      f"{os.strerror(ctypes.get_errno())}")
                sys.exit(77)
            end = socket.socket(fileno=number)
            if end.family == socket.AF_INET and not end.getsockopt(socket.SOL_SOCKET,
                                                                   socket.SO_ACCEPTCONN):
                found.append(end)
            else:
                end.close()
    os.close(process)
    return found


def start(*words):
    return subprocess.Popen([os.path.join(BIN, "sink_driven_src"), "-S", "RDFD", *words],
                            stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def no_delay_is(expected, child):
    """Whatever its one connection says; it is there, because the other end has seen it."""
    ends = connections(child)
    assert len(ends) == 1, f"{child.args}: {len(ends)} connections"
    is_on = ends[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    ends[0].close()
    assert is_on == expected, f"{child.args}: TCP_NODELAY is {is_on}"


def accepted(expected, *words):
    """A client has connected, and has had an answer to its first bytes."""
    with start("-N", "0", "-L", "127.0.0.1", *words) as child:
        try:
            for line in child.stdout:
                port = re.search(r"listening on port (\d+)", line)
                if port:
                    break
            client = subprocess.Popen([os.path.join(BIN, "rmdstestclient"), "-S", "RDFD", "-h",
                                       "127.0.0.1", "-p", port[1],
                                       "-il", "A"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True)
            for line in client.stdout:
                if "1 of 1 items open" in line:
                    break
            no_delay_is(expected, child)
            client.communicate("q\n", timeout=WAIT_S)
        finally:
            child.kill()


def connected(expected, folder, *words):
    """With -host it is the publisher that connects."""
    items = os.path.join(folder, "items")
    with open(items, "w", encoding="ascii") as file:
        file.write("A\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WAIT_S)
        with start("-host", f"127.0.0.1:{listener.getsockname()[1]}", "-f", items, *words) as child:
            try:
                with listener.accept()[0] as end:
                    end.settimeout(WAIT_S)
                    end.recv(1)
                    no_delay_is(expected, child)
            finally:
                child.kill()


def main():
    for program in ("sink_driven_src", "rmdstestclient"):
        if not os.path.exists(os.path.join(BIN, program)):
            print(f"SKIP: this build has no {program}")
            return 77
    with tempfile.TemporaryDirectory() as folder:
        for words, expected in (((), True), (("-tcpnodel",), True), (("-nagle",), False)):
            accepted(expected, *words)
            connected(expected, folder, *words)
    with start("-nagle", "-tcpnodel") as child:
        text = child.communicate(timeout=WAIT_S)[0]
    assert child.returncode == 1 and "contradict" in text, text
    print("every connection has TCP_NODELAY, but for those of -nagle")
    return 0


if __name__ == "__main__":
    sys.exit(main())
