"""Real controller processes share the members: by Argo CD's claims (compatible mode), with hands that meddle; and, in both modes, what
happens to members that are not as they should be. Coordinated mode's promises are in coordination_test.py."""
import base64
import json
import os
import signal
import time
import unittest

import harness
from fleet_under_test import CLUSTER_LABEL, CONFIG_MAP, PodFleet
from history import LEASE_SECONDS, seconds_of

MEMBERS = ["member-1", "member-2", "member-3"]
HEARTBEAT = 10
# How long to wait for what has to come.
LONG = 180


def start_fleet(test_class, *arguments):
    test_class.home = test_class.enterClassContext(harness.temporary_home())
    test_class.program = test_class.enterClassContext(harness.fleet(test_class.home, *arguments))
    test_class.fleet = PodFleet(harness.Kubectl(harness.any_kubectl(), test_class.home / "kubeconfig", "hub"), test_class.home)


class ClaimsTest(unittest.TestCase):
    """Compatible mode."""

    @classmethod
    def setUpClass(cls):
        start_fleet(cls, "--sharding-mode", "compatible")

    def settle(self, replicas=3, clusters=None):
        return harness.eventually(lambda: self.fleet.settled(replicas, clusters or MEMBERS), LONG)

    def test_1_scales_3_to_5_to_2(self):
        self.settle(3)
        self.fleet.scale(5)
        self.settle(5)
        self.fleet.scale(2)
        owners = self.settle(2)
        self.assertEqual(len({name for names in owners.values() for name in names}), 2)
        self.fleet.scale(3)
        self.settle(3)
        self.assertTrue(self.fleet.events("OwnerChanged"))

    def test_2_a_killed_owner_is_replaced_after_three_heartbeats(self):
        self.settle(3)
        killed = self.fleet.claim(1)["ControllerName"]
        self.fleet.kill(killed)
        last = self.fleet.claim(1)
        begin = time.monotonic()

        def taken():
            claim = self.fleet.claim(1)
            assert claim["ControllerName"] not in ("", killed), claim
            return claim
        claim = harness.eventually(taken, LONG)
        print(f"a killed owner was replaced after {time.monotonic() - begin:.1f} s")
        if last["ControllerName"] == killed:
            silent = seconds_of(claim["HeartbeatTime"]) - seconds_of(last["HeartbeatTime"])
            self.assertGreaterEqual(silent, 3 * HEARTBEAT - 1, "times are whole seconds")
        self.settle(3)

    def test_3_a_killed_process_in_a_living_pod_comes_back_with_its_claim(self):
        owners = self.settle(3)
        name = owners["member-1"][0]
        os.kill(self.fleet.pid(name), signal.SIGKILL)

        def restarted():
            status = self.fleet.kubectl.json("-n", "evenkeel", "get", "pod", name)["status"]
            return status["containerStatuses"][0]["restartCount"] >= 1
        harness.eventually(restarted, LONG)
        self.settle(3)

    def test_4_survives_a_meddled_shard_config_map(self):
        self.settle(3)
        for data in ('{"data":{"shardControllerMapping":"[{\\"Shard"}}', '{"data":null}',
                     '{"data":{"shardControllerMapping":"[{\\"ShardNumber\\":7,\\"ControllerName\\":\\"ghost\\",\\"HeartbeatTime\\":null}]"}}'):
            self.fleet.kubectl("-n", "evenkeel", "patch", "configmap", CONFIG_MAP, "--type=merge", "-p", data)
            self.settle(3)
        self.assertTrue(harness.eventually(lambda: self.fleet.events("ShardMappingRepaired"), LONG))
        self.fleet.kubectl("-n", "evenkeel", "delete", "configmap", CONFIG_MAP)
        self.settle(3)

