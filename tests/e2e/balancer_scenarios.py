"""What a member's balancer is seen to do, on any cluster of three nodes of 4 cores whose pods are bound where plans say."""
import json
import secrets
import time

import harness
from autoscaled_cluster import AutoscaledCluster, replicated
from history import seconds_of
from played_parts import PROVIDER_ID, PlayedCluster
from process_fleet import ProcessFleet

# Looks every second or two, so that nobody waits for minutes.
FAST = {"balancing": "2s", "constraintCheck": "2s", "afterNewNode": "0s", "afterNodeDown": "0s"}
CPU = {"name": "cpu"}
DEFINITIONS = ("balancingplans.evenkeel.dev", "balancingpolicies.evenkeel.dev")
LONG = 180


class Balanced:
    """On .cluster, an AutoscaledCluster, with .kind that makes pods, and .nodes. A machine that is busy may take its time: nothing here
    depends on how long a step takes."""

    def tearDown(self):
        kubectl, namespace = self.cluster.kubectl, self.cluster.namespace
        kubectl("delete", "balancingpolicies", "--all")
        kubectl("-n", namespace, "delete", self.cluster.scaled, "--all", "--wait=false")
        kubectl("-n", namespace, "delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false")

        def gone():
            assert not self.unfinished(), self.plans()
            return not kubectl.json("-n", namespace, "get", "pods")["items"]
        harness.eventually(gone, LONG)
        # What they did would count for the throttles of the next test.
        kubectl("delete", "balancingplans", "--all")
        kubectl("uncordon", *self.nodes)
        kubectl("label", "nodes", *self.nodes, "pool-")

    def policy(self, **spec):
        self.cluster.apply({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "e2e"},
                            "spec": {"intervals": FAST, "metrics": [CPU], **spec}})

    def plans(self):
        return self.cluster.kubectl.json("get", "balancingplans")["items"]

    def unfinished(self):
        return [plan for plan in self.plans() if plan.get("status", {}).get("phase", "Pending") in ("Pending", "Executing")]

    def condition(self, kind):
        policy = self.cluster.kubectl.json("get", "balancingpolicy", "e2e")
        return next(condition for condition in policy["status"]["conditions"] if condition["type"] == kind)

    def pods_on(self, *apps):
        """Healthy ones, by the order of .nodes."""
        nodes = [pod["spec"].get("nodeName") for app in apps for pod in self.cluster.pods(app) if "deletionTimestamp" not in pod["metadata"]]
        return [nodes.count(node) for node in self.nodes]

    def run_on(self, node, app, replicas, cpu):
        """Pods that are all on that node, by their own wish at first only."""
        others = [name for name in self.nodes if name != node]
        self.cluster.kubectl("cordon", *others)
        made = replicated(app, replicas, cpu, None, self.kind)
        made["spec"]["template"]["spec"]["schedulerName"] = "evenkeel"
        self.cluster.apply(made)
        self.cluster.wait_for_pods(app, replicas, LONG)
        self.cluster.kubectl("uncordon", *others)

    def evictions(self):
        """Times, of all plans."""
        return sorted(seconds_of(action["evictedAt"]) for plan in self.plans() for action in plan["status"].get("actions", [])
                      if "evictedAt" in action)

    def wait_for_balance(self, app, expected):
        def even():
            pods = self.pods_on(app)
            assert sorted(pods) == expected and not self.unfinished(), (pods, self.plans())
            return pods
        harness.eventually(even, LONG)


