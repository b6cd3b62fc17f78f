"""What others rely on, held against the files of tests/golden: the JSON that commands answer on small inputs (contracts/), and the flags,
metrics, Events, keys of JSON and kinds of the program (interface/). A difference is a change for whoever uses the program. `--renew` behind the name of
this file writes the files anew, for a change that is meant."""
import difflib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
from process_fleet import ApiServer, cluster_of

GOLDEN = harness.ROOT / "tests/golden"
CONTRACTS = GOLDEN / "contracts"
INTERFACE = GOLDEN / "interface"
# Of a difference, what is shown.
LINES = 30
RENEW = "--renew" in sys.argv

# What depends on the machine and the moment, in all answers.
CLOCKS = ("milliseconds", "wallMilliseconds", "heartbeatAgeSeconds", "p50Milliseconds", "p99Milliseconds", "maxMilliseconds")
SHARDS = ["-f", "clusters.yaml"]
SCALE = ["-f", "scale.yaml", "--now", "2026-06-01T09:06:00Z"]
BALANCE = ["--manifest", "manifest.xml", "-f", "balance.yaml", "--now", "1780000000", "--seed", "1"]
ROLLOUT = ["-f", "rollout.yaml"]
# {name: command}, run beside the inputs.
ANSWERS = {
    "plan-shards": ["plan", "shards", *SHARDS, "--replicas", "2", "--current", "shards.json"],
    "plan-shards-weighted": ["plan", "shards", *SHARDS, "--replicas", "2", "--sharding-method", "weighted"],
    "plan-shards-consistent-hashing": ["plan", "shards", *SHARDS, "--replicas", "2", "--sharding-method", "consistent-hashing"],
    "plan-scale": ["plan", "scale", *SCALE],
    "plan-scale-remembered": ["plan", "scale", *SCALE, "--state", "scale-state.json"],
    "plan-scale-1.26": ["plan", "scale", *SCALE, "--compat", "1.26"],
    "explain-pod-pending": ["explain", "pod", "default/wide", *SCALE],
    "explain-pod-bound": ["explain", "pod", "default/work", *SCALE],
    "explain-node-idle": ["explain", "node", "idle", *SCALE, "--state", "scale-state.json"],
    "explain-node-kept": ["explain", "node", "kept", *SCALE],
    "plan-balance": ["plan", "balance", *BALANCE],
    "plan-balance-remembered": ["plan", "balance", *BALANCE, "--memory", "balance-memory.json"],
    "explain-service": ["explain", "service", "orders", *BALANCE],
    "get-loads": ["get", "loads", *BALANCE],
    "plan-rollout": ["plan", "rollout", *ROLLOUT, "--now", "2026-01-01T00:01:00Z"],
    # As the simulator's hub wrote it (src/sim/run/state_before_test.cc).
    "plan-rollout-under-way": ["plan", "rollout", "-f", "rollout-under-way.json", "--now", "2030-01-01T00:03:16Z"],
    "get-rollouts": ["get", "rollouts", *ROLLOUT],
    "simulate": ["simulate", "scenario.yaml"],
    "simulate-seeds": ["simulate", "scenario.yaml", "--seeds", "1..2"],
    "simulate-trace": ["simulate", "trace.yaml"],
    "solve-roadef-check": ["solve", "roadef", "-p", "roadef-model.txt", "-i", "roadef-assignment.txt", "--check", "roadef-assignment.txt"],
}
# {name: command} against the hub of fleet.yaml.
LIVE = {
    "get-shards": ["get", "shards"],
    "get-shards-compatible": ["get", "shards", "--sharding-method", "round-robin"],
    "explain-cluster-owned": ["explain", "cluster", "east"],
    "explain-cluster-moving": ["explain", "cluster", "west"],
    "explain-cluster-compatible": ["explain", "cluster", "east", "--sharding-method", "round-robin"],
    "plan-shards-live": ["plan", "shards", "--replicas", "2"],
    "get-nodegroups": ["get", "nodegroups", "--cluster", "east"],
}


def masked(value, mask):
    """With "number" in place of each that `mask(key)` means."""
    if isinstance(value, dict):
        return {key: "number" if isinstance(item, int | float) and not isinstance(item, bool) and mask(key) else masked(item, mask)
                for key, item in value.items()}
    return [masked(item, mask) for item in value] if isinstance(value, list) else value


def table_rows(page):
    """Of a page of the reference, for each row of its tables the heading where they stand, and the cells."""
    section, rows = "", []
    for line in page.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("| `"):
            rows.append([section, *(cell.strip().replace("\0", "|") for cell in line.replace("\\|", "\0").strip("|").split("|"))])
    return rows


