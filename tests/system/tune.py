#!/usr/bin/env python3
"""tune.py SOURCE - `rmds tune` sees what is wrong with a host, says what it costs, and changes it
only when told.

The hosts are folders that look like /proc and /sys: one where all is wrong, one where all is
right."""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.realpath(sys.argv[1])
VERB = os.path.join(SOURCE, "tools/rmds.d/tune")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SOURCE, "tools"))
from tune import costs, look  # noqa: E402

CPU, NET = "sys/devices/system/cpu", "sys/class/net"
COMMON = {
    f"{CPU}/online": "0-7", "sys/devices/system/node/online": "0-1",
    "sys/devices/system/node/node0/cpulist": "0-3", "sys/devices/system/node/node1/cpulist": "4-7",
    "proc/net/snmp": "Udp: InDatagrams RcvbufErrors\nUdp: 5 0",
    "proc/sys/net/ipv4/tcp_wmem": "4096\t16384\t4194304",
    "proc/sys/net/ipv4/ip_local_port_range": "32768\t60999",
    f"{NET}/eth1/device/vendor": "0x8086", f"{NET}/eth1/device/numa_node": "1",
    f"{NET}/eth1/flags": "0x1003", f"{NET}/eth1/mtu": "1500",
    f"{NET}/lo/mtu": "65536",
}
RING = "Pre-set maximums:\nRX:\t\t4096\nCurrent hardware settings:\nRX:\t\t%d\n"
WRONG = {
    **COMMON, f"{CPU}/isolated": "2-3", f"{CPU}/nohz_full": "", f"{CPU}/smt/active": "1",
    f"{CPU}/cpu2/topology/thread_siblings_list": "2,6",
    f"{CPU}/cpu2/cpufreq/scaling_governor": "powersave",
    f"{CPU}/cpu2/cpuidle/state3/latency": "133", f"{CPU}/cpu2/cpuidle/state3/disable": "0",
    f"{CPU}/cpu2/cpuidle/state0/latency": "0", f"{CPU}/cpu2/cpuidle/state0/disable": "0",
    "proc/irq/41/effective_affinity_list": "3", "proc/irq/41/smp_affinity_list": "0-7",
    "proc/irq/42/smp_affinity_list": "0-1", "proc/812/comm": "irqbalance",
    "proc/sys/kernel/numa_balancing": "1", "proc/stat": "cpu  700 0 200 0 0 0 0 100 0 0",
    "ethtool/eth1-g": RING % 512, "ethtool/eth1-c": "Adaptive RX: on  TX: off\nrx-usecs:\t50\n",
    "ethtool/eth1-k": "generic-segmentation-offload: on\ngeneric-receive-offload: off\n",
    f"{NET}/eth1/statistics/rx_missed_errors": "17", f"{NET}/eth1/flags": "0x3",
    f"{NET}/br0/bridge/multicast_snooping": "1", f"{NET}/br0/bridge/multicast_querier": "0",
    "proc/sys/net/core/rmem_max": "212992", "proc/sys/net/core/wmem_max": "67108864",
    "proc/net/snmp": "Udp: InDatagrams RcvbufErrors\nUdp: 5 12",
    "proc/sys/net/ipv4/igmp_max_memberships": "2",
    "proc/sys/net/ipv4/conf/eth1/rp_filter": "1", f"{NET}/eth2/device/vendor": "0x8086",
    f"{NET}/eth2/flags": "0x1003", f"{NET}/eth2/mtu": "1400",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm",
    "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
    "sys/kernel/mm/transparent_hugepage/defrag": "always defer [madvise] never",
    "proc/sys/kernel/nmi_watchdog": "1", "proc/sys/kernel/soft_watchdog": "0",
    "proc/sys/kernel/sched_rt_runtime_us": "950000",
    "proc/sys/kernel/sched_rt_period_us": "1000000",
    "proc/swaps": "Filename Type\n/dev/sda2 partition 1 1 1", "proc/sys/vm/swappiness": "60",
}
RIGHT = {
    **COMMON, f"{CPU}/isolated": "4-7", f"{CPU}/nohz_full": "4-7", f"{CPU}/smt/active": "0",
    f"{CPU}/cpu4/cpufreq/scaling_governor": "performance",
    f"{CPU}/cpu4/cpuidle/state3/latency": "133", f"{CPU}/cpu4/cpuidle/state3/disable": "1",
    "proc/irq/41/effective_affinity_list": "0", "proc/stat": "cpu  700 0 200 0 0 0 0 1 0 0",
    "ethtool/eth1-g": RING % 4096, "ethtool/eth1-c": "Adaptive RX: off  TX: off\nrx-usecs: 0\n",
    "ethtool/eth1-k": "generic-segmentation-offload: on\ngeneric-receive-offload: on\n",
    "proc/sys/net/core/rmem_max": "67108864", "proc/sys/net/core/wmem_max": "67108864",
    "proc/sys/net/ipv4/igmp_max_memberships": "20",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "proc/sys/kernel/sched_rt_runtime_us": "-1", "proc/swaps": "Filename Type",
}
# What is wrong, what must be said of it, and a command if there is one.
EXPECTED = {
    "isolated CPUs": ("2-3, but the timer ticks", None),
    "interrupts": ("41 on isolated", "echo 0-1,4-7 > /proc/irq/41/smp_affinity_list"),
    "governor": ("powersave", f"echo performance > /{CPU}/cpu2/cpufreq/scaling_governor"),
    "idle states": ("133 us", f"echo 1 > /{CPU}/cpu2/cpuidle/state3/disable"),
    "SMT": ("2,6", None),
    "NUMA": ("2 nodes", "sysctl -w kernel.numa_balancing=0"),
    "NUMA eth1": ("on node 1", None),
    "steal": ("10.0 %", None),
    "eth1 ring": ("512 of 4096", "ethtool -G eth1 rx 4096"),
    "eth1 interrupts": ("adaptive on, 50 us", "ethtool -C eth1 adaptive-rx off rx-usecs 0"),
    "eth1 offloads": ("generic-receive-offload", "ethtool -K eth1 gro on"),
    "eth1 losses": ("rx_missed_errors 17", None),
    "eth1 multicast": ("off", "ip link set eth1 multicast on"),
    "eth2 multicast": ("MTU is 1400", None),
    "UDP buffers": ("rmem_max 212,992", "sysctl -w net.core.rmem_max=67108864"),
    "UDP losses": ("12 packets", None),
    "groups": ("at most 2", "sysctl -w net.ipv4.igmp_max_memberships=20"),
    "rp_filter": ("eth1", "sysctl -w net.ipv4.conf.eth1.rp_filter=2"),
    "IGMP br0": ("snoops", f"echo 1 > /{NET}/br0/bridge/multicast_querier"),
    "clock source": ("hpet",
                     "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource"),
    "huge pages": ("enabled always", "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
    "watchdogs": ("nmi_watchdog on", "sysctl -w kernel.nmi_watchdog=0"),
    "swap": ("/dev/sda2", "sysctl -w vm.swappiness=1"),
}


def make(folder, files):
    for name, text in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text + "\n")
    return folder