class Movements(Balanced):
    def test_1_skewed_load_evens_out_within_throttles(self):
        self.run_on(self.nodes[0], "web", 6, "500m")
        began = time.monotonic()
        window = 15
        self.policy(throttles={"movements": 2, "window": f"{window}s", "maxShare": 1})
        self.wait_for_balance("web", [2, 2, 2])
        times = self.evictions()
        print(f"even after {time.monotonic() - began:.1f} s and {len(times)} movements")
        self.assertEqual(len(times), 4)
        for i in range(2, len(times)):
            self.assertGreaterEqual(times[i] - times[i - 2], window, times)
        for plan in self.plans():
            self.assertEqual(plan["status"]["phase"], "Done", plan)
            self.assertLess(plan["spec"]["deviationAfter"], plan["spec"]["deviationBefore"])
            self.assertTrue(all(action["state"] == "Landed" for action in plan["status"]["actions"]), plan)
        harness.eventually(lambda: self.condition("Balanced")["status"] == "True", LONG)
        self.assertEqual(self.condition("Valid")["status"], "True")

    def test_2_nothing_moves_below_the_activity_threshold(self):
        self.run_on(self.nodes[0], "quiet", 4, "500m")
        self.policy(metrics=[{**CPU, "activityThreshold": "2"}])
        # The last transition tells that it has looked.
        harness.eventually(lambda: self.condition("Balanced")["status"] == "True", LONG)
        time.sleep(8)
        self.assertEqual(self.plans(), [])
        self.assertEqual(self.pods_on("quiet"), [4, 0, 0])
        self.policy(metrics=[{**CPU, "activityThreshold": "1900m"}])
        harness.eventually(lambda: self.pods_on("quiet")[0] < 4, LONG)

    def test_3_a_node_above_its_buffered_capacity_is_relieved(self):
        self.run_on(self.nodes[0], "full", 7, "500m")
        self.policy(metrics=[{**CPU, "balancingThreshold": 0, "nodeBuffer": 0.25}])

        def relieved():
            pods = self.pods_on("full")
            assert pods[0] <= 6 and sum(pods) == 7 and not self.unfinished(), (pods, self.plans())
            return pods
        harness.eventually(relieved, LONG)
        self.assertEqual({plan["spec"]["phase"] for plan in self.plans()}, {"ConstraintCheck"})


    def test_17_moves_begin_within_windows_only(self):
        self.run_on(self.nodes[0], "nightly", 6, "500m")
        # A minute of the day that was over twelve hours ago.
        past = time.strftime("%H", time.gmtime(time.time() - 12 * 3600))
        self.policy(windows=[{"from": f"{past}:00", "to": f"{past}:01"}])

        def waits():
            condition = self.condition("Balanced")
            assert condition["reason"] == "Waiting" and "within spec.windows" in condition["message"], condition
            return True
        harness.eventually(waits, LONG)
        self.assertEqual((self.pods_on("nightly"), self.plans()), ([6, 0, 0], []))
        self.policy(windows=[{"days": ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]}], throttles={"maxShare": 1})
        self.wait_for_balance("nightly", [2, 2, 2])


class UnequalNodes(Balanced):
    """Where nodes say what they have because somebody wrote it, and no kubelet knows better."""

    def resize(self, node, cpu):
        def written():
            found = self.cluster.kubectl.json("get", "node", node)
            for field in ("capacity", "allocatable"):
                found["status"][field]["cpu"] = cpu
            self.cluster.kubectl("replace", "--raw", f"/api/v1/nodes/{node}/status", "-f", "-", stdin=json.dumps(found))
            return True
        # Somebody may have written the node meanwhile.
        harness.eventually(written, LONG)

    def test_16_large_nodes_take_from_small_ones_that_are_full(self):
        for node in self.nodes:
            self.run_on(node, f"on-{node}", 4, "900m")
        apps = [f"on-{node}" for node in self.nodes]
        self.resize(self.nodes[2], "16")
        self.addCleanup(self.resize, self.nodes[2], "4")
        self.policy(throttles={"maxShare": 1})

        def as_full_as_each_other():
            pods = self.pods_on(*apps)
            assert pods == [2, 2, 8] and not self.unfinished(), (pods, self.plans())
            return True
        harness.eventually(as_full_as_each_other, LONG)
        self.assertIn("3.6 of 4 on", self.plans()[0]["spec"]["actions"][0]["reason"])
        harness.eventually(lambda: self.condition("Balanced")["status"] == "True", LONG)


