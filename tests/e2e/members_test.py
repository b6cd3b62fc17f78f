"""What members do to the replicas that look after them: one that is named twice, hundreds that never answer, one that answers without end. The
others keep their owners."""
import datetime
import http.client
import http.server
import itertools
import json
import pathlib
import re
import socket
import ssl
import threading
import time
import unittest

import harness
from process_fleet import ApiServer, ProcessFleet, cluster_of

LONG = 120
HANGING = 150


class Silent:
    """A server that accepts TCP and never answers."""

    def __init__(self):
        self.socket, self.accepted = socket.create_server(("127.0.0.1", 0), backlog=4096), []
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                self.accepted.append(self.socket.accept())
            except OSError:
                return

    def close(self):
        self.socket.close()
        for connection, _ in self.accepted:
            connection.close()


def pod(number, size=200):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "namespace": "default", "uid": f"u{number}", "resourceVersion": "5",
                                                           "annotations": {"padding": "x" * size}}, "spec": {}, "status": {}}


class Broken(http.server.ThreadingHTTPServer):
    """Stands before a real member, and answers what is asked of its pods without end: in pages, in one answer, or in events."""
    daemon_threads = True

    def __init__(self, member):
        super().__init__(("127.0.0.1", 0), Relay)
        self.member, self.mode, self.answered = member, "", {"pages": 0, "answer": 0, "events": 0}
        [certificate] = member.home.glob("*-127.0.0.1.crt")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Whoever has had enough hangs up."""


class Relay(http.server.BaseHTTPRequestHandler):
    protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

    def log_message(self, *_):
        pass

    def relay(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.command == "GET" and self.path.startswith("/api/v1/pods") and self.server.mode:
            return self.without_end()
        upstream = http.client.HTTPSConnection("127.0.0.1", self.server.member.port, context=ssl._create_unverified_context())
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "accept-encoding", "connection")}
        upstream.request(self.command, self.path, body, headers)
        answer = upstream.getresponse()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        while part := answer.read1(1 << 16):
            self.wfile.write(part)
            self.wfile.flush()
        upstream.close()
        return None

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = relay

    def without_end(self):
        mode = self.server.mode
        if "watch=" in self.path and mode != "events":
            # So that it is listed, and listed in pages.
            code, reason = (422, "Invalid") if "sendInitialEvents" in self.path else (410, "Expired")
            return self.answer_json(code, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": "list"})
        if "watch=" not in self.path and mode == "events":
            return self.answer_json(200, {"kind": "PodList", "apiVersion": "v1", "items": [], "metadata": {"resourceVersion": "5"}})
        self.server.answered[mode] += 1
        if mode == "pages":
            return self.pages()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if mode == "answer":
            self.wfile.write(b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[' + json.dumps(pod(0)).encode())
        form = json.dumps(pod("%d", 4000)) if mode == "answer" else json.dumps({"type": "ADDED", "object": pod("%d", 4000)})
        form = ("," + form if mode == "answer" else form + "\n").encode()
        numbers = itertools.count()
        while self.server.mode == mode:
            self.wfile.write(b"".join(form % (number, number) for number in itertools.islice(numbers, 100)))
        return None

    def pages(self):
        """Ten thousand are many for a handler that takes each request apart: whoever lists goes on on this connection."""
        form = json.dumps({"kind": "PodList", "apiVersion": "v1", "items": [pod("%06d")], "metadata": {"resourceVersion": "5", "continue": "page-%06d"}})
        length = len(form % (0, 0, 0))
        form = (f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n" + form).encode()
        while True:
            number = self.server.answered["pages"]
            self.wfile.write(form % (number, number, number))
            self.raw_requestline = self.rfile.readline()
            if not self.raw_requestline.startswith(b"GET /api/v1/pods?") or b"watch=" in self.raw_requestline or self.server.mode != "pages":
                break
            while self.rfile.readline().strip():
                pass
            self.server.answered["pages"] += 1
        self.close_connection = not self.raw_requestline
        if self.raw_requestline and self.parse_request():
            self.relay()

    def answer_json(self, status, value):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


class SharedMembers:
    """Two replicas that look after m1 and m2."""

    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.hub = ApiServer(cls.home / "hub")
        cls.addClassCleanup(lambda: cls.hub.program.stop(9))
        cls.fleet = ProcessFleet(cls.hub.kubectl, cls.home)
        cls.addClassCleanup(cls.fleet.stop)
        cls.fleet.create(["m1", "m2"])
        for _ in range(2):
            cls.fleet.start()

    def owners(self):
        return {row["cluster"]: row["owner"] for row in self.fleet.shards()["clusters"]}

    def settled(self, *clusters):
        def all_owned():
            owners = self.owners()
            self.assertTrue(all(owners.get(cluster) for cluster in clusters), owners)
            return owners
        return harness.eventually(all_owned, LONG)

    def lease(self, member):
        return self.fleet.members[member].kubectl.json("-n", "kube-system", "get", "lease", "evenkeel-owner")


class SecondSecretTest(SharedMembers, unittest.TestCase):
    def test_a_second_secret_takes_nothing_from_a_working_owner(self):
        self.settled("m1", "m2")
        before = self.lease("m1")
        server, config = cluster_of(self.fleet.members["m1"].kubectl)
        authority = json.loads(config)["tlsClientConfig"]["caData"]
        token = self.account_with_rights_on_leases_only("m1")
        config = json.dumps({"bearerToken": token, "tlsClientConfig": {"caData": authority}})
        self.fleet.secret("m1-team", {}, name="m1-team", server=f"{server}?__uid=team", namespaces="team-a", config=config)

        def told():
            events = self.fleet.kubectl.json("-n", self.fleet.namespace, "get", "events")["items"]
            told = [event for event in events if event["reason"] == "SameCluster"]
            self.assertEqual(len(told), 1, told)
            event = told[0]
            self.assertEqual(event["involvedObject"]["name"], "m1-team")
            for name in ("cluster m1-team", "cluster as m1 "):
                self.assertIn(name, event["message"])
            return True
        harness.eventually(told, LONG)
        time.sleep(20)  # longer than a Lease lasts
        after = self.lease("m1")
        for field in ("holderIdentity", "leaseTransitions", "acquireTime"):
            self.assertEqual(after["spec"].get(field), before["spec"].get(field), field)
        self.assertEqual(after["metadata"]["annotations"]["evenkeel.dev/member-name"], "m1")
        self.assertEqual(self.owners()["m1-team"], "")
        explained = self.fleet.evenkeel("explain", "cluster", "m1-team")
        self.assertIn("it is the same cluster as m1", explained)

    def account_with_rights_on_leases_only(self, member):
        kubectl = self.fleet.members[member].kubectl
        kubectl("-n", "kube-system", "create", "serviceaccount", "leases")
        kubectl("-n", "kube-system", "create", "role", "leases", "--verb=get,list,watch,create,update", "--resource=leases.coordination.k8s.io")
        kubectl("-n", "kube-system", "create", "rolebinding", "leases", "--role=leases", "--serviceaccount=kube-system:leases")
        return kubectl("-n", "kube-system", "create", "token", "leases").strip()


class SilentTest(SharedMembers, unittest.TestCase):
    def test_members_that_never_answer_hold_nobody_up(self):
        silent = Silent()
        self.addCleanup(silent.close)
        names = [f"silent-{number}" for number in range(HANGING)]
        items = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": self.fleet.namespace,
                                                                    "labels": {"argocd.argoproj.io/secret-type": "cluster", "answers": "never"}},
                  "stringData": {"name": name, "server": f"https://127.0.0.1:{silent.port}/{name}",
                                 "config": json.dumps({"bearerToken": "x", "tlsClientConfig": {"insecure": True}})}} for name in names]
        self.fleet.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        harness.eventually(lambda: len(silent.accepted) >= HANGING, LONG)
        self.settled("m1", "m2")
        begin = time.monotonic()
        name, process = next(iter(self.fleet.processes.items()))
        self.fleet.processes.pop(name)
        self.assertEqual(process.stop(seconds=40), 0, process.output()[-2000:])
        took = time.monotonic() - begin
        print(f"SIGTERM beside {HANGING} members that never answer: {took:.1f} s")
        self.assertLess(took, 30)
        self.settled("m1", "m2")
        # In one request: kubectl sends five a second.
        self.fleet.kubectl("delete", "--raw", f"/api/v1/namespaces/{self.fleet.namespace}/secrets?labelSelector=answers%3Dnever")


class EndlessTest(SharedMembers, unittest.TestCase):
    def test_a_member_that_answers_without_end_is_set_aside(self):
        member = ApiServer(self.home / "m3")
        self.addCleanup(member.program.stop, 9)
        broken = Broken(member)
        self.addCleanup(broken.server_close)
        self.addCleanup(broken.shutdown)
        authority = json.loads(cluster_of(member.kubectl)[1])["tlsClientConfig"]["caData"]
        config = json.dumps({"bearerToken": member.token, "tlsClientConfig": {"caData": authority}})
        self.fleet.secret("m3", {}, name="m3", server=f"https://127.0.0.1:{broken.server_address[1]}", config=config)
        self.settled("m1", "m2", "m3")
        resting = max(self.resident(name) for name in self.fleet.processes)
        highest, silences = {}, []
        for mode in ("pages", "answer", "events"):
            broken.mode = mode
            # A watch that is open goes on until the member closes it.
            member.program.stop(15)
            member.start()

            def set_aside():
                silences.extend(self.silence(each) for each in ("m1", "m2"))
                highest[mode] = max([highest.get(mode, 0), *(self.resident(name) for name in self.fleet.processes)])
                row = next(row for row in self.fleet.shards()["clusters"] if row["cluster"] == "m3")
                self.assertIn("answers too much", row.get("detail", ""), (mode, broken.answered))
                return row
            self.assertIn("unknownSince", harness.eventually(set_aside, LONG))
            self.assertGreater(broken.answered[mode], 0)
            broken.mode = ""

            def back():
                silences.extend(self.silence(each) for each in ("m1", "m2"))
                row = next(row for row in self.fleet.shards()["clusters"] if row["cluster"] == "m3")
                self.assertNotIn("detail", row)
                return True
            harness.eventually(back, LONG)
        print(f"resident MiB of a replica: {resting >> 20} before, then {({mode: size >> 20 for mode, size in highest.items()})}; {broken.answered}")
        print(f"m1 and m2 were without a word of their owners for {max(silences):.1f} s at most")
        self.assertLess(max(silences), 15)

    def silence(self, member):
        """Seconds since its owner was last heard of there; a hand-over is none."""
        renewed = self.lease(member)["spec"].get("renewTime")
        return time.time() - datetime.datetime.fromisoformat(renewed).timestamp() if renewed else 0

    def resident(self, name):
        text = pathlib.Path(f"/proc/{self.fleet.pid(name)}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", text).group(1)) * 1024


if __name__ == "__main__":
    harness.main_in_parallel()
