"""A distribution whose hub, members and replicas are processes of the test: API servers that can be killed and started again, and
replicas without a kubelet that looks after them."""
import json
import secrets
import signal

import harness
import reservations
from fleet_under_test import COMPATIBLE, WEIGHT, FleetUnderTest, http_get
from history import host_of

KINDS = ["shardplans.evenkeel.dev", "shardreplicas.evenkeel.dev"]


def cluster_of(kubectl):
    """(server, config) of a kubeconfig's current context, as a cluster Secret of Argo CD has them."""
    view = kubectl.json("config", "view", "--raw", "--flatten", "--minify")
    cluster, user = view["clusters"][0]["cluster"], view["users"][0]["user"]
    tls = {"caData": cluster.get("certificate-authority-data"), "certData": user.get("client-certificate-data"),
           "keyData": user.get("client-key-data"), "serverName": cluster.get("tls-server-name"),
           "insecure": cluster.get("insecure-skip-tls-verify")}
    config = {"bearerToken": user.get("token"), "username": user.get("username"), "password": user.get("password"),
              "tlsClientConfig": {key: value for key, value in tls.items() if value}}
    return cluster["server"], json.dumps({key: value for key, value in config.items() if value})


def remove_namespace(kubectl, *names):
    """Once they are empty, also where there is no namespace controller."""
    kubectl("delete", "namespace", *names, "--wait=false", check=False)

    def gone():
        left = kubectl("get", "namespace", *names, "--ignore-not-found", "-o", "name").split()
        assert not left, left
        return True
    try:
        harness.eventually(gone, 5)
    except AssertionError:
        # No namespace controller here: empty namespaces are finalized by hand.
        for item in kubectl("get", "namespace", *names, "--ignore-not-found", "-o", "name").split():
            namespace = kubectl.json("get", item)
            namespace["spec"]["finalizers"] = []
            path = f"/api/v1/namespaces/{namespace['metadata']['name']}/finalize"
            kubectl("replace", "--raw", path, "-f", "-", stdin=json.dumps(namespace))
        harness.eventually(gone, 30)


class ApiServer:
    """`evenkeel apiserver` with an audit log; keeps its port, credentials and, with SQLite, its data when it is started again."""

    def __init__(self, home, store=None):
        self.home, self.store, self.port, self.program = home, store or f"sqlite:{home}/store.db", reservations.port(), None
        self.audit_path, self.token = home / "audit.log", secrets.token_hex(16)
        home.mkdir(parents=True, exist_ok=True)
        (home / "tokens.csv").write_text(f"{self.token},e2e,e2e,system:masters\n")
        self.kubectl = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig")
        self.start()

    def start(self):
        self.program = harness.Program(self.home, "apiserver", "--store", self.store, "--port", str(self.port), "--data-dir",
                                       str(self.home), "--audit-log-path", str(self.audit_path), "--token-auth-file",
                                       str(self.home / "tokens.csv"))
        self.program.wait_for_output("serving", 120)

    def kill(self):
        self.program.stop(signal.SIGKILL)


class ProcessFleet(FleetUnderTest):
    """Replicas are `evenkeel run` processes, at any hub."""

    def __init__(self, kubectl, home, namespace="evenkeel", compatible=False):
        super().__init__(kubectl, home, namespace)
        self.processes, self.ports, self.members, self.compatible, self.had_kinds = {}, {}, {}, compatible, True
        self.arguments, self.environment = [], {}  # more, for each replica

    def create(self, members, hub_as=None, stores=None):
        """On the hub the namespace and the clusters: `members`, API servers of the test's own, and the hub itself under the name `hub_as`. All weigh
        the same, so that it does not depend on measurements who gets what."""
        self.kubectl("create", "namespace", self.namespace)
        self.had_kinds = KINDS[0] in self.kubectl("get", "customresourcedefinitions", "-o", "name")
        template = {"metadata": {"labels": {"app": "evenkeel-controller"}},
                    "spec": {"containers": [{"name": "controller", "image": "evenkeel", "args": ["--sharding-method=round-robin"]}]}}
        # Paused: a server that has a Deployment controller must not start pods of it.
        self.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "evenkeel-controller"},
                    "spec": {"replicas": 3, "paused": True, "selector": {"matchLabels": template["metadata"]["labels"]},
                             "template": template}})
        if hub_as:
            self.cluster(hub_as, self.kubectl)
        for name in members:
            self.members[name] = ApiServer(self.home / name, (stores or {}).get(name))
            self.cluster(name, self.members[name].kubectl)

    def cluster(self, name, kubectl):
        server, config = cluster_of(kubectl)
        self.secret(name, {WEIGHT: "50"}, name=name, server=server, config=config)

    def follow_members(self, hub_as=None):
        hub = {hub_as: (self.kubectl, None)} if hub_as else {}
        self.follow(hub | {name: (member.kubectl, member.audit_path) for name, member in self.members.items()})

    def start(self):
        name = f"evenkeel-controller-{len(self.ports) + 1}-{secrets.token_hex(3)}"
        self.ports[name] = reservations.port()
        environment = {"KUBECONFIG": str(self.kubectl.kubeconfig), "POD_NAME": name, "HOSTNAME": name, **self.environment}
        if self.compatible:
            environment |= COMPATIBLE
        self.processes[name] = harness.Program(
            self.home / name, "run", "-n", self.namespace, "--metrics-address", "127.0.0.1", "--metrics-port", str(self.ports[name]),
            *self.arguments, env=environment)
        return name

    def scale_to(self, replicas):
        """Processes end all at once, the oldest first, as pods of a Deployment do."""
        self.scale(replicas)
        ending = [self.processes.pop(name) for name in list(self.processes)[:max(len(self.processes) - replicas, 0)]]
        for process in ending:
            process.process.send_signal(signal.SIGTERM)
        while len(self.processes) < replicas:
            self.start()
        for process in ending:
            process.stop()

    def pid(self, name):
        return self.processes[name].process.pid

    def kill(self, name):
        """Nobody starts it again."""
        self.processes.pop(name).stop(signal.SIGKILL)

    def end(self, name):
        """SIGTERM; another is started in its place, as a Deployment does."""
        process = self.processes.pop(name)
        process.process.send_signal(signal.SIGTERM)
        self.start()
        assert process.stop() == 0, process.output()[-2000:]

    def url(self, name):
        return f"http://127.0.0.1:{self.ports[name]}"

    def replicas(self):
        return {name: self.url(name) for name in self.processes if http_get(self.url(name) + "/readyz", 5)[0] == 200}

    def stop(self):
        for name in list(self.processes):
            self.processes.pop(name).stop(signal.SIGKILL)
        self.unfollow()
        for member in self.members.values():
            member.program.stop(signal.SIGKILL)

    def delete(self):
        """Leaves nothing on the hub."""
        self.stop()
        self.kubectl_here("delete", "secrets,configmaps,deployments,events,leases", "--all", check=False)
        self.kubectl_here("delete", "shardplans,shardreplicas", "--all", check=False)
        if not self.had_kinds:
            self.kubectl("delete", "customresourcedefinitions", *KINDS, "--ignore-not-found", check=False)
        owner = self.kubectl.run("-n", "kube-system", "get", "lease", "evenkeel-owner", "-o", "jsonpath={.spec.holderIdentity}", check=False)
        if owner.returncode == 0 and host_of(owner.stdout) in self.ports:
            self.kubectl("-n", "kube-system", "delete", "lease", "evenkeel-owner")
        remove_namespace(self.kubectl, self.namespace)