class Plans(Balanced):
    def test_4_only_the_uneven_node_type_is_touched(self):
        kubectl = self.cluster.kubectl
        for node, pool in zip(self.nodes, ("a", "a", "b"), strict=True):
            kubectl("label", "node", node, f"pool={pool}")
        self.run_on(self.nodes[2], "other", 2, "500m")
        self.run_on(self.nodes[0], "uneven", 4, "500m")
        before = {pod["metadata"]["uid"] for pod in self.cluster.pods("other")}
        self.policy(nodeTypeLabel="pool")

        def even():
            assert self.pods_on("uneven") == [2, 2, 0] and not self.unfinished(), (self.pods_on("uneven"), self.plans())
            return True
        harness.eventually(even, LONG)
        self.assertEqual({pod["metadata"]["uid"] for pod in self.cluster.pods("other")}, before)
        self.assertEqual(self.pods_on("other"), [0, 0, 2])

    def test_5_a_dry_run_that_is_approved_is_carried_out_exactly(self):
        self.run_on(self.nodes[0], "dry", 6, "500m")
        self.policy(dryRun=True, throttles={"maxShare": 1})
        plan = harness.eventually(self.unfinished, LONG)[0]
        time.sleep(5)
        self.assertEqual(self.pods_on("dry"), [6, 0, 0])
        self.assertEqual(len(self.plans()), 1)
        self.assertFalse(plan["spec"]["approved"])
        name = plan["metadata"]["name"]
        self.cluster.kubectl("patch", "balancingplan", name, "--type=merge", "-p", json.dumps({"spec": {"approved": True}}))

        def done():
            found = self.cluster.kubectl.json("get", "balancingplan", name)
            assert found["status"]["phase"] == "Done", found
            return found
        done = harness.eventually(done, LONG)
        self.assertEqual(done["spec"]["actions"], plan["spec"]["actions"])
        expected = [6, 0, 0]
        for action, status in zip(done["spec"]["actions"], done["status"]["actions"], strict=True):
            self.assertEqual((status["state"], status["node"]), ("Landed", action["to"]), status)
            expected[self.nodes.index(action["from"])] -= 1
            expected[self.nodes.index(action["to"])] += 1
        self.assertEqual(self.pods_on("dry"), expected)

    def test_6_a_bad_policy_is_refused(self):
        self.policy(metrics=[{**CPU, "weight": -1}])
        harness.eventually(lambda: self.condition("Valid")["status"] == "False", LONG)
        self.assertEqual(self.condition("Valid")["message"], "spec.metrics[0].weight: not a number from 0 to 1000000")