def content(folder):
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(where, name), encoding="ascii") as file:
                found[os.path.relpath(os.path.join(where, name), folder)] = file.read()
    return found


def tune(*words, answer=""):
    run = subprocess.run([VERB, *words], input=answer, capture_output=True, text=True,
                         check=False)
    assert "Traceback" not in run.stderr, run.stderr
    return run.returncode, run.stdout, run.stderr


def findings(folder, *words):
    code, out, error = tune("--json", "--root", folder, *words)
    assert code in (0, 1), error
    found = json.loads(out)
    assert (code == 1) == any(one["mark"] == "no" for one in found), found
    return {one["name"]: one for one in found}


def check_wrong(folder):
    found = findings(folder)
    bad = {name for name, one in found.items() if one["mark"] == "no"}
    assert bad == set(EXPECTED), bad ^ set(EXPECTED)
    for name, (text, command) in EXPECTED.items():
        one = found[name]
        assert text in one["found"], one
        assert one["cost"], one
        assert command in one["commands"] if command else one["advice"], one
    assert found["real-time limit"]["mark"] == "..", found["real-time limit"]
    assert set(findings(folder, "--interface", "eth2")) & {"eth1 ring"} == set()


def check_apply(folder):
    before = content(folder)
    assert tune("--check", "--root", folder)[0] == 1
    code, out, _ = tune("--apply", "--root", folder, answer="no\n")
    assert code == 1 and "nothing was changed" in out, out
    assert content(folder) == before, "something was changed without a yes"
    code, out, _ = tune("--apply", "--yes", "--root", folder)
    assert code == 0, out
    assert "sysctl -w net.core.rmem_max=212992" in out, "the way back is missing: " + out
    assert "echo always > /sys/kernel/mm/transparent_hugepage/enabled" in out, out
    after = content(folder)
    changed = {path for path in after if after[path] != before.get(path)}
    assert after["proc/sys/net/core/rmem_max"] == "67108864\n"
    assert after[f"{CPU}/cpu2/cpuidle/state3/disable"] == "1\n"
    assert f"{CPU}/cpu2/cpuidle/state0/disable" not in changed
    assert f"{CPU}/smt/active" not in changed
    assert not [path for path in changed if path.startswith("ethtool")], changed


def check_costs():
    """Each figure stands in the page that is named, and each sentence without one says so."""
    for name, (_, page, words) in costs.MEASURED.items():
        with open(os.path.join(SOURCE, page), encoding="utf-8") as file:
            text = " ".join(file.read().split())
        for word in words:
            assert word in text, f"{name}: {page} does not have {word}"
    for name, sentence in costs.CAUTIOUS.items():
        assert sentence.startswith((costs.NOT_OURS, "not a matter of microseconds")), name


def main():
    assert look.numbers("0-2,8") == {0, 1, 2, 8} and look.numbers("x,3-") == set()
    assert look.listed({0, 1, 2, 8}) == "0-2,8" and look.listed(set()) == ""
    check_costs()
    with tempfile.TemporaryDirectory() as folder:
        right = findings(make(os.path.join(folder, "right"), RIGHT))
        assert not [one for one in right.values() if one["mark"] == "no"], right
        wrong = make(os.path.join(folder, "wrong"), WRONG)
        check_wrong(wrong)
        check_apply(wrong)
        os.makedirs(os.path.join(folder, "empty"))
        assert not [one for one in findings(os.path.join(folder, "empty")).values()
                    if one["mark"] == "no" and one["name"] != "isolated CPUs"]
    findings("/")  # whatever this one is like
    for words, text in ((["--apply", "--check"], "one of them"), (["--yes"], "--apply"),
                        (["--root", "/nowhere"], "no such folder"), (["--colour"], "unrecognized")):
        code, _, error = tune(*words)
        assert code == 2 and text in error, (words, code, error)
    print("all good")


if __name__ == "__main__":
    main()
