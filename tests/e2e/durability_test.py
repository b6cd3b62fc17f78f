"""An acknowledged write survives `kill -9` of the API server, under load, again and again."""
import json
import pathlib
import ssl
import subprocess
import threading
import unittest
import urllib.request

import harness

WRITERS = 8
ROUNDS = 3
# Acknowledged writes of a round before its server is killed in the middle of more.
WRITES = 50
LONG = 180


class DurabilityTest(unittest.TestCase):
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

    def start(self, home):
        server = harness.Program(home, "apiserver", "--store", f"sqlite:{home}/store.db", "--port", "0", "--data-dir", str(home / "data"),
                                 "--token-auth-file", str(home / "tokens.csv"))
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


if __name__ == "__main__":
    harness.main()
