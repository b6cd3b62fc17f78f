"""Credential plugins of kubeconfigs and of cluster Secrets: real programs, a real hub and a real member."""
import base64
import contextlib
import json
import os
import pathlib
import socket
import subprocess
import threading
import time
import unittest

import harness
import reservations
from process_fleet import ApiServer, cluster_of

VERSIONS = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"]
# Beside this tree there may be cases of others.
CASES = harness.ROOT.parent / "shared/cases/distribution"
LONG = 90
# What each run does first. $1: what it is to answer.
PLUGIN = """#!/bin/sh
echo "$1 $KUBERNETES_EXEC_INFO" >> '{home}/runs'
. "{home}/$1.sh"
"""


class PluginFleet:
    """A hub and a member that take tokens and certificates, and a plugin whose answers a test writes."""

    def __init__(self, home):
        self.home = pathlib.Path(home)
        self.hub, self.member = ApiServer(self.home / "hub"), ApiServer(self.home / "member")
        self.plugin = self.home / "plugin"
        self.plugin.write_text(PLUGIN.format(home=self.home))
        self.plugin.chmod(0o755)
        self.hub.kubectl("create", "namespace", "evenkeel")
        labels = {"app": "evenkeel-controller"}
        self.hub.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "evenkeel-controller", "namespace": "evenkeel"},
            "spec": {"replicas": 1, "paused": True, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [{"name": "controller", "image": "evenkeel"}]}}}}))

    def stop(self):
        for server in (self.hub, self.member):
            server.program.stop()

    def answers(self, name, script):
        (self.home / f"{name}.sh").write_text(script)

    def runs(self, name):
        path = self.home / "runs"
        return [line for line in (path.read_text().splitlines() if path.exists() else []) if line.startswith(f"{name} ")]

    def kubeconfig(self, name, exec_block, **cluster):
        view = self.hub.kubectl.json("config", "view", "--raw", "--flatten", "--minify")
        view["clusters"][0]["cluster"].update(cluster)
        view["users"][0]["user"] = {"exec": exec_block}
        path = self.home / f"{name}.kubeconfig"
        path.write_text(json.dumps(view))
        return path

    def exec_block(self, name, version=VERSIONS[1], **fields):
        return {"apiVersion": version, "command": str(self.plugin), "args": [name], "interactiveMode": "Never", **fields}


def credential(version, **status):
    return json.dumps({"kind": "ExecCredential", "apiVersion": version, "status": status})


def printing(text):
    return f"cat <<'END'\n{text}\nEND\n"


def get_shards(kubeconfig, **environment):
    return subprocess.run([harness.EVENKEEL, "get", "shards", "--kubeconfig", str(kubeconfig)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "HOME": str(pathlib.Path(kubeconfig).parent), "EVENKEEL_HOME": "/nonexistent", **environment})


class PluginTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fleet = PluginFleet(cls.enterClassContext(harness.temporary_home()))
        cls.addClassCleanup(cls.fleet.stop)


