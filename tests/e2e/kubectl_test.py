"""kubectl is the judge: what people do every day, in Debian's version (1.20) and in a newer one, over TLS against the embedded fleet."""
import json
import re
import threading
import time
import unittest

import harness

# How long to wait for what has to come.
LONG = 180

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1.25
        ports: [{containerPort: 80}]
        resources: {requests: {cpu: 100m, memory: 64Mi}}
"""

PROCESS_POD = """
apiVersion: v1
kind: Pod
metadata: {name: talker, annotations: {evenkeel.dev/runtime: process}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: sh
    image: none
    command: [sh, -c, 'echo "hello from $HOSTNAME $GREETING"; cat "$EVENKEEL_POD_ROOT/etc/talker/motd"; echo; while :; do sleep 0.2; done']
    env: [{name: GREETING, valueFrom: {configMapKeyRef: {name: talker, key: greeting}}}]
    volumeMounts: [{name: config, mountPath: /etc/talker}]
    readinessProbe: {exec: {command: [sh, -c, 'test -s "$EVENKEEL_POD_ROOT/etc/talker/motd"']}, periodSeconds: 1}
  volumes: [{name: config, configMap: {name: talker}}]
"""

PDB = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
"""

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: NAME}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
    - {operations: [UPDATE, DELETE], apiGroups: [apps], apiVersions: [v1], resources: [deployments, deployments/scale]}
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAMESPACE}}
  matchConditions:
  - {name: people, expression: "!('system:serviceaccounts' in request.userInfo.groups)"}
  variables:
  - {name: asked, expression: "object == null ? 1000 : int(object.spec.replicas)"}
  validations:
  - expression: variables.asked <= int(params.data.max)
    messageExpression: "request.name + ' asks for ' + string(variables.asked) + ', ' + params.data.max + ' are allowed'"
    reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: NAME}
spec:
  policyName: NAME
  validationActions: [Deny]
  paramRef: {name: limits, parameterNotFoundAction: Deny}
"""
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.com}
spec:
  group: example.com
  names: {kind: Boat, plural: boats, singular: boat, shortNames: [bt]}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.oars, statusReplicasPath: .status.oars}}
    additionalPrinterColumns: [{name: Oars, type: integer, jsonPath: .spec.oars}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [oars]
            properties:
              oars: {type: integer, minimum: 0, description: How many rowers it takes.}
              colour: {type: string, default: white}
          status: {type: object, properties: {oars: {type: integer}}}
"""


LIMITS = """
apiVersion: v1
kind: LimitRange
metadata: {name: sizes}
spec:
  limits:
  - {type: Container, default: {cpu: 200m}, defaultRequest: {cpu: 100m}, max: {cpu: "1"}}
"""


class Following:
    """A kubectl that goes on, and what it has said so far."""

    def __init__(self, kubectl, *arguments):
        self.lines, self.process = [], kubectl.start(*arguments)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        self.process.wait()
        self.thread.join()
        self.process.stdout.close()

    def text(self):
        return "".join(self.lines)

    def says(self, pattern, times=1):
        """Until so many different matches are there."""
        harness.eventually(lambda: len(set(re.findall(pattern, self.text(), re.M))) >= times, LONG, self.text)


