"""Karmada and the members' operators as far as a rollout sees them, played on any API server that knows Karmada's kinds: ZooKeepers are
scheduled by their policy's static weights, overridden, and carried out after a moment; ResourceBindings say what became of them."""
import contextlib

import harness
from played_parts import ApiError, Played, condition, now

DEFINITIONS = harness.ROOT / "src/embedded/federation/policies/crds.yaml"
TURNS_TO_RESTART = 3


class PlayedKarmada(Played):
    """Of one ZooKeeper in one namespace. `changes` are (cluster, spec.rolloutRevision) in the order in which members took them."""

    def __init__(self, kubectl, home, namespace, name="zk"):
        super().__init__(kubectl, home)
        self.name = name
        self.policies = f"/apis/policy.karmada.io/v1alpha1/namespaces/{namespace}"
        self.templates = f"/apis/evenkeel.dev/v1alpha1/namespaces/{namespace}/zookeepers"
        self.bindings = f"/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings"
        self.members, self.changes, self.most_restarting, self.holding = {}, [], 0, False
        self.unscheduled = set()  # clusters that the schedule leaves out, as after an outage

    @contextlib.contextmanager
    def held(self):
        """Meanwhile nothing that members have begun comes to an end, so that a test finds them at it."""
        self.holding = True
        try:
            yield
        finally:
            self.holding = False

    def get(self, path):
        try:
            return self.api("GET", path)
        except ApiError as error:
            if error.code == 404:
                return None
            raise

    def turn(self):
        template = self.get(f"{self.templates}/{self.name}")
        policy = self.get(f"{self.policies}/propagationpolicies/{self.name}-zk")
        binding = self.get(f"{self.bindings}/{self.name}-zookeeper")
        if template is None or policy is None:
            self.members.clear()
            if binding is not None:
                self.api("DELETE", f"{self.bindings}/{self.name}-zookeeper")
            return
        weights = policy["spec"]["placement"]["replicaScheduling"]["weightPreference"]["staticWeightList"]
        shares = {weight["targetCluster"]["clusterNames"][0]: weight["weight"] for weight in weights}
        for cluster in list(self.members):
            if cluster not in shares:
                del self.members[cluster]
        for cluster in shares:
            self.work(cluster)
        restarting = [cluster for cluster, member in self.members.items() if member["turns"]]
        self.most_restarting = max(self.most_restarting, len(restarting))
        self.report(template, shares, binding)

    def work(self, cluster):
        override = self.get(f"{self.policies}/overridepolicies/{self.name}-{cluster}")
        if override is None:
            self.failures.append(f"{cluster} has a copy without an override")
            return
        values = {item["path"]: item["value"] for item in override["spec"]["overrideRules"][0]["overriders"]["plaintext"]}
        revision, replicas = values["/spec/rolloutRevision"], values["/spec/replicas"]
        member = self.members.setdefault(cluster, {"revision": None, "observed": None, "replicas": 0, "turns": 0})
        if member["revision"] != revision:
            self.changes.append((cluster, revision))
            turns = TURNS_TO_RESTART if replicas else 0
            # Until it is through it says what it confirmed last, which may be what it is to go back to.
            observed = member["observed"] if member["turns"] else member["revision"]
            self.members[cluster] = {"revision": revision, "replicas": replicas, "turns": turns, "offset": values["/spec/myidOffset"],
                                     "observed": observed}
        elif member["turns"] and not self.holding:
            member["turns"] -= 1

    def status(self, cluster, member):
        done = not member["turns"]
        ids = [member["offset"] + ordinal + 1 for ordinal in range(member["replicas"])]
        members = [{"id": server, "pod": f"{self.name}-{server}", "mode": "leader" if server == 1 else "follower"} for server in ids]
        status = {"replicas": len(ids), "readyReplicas": len(ids) if done else max(len(ids) - 1, 0),
                  "members": members if done else members[:-1]}
        if observed := (member["revision"] if done else member["observed"]):
            status["observedRevision"] = observed
        return {"clusterName": cluster, "applied": True, "health": "Healthy" if done else "Unhealthy", "status": status}

    def report(self, template, shares, binding):
        resource = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "namespace": template["metadata"]["namespace"],
                    "name": self.name, "uid": template["metadata"]["uid"]}
        spec = {"resource": resource, "replicas": sum(shares.values()),
                "clusters": [{"name": cluster, "replicas": share} for cluster, share in sorted(shares.items())
                             if cluster not in self.unscheduled]}
        path = f"{self.bindings}/{self.name}-zookeeper"
        if binding is None:
            binding = self.api("POST", self.bindings, {"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
                                                       "metadata": {"name": f"{self.name}-zookeeper"}, "spec": spec})
        elif any(binding["spec"].get(key) != value for key, value in spec.items()):
            binding = self.api("PUT", path, {**binding, "spec": {**binding["spec"], **spec}})
        status = {"schedulerObservedGeneration": binding["metadata"]["generation"],
                  "aggregatedStatus": [self.status(cluster, member) for cluster, member in sorted(self.members.items())]}
        before = binding.get("status", {})
        if any(before.get(key) != value for key, value in status.items()):
            conditions = [condition("Scheduled", "True", reason="Success"), condition("FullyApplied", "True", reason="FullyAppliedSuccess")]
            self.api("PUT", f"{path}/status", {**binding, "status": {**status, "conditions": conditions, "lastScheduledTime": now()}})
