"""Everything that the controllers and the dashboard do somewhere, so that each of their rights is asked for; what else belongs to clusters is
played. Steps of different chains can be taken at once."""
import concurrent.futures
import json
import time

import harness
from autoscaled_cluster import PRIORITIES, AutoscaledCluster, budget, replicated
from fleet_under_test import CLUSTER_LABEL
from history import host_of
from played_karmada import PlayedKarmada
from played_parts import DELETE_MACHINE, PROVIDER_ID, PlayedCluster, PlayedLeader, machine_deployment, now, play_server
from rbac_fleet import HUB, MEMBER, NAMESPACE
from rollout_scenarios import LEASE, Bench, spec
from shipped_roles import DASHBOARD

ENSEMBLE_LABEL = "evenkeel.dev/zookeeper"
WORK, ENSEMBLE, TOKENS = "evenkeel-e2e-work", "evenkeel-e2e-ensemble", "karmada-cluster"
NODES = ("e2e-1", "e2e-2", "e2e-3")
KWOK_CONFIG = """
apiVersion: v1alpha1
readNodesFrom: configmap
nodegroups: {fromNodeLabelKey: pool}
nodes: {skipTaint: true}
configmap: {name: kwok-provider-templates}
"""
LONG = 180


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "kube-system"}, "data": data}


def kwok_template(name):
    room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
    return {"apiVersion": "v1", "kind": "Node", "status": {"allocatable": room, "capacity": room}, "metadata": {
        "name": f"template-{name}", "labels": {"pool": name},
        "annotations": {"cluster-autoscaler.kwok.nodegroup/min-count": "0", "cluster-autoscaler.kwok.nodegroup/max-count": "3"}}}


def at_once(*chains):
    """Each chain is a list of steps, taken one after the other."""
    def take(chain):
        for step in chain:
            begin = time.monotonic()
            step()
            print(f"{step.__name__}: {time.monotonic() - begin:.1f} s", flush=True)
    with concurrent.futures.ThreadPoolExecutor(len(chains)) as pool:
        for taken in [pool.submit(take, chain) for chain in chains]:
            taken.result()


