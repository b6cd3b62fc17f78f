"""`evenkeel up` as a Karmada-like hub: what kubectl applies there comes to the members, divided and overridden, and their status comes back."""
import json
import unittest

import harness

MEMBERS = ["member-1", "member-2", "member-3"]
# How long to wait for what has to come.
LONG = 180
# For a policy: nothing is propagated by it before that override is known, which each informer hears of in its own time.
OVERRIDDEN = {"dependentOverrides": ["different"]}


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
        self.hub("delete", "serviceimport/web", "serviceexport/web", "propagationpolicy/imports", "service/web", "deployment/web",
                 "propagationpolicy/web", "overridepolicy/different", "--ignore-not-found")
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
        harness.eventually(check, LONG)

    def works(self, cluster):
        """Those of web: others may still be going."""
        items = self.hub.json("get", "works", "-n", f"karmada-es-{cluster}")["items"]
        return [item for item in items if item["metadata"]["name"].startswith("web-")]

    def eventually(self, check):
        def checked():
            try:
                return check()
            except (KeyError, IndexError, TypeError) as missing:
                raise AssertionError(f"not there yet: {missing!r}") from missing
        harness.eventually(checked, LONG)

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
        self.assertEqual([condition(work, "Applied") for work in self.works("member-1")], ["True"])
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

    def test_labels_and_notes_of_an_override_are_on_the_work(self):
        self.apply(override("member-2", labelsOverrider=[{"operator": "add", "value": {"tier": "two"}}],
                            annotationsOverrider=[{"operator": "add", "value": {"note": "here"}}]), policy(MEMBERS, **OVERRIDDEN), web(5))
        self.eventually_copies([2, 2, 1])
        for cluster in MEMBERS:
            work, = self.works(cluster)
            metadata = work["spec"]["workload"]["manifests"][0]["metadata"]
            different = cluster == "member-2"
            self.assertEqual((metadata["labels"].get("tier"), metadata["annotations"].get("note")), ("two", "here") if different else (None, None))
            applied = json.loads(work["metadata"].get("annotations", {}).get("policy.karmada.io/applied-overrides", "[]"))
            self.assertEqual([item["policyName"] for item in applied], ["different"] if different else [])

    def test_an_override_that_cannot_be_applied_holds_up_its_cluster_alone(self):
        wrong = override("member-2", plaintext=[{"path": "/spec/missing", "operator": "replace", "value": 1}])
        self.apply(wrong, policy(MEMBERS, **OVERRIDDEN), web(5))
        self.eventually_copies([2, None, 1])

        def told():
            events = self.hub.json("get", "events")["items"]
            assert any(event["reason"] == "ApplyOverridePolicyFailed" and "member-2" in event["message"] for event in events), events
            return True
        self.eventually(told)
        self.hub("delete", "overridepolicy", "different")
        self.eventually_copies([2, 2, 1])
        self.apply(wrong)
        self.hub("scale", "deployment", "web", "--replicas=10")
        self.eventually_copies([4, 2, 2])

    def test_an_object_of_ours_is_explained_by_our_webhook(self):
        """A ZooKeeper of one's own: divided, with what it needs, its status and health reported, and a member's pause kept."""
        def hooked():
            return self.hub.json("get", "resourceinterpreterwebhookconfigurations")["items"]
        self.eventually(lambda: len(hooked()) == 1)
        own = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "metadata": {"name": "own"},
               "spec": {"replicas": 5, "image": {"tag": "3.8.4", "pullSecrets": ["pull"]}}}
        spread = policy(MEMBERS, propagateDeps=True)
        spread["metadata"]["name"] = "own"
        spread["spec"]["resourceSelectors"] = [{"apiVersion": own["apiVersion"], "kind": own["kind"], "name": "own"}]
        self.addCleanup(lambda: self.hub("delete", "zookeeper/own", "propagationpolicy/own", "secret/pull", "--ignore-not-found"))
        self.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "pull"}, "stringData": {"a": "b"}}, spread, own)

        def copies():
            return [self.hub.at(name).json("get", "zookeeper", "own")["spec"] for name in MEMBERS]

        def eventually(check):
            def checked():
                found = copies()
                assert check(found), found
                return True
            harness.eventually(checked, LONG)
        eventually(lambda found: [copy["replicas"] for copy in found] == [2, 2, 1])
        self.eventually(lambda: all(self.hub.at(name).exists("get", "secret", "pull") for name in MEMBERS))

        def reported():
            binding = self.hub.json("get", "resourcebinding", "own-zookeeper")
            assert binding["spec"]["replicas"] == 5, binding["spec"]
            items = binding["status"]["aggregatedStatus"]
            assert [item["health"] for item in items] == ["Unhealthy"] * 3, items
            assert all("generation" in item["status"] for item in items), items
            assert "readyReplicas" in self.hub.json("get", "zookeeper", "own")["status"]
            return True
        self.eventually(reported)
        self.hub.at("member-1")("patch", "zookeeper", "own", "--type=merge", "-p", '{"spec": {"paused": true}}')
        own["spec"]["image"]["tag"] = "3.8.5"
        self.apply(own)
        eventually(lambda found: [copy["image"]["tag"] for copy in found] == ["3.8.5"] * 3)
        self.assertEqual([copy.get("paused", False) for copy in copies()], [True, False, False])

    def test_nothing_reaches_a_suspended_cluster(self):
        self.apply(policy(MEMBERS, suspension={"dispatchingOnClusters": {"clusterNames": ["member-3"]}}), web(5))
        self.eventually_copies([2, 2, None])

        def told():
            work = self.works("member-3")[0]
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

    def test_what_a_member_exports_is_a_service_in_those_that_import_it(self):
        exporting = policy(MEMBERS[:1])
        exporting["spec"]["resourceSelectors"] += [{"apiVersion": "v1", "kind": "Service", "name": "web"},
                                                   {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceExport", "name": "web"}]
        importing = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": {"name": "imports"},
                     "spec": {"placement": {"clusterAffinity": {"clusterNames": MEMBERS[1:2]}}, "resourceSelectors": [
                         {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport", "name": "web"}]}}
        # The members have to know the kinds.
        definitions = [{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "name": f"{kind}.multicluster.x-k8s.io"}
                       for kind in ("serviceexports", "serviceimports")]
        self.apply({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": "kinds"},
                    "spec": {"resourceSelectors": definitions, "placement": {"clusterAffinity": {"clusterNames": MEMBERS}}}})
        self.eventually(lambda: all("serviceimports" in self.hub.at(name)("api-resources", "--api-group=multicluster.x-k8s.io") for name in MEMBERS))
        of_web = {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "metadata": {"name": "web"}}
        ports = [{"name": "http", "port": 80, "protocol": "TCP"}]
        self.apply(exporting, importing, web(2), {**of_web, "kind": "ServiceExport"},
                   {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": ports}},
                   {**of_web, "kind": "ServiceImport", "spec": {"type": "ClusterSetIP", "ports": ports}})

        def addresses(cluster, service):
            slices = self.hub.at(cluster).json("get", "endpointslices", "-l", f"kubernetes.io/service-name={service}")["items"]
            return sorted(address for one in slices for endpoint in one.get("endpoints") or [] for address in endpoint["addresses"])

        def follows(count):
            exported, imported = addresses("member-1", "web"), addresses("member-2", "derived-web")
            assert len(exported) == count and imported == exported, (exported, imported)
            return True
        self.eventually(lambda: follows(2))
        service = self.hub.at("member-2").json("get", "service", "derived-web")
        self.assertEqual([port["port"] for port in service["spec"]["ports"]], [80])
        names = [one["metadata"]["name"] for one in self.hub.json("get", "endpointslices", "-l", "kubernetes.io/service-name=derived-web")["items"]]
        self.assertTrue(names and all(name.startswith("imported-member-1-web-") for name in names), names)
        self.hub("scale", "deployment", "web", "--replicas=4")
        self.eventually(lambda: follows(4))
        self.assertEqual(addresses("member-3", "derived-web"), [], "it imports nothing")
        self.hub("delete", "serviceexport", "web")
        self.eventually(lambda: addresses("member-2", "derived-web") == [])
        self.hub("delete", "serviceimport", "web")
        self.eventually(lambda: not self.hub.at("member-2").exists("get", "service", "derived-web"))


if __name__ == "__main__":
    harness.main()
