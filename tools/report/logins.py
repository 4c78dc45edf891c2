"""logins.py - a consumer of the chain, alone and beside many logins a second, for bench access."""
# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import chain
import host

KINDS = ("password", "token", "authority")
USERS, ITEMS, WARM_TRIES, SECRET, AUDIENCE = 20, 200, 5, "open-sesame", "market-data"
ACCESS = ["default items allow", "default posts deny", "user consumer auth=none",
          "user jwt* auth=jwt", "user out* auth=authority"]
LOSSES = ("lost", "duplicates", "reorders", "wrong", "early", "told_lost")
ANSWERS = ("asked", "let_in", "refused", "failed", "unanswered", "not_begun")


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*words):
    return subprocess.run(["openssl", *words], check=True, capture_output=True).stdout


def raw_signature(der):
    """r and s of 32 bytes each, as JOSE has them, of a sequence of two integers."""
    numbers, at = [], 2
    for _ in range(2):
        length = der[at + 1]
        numbers.append(int.from_bytes(der[at + 2:at + 2 + length], "big").to_bytes(32, "big"))
        at += 2 + length
    return b"".join(numbers)


class Users:
    """Files: who may log in, who knows him, and how he logs in; and the authority's process."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rmds-logins.")
        self.authority = None
        self.write("access", "\n".join(ACCESS + self.by_password()) + "\n")
        self.by_token()
        self.by_authority()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(self.path(name), 0o600)

    def by_password(self):
        found = subprocess.run([os.path.join(chain.BIN, "rmdsaccess"), "hash"],
                               input=SECRET + "\n", check=True, capture_output=True,
                               text=True).stdout.strip()
        self.write("password", "".join(f"pw{n} {SECRET}\n" for n in range(USERS)))
        return [f"user pw{n} hash={found}" for n in range(USERS)]

    def by_token(self):
        """Signed by ES256, each of a user of its own."""
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-out", self.path("key"))
        point = openssl("pkey", "-in", self.path("key"), "-pubout", "-outform", "DER")[-64:]
        self.write("keys.json", json.dumps({"keys": [{
            "kty": "EC", "crv": "P-256", "kid": "bench",
            "x": base64url(point[:32]), "y": base64url(point[32:])}]}))
        self.write("token", "".join(f"- {self.token(f'jwt{n}')}\n" for n in range(USERS)))

    def token(self, user):
        now = int(time.time())
        text = ".".join(base64url(json.dumps(part).encode()) for part in (
            {"alg": "ES256", "kid": "bench"},
            {"sub": user, "aud": AUDIENCE, "iat": now, "exp": now + 36000}))
        self.write("text", text)
        return text + "." + base64url(raw_signature(
            openssl("dgst", "-sha256", "-sign", self.path("key"), self.path("text"))))

    def by_authority(self):
        """The example of docs/authority.md, with tokens that it looks up."""
        example = os.path.join(chain.ROOT, "docs/examples/authority.py")
        tokens = {f"out{n}": f"opaque-{n}" for n in range(USERS)}
        self.write("users", json.dumps({
            user: {"token": "sha256:" + hashlib.sha256(token.encode()).hexdigest()}
            for user, token in tokens.items()}))
        self.write("authority", "".join(f"- {token}\n" for token in tokens.values()))
        self.authority = subprocess.Popen(
            [sys.executable, example, self.path("socket"), self.path("users")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.authority.stdout.readline()  # it listens

    def lines(self):
        """Of rmds.cnf. All logins come from one address; one that takes long is not refused."""
        return [f"*p2ps*accessFile : {self.path('access')}",
                f"*p2ps*jwksFile : {self.path('keys.json')}", f"*p2ps*jwtAudience : {AUDIENCE}",
                f"*p2ps*authority : {self.path('socket')}", "*p2ps*authorityTimeout : 30",
                "*p2ps*loginRate : 0", "*p2ps*loginTimeout : 60", "*p2ps*maxMounts : 2000",
                "*p2ps*mountLimitPerHost : 0"]

    def close(self):
        self.authority.kill()
        self.authority.wait()
        self.authority.stdout.close()
        for name in os.listdir(self.folder):
            os.unlink(self.path(name))
        os.rmdir(self.folder)


class Crowd:
    """Logins of one kind, until it is left; then their figures."""

    def __init__(self, users, kind, rate, seconds=3600):
        self.words = [os.path.join(chain.BUILD, "bench/bench_logins"), str(chain.SINK_PORT),
                      str(rate), str(seconds), users.path(kind)]
        self.run, self.figures = None, None

    def start(self):
        self.run = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    text=True)
        return self

    __enter__ = start

    def wait(self):
        said = self.run.communicate()[0]
        if self.run.returncode:
            raise SystemExit(f"bench_logins ended with {self.run.returncode}")
        self.figures = json.loads(said)

    def __exit__(self, *_why):
        self.run.terminate()
        self.wait()


def warm(users):
    """Each user once: a password is hashed at its first login, and known from then on."""
    for kind in KINDS:
        for _ in range(WARM_TRIES):
            crowd = Crowd(users, kind, 50, 0).start()
            crowd.wait()
            if crowd.figures["let_in"] == USERS:
                break
        else:
            raise SystemExit(f"logins by {kind}: {crowd.figures}")


def consume(bed, seconds):
    result = bed.client(ITEMS, seconds, "-discard", 1 if seconds >= 1 else 0, "-tt", "-l", "0",
                        stops=False)
    return {"p99_us": result["latency"]["p99_us"], "lost": sum(result[key] for key in LOSSES),
            "updates_per_s": result["updates_per_s"]}


def one_pair(bed, users, kind, options, is_quiet_first):
    """The consumer alone, and beside the logins."""
    pair = {}
    for is_quiet in (is_quiet_first, not is_quiet_first):
        if is_quiet:
            pair["quiet"] = consume(bed, options.secs)
            continue
        with Crowd(users, kind, options.logins) as crowd:
            pair["meanwhile"] = consume(bed, options.secs)
        pair["logins"] = crowd.figures
    return pair


def row_of(kind, pairs, options, steal):
    middle = statistics.median
    row = {"work": f"logins by {kind}", "wanted_per_s": options.logins}
    row.update({key: sum(pair["logins"][key] for pair in pairs) for key in ANSWERS})
    row.update({key: middle(pair["logins"][key] for pair in pairs)
                for key in ("p50_us", "p99_us")})
    row["secs"] = round(sum(pair["logins"]["secs"] for pair in pairs), 3)
    row["quiet_p99_us"] = middle(pair["quiet"]["p99_us"] for pair in pairs)
    row["meanwhile_p99_us"] = middle(pair["meanwhile"]["p99_us"] for pair in pairs)
    row["lost"] = sum(pair["quiet"]["lost"] + pair["meanwhile"]["lost"] for pair in pairs)
    row["updates_per_s"] = middle(pair["meanwhile"]["updates_per_s"] for pair in pairs)
    row["holds"] = row["lost"] == 0 and row["let_in"] == row["asked"]
    return {**row, "rounds": pairs, "load": os.getloadavg()[0], "steal_pct": steal.pct()}


def tell(row):
    unanswered = row["failed"] + row["unanswered"] + row["not_begun"]
    chain.say(f"{row['work']}: {row['asked'] / max(row['secs'], 0.001):,.0f} a second of "
              f"{row['wanted_per_s']:,}; asked {row['asked']:,}, let in {row['let_in']:,}, refused "
              f"{row['refused']:,}, without an answer {unanswered:,}; a login p50 "
              f"{row['p50_us'] / 1000:.2f} ms, p99 {row['p99_us'] / 1000:.2f} ms; the consumer p99 "
              f"{row['quiet_p99_us']} us alone, {row['meanwhile_p99_us']} us meanwhile, lost "
              f"{row['lost']}; load {row['load']:.1f}{host.note(row)}: "
              f"{'holds' if row['holds'] else 'does not hold'}")


def measure(options, rounds):
    """A row for each kind of login."""
    users, rows = Users(), []
    try:
        bed = chain.Chain("reference-latency.cnf", users.lines(),
                          ["-tps", 500, "-ts", "-tsn", "*", "-UL", 0], client=["-u", "consumer"])
        try:
            bed.command("ul 1000")
            bed.command(f"ur {options.rate}")
            warm(users)
            for kind in KINDS:
                steal = host.Steal()
                pairs = [one_pair(bed, users, kind, options, number % 2 == 0)
                         for number in range(rounds)]
                rows.append(row_of(kind, pairs, options, steal))
                tell(rows[-1])
        finally:
            bed.close()
    finally:
        users.close()
    return rows
