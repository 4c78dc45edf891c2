"""cpus.py - CPUs: who runs on them, how fast they are, how deep they sleep."""
# SPDX-License-Identifier: Apache-2.0
from tune.costs import cost
from tune.look import Finding, listed, numbers

LOOPS = 6  # publisher's side to consumer's side of a chain: as many as work at the same time
WAKES = 5  # of an update on its way
IDLE_MAX_US = 10
CPU = "sys/devices/system/cpu"


def isolated(host):
    cpus, kept = host.cpus(), host.isolated()
    if len(cpus) < LOOPS:
        return Finding("..", "CPUs", f"{len(cpus)}: fewer than the {LOOPS} loops of a whole chain",
                       cost("few cpus"))
    if not kept:
        keep = listed(sorted(cpus)[2:])
        return Finding(
            "no", "isolated CPUs", f"none of {len(cpus)}: any program may run beside a daemon",
            cost("isolated"),
            ["kernel command line, at the next boot: "
             f"isolcpus={keep} nohz_full={keep} rcu_nocbs={keep}",
             "then mainThreadCpu, rrcpThreadCpu, sourceThreadCpu, writeThreadCpu in rmds.cnf"])
    ticking = kept - numbers(host.read(f"{CPU}/nohz_full"))
    if ticking:
        return Finding("no", "isolated CPUs", f"{listed(kept)}, but the timer ticks on "
                       f"{listed(ticking)}", cost("isolated"),
                       [f"kernel command line: nohz_full={listed(kept)} rcu_nocbs={listed(kept)}"])
    return Finding("ok", "isolated CPUs", f"{listed(kept)} of {listed(cpus)}")


def interrupts(host):
    kept = host.isolated()
    housekeeping = host.cpus() - kept
    writes, numbers_of = [], []
    for path in host.names("proc/irq/[0-9]*"):
        where = (host.read(f"{path}/effective_affinity_list") or
                 host.read(f"{path}/smp_affinity_list"))
        if numbers(where) & kept and housekeeping:
            numbers_of.append(path.rsplit("/", 1)[1])
            writes.append((f"{path}/smp_affinity_list", listed(housekeeping)))
    has_balancer = host.is_running("irqbalance")
    advice = []
    if has_balancer and kept:
        advice = [f"IRQBALANCE_BANNED_CPULIST={listed(kept)} in the environment of irqbalance, "
                  f"which otherwise moves them back"]
    if not kept:
        return Finding("..", "interrupts", "no CPU is kept free of them" +
                       (", irqbalance moves them" if has_balancer else ""), cost("irq"),
                       ["isolate CPUs first"])
    if numbers_of:
        return Finding("no", "interrupts", f"{', '.join(numbers_of)} on isolated CPUs", cost("irq"),
                       advice, writes)
    return Finding("ok", "interrupts", f"none on {listed(kept)}", advice=advice)


def governor(host):
    wrong, values = [], set()
    for path in host.names(f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor"):
        values.add(host.read(path))
        if host.read(path) != "performance":
            wrong.append(path)
    if not values:
        return Finding("..", "governor", "none: the firmware or the host below decides",
                       cost("governor"))
    if wrong:
        return Finding("no", "governor", f"{', '.join(sorted(values))} on {len(wrong)} CPUs",
                       cost("governor"), writes=[(path, "performance") for path in wrong])
    return Finding("ok", "governor", "performance")


def idle_states(host):
    deep, worst, seen = [], 0, 0
    of = host.isolated() or host.cpus()
    for cpu in sorted(of):
        for path in host.names(f"{CPU}/cpu{cpu}/cpuidle/state[0-9]*"):
            seen += 1
            latency = host.number(f"{path}/latency") or 0
            if latency > IDLE_MAX_US and host.number(f"{path}/disable") == 0:
                deep.append((f"{path}/disable", "1"))
                worst = max(worst, latency)
    if not seen:
        return Finding("..", "idle states", "none are shown: the host below decides",
                       "unknown here; on a CPU that sleeps deep each wake-up takes longer")
    if deep:
        return Finding("no", "idle states", f"up to {worst} us to wake, on CPUs {listed(of)}",
                       f"the kernel's own figure: up to {worst} us at each of {WAKES} wake-ups of "
                       f"an update",
                       ["kernel command line, for all CPUs and every boot: "
                        "processor.max_cstate=1 intel_idle.max_cstate=1"], deep)
    return Finding("ok", "idle states", f"at most {IDLE_MAX_US} us to wake")


def threads(host):
    if host.read(f"{CPU}/smt/active") != "1":
        return Finding("ok", "SMT", "each CPU is a core" if host.read(f"{CPU}/smt/active") == "0"
                       else "not shown: each CPU is taken for a core")
    kept, split = host.isolated(), []
    for cpu in sorted(kept):
        siblings = numbers(host.read(f"{CPU}/cpu{cpu}/topology/thread_siblings_list"))
        if siblings - {cpu}:
            split.append(listed(siblings))
    return Finding("no", "SMT", "two threads in each core" +
                   (f", among them {' '.join(dict.fromkeys(split))}" if split else ""),
                   cost("smt"), ["bind at most one daemon to each core and leave its other thread "
                                 "idle, or", f"echo off > /{CPU}/smt/control, which takes half of "
                                 f"the CPUs away: look at what is bound to them first"])


def nodes(host, interfaces):
    count = len(numbers(host.read("sys/devices/system/node/online"))) or 1
    if count == 1:
        return [Finding("ok", "NUMA", "one node")]
    found = []
    if host.number("proc/sys/kernel/numa_balancing"):
        found.append(Finding("no", "NUMA", f"{count} nodes, and pages are moved between them",
                             cost("numa"), writes=[("proc/sys/kernel/numa_balancing", "0")]))
    for name in interfaces:
        node = host.number(f"sys/class/net/{name}/device/numa_node")
        if node is None or node < 0:
            continue
        near = numbers(host.read(f"sys/devices/system/node/node{node}/cpulist"))
        kept = host.isolated()
        if kept and not kept & near:
            found.append(Finding("no", f"NUMA {name}", f"on node {node}, isolated CPUs on others",
                                 cost("numa"), [f"bind rrcpd and isolate within {listed(near)}"]))
        else:
            found.append(Finding("ok", f"NUMA {name}", f"node {node}: CPUs {listed(near)}"))
    return found or [Finding("ok", "NUMA", f"{count} nodes, pages stay where they are")]


def stolen(host):
    words = ((host.read("proc/stat") or "").splitlines() or [""])[0].split()[1:9]
    ticks = [int(word) for word in words if word.isdigit()]
    if len(ticks) < 8 or not sum(ticks):
        return Finding("..", "steal", "not shown")
    share = 100 * ticks[7] / sum(ticks)
    return Finding("no" if share > 1 else "ok", "steal",
                   f"{share:.1f} % of the CPUs' time since boot went to other guests",
                   cost("steal") if share > 1 else "",
                   ["CPUs of its own for this guest, at the host below"] if share > 1 else [])


def all_of(host, interfaces):
    return [isolated(host), interrupts(host), governor(host), idle_states(host), threads(host),
            *nodes(host, interfaces), stolen(host)]
