"""What people type every day, by one list for each kubectl: Debian's 1.20, that of Debian 13 (1.32) and the newest of Debian unstable.
None of it may hang. tools/kubectl-1.20 and tools/kubectl-of fetch them; those that are not there are skipped with a message."""
import subprocess
import time
import unittest

import harness

# A command that hangs waits for the server, not for its turn among other tests.
HANGS = 60

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: applied, labels: {app: applied}}
spec:
  replicas: 1
  selector: {matchLabels: {app: applied}}
  template:
    metadata: {labels: {app: applied}}
    spec: {containers: [{name: c, image: nginx}]}
"""

# (arguments, what has to be in the answer[, standard input]); of verbs that not every version has, the first one.
EVERYDAY = (
    (("version",), "Server Version"),
    (("cluster-info",), "control plane"),
    (("api-resources", "--api-group=apps"), "deployments"),
    (("explain", "deployment.spec.strategy"), "rollingUpdate"),
    (("create", "configmap", "settings", "--from-literal=a=b"), "created"),
    (("create", "secret", "generic", "hidden", "--from-literal=password=x"), "created"),
    (("create", "deployment", "web", "--image=nginx", "--replicas=2"), "created"),
    (("create", "serviceaccount", "robot"), "created"),
    (("create", "role", "reader", "--verb=get,list", "--resource=pods"), "created"),
    (("create", "rolebinding", "robot-reads", "--role=reader", "--serviceaccount={ns}:robot"), "created"),
    (("create", "quota", "limits", "--hard=pods=50"), "created"),
    (("create", "job", "once", "--image=busybox", "--", "true"), "created"),
    (("create", "service", "clusterip", "web", "--tcp=80:8080"), "created"),
    (("rollout", "status", "deployment/web"), "successfully rolled out"),
    (("wait", "--for=condition=Available", "deployment/web"), "condition met"),
    (("get", "pods", "-o", "wide"), "Running"),
    (("get", "all"), "deployment.apps/web"),
    (("get", "deployment", "web", "-o", "yaml"), "kind: Deployment"),
    (("describe", "deployment", "web"), "ScalingReplicaSet"),
    (("get", "events"), "Scheduled"),
    (("apply", "-f", "-"), "created", DEPLOYMENT),
    (("apply", "--server-side", "--force-conflicts", "-f", "-"), "serverside-applied", DEPLOYMENT),
    (("diff", "-f", "-"), "", DEPLOYMENT),
    (("scale", "deployment", "web", "--replicas=3"), "scaled"),
    (("set", "image", "deployment/web", "nginx=nginx:2"), "updated"),
    (("rollout", "status", "deployment/web"), "successfully rolled out"),
    (("rollout", "restart", "deployment/web"), "restarted"),
    (("rollout", "history", "deployment/web"), "REVISION"),
    (("patch", "deployment", "web", "-p", '{{"metadata":{{"labels":{{"a":"b"}}}}}}'), "patched"),
    (("label", "deployment", "web", "c=d"), "labeled"),
    (("annotate", "deployment", "web", "e=f"), "annotated"),
    (("expose", "deployment", "applied", "--port=80"), "exposed"),
    (("run", "single", "--image=nginx"), "created"),
    (("wait", "--for=condition=Ready", "pod/single"), "condition met"),
    (("auth", "can-i", "get", "pods"), "yes"),
    (("auth", "can-i", "delete", "pods", "--as=system:serviceaccount:{ns}:robot"), "no"),
    (("get", "pods", "--as=system:serviceaccount:{ns}:robot"), "Running"),
    (("delete", "pod", "single"), "deleted"),
    (("delete", "deployment", "web"), "deleted"),
)
# Since 1.24 and 1.28.
NEWER = (
    (("create", "token", "robot"), "."),
    (("auth", "whoami"), "Username"),
    (("get", "deployment", "applied", "--subresource=status"), "applied"),
)


class EverydayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "1"))

    def go_through(self, directory, advice):
        path = harness.ROOT / "build" / directory / "usr/bin/kubectl"
        if not path.exists():
            self.skipTest(f"{path.relative_to(harness.ROOT)} is not there: {advice}")
        kubectl = harness.Kubectl(str(path), self.home / "kubeconfig", "member-1")
        version = harness.version_of(path)
        namespace = f"everyday-{version.replace('.', '-').replace('+', '-')}"
        newer = NEWER if int(version.split(".")[1]) >= 28 else ()
        steps = ((("create", "namespace", namespace), "created"), *EVERYDAY, *newer, (("delete", "namespace", namespace), "deleted"))
        took = []
        for arguments, expected, *stdin in steps:
            words = [word.format(ns=namespace) for word in arguments]
            begin = time.monotonic()
            with self.subTest(f"{version}: {' '.join(words)}"):
                try:
                    result = kubectl.run("-n", namespace, *words, stdin=stdin[0] if stdin else None, check=False, timeout=HANGS)
                except subprocess.TimeoutExpired:
                    self.fail(f"it hangs: no answer in {HANGS} s")
                # `auth can-i` says no by its status, too.
                self.assertIn(expected, result.stdout, result.stderr)
                self.assertTrue(result.returncode == 0 or expected == "no", result.stderr)
            took.append((time.monotonic() - begin, " ".join(words)))
        took.sort(reverse=True)
        print(f"kubectl {version}: {len(took)} commands, {sum(seconds for seconds, _ in took):.1f} s; the longest:",
              ", ".join(f"{seconds:.1f} s {words}" for seconds, words in took[:3]))

    def test_of_debian_12(self):
        self.go_through("kubectl-1.20", "run tools/kubectl-1.20")

    def test_of_debian_13(self):
        self.go_through("kubectl-trixie", "run tools/kubectl-of trixie")

    def test_the_newest(self):
        self.go_through("kubectl-unstable", "run tools/kubectl-of unstable")


if __name__ == "__main__":
    harness.main()
