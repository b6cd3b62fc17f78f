"""`evenkeel up` as a Karmada-like hub: what kubectl applies there comes to the members, divided and overridden, and their status comes back."""
import json
import unittest

import harness

MEMBERS = ["member-1", "member-2", "member-3"]


def web(replicas, image="web:1"):
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {"app": "web"}},
            "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
                     "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}}}}


def policy(clusters, **more):
    weights = [{"targetCluster": {"clusterNames": [name]}, "weight": weight} for name, weight in zip(MEMBERS, (2, 2, 1))]
    return {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "web"},
            "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
                     "placement": {"clusterAffinity": {"clusterNames": clusters},
                                   "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                                                         "weightPreference": {"staticWeightList": weights}}}, **more}}


def override(cluster, **overriders):
    return {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "OverridePolicy", "metadata": {"name": "different"},
            "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
                     "overrideRules": [{"targetCluster": {"clusterNames": [cluster]}, "overriders": overriders}]}}


def condition(item, name):
    return next((c["status"] for c in item.get("status", {}).get("conditions", []) if c["type"] == name), None)


class FederationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "3", "--replicas", "1"))
        cls.hub = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig", "hub")

    def setUp(self):
        self.addCleanup(self.clean)

    def clean(self):
        for kind in ("deployment/web", "propagationpolicy/web", "overridepolicy/different"):
            self.hub("delete", kind, "--ignore-not-found")
        self.eventually_copies([None, None, None])

    def apply(self, *objects):
        self.hub("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def copies(self):
        found = []
        for name in MEMBERS:
            result = self.hub.at(name).run("get", "deployment", "web", "-o", "json", check=False)
            found.append(json.loads(result.stdout) if result.returncode == 0 else None)
        return found

    def eventually_copies(self, replicas):
        def check():
            found = [copy and copy["spec"]["replicas"] for copy in self.copies()]
            assert found == replicas, (found, replicas)
            return True
        harness.eventually(check, 30)

    def eventually(self, check, seconds=30):
        def checked():
            try:
                return check()
            except (KeyError, IndexError, TypeError) as missing:
                raise AssertionError(f"not there yet: {missing!r}") from missing
        harness.eventually(checked, seconds)

    def test_members_are_clusters_that_are_ready(self):
        def ready():
            clusters = self.hub.json("get", "clusters.cluster.karmada.io")["items"]
            assert [c["metadata"]["name"] for c in clusters] == MEMBERS, clusters
            assert all(condition(c, "Ready") == "True" for c in clusters), clusters
            return True
        self.eventually(ready)
        self.assertIn("member-2", self.hub("get", "clusters.cluster.karmada.io"))

    def test_a_policy_divides_and_the_status_comes_back(self):
        self.apply(policy(MEMBERS), web(5))
        self.eventually_copies([2, 2, 1])

        def reported():
            binding = self.hub.json("get", "resourcebinding", "web-deployment")
            assert condition(binding, "Scheduled") == condition(binding, "FullyApplied") == "True", binding["status"]
            items = binding["status"]["aggregatedStatus"]
            assert [(i["clusterName"], i["health"], i["status"]["readyReplicas"]) for i in items] == \
                list(zip(MEMBERS, ["Healthy"] * 3, (2, 2, 1))), items
            status = self.hub.json("get", "deployment", "web")["status"]
            assert status["readyReplicas"] == status["replicas"] == 5, status
            return True
        self.eventually(reported)
        self.assertEqual(self.hub.json("get", "pods", "-l", "app=web")["items"], [], "a template runs nothing on the hub")
        works = self.hub.json("get", "works", "-n", "karmada-es-member-1")["items"]
        self.assertEqual([condition(work, "Applied") for work in works], ["True"])
        self.hub("scale", "deployment", "web", "--replicas=10")
        self.eventually_copies([4, 4, 2])

    def test_an_override_is_for_one_cluster(self):
        self.apply(override("member-2", imageOverrider=[{"component": "Tag", "operator": "replace", "value": "2"}],
                            plaintext=[{"path": "/spec/replicas", "operator": "replace", "value": 4}]), policy(MEMBERS), web(5))
        self.eventually_copies([2, 4, 1])
        images = [copy["spec"]["template"]["spec"]["containers"][0]["image"] for copy in self.copies()]
        self.assertEqual(images, ["web:1", "web:2", "web:1"])
        self.hub("delete", "overridepolicy", "different")
        self.eventually_copies([2, 2, 1])

    def test_nothing_reaches_a_suspended_cluster(self):
        self.apply(policy(MEMBERS, suspension={"dispatchingOnClusters": {"clusterNames": ["member-3"]}}), web(5))
        self.eventually_copies([2, 2, None])

        def told():
            work = self.hub.json("get", "works", "-n", "karmada-es-member-3")["items"][0]
            assert work["spec"]["suspendDispatching"] and condition(work, "Dispatching") == "False", work
            return True
        self.eventually(told)
        self.assertIsNone(self.copies()[2])
        self.apply(policy(MEMBERS))
        self.eventually_copies([2, 2, 1])

    def test_a_cluster_that_leaves_loses_its_copy_and_deletion_removes_all(self):
        self.apply(policy(MEMBERS), web(5))
        self.eventually_copies([2, 2, 1])
        self.apply(policy(MEMBERS[:2]), web(6))
        self.eventually_copies([3, 3, None])
        self.hub("delete", "deployment", "web")
        self.eventually_copies([None, None, None])
        self.eventually(lambda: self.hub.json("get", "works,resourcebindings", "--all-namespaces")["items"] == [])

    def test_what_is_changed_in_a_member_is_put_right(self):
        self.apply(policy(MEMBERS), web(5))
        self.eventually_copies([2, 2, 1])
        self.hub.at("member-1")("scale", "deployment", "web", "--replicas=7")
        self.eventually_copies([2, 2, 1])
        self.hub.at("member-2")("delete", "deployment", "web")
        self.eventually_copies([2, 2, 1])


if __name__ == "__main__":
    harness.main()