class MembersTest(unittest.TestCase):
    """The default mode."""

    @classmethod
    def setUpClass(cls):
        start_fleet(cls, "--members", "4")

    def settle(self, clusters=(*MEMBERS, "member-4"), unreachable=()):
        return harness.eventually(lambda: self.fleet.settled_by_plan(3, clusters, unreachable, even=False), LONG)

    def test_1_a_killed_process_in_a_living_pod_comes_back(self):
        name = self.settle()["member-1"][0]
        os.kill(self.fleet.pid(name), signal.SIGKILL)

        def restarted():
            status = self.fleet.kubectl.json("-n", "evenkeel", "get", "pod", name)["status"]
            return status["containerStatuses"][0]["restartCount"] >= 1
        harness.eventually(restarted, LONG)
        self.assertIn(name, [names[0] for names in self.settle().values()])

    def test_2_names_what_is_wrong_with_a_cluster_and_goes_on(self):
        self.settle()
        good = self.fleet.kubectl.json("-n", "evenkeel", "get", "secret", "member-1")["data"]
        config = base64.b64decode(good["config"]).decode()
        for name in ("broken-config", "unreachable", "twin", "pinned-low", "pinned-high", "no-server"):
            self.addCleanup(self.fleet.kubectl_here, "delete", "secret", name)
        self.fleet.secret("broken-config", name="broken-config", server="https://127.0.0.1:1", config="{not json")
        self.fleet.secret("unreachable", name="unreachable", server="https://127.0.0.1:2", config=config)
        self.fleet.secret("twin", name="twin", server=base64.b64decode(good["server"]).decode(), config=config)
        self.fleet.secret("pinned-low", name="pinned-low", server="https://127.0.0.1:3", config=config, shard="-1")
        self.fleet.secret("pinned-high", name="pinned-high", server="https://127.0.0.1:4", config=config, shard="99")
        self.fleet.secret("no-server", name="no-server", config=config)
        self.settle(unreachable=["broken-config", "unreachable", "pinned-low", "pinned-high"])

        def told():
            wanted = {("broken-config", "InvalidClusterSecret"), ("unreachable", "ClusterUnreachable"), ("twin", "DuplicateServer"),
                      ("pinned-low", "ShardOutOfRange"), ("pinned-high", "ShardOutOfRange"), ("no-server", "InvalidClusterSecret")}
            found = self.fleet.warnings()
            assert wanted <= found, wanted - found
            return True
        harness.eventually(told, LONG)

        def explained():
            text = self.fleet.evenkeel("explain", "cluster", "pinned-high")
            assert "cannot connect to https://127.0.0.1:4" in text, text
            return True
        harness.eventually(explained, LONG)
        self.doCleanups()
        self.settle()

    def test_3_takes_karmada_clusters_too(self):
        """member-4 leaves as a cluster of Argo CD and comes back as one of Karmada."""
        secret = self.fleet.kubectl.json("-n", "evenkeel", "get", "secret", "member-4")["data"]
        server, config = base64.b64decode(secret["server"]).decode(), json.loads(base64.b64decode(secret["config"]))
        self.fleet.kubectl_here("delete", "secret", "member-4")
        self.settle(MEMBERS)
        # Where the replicas may read such Secrets (deploy/kustomize/overlays/karmada).
        self.fleet.kubectl("-n", "karmada-cluster", "create", "secret", "generic", "karmada-member", f"--from-literal=token={config['bearerToken']}",
                                f"--from-literal=caBundle={base64.b64decode(config['tlsClientConfig']['caData']).decode()}")
        self.fleet.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "by-karmada"},
            "spec": {"apiEndpoint": server.replace("127.0.0.1", "localhost"), "syncMode": "Push",
                     "secretRef": {"namespace": "karmada-cluster", "name": "karmada-member"}}}))
        self.settle([*MEMBERS, "by-karmada"])
        self.fleet.kubectl("delete", "clusters.cluster.karmada.io", "by-karmada")
        self.settle(MEMBERS)
        self.fleet.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "member-4", "labels": CLUSTER_LABEL}, "data": secret})
        self.settle()

    def test_4_one_api_under_two_names_has_one_owner_and_no_war(self):
        self.settle()
        self.fleet.follow_members(["member-1"])
        self.addCleanup(self.fleet.unfollow)
        fence = self.fleet.fences["member-1"]
        data = self.fleet.kubectl.json("-n", "evenkeel", "get", "secret", "member-1")["data"]
        server, config = (base64.b64decode(data[key]).decode() for key in ("server", "config"))
        self.fleet.secret("alias", name="alias", server=server.replace("127.0.0.1", "localhost"), config=config)

        def detail():
            rows = {row["cluster"]: row for row in self.fleet.shards()["clusters"]}
            owned = [name for name in ("member-1", "alias") if rows[name]["owner"]]
            assert len(owned) == 1, rows
            return next(rows[name]["detail"] for name in ("member-1", "alias") if name not in owned)
        print("one API under two names: " + harness.eventually(detail, LONG))
        begin = time.time()
        version = fence.watch.wait_for(lambda v: v.seen > begin + LEASE_SECONDS / 3, LONG, "a renewal")
        writes = [write for write in fence.writes(begin) if write.time <= version.seen]
        self.assertLess(len(writes), 10, writes)
        fence.check(self)
        self.fleet.kubectl_here("delete", "secret", "alias")
        self.settle()


if __name__ == "__main__":
    harness.main_in_parallel()
