"""Rollouts on a Kubernetes API server that is not ours, with Karmada's kinds, whose Karmada is played: EVENKEEL_E2E_KUBECONFIG names its
kubeconfig. What the tests make there they remove."""
import os
import subprocess
import unittest

import harness
from process_fleet import cluster_of
from rollout_scenarios import RolloutScenarios

KUBECONFIG = os.environ.get("EVENKEEL_E2E_KUBECONFIG", "")


@unittest.skipUnless(KUBECONFIG, "EVENKEEL_E2E_KUBECONFIG is not set")
class RealApiTest(RolloutScenarios, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        path = harness.any_kubectl()
        # A copy, so that nothing of the test ends up beside the original.
        view = subprocess.run([path, "--kubeconfig", KUBECONFIG, "config", "view", "--raw", "--flatten", "--minify"], capture_output=True,
                              text=True, check=True)
        kubeconfig = home / "real.kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(view.stdout)
        kubectl = harness.Kubectl(path, kubeconfig)
        if "clusters.cluster.karmada.io" in kubectl("get", "customresourcedefinitions", "-o", "name"):
            raise unittest.SkipTest(f"{cluster_of(kubectl)[0]} has a Karmada of its own, which is played here")
        print(f"API server {kubectl.json('version')['serverVersion']['gitVersion']} at {cluster_of(kubectl)[0]}")
        cls.start(kubectl, home)


if __name__ == "__main__":
    harness.main()
