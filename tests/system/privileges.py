#!/usr/bin/env python3
"""privileges.py - root starts a daemon: it becomes another user, or is refused; when it is ready no
thread of it may do more than that user."""
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import conf_examples

NOBODY = 65534
DAEMONS = {"rrcpd": ["rrcpd", "net1"], "src_dist": ["src_dist"], "p2ps": ["p2ps"]}
NET_ADMIN = 1 << 12
CONF = """*rrcp*interface : lo
*rrcp*authKeyFile :
*src_dist*serverPort : 0
*p2ps*rsslPort : 0
*runDir : {folder}/run
*user : {user}
"""


def is_root():
    with open("/proc/self/uid_map", encoding="ascii") as file:
        return os.getuid() == 0 and file.read().split() == ["0", "0", "4294967295"]


def write(folder, user):
    path = os.path.join(folder, f"{user}.cnf")
    with open(path, "w", encoding="ascii") as out:
        out.write(CONF.format(folder=folder, user=user))
    return path


def status(path):
    with open(path, encoding="ascii") as file:
        return {key: rest.strip() for key, _, rest in (line.partition(":") for line in file)}


class Running:
    """A daemon that has said that it is ready."""

    def __init__(self, folder, name, conf, *words, before=(), **environment):
        address = os.path.join(folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(address)
            os.chmod(address, 0o777)
            manager.settimeout(90)
            self.log = os.path.join(folder, name + ".log")
            with open(self.log, "wb") as log:
                self.process = subprocess.Popen(
                    [*before, os.path.join(conf_examples.BIN, name), *DAEMONS[name][1:], "-c",
                     conf, "-fg", *words],
                    stderr=log, env={**ENVIRONMENT, "NOTIFY_SOCKET": address, **environment})
            while b"READY=1" not in manager.recv(4096):
                pass
        os.unlink(address)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        assert self.process.wait(90) == 0, "it ends in order"


ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "RMDS_ALLOW_ROOT"}


def refused(folder):
    conf = write(folder, "nosuchuser")
    for name, words in DAEMONS.items():
        said = subprocess.run([os.path.join(conf_examples.BIN, name), *words[1:], "-c", conf,
                               "-fg"], check=False,
                              env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, timeout=60)
        assert said.returncode == 1, said
        assert 'root runs no daemon: there is no user "nosuchuser"' in said.stderr and "-allow-root" in said.stderr, said
    with Running(folder, "rrcpd", conf, "-allow-root") as daemon:
        assert status(f"/proc/{daemon.pid}/status")["Uid"].split() == ["0"] * 4


def becomes_another_user(folder):
    conf = write(folder, "nobody")
    for name in DAEMONS:
        with Running(folder, name, conf) as daemon:
            place = glob.glob(f"{folder}/run/{name}*")[0]
            assert os.stat(f"/proc/{daemon.pid}/environ").st_uid == NOBODY, "tools may look into it"
            assert os.stat(place).st_uid == NOBODY and os.stat(
                place).st_mode & 0o777 == 0o750, os.stat(place)
            for task in glob.glob(f"/proc/{daemon.pid}/task/*/status"):
                told = status(task)
                is_main = task.split("/")[4] == str(daemon.pid)
                assert told["Uid"].split() == [str(NOBODY)] * 4, (name, told)
                assert int(told["CapEff"], 16) == 0, (name, task, told["Name"], told["CapEff"])
                if not (name == "rrcpd" and is_main):  # that one may have to join its network anew
                    assert int(told["CapPrm"], 16) == 0, (name, told["Name"], told["CapPrm"])
                if name != "rrcpd":
                    assert not int(told["CapPrm"], 16) & NET_ADMIN, name
                assert told["NoNewPrivs"] == "1", (name, told["Name"])


