"""The distribution on a Kubernetes API server that is not ours: EVENKEEL_E2E_KUBECONFIG names its kubeconfig.

The tests need no kubelet and no controller there: they start the replicas themselves, one `evenkeel run` process each, in the place of the
Deployment's pods. They work in a namespace of their own and remove it. The server itself and embedded API servers are the members.

A server that the caller has started may be restarted: EVENKEEL_E2E_RESTART names a program that starts it (PROGRAM start DIRECTORY PORT)
and stops it (PROGRAM stop DIRECTORY), where DIRECTORY is the kubeconfig's. Without it that test is skipped.
"""
import base64
import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import time
import unittest

import harness
import real_api
import survivors
from coordination_scenarios import LONG, CoordinationScenarios
from fleet_under_test import CONFIG_MAP, http_get
from history import seconds_of
from process_fleet import ProcessFleet, cluster_of

RESTART = os.environ.get("EVENKEEL_E2E_RESTART", "")
HEARTBEAT = 10


def start_fleet(test_class, members, compatible):
    """Three replicas, in a namespace of their own."""
    home = test_class.enterClassContext(harness.temporary_home())
    fleet = ProcessFleet(real_api.kubectl_for(home), home, f"evenkeel-e2e-{secrets.token_hex(3)}", compatible)
    print(f"namespace {fleet.namespace}")
    test_class.addClassCleanup(fleet.delete)
    fleet.create(members, hub_as="real")
    for _ in range(3):
        fleet.start()
    return fleet


class RealCoordinationTest(CoordinationScenarios, unittest.TestCase):
    """Coordinated mode."""

    clusters = ["real", "embedded-1", "embedded-2", "embedded-3", "embedded-4", "embedded-5"]

    @classmethod
    def setUpClass(cls):
        cls.fleet = start_fleet(cls, cls.clusters[1:], compatible=False)
        harness.eventually(cls.fleet.plan, LONG, "a plan")
        cls.fleet.follow_members(hub_as="real")

    @staticmethod
    def owner_of_real(owners):
        return owners["real"]

    def test_1_scales_3_to_5_to_2(self):
        self.scales_3_to_5_to_2()

    def test_2_hands_over_upon_sigterm(self):
        self.hands_over_upon_sigterm(self.owner_of_real)

    def test_3_replaces_a_killed_owner(self):
        self.replaces_a_killed_owner(self.owner_of_real)

    def test_4_a_frozen_owner_does_nothing_when_it_goes_on(self):
        self.lets_a_frozen_owner_do_nothing()

    def test_5_the_hub_restarts(self):
        if not RESTART:
            self.skipTest("EVENKEEL_E2E_RESTART is not set; give it the program that stops and starts the API server")
        directory = pathlib.Path(real_api.KUBECONFIG).resolve().parent
        port = re.search(r":(\d+)$", cluster_of(self.fleet.kubectl)[0]).group(1)

        def call(*arguments):
            # The server is the caller's: it stays when this suite has ended.
            subprocess.run([RESTART, *arguments], check=True, stdout=subprocess.DEVNULL, timeout=300, env=survivors.environment_to_survive())
        self.keeps_owners_while_the_hub_is_away(lambda: call("stop", str(directory)), lambda: call("start", str(directory), port),
                                                hub_as="real")


