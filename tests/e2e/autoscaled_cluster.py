"""One member cluster that the autoscaler looks after: what it is seen to do there, and how tests make it do something."""
import contextlib
import json
import os
import subprocess
import threading
import time

import harness
from fleet_under_test import http_get
from history import Follower, seconds_of

STATUS = "cluster-autoscaler-status"
STATE = "evenkeel-autoscaler-state"
PRIORITIES = "cluster-autoscaler-priority-expander"
TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
GROUP_LABEL = "evenkeel.dev/node-group"
# How long to wait for what has to come.
LONG = 180


def is_ready(object_with_conditions):
    conditions = object_with_conditions.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def is_healthy(pod):
    return "deletionTimestamp" not in pod["metadata"] and is_ready(pod)


def pod_template(app, cpu, selector=None):
    container = {"name": "work", "image": "work", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
    spec = {"terminationGracePeriodSeconds": 1, "containers": [container]}
    if selector:
        spec["nodeSelector"] = selector
    return {"metadata": {"labels": {"app": app}}, "spec": spec}


def replicated(app, replicas, cpu, selector=None, kind="Deployment"):
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": app},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": app}}, "template": pod_template(app, cpu, selector)}}


def budget(app, unavailable, api_version="policy/v1"):
    return {"apiVersion": api_version, "kind": "PodDisruptionBudget", "metadata": {"name": app},
            "spec": {"maxUnavailable": unavailable, "selector": {"matchLabels": {"app": app}}}}


def node_group(name, maximum, pool, cloud=None, **spec):
    """A group of the embedded cloud: nodes of 4 cores with the label pool=POOL."""
    template = {"metadata": {"labels": {"pool": pool}},
                "status": {"allocatable": {"cpu": "4", "memory": "16Gi", "ephemeral-storage": "100Gi", "pods": "110"}}}
    return {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": name},
            "spec": {"minSize": 0, "maxSize": maximum, "targetSize": 0, "template": template,
                     "cloud": {"provisionDelay": "2s", "deleteDelay": "1s", **(cloud or {})}, **spec}}


class HealthyPods(Follower):
    """How many pods of an app are ready and not going, at every change, until closed."""

    def __init__(self, kubectl, app, namespace="default"):
        self.healthy, self.counts, self.missed, self.lock = set(), [], False, threading.Lock()
        super().__init__(kubectl, f"/api/v1/namespaces/{namespace}/pods?watch=1&labelSelector=app%3D{app}")

    def begin(self):
        with self.lock:
            self.missed = bool(self.counts)
            self.healthy.clear()

    def see(self, event):
        uid = event["object"]["metadata"]["uid"]
        with self.lock:
            (self.healthy.add if event["type"] != "DELETED" and is_healthy(event["object"]) else self.healthy.discard)(uid)
            self.counts.append((time.time(), len(self.healthy)))

    def lowest(self, since):
        """Since then."""
        with self.lock:
            assert not self.missed, "the watch of pods began anew: what happened in between is not known"
            before = [count for at, count in self.counts if at < since]
            return min(before[-1:] + [count for at, count in self.counts if at >= since])


