"""A running distribution: how to read and change it. The hub is the embedded one or any other."""
import json
import subprocess

import harness

CONFIG_MAP = "argocd-app-controller-shard-cm"


def http_get(url):
    """(status, body); status 0 when nobody answers."""
    result = subprocess.run(["curl", "-s", "--max-time", "2", "-w", "\n%{http_code}", url], capture_output=True, text=True)
    body, _, status = result.stdout.rpartition("\n")
    return int(status or 0), body


class FleetUnderTest:
    def __init__(self, kubectl, home, namespace="evenkeel"):
        self.kubectl, self.home, self.namespace = kubectl, home, namespace

    def kubectl_here(self, *arguments, **options):
        return self.kubectl("-n", self.namespace, *arguments, **options)

    def evenkeel(self, *arguments):
        context = ["--context", self.kubectl.context] if self.kubectl.context else []
        result = subprocess.run([harness.EVENKEEL, *arguments, "-n", self.namespace, "--kubeconfig", str(self.kubectl.kubeconfig), *context],
                                capture_output=True, text=True, timeout=30)
        assert result.returncode == 0, result.stderr
        return result.stdout

    def shards(self):
        return json.loads(self.evenkeel("get", "shards", "-o", "json"))

    def claims(self):
        config_map = self.kubectl.json("-n", self.namespace, "get", "configmap", CONFIG_MAP)
        return json.loads(config_map["data"]["shardControllerMapping"])

    def holder(self, shard):
        return next(claim["ControllerName"] for claim in self.claims() if claim["ShardNumber"] == shard)

    def ready_pods(self):
        pods = self.kubectl.json("-n", self.namespace, "get", "pods", "-l", "app.kubernetes.io/name=evenkeel-controller")["items"]
        return {pod["metadata"]["name"]: pod for pod in pods
                if "deletionTimestamp" not in pod["metadata"]
                and any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))}

    def replicas(self):
        """{name: where its metrics are} of the replicas that are ready."""
        return {name: f"http://{pod['status']['podIP']}:8082" for name, pod in self.ready_pods().items()}

    def scale(self, replicas):
        self.kubectl_here("scale", "deployment", "evenkeel-controller", f"--replicas={replicas}")

    def events(self, reason):
        items = self.kubectl.json("-n", self.namespace, "get", "events")["items"]
        return [event for event in items if event["reason"] == reason]

    def owners(self):
        """{cluster: [replicas that say they own it]}, from the replicas' own metrics."""
        owners = {}
        for name, url in self.replicas().items():
            for line in http_get(url + "/metrics")[1].splitlines():
                if line.startswith("evenkeel_cluster_owner{"):
                    cluster = line.split('cluster="')[1].split('"')[0]
                    owners.setdefault(cluster, []).append(name)
        return owners

    def settled(self, replicas, clusters):
        """Everybody is ready, every cluster has exactly one owner, and plan and owners agree."""
        ready = self.replicas()
        assert len(ready) == replicas, f"{len(ready)} of {replicas} ready"
        claims = self.claims()
        assert {c["ControllerName"] for c in claims} == set(ready), f"claims {claims} of {set(ready)}"
        planned = {row["cluster"]: row["owner"] for row in self.shards()["clusters"]}
        owners = self.owners()
        assert set(planned) == set(clusters), planned
        assert {cluster: names for cluster, names in owners.items()} == {c: [o] for c, o in planned.items()}, (owners, planned)
        return owners
