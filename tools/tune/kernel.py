"""kernel.py - the clock, memory, and what the kernel does to all CPUs."""
# SPDX-License-Identifier: Apache-2.0
from tune.costs import cost
from tune.look import Finding

GOOD_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
CLOCK = "sys/devices/system/clocksource/clocksource0"
THP = "sys/kernel/mm/transparent_hugepage"


def clock(host):
    now = host.read(f"{CLOCK}/current_clocksource")
    others = (host.read(f"{CLOCK}/available_clocksource") or "").split()
    if now is None:
        return Finding("..", "clock source", "not shown")
    if now in GOOD_CLOCKS:
        return Finding("ok", "clock source", now)
    better = next((name for name in GOOD_CLOCKS if name in others), None)
    return Finding("no", "clock source", now, cost("clock"),
                   [] if better else ["the kernel has given the TSC up: dmesg says why"],
                   [(f"{CLOCK}/current_clocksource", better)] if better else [])


def huge_pages(host):
    value, defrag = host.chosen(f"{THP}/enabled"), host.chosen(f"{THP}/defrag")
    if not value:
        return Finding("..", "huge pages", "not shown")
    writes = [(f"{THP}/enabled", "madvise")] if value == "always" else []
    writes += [(f"{THP}/defrag", "madvise")] if defrag == "always" else []
    if writes:
        return Finding("no", "huge pages", f"enabled {value}, defrag {defrag}", cost("thp"),
                       writes=writes)
    if value == "never":
        return Finding("..", "huge pages", "never: the daemons' rings get none", cost("thp"),
                       writes=[(f"{THP}/enabled", "madvise")])
    return Finding("ok", "huge pages", f"{value}, defrag {defrag or 'not shown'}")


def watchdogs(host):
    writes = [(f"proc/sys/kernel/{name}", "0") for name in ("nmi_watchdog", "soft_watchdog")
              if host.number(f"proc/sys/kernel/{name}")]
    if writes:
        names = ", ".join(path.rsplit("/", 1)[1] for path, _ in writes)
        return Finding("no", "watchdogs", f"{names} on", cost("watchdog"),
                       ["keep them off the isolated CPUs (kernel.watchdog_cpumask), or switch them off"],
                       writes)
    return Finding("ok", "watchdogs", "off")


def rt_limit(host):
    runtime = host.number("proc/sys/kernel/sched_rt_runtime_us")
    period = host.number("proc/sys/kernel/sched_rt_period_us") or 1000000
    if runtime is None:
        return Finding("..", "real-time limit", "not shown")
    if runtime < 0 or runtime >= period:
        return Finding("ok", "real-time limit", "none: a loop that never sleeps keeps its CPU")
    return Finding("..", "real-time limit", f"{(period - runtime) // 1000} ms of each "
                   f"{period // 1000} are kept from real-time work", cost("rt limit"),
                   ["only with CPUs to spare: a loop that never sleeps then starves all others; "
                    "sysctl -w kernel.sched_rt_runtime_us=-1"])


def swap(host):
    areas = (host.read("proc/swaps") or "").splitlines()[1:]
    if areas:
        return Finding("no", "swap", ", ".join(line.split()[0] for line in areas), cost("swap"),
                       ["lockMemory True in rmds.cnf keeps the daemons in memory"],
                       [("proc/sys/vm/swappiness", "1")]
                       if (host.number("proc/sys/vm/swappiness") or 0) > 1 else [])
    return Finding("ok", "swap", "none")


def all_of(host):
    return [clock(host), huge_pages(host), watchdogs(host), rt_limit(host), swap(host)]
