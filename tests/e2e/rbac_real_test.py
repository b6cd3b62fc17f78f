"""The rights that deploy/ gives are enough, and each of them is needed, on a Kubernetes API server that is not ours and has the RBAC
authorizer: EVENKEEL_E2E_KUBECONFIG names its kubeconfig. It is hub and member in one, with the two accounts of deploy/; the rest of a
cluster is played, so the server must be a bare one, without Evenkeel. What the test makes there it removes.

All four controllers run with the arguments of the Deployment in deploy/. At first they have no rights. Whatever the server refuses is
allowed from then on, if the shipped roles allow it. So every rule is missed once, by the program that runs, and what is left over at the
end is needed by nobody. Then they run again with exactly the shipped roles, and nothing is refused.
"""
import base64
import contextlib
import json
import secrets
import signal
import time
import unittest

import deploy_files
import harness
import real_api
from autoscaled_cluster import PRIORITIES, STATE, STATUS, AutoscaledCluster, budget, replicated
from fleet_under_test import CLUSTER_LABEL, http_get
from played_karmada import DEFINITIONS as KARMADA
from played_karmada import PlayedKarmada
from played_parts import DEFINITIONS as MACHINES
from played_parts import DELETE_MACHINE, PROVIDER_ID, Api, PlayedCluster, condition, definition, machine_deployment, now
from process_fleet import cluster_of, free_port, remove_namespace
from recording_proxy import RecordingProxy
from rollout_scenarios import CLUSTERS, Bench, spec
from shipped_roles import ShippedRoles

NAMESPACE, WORK, ENSEMBLE, TOKENS = "evenkeel", "evenkeel-e2e-work", "evenkeel-e2e-ensemble", "karmada-cluster"
HUB, MEMBER = "evenkeel-controller", "evenkeel-member"
OPTIONAL = ("evenkeel-member-zookeeper", "evenkeel-member-kwok")
NODES = ("e2e-1", "e2e-2", "e2e-3")
FAST = ["--scan-interval=1s", "--scale-down-delay-after-add=2s", "--scale-down-unneeded-time=3s", "--unremovable-node-recheck-timeout=1s",
        "--node-delete-delay-after-taint=1s", "--max-node-startup-time=2s", "--scale-down-delay-after-failure=2s",
        "--initial-node-group-backoff-duration=1s", "--max-node-group-backoff-duration=1s", "--expander=priority,least-waste"]
TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [], "expirationSeconds": 7200}}
POOL = definition("MachinePool", "machinepools", True)
TEMPLATE = definition("E2eMachineTemplate", "e2emachinetemplates", False)
TEMPLATE["metadata"]["name"] = "e2emachinetemplates.infrastructure.cluster.x-k8s.io"
TEMPLATE["spec"]["group"] = "infrastructure.cluster.x-k8s.io"
KWOK_CONFIG = """
apiVersion: v1alpha1
readNodesFrom: configmap
nodegroups: {fromNodeLabelKey: pool}
nodes: {skipTaint: true}
configmap: {name: kwok-provider-templates}
"""
LONG = 120


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "kube-system"}, "data": data}


def kwok_template(name):
    room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": room, "capacity": room}, "metadata": {
        "name": f"template-{name}", "labels": {"pool": name},
        "annotations": {"cluster-autoscaler.kwok.nodegroup/min-count": "0", "cluster-autoscaler.kwok.nodegroup/max-count": "3"}}}


