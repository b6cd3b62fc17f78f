"""Coordinated mode, the default, with real processes: who owns which member while replicas come, go, die, freeze and are switched to
the compatible mode and back, and while API servers are away. The members' audit logs are the witness."""
import json
import os
import random
import signal
import subprocess
import time
import unittest

import harness
from coordination_scenarios import LONG, CoordinationScenarios
from fleet_under_test import COMPATIBLE, WEIGHT, PodFleet
from history import LEASE_SECONDS, MARGIN_SECONDS, host_of
from process_fleet import ApiServer, ProcessFleet

MEMBERS = [f"member-{number}" for number in range(1, 7)]


def start_pod_fleet(test_class):
    test_class.clusters = MEMBERS
    test_class.home = test_class.enterClassContext(harness.temporary_home())
    test_class.program = test_class.enterClassContext(harness.fleet(test_class.home, "--members", str(len(MEMBERS))))
    test_class.fleet = PodFleet(harness.Kubectl(harness.any_kubectl(), test_class.home / "kubeconfig", "hub"), test_class.home)
    # All weigh the same, so that it does not depend on measurements who gets what.
    test_class.fleet.kubectl_here("annotate", "secrets", "-l", "argocd.argoproj.io/secret-type=cluster", f"{WEIGHT}=50")
    test_class.fleet.follow_members(MEMBERS)
    test_class.addClassCleanup(test_class.fleet.unfollow)


def start_process_fleet(test_class, members, stores=None):
    test_class.clusters = members
    test_class.home = test_class.enterClassContext(harness.temporary_home())
    test_class.hub = ApiServer(test_class.home / "hub")
    test_class.addClassCleanup(lambda: test_class.hub.program.stop(signal.SIGKILL))
    test_class.fleet = ProcessFleet(test_class.hub.kubectl, test_class.home)
    test_class.addClassCleanup(test_class.fleet.stop)
    test_class.fleet.create(members, stores=stores)
    for _ in range(3):
        test_class.fleet.start()
    harness.eventually(test_class.fleet.plan, LONG, "a plan")
    test_class.fleet.follow_members()


class ReplicasTest(CoordinationScenarios, unittest.TestCase):
    """Pods of a Deployment come, go and die."""

    @classmethod
    def setUpClass(cls):
        start_pod_fleet(cls)

    def leader(self, _owners):
        return host_of(self.fleet.shards()["leader"])

    def other_than_the_leader(self, owners):
        return next(owner for _, owner in sorted(owners.items()) if owner != self.leader(owners))

    def test_1_scales_3_to_5_to_2(self):
        self.scales_3_to_5_to_2()

    def test_2_hands_over_upon_sigterm(self):
        self.hands_over_upon_sigterm(self.other_than_the_leader)

    def test_3_hands_over_upon_sigterm_of_the_leader(self):
        self.hands_over_upon_sigterm(self.leader)

    def test_4_hands_over_in_a_rolling_restart(self):
        def restart(_owners):
            self.fleet.kubectl_here("rollout", "restart", "deployment/evenkeel-controller")
            self.fleet.kubectl_here("rollout", "status", "deployment/evenkeel-controller", "--timeout=300s", timeout=310)
        self.hands_over("rolling restart", restart)

    def test_5_replaces_a_killed_leader(self):
        self.replaces_a_killed_owner(self.leader)

    def test_6_goes_on_with_a_weight_that_is_no_number(self):
        self.settle("before the weight")
        self.fleet.kubectl_here("annotate", "--overwrite", "secret", "member-3", f"{WEIGHT}=heavy")
        harness.eventually(lambda: ("member-3", "InvalidWeight") in self.fleet.warnings(), LONG, "an Event InvalidWeight")
        self.settle("a weight that is no number", even=False)
        self.fleet.kubectl_here("annotate", "--overwrite", "secret", "member-3", f"{WEIGHT}=50")
        self.settle("a weight again")

    def test_7_explains_a_cluster(self):
        owners = self.settle("before explaining")
        explained = json.loads(self.fleet.evenkeel("explain", "cluster", "member-2", "-o", "json"))
        self.assertLessEqual({"cluster", "server", "id", "source", "shard", "owner", "heartbeatAgeSeconds", "weight", "epoch", "standby", "since",
                              "why", "wouldMove"}, explained.keys())
        self.assertNotIn("pendingMove", explained)
        self.assertEqual((explained["cluster"], explained["owner"], explained["weight"]), ("member-2", owners["member-2"], 50))
        self.assertIn(explained["standby"], set(owners.values()) - {owners["member-2"]})
        self.assertEqual(explained["shard"], self.fleet.shard_numbers()[owners["member-2"]])
        self.assertTrue(any("kube-system/evenkeel-owner" in line for line in explained["why"]), explained)
        self.assertTrue(any(explained["standby"] in line for line in explained["wouldMove"]), explained)
        text = self.fleet.evenkeel("explain", "cluster", "member-2")
        for line in [*explained["why"], *explained["wouldMove"]]:
            self.assertIn(line, text)
        self.assertEqual(self.fleet.run_evenkeel("explain", "cluster", "nowhere").returncode, 1)

    def test_8_a_plan_of_the_live_fleet_moves_nothing(self):
        self.settle("before planning")
        plan = json.loads(self.fleet.evenkeel("plan", "shards", "-o", "json"))
        self.assertEqual((plan["method"], plan["replicas"], plan["moves"]), ("weighted", 3, []))
        live = {row["cluster"]: row["shard"] for row in self.fleet.shards()["clusters"]}
        self.assertEqual({item["cluster"]: item["shard"] for item in plan["assignments"]}, live)


