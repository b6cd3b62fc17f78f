"""Real controller processes share the members by Argo CD's protocol: scaling, killing, and hands that meddle."""
import base64
import json
import os
import pathlib
import signal
import subprocess
import time
import unittest

import harness
from fleet_under_test import CONFIG_MAP, FleetUnderTest


class DistributionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(harness.fleet(cls.home))
        cls.fleet = FleetUnderTest(harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig", "hub"), cls.home)
        cls.members = ["member-1", "member-2", "member-3"]

    def settle(self, replicas=3, clusters=None, seconds=45):
        return harness.eventually(lambda: self.fleet.settled(replicas, clusters or self.members), seconds)

    def events(self, reason):
        items = self.fleet.kubectl.json("-n", "evenkeel", "get", "events")["items"]
        return [event for event in items if event["reason"] == reason]

    def test_1_scales_3_to_5_to_2(self):
        self.settle(3)
        self.fleet.scale(5)
        self.settle(5)
        self.fleet.scale(2)
        owners = self.settle(2)
        self.assertEqual(len({name for names in owners.values() for name in names}), 2)
        self.fleet.scale(3)
        self.settle(3)
        self.assertTrue(self.events("OwnerChanged"))

    def test_2_a_killed_owner_is_replaced_after_three_heartbeats(self):
        self.settle(3)
        claim = next(c for c in self.fleet.claims() if c["ShardNumber"] == 1)
        pod = self.fleet.ready_pods()[claim["ControllerName"]]
        pid = int(pod["status"]["containerStatuses"][0]["containerID"].rsplit("/", 1)[1])
        os.kill(pid, signal.SIGKILL)
        # The pod goes, too, so that nobody restarts it under its name: what a lost machine looks like.
        self.fleet.kubectl("-n", "evenkeel", "delete", "pod", claim["ControllerName"], "--grace-period=0", "--force", "--wait=false")
        begin = time.monotonic()

        def taken():
            now = next(c for c in self.fleet.claims() if c["ShardNumber"] == 1)
            return now["ControllerName"] not in ("", claim["ControllerName"])
        harness.eventually(taken, 45)
        took = time.monotonic() - begin
        self.settle(3)
        self.assertLess(took, 42, "3 heartbeats of 10 s, and one more turn")
        print(f"a killed owner was replaced after {took:.1f} s")

    def test_3_a_killed_process_in_a_living_pod_comes_back_with_its_claim(self):
        owners = self.settle(3)
        name = owners["member-1"][0]
        pod = self.fleet.ready_pods()[name]
        os.kill(int(pod["status"]["containerStatuses"][0]["containerID"].rsplit("/", 1)[1]), signal.SIGKILL)

        def restarted():
            status = self.fleet.kubectl.json("-n", "evenkeel", "get", "pod", name)["status"]
            return status["containerStatuses"][0]["restartCount"] >= 1
        harness.eventually(restarted, 30)
        self.settle(3)

    def test_4_survives_a_meddled_shard_config_map(self):
        self.settle(3)
        for data in ('{"data":{"shardControllerMapping":"[{\\"Shard"}}', '{"data":null}',
                     '{"data":{"shardControllerMapping":"[{\\"ShardNumber\\":7,\\"ControllerName\\":\\"ghost\\",\\"HeartbeatTime\\":null}]"}}'):
            self.fleet.kubectl("-n", "evenkeel", "patch", "configmap", CONFIG_MAP, "--type=merge", "-p", data)
            self.settle(3)
        self.assertTrue(harness.eventually(lambda: self.events("ShardMappingRepaired"), 10))
        self.fleet.kubectl("-n", "evenkeel", "delete", "configmap", CONFIG_MAP)
        self.settle(3)

    def test_5_names_what_is_wrong_with_a_cluster_and_goes_on(self):
        self.settle(3)
        good = self.fleet.kubectl.json("-n", "evenkeel", "get", "secret", "member-1")["data"]

        def secret(object_name, **data):
            self.fleet.kubectl("apply", "-f", "-", stdin=json.dumps({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": object_name, "namespace": "evenkeel", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
                "stringData": data}))
        config = base64.b64decode(good["config"]).decode()
        secret("broken-config", name="broken-config", server="https://127.0.0.1:1", config="{not json")
        secret("unreachable", name="unreachable", server="https://127.0.0.1:2", config=config)
        secret("twin", name="twin", server=base64.b64decode(good["server"]).decode(), config=config)
        secret("pinned-low", name="pinned-low", server="https://127.0.0.1:3", config=config, shard="-1")
        secret("pinned-high", name="pinned-high", server="https://127.0.0.1:4", config=config, shard="99")
        secret("no-server", name="no-server", config=config)
        clusters = self.members + ["broken-config", "unreachable", "pinned-low", "pinned-high"]
        self.settle(3, clusters)

        def told():
            found = {(e["involvedObject"]["name"], e["reason"]) for e in self.fleet.kubectl.json("-n", "evenkeel", "get", "events")["items"]
                     if e["type"] == "Warning"}
            wanted = {("broken-config", "InvalidClusterSecret"), ("unreachable", "ClusterUnreachable"), ("twin", "DuplicateServer"),
                      ("pinned-low", "ShardOutOfRange"), ("pinned-high", "ShardOutOfRange"), ("no-server", "InvalidClusterSecret")}
            assert wanted <= found, wanted - found
            return True
        harness.eventually(told, 30)
        explained = subprocess.run([harness.EVENKEEL, "explain", "cluster", "pinned-high", "--kubeconfig", str(self.home / "kubeconfig")],
                                   capture_output=True, text=True, timeout=20)
        self.assertIn("does not exist with 3 replicas", explained.stdout)
        for name in ("broken-config", "unreachable", "twin", "pinned-low", "pinned-high", "no-server"):
            self.fleet.kubectl("-n", "evenkeel", "delete", "secret", name)
        self.settle(3)

    def test_6_takes_karmada_clusters_too(self):
        self.settle(3)
        token = json.loads(base64.b64decode(self.fleet.kubectl.json("-n", "evenkeel", "get", "secret", "member-1")["data"]["config"]))
        self.fleet.kubectl("-n", "evenkeel", "create", "secret", "generic", "karmada-member",
                           f"--from-literal=token={token['bearerToken']}",
                           f"--from-literal=caBundle={base64.b64decode(token['tlsClientConfig']['caData']).decode()}")
        server = base64.b64decode(self.fleet.kubectl.json("-n", "evenkeel", "get", "secret", "member-1")["data"]["server"]).decode()
        self.fleet.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "by-karmada"},
            "spec": {"apiEndpoint": server.replace("127.0.0.1", "localhost"), "syncMode": "Push",
                     "secretRef": {"namespace": "evenkeel", "name": "karmada-member"}}}))
        self.settle(3, self.members + ["by-karmada"])
        self.fleet.kubectl("delete", "clusters.cluster.karmada.io", "by-karmada")
        self.settle(3)


if __name__ == "__main__":
    harness.main()
