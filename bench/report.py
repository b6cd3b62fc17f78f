"""The table that bench/run prints."""
import dashboard
import definitions

MIB = 1 << 20
NOT_MEASURED = "not measured"
AUTOSCALER = (("up", "autoscaler, one loop: 10,000 ownerless pods on one full node", "< 10 ms"),
              ("down", "    400 nodes x 40 pods of 1 %", "< 10 ms"),
              ("steady5k", "    5,000 nodes, 150,000 pods at 90 %, nothing to do", "< 5 ms"),
              ("low5k", "    5,000 nodes x 30 pods of 1 %", "< 400 ms"),
              ("burst5k", "    20,000 pending pods of 50 deployments on 5,000 full nodes", "< 250 ms"),
              ("affinity5k", "    the same, half with anti-affinity, half with zone spread", "< 1 s"),
              ("unchanged5k", "    5,000 nodes, 150,000 pods, nothing has changed", "< 0.5 ms"),
              ("unchanged15k", "    15,000 nodes, 450,000 pods, nothing has changed", "< 1 ms"),
              ("events15k", "    15,000 nodes, 450,000 pods, 1,000 events of pods", "< 5 ms"),
              ("devices", "    1,000 pending pods that claim 2 of 8 devices each, 500 nodes without free ones", "< 100 ms"),
              ("devicesdown", "    800 nodes, on each 4 pods that claim one of 10 devices", "< 200 ms"),
              ("huge", "    20,000 pending pods, 15,000 nodes, 450,000 pods, 30 groups", "< 1 s, < 300 MiB"))
# Ten times the nodes each, with 100 replicas on every one; the bars are for BALANCER_BARS_AT.
BALANCER_NODES = (300, 3_000, 30_000)
BALANCER_BARS_AT = 3_000
BALANCER_BENCHMARKS = {"imbalance": "ChangeLoadsAndCheckBalance/changes:1000/per_node_type:0/nodes:{nodes}",
                       "nothing": "BalanceFromNothing/nodes:{nodes}/skewed:0", "skewed": "BalanceFromNothing/nodes:{nodes}/skewed:1",
                       "check": "CheckAfterLossOfFaultDomain/{nodes}", "place": "PlaceTenThousandReplicas/{nodes}"}
BALANCER_TITLES = {"imbalance": "imbalance test after 1,000 changes of load", "nothing": "full plan from a random start",
                   "skewed": "full plan, a third of the nodes empty", "check": "constraint check after the loss of a fault domain",
                   "place": "10,000 new replicas placed"}
# Of a start at which nearly a quarter of all replicas have to move only the quality has a bar.
BALANCER_MS = {"imbalance": 5, "nothing": 2_000, "check": 1_000, "place": 500}
BALANCER_BYTES = 2 << 30
BALANCER_ABOVE_BOUND = 0.05


def find(figures, *path):
    for step in path:
        if not isinstance(figures, dict) or step not in figures:
            return None
        figures = figures[step]
    return figures


class Table:
    def __init__(self, results):
        self.results = results
        self.rows = []

    def both(self, title, path, form, target="", ratio=None):
        ours, peers = find(self.results["evenkeel"], *path), find(self.results["peer"], *path)
        compared = ratio(ours, peers) if ratio and ours and peers else ""
        self.rows.append((title, form(ours) if ours is not None else NOT_MEASURED,
                          form(peers) if peers is not None else NOT_MEASURED, compared, target))

    def alone(self, title, value, target=""):
        self.rows.append((title, value, "", "", target))

    def text(self):
        version = find(self.results["peer"], "version")
        head = ("", "evenkeel", f"kube-apiserver {version} + etcd" if version else "peer", "ratio", "target")
        rows = [head, *self.rows]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join([row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]).rstrip()
                 for row in rows]
        lines.insert(1, "-" * max(map(len, lines)))
        return "\n".join(lines)


def per_second(value):
    return f"{value:,.0f} /s"


def seconds(value):
    return f"{value:.2f} s"


def milliseconds(value):
    return f"{value:.1f} ms"


def mebibytes(value):
    return f"{value / MIB:,.0f} MiB"


def times_more(ours, peers):
    return f"{ours / peers:.1f} x"


def times_less(ours, peers):
    return f"1 / {peers / ours:.1f}"


