"""costs.py - what each setting costs: our own figure with its page, or that we have none.

tests/system/tune.py looks each figure up in its page."""
# SPDX-License-Identifier: Apache-2.0

TUNING, BACKBONE = "docs/results/tuning.md", "docs/results/backbone.md"
LATENCY, RESULTS = "docs/results/latency.md", "docs/results/README.md"
NOT_OURS = "not measured by us"

# name: (sentence, page, words of that page that it stands on)
MEASURED = {
    "isolated": ("with half of the chain on each of two CPUs, and real-time priority, the mean was"
                 " 0.51 (0.36..0.64) of that without, p99 0.08, at 500,000 updates/s",
                 TUNING, ("0.51 (0.36..0.64)", "0.08 (0.04..0.20)")),
    "few cpus": ("busy-polling on two shared CPUs took 2.42 times the CPU at 10,000 updates/s, and"
                 " the mean was 0.90 (0.84..1.17) of that without: little for it, leave busyPoll 0"
                 " here", TUNING, ("2.42 times the CPU", "0.90 (0.84..1.17)")),
    "loss": ("packets that are lost here are sent again: with 1 % of all lost the backbone carried"
             " 83 % of its rate, p99 0.9 ms at 100,000/s", BACKBONE, ("83 %; p99 0.9 ms",)),
    "udp buffers": ("208 KB in place of 64 MB: mean 1.12 (0.98..1.25) times at 10,000 updates/s,"
                    " 1.47 (0.89..1.70) at 500,000, inconclusive; a burst that does not fit is"
                    " lost and repaired", TUNING, ("1.12 (0.98..1.25)", "1.47 (0.89..1.70)")),
    "tcp buffers": ("tcp_rmem and tcp_wmem of 16 MB: mean 1.12 (0.81..1.31) times at 500,000"
                    " updates/s, no difference could be told", TUNING, ("1.12 (0.81..1.31)",)),
    "large packets": ("packets of 8,900 bytes made the mean 2.15 times as long (2.04..2.37) at"
                      " 500,000 updates/s on lo", TUNING, ("2.15 (2.04..2.37)",)),
    "rt limit": ("a real-time probe was without its CPU for up to 50 ms at a time, in part by this"
                 " limit", LATENCY, ("up to 50 ms at a time",)),
    "steal": ("a probe that reads the clock missed 5 % of either CPU at a host that took time"
              " away; rows above 5 % steal are marked in our reports", LATENCY,
              ("missed 5 % of either CPU",)),
}

# name: a sentence that claims no figure of ours
CAUTIOUS = {
    "irq": NOT_OURS + "; each interrupt on the CPU of a daemon stops it for microseconds",
    "governor": NOT_OURS + " (our machine has none); a CPU that was clocked down is slow until"
                " the governor has seen load",
    "smt": NOT_OURS + "; two busy threads of one core share its execution units and its first"
           " cache",
    "numa": NOT_OURS + "; memory of the other node is farther away, and pages that are moved"
            " stand still meanwhile",
    "offload": NOT_OURS + "; the published tests found no appreciable difference between"
               " segmentation offload on and off",
    "fragments": NOT_OURS + "; one lost fragment loses the whole packet, and offloads do not take"
                 " fragments",
    "igmp": "not a matter of microseconds: without a querier a switch that snoops forgets the"
            " group after some minutes, and all data stop",
    "memberships": "not a matter of microseconds: one group more than this cannot be joined",
    "reverse path": "not a matter of microseconds: packets of a host that is not routed by this"
                    " interface are dropped, and nothing says so",
    "clock": NOT_OURS + "; with any other source each reading of the time is a system call",
    "thp": NOT_OURS + "; the daemons ask for huge pages themselves where they gain by them;"
           " `always` lets the kernel stop any process to make some",
    "watchdog": NOT_OURS + "; it interrupts each CPU it watches, every few seconds",
    "swap": NOT_OURS + "; a page that comes back from a disk takes milliseconds",
    "ports": "not a matter of microseconds: any program may be given the port of the backbone",
}


def cost(name):
    """The sentence, with its page where it is measured."""
    if name in MEASURED:
        sentence, page, _ = MEASURED[name]
        return f"{sentence} ({page})"
    return CAUTIOUS[name]
