#!/usr/bin/env python3
"""lab.py [--netem SPEC] [--mtu N] [--timeout S] COMMAND... - run COMMAND where two hosts have RDMA.

Boots Debian's kernel under qemu, without any adapter and without changing this machine: the files
of this machine at the same paths, writes kept in memory. Host 1 is interface rdma1, 10.88.0.1,
device rxe1 (soft-RoCE), host 2 the same with 2; a cable (veth) joins them, and all between the two
addresses crosses it. Exit status: that of COMMAND; 77 where it cannot be had."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import fcntl
import glob
import gzip
import lzma
import os
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                     "openrmds-rdma")
TOOLS = {"qemu-system-x86_64": "qemu-system-x86", "busybox": "busybox-static",
         "depmod": "kmod", "ip": "iproute2", "tc": "iproute2", "rdma": "iproute2",
         "dpkg-deb": "dpkg", "apt-get": "apt"}
MODULES = ("virtio_pci virtio_rng 9p 9pnet_virtio overlay crc32_generic crc32c_generic "
           "ib_uverbs rdma_cm rdma_ucm rdma_rxe veth sch_netem").split()
MARK = "rdma-lab-status "


def skip(what, where="the packages of this system"):
    """A run of all tests takes it for what it is by the words in the middle."""
    print(f"skipped: {what} cannot be had from {where}")
    sys.exit(77)


def look_around():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = {package for tool, package in TOOLS.items() if not shutil.which(tool)}
    if not os.path.isdir("/etc/libibverbs.d"):
        missing.add("ibverbs-providers")
    if missing:
        skip(" ".join(sorted(missing)),
             "the packages of this system, or was not installed: sudo apt-get install it")
    if os.uname().machine != "x86_64":
        skip("a laboratory for " + os.uname().machine, "this script, which knows x86-64")


# ---- the kernel ----

def bare(image):
    """The ELF file inside a bzImage: it starts some seconds earlier under an emulator."""
    sectors, = struct.unpack_from("<B", image, 0x1F1)
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (sectors + 1) * 512 + offset
    packed = image[begin:begin + length - 4]
    for unpack in (lzma.decompress, gzip.decompress):
        try:
            return unpack(packed)
        except (lzma.LZMAError, OSError):
            continue
    return image


def fetch_kernel():
    """Debian's kernel: its file, its modules and its release below CACHE, fetched once."""
    folder = os.path.join(CACHE, "kernel")
    if os.path.exists(os.path.join(folder, "release")):
        return folder
    shown = subprocess.run(["apt-cache", "depends", "linux-image-amd64"], capture_output=True,
                           text=True, check=False).stdout
    names = [line.split()[-1] for line in shown.splitlines() if "Depends: linux-image-" in line]
    if not names:
        skip("linux-image-amd64")
    with tempfile.TemporaryDirectory() as work:
        got = subprocess.run(["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download",
                              names[0]], cwd=work, check=False, capture_output=True, text=True)
        debs = glob.glob(os.path.join(work, "*.deb"))
        if not debs:
            skip(names[0], "the servers of packages: " + " ".join(got.stderr.split())[-200:])
        subprocess.run(["dpkg-deb", "-x", debs[0], os.path.join(work, "x")], check=True)
        image, = glob.glob(os.path.join(work, "x/boot/vmlinuz-*"))
        release = os.path.basename(image)[len("vmlinuz-"):]
        modules, = glob.glob(os.path.join(work, "x/**/modules", release), recursive=True)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        base = modules[:-len(f"/lib/modules/{release}")]
        subprocess.run(["depmod", "-b", base, release], check=True)
        shutil.move(modules, os.path.join(folder, "modules"))
        with open(image, "rb") as packed, open(os.path.join(folder, "vmlinux"), "wb") as out:
            out.write(bare(packed.read()))
        with open(os.path.join(folder, "release"), "w") as out:
            out.write(release)
    return folder


def wanted_modules(folder):
    """Paths of MODULES and of what they depend on; those built into the kernel have none."""
    needs = {}
    with open(os.path.join(folder, "modules/modules.dep")) as file:
        for line in file:
            path, rest = line.split(":")
            needs[os.path.basename(path).split(".ko")[0].replace("-", "_")] = [path, *rest.split()]
    return sorted({path for name in MODULES for path in needs.get(name, [])})


