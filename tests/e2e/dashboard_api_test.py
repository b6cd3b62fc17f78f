"""What the dashboard serves, asked by a program: tokens, documents, patches, and an approval that carries out exactly one plan."""
import contextlib
import http.client
import json
import pathlib
import re
import socket
import ssl
import subprocess
import threading
import unittest
import urllib.parse

import harness
from autoscaled_cluster import AutoscaledCluster, replicated

# How long to wait for what has to come.
LONG = 180
FAST = {"balancing": "2s", "constraintCheck": "2s", "afterNewNode": "0s", "afterNodeDown": "0s"}


def merge(target, patch):
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


class Stream:
    """Follows one view in a thread of its own: the document as it is by now."""

    def __init__(self, connection, path, headers):
        self.document, self.patches = None, []
        self.connection = connection
        connection.request("GET", path, headers=headers)
        self.socket = connection.sock
        self.response = connection.getresponse()
        self.headers = self.response.headers
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        name = None
        try:
            for line in self.response:
                line = line.decode().rstrip("\n")
                if line.startswith("event: "):
                    name = line.removeprefix("event: ")
                elif line.startswith("data: "):
                    data = json.loads(line.removeprefix("data: "))
                    if name == "document":
                        self.document = data["document"]
                    elif name == "patch":
                        self.document = merge(self.document, data["patch"])
                        self.patches.append(data["patch"])
        except (OSError, ValueError, AttributeError):
            return

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.reader.join()
        self.response.close()
        self.connection.close()


class DashboardApiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(harness.fleet(
            cls.home, "--members", "2", "--nodes", "3", "--replicas", "2", "--autoscaler-args", "--scan-interval 1s"))
        printed = re.search(r"dashboard: http://127\.0\.0\.1:(\d+)/login\?token=(\S+)", cls.program.output())
        cls.port, cls.token = int(printed.group(1)), printed.group(2)
        kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig")
        cls.hub = kubectl.at("hub")
        cls.member, cls.other = AutoscaledCluster(kubectl.at("member-1")), AutoscaledCluster(kubectl.at("member-2"))

    def ask(self, method, path, headers=None, body=None, token=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        headers = dict(headers or {})
        if token != "":
            headers.setdefault("Authorization", f"Bearer {token or self.token}")
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        text = response.read().decode()
        connection.close()
        return response.status, response.headers, text

    def log_in(self, token):
        """The cookie."""
        status, headers, text = self.ask("POST", "/login", {"X-Evenkeel": "1"}, urllib.parse.urlencode({"token": token}), token="")
        self.assertEqual(status, 200, text)
        cookie = headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        self.assertNotIn(token, cookie)
        return cookie.split(";")[0]

    def act(self, cookie, body):
        status, _, text = self.ask("POST", "/api/actions", {"Cookie": cookie, "X-Evenkeel": "1"}, json.dumps(body), token="")
        return status, json.loads(text)

    def view(self, name):
        status, _, text = self.ask("GET", "/api/view?view=" + urllib.parse.quote(name))
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def test_1_only_with_the_token_and_for_known_hosts(self):
        file = pathlib.Path(self.home, "dashboard-token")
        self.assertEqual(file.read_text().strip(), self.token)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        for path in ("/api/session", "/api/view?view=fleet", "/api/stream?view=fleet"):
            self.assertEqual(self.ask("GET", path, token="")[0], 401)
            self.assertEqual(self.ask("GET", path, token="0" * 64)[0], 401)
        self.assertEqual(self.ask("GET", "/", {"Host": "evil.example.org"})[0], 421)
        status, headers, _ = self.ask("GET", "/", token="")
        self.assertEqual(status, 200)
        self.assertIn("default-src 'self'", headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", headers["Content-Security-Policy"])
        self.assertEqual(headers["X-Frame-Options"], "DENY")
        self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
        # The address that is printed is a form: only what it sends opens a session.
        status, headers, _ = self.ask("GET", f"/login?token={self.token}", token="")
        self.assertEqual((status, headers["Set-Cookie"]), (200, None))
        self.assertEqual(self.ask("POST", "/login", body=f"token={self.token}", token="")[0], 403)
        cookie = self.log_in(self.token)
        status, _, text = self.ask("GET", "/api/session", {"Cookie": cookie}, token="")
        self.assertEqual((status, json.loads(text)["may"]["approve"]), (200, True))
        for name in ("nothing", "cluster/nobody"):
            self.assertEqual(self.ask("GET", f"/api/view?view={name}")[0], 404)
        self.assertEqual(self.ask("POST", "/api/actions", {"X-Evenkeel": "1"}, "[]")[0], 400)
        self.assertEqual(self.ask("POST", "/api/actions", {}, "{}")[0], 403)
        self.assertEqual(self.ask("GET", "/api/actions")[0], 405)
        self.assertEqual(self.ask("POST", "/api/actions", {"X-Evenkeel": "1"}, " " * 100_000)[0], 413)
        self.assertEqual(self.ask("POST", "/api/logout", {"Cookie": cookie, "X-Evenkeel": "1"}, token="")[0], 200)
        self.assertEqual(self.ask("GET", "/api/session", {"Cookie": cookie}, token="")[0], 401)

    def test_1b_people_have_the_roles_that_the_hub_gives_them(self):
        """Tokens of the hub's own, by TokenReview; what they may do, by SubjectAccessReview."""
        cookies = {}
        for name, role in (("ann", "evenkeel-dashboard-operator"), ("bob", "evenkeel-dashboard-viewer"), ("eve", None)):
            self.hub("create", "serviceaccount", name)
            if role:
                self.hub("create", "clusterrolebinding", name, f"--clusterrole={role}", f"--serviceaccount=default:{name}")
            token = self.hub("create", "token", name).strip()
            if role:
                cookies[name] = harness.eventually(lambda token=token: self.log_in(token), LONG)
            else:
                status, _, text = self.ask("POST", "/login", {"X-Evenkeel": "1"}, urllib.parse.urlencode({"token": token}), token="")
                self.assertEqual(status, 403, text)
        may = {name: json.loads(self.ask("GET", "/api/session", {"Cookie": cookie}, token="")[2])["may"] for name, cookie in cookies.items()}
        self.assertTrue(may["ann"]["drain"] and may["ann"]["approve"] and may["bob"]["logs"], may)
        self.assertFalse(may["ann"]["sessions"] or may["bob"]["cordon"], may)
        node = sorted(self.other.nodes())[0]
        asked = {"action": "cordon", "cluster": "member-2", "name": node, "dryRun": True}
        self.assertEqual(self.act(cookies["bob"], asked)[0], 403)
        status, preview = self.act(cookies["ann"], asked)
        self.assertEqual(status, 200, preview)
        self.assertFalse(self.other.kubectl.json("get", "node", node)["spec"].get("unschedulable"))
        status, done = self.act(cookies["ann"], {**asked, "dryRun": False, "seen": preview["seen"]})
        self.assertEqual(status, 200, done)
        self.assertTrue(self.other.kubectl.json("get", "node", node)["spec"]["unschedulable"])
        told = [event for event in self.other.kubectl.json("get", "events")["items"] if event["reason"] == "CordonedByPerson"]
        self.assertEqual([(event["involvedObject"]["name"], "system:serviceaccount:default:ann" in event["message"]) for event in told], [(node, True)])
        self.assertRegex(self.program.output(), r"somebody acted on the dashboard.* by=system:serviceaccount:default:ann")
        # Looked at again, it is another thing.
        self.assertEqual(self.act(cookies["ann"], {**asked, "dryRun": False, "seen": preview["seen"]})[0], 409)
        status, preview = self.act(cookies["ann"], {**asked, "action": "uncordon"})
        self.assertEqual(self.act(cookies["ann"], {**asked, "action": "uncordon", "dryRun": False, "seen": preview["seen"]})[0], 200)
        # A role that is taken away is taken away at once, and an administrator ends a session.
        self.hub("delete", "clusterrolebinding", "ann")
        harness.eventually(lambda: self.act(cookies["ann"], asked)[0] == 403, LONG)
        sessions = json.loads(self.ask("GET", "/api/sessions")[2])["sessions"]
        (handle,) = [row["handle"] for row in sessions if row["user"].endswith(":ann")]
        self.assertEqual(self.ask("POST", "/api/sessions", {"X-Evenkeel": "1"}, json.dumps({"revoke": handle}))[0], 200)
        self.assertEqual(self.ask("GET", "/api/view?view=names", {"Cookie": cookies["ann"]}, token="")[0], 401)

    def test_1c_pods_are_found_with_their_yaml_and_logs(self):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "talker", "annotations": {"evenkeel.dev/runtime": "process"}}, "spec": {"containers": [
            {"name": "main", "image": "none", "command": ["sh", "-c", "echo hello from talker; sleep 600"]}]}}
        self.other.apply(pod)

        def found():
            rows = json.loads(self.ask("GET", "/api/find?text=talker")[2])["found"]
            return [(row["cluster"], row["name"]) for row in rows if row["kind"] == "Pod" and row["state"] == "Running"] == [("member-2", "default/talker")]
        harness.eventually(found, LONG, lambda: self.ask("GET", "/api/find?text=talker")[2])
        shown = json.loads(self.ask("GET", "/api/object?cluster=member-2&kind=Pod&namespace=default&name=talker")[2])
        self.assertIn("hello from talker", shown["yaml"])
        self.assertTrue(any(event["reason"] == "Scheduled" for event in shown["events"]), shown["events"])

        def spoken():
            status, _, text = self.ask("GET", "/api/logs?cluster=member-2&namespace=default&pod=talker")
            self.assertEqual(status, 200, text)
            return json.loads(text) == {"container": "main", "text": "hello from talker\n"}
        harness.eventually(spoken, LONG)
        self.assertEqual(self.ask("GET", "/api/object?cluster=member-2&kind=Secret&namespace=default&name=x")[0], 400)
        self.other.kubectl("delete", "pod", "talker", "--wait=false")

    def test_2_a_pod_that_waits_is_in_the_patches_with_the_reason_of_each_group(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=900)
        stream = Stream(connection, "/api/stream?view=fleet", {"Authorization": f"Bearer {self.token}"})
        self.addCleanup(stream.close)
        self.assertEqual(stream.headers["Content-Type"], "text/event-stream")
        page = self.ask("GET", "/")[1]
        for name in ("Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "X-Frame-Options", "Cache-Control"):
            self.assertEqual(stream.headers[name], page[name], name)
        self.assertEqual(stream.headers["Cache-Control"], "no-store")
        harness.eventually(lambda: stream.document, LONG)
        for name in ("member-1", "member-2"):
            def well(name=name):
                cluster = stream.document["clusters"][name]
                return cluster["health"] == "Healthy" and cluster["owner"] and cluster["nodes"]["ready"] == 3
            harness.eventually(well, LONG, lambda: json.dumps(stream.document))
        self.other.apply(replicated("huge", 1, "64"))
        harness.eventually(lambda: any("member-2" in patch.get("clusters", {}) for patch in stream.patches)
                           and stream.document["clusters"]["member-2"]["pods"]["pending"] == 1, LONG)

        def explained():
            pending = self.view("cluster/member-2")["pending"]
            (pod,) = [name for name in pending if "huge" in name]
            return "Insufficient cpu" in pending[pod]["reasons"]["general"]
        harness.eventually(explained, LONG)

        def told():
            decided = [event for event in self.view("events")["events"].values() if "huge" in event["object"]]
            return {"scheduler", "autoscaler"} <= {event["controller"] for event in decided}
        harness.eventually(told, LONG)

    def test_3_an_approval_carries_out_exactly_the_plan(self):
        self.member.kubectl("delete", "nodegroups", "--all")
        nodes = sorted(self.member.nodes())
        for node in nodes[1:]:
            self.member.kubectl("cordon", node)
        self.member.apply(replicated("web", 4, "500m"))
        self.member.wait_for_pods("web", 4, LONG)
        for node in nodes[1:]:
            self.member.kubectl("uncordon", node)
        self.member.apply({"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "e2e"},
                           "spec": {"dryRun": True, "intervals": FAST, "metrics": [{"name": "cpu"}], "throttles": {"maxShare": 1}}})
        balance = {}

        def planned():
            balance.update(self.view("balance/member-1"))
            self.assertTrue(balance["plan"] and balance["plan"]["approvable"] and balance["metrics"]["cpu"]["imbalanced"])
            shown = balance["nodes"][nodes[0]]
            self.assertEqual((shown["loads"]["cpu"], shown["after"]["cpu"]), (2000, 2000 - 500 * len(balance["plan"]["movements"])))
            return True
        harness.eventually(planned, LONG)
        plan = balance["plan"]
        wanted = {"action": "approve", "cluster": "member-1", "name": plan["name"], "seen": plan["hash"]}

        def approve(**changes):
            return self.ask("POST", "/api/actions", {"X-Evenkeel": "1"}, json.dumps({**wanted, **changes}))
        self.assertEqual(approve(seen="0")[0], 409)
        self.assertEqual(approve(name="another")[0], 404)
        self.assertFalse(self.member.kubectl.json("get", "balancingplan", plan["name"])["spec"]["approved"])
        status, _, text = approve()
        self.assertEqual(status, 200, text)

        def done():
            shown = self.view("balance/member-1")["plans"][plan["name"]]
            assert shown["phase"] == "Done", shown
            return shown
        self.assertEqual(harness.eventually(done, LONG)["done"], len(plan["movements"]))
        landed = self.member.kubectl.json("get", "balancingplan", plan["name"])
        self.assertEqual([(action["pod"], action["from"], action["to"]) for action in landed["spec"]["actions"]],
                         [(move["pod"], move["from"], move["to"]) for _, move in sorted(plan["movements"].items())])
        self.assertTrue(all(action["state"] == "Landed" for action in landed["status"]["actions"]), landed)

    def test_4_a_replica_serves_it_too_and_a_reader_may_only_look(self):
        home = self.home / "run"
        replica = harness.Program(home, "run", "--dashboard", "--dashboard-port", "0", "--metrics-address", "127.0.0.1", "--metrics-port", "0",
                                  "--dashboard-read-token-file", str(home / "reader"), env={"KUBECONFIG": str(self.home / "kubeconfig")})
        self.addCleanup(replica.stop)
        replica.wait_for_output("dashboard is on", LONG)
        self.assertNotIn((home / "dashboard-token").read_text().strip(), replica.output())
        port, reader = int(re.search(r"url=http://127\.0\.0\.1:(\d+)/", replica.output()).group(1)), (home / "reader").read_text().strip()

        def ask(method, path, token, body=None):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONG)
            connection.request(method, path, body=body, headers={"Authorization": f"Bearer {token}", "X-Evenkeel": "1"})
            with contextlib.closing(connection), connection.getresponse() as response:
                return response.status, json.loads(response.read())
        self.assertFalse(any(yes for right, yes in ask("GET", "/api/session", reader)[1]["may"].items() if right != "logs"))
        asked = {"action": "approve", "cluster": "member-1", "name": "any", "dryRun": True}
        self.assertEqual(ask("POST", "/api/actions", reader, json.dumps(asked))[0], 403)

        def whole():
            clusters = ask("GET", "/api/view?view=fleet", reader)[1]["clusters"]
            return len(clusters) == 2 and all(cluster["nodes"]["ready"] >= 3 for cluster in clusters.values())
        harness.eventually(whole, LONG)
        self.assertEqual(len(ask("GET", "/api/view?view=cluster/member-2", reader)[1]["nodes"]), 3)

    def make_certificate(self, home, serial):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=IP:127.0.0.1", "-set_serial", str(serial), "-keyout", home / "tls.key", "-out", home / "tls.crt"],
                       check=True, capture_output=True)

    def test_5_it_speaks_tls_with_a_certificate_that_is_renewed(self):
        home = self.home / "tls"
        home.mkdir()
        self.make_certificate(home, 1)
        arguments = ("run", "--dashboard", "--dashboard-port", "0", "--metrics-address", "127.0.0.1", "--metrics-port", "0", "--dashboard-tls-cert-file",
                     str(home / "tls.crt"))
        alone = harness.Program(home, *arguments, env={"KUBECONFIG": str(self.home / "kubeconfig")})
        self.addCleanup(alone.stop)
        alone.wait_for_output("--dashboard-tls-cert-file and --dashboard-tls-key-file go together", LONG)
        replica = harness.Program(home, *arguments, "--dashboard-tls-key-file", str(home / "tls.key"), env={"KUBECONFIG": str(self.home / "kubeconfig")})
        self.addCleanup(replica.stop)
        replica.wait_for_output("dashboard is on", LONG)
        port = int(re.search(r"url=https://127\.0\.0\.1:(\d+)/", replica.output()).group(1))

        def log_in():
            """(serial of the certificate, cookie)"""
            context = ssl.create_default_context(cafile=str(home / "tls.crt"))
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=LONG, context=context)
            token = (home / "dashboard-token").read_text().strip()
            connection.request("POST", "/login", body=f"token={token}", headers={"X-Evenkeel": "1"})
            with contextlib.closing(connection), connection.getresponse() as response:
                return int(connection.sock.getpeercert()["serialNumber"], 16) if connection.sock else None, response.headers["Set-Cookie"]
        serial, cookie = log_in()
        self.assertEqual(serial, 1)
        self.assertIn("; Secure", cookie)
        self.make_certificate(home, 2)

        def renewed():
            try:
                return log_in()[0] == 2
            except ssl.SSLError:  # whoever trusts the new one alone does not trust the old one
                return False
        harness.eventually(renewed, LONG)


if __name__ == "__main__":
    harness.main()
