#!/usr/bin/env python3
"""recorder_troubles.py [long] - what keeps a recorder from its work is seen by every eye while it
lasts, and is over with it: it is denied, p2ps goes, the disk is nearly full, full, or hangs, the
ring laps it. With `long`: also what is told for a minute, until it is over."""
# SPDX-License-Identifier: Apache-2.0
import contextlib
import ctypes
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import cannot_serve
import conf_examples
import daemons
import recording
from running import spaces

PAGES = {"rmdsrec.1": 18085, "rmdsrec.2": 18086}
CONF = """\
*rrcp*interface : lo
*rrcp*authKeyFile :
*rrcp*inboundRing : 1M
*rrcp*userQLimit : 700
*rrcp*maxMsgSize : 64K
*runDir : {folder}/run
*logTarget : stderr
*src_dist*1.route*hostList : 127.0.0.1:14102
*src_dist*serverPort : 0
*src_dist*dictionaryPath : {conf}/RDMFieldDictionary
*p2ps*rsslPort : 14202
*1.rmdsrec*statusPort : 18085
*1.rmdsrec*recordFollow : True
*1.rmdsrec*recordBuffer : 2M
*1.rmdsrec*recordDiskLow : 4M
*1.rmdsrec*recordFile : {disk}/one.rrec
*2.rmdsrec*statusPort : 18086
*2.rmdsrec*recordServer : 127.0.0.1:14202
*2.rmdsrec*recordServices : RDFD
*2.rmdsrec*recordItems : {items}
*2.rmdsrec*recordDiskLow : 0
*2.rmdsrec*recordFile : {folder}/two.rrec
"""
DISK_BYTES = 8 << 20
SEIZE, INTERRUPT, SYSCALL, SYSCALL_INFO, DETACH = 0x4206, 0x4207, 24, 0x420e, 17
ALL_THREADS, ENTRY, STOPS_SAY = 0x40000000, 1, 1
STATFS = {"x86_64": 137, "aarch64": 43}
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def status(bed, name):
    done = subprocess.run([os.path.join(recording.BIN, "rmdsctl"), "-run", bed.run_dir, name],
                          capture_output=True, text=True, check=False, timeout=daemons.WAIT_S)
    return done.stdout + done.stderr


def until_status(bed, name, pattern):
    daemons.until(lambda: f"{name}: {pattern}: {status(bed, name)}",
                  lambda: re.search(pattern, status(bed, name)))


def messages(bed, name):
    found = re.search(r"^  (\d+) messages, ", status(bed, name), re.M)
    return int(found[1]) if found else 0


def until_more(bed, name, count):
    wanted = messages(bed, name) + count
    daemons.until(lambda: f"{name}: {wanted} messages: {status(bed, name)}",
                  lambda: messages(bed, name) >= wanted)


def value(name, path):
    return json.loads(cannot_serve.get(PAGES[name], "status.json"))["values"].get(path)


def hindered(bed, name, note, sentence, records):
    """In the log, rmdsmon, rmdsctl and on the page. `records`: it does, in spite of it."""
    bed.said(name, "WARNING " + sentence + ".*; for \\d+ s now")
    bed.shown(name, "WARN", note)
    told = status(bed, name)
    assert f"\n  trouble: {note}" in told and "  not ready\n" in told, told
    now = json.loads(cannot_serve.get(PAGES[name], "status.json"))
    assert now["state"] == "warn" and now["note"].startswith(note), now
    assert cannot_serve.probe(PAGES[name], "ready")[0] == 503
    assert cannot_serve.probe(PAGES[name], "healthz") == (200, "ok\n")
    assert value(name, "ready") == records, (note, now["values"])


def well_again(bed, name, sentence):
    bed.said(name, "NOTICE " + sentence + r", after \d+ s")
    bed.shown(name, "ok", "")
    told = status(bed, name)
    assert "trouble" not in told and "  ready\n" in told, told
    assert cannot_serve.probe(PAGES[name], "ready") == (200, "ready\n")
    assert value(name, "ready") == 1