def balancer_misses(case, row):
    """What of one figure at BALANCER_BARS_AT misses its bar."""
    missed = []
    if row["ms"] >= BALANCER_MS.get(case, float("inf")):
        missed.append(f"{milliseconds(row['ms'])}, the bar is {BALANCER_MS[case]:,} ms")
    if row.get("above_bound", 0) > BALANCER_ABOVE_BOUND:
        missed.append(f"{1 + row['above_bound']:.3f} x the lower bound, the bar is {1 + BALANCER_ABOVE_BOUND:.2f} x")
    if row.get("left") or row.get("unplaced"):
        missed.append(f"{row.get('left', 0) + row.get('unplaced', 0):,.0f} violations or replicas are left")
    return missed


def missed(results):
    """One line for each figure that misses its bar; of parts that have none, or were not run, nothing."""
    lines = dashboard.missed(results.get("dashboard", {})) + definitions.missed(results["evenkeel"])
    figures = find(results, "balancer", str(BALANCER_BARS_AT))
    if figures is None:
        return lines
    lines += [f"{BALANCER_TITLES[case]}: {miss}" for case in BALANCER_BENCHMARKS for miss in balancer_misses(case, figures[case])]
    if figures["bytes"] >= BALANCER_BYTES:
        lines.append(f"memory: {mebibytes(figures['bytes'])}, the bar is {mebibytes(BALANCER_BYTES)}")
    return lines


def balancer_rows(rows, results):
    for nodes in BALANCER_NODES:
        figures = results["balancer"][str(nodes)]
        bars = nodes == BALANCER_BARS_AT
        rows.alone(f"balancer, {nodes:,} nodes, {nodes * 100 // 3:,} partitions of 3 replicas, 3 metrics: memory",
                   mebibytes(figures["bytes"]), f"< {mebibytes(BALANCER_BYTES)}" if bars else "")
        for case, title in BALANCER_TITLES.items():
            row = figures[case]
            value, bar = milliseconds(row["ms"]), f"< {BALANCER_MS[case]:,} ms" if bars and case in BALANCER_MS else ""
            if "above_bound" in row:
                value += f", {1 + row['above_bound']:.3f} x the lower bound, {row['actions']:,.0f} actions"
                bar += (", " if bar else "") + f"<= {1 + BALANCER_ABOVE_BOUND:.2f} x" if bars else ""
            if "violations" in row:
                value += f", {row['violations']:,.0f} violations"
            rows.alone(f"    {title}", value, bar + (" MISSED" if bars and balancer_misses(case, row) else ""))


def sizing_rows(rows, results):
    for row in results["sizing"]:
        rows.alone(f"{row['clusters']:,} clusters of {row['nodes']:,} nodes and {row['pods']:,} pods, {row['replicas']} replicas: "
                   "a replica's memory", f"{mebibytes(row['replica_bytes'])}, at most {mebibytes(row['replica_bytes_max'])}")
        rows.alone("    a replica's processor, of one core",
                   f"{100 * row['replica_cores']:.1f} %, at most {100 * row['replica_cores_max']:.1f} %")
        rows.alone("    the hub's memory, processor",
                   f"{mebibytes(row['hub_bytes'])}, {100 * row['hub_cores']:.1f} %")
        rows.alone("    requests to the hub, to a member", f"{row['hub_requests']:.1f} /s, {row['member_requests']:.2f} /s")
        rows.alone("    until every cluster has an owner: time, processor time of all replicas",
                   f"{seconds(row['owned_seconds'])}, {seconds(row['start_processor_seconds'])}")


def added_per_pod(side):
    return (side["memory"]["filled_bytes"] - side["memory"]["empty_bytes"]) / side["pods"]


