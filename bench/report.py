"""The table that bench/run prints."""

MIB = 1 << 20
NOT_MEASURED = "not measured"
AUTOSCALER = (("up", "autoscaler, one loop: 10,000 ownerless pods on one full node", "< 10 ms"),
              ("down", "    400 nodes x 40 pods of 1 %", "< 10 ms"),
              ("steady5k", "    5,000 nodes, 150,000 pods at 90 %, nothing to do", "< 5 ms"),
              ("low5k", "    5,000 nodes x 30 pods of 1 %", "< 400 ms"),
              ("burst5k", "    20,000 pending pods of 50 deployments on 5,000 full nodes", "< 250 ms"),
              ("affinity5k", "    the same, half with anti-affinity, half with zone spread", "< 1 s"),
              ("huge", "    20,000 pending pods, 15,000 nodes, 450,000 pods, 30 groups", "< 1 s, < 3 GiB"))


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
    if "watch" in parts:
        rows.both("2,000 watchers all see a write over TLS, median", ("watch", "median_ms"), milliseconds, "< 100 ms", times_less)
        rows.both("    slowest of 50 writes", ("watch", "max_ms"), milliseconds)
    return (f"{rows.text()}\n\n{results['cores']} cores, shared with wrk and the clients; load average before: "
            f"{results['load_before']:.1f}; took {results['seconds']:.0f} s; build/bench/results.json")
