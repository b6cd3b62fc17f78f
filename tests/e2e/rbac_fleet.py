"""Replicas as the Deployment in deploy/ starts them, with the two accounts of deploy/ on an API server that is hub and member in one."""
import base64
import contextlib
import http.client
import json
import re
import secrets
import signal
import urllib.parse

import deploy_files
import harness
import reservations
from fleet_under_test import http_get
from played_parts import Api
from process_fleet import cluster_of
from recording_proxy import RecordingProxy
from shipped_roles import ShippedRoles

NAMESPACE = "evenkeel"
HUB, MEMBER = "evenkeel-controller", "evenkeel-member"
# What servers before Kubernetes 1.24 do not serve, and those without Argo CD.
LACKING = {("storage.k8s.io", "csistoragecapacities"), ("argoproj.io", "applications")}
FAST = ["--scan-interval=1s", "--scale-down-delay-after-add=2s", "--scale-down-unneeded-time=3s", "--unremovable-node-recheck-timeout=1s",
        "--node-delete-delay-after-taint=1s", "--max-node-startup-time=2s", "--scale-down-delay-after-failure=2s",
        "--initial-node-group-backoff-duration=1s", "--max-node-group-backoff-duration=1s", "--expander=priority,least-waste",
        "--record-duplicated-events"]
TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [], "expirationSeconds": 7200}}


class Fleet:
    def __init__(self, kubectl, home):
        self.kubectl, self.home, self.replicas = kubectl, home, []
        view = kubectl.json("config", "view", "--raw", "--flatten", "--minify")
        authority = base64.b64decode(view["clusters"][0]["cluster"]["certificate-authority-data"]).decode()
        has_policy_v1 = kubectl.run("get", "--raw", "/apis/policy/v1", check=False).returncode == 0
        self.roles, self.proxies, self.tokens = {}, {}, {}
        for account in (HUB, MEMBER):
            self.roles[account] = ShippedRoles(kubectl, Api(kubectl, home), account, NAMESPACE)
            self.proxies[account] = RecordingProxy(cluster_of(kubectl)[0], authority, has_policy_v1, LACKING, self.roles[account].grant)
            path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
            self.tokens[account] = json.loads(kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(TOKEN)))["status"]["token"]
        self.kubeconfig = home / "hub.kubeconfig"
        self.kubeconfig.touch(mode=0o600)
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "hub",
            "contexts": [{"name": "hub", "context": {"cluster": "hub", "user": "hub"}}],
            "clusters": [{"name": "hub", "cluster": {"server": self.proxies[HUB].url}}],
            "users": [{"name": "hub", "user": {"token": self.tokens[HUB]}}]}))

    def use(self, bound=(), learned=()):
        """Roles by name, of both accounts (ShippedRoles)."""
        for account, roles in self.roles.items():
            roles.use(bound, learned)
            self.proxies[account].forget()

    def start(self, provider="clusterapi", without=(), more=()):
        deployment = next(thing for thing in deploy_files.overlay("hub") if thing["kind"] == "Deployment")
        shipped = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
        arguments = [argument.replace("$(POD_NAMESPACE)", NAMESPACE) for argument in shipped
                     if argument not in without and not argument.startswith(("--webhook-url=", "--cloud-provider="))]
        name, port = f"{HUB}-{secrets.token_hex(3)}", reservations.port()
        program = harness.Program(self.home / name, *arguments, f"--cloud-provider={provider}", *FAST, "--webhook-address=127.0.0.1",
                                  "--webhook-port=0", "--metrics-address=127.0.0.1", f"--metrics-port={port}", "--dashboard",
                                  "--dashboard-port=0", *more,
                                  env={"KUBECONFIG": str(self.kubeconfig), "POD_NAME": name, "HOSTNAME": name})
        self.replicas.append((program, f"http://127.0.0.1:{port}"))

    def owners(self):
        return sum(http_get(url + "/metrics")[1].count('evenkeel_cluster_owner{cluster="member"') for _, url in self.replicas)

    def ask_dashboard(self, method, path, body=None):
        """(status, document) of the first replica's."""
        program, _ = self.replicas[0]
        port = int(re.search(r"dashboard is on.* url=http://127\.0\.0\.1:(\d+)/", program.output()).group(1))
        token = (program.home / "dashboard-token").read_text().strip()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request(method, path, body=body, headers={"Authorization": f"Bearer {token}", "X-Evenkeel": "1"})
        with contextlib.closing(connection), connection.getresponse() as response:
            return response.status, json.loads(response.read())

    def view(self, name):
        status, document = self.ask_dashboard("GET", "/api/view?view=" + urllib.parse.quote(name))
        assert status == 200, document
        return document

    def stop_one(self, name):
        [ending] = [replica for replica in self.replicas if replica[0].home.name == name]
        self.replicas.remove(ending)
        ending[0].stop()

    def stop(self):
        replicas, self.replicas = self.replicas, []
        for program, _ in replicas:
            program.process.send_signal(signal.SIGTERM)
        for program, _ in replicas:
            program.stop()

    def output(self):
        return "".join(path.read_text() for path in sorted(self.home.glob(f"{HUB}-*/output-*.log")))

    def refused(self):
        return [refusal for proxy in self.proxies.values() for refusal in proxy.refused]
