"""verbs.py - up, down, status, ps, logs, mon: which system they are about, and what they tell."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import contextlib
import fcntl
import json
import os
import sys
import time

from running import logs, publisher


def short(path):
    """As it may be typed here."""
    relative = os.path.relpath(path)
    return relative if len(relative) < len(path) and not relative.startswith("../../..") else path


def door(root):
    """The front door as it is typed here: that of a tree, or the installed one."""
    installed = not os.path.exists(os.path.join(root, "CMakeLists.txt"))
    return "rmds" if installed else short(os.path.join(root, "tools", "rmds"))


class Door:
    """The verbs, for one user."""

    def __init__(self, run):
        self.run = run
        self.rmds = door(run.ROOT)

    # ---- which system ----

    def systems(self):
        """[(System, state)] of this user, newest last; what an earlier boot left is taken away."""
        found = []
        for base in filter(self.run.is_own, self.run.folders_of_user()):
            for tag in sorted(os.listdir(base)):
                try:
                    with open(os.path.join(base, tag, "system.json"), encoding="utf-8") as file:
                        state = json.load(file)
                    system = self.run.System(state["conf"])
                except (OSError, ValueError, KeyError, TypeError):
                    continue
                if system.tag != tag or state.get("processes", "") not in ("",
                                                                           self.run.processes()):
                    continue
                if state.get("boot", "") not in ("", self.run.boot()):
                    self.run.clean(system)
                    continue
                found.append((system, state))
        found.sort(key=lambda pair: pair[1].get("since", 0))
        names = [system.name for system, _ in found]
        for system, _ in found:  # two configurations may have one name
            if names.count(system.name) > 1:
                system.name += "-" + system.tag[:4]
        return found

    def is_alive(self, state):
        return any(self.run.alive(program) for program in self.run.members(state))

    def named(self, word, found):
        for system, _ in found:
            if word in (system.name, system.tag) or os.path.realpath(word) == system.conf:
                return system
        return None

    def choose(self, verb, word, everything=False):
        """The systems that the verb is about; none is an empty list, too many an end."""
        found = self.systems()
        if word:
            system = self.named(word, found)
            if not system and found and not os.path.isfile(word):
                raise SystemExit(
                    f'rmds: no system "{word}" is up; there are: ' +
                    ", ".join(system.name for system, _ in found)
                )
            return [system] if system else []
        living = [system for system, state in found if self.is_alive(state)]
        chosen = living or [system for system, _ in found]
        if everything:
            return [system for system, _ in found]
        if len(chosen) > 1:
            self.table(found)
            names = " or ".join(f"{self.rmds} {verb} {system.name}" for system in chosen[:2])
            every = ", or --all for each of them" if verb in ("down", "status") else ""
            raise SystemExit(f"rmds: {len(chosen)} systems are up, say which: {names}{every}")
        return chosen

    # ---- what is told ----

    def condition(self, state):
        programs = self.run.members(state)
        alive = [program for program in programs if self.run.alive(program)]
        if not alive:
            return "GONE", 0
        if len(alive) < len(programs) or any(self.run.hangs_s(program) for program in alive):
            return "WARN", len(alive)
        return "up", len(alive)

    @staticmethod
    def age(state):
        seconds = int(time.clock_gettime(time.CLOCK_BOOTTIME) - state.get("since", 0))
        days, hours, minutes = seconds // 86400, seconds // 3600 % 24, seconds // 60 % 60
        return f"{days}d{hours:02}h" if days else f"{hours}h{minutes:02}m" if hours else f"{minutes}m{seconds % 60:02}s"

    def row(self, system, state):
        word, alive = self.condition(state)
        told = state.get("addresses", {})
        page = next((url for name, url in told.get("pages", {}).items() if name.startswith("p2ps")),
                    "-")
        return [system.name, word, f"{alive} of {len(self.run.members(state))}", self.age(state),
                ",".join(str(port) for port in told.get("consumers", [])) or "-", page,
                short(system.conf)]

    def table(self, found):
        rows = [["NAME", "STATE", "PROGRAMS", "UP", "CONSUMERS", "PAGE", "CONF"]]
        rows += [self.row(system, state) for system, state in found]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        for row in rows:
            print("  ".join(f"{word:<{width}}" for word, width in zip(row, widths)).rstrip())

    def road(self, system):
        """What somebody who has just started it can do next."""
        state = system.load()
        told, port = state["addresses"], next(iter(state["addresses"]["consumers"]), None)
        lines, test = [], short(os.path.join(self.run.BIN, "rmdstestclient"))
        if state.get("publisher") and port:
            lines += [("consumers",
                       f"localhost:{port}, service {publisher.SERVICE}, item {publisher.ITEM}"
                       " (any other name is answered, too)"),
                      ("try",
                       f"{test} -S {publisher.SERVICE} -h localhost -p {port} -il {publisher.ITEM} "
                       f"-d 3 -l 3")]
        else:
            lines += [("consumers", "localhost:" +
                       ", ".join(str(port) for port in told["consumers"]))] * bool(port)
            lines += self.publishers(told["providers"])
        lines += [("prices", f"{told['live'][0]} (a page for the browser)")] if told.get(
            "live") else []
        pages = list(told["pages"].items())
        pages.sort(key=lambda pair: not pair[0].startswith("p2ps"))
        lines += [("page",
                   f"{pages[0][1]} ({pages[0][0]}; it has links to the others)")] if pages else []
        lines += [("logs", system.folder)]
        name = "" if len(self.systems()) == 1 else " " + system.name
        lines += [("next", " · ".join(f"{self.rmds} {verb}{name}"
                                      for verb in ("mon", "logs", "status", "down")))]
        print()
        for word, text in lines:
            print(f"      {word:<12} {text}")

    def publishers(self, providers):
        """For each route, where it looks for a provider, and a command that is one."""
        program = short(os.path.join(self.run.BIN, "sink_driven_src"))
        lines = []
        for host, port, service in providers:
            lines.append(("publisher", f"none is started: src_dist connects to {host}:{port}"))
            if host in ("localhost", "127.0.0.1"):
                words = publisher.words(short(self.run.ROOT), port, publisher.RATE, service)
                lines.append(("start one", " ".join([program, *words])))
        return lines

    # ---- the verbs ----

    @contextlib.contextmanager
    def alone(self):
        """One up or down of this user at a time."""
        base = self.run.folders_of_user()[0]
        self.run.make_folder(base)
        folder = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        finally:
            os.close(folder)

    def up(self, words):
        """up [CONF] [--rate N]"""
        if words.conf and not os.path.isfile(words.conf):
            raise SystemExit(
                f"rmds: there is no file {words.conf}; {self.rmds} up without a name starts the "
                f"whole chain")
        system = self.run.System(words.conf or self.run.DEMO)
        with self.alone():
            code = self.run.up(system, 0 if words.conf else words.rate)
        if code == 0 and not words.conf:
            code = self.prove(system)
        if code == 0:
            self.road(system)
        return code

    def prove(self, system):
        """A consumer of the chain sees a price."""
        port = system.load()["addresses"]["consumers"][0]
        seconds, text = publisher.first_price(os.path.join(self.run.BIN, "rmdstestclient"), port)
        if seconds is None:
            self.run.say("no", "rmdstestclient",
                         f"no price came: {' '.join(text)}; {self.rmds} logs")
            return 1
        self.run.say("ok", "rmdstestclient", f"{publisher.ITEM}: {text}")
        return 0

    def down(self, words):
        """down [NAME | CONF | --all]"""
        with self.alone():
            chosen = self.choose("down", words.name, words.all)
            if not chosen:
                print("rmds: nothing is up")
            for system in chosen:
                if len(chosen) > 1:
                    print(f"{system.name}:")
                self.run.down(system)
        return 0

    def status(self, words):
        """status [NAME | CONF | --all]"""
        chosen = self.choose("status", words.name, words.all)
        if not chosen:
            print(f"rmds: nothing is up; {self.rmds} up starts the whole chain")
            return 1
        bad = 0
        for system in chosen:
            if len(chosen) > 1:
                print(f"{system.name}, {short(system.conf)}:")
            bad |= self.run.status(system)
        return bad

    def ps(self, words):
        """ps [--json]"""
        found = self.systems()
        if words.json:
            print(json.dumps([dict(state, name=system.name, folder=system.folder,
                                   state=self.condition(state)[0])
                              for system, state in found], indent=1))
        elif found:
            self.table(found)
        else:
            print(f"rmds: nothing is up; {self.rmds} up starts the whole chain")
        return 0 if found else 1

    def logs(self, words):
        """logs [NAME | CONF] [PROGRAM] [-n LINES] [-f]"""
        names = list(words.names)
        found = self.systems()
        word = names.pop(0) if names and self.named(names[0], found) else None
        chosen = self.choose("logs", word)
        if not chosen:
            print(f"rmds: nothing is up; {self.rmds} up starts the whole chain")
            return 1
        state = chosen[0].load()
        programs = self.run.members(state)
        for name in names:
            programs = [program for program in programs if program["name"].startswith(name)]
            if not programs:
                there = ", ".join(program["name"] for program in self.run.members(state))
                raise SystemExit(
                    f'rmds: {chosen[0].name} has no program "{name}"; there are: {there}')
        try:
            logs.show([program["log"] for program in programs], words.lines, words.follow,
                      lambda: not self.is_alive(chosen[0].load() or {"programs": []}))
        except (KeyboardInterrupt, BrokenPipeError):
            sys.stdout = open(os.devnull, "w", encoding="ascii")  # nobody reads the rest
        return 0

    def mon(self, words):
        """mon [NAME | CONF] [option of rmdsmon]..."""
        rest = list(words)
        name = rest.pop(0) if rest and not rest[0].startswith("-") else None
        chosen = self.choose("mon", name)
        if not chosen:
            print(f"rmds: nothing is up; {self.rmds} up starts the whole chain", file=sys.stderr)
            return 3
        statistics = [program["statistics"] for program in self.run.members(chosen[0].load())
                      if program["statistics"]]
        folders = list(dict.fromkeys(os.path.dirname(os.path.dirname(path)) for path in statistics))
        program = os.path.join(self.run.BIN, "rmdsmon")
        if len(folders) > 1:
            print(f"rmds: the statistics stand in {', '.join(folders)}; this is the first",
                  file=sys.stderr)
        os.execv(program, [program, "-run", folders[0], *rest])


def positive(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.print_usage(sys.stderr)
        self.exit(1, f"{self.prog}: {message}\n")


def parser_of(verb, door):
    parser = Parser(prog=f"{door.rmds} {verb}", usage=f"{door.rmds} {getattr(Door, verb).__doc__}",
                                     allow_abbrev=False)
    which = "its name as ps tells it, or its configuration; not needed where one system is up"
    if verb == "up":
        parser.add_argument("conf", nargs="?", metavar="CONF",
                            help="start what its startList names; without, the whole chain with a "
                                 "publisher")
        parser.add_argument("--rate", type=positive, default=publisher.RATE, metavar="N",
                            help=f"updates per second of the publisher, all open items together "
                                 f"({publisher.RATE})")
    if verb in ("down", "status"):
        parser.add_argument("name", nargs="?", metavar="NAME", help=which)
        parser.add_argument("--all", action="store_true", help="every system of this user")
    if verb == "ps":
        parser.add_argument("--json", action="store_true",
                            help="everything that is known of them, as JSON")
    if verb == "logs":
        parser.add_argument("names", nargs="*", metavar="NAME",
                            help=which + "; then the first letters of a program")
        parser.add_argument("-n", "--lines", type=positive, default=20, metavar="LINES",
                            help="the last so many (20)")
        parser.add_argument("-f", "--follow", action="store_true",
                            help="and those that come, until all is down")
    if verb == "mon":
        parser.add_argument("name", nargs="?", metavar="NAME", help=which)
        parser.epilog = "What follows is for rmdsmon: -once, -print MOUNTS, -json; rmdsmon -help lists all."
    return parser


def main(run, words):
    verb = words[0] if words else ""
    door = Door(run)
    if verb not in ("up", "down", "status", "ps", "logs", "mon"):
        raise SystemExit(f'rmds: no verb "{verb}" here; there are: up, down, status, ps, logs, mon')
    rest = words[1:]
    if verb != "mon" or rest[:1] in (["-h"], ["--help"], ["-help"]):
        rest = parser_of(verb,
                         door).parse_args(["--help" if word == "-help" else word for word in rest])
    return getattr(door, verb)(rest)
