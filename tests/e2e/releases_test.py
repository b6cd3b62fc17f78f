"""Manifests as projects ship them (releases/): applied whole, by client and by server, twice each, and deleted again."""
import json
import pathlib
import unittest

import harness

RELEASES = pathlib.Path(__file__).with_name("releases")
WHOLE = ("lantern-operator", "ferry-web", "gauge-agent")
LONG = 180
# Lists that are replaced as a whole have defaults in them, and stringData is never there: kubectl patches these each time, which
# changes nothing.
ALWAYS_PATCHED = ("statefulset.apps/", "secret/", "networkpolicy.networking.k8s.io/", "validatingadmissionpolicy.admissionregistration.k8s.io/",
                  "validatingwebhookconfiguration.admissionregistration.k8s.io/")


class ReleasesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "1"))
        cls.kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig", "member-1")

    def apply(self, name, *how):
        """The lines that say what became of each object."""
        result = self.kubectl.run("apply", *how, "-f", str(RELEASES / f"{name}.yaml"))
        return [line for line in result.stdout.splitlines() if line]

    def go(self, name, *how):
        text = (RELEASES / f"{name}.yaml").read_text()
        objects = text.count("\n---\n") + 1
        first = self.apply(name, *how)
        self.assertEqual(len(first), objects, first)
        if how:
            self.assertTrue(all(line.endswith(" serverside-applied") for line in first), first)
        else:
            self.assertTrue(all(line.endswith(" created") for line in first), first)
        before = self.versions(name)
        again = self.apply(name, *how)
        self.assertTrue(all(line.endswith(" serverside-applied" if how else " unchanged") or line.startswith(ALWAYS_PATCHED) for line in again), again)
        # A controller may write between the two, but not what was applied.
        self.assertEqual({key: spec for key, (spec, _) in before.items()}, {key: spec for key, (spec, _) in self.versions(name).items()})
        return first

    def versions(self, name):
        listed = json.loads(self.kubectl("get", "-f", str(RELEASES / f"{name}.yaml"), "-o", "json"))["items"]
        return {(item["kind"], item["metadata"]["name"]): (item.get("spec") or item.get("data"), item["metadata"]["resourceVersion"])
                for item in listed}

    def delete(self, name):
        # What the namespace has taken with it is not there any more.
        gone = self.kubectl("delete", "--ignore-not-found", "--timeout=150s", "-f", str(RELEASES / f"{name}.yaml"))
        self.assertIn("namespace", gone)
        harness.eventually(lambda: self.kubectl.run("get", "-f", str(RELEASES / f"{name}.yaml"), "--ignore-not-found", "-o", "name",
                                                    check=False).stdout == "", LONG)

    def test_each_is_applied_whole_and_deleted(self):
        for how in ((), ("--server-side",)):
            for name in WHOLE:
                with self.subTest(name, how=how):
                    self.go(name, *how)
            with self.subTest("what they made", how=how):
                self.look()
            for name in WHOLE:
                with self.subTest(f"{name} deleted", how=how):
                    self.delete(name)

    def look(self):
        k = self.kubectl
        k("-n", "lantern-system", "rollout", "status", "deployment/lantern-operator", "--timeout=150s")
        k("-n", "gauge", "rollout", "status", "daemonset/gauge-agent", "--timeout=150s")
        k("wait", "--for=condition=Established", "crd/lanterns.lantern.example.org", "--timeout=150s")
        harness.eventually(lambda: k.run("apply", "-f", str(RELEASES / "lantern-example.yaml"), check=False).returncode == 0, LONG)
        self.assertRegex(k("-n", "lantern-system", "get", "ltn"), r"NAME +REPLICAS +READY +AGE\nharbour +2")
        lantern = json.loads(k("-n", "lantern-system", "get", "lantern", "harbour", "-o", "json"))["spec"]
        self.assertEqual((lantern["timeout"], lantern["template"]), ("30s", {"anything": {"goes": [1, "two"]}}))
        refused = k.run("-n", "lantern-system", "scale", "lantern/harbour", "--replicas=4", check=False)
        self.assertIn("replicas 4 exceed maxReplicas 3", refused.stderr)
        self.assertIn("colour cannot be changed",
                      k.run("-n", "lantern-system", "patch", "lantern", "harbour", "--type=merge", "-p", '{"spec":{"colour":"red"}}', check=False).stderr)
        self.assertIn("sh has no label app of ours",
                      k.run("apply", "--validate=false", "-f", "-", check=False, stdin=json.dumps({
                          "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "sh", "namespace": "gauge"},
                          "spec": {"selector": {"matchLabels": {"app": "x"}},
                                   "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})).stderr)
        role = json.loads(k("get", "clusterrole", "gauge", "-o", "json"))
        self.assertEqual([rule["resources"] for rule in role["rules"]], [["nodes/metrics", "nodes/stats"]])


if __name__ == "__main__":
    harness.main()
