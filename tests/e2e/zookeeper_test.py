"""Real ZooKeeper servers in a member of the embedded fleet: an ensemble forms, is replaced server by server, grows, shrinks, and survives a
server that is killed, while a client counts."""
import contextlib
import json
import os
import signal
import subprocess
import unittest

import yaml

import harness
import zookeeper_ensemble as zk


class OneMemberTest(zk.Counting, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        zk.require_zookeeper()
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "1", "--nodes", "3"))
        cls.kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig", "member-1")
        cls.member, cls.addresses = zk.Member(cls.kubectl), zk.Addresses(cls.home)
        harness.eventually(lambda: "zookeepers" in cls.kubectl("api-resources", "--api-group=evenkeel.dev"), zk.LONG)
        spec = zk.example("ensemble.yaml", cls.addresses)["spec"]
        zk.add_tag(spec["podTemplate"], "1")
        cls.member.apply(spec | {"rolloutRevision": "r1"})
        status = cls.member.wait_settled(3, "r1")
        print("formed:", status["members"], flush=True)

    def replace_all(self, revision, tag, replicas=3):
        before, leader = self.member.uids(), zk.leader_of(self.addresses, range(1, replicas + 1))
        self.member.apply(zk.spec_of(self.addresses, range(1, replicas + 1), replicas, revision, tag=tag))
        self.member.wait_settled(replicas, revision)
        pods = self.member.pods()
        self.assertFalse(set(before.values()) & {pod["metadata"]["uid"] for pod in pods.values()}, "every pod is another")
        # They take seconds each, so the times of their creation, in whole seconds, tell their order.
        return leader, sorted(pods, key=lambda name: pods[name]["metadata"]["creationTimestamp"])

    def test_1_a_change_replaces_one_after_the_other_and_the_leader_last(self):
        counter = self.counting((1, 2, 3))
        leader, order = self.replace_all("r2", "2")
        self.check(counter, "rolling update")
        self.assertEqual(order, [f"zk-{server - 1}" for server in (3, 2, 1) if server != leader] + [f"zk-{leader - 1}"])

    def test_2_a_server_that_is_killed_comes_back(self):
        counter = self.counting((1, 2, 3))
        leader = zk.leader_of(self.addresses, [1, 2, 3])
        for pid in harness.processes_of(f"pods/{self.member.uids()[f'zk-{leader - 1}']}", b"QuorumPeerMain"):
            os.kill(pid, signal.SIGKILL)
        harness.eventually(lambda: zk.leader_of(self.addresses, [1, 2, 3]) != leader, zk.LONG)
        harness.eventually(lambda: zk.modes(self.addresses, [leader])[leader] == "follower", zk.LONG, "the container is started again")
        self.member.wait_settled(3, self.member.get()["spec"]["rolloutRevision"])
        self.check(counter, f"killed the leader {leader}")
        # What the status says may still be from before the kill.
        harness.eventually(lambda: self.member.condition("Ready")["status"] == "True", zk.LONG, "Ready")

    def test_3_servers_come_and_go_without_a_restart_also_while_pods_are_killed(self):
        counter = self.counting((1, 2, 3))
        before = self.member.uids()
        spec = self.member.get()["spec"]
        tag = spec["podTemplate"]["spec"]["containers"][0]["env"][1]["value"]
        follower = next(server for server in (1, 2, 3) if server != zk.leader_of(self.addresses, (1, 2, 3)))
        self.member.apply(zk.spec_of(self.addresses, range(1, 6), 5, "r3", tag=tag))
        # One that was there goes before the fourth has come, and the fifth as soon as it is there.
        self.kill(f"zk-{follower - 1}")
        killed = harness.eventually(lambda: self.member.uids()["zk-4"], zk.LONG)
        self.kill("zk-4")
        harness.eventually(lambda: self.member.uids().get("zk-4", killed) != killed, zk.LONG)
        self.member.wait_settled(5, "r3")
        self.assertEqual(zk.voters_of(self.addresses, zk.leader_of(self.addresses, range(1, 6))), [1, 2, 3, 4, 5])
        grown = self.member.uids()
        self.assertNotEqual(grown["zk-4"], killed)
        self.assertEqual({name for name, uid in before.items() if grown[name] != uid}, {f"zk-{follower - 1}"}, "nobody else was restarted")
        self.member.apply(zk.spec_of(self.addresses, range(1, 4), 3, "r4", tag=tag))
        self.member.wait_settled(3, "r4")
        self.assertEqual(zk.voters_of(self.addresses, zk.leader_of(self.addresses, range(1, 4))), [1, 2, 3])
        self.assertEqual(self.member.uids(), {name: grown[name] for name in before}, "nobody was restarted")
        self.check(counter, "3 to 5 to 3 servers, two pods killed meanwhile")

    def kill(self, pod):
        """At once, and with its pod."""
        uid = self.member.uids()[pod]
        for pid in harness.processes_of(f"pods/{uid}", b"QuorumPeerMain"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.member.run("delete", "pod", pod, "--grace-period=0", "--force")

    def test_4_a_change_that_does_not_start_stops_at_one_server(self):
        counter = self.counting((1, 2, 3))
        good = self.member.get()["spec"]
        bad = {**good, "rolloutRevision": "bad", "config": {**good["config"], "extra": {"electionAlg": "0"}}}
        self.member.apply(bad)
        harness.eventually(lambda: self.member.status()["updatedReplicas"] == 1 and self.member.status()["readyReplicas"] == 2, zk.LONG)
        with self.assertRaises(AssertionError):
            harness.eventually(lambda: self.member.status()["updatedReplicas"] > 1 or self.member.status()["readyReplicas"] < 2, 10)
        self.assertNotEqual(self.member.status()["observedRevision"], "bad")
        self.assertEqual(self.member.condition("Ready")["status"], "False")
        self.member.apply({**good, "rolloutRevision": "good"})
        self.member.wait_settled(3, "good")
        self.check(counter, "a bad change and back")

    def test_5_a_list_without_a_server_is_refused(self):
        good = self.member.get()["spec"]
        before = self.member.uids()
        self.member.apply({**good, "servers": good["servers"][:2], "rolloutRevision": "short"})
        harness.eventually(lambda: self.member.condition("Valid").get("status") == "False", zk.LONG)
        self.assertIn("there is no server.3", self.member.condition("Valid")["message"])
        self.assertEqual(self.member.uids(), before)
        self.member.apply(good)
        harness.eventually(lambda: self.member.condition("Valid")["status"] == "True", zk.LONG)


class ThreeMembersTest(zk.Counting, unittest.TestCase):
    """2 + 2 + 1 servers over three members. The test says what each member is to have, as a hub would, one cluster after the other."""

    SHARES = {"member-1": 2, "member-2": 2, "member-3": 1}

    @classmethod
    def setUpClass(cls):
        zk.require_zookeeper()
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "3", "--nodes", "2"))
        kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig")
        cls.members = {name: zk.Member(kubectl.at(name)) for name in cls.SHARES}
        cls.offsets = {name: 10 * index for index, name in enumerate(cls.SHARES)}
        cls.addresses = zk.Addresses(cls.home)
        # With the first cluster alone there is no majority: running is all that can be asked of it.
        cls.shares, cls.tag = dict(cls.SHARES), "1"
        for name, share in cls.shares.items():
            cls.tell(name, "r1")
            harness.eventually(lambda: cls.members[name].status().get("observedRevision") == "r1" and
                               len(cls.members[name].status()["members"]) == share, zk.LONG)
        for name in cls.shares:
            cls.members[name].wait_settled(cls.shares[name], "r1")

    @classmethod
    def ids(cls, name=None):
        names = [name] if name else cls.SHARES
        return [cls.offsets[one] + ordinal + 1 for one in names for ordinal in range(cls.shares[one])]

    @classmethod
    def tell(cls, name, revision):
        cls.members[name].apply(zk.spec_of(cls.addresses, cls.ids(), cls.shares[name], revision, cls.offsets[name], cls.tag))

    def rollout(self, revision, order=None):
        for name in order or self.SHARES:
            self.tell(name, revision)
            self.members[name].wait_settled(self.shares[name], revision)

    def leader(self):
        return zk.leader_of(self.addresses, self.ids())

    def test_1_one_ensemble(self):
        def formed():
            self.assertEqual(sorted(mode for mode in zk.modes(self.addresses, self.ids()).values()), ["follower"] * 4 + ["leader"])
            leaders = {member.status().get("leaderID") for member in self.members.values()}
            self.assertEqual(leaders, {self.leader()}, "every member knows the leader, wherever it is")
            return True
        harness.eventually(formed, zk.LONG)

    def test_2_a_change_goes_through_cluster_by_cluster(self):
        counter = self.counting(self.ids())
        type(self).tag = "2"
        self.rollout("r2")
        self.check(counter, "rolling update of three clusters")

    def test_3_a_server_moves_to_another_cluster(self):
        counter = self.counting(self.ids())
        type(self).shares = {**self.SHARES, "member-3": 2}
        self.rollout("r3", ["member-3", "member-1", "member-2"])
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 2, 11, 12, 21, 22])
        type(self).shares = {"member-1": 1, "member-2": 2, "member-3": 2}
        self.rollout("r4", ["member-2", "member-3", "member-1"])
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 11, 12, 21, 22])
        self.check(counter, "moved a server")

    def test_4_while_another_cluster_is_down_nothing_is_replaced(self):
        counter = self.counting(self.ids())
        down = next(name for name in ("member-2", "member-1") if self.leader() not in self.ids(name))
        changed = "member-3"
        before = self.members[changed].uids()
        # Stopped, not ended: so nobody starts them again.
        pids = [pid for uid in self.members[down].uids().values() for pid in harness.processes_of(f"pods/{uid}", b"QuorumPeerMain")]
        self.addCleanup(zk.resume, pids)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        type(self).tag = "3"
        self.tell(changed, "r5")
        harness.eventually(lambda: self.members[changed].condition("Progressing").get("reason") == "Waiting", zk.LONG)
        with self.assertRaises(AssertionError):
            harness.eventually(lambda: self.members[changed].uids() != before, 10)
        zk.resume(pids)
        self.members[changed].wait_settled(self.shares[changed], "r5")
        self.check(counter, f"{down} stood still, then {changed} changed")