class Rules(Balanced):
    """What Kubernetes looks at only when it schedules a pod."""

    def made(self, app, replicas, cpu, **spec):
        made = replicated(app, replicas, cpu, None, self.kind)
        made["spec"]["template"]["spec"].update(schedulerName="evenkeel", **spec)
        return made

    def set_label(self, node, label):
        self.cluster.kubectl("label", "node", node, "--overwrite", label)

    def moved(self, app, expected):
        """Where pods are by .nodes, and the reasons of what moved."""
        def there():
            assert self.pods_on(app) == expected and not self.unfinished(), (self.pods_on(app), self.plans())
            return True
        harness.eventually(there, LONG)
        self.assertEqual({plan["spec"]["phase"] for plan in self.plans()}, {"ConstraintCheck"})
        return [action["reason"] for plan in self.plans() for action in plan["spec"]["actions"]]

    def test_10_pods_leave_a_node_that_their_selector_no_longer_matches(self):
        self.set_label(self.nodes[0], "pool=here")
        self.cluster.apply(self.made("chosen", 2, "100m", nodeSelector={"pool": "here"}))
        self.cluster.wait_for_pods("chosen", 2, LONG)
        self.policy(metrics=[{**CPU, "balancingThreshold": 0}])
        harness.eventually(lambda: self.condition("RulesKept")["status"] == "True", LONG)
        self.set_label(self.nodes[0], "pool=gone")

        def told():
            condition = self.condition("RulesKept")
            assert condition["status"] == "False", condition
            return condition["message"]
        message = harness.eventually(told, LONG)
        self.assertIn("spec.nodeSelector is not kept on " + self.nodes[0], message)
        self.assertIn("it stays, since every other node is ruled out: ", message)
        self.assertEqual(self.plans(), [])
        self.set_label(self.nodes[2], "pool=here")
        for reason in self.moved("chosen", [0, 0, 2]):
            self.assertIn("spec.nodeSelector is not kept on " + self.nodes[0], reason)
        harness.eventually(lambda: self.condition("RulesKept")["status"] == "True", LONG)

    def test_11_of_pods_that_may_not_be_together_one_goes(self):
        self.run_on(self.nodes[0], "first", 1, "100m")
        kubectl = self.cluster.kubectl
        apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "pool", "labelSelector": {"matchLabels": {"app": "first"}}}]}}
        kubectl("cordon", *self.nodes[1:])
        self.cluster.apply(self.made("apart", 1, "100m", affinity=apart))
        self.cluster.wait_for_pods("apart", 1, LONG)
        kubectl("uncordon", *self.nodes[1:])
        self.policy(metrics=[{**CPU, "balancingThreshold": 0}])
        harness.eventually(lambda: self.condition("RulesKept")["status"] == "True", LONG)
        # The node that both are on comes last, when all others can be told apart.
        for node, pool in zip(reversed(self.nodes), ("b", "a", "a"), strict=True):
            self.set_label(node, f"pool={pool}")
        reasons = self.moved("apart", [0, 0, 1])
        self.assertIn("spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0] is not kept on " + self.nodes[0],
                      reasons[0])
        self.assertEqual(self.pods_on("first"), [1, 0, 0])

    def test_12_skew_beyond_the_most_is_evened(self):
        self.set_label(self.nodes[0], "pool=" + self.nodes[0])
        spread = {"maxSkew": 1, "topologyKey": "pool", "whenUnsatisfiable": "DoNotSchedule",
                  "labelSelector": {"matchLabels": {"app": "even"}}}
        self.cluster.apply(self.made("even", 3, "100m", topologySpreadConstraints=[spread]))
        self.cluster.wait_for_pods("even", 3, LONG)
        self.assertEqual(self.pods_on("even"), [3, 0, 0])
        self.policy(metrics=[{**CPU, "balancingThreshold": 0}])
        harness.eventually(lambda: self.condition("RulesKept")["status"] == "True", LONG)
        for node in self.nodes[1:]:
            self.set_label(node, "pool=" + node)
        reasons = self.moved("even", [1, 1, 1])
        for reason in reasons:
            self.assertIn("spec.topologySpreadConstraints[0] is not kept on " + self.nodes[0], reason)

    def test_13_taints_are_a_reason_when_the_policy_says_so(self):
        kubectl = self.cluster.kubectl
        self.run_on(self.nodes[0], "tainted", 2, "100m")
        kubectl("taint", "node", self.nodes[0], "dedicated=db:NoSchedule")
        self.addCleanup(kubectl, "taint", "node", self.nodes[0], "dedicated-", check=False)
        self.policy(metrics=[{**CPU, "balancingThreshold": 0}])
        harness.eventually(lambda: self.condition("RulesKept")["status"] == "True", LONG)
        time.sleep(6)
        self.assertEqual(self.pods_on("tainted"), [2, 0, 0])
        self.policy(metrics=[{**CPU, "balancingThreshold": 0}], rules={"nodeTaints": True})

        def gone():
            assert self.pods_on("tainted")[0] == 0 and sum(self.pods_on("tainted")) == 2 and not self.unfinished(), self.plans()
            return True
        harness.eventually(gone, LONG)
        self.assertIn("taint dedicated=db:NoSchedule", self.plans()[0]["spec"]["actions"][0]["reason"])

    def test_14_a_pod_that_is_not_to_be_disrupted_stays(self):
        self.run_on(self.nodes[0], "kept", 6, "500m")
        kubectl, namespace = self.cluster.kubectl, self.cluster.namespace
        pods = [pod["metadata"]["name"] for pod in self.cluster.pods("kept")]
        for pod, key in zip(pods, ("evenkeel.dev/do-not-disrupt", "karpenter.sh/do-not-disrupt") * 3, strict=True):
            kubectl("-n", namespace, "annotate", "pod", pod, f"{key}=true")
        self.policy()
        harness.eventually(lambda: self.condition("Balanced")["status"] == "False", LONG)
        time.sleep(6)
        self.assertEqual(self.pods_on("kept"), [6, 0, 0])
        self.assertEqual(self.plans(), [])

    def test_15_what_is_missing_is_a_condition_and_a_column(self):
        kubectl = self.cluster.kubectl
        self.policy(metrics=[{"name": "cpus"}])
        harness.eventually(lambda: self.condition("MetricsAvailable")["status"] == "False", LONG)
        condition = self.condition("MetricsAvailable")
        self.assertEqual(condition["reason"], "NoSuchResource")
        self.assertIn('spec.metrics[0]: no node has the resource "cpus", and no pod requests it; nodes have cpu', condition["message"])
        self.policy(metrics=[{**CPU, "source": "Usage"}])

        # Nobody serves metrics.k8s.io.
        def silent():
            assert self.condition("MetricsAvailable")["reason"] == "NoUsage", self.condition("MetricsAvailable")
            return True
        harness.eventually(silent, LONG)
        self.policy()
        harness.eventually(lambda: self.condition("MetricsAvailable")["status"] == "True", LONG)
        self.cluster.apply({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "another"}, "spec": {}})
        harness.eventually(lambda: self.condition("Balanced")["status"] == "Unknown", LONG)
        self.assertEqual(self.condition("InForce")["message"], "policy another is in force")
        header, *rows = [line.split() for line in kubectl("get", "balancingpolicies").splitlines()]
        self.assertEqual(header[:5], ["NAME", "IN", "FORCE", "BALANCED", "REASON"])
        self.assertIn(["e2e", "False", "Unknown", "NotInForce"], [row[:4] for row in rows])

    def test_18_pods_follow_what_their_required_affinity_names(self):
        self.set_label(self.nodes[0], "pool=here")
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        there = {"nodeAffinity": {required: {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["here"]}]}]}}}
        beside = {"podAffinity": {required: [{"topologyKey": "pool", "labelSelector": {"matchLabels": {"app": "leading"}}}]}}
        for app, affinity in (("leading", there), ("following", beside)):
            self.cluster.apply(self.made(app, 1, "100m", affinity=affinity))
            self.cluster.wait_for_pods(app, 1, LONG)
        self.assertEqual(self.pods_on("leading", "following"), [2, 0, 0])
        self.policy(metrics=[{**CPU, "balancingThreshold": 0}])
        harness.eventually(lambda: self.condition("RulesKept")["status"] == "True", LONG)
        self.set_label(self.nodes[0], "pool=gone")
        self.set_label(self.nodes[2], "pool=here")
        reasons = "\n".join(self.moved("leading", [0, 0, 1]) + self.moved("following", [0, 0, 1]))
        self.assertIn(f"spec.affinity.nodeAffinity.{required} is not kept on {self.nodes[0]}", reasons)
        self.assertIn(f"spec.affinity.podAffinity.{required}[0] is not kept on {self.nodes[0]}", reasons)
        harness.eventually(lambda: self.condition("RulesKept")["status"] == "True", LONG)


