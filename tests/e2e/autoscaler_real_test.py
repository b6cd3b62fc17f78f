"""The autoscaler on a Kubernetes API server that is not ours: EVENKEEL_E2E_KUBECONFIG names its kubeconfig. Controllers are `evenkeel run`
processes; the server is hub and member in one; nodes are made by the kwok provider or by Cluster API. The rest of a cluster is played
(played_parts.py), so the server must be a bare one: without nodes, scheduler and controllers. What the tests make there they remove.
"""
import json
import re
import secrets
import time
import unittest

import harness
import real_api
from autoscaled_cluster import (LONG, PRIORITIES, STATE, STATUS, AutoscaledCluster, HealthyPods, budget, loops, metric, replicated,
                                wait_for_loops)
from played_parts import DEFINITIONS, PlayedCluster, machine_deployment
from process_fleet import ProcessFleet

FLAGS = ["--scan-interval=1s", "--scale-down-delay-after-add=3s", "--scale-down-unneeded-time=6s", "--unremovable-node-recheck-timeout=1s",
         "--node-delete-delay-after-taint=1s", "--max-drain-parallelism=10", "--max-scale-down-parallelism=20", "--max-node-startup-time=2s",
         "--scale-down-delay-after-failure=3s"]
UNAVAILABLE = 3
KWOK_CONFIG = """
apiVersion: v1alpha1
readNodesFrom: configmap
nodegroups: {fromNodeLabelKey: pool}
nodes: {skipTaint: true}
configmap: {name: kwok-provider-templates}
"""


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "kube-system"}, "data": data}


def kwok_template(name, maximum):
    room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": room, "capacity": room}, "metadata": {
        "name": f"template-{name}", "labels": {"pool": name},
        "annotations": {"cluster-autoscaler.kwok.nodegroup/min-count": "0", "cluster-autoscaler.kwok.nodegroup/max-count": str(maximum)}}}


