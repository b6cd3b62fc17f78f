"""The autoscaler with Cluster API's objects, in the shapes of v1beta1 and of v1beta2: one member for each, on bare API servers. Nobody carries out
what the objects ask for, so that what the autoscaler changes stays to be seen."""
import json
import time
import unittest

import harness
from autoscaled_cluster import AutoscaledCluster
from played_parts import DELETE_MACHINE, Api
from process_fleet import ApiServer, ProcessFleet

GROUP = "cluster.x-k8s.io"
VERSIONS = {"member-1": "v1beta1", "member-2": "v1beta2"}
FLAGS = ("--cloud-provider=clusterapi", "--scan-interval=1s", "--scale-down-unneeded-time=4s", "--scale-down-delay-after-add=2s",
         "--max-node-startup-time=2s", "--max-node-provision-time=5s")
SCALE_SET = "azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachineScaleSets/{}/virtualMachines/0"
LONG = 180
# Longer than --scale-down-unneeded-time and --max-node-provision-time.
WHILE = 10

TEXT, COUNT = {"type": "string"}, {"type": "integer"}
TEXTS, LABELS = {"type": "array", "items": TEXT}, {"type": "object", "additionalProperties": TEXT}


def shape(**fields):
    return {"type": "object", "properties": fields}


def definitions(version):
    """Cluster API's, as far as an autoscaler and these tests look; what is not named here is pruned."""
    old = version == "v1beta1"
    reference = shape(apiVersion=TEXT, kind=TEXT, name=TEXT, namespace=TEXT) if old else shape(apiGroup=TEXT, kind=TEXT, name=TEXT)
    failure = shape(failureReason=TEXT, failureMessage=TEXT)["properties"]
    machine = shape(clusterName=TEXT, bootstrap=shape(dataSecretName=TEXT, configRef=reference), infrastructureRef=reference,
                    version=TEXT, providerID=TEXT)
    set_spec = {"clusterName": TEXT, "replicas": COUNT, "template": shape(metadata=shape(labels=LABELS, annotations=LABELS), spec=machine)}
    selected = {**set_spec, "selector": shape(matchLabels=LABELS)}
    set_status = shape(replicas=COUNT, selector=TEXT)
    machine_status = shape(nodeRef=shape(apiVersion=TEXT, kind=TEXT, name=TEXT) if old else shape(name=TEXT), phase=TEXT,
                           **(failure if old else {"deprecated": shape(v1beta1=shape(**failure))}))
    kinds = [("MachineDeployment", shape(**selected), set_status), ("MachineSet", shape(**selected), set_status),
             ("MachinePool", shape(**set_spec, providerIDList=TEXTS), set_status), ("Machine", machine, machine_status)]
    for kind, spec, status in kinds:
        plural, subresources = kind.lower() + "s", {"status": {}}
        if kind != "Machine":
            subresources["scale"] = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                                     "labelSelectorPath": ".status.selector"}
        yield {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{GROUP}"},
               "spec": {"group": GROUP, "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                        "versions": [{"name": version, "served": True, "storage": True, "subresources": subresources,
                                      "schema": {"openAPIV3Schema": shape(spec=spec, status=status)}}]}}


