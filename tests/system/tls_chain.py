#!/usr/bin/env python3
"""tls_chain.py - docs/tls.md to the letter: its certificates, its configuration, its commands. Data
go through the chain with TLS on every connection from outside; who shows no certificate, or trusts
nobody, is refused and told why."""
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import subprocess
import sys
import tempfile

import conf_examples
import reload

PAGE = os.path.join(conf_examples.ROOT, "docs", "tls.md")
SAMPLE = os.path.join(conf_examples.ROOT, "conf", "sample.xml")


def blocks(folder):
    """The page's blocks of code, with our folder in place of /etc/rmds/tls."""
    with open(PAGE, encoding="ascii") as page:
        found = re.findall(r"^```\n(.*?)^```$", page.read(), re.M | re.S)
    return [text.replace("/etc/rmds/tls", folder).replace(" sample.xml", f" {SAMPLE}")
            for text in found]


def shell(text, folder):
    """A block as a person pastes it."""
    subprocess.run(["sh", "-e", "-c", text], check=True, cwd=folder, capture_output=True)


def tool(line):
    name, *words = line.split()
    return conf_examples.tool(name, *words)


def consume(line, seconds):
    """What a consumer's command line comes to."""
    run = subprocess.run([os.path.join(conf_examples.BIN, line.split()[0]), *line.split()[1:],
                          "-timeout", seconds],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                         timeout=120)
    return run.returncode, run.stdout + run.stderr


def check_refusals(line):
    """Without a certificate; without the authority; with files for TLS, but without TLS."""
    for option, word in (("-tlsCertFile", "certificate required"),
                         ("-tlsCaFile", "self-signed certificate in certificate chain"),
                         ("-ct", "need tls")):
        words = line.split(" " +
                           option)[0] if option == "-tlsCertFile" else re.sub(rf" {option} \S+", "",
                                                                              line)
        code, said = consume(words, "2")
        assert code != 0 and word in said, f"{words}: {code}, without '{word}':\n{said}"


def check_revoked(system, folder, revocation, conf, line):
    """As the page says: the list is made, a reload takes it, and the client is refused."""
    shell(revocation, folder)
    with open(conf, "a", encoding="ascii") as out:
        out.write(f"*p2ps*tlsCrlFile : {folder}/crl.pem\n")
    check = subprocess.run([os.path.join(conf_examples.BIN, "rmdscnf"), "-files", "check", conf],
                           text=True, capture_output=True, check=False)
    assert check.returncode == 0, check.stdout + check.stderr
    p2ps = next(one for one in system.load()["programs"] if one["name"] == "p2ps.1")
    os.kill(p2ps["pid"], signal.SIGHUP)
    reload.wait_for(lambda: "configuration read again" in reload.log_of(system, "p2ps.1"),
                    "the list is taken")
    code, said = consume(line, "1")
    assert code != 0 and "revoked" in said, f"{code}\n{said}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RMDS_STATE"] = os.path.join(folder, "state")
        (authority, server, client, copies, lines, providers, consumers, keystore,
         revocation) = blocks(folder)
        for text in (authority, server, client, copies):
            shell(text, folder)
        conf = os.path.join(folder, "c.cnf")
        with open(conf, "w", encoding="ascii") as out:
            out.write("*rmds*startList : src_dist.1, p2ps.1\n*rrcp*inProcess : True\n" + lines)
        check = subprocess.run([os.path.join(conf_examples.BIN, "rmdscnf"), "-files", "check",
                                conf], text=True,
                               capture_output=True, check=False)
        assert check.returncode == 0, check.stdout + check.stderr
        children = [tool(line) for line in providers.splitlines()]
        run = conf_examples.load_run()
        system = run.System(conf)
        try:
            assert run.up(system) == 0, "it did not start"
            for line in consumers.splitlines():
                code, said = consume(line, "60")
                found = re.search(r"([\d,]+) updates in .* ([\d,]+) refreshes", said)
                assert code == 0 and found and "0" not in found.groups(), f"{line}: {code}\n{said}"
            check_refusals(consumers.splitlines()[0])
            check_revoked(system, folder, revocation, conf, consumers.splitlines()[0])
        finally:
            run.down(system)
            for child in children:
                child.terminate()
                child.wait()
        if subprocess.run(["which", "keytool"], capture_output=True, check=False).returncode == 0:
            shell(keystore, folder)
    print("all good")


if __name__ == "__main__":
    conf_examples.enter_namespace()
    sys.exit(main())