class KubeconfigTest(PluginTest):
    def succeed(self, kubeconfig, **environment):
        result = get_shards(kubeconfig, **environment)
        self.assertEqual(result.returncode, 0, result.stderr)

    def fail(self, kubeconfig):
        result = get_shards(kubeconfig)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result.stderr

    def test_tokens_and_certificates_in_both_versions(self):
        user = self.fleet.hub.kubectl.json("config", "view", "--raw", "--flatten", "--minify")["users"][0]["user"]
        pair = {"clientCertificateData": base64.b64decode(user["client-certificate-data"]).decode(),
                "clientKeyData": base64.b64decode(user["client-key-data"]).decode()}
        for number, version in enumerate(VERSIONS):
            for what, status in (("token", {"token": self.fleet.hub.token}), ("certificate", pair)):
                name = f"{what}-{number}"
                with self.subTest(name):
                    self.fleet.answers(name, printing(credential(version, **status)))
                    self.succeed(self.fleet.kubeconfig(name, self.fleet.exec_block(name, version)))
                    self.assertEqual(self.fleet.runs(name), [
                        f'{name} {{"kind":"ExecCredential","apiVersion":"{version}","spec":{{"interactive":false}}}}'])

    def test_the_plugin_is_told_of_the_cluster_and_gets_its_environment(self):
        self.fleet.answers("told", f"[ \"$WORD\" = 'a $b' ] && {printing(credential(VERSIONS[1], token=self.fleet.hub.token))}")
        block = self.fleet.exec_block("told", provideClusterInfo=True, env=[{"name": "WORD", "value": "a $b"}])
        self.succeed(self.fleet.kubeconfig("told", block, extensions=[
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}]))
        told = json.loads(self.fleet.runs("told")[0].split(" ", 1)[1])
        self.assertEqual(told["spec"]["cluster"]["server"], f"https://127.0.0.1:{self.fleet.hub.port}")
        self.assertEqual(told["spec"]["cluster"]["config"], {"audience": "x"})
        self.assertIn("BEGIN CERTIFICATE", base64.b64decode(told["spec"]["cluster"]["certificate-authority-data"]).decode())

    def test_a_refused_token_is_renewed_once(self):
        good, bad = (credential(VERSIONS[1], token=token) for token in (self.fleet.hub.token, "revoked"))
        self.fleet.answers("revoked", f"if [ -e {self.fleet.home}/second ]; then\n{printing(good)}else\n{printing(bad)}fi\n"
                                      f"touch {self.fleet.home}/second\n")
        self.succeed(self.fleet.kubeconfig("revoked", self.fleet.exec_block("revoked")))
        self.assertEqual(len(self.fleet.runs("revoked")), 2)
        self.fleet.answers("always", printing(bad))
        self.assertIn("Unauthorized", self.fail(self.fleet.kubeconfig("always", self.fleet.exec_block("always"))))
        self.assertEqual(len(self.fleet.runs("always")), 2)

    def test_a_plugin_that_fails_is_quoted_without_secrets(self):
        self.fleet.answers("failing", "echo 'cannot log in with swordfish, token: abc' >&2\nexit 3\n")
        block = self.fleet.exec_block("failing", env=[{"name": "PASSWORD", "value": "swordfish"}])
        said = self.fail(self.fleet.kubeconfig("failing", block))
        self.assertIn(f"getting credentials: exec: executable {self.fleet.plugin} failed with exit code 3: cannot log in with "
                      "<redacted>, token: <redacted>", said)

    def test_a_plugin_that_says_nonsense_or_too_much_is_not_repeated(self):
        self.fleet.answers("nonsense", "echo swordfish\n")
        said = self.fail(self.fleet.kubeconfig("nonsense", self.fleet.exec_block("nonsense")))
        self.assertIn("decoding stdout", said)
        self.assertNotIn("swordfish", said)
        self.fleet.answers("endless", "while :; do echo swordfish swordfish swordfish; done\n")
        self.assertIn("wrote more than 1048576 bytes", self.fail(self.fleet.kubeconfig("endless", self.fleet.exec_block("endless"))))

    def test_a_missing_plugin_is_named_with_its_hint(self):
        block = {**self.fleet.exec_block("x"), "command": "no-such-plugin", "installHint": "get it from\nexample.com"}
        said = self.fail(self.fleet.kubeconfig("missing", block))
        self.assertIn("exec: executable no-such-plugin not found", said)
        self.assertIn("get it from example.com", said)


class SecretTest(PluginTest):
    """`evenkeel run` with a plugin for its hub, and others for its members."""

    def secret(self, name, config):
        data = {"name": name, "server": cluster_of(self.fleet.member.kubectl)[0] + ("" if name == "good" else f"/{name}"),
                "config": json.dumps(config)}
        self.fleet.hub.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Secret", "metadata": {
                "name": name, "namespace": "evenkeel", "labels": {"argocd.argoproj.io/secret-type": "cluster"}}, "stringData": data}))

    def provider(self, name, **fields):
        ca = json.loads(cluster_of(self.fleet.member.kubectl)[1])["tlsClientConfig"]["caData"]
        return {"tlsClientConfig": {"caData": ca}, "execProviderConfig": {
            "command": str(self.fleet.plugin), "args": [name], "apiVersion": VERSIONS[1], **fields}}

    def lease(self):
        return self.fleet.member.kubectl.json("-n", "kube-system", "get", "lease", "evenkeel-owner")["spec"]

    def test_members_are_held_through_many_expiries(self):
        self.fleet.answers("hub", printing(credential(VERSIONS[0], token=self.fleet.hub.token)))
        self.fleet.answers("member", 'sleep 0.5\ncat <<END\n{"kind": "ExecCredential", "apiVersion": "' + VERSIONS[1] + '", "status": {"token": "'
                           + self.fleet.member.token + '", "expirationTimestamp": "$(date -u -d "+6 seconds" +%Y-%m-%dT%H:%M:%SZ)"}}\nEND\n')
        self.secret("good", self.provider("member"))
        self.secret("refused", {"execProviderConfig": {"command": "sh", "args": ["-c", "id"], "apiVersion": VERSIONS[1]}})
        self.secret("path", {"execProviderConfig": {"command": "/tmp/aws", "args": [], "apiVersion": VERSIONS[1]}})
        port = reservations.port()
        program = harness.Program(self.fleet.home / "replica", "run", "-n", "evenkeel", "--metrics-address", "127.0.0.1",
                                  "--metrics-port", str(port), "--exec-plugins", f"aws,{self.fleet.plugin}", "--kubeconfig",
                                  str(self.fleet.kubeconfig("hub", self.fleet.exec_block("hub", VERSIONS[0]))), env={"POD_NAME": "replica-1"})
        self.addCleanup(program.stop)
        held = harness.eventually(lambda: self.lease() if self.lease().get("holderIdentity") else None, LONG)
        before, begin = len(self.fleet.runs("member")), time.monotonic()
        runs = seconds = 0
        while (seconds < 20 or runs < 3) and seconds < LONG:
            time.sleep(1)
            now = self.lease()
            self.assertEqual((now["holderIdentity"], now["leaseTransitions"]), (held["holderIdentity"], held["leaseTransitions"]))
            runs, seconds = len(self.fleet.runs("member")) - before, time.monotonic() - begin
        # Six seconds each, renewed after about four and a half.
        self.assertGreaterEqual(runs, 3)
        self.assertLessEqual(runs, seconds / 3 + 1)
        self.assertEqual(len(self.fleet.runs("hub")), 1)
        output = harness.eventually(lambda: program.output() if program.output().count("not allowed") >= 2 else None, LONG,
                                    program.output)
        for command in ("sh", "/tmp/aws"):
            self.assertIn(f'plugin \\"{command}\\" not allowed', output)
        self.assertNotIn(self.fleet.member.token, output)


