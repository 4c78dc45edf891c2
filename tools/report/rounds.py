"""rounds.py - what a fault costs: rounds with and without it by turns, and the median of their
ratios."""
# SPDX-License-Identifier: Apache-2.0
import statistics

WORSE = 1.05  # by so much nobody else may get worse


def interval(ratios):
    """The distribution-free 95 % interval of a median: order statistics of the sign test."""
    n = len(ratios)
    k = 0
    total, term = 0.0, 0.5 ** n
    while total + term <= 0.025:
        total += term
        term = term * (n - k) / (k + 1)
        k += 1
    k = max(k - 1, 0)
    return ratios[k], ratios[n - 1 - k]


def verdict(low, high, more_is_better, count):
    """Worse by less than 5 %? The interval must lie on one side of that, and be one of 95 %."""
    if more_is_better:
        low, high = 2 - high, 2 - low
    if count < 6 or low <= WORSE < high:
        return "inconclusive"
    return "holds" if high <= WORSE else "WORSE"


def ratios(pairs, figures):
    """For each figure {name: more is better}: [median, low, high] of the paired ratios, and the
    verdict."""
    found = {}
    for key, more_is_better in figures.items():
        of = sorted(p["fault"][key] / p["reference"][key] for p in pairs)
        low, high = interval(of)
        found[f"{key}_ratio"] = [round(x, 3) for x in (statistics.median(of), low, high)]
        found[f"{key}_verdict"] = verdict(low, high, more_is_better, len(of))
    return found


def take(pairs, least, figures, one, has_time):
    """Adds rounds to `pairs` by turns until there are `least` and every figure can be told, or
    twice as many; one(is_fault) is a round. False: there was no time for any."""
    while len(pairs) < 2 * least and has_time():
        order = (False, True) if len(pairs) % 2 else (True, False)
        both = {is_fault: one(is_fault) for is_fault in order}
        pairs.append({"fault": both[True], "reference": both[False]})
        told = ratios(pairs, figures)
        if len(pairs) >= least and "inconclusive" not in [told[f"{key}_verdict"]
                                                          for key in figures]:
            break
    return bool(pairs)


def sentence(row, figures):
    """'name x1.001 (0.999..1.002) holds; ...'"""
    return "; ".join(f"{name} x%.3f (%.3f..%.3f) " % tuple(row[f"{key}_ratio"]) +
                     row[f"{key}_verdict"]
                     for key, name in figures.items())


def grew(samples, margin):
    """Was a level higher in the last third of a round than in the first?"""
    part = max(1, len(samples) // 3)
    return statistics.median(samples[-part:]) > statistics.median(samples[:part]) + margin
