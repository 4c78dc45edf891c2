#!/usr/bin/env python3
"""image_chain.py SOURCE BUILD|--image ROOT - the files of the container image are small and enough:
the services of compose.yaml run with them alone, unprivileged, each a host of its own, the health
check answers, and prices reach consumers of both gateways.

BUILD: the files are taken of this build. --image ROOT: of an image that was built from the
Containerfile."""
# SPDX-License-Identifier: Apache-2.0
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.realpath(sys.argv[1])
sys.path.insert(0, os.path.join(SOURCE, "tools"))
sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from running import spaces  # noqa: E402

FILES = os.path.join(SOURCE, "packaging/image")
ADDRESSES = {"publisher": "10.1.0.10", "feed": "10.1.0.11", "gw1": "10.1.0.12", "gw2": "10.1.0.13",
             "consumer": "10.1.0.14"}
SIZE_MAX = 60 << 20
WAIT_S = 90
# What a container runtime mounts, besides the image that nobody can write to.
MOUNTS = """mount --bind -o ro "$ROOT" "$ROOT" && mount -o remount,bind,ro "$ROOT" && mount -t proc proc "$ROOT/proc" &&
    mount -t tmpfs -o uid=10001,gid=10001,mode=0750 tmpfs "$ROOT/run/rmds" &&
    mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp" &&
    mount -t tmpfs -o mode=1777 tmpfs "$ROOT/dev/shm" && hostname "$NAME" && ip link set lo up && echo up && exec cat"""


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def services():
    """{name: command} of compose.yaml."""
    with open(os.path.join(FILES, "compose.yaml"), encoding="ascii") as file:
        text = file.read()
    found = {name: [word.strip().strip('"') for word in words.split(",")]
             for name,
             words in re.findall(r"^  (\w+):\n(?:    .*\n)*?    command: \[(.*)\]$", text, re.M)}
    assert set(found) == set(ADDRESSES), found
    return found


