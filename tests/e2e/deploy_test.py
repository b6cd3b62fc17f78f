"""What is in deploy/ fits the program and itself: kinds, kustomize and Helm, API servers, alerts and dashboard on what a live replica
exports, the container image, the Debian package and the list of what the program consists of."""
import contextlib
import copy
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

import yaml

import deploy_files
import documentation_test
import harness
from deploy_files import CHART, KUSTOMIZE, OVERLAYS, by_name, documents, overlay, run
from fleet_under_test import http_get
from process_fleet import ApiServer

DEPLOY = harness.ROOT / "deploy"
EXAMPLE = KUSTOMIZE / "example"
VERSION = re.search(r"^project\(evenkeel VERSION ([0-9.]+)", (harness.ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
# Exported in compatible mode alone.
COMPATIBLE = {"evenkeel_distribution_replicas"}
# What a chart's objects have besides: component, instance, managed-by, version, chart.
HELMS_LABELS = {*(f"app.kubernetes.io/{name}" for name in ("component", "instance", "managed-by", "version")), "helm.sh/chart"}
# How long to wait for what has to come.
LONG = 180


def named_in(expression, families):
    """Families of metrics that an expression is about."""
    names = set(re.findall(r"\b(?:evenkeel|cluster_autoscaler)_\w+", expression))
    return {name if name in families else re.sub(r"_(bucket|sum|count)$", "", name) for name in names}


def families_of(exported):
    return {line.split()[2] for line in exported.splitlines() if line.startswith("# TYPE")}


def without(objects, *kinds):
    return [thing for thing in objects if thing["kind"] not in kinds]


def deployment_of(objects):
    return next(thing for thing in objects if thing["kind"] == "Deployment")


def arguments_of(objects):
    return deployment_of(objects)["spec"]["template"]["spec"]["containers"][0]["args"]


class DefinitionsTest(unittest.TestCase):
    """CustomResourceDefinitions are what the program would install."""

    def test_kustomize_and_helm_have_those_of_the_program(self):
        printed = {where: run(harness.EVENKEEL, "run", "--print-definitions", where) for where in ("hub", "member")}
        for where, text in printed.items():
            path = KUSTOMIZE / f"definitions/{where}/definitions.yaml"
            self.assertEqual(path.read_text(), text, f"evenkeel run --print-definitions {where} >{path.relative_to(harness.ROOT)}")
        both = by_name(documents(printed["hub"])) | by_name(documents(printed["member"]))
        self.assertEqual(by_name(documents((CHART / "crds/definitions.yaml").read_text())), both)

    def test_the_roles_name_them(self):
        for where, account in (("hub", "evenkeel-controller"), ("member", "evenkeel-member")):
            objects = overlay(where)
            kinds = {thing["metadata"]["name"] for thing in objects if thing["kind"] == "CustomResourceDefinition"}
            named = {name for role in objects if role["kind"] == "ClusterRole" and role["metadata"]["name"].startswith(account)
                     for rule in role["rules"] if "customresourcedefinitions" in rule["resources"] for name in rule["resourceNames"]}
            self.assertEqual(kinds, named)


def minor_version(kubectl):
    """32 of v1.32.4."""
    version = json.loads(run(kubectl, "version", "--client", "-o", "json"))["clientVersion"]
    return int(re.search(r"\d+", version["minor"]).group())


class ManifestsTest(unittest.TestCase):
    def test_kubectl_builds_the_same(self):
        path = shutil.which("kubectl") or harness.any_kubectl()
        minor = minor_version(path)
        if minor < 21:
            self.skipTest(f"{path} is 1.{minor}, whose kustomize does not build from directories")
        for directory in (*OVERLAYS.iterdir(), EXAMPLE):
            self.assertEqual(by_name(documents(run(path, "kustomize", directory))), by_name(deploy_files.built(directory)), directory.name)

    def test_an_api_server_takes_them(self):
        with harness.temporary_home() as home, contextlib.closing(Server(home)) as server:
            for directory in sorted(OVERLAYS.iterdir()):
                things = overlay(directory.name)
                self.assertEqual([thing["kind"] for thing in things if not server.knows(thing)], [], directory.name)
                server.kubectl("apply", "--dry-run=server", "-f", "-",
                               stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": things}))
            path = shutil.which("kubectl")
            if path and minor_version(path) >= 21:
                for directory in sorted(OVERLAYS.iterdir()):
                    run(path, "--kubeconfig", server.kubectl.kubeconfig, "--cache-dir", home / "kubectl-cache", "apply", "-k", directory)
            # Misspelt fields are refused where kinds are known.
            broken = copy.deepcopy(deployment_of(overlay("hub")))
            broken["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["periodSeconds"] = "often"
            self.assertNotEqual(server.kubectl.run("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(broken), check=False).returncode, 0)
            self.assertLessEqual({"CustomResourceDefinition", "Deployment", "Namespace", "NetworkPolicy", "Secret", "Service"}, server.known)

    def test_the_program_takes_the_arguments(self):
        objects = overlay("hub")
        arguments = [re.sub(r"\$\(\w+\)", "x", argument) for argument in arguments_of(objects)]
        run(harness.EVENKEEL, *arguments, "--print-definitions", "hub")
        self.assertEqual(deployment_of(objects)["spec"]["template"]["spec"]["containers"][0]["image"], f"evenkeel:{VERSION}")

    def test_pods_are_confined(self):
        """As the Pod Security Standard `restricted`, which the namespace enforces, and a file system that nobody writes to."""
        pod = deployment_of(overlay("hub"))["spec"]["template"]["spec"]
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
        for container in pod["containers"]:
            confined = container["securityContext"]
            self.assertEqual((confined["allowPrivilegeEscalation"], confined["readOnlyRootFilesystem"], confined["capabilities"]),
                             (False, True, {"drop": ["ALL"]}))

    def test_no_role_is_wider_than_it_says(self):
        for directory in OVERLAYS.iterdir():
            for role in overlay(directory.name):
                for rule in role.get("rules", []):
                    self.assertNotIn("*", rule["verbs"] + rule["apiGroups"], role["metadata"]["name"])
                    if "*" in rule["resources"]:
                        self.assertEqual((rule["apiGroups"], rule["verbs"]), (["infrastructure.cluster.x-k8s.io"], ["get"]))


class Server:
    """An embedded API server, and which kinds it has."""

    def __init__(self, home):
        self.api = ApiServer(home / "api")
        self.kubectl = self.api.kubectl
        self.kubectl("create", "namespace", "evenkeel")
        self.kubectl("create", "namespace", "karmada-cluster")
        self.known, self.served = set(), {}

    def knows(self, thing):
        version = thing["apiVersion"]
        if version not in self.served:
            path = f"/api/{version}" if "/" not in version else f"/apis/{version}"
            answer = self.kubectl.run("get", "--raw", path, check=False)
            self.served[version] = {item["kind"] for item in json.loads(answer.stdout)["resources"]} if answer.returncode == 0 else set()
        if thing["kind"] not in self.served[version]:
            return False
        self.known.add(thing["kind"])
        return True

    def close(self):
        self.api.program.stop()


class ChartTest(unittest.TestCase):
    def render(self, api_versions="policy/v1", **changes):
        """Without the labels that only Helm gives."""
        objects, self.notes = deploy_files.chart(api_versions.split(","), **changes)
        for thing in objects:
            pod = [thing["spec"]["template"]] if thing["kind"] == "Deployment" else []
            for about in [thing["metadata"], *(template["metadata"] for template in pod)]:
                labels = about["labels"]
                theirs = {name: labels.pop(name) for name in sorted(HELMS_LABELS)}
                self.assertEqual(list(theirs.values()), [labels["app.kubernetes.io/name"].partition("-")[2], "evenkeel", "Helm", VERSION, f"evenkeel-{VERSION}"])
                self.assertEqual(labels["app.kubernetes.io/part-of"], "evenkeel")
        return objects

    def expected(self, *names):
        return without([thing for name in names for thing in overlay(name)], "Namespace", "CustomResourceDefinition")

    def test_by_default_it_is_kustomizes_hub(self):
        self.assertEqual(by_name(self.render()), by_name(self.expected("hub")))
        self.assertIn("get shardplans,shardreplicas", self.notes)
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual((chart["version"], chart["appVersion"]), (VERSION, VERSION))

    def test_hub_and_member_in_one(self):
        objects = self.render(member={"enabled": True}, karmada={"readSecrets": True})
        self.assertEqual(by_name(objects), by_name(self.expected("hub", "karmada", "member")))

    def test_what_can_be_switched_on_comes_with_its_rights(self):
        objects = self.render(member={"enabled": True}, dashboard={"enabled": True, "tokenSecret": "entry"}, compatible={"enabled": True})
        wanted = by_name(self.expected("hub", "member", "dashboard", "member-dashboard", "compatible"))
        deployment = wanted["Deployment", "evenkeel", "evenkeel-controller"]
        pod = deployment["spec"]["template"]["spec"]
        pod["containers"][0]["args"] += ["--dashboard", "--dashboard-token-file=/etc/evenkeel/dashboard/token", "--sharding-mode=compatible",
                                         "--dynamic-cluster-distribution-enabled"]
        pod["containers"][0]["volumeMounts"] = [{"name": "dashboard", "mountPath": "/etc/evenkeel/dashboard", "readOnly": True}]
        pod["volumes"] = [{"name": "dashboard", "secret": {"secretName": "entry"}}]
        self.assertEqual(by_name(objects), wanted)
        run(harness.EVENKEEL, *(re.sub(r"\$\(\w+\)", "x", argument) for argument in arguments_of(objects)), "--print-definitions", "hub")

    def test_the_example_of_kustomize_is_the_chart_with_a_dashboard(self):
        objects = self.render(dashboard={"enabled": True}, image={"repository": "registry.example/evenkeel"})
        self.assertEqual(by_name(objects), by_name(without(deploy_files.built(EXAMPLE), "Namespace", "CustomResourceDefinition")))

    def test_more_files_variables_and_flags(self):
        mount, volume = {"name": "more", "mountPath": "/more"}, {"name": "more", "emptyDir": {}}
        objects = self.render(dashboard={"enabled": True}, extraEnv=[{"name": "A", "value": "b"}], extraVolumes=[volume], extraVolumeMounts=[mount])
        pod = deployment_of(objects)["spec"]["template"]["spec"]
        container = pod["containers"][0]
        self.assertEqual(container["env"][-1], {"name": "A", "value": "b"})
        self.assertEqual(([mount["name"] for mount in container["volumeMounts"]], [volume["name"] for volume in pod["volumes"]]),
                         (["dashboard", "more"], ["dashboard", "more"]))
        self.assertEqual((container["volumeMounts"][1], pod["volumes"][1]), (mount, volume))

    def test_files_of_values(self):
        """Each goes with the chart and the program, and the files that its flags name are mounted."""
        for path in (DEPLOY / "helm/values").iterdir():
            objects = self.render(**yaml.safe_load(path.read_text()))
            arguments = [re.sub(r"\$\(\w+\)", "x", argument) for argument in arguments_of(objects)]
            run(harness.EVENKEEL, *arguments, "--print-definitions", "hub")
            pod = deployment_of(objects)["spec"]["template"]["spec"]
            [mount], [volume] = pod["containers"][0]["volumeMounts"], pod["volumes"]
            self.assertEqual(mount["name"], volume["name"], path)
            [named] = re.findall(r"=(/\S+)", "\n".join(arguments))
            self.assertEqual(str(pathlib.Path(named).parent), mount["mountPath"], path)
            self.assertIn(path.name, (harness.ROOT / "docs/INSTALL.md").read_text())

    def test_a_member_alone_with_nodes_by_kwok_and_no_zookeeper(self):
        objects = self.render(hub={"enabled": False}, member={"enabled": True}, controllers={"cloudProvider": "kwok", "zookeeper": False})
        left_out = {"evenkeel-member-clusterapi", "evenkeel-member-zookeeper"}
        wanted = [thing for thing in self.expected("member", "member-kwok") if thing["metadata"]["name"] not in left_out]
        self.assertEqual(by_name(objects), by_name(wanted))

    def test_values_do_what_they_say(self):
        objects = self.render(
            api_versions="policy/v1beta1", replicas=5, image={"repository": "registry/evenkeel", "tag": "next", "pullPolicy": "Always"},
            imagePullSecrets=[{"name": "pull"}], controllers={"balancer": False, "rollout": False, "cloudProvider": ""},
            extraArgs=["--log-level=debug"], resources={"limits": {"memory": "2Gi"}}, nodeSelector={"pool": "system"},
            tolerations=[{"key": "k", "operator": "Exists"}], affinity={"nodeAffinity": {}}, podAnnotations={"a": "b"},
            networkPolicy={"egressPorts": [8443]}, podLabels={"team": "fleet", "app.kubernetes.io/name": "other"}, priorityClassName="high",
            serviceAccount={"annotations": {"role": "arn"}}, topologySpreadConstraints=[{"topologyKey": "rack", "maxSkew": 2}])
        pod = deployment_of(objects)["spec"]["template"]["spec"]
        container = pod["containers"][0]
        self.assertEqual(arguments_of(objects), ["run", "--namespace=$(POD_NAMESPACE)", "--scheduler", "--zookeeper", "--log-level=debug"])
        self.assertEqual((deployment_of(objects)["spec"]["replicas"], container["image"], container["imagePullPolicy"]),
                         (5, "registry/evenkeel:next", "Always"))
        self.assertEqual((pod["nodeSelector"], pod["tolerations"], pod["affinity"], pod["imagePullSecrets"]),
                         ({"pool": "system"}, [{"key": "k", "operator": "Exists"}], {"nodeAffinity": {}}, [{"name": "pull"}]))
        self.assertEqual(container["resources"]["limits"], {"memory": "2Gi"})
        self.assertEqual(deployment_of(objects)["spec"]["template"]["metadata"]["annotations"], {"a": "b"})
        # What selects the pods is not to be changed by a label of others.
        self.assertEqual(deployment_of(objects)["spec"]["template"]["metadata"]["labels"],
                         {"team": "fleet", "app.kubernetes.io/name": "evenkeel-controller", "app.kubernetes.io/part-of": "evenkeel"})
        self.assertEqual((pod["priorityClassName"], pod["topologySpreadConstraints"]), ("high", [
            {"topologyKey": "rack", "maxSkew": 2, "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "evenkeel-controller"}}}]))
        kinds = {thing["kind"]: thing for thing in objects}
        self.assertEqual(kinds["ServiceAccount"]["metadata"]["annotations"], {"role": "arn"})
        self.assertEqual(kinds["PodDisruptionBudget"]["apiVersion"], "policy/v1beta1")
        self.assertEqual(kinds["NetworkPolicy"]["spec"]["egress"][1]["ports"], [{"protocol": "TCP", "port": 8443}])
        self.assertNotIn("ValidatingWebhookConfiguration", kinds)
        fewer = {thing["kind"] for thing in self.render(podDisruptionBudget={"enabled": False}, networkPolicy={"enabled": False})}
        self.assertEqual(set(kinds) - fewer, {"PodDisruptionBudget", "NetworkPolicy"})


    def test_the_operator_of_prometheus_finds_every_replica(self):
        objects, _ = deploy_files.chart(["policy/v1"], serviceMonitor={"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}})
        [monitor] = [thing for thing in objects if thing["kind"] == "ServiceMonitor"]
        [service] = [thing for thing in objects if thing["kind"] == "Service"]
        self.assertEqual(monitor["metadata"]["labels"]["release"], "prometheus")
        self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), service["metadata"]["labels"].items())
        self.assertEqual(monitor["spec"]["namespaceSelector"], {"matchNames": [service["metadata"]["namespace"]]})
        self.assertEqual(monitor["spec"]["endpoints"], [{"port": service["spec"]["ports"][0]["name"], "interval": "15s"}])

    def test_the_dashboard_behind_an_ingress(self):
        ingress = {"enabled": True, "host": "fleet.example", "className": "nginx", "tlsSecret": "fleet-tls", "annotations": {"a": "b"}}
        objects = self.render(dashboard={"enabled": True}, ingress=ingress)
        found = by_name(objects)
        service, way = found["Service", "evenkeel", "evenkeel-dashboard"], found["Ingress", "evenkeel", "evenkeel-dashboard"]
        [rule] = way["spec"]["rules"]
        self.assertEqual((rule["host"], rule["http"]["paths"][0]["backend"]["service"]),
                         ("fleet.example", {"name": "evenkeel-dashboard", "port": {"name": service["spec"]["ports"][0]["name"]}}))
        self.assertEqual((way["spec"]["tls"], way["spec"]["ingressClassName"], way["metadata"]["annotations"]),
                         ([{"hosts": ["fleet.example"], "secretName": "fleet-tls"}], "nginx", {"a": "b"}))
        template = found["Deployment", "evenkeel", "evenkeel-controller"]["spec"]["template"]
        self.assertLessEqual(service["spec"]["selector"].items(), template["metadata"]["labels"].items())
        [container] = template["spec"]["containers"]
        self.assertIn({"name": service["spec"]["ports"][0]["targetPort"], "containerPort": 8083}, container["ports"])
        self.assertIn({"protocol": "TCP", "port": 8083}, found["NetworkPolicy", "evenkeel", "evenkeel-controller"]["spec"]["ingress"][0]["ports"])
        self.assertLessEqual({"--dashboard-address=0.0.0.0", "--dashboard-host=fleet.example"}, set(arguments_of(objects)))
        run(harness.EVENKEEL, *(re.sub(r"\$\(\w+\)", "x", argument) for argument in arguments_of(objects)), "--print-definitions", "hub")

    def test_the_schema_refuses_what_is_not_meant(self):
        schema, values = json.loads((CHART / "values.schema.json").read_text()), yaml.safe_load((CHART / "values.yaml").read_text())
        self.assertEqual(deploy_files.refusals(values), [])
        for path in (DEPLOY / "helm/values").iterdir():
            self.assertEqual(deploy_files.refusals(deploy_files.merged(values, yaml.safe_load(path.read_text()))), [], path.name)
        for wrong in ({"replica": 3}, {"replicas": "3"}, {"replicas": 0}, {"hub": {"enable": True}}, {"image": {"pullPolicy": "Sometimes"}},
                      {"controllers": {"cloudProvider": "aws"}}, {"extraArgs": "--balancer"}, {"networkPolicy": {"egressPorts": [0]}},
                      {"podAnnotations": {"a": 1}}, {"serviceMonitor": {"interval": "often"}}, {"ingress": {"enabled": True}},
                      {"ingress": {"host": "https://fleet.example"}}):
            self.assertNotEqual(deploy_files.refusals(deploy_files.merged(values, wrong)), [], wrong)
        # The page of the chart has a row for each value, and no other.
        rows = []

        def walk(known, defaults, prefix=""):
            self.assertEqual(set(known) - {"global"}, set(defaults), prefix)
            for name, about in known.items():
                if "properties" in about:
                    walk(about["properties"], defaults[name], f"{prefix}{name}.")
                elif name != "global":
                    rows.append(f"| `{prefix}{name}` | `{json.dumps(defaults[name])}` | {about['description']} |")
        walk(schema["properties"], values)
        self.assertEqual([line for line in (CHART / "README.md").read_text().splitlines() if line.startswith("| `")], rows)


class MonitoringTest(unittest.TestCase):
    def promtool(self, *arguments, **options):
        tool = run(harness.ROOT / "tools/promtool").strip()
        return subprocess.run([tool, *map(str, arguments)], capture_output=True, text=True, timeout=LONG, **options)

    def check(self, *arguments, **options):
        result = self.promtool(*arguments, **options)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def panels(self):
        return [panel for panel in json.loads((DEPLOY / "grafana/evenkeel.json").read_text())["panels"] if panel["type"] != "row"]

    def expressions(self):
        """(where, expression) of every rule and panel."""
        found = [(panel["title"], target["expr"]) for panel in self.panels() for target in panel["targets"]]
        for file in ("alerts.yaml", "recording.yaml"):
            for group in yaml.safe_load((DEPLOY / "prometheus" / file).read_text())["groups"]:
                found += [(rule, rule["expr"]) for rule in group["rules"]]
        return found

    def test_1_alerts_fire_when_they_should(self):
        directory = DEPLOY / "prometheus"
        self.check("check", "config", directory / "prometheus.yaml")
        self.check("test", "rules", directory / "alerts_test.yaml")
        alerts = {rule["alert"] for group in yaml.safe_load((directory / "alerts.yaml").read_text())["groups"] for rule in group["rules"]}
        tested = set(re.findall(r"alertname: (\w+)", (directory / "alerts_test.yaml").read_text()))
        self.assertEqual(alerts, tested)

    def test_3_prometheus_finds_every_replica(self):
        [job] = yaml.safe_load((DEPLOY / "prometheus/prometheus.yaml").read_text())["scrape_configs"]
        [found] = job["dns_sd_configs"]
        [service] = [thing for thing in overlay("hub") if thing["kind"] == "Service"]
        about, spec = service["metadata"], service["spec"]
        self.assertEqual(found["names"], [f"{about['name']}.{about['namespace']}.svc"])
        self.assertEqual(found["port"], spec["ports"][0]["port"])
        # One that has lost the hub is not ready, and its metrics are what says so.
        self.assertEqual((spec["clusterIP"], spec["publishNotReadyAddresses"]), ("None", True))
        pod = deployment_of(overlay("hub"))["spec"]["template"]
        self.assertLessEqual(spec["selector"].items(), pod["metadata"]["labels"].items())

    def check_documented(self, exported):
        """docs/reference/metrics.md knows every metric, its type and its labels."""
        page = (harness.ROOT / "docs/reference/metrics.md").read_text()
        known = {row[1]: (row[2], set(re.findall(r"\w+", row[3]))) for row in re.finditer(r"^\| `(\w+)` \| (\w+) \|(.*?)\| ", page, re.M)}
        for line in exported.splitlines():
            if kind := re.match(r"# TYPE (\w+) (\w+)", line):
                self.assertEqual(known[kind[1]][0], kind[2], line)
            elif sample := re.match(r"(\w+)(?:\{(.*)\})? \S+$", line):
                name = sample[1] if sample[1] in known else re.sub(r"_(bucket|sum|count)$", "", sample[1])
                self.assertEqual(set(re.findall(r'(\w+)="', sample[2] or "")) - {"le"}, known[name][1], line)

    def test_2_expressions_are_about_what_a_live_fleet_exports(self):
        with harness.temporary_home() as home, harness.fleet(home, "--members", "1", "--replicas", "1", "--autoscaler-args",
                                                              "--scan-interval 1s --scale-down-unneeded-time 2s --scale-down-delay-after-add 1s "
                                                              "--unremovable-node-recheck-timeout 1s"):
            kubectl = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "hub")
            exported = self.exercise(kubectl)
        families = families_of(exported)
        result = self.promtool("check", "metrics", input=exported)
        # Names that are cluster-autoscaler's own.
        complaints = [line for line in result.stderr.splitlines() if not re.match(r"cluster_autoscaler_\w+_count (?:non-histogram|counter metrics)", line)]
        self.assertEqual(complaints, [], result.stdout)

        self.check_documented(exported)
        self.assertEqual(COMPATIBLE & families, set())
        source = "".join(path.read_text() for path in (harness.ROOT / "src/controllers").rglob("*.[ch]*"))
        for name in COMPATIBLE:
            self.assertIn(f'"{name.removeprefix("cluster_autoscaler_")}"', source)
        for where, expression in self.expressions():
            self.assertLessEqual(named_in(expression, families), families | COMPATIBLE, where)
        # Whether they are expressions at all is for promtool to say.
        rules = []
        for panel in self.panels():
            for number, target in enumerate(panel["targets"]):
                rules.append({"record": f"panel:{panel['id']}:{number}", "expr": target["expr"].replace("$cluster", ".*")})
        self.check("check", "rules", "/dev/stdin", input=json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))

    def exercise(self, kubectl):
        """One of everything that a dashboard shows; the text of the metrics then."""
        member = kubectl.at("member-1")
        member("create", "deployment", "busy", "--image=work", "--replicas=9")
        member("set", "resources", "deployment", "busy", "--requests=cpu=1500m")
        member("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "default"},
            "spec": {"metrics": [{"name": "cpu", "balancingThreshold": 1.1}], "throttles": {"maxShare": 1}, "intervals": {
                "balancing": "1s", "constraintCheck": "1s", "afterNewNode": "0s", "afterNodeDown": "0s"}}}))
        ensemble = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "MultiClusterZooKeeper", "metadata": {"name": "zk", "namespace": "default"},
                    "spec": {"placement": {"clusters": [{"name": "member-1", "replicas": 1}]},
                             "template": {"image": {"repository": "zookeeper", "tag": "3.8.4"}}}}
        kubectl("apply", "-f", "-", stdin=json.dumps(ensemble))
        address = json.loads(kubectl("-n", "evenkeel", "get", "pods", "-o", "json"))["items"][0]["status"]["podIP"]

        def metrics():
            return http_get(f"http://{address}:8082/metrics")[1]
        def counted(name):
            return re.search(rf"(?m)^{name}{{.*}} [1-9]", metrics())
        harness.eventually(lambda: counted("cluster_autoscaler_scaled_up_nodes_total"), LONG, "nodes were added")
        # Those of the new nodes leave, and with them the nodes.
        member("scale", "deployment", "busy", "--replicas=3")

        # Each begins to be exported when its part of the program has done something, and these are the last to.
        harness.eventually(lambda: counted("cluster_autoscaler_scaled_down_nodes_total"), LONG, "nodes were removed")
        wanted = ["evenkeel_rollout_quorum_margin{", "evenkeel_rollout_voters{",
                  "evenkeel_zookeeper_servers{"]

        def everything():
            text = metrics()
            families = families_of(text)
            missing = {name for name in wanted if name not in text}
            missing |= set().union(*(named_in(expression, families) for _, expression in self.expressions())) - families - COMPATIBLE
            assert not missing, missing
            return text
        return harness.eventually(everything, LONG, "everything was done once")


class PackagesTest(unittest.TestCase):
    def linked(self):
        document = json.loads((harness.ROOT / "build/evenkeel.spdx.json").read_text())
        kinds = {}
        names = {package["SPDXID"]: package["name"] for package in document["packages"]}
        for relation in document["relationships"]:
            kinds.setdefault(relation["relationshipType"], set()).add(names[relation["relatedSpdxElement"]])
        return document, kinds

    def test_1_the_list_of_what_the_program_consists_of(self):
        run(harness.ROOT / "tools/sbom")
        document, kinds = self.linked()
        self.assertEqual((document["spdxVersion"], document["dataLicense"], document["SPDXID"]), ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertRegex(document["creationInfo"]["created"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertRegex(document["documentNamespace"], r"^https://[^#]+$")
        identifiers = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        for package in document["packages"]:
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")
            self.assertTrue({"name", "versionInfo", "downloadLocation", "licenseConcluded", "copyrightText"} <= package.keys(), package)
            self.assertTrue(package["versionInfo"], package)
        for relation in document["relationships"]:
            self.assertLessEqual({relation["spdxElementId"], relation["relatedSpdxElement"]}, {*identifiers, "SPDXRef-DOCUMENT"})
        # The loader's own word, library by library.
        needed = set(re.findall(r"Shared library: \[([^]]+)\]", run("readelf", "-d", harness.EVENKEEL)))
        self.assertGreater(len(needed), 10)
        provided = set()
        for name in kinds["DYNAMIC_LINK"]:
            provided |= {pathlib.Path(line).name for line in run("dpkg", "-L", name).splitlines()}
        self.assertEqual(needed - provided, set())
        self.assertLessEqual({"libcli11-dev", "libboost1.81-dev"}, kinds["STATIC_LINK"], "header-only libraries are compiled in")
        self.assertIn("preact", kinds["CONTAINS"])

    def test_2_the_image_has_exactly_the_libraries(self):
        text = (harness.ROOT / "Dockerfile").read_text()
        _, kinds = self.linked()
        listed = re.search(r"apt-get download \\\n((?: {4}[a-z0-9.+-]+ \\\n)+)", text).group(1)
        self.assertEqual(listed.replace("\\", "").split(), sorted(kinds["DYNAMIC_LINK"]))
        # The build's packages come from packages.txt itself, by the script that everybody uses, in the same Debian.
        self.assertIn("COPY packages.txt tools/setup /src/", text)
        self.assertIn("/src/tools/setup build", text)
        self.assertEqual(set(re.findall(r"^FROM (\S+)", text, re.M)), {"debian:12", "scratch"})
        self.assertIn("VERSION_ID=\"12\"", pathlib.Path("/etc/os-release").read_text())
        self.assertIn(f"-t evenkeel:{VERSION} ", text)
        self.assertIn("make -C /src build", text)
        self.check_context()

    def check_context(self):
        """What .dockerignore lets through is there, and enough for the build to be configured and to know how to make everything."""
        let_through = [line[1:] for line in (harness.ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
        for name in let_through:
            self.assertTrue((harness.ROOT / name).exists(), name)
        files = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *let_through, cwd=harness.ROOT).splitlines()
        with harness.temporary_home() as home:
            for name in files:
                if (harness.ROOT / name).exists():
                    (home / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(harness.ROOT / name, home / name)
            # `make build` is tools/setup and tools/build, which is these two.
            run("cmake", "--preset", "release", cwd=home)
            run("cmake", "--build", "build/release", "--target", "evenkeel", "--", "-n", cwd=home)

    def test_3_the_debian_package(self):
        path = harness.ROOT / run(harness.ROOT / "tools/deb").strip()
        fields = dict(line.split(": ", 1) for line in run("dpkg-deb", "-f", path).splitlines() if not line.startswith(" "))
        self.assertEqual((fields["Package"], fields["Version"]), ("evenkeel", VERSION))
        depends = {word.split()[0] for word in fields["Depends"].split(", ")}
        _, kinds = self.linked()
        provided = run("dpkg-query", "-W", "-f", "${Provides}, ", *kinds["DYNAMIC_LINK"])
        real = kinds["DYNAMIC_LINK"] | {word.split()[0] for word in provided.split(", ") if word}
        self.assertLessEqual(depends - {"ca-certificates"}, real)
        with harness.temporary_home() as home:
            run("dpkg-deb", "-x", path, home)
            self.assertEqual(run(home / "usr/bin/evenkeel", "--version"), f"evenkeel {VERSION}\n")
            self.check_shell_files(home / "usr")
            defaults = (home / "etc/default/evenkeel").read_text()
            for name, command in (("EVENKEEL_RUN_ARGS", "run"), ("EVENKEEL_UP_ARGS", "up")):
                arguments = re.search(rf'^{name}="(.*)"$', defaults, re.M).group(1).split()
                last = ("--print-definitions", "hub") if command == "run" else ("--help",)
                run(home / "usr/bin/evenkeel", command, *arguments, *last)
            unit = (home / "lib/systemd/system/evenkeel-run.service").read_text()
            for line in ("DynamicUser=yes", "ProtectSystem=strict", "NoNewPrivileges=yes", "CapabilityBoundingSet="):
                self.assertIn(f"\n{line}\n", unit)
            self.check_unit(home / "lib/systemd/system/evenkeel-run.service", home)
            # Of 10; below 2 is called OK.
            run("systemd-analyze", "security", "--offline=true", "--threshold=15", home / "lib/systemd/system/evenkeel-run.service")
            self.check_unit(home / "usr/lib/systemd/user/evenkeel-up.service", home, "--user")
            self.check_pages(home / "usr/share/doc/evenkeel")
        # It may be installed here already.
        planned = run("apt-get", "-s", "install", "--reinstall", path)
        self.assertRegex(planned, rf"(?m)^Inst evenkeel (\[\S+\] )?\({re.escape(VERSION)} ")
        self.check_scripts(path)

    def check_shell_files(self, usr):
        """Man page, completions and the plugin of kubectl are where Debian's man, shells and kubectl look."""
        page = gzip.decompress((usr / "share/man/man1/evenkeel.1.gz").read_bytes()).decode()
        self.assertEqual(page, run(harness.EVENKEEL, "docs", "man"))
        for shell, path in (("bash", "bash-completion/completions/evenkeel"), ("zsh", "zsh/vendor-completions/_evenkeel"),
                            ("fish", "fish/vendor_completions.d/evenkeel.fish")):
            self.assertEqual((usr / "share" / path).read_text(), run(harness.EVENKEEL, "completion", shell))
        path = {"PATH": f"{usr / 'bin'}:{os.environ['PATH']}"}
        self.assertEqual(run(usr / "bin/kubectl-evenkeel", "--version", env={**os.environ, **path}), f"evenkeel {VERSION}\n")
        self.assertIn("shards\t", run(usr / "bin/kubectl_complete-evenkeel", "get", "", env={**os.environ, **path}))

    def check_pages(self, pages):
        """Links between them lead somewhere here, too; so do those of the units."""
        found = sorted(pages.rglob("*.md"))
        self.assertIn(pages / "README.md", found)
        for page in found:
            for target in documentation_test.links(page):
                self.assertTrue((page.parent / target).exists(), f"{page}: {target}")
        for unit in (DEPLOY / "debian").glob("*.service"):
            [target] = re.findall(r"^Documentation=file:///usr/share/doc/evenkeel/(\S+)$", unit.read_text(), re.M)
            self.assertTrue((pages / target).exists(), f"{unit.name}: {target}")

    def check_unit(self, unit, home, *whose):
        unit.write_text(unit.read_text().replace("/usr/bin/evenkeel", str(home / "usr/bin/evenkeel")))
        result = subprocess.run(["systemd-analyze", "verify", *whose, unit], capture_output=True, text=True, timeout=LONG,
                                env={**os.environ, "XDG_RUNTIME_DIR": str(home)})
        # What it does not understand it ignores, and says so.
        self.assertEqual((result.returncode, [line for line in result.stderr.splitlines() if unit.name in line]), (0, []), result.stderr)

    def check_scripts(self, package):
        """Installed, upgraded, removed and purged in a root of its own, on a machine with a systemd that is played."""
        if os.geteuid() != 0:
            print("the package is not installed anywhere: that needs root")
            return
        with harness.temporary_home() as home:
            root, asked = home / "root", home / "asked"
            for directory in ("var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "run/systemd/system"):
                (root / directory).mkdir(parents=True)
            for name in ("status", "available"):
                (root / "var/lib/dpkg" / name).touch()
            (home / "bin").mkdir()
            (home / "bin/systemctl").write_text(f'#!/bin/sh\necho "$*" >>{asked}\n')
            (home / "bin/systemctl").chmod(0o755)

            def dpkg(*words):
                asked.write_text("")
                run("dpkg", f"--root={root}", "--force-script-chrootless", "--force-depends", "--force-bad-path", *words,
                    env={**os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}"})
                return asked.read_text().splitlines()
            started = ["daemon-reload", "try-restart evenkeel-run.service"]
            self.assertEqual(dpkg("--install", package), started)
            self.assertEqual(dpkg("--install", package), ["daemon-reload", *started], "the old one goes, the new one comes")
            self.assertEqual(dpkg("--remove", "evenkeel"), ["disable --now evenkeel-run.service", "daemon-reload"])
            self.assertEqual([path.name for path in root.rglob("*") if path.is_file() and "var/lib/dpkg" not in str(path)], ["evenkeel"],
                             "its configuration is kept")
            dpkg("--purge", "evenkeel")
            self.assertEqual([path for path in root.rglob("*") if path.is_file() and "var/lib/dpkg" not in str(path)], [])


if __name__ == "__main__":
    harness.main_in_parallel()