class GoldenTestCase(unittest.TestCase):
    def compare(self, path, text):
        """`text` with the file; or, with --renew, writes it there."""
        if RENEW:
            path.write_text(text)
            return
        expected = path.read_text() if path.exists() else ""
        if text == expected:
            return
        lines = list(difflib.unified_diff(expected.splitlines(), text.splitlines(), str(path.relative_to(harness.ROOT)), "now", n=2, lineterm=""))
        more = [f"... and {len(lines) - LINES} lines more"] if len(lines) > LINES else []
        self.fail("\n".join([f"{path.name} is not as it was. If it is meant: python3 tests/e2e/golden_test.py --renew",
                             *lines[:LINES], *more]))

    def answer(self, *command, folder=CONTRACTS / "inputs", env=None):
        result = subprocess.run([harness.EVENKEEL, *command], cwd=folder, capture_output=True, text=True, timeout=120, env=env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def check_answer(self, name, answer, mask=lambda key: False):
        value = masked(json.loads(answer), lambda key: key in CLOCKS or mask(key))
        self.compare(CONTRACTS / f"{name}.json", json.dumps(value, indent=1) + "\n")


class ContractsTest(GoldenTestCase):
    def test_answers_to_files(self):
        for name, command in ANSWERS.items():
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                # What a command remembers is written back.
                shutil.copytree(CONTRACTS / "inputs", folder, dirs_exist_ok=True)
                arguments = command if command[0] == "solve" else [*command, "-o", "json"]
                # A run's figures are of its seed and of each thing that draws from it.
                figures = command[:2] == ["simulate", "scenario.yaml"]
                text = self.answer(*arguments, folder=folder)
                self.check_answer(name, re.sub(r'"traceHash": "\w+"', '"traceHash": "text"', text), lambda key, all=figures: all and key != "seed")

    def test_answers_of_a_store(self):
        with harness.temporary_home() as home:
            shutil.copy(GOLDEN / "store/layout-2.db", home / "store.db")
            for command, paths in {"verify": ["store.db"], "backup": ["store.db", "copy.db"], "restore": ["copy.db", "new.db"]}.items():
                with self.subTest(command):
                    answer = self.answer("apiserver", command, *(str(home / path) for path in paths), "-o", "json")
                    self.check_answer(f"apiserver-{command}", answer.replace(str(home), "HOME"))

    def test_answers_of_a_fleet(self):
        with harness.temporary_home() as home:
            server = ApiServer(home / "hub", "memory")
            self.addCleanup(server.kill)
            known = self.fill(server)
            for name, command in LIVE.items():
                with self.subTest(name):
                    text = self.answer(*command, "--kubeconfig", str(server.home / "kubeconfig"), "-o", "json")
                    for value, word in known.items():
                        text = text.replace(value, word)
                    self.check_answer(name, text)

    def fill(self, server):
        """{what only this server has: what the files say for it}."""
        inputs = CONTRACTS / "inputs"
        server.kubectl("create", "namespace", "evenkeel")
        for kinds in ([harness.EVENKEEL, "run", "--print-definitions=hub"], ["cat", inputs / "kinds.yaml"]):
            server.kubectl("create", "-f", "-", stdin=subprocess.run(kinds, capture_output=True, text=True, check=True).stdout)
        address, config = cluster_of(server.kubectl)
        server.kubectl("create", "-f", "-", stdin=(inputs / "fleet.yaml").read_text().replace("SERVER", address))
        east, west = self.add_clusters(server, address, config)
        # Clusters are ranked by their uids, which the server draws. Both anew: one alone may be nearly the last of all.
        while west < east:
            server.kubectl("-n", "evenkeel", "delete", "secret", "east", "west")
            east, west = self.add_clusters(server, address, config)
        return {address: "SERVER", east: "UID of east", west: "UID of west"}

    def add_clusters(self, server, address, config):
        """The uids of east and west."""
        return (self.add_cluster(server, "east", address, config),
                self.add_cluster(server, "west", "https://127.0.0.1:1", "{}"))

    def add_cluster(self, server, name, address, config):
        """Its uid."""
        server.kubectl("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Secret", "stringData": {"name": name, "server": address, "config": config},
             "metadata": {"name": name, "namespace": "evenkeel", "labels": {"argocd.argoproj.io/secret-type": "cluster"}}}))
        return server.kubectl.json("-n", "evenkeel", "get", "secret", name)["metadata"]["uid"]

    def test_each_file_is_looked_at(self):
        names = [*ANSWERS, *LIVE, *(f"apiserver-{command}" for command in ("verify", "backup", "restore"))]
        self.assertEqual(sorted(path.stem for path in CONTRACTS.glob("*.json")), sorted(names))


class InterfaceTest(GoldenTestCase):
    def check_page(self, name, columns, more=lambda what: []):
        """The first cells of each row of a page. What is said about them for people is left out, but for what `more` makes of it."""
        lines = [" | ".join([*row[:columns + 1], *more(row[-1])]) for row in table_rows(self.answer("docs", name))]
        self.compare(INTERFACE / f"{name}.txt", "\n".join(lines) + "\n")

    def test_flags(self):
        self.check_page("flags", 3, lambda what: re.findall(r"\(default \".*\"\)$", what))

    def test_metrics(self):
        self.check_page("metrics", 3)

    def test_events(self):
        self.check_page("events", 3)

    def test_settings(self):
        self.check_page("settings", 5)

    def test_keys_of_json(self):
        self.check_page("json", 2, lambda what: re.findall(r"\(not always there\)", what))

    def test_kinds(self):
        for where in ("hub", "member"):
            with self.subTest(where):
                self.compare(INTERFACE / f"kinds-{where}.yaml", self.answer("run", f"--print-definitions={where}"))


if __name__ == "__main__":
    if RENEW:
        sys.argv.remove("--renew")
    harness.main()
