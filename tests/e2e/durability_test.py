"""An acknowledged write survives `kill -9` of the API server, under load, again and again; a disk that fails is told and got over; what
is damaged is noticed, never served, and repaired or restored."""
import json
import resource
import ssl
import subprocess
import threading
import unittest
import urllib.error
import urllib.request

import harness

WRITERS = 8
ROUNDS = 3
# Acknowledged writes of a round before its server is killed in the middle of more.
WRITES = 50
LONG = 180


class StoreUnderTest(unittest.TestCase):
    """Starts `evenkeel apiserver` on a store of its own and asks it."""

    def start(self, home, program=harness.EVENKEEL):
        server = harness.Program(home, "apiserver", "--store", f"sqlite:{home}/store.db", "--port", "0", "--data-dir", str(home / "data"),
                                 "--token-auth-file", str(home / "tokens.csv"), program=program)
        server.wait_for_output("serving https://", LONG)
        return server

    def request(self, home, method, path, body=None):
        text = (home / "data/kubeconfig").read_text()
        url = next(line.split()[-1] for line in text.splitlines() if "server:" in line)
        context = ssl.create_default_context(cafile=home / "data/ca.crt")
        request = urllib.request.Request(url + path, method=method, data=None if body is None else json.dumps(body).encode(),
                                         headers={"Authorization": "Bearer e2e-token", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, context=context, timeout=LONG) as response:
            return response.read()

    def write(self, home, prefix, acknowledged):
        number = 0
        while True:
            name, value = f"{prefix}-{number}", f"{number * 7919}"
            try:
                self.request(home, "POST", "/api/v1/namespaces/default/configmaps",
                             {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}})
            except OSError:
                return
            acknowledged[name] = value
            number += 1


class DurabilityTest(StoreUnderTest):
    def test_every_acknowledged_write_is_there_after_kill_9(self):
        with harness.temporary_home() as home:
            (home / "tokens.csv").write_text("e2e-token,admin,admin,system:masters\n")
            acknowledged = {}
            for round_number in range(ROUNDS):
                server = self.start(home)
                try:
                    threads = [threading.Thread(target=self.write, args=(home, f"r{round_number}-w{i}", acknowledged)) for i in range(WRITERS)]
                    for thread in threads:
                        thread.start()
                    enough = (round_number + 1) * WRITES
                    harness.eventually(lambda enough=enough: len(acknowledged) >= enough, LONG, "writes under load")
                finally:
                    server.process.kill()
                    server.process.wait()
                for thread in threads:
                    thread.join()
            server = self.start(home)
            try:
                items = json.loads(self.request(home, "GET", "/api/v1/namespaces/default/configmaps"))["items"]
            finally:
                server.stop()
            stored = {item["metadata"]["name"]: item["data"]["value"] for item in items}
            missing = {name: value for name, value in acknowledged.items() if stored.get(name) != value}
            self.assertEqual(missing, {}, f"{len(missing)} of {len(acknowledged)} acknowledged writes are lost")