class Fleet:
    """Replicas as the Deployment in deploy/ starts them, the proxies between them and the server, and what their accounts may do."""

    def __init__(self, kubectl, home):
        self.kubectl, self.home, self.replicas, self.learning = kubectl, home, [], True
        view = kubectl.json("config", "view", "--raw", "--flatten", "--minify")
        authority = base64.b64decode(view["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        has_policy_v1 = kubectl.run("get", "--raw", "/apis/policy/v1", check=False).returncode == 0
        self.roles, self.proxies, self.tokens = {}, {}, {}
        for account in (HUB, MEMBER):
            self.roles[account] = ShippedRoles(kubectl, Api(kubectl, home), account)
            self.proxies[account] = RecordingProxy(cluster_of(kubectl)[0], authority, has_policy_v1, self.refusals_of(account))
            path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
            self.tokens[account] = json.loads(kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(TOKEN)))["status"]["token"]
        self.kubeconfig = home / "hub.kubeconfig"
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "hub",
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "hub"}}],
            "clusters": [{"name": "hub", "cluster": {"server": self.proxies[HUB].url}}],
            "users": [{"name": "hub", "user": {"token": self.tokens[HUB]}}]}))

    def refusals_of(self, account):
        def refused(request, message):
            if self.learning:
                self.roles[account].grant(request, message)
        return refused

    def start(self, provider="clusterapi", without=()):
        deployment = next(thing for thing in deploy_files.overlay("hub") if thing["kind"] == "Deployment")
        shipped = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        arguments = [argument.replace("$(POD_NAMESPACE)", NAMESPACE) for argument in shipped
                     if argument not in without and not argument.startswith(("--webhook-url=", "--cloud-provider="))]
        name, port = f"{HUB}-{secrets.token_hex(3)}", free_port()
        program = harness.Program(self.home / name, *arguments, f"--cloud-provider={provider}", *FAST, "--webhook-address=127.0.0.1",
                                  "--webhook-port=0", "--metrics-address=127.0.0.1", f"--metrics-port={port}",
                                  env={"KUBECONFIG": str(self.kubeconfig), "POD_NAME": name, "HOSTNAME": name})
        self.replicas.append((program, f"http://127.0.0.1:{port}"))

    def owners(self):
        return sum(http_get(url + "/metrics")[1].count('evenkeel_cluster_owner{cluster="member"') for _, url in self.replicas)

    def stop(self):
        replicas, self.replicas = self.replicas, []
        for program, _ in replicas:
            program.process.send_signal(signal.SIGTERM)
        for program, _ in replicas:
            program.stop()

    def output(self):
        return "".join(path.read_text() for path in sorted(self.home.glob(f"{HUB}-*/output-*.log")))

    def refused(self):
        return [refusal for proxy in self.proxies.values() for refusal in proxy.refused]


