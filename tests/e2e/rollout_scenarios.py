"""What a hub's rollouts must do: two `evenkeel run --rollout` on any hub with Karmada's kinds, and a Karmada that is played
(played_karmada.py)."""
import base64
import contextlib
import http.client
import json
import secrets
import ssl
import urllib.parse

import harness
from fleet_under_test import http_get
from history import host_of
from played_karmada import DEFINITIONS, PlayedKarmada
from played_parts import condition
from process_fleet import ProcessFleet

# How long to wait for what has to come.
LONG = 180
LEASE = "evenkeel-rollout"
KIND = "multiclusterzookeepers.evenkeel.dev"
KINDS = (KIND, "zookeepers.evenkeel.dev")
WEBHOOKS = ("validatingwebhookconfiguration", "resourceinterpreterwebhookconfiguration")
CLUSTERS = ("e2e-m1", "e2e-m2", "e2e-m3")


def spec(shares=(2, 2, 1), tag="3.8.4", **more):
    clusters = [{"name": name, "replicas": share} for name, share in zip(CLUSTERS, shares)]
    placement = {"clusters": clusters, **more.pop("placement", {})}
    return {"placement": placement, "template": {"image": {"repository": "zookeeper", "tag": tag}}, **more}


class Bench:
    """The objects of a test, and how they are read."""

    def __init__(self, kubectl, home, namespace):
        self.kubectl, self.home, self.namespace = kubectl, home, namespace

    def run(self, *arguments, **options):
        return self.kubectl.run("-n", self.namespace, *arguments, **options)

    def apply(self, body, name="zk", check=True):
        manifest = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "MultiClusterZooKeeper", "metadata": {"name": name}, "spec": body}
        return self.run("apply", "-f", "-", stdin=json.dumps(manifest), check=check)

    def get(self, name="zk"):
        return self.kubectl.json("-n", self.namespace, "get", KIND, name)

    def condition(self, kind, name="zk"):
        return self.condition_in(self.get(name).get("status", {}), kind)

    @staticmethod
    def condition_in(status, kind):
        return next((item for item in status.get("conditions", []) if item["type"] == kind), {})

    def last_record(self, name="zk"):
        return self.get(name)["status"]["records"][-1]

    def is_ready(self, records):
        status = self.get().get("status", {})
        return len(status.get("records", [])) == records and self.condition_in(status, "Ready").get("status") == "True"

    def overrides(self):
        """{cluster: the image's tag}"""
        tags = {}
        for item in self.kubectl.json("-n", self.namespace, "get", "overridepolicies")["items"]:
            rule = item["spec"]["overrideRules"][0]
            template = rule["overriders"]["plaintext"][0]["value"]
            tags[rule["targetCluster"]["clusterNames"][0]] = template["image"]["tag"]
        return tags

    def events(self):
        return {event["reason"] for event in self.kubectl.json("-n", self.namespace, "get", "events")["items"]}

    def names(self, *kinds):
        return sorted(self.run("get", ",".join(kinds), "-o", "name").stdout.split())


