"""A running distribution: how to read and change it. The hub is the embedded one or any other."""
import collections
import contextlib
import json
import os
import signal
import subprocess

import harness
from history import Fence, host_of, watch_plan

CONFIG_MAP = "argocd-app-controller-shard-cm"
CLUSTER_LABEL = {"argocd.argoproj.io/secret-type": "cluster"}
WEIGHT = "evenkeel.dev/weight"
# What compatible mode needs, as embedded/fleet/hub_objects.cc gives it to the Deployment.
COMPATIBLE = {"EVENKEEL_SHARDING_MODE": "compatible", "ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION": "true",
              "ARGOCD_APPLICATION_CONTROLLER_NAME": "evenkeel-controller", "ARGOCD_CONTROLLER_SHARDING_ALGORITHM": "round-robin"}


def http_get(url, seconds=20):
    """(status, body); status 0 when nobody answers."""
    result = subprocess.run(["curl", "-s", "--max-time", str(seconds), "-w", "\n%{http_code}", url], capture_output=True, text=True)
    body, _, status = result.stdout.rpartition("\n")
    return int(status or 0), body


class FleetUnderTest:
    def __init__(self, kubectl, home, namespace="evenkeel"):
        self.kubectl, self.home, self.namespace = kubectl, home, namespace
        self.fences, self.plans = {}, None

    def kubectl_here(self, *arguments, **options):
        return self.kubectl("-n", self.namespace, *arguments, **options)

    def apply(self, manifest):
        self.kubectl_here("apply", "-f", "-", stdin=json.dumps(manifest))

    def secret(self, object_name, annotations=None, **data):
        """A cluster Secret with this data, as it is."""
        self.apply({"apiVersion": "v1", "kind": "Secret", "stringData": data,
                    "metadata": {"name": object_name, "labels": CLUSTER_LABEL, "annotations": annotations or {}}})

    def run_evenkeel(self, *arguments):
        context = ["--context", self.kubectl.context] if self.kubectl.context else []
        return subprocess.run([harness.EVENKEEL, *arguments, "-n", self.namespace, "--kubeconfig", str(self.kubectl.kubeconfig), *context],
                              capture_output=True, text=True, timeout=120)

    def evenkeel(self, *arguments):
        result = self.run_evenkeel(*arguments)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def shards(self):
        return json.loads(self.evenkeel("get", "shards", "-o", "json"))

    def claims(self):
        config_map = self.kubectl.json("-n", self.namespace, "get", "configmap", CONFIG_MAP)
        return json.loads(config_map["data"]["shardControllerMapping"])

    def claim(self, shard):
        return next(claim for claim in self.claims() if claim["ShardNumber"] == shard)

    def holder(self, shard):
        return self.claim(shard)["ControllerName"]

    def replicas(self):
        """{name: where its metrics are} of the replicas that are ready."""
        raise NotImplementedError

    def scale(self, replicas):
        self.kubectl_here("scale", "deployment", "evenkeel-controller", f"--replicas={replicas}")

    def events(self, reason):
        items = self.kubectl.json("-n", self.namespace, "get", "events")["items"]
        return [event for event in items if event["reason"] == reason]

    def warnings(self):
        """{(name of the object, reason)}"""
        items = self.kubectl.json("-n", self.namespace, "get", "events")["items"]
        return {(event["involvedObject"]["name"], event["reason"]) for event in items if event["type"] == "Warning"}

    def owners(self):
        """{cluster: [replicas that say they own it]}, from the replicas' own metrics."""
        owners = {}
        for name, url in self.replicas().items():
            for line in http_get(url + "/metrics")[1].splitlines():
                if line.startswith("evenkeel_cluster_owner{"):
                    cluster = line.split('cluster="')[1].split('"')[0]
                    owners.setdefault(cluster, []).append(name)
        return owners

    def settled(self, replicas, clusters, unreachable=()):
        """Compatible mode: everybody is ready and has a claim, every cluster has exactly one owner, and claims and owners agree."""
        ready = self.replicas()
        assert len(ready) == replicas, f"{len(ready)} of {replicas} ready"
        claims = self.claims()
        assert {c["ControllerName"] for c in claims} == set(ready), f"claims {claims} of {set(ready)}"
        shards = self.shards()
        assert shards["mode"] == "compatible", shards["mode"]
        planned = {row["cluster"]: row["owner"] for row in shards["clusters"]}
        owners = self.owners()
        assert set(planned) == {*clusters, *unreachable}, planned
        assert owners == {cluster: [planned[cluster]] for cluster in clusters}, (owners, planned)
        self.check_fences(owners)
        return owners

    def settled_by_plan(self, replicas, clusters, unreachable=(), even=True):
        """Coordinated mode: everybody is ready and has a shard, every cluster has exactly one owner, the plan's, by its metrics and by the
        cluster's own Lease; no move is pending; `even`: in numbers of clusters. Returns {cluster: [owner]}."""
        ready = self.replicas()
        assert len(ready) == replicas, f"{len(ready)} of {replicas} ready"
        shards = self.shards()
        assert (shards["mode"], shards["replicas"], shards["waitingMoves"]) == ("coordinated", replicas, 0), shards
        rows = {row["cluster"]: row for row in shards["clusters"]}
        assert set(rows) == {*clusters, *unreachable}, rows
        pending = {name for name, row in rows.items() if "pendingMove" in row}
        assert pending == set(unreachable), f"pending: {pending}"
        owners = self.owners()
        assert owners == {cluster: [rows[cluster]["owner"]] for cluster in clusters}, (owners, shards)
        assert {name for names in owners.values() for name in names} <= set(ready), (owners, ready)
        self.check_fences(owners)
        if even:
            counts = collections.Counter(names[0] for names in owners.values())
            least = len(clusters) // replicas
            assert all(least <= counts[name] <= -(-len(clusters) // replicas) for name in ready), counts
        return owners

    def check_fences(self, owners):
        for cluster, fence in self.fences.items():
            if cluster in owners:
                lease = fence.read()
                assert [host_of(lease.holder)] == owners[cluster], f"{cluster}: {lease} of {owners[cluster]}"
                fence.watch.catch_up(lease.uid, lease.resource_version)

    def plan(self):
        return self.kubectl.json("-n", self.namespace, "get", "shardplan", "evenkeel")["spec"]

    def catch_up(self):
        """Until the history of the plan has what is there now."""
        metadata = self.kubectl.json("-n", self.namespace, "get", "shardplan", "evenkeel")["metadata"]
        self.plans.catch_up(metadata["uid"], metadata["resourceVersion"])

    def shard_numbers(self):
        """{host: shard}"""
        return {shard["host"]: shard["shard"] for shard in self.plan()["shards"]}

    def follow(self, members):
        """Keeps the history of the plan and of the Leases of `members`, {cluster: (kubectl, audit log or None)}, until unfollow()."""
        self.plans = watch_plan(self.kubectl, self.namespace)
        self.fences = {cluster: Fence(cluster, kubectl, audit) for cluster, (kubectl, audit) in members.items()}

    def unfollow(self):
        for watch in [self.plans, *self.fences.values()]:
            if watch is not None:
                watch.close()


class PodFleet(FleetUnderTest):
    """`evenkeel up`: replicas are the pods of the Deployment."""

    def follow_members(self, members):
        self.follow({name: (self.kubectl.at(name), self.home / name / "audit.log") for name in members})

    def ready_pods(self):
        pods = self.kubectl.json("-n", self.namespace, "get", "pods", "-l", "app.kubernetes.io/name=evenkeel-controller")["items"]
        return {pod["metadata"]["name"]: pod for pod in pods
                if "deletionTimestamp" not in pod["metadata"]
                and any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))}

    def replicas(self):
        return {name: f"http://{pod['status']['podIP']}:8082" for name, pod in self.ready_pods().items()}

    def scale_to(self, replicas):
        self.scale(replicas)

    def pid(self, name):
        pod = harness.eventually(lambda: self.ready_pods()[name], 60, f"{name} is ready")
        return int(pod["status"]["containerStatuses"][0]["containerID"].rsplit("/", 1)[1])

    def kill(self, name):
        """Like a machine that is lost: the pod goes, too, and first, so that nobody starts the process again under its name. It is
        stopped for that moment, so that it does not end in good order."""
        pid = self.pid(name)
        os.kill(pid, signal.SIGSTOP)
        self.kubectl_here("delete", "pod", name, "--grace-period=0", "--force", "--wait=false")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def end(self, name):
        """SIGTERM and its grace period."""
        self.kubectl_here("delete", "pod", name, "--wait=false")

    def set_environment(self, **variables):
        """A rolling update with these variables; None takes one away. Returns when it is done."""
        words = [f"{name}-" if value is None else f"{name}={value}" for name, value in variables.items()]
        self.kubectl_here("set", "env", "deployment/evenkeel-controller", *words)
        self.kubectl_here("rollout", "status", "deployment/evenkeel-controller", "--timeout=300s", timeout=310)