def locks_memory_and_can_have_more(folder):
    conf = write(folder, "nobody")
    with Running(folder, "rrcpd", conf, "-set", "*lockMemory : True") as daemon:
        with open(f"/proc/{daemon.pid}/limits", encoding="ascii") as file:
            limit = re.search(r"Max locked memory +(\w+)", file.read()).group(1)
        with open(daemon.log, encoding="utf-8") as file:
            log = file.read()
        assert limit == "unlimited" or "lockMemory: " in log, (limit, log)


def takes_a_dead_roots_folder_only(folder):
    conf = write(folder, "nobody")
    words = ["-set", f"*runDir : {folder}/before"]
    place = f"{folder}/before/p2ps.1"
    first = Running(folder, "p2ps", conf, "-allow-root", *words)
    try:
        said = subprocess.run([os.path.join(conf_examples.BIN, "p2ps"), "-c", conf, "-fg", *words],
                              check=False, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True,
                              timeout=60)
        assert said.returncode == 3 and f"held by pid {first.pid}" in said.stderr, said
        assert os.stat(place).st_uid == 0
    finally:
        first.process.kill()
        first.process.wait()
    assert os.path.exists(f"{place}/ctl"), "it was killed"
    home = os.path.join(folder, "home")
    os.mkdir(home, 0o700)
    conf = os.path.realpath(shutil.copy(conf, home))
    with Running(folder, "p2ps", conf, *words) as daemon:
        assert {os.stat(f"{place}/{name}").st_uid for name in os.listdir(place)} == {NOBODY}
        assert {"pid", "ctl", "stats", "stats.lock"} <= set(os.listdir(place)), os.listdir(place)
        with open(daemon.log, encoding="utf-8") as file:
            assert (f"{conf}: user nobody, as whom this runs now, may not read it, as it may not "
                    f"enter {home}: a reload fails") in file.read()
        run = subprocess.run([os.path.join(conf_examples.BIN, "rmdsctl"), "-run",
                              f"{folder}/before", "p2ps", "reload"], check=False, text=True,
                             capture_output=True, env=ENVIRONMENT, timeout=60)
        assert run.returncode == 3 and f"{conf}: " in run.stderr, run
        assert "Permission denied" in run.stderr, run