class EveryDay:
    """In namespaces on member-1, with the kubectls that are `chosen` of all, the oldest first."""
    chosen = slice(None)

    @classmethod
    def setUpClass(cls):
        cls.kubectls = dict(list(harness.kubectls().items())[cls.chosen])
        if not cls.kubectls:
            raise unittest.SkipTest("no such kubectl: run tools/kubectl-1.20, or install another one")
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "1"))

    def each(self):
        """(version, kubectl, namespace) for each kubectl, with a fresh namespace."""
        for version, path in self.kubectls.items():
            name = f"t-{self._testMethodName.removeprefix('test_').replace('_', '-')[:40]}-{version.replace('.', '-')}"
            kubectl = harness.Kubectl(path, self.home / "kubeconfig", "member-1")
            kubectl("create", "namespace", name)
            try:
                yield version, lambda *a, k=kubectl, n=name, **o: k("-n", n, *a, **o), kubectl, name
            finally:
                kubectl("delete", "namespace", name, "--wait=false")

    def deploy(self, k, replicas=2):
        k("apply", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", f"replicas: {replicas}"))
        k("rollout", "status", "deployment/web", "--timeout=180s")

    def test_get_in_every_form(self):
        for _, k, kubectl, ns in self.each():
            self.deploy(k)
            self.assertRegex(k("get", "pods"), r"NAME +READY +STATUS +RESTARTS +AGE\nweb-\w+-\w+ +1/1 +Running")
            self.assertRegex(k("get", "pods", "-o", "wide"), r"IP +NODE +NOMINATED NODE +READINESS GATES")
            self.assertIn("kind: Deployment", k("get", "deployment", "web", "-o", "yaml"))
            self.assertEqual(len(json.loads(k("get", "pods", "-l", "app=web", "-o", "json"))["items"]), 2)
            self.assertEqual(k("get", "pods", "-l", "app!=web", "-o", "name"), "")
            pod = json.loads(k("get", "pods", "-o", "json"))["items"][0]
            node = pod["spec"]["nodeName"]
            found = k("get", "pods", "--field-selector", f"spec.nodeName={node}", "-o", "name")
            self.assertIn(pod["metadata"]["name"], found)
            self.assertIn(ns, kubectl("get", "pods", "-A"))
            self.assertRegex(k("get", "deployments,replicasets"), r"deployment.apps/web +2/2 +2 +2")
            self.assertRegex(kubectl("get", "nodes"), r"member-1-node-1 +Ready +")
            missing = kubectl.run("-n", ns, "get", "pod", "nobody", check=False)
            self.assertIn('Error from server (NotFound): pods "nobody" not found', missing.stderr)

    def test_get_watches(self):
        for _, k, kubectl, ns in self.each():
            self.deploy(k, 1)
            with Following(kubectl, "-n", ns, "get", "pods", "-w") as watch:
                # From what it lists on it misses nothing.
                watch.says(r"^(web-\S+) +1/1 +Running")
                k("scale", "deployment", "web", "--replicas=2")
                watch.says(r"^(web-\S+) +1/1 +Running", times=2)
                k("delete", "deployment", "web")
                watch.says(r"^(web-\S+) .* Terminating", times=2)

    def test_describe(self):
        for _, k, kubectl, _ in self.each():
            self.deploy(k)
            text = k("describe", "deployment", "web")
            self.assertRegex(text, r"Replicas: +2 desired \| 2 updated \| 2 total \| 2 available \| 0 unavailable")
            self.assertIn("ScalingReplicaSet", text)
            pod = k("get", "pods", "-o", "name").split()[0]
            text = k("describe", pod)
            self.assertIn("Scheduled", text)
            self.assertIn("nginx:1.25", text)
            text = kubectl("describe", "node", "member-1-node-1")
            self.assertIn("Non-terminated Pods", text)
            self.assertIn("Allocated resources", text)

    def test_create(self):
        for _, k, _, _ in self.each():
            k("create", "deployment", "made", "--image=nginx")
            k("create", "configmap", "settings", "--from-literal=a=1")
            k("create", "secret", "generic", "hidden", "--from-literal=password=x")
            k("create", "service", "clusterip", "made", "--tcp=80:8080")
            k("rollout", "status", "deployment/made", "--timeout=180s")
            self.assertIn("a: \"1\"", k("get", "configmap", "settings", "-o", "yaml"))
            self.assertRegex(k("get", "service", "made"), r"ClusterIP +\d+\.\d+\.\d+\.\d+ +<none> +80/TCP")
            again = k("create", "configmap", "settings2", "--from-literal=a=1", "--dry-run=server", "-o", "name")
            self.assertEqual(again.strip(), "configmap/settings2")
            self.assertNotIn("settings2", k("get", "configmaps"))

    def test_what_a_namespace_may_have(self):
        for _, k, kubectl, ns in self.each():
            k("apply", "-f", "-", stdin=LIMITS)
            k("create", "quota", "few", "--hard=pods=1,requests.cpu=1,count/configmaps=5")
            k("run", "one", "--image=nginx")
            told = json.loads(k("get", "pod", "one", "-o", "json"))["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
            self.assertEqual(told, "LimitRanger plugin set: cpu request for container one; cpu limit for container one")
            refused = kubectl.run("-n", ns, "run", "two", "--image=nginx", check=False)
            self.assertIn("exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1", refused.stderr)
            harness.eventually(lambda: re.search(r"requests.cpu +100m +1\n", k("describe", "quota", "few")), LONG)
            # Each namespace has the certificate of the API, and its Service is where that listens.
            harness.eventually(lambda: "BEGIN CERTIFICATE" in k("get", "configmap", "kube-root-ca.crt", "--ignore-not-found", "-o", "yaml"), LONG)
            service = kubectl.json("-n", "default", "get", "service", "kubernetes")
            self.assertEqual(service["spec"]["clusterIP"], "10.96.0.1")
            endpoints = kubectl.json("-n", "default", "get", "endpoints", "kubernetes")
            self.assertEqual(endpoints["subsets"][0]["addresses"], [{"ip": "127.0.0.1"}])
            self.assertEqual(endpoints["subsets"][0]["ports"][0]["port"], service["spec"]["ports"][0]["targetPort"])

    def test_apply_client_side(self):
        for _, k, _, _ in self.each():
            self.deploy(k)
            changed = DEPLOYMENT.replace("nginx:1.25", "nginx:1.26").replace("ports: [{containerPort: 80}]", "ports: [{containerPort: 81}]")
            self.assertIn("configured", k("apply", "-f", "-", stdin=changed))
            self.assertIn("unchanged", k("apply", "-f", "-", stdin=changed))
            container = json.loads(k("get", "deployment", "web", "-o", "json"))["spec"]["template"]["spec"]["containers"][0]
            self.assertEqual(container["image"], "nginx:1.26")
            self.assertEqual([p["containerPort"] for p in container["ports"]], [81])
            k("rollout", "status", "deployment/web", "--timeout=180s")

    def test_apply_server_side(self):
        for _, k, kubectl, ns in self.each():
            k("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)
            k("rollout", "status", "deployment/web", "--timeout=180s")
            other = kubectl.run("-n", ns, "apply", "--server-side", "--field-manager=other", "-f", "-", check=False,
                                stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 3"))
            self.assertNotEqual(other.returncode, 0)
            self.assertIn("conflict", other.stderr)
            self.assertIn(".spec.replicas", other.stderr)
            k("apply", "--server-side", "--force-conflicts", "--field-manager=other", "-f", "-",
              stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 3"))
            self.assertEqual(k("get", "deployment", "web", "-o", "jsonpath={.spec.replicas}"), "3")

    def test_patch_edit_label_annotate(self):
        for _, k, kubectl, ns in self.each():
            self.deploy(k)
            k("patch", "deployment", "web", "-p", '{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}}')
            k("patch", "deployment", "web", "--type=merge", "-p", '{"metadata":{"labels":{"tier":"front"}}}')
            k("patch", "deployment", "web", "--type=json", "-p", '[{"op":"replace","path":"/spec/replicas","value":1}]')
            k("set", "image", "deployment/web", "web=nginx:3")
            deployment = json.loads(k("get", "deployment", "web", "-o", "json"))
            self.assertEqual(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "nginx:3")
            self.assertEqual(deployment["metadata"]["labels"], {"app": "web", "tier": "front"})
            self.assertEqual(deployment["spec"]["replicas"], 1)
            kubectl("-n", ns, "edit", "deployment", "web", env={"KUBE_EDITOR": "sed -i s/tier:.front/tier:\\ back/"})
            k("label", "deployment", "web", "extra=1")
            k("annotate", "deployment", "web", "note=hello")
            meta = json.loads(k("get", "deployment", "web", "-o", "json"))["metadata"]
            self.assertEqual(meta["labels"], {"app": "web", "tier": "back", "extra": "1"})
            self.assertEqual(meta["annotations"]["note"], "hello")
            k("label", "deployment", "web", "extra-")
            self.assertNotIn("extra", json.loads(k("get", "deployment", "web", "-o", "json"))["metadata"]["labels"])

    def test_scale_rollout_and_undo(self):
        for _, k, _, _ in self.each():
            self.deploy(k)
            k("scale", "deployment", "web", "--replicas=4")
            k("rollout", "status", "deployment/web", "--timeout=180s")
            self.assertEqual(len(k("get", "pods", "-o", "name").split()), 4)
            k("set", "image", "deployment/web", "web=nginx:bad")
            k("rollout", "status", "deployment/web", "--timeout=180s")
            self.assertRegex(k("rollout", "history", "deployment/web"), r"1 +<none>\n2 +<none>")
            k("rollout", "undo", "deployment/web")
            k("rollout", "status", "deployment/web", "--timeout=180s")
            self.assertEqual(k("get", "deployment", "web", "-o", "jsonpath={.spec.template.spec.containers[0].image}"), "nginx:1.25")
            k("rollout", "restart", "deployment/web")
            k("rollout", "status", "deployment/web", "--timeout=180s")

    def test_delete_in_three_ways(self):
        for _, k, _, _ in self.each():
            self.deploy(k)
            k("delete", "deployment", "web", "--cascade=foreground")
            harness.eventually(lambda: k("get", "pods,replicasets", "-o", "name") == "", LONG, "cascade")
            self.deploy(k)
            k("delete", "deployment", "web", "--cascade=orphan")
            time.sleep(1)
            self.assertRegex(k("get", "replicasets", "-o", "name"), r"replicaset.apps/web-")
            k("delete", "replicasets", "--all")
            harness.eventually(lambda: k("get", "pods,replicasets", "-o", "name") == "", LONG, "orphans")
            k("create", "configmap", "c", "--from-literal=a=1")
            k("delete", "configmap", "c")
            self.assertEqual(k("get", "configmap", "c", "--ignore-not-found"), "")

    def test_wait(self):
        for _, k, kubectl, ns in self.each():
            k("apply", "-f", "-", stdin=DEPLOYMENT)
            k("wait", "--for=condition=Available", "deployment/web", "--timeout=180s")
            k("wait", "--for=condition=Ready", "pod", "-l", "app=web", "--timeout=180s")
            with Following(kubectl, "-n", ns, "-v=6", "wait", "--for=delete", "pod", "-l", "app=web", "--timeout=180s") as waiting:
                # Once it has asked which pods there are.
                waiting.says("labelSelector=app%3Dweb.*200 OK")
                k("delete", "deployment", "web")
                self.assertEqual(waiting.process.wait(LONG), 0, waiting.text())

    def test_cordon_drain_and_budgets(self):
        for version, k, kubectl, ns in self.each():
            self.deploy(k, 3)
            budget = PDB.replace("policy/v1", "policy/v1beta1") if version.startswith("v1.20") else PDB
            k("apply", "-f", "-", stdin=budget)
            harness.eventually(lambda: k("get", "pdb", "web", "-o", "jsonpath={.status.disruptionsAllowed}") == "1", LONG)
            node = json.loads(k("get", "pods", "-o", "json"))["items"][0]["spec"]["nodeName"]
            kubectl("cordon", node)
            self.assertIn("SchedulingDisabled", kubectl("get", "node", node))
            output = kubectl("drain", node, "--ignore-daemonsets", "--force", "--timeout=180s")
            self.assertIn("evicted", output)
            left = json.loads(k("get", "pods", "--field-selector", f"spec.nodeName={node}", "-o", "json"))["items"]
            self.assertEqual(left, [])
            kubectl("uncordon", node)
            k("rollout", "status", "deployment/web", "--timeout=180s")

    def test_api_resources_and_explain(self):
        for _, _, kubectl, _ in self.each():
            text = kubectl("api-resources")
            for line in (r"pods +po +v1 +true +Pod", r"deployments +deploy +apps/v1 +true +Deployment",
                         r"customresourcedefinitions +crd,crds +apiextensions.k8s.io/v1 +false"):
                self.assertRegex(text, line)
            self.assertIn("policy/v1", kubectl("api-versions"))
            self.assertRegex(kubectl("explain", "deployment.spec.replicas"), r"replicas.*<integer>")
            self.assertRegex(kubectl("explain", "pod.spec.containers"), r"image\s+<string>")

    def test_custom_resources(self):
        for _, k, kubectl, ns in self.each():
            kubectl("apply", "-f", "-", stdin=CRD)
            kubectl("wait", "--for=condition=Established", "crd/boats.example.com", "--timeout=180s")
            boat = "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: punt}\nspec: {oars: 2, mast: 1}\n"
            # kubectl validates against the schema by itself; the server prunes what it does not know.
            k("apply", "--validate=false", "-f", "-", stdin=boat)
            self.assertRegex(k("get", "bt"), r"NAME +OARS\npunt +2")
            spec = json.loads(k("get", "boat", "punt", "-o", "json"))["spec"]
            self.assertEqual(spec, {"oars": 2, "colour": "white"})
            k("scale", "boat", "punt", "--replicas=4")
            self.assertEqual(k("get", "boat", "punt", "-o", "jsonpath={.spec.oars}"), "4")
            wrong = kubectl.run("patch", "-n", ns, "boat", "punt", "--type=merge", "-p", '{"spec":{"oars":-1}}', check=False)
            self.assertIn("spec.oars", wrong.stderr)
            self.assertIn("How many rowers", kubectl("explain", "boat.spec.oars"))
            kubectl("delete", "crd", "boats.example.com")
            harness.eventually(lambda: kubectl.run("get", "boats", "-A", check=False).returncode != 0, LONG)

    def test_policies_judge_writes(self):
        for version, k, kubectl, ns in self.each():
            name = f"few-replicas-{version.replace('.', '-')}"
            policy = POLICY.replace("NAMESPACE", ns).replace("NAME", name)
            kubectl("apply", "--validate=false", "-f", "-", stdin=policy)
            k("create", "configmap", "limits", "--from-literal=max=2")
            self.assertRegex(kubectl("get", "validatingadmissionpolicies", name), r"VALIDATIONS +PARAMKIND +AGE\n\S+ +1 +v1/ConfigMap")
            self.assertRegex(kubectl("get", "validatingadmissionpolicybindings", name), rf"POLICYNAME +PARAMREF +AGE\n\S+ +{name} +limits")
            self.deploy(k)
            for what in (("scale", "deployment/web", "--replicas=3"), ("delete", "deployment/web")):
                refused = kubectl.run("-n", ns, *what, check=False)
                self.assertNotEqual(refused.returncode, 0, what)
                self.assertIn(f"ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: ", refused.stderr)
            self.assertIn("web asks for 3, 2 are allowed", kubectl.run("-n", ns, "scale", "deployment/web", "--replicas=3", check=False).stderr)
            broken = kubectl.run("apply", "--validate=false", "-f", "-", stdin=policy.replace("variables.asked <=", "variables.asked <= 'x' +"), check=False)
            self.assertIn("compilation failed: ERROR: <input>:1:", broken.stderr)
            kubectl("delete", "--wait=false", "-f", "-", stdin=policy)
            k("scale", "deployment/web", "--replicas=3")

    def test_logs_of_a_process_pod(self):
        for _, k, kubectl, ns in self.each():
            k("create", "configmap", "talker", "--from-literal=greeting=ahoy", "--from-literal=motd=fair winds")
            k("apply", "-f", "-", stdin=PROCESS_POD)
            k("wait", "--for=condition=Ready", "pod/talker", "--timeout=180s")
            harness.eventually(lambda: "hello from talker ahoy" in k("logs", "talker"), LONG)
            self.assertIn("fair winds", k("logs", "talker"))
            self.assertEqual(len(k("logs", "talker", "--tail=1").splitlines()), 1)
            with Following(kubectl, "-n", ns, "logs", "-f", "talker") as follow:
                follow.says("hello from talker")
                k("delete", "pod", "talker")
                follow.process.wait(LONG)

    def test_jobs_stateful_sets_and_daemon_sets(self):
        for _, k, _, _ in self.each():
            k("create", "job", "once", "--image=busybox", "--", "true")
            k("wait", "--for=condition=Complete", "job/once", "--timeout=180s")
            template = "template: {metadata: {labels: {app: %s}}, spec: {containers: [{name: c, image: i}]}}"
            k("apply", "-f", "-", stdin="apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  serviceName: db\n  replicas: 2\n"
              "  selector: {matchLabels: {app: db}}\n  " + template % "db")
            k("rollout", "status", "statefulset/db", "--timeout=180s")
            self.assertEqual(sorted(k("get", "pods", "-l", "app=db", "-o", "name").split()), ["pod/db-0", "pod/db-1"])
            k("apply", "-f", "-", stdin="apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec:\n"
              "  selector: {matchLabels: {app: agent}}\n  " + template % "agent")
            k("rollout", "status", "daemonset/agent", "--timeout=180s")
            self.assertEqual(len(k("get", "pods", "-l", "app=agent", "-o", "name").split()), 3)

    def test_refuses_what_is_wrong_in_upstreams_words(self):
        for _, k, kubectl, ns in self.each():
            def refused(manifest):
                return kubectl.run("-n", ns, "create", "--validate=false", "-f", "-", stdin=manifest, check=False).stderr
            self.assertRegex(refused("apiVersion: v1\nkind: Pod\nmetadata: {name: Bad_Name}\nspec: {containers: [{name: c, image: i}]}"),
                             r'The Pod "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name"')
            self.assertIn("spec.containers", refused("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: []}"))
            self.assertRegex(refused(DEPLOYMENT.replace("matchLabels: {app: web}", "matchLabels: {app: other}")),
                             r"`selector` does not match template `labels`")
            k("create", "configmap", "c")
            self.assertIn('configmaps "c" already exists', refused("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}"))
            self.assertIn("nowhere", kubectl.run("-n", "nowhere", "create", "configmap", "x", check=False).stderr)


class DebiansKubectlTest(EveryDay, unittest.TestCase):
    chosen = slice(1)


class NewerKubectlTest(EveryDay, unittest.TestCase):
    chosen = slice(1, None)


if __name__ == "__main__":
    harness.main_in_parallel()
