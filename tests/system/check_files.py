#!/usr/bin/env python3
"""check_files.py - `rmdscnf -files check` finds what is wrong with what the lines name; daemons say it, too."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import socket
import subprocess
import sys
import tempfile

import conf_examples

GOOD = """\
*rmds*startList : rrcpd.net1.1, src_dist.1, p2ps.1
*runDir : {folder}/run
*logDir : {folder}/log
*rrcp*interface : lo
*rrcp*authKeyFile : {folder}/keys
*p2ps*rsslPort : 14202
*p2ps*tlsPort : 14443
*p2ps*tlsCertFile : {folder}/cert.pem
*p2ps*tlsKeyFile : {folder}/key.pem
*p2ps*accessFile : {folder}/access
*p2ps*dictionaryPath : {conf}/RDMFieldDictionary, {conf}/enumtype.def
"""
# A line in place of (or behind) the good ones, and what is found at it: severity and words.
WRONG = [
    ("*p2ps*tlsCertFile : {folder}/gone.pem", "error", r"tlsCertFile of p2ps.1: .*/gone.pem: No such file"),
    ("*p2ps*tlsCertFile : {folder}/key.pem", "error", r"a private key is in it; expected a certificate"),
    ("*p2ps*tlsCertFile : {folder}/access", "error", r"nothing in PEM form is in it; expected a certificate"),
    ("*p2ps*tlsCertFile : {folder}", "error", r"it is a folder"),
    ("*p2ps*tlsKeyFile : {folder}/cert.pem", "error", r"a certificate is in it; expected a private key"),
    ("*p2ps*tlsKeyFile : {folder}/secret.pem", "error", r"the key has a passphrase"),
    ("*p2ps*tlsKeyFile : {folder}/other.pem", "error", r"does not fit the certificate .*/cert.pem"),
    ("*p2ps*tlsKeyFile : {folder}/open.pem", "error", r"every user can read this key; chmod o-rwx"),
    ("*p2ps*tlsCertFile : {folder}/soon.pem\n*p2ps*tlsKeyFile : {folder}/soon.key", "warning", r"the certificate expires on \d+-\d\d-\d\d, in \d+ days"),
    ("*p2ps*tlsRequireClientCert : True", "error", r"tlsCaFile of p2ps.1 .*no file is named, but tlsRequireClientCert"),
    ("*src_dist*1.route*encrypted : True\n*src_dist*1.route*tlsCaFile : {folder}/gone.pem", "error", r"tlsCaFile of src"),
    ("*src_dist*1.route*routeType : consumer\n*src_dist*1.route*hostList : 127.0.0.1:1, hq:14002\n"
     "*src_dist*1.route*loginPasswordFile : {folder}/access", "warning",
     r"loginPasswordFile of .*the password goes to hq:14002 in the clear"),
    ("*p2ps*accessFile : {folder}/broken", "error", r"accessFile of p2ps.1: .*/broken:2: "),
    ("*p2ps*accessFile : {folder}/including", "error", r"accessFile of p2ps.1: .*/broken:2: "),
    ("*p2ps*accessFile : {folder}/including", "error", r"accessFile of p2ps.1: .*/including:2: include gone: "),
    ("*p2ps*accessFile : {folder}/including", "error", r"accessFile of p2ps.1: .*/shared: every user can write it"),
    ("*p2ps*accessShadowFile : {folder}/broken", "error", r"accessShadowFile of p2ps.1: .*/broken:2: "),
    ("*p2ps*accessFile : {folder}/gone", "error", r"accessFile of p2ps.1: .*/gone: No such file"),
    ("*p2ps*accessFile : {folder}/passwords", "warning", r"every user can read it"),
    ("*p2ps*accessFile : {folder}/shared", "error", r"every user can write it"),
    ("*p2ps*tlsUserPolicy : match\n*p2ps*accessFile :", "error",
     r"tlsUserPolicy of p2ps.1: match is of the users of accessFile, and that is not set"),
    ("*src_dist*providerAccessFile : {folder}/broken", "error", r"providerAccessFile of src_dist.1: .*/broken:2: "),
    ("*src_dist*providerAccessFile : {folder}/gone", "error", r"providerAccessFile of src_dist.1: .*/gone: No such file"),
    ("*src_dist*providerAccessFile : {folder}/access", "error", r"/access: no line says allow USER SERVICE \* do=publish"),
    ("*src_dist*filterFile : {folder}/broken", "error",
     r"filterFile of src_dist.1: .*/broken:1: user: expected keep, drop, types or interval"),
    ("*src_dist*filterFile : {folder}/gone", "error", r"filterFile of src_dist.1: .*/gone: No such file"),
    ("*src_dist*fieldFilter : hold 5", "error", r"fieldFilter of src_dist.1: expected keep FIELD... or drop FIELD..."),
    ("*src_dist.service.A*updateTypeFilter : BUY", "error",
     r"updateTypeFilter of src_dist.1: service A: update type BUY"),
    ("*src_dist*conflateInterval : 100\n*src_dist*conflateExempt : 999", "error",
     r"conflateExempt of src_dist.1: update type 999: expected a number up to 255"),
    ("*src_dist*conflateInterval : 100\n*src_dist*conflateExemptFields : NOWHERE", "error",
     r"conflateExemptFields of src_dist.1: field NOWHERE: a name needs a field dictionary"),
    ("*p2ps*conflateRates : jit,100,fast", "error",
     r"conflateRates of p2ps.1: fast is no rate; milliseconds from 1 to 60000 are, and jit"),
    ("*p2ps*conflateRates : 100,0", "error", r"conflateRates of p2ps.1: 0 is no rate"),
    ("*p2ps*conflateRates : jit,1,2,3,4,5,6,7,7,8", "error",
     r"conflateRates of p2ps.1: more than 8 rates; leave out 8"),
    ("*src_dist*providerAccessFile : {folder}/shared", "error", r"providerAccessFile of src_dist.1: .*every user can write it"),
    ("*rrcp*authKeyFile : {folder}/openkeys", "error", r"authKeyFile of rrcpd.net1.1: .*others can read"),
    ("*p2ps*dictionaryPath : {folder}/broken", "error", r"dictionaryPath of p2ps.1: .*/broken:1: "),
    ("*p2ps*dictionaryPath : {folder}/gone", "error", r"dictionaryPath of p2ps.1: .*/gone: No such file"),
    ("*rrcp*authKeyFile : {folder}/broken", "error", r"authKeyFile of rrcpd.net1.1: .*/broken:1: expected `ID KEY`"),
    ("*rrcp*interface : eth7", "error", r"no interface of this host has the name or address eth7; there are: lo \(127"),
    ("*rrcp*interface : bare0", "error", r"bare0 has no address, .*there are: .*bare0 \(no address\)"),
    ("*rrcp*interface : far0\n*rrcp*authKeyFile :", "error",
     r"authKeyFile is not set and interface far0 [^ ]* is not loopback"),
    ("*p2ps*listenAddress : 192.0.2.77", "warning",
     r"rsslPort of p2ps.1: port 14202 of address 192.0.2.77: Cannot assign"),
    ("*p2ps*wsEnable : True\n*p2ps*wsPort : 14202", "error",
     r"port 14202 is that of rsslPort of p2ps.1, too"),
    ("*rrcp*interface : six0", "error", r"six0 has an address of IPv6 only, the group is of IPv4"),
    ("*p2ps*rsslPort : {taken}", "error", r"rsslPort of p2ps.1: port {taken} is in use by python3?[^,]*, pid {pid}"),
    ("*p2ps*statusPort : 14443", "error", r"port 14443 is that of tlsPort of p2ps.1, too"),
    ("*src_dist*serverPort : 14202", "error", r"port 14202 is that of serverPort of src_dist.1, too"),
    ("*p2ps*rsslPort : {ephemeral}", "warning", r"port {ephemeral} is one of \d+\.\.\d+ that the kernel gives"),
    ("*runDir : {folder}/access/run", "error", r"runDir of p2ps.1: "),
    ("*logDir : {folder}/access", "error", r"logDir of p2ps.1: .*it is no folder"),
]

# Lines at which nothing is found.
RIGHT = [
    "*rrcp*interface : far0",
    "*rrcp*interface : far0\n*rrcp*authKeyFile : none",
    "*src_dist*listenAddress : 127.0.0.2\n*src_dist*providerAccessFile : none\n"
    "*src_dist*serverPort : 14202\n*p2ps*listenAddress : 127.0.0.1",
]


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def write(path, text, mode=0o600):
    with open(path, "w", encoding="ascii") as out:
        out.write(text)
    os.chmod(path, mode)


def make_files(folder):
    for name, days, key in (("cert", "3650", f"{folder}/key.pem"), ("soon", "5", f"{folder}/soon.key")):
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", days, "-keyout", key,
                "-out", f"{folder}/{name}.pem")
    openssl("genrsa", "-out", f"{folder}/other.pem", "2048")
    openssl("pkey", "-in", f"{folder}/key.pem", "-aes128", "-passout", "pass:x", "-out", f"{folder}/secret.pem")
    with open(f"{folder}/key.pem", encoding="ascii") as key:
        write(f"{folder}/open.pem", key.read(), 0o644)
    write(f"{folder}/keys", "1 " + "ab" * 32 + "\n")
    write(f"{folder}/access", "user jim password=x\n")
    write(f"{folder}/broken", "user jim\npermit jim * *\n")
    write(f"{folder}/including", "include broken\ninclude gone\ninclude shared\n")
    write(f"{folder}/passwords", "user jim password=x\n", 0o644)
    write(f"{folder}/shared", "user jim password=x\n", 0o602)
    write(f"{folder}/openkeys", "1 " + "ab" * 32 + "\n", 0o644)


def configuration(words, more):
    """The good file, `more` in place of the lines that it replaces; and the number of its first line."""
    names = [line.split(":")[0] for line in more.splitlines()]
    lines = [line for line in GOOD.splitlines() if line.split(":")[0] not in names]
    return "\n".join([*lines, *more.splitlines(), ""]).format(**words), len(lines) + 1


def check(path):
    return subprocess.run([os.path.join(conf_examples.BIN, "rmdscnf"), "-files", "check", path], capture_output=True,
                          text=True, check=False, timeout=60)


def daemons_say_it(folder, words):
    """What stops a daemon names the parameter, its line, what was found and who is in the way."""
    cases = [
        ("p2ps", "*p2ps*tlsCertFile : {folder}/gone.pem", 2, r"tls: tlsCertFile \(.*:{line}\): .*/gone.pem: No such file"),
        ("p2ps", "*p2ps*tlsKeyFile : {folder}/open.pem", 2, r"tls: tlsKeyFile \(.*:{line}\): .*every user can read this key"),
        ("p2ps", "*p2ps*accessFile : {folder}/shared", None, r"accessFile .*/shared: every user can write it; chmod o-rwx"),
        ("rrcpd", "*rrcp*authKeyFile : {folder}/openkeys", None, r"authKeyFile \(.*:{line}\): .*others can read"),
        ("p2ps", "*p2ps*tlsKeyFile : {folder}/cert.pem", 2, r"tls: tlsKeyFile \(.*:{line}\): .*expected a private key"),
        ("src_dist", "*src_dist.service.A*fieldFilter : hold 5", 2,
         r"fieldFilter of service A: expected keep FIELD"),
        ("src_dist", "*src_dist*siteName : A\n*src_dist*1.route*routeType : consumer\n"
         "*src_dist*1.route*hostList : hq\n*src_dist*1.route*loginUser : a\n"
         "*src_dist*1.route*loginTokenFile : {folder}/access", None,
         r"route 1: loginUser and loginTokenFile: give one of them, the token names the user"),
        ("src_dist", "*src_dist*siteName : A\n*src_dist*1.route*routeType : consumer\n"
         "*src_dist*1.route*hostList : hq\n*src_dist*1.route*loginUser : " + 300 * "a", None,
         r"route 1: loginUser: longer than 255 bytes"),
        ("src_dist", "*src_dist*tlsServerPort : 14444", 2, r"tls: tlsCertFile \(no line sets it\): no file is named"),
        ("p2ps", "*p2ps*rsslPort : {taken}", 3, r"rsslPort {taken} \(.*:{line}\): Address already in use by python.*{pid};"),
        ("p2ps", "*p2ps*statusPort : {taken}", 3, r"statusPort {taken} \(.*:{line}\): Address already in use by python"),
        ("src_dist", "*src_dist*serverPort : {taken}", 3, r"serverPort {taken} \(.*:{line}\): Address already in use by py"),
        ("p2ps", "*runDir : {folder}/access/run", 2, r"runDir .*/access/run \(.*:{line}\): Not a directory; name a folder"),
        ("src_dist", "*runDir : {folder}/access/run", 2, r"runDir .*/access/run \(.*:{line}\): Not a directory; name a fo"),
        ("p2ps", "*p2ps*memoryLimit : 10M", 1, r"memoryLimit 10M \(.*:{line}\): 10M is too small: \d+M are needed"),
        ("src_dist", "*src_dist*memoryLimit : 10M", 1, r"memoryLimit 10M \(.*:{line}\): 10M is too small: \d+M are needed"),
        ("p2ps", "*p2ps*tlsUserPolicy : match\n*p2ps*accessFile :", 1,
         r"tlsUserPolicy match \(.*:{line}\): match is of the users of accessFile, and that is not set"),
        ("rrcpd", "*rrcp*interface : eth7", None, r"interface \(.*:{line}\): no interface of this host has .*eth7; there"),
    ]
    for program, line, code, expected in cases:
        path = os.path.join(folder, "daemon.cnf")
        text, number = configuration(words, line)
        expected = expected.format(**words, line=number)
        write(path, text)
        ended = subprocess.run([os.path.join(conf_examples.BIN, program), "-c", path, "-fg"], capture_output=True,
                               text=True, check=False, timeout=60)
        said = ended.stdout + ended.stderr
        assert re.search(expected, said), f"{program}, {line}: no '{expected}' in\n{said}"
        assert ended.returncode != 0 and code in (None, ended.returncode), f"{line}: exit code {ended.returncode}"


def main():
    for words in ("link add bare0 type veth peer name six0", "addr add fd00::1/64 dev six0", "link set six0 up",
                  "link add far0 type veth peer name far1", "addr add 198.51.100.1/24 dev far0",
                  "link set far1 up", "link set far0 up"):
        subprocess.run(["ip", *words.split()], check=True)
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("", 0)) as taken:
        make_files(folder)
        with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
            last = int(file.read().split()[1])
        words = {"folder": folder, "conf": sys.argv[1], "taken": taken.getsockname()[1], "pid": os.getpid(),
                 "ephemeral": last - 1 if taken.getsockname()[1] == last else last}
        path = os.path.join(folder, "rmds.cnf")
        write(path, GOOD.format(**words))
        said = check(path)
        assert said.returncode == 0 and "0 errors, 0 warnings" in said.stdout, said.stdout
        for line, severity, expected in WRONG:
            write(path, configuration(words, line)[0])
            said = check(path)
            lines = [one for one in said.stdout.splitlines() if re.search(expected.format(**words), one)]
            assert len(lines) == 1 and f" {severity}: " in f" {lines[0]}", f"{line}: no '{expected}' in\n{said.stdout}"
            assert said.returncode == (1 if severity == "error" else 0), f"{line}: exit code {said.returncode}"
        for line in RIGHT:
            write(path, configuration(words, line)[0])
            said = check(path)
            assert "0 errors, 0 warnings" in said.stdout, f"{line}: {said.stdout}"
        daemons_say_it(folder, words)
    print(f"{len(WRONG)} mistakes found")


if __name__ == "__main__":
    conf_examples.enter_namespace()
    main()
