"""ports.py - who listens on a TCP port of this host."""
# SPDX-License-Identifier: Apache-2.0
import os

LISTEN = "0A"


def listeners(port):
    """The inodes of the sockets that listen on it, in this network namespace."""
    found = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as lines:
                rows = [line.split() for line in lines][1:]
        except OSError:
            continue
        found |= {row[9] for row in rows if row[3] == LISTEN
                  and int(row[1].rpartition(":")[2], 16) == port}
    return found


def is_taken(port):
    return bool(listeners(port))


def holder(port):
    """'pid 812 (java)', or a weaker word where the process is somebody else's."""
    wanted = {f"socket:[{inode}]" for inode in listeners(port)}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if any(os.readlink(f"/proc/{pid}/fd/{fd}") in wanted
                   for fd in os.listdir(f"/proc/{pid}/fd")):
                with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as name:
                    return f"pid {pid} ({name.read().strip()})"
        except OSError:
            continue
    return "a program of another user"
