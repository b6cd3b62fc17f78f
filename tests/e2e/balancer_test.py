"""The balancer of members: on the embedded fleet, and by `evenkeel run --balancer --scheduler` on an API server of the embedded kind where
the rest of a cluster is played (played_parts.py)."""
import json
import os
import signal
import subprocess
import unittest

import harness
from autoscaled_cluster import AutoscaledCluster
from balancer_scenarios import LONG, Controllers, Movements, Plans, Rules, Scenarios, Succession, UnequalNodes
from process_fleet import ApiServer


class EmbeddedFleetTest(Scenarios, unittest.TestCase):
    kind = "Deployment"

    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.kubeconfig = home / "kubeconfig"
        cls.program = cls.enterClassContext(harness.fleet(home, "--members", "1", "--nodes", "3", "--node-group-max", "1"))
        cls.cluster = AutoscaledCluster(harness.Kubectl(harness.any_kubectl(), cls.kubeconfig, "member-1"))
        cls.cluster.kubectl("delete", "nodegroups", "--all")
        harness.eventually(lambda: len(cls.cluster.ready_nodes()) == 3, LONG)
        cls.nodes = tuple(sorted(cls.cluster.nodes()))

    def evenkeel(self, *arguments):
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        done = subprocess.run([harness.EVENKEEL, *arguments, "--context", "member-1", "-o", "json"], capture_output=True, text=True,
                              env=environment, timeout=LONG)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_7_what_would_be_done_can_be_asked_beforehand(self):
        self.run_on(self.nodes[0], "asked", 6, "500m")
        self.policy(dryRun=True, throttles={"maxShare": 1})
        written = harness.eventually(self.unfinished, LONG)[0]["spec"]["actions"]
        service = f"{self.cluster.namespace}/asked"

        # The dry run has just been planned, and balancing has an interval.
        def asked():
            plan = self.evenkeel("plan", "balance")
            self.assertEqual([(action["partition"], action["from"], action["to"]) for action in plan["actions"]],
                             [(action["pod"], action["from"], action["to"]) for action in written], plan)
            return True
        harness.eventually(asked, LONG)
        cpu = next(metric for metric in self.evenkeel("get", "loads")["LoadMetricInformation"] if metric["LoadMetricName"] == "cpu")
        self.assertEqual(cpu["MaxNodeLoadNodeId"], self.nodes[0])
        self.assertFalse(cpu["IsBalancedBefore"])
        explained = self.evenkeel("explain", "service", service)
        self.assertEqual(explained["service"], service)
        self.assertEqual(len(explained["replicas"]), 6)
        self.assertTrue(all(metric["why"] for metric in explained["metrics"]), explained)
        self.assertEqual(self.pods_on("asked"), [6, 0, 0])
        self.cluster.kubectl("delete", "balancingpolicies,balancingplans", "--all")


class BareApi(Controllers):
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.api = ApiServer(home / "api")
        cls.addClassCleanup(lambda: cls.api.program.stop(signal.SIGKILL))
        cls.start(cls.api.kubectl, home)


class MovementsTest(BareApi, Movements, UnequalNodes, unittest.TestCase):
    pass


class PlansTest(BareApi, Succession, Plans, unittest.TestCase):
    pass


class RulesTest(BareApi, Rules, unittest.TestCase):
    pass


if __name__ == "__main__":
    harness.main_in_parallel()