class ProxyTest(PluginTest):
    """A server that is reached through HTTPS_PROXY alone: its address is one of the documentation's, behind which nobody is."""

    def test_the_environments_proxy_is_used_unless_no_proxy_names_the_server(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            asked = []

            def serve():
                while True:
                    try:
                        inward, _ = listener.accept()
                    except OSError:
                        return
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        head += inward.recv(1)
                    asked.append(head.split(b"\r\n")[0].decode())
                    outward = socket.create_connection(("127.0.0.1", self.fleet.hub.port))
                    inward.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    for source, sink in ((inward, outward), (outward, inward)):
                        threading.Thread(target=pass_on, args=(source, sink), daemon=True).start()
            threading.Thread(target=serve, daemon=True).start()
            view = self.fleet.hub.kubectl.json("config", "view", "--raw", "--flatten", "--minify")
            view["clusters"][0]["cluster"] |= {"server": "https://203.0.113.9:6443", "tls-server-name": "127.0.0.1"}
            path = self.fleet.home / "proxy.kubeconfig"
            path.write_text(json.dumps(view))
            proxy = {"HTTPS_PROXY": f"http://127.0.0.1:{listener.getsockname()[1]}", "NO_PROXY": "example.com"}
            result = get_shards(path, **proxy)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(set(asked), {"CONNECT 203.0.113.9:6443 HTTP/1.1"})
            asked.clear()
            view["clusters"][0]["cluster"] |= {"server": f"https://127.0.0.1:{self.fleet.hub.port}"}
            path.write_text(json.dumps(view))
            self.assertEqual(get_shards(path, **proxy).returncode, 0)
            self.assertEqual(asked, [], "this machine is never asked for by a proxy")


def pass_on(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


class InClusterTest(PluginTest):
    """A pod's files and environment: in a namespace of mounts, so that nothing outside is touched."""

    def test_the_local_clusters_secret_uses_the_pods_account(self):
        account = self.fleet.home / "account"
        account.mkdir()
        (account / "token").write_text(self.fleet.hub.token)
        (account / "ca.crt").write_text(base64.b64decode(self.fleet.hub.kubectl.json(
            "config", "view", "--raw", "--flatten", "--minify")["clusters"][0]["cluster"]["certificate-authority-data"]).decode())
        place = "/var/run/secrets/kubernetes.io/serviceaccount"
        script = f"mount -t tmpfs none /run && mkdir -p {place} && cp {account}/* {place} && exec \"$@\""
        if subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", "true"], capture_output=True).returncode:
            self.skipTest("no namespace of mounts may be made here")
        self.fleet.hub.kubectl("apply", "-f", "-", stdin=json.dumps({
            "apiVersion": "v1", "kind": "Secret", "metadata": {
                "name": "cluster-local", "namespace": "evenkeel", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
            "stringData": {"name": "in-cluster", "server": "https://kubernetes.default.svc",
                           "config": '{"tlsClientConfig":{"insecure":false}}'}}))
        program = harness.Program(
            self.fleet.home / "replica", "-m", "sh", "-c", script, "sh", harness.EVENKEEL, "run", "-n", "evenkeel", "--in-cluster",
            "--metrics-address", "127.0.0.1", "--metrics-port", str(reservations.port()), program="unshare",
            env={"POD_NAME": "replica-1", "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(self.fleet.hub.port)})
        self.addCleanup(program.stop)
        harness.eventually(lambda: self.fleet.hub.kubectl.json("-n", "kube-system", "get", "lease", "evenkeel-owner")["spec"].get(
            "holderIdentity"), LONG, program.output)


class PlanTest(unittest.TestCase):
    """`plan shards` of Secrets as people write them."""

    def plan(self, text, *arguments):
        result = subprocess.run([harness.EVENKEEL, "plan", "shards", "-f", "-", "--replicas", "3", "-o", "json", *arguments], input=text,
                                capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["assignments"], result.stderr

    def case(self, name):
        path = CASES / name
        if not path.exists():
            self.skipTest(f"{path} is not there")
        return path.read_text()

    def test_the_last_of_a_key_counts_with_a_warning(self):
        text = ("apiVersion: v1\nkind: Secret\nmetadata:\n  name: m\n  uid: u\n  labels: {argocd.argoproj.io/secret-type: cluster}\n"
                "stringData:\n  server: member\n  shard: 2\n  config: '{}'\n  server: https://member.example\n")
        assignments, said = self.plan(text)
        self.assertEqual([(item["server"], item["shard"]) for item in assignments], [("https://member.example", 2)])
        self.assertIn('standard input:11: the key "server" is already set', said)
        self.assertEqual(said.count("\n"), 1, said)

    def test_wrapped_base64_is_base64(self):
        config = base64.encodebytes(json.dumps({"bearerToken": "a" * 100}).encode()).decode()
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {
            "name": "w", "uid": "u", "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
            "data": {"server": base64.b64encode(b"https://wrapped.example").decode(), "config": config}}
        self.assertIn("\n", config.strip())
        assignments, said = self.plan(json.dumps(secret))
        self.assertEqual(([item["server"] for item in assignments], said), (["https://wrapped.example"], ""))

    def test_case_of_shapes(self):
        assignments, said = self.plan(self.case("01-shapes.yaml"))
        servers = [item["server"] for item in assignments]
        self.assertEqual(len(servers), 21)
        self.assertEqual([item["cluster"] for item in assignments].count("twin"), 2)
        self.assertIn("https://shared.example?__uid=a", servers)
        self.assertIn("https://shared.example?__uid=b", servers)
        by_name = {item["cluster"]: item["shard"] for item in assignments}
        self.assertEqual(by_name["mycluster.example.com"], 1)
        for name, field in (("nocolon", "data.server: "), ("newline", "data.server: "), ("newline", "data.shard "),
                            ("pinned-number", "tlsClientConfig.caData: not base64"), ("insecure-string", "tlsClientConfig.insecure: "),
                            ("json-comment", "data.config: ")):
            with self.subTest(name):
                self.assertTrue(any(name in line and field in line for line in said.splitlines()), said)
        for name in ("token", "eks", "gke", "rancher-a", "v6", "upper", "scoped", "keycase", "twin-1", "wrapped-ca", "uid-query-a"):
            self.assertFalse(any(f"/{name}:" in line or f"/{name} " in line for line in said.splitlines()), (name, said))

    def test_case_of_a_stock_installation(self):
        assignments, _ = self.plan(self.case("05-stock-argocd.yaml"), "--sharding-method", "round-robin")
        self.assertEqual({item["cluster"]: item["shard"] for item in assignments}, {"in-cluster": 0, "a": 1, "b": 2, "c": 0})

    def test_cases_of_data_that_is_hard_to_read(self):
        assignments, said = self.plan(self.case("02-duplicate-keys.yaml"))
        self.assertEqual([item["server"] for item in assignments], ["https://member.example"])
        self.assertIn("already set", said)
        assignments, said = self.plan(self.case("03-wrapped-data.yaml"))
        self.assertEqual([item["server"] for item in assignments], ["https://wrapped.example"])
        assignments, said = self.plan(self.case("04-in-cluster-secret.yaml"))
        self.assertEqual([item["server"] for item in assignments], ["https://kubernetes.default.svc"])


class CaseKubeconfigTest(PluginTest):
    def test_as_kubectl_does(self):
        user = {"token": self.fleet.hub.token}
        ca = self.fleet.hub.kubectl.json("config", "view", "--raw", "--flatten", "--minify")["clusters"][0]["cluster"][
            "certificate-authority-data"]
        path = CASES / "kc-exec.yaml"
        if not path.exists():
            self.skipTest(f"{path} is not there")
        (self.fleet.home / "exec.json").write_text(credential(VERSIONS[0], **user))
        text = path.read_text().replace("CA-IN-BASE64", ca).replace("127.0.0.1:21600", f"127.0.0.1:{self.fleet.hub.port}")
        copy = self.fleet.home / "kc-exec.yaml"
        copy.write_text(text)
        result = subprocess.run([harness.EVENKEEL, "get", "shards", "--kubeconfig", str(copy)], cwd=self.fleet.home, capture_output=True,
                                text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    harness.main()
