"""The parts of a cluster that a bare API server lacks, played as simply as the tests allow: a scheduler, kubelets, ReplicaSets, the status of
PodDisruptionBudgets, and the controllers of Cluster API. They act on one namespace, all in one thread, a few times a second."""
import base64
import contextlib
import json
import socket
import ssl
import threading
import time
import traceback
import urllib.parse

import harness
from api_client import LOST, Connection
from process_fleet import cluster_of

PROVIDER_ID = "e2e://"
NOT_READY = "node.kubernetes.io/not-ready"
DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"
DEFAULT = "default-scheduler"
QUOTA = "e2e.evenkeel.dev/quota"  # annotation of a MachineDeployment: as many machines can be had


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def cores(text):
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


class ApiError(Exception):
    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


def message_of(answer):
    """Of a Status; what is no JSON comes from before the API."""
    try:
        return json.loads(answer).get("message", "")
    except ValueError:
        return answer.decode(errors="replace")


@contextlib.contextmanager
def tolerated(code):
    try:
        yield
    except ApiError as error:
        if error.code != code:
            raise


class Api:
    """One connection, which belongs to one thread."""

    def __init__(self, kubectl, home):
        server, config = cluster_of(kubectl)
        config, url = json.loads(config), urllib.parse.urlsplit(server)
        tls, self.headers = config["tlsClientConfig"], {}
        context = ssl.create_default_context(cadata=base64.b64decode(tls["caData"]).decode() if "caData" in tls else None)
        if tls.get("insecure"):
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if "certData" in tls:
            for key in ("certData", "keyData"):
                path = home / f"played-{key}.pem"
                path.touch(mode=0o600)
                path.write_bytes(base64.b64decode(tls[key]))
            context.load_cert_chain(home / "played-certData.pem", home / "played-keyData.pem")
        if "bearerToken" in config:
            self.headers["Authorization"] = f"Bearer {config['bearerToken']}"
        self.connection = Connection(url.hostname, url.port or 443, context)

    def __call__(self, method, path, body=None, content_type="application/json", harmless=False):
        text = None if body is None else json.dumps(body)
        status, answer = self.connection.ask(method, path, text, {**self.headers, "Content-Type": content_type}, harmless)
        if status >= 400:
            raise ApiError(status, message_of(answer))
        return json.loads(answer or b"{}")

    def create(self, path, body):
        """Unless it is there, as when the answer to an earlier try was lost."""
        with tolerated(409):
            self("POST", path, body)

    def remove(self, path):
        """Unless it has gone."""
        with tolerated(404):
            self("DELETE", path)

    def list(self, path):
        return self("GET", path)["items"]

    def merge(self, path, patch):
        return self("PATCH", path, patch, "application/merge-patch+json", harmless=True)

    def served(self, path):
        with tolerated(404):
            return bool(self("GET", path))
        return False


def condition(kind, status, **more):
    return {"type": kind, "status": status, "lastTransitionTime": now(), **more}


def condition_of(thing, kind):
    return next((item["status"] for item in thing.get("status", {}).get("conditions", []) if item["type"] == kind), None)


def is_going(thing):
    return "deletionTimestamp" in thing["metadata"]


def owner(thing):
    references = thing["metadata"].get("ownerReferences", [])
    return references[0]["uid"] if references else ""


class Played:
    """Somebody who takes a `turn` a few times a second, on an API of their own, between `start` and `close`. `failures` are for the test."""

    def __init__(self, kubectl, home):
        self.api, self.failures, self.closed = Api(kubectl, home), [], threading.Event()
        self.thread = threading.Thread(target=self.play, daemon=True)

    def start(self):
        self.thread.start()

    def close(self):
        self.closed.set()
        self.thread.join(30)
        self.api.connection.close()

    def play(self):
        while not self.closed.wait(0.2):
            try:
                self.turn()
            except ApiError as error:
                # Somebody was faster, or the server is not ready yet; the next turn sees what is there.
                if error.code not in (404, 409, 429):
                    self.failures.append(str(error))
            except LOST:
                # Whatever was asked for has been done or not: so does the next turn.
                continue
            except Exception:  # told by the test at its end
                self.failures.append(traceback.format_exc())