class Steps:
    """Each leaves nothing behind that would keep it from being taken again."""

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

    def own(self):
        harness.eventually(lambda: self.fleet.owners() == 1, LONG, "the member has one owner")

    def renew_the_token(self):
        """Of the account in the member, which is due; the owner looks within 20 s, and 30 s after each failure."""
        def renewed():
            about = self.kubectl.json("-n", NAMESPACE, "get", "secret", "member")["metadata"]["annotations"]
            return not about["evenkeel.dev/token-issued"].startswith("2020-")
        harness.eventually(renewed, LONG, "the owner has renewed the member's token")
        self.own()

    def distribute(self):
        """A member that Karmada tells of, too, which cannot be reached; Secrets that are wrong; reports that somebody else has written into."""
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
        self.karmada.unscheduled = {max(self.karmada.members)}

        def asked():
            ensemble = self.kubectl.json("-n", ENSEMBLE, "get", "multiclusterzookeeper", "zk")
            return ensemble["status"].get("scheduling", {}).get("attempt")
        harness.eventually(asked, LONG, "Karmada is asked for a cluster that its schedule leaves out")
        self.karmada.unscheduled = set()
        self.bench.run("delete", "multiclusterzookeeper", "zk", f"--timeout={LONG}s", timeout=LONG + 5)
        webhooks = self.kubectl.json("get", "validatingwebhookconfiguration", "evenkeel-rollout")["webhooks"]
        assert webhooks[0]["clientConfig"]["url"].startswith("https://127.0.0.1:"), webhooks
        harness.eventually(self.interpreter, LONG)

    def interpreter(self):
        return self.items("resourceinterpreterwebhookconfigurations")[0]["webhooks"][0]["clientConfig"]["url"]

    def hand_over(self):
        """The leader of the rollouts ends; the next one says where its webhooks are."""
        before = self.interpreter()
        lease = self.kubectl.json("-n", NAMESPACE, "get", "lease", LEASE)
        self.fleet.stop_one(host_of(lease["spec"]["holderIdentity"]))
        harness.eventually(lambda: self.interpreter() != before, LONG, "the next leader's webhooks are asked")

    def look(self):
        """At the pages of the dashboard that no other step looks at, until all that they show is followed."""
        followed = [(HUB, "shardreplicas", ""), (HUB, "events", ""), (MEMBER, "events", ""), (MEMBER, "zookeepers", ""),
                    (MEMBER, "configmaps", "evenkeel-autoscaler-state")]

        def shown():
            fleet = self.fleet.view("fleet")
            for page in ("cluster/member", "rollouts", "events"):
                self.fleet.view(page)
            assert fleet["hub"]["reachable"] and fleet["clusters"]["member"]["nodes"]["ready"] >= len(NODES), fleet
            missing = [what for what in followed if not self.fleet.proxies[what[0]].answered("watch", *what[1:], agent=DASHBOARD)]
            assert not missing, missing
            return self.fleet.proxies[MEMBER].answered("list", "nodegroups", agent=DASHBOARD)
        harness.eventually(shown, LONG, "the dashboard shows everything")

    def look_closer(self):
        """At a pod, and what it wrote, which a played kubelet does not have; and log in with a token that is none."""
        self.replica_set("closer", 1, "100m")
        self.work.wait_for_pods("closer", 1, LONG)
        name = self.work.pods("closer")[0]["metadata"]["name"]

        def shown():
            self.fleet.ask_dashboard("GET", f"/api/logs?cluster=member&namespace={WORK}&pod={name}")
            self.fleet.ask_dashboard("POST", "/login", "token=none")
            return (self.fleet.proxies[MEMBER].answered("get", "pods/log", agent=DASHBOARD)
                    and all(self.fleet.proxies[HUB].answered("create", reviews, agent=DASHBOARD) for reviews in ("tokenreviews", "subjectaccessreviews")))
        harness.eventually(shown, LONG, "the dashboard asks who somebody is and what they may do")
        self.remove("closer")

    def look_at_claims(self):
        """On the dashboard, which reads Argo CD's settings for it."""
        def shown():
            owner = self.fleet.view("fleet")["clusters"]["member"]["owner"]
            assert owner, "nobody owns the member"
            return all(self.fleet.proxies[HUB].answered(verb, "configmaps", name, DASHBOARD)
                       for verb, name in (("get", "argocd-cmd-params-cm"), ("list", "argocd-cm")))
        harness.eventually(shown, LONG, "the dashboard shows the claims")

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

    def has_devices(self):
        return "resource.k8s.io/v1" in self.kubectl("api-versions").split()

    def schedule_devices(self):
        """A pod that claims one, and one that asks for it as for an amount; and the claim of an earlier attempt of a pod that fits nowhere."""
        if not self.has_devices():
            print("devices are left out: the server does not have resource.k8s.io/v1")
            return
        group = "resource.k8s.io/v1"
        devices = {"apiVersion": group, "kind": "ResourceSlice", "metadata": {"name": "e2e"}, "spec": {
            "driver": "e2e.evenkeel.dev", "nodeName": NODES[0], "pool": {"name": NODES[0], "generation": 1, "resourceSliceCount": 1},
            "devices": [{"name": "one"}, {"name": "two"}]}}
        selects = {"cel": {"expression": 'device.driver == "e2e.evenkeel.dev"'}}
        device_class = {"apiVersion": group, "kind": "DeviceClass", "metadata": {"name": "e2e"},
                        "spec": {"selectors": [selects], "extendedResourceName": "e2e.evenkeel.dev/device"}}
        requests = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "e2e"}}]}}
        claim = {"apiVersion": group, "kind": "ResourceClaim", "metadata": {"name": "device"}, "spec": requests}

        def pod(name, resources, **spec):
            return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": {
                "schedulerName": "evenkeel", "containers": [{"name": "work", "image": "work", "resources": resources}], **spec}}
        self.work.apply(devices, device_class, claim,
                        pod("claiming", {"claims": [{"name": "d"}]}, resourceClaims=[{"name": "d", "resourceClaimName": "device"}]),
                        pod("extended", {"limits": {"e2e.evenkeel.dev/device": "1"}}))
        for name in ("claiming", "extended"):
            self.work.wait_for_pods(name, 1, LONG)
        left_over = {**claim, "metadata": {"name": "left-over"}}
        self.work.apply(left_over, pod("nowhere", {"limits": {"e2e.evenkeel.dev/device": "99"}}))
        status = {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "left-over", "requestMappings": []}}}
        nowhere = self.kubectl.json("-n", WORK, "get", "pod", "nowhere")
        nowhere.setdefault("status", {}).update(status["status"])
        self.kubectl("replace", "--raw", f"/api/v1/namespaces/{WORK}/pods/nowhere/status", "-f", "-", stdin=json.dumps(nowhere))
        self.kubectl("label", "resourceslice", "e2e", f"round={self.round}", "--overwrite")
        harness.eventually(lambda: not self.kubectl("-n", WORK, "get", "resourceclaim", "left-over", "--ignore-not-found"), LONG, "a claim is left over")
        self.remove("claiming", "extended", "nowhere")
        for left in self.items("resourceclaims", "-n", WORK):
            self.kubectl("-n", WORK, "patch", "resourceclaim", left["metadata"]["name"], "--type=merge", "-p", '{"metadata": {"finalizers": null}}', check=False)
        self.kubectl("-n", WORK, "delete", "resourceclaims", "--all", "--wait=false")
        self.kubectl("delete", "resourceslice/e2e", "deviceclass/e2e")

    def balance(self):
        for name in NODES[1:]:
            self.kubectl("cordon", name)
        self.replica_set("skewed", 6, "500m", scheduler="evenkeel")
        self.work.wait_for_pods("skewed", 6, LONG)
        for name in NODES[1:]:
            self.kubectl("uncordon", name)
        # Which is carried out once somebody has approved it on the dashboard.
        self.work.apply({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "e2e"}, "spec": {
            "dryRun": True, "metrics": [{"name": "cpu", "source": "Usage"}], "throttles": {"maxShare": 1},
            "intervals": {"balancing": "2s", "constraintCheck": "2s", "afterNewNode": "0s", "afterNodeDown": "0s"}}})

        def approved():
            plan = self.fleet.view("balance/member")["plan"]
            assert plan and plan["approvable"], plan
            wanted = {"action": "approve", "cluster": "member", "name": plan["name"], "seen": plan["hash"]}
            status, answer = self.fleet.ask_dashboard("POST", "/api/actions", json.dumps(wanted))
            assert status == 200, answer
            return True
        harness.eventually(approved, LONG, "a plan is approved")

        def done():
            plans = self.items("balancingplans")
            assert any(plan.get("status", {}).get("phase") == "Done" for plan in plans), plans
            return plans
        plan = harness.eventually(done, LONG, "a plan was carried out")[0]
        # Whoever moves pods without being asked looks for others who do.
        self.kubectl("patch", "balancingpolicy", "e2e", "--type=merge", "-p", '{"spec": {"dryRun": false}}')
        harness.eventually(lambda: self.fleet.proxies[MEMBER].answered("list", "leases", "descheduler"), LONG, "a descheduler is looked for")
        self.kubectl("delete", "balancingpolicies", "--all")
        old = {**plan, "metadata": {"name": "e2e-old", "labels": plan["metadata"]["labels"]}, "status": {}}
        self.kubectl("create", "-f", "-", stdin=json.dumps(old))
        old = self.kubectl.json("get", "balancingplan", "e2e-old")
        long_ago = "2020-01-01T00:00:00Z"
        moves = [{**move, "evictedAt": long_ago} for move in plan["status"]["actions"]]
        old["status"] = {**plan["status"], "finishedAt": long_ago, "actions": moves}
        self.kubectl("replace", "--raw", "/apis/evenkeel.dev/v1alpha1/balancingplans/e2e-old/status", "-f", "-", stdin=json.dumps(old))
        harness.eventually(lambda: not self.kubectl("get", "balancingplan", "e2e-old", "--ignore-not-found"), LONG, "an old plan goes")
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
        self.remove(*kinds)
        harness.eventually(lambda: self.kubectl.json("-n", WORK, "get", "machinesets", "mset")["spec"]["replicas"] == 0, LONG, "MachineSet shrinks")
        # A pool does not tell whether a machine that is marked has been counted already, so nothing more is done to it.
        harness.eventually(lambda: self.fleet.proxies[MEMBER].answered("get", "machinepools"), LONG, "MachinePool is looked at")
        self.kubectl("delete", "nodes", *kinds)
        self.kubectl("-n", WORK, "delete", "machinesets,machinepools,machines", "--all")

    def make_nodes_without_machines(self):
        templates = {"apiVersion": "v1", "kind": "List", "items": [kwok_template("kwok")]}
        self.work.apply(config_map("kwok-provider-config", config=KWOK_CONFIG), config_map("kwok-provider-templates", templates=json.dumps(templates)))
        self.replica_set("kwok", 1, "1", {"pool": "kwok"})
        self.work.wait_for_pods("kwok", 1, LONG)
        self.remove("kwok")
        harness.eventually(lambda: not self.work.nodes("kwok"), LONG, "the node is removed")

    def run_zookeeper(self):
        """One server, which is played: its pod as far as that it runs."""
        leader = PlayedLeader()
        body = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "metadata": {"name": "solo"}, "spec": {
            "replicas": 1, "servers": [leader.line], "config": {"tickTime": 500}, "storage": {"size": "1Gi", "reclaimPolicy": "Delete"}}}
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
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data-solo-1", "labels": {ENSEMBLE_LABEL: "solo"}},
                 "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
        self.kubectl(*here, "create", "-f", "-", stdin=json.dumps(claim))
        # Nobody protects claims here, so it may stay as one that is being deleted.
        harness.eventually(lambda: all("deletionTimestamp" in item["metadata"] for item in self.items("persistentvolumeclaims", *here)), LONG,
                           "the volume of a server that has gone is deleted")
        account = ("serviceaccount", "solo-servers")
        self.kubectl(*here, "patch", *account, "--type=merge", "-p", json.dumps({"automountServiceAccountToken": True}))
        harness.eventually(lambda: self.kubectl.json(*here, "get", *account)["automountServiceAccountToken"] is False, LONG, "account is put right")
        body["spec"]["config"]["tickTime"] = 600
        self.kubectl(*here, "apply", "-f", "-", stdin=json.dumps(body))

        def replaced():
            pods = self.items("pods", *here)
            return not pods or pods[0]["metadata"]["uid"] != first or "deletionTimestamp" in pods[0]["metadata"]
        harness.eventually(replaced, LONG, "the server is replaced")
        # Servers of 1.20 that were built with a newer Go take an empty text for none, and refuse the status for that.
        harness.eventually(lambda: self.fleet.proxies[MEMBER].answered("update", "zookeepers/status"), LONG, "its status is written")
        self.kubectl(*here, "delete", "zookeeper", "solo")
        left = {**body, "metadata": {"name": "left", "labels": {"evenkeel.dev/multiclusterzookeeper": "left"}},
                "spec": {**body["spec"], "replicas": 0, "rolloutRevision": "pending"}}
        self.kubectl(*here, "apply", "-f", "-", stdin=json.dumps(left))
        harness.eventually(lambda: not self.items("zookeepers", *here), LONG, "a copy that Karmada has left behind without servers goes")
        for kind in ("statefulsets", "services", "configmaps", "secrets", "poddisruptionbudgets", "pods"):
            self.kubectl(*here, "delete", kind, "--all", "--grace-period=0", "--force", check=False)
        self.kubectl(*here, "delete", *account)
        self.kubectl(*here, "patch", "persistentvolumeclaims", "data-solo-1", "--type=merge", "-p", '{"metadata": {"finalizers": null}}', check=False)
        leader.close()

    def play_server(self):
        """The uid of its pod."""
        harness.eventually(lambda: self.items("poddisruptionbudgets", "-n", ENSEMBLE), LONG, "a budget")
        return play_server(self.kubectl, ENSEMBLE, NODES[0])

    def of_member(self):
        """One after the other: the balancer waits while nodes come and go."""
        return [self.schedule, self.schedule_devices, self.balance, self.autoscale, self.autoscale_other_groups]
