"""Pods with schedulerName evenkeel: on the embedded fleet, whose own scheduler binds them, and on API servers without any, where
`evenkeel run --scheduler` does: here one of the embedded kind, in scheduler_real_test.py one that is not ours. The rest of a cluster is
played there (played_parts.py)."""
import json
import re
import secrets
import signal
import time
import unittest

import harness
from autoscaled_cluster import AutoscaledCluster, replicated
from played_parts import PROVIDER_ID, PlayedCluster
from process_fleet import ApiServer, ProcessFleet

FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "balancingplans.evenkeel.dev"},
    "spec": {"group": "evenkeel.dev", "scope": "Cluster", "names": {"kind": "BalancingPlan", "plural": "balancingplans", "singular": "balancingplan"},
             "versions": [{"name": "v1alpha1", "served": True, "storage": True, "subresources": {"status": {}},
                           "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": FREE, "status": FREE}}}}]}}
PLANS = "/apis/evenkeel.dev/v1alpha1/balancingplans"
KWOK = "apiVersion: v1alpha1\nreadNodesFrom: cluster\nnodegroups: {fromNodeLabelKey: pool}\nkwok: {}\n"
# How long to wait for what has to come.
LONG = 180


def for_evenkeel(app, replicas, cpu, kind, selector=None):
    made = replicated(app, replicas, cpu, selector, kind)
    made["spec"]["template"]["spec"]["schedulerName"] = "evenkeel"
    return made


