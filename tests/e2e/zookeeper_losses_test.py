"""Real ZooKeeper servers over three members of a fleet whose hub has Karmada's habits, while somebody taints clusters and deletes what the hub
has of the ensemble: no server is stopped for it, and no write is lost."""
import json
import pathlib
import unittest

import harness
import zookeeper_ensemble as zk

NAMES = ["member-1", "member-2", "member-3"]
BINDING = "zk-zookeeper"


class LossesTest(zk.Led, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_in_one_fleet(NAMES, (2, 2, 1), "--karmada-habits")
        cls.processes = cls.servers()
        assert len(cls.processes) == 5, cls.processes

    def setUp(self):
        self.counter = self.counting(self.ids)

    def tearDown(self):
        self.check(self.counter, self.id().rpartition(".")[2])
        self.assertEqual(self.servers(), self.processes, "a server was stopped")

    @classmethod
    def servers(cls):
        """{process: when it was started, in ticks since the machine was}."""
        started = {}
        for process in harness.processes_of(cls.home, b"QuorumPeerMain"):
            fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2].split()
            started[process] = fields[19]
        return started

    def scheduled(self):
        return {one["name"] for one in self.hub.json("get", "resourcebinding", BINDING)["spec"].get("clusters", [])}

    def uids(self, kind):
        return {item["metadata"]["name"]: item["metadata"]["uid"] for item in self.hub.json("get", kind)["items"]}

    def delete_all(self, kind, *names):
        """Returns once others are in the place of those that were there, and the ensemble is Ready."""
        before = self.uids(kind)
        gone = set(names) or set(before)
        self.hub("delete", kind, *sorted(gone), "--wait=false")

        def are_back():
            now = self.uids(kind)
            assert now.keys() == before.keys() and all(now[name] != before[name] for name in gone), (before, now)
            return True
        harness.eventually(are_back, zk.LONG)
        self.be_whole()

    def be_whole(self):
        def whole():
            assert self.scheduled() == set(NAMES), self.scheduled()
            status = self.condition("Ready")
            assert status["status"] == "True", status
            return True
        harness.eventually(whole, zk.LONG)

    def taint(self, name, taints):
        self.hub("patch", "clusters", name, "--type=merge", "-p", json.dumps({"spec": {"taints": taints}}))

    def test_1_a_taint_evicts_nobody(self):
        self.taint("member-1", [{"key": "maintenance", "effect": "NoExecute"}])
        # What does not tolerate it goes: the taint has been seen.
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "leaves"}}
        policy = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "leaves"},
                  "spec": {"resourceSelectors": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "leaves"}],
                           "placement": {"clusterAffinity": {"clusterNames": NAMES}}}}
        for thing in (made, policy):
            self.hub("apply", "-f", "-", stdin=json.dumps(thing))

        def left():
            clusters = self.hub.json("get", "resourcebinding", "leaves-configmap")["spec"].get("clusters", [])
            assert {one["name"] for one in clusters} == set(NAMES) - {"member-1"}, clusters
            return True
        harness.eventually(left, zk.LONG)
        self.counter.count(50)
        self.assertEqual(self.scheduled(), set(NAMES))
        self.taint("member-1", [])
        self.be_whole()

    def test_2_overrides_come_back(self):
        self.delete_all("overridepolicies")

    def test_3_the_binding_comes_back(self):
        self.delete_all("resourcebindings", BINDING)

    def test_4_clusters_come_back_one_after_the_other(self):
        for name in NAMES:
            self.delete_all("clusters", name)

    def test_5_clusters_come_back_all_at_once(self):
        self.delete_all("clusters")

    def test_6_so_do_overrides_while_the_hub_knows_no_clusters(self):
        definition = self.hub.json("get", "customresourcedefinitions", "clusters.cluster.karmada.io")
        definition["metadata"] = {"name": definition["metadata"]["name"]}
        definition.pop("status", None)
        self.hub("delete", "customresourcedefinitions", "clusters.cluster.karmada.io")
        before = self.uids("overridepolicies")
        self.hub("delete", "overridepolicies", *before)
        harness.eventually(lambda: self.uids("overridepolicies").keys() == before.keys(), zk.LONG)
        self.counter.count(50)
        self.hub("create", "-f", "-", stdin=json.dumps(definition))
        harness.eventually(lambda: self.uids("clusters").keys() == set(NAMES), zk.LONG)
        self.be_whole()

    def test_7_nor_does_anything_come_later(self):
        self.counter.count(150)
        self.be_whole()


if __name__ == "__main__":
    harness.main()
