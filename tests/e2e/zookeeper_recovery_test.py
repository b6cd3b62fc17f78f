"""Real ZooKeeper servers over three members, of which the one with the majority is destroyed: a person says so, and the others go on with all
that the most advanced of them knows."""
import datetime
import os
import signal
import unittest

import harness
import zookeeper_ensemble as zk

ADVANCED, BEHIND = 11, 21


class RecoveryTest(zk.Led, unittest.TestCase):
    """3 + 1 + 1 servers; the first three are lost."""

    @classmethod
    def setUpClass(cls):
        cls.begin((3, 1, 1))

    def ask(self, name, shares=(0, 1, 1), survivors=("member-1", "member-2")):
        """What becomes of a request to recover."""
        request = {"request": name, "survivors": survivors, "lost": ["elsewhere"], "acknowledgeDataLoss": True}
        self.apply(shares, {"forceRecovery": request})

        def decided():
            return next(note for note in self.status().get("recoveries", []) if note["request"] == name)
        return harness.eventually(decided, zk.LONG)

    def position(self, server):
        lines = [line for line in zk.ask(self.addresses.host(server), "srvr").splitlines() if line.startswith("Zxid: ")]
        return lines[0] if lines else None

    def followers(self, leader):
        """Those that are in step with it."""
        lines = [line for line in zk.ask(self.addresses.host(leader), "mntr").splitlines() if line.startswith("zk_synced_followers")]
        return int(float(lines[0].split()[1])) if lines else None

    def test_1_the_most_advanced_of_the_survivors_leads_them_on(self):
        # One of the survivors falls behind before the others are destroyed.
        counter = self.counting(self.ids)
        pids = [pid for uid in self.members["member-2"].uids().values() for pid in harness.processes_of(f"pods/{uid}", b"QuorumPeerMain")]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)

        # Until the leader has given it up: what was sent to it before is read when it goes on.
        def given_up():
            counter.count(20)
            return self.followers(self.leader_but_for_the_stopped()) == 3
        harness.eventually(given_up, zk.LONG)
        counter.count(100)
        _, last, _ = counter.stop()
        leader = harness.eventually(self.leader_but_for_the_stopped, zk.LONG)
        harness.eventually(lambda: self.position(leader) == self.position(ADVANCED), zk.LONG)
        self.elsewhere.die()
        zk.resume(pids)
        # Without the majority they look for each other for good, and nothing is done about it.
        self.wait_for(lambda status, holds: holds["QuorumHealthy"] == "False", zk.LONG)
        self.wait_for(lambda _, __: self.hub.json("get", "cluster", "elsewhere")["status"]["conditions"][0]["status"] == "False", 2 * zk.LONG)
        refused = self.ask("not-all", survivors=["member-2"])
        self.assertEqual((refused["outcome"], "member-1 has 1 servers" in refused["message"]), ("Refused", True), refused)
        restarted = {name: self.members[name].uids() for name in ("member-1", "member-2")}
        # An election takes less than the minute that a quorum has to have been missed.
        harness.eventually(lambda: self.missed_for() > 62, 60 + zk.LONG)
        granted = self.ask("flood")
        self.assertNotEqual(granted["outcome"], "Refused", granted)
        status = self.wait_for(lambda status, holds: status["recoveries"][-1]["outcome"] == "Completed" and holds["QuorumHealthy"] == "True", 2 * zk.LONG)
        self.assertEqual(self.condition("Recovering")["reason"], "RecoveryCompleted")
        # On a machine that is busy they may have elected once more since, in step by then. Who led first shows in what the counter finds.
        self.assertIn(status["leader"]["myid"], (ADVANCED, BEHIND))
        harness.eventually(lambda: zk.voters_of(self.addresses, ADVANCED) == [ADVANCED, BEHIND], zk.LONG)
        for name, uids in restarted.items():
            self.assertFalse(set(uids.values()) & set(self.members[name].uids().values()), "they begin from another list")
        harness.eventually(lambda: self.told() >= {"RecoveryRefused", "RecoveryStarted", "RecoveryCompleted"}, zk.LONG)
        counter = self.counting([ADVANCED, BEHIND])
        self.assertEqual(counter.first(), last + 1, "nothing that was acknowledged is lost")
        counter.count(20)
        counter.stop()

    def test_2_they_grow_again_and_nobody_restarts(self):
        counter = self.counting([ADVANCED, BEHIND])
        before = {name: self.members[name].uids() for name in ("member-1", "member-2")}
        type(self).records = len(self.status()["records"])
        self.apply((0, 2, 1), allowDegraded=True)
        self.wait_ready(1)
        harness.eventually(lambda: zk.voters_of(self.addresses, ADVANCED) == [ADVANCED, ADVANCED + 1, BEHIND], zk.LONG)
        for name, uids in before.items():
            self.assertLessEqual(uids.items(), self.members[name].uids().items())
        self.check(counter, "a third server")

    def test_3_whoever_comes_back_all_the_same_changes_nothing(self):
        servers = [ADVANCED, ADVANCED + 1, BEHIND]
        counter = self.counting(servers)
        self.elsewhere.start()
        # Until its API server is heard of by the hub, its own operator goes on with the spec of before.
        self.wait_for(lambda _, __: self.hub.json("get", "cluster", "elsewhere")["status"]["conditions"][0]["status"] == "True", 2 * zk.LONG)
        harness.eventually(lambda: not self.members["elsewhere"].uids(), 2 * zk.LONG, "its servers stop")
        self.assertEqual(zk.voters_of(self.addresses, ADVANCED), servers)
        self.wait_for(lambda _, holds: (holds["QuorumHealthy"], holds["Ready"]) == ("True", "True"), zk.LONG)
        self.check(counter, "a lost cluster that comes back")

    def told(self):
        events = self.hub.json("get", "events", "--field-selector", "involvedObject.kind=MultiClusterZooKeeper")["items"]
        return {event["reason"] for event in events}

    def missed_for(self):
        since = datetime.datetime.fromisoformat(self.condition("QuorumHealthy")["lastTransitionTime"].replace("Z", "+00:00"))
        return (datetime.datetime.now(datetime.timezone.utc) - since).total_seconds()

    def leader_but_for_the_stopped(self):
        return zk.leader_of(self.addresses, [server for server in self.ids if server != BEHIND])


if __name__ == "__main__":
    harness.main()