class FrozenOwnerTest(CoordinationScenarios, unittest.TestCase):
    """Replicas without a kubelet, which would end a process that does not answer."""

    @classmethod
    def setUpClass(cls):
        start_process_fleet(cls, MEMBERS)

    def test_a_frozen_owner_does_nothing_when_it_goes_on(self):
        self.lets_a_frozen_owner_do_nothing()


class ApiServersAwayTest(CoordinationScenarios, unittest.TestCase):
    """The hub and the members are processes of their own that end and come back."""

    @classmethod
    def setUpClass(cls):
        start_process_fleet(cls, MEMBERS[:3], {"member-3": "memory"})

    def test_1_the_hub_restarts(self):
        self.keeps_owners_while_the_hub_is_away(self.hub.kill, self.hub.start)

    def test_2_members_restart(self):
        """member-1 comes back at once, member-2 when its owner's Lease has run out, member-3 at once, but empty."""
        before = self.settle("before the members go")
        away = {"member-1": 1, "member-2": LEASE_SECONDS + MARGIN_SECONDS + 4, "member-3": 1}
        gone = time.time()
        for member in away:
            self.fleet.members[member].kill()
        back = {}
        for member, seconds in sorted(away.items(), key=lambda item: item[1]):
            time.sleep(max(gone + seconds - time.time(), 0))  # the scenario itself
            self.fleet.members[member].start()
            back[member] = time.time()
        owners = self.settle("all members are back")
        for member, fence in self.fleet.fences.items():
            took = harness.eventually(
                lambda f=fence, since=back[member]: [w for w in f.writes(since) if w.kind in ("take", "renew")], LONG, f"writes of {member}'s Lease")
            print(f"{member}, away for {back[member] - gone:.1f} s: {owners[member]} (before: {before[member]}) "
                  f"{took[0].time - back[member]:.2f} s after it was back, epoch {took[0].after.epoch}")
        self.assertEqual(owners["member-1"], before["member-1"], "its owner gets it back")
        self.check_fences()


class HubAwayTest(CoordinationScenarios, unittest.TestCase):
    """An owner dies while the hub is away."""

    @classmethod
    def setUpClass(cls):
        start_process_fleet(cls, MEMBERS[:3])

    def test_standbys_take_over_while_the_hub_is_away(self):
        owners = self.settle("before hub and owner go")
        lost = owners["member-1"]
        clusters = [cluster for cluster, owner in owners.items() if owner == lost]
        self.hub.kill()
        killed = time.time()
        self.fleet.kill(lost)
        try:
            self.taken_over(lost, clusters, killed, "kill -9 without a hub")
        finally:
            self.hub.start()
        # Those who wait for the hub try again after up to a minute.
        self.settle("the hub is back, without the owner", 2, even=False)
        self.check_fences()