def denied(bed):
    """Its rule has no word for a recorder that follows; the next rrcpd has."""
    bed.start("rrcpd.net1.1", "rrcpd", "net1", "-set",
              f"*rrcp*attachAccess : uid={os.getuid()} consume")
    bed.start("src_dist.1", "src_dist")
    bed.start("p2ps.1", "p2ps")
    for number in ("1", "2"):
        bed.start(f"rmdsrec.{number}", "rmdsrec", "-instance", number)
    until_status(bed, "rmdsrec.2", "20 of 20 items open, 0 left out")
    hindered(bed, "rmdsrec.1", "denied by attachAccess of rrcpd",
             r"rrcpd drops what the recorder sends \(denied: .*\): it needs `record` of "
             r"attachAccess; [1-9]\d* messages were dropped so far", 0)
    assert value("rmdsrec.1", "rmdsrec.denied") > 0
    bed.stop("rrcpd.net1.1")
    bed.start("rrcpd.net1.1", "rrcpd", "net1")
    well_again(bed, "rmdsrec.1", "nothing is denied any more")
    until_status(bed, "rmdsrec.1", "attached; 20 of 20 items open, 0 left out")
    until_status(bed, "rmdsrec.2", "20 of 20 items open, 0 left out")
    PUBLISHER.rate(200)
    until_more(bed, "rmdsrec.1", 20)


def p2ps_goes_and_comes(bed):
    bed.stop("p2ps.1")
    hindered(bed, "rmdsrec.2", "not connected to 127.0.0.1:14202",
             r"recordServer 127\.0\.0\.1:14202: \w.*; trying every second", 0)
    assert value("rmdsrec.2", "rmdsrec.connected") == 0
    bed.start("p2ps.1", "p2ps")
    well_again(bed, "rmdsrec.2", r"connected to 127\.0\.0\.1:14202")
    until_status(bed, "rmdsrec.2", "connected; 20 of 20 items open, 0 left out\n(.*\n)*"
                                   "  connection lost [1-9]")
    until_more(bed, "rmdsrec.2", 20)


def fill(left):
    """So many bytes of the disk are left."""
    with open(os.path.join(DISK, "filler"), "ab") as out:
        info = os.fstatvfs(out.fileno())
        room = info.f_bavail * info.f_frsize
        with contextlib.suppress(OSError):
            os.posix_fallocate(out.fileno(), out.tell(), room - left)


def the_disk_fills(bed):
    fill(2 << 20)
    hindered(bed, "rmdsrec.1", "the disk is nearly full",
             r"the disk is nearly full: \d+ MB are left \(recordDiskLow 4 MB\); ", 1)
    fill(0)
    hindered(bed, "rmdsrec.1", "cannot write: No space left on device",
             "cannot write .*/one.rrec: No space left on device; [1-9]", 0)
    until_status(bed, "rmdsrec.1", "; 0 MB of the disk are free\n")
    until_status(bed, "rmdsrec.1", r"lost 0 messages, [1-9]\d* chunks; now: No space left on "
                                   "device\n(.*\n)*  trouble: the disk is nearly full\n")
    assert "the disk has room again" not in bed.log("rmdsrec.1"), bed.log("rmdsrec.1")
    assert value("rmdsrec.1", "rmdsrec.diskFree") == 0
    os.unlink(os.path.join(DISK, "filler"))
    bed.said("rmdsrec.1", r"NOTICE data are written, after \d+ s")
    well_again(bed, "rmdsrec.1", "the disk has room again")


def the_ring_laps_it(bed):
    """It stands still while the ring goes round."""
    pid = bed.running["rmdsrec.1"].pid
    os.kill(pid, signal.SIGSTOP)
    try:
        PUBLISHER.rate(10000)
        until_more(bed, "rmdsrec.2", 12000)
        PUBLISHER.rate(200)
    finally:
        os.kill(pid, signal.SIGCONT)
    hindered(bed, "rmdsrec.1", "lapped by the ring of rrcpd within a minute",
             r"too slow for the ring of rrcpd, which has lapped the recorder [1-9]\d* times and "
             r"lost it [1-9]\d* records", 1)
    until_status(bed, "rmdsrec.1", r"\n  lapped [1-9]\d* times, [1-9]\d* records lost on the way")
    until_more(bed, "rmdsrec.1", 20)