def health_check():
    """The command of the Containerfile, and whose it is to be run as."""
    with open(os.path.join(FILES, "Containerfile"), encoding="ascii") as file:
        text = file.read()
    return json.loads(re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", text, re.M).group(1)), \
        re.search(r"^USER (\S+)$", text, re.M).group(1)


class Container:
    """Namespaces with an eth0, in which the image is all there is."""

    def __init__(self, root, name, folder):
        self.root, self.name, self.process = root, name, None
        self.log_file = os.path.join(folder, name + ".log")
        self.holder = subprocess.Popen(
            ["unshare", "-n", "-u", "-i", "-m", "-p", "-f", "--kill-child", "sh", "-c", MOUNTS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={**os.environ, "ROOT": root, "NAME": name})
        assert self.holder.stdout.readline() == b"up\n"
        with open(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children",
                  encoding="ascii") as file:
            self.pid = file.read().split()[0]
        ip("link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0", "netns", self.pid)
        ip("link", "set", f"to-{name}", "master", "br0", "up")
        for words in (["address", "add", ADDRESSES[name] + "/24", "dev", "eth0"],
                      ["link", "set", "eth0", "up"]):
            subprocess.run([*self.words(), "ip", *words], check=True)

    def words(self):
        return ["nsenter", "-t", self.pid, "-n", "-u", "-i", "-m", "-p"]

    def inside(self, command, user):
        program = command[0] if command[0].startswith("/") else "/usr/bin/" + command[0]
        return [*self.words(), "setpriv", "--no-new-privs",
                "--bounding-set=-all,+sys_chroot,+setuid,+setgid", "chroot",
                "--userspec=" + user, self.root, program, *command[1:]]

    def start(self, command, user):
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen(self.inside(command, user), stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log,
                                            env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})

    def run(self, command, user):
        return subprocess.run(self.inside(command, user), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True,
                              check=False, timeout=120,
                              env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"})

    def stop(self):
        """As a runtime does it: SIGTERM to the program, not to the nsenter that waits for it."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            os.kill(int(file.read()), signal.SIGTERM)
        return self.process.wait(timeout=30)

    def log(self):
        with open(self.log_file, encoding="utf-8", errors="replace") as file:
            return file.read()

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()
        if self.process:
            self.process.wait()


def make_root(folder):
    """The files of the image, from the build; strip is what the recipe does, too."""
    root = os.path.join(folder, "root")
    subprocess.run(["cmake", "--install", sys.argv[2], "--prefix", "/usr"], check=True,
                   stdout=subprocess.DEVNULL,
                   env={**os.environ, "DESTDIR": os.path.join(folder, "installed")})
    subprocess.run([os.path.join(FILES, "rootfs.sh"), os.path.join(folder, "installed"), root],
                   check=True)
    return root


def see_what_is_in_it(root):
    size = int(subprocess.run(["du", "-sbx", root], check=True, capture_output=True,
                              text=True).stdout.split()[0])
    assert size < SIZE_MAX, f"{size} bytes; {SIZE_MAX} is the limit"
    foreign = [path for name in ("sh", "bash", "dash", "busybox", "perl", "python3") for path in
               glob.glob(f"{root}/**/bin/{name}", recursive=True)]
    assert not foreign, f"a shell or an interpreter: {foreign}"
    print(f"{size / 2**20:.1f} MiB")


def until(what, condition):
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"{what()}: not within {WAIT_S} s"
        time.sleep(0.05)


def unhealthy(container, user):
    done = container.run(health_check()[0], user)
    return (done.returncode, done.stdout + done.stderr) if done.returncode else None


def carry_prices(root, folder):
    commands, (check, user) = services(), health_check()
    for name in ("dev/shm", "proc", "run/rmds", "tmp"):
        os.makedirs(os.path.join(root, name), exist_ok=True)
    # what the runtime's name server knows
    with open(os.path.join(root, "etc/hosts"), "w", encoding="ascii") as file:
        file.writelines(f"{address} {name}\n" for name, address in ADDRESSES.items())
    containers = {}
    try:
        for name in commands:
            containers[name] = Container(root, name, folder)
        assert unhealthy(containers["gw1"],
                         user), "the health check is content although nothing runs"
        for name in ("gw1", "gw2", "feed", "publisher"):
            containers[name].start(commands[name], user)
        for name in ("feed", "gw1", "gw2"):
            until(lambda: f"{check} of {name}: {unhealthy(containers[name], user)}; "
                          f"{containers[name].log()}",
                  lambda: not unhealthy(containers[name], user))
            with open(f"/proc/{containers[name].pid}/root{root}/etc/passwd",
                      encoding="ascii") as file:
                assert ":10001:10001:" in file.read()
        for gateway in ("gw1", "gw2"):
            words = [gateway if word == "gw1" else word for word in commands["consumer"]]
            done = containers["consumer"].run(words, user)
            assert done.returncode == 0 and re.search(r"\bBID\b", done.stdout) and re.search(
                r"[1-9][\d,]* updates in", done.stdout), done.stdout + done.stderr
        done = containers["feed"].stop()
        assert done == 0, f"src_dist ends with {done} at SIGTERM; {containers['feed'].log()}"
    finally:
        for container in containers.values():
            container.close()


def main():
    if os.geteuid() != 0:
        print("the image's user can be taken by root alone")
        return 77
    if not spaces.enter("RMDS_IMAGE_INSIDE", "-n", "-m",
                        trial="ip link add br0 type bridge && nsenter --version"):
        print("no namespaces or no bridge may be made here")
        return 77
    spaces.loopback_up()
    ip("link", "add", "br0", "type", "bridge")
    ip("link", "set", "br0", "up")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        root = sys.argv[3] if sys.argv[2] == "--image" else make_root(folder)
        see_what_is_in_it(root)
        carry_prices(root, folder)
    print("prices reach the consumers of both gateways")
    return 0


if __name__ == "__main__":
    sys.exit(main())
