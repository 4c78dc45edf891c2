#!/usr/bin/env python3
"""authority.py SOCKET USERS - an authority for p2ps: says who its users are, and which roles they have.

USERS is a file of JSON; SIGHUP reads it again, and whoever has changed is told to p2ps at once:

    {"alice": {"password": "scrypt:...", "roles": ["rates"], "mounts": 2,
               "grants": {"IDN": "LSE,62"}, "expires": 1830000000},
     "robot": {"token": "sha256:...", "roles": ["quotes"], "logins": 5}}

"logins": so many sessions at a time, over all p2ps; "mounts": the same of each p2ps; "expires":
his sessions end then, in seconds since 1970.

    authority.py --hash           asks for a password, prints what stands in the file
    authority.py --hash-token     the same of a token
"""
# SPDX-License-Identifier: Apache-2.0
import getpass
import hashlib
import hmac
import json
import os
import selectors
import signal
import socket
import sys

LIVES_S = 600  # how long p2ps may remember that somebody was allowed
COST = {"n": 16384, "r": 8, "p": 1}


def scrypt(password, salt):
    return hashlib.scrypt(password.encode(), salt=salt, **COST).hex()


def hash_of(password):
    salt = os.urandom(16)
    return f"scrypt:{salt.hex()}:{scrypt(password, salt)}"


def token_hash(token):
    return "sha256:" + hashlib.sha256(token.encode()).hexdigest()


def fits(password, stored):
    kind, salt, wanted = stored.split(":")
    return kind == "scrypt" and hmac.compare_digest(scrypt(password, bytes.fromhex(salt)), wanted)


class Users:
    """The file, as it was read last."""

    def __init__(self, path):
        self.path, self.known = path, {}
        self.sessions, self.last = {}, 0  # of users with "logins": name: (user, instance)
        self.read()

    def read(self):
        """Returns who has changed."""
        with open(self.path, encoding="utf-8") as file:
            known = json.load(file)
        changed = [user for user in self.known if self.known[user] != known.get(user)]
        self.known = known
        return changed

    def of_token(self, token):
        wanted = token_hash(token)
        return next((user for user, entry in self.known.items()
                     if hmac.compare_digest(entry.get("token", ""), wanted)), None)

    def count(self, asked, answer, most, instance):
        """Of a user with "logins": the answer, with a session, or a denial."""
        user, session = answer["user"], asked.get("session")
        if session is None:
            if sum(one == user for one, _ in self.sessions.values()) >= most:
                return {"verdict": "deny", "code": "MAX_LOGINS", "text": "too many logins"}
            self.last += 1
            session = f"{os.getpid()}-{self.last}"
        self.sessions[session] = user, instance
        del answer["ttl"]  # p2ps must not let in whom nobody counts
        return {**answer, "session": session}

    def forget(self, instance):
        """It has a hello: the sessions that are left come as renewals."""
        self.sessions = {name: one for name, one in self.sessions.items() if one[1] != instance}

    def judge(self, asked, instance):
        """The answer to one question, without its number."""
        user = asked.get("user") or self.of_token(asked.get("token", ""))
        entry = self.known.get(user)
        if entry is None:
            return {"verdict": "deny", "code": "USER_UNKNOWN", "text": "nobody here has that name"}
        if asked["ask"] == "login" and not self.is_proved(entry, asked):
            return {"verdict": "deny", "code": "NOT_ENTITLED", "text": "password or token refused"}
        answer = {"verdict": "allow", "user": user, "roles": entry.get("roles", []), "ttl": LIVES_S}
        answer.update({key: entry[key] for key in ("grants", "mounts", "expires") if key in entry})
        return self.count(asked, answer, entry["logins"], instance) if "logins" in entry else answer

    @staticmethod
    def is_proved(entry, asked):
        if "token" in asked and "token" in entry:
            return hmac.compare_digest(entry["token"], token_hash(asked["token"]))
        return "password" in asked and "password" in entry and fits(asked["password"],
                                                                    entry["password"])


class Peer:
    """One p2ps. What it does not take now waits."""

    def __init__(self, connection):
        self.connection, self.came, self.goes = connection, b"", b""
        self.instance = None
        connection.setblocking(False)

    def say(self, what):
        self.goes += json.dumps(what).encode() + b"\n"
        self.flush()

    def flush(self):
        try:
            while self.goes:
                self.goes = self.goes[self.connection.send(self.goes):]
        except BlockingIOError:
            pass

    def hear(self, users):
        """False: it has gone."""
        got = self.connection.recv(65536)
        self.came += got
        *lines, self.came = self.came.split(b"\n")
        for line in lines:
            self.take(json.loads(line), users)
        return bool(got)

    def take(self, line, users):
        if "hello" in line:
            self.instance = line["instance"]
            users.forget(self.instance)
            self.say({"hello": "openrmds-access", "version": 1})
        elif "ping" in line:
            self.say({"pong": line["ping"]})
        elif "id" in line:
            self.say({"id": line["id"], **users.judge(line, self.instance)})
        elif line.get("event") == "end":
            users.sessions.pop(line["session"], None)


def listen(path):
    """The socket of a process before this one is no longer of use."""
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind(path)
    os.chmod(path, 0o660)
    server.listen(64)
    return server


def serve(path, users):
    server, waker = listen(path), socket.socketpair()
    selector = selectors.DefaultSelector()
    peers = {}
    for end in waker:
        end.setblocking(False)
    signal.signal(signal.SIGHUP, lambda *_: None)
    signal.set_wakeup_fd(waker[1].fileno())
    selector.register(server, selectors.EVENT_READ)
    selector.register(waker[0], selectors.EVENT_READ)
    print("ready", flush=True)
    while True:
        for key, events in selector.select():
            if key.fileobj is server:
                connection = server.accept()[0]
                peers[connection] = Peer(connection)
                selector.register(connection, selectors.EVENT_READ)
            elif key.fileobj is waker[0]:
                waker[0].recv(100)
                for user in users.read():
                    for peer in peers.values():
                        peer.say({"event": "again", "user": user})
            else:
                attend(peers, key.fileobj, events, selector, users)
        for connection, peer in peers.items():
            wants = selectors.EVENT_READ | (selectors.EVENT_WRITE if peer.goes else 0)
            selector.modify(connection, wants)


def attend(peers, connection, events, selector, users):
    peer = peers[connection]
    try:
        peer.flush()
        if not events & selectors.EVENT_READ or peer.hear(users):
            return
    except (OSError, ValueError) as why:
        print(f"a peer is dropped: {why}", file=sys.stderr)
    selector.unregister(connection)
    connection.close()
    del peers[connection]


def main():
    if sys.argv[1:] == ["--hash"]:
        print(hash_of(getpass.getpass()))
    elif sys.argv[1:] == ["--hash-token"]:
        print(token_hash(getpass.getpass("Token: ")))
    elif len(sys.argv) == 3:
        serve(sys.argv[1], Users(sys.argv[2]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
