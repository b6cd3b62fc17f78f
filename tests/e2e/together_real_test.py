"""All four controllers at once on Kubernetes API servers that are not ours: EVENKEEL_E2E_KUBECONFIG is the hub, EVENKEEL_E2E_MEMBER_KUBECONFIGS
names two more, its members, which are registered by cluster Secrets. Controllers are two `evenkeel run` processes; what else belongs to the
clusters is played (played_parts.py, played_karmada.py), so the servers must be bare ones. What the test makes there it removes."""
import json
import re
import sys
import unittest

import harness
import real_api
from autoscaled_cluster import AutoscaledCluster, replicated
from balancer_scenarios import DEFINITIONS as BALANCER_KINDS
from balancer_scenarios import FAST
from played_parts import DEFINITIONS as MACHINE_KINDS
from played_parts import PlayedCluster, PlayedLeader, machine_deployment, play_server
from rollout_scenarios import CLUSTERS, RolloutFleet, spec

LONG = 180
SOLO = "evenkeel-e2e-solo"
SOLO_KINDS = "zookeepers,statefulsets,services,configmaps,secrets,serviceaccounts,poddisruptionbudgets,pods"
MEMBERS = ("real-1", "real-2")
FLAGS = ("--balancer", "--scheduler", "--zookeeper", "--cloud-provider=clusterapi", "--scan-interval=1s", "--scale-down-delay-after-add=10m")
ERROR = re.compile(r"^\S+ error ")
MINIMUM = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size"
# Of all requests that servers answered. Two writers of one object meet now and then, and read again.
CONFLICTS_MAX = 0.05


def answers(kubectl):
    """{code: requests} that the server has answered so."""
    found = {}
    for line in kubectl("get", "--raw", "/metrics").splitlines():
        if line.startswith("apiserver_request_total{"):
            code = re.search(r'code="(\d+)"', line).group(1)
            found[code] = found.get(code, 0) + float(line.rpartition(" ")[2])
    return found


class Member:
    """One of the servers, with nodes made by Cluster API."""

    def __init__(self, home, kubeconfig, namespace):
        home.mkdir()
        self.kubectl = real_api.bare_kubectl_for(home, kubeconfig)
        self.cluster = AutoscaledCluster(self.kubectl, [*FLAGS[3:]], namespace, "pool", "replicaset")
        self.namespace, self.before = namespace, answers(self.kubectl)
        self.kubectl("create", "namespace", namespace)
        self.cluster.apply(*MACHINE_KINDS)
        path = f"/apis/cluster.x-k8s.io/v1beta1/namespaces/{namespace}/machinedeployments"
        harness.eventually(lambda: self.kubectl.run("get", "--raw", path, check=False).returncode == 0, LONG)
        # Three nodes stay, so that loads can be uneven.
        group = machine_deployment("web", 8)
        group["metadata"]["annotations"][MINIMUM] = "3"
        group["spec"]["replicas"] = 3
        self.cluster.apply(group)
        self.world = PlayedCluster(self.kubectl, home, namespace)
        self.world.plays_machines = True
        self.world.start()
        harness.eventually(lambda: len(self.cluster.ready_nodes("web")) == 3, LONG)

    def close(self):
        self.world.close()
        kubectl, here = self.kubectl, ("-n", self.namespace)
        kubectl(*here, "delete", "replicasets,pods", "--all", "--grace-period=0", "--force", "--wait=false", check=False)
        kubectl("-n", SOLO, "delete", SOLO_KINDS, "--all", "--grace-period=0", "--force", "--wait=false", check=False)
        kubectl("delete", "nodes", "--all", check=False)
        made = [*BALANCER_KINDS, "zookeepers.evenkeel.dev", *(kind["metadata"]["name"] for kind in MACHINE_KINDS)]
        kubectl("delete", "customresourcedefinitions", *made, "--ignore-not-found", check=False)
        kubectl("-n", "kube-system", "delete", "configmaps,leases,events", "--all", check=False)
        kubectl("-n", "default", "delete", "events", "--all", check=False)
        for namespace in (self.namespace, SOLO):
            kubectl("-n", namespace, "delete", "events", "--all", check=False)
            kubectl("delete", "namespace", namespace, "--wait=false", check=False)
            rest = kubectl.run("get", "namespace", namespace, "-o", "json", check=False)
            if rest.returncode == 0:
                # No namespace controller here: the empty namespace is finalized by hand.
                body = json.loads(rest.stdout)
                body["spec"]["finalizers"] = []
                kubectl("replace", "--raw", f"/api/v1/namespaces/{namespace}/finalize", "-f", "-", stdin=json.dumps(body), check=False)