class Scenarios:
    """The same with every provider; groups: "web" of 4 cores each."""

    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        kubectl = real_api.bare_kubectl_for(home)
        cls.fleet = ProcessFleet(kubectl, home, f"evenkeel-e2e-{secrets.token_hex(3)}")
        print(f"provider {cls.provider}, namespace {cls.fleet.namespace}")
        flags = [*FLAGS, f"--cloud-provider={cls.provider}", *cls.more_flags]
        cls.member = AutoscaledCluster(kubectl, flags, cls.fleet.namespace, "pool", "replicaset")
        cls.addClassCleanup(cls.clean_up)
        cls.fleet.create([], hub_as="real")
        cls.make_groups()
        cls.world = PlayedCluster(kubectl, home, cls.fleet.namespace)
        cls.world.plays_machines = cls.provider == "clusterapi"
        cls.world.start()
        cls.fleet.arguments = flags
        for _ in range(2):
            cls.fleet.start()

    @classmethod
    def clean_up(cls):
        kubectl, namespace = cls.member.kubectl, cls.fleet.namespace
        cls.fleet.stop()
        if hasattr(cls, "world"):
            cls.world.close()
        kubectl("-n", namespace, "delete", "replicasets,poddisruptionbudgets,pods", "--all", "--grace-period=0", "--force", "--wait=false",
                check=False)
        kubectl("delete", "nodes", "--all", check=False)
        kubectl("-n", "kube-system", "delete", "configmap", STATUS, STATE, *cls.config_maps, "--ignore-not-found", check=False)
        kubectl("-n", "kube-system", "delete", "events", "--field-selector", f"involvedObject.name={STATUS}", check=False)
        kubectl("-n", "default", "delete", "events", "--field-selector", "involvedObject.kind=Node", check=False)
        cls.remove_groups()
        cls.fleet.delete()

    def removed_nodes(self, reason):
        """By all controllers together."""
        series = f'cluster_autoscaler_scaled_down_nodes_total{{cluster="real",dra_drivers="",gpu_name="",gpu_resource_name="",reason="{reason}"}}'
        return sum(metric(self.fleet.url(name), series) for name in self.fleet.processes)

    def owner(self):
        return harness.eventually(lambda: self.fleet.owners()["real"][0], LONG)

    def tearDown(self):
        self.assertEqual(self.world.failures, [])

    def test_1_grows(self):
        self.member.apply(replicated("web", 5, "500m", {"pool": "web"}, "ReplicaSet"), budget("web", UNAVAILABLE, self.world.budget_version))
        first = self.member.wait_for_pods("web", 5, LONG)
        self.assertEqual(len(self.member.nodes("web")), 1)
        self.member.scale("web", 60)
        took = self.member.wait_for_pods("web", 60, LONG)
        self.assertEqual(len(self.member.ready_nodes("web")), 8, "8 pods of 500m fill a node of 4 cores")
        print(f"5 replicas ready after {first:.1f} s, 60 on 8 nodes after {took:.1f} s more")
        self.assertTrue(self.member.events("TriggeredScaleUp", self.fleet.namespace))
        self.assertIn("status: Healthy", self.member.status())

    def test_2_shrinks_and_keeps_to_the_budget(self):
        """12 pods are left, one or two on each node. The API itself refuses what the budget does not allow."""
        watch = HealthyPods(self.member.kubectl, "web", self.fleet.namespace)
        self.addCleanup(watch.close)
        self.member.scale("web", 12)
        began = time.monotonic()
        self.member.wait_for_pods("web", 12, LONG)
        since = time.time()
        harness.eventually(lambda: len(self.member.nodes("web")) <= 2, 2 * LONG,
                           lambda: self.member.explain("node", next(iter(self.member.nodes("web")))))
        self.member.wait_for_pods("web", 12, LONG)
        print(f"12 replicas on {len(self.member.nodes())} nodes after {time.monotonic() - began:.1f} s; at least {watch.lowest(since)} were ready")
        self.assertGreaterEqual(watch.lowest(since), 12 - UNAVAILABLE)
        self.assertLess(watch.lowest(since), 12, "nothing was moved")
        self.assertIn("deleting pod for node scale down", self.member.events("ScaleDown", self.fleet.namespace))
        harness.eventually(lambda: self.removed_nodes("underutilized") >= 4, LONG)
        harness.eventually(lambda: self.member.marked_nodes() == [], LONG)

    def test_3_says_why(self):
        self.member.apply(replicated("giant", 1, "64", {"pool": "web"}, "ReplicaSet"))
        name = harness.eventually(lambda: self.member.pods("giant")[0]["metadata"]["name"], LONG)

        def explained():
            text = self.member.explain("pod", f"{self.fleet.namespace}/{name}")
            assert re.search(r"pending; (no node group|none of \d+ node groups) grows for it", text), text
            return text
        text = harness.eventually(explained, LONG)
        print(text)
        self.assertRegex(text, r"group \S*web: NodeResourcesFit: Insufficient cpu \(64 requested, 4 free of 4: 60 missing\)")
        node = next(iter(self.member.nodes("web")))
        line = self.member.explain("node", node)
        print(line.strip())
        self.assertIn(f"node {node} (group ", line)
        self.member.scale("giant", 0)

    def test_4_an_unhealthy_cluster_is_left_alone(self):
        self.member.scale("web", 40)
        self.member.wait_for_pods("web", 40, LONG)
        nodes = sorted(self.member.nodes("web"))
        self.assertEqual(len(nodes), 5)
        self.world.sick.update(nodes[:4])
        harness.eventually(lambda: "stopped" in self.member.plan(), LONG)
        harness.eventually(lambda: "status: Unhealthy" in self.member.status().partition("\nnodeGroups:")[0], LONG)
        self.member.scale("web", 60)
        harness.eventually(lambda: len(self.member.pods("web")) == 60, LONG)
        wait_for_loops(self.fleet, "real", 6)
        self.assertEqual(len(self.member.nodes("web")), 5, "nothing is scaled while the cluster is unhealthy")
        self.assertEqual(self.member.plan()["stopped"]["why"], "4 of 5 nodes are not ready")
        self.assertIn("Cluster is unhealthy", self.member.events("ClusterUnhealthy"))
        self.world.sick.clear()
        took = self.member.wait_for_pods("web", 60, LONG)
        print(f"healthy again: 60 pods ready after {took:.1f} s")

    def test_5_a_killed_controllers_successor_goes_on(self):
        """The time since when a node is unneeded is counted on, not anew. It is longer now than it takes to find a successor."""
        unneeded_time = 60
        self.member.flags = [*self.fleet.arguments, f"--scale-down-unneeded-time={unneeded_time}s"]
        self.fleet.arguments = self.member.flags
        for name in list(self.fleet.processes):
            self.fleet.end(name)
        self.owner()
        self.member.apply(replicated("extra", 1, "3500m", {"pool": "web"}, "ReplicaSet"))
        self.member.wait_for_pods("extra", 1, LONG)
        node = self.member.pods("extra")[0]["spec"]["nodeName"]
        self.member.scale("extra", 0)
        since = harness.eventually(lambda: self.member.unneeded_since(node), LONG)
        owner = self.owner()
        time.sleep(max(0.0, since + 8 - time.time()))
        self.fleet.kill(owner)
        killed = time.time()

        def taken_over():
            owners = self.fleet.owners().get("real", [])
            assert owners and owner not in owners, owners
            return owners[0]
        successor = harness.eventually(taken_over, LONG)
        taken = self.member.owned_since()
        # It has written its memory by its second loop.
        harness.eventually(lambda: loops([self.fleet.url(successor)], "real") >= 2, LONG)
        self.assertEqual(self.member.unneeded_since(node), since)
        harness.eventually(lambda: node not in self.member.nodes(), unneeded_time + LONG)
        gone = time.time()
        print(f"killed {killed - since:.1f} s after a node was found unneeded, replaced {taken - killed:.1f} s later; "
              f"the node was gone at {gone - since:.1f} s")
        self.assertGreater(gone - since, unneeded_time)
        self.assertLess(gone - taken, unneeded_time, "it began to count anew")


