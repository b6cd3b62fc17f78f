"""Rollouts on a Kubernetes API server that is not ours, with Karmada's kinds, whose Karmada is played: EVENKEEL_E2E_KUBECONFIG names its
kubeconfig. What the tests make there they remove."""
import unittest

import harness
import real_api
from process_fleet import cluster_of
from rollout_scenarios import RolloutScenarios


class RealApiTest(RolloutScenarios, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        kubectl = real_api.kubectl_for(home)
        if "clusters.cluster.karmada.io" in kubectl("get", "customresourcedefinitions", "-o", "name"):
            raise unittest.SkipTest(f"{cluster_of(kubectl)[0]} has a Karmada of its own, which is played here")
        cls.start(kubectl, home)


if __name__ == "__main__":
    real_api.main()
