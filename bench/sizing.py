"""What a fleet costs at rest: a hub, replicas as they would be installed, and API servers that stand for clusters.

The hub is `evenkeel apiserver` on SQLite, each replica `evenkeel run` with autoscaler, balancer, scheduler and ZooKeeper operator:
processes of their own, so what they take is theirs alone. Times are processor time, which other work on the machine does not
change much. A cluster is an API server with nodes and pods as objects, without kubelets: what kubelets write goes past the replicas,
but for the status of nodes every five minutes. Its store is in memory, since its disk is not what is measured.
"""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.request

import servers

# Clusters, replicas; nodes and pods in each cluster. The last one's API servers take some 4 GiB.
CASES = ((10, 3, 3, 10), (100, 3, 3, 10), (1_000, 10, 3, 10), (10, 3, 100, 1_000), (100, 3, 50, 1_500))
TOKEN = "bench-token"
STARTED_AT_ONCE = 10
START_SECONDS = 60
OWNED_SECONDS = 300
STILL_OWNED_SECONDS = 30
# Whoever is first begins with everything; at the default of 10 moves a minute, evening out 1,000 clusters takes an hour and a half.
MOVES_PER_MINUTE = 10_000
EVEN = 1.5
SETTLE_SECONDS = 45
MEASURE_SECONDS = 60
SAMPLED_CLUSTERS = 10
TICKS = os.sysconf("SC_CLK_TCK")


class Api:
    """Just enough of a client: bearer token, JSON, one connection."""

    def __init__(self, url, ca_file):
        self.url, self.ca_file = url, ca_file
        host, port = url.removeprefix("https://").split(":")
        self.connection = http.client.HTTPSConnection(host, int(port), timeout=60, context=ssl.create_default_context(cafile=ca_file))

    def text(self, path, method="GET", body=None):
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        self.connection.request(method, path, None if body is None else json.dumps(body),
                                {"Authorization": f"Bearer {TOKEN}", "Content-Type": kind})
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status >= 300:
            raise servers.BenchError(f"{method} {self.url}{path}: {text[:300]}")
        return text

    def requests(self):
        """How many were answered since the start."""
        return sum(float(value) for value in re.findall(r"^apiserver_request_total\{.*\} (\S+)$", self.text("/metrics"), flags=re.M))


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def eventually(what, seconds, check, pause=1.0):
    deadline = time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            raise servers.BenchError(f"not within {seconds} s: {what}")
        time.sleep(pause)


class Cluster:
    """One API server with its objects in memory."""

    def __init__(self, program, home):
        home.mkdir()
        tokens = servers.private_file(home / "tokens.csv", f'{TOKEN},bench,bench,"system:masters"\n')
        self.home, self.log = home, home / "log"
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [str(program), "apiserver", "--store", "memory", "--port", "0", "--threads", "1", "--data-dir", str(home),
                 "--token-auth-file", str(tokens)], stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.api = None

    def wait(self):
        def serves():
            if self.process.poll() is not None:
                raise servers.BenchError(f"evenkeel apiserver: {self.log.read_text()[-2000:]}")
            return "serving https://" in self.log.read_text()
        eventually("a cluster is up", START_SECONDS, serves, 0.02)
        self.api = Api(re.search(r"serving (https://\S+)", self.log.read_text()).group(1), self.home / "ca.crt")

    def fill(self, nodes, pods):
        for name, data in KWOK.items():
            self.api.text("/api/v1/namespaces/kube-system/configmaps", "POST", {"metadata": {"name": name}, "data": data})
        for number in range(nodes):
            self.api.text("/api/v1/nodes", "POST", node(f"node-{number}"))
        path = "/api/v1/namespaces/default/pods"
        for number in range(pods):
            name = f"work-{number}"
            self.api.text(path, "POST", pod(name, f"node-{number % nodes}"))
            self.api.text(f"{path}/{name}/status", "PATCH", {"status": RUNNING})
        self.api.connection.close()

    def secret(self, name):
        ca_data = base64.b64encode((self.home / "ca.crt").read_bytes()).decode()
        config = {"bearerToken": TOKEN, "tlsClientConfig": {"insecure": False, "caData": ca_data}}
        return {"metadata": {"name": name, "labels": {"argocd.argoproj.io/secret-type": "cluster"}}, "type": "Opaque",
                "stringData": {"name": name, "server": self.api.url, "config": json.dumps(config)}}


KWOK = {"kwok-provider-config": {"config": "apiVersion: v1alpha1\nreadNodesFrom: cluster\nnodegroups: {fromNodeLabelKey: pool}\nkwok: {}\n"}}
RUNNING = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, {"type": "PodScheduled", "status": "True"}]}