class BadInput:
    """Refused at admission, and as a condition while no webhook is asked; nothing is made in either case."""
    bench = None

    def refused(self, name, body, text):
        def answered():
            result = self.bench.apply(body, name, check=False)
            if result.returncode == 0:
                # No write waits for a webhook that is too busy to answer: it goes on.
                self.bench.run("delete", KIND, name)
            self.assertNotEqual(result.returncode, 0, result.stdout)
            return result
        self.assertIn(text, harness.eventually(answered, LONG).stderr)

    def test_1_bad_input_is_refused_and_nothing_is_made(self):
        unsafe = {"requireClusterFaultTolerance": True}
        self.refused("unsafe", spec((3, 1, 1), placement=unsafe), "without e2e-m1 2 of 5 voters are left, but a majority is 3")
        self.refused("order", spec(rollout={"order": ["e2e-m2", "e2e-m1"]}), "e2e-m3 is missing")
        self.refused("twice", spec(rollout={"order": ["e2e-m2", "e2e-m1", "e2e-m1"]}), "listed twice")
        self.refused("z" * 60, spec(), "metadata.name")
        self.refused("stride", spec(naming={"stride": 1}), "spec.naming.stride gives a cluster 1 ids")
        # The schema alone knows this one.
        self.assertNotEqual(self.bench.apply(spec(rollout={"onFailure": "Panic"}), "enum", check=False).returncode, 0)
        self.assertEqual(self.bench.names("overridepolicies", "propagationpolicies", "zookeepers"), [])

    def test_2_what_is_only_unwise_is_warned_of(self):
        result = self.bench.apply(spec((2, 1, 1)), "even")
        self.assertIn("Warning: 4 voters survive the loss of no more than 3 do", result.stderr)
        harness.eventually(lambda: self.bench.condition("PlacementSafe", "even").get("status") == "False", LONG)
        self.assertEqual(self.bench.condition("PlacementSafe", "even")["reason"], "MajorityInOneCluster")
        self.bench.run("delete", KIND, "even")
        harness.eventually(lambda: not self.bench.names("overridepolicies", "propagationpolicies", "zookeepers"), LONG)

    def test_3_an_unknown_cluster_is_a_condition(self):
        body = spec()
        body["placement"]["clusters"][0]["name"] = "nowhere"
        self.bench.apply(body, "lost")
        harness.eventually(lambda: self.bench.condition("Scheduled", "lost").get("reason") == "UnknownCluster", LONG)
        self.assertEqual(self.bench.names("overridepolicies", "propagationpolicies", "zookeepers"), [])
        self.bench.run("delete", KIND, "lost")


