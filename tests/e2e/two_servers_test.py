"""Two API servers on one etcd, one of them behind a link that is cut for a while: it says that it is not ready, and afterwards knows
what it has missed, although etcd has compacted it away."""
import base64
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import unittest
import urllib.error
import urllib.request

import harness
import reservations

LONG = 90
MISSED_WRITES = 20
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
# Nobody listens there, so whatever is asked about is refused.
WEBHOOK = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "refuses"},
           "webhooks": [{"name": "refuses.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
                         "timeoutSeconds": 1, "clientConfig": {"url": "https://127.0.0.1:1/"},
                         "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]}]}
DEFINITION = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "oars.example.com"},
              "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "Oar", "plural": "oars", "singular": "oar"},
                       "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}]}}


class Link:
    """Passes connections on to a port of this machine, until it is cut: silently, or by closing them."""

    def __init__(self, target):
        self.target, self.open, self.silent, self.sockets, self.lock = target, True, False, [], threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if not self.open and not self.silent:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.target))
            with self.lock:
                self.sockets += [client, server]
            for source, sink in ((client, server), (server, client)):
                threading.Thread(target=self.copy, args=(source, sink), daemon=True).start()

    def copy(self, source, sink):
        try:
            while data := source.recv(65536):
                if self.open:
                    sink.sendall(data)
        except OSError:
            pass
        for end in (source, sink):
            end.close()

    def cut(self, silent):
        self.open, self.silent = False, silent
        if not silent:
            self.close_all()

    def heal(self):
        # What was dropped is missing in them: no network gives such a connection back.
        self.close_all()
        self.open = True

    def close_all(self):
        with self.lock:
            for each in self.sockets:
                try:
                    each.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.sockets.clear()


class Etcd:
    def __init__(self, home):
        self.port, peer = reservations.port(), reservations.port()
        url, peer_url = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{peer}"
        self.log = (home / "etcd.log").open("w")
        self.process = subprocess.Popen(
            ["etcd", "--data-dir", home / "etcd", "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer_url,
             "--initial-advertise-peer-urls", peer_url, "--initial-cluster", f"default={peer_url}"], stdout=self.log, stderr=subprocess.STDOUT)
        harness.eventually(lambda: self.ask("kv/range", {"key": base64.b64encode(b"x").decode()}), LONG, "etcd")

    def ask(self, what, body):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v3/{what}", json.dumps(body).encode(), timeout=10) as answer:
                return json.load(answer)
        except OSError:
            return None

    def compact(self):
        revision = self.ask("kv/range", {"key": base64.b64encode(b"x").decode()})["header"]["revision"]
        assert self.ask("kv/compaction", {"revision": revision, "physical": True}) is not None

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.log.close()


class Server:
    def __init__(self, home, etcd_port):
        self.home = home
        home.mkdir()
        (home / "tokens.csv").write_text("e2e-token,admin,admin,system:masters\n")
        self.program = harness.Program(home, "apiserver", "--store", f"etcd://127.0.0.1:{etcd_port}", "--port", "0", "--data-dir",
                                       str(home / "data"), "--token-auth-file", str(home / "tokens.csv"))
        self.program.wait_for_output("serving https://", LONG)
        text = (home / "data/kubeconfig").read_text()
        self.url = next(line.split()[-1] for line in text.splitlines() if "server:" in line)

    def ask(self, method, path, body=None):
        """(status, text)"""
        context = ssl.create_default_context(cafile=self.home / "data/ca.crt")
        request = urllib.request.Request(self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": "Bearer e2e-token", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, context=context, timeout=LONG) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def ready(self):
        return self.ask("GET", "/readyz")[0] == 200


class CutLinkTest(unittest.TestCase):
    def go_through(self, silent):
        with harness.temporary_home() as home:
            home = pathlib.Path(home)
            etcd = Etcd(home)
            self.addCleanup(etcd.stop)
            link = Link(etcd.port)
            self.addCleanup(link.listener.close)
            near, far = Server(home / "near", etcd.port), Server(home / "far", link.port)
            for server in (near, far):
                self.addCleanup(server.program.stop)
                harness.eventually(server.ready, LONG, "a server that is ready")
            config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "before"}}
            self.assertEqual(far.ask("POST", CONFIG_MAPS, config_map)[0], 201)
            link.cut(silent)
            for number in range(MISSED_WRITES):
                self.assertEqual(near.ask("POST", CONFIG_MAPS, {**config_map, "metadata": {"name": f"missed-{number}"}})[0], 201)
            self.assertEqual(near.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION)[0], 201)
            self.assertEqual(near.ask("POST", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", WEBHOOK)[0], 201)
            etcd.compact()
            harness.eventually(lambda: not far.ready(), LONG, "the server behind the cut to say that it is not ready")
            link.heal()
            harness.eventually(far.ready, LONG, "the server behind the link that is whole again to be ready")
            # From the first moment on: who is ready does what the other server would do.
            status, text = far.ask("POST", CONFIG_MAPS, {**config_map, "metadata": {"name": "after"}})
            self.assertEqual((status, "refuses.example.com" in text), (500, True), text)
            self.assertEqual(far.ask("GET", "/apis/example.com/v1/oars")[0], 200)
            items = json.loads(far.ask("GET", CONFIG_MAPS)[1])["items"]
            self.assertEqual(sum(item["metadata"]["name"].startswith("missed-") for item in items), MISSED_WRITES)

    def test_silent(self):
        self.go_through(silent=True)

    def test_closed(self):
        self.go_through(silent=False)


if __name__ == "__main__":
    if shutil.which("etcd") is None:
        print("skipped: etcd is not installed (tools/setup test)")
        sys.exit(77)
    harness.main()
