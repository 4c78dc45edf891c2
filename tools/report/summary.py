"""summary.py - one figure a line out of what the benchmarks wrote: value, what has to be, what is
aimed at."""
# SPDX-License-Identifier: Apache-2.0
import statistics


def figure(name, value, unit, must=None, goal=None, is_more=False, **more):
    """`is_more`: more is better. Whatever else is known of it goes along: wrong, steal_pct."""
    return {"figure": name, "value": value, "unit": unit, "must": must, "goal": goal,
            "is_more": is_more, **more}


def is_within(value, bound, is_more):
    return value >= bound if is_more else value <= bound


def verdict(one):
    """goal, must, MISSES, or nothing where nothing is said of it; what is wrong comes first."""
    value, must, goal = one["value"], one["must"], one["goal"]
    if one.get("wrong"):
        return "MISSES: " + one["wrong"]
    if value is None:
        return "MISSES: not measured"
    if goal is not None and is_within(value, goal, one["is_more"]):
        return "goal"
    if must is not None:
        return "must" if is_within(value, must, one["is_more"]) else "MISSES"
    return "" if goal is None else "below goal"


def ratio_to(one, earlier):
    """This run to an earlier one that has the same figure."""
    before = earlier.get((one["bench"], one["figure"]))
    if not before or before["unit"] != one["unit"] or not before["value"] or one["value"] is None:
        return None, None
    return before["value"], round(one["value"] / before["value"], 2)


# ---- each benchmark's JSON --------------------------------------------------------------------

def latency(found, limits):
    for row in found["results"]:
        rate = f"{row['rate']:,}/s"
        wrong = "; ".join((["loss"] if row["lost"] else []) + ([] if row["reached"] else ["rate"]))
        steal = row.get("steal_pct")
        yield figure(f"mean at {rate}", row["mean_us"], "us", row["must_mean_us"],
                     row["goal_mean_us"], wrong=wrong, steal_pct=steal)
        yield figure(f"99.9 % at {rate}", row["p999_us"], "us", limits.MUST_P999_US,
                     limits.GOAL_P999_US, steal_pct=steal)
        if row["ratio"]:
            yield figure(f"to the bare physics at {rate}", row["ratio"], "x", row["must_ratio"],
                         limits.GOAL_RATIO, steal_pct=steal)
        if row["p999_ratio"]:
            yield figure(f"99.9 % at {rate}, to that of the bare physics", row["p999_ratio"], "x",
                         row["must_p999_ratio"], steal_pct=steal)
    for row in found.get("websocket") or []:
        yield figure(f"JSON over WebSocket, mean at {row['rate']:,}/s", row["mean_us"], "us",
                     wrong="" if row["reached"] else "rate")
    if found.get("search"):
        yield figure("highest rate held", found["highest_rate"], "updates/s", limits.MUST_RATE,
                     limits.GOAL_RATE, True)


def fanout(found, limits):
    yield figure("to 50 consumers, held", found["best_out_per_s"], "updates/s", limits.MUST,
                 limits.GOAL, True)


def fanout_tls(found, _):
    yield figure("to 50 consumers over TLS, held", found["best_out_per_s"], "updates/s",
                 is_more=True)


def fanout_crowd(found, _):
    yield figure("to 1,000 consumers of 1,000 items, held", found["best_out_per_s"], "updates/s",
                 is_more=True)


def rrcp(found, _):
    for row in found["results"]:
        name = f"{row['name']}, {row['pairs']}, {row['size']} B"
        if row.get("of_copies") is not None:
            yield figure(f"{name}, of the best that four copies can do", row["of_copies"], "x", 0.9,
                         None, True, wrong="loss" if row["lost"] else "")
        elif row.get("of_plain") is not None:
            yield figure(f"{name}, of multicast without a key", row["of_plain"], "x",
                         0.9 if "mesh" in row["name"] else None, None, True,
                         wrong="loss" if row["lost"] else "")
        elif row["name"] == "throughput" and row["flowControl"] == "min":
            yield figure(name, row["msgs_per_s"], "messages/s", row.get("published"), None, True,
                         wrong="loss" if row["lost"] else "")
        elif row.get("of_multicast"):
            yield figure(f"{row['name']} at {row['rate']:,}/s, mean of that by multicast",
                         row["of_multicast"], "x", 1.1, wrong="loss" if row["lost"] else "")
        elif row.get("ratio_mean"):
            yield figure(f"{row['name']} at {row['rate']:,}/s, to the bare physics",
                         row["ratio_mean"], "x")
        elif row.get("of_loss_free"):
            yield figure(f"{name}, of that without loss", row["of_loss_free"], "x", 0.8, None, True)
        elif "p99_us_ratio" in row:
            yield figure(f"{row['name']}: p99 of the other one", row["p99_us_ratio"][0], "x", 1.05)