class Management:
    """A member with Cluster API's objects about its own nodes."""

    def __init__(self, server, home, version):
        self.api, self.version, self.cluster = Api(server.kubectl, home), version, AutoscaledCluster(server.kubectl, FLAGS[:1])
        self.cluster.apply(*definitions(version))
        for plural in ("machinedeployments", "machinesets", "machinepools", "machines"):
            harness.eventually(lambda plural=plural: self.api.served(self.path(plural)), LONG, plural)

    def path(self, plural, name=""):
        return f"/apis/{GROUP}/{self.version}/namespaces/default/{plural}" + (f"/{name}" if name else "")

    def reference(self, kind, name):
        group = "infrastructure.cluster.x-k8s.io"
        return {"apiGroup": group, "kind": kind, "name": name} if self.version == "v1beta2" else \
            {"apiVersion": f"{group}/v1beta1", "kind": kind, "name": name}

    def make(self, kind, name, spec, owner=None, **meta):
        references = {"ownerReferences": [{"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                                           "uid": owner["metadata"]["uid"], "controller": True}]} if owner else {}
        return self.api("POST", self.path(kind.lower() + "s"), {
            "apiVersion": f"{GROUP}/{self.version}", "kind": kind, "spec": {"clusterName": "blue", **spec},
            "metadata": {"name": name, **references, **meta}})

    def group(self, kind, name, replicas, **spec):
        """Of 0 to 5 machines with 4 cores, which have the label pool=NAME."""
        scale, capacity = f"{GROUP}/cluster-api-autoscaler-node-group-", "capacity.cluster-autoscaler.kubernetes.io/"
        template = {"metadata": {"labels": {"pool": name}}, "spec": self.machine_spec("DevMachineTemplate", "small")}
        if kind != "MachinePool":
            spec["selector"] = {"matchLabels": {"pool": name}}
        return self.make(kind, name, {"replicas": replicas, "template": template, **spec}, annotations={
            scale + "min-size": "0", scale + "max-size": "5", capacity + "cpu": "4", capacity + "memory": "8Gi"})

    def machine_set(self, name, deployment, replicas, revision):
        labels = {**deployment["spec"]["selector"]["matchLabels"], "set": name}
        return self.make("MachineSet", name, {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": self.machine_spec("DevMachineTemplate", "small")}}, deployment,
            annotations={"machinedeployment.clusters.x-k8s.io/revision": str(revision)})

    def machine_spec(self, kind, name):
        return {"clusterName": "blue", "bootstrap": {"dataSecretName": "boot"}, "infrastructureRef": self.reference(kind, name)}

    def machine(self, name, owner, provider_id, labels, **status):
        """Runs, as a node that is ready."""
        self.make("Machine", name, {**self.machine_spec("DevMachine", name), "providerID": provider_id}, owner, labels=labels)
        node = {"name": name} if self.version == "v1beta2" else {"apiVersion": "v1", "kind": "Node", "name": name}
        self.api.merge(self.path("machines", name) + "/status", {"status": {"nodeRef": node, "phase": "Running", **status}})
        room, at = {"cpu": "4", "memory": "8Gi", "pods": "110"}, "2026-01-01T00:00:00Z"
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": at, "lastHeartbeatTime": at}
        self.api.create("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "spec": {"providerID": provider_id},
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels},
                         "annotations": {f"{GROUP}/machine": name, f"{GROUP}/cluster-namespace": "default"}},
            "status": {"capacity": room, "allocatable": room, "conditions": [ready]}})

    def pod(self, name, node):
        container = {"name": "work", "image": "work", "resources": {"requests": {"cpu": "3", "memory": "64Mi"}}}
        self.api.create("/api/v1/namespaces/default/pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
                                                            "spec": {"nodeName": node, "containers": [container]}})

    def replicas(self, plural, name):
        return self.api("GET", self.path(plural, name))["spec"]["replicas"]

    def marked(self):
        return [machine["metadata"]["name"] for machine in self.api.list(self.path("machines"))
                if DELETE_MACHINE in machine["metadata"].get("annotations", {})]

    def looked_at(self, *groups):
        """Whether a loop of the autoscaler has had these groups."""
        harness.eventually(lambda: all(name in self.cluster.status() for name in groups), LONG, f"a status about {groups}")


