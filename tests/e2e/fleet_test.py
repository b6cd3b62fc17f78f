"""What a newcomer sees: `evenkeel up` comes up by itself, says what to try, leaves nothing behind and finds its data again."""
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import harness

# How long to wait for what has to come.
LONG = 180


class FleetTest(unittest.TestCase):
    def test_comes_up_without_a_terminal_and_leaves_no_process(self):
        with harness.temporary_home() as home:
            program = harness.Program(home, "up")
            try:
                program.wait_for_output("Evenkeel is up", LONG)
                print(f"up after {time.monotonic() - program.started:.1f} s")
                kubectl = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "hub")

                def shared():
                    deployment = kubectl.json("-n", "evenkeel", "get", "deployment", "evenkeel-controller")
                    self.assertEqual(deployment["status"]["readyReplicas"], 3)
                    shown = subprocess.run([harness.EVENKEEL, "get", "shards", "-o", "json"], capture_output=True, text=True, check=True,
                                           env={**os.environ, "EVENKEEL_HOME": str(home), "KUBECONFIG": ""})
                    self.assertEqual(shown.stderr, "")
                    shards = json.loads(shown.stdout)
                    self.assertEqual(len({row["owner"] for row in shards["clusters"]}), 3, shards)
                    return True
                harness.eventually(shared, LONG)
                output = program.output()
                self.assertIn(f"export KUBECONFIG={home}/kubeconfig", output)
                self.assertEqual(len(re.findall(r"^  (kubectl|\S*evenkeel) ", output, flags=re.M)), 6, output)
                self.assertNotRegex(output, r"level=error|\x1b\[")
                self.assertEqual(len(harness.processes_of(home, b"\0run\0")), 3)
            finally:
                self.assertEqual(program.stop(signal.SIGINT), 0, program.output()[-2000:])
            self.assertEqual(harness.processes_of(home), [])

    def test_a_killed_fleet_leaves_no_process_and_finds_its_data_again(self):
        with harness.temporary_home() as home:
            path = harness.any_kubectl()
            program = harness.Program(home, "up", "--members", "1")
            program.wait_for_output("Evenkeel is up", LONG)
            kubectl = harness.Kubectl(path, home / "kubeconfig", "member-1")
            kubectl("create", "configmap", "kept", "--from-literal=a=1")
            kubectl.at("hub")("-n", "evenkeel", "scale", "deployment", "evenkeel-controller", "--replicas=2")
            before = kubectl.json("get", "configmap", "kept")
            program.stop(signal.SIGKILL)
            harness.eventually(lambda: harness.processes_of(home) == [], LONG, "processes are gone")
            program = harness.Program(home, "up", "--members", "1")
            try:
                program.wait_for_output("Evenkeel is up", LONG)
                self.assertEqual(kubectl.json("get", "configmap", "kept"), before)
                deployment = kubectl.at("hub").json("-n", "evenkeel", "get", "deployment", "evenkeel-controller")
                self.assertEqual(deployment["spec"]["replicas"], 2)
            finally:
                program.stop()

    def test_all_its_credentials_can_be_made_anew(self):
        with harness.temporary_home() as home:
            program = harness.Program(home, "up", "--members", "1", "--replicas", "2")
            program.wait_for_output("Evenkeel is up", LONG)
            old = (home / "kubeconfig").read_text()
            program.stop()
            shutil.rmtree(home / "pki")
            program = harness.Program(home, "up", "--members", "1", "--replicas", "2")
            try:
                program.wait_for_output("Evenkeel is up", LONG)
                self.assertNotEqual((home / "kubeconfig").read_text(), old)
            finally:
                program.stop()

    def test_its_file_may_have_any_name(self):
        with harness.temporary_home() as home:
            renamed = home / "keel-1.0"
            shutil.copy(harness.EVENKEEL, renamed)
            program = harness.Program(home, "up", "--members", "1", "--replicas", "1", program=renamed)
            try:
                program.wait_for_output("Evenkeel is up", LONG)
                self.assertIn(f"  {renamed} get shards\n", program.output())
            finally:
                program.stop()


class ForAWhileTest(unittest.TestCase):
    """Beside the others, as it mostly waits."""

    def test_stops_by_itself_with_for(self):
        with harness.temporary_home() as home:
            # It counts from the beginning, and a busy machine may take a while to be up.
            program = harness.Program(home, "up", "--members", "1", "--replicas", "1", "--for", "40s")
            self.assertEqual(program.process.wait(LONG), 0, program.output()[-2000:])
            self.assertIn("Evenkeel is up", program.output())
            self.assertEqual(harness.processes_of(home), [])


class HubAloneTest(unittest.TestCase):
    """What needs no members, nor even a fleet."""

    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "0"))

    def test_a_second_fleet_on_the_same_data_is_refused_in_one_line(self):
        second = harness.Program(self.home, "up", "--members", "0")
        self.assertEqual(second.process.wait(LONG), 1)
        self.assertEqual(len(second.output().splitlines()), 1, second.output())

    def test_bad_usage_is_exit_2_and_one_line(self):
        for arguments in (["up", "--members", "many"], ["plan", "shards", "--nonsense"], ["get"], ["plan", "shards", "-f", "/dev/null"],
                          ["plan", "shards", "-f", "/dev/null", "--replicas", "3", "--sharding-method", "fair"],
                          ["apiserver", "--store", "floppy:A"]):
            result = subprocess.run([harness.EVENKEEL, *arguments], capture_output=True, text=True, timeout=LONG)
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)

    def test_anonymous_requests_are_forbidden_except_for_health_and_version(self):
        kubeconfig = (self.home / "kubeconfig").read_text()
        server = re.search(r"server: (\S+)", kubeconfig).group(1)

        def status(path):
            return subprocess.run(["curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", server + path], capture_output=True, text=True).stdout
        for path in ("/healthz", "/livez", "/readyz", "/version"):
            self.assertEqual(status(path), "200", path)
        for path in ("/api", "/apis", "/metrics", "/openapi/v2", "/api/v1/namespaces/default/secrets"):
            self.assertEqual(status(path), "403", path)
        for key in (self.home / "pki").glob("*.key"):
            self.assertEqual(key.stat().st_mode & 0o777, 0o600, key)


if __name__ == "__main__":
    harness.main_in_parallel()
