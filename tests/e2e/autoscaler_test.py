"""The autoscaler on the embedded fleet: real controller processes, nodes that take time to come, run out and fail."""
import re
import time
import unittest

import harness
from autoscaled_cluster import (LONG, PRIORITIES, AutoscaledCluster, HealthyPods, budget, loops, metric, node_group, pod_writes, replicated,
                                wait_for_loops)
from fleet_under_test import PodFleet

# The times of the loop, so that nobody waits for minutes. A node that could not go is looked at again soon: upstream's default is 5 min.
FLAGS = ["--scan-interval=1s", "--scale-down-delay-after-add=5s", "--unremovable-node-recheck-timeout=1s", "--node-delete-delay-after-taint=1s",
         "--max-drain-parallelism=10", "--max-scale-down-parallelism=20", "--scale-down-delay-after-failure=5s"]
UNAVAILABLE = 10


def start_fleet(test_class, flags, *arguments):
    """Sets .fleet and .members, {name: AutoscaledCluster}."""
    home = test_class.enterClassContext(harness.temporary_home())
    test_class.program = test_class.enterClassContext(
        harness.fleet(home, "--nodes", "1", "--autoscaler-args", " ".join(flags), *arguments))
    kubectl = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "hub")
    test_class.fleet = PodFleet(kubectl, home)
    names = [path.name for path in home.glob("member-*")]
    test_class.members = {name: AutoscaledCluster(kubectl.at(name), flags) for name in names}


class GrowAndShrinkTest(unittest.TestCase):
    """One member, whose own node has room for 8 pods, as each of the group's."""

    @classmethod
    def setUpClass(cls):
        start_fleet(cls, [*FLAGS, "--scale-down-unneeded-time=8s"], "--members", "1", "--replicas", "2", "--node-group-max", "60")
        cls.member = cls.members["member-1"]

    def test_1_grows_from_10_to_400_replicas(self):
        self.member.apply(replicated("web", 10, "500m"), budget("web", UNAVAILABLE))
        first = self.member.wait_for_pods("web", 10, LONG)
        self.assertEqual(self.member.target("general"), 1)
        # Now, since an embedded cluster keeps the latest thousand events, and 400 pods have more.
        for reason, namespace, words in (("TriggeredScaleUp", "default", "general"), ("ScaledUpGroup", "kube-system", "Scale-up: group general size set to")):
            harness.eventually(lambda: any(words in message for message in self.member.events(reason, namespace)), LONG)
        self.member.scale("web", 400)
        took = self.member.wait_for_pods("web", 400, 2 * LONG)
        print(f"10 replicas ready after {first:.1f} s, 400 on 50 nodes after {took:.1f} s more")
        self.assertEqual(self.member.target("general"), 49, "8 pods of 500m fill a node of 4 cores")
        self.assertEqual(len(self.member.ready_nodes("general")), 49)

    def test_2_says_why_the_nodes_stay(self):
        def settled():
            plan = self.member.plan()
            assert not plan["scaleUp"] and not plan["pending"], plan
            reasons = {row["reason"] for row in plan["unremovable"] if row["node"].startswith("general-")}
            assert reasons == {"NotUnderutilized"}, plan["unremovable"]
            return True
        harness.eventually(settled, LONG)
        generation = self.member.node_group("general")["metadata"]["generation"]
        line = self.member.explain("node", "general-1")
        print(line.strip())
        self.assertIn("stays: NotUnderutilized", line)
        self.assertEqual(self.member.node_group("general")["metadata"]["generation"], generation, "a plan changes nothing")

    def test_3_shrinks_to_40_replicas_and_keeps_to_the_budget(self):
        """Two on each of 20 nodes, so that some nodes are empty and others are drained. A node with 5 pods is not under-used any more: at most
        8 are left."""
        watch = HealthyPods(self.member.kubectl, "web")
        self.addCleanup(watch.close)
        self.keep_two_pods_on(20)
        self.member.scale("web", 40)
        begin, began = time.time(), time.monotonic()
        self.member.wait_for_pods("web", 40, LONG)
        since = time.time()
        harness.eventually(lambda: len(self.member.nodes("general")) <= 8, 2 * LONG,
                           lambda: self.member.explain("node", next(iter(self.member.nodes("general")))))
        print(f"40 replicas on {len(self.member.nodes())} nodes after {time.monotonic() - began:.1f} s; at least {watch.lowest(since)} were ready")
        self.member.wait_for_pods("web", 40, LONG)
        self.assertGreaterEqual(watch.lowest(since), 40 - UNAVAILABLE)
        self.assertLess(watch.lowest(since), 40, "nothing was moved")
        self.check_evictions(begin)
        self.check_nothing_is_left_behind()

    def keep_two_pods_on(self, count):
        """Whoever scales down deletes these pods last."""
        by_node = {}
        for pod in self.member.pods("web"):
            by_node.setdefault(pod["spec"]["nodeName"], []).append(pod["metadata"]["name"])
        kept = [name for node in sorted(set(by_node) & set(self.member.nodes("general")))[:count] for name in by_node[node][:2]]
        self.assertEqual(len(kept), 2 * count)
        self.member.kubectl("annotate", "pods", *kept, "controller.kubernetes.io/pod-deletion-cost=100")

    def check_evictions(self, begin):
        """The controller ends pods by evictions alone, and the API agreed to each."""
        writes = [write for write in pod_writes(self.fleet.home / "member-1" / "audit.log", begin) if write[0].startswith("evenkeel/")]
        evictions = [write for write in writes if write[1:3] == ("create", "eviction")]
        self.assertEqual([write for write in writes if write[1] == "delete"], [])
        self.assertGreater(sum(write[4] < 300 for write in evictions), 0, writes)
        self.assertTrue({write[4] for write in evictions} <= {200, 201, 429}, evictions)
        print(f"{sum(write[4] < 300 for write in evictions)} evictions, {sum(write[4] == 429 for write in evictions)} refused by the budget")
        self.assertIn("deleting pod for node scale down", self.member.events("ScaleDown", "default"))
        series = 'cluster_autoscaler_scaled_down_nodes_total{{cluster="member-1",dra_drivers="",gpu_name="",gpu_resource_name="",reason="{}"}}'
        removed = {reason: sum(metric(url, series.format(reason)) for url in self.fleet.replicas().values())
                   for reason in ("empty", "underutilized")}
        print(f"nodes removed: {removed}")
        self.assertTrue(all(removed.values()), removed)

    def check_nothing_is_left_behind(self):
        def quiet():
            group = self.member.node_group("general")
            assert not self.member.marked_nodes(), self.member.marked_nodes()
            assert not group["spec"].get("deleting"), group["spec"]
            instances = group["status"]["instances"]
            assert len(instances) == group["spec"]["targetSize"] == len(self.member.nodes("general")), group
            return True
        harness.eventually(quiet, LONG)