def table(results, parts):
    rows = Table(results)
    for side in (results["evenkeel"], results["peer"]):
        if "memory" in side:
            side["memory"]["added_bytes_per_pod"] = added_per_pod(side)
        if "list" in side:
            side["list"]["seconds_per_100_000"] = side["list"]["seconds"] * 100_000 / side["pods"]
    if "planning" in parts:
        for method, target in (("legacy", 20), ("round_robin", 20), ("consistent_hashing", 60)):
            rows.alone(f"10,000 clusters over 100 replicas, {method.replace('_', '-')}",
                       milliseconds(results["planning"][method]), f"< {target} ms")
        for case, title, target in (("from_scratch", "the same by weight, from scratch", 20), ("shard_lost", "a replica lost", 5),
                                    ("shard_added", "a replica more", 5), ("nothing_to_do", "nothing to do", 5)):
            rows.alone(f"  {title}", milliseconds(results["planning"][case]), f"< {target} ms")
        for method in ("weighted", "legacy", "round_robin", "consistent_hashing"):
            up, down = (results["movement"][f"{case}_{method}"] for case in ("up_10_11", "down_11_10"))
            rows.alone(f"10 -> 11 and 11 -> 10 replicas, {method.replace('_', '-')}: clusters moved, imbalance",
                       ", ".join(f"{case['moved_percent']:.1f} % {case['imbalance']:.2f}" for case in (up, down)))
    if "simulation" in parts:
        hour = results["simulation"]
        rows.alone(f"an hour of 3 members and 3 replicas, {hour['steps']:,} steps", milliseconds(hour["hour"]), "< 2 s")
    if "autoscaler" in parts:
        for case, title, target in AUTOSCALER:
            row = results["autoscaler"][case]
            found = f"{row['added']:,} nodes added" if row["added"] else f"{row['removable']:,} nodes removable"
            memory = f", {mebibytes(row['bytes'])}" if "bytes" in row else ""
            rows.alone(title, f"{milliseconds(row['ms'])}, {found}{memory}", target)
        row = results["devices"]
        rows.alone("    a scheduler: 1,000 pods that claim 2 of 8 devices each, 500 nodes", f"{milliseconds(row['ms'])}, {row['placed']:,} placed", "< 100 ms")
    if "balancer" in parts:
        balancer_rows(rows, results)
    if "sizing" in parts:
        sizing_rows(rows, results)
    if "dashboard" in parts:
        dashboard.rows(results["dashboard"], rows)
    if "store" in parts:
        for writers, value in results["store"].items():
            rows.alone(f"store: durable writes, {writers} writer{'' if writers == '1' else 's'}", per_second(value))
    if "creates" in parts:
        for connections in ("1", "16", "64"):
            title = f"durable pod creates over TLS, {connections} connection{'' if connections == '1' else 's'}"
            rows.both(title, ("creates", connections, "per_second"), per_second, ">= 3 x" if connections == "16" else "",
                      times_more)
            rows.both("    99% answered within", ("creates", connections, "p99_ms"), milliseconds)
    if parts & {"memory", "list"}:
        rows.both("pods in it for what follows", ("pods",), lambda pods: f"{pods:,}")
    if "memory" in parts:
        rows.both("memory with them", ("memory", "filled_bytes"), mebibytes, "<= 1 / 5", times_less)
        rows.both("    per pod, beyond the empty server's", ("memory", "added_bytes_per_pod"), lambda value: f"{value:,.0f} bytes", "",
                  times_less)
        rows.both("    after listing them", ("memory", "listed_bytes"), mebibytes, "", times_less)
    if "list" in parts:
        rows.both("list in pages of 500 over TLS", ("list", "seconds"), seconds)
        rows.both("    per 100,000 pods", ("list", "seconds_per_100_000"), seconds, "< 1.5 s", times_less)
        rows.both("    once more, decoded by our client", ("list", "seconds_decoded"), seconds)
        rows.both("    size", ("list", "bytes"), mebibytes)
        rows.both("    in protocol buffers", ("list", "protobuf_seconds"), seconds, "<= 2 x JSON")
        rows.both("    in protocol buffers, decoded by our client", ("list", "protobuf_seconds_decoded"), seconds, "JSON >= 1.5 x")
        rows.both("    size in protocol buffers", ("list", "protobuf_bytes"), mebibytes)
    if "definitions" in parts:
        definitions.rows(results["evenkeel"], rows, mebibytes)
    if "watch" in parts:
        rows.both("2,000 watchers all see a write over TLS, median", ("watch", "median_ms"), milliseconds, "< 100 ms", times_less)
        rows.both("    slowest of 50 writes", ("watch", "max_ms"), milliseconds)
        rows.both("10,000 watchers, median", ("watch_many", "median_ms"), milliseconds)
        rows.both("    times as long as 2,000", ("watch_many", "times_as_long"), lambda ratio: f"{ratio:.1f}", "<= 3.5")
    return (f"{rows.text()}\n\n{results['cores']} cores, shared with wrk and the clients; load average before: "
            f"{results['load_before']:.1f}; took {results['seconds']:.0f} s; build/bench/results.json")