class Scenarios:
    """On .cluster, with the kind .cluster.scaled that makes pods; the three .nodes have 4 cores each."""

    def tearDown(self):
        for app in ("web", "giant", "filler", "stranger", "theirs"):
            self.cluster.kubectl("-n", self.cluster.namespace, "delete", self.cluster.scaled, app, "--ignore-not-found", "--wait=false")
        self.cluster.kubectl("-n", self.cluster.namespace, "delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false")

        def gone():
            return not self.cluster.kubectl.json("-n", self.cluster.namespace, "get", "pods")["items"]
        harness.eventually(gone, LONG)

    def apply(self, app, replicas, cpu, selector=None):
        self.cluster.apply(for_evenkeel(app, replicas, cpu, self.kind, selector))

    def refusal(self, app):
        """What the app's first pod says about why it has no node."""
        status = self.cluster.pods(app)[0]["status"]
        return next(condition["message"] for condition in status["conditions"]
                    if (condition["type"], condition["status"]) == ("PodScheduled", "False"))

    def nodes_of(self, app):
        return sorted(pod["spec"].get("nodeName", "") for pod in self.cluster.pods(app))

    def test_1_binds_and_spreads(self):
        self.apply("web", 6, "100m")
        took = self.cluster.wait_for_pods("web", 6, LONG)
        print(f"6 pods ready after {took:.1f} s")
        self.assertEqual(self.nodes_of("web"), sorted(2 * list(self.nodes)))
        name = self.cluster.pods("web")[0]["metadata"]["name"]
        harness.eventually(lambda: any(f"{name} to " in message for message in self.cluster.events("Scheduled", self.cluster.namespace, name)), LONG)

    def test_2_says_why_not_in_upstreams_words(self):
        self.apply("giant", 1, "64")
        message = harness.eventually(lambda: self.refusal("giant"), LONG)
        self.assertEqual(message, "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 3 Preemption is not helpful "
                                  "for scheduling.")
        harness.eventually(lambda: message in self.cluster.events("FailedScheduling", self.cluster.namespace), LONG)

    def test_3_several_hundred_pods(self):
        began = time.monotonic()
        self.apply("web", 300, "10m")

        def bound():
            nodes = self.nodes_of("web")
            assert len(nodes) == 300 and "" not in nodes, f"{len(nodes)} pods, {nodes.count('')} without a node"
            return nodes
        nodes = harness.eventually(bound, 2 * LONG)
        print(f"300 pods made and bound in {time.monotonic() - began:.1f} s")
        counts = [nodes.count(node) for node in self.nodes]
        self.assertLessEqual(max(counts) - min(counts), 3, counts)

    def test_4_the_successor_of_an_evicted_pod_lands_where_the_plan_said(self):
        """All nodes are full but for one core on each but the first, which a stranger would like."""
        kubectl, namespace = self.cluster.kubectl, self.cluster.namespace
        if not kubectl.exists("get", "crd", DEFINITION["metadata"]["name"]):
            kubectl("apply", "-f", "-", stdin=json.dumps(DEFINITION))
        harness.eventually(lambda: kubectl.run("get", "--raw", PLANS, check=False).returncode == 0, LONG)
        self.addCleanup(kubectl, "delete", "--raw", f"{PLANS}/e2e", check=False)
        self.apply("web", 1, "1")
        self.cluster.wait_for_pods("web", 1, LONG)
        old = self.cluster.pods("web")[0]
        source = old["spec"]["nodeName"]
        target, other = [node for node in self.nodes if node != source][:2]
        kubectl("cordon", source)
        self.addCleanup(kubectl, "uncordon", source)
        self.apply("filler", 2, "2900m")
        self.cluster.wait_for_pods("filler", 2, LONG)
        kubectl("cordon", other)
        self.addCleanup(kubectl, "uncordon", other)

        def plan(state):
            name, uid = old["metadata"]["name"], old["metadata"]["uid"]
            action = {"partition": "web", "service": "web", "action": "MoveInstance", "from": source, "to": target, "pod": f"{namespace}/{name}",
                      "podUid": uid, "ownerUid": old["metadata"]["ownerReferences"][0]["uid"], "reason": "test", "energyGain": 0.5}
            until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
            return {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPlan", "metadata": {"name": "e2e"},
                    "spec": {"policy": "none", "approved": True, "actions": [action]},
                    "status": {"phase": "Executing", "actions": [{"state": state, "reserveUntil": until}]}}
        made = json.loads(kubectl("create", "--raw", PLANS, "-f", "-", stdin=json.dumps(plan("Evicting"))))

        def write(state):
            nonlocal made
            made = json.loads(kubectl("replace", "--raw", f"{PLANS}/e2e/status", "-f", "-", stdin=json.dumps(
                {**made, "status": plan(state)["status"]})))
        write("Evicting")
        self.apply("stranger", 1, "500m")

        def refused():
            # The scheduler hears of plans and of pods in two ways, and nothing says when it has heard of a plan: before, it gives the room away.
            for pod in self.cluster.pods("stranger"):
                if pod["spec"].get("nodeName"):
                    kubectl("-n", namespace, "delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force", "--ignore-not-found")
            return self.refusal("stranger")
        harness.eventually(refused, LONG)
        time.sleep(2)
        self.assertEqual(self.nodes_of("stranger"), [""], "the room is kept")
        name = old["metadata"]["name"]
        version = "policy/v1" if "policy/v1\n" in kubectl("api-versions") + "\n" else "policy/v1beta1"
        kubectl("create", "--raw", f"/api/v1/namespaces/{namespace}/pods/{name}/eviction", "-f", "-", stdin=json.dumps(
            {"apiVersion": version, "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}))
        write("Evicted")
        harness.eventually(lambda: self.nodes_of("web") == [target], LONG)
        self.assertEqual(self.nodes_of("stranger"), [""])
        kubectl("uncordon", other)
        harness.eventually(lambda: self.nodes_of("stranger") == [other], LONG)


class EmbeddedFleetTest(Scenarios, unittest.TestCase):
    kind = "Deployment"

    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(harness.fleet(home, "--members", "1", "--nodes", "3", "--node-group-max", "1"))
        cls.cluster = AutoscaledCluster(harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "member-1"))
        # Without the cloud's: what does not fit stays so.
        cls.cluster.kubectl("delete", "nodegroups", "--all")
        harness.eventually(lambda: len(cls.cluster.ready_nodes()) == 3, LONG)
        cls.nodes = sorted(cls.cluster.nodes())


class ControllerScenarios(Scenarios):
    """Two controllers, one of which owns the only member; nodes and kubelets are played."""
    kind = "ReplicaSet"
    nodes = ("e2e-1", "e2e-2", "e2e-3")

    @classmethod
    def start(cls, kubectl, home):
        cls.fleet = ProcessFleet(kubectl, home, f"evenkeel-e2e-{secrets.token_hex(3)}")
        cls.cluster = AutoscaledCluster(kubectl, namespace=cls.fleet.namespace, scaled="replicaset")
        cls.addClassCleanup(cls.clean_up)
        cls.fleet.create([], hub_as="member")
        room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        for name in cls.nodes:
            cls.cluster.apply({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": {"providerID": PROVIDER_ID + name}})
            node = kubectl.json("get", "node", name)
            node["status"] = {**node.get("status", {}), "capacity": room, "allocatable": room}
            kubectl("replace", "--raw", f"/api/v1/nodes/{name}/status", "-f", "-", stdin=json.dumps(node))
        cls.world = PlayedCluster(kubectl, home, cls.fleet.namespace)
        cls.world.start()
        cls.fleet.arguments = ["--scheduler"]
        for _ in range(2):
            cls.fleet.start()

    @classmethod
    def clean_up(cls):
        kubectl, namespace = cls.cluster.kubectl, cls.fleet.namespace
        cls.fleet.stop()
        if hasattr(cls, "world"):
            cls.world.close()
        kubectl("-n", namespace, "delete", "replicasets,pods", "--all", "--grace-period=0", "--force", "--wait=false", check=False)
        kubectl("delete", "nodes", *cls.nodes, "--ignore-not-found", check=False)
        kubectl("delete", "customresourcedefinition", DEFINITION["metadata"]["name"], "--ignore-not-found", check=False)
        # Hundreds, which kubectl would delete one by one.
        kubectl("delete", "--raw", f"/api/v1/namespaces/{namespace}/events", check=False)
        cls.fleet.delete()

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.world.failures, [])

    def test_5_other_schedulers_pods_are_theirs(self):
        self.cluster.apply(replicated("theirs", 1, "100m", None, self.kind))
        self.cluster.wait_for_pods("theirs", 1, LONG)
        name = self.cluster.pods("theirs")[0]["metadata"]["name"]
        self.assertEqual(self.cluster.events("Scheduled", self.cluster.namespace, name), [], "the played scheduler tells of nothing")

    def test_6_the_next_owner_goes_on(self):
        self.apply("web", 3, "100m")
        self.cluster.wait_for_pods("web", 3, LONG)
        owner = harness.eventually(lambda: self.fleet.owners()["member"][0], LONG)
        self.fleet.kill(owner)
        self.cluster.scale("web", 6)
        took = self.cluster.wait_for_pods("web", 6, LONG)
        print(f"bound {took:.1f} s after the owner was killed")
        harness.eventually(lambda: self.fleet.owners()["member"][0] != owner, LONG)
        self.assertEqual(self.nodes_of("web"), sorted(2 * list(self.nodes)))


class BareApiTest(ControllerScenarios, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.api = ApiServer(home / "api")
        cls.addClassCleanup(lambda: cls.api.program.stop(signal.SIGKILL))
        cls.start(cls.api.kubectl, home)


class OneFeedTest(unittest.TestCase):
    """All controllers of a replica read a member through the same watches."""

    def test_each_kind_and_selection_is_watched_once(self):
        home = self.enterContext(harness.temporary_home())
        hub = ApiServer(home / "hub")
        self.addCleanup(lambda: hub.program.stop(signal.SIGKILL))
        fleet = ProcessFleet(hub.kubectl, home)
        self.addCleanup(fleet.stop)
        fleet.create(["member"])
        member = fleet.members["member"]
        for name in ("kwok-provider-config", "kwok-provider-templates"):
            AutoscaledCluster(member.kubectl, namespace="kube-system").apply(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"config": KWOK, "templates": "apiVersion: v1\nitems: []\nkind: List\n"}})
        fleet.arguments = ["--scheduler", "--balancer", "--zookeeper", "--cloud-provider=kwok", "--expander=priority"]
        wanted = {"nodes", "pods", "namespaces", "replicationcontrollers", "replicasets", "statefulsets", "daemonsets", "jobs", "poddisruptionbudgets",
                  "persistentvolumes", "persistentvolumeclaims", "storageclasses", "csinodes", "csidrivers", "csistoragecapacities",
                  "deviceclasses", "resourceslices", "resourceclaims", "resourceclaimtemplates",
                  "balancingplans", "balancingpolicies", "customresourcedefinitions"}

        def watches():
            """How many are open, by kind."""
            text = member.kubectl("get", "--raw", "/metrics")
            return {kind: int(count) for kind, count in re.findall(r'^apiserver_registered_watchers\{resource="([^".]+)[^"]*"\} (\d+)$', text, re.M)}

        own = watches()
        fleet.start()
        harness.eventually(lambda: all(watches().get(kind, 0) > own.get(kind, 0) for kind in wanted), LONG, watches)
        time.sleep(3)  # whoever opens one more does so by then
        opened = {kind: count - own.get(kind, 0) for kind, count in watches().items() if count > own.get(kind, 0)}
        # The autoscaler's priorities and its status are two selections.
        self.assertEqual({kind: count for kind, count in opened.items() if count > 1}, {"configmaps": 2})
        self.assertLessEqual(sum(opened.values()), len(wanted) + 4, opened)  # and ZooKeepers, the Lease


if __name__ == "__main__":
    harness.main_in_parallel()