class DiskTest(StoreUnderTest):
    def setUp(self):
        self.home = self.enterContext(harness.temporary_home())
        (self.home / "tokens.csv").write_text("e2e-token,admin,admin,system:masters\n")
        self.store = self.home / "store.db"

    def run_server(self, program=harness.EVENKEEL):
        server = self.start(self.home, program)
        self.addCleanup(server.stop)
        return server

    def map_of(self, name, value):
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}}

    def create(self, name, value="v"):
        return json.loads(self.request(self.home, "POST", "/api/v1/namespaces/default/configmaps", self.map_of(name, value)))

    def status(self, method, path, body=None):
        """The HTTP status and the text of an answer."""
        try:
            return 200, self.request(self.home, method, path, body).decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def names(self):
        items = json.loads(self.request(self.home, "GET", "/api/v1/namespaces/default/configmaps"))["items"]
        return {item["metadata"]["name"] for item in items}

    def tool(self, *arguments):
        return subprocess.run([harness.EVENKEEL, "apiserver", *map(str, arguments)], capture_output=True, text=True)

    def test_a_disk_error_makes_it_unready_until_the_disk_works_again(self):
        # A file that may not grow is an error of the disk where the signal for it is ignored.
        ignoring = self.home / "ignoring"
        ignoring.write_text(f"#!/bin/sh\ntrap '' XFSZ\nexec {harness.EVENKEEL} \"$@\"\n")
        ignoring.chmod(0o755)
        server = self.run_server(ignoring)
        self.create("before")
        self.assertEqual(self.status("GET", "/readyz")[0], 200)
        unlimited = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (64 << 10, unlimited[1]))
        path = "/api/v1/namespaces/default/configmaps"
        code, text = self.status("POST", path, self.map_of("during", "v" * 500_000))
        self.assertIn(code, (500, 503), text)
        code, text = self.status("GET", "/readyz")
        self.assertEqual(code, 500, text)
        self.assertEqual(self.status("GET", "/livez")[0], 200)
        self.assertIn("before", self.names())
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, unlimited)
        harness.eventually(lambda: self.status("GET", "/readyz")[0] == 200, LONG, "ready again")
        self.create("after")
        self.assertLessEqual({"before", "after"}, self.names())

    def test_damage_is_noticed_never_served_and_repaired(self):
        server = self.run_server()
        for i in range(5):
            self.create(f"map-{i}", f"the value of map {i} " * 20)
        server.stop()
        self.assertEqual(self.tool("verify", self.store).returncode, 0)
        content = bytearray(self.store.read_bytes())
        content[content.rindex(b"the value of map 3") + 2] ^= 1
        self.store.write_bytes(content)
        verified = self.tool("verify", "-o", "json", self.store)
        self.assertEqual(verified.returncode, 1, verified.stderr)
        self.assertEqual([each["key"] for each in json.loads(verified.stdout)["damage"]], ["/registry/configmaps/default/map-3"])
        server = self.run_server()
        self.assertEqual(self.names(), {"map-0", "map-1", "map-2", "map-4"})
        self.assertEqual(self.status("GET", "/api/v1/namespaces/default/configmaps/map-3")[0], 500)
        code, text = self.status("POST", "/api/v1/namespaces/default/configmaps", self.map_of("new", "v"))
        self.assertEqual(code, 503, text)
        self.assertIn("evenkeel apiserver verify", text)
        self.assertEqual(self.status("GET", "/readyz")[0], 500)
        server.stop()
        repaired = self.tool("repair", self.store)
        self.assertEqual(repaired.returncode, 0, repaired.stderr)
        self.assertIn("/registry/configmaps/default/map-3 is gone", repaired.stdout)
        self.assertTrue((self.home / "store.db.damaged").exists())
        self.run_server()
        self.create("new")
        self.assertEqual(self.names(), {"map-0", "map-1", "map-2", "map-4", "new"})

    def test_a_restored_store_makes_watchers_list_again(self):
        server = self.run_server()
        self.create("kept")
        backup = self.tool("backup", self.store, self.home / "copy")
        self.assertEqual(backup.returncode, 0, backup.stderr)
        last = self.create("later")["metadata"]["resourceVersion"]
        self.assertNotEqual(self.tool("restore", "--overwrite", self.home / "copy", self.store).returncode, 0, "a server has it")
        server.stop()
        refused = self.tool("restore", self.home / "copy", self.store)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("--overwrite", refused.stderr)
        restored = self.tool("restore", "--overwrite", self.home / "copy", self.store)
        self.assertEqual(restored.returncode, 0, restored.stderr)
        self.run_server()
        self.assertEqual(self.names(), {"kept"})
        code, text = self.status("GET", f"/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=5&resourceVersion={last}")
        self.assertTrue(code == 410 or '"code":410' in text, text)
        self.assertGreater(int(self.create("new")["metadata"]["resourceVersion"]), int(last))


if __name__ == "__main__":
    harness.main()
