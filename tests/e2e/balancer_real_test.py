"""The balancer and the scheduler on a Kubernetes API server that is not ours, hub and member in one: EVENKEEL_E2E_KUBECONFIG names its
kubeconfig. The rest of a cluster is played (played_parts.py), so the server must be a bare one: without nodes, scheduler and controllers.
What the tests make there they remove."""
import os
import subprocess
import unittest

import harness
from balancer_scenarios import ControllerScenarios
from process_fleet import cluster_of

KUBECONFIG = os.environ.get("EVENKEEL_E2E_KUBECONFIG", "")


@unittest.skipUnless(KUBECONFIG, "EVENKEEL_E2E_KUBECONFIG is not set")
class RealApiTest(ControllerScenarios, unittest.TestCase):
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
        if kubectl.json("get", "nodes")["items"]:
            raise unittest.SkipTest(f"{cluster_of(kubectl)[0]} has nodes of its own: the balancer's tests need a bare API server")
        print(f"API server {kubectl.json('version')['serverVersion']['gitVersion']} at {cluster_of(kubectl)[0]}")
        cls.start(kubectl, home)


if __name__ == "__main__":
    harness.main()
