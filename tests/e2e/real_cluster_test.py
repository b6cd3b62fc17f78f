"""The distribution on a Kubernetes API server that is not ours: EVENKEEL_E2E_KUBECONFIG names its kubeconfig.

The test needs no kubelet and no controller there: it starts the replicas itself, one `evenkeel run` process each, in the place of the
Deployment's pods. It works in a namespace of its own and removes it. The server itself and two embedded API servers are the members.
"""
import base64
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import unittest

import harness
from fleet_under_test import CONFIG_MAP, FleetUnderTest, http_get

KUBECONFIG = os.environ.get("EVENKEEL_E2E_KUBECONFIG", "")
HEARTBEAT = 10


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


def cluster_of(kubectl):
    """(server, config) of a kubeconfig's current context, as a cluster Secret of Argo CD has them."""
    view = kubectl.json("config", "view", "--raw", "--flatten", "--minify")
    cluster, user = view["clusters"][0]["cluster"], view["users"][0]["user"]
    tls = {"caData": cluster.get("certificate-authority-data"), "certData": user.get("client-certificate-data"),
           "keyData": user.get("client-key-data"), "serverName": cluster.get("tls-server-name"),
           "insecure": cluster.get("insecure-skip-tls-verify")}
    config = {"bearerToken": user.get("token"), "username": user.get("username"), "password": user.get("password"),
              "tlsClientConfig": {key: value for key, value in tls.items() if value}}
    return cluster["server"], json.dumps({key: value for key, value in config.items() if value})