class AutoscaledCluster:
    def __init__(self, kubectl, flags=(), namespace="default", group_label=GROUP_LABEL, scaled="deployment"):
        """`flags`: of the controller, for `plan` and `explain`. `scaled`: the kind that makes pods."""
        self.kubectl, self.flags, self.namespace, self.group_label, self.scaled = kubectl, list(flags), namespace, group_label, scaled

    def apply(self, *manifests):
        for namespace in dict.fromkeys(manifest["metadata"].get("namespace", self.namespace) for manifest in manifests):
            items = [manifest for manifest in manifests if manifest["metadata"].get("namespace", self.namespace) == namespace]
            self.kubectl("-n", namespace, "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    def scale(self, app, replicas):
        self.kubectl("-n", self.namespace, "scale", self.scaled, app, f"--replicas={replicas}")

    def nodes(self, group=None):
        """{name: node}; of the group, or all."""
        return {node["metadata"]["name"]: node for node in self.kubectl.json("get", "nodes")["items"]
                if group is None or node["metadata"].get("labels", {}).get(self.group_label) == group}

    def ready_nodes(self, group=None):
        return {name: node for name, node in self.nodes(group).items() if is_ready(node)}

    def marked_nodes(self):
        return [name for name, node in self.nodes().items()
                if node["spec"].get("unschedulable") or any(taint["key"] == TO_BE_DELETED for taint in node["spec"].get("taints", []))]

    def pods(self, app):
        return self.kubectl.json("-n", self.namespace, "get", "pods", "-l", f"app={app}")["items"]

    def wait_for_pods(self, app, count, seconds):
        """Seconds until exactly so many are healthy and no others are there."""
        begin = time.monotonic()

        def reached():
            pods = self.pods(app)
            assert len(pods) == count and all(is_healthy(pod) for pod in pods), \
                f"{sum(is_healthy(pod) for pod in pods)} of {len(pods)} pods healthy, not {count}"
            return True
        harness.eventually(reached, seconds, f"{count} pods of {app}")
        return time.monotonic() - begin

    def node_group(self, name):
        return self.kubectl.json("get", "nodegroup", name)

    def target(self, name):
        return self.node_group(name)["spec"]["targetSize"]

    def config_map(self, name):
        return self.kubectl.json("-n", "kube-system", "get", "configmap", name)

    def status(self):
        return self.config_map(STATUS)["data"]["status"]

    def status_of_group(self, name):
        """Its lines of the status, which is YAML."""
        sections = self.status().partition("\nnodeGroups:")[2].split("\n- name: ")
        return next(section for section in sections if section.startswith(name + "\n"))

    def state(self):
        return json.loads(self.config_map(STATE)["data"]["state"])

    def unneeded_since(self, node):
        """time.time() of the loop that first found it so; a KeyError while it is needed."""
        return seconds_of(self.state()["scaleDown"]["unneeded"][node])

    def owned_since(self):
        """time.time() of when its owner took it."""
        return seconds_of(self.kubectl.json("-n", "kube-system", "get", "lease", "evenkeel-owner")["spec"]["acquireTime"])

    def events(self, reason, namespace="kube-system", name=None):
        """Messages."""
        items = self.kubectl.json("-n", namespace, "get", "events")["items"]
        return [item["message"] for item in items
                if item["reason"] == reason and name in (None, item["involvedObject"]["name"])]

    def run_evenkeel(self, *arguments):
        context = ["--context", self.kubectl.context] if self.kubectl.context else []
        result = subprocess.run([harness.EVENKEEL, *arguments, "--kubeconfig", str(self.kubectl.kubeconfig), *context, *self.flags],
                                capture_output=True, text=True, timeout=LONG, env={**os.environ, "KUBECONFIG": ""})
        assert result.returncode == 0, (arguments, result.stderr)
        return result.stdout

    def plan(self):
        return json.loads(self.run_evenkeel("plan", "scale", "-o", "json"))

    def explain(self, kind, name):
        return self.run_evenkeel("explain", kind, name)

    def set_node_condition(self, name, kind, status):
        """As whoever looks after the node's network or machine does."""
        def written():
            node = self.kubectl.json("get", "node", name)
            kept = [condition for condition in node["status"].get("conditions", []) if condition["type"] != kind]
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            node["status"]["conditions"] = [*kept, {"type": kind, "status": status, "reason": "Test", "message": "", "lastTransitionTime": now,
                                                    "lastHeartbeatTime": now}]
            self.kubectl("replace", "--raw", f"/api/v1/nodes/{name}/status", "-f", "-", stdin=json.dumps(node))
            return True
        # Its agent writes, too.
        harness.eventually(written, LONG, f"condition {kind}={status} of {name}")


def metric(url, series):
    """Of a controller; 0 when there is no such series."""
    lines = http_get(url + "/metrics")[1].splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(series + " "))


def loops(urls, cluster):
    """That the autoscalers of these controllers have made for the member."""
    return sum(metric(url, f'cluster_autoscaler_function_duration_seconds_count{{cluster="{cluster}",function="main"}}') for url in urls)


def wait_for_loops(fleet, cluster, count):
    """So many more, for something that must not be done in any of them."""
    before = loops(fleet.replicas().values(), cluster)
    harness.eventually(lambda: loops(fleet.replicas().values(), cluster) >= before + count, LONG, f"{count} loops")


def pod_writes(audit_path, since):
    """[(user agent, verb, subresource, pod, code)] of the writes of pods that the audit log tells of."""
    found = []
    for line in audit_path.read_text().splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            event = json.loads(line)
            reference = event["objectRef"]
            if reference["resource"] == "pods" and seconds_of(event["stageTimestamp"]) >= since:
                found.append((event.get("userAgent", ""), event["verb"], reference.get("subresource", ""), reference.get("name", ""),
                              event["responseStatus"]["code"]))
    return found
