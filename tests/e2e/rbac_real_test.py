"""The rights that deploy/ gives are enough, and each of them is needed, on a Kubernetes API server that is not ours and has the RBAC
authorizer: EVENKEEL_E2E_KUBECONFIG names its kubeconfig. It is hub and member in one, with the two accounts of deploy/; the rest of a
cluster is played, so the server must be a bare one, without Evenkeel. What the test makes there it removes.

All four controllers run with the arguments of the Deployment in deploy/, with exactly the shipped roles, and nothing is refused. Then they
run again without any rights. What the server refuses is allowed from then on, if a shipped role allows it. So each right is missed once, by
a program that runs, for something that no other right allows; what is left over at the end is needed by nobody.
"""
import contextlib
import json
import unittest

import deploy_files
import harness
import real_api
from autoscaled_cluster import PRIORITIES, STATE, STATUS
from fleet_under_test import CLUSTER_LABEL
from played_karmada import DEFINITIONS as KARMADA
from played_parts import DEFINITIONS as MACHINES
from played_parts import condition, definition
from process_fleet import cluster_of, remove_namespace
from rbac_fleet import MEMBER, NAMESPACE, Fleet
from rbac_steps import ENSEMBLE, NODES, TOKENS, WORK, Steps, at_once
from rollout_scenarios import CLUSTERS

POOL = definition("MachinePool", "machinepools", True)
TEMPLATE = definition("E2eMachineTemplate", "e2emachinetemplates", False)
TEMPLATE["metadata"]["name"] = "e2emachinetemplates.infrastructure.cluster.x-k8s.io"
TEMPLATE["spec"]["group"] = "infrastructure.cluster.x-k8s.io"
# What a cluster Secret says of a token that its member's owner renews at once.
TOKEN_DUE = {"account": f"{NAMESPACE}/{MEMBER}", "issued": "2020-01-01T00:00:00Z", "expires": "2020-01-02T00:00:00Z"}
# Roles by what they are for.
ALWAYS = ("evenkeel-controller", "evenkeel-member", "evenkeel-member-token")
DASHBOARD = ("evenkeel-controller-dashboard", "evenkeel-member-dashboard")
CLUSTER_API, ZOOKEEPER, KWOK = ("evenkeel-member-clusterapi",), ("evenkeel-member-zookeeper",), ("evenkeel-member-kwok",)
COMPATIBLE = ("evenkeel-controller-compatible",)
OVERLAYS = ("karmada", "dashboard", "compatible", "member", "member-kwok", "member-dashboard")


def listed(objects):
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


class RolesTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.kubectl = kubectl = real_api.bare_kubectl_for(cls.home)
        if kubectl.exists("get", "namespace", NAMESPACE):
            raise unittest.SkipTest(f"{cluster_of(kubectl)[0]} has a namespace {NAMESPACE}, which this test makes and removes")
        stranger = kubectl.run("auth", "can-i", "list", "secrets", "--as=system:serviceaccount:default:stranger", check=False)
        if stranger.stdout.strip() != "no":
            raise unittest.SkipTest(f"{cluster_of(kubectl)[0]} has no RBAC authorizer")
        cls.had = set(kubectl("get", "customresourcedefinitions", "-o", "name").split())
        cls.addClassCleanup(cls.clean_up)
        cls.install()
        cls.fleet = Fleet(kubectl, cls.home)
        secret = {"name": "member", "server": cls.fleet.proxies[MEMBER].url, "config": json.dumps({"bearerToken": cls.fleet.tokens[MEMBER]})}
        labels = {**CLUSTER_LABEL, "evenkeel.dev/token": "renewed"}
        cls.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "member", "namespace": NAMESPACE, "labels": labels},
                    "stringData": secret}])
        cls.make_token_due()
        cls.steps = Steps(kubectl, cls.home, cls.fleet)
        for name in NODES:
            cls.steps.make_node(name)

    @classmethod
    def make_token_due(cls):
        annotations = {f"evenkeel.dev/token-{name}": value for name, value in TOKEN_DUE.items()}
        cls.kubectl("-n", NAMESPACE, "annotate", "--overwrite", "secret", "member", *(f"{name}={value}" for name, value in annotations.items()))

    @classmethod
    def apply(cls, objects):
        cls.kubectl("apply", "-f", "-", stdin=listed(objects))

    @classmethod
    def install(cls):
        kubectl = cls.kubectl
        cls.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (WORK, ENSEMBLE, TOKENS)])
        cls.apply([*MACHINES, POOL, TEMPLATE])
        kubectl("apply", "-f", str(KARMADA))
        hub, cls.other_hub = ("hub", "hub-1.20") if "policy/v1" in kubectl("api-versions").split() else ("hub-1.20", "hub")
        for name in (hub, *OVERLAYS):
            cls.apply(deploy_files.overlay(name))
        kubectl("wait", "--for=condition=Established", "--timeout=180s", "customresourcedefinitions", "--all")
        for name in CLUSTERS:
            harness.eventually(lambda name=name: cls.make_cluster(name), 180)
        cls.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "e2e-far", "namespace": TOKENS}, "stringData": {"token": "none"}}])

    @classmethod
    def make_cluster(cls, name):
        cluster = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": {"syncMode": "Push"}}
        cls.kubectl("apply", "-f", "-", stdin=json.dumps(cluster))
        cluster = cls.kubectl.json("get", "clusters.cluster.karmada.io", name)
        cluster["status"] = {"conditions": [condition("Ready", "True", reason="ClusterReady")]}
        path = f"/apis/cluster.karmada.io/v1alpha1/clusters/{name}/status"
        return cls.kubectl("replace", "--raw", path, "-f", "-", stdin=json.dumps(cluster))

    @classmethod
    def clean_up(cls):
        kubectl = cls.kubectl
        if hasattr(cls, "steps"):
            cls.steps.close()
        if hasattr(cls, "fleet"):
            with contextlib.suppress(AssertionError):
                cls.fleet.stop()
        for name in (*OVERLAYS, "hub"):
            things = [thing for thing in deploy_files.overlay(name) if thing["kind"] not in ("Namespace", "CustomResourceDefinition")]
            things = [{**thing, "apiVersion": "policy/v1beta1"} if thing["kind"] == "PodDisruptionBudget" else thing for thing in things]
            kubectl("delete", "-f", "-", "--ignore-not-found", stdin=listed(things), check=False)
        kubectl("-n", "kube-system", "delete", "configmap", STATUS, STATE, PRIORITIES, "kwok-provider-config", "kwok-provider-templates",
                "--ignore-not-found", check=False)
        kubectl("-n", "kube-system", "delete", "lease", "evenkeel-owner", "--ignore-not-found", check=False)
        kubectl("delete", "nodes", "--all", check=False)
        for namespace in (NAMESPACE, WORK, ENSEMBLE, TOKENS, "default"):
            kubectl("-n", namespace, "delete", "events", "--all", check=False)
        made = set(kubectl("get", "customresourcedefinitions", "-o", "name").split()) - cls.had
        if made:
            kubectl("delete", "--wait=false", *sorted(made), check=False)
        for namespace in (NAMESPACE, WORK, ENSEMBLE, TOKENS):
            kubectl("-n", namespace, "delete", "replicasets,statefulsets,poddisruptionbudgets,pods,services,configmaps,secrets,leases,serviceaccounts,"
                    "persistentvolumeclaims", "--all", "--grace-period=0", "--force", "--wait=false", check=False)
        remove_namespace(kubectl, NAMESPACE, WORK, ENSEMBLE, TOKENS)

    def forget(self):
        """What replicas have made, so that others make it anew."""
        self.make_token_due()
        self.kubectl("-n", NAMESPACE, "delete", "shardplans,shardreplicas,leases", "--all")
        self.kubectl("-n", "kube-system", "delete", "configmap", STATUS, STATE, PRIORITIES, "--ignore-not-found")
        self.kubectl("-n", "kube-system", "delete", "lease", "evenkeel-owner", "--ignore-not-found")
        self.kubectl("delete", "resourceinterpreterwebhookconfigurations", "--all")

    def run_steps(self, *chains, then=()):
        try:
            at_once([self.steps.own, self.steps.renew_the_token])
            at_once(*chains)
            at_once(then)
        finally:
            self.fleet.stop()
            self.forget()

    def test_1_the_server_takes_everything_in_deploy(self):
        kubectl = self.kubectl
        served = kubectl("api-versions").split()
        for name in sorted(directory.name for directory in deploy_files.OVERLAYS.iterdir()):
            if name != self.other_hub:
                kubectl("apply", "--dry-run=server", "-f", "-", stdin=listed(deploy_files.overlay(name)))
        objects, _ = deploy_files.chart(served, member={"enabled": True}, karmada={"readSecrets": True}, dashboard={"enabled": True},
                                        compatible={"enabled": True})
        kubectl("apply", "--dry-run=server", "-f", "-", stdin=listed(objects))
        kubectl("apply", "--dry-run=server", "-f", str(deploy_files.CHART / "crds/definitions.yaml"))
        print(f"{self.other_hub} is not for this server")

    def test_2_with_exactly_the_shipped_roles_nothing_is_refused(self):
        steps, fleet = self.steps, self.fleet
        fleet.use(bound=ALWAYS + DASHBOARD + CLUSTER_API + ZOOKEEPER)
        for _ in range(2):
            fleet.start()
        self.run_steps([steps.distribute, steps.roll_out], steps.of_member(), [steps.look, steps.look_closer], [steps.run_zookeeper],
                       then=[steps.hand_over])
        self.assertEqual(fleet.refused(), [])

    def test_3_without_rights_each_is_missed(self):
        steps = self.steps
        self.fleet.use(learned=ALWAYS + DASHBOARD + CLUSTER_API)
        for _ in range(2):
            self.fleet.start(without=["--zookeeper"])
        self.run_steps([steps.distribute, steps.roll_out], steps.of_member(), [steps.look, steps.look_closer], then=[steps.hand_over])

    def test_4_so_is_each_of_what_else_can_be_switched_on(self):
        steps = self.steps
        self.fleet.use(bound=ALWAYS, learned=DASHBOARD[:1] + ZOOKEEPER + KWOK + COMPATIBLE)
        self.kubectl("-n", NAMESPACE, "scale", "deployment", "evenkeel-controller", "--replicas=1")
        self.fleet.start(provider="kwok", more=["--sharding-mode=compatible", "--dynamic-cluster-distribution-enabled",
                                                "--sharding-method=consistent-hashing"])
        self.run_steps([steps.run_zookeeper], [steps.make_nodes_without_machines], [steps.look_at_claims])

    def test_5_nothing_was_missing_and_nothing_is_superfluous(self):
        output = self.fleet.output().replace("\\", "")
        for account, roles in self.fleet.roles.items():
            self.assertEqual(roles.unknown, [], f"{account} was refused what no role allows")
            left = [atom for atom in roles.not_missed() if self.steps.has_devices() or atom.group != "resource.k8s.io"]
            self.assertEqual(left, [], f"nobody needs these rules of {account}")
            silent = [f"{atom.verb} {atom.resource}" for atom, message in sorted(roles.missed.items()) if message not in output]
            print(f"{account}: {len(roles.missed)} rights, each missed once; not told in a log: {', '.join(silent)}")

    def tearDown(self):
        self.fleet.stop()
        self.assertEqual(self.steps.world.failures + self.steps.karmada.failures, [])


if __name__ == "__main__":
    real_api.main()