class Webhook:
    """The interpreter's webhook, asked as Karmada asks it: where its configuration says, trusting whom that names."""

    def __init__(self, kubectl):
        config = kubectl.json("get", WEBHOOKS[1], "evenkeel-rollout")["webhooks"][0]["clientConfig"]
        self.url = urllib.parse.urlsplit(config["url"])
        self.trust = ssl.create_default_context(cadata=base64.b64decode(config["caBundle"]).decode())

    def ask(self, body, method="POST", content_type="application/json", path=None):
        """(HTTP status, headers, text)"""
        connection = http.client.HTTPSConnection(self.url.hostname, self.url.port, context=self.trust, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path or self.url.path + "?timeout=10s", body, {"Content-Type": content_type} if content_type else {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()

    def response(self, body, **how):
        status, headers, text = self.ask(body if isinstance(body, (str, bytes)) else json.dumps(body), **how)
        assert (status, headers["Content-Type"]) == (200, "application/json"), (status, headers, text)
        return json.loads(text)["response"]


def question(operation, **more):
    zookeeper = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "metadata": {"name": "zk", "namespace": "data", "generation": 1},
                 "spec": {"replicas": 5}, "status": {"readyReplicas": 5, "observedGeneration": 1}}
    return {"kind": "ResourceInterpreterContext", "apiVersion": "config.karmada.io/v1alpha1",
            "request": {"uid": "the-uid", "kind": {"group": "evenkeel.dev", "version": "v1alpha1", "kind": "ZooKeeper"}, "name": "zk",
                        "namespace": "data", "operation": operation, "object": zookeeper, "replicas": 0, **more}}


class RolloutFleet:
    """Two replicas at a hub whose Karmada is played."""
    arguments = ()

    @classmethod
    def start(cls, kubectl, home):
        cls.fleet = ProcessFleet(kubectl, home, f"evenkeel-e2e-{secrets.token_hex(3)}")
        cls.bench = Bench(kubectl, home, cls.fleet.namespace)
        cls.addClassCleanup(cls.clean_up)
        cls.had = kubectl("get", "customresourcedefinitions", "-o", "name")
        cls.fleet.create([])
        cls.register_members()
        kubectl("apply", "-f", str(DEFINITIONS))
        kubectl("wait", "--for=condition=Established", f"--timeout={LONG}s", "customresourcedefinition", "clusters.cluster.karmada.io")
        for name in CLUSTERS:
            harness.eventually(lambda name=name: cls.make_cluster(name), LONG)
        cls.karmada = PlayedKarmada(kubectl, home, cls.fleet.namespace)
        cls.fleet.arguments = ["--rollout", "--install", "--webhook-address", "127.0.0.1", "--webhook-port", "0", *cls.arguments]
        for _ in range(2):
            cls.fleet.start()
        harness.eventually(lambda: cls.leader() in cls.fleet.processes, LONG)
        for what in (*(("customresourcedefinition", kind) for kind in KINDS), *((kind, "evenkeel-rollout") for kind in WEBHOOKS)):
            harness.eventually(lambda what=what: kubectl.exists("get", *what), LONG)
        kubectl("wait", "--for=condition=Established", f"--timeout={LONG}s", "customresourcedefinition", *KINDS)
        cls.karmada.start()

    @classmethod
    def register_members(cls):
        """Before the replicas start; there are none."""

    @classmethod
    def make_cluster(cls, name):
        cluster = {"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name}, "spec": {"syncMode": "Push"}}
        cls.bench.kubectl("apply", "-f", "-", stdin=json.dumps(cluster))
        return cls.set_ready(name, "True")

    @classmethod
    def set_ready(cls, name, ready):
        cluster = cls.bench.kubectl.json("get", "clusters.cluster.karmada.io", name)
        cluster["status"] = {"conditions": [condition("Ready", ready, reason="ClusterReady")]}
        path = f"/apis/cluster.karmada.io/v1alpha1/clusters/{name}/status"
        return cls.bench.kubectl("replace", "--raw", path, "-f", "-", stdin=json.dumps(cluster))

    @classmethod
    def leader(cls):
        result = cls.bench.run("get", "lease", LEASE, "-o", "jsonpath={.spec.holderIdentity}", check=False)
        return host_of(result.stdout) if result.returncode == 0 else None

    @classmethod
    def clean_up(cls):
        kubectl = cls.bench.kubectl
        cls.bench.run("delete", KIND, "--all", "--wait=false", check=False)
        if hasattr(cls, "karmada"):
            cls.karmada.close()
        cls.fleet.stop()
        for item in cls.bench.names(KIND) if kubectl.run("get", "crd", KIND, check=False).returncode == 0 else []:
            cls.bench.run("patch", item, "--type=merge", "-p", '{"metadata": {"finalizers": []}}', check=False)
        for kind in WEBHOOKS:
            kubectl("delete", kind, "evenkeel-rollout", "--ignore-not-found", check=False)
        kubectl("delete", "clusters.cluster.karmada.io", *CLUSTERS, "--ignore-not-found", check=False)
        made = [name for name in kubectl("get", "customresourcedefinitions", "-o", "name").split() if name not in cls.had]
        if made:
            kubectl("delete", *made, "--wait=false", check=False)
        cls.fleet.delete()

    def tearDown(self):
        self.assertEqual(self.karmada.failures, [])
        self.assertLessEqual(self.karmada.most_restarting, 1, "clusters that changed at once")


class RolloutScenarios(RolloutFleet, BadInput):
    def test_3b_the_interpreter_answers_as_karmada_expects(self):
        webhook = Webhook(self.bench.kubectl)
        answers = {"InterpretReplica": ("replicas", 5), "InterpretStatus": ("rawStatus", {"readyReplicas": 5, "observedGeneration": 1, "generation": 1}),
                   "InterpretHealth": ("healthy", True), "InterpretDependency": ("dependencies", [])}
        patches = {"ReviseReplica": [{"op": "replace", "path": "/spec/replicas", "value": 2}],
                   "Retain": [{"op": "add", "path": "/spec/paused", "value": True}],
                   "AggregateStatus": [{"op": "replace", "path": "/status/readyReplicas", "value": 1}]}
        more = {"ReviseReplica": {"replicas": 2}, "Retain": {"observedObject": {"spec": {"paused": True}}},
                "AggregateStatus": {"aggregatedStatus": [{"clusterName": "m1", "applied": True, "status": {"readyReplicas": 1}}]}}
        for operation in (*answers, *patches):
            response = webhook.response(question(operation, **more.get(operation, {})))
            self.assertEqual((response["uid"], response["successful"]), ("the-uid", True), operation)
            if operation in answers:
                field, value = answers[operation]
                self.assertEqual(response[field], value, operation)
                continue
            self.assertEqual(response["patchType"], "JSONPatch")
            patch = json.loads(base64.b64decode(response["patch"]))
            self.assertEqual(patch[:1], patches[operation], operation)

        def refused(message, body, **how):
            response = webhook.response(body, **how)
            self.assertEqual((response["successful"], response["status"]["code"]), (False, 400), response)
            self.assertIn(message, response["status"]["message"])
            return response["uid"]
        self.assertEqual(refused("wrong request operation type: Prune", question("Prune")), "the-uid")
        self.assertEqual(refused("contentType=text/plain, expected application/json", "{}", content_type="text/plain"), "")
        self.assertEqual(refused("request body is empty", ""), "")
        self.assertEqual(refused("json parse error", "invalid-json"), "")
        self.assertEqual(refused("request body is larger than 1048576 bytes", " " * (1 << 20) + "{}"), "")
        status, headers, _ = webhook.ask(None, method="GET")
        self.assertEqual((status, headers["Allow"]), (405, "POST"))
        self.assertEqual(webhook.ask("{}", path="/interpreters")[0], 404)

    def test_4_the_first_deployment_goes_cluster_by_cluster(self):
        self.bench.apply(spec())
        harness.eventually(lambda: self.bench.is_ready(1), LONG)
        taken = [cluster for cluster, revision in self.karmada.changes if revision != "pending"]
        self.assertEqual(taken, list(CLUSTERS))
        ensemble = self.bench.get()
        self.assertEqual(ensemble["metadata"]["generation"], 1, "statuses go through the subresource")
        self.assertEqual(ensemble["metadata"]["finalizers"], ["evenkeel.dev/rollout"])
        record = ensemble["status"]["records"][-1]
        self.assertEqual((record["status"], record["currentState"]["completed"]), ("Ready", list(CLUSTERS)))
        self.assertEqual(record["observedGenerations"], {"multiclusterzookeeper": 1, "zookeeper": 1})
        self.assertEqual(self.bench.names("serviceexports", "propagationpolicies", "zookeepers"),
                         ["propagationpolicy.policy.karmada.io/zk-svc", "propagationpolicy.policy.karmada.io/zk-zk",
                          "serviceexport.multicluster.x-k8s.io/zk-client", "serviceexport.multicluster.x-k8s.io/zk-headless",
                          "zookeeper.evenkeel.dev/zk"])
        harness.eventually(lambda: {"RecordAppended", "ClusterStarted", "ClusterCompleted", "RecordReady"} <= self.bench.events(), LONG)
        leader = self.fleet.url(self.leader())
        self.assertIn(f'evenkeel_rollout_quorum_margin{{ensemble="{self.fleet.namespace}/zk"}} 2', http_get(leader + "/metrics")[1])

    def test_5_a_change_outlives_the_leader_and_restarts_each_cluster_once(self):
        before = len(self.karmada.changes)
        version = self.bench.get()["metadata"]["resourceVersion"]
        with self.karmada.held():
            self.bench.apply(spec(tag="3.8.5"))
            harness.eventually(lambda: self.bench.last_record()["currentState"]["deploying"], LONG, f"since version {version}")
            leader = self.leader()
            self.fleet.kill(leader)
        harness.eventually(lambda: self.bench.is_ready(2), LONG)
        self.assertNotEqual(self.leader(), leader)
        taken = [cluster for cluster, _ in self.karmada.changes[before:]]
        self.assertEqual(sorted(taken), list(CLUSTERS))
        self.assertEqual(taken[-1], CLUSTERS[0], "the leader's cluster is last")
        self.assertEqual(set(self.bench.overrides().values()), {"3.8.5"})
        self.fleet.start()

    def test_6_an_override_deleted_by_hand_comes_back(self):
        self.bench.run("delete", "overridepolicy", f"zk-{CLUSTERS[1]}")
        harness.eventually(lambda: self.bench.overrides().get(CLUSTERS[1]) == "3.8.5", LONG)
        self.assertEqual(len(self.bench.get()["status"]["records"]), 2)
        self.karmada.failures.clear()  # it may have looked in between

    def test_6b_a_template_that_cannot_be_is_refused_and_changes_nothing(self):
        body = spec(tag="3.8.5")
        for wrong, text in (({"storage": {"type": "paper"}}, "spec.template.storage.type"),
                            ({"podTemplate": {"spec": {"containers": []}}}, "would leave no server")):
            result = self.bench.apply({**body, "template": {**body["template"], **wrong}}, check=False)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(text, result.stderr)
        self.assertEqual(len(self.bench.get()["status"]["records"]), 2)

    def test_7_an_unreachable_cluster_holds_a_change_up(self):
        self.set_ready(CLUSTERS[2], "False")
        harness.eventually(lambda: self.bench.get()["status"]["readyReplicas"] == 4, LONG)
        self.bench.apply(spec(tag="3.8.6"))
        harness.eventually(lambda: self.bench.condition("Progressing").get("reason") == "QuorumBudgetExhausted", LONG)
        self.assertEqual(set(self.bench.overrides().values()), {"3.8.5"})
        self.set_ready(CLUSTERS[2], "True")
        harness.eventually(lambda: self.bench.is_ready(3), LONG)

    def test_8_an_edited_record_is_refused_and_changes_nothing_where_it_slips_in(self):
        path = f"/apis/evenkeel.dev/v1alpha1/namespaces/{self.fleet.namespace}/multiclusterzookeepers/zk/status"

        def replace(**changes):
            """Of the status as it is now, which the controller may be writing, too."""
            ensemble = self.bench.get()
            ensemble["status"] |= changes
            return self.bench.run("replace", "--raw", path, "-f", "-", stdin=json.dumps(ensemble), check=False)

        def unasked(change):
            """While no webhook is asked: the controller puts its own back every few minutes."""
            self.bench.kubectl("delete", WEBHOOKS[0], "evenkeel-rollout", "--ignore-not-found")
            return change().returncode == 0
        good = self.bench.get()["status"]
        edited = {"clusterIndices": {**good["clusterIndices"], CLUSTERS[1]: 0}}
        harness.eventually(lambda: "is the index of another cluster, too" in replace(**edited).stderr, LONG)
        # The controller itself does not go on from it either.
        harness.eventually(lambda: unasked(lambda: replace(**edited)), LONG)
        harness.eventually(lambda: self.bench.condition("Degraded").get("reason") == "InvalidStatus", LONG)
        harness.eventually(lambda: unasked(lambda: self.bench.apply(spec(tag="3.8.7"), check=False)), LONG)
        bad = spec(rollout={"order": ["nowhere"]})
        harness.eventually(lambda: unasked(lambda: self.bench.apply(bad, "bad", check=False)), LONG)
        harness.eventually(lambda: self.bench.condition("Degraded", "bad").get("reason") == "InvalidSpec", LONG)
        self.bench.run("delete", KIND, "bad")
        self.assertEqual(set(self.bench.overrides().values()), {"3.8.6"})
        harness.eventually(lambda: unasked(lambda: replace(**good)), LONG)
        harness.eventually(lambda: self.bench.is_ready(4), LONG)
        self.assertEqual(set(self.bench.overrides().values()), {"3.8.7"})

    def test_8b_a_change_taken_back_is_another_turn(self):
        before = len(self.karmada.changes)
        self.bench.apply(spec(tag="3.8.8"))
        harness.eventually(lambda: len(self.karmada.changes) > before, LONG)
        cluster, mark = self.karmada.changes[before]
        self.bench.apply(spec(tag="3.8.7"))
        harness.eventually(lambda: self.bench.is_ready(6), LONG)
        self.assertEqual(set(self.bench.overrides().values()), {"3.8.7"})
        last = next(item for item in self.bench.get()["status"]["clusters"] if item["name"] == cluster)
        turn = int(mark.partition(".")[2])
        self.assertEqual(last["turn"], turn + 1)
        self.assertEqual([change for change in self.karmada.changes[before:] if change[0] == cluster],
                         [(cluster, mark), (cluster, f"{last['revision']}.{turn + 1}")])
        self.assertEqual(len(set(self.karmada.changes)), len(self.karmada.changes), "a mark that was given twice")

    def test_9_deletion_takes_the_overrides_last(self):
        self.bench.run("delete", KIND, "zk", f"--timeout={LONG}s")
        self.assertEqual(self.bench.names("overridepolicies", "propagationpolicies", "serviceexports", "zookeepers", KIND), [])
        self.assertEqual(self.bench.names("resourcebindings"), [])