def node(name):
    amounts = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    return {"metadata": {"name": name, "labels": {"pool": "general", "kubernetes.io/hostname": name}},
            "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]}}


def pod(name, node_name):
    container = {"name": "work", "image": "work", "resources": {"requests": {"cpu": "300m", "memory": "512Mi"}}}
    return {"metadata": {"name": name, "labels": {"app": "work"}}, "spec": {"nodeName": node_name, "containers": [container]}}


def start_clusters(program, homes, count, nodes, pods):
    clusters = []
    try:
        while len(clusters) < count:
            batch = []
            for _ in range(min(STARTED_AT_ONCE, count - len(clusters))):
                batch.append(Cluster(program, homes / str(len(clusters))))
                clusters.append(batch[-1])
            for one in batch:
                one.wait()
                one.fill(nodes, pods)
    except BaseException:
        stop([one.process for one in clusters])
        raise
    return clusters


def stop(processes):
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        if process.poll() is None:
            process.kill()
            process.wait()


class Replica:
    def __init__(self, program, kubeconfig, number, port, directory):
        self.number, self.port = number, port
        with open(directory / f"replica-{number}.log", "w") as log:
            self.process = subprocess.Popen(
                [str(program), "run", "--kubeconfig", str(kubeconfig), "--cloud-provider=kwok", "--balancer", "--scheduler",
                 "--zookeeper", f"--max-moves-per-minute={MOVES_PER_MINUTE}", "--metrics-address=127.0.0.1", f"--metrics-port={self.port}"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, "POD_NAME": f"replica-{number}"})

    def wait(self):
        eventually(f"replica {self.number} serves its metrics", 30, lambda: self.owned() is not None)

    def owned(self):
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=10) as answer:
                return len(re.findall(r"^evenkeel_cluster_owner\{.*\} 1$", answer.read().decode(), flags=re.M))
        return None


def snapshot(replicas, hub_pid, hub, sampled):
    return {"time": time.monotonic(), "replicas": [processor_seconds(one.process.pid) for one in replicas],
            "hub": processor_seconds(hub_pid), "hub_requests": hub.requests(), "member_requests": [api.requests() for api in sampled]}


def measure_at_rest(replicas, server, hub, sampled):
    before = snapshot(replicas, server.process.pid, hub, sampled)
    time.sleep(MEASURE_SECONDS)
    after = snapshot(replicas, server.process.pid, hub, sampled)
    seconds = after["time"] - before["time"]
    share = [(new - old) / seconds for old, new in zip(before["replicas"], after["replicas"])]
    # Of the snapshot itself: one of ours to the hub and to each sampled member.
    of_members = [(new - old - 1) / seconds for old, new in zip(before["member_requests"], after["member_requests"])]
    memory = [servers.resident_bytes(one.process.pid) for one in replicas]
    return {"replica_cores": sum(share) / len(share), "replica_cores_max": max(share),
            "replica_bytes": sum(memory) / len(memory), "replica_bytes_max": max(memory),
            "hub_cores": (after["hub"] - before["hub"]) / seconds, "hub_bytes": servers.resident_bytes(server.process.pid),
            "hub_requests": (after["hub_requests"] - before["hub_requests"] - 1) / seconds,
            "member_requests": sum(of_members) / len(of_members)}


def measure_case(program, work, case, say):
    count, replica_count, nodes, pods = case
    homes = pathlib.Path(tempfile.mkdtemp(prefix="evenkeel-sizing-", dir="/dev/shm"))
    clusters, replicas = [], []
    try:
        clusters = start_clusters(program, homes, count, nodes, pods)
        with servers.Evenkeel(program, work / "sizing") as server:
            hub = Api(server.url, server.directory / "data/ca.crt")
            hub.text("/api/v1/namespaces", "POST", {"metadata": {"name": "evenkeel"}})
            for index, one in enumerate(clusters):
                hub.text("/api/v1/namespaces/evenkeel/secrets", "POST", one.secret(f"cluster-{index}"))
            started = time.monotonic()
            first_port = servers.free_ports(replica_count)
            for number in range(replica_count):
                replicas.append(Replica(program, server.kubeconfig, number, first_port + number, server.directory))
            for one in replicas:
                one.wait()
            eventually("every cluster has one owner", OWNED_SECONDS, lambda: owned(replicas) == count)
            row = {"clusters": count, "replicas": replica_count, "nodes": nodes, "pods": pods,
                   "owned_seconds": time.monotonic() - started,
                   "start_processor_seconds": sum(processor_seconds(one.process.pid) for one in replicas)}
            say(f"sizing: {count:,} clusters have owners after {row['owned_seconds']:.0f} s")
            most = max(EVEN * count / replica_count, count // replica_count + 1)
            eventually("replicas have about as many each", OWNED_SECONDS,
                       lambda: owned(replicas) == count and max(one.owned() or 0 for one in replicas) <= most)
            time.sleep(SETTLE_SECONDS)
            row |= measure_at_rest(replicas, server, hub, [one.api for one in clusters[:: max(1, count // SAMPLED_CLUSTERS)]])
            # One may be on its way to another replica, to even out the load.
            eventually("every cluster still has one owner", STILL_OWNED_SECONDS, lambda: owned(replicas) == count)
            stop([one.process for one in replicas])
            return row
    finally:
        stop([one.process for one in [*replicas, *clusters]])
        shutil.rmtree(homes, ignore_errors=True)


def owned(replicas):
    return sum(one.owned() or 0 for one in replicas)


def measure(program, work, say, cases=CASES):
    rows = []
    for case in cases:
        say(f"sizing: {case[0]:,} clusters of {case[2]} nodes and {case[3]:,} pods, {case[1]} replicas")
        rows.append(measure_case(program, work, case, say))
    return rows