class HubTest(zk.Led, unittest.TestCase):
    """2 + 2 + 1 servers over three members, led by the hub's MultiClusterZooKeeper of examples/zookeeper. One member is a fleet of its own,
    which can die with its API server."""

    @classmethod
    def setUpClass(cls):
        given = yaml.safe_load((harness.ROOT / "examples/zookeeper/three-members.yaml").read_text())
        shares = tuple(cluster["replicas"] for cluster in given["spec"]["placement"]["clusters"])
        assert shares == (2, 2, 1), shares
        cls.begin(shares)

    @classmethod
    def manifest(cls, shares, rollout, more):
        made = zk.example("three-members.yaml", cls.addresses)
        spec = made["spec"]
        spec["placement"]["clusters"] = [{"name": name, "replicas": share} for name, share in shares.items()]
        zk.add_tag(spec["template"]["podTemplate"], cls.tag)
        # The test counts records.
        made["spec"] = spec | {"rollout": rollout, "revisionHistoryLimit": 100} | (more or {})
        return made

    def test_1_a_change_reaches_cluster_by_cluster_the_leaders_last(self):
        counter = self.counting(self.ids)
        leading = list(self.members)[self.leader() // 10]
        before = {uid for member in self.members.values() for uid in member.uids().values()}
        type(self).tag = "2"
        self.apply((2, 2, 1))
        self.wait_ready(1)
        self.check(counter, "rolling update by the hub")
        order = self.status()["records"][-1]["order"]
        self.assertEqual(order[-1], leading)
        # No cluster begins before the one before it has ended.
        times = [[pod["metadata"]["creationTimestamp"] for pod in self.members[name].pods().values()] for name in order]
        self.assertLessEqual(max(times[0]), min(times[1]))
        self.assertLessEqual(max(times[1]), min(times[2]))
        self.assertFalse(before & {uid for member in self.members.values() for uid in member.uids().values()})

    def test_2_servers_move_one_by_one(self):
        counter = self.counting(self.ids)
        before = {name: member.uids() for name, member in self.members.items()}
        self.apply((1, 2, 2))
        self.wait_ready(2)
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 11, 12, 21, 22])
        self.check(counter, "a server moved by the hub")
        for name, member in self.members.items():
            kept = member.uids()
            self.assertTrue(all(before[name].get(pod, uid) == uid for pod, uid in kept.items()), "nobody was restarted")

    def test_3_a_cluster_that_stands_still_holds_the_rollout(self):
        counter = self.counting(self.ids)
        begun = len(self.status()["records"])
        type(self).tag = "3"
        self.apply((1, 2, 2))
        order = harness.eventually(lambda: len(self.status()["records"]) > begun and self.status()["records"][-1]["order"], zk.LONG)
        # The leader's is the last; all servers of the one before it stop in the middle of the rollout, and are started by nobody.
        second, last = order[1:]
        pids = [pid for uid in self.members[second].uids().values() for pid in harness.processes_of(f"pods/{uid}", b"QuorumPeerMain")]
        self.addCleanup(zk.resume, pids)
        before = self.members[last].uids()
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        with self.assertRaises(AssertionError):
            harness.eventually(lambda: self.members[last].uids() != before, 10)
        self.assertNotEqual(self.condition("Ready")["status"], "True")
        zk.resume(pids)
        self.wait_ready(1)
        # With a server that restarts, two that stand still are more than a minority; and a client waits for one that does not answer.
        self.check(counter, f"{second} stood still in a rollout", 3 * zk.STALL_MAX)

    def test_4_voters_go_and_come(self):
        counter = self.counting(self.ids)
        self.apply((1, 1, 1))
        self.wait_ready(2)
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 11, 21])
        self.apply((2, 2, 1))
        self.wait_ready(2)
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 2, 11, 12, 21])
        self.check(counter, "5 to 3 to 5 voters")

    def test_5_a_cluster_that_dies_in_a_rollout_holds_it_until_it_is_back(self):
        counter = self.counting(self.ids)
        begun = len(self.status()["records"])
        type(self).tag = "5"
        self.apply((2, 2, 1))
        order = harness.eventually(lambda: len(self.status()["records"]) > begun and self.status()["records"][-1]["order"], zk.LONG)
        # Not the one that is changed first, whose servers restart just now, and not the leader's.
        dead, last = self.members[order[1]], self.members[order[2]]
        before, left = last.uids(), 5 - len(dead.uids())
        # Nobody makes new nodes for it.
        dead.kubectl("patch", "nodegroup", "general", "--type=merge", "--patch", '{"spec": {"maxSize": 0}}')
        nodes = dead.kubectl("get", "nodes", "-o", "name").split()
        dead.kubectl("cordon", *nodes)
        self.addCleanup(dead.kubectl, "uncordon", *nodes)
        for pid in [pid for uid in dead.uids().values() for pid in harness.processes_of(f"pods/{uid}", b"QuorumPeerMain")]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        dead.run("delete", "pods", "-l", "evenkeel.dev/zookeeper=zk", "--grace-period=0", "--force")
        self.wait_for(lambda status, holds: holds["QuorumHealthy"] == "True" and status["readyReplicas"] == left, zk.LONG)
        with self.assertRaises(AssertionError):
            harness.eventually(lambda: last.uids() != before, 10)
        self.assertNotIn(self.condition("Ready").get("status"), (None, "True"))
        table = subprocess.run([harness.EVENKEEL, "get", "rollouts"], capture_output=True, text=True, check=True,
                               env={**os.environ, "EVENKEEL_HOME": str(self.home), "KUBECONFIG": str(self.home / "kubeconfig")}).stdout
        self.assertRegex(table, rf"(?m)^default/zk +Deploying +[1-9]\d* +5 +{left} +{left - 3} ")
        dead.kubectl("uncordon", *nodes)
        self.wait_ready(1)
        self.check(counter, f"{order[1]} died in a rollout and came back", 3 * zk.STALL_MAX)

    def test_6_a_member_that_dies_as_a_whole_in_a_rollout_holds_it_until_it_is_back(self):
        counter = self.counting(self.ids)
        type(self).tag = "6"
        first, last = sorted(("member-1", "member-2"), key=lambda name: list(self.members)[self.leader() // 10] == name)
        before = self.members[last].uids()
        self.apply((2, 2, 1), order=[first, "elsewhere", last])
        self.wait_for(lambda status, _: status["records"][-1]["currentState"]["deploying"] == ["elsewhere"], 2 * zk.LONG)
        self.elsewhere.die()
        self.wait_for(lambda status, holds: status["phase"] == "Paused" and holds["Degraded"] == holds["QuorumHealthy"] == "True", 2 * zk.LONG)
        self.assertEqual((self.condition("Degraded")["reason"], self.status()["readyReplicas"]), ("ClusterUnreachable", 3))
        self.assertEqual(self.members[last].uids(), before)
        self.elsewhere.start()
        self.wait_ready(1)
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 2, 11, 12, 21])
        # A majority was there all the time.
        self.check(counter, "a member died as a whole in a rollout and came back")


if __name__ == "__main__":
    harness.main_in_parallel()