def first_files(folder, root, job):
    """What the kernel starts with: a shell, the modules, guest.sh and the job."""
    with open(os.path.join(folder, "release")) as file:
        release = file.read()
    for name in ("bin", "dev", "proc", "sys", "lower", "rw", "new"):
        os.makedirs(os.path.join(root, name))
    shutil.copy(shutil.which("busybox"), os.path.join(root, "bin/busybox"))
    shutil.copy(os.path.join(HERE, "guest.sh"), os.path.join(root, "init"))
    os.chmod(os.path.join(root, "init"), 0o755)
    modules = os.path.join(root, "lib/modules", release)
    for path in wanted_modules(folder):
        target = os.path.join(modules, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if path.endswith(".xz"):
            with lzma.open(os.path.join(folder, "modules", path)) as packed, \
                    open(target[:-3], "wb") as out:
                shutil.copyfileobj(packed, out)
        else:
            shutil.copy(os.path.join(folder, "modules", path), target)
    for path in glob.glob(os.path.join(folder, "modules/modules.builtin*")):
        shutil.copy(path, modules)
    subprocess.run(["depmod", "-b", root, release], check=True, stderr=subprocess.DEVNULL)
    with open(os.path.join(root, "job.sh"), "w") as out:
        out.write(job)


# ---- the machine ----

def job_of(options):
    """The shell text that guest.sh reads: settings, then the command."""
    keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    keep.update({name: value for name, value in os.environ.items()
                 if name.startswith(("RMDS_", "RDMA_"))})
    lines = [f"export {name}={shlex.quote(value)}" for name, value in keep.items()]
    # A repository in /tmp has to be seen, so the machine gets no /tmp of its own then.
    places = (os.getcwd(), HERE, os.environ.get("RMDS_BIN", ""))
    lines += [f"keep_tmp={int(any(place.startswith('/tmp/') for place in places))}"]
    lines += [f"netem={shlex.quote(options.netem)}", f"mtu={options.mtu}",
              "export HOME=/root RDMA_LAB=1",
              f"job() {{ cd {shlex.quote(os.getcwd())} && {shlex.join(options.command)}; }}"]
    return "\n".join(lines) + "\n"


def boot(folder, initrd, options):
    words = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off", "-M", "pc",
             "-smp", "2", "-m", "1536", "-nodefaults", "-no-user-config", "-display", "none",
             "-no-reboot", "-monitor", "none", "-serial", "stdio", "-device", "virtio-rng-pci",
             "-kernel", os.path.join(folder, "vmlinux"), "-initrd", initrd,
             "-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
             "-device", "virtio-9p-pci,fsdev=root,mount_tag=hostroot",
             "-append", "console=ttyS0 quiet loglevel=2 panic=-1 oops=panic mitigations=off "
                        "nokaslr audit=0 apparmor=0 tsc=reliable no_timer_check "
                        "random.trust_cpu=on 8250.nr_uarts=1"]
    end = time.monotonic() + options.timeout
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as qemu:
        os.set_blocking(qemu.stdout.fileno(), False)
        text, status = b"", None
        while status is None:
            try:
                text += os.read(qemu.stdout.fileno(), 65536)
            except BlockingIOError:
                time.sleep(0.1)
            *lines, text = text.split(b"\n")
            for line in lines:
                line = line.decode(errors="replace").rstrip("\r")
                if line.startswith(MARK):
                    status = int(line[len(MARK):])
                else:
                    print(line, flush=True)
            if status is None and (time.monotonic() > end or qemu.poll() is not None):
                print("the machine", "took too long" if qemu.poll() is None else "died",
                      text.decode(errors="replace"))
                status = 124
        qemu.kill()
    return status


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--netem", default="")
    parser.add_argument("--mtu", type=int, default=1500)
    parser.add_argument("--timeout", type=int, default=900)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    look_around()
    os.makedirs(CACHE, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="rdmalab") as work:
        with open(os.path.join(CACHE, "lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            folder = fetch_kernel()
        root = os.path.join(work, "root")
        os.mkdir(root)
        first_files(folder, root, job_of(options))
        initrd = os.path.join(work, "initrd")
        subprocess.run(f"cd {shlex.quote(root)} && find . | busybox cpio -o -H newc 2>/dev/null "
                       f">{shlex.quote(initrd)}", shell=True, check=True)
        sys.exit(boot(folder, initrd, options))


if __name__ == "__main__":
    main()