def thread_of_disk(pid):
    def name(thread):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as file:
            return file.read().strip()
    return next(t for t in map(int, os.listdir(f"/proc/{pid}/task")) if name(t) == "disk")


def ptrace(request, thread, size=None, into=None):
    done = libc.ptrace(request, thread, size, into)
    assert done >= 0, os.strerror(ctypes.get_errno())


def hold_in_statfs(thread):
    """Nothing else is held up by it: it has no lock there. False: cannot be had here."""
    number = STATFS.get(os.uname().machine)
    if number is None or libc.ptrace(SEIZE, thread, None, STOPS_SAY) != 0:
        return False
    ptrace(INTERRUPT, thread)
    os.waitpid(thread, ALL_THREADS)
    info = ctypes.create_string_buffer(88)  # operation, ..., and the number of the call at 24
    while (info[0], int.from_bytes(info[24:32], "little")) != (bytes([ENTRY]), number):
        ptrace(SYSCALL, thread)
        os.waitpid(thread, ALL_THREADS)
        ptrace(SYSCALL_INFO, thread, len(info), info)
    return True


def the_disk_hangs(bed):
    """The thread that writes is held where it asks for room: a call that does not come back."""
    thread = thread_of_disk(bed.running["rmdsrec.1"].pid)
    if not hold_in_statfs(thread):
        print("not tested: no ptrace here")
        return
    hindered(bed, "rmdsrec.1", "the disk takes no data",
             "the disk takes no data: a write, or a look at it, has not come back; 2 of 2 MiB of "
             "recordBuffer wait", 0)
    bed.said("rmdsrec.1", r"WARNING [1-9]\d* messages found no room in recordBuffer so far")
    until_status(bed, "rmdsrec.1", "  trouble: messages were lost within a minute: buffer full\n")
    ptrace(DETACH, thread)
    bed.said("rmdsrec.1", r"NOTICE the disk takes data again, after \d+ s")
    bed.shown("rmdsrec.1", "WARN", "messages were lost within a minute: buffer full")
    assert value("rmdsrec.1", "ready") == 1 and value("rmdsrec.1", "rmdsrec.messagesLost") > 0


def a_minute_later(bed):
    """What was lost is no trouble any more."""
    bed.said("rmdsrec.1", r"NOTICE not lapped for a minute, after \d+ s")
    well_again(bed, "rmdsrec.1", "nothing lost for a minute")


def it_leaves_whole_files(bed):
    for name in ("rmdsrec.1", "rmdsrec.2"):
        program = bed.running[name]
        bed.stop(name)
        assert re.search(r"NOTICE recorded [1-9]\d* messages of 20 items .*\n(.*\n)*.* stopped\n",
                         program.text()), program.text()
        # What the troubles say stands in the log once.
        assert not re.search("dropped [0-9]+ messages of ours|has lapped it", program.text())
    for path in (os.path.join(DISK, "one.rrec"), os.path.join(bed.folder, "two.rrec")):
        done = recording.rmdsrec("info", path)
        assert "20 of RDFD, domain 6" in done.stdout, done


STEPS = [denied, p2ps_goes_and_comes, the_disk_fills, the_ring_laps_it, the_disk_hangs,
         it_leaves_whole_files]


def timed(step):
    def run(bed):
        begin = time.monotonic()
        step(bed)
        print(f"[ok] {step.__name__} {time.monotonic() - begin:.1f} s", flush=True)
    return run


if __name__ == "__main__":
    if not spaces.enter(conf_examples.INSIDE, "-n", "-m", trial="mount -t tmpfs tmpfs /tmp"):
        print("SKIP: no namespace may be made here whose mounts are its own")
        sys.exit(77)
    spaces.loopback_up()
    STEPS[-1:-1] = [a_minute_later] if "long" in sys.argv else []
    PUBLISHER = recording.Publisher("14102")
    DISK = tempfile.mkdtemp()
    conf = CONF.replace("{disk}", DISK).replace("{items}", ", ".join(recording.ITEMS)).replace(
        "{conf}", os.path.join(conf_examples.ROOT, "conf"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", DISK], check=True)
    try:
        daemons.run(conf, *map(timed, STEPS))
    finally:
        PUBLISHER.close()
        subprocess.run(["umount", DISK], check=True)
        os.rmdir(DISK)
