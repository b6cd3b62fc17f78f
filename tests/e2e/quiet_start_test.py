"""A start in which nothing is wrong warns of nothing: the first one, one after a stop with an ensemble, and that of a replica at a hub that has
neither Karmada nor members."""
import re
import subprocess
import unittest

import harness
import reservations
from process_fleet import ApiServer

LONG = 180
LEVEL = re.compile(r"\d{4}-\d\d-\d\dT\S+Z (?:warning|error) ")


def complaints(home):
    """Lines of all replicas and of the fleet itself."""
    paths = [*home.glob("output-*.log"), *home.rglob("logs/controller/*.log")]
    return [line for path in paths for line in path.read_text(errors="replace").splitlines() if LEVEL.search(line)]


class EmbeddedFleetTest(unittest.TestCase):
    def test_a_start_and_another_one_with_an_ensemble(self):
        with harness.temporary_home() as home:
            hub = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "hub")
            with harness.fleet(home):
                hub("apply", "-f", str(harness.ROOT / "examples/zookeeper/three-members.yaml"))
                harness.eventually(lambda: self.is_ready(hub), LONG, "the ensemble is ready")
            first = complaints(home)
            self.assertEqual(first, [])
            with harness.fleet(home) as program:
                harness.eventually(lambda: self.is_ready(hub) and self.leads(home), LONG, "a replica carries rollouts out again")
                self.assertIn("Evenkeel is up", program.output())
            self.assertEqual(complaints(home), [])

    def is_ready(self, hub):
        [ensemble] = hub.json("get", "multiclusterzookeepers", "--all-namespaces")["items"]
        return ensemble.get("status", {}).get("phase") == "Ready"

    def leads(self, home):
        """In the second container of some pod."""
        return any("this replica carries the rollouts out" in path.read_text() for path in home.rglob("logs/controller/1.log"))


class EmptyHubTest(unittest.TestCase):
    def test_a_replica_says_how_a_cluster_is_registered(self):
        with harness.temporary_home() as home:
            server = ApiServer(home / "hub")
            self.addCleanup(server.program.stop)
            server.kubectl("create", "namespace", "evenkeel")
            replica = harness.Program(home, "run", "--balancer", "--scheduler", "--zookeeper", "--rollout", "--install",
                                      "--cloud-provider=clusterapi", "--metrics-address=127.0.0.1", f"--metrics-port={reservations.port()}",
                                      "--webhook-address=127.0.0.1", "--webhook-port=0", env={"KUBECONFIG": str(server.kubectl.kubeconfig)})
            self.addCleanup(replica.stop)
            replica.wait_for_output("no cluster is registered: evenkeel clusters add CONTEXT", LONG)
            replica.wait_for_output("missing=resourceinterpreterwebhookconfigurations.config.karmada.io", LONG)
            replica.stop()
            self.assertEqual(complaints(home), [])
            listed = subprocess.run([harness.EVENKEEL, "clusters", "list", "--kubeconfig", server.kubectl.kubeconfig], capture_output=True, text=True)
            self.assertIn("evenkeel clusters add CONTEXT registers one", listed.stdout)


if __name__ == "__main__":
    harness.main_in_parallel()