def peers(found, limits):
    for row in found["results"]:
        word, _, missed = row["verdict"].partition(" ")
        wrong = missed if word == "misses" else ""
        must = limits.MUST_IMAGES.get(row["items"]) if row["kind"] == "images" else None
        yield figure(f"{row['case']}, through the chain : direct", row["factor"], "x", must,
                     wrong=wrong, steal_pct=row.get("steal_pct"))
        if row["kind"] in limits.MUST and row["rate"] == 100000 and row["to_pipe6"]:
            yield figure(f"{row['case']}, what the chain adds : bare physics", row["to_pipe6"], "x",
                         *limits.MUST[row["kind"]], steal_pct=row.get("steal_pct"))


def websocket(found, limits):
    best = max((row["out_per_s"] for row in found["rows"] if row["holds"]), default=0)
    yield figure("to 50 consumers of JSON, held", best, "updates/s", limits.MUST, limits.GOAL, True)


def wss(found, _):
    best = max((row["out_per_s"] for row in found["rows"] if row["holds"]), default=0)
    yield figure("to 50 consumers of JSON over TLS, held", best, "updates/s")


def beside(found, limits):
    yield figure("p99 of a consumer of RSSL beside 50 of JSON : beside 50 of RSSL",
                 statistics.median(row["ratio"] for row in found["rows"]), "x", limits.MUST_RATIO,
                 wrong="loss" if any(row[k]["lost"] for row in found["rows"]
                                     for k in ("rssl", "json")) else "")


def conflation(found, _):
    names = {"cpu": "CPU of p2ps, conflated : each update",
             "beside": "p99 beside conflated : beside others"}
    for row in found["rows"]:
        yield figure(names[row["case"]], row["ratio"], "x", row["must"],
                     wrong="; ".join(dict.fromkeys(row["wrong"])))


def overload(found, limits):
    for row in found["rows"]:
        yield figure(f"worst consumer behind, {row['overload']:,}/s where {row['rate']:,}/s hold",
                     row["worst_s"], "s", limits.LAG_MAX_S, wrong="; ".join(row["wrong"]),
                     steal_pct=row["steal_pct"])


def works(found, _):
    """Benchmarks of an engine alone: a name, and what has to be, in one of three spellings."""
    for row in found["rows"]:
        if "let_in" in row:
            yield figure(f"{row['work']}, p99 of one", row["p99_us"], "us",
                         wrong="" if row["holds"] else "does not hold")
        elif "ns" in row:
            yield figure(row["work"], row["ns"], "ns", row.get("must_ns"), row.get("goal_ns"))
        elif "ratio" in row:
            yield figure(row["work"], row["ratio"], "x", row.get("must"))
        else:
            yield figure(row["work"], row["value"], row["unit"], row.get("must"))


def memory(found, limits):
    for state in ("off", "on"):
        yield figure(f"{found['items']:,} items open, caches {state}",
                     statistics.median(found[f"open_s_{state}"]), "s", limits.OPEN_LIMIT_S,
                     limits.OPEN_GOAL_S)
    for row in found["item_bytes"]:
        yield figure(f"an item in {row['daemon']}, less its image", row["counted"], "B",
                     limits.ITEM_LIMIT, limits.ITEM_GOAL)
    yield figure("a watch in p2ps", found["watch_bytes"]["counted"], "B", limits.WATCH_LIMIT,
                 limits.WATCH_GOAL)


def scale(found, limits):
    for row in found["results"]:
        must, goal = limits.BOUNDS.get(row["case"], {}).get("open_s", (None, None))
        least, aim = limits.BOUNDS.get(row["case"], {}).get("stream_bytes", (None, None))
        name = f"{row['consumers']:,} x {row['items']:,} streams"
        yield figure(f"{name} open", row["open_s"], "s", must, goal,
                     wrong="undetected loss" if row["undetected"] else "")
        yield figure(f"{name}, memory of each", row["stream_bytes"], "B", least, aim)
        yield figure(f"{name} whole after kill -9 of src_dist", row["whole_s"], "s")


def isolation(found, _):
    for row in found["results"]:
        yield figure(f"p99 of the others beside {row['name']}", row["p99_us_ratio"][0], "x", 1.05,
                     wrong="" if row["p99_us_verdict"] != "WORSE" else "worse")


def attack(found, limits):
    for row in found["results"]:
        yield figure(f"p99 of a quiet consumer beside an attacker: {row['name']}", row["p99_ratio"],
                     "x", limits.RATIO_MAX, wrong="" if row["holds"] else "does not hold",
                     steal_pct=row.get("steal_pct"))


def rwf(found, _):
    for row in found["results"]:
        yield figure(row["work"], row["ns"], "ns")


def rssl(found, _):
    best = max(found["results"], key=lambda row: row["m_messages_s"])
    yield figure("messages over loopback, the best case", round(best["m_messages_s"] * 1e6),
                 "messages/s", None, None, True, wrong=found.get("damaged", ""))
    if "round_trips" in found:
        yield figure("a round trip", found["round_trips"]["mean"], "us")