class RealClaimsTest(unittest.TestCase):
    """Compatible mode."""

    clusters = ["embedded-1", "embedded-2", "real"]

    @classmethod
    def setUpClass(cls):
        cls.fleet = start_fleet(cls, ["embedded-1", "embedded-2"], compatible=True)

    def settle(self, replicas=3, unreachable=(), what="settled"):
        begin = time.monotonic()
        owners = harness.eventually(lambda: self.fleet.settled(replicas, self.clusters, unreachable), LONG, what)
        print(f"{what}: {time.monotonic() - begin:.1f} s, {({cluster: names[0][-6:] for cluster, names in sorted(owners.items())})}")
        return owners

    def test_1_three_replicas_share_the_members_one_owner_each(self):
        owners = self.settle(what="3 replicas started")
        self.assertEqual(len({names[0] for names in owners.values()}), 3)

    def test_2_scales_3_to_5_to_2(self):
        self.settle()
        self.fleet.scale_to(5)
        self.settle(5, what="scaled 3 to 5")
        self.fleet.scale_to(2)
        owners = self.settle(2, what="scaled 5 to 2")
        self.assertEqual(len({name[0] for name in owners.values()}), 2)
        self.fleet.scale_to(3)
        self.settle(3, what="scaled 2 to 3")
        self.assertTrue(self.fleet.events("OwnerChanged"))

    def test_3_a_killed_owner_is_replaced_after_three_heartbeats(self):
        owners = self.settle()
        lost = owners["real"][0]
        shard = next(claim["ShardNumber"] for claim in self.fleet.claims() if claim["ControllerName"] == lost)
        self.fleet.kill(lost)
        begin, last = time.monotonic(), self.fleet.claim(shard)
        self.assertEqual(last["ControllerName"], lost)
        self.fleet.start()

        def taken():
            claim = self.fleet.claim(shard)
            assert claim["ControllerName"] not in ("", lost), claim
            return claim
        claim = harness.eventually(taken, LONG)
        print(f"kill -9: taken over after {time.monotonic() - begin:.1f} s")
        silent = seconds_of(claim["HeartbeatTime"]) - seconds_of(last["HeartbeatTime"])
        self.assertGreaterEqual(silent, 3 * HEARTBEAT - 1, "times are whole seconds")
        self.settle(what="after kill -9")

    def test_4_a_frozen_owner_lets_go_before_it_does_anything_else(self):
        owners = self.settle()
        frozen = owners["embedded-1"][0]
        process = self.fleet.processes.pop(frozen)
        self.addCleanup(process.stop, signal.SIGKILL)
        url = f"http://127.0.0.1:{self.fleet.ports[frozen]}"
        process.process.send_signal(signal.SIGSTOP)
        try:
            self.fleet.start()
            self.settle(what="owner frozen, replaced")
        finally:
            process.process.send_signal(signal.SIGCONT)
        begin = time.monotonic()

        def owns_nothing():
            status, metrics = http_get(url + "/metrics")
            return status == 200 and "evenkeel_cluster_owner{" not in metrics
        harness.eventually(owns_nothing, LONG)
        print(f"thawed: let go within {time.monotonic() - begin:.2f} s")
        harness.eventually(lambda: http_get(url + "/readyz")[0] == 200, LONG, "the thawed replica is ready, as a spare")
        self.assertTrue(owns_nothing())
        process.stop()
        self.settle()

    def test_5_survives_a_meddled_shard_config_map(self):
        self.settle()
        for value in ('[{"Shard', None, '[{"ShardNumber":7,"ControllerName":"ghost","HeartbeatTime":null}]'):
            patch = {"data": None if value is None else {"shardControllerMapping": value}}
            self.fleet.kubectl_here("patch", "configmap", CONFIG_MAP, "--type=merge", "-p", json.dumps(patch))
            self.settle(what=f"mapping {value}")
        self.assertTrue(harness.eventually(lambda: self.fleet.events("ShardMappingRepaired"), LONG))
        self.fleet.kubectl_here("delete", "configmap", CONFIG_MAP)
        self.settle(what="ConfigMap deleted")

    def test_6_names_what_is_wrong_with_a_cluster_and_goes_on(self):
        self.settle()
        server, config = cluster_of(self.fleet.kubectl)
        self.fleet.secret("broken-config", name="broken-config", server="https://127.0.0.1:1", config='{"bearerToken":"never-tell-this",')
        self.fleet.secret("unreachable", name="unreachable", server="https://127.0.0.1:2", config=config)
        self.fleet.secret("twin", name="twin", server=server + "/", config=config, shard="1")
        self.fleet.secret("pinned-high", name="pinned-high", server="https://127.0.0.1:4", config=config, shard="99")
        self.settle(3, ["broken-config", "unreachable", "pinned-high"], what="4 faulty Secrets")

        def told():
            found = self.fleet.warnings()
            wanted = {("broken-config", "InvalidClusterSecret"), ("unreachable", "ClusterUnreachable"),
                      ("pinned-high", "ShardOutOfRange")}
            assert wanted <= found, wanted - found
            assert any(reason == "DuplicateServer" for _, reason in found), found
            return True
        harness.eventually(told, LONG)
        everything = self.fleet.kubectl_here("get", "events", "-o", "json")
        everything += "".join(process.output() for process in self.fleet.processes.values())
        self.assertNotIn("never-tell-this", everything)
        token = json.loads(config).get("bearerToken")
        if token:
            self.assertNotIn(token, everything)
        self.assertNotIn(base64.b64encode(b"never-tell-this").decode(), everything)
        self.assertIn("does not exist with 3 replicas", self.fleet.evenkeel("explain", "cluster", "pinned-high"))
        for name in ("broken-config", "unreachable", "twin", "pinned-high"):
            self.fleet.kubectl_here("delete", "secret", name)
        self.settle(what="faulty Secrets deleted")

    def test_7_hands_over_at_once_when_it_ends(self):
        lost = self.settle()["real"][0]
        shard = next(claim["ShardNumber"] for claim in self.fleet.claims() if claim["ControllerName"] == lost)
        begin = time.monotonic()
        self.fleet.end(lost)
        harness.eventually(lambda: self.fleet.holder(shard) not in ("", lost), LONG)
        # A claim that is not given back is taken when its heartbeat, which may have been one heartbeat old, is three of them old.
        self.assertLess(time.monotonic() - begin, 2 * HEARTBEAT)
        self.settle(what="SIGTERM and a new replica")


if __name__ == "__main__":
    real_api.main()