class KwokTest(Scenarios, unittest.TestCase):
    provider, more_flags, config_maps = "kwok", (), ("kwok-provider-config", "kwok-provider-templates")

    @classmethod
    def make_groups(cls):
        templates = {"apiVersion": "v1", "kind": "List", "items": [kwok_template("web", 20)]}
        cls.member.apply(config_map("kwok-provider-config", config=KWOK_CONFIG),
                         config_map("kwok-provider-templates", templates=json.dumps(templates)))

    @classmethod
    def remove_groups(cls):
        pass


class ClusterApiTest(Scenarios, unittest.TestCase):
    provider, more_flags, config_maps = "clusterapi", ("--expander=priority,least-waste",), (PRIORITIES,)

    @classmethod
    def make_groups(cls):
        cls.member.apply(*DEFINITIONS)
        path = f"/apis/cluster.x-k8s.io/v1beta1/namespaces/{cls.fleet.namespace}/machinedeployments"
        harness.eventually(lambda: cls.member.kubectl.run("get", "--raw", path, check=False).returncode == 0, LONG)
        cls.member.apply(machine_deployment("web", 20))

    @classmethod
    def remove_groups(cls):
        names = [definition["metadata"]["name"] for definition in DEFINITIONS]
        cls.member.kubectl("delete", "customresourcedefinitions", *names, "--ignore-not-found", check=False)

    def replicas_of(self, name):
        return self.member.kubectl.json("-n", self.fleet.namespace, "get", "machinedeployment", name)["spec"]["replicas"]

    def test_6_machines_that_fail_fall_over_to_the_next_group(self):
        self.member.apply(config_map(PRIORITIES, priorities="20: [.*/few]\n10: [.*/many]\n"),
                          machine_deployment("few", 20, ",class=batch", quota=2), machine_deployment("many", 20, ",class=batch"))
        harness.eventually(lambda: len(self.member.plan()["nodeGroups"]) == 3, LONG)
        self.member.apply(replicated("batch", 5, "3", {"class": "batch"}, "ReplicaSet"))
        took = self.member.wait_for_pods("batch", 5, LONG)
        print(f"5 pods ready after {took:.1f} s, although the first group has had room for 2 only")

        def settled():
            sizes = {name: (self.replicas_of(name), len(self.member.ready_nodes(name))) for name in ("few", "many")}
            assert sizes == {"few": (2, 2), "many": (3, 3)}, sizes
            return True
        harness.eventually(settled, LONG)
        few = f"MachineDeployment/{self.fleet.namespace}/few"
        self.assertIn("status: Backoff", self.member.status_of_group(few))
        self.assertTrue(any(few in message for message in self.member.events("ScaleUpFailed")), self.member.events("ScaleUpFailed"))


if __name__ == "__main__":
    real_api.main()