class Steps:
    """Everything that the controllers do somewhere. Each step leaves nothing behind that would keep it from being taken again."""

    def __init__(self, kubectl, home, fleet):
        self.kubectl, self.fleet, self.round = kubectl, fleet, 0
        self.work = AutoscaledCluster(kubectl, namespace=WORK, group_label="pool", scaled="replicaset")
        self.bench = Bench(kubectl, home, ENSEMBLE)
        self.world, self.karmada = PlayedCluster(kubectl, home, WORK), PlayedKarmada(kubectl, home, ENSEMBLE)
        self.world.plays_machines = True
        self.world.start()
        self.karmada.start()

    def close(self):
        self.world.close()
        self.karmada.close()

    def items(self, kind, *where):
        return self.kubectl.json("get", kind, *where)["items"]

    def events(self, name, *reasons):
        return [event for event in self.items("events", "--all-namespaces")
                if event["involvedObject"]["name"] == name and (not reasons or event["reason"] in reasons)]

    def make_node(self, name, labels=None):
        """It is there at once; its kubelet is played."""
        room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        self.kubectl("create", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}, "spec": {"providerID": PROVIDER_ID + name},
            "status": {"capacity": room, "allocatable": room}}))

    def replica_set(self, app, replicas, cpu, selector=None, scheduler=None):
        made = replicated(app, replicas, cpu, selector, "ReplicaSet")
        if scheduler:
            made["spec"]["template"]["spec"]["schedulerName"] = scheduler
        self.work.apply(made)

    def remove(self, *apps):
        self.kubectl("-n", WORK, "delete", "replicasets", *apps, "--ignore-not-found")
        for app in apps:
            self.kubectl("-n", WORK, "delete", "pods", "-l", f"app={app}", "--grace-period=0", "--force")

    def distribute(self):
        """A member that Karmada tells of, too, which cannot be reached; Secrets that are wrong; reports that somebody else has written into."""
        harness.eventually(lambda: self.fleet.owners() == 1, LONG, "the member has one owner")
        self.round += 1
        self.kubectl("-n", NAMESPACE, "annotate", "shardreplicas", "--all", f"e2e={self.round}", "--overwrite")
        cluster = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "e2e-far"}, "spec": {
            "syncMode": "Push", "apiEndpoint": "https://127.0.0.1:1", "secretRef": {"namespace": TOKENS, "name": "e2e-far"}}}
        self.work.apply(cluster)
        harness.eventually(lambda: self.events("e2e-far", "ClusterUnreachable"), LONG, "it is told that a cluster cannot be reached")
        for _ in range(2):
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "e2e-broken", "namespace": NAMESPACE, "labels": CLUSTER_LABEL},
                      "stringData": {"name": "broken", "server": "https://127.0.0.1:2", "config": "{"}}
            self.work.apply(secret)
            harness.eventually(lambda: self.events("e2e-broken"), LONG, "it is told that a Secret is wrong")
            time.sleep(1)
            self.kubectl("-n", NAMESPACE, "delete", "secret", "e2e-broken")
        self.kubectl("delete", "clusters.cluster.karmada.io", "e2e-far")

    def roll_out(self):
        self.bench.apply(spec())
        harness.eventually(lambda: self.bench.is_ready(1), LONG, "the first deployment")
        self.bench.apply(spec(tag="3.8.5"))
        harness.eventually(lambda: self.bench.is_ready(2), LONG, "a change")
        # Objects of it that were edited by hand are put right.
        for kind, name in (("serviceexports", "zk-client"), ("propagationpolicies", "zk-svc")):
            self.bench.run("label", kind, name, "evenkeel.dev/multiclusterzookeeper-")

            def corrected(kind=kind, name=name):
                labels = self.kubectl.json("-n", ENSEMBLE, "get", kind, name)["metadata"].get("labels", {})
                return labels.get("evenkeel.dev/multiclusterzookeeper") == "zk"
            harness.eventually(corrected, LONG, f"{kind} {name} is put right")
        self.bench.run("delete", "multiclusterzookeeper", "zk", f"--timeout={LONG}s", timeout=LONG + 5)
        webhooks = self.kubectl.json("get", "validatingwebhookconfiguration", "evenkeel-rollout")["webhooks"]
        assert webhooks[0]["clientConfig"]["url"].startswith("https://127.0.0.1:"), webhooks
        harness.eventually(lambda: self.items("resourceinterpreterwebhookconfigurations")[0]["webhooks"], LONG)

    def schedule(self):
        self.replica_set("plain", 3, "100m", scheduler="evenkeel")
        self.work.wait_for_pods("plain", 3, LONG)
        self.replica_set("giant", 1, "64", scheduler="evenkeel")
        harness.eventually(lambda: self.work.events("FailedScheduling", WORK), LONG, "it is told why a pod is pending")
        # A claim whose volume is made where its pod goes.
        storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "e2e-late"}, "provisioner": "e2e.evenkeel.dev/none",
                   "volumeBindingMode": "WaitForFirstConsumer"}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "late"},
                 "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "e2e-late", "resources": {"requests": {"storage": "1Gi"}}}}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "late", "labels": {"app": "late"}}, "spec": {
            "schedulerName": "evenkeel", "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "late"}}],
            "containers": [{"name": "work", "image": "work", "resources": {"requests": {"cpu": "100m"}}}]}}
        self.work.apply(storage, claim, pod)

        def told_its_node():
            return "volume.kubernetes.io/selected-node" in self.kubectl.json("-n", WORK, "get", "pvc", "late")["metadata"].get("annotations", {})
        harness.eventually(told_its_node, LONG, "the claim is told its node")
        self.remove("plain", "giant", "late")
        self.kubectl("-n", WORK, "delete", "pvc", "late", "--wait=false")
        self.kubectl("-n", WORK, "patch", "pvc", "late", "--type=merge", "-p", '{"metadata": {"finalizers": null}}', check=False)
        self.kubectl("delete", "storageclass", "e2e-late")

    def balance(self):
        for name in NODES[1:]:
            self.kubectl("cordon", name)
        self.replica_set("skewed", 6, "500m", scheduler="evenkeel")
        self.work.wait_for_pods("skewed", 6, LONG)
        for name in NODES[1:]:
            self.kubectl("uncordon", name)
        self.work.apply({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "e2e"}, "spec": {
            "metrics": [{"name": "cpu", "source": "Usage"}], "throttles": {"maxShare": 1},
            "intervals": {"balancing": "2s", "constraintCheck": "2s", "afterNewNode": "0s", "afterNodeDown": "0s"}}})

        def done():
            plans = self.items("balancingplans")
            assert any(plan.get("status", {}).get("phase") == "Done" for plan in plans), plans
            return plans
        plan = harness.eventually(done, LONG, "a plan was carried out")[0]
        self.kubectl("delete", "balancingpolicies", "--all")
        old = {**plan, "metadata": {"name": "e2e-old", "labels": plan["metadata"]["labels"]}, "status": {}}
        self.kubectl("create", "-f", "-", stdin=json.dumps(old))
        old = self.kubectl.json("get", "balancingplan", "e2e-old")
        old["status"] = {**plan["status"], "finishedAt": "2020-01-01T00:00:00Z"}
        self.kubectl("replace", "--raw", "/apis/evenkeel.dev/v1alpha1/balancingplans/e2e-old/status", "-f", "-", stdin=json.dumps(old))
        harness.eventually(lambda: self.kubectl.run("get", "balancingplan", "e2e-old", check=False).returncode != 0, LONG, "an old plan goes")
        self.kubectl("delete", "balancingplans", "--all")
        self.remove("skewed")

    def autoscale(self):
        group = machine_deployment("auto", 4)
        group["spec"]["template"]["spec"]["infrastructureRef"] = {
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "E2eMachineTemplate", "name": "small"}
        self.work.apply(config_map(PRIORITIES, priorities="20: [.*]\n"), group, budget("small", 0, self.world.budget_version),
                        {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "E2eMachineTemplate", "metadata": {"name": "small"}, "spec": {}})
        selector = {"pool": "auto"}
        # Two nodes, with a large pod and a small one each.
        for app, cpu in (("large-1", "2500m"), ("large-2", "2500m"), ("small-1", "1"), ("small-2", "1")):
            self.replica_set(app, 1, cpu, selector)
        for app in ("large-1", "large-2", "small-1", "small-2"):
            self.work.wait_for_pods(app, 1, LONG)
        assert len(self.work.nodes("auto")) == 2
        # An eviction that comes at a bad moment; a machine that somebody has marked already.
        self.fleet.proxies[MEMBER].fail_once("create", "pods/eviction", 409, "Conflict")
        self.kubectl("-n", WORK, "annotate", "machines", "--all", "--overwrite", f"{DELETE_MACHINE}={now()}")
        self.remove("large-1", "large-2")
        harness.eventually(lambda: len(self.work.nodes("auto")) == 1, LONG, "a node is emptied and removed")
        self.work.wait_for_pods("small-1", 1, LONG)
        self.remove("small-1", "small-2")
        harness.eventually(lambda: not self.work.nodes("auto"), LONG, "the last node is removed")
        self.kubectl("-n", WORK, "delete", "machinedeployments,machinesets,machines,e2emachinetemplates,poddisruptionbudgets", "--all")

    def autoscale_other_groups(self):
        """MachineSets and MachinePools by themselves. Nobody plays them: the machine that is asked for is made here."""
        kinds = {"mset": "MachineSet", "mpool": "MachinePool"}
        for name, kind in kinds.items():
            self.work.apply({**machine_deployment(name, 3), "kind": kind})
            self.replica_set(name, 1, "1", {"pool": name})
        for name, kind in kinds.items():
            plural = kind.lower() + "s"

            def grown(name=name, plural=plural):
                return self.kubectl.json("-n", WORK, "get", plural, name)["spec"]["replicas"] == 1
            harness.eventually(grown, LONG, f"{kind} grows")
            owned_by = self.kubectl.json("-n", WORK, "get", plural, name)
            reference = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "name": name, "uid": owned_by["metadata"]["uid"], "controller": True}
            labels = {"cluster.x-k8s.io/cluster-name": "e2e", **owned_by["spec"]["selector"]["matchLabels"]}
            self.work.apply({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
                             "metadata": {"name": name, "labels": labels, "ownerReferences": [reference]},
                             "spec": {"clusterName": "e2e", "providerID": PROVIDER_ID + name}})
            self.kubectl("-n", WORK, "patch", plural, name, "--type=merge", "-p", json.dumps({"spec": {"providerIDList": [PROVIDER_ID + name]}}))
            self.kubectl("-n", WORK, "annotate", "machine", name, f"{DELETE_MACHINE}={now()}")
            self.make_node(name, {"pool": name})
            self.work.wait_for_pods(name, 1, LONG)
        for name, kind in kinds.items():
            plural = kind.lower() + "s"
            self.remove(name)
            if kind == "MachinePool":
                # Which of its machines were marked by somebody who was interrupted cannot be told from a pool, so it waits.
                harness.eventually(lambda plural=plural: self.fleet.proxies[MEMBER].answered("get", plural), LONG, f"{kind} is looked at")
                self.kubectl("-n", WORK, "annotate", "machine", name, f"{DELETE_MACHINE}-")

            def shrunk(name=name, plural=plural):
                return self.kubectl.json("-n", WORK, "get", plural, name)["spec"]["replicas"] == 0
            harness.eventually(shrunk, LONG, f"{kind} shrinks")
            self.kubectl("delete", "node", name)
        self.kubectl("-n", WORK, "delete", "machinesets,machinepools,machines", "--all")

    def make_nodes_without_machines(self):
        templates = {"apiVersion": "v1", "kind": "List", "items": [kwok_template("kwok")]}
        self.work.apply(config_map("kwok-provider-config", config=KWOK_CONFIG), config_map("kwok-provider-templates", templates=json.dumps(templates)))
        self.replica_set("kwok", 1, "1", {"pool": "kwok"})
        self.work.wait_for_pods("kwok", 1, LONG)
        self.remove("kwok")
        harness.eventually(lambda: not self.work.nodes("kwok"), LONG, "the node is removed")

    def run_zookeeper(self):
        """A server that never serves: its pod is played as far as that it runs."""
        body = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "metadata": {"name": "solo"}, "spec": {
            "replicas": 1, "servers": ["server.1=127.0.0.1:1:2:participant;127.0.0.1:3"], "config": {"tickTime": 500}, "storage": {"size": "1Gi"}}}
        here = ("-n", ENSEMBLE)
        self.kubectl(*here, "apply", "-f", "-", stdin=json.dumps(body))
        first = self.play_server()
        for kind, patch, path in (("service", {"spec": {"publishNotReadyAddresses": False}}, "publishNotReadyAddresses"),
                                  ("poddisruptionbudget", {"spec": {"maxUnavailable": 3}}, "maxUnavailable")):
            for item in self.items(kind, *here):
                self.kubectl(*here, "patch", kind, item["metadata"]["name"], "--type=merge", "-p", json.dumps(patch))

                def corrected(kind=kind, item=item, path=path):
                    present = self.kubectl.json(*here, "get", kind, item["metadata"]["name"])["spec"]
                    return present.get(path) == item["spec"].get(path)
                if path in item["spec"]:
                    harness.eventually(corrected, LONG, f"{kind} is put right")
        body["spec"]["config"]["tickTime"] = 600
        self.kubectl(*here, "apply", "-f", "-", stdin=json.dumps(body))

        def replaced():
            pods = self.items("pods", *here)
            return not pods or pods[0]["metadata"]["uid"] != first or "deletionTimestamp" in pods[0]["metadata"]
        harness.eventually(replaced, LONG, "the server is replaced")
        assert self.kubectl.json(*here, "get", "zookeeper", "solo")["status"]["conditions"]
        self.kubectl(*here, "delete", "zookeeper", "solo")
        for kind in ("statefulsets", "services", "configmaps", "secrets", "poddisruptionbudgets", "pods"):
            self.kubectl(*here, "delete", kind, "--all", "--grace-period=0", "--force", check=False)

    def play_server(self):
        """What a StatefulSet controller and a kubelet make of the set: the uid of the pod."""
        here = ("-n", ENSEMBLE)
        found = harness.eventually(lambda: self.items("statefulsets", *here), LONG, "a StatefulSet")[0]
        harness.eventually(lambda: self.items("poddisruptionbudgets", *here), LONG, "a budget")
        template, name = found["spec"]["template"], found["metadata"]["name"] + "-0"
        body = {**template["spec"], "nodeName": NODES[0], "volumes": [*template["spec"]["volumes"], {"name": "data", "emptyDir": {}}]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "name": name}, "spec": body}
        self.kubectl(*here, "create", "-f", "-", stdin=json.dumps(pod))
        pod = self.kubectl.json(*here, "get", "pod", name)
        running = [{"name": container["name"], "image": "zookeeper", "imageID": "", "ready": False, "restartCount": 0,
                    "state": {"running": {"startedAt": now()}}} for container in pod["spec"]["containers"]]
        pod["status"] = {"phase": "Running", "podIP": "127.0.0.1", "containerStatuses": running}
        self.kubectl("replace", "--raw", f"/api/v1/namespaces/{ENSEMBLE}/pods/{name}/status", "-f", "-", stdin=json.dumps(pod))
        return pod["metadata"]["uid"]

    def common(self):
        for step in (self.distribute, self.roll_out, self.schedule, self.balance, self.autoscale, self.autoscale_other_groups):
            begin = time.monotonic()
            step()
            print(f"{step.__name__}: {time.monotonic() - begin:.1f} s", flush=True)


class RolesTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.kubectl = kubectl = real_api.bare_kubectl_for(cls.home)
        if kubectl.run("get", "namespace", NAMESPACE, check=False).returncode == 0:
            raise unittest.SkipTest(f"{cluster_of(kubectl)[0]} has a namespace {NAMESPACE}, which this test makes and removes")
        stranger = kubectl.run("auth", "can-i", "list", "secrets", "--as=system:serviceaccount:default:stranger", check=False)
        if stranger.stdout.strip() != "no":
            raise unittest.SkipTest(f"{cluster_of(kubectl)[0]} has no RBAC authorizer")
        cls.had = set(kubectl("get", "customresourcedefinitions", "-o", "name").split())
        cls.addClassCleanup(cls.clean_up)
        cls.install()
        cls.fleet = Fleet(kubectl, cls.home)
        secret = {"name": "member", "server": cls.fleet.proxies[MEMBER].url, "config": json.dumps({"bearerToken": cls.fleet.tokens[MEMBER]})}
        cls.apply([{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "member", "namespace": NAMESPACE, "labels": CLUSTER_LABEL},
                    "stringData": secret}])
        cls.steps = Steps(kubectl, cls.home, cls.fleet)
        for name in NODES:
            cls.steps.make_node(name)

    @classmethod
    def apply(cls, objects):
        cls.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    @classmethod
    def install(cls):
        kubectl = cls.kubectl
        cls.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in (WORK, ENSEMBLE, TOKENS)])
        cls.apply([*MACHINES, POOL, TEMPLATE])
        kubectl("apply", "-f", str(KARMADA))
        new = kubectl.run("get", "--raw", "/apis/policy/v1", check=False).returncode == 0
        for name in ("hub" if new else "hub-1.20", "karmada", "member", "member-kwok"):
            cls.apply(deploy_files.overlay(name))
        kubectl("wait", "--for=condition=Established", "--timeout=30s", "customresourcedefinitions", "--all")
        for name in CLUSTERS:
            harness.eventually(lambda name=name: cls.make_cluster(name), 30)
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
        for name in ("karmada", "member-kwok", "member", "hub"):
            things = [thing for thing in deploy_files.overlay(name) if thing["kind"] not in ("Namespace", "CustomResourceDefinition")]
            things = [{**thing, "apiVersion": "policy/v1beta1"} if thing["kind"] == "PodDisruptionBudget" else thing for thing in things]
            kubectl("delete", "-f", "-", "--ignore-not-found", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": things}), check=False)
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
                    "persistentvolumeclaims",
                    "--all", "--grace-period=0", "--force", "--wait=false", check=False)
            remove_namespace(kubectl, namespace)

    def test_1_without_rights_each_rule_is_missed(self):
        for roles in self.fleet.roles.values():
            roles.take_away({name for _, _, name in roles.roles})
        for _ in range(2):
            self.fleet.start(without=["--zookeeper"])
        self.steps.common()
        self.fleet.stop()

    def test_2_so_is_each_rule_of_what_is_switched_on_by_itself(self):
        for _ in range(2):
            self.fleet.start(provider="kwok")
        harness.eventually(lambda: self.fleet.owners() == 1, LONG, "the member has one owner")
        self.steps.run_zookeeper()
        self.steps.make_nodes_without_machines()
        self.fleet.stop()

    def test_3_nothing_was_missing_and_nothing_is_superfluous(self):
        output = self.fleet.output().replace("\\", "")
        for account, roles in self.fleet.roles.items():
            self.assertEqual(roles.unknown, [], f"{account} was refused what no role allows")
            # Nobody watches what this server does not serve, in this version or at all.
            absent = {request.resource for request in self.fleet.proxies[account].requests if (request.verb, request.status) == ("list", 404)}
            left = [atom for atom in roles.not_granted() if (atom.verb, atom.resource in absent) != ("watch", True)]
            self.assertEqual(left, [], f"nobody needs these rules of {account}")
            told = [atom for atom in roles.asked if f'cannot {atom.verb} resource "{atom.resource}"' in output]
            print(f"{account}: {len(roles.asked)} rights, each refused once, {len(told)} of them told in a log")

    def test_4_with_the_shipped_roles_nothing_is_refused(self):
        self.fleet.learning = False
        for proxy in self.fleet.proxies.values():
            proxy.refused.clear()
        for _ in range(2):
            self.fleet.start()
        self.steps.common()
        self.steps.run_zookeeper()
        self.fleet.stop()
        self.assertEqual(self.fleet.refused(), [])

    def tearDown(self):
        self.fleet.stop()
        self.assertEqual(self.steps.world.failures + self.steps.karmada.failures, [])


if __name__ == "__main__":
    real_api.main()