class PlayedLeader:
    """A ZooKeeper server alone in its ensemble, as far as four-letter words tell."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.line = f"server.1=127.0.0.1:1:2:participant;127.0.0.1:{self.port}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        words = {b"srvr": "Zxid: 0x100000001\nMode: leader\n", b"mntr": "zk_server_state\tleader\nzk_synced_followers\t0\n",
                 b"conf": f"membership: \n{self.line}\nversion=100000000"}
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection:
                    connection.sendall(words.get(connection.recv(4), "").encode())

    def close(self):
        # A thread that waits for a connection would wait on.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def play_server(kubectl, namespace, node, ready=False):
    """What a StatefulSet controller and a kubelet make of a ZooKeeper's set, as far as that its pod runs: the uid of the pod."""
    here = ("-n", namespace)
    [found] = harness.eventually(lambda: kubectl.json("get", "statefulsets", *here)["items"], 120, "a StatefulSet")
    template, name = found["spec"]["template"], found["metadata"]["name"] + "-0"
    body = {**template["spec"], "nodeName": node, "volumes": [*template["spec"]["volumes"], {"name": "data", "emptyDir": {}}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {**template["metadata"], "name": name}, "spec": body}
    kubectl(*here, "create", "-f", "-", stdin=json.dumps(pod))
    pod = kubectl.json(*here, "get", "pod", name)
    running = [{"name": container["name"], "image": "zookeeper", "imageID": "", "ready": ready, "restartCount": 0,
                "state": {"running": {"startedAt": now()}}} for container in pod["spec"]["containers"]]
    pod["status"] = {"phase": "Running", "podIP": "127.0.0.1", "containerStatuses": running,
                     "conditions": [condition("Ready", "True")] if ready else []}
    kubectl("replace", "--raw", f"/api/v1/namespaces/{namespace}/pods/{name}/status", "-f", "-", stdin=json.dumps(pod))
    return pod["metadata"]["uid"]


class PlayedCluster(Played):
    def __init__(self, kubectl, home, namespace):
        super().__init__(kubectl, home)
        self.namespace = namespace
        version = "v1" if self.api.served("/apis/policy/v1") else "v1beta1"
        self.core, self.budgets = f"/api/v1/namespaces/{namespace}", f"/apis/policy/{version}/namespaces/{namespace}/poddisruptionbudgets"
        self.sets, self.budget_version = f"/apis/apps/v1/namespaces/{namespace}/replicasets", f"policy/{version}"
        self.machines_api = f"/apis/cluster.x-k8s.io/v1beta1/namespaces/{namespace}"
        self.plays_machines, self.sick, self.made = False, set(), 0

    def turn(self):
        if self.plays_machines:
            self.turn_machines()
        nodes = {node["metadata"]["name"]: node for node in self.api.list("/api/v1/nodes")}
        pods = self.api.list(f"{self.core}/pods")
        self.keep_nodes(nodes)
        self.keep_pods(pods, nodes)
        self.keep_sets([pod for pod in pods if not is_going(pod)])
        self.schedule(pods, nodes)
        self.keep_budgets(pods)

    def keep_nodes(self, nodes):
        for name, node in nodes.items():
            wanted = "False" if name in self.sick else "True"
            if condition_of(node, "Ready") != wanted:
                node["status"]["conditions"] = [condition("Ready", wanted, reason="Played", message="", lastHeartbeatTime=now())]
                node = self.api("PUT", f"/api/v1/nodes/{name}/status", node)
            # New nodes get this one from the API server itself.
            taints = node["spec"].get("taints", [])
            kept = [taint for taint in taints if taint["key"] != NOT_READY]
            if wanted == "True" and kept != taints:
                self.api("PUT", f"/api/v1/nodes/{name}", {**node, "spec": {**node["spec"], "taints": kept}})

    def keep_pods(self, pods, nodes):
        for pod in pods:
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName")
            if is_going(pod) or (node and node not in nodes):
                self.api("DELETE", f"{self.core}/pods/{name}", {"gracePeriodSeconds": 0})
            elif node and condition_of(pod, "Ready") != "True":
                conditions = [condition("PodScheduled", "True"), condition("Ready", "True")]
                self.api.merge(f"{self.core}/pods/{name}/status", {"status": {"phase": "Running", "conditions": conditions}})

    def keep_sets(self, pods):
        for replica_set in self.api.list(self.sets):
            name, uid, wanted = replica_set["metadata"]["name"], replica_set["metadata"]["uid"], replica_set["spec"]["replicas"]
            mine = [pod for pod in pods if owner(pod) == uid]
            for _ in range(len(mine), wanted):
                reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": uid, "controller": True}
                template = replica_set["spec"]["template"]
                self.api("POST", f"{self.core}/pods", {"apiVersion": "v1", "kind": "Pod", "spec": template["spec"], "metadata": {
                    **template["metadata"], "generateName": f"{name}-", "ownerReferences": [reference]}})
            for pod in self.doomed(mine, len(mine) - wanted):
                self.api("DELETE", f"{self.core}/pods/{pod['metadata']['name']}")

    @staticmethod
    def doomed(pods, count):
        """As the real controller chooses: those that share their node with most of the others."""
        left, found = list(pods), []
        for _ in range(count):
            on = [pod["spec"].get("nodeName") for pod in left]
            left.sort(key=lambda pod: on.count(pod["spec"].get("nodeName")))
            found.append(left.pop())
        return found

    def schedule(self, pods, nodes):
        free = {name: cores(node["status"]["allocatable"]["cpu"]) for name, node in nodes.items()
                if condition_of(node, "Ready") == "True" and not node["spec"].get("unschedulable")
                and not any(taint["effect"] != "PreferNoSchedule" for taint in node["spec"].get("taints", []))}

        def size(pod):
            return sum(cores(container["resources"]["requests"]["cpu"]) for container in pod["spec"]["containers"])
        for pod in pods:
            if pod["spec"].get("nodeName") in free:
                free[pod["spec"]["nodeName"]] -= size(pod)
        for pod in pods:
            if pod["spec"].get("nodeName") or is_going(pod) or pod["spec"].get("schedulerName", DEFAULT) != DEFAULT:
                continue
            name, selector = pod["metadata"]["name"], pod["spec"].get("nodeSelector", {})
            fits = [node for node, left in free.items()
                    if left >= size(pod) and selector.items() <= nodes[node]["metadata"].get("labels", {}).items()]
            if fits:
                free[fits[0]] -= size(pod)
                self.api("POST", f"{self.core}/pods/{name}/binding", {
                    "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"apiVersion": "v1", "kind": "Node", "name": fits[0]}})
            elif condition_of(pod, "PodScheduled") != "False":
                refused = condition("PodScheduled", "False", reason="Unschedulable", message="no node has room")
                self.api.merge(f"{self.core}/pods/{name}/status", {"status": {"conditions": [refused]}})

    def keep_budgets(self, pods):
        sets = {item["metadata"]["uid"]: item["spec"]["replicas"] for item in self.api.list(self.sets)}
        for budget in self.api.list(self.budgets):
            wanted = budget["spec"]["selector"]["matchLabels"].items()
            mine = [pod for pod in pods if wanted <= pod["metadata"].get("labels", {}).items()]
            there = {pod["metadata"]["name"]: pod for pod in mine if not is_going(pod)}
            disrupted = {name: at for name, at in budget.get("status", {}).get("disruptedPods", {}).items() if name in there}
            healthy = sum(condition_of(pod, "Ready") == "True" and name not in disrupted for name, pod in there.items())
            expected = sum(sets.get(uid, 0) for uid in {owner(pod) for pod in mine})
            desired = max(0, expected - budget["spec"]["maxUnavailable"])
            status = {"observedGeneration": budget["metadata"]["generation"], "expectedPods": expected, "desiredHealthy": desired,
                      "currentHealthy": healthy, "disruptionsAllowed": max(0, healthy - desired), "disruptedPods": disrupted}
            if {"disruptedPods": {}, **budget.get("status", {})} != status:
                # With the version that was read, as an eviction may have been counted since.
                self.api("PUT", f"{self.budgets}/{budget['metadata']['name']}/status", {**budget, "status": status})

    def turn_machines(self):
        machines = self.api.list(f"{self.machines_api}/machines")
        sets = {item["metadata"]["name"]: item for item in self.api.list(f"{self.machines_api}/machinesets")}
        for deployment in self.api.list(f"{self.machines_api}/machinedeployments"):
            name = deployment["metadata"]["name"]
            if name not in sets:
                self.make("MachineSet", "machinesets", name, deployment, dict(deployment["spec"]))
                continue
            mine = [machine for machine in machines if owner(machine) == sets[name]["metadata"]["uid"]]
            self.keep_machines(deployment, sets[name], mine)

    def make(self, kind, plural, name, owned_by, spec):
        reference = {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": owned_by["kind"], "name": owned_by["metadata"]["name"],
                     "uid": owned_by["metadata"]["uid"], "controller": True}
        labels = {"cluster.x-k8s.io/cluster-name": owned_by["spec"]["clusterName"], **owned_by["spec"]["selector"]["matchLabels"]}
        return self.api("POST", f"{self.machines_api}/{plural}", {
            "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "labels": labels, "ownerReferences": [reference]}})

    def keep_machines(self, deployment, machine_set, machines):
        wanted = deployment["spec"]["replicas"]
        quota = int(deployment["metadata"].get("annotations", {}).get(QUOTA, 1000))
        marked = [machine for machine in machines if DELETE_MACHINE in machine["metadata"].get("annotations", {})]
        # Marked ones go first, then those that are no nodes yet.
        order = marked + [machine for machine in machines if machine not in marked and "nodeRef" not in machine.get("status", {})]
        for machine in order[:max(0, len(machines) - wanted)]:
            node = machine.get("status", {}).get("nodeRef", {}).get("name")
            if node:
                self.api.remove(f"/api/v1/nodes/{node}")
            self.api.remove(f"{self.machines_api}/machines/{machine['metadata']['name']}")
        for _ in range(len(machines), wanted):
            self.made += 1
            self.make("Machine", "machines", f"{deployment['metadata']['name']}-{self.made}", machine_set,
                      {"clusterName": deployment["spec"]["clusterName"]})
        had = sum("providerID" in machine["spec"] for machine in machines)
        for machine in machines:
            if "providerID" in machine["spec"] or machine.get("status", {}).get("failureMessage"):
                continue
            if had < quota:
                had += 1
                self.become_node(deployment, machine)
            else:
                self.api.merge(f"{self.machines_api}/machines/{machine['metadata']['name']}/status",
                               {"status": {"phase": "Failed", "failureReason": "CreateError",
                                           "failureMessage": "out of stock"}})

    def become_node(self, deployment, machine):
        name = machine["metadata"]["name"]
        path = f"{self.machines_api}/machines/{name}"
        annotations = deployment["metadata"]["annotations"]
        room = {"cpu": annotations["capacity.cluster-autoscaler.kubernetes.io/cpu"],
                "memory": annotations["capacity.cluster-autoscaler.kubernetes.io/memory"], "pods": "110"}
        labels = dict(label.split("=") for label in annotations["capacity.cluster-autoscaler.kubernetes.io/labels"].split(","))
        self.api.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
                                           "spec": {"providerID": PROVIDER_ID + name}, "status": {"capacity": room, "allocatable": room}})
        self.api.merge(path, {"spec": {"providerID": PROVIDER_ID + name}})
        self.api.merge(path + "/status", {"status": {"nodeRef": {"apiVersion": "v1", "kind": "Node", "name": name}, "phase": "Running"}})


def definition(kind, plural, scale):
    """A CRD of Cluster API, as far as the autoscaler looks."""
    subresources = {"status": {}}
    if scale:
        subresources["scale"] = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {"spec": {**free, "properties": {"replicas": {"type": "integer"}}}, "status": free}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.cluster.x-k8s.io"},
            "spec": {"group": "cluster.x-k8s.io", "scope": "Namespaced", "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                     "versions": [{"name": "v1beta1", "served": True, "storage": True, "subresources": subresources,
                                   "schema": {"openAPIV3Schema": schema}}]}}


DEFINITIONS = [definition("MachineDeployment", "machinedeployments", True), definition("MachineSet", "machinesets", True),
               definition("Machine", "machines", False)]


def machine_deployment(name, maximum, labels="", quota=None):
    """Of machines with 4 cores and the label pool=NAME; `labels`: ",more=..."."""
    capacity, scale = "capacity.cluster-autoscaler.kubernetes.io/", "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
    annotations = {capacity + "cpu": "4", capacity + "memory": "16Gi", capacity + "labels": f"pool={name}{labels}",
                   scale + "min-size": "0", scale + "max-size": str(maximum)}
    if quota is not None:
        annotations[QUOTA] = str(quota)
    return {"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "MachineDeployment", "metadata": {"name": name, "annotations": annotations},
            "spec": {"clusterName": "e2e", "replicas": 0, "selector": {"matchLabels": {"e2e.evenkeel.dev/deployment": name}},
                     "template": {"metadata": {"labels": {"e2e.evenkeel.dev/deployment": name}}, "spec": {"clusterName": "e2e"}}}}