def default_folder_is_given():
    """In a /run of our own: the link of a role is made by the user, and so is all when it begins anew."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        conf = write(folder, "nobody")
        with open(conf, encoding="ascii") as file:
            lines = [line for line in file if "runDir" not in line]
        with open(conf, "w", encoding="ascii") as out:
            out.writelines(lines)
        os.mkdir("/run/rmds", 0o755)
        DAEMONS["rrcpd"] = ["rrcpd", "source", "net1"]
        with Running(folder, "rrcpd", conf) as daemon:
            assert os.stat("/run/rmds").st_uid == NOBODY
            assert os.path.islink("/run/rmds/rrcpd.net1.source"), os.listdir("/run/rmds")
            pid_file = f"/run/rmds/{os.readlink('/run/rmds/rrcpd.net1.source')}/pid"
            assert os.stat(pid_file).st_uid == NOBODY, daemon.log
        assert os.listdir("/run/rmds") == []


def each_has_a_user_of_its_own(folder):
    """As the units start them: folders of the service manager, one group for the attach socket."""
    group, key = 2000, os.path.join(folder, "key")
    conf = write(folder, "nobody")
    with open("/etc/group", encoding="utf-8") as old:
        lines = [line for line in old if not line.startswith("rmds:")]
    with open(os.path.join(folder, "group"), "w", encoding="utf-8") as new:
        new.writelines([*lines, f"rmds:x:{group}:\n"])
    subprocess.run(["mount", "--bind", os.path.join(folder, "group"), "/etc/group"], check=True)
    subprocess.run([os.path.join(conf_examples.BIN, "rrcpd"), "--make-key", key],
                   check=True, stdout=subprocess.DEVNULL)
    os.chown(key, group + 1, group + 1)
    with open(conf, "a", encoding="ascii") as out:
        out.write(f"*rrcp*authKeyFile : {key}\n*runDir : /run/rmds\n"
                  "*rrcp*attachAccess : gid=rmds all\n")
    os.mkdir("/run/rmds", 0o755)
    running, users = {}, {}
    try:
        for uid, (name, place) in enumerate({"rrcpd": "rrcpd.net1.1", "src_dist": "src_dist.1",
                                             "p2ps": "p2ps.1"}.items(), group + 1):
            users[name] = ["setpriv", f"--reuid={uid}", f"--regid={uid}", f"--groups={group}",
                           "--inh-caps=-all"]
            os.mkdir(f"/run/rmds/{place}", 0o750)
            os.chown(f"/run/rmds/{place}", uid, uid)
            running[name] = Running(folder, name, conf, before=users[name],
                                    RUNTIME_DIRECTORY=f"/run/rmds/{place}")
            assert os.stat(f"/run/rmds/{place}").st_gid == group, place
        for uid, name in enumerate(("src_dist", "p2ps"), group + 2):
            until_logged(running["rrcpd"].log, rf"user {name}\S* attached: .* uid={uid}")
            assert not may_read([*users[name]], key), f"{name} reads the key of rrcpd"
        assert may_read([*users["rrcpd"]], key)
        seen = subprocess.run([*users["p2ps"], os.path.join(conf_examples.BIN, "rmdsmon"), "-once"],
                              check=False, capture_output=True, text=True, env=ENVIRONMENT,
                              timeout=60).stdout
        assert all(name in seen for name in ("rrcpd.net1.1", "src_dist.1", "p2ps.1")), seen
    finally:
        for one in reversed(running.values()):
            one.process.terminate()
            assert one.process.wait(90) == 0


def may_read(user, path):
    return subprocess.run([*user, "cat", path], check=False,
                          capture_output=True, timeout=60).returncode == 0


def until_logged(path, pattern):
    for _ in range(900):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if re.search(pattern, text):
            return
        time.sleep(0.1)
    raise AssertionError(f"{pattern} is not in\n{text}")


def in_a_run_of_its_own():
    private = ["unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /run"]
    if subprocess.run(private, check=False, stderr=subprocess.DEVNULL).returncode != 0:
        print("no /run of our own can be made here")
        return
    for what in ("run", "users"):
        subprocess.run([*private[:4], private[4] + ' && exec "$@"', "sh", sys.executable,
                        os.path.abspath(__file__), what], check=True, env=ENVIRONMENT)


def root_of_a_namespace_is_no_root(folder):
    conf = write(folder, "nosuchuser")
    said = subprocess.run(["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY),
                           "--clear-groups", "unshare", "-rn",
                           os.path.join(conf_examples.BIN, "p2ps"), "-c", conf, "-fg", "-set",
                           f"*runDir : {folder}/own",
                           "-set", "*memoryLimit : 1K"], check=False, env=ENVIRONMENT,
                          stderr=subprocess.PIPE, text=True,
                          timeout=60)
    if "unshare failed" in said.stderr or "setpriv" in said.stderr:
        print("no user namespace of an ordinary user may be made here")
        return
    assert not re.search("root runs no daemon", said.stderr), said


def main():
    if not is_root():
        print("not root: there is nothing to give up")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        refused(folder)
        becomes_another_user(folder)
        locks_memory_and_can_have_more(folder)
        takes_a_dead_roots_folder_only(folder)
        root_of_a_namespace_is_no_root(folder)
    in_a_run_of_its_own()
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["run"]:
        default_folder_is_given()
        sys.exit(0)
    if sys.argv[1:] == ["users"]:
        with tempfile.TemporaryDirectory() as inside:
            os.chmod(inside, 0o777)
            each_has_a_user_of_its_own(inside)
        sys.exit(0)
    conf_examples.enter_namespace()
    sys.exit(main())