class SwitchingTest(CoordinationScenarios, unittest.TestCase):
    """A running fleet is switched to the compatible mode and back, by rolling updates."""

    @classmethod
    def setUpClass(cls):
        start_pod_fleet(cls)

    def test_switches_to_compatible_and_back(self):
        self.settle("coordinated")
        for what, variables in (("coordinated to compatible", COMPATIBLE),
                                ("compatible to coordinated", {name: None for name in COMPATIBLE} | {"EVENKEEL_SHARDING_MODE": "coordinated"})):
            begin = time.time()
            self.fleet.set_environment(**variables)
            updated = time.time()
            if variables is COMPATIBLE:
                harness.eventually(lambda: self.fleet.settled(3, MEMBERS), LONG, what)
            else:
                self.settle(what)
            changed = [gap for fence in self.fleet.fences.values() for _, _, gap, _ in fence.handovers(begin)]
            writes = sum(fence.check(self) for fence in self.fleet.fences.values())
            print(f"{what}: updated after {updated - begin:.1f} s, settled after {time.time() - begin:.1f} s; {len(changed)} changes of holder, "
                  f"without a holder's write for at most {max(changed):.2f} s; {writes} writes of the Leases so far, in order")


class CommandLineTest(unittest.TestCase):
    """Bad input, and plans without a fleet."""

    def run_evenkeel(self, *arguments, stdin="", env=None):
        return subprocess.run([harness.EVENKEEL, *arguments], input=stdin, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "KUBECONFIG": "/nonexistent", "EVENKEEL_HOME": "/nonexistent", **(env or {})})

    def test_refuses_modes_and_methods_in_one_line(self):
        clash = ["--sharding-method", "weighted", "--sharding-mode", "compatible"]
        for arguments, word in ((["--sharding-mode", "nonsense"], "coordinated"), (clash, "does not go with"),
                                (["--sharding-method", "round-robin", "--sharding-mode", "coordinated"], "does not go with"),
                                (["--sharding-method", "fair"], "round-robin")):
            for command in ("up", "run"):
                result = self.run_evenkeel(command, *arguments)
                self.assertEqual(result.returncode, 2, (command, arguments, result.stderr))
                self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)
                self.assertIn(word, result.stderr)

    def secrets(self, weights):
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": [
            {"apiVersion": "v1", "kind": "Secret",
             "metadata": {"name": name, "namespace": "evenkeel", "uid": f"00000000-0000-4000-8000-{number:012}",
                          "labels": {"argocd.argoproj.io/secret-type": "cluster"}, "annotations": {WEIGHT: str(weight)}},
             "stringData": {"name": name, "server": f"https://{name}.example", "config": "{}"}}
            for number, (name, weight) in enumerate(weights.items())]})

    def plan(self, weights, replicas, *arguments):
        result = self.run_evenkeel("plan", "shards", "--sharding-method", "weighted", "-f", "-", "--replicas", str(replicas), "-o", "json",
                                   *arguments, stdin=self.secrets(weights))
        self.assertEqual(result.returncode, 0, result.stderr)
        plan = json.loads(result.stdout)
        self.assertEqual(set(plan), {"method", "replicas", "assignments", "shards", "moves"})
        self.assertEqual((plan["method"], plan["replicas"]), ("weighted", replicas))
        self.assertEqual({item["cluster"] for item in plan["assignments"]}, set(weights))
        mean = sum(weights.values()) / replicas
        for shard in plan["shards"]:
            mine = [item["cluster"] for item in plan["assignments"] if item["shard"] == shard["shard"]]
            self.assertEqual((shard["clusters"], shard["weight"]), (len(mine), sum(weights[name] for name in mine)))
            self.assertLessEqual(shard["weight"], 1.25 * mean, plan["shards"])
        return plan

    def test_plans_by_weight_and_moves_little(self):
        draw = random.Random(1)
        weights = {f"cluster-{number:02}": draw.randint(10, 100) for number in range(40)}
        with harness.temporary_home() as home:
            before = self.plan(weights, 4)
            self.assertEqual(before["moves"], [])
            (home / "plan.json").write_text(json.dumps(before))
            self.assertEqual(self.plan(weights, 4, "--current", str(home / "plan.json"))["moves"], [])
            at = {item["cluster"]: item["shard"] for item in before["assignments"]}
            for replicas in (5, 3):
                after = self.plan(weights, replicas, "--current", str(home / "plan.json"))
                now = {item["cluster"]: item["shard"] for item in after["assignments"]}
                moves = {move["cluster"]: (move["from"], move["to"]) for move in after["moves"]}
                self.assertEqual(moves, {name: (at[name], now[name]) for name in weights if at[name] != now[name]})
                moved, share = sum(weights[name] for name in moves), sum(weights.values()) / max(replicas, 4)
                print(f"4 to {replicas} shards: moved {moved} of {sum(weights.values())}, a shard's share is {share:.0f}")
                self.assertLessEqual(moved, 1.25 * share + 2 * max(weights.values()))


if __name__ == "__main__":
    harness.main_in_parallel()
