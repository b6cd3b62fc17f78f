"""What the dashboard serves, asked by a program: tokens, documents, patches, and an approval that carries out exactly one plan."""
import contextlib
import http.client
import json
import pathlib
import re
import socket
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
        status, headers, _ = self.ask("GET", f"/login?token={self.token}", token="")
        self.assertEqual((status, headers["Location"]), (303, "/"))
        cookie = headers["Set-Cookie"]
        self.assertIn("HttpOnly", cookie)
        self.assertIn("SameSite=Strict", cookie)
        status, _, text = self.ask("GET", "/api/session", {"Cookie": cookie.split(";")[0]}, token="")
        self.assertEqual((status, json.loads(text)["mayWrite"]), (200, True))
        for name in ("nothing", "cluster/nobody"):
            self.assertEqual(self.ask("GET", f"/api/view?view={name}")[0], 404)
        self.assertEqual(self.ask("POST", "/api/approve", {"X-Evenkeel": "1"}, "[]")[0], 400)
        self.assertEqual(self.ask("POST", "/api/approve", {}, "{}")[0], 403)
        self.assertEqual(self.ask("POST", "/api/approve", {"X-Evenkeel": "1"}, " " * 100_000)[0], 413)

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
        wanted = {"cluster": "member-1", "plan": plan["name"], "uid": plan["uid"], "hash": plan["hash"]}

        def approve(**changes):
            return self.ask("POST", "/api/approve", {"X-Evenkeel": "1"}, json.dumps({**wanted, **changes}))
        self.assertEqual(approve(hash="0")[0], 409)
        self.assertEqual(approve(uid="another")[0], 409)
        self.assertEqual(approve(plan="another")[0], 404)
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
        self.assertFalse(ask("GET", "/api/session", reader)[1]["mayWrite"])
        self.assertEqual(ask("POST", "/api/approve", reader, "{}")[0], 403)

        def whole():
            clusters = ask("GET", "/api/view?view=fleet", reader)[1]["clusters"]
            return len(clusters) == 2 and all(cluster["nodes"]["ready"] >= 3 for cluster in clusters.values())
        harness.eventually(whole, LONG)
        self.assertEqual(len(ask("GET", "/api/view?view=cluster/member-2", reader)[1]["nodes"]), 3)


if __name__ == "__main__":
    harness.main()
