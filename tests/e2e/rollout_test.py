"""Rollouts on the embedded API, with a Karmada that is played; and what `evenkeel up` refuses."""
import json
import signal
import subprocess
import unittest

import harness
from process_fleet import ApiServer
from rollout_scenarios import CLUSTERS, KIND, KINDS, LEASE, LONG, WEBHOOKS, BadInput, Bench, RolloutScenarios, spec


class BareApiTest(RolloutScenarios, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.api = ApiServer(home / "api")
        cls.addClassCleanup(lambda: cls.api.program.stop(signal.SIGKILL))
        cls.start(cls.api.kubectl, home)


class EmbeddedFleetTest(BadInput, unittest.TestCase):
    """The controllers of `evenkeel up` look after ensembles without being asked to."""
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(harness.fleet(home, "--members", "1", "--nodes", "1", "--replicas", "2"))
        kubectl = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "hub")
        cls.bench = Bench(kubectl, home, "default")
        for name in KINDS:
            harness.eventually(lambda name=name: kubectl.exists("get", "crd", name), LONG)
        harness.eventually(lambda: kubectl.exists("get", WEBHOOKS[0], "evenkeel-rollout"), LONG)

    def evenkeel(self, *arguments):
        return subprocess.run([harness.EVENKEEL, *arguments, "--kubeconfig", str(self.bench.kubectl.kubeconfig), "--context", "hub"],
                              capture_output=True, text=True, timeout=LONG)

    def test_4_rollouts_are_shown(self):
        body = spec()
        body["placement"]["clusters"][0]["name"] = "nowhere"
        self.bench.apply(body)

        def shown():
            live = json.loads(self.evenkeel("get", "rollouts", "-o", "json").stdout)
            rollout, = live["rollouts"]
            self.assertEqual((rollout["ensemble"], rollout["phase"], rollout["leader"]), ("default/zk", "Pending", None))
            self.assertEqual([cluster["cluster"] for cluster in rollout["clusters"]], sorted([*CLUSTERS[1:], "nowhere"]))
            objects = self.bench.run("get", KIND, "-o", "json").stdout
            files = subprocess.run([harness.EVENKEEL, "get", "rollouts", "-f", "-", "-o", "json"], input=objects, capture_output=True, text=True)
            self.assertEqual(json.loads(files.stdout), live)
            return True
        harness.eventually(lambda: self.bench.condition("Scheduled"), LONG)
        harness.eventually(shown, LONG)
        self.assertRegex(self.evenkeel("get", "rollouts").stdout, r"(?m)^default/zk +Pending +0 +0 +0 +-1 +- +UnknownCluster$")
        self.bench.run("delete", KIND, "zk")

    def test_5_one_replica_looks_after_them(self):
        def looked_after():
            holder = self.bench.run("-n", "evenkeel", "get", "lease", LEASE, "-o", "jsonpath={.spec.holderIdentity}").stdout
            pods = self.bench.run("-n", "evenkeel", "get", "pods", "-o", "name").stdout.split()
            self.assertIn(f"pod/{holder.rpartition('-')[0]}", pods)
            return True
        harness.eventually(looked_after, LONG)


if __name__ == "__main__":
    harness.main_in_parallel()