class TogetherTest(RolloutFleet, unittest.TestCase):
    arguments = FLAGS

    @classmethod
    def setUpClass(cls):
        if len(real_api.MEMBER_KUBECONFIGS) < len(MEMBERS):
            raise unittest.SkipTest("EVENKEEL_E2E_MEMBER_KUBECONFIGS does not name two API servers more")
        cls.home = cls.enterClassContext(harness.temporary_home())
        kubectl = real_api.bare_kubectl_for(cls.home)
        cls.before = answers(kubectl)
        cls.members = {}
        cls.start(kubectl, cls.home)

    @classmethod
    def register_members(cls):
        for name, kubeconfig in zip(MEMBERS, real_api.MEMBER_KUBECONFIGS, strict=False):
            member = cls.members[name] = Member(cls.home / name, kubeconfig, cls.fleet.namespace)
            # After the replicas, which would write to what has been removed.
            cls.addClassCleanup(member.close)
            cls.addClassCleanup(cls.fleet.stop)
            cls.fleet.cluster(name, member.kubectl)

    def tearDown(self):
        super().tearDown()
        for member in self.members.values():
            self.assertEqual(member.world.failures, [])

    def owner(self, name):
        owners = self.fleet.owners()
        self.assertEqual(len(owners.get(name, [])), 1, owners)
        return owners[name][0]

    def test_1_each_member_has_one_owner(self):
        harness.eventually(lambda: {self.owner(name) for name in MEMBERS} == set(self.fleet.processes), LONG)

    def test_2_a_node_group_grows_for_pending_pods(self):
        cluster = self.members[MEMBERS[0]].cluster
        cluster.apply(replicated("web", 16, "1", {"pool": "web"}, "ReplicaSet"))
        took = cluster.wait_for_pods("web", 16, LONG)
        self.assertEqual(len(cluster.ready_nodes("web")), 4, "16 pods of a core on nodes of 4 cores")
        self.assertTrue(cluster.events("TriggeredScaleUp", self.fleet.namespace))
        print(f"a fourth node, and 16 pods ready, after {took:.1f} s")

    def test_3_an_uneven_load_is_evened_out(self):
        member = self.members[MEMBERS[1]]
        nodes = sorted(member.cluster.nodes("web"))
        for node in nodes[1:]:
            member.kubectl("cordon", node)
        made = replicated("even", 6, "500m", {"pool": "web"}, "ReplicaSet")
        made["spec"]["template"]["spec"]["schedulerName"] = "evenkeel"
        member.cluster.apply(made)
        member.cluster.wait_for_pods("even", 6, LONG)
        for node in nodes[1:]:
            member.kubectl("uncordon", node)
        harness.eventually(lambda: member.kubectl.exists("get", "balancingpolicies"), LONG)
        member.cluster.apply({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "e2e"},
                              "spec": {"intervals": FAST, "metrics": [{"name": "cpu"}], "throttles": {"maxShare": 1}}})

        def even():
            on = [pod["spec"].get("nodeName") for pod in member.cluster.pods("even") if "deletionTimestamp" not in pod["metadata"]]
            counts = [on.count(node) for node in nodes]
            assert counts == [2, 2, 2], counts
            return True
        harness.eventually(even, LONG)
        plans = member.kubectl.json("get", "balancingplans")["items"]
        self.assertEqual(sum(len(plan["spec"]["actions"]) for plan in plans), 4)

    def test_4_a_rollout_goes_cluster_by_cluster(self):
        self.bench.apply(spec())
        harness.eventually(lambda: self.bench.is_ready(1), LONG)
        self.assertEqual([cluster for cluster, revision in self.karmada.changes if revision != "pending"], list(CLUSTERS))

    def test_5_a_member_has_an_ensemble_of_its_own(self):
        """One server, which is played; whoever owns the member makes what it needs and says how it is."""
        member, leader = self.members[MEMBERS[0]], PlayedLeader()
        self.addClassCleanup(leader.close)
        kubectl, here = member.kubectl, ("-n", SOLO)
        kubectl("create", "namespace", SOLO)
        body = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "metadata": {"name": "solo"}, "spec": {
            "replicas": 1, "servers": [leader.line], "config": {"tickTime": 500}}}
        harness.eventually(lambda: kubectl.exists(*here, "get", "zookeepers"), LONG)
        kubectl(*here, "apply", "-f", "-", stdin=json.dumps(body))
        play_server(kubectl, SOLO, sorted(member.cluster.nodes("web"))[0], ready=True)

        def led():
            status = kubectl.json(*here, "get", "zookeeper", "solo").get("status", {})
            conditions = {item["type"]: item["status"] for item in status.get("conditions", [])}
            assert (status.get("leaderID"), status.get("readyReplicas"), conditions.get("QuorumHealthy")) == (1, 1, "True"), status
            return True
        harness.eventually(led, LONG)
        for kind in ("configmaps", "services", "statefulsets", "poddisruptionbudgets"):
            owners = [item["metadata"]["ownerReferences"][0]["name"] for item in kubectl.json(*here, "get", kind)["items"]]
            self.assertIn("solo", owners, kind)

    def test_6_a_killed_replica_is_replaced_in_everything(self):
        """It leads the rollouts, owns a member that needs another node, and dies in the middle of both."""
        with self.karmada.held():
            self.bench.apply(spec(tag="3.8.5"))
            harness.eventually(lambda: self.bench.last_record()["currentState"]["deploying"], LONG)
            owners = harness.eventually(lambda: {name: self.owner(name) for name in MEMBERS}, LONG)
            killed = self.leader()
            name = next((name for name, owner in owners.items() if owner == killed), MEMBERS[0])
            member = self.members[name]
            nodes = len(member.cluster.ready_nodes("web"))
            self.fleet.kill(killed)
        member.cluster.apply(replicated("more", 4 * nodes, "1", {"pool": "web"}, "ReplicaSet"))
        [left] = self.fleet.processes
        harness.eventually(lambda: [self.owner(name) for name in MEMBERS] == [left, left], LONG)
        took = member.cluster.wait_for_pods("more", 4 * nodes, LONG)
        self.assertGreater(len(member.cluster.ready_nodes("web")), nodes)
        harness.eventually(lambda: self.bench.is_ready(2), LONG)
        self.assertEqual(self.leader(), left)
        self.assertEqual(set(self.bench.overrides().values()), {"3.8.5"})
        print(f"the other replica looks after both members; {4 * nodes} pods of {name} ready after {took:.1f} s")

    def test_7_no_storm_and_no_error(self):
        for name, kubectl, before in [("hub", self.bench.kubectl, self.before),
                                      *((name, member.kubectl, member.before) for name, member in self.members.items())]:
            counts = {code: count - before.get(code, 0) for code, count in answers(kubectl).items()}
            total, conflicts = sum(counts.values()), counts.get("409", 0)
            print(f"{name}: {total:.0f} requests, {conflicts:.0f} conflicts")
            self.assertEqual([code for code, count in counts.items() if code >= "500" and count], [], counts)
            self.assertLessEqual(conflicts, CONFLICTS_MAX * total, counts)
        lines = [line for log in self.home.glob("evenkeel-controller-*/output-*.log") for line in log.read_text().splitlines()]
        self.assertTrue(lines)
        self.assertEqual([line for line in lines if ERROR.match(line)], [])


if __name__ == "__main__":
    if real_api.KUBECONFIG and len(real_api.MEMBER_KUBECONFIGS) < len(MEMBERS):
        print("skipped: EVENKEEL_E2E_MEMBER_KUBECONFIGS does not name two API servers more")
        sys.exit(77)
    real_api.main()