class Scenarios(Movements, Plans, Rules):
    """All of it."""


class Controllers(Balanced):
    """Two controllers, one of which owns the only member; nodes, kubelets and ReplicaSets are played."""
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
        cls.fleet.arguments = ["--scheduler", "--balancer"]
        for _ in range(2):
            cls.fleet.start()
        for name in DEFINITIONS:
            harness.eventually(lambda name=name: kubectl.exists("get", "crd", name), LONG)

    @classmethod
    def clean_up(cls):
        kubectl, namespace = cls.cluster.kubectl, cls.fleet.namespace
        cls.fleet.stop()
        if hasattr(cls, "world"):
            cls.world.close()
        kubectl("-n", namespace, "delete", "replicasets,pods", "--all", "--grace-period=0", "--force", "--wait=false", check=False)
        kubectl("delete", "nodes", *cls.nodes, "--ignore-not-found", check=False)
        kubectl("delete", "customresourcedefinitions", *DEFINITIONS, "--ignore-not-found", check=False)
        kubectl("delete", "--raw", f"/api/v1/namespaces/{namespace}/events", check=False)
        kubectl("-n", "default", "delete", "events", "--field-selector", "involvedObject.kind=BalancingPolicy", check=False)
        cls.fleet.delete()

    def tearDown(self):
        super().tearDown()
        self.assertEqual(self.world.failures, [])


class Succession(Controllers):
    def test_7_the_next_owner_goes_on_with_the_plan(self):
        self.run_on(self.nodes[0], "web", 6, "500m")
        owner = harness.eventually(lambda: self.fleet.owners()["member"][0], LONG)
        self.policy(throttles={"maxShare": 1})
        harness.eventually(self.evictions, LONG)
        self.fleet.kill(owner)
        self.wait_for_balance("web", [2, 2, 2])
        harness.eventually(lambda: self.fleet.owners()["member"][0] != owner, LONG)
        self.assertEqual(len(self.evictions()), 4)


class ControllerScenarios(Succession, UnequalNodes, Scenarios):
    """All of it."""
