"""Real ZooKeeper servers whose ensemble spreads from three members of a fleet to all five and draws back again, while a client counts."""
import contextlib
import threading
import unittest

import harness
import zookeeper_ensemble as zk

STAYING, COMING = ["member-1", "member-2", "member-3"], ["member-4", "member-5"]
# Before they came a second time, and of the one that did.
IDS, LATER = {"member-4": 31, "member-5": 41}, 51


class MembersTest(zk.Led, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.begin_in_one_fleet(STAYING + COMING, (1, 1, 1, 0, 0))

    def named(self, kind):
        return {item["metadata"]["name"] for item in self.hub.json("get", kind)["items"]}

    def propagated(self):
        """Clusters that the policy names."""
        policy = self.hub.json("get", "propagationpolicy", "zk-zk")
        return set(policy["spec"]["placement"]["clusterAffinity"]["clusterNames"])

    def has_zookeeper(self, name):
        member = self.members[name]
        return bool(member.kubectl.json("-n", member.namespace, "get", "zookeepers")["items"])

    @contextlib.contextmanager
    def voters_seen(self):
        """The voters among those that come and go, as often as they change: they are looked at more often than anything else can be."""
        seen, closed = [], threading.Event()

        def look():
            while not closed.wait(0.05):
                known = zk.voters_of(self.addresses, 1)
                voters = set(known) & set(IDS.values())
                if known and (not seen or seen[-1] != voters):
                    seen.append(voters)
        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield seen
        finally:
            closed.set()
            thread.join()

    def test_1_two_members_come(self):
        counter = self.counting(self.ids)
        before = {name: self.members[name].uids() for name in STAYING}
        self.apply((1, 1, 1, 1, 1))
        self.wait_ready(2)
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 11, 21, *IDS.values()])
        self.check(counter, "3 to 5 members")
        self.assertEqual({name: self.members[name].uids() for name in STAYING}, before, "nobody was restarted")

    def test_2_and_leave_again_in_order(self):
        # Also through those that leave, which a client has to notice.
        counter = self.counting(self.ids)
        before = {name: self.members[name].uids() for name in STAYING}
        type(self).records += 2
        wrong = []

        def released():
            # What has to go last is asked for first: whatever goes meanwhile makes nothing wrong that is right.
            overrides, placed, known = self.named("overridepolicies"), self.propagated(), zk.voters_of(self.addresses, 1)
            assert known, "no answer"
            voters = set(known) & set(IDS.values())
            for name, server in IDS.items():
                if f"zk-{name}" not in overrides and name in placed:
                    wrong.append(f"{name} has no override any more, and is still in the policy")
                if name not in placed and server in voters:
                    wrong.append(f"{name} has left the policy with a voter")
            status = self.status()
            assert not voters and len(status["records"]) >= self.records, (voters, len(status["records"]))
            assert self.condition("Ready")["status"] == "True" and status["retiredIndices"] == [3, 4], status
            assert placed == set(STAYING) and overrides == {f"zk-{name}" for name in STAYING}, (placed, overrides)
            assert not any(self.has_zookeeper(name) for name in COMING)
            return True
        with self.voters_seen() as seen:
            self.apply((1, 1, 1))
            harness.eventually(released, 400)
        self.assertEqual(wrong, [])
        self.assertEqual([len(voters) for voters in seen], [2, 1, 0], "one after the other")
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 11, 21])
        self.check(counter, "5 to 3 members")
        self.assertEqual({name: self.members[name].uids() for name in STAYING}, before, "nobody was restarted")
        for name in COMING:
            harness.eventually(lambda name=name: not self.members[name].uids(), zk.LONG, "its servers are gone")

    def test_3_one_that_comes_back_has_another_id(self):
        counter = self.counting(self.ids)
        self.apply((1, 1, 1, 1))
        type(self).ids = [1, 11, 21, LATER]
        self.wait_ready(1)
        self.assertEqual(zk.voters_of(self.addresses, self.leader()), [1, 11, 21, LATER])
        self.check(counter, "a member that comes back")


if __name__ == "__main__":
    harness.main()