class FaultsTest(unittest.TestCase):
    """What goes wrong: no more machines, sick nodes, a dead controller."""

    UNNEEDED_SECONDS = 120

    @classmethod
    def setUpClass(cls):
        # A group that has failed once is to be backed off in the last test, too.
        flags = [*FLAGS, f"--scale-down-unneeded-time={cls.UNNEEDED_SECONDS}s", "--expander=priority,least-waste", "--initial-node-group-backoff-duration=30m"]
        start_fleet(cls, flags, "--members", "2", "--replicas", "3", "--node-group-max", "0")

    def test_1_a_stock_out_falls_over_to_the_next_group(self):
        member = self.members["member-1"]
        member.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": PRIORITIES, "namespace": "kube-system"},
                      "data": {"priorities": "20: [cheap]\n10: [dear]\n"}},
                     node_group("cheap", 10, "stock", {"quota": 2}),
                     node_group("dear", 10, "stock", options={"scaleDownUnneededTime": "5s"}),
                     replicated("stock", 5, "3", {"pool": "stock"}))
        took = member.wait_for_pods("stock", 5, LONG)
        print(f"5 pods ready after {took:.1f} s, although the first group has had room for 2 only")

        # While a group is backed off, nodes that it may still get do not count: the other one has got nodes for all 5. The pods are on those
        # that were ready first. The others go.
        def settled():
            sizes = {name: (member.target(name), len(member.ready_nodes(name))) for name in ("cheap", "dear")}
            assert all(target == ready for target, ready in sizes.values()), sizes
            assert sum(target for target, _ in sizes.values()) == 5, sizes
            assert sizes["cheap"][0] <= 2, sizes
            return True
        harness.eventually(settled, LONG + self.UNNEEDED_SECONDS)
        self.assertIn("status: Backoff", member.status_of_group("cheap"))
        self.assertNotIn("Backoff", member.status_of_group("dear"))
        self.assertTrue(any("cheap" in message and "OutOfResource" in message for message in member.events("ScaleUpFailed")),
                        member.events("ScaleUpFailed"))

    def test_2_says_why_a_pod_waits(self):
        member = self.members["member-1"]
        member.apply(replicated("giant", 1, "64", {"pool": "stock"}))
        name = harness.eventually(lambda: member.pods("giant")[0]["metadata"]["name"], LONG)

        def explained():
            text = member.explain("pod", f"default/{name}")
            assert re.search(r"pending; (no node group|none of \d+ node groups) grows for it", text), text
            return text
        text = harness.eventually(explained, LONG)
        print(text)
        self.assertRegex(text, r"group cheap: .*Insufficient cpu \(64.*missing\)")
        self.assertRegex(text, r"group cheap: .*in backoff after failed scale-up")
        self.assertRegex(text, r"group dear: .*Insufficient cpu \(64.*missing\)")
        self.assertRegex(text, r"  (\d+ nodes|node member-1-node-1): NodeAffinity: node\(s\) didn't match Pod's node affinity/selector")
        pending = {row["pod"]: row["reasons"] for row in member.plan()["pending"]}
        self.assertEqual(set(pending[f"default/{name}"]), {"cheap", "dear", "general"})
        harness.eventually(lambda: member.events("NotTriggerScaleUp", "default", name), LONG)
        member.kubectl("-n", "default", "delete", "deployment", "giant")

    def test_3_an_unhealthy_cluster_is_left_alone(self):
        """More than 3 and more than 45 % of the nodes must be unready: 3 of 7 are not enough, 4 of 8 are."""
        member = self.members["member-2"]
        options = {"options": {"maxNodeStartupTime": "2s"}}
        member.apply(node_group("sick", 6, "sick", minSize=6, targetSize=6, **options), node_group("more", 5, "more", **options))
        harness.eventually(lambda: len(member.ready_nodes("sick")) == 6, LONG)
        nodes = sorted(member.nodes("sick"))
        line = member.explain("node", nodes[0])
        self.assertIn("NodeGroupMinSizeReached", line)
        for name in nodes[:3]:
            member.set_node_condition(name, "NetworkUnavailable", "True")
        harness.eventually(lambda: member.plan()["health"]["unready"] == 3, LONG)
        member.apply(replicated("more", 1, "3", {"pool": "more"}))
        took = member.wait_for_pods("more", 1, LONG)
        print(f"3 of 7 nodes unready: a pod got its node after {took:.1f} s")
        member.set_node_condition(nodes[3], "NetworkUnavailable", "True")
        harness.eventually(lambda: "stopped" in member.plan(), LONG)
        harness.eventually(lambda: "status: Unhealthy" in member.status().partition("\nnodeGroups:")[0], LONG)
        member.scale("more", 3)
        harness.eventually(lambda: len(member.pods("more")) == 3, LONG)
        wait_for_loops(self.fleet, "member-2", 8)
        self.assertEqual(member.target("more"), 1, "nothing is scaled while the cluster is unhealthy")
        plan = member.plan()
        self.assertEqual(plan["stopped"]["why"], "4 of 8 nodes are not ready")
        self.assertIn("Cluster is unhealthy", member.events("ClusterUnhealthy"))
        waiting = next(pod["metadata"]["name"] for pod in member.pods("more") if not pod["spec"].get("nodeName"))
        self.assertIn("no scale-up in this loop: 4 of 8 nodes are not ready", member.explain("pod", f"default/{waiting}"))
        member.set_node_condition(nodes[3], "NetworkUnavailable", "False")
        took = member.wait_for_pods("more", 3, LONG)
        print(f"healthy again: 2 more pods ready after {took:.1f} s")

    def test_4_a_killed_controllers_successor_goes_on(self):
        """Neither what a node's time is counted from nor a back-off begins anew."""
        member, unneeded_time = self.members["member-1"], 60
        member.apply(node_group("idle", 3, "idle", targetSize=1, options={"scaleDownUnneededTime": f"{unneeded_time}s"}))
        node = harness.eventually(lambda: next(iter(member.ready_nodes("idle")), None), LONG)
        since = harness.eventually(lambda: member.unneeded_since(node), LONG)
        until = member.state()["cluster"]["backoff"]["cheap"]
        self.assertIn("unneeded", member.explain("node", node))
        owner = harness.eventually(lambda: self.fleet.owners()["member-1"][0], LONG)
        time.sleep(max(0.0, since + 8 - time.time()))
        self.fleet.kill(owner)
        killed = time.time()

        def taken_over():
            owners = self.fleet.owners().get("member-1", [])
            assert owners and owner not in owners, owners
            return owners[0]
        successor = harness.eventually(taken_over, LONG)
        taken = member.owned_since()
        print(f"{owner} was killed {killed - since:.1f} s after the node was found unneeded; {successor} went on {taken - killed:.1f} s later")
        # It has written its memory by its second loop.
        harness.eventually(lambda: loops([self.fleet.replicas()[successor]], "member-1") >= 2, LONG)
        self.assertEqual(member.unneeded_since(node), since)
        self.assertEqual(member.state()["cluster"]["backoff"]["cheap"], until)
        self.assertIn("status: Backoff", member.status_of_group("cheap"))
        harness.eventually(lambda: node not in member.nodes(), unneeded_time + LONG)
        gone = time.time()
        print(f"the node was gone {gone - since:.1f} s after it was first found unneeded, {gone - taken:.1f} s after the successor began")
        self.assertGreater(gone - since, unneeded_time)
        self.assertLess(gone - taken, unneeded_time, "it began to count anew")


if __name__ == "__main__":
    harness.main_in_parallel()
