"""The balancer and the scheduler on a Kubernetes API server that is not ours, hub and member in one: EVENKEEL_E2E_KUBECONFIG names its
kubeconfig. The rest of a cluster is played (played_parts.py), so the server must be a bare one: without nodes, scheduler and controllers.
What the tests make there they remove."""
import unittest

import harness
import real_api
from balancer_scenarios import ControllerScenarios


class RealApiTest(ControllerScenarios, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.start(real_api.bare_kubectl_for(home), home)


if __name__ == "__main__":
    real_api.main()
