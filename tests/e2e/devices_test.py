"""Devices on the embedded fleet, with objects as Kubernetes' documentation has them: pods get them, kubectl shows and explains them, what is
deleted gives them back, and the autoscaler makes nodes for them and takes nodes away around them."""
import json
import os
import subprocess
import unittest

import harness
from autoscaled_cluster import LONG, is_ready

EXAMPLES = harness.ROOT / "examples/devices"
AUTOSCALER = "--scan-interval=1s --scale-down-unneeded-time=5s --scale-down-delay-after-add=2s --scale-down-delay-after-delete=1s"
DRIVER = "cards.example.com"


def group_with_cards():
    """Of nodes that do not exist yet, with two cards each."""
    cards = [{"name": f"card-{number}", "attributes": {"model": {"string": "a"}}} for number in range(2)]
    return {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": "cards"},
            "spec": {"minSize": 0, "maxSize": 4, "targetSize": 0, "cloud": {"provisionDelay": "2s", "deleteDelay": "1s"},
                     "template": {"status": {"allocatable": {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "110"}},
                                  "resourceSlices": [{"driver": DRIVER, "devices": cards}]}}}


def class_of_cards():
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "cards"},
            "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]}}


def claim_of_a_card(name, model):
    selector = {"cel": {"expression": f"device.attributes['{DRIVER}'].model == '{model}'"}}
    request = {"name": "card", "exactly": {"deviceClassName": "cards", "selectors": [selector]}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name},
            "spec": {"spec": {"devices": {"requests": [request]}}}}


def with_cards(app, claim_template):
    spec = {"terminationGracePeriodSeconds": 1, "resourceClaims": [{"name": "card", "resourceClaimTemplateName": claim_template}],
            "containers": [{"name": "work", "image": "work", "resources": {"requests": {"cpu": "100m"}, "claims": [{"name": "card"}]}}]}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": app},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": app}},
                     "template": {"metadata": {"labels": {"app": app}}, "spec": spec}}}


class DevicesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(
            harness.fleet(home, "--nodes", "1", "--members", "1", "--replicas", "1", "--autoscaler-args", AUTOSCALER))
        cls.kubectl = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "member-1")
        cls.kubectl("apply", "-f", str(EXAMPLES / "nodes.yaml"))
        # So that a pod waits for a device of these two.
        cls.kubectl("patch", "nodegroup", "gpus", "--type=merge", "-p", '{"spec": {"maxSize": 2}}')

    def items(self, kind):
        return self.kubectl.json("get", kind)["items"]

    def pods(self, app):
        return self.kubectl.json("get", "pods", "-l", f"app={app}")["items"]

    def allocated(self):
        """{node/device: names of the pods that have it}."""
        devices = {}
        for claim in self.items("resourceclaims"):
            status = claim.get("status", {})
            for result in status.get("allocation", {}).get("devices", {}).get("results", []):
                device = f"{result['pool']}/{result['device']}"
                self.assertNotIn(device, devices, "it is allocated twice")
                devices[device] = {consumer["name"] for consumer in status.get("reservedFor", [])}
        return devices

    def wait_for_pods(self, app, count):
        def running():
            pods = self.pods(app)
            assert len(pods) == count and all(is_ready(pod) for pod in pods), [pod["status"] for pod in pods]
            return pods
        return harness.eventually(running, LONG, f"{count} pods of {app}")

    def why(self, pod):
        conditions = self.kubectl.json("get", "pod", pod)["status"].get("conditions", [])
        return next((condition.get("message", "") for condition in conditions if condition["type"] == "PodScheduled"), "")

    def test_1_a_driver_publishes_what_nodes_have(self):
        def published():
            slices = self.items("resourceslices")
            assert len(slices) == 2, slices
            return slices
        for published_slice in harness.eventually(published, LONG, "two nodes publish their devices"):
            spec, [owner] = published_slice["spec"], published_slice["metadata"]["ownerReferences"]
            self.assertEqual(spec["pool"], {"name": spec["nodeName"], "generation": 1, "resourceSliceCount": 1})
            self.assertEqual((owner["kind"], owner["name"]), ("Node", spec["nodeName"]))
            self.assertEqual([device["name"] for device in spec["devices"]], ["gpu-0", "gpu-1"])
        head, *rows = self.kubectl("get", "resourceslices").splitlines()
        self.assertEqual(head.split(), ["NAME", "NODE", "DRIVER", "POOL", "AGE"])
        self.assertEqual(rows[0].split()[:4], ["gpus-1-driver.example.com", "gpus-1", "driver.example.com", "gpus-1"])
        self.assertEqual(len(self.kubectl("get", "resourceslices", "--field-selector", "spec.nodeName=gpus-2").splitlines()), 2)

    def test_2_pods_get_devices_of_their_own_and_share_those_that_have_a_name(self):
        self.kubectl("apply", "-f", str(EXAMPLES / "claims.yaml"))
        own = {pod["metadata"]["name"] for pod in self.wait_for_pods("own-gpu", 3)}
        shared = {pod["metadata"]["name"] for pod in self.wait_for_pods("shared-gpu", 2)}
        devices = self.allocated()
        self.assertEqual(len(devices), 4)
        self.assertEqual(sorted(map(sorted, devices.values())), sorted([*([name] for name in own), sorted(shared)]))
        for pod in self.pods("own-gpu"):
            [status] = pod["status"]["resourceClaimStatuses"]
            claim = self.kubectl.json("get", "resourceclaim", status["resourceClaimName"])
            self.assertEqual(claim["metadata"]["annotations"]["resource.kubernetes.io/pod-claim-name"], "gpu")
            [result] = claim["status"]["allocation"]["devices"]["results"]
            self.assertEqual(result["pool"], pod["spec"]["nodeName"])
        head, *rows = self.kubectl("get", "resourceclaims").splitlines()
        self.assertEqual(head.split(), ["NAME", "STATE", "AGE"])
        self.assertEqual({row.split()[1] for row in rows}, {"allocated,reserved"})

    def test_3_a_pod_without_a_device_says_why_and_gets_the_next_that_is_free(self):
        self.kubectl("scale", "deployment", "own-gpu", "--replicas=4")

        def waiting():
            pod = next(pod for pod in self.pods("own-gpu") if "nodeName" not in pod["spec"])
            assert "cannot allocate all claims" in self.why(pod["metadata"]["name"]), self.why(pod["metadata"]["name"])
            return pod
        harness.eventually(waiting, LONG, "a pod waits for a device")
        self.kubectl("delete", "deployment", "shared-gpu")
        self.wait_for_pods("own-gpu", 4)
        self.assertEqual(len(self.allocated()), 4)

    def test_4_devices_are_explained(self):
        self.assertIn("firstAvailable", self.kubectl("explain", "resourceclaim.spec.devices.requests"))
        self.assertIn("allocationMode", self.kubectl("explain", "resourceclaimtemplate.spec.spec.devices.requests.exactly"))
        self.assertIn("extendedResourceName", self.kubectl("explain", "deviceclass.spec"))
        self.assertIn("perDeviceNodeSelection", self.kubectl("explain", "resourceslice.spec"))

    def test_5_extended_resources_are_devices(self):
        self.kubectl("scale", "deployment", "own-gpu", "--replicas=1")
        self.kubectl("apply", "-f", str(EXAMPLES / "extended-resource.yaml"))
        self.kubectl("wait", "--for=condition=Ready", "pod/extended", f"--timeout={LONG}s")
        status = self.kubectl.json("get", "pod", "extended")["status"]["extendedResourceClaimStatus"]
        self.assertEqual(status["requestMappings"],
                         [{"containerName": "work", "resourceName": "example.com/gpu", "requestName": "container-0-request-0"}])
        claim = self.kubectl.json("get", "resourceclaim", status["resourceClaimName"])
        self.assertEqual([consumer["name"] for consumer in claim["status"]["reservedFor"]], ["extended"])
        self.kubectl("delete", "pod", "extended", "--wait=false")

    def test_6_what_is_broken_is_not_given_out(self):
        """By a taint that somebody puts on it; the next change of the template takes it away."""
        self.kubectl("delete", "deployment", "own-gpu", "shared-gpu", "--ignore-not-found")
        harness.eventually(lambda: not self.allocated(), LONG, "all devices are free")
        broken = {"spec": {"devices": [{"name": f"gpu-{number}", "attributes": {"type": {"string": "gpu"}, "model": {"string": "a"}},
                                        "capacity": {"memory": {"value": "64Gi"}},
                                        "taints": [{"key": "example.com/broken", "effect": "NoSchedule"}]} for number in range(2)]}}
        for node in ("gpus-1", "gpus-2"):
            self.kubectl("patch", "resourceslice", f"{node}-driver.example.com", "--type=merge", "-p", json.dumps(broken))
        self.kubectl("apply", "-f", str(EXAMPLES / "claims.yaml"))
        harness.eventually(lambda: len(self.pods("own-gpu")) == 3 and all(self.why(pod["metadata"]["name"]) for pod in self.pods("own-gpu")), LONG,
                           "pods wait")
        self.assertEqual(self.allocated(), {})
        group = self.kubectl.json("get", "nodegroup", "gpus")
        slices = group["spec"]["template"]["resourceSlices"]
        slices[0]["devices"][0]["attributes"]["model"]["string"] = "c"
        self.kubectl("patch", "nodegroup", "gpus", "--type=merge", "-p", json.dumps({"spec": {"template": {"resourceSlices": slices}}}))
        harness.eventually(lambda: {item["spec"]["pool"]["generation"] for item in self.items("resourceslices")} == {2}, LONG,
                           "a new generation is published")
        self.wait_for_pods("own-gpu", 3)

    def test_7_what_is_deleted_gives_devices_back(self):
        self.kubectl("delete", "-f", str(EXAMPLES / "claims.yaml"), "--ignore-not-found")
        self.kubectl("delete", "-f", str(EXAMPLES / "extended-resource.yaml"), "--ignore-not-found")
        harness.eventually(lambda: not self.items("resourceclaims"), LONG, lambda: f"claims go: {self.items('resourceclaims')}")
        self.kubectl("delete", "nodegroup", "gpus")
        harness.eventually(lambda: not self.items("resourceslices"), LONG, "slices go with their nodes")

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def nodes_with_cards(self):
        return {node["metadata"]["name"] for node in self.kubectl.json("get", "nodes", "-l", "evenkeel.dev/node-group=cards")["items"]}

    def wait_for_nodes(self, count):
        def there():
            nodes = self.nodes_with_cards()
            assert len(nodes) == count, nodes
            return nodes
        return harness.eventually(there, LONG, f"{count} nodes with cards")

    def explain(self, pod):
        result = subprocess.run([harness.EVENKEEL, "explain", "pod", pod, "-o", "json", "--kubeconfig", str(self.kubectl.kubeconfig), "--context",
                                 self.kubectl.context], capture_output=True, text=True, timeout=LONG, env={**os.environ, "KUBECONFIG": ""})
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_8_nodes_come_for_devices_that_only_a_template_knows(self):
        self.apply(group_with_cards(), class_of_cards(), claim_of_a_card("card", "a"), claim_of_a_card("no-card", "b"))
        self.apply(with_cards("filler", "card"), with_cards("first", "card"), with_cards("never", "no-card"))
        for app in ("filler", "first"):
            self.wait_for_pods(app, 1)
        self.wait_for_nodes(1)
        self.apply(with_cards("second", "card"))
        self.wait_for_pods("second", 1)
        self.wait_for_nodes(2)

        def explained():
            [pod] = self.pods("never")
            explanation = self.explain("default/" + pod["metadata"]["name"])
            [group] = [group for group in explanation["groups"] if group["group"] == "cards"]
            assert "request card of class cards" in group["why"] and "model == 'b'" in group["why"] and "card-0" in group["why"], explanation
            return group
        harness.eventually(explained, LONG, "why the pod gets no node")

    def test_9_a_node_goes_when_its_pods_get_their_devices_elsewhere(self):
        self.assertEqual(len(self.allocated()), 3)
        self.kubectl("delete", "deployment", "filler")
        self.wait_for_nodes(1)
        [first], [second] = self.wait_for_pods("first", 1), self.wait_for_pods("second", 1)
        self.assertEqual(first["spec"]["nodeName"], second["spec"]["nodeName"])

        def freed():
            devices = self.allocated()
            assert len(devices) == 2 and {device.split("/")[0] for device in devices} == {first["spec"]["nodeName"]}, devices
            return devices
        harness.eventually(freed, LONG, "what the pods had before is free")
        self.kubectl("delete", "deployment", "first", "second", "never")


if __name__ == "__main__":
    harness.main()
