"""The balancer of members: on the embedded fleet, and by `evenkeel run --balancer --scheduler` on an API server of the embedded kind where
the rest of a cluster is played (played_parts.py)."""
import signal
import unittest

import harness
from autoscaled_cluster import AutoscaledCluster
from balancer_scenarios import ControllerScenarios, Scenarios
from process_fleet import ApiServer


class EmbeddedFleetTest(Scenarios, unittest.TestCase):
    kind = "Deployment"

    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(harness.fleet(home, "--members", "1", "--nodes", "3", "--node-group-max", "1"))
        cls.cluster = AutoscaledCluster(harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "member-1"))
        cls.cluster.kubectl("delete", "nodegroups", "--all")
        harness.eventually(lambda: len(cls.cluster.ready_nodes()) == 3, 60)
        cls.nodes = tuple(sorted(cls.cluster.nodes()))


class BareApiTest(ControllerScenarios, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.api = ApiServer(home / "api")
        cls.addClassCleanup(lambda: cls.api.program.stop(signal.SIGKILL))
        cls.start(cls.api.kubectl, home)


if __name__ == "__main__":
    harness.main_in_parallel()