class ClusterApiTest(unittest.TestCase):
    def setUp(self):
        home = self.enterContext(harness.temporary_home())
        hub = ApiServer(home / "hub")
        self.addCleanup(hub.program.stop)
        self.fleet = ProcessFleet(hub.kubectl, home)
        self.addCleanup(self.fleet.stop)
        self.fleet.create(list(VERSIONS))
        self.fleet.arguments = list(FLAGS)
        self.members = {name: Management(self.fleet.members[name], home, version) for name, version in VERSIONS.items()}
        for member in self.members.values():
            self.addCleanup(member.api.connection.close)

    def test_a_machine_that_runs_with_an_old_failure_is_kept(self):
        failure = {"failureReason": "UpdateError", "failureMessage": "an update was refused once"}
        for member in self.members.values():
            deployment = member.group("MachineDeployment", "green", 1)
            machines = member.machine_set("green-1", deployment, 1, 1)
            told = {"deprecated": {"v1beta1": failure}} if member.version == "v1beta2" else failure
            member.machine("green-a", machines, "dev:////green-a", {"pool": "green", "set": "green-1"}, **told)
            member.pod("busy", "green-a")
        self.fleet.start()
        for member in self.members.values():
            member.looked_at("MachineDeployment/default/green")
        time.sleep(WHILE)
        for name, member in self.members.items():
            with self.subTest(name):
                self.assertEqual((member.replicas("machinedeployments", "green"), member.marked()), (1, []))
                self.assertNotIn("deletionTimestamp", member.api("GET", "/api/v1/namespaces/default/pods/busy")["metadata"])

    def test_instances_of_scale_sets_are_told_apart_by_their_whole_ids(self):
        for member in self.members.values():
            for pool in ("east", "west"):
                provider_id = SCALE_SET.format(pool)
                made = member.group("MachinePool", pool, 1, providerIDList=[provider_id])
                member.machine(f"{pool}-0", made, provider_id, {"pool": pool})
            member.pod("busy", "east-0")
            ready = {group["name"]: group["ready"] for group in member.cluster.plan()["nodeGroups"]}
            self.assertEqual(ready, {"MachinePool/default/east": 1, "MachinePool/default/west": 1})
        self.fleet.start()
        for name, member in self.members.items():
            with self.subTest(name):
                harness.eventually(lambda member=member: member.replicas("machinepools", "west") == 0, LONG, "the empty one goes")
                self.assertEqual(member.marked(), ["west-0"])
        time.sleep(WHILE)
        for name, member in self.members.items():
            with self.subTest(name):
                self.assertEqual((member.replicas("machinepools", "east"), member.marked()), (1, ["west-0"]))

    def test_a_deployment_that_is_rolling_out_keeps_its_nodes_until_it_is_done(self):
        for member in self.members.values():
            deployment = member.group("MachineDeployment", "green", 2)
            for revision, name in ((1, "old"), (2, "new")):
                machines = member.machine_set(f"green-{revision}", deployment, 1, revision)
                member.machine(name, machines, f"dev:////{name}", {"pool": "green", "set": f"green-{revision}"})
        self.fleet.start()
        for name in self.members:
            harness.eventually(lambda name=name: "rolling out" in self.fleet.evenkeel("explain", "cluster", name), LONG, name)
        time.sleep(WHILE)
        for name, member in self.members.items():
            with self.subTest(name):
                self.assertEqual((member.replicas("machinedeployments", "green"), member.marked()), (2, []))
            # Its controllers go on, and then the node that is left is empty like any other.
            member.api.merge(member.path("machinesets", "green-1"), {"spec": {"replicas": 0}})
            member.api.merge(member.path("machinedeployments", "green"), {"spec": {"replicas": 1}})
            member.api.remove(member.path("machines", "old"))
            member.api.remove("/api/v1/nodes/old")
        for name, member in self.members.items():
            with self.subTest(name):
                harness.eventually(lambda member=member: member.replicas("machinedeployments", "green") == 0, LONG, "the empty one goes")
                self.assertEqual(member.marked(), ["new"])

    def test_the_flag_that_says_where_the_management_cluster_is_is_taken(self):
        member = self.members["member-2"]
        member.group("MachineDeployment", "green", 0)
        planned = json.loads(member.cluster.run_evenkeel("plan", "scale", "-o", "json", "--clusterapi-cloud-config-authoritative"))
        self.assertEqual([group["name"] for group in planned["nodeGroups"]], ["MachineDeployment/default/green"])


if __name__ == "__main__":
    harness.main_in_parallel()