class RealFleet(FleetUnderTest):
    """Replicas are processes of this test."""

    def __init__(self, kubectl, home, namespace):
        super().__init__(kubectl, home, namespace)
        self.processes, self.ports, self.members, self.count = {}, {}, [], 0

    def create(self):
        self.kubectl("create", "namespace", self.namespace)
        template = {"metadata": {"labels": {"app": "evenkeel-controller"}},
                    "spec": {"containers": [{"name": "controller", "image": "evenkeel", "args": ["--sharding-method=round-robin"]}]}}
        # Paused: a server that has a Deployment controller must not start pods of it.
        self.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "evenkeel-controller"},
                    "spec": {"replicas": 3, "paused": True, "selector": {"matchLabels": template["metadata"]["labels"]},
                             "template": template}})
        self.secret("real", *cluster_of(self.kubectl))
        for name in ("embedded-1", "embedded-2"):
            member = harness.Program(self.home / name, "apiserver", "--store", "memory", "--port", "0", "--data-dir",
                                     str(self.home / name))
            self.members.append(member)
            member.wait_for_output("serving", 20)
            self.secret(name, *cluster_of(harness.Kubectl(self.kubectl.path, self.home / name / "kubeconfig")))

    def apply(self, manifest):
        self.kubectl_here("apply", "-f", "-", stdin=json.dumps(manifest))

    def secret(self, name, server, config, **data):
        self.apply({"apiVersion": "v1", "kind": "Secret",
                    "metadata": {"name": name, "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
                    "stringData": {"name": name, "server": server, "config": config, **data}})

    def start(self):
        self.count += 1
        name = f"evenkeel-controller-{self.count}-{secrets.token_hex(3)}"
        self.ports[name] = free_port()
        self.processes[name] = harness.Program(
            self.home / name, "run", "-n", self.namespace, "--metrics-address", "127.0.0.1", "--metrics-port", str(self.ports[name]),
            env={"KUBECONFIG": str(self.kubectl.kubeconfig), "POD_NAME": name, "HOSTNAME": name,
                 "ARGOCD_ENABLE_DYNAMIC_CLUSTER_DISTRIBUTION": "true", "ARGOCD_CONTROLLER_SHARDING_ALGORITHM": "round-robin",
                 "ARGOCD_CONTROLLER_HEARTBEAT_TIME": str(HEARTBEAT)})
        return name

    def end(self, name, how=signal.SIGTERM):
        self.processes.pop(name).stop(how)

    def replicas(self):
        urls = {name: f"http://127.0.0.1:{self.ports[name]}" for name in self.processes}
        return {name: url for name, url in urls.items() if http_get(url + "/readyz")[0] == 200}

    def delete(self):
        for name in list(self.processes):
            process = self.processes.pop(name)
            process.stop(signal.SIGKILL)
        for member in self.members:
            member.stop()
        self.kubectl_here("delete", "secrets,configmaps,deployments,events", "--all", check=False)
        self.kubectl("delete", "namespace", self.namespace, "--wait=false", check=False)

        def gone():
            return self.kubectl.run("get", "namespace", self.namespace, check=False).returncode != 0
        try:
            harness.eventually(gone, 5)
        except AssertionError:
            # No namespace controller here: the empty namespace is finalized by hand.
            namespace = self.kubectl.json("get", "namespace", self.namespace)
            namespace["spec"]["finalizers"] = []
            self.kubectl("replace", "--raw", f"/api/v1/namespaces/{self.namespace}/finalize", "-f", "-", stdin=json.dumps(namespace))
            harness.eventually(gone, 30, f"the namespace {self.namespace} is gone")


class RealClusterTest(unittest.TestCase):
    clusters = ["embedded-1", "embedded-2", "real"]

    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        path = harness.any_kubectl()
        # A copy, so that nothing of the test ends up beside the original.
        view = subprocess.run([path, "--kubeconfig", KUBECONFIG, "config", "view", "--raw", "--flatten", "--minify"], capture_output=True,
                              text=True, check=True)
        kubeconfig = home / "hub.kubeconfig"
        kubeconfig.touch(mode=0o600)
        kubeconfig.write_text(view.stdout)
        cls.fleet = RealFleet(harness.Kubectl(path, kubeconfig), home, f"evenkeel-e2e-{secrets.token_hex(3)}")
        version = cls.fleet.kubectl.json("version")["serverVersion"]["gitVersion"]
        print(f"API server {version} at {cluster_of(cls.fleet.kubectl)[0]}, namespace {cls.fleet.namespace}")
        cls.addClassCleanup(cls.fleet.delete)
        cls.fleet.create()
        for _ in range(3):
            cls.fleet.start()

    def settle(self, replicas=3, clusters=None, seconds=45, what="settled"):
        begin = time.monotonic()
        owners = harness.eventually(lambda: self.fleet.settled(replicas, clusters or self.clusters), seconds, what)
        print(f"{what}: {time.monotonic() - begin:.1f} s, {({cluster: names[0][-6:] for cluster, names in sorted(owners.items())})}")
        return owners

    def test_1_three_replicas_share_the_members_one_owner_each(self):
        owners = self.settle(what="3 replicas started")
        self.assertEqual(len({names[0] for names in owners.values()}), 3)

    def test_2_scales_3_to_5_to_2(self):
        self.settle()
        self.fleet.scale(5)
        names = [self.fleet.start(), self.fleet.start()]
        self.settle(5, what="scaled 3 to 5")
        self.fleet.scale(2)
        for name in [*names, next(name for name in self.fleet.processes if name not in names)]:
            self.fleet.end(name)
        owners = self.settle(2, what="scaled 5 to 2")
        self.assertEqual(len({name[0] for name in owners.values()}), 2)
        self.fleet.scale(3)
        self.fleet.start()
        self.settle(3, what="scaled 2 to 3")
        self.assertTrue(self.fleet.events("OwnerChanged"))

    def test_3_a_killed_owner_is_replaced_after_three_heartbeats(self):
        owners = self.settle()
        lost = owners["real"][0]
        shard = next(claim["ShardNumber"] for claim in self.fleet.claims() if claim["ControllerName"] == lost)
        self.fleet.end(lost, signal.SIGKILL)
        begin = time.monotonic()
        self.fleet.start()
        harness.eventually(lambda: self.fleet.holder(shard) not in ("", lost), 60)
        took = time.monotonic() - begin
        print(f"kill -9: taken over after {took:.1f} s")
        self.assertGreater(took, 3 * HEARTBEAT - HEARTBEAT - 1, "the dead replica's last heartbeat may be one heartbeat old")
        self.assertLess(took, 4 * HEARTBEAT + 2)
        self.settle(what="after kill -9")

    def test_4_a_frozen_owner_lets_go_before_it_does_anything_else(self):
        owners = self.settle()
        frozen = owners["embedded-1"][0]
        process = self.fleet.processes.pop(frozen)
        url = f"http://127.0.0.1:{self.fleet.ports[frozen]}"
        process.process.send_signal(signal.SIGSTOP)
        try:
            self.fleet.start()
            self.settle(seconds=60, what="owner frozen, replaced")
        finally:
            process.process.send_signal(signal.SIGCONT)
        begin = time.monotonic()

        def owns_nothing():
            status, metrics = http_get(url + "/metrics")
            return status == 200 and "evenkeel_cluster_owner{" not in metrics
        harness.eventually(owns_nothing, 5)
        print(f"thawed: let go within {time.monotonic() - begin:.2f} s")
        harness.eventually(lambda: http_get(url + "/readyz")[0] == 200, 15, "the thawed replica is ready, as a spare")
        self.assertTrue(owns_nothing())
        process.stop()
        self.settle()

    def test_5_survives_a_meddled_shard_config_map(self):
        self.settle()
        for value in ('[{"Shard', None, '[{"ShardNumber":7,"ControllerName":"ghost","HeartbeatTime":null}]'):
            patch = {"data": None if value is None else {"shardControllerMapping": value}}
            self.fleet.kubectl_here("patch", "configmap", CONFIG_MAP, "--type=merge", "-p", json.dumps(patch))
            self.settle(what=f"mapping {value}")
        self.assertTrue(harness.eventually(lambda: self.fleet.events("ShardMappingRepaired"), 10))
        self.fleet.kubectl_here("delete", "configmap", CONFIG_MAP)
        self.settle(what="ConfigMap deleted")

    def test_6_names_what_is_wrong_with_a_cluster_and_goes_on(self):
        self.settle()
        server, config = cluster_of(self.fleet.kubectl)
        self.fleet.secret("broken-config", "https://127.0.0.1:1", '{"bearerToken":"never-tell-this",')
        self.fleet.secret("unreachable", "https://127.0.0.1:2", config)
        self.fleet.secret("twin", server + "/", config, shard="1")
        self.fleet.secret("pinned-high", "https://127.0.0.1:4", config, shard="99")
        self.settle(3, self.clusters + ["broken-config", "unreachable", "pinned-high"], what="4 faulty Secrets")

        def told():
            items = self.fleet.kubectl.json("-n", self.fleet.namespace, "get", "events")["items"]
            found = {(event["involvedObject"]["name"], event["reason"]) for event in items if event["type"] == "Warning"}
            wanted = {("broken-config", "InvalidClusterSecret"), ("unreachable", "ClusterUnreachable"),
                      ("pinned-high", "ShardOutOfRange")}
            assert wanted <= found, wanted - found
            assert any(reason == "DuplicateServer" for _, reason in found), found
            return True
        harness.eventually(told, 30)
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
        owners = self.settle()
        self.fleet.end(owners["real"][0])
        self.fleet.start()
        self.settle(seconds=10, what="SIGTERM and a new replica")


if __name__ == "__main__":
    if not KUBECONFIG:
        print("skipped: EVENKEEL_E2E_KUBECONFIG is not set; give it the kubeconfig of an API server to test against")
        sys.exit(77)
    harness.main()
