"""What docs/OPERATIONS.md promises: a store that is copied while it is written to can be put back, and a fleet of which the hub, or a
member, is as it was some time ago comes back to one owner per member."""
import json
import os
import shutil
import signal
import subprocess
import threading
import unittest

import harness

MEMBERS = 2
# How long to wait for what has to come.
LONG = 180


def copy_store(source, target):
    subprocess.run([harness.EVENKEEL, "apiserver", "backup", source, target], check=True, stdout=subprocess.DEVNULL)


def put_back(copy, home, cluster):
    subprocess.run([harness.EVENKEEL, "apiserver", "restore", "--overwrite", copy, home / cluster / "store.db"], check=True,
                   stdout=subprocess.DEVNULL)


class BackedUpFleet:
    def setUp(self):
        self.home = self.enterContext(harness.temporary_home())
        self.kubectl = harness.Kubectl(harness.any_kubectl(), self.home / "kubeconfig", "hub")
        self.program = None
        self.addCleanup(lambda: self.program and self.program.stop())

    def start(self):
        self.program = harness.Program(self.home, "up", "--members", str(MEMBERS), "--nodes", "1")
        self.program.wait_for_output("Evenkeel is up", LONG)

    def stop(self, how=signal.SIGTERM):
        self.program.stop(how)
        harness.eventually(lambda: harness.processes_of(self.home) == [], LONG, "processes are gone")

    def names(self, context, kind="configmaps"):
        return {item["metadata"]["name"] for item in self.kubectl.at(context).json("get", kind)["items"]}

    def one_owner_each(self):
        shards = json.loads(subprocess.run([harness.EVENKEEL, "get", "shards", "-o", "json"], capture_output=True, text=True, check=True,
                                           env={**os.environ, "EVENKEEL_HOME": str(self.home), "KUBECONFIG": ""}).stdout)
        owners = {row["cluster"]: row["owner"] for row in shards["clusters"]}
        self.assertEqual(len(owners), MEMBERS)
        for member, owner in owners.items():
            lease = self.kubectl.at(member).json("get", "lease", "evenkeel-owner", "--namespace", "kube-system")
            self.assertTrue(owner and lease["spec"]["holderIdentity"].startswith(owner), (owner, lease["spec"]))
        return owners

    def writes_reach(self, member):
        """The owner's controllers act: a pod too many gets a node."""
        here = self.kubectl.at(member)
        before = len(here.json("get", "nodes")["items"])
        here("create", "deployment", "work", "--image=work", "--replicas=0")
        here("patch", "deployment", "work", "--patch", json.dumps(
            {"spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "work", "resources": {"requests": {"cpu": "3"}}}]}}}}))
        harness.eventually(lambda: here.json("get", "nodegroup", "general")["spec"].get("targetSize", 0) > 0, LONG, f"{before} nodes")


class StoresTest(BackedUpFleet, unittest.TestCase):
    def test_copies_made_under_load_are_whole_and_come_up(self):
        self.start()
        written, stopping = [], threading.Event()

        def write():
            while not stopping.is_set():
                name = f"kept-{len(written)}"
                self.kubectl.at("member-1")("create", "configmap", name, "--from-literal=a=1")
                written.append(name)

        writer = threading.Thread(target=write)
        writer.start()
        try:
            harness.eventually(lambda: len(written) > 3, LONG, "some writes")
            before = set(written)
            copies = {}
            for cluster in ("hub", "member-1", "member-2"):
                copies[cluster] = self.home / f"{cluster}.copy"
                copy_store(self.home / cluster / "store.db", copies[cluster])
        finally:
            stopping.set()
            writer.join()
        self.stop(signal.SIGKILL)
        for cluster, copy in copies.items():
            put_back(copy, self.home, cluster)
        self.start()
        self.assertLessEqual(before, self.names("member-1"))
        harness.eventually(self.one_owner_each, LONG)

    def test_a_member_of_some_time_ago_gets_its_owner_again(self):
        self.start()
        copy = self.home / "member-1.copy"
        copy_store(self.home / "member-1/store.db", copy)
        for replicas in (1, 3):
            self.kubectl("-n", "evenkeel", "scale", "deployment", "evenkeel-controller", f"--replicas={replicas}")
            self.kubectl("-n", "evenkeel", "rollout", "status", "deployment", "evenkeel-controller", f"--timeout={LONG}s")
            harness.eventually(self.one_owner_each, LONG)
        self.stop(signal.SIGKILL)
        put_back(copy, self.home, "member-1")
        self.start()
        harness.eventually(self.one_owner_each, LONG)
        self.writes_reach("member-1")


class HubTest(BackedUpFleet, unittest.TestCase):
    def test_a_hub_of_some_time_ago_moves_on_with_members_of_today(self):
        self.start()
        copy = self.home / "hub.copy"
        copy_store(self.home / "hub/store.db", copy)
        self.kubectl("create", "configmap", "later", "--from-literal=a=1")
        # Owners, epochs of the plan and Leases in the members go on without the copy.
        for replicas in (1, 4, 2):
            self.kubectl("-n", "evenkeel", "scale", "deployment", "evenkeel-controller", f"--replicas={replicas}")
            self.kubectl("-n", "evenkeel", "rollout", "status", "deployment", "evenkeel-controller", f"--timeout={LONG}s")
            harness.eventually(self.one_owner_each, LONG)
        self.stop(signal.SIGKILL)
        put_back(copy, self.home, "hub")
        self.start()
        self.assertNotIn("later", self.names("hub"))
        harness.eventually(self.one_owner_each, LONG)
        self.writes_reach("member-1")

    def test_a_lost_hub_is_made_anew_and_finds_its_members(self):
        self.start()
        self.kubectl.at("member-1")("create", "configmap", "kept", "--from-literal=a=1")
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.home / "hub")
        self.start()
        self.assertIn("kept", self.names("member-1"))
        harness.eventually(self.one_owner_each, LONG)
        self.writes_reach("member-1")


if __name__ == "__main__":
    harness.main_in_parallel()
