"""What a person wants to know or do on a fleet in a known state, with no more than three commands, and what the answers have to say."""
import json
import os
import re
import subprocess
import time
import unittest

import harness
from process_fleet import ApiServer
from rollout_scenarios import CLUSTERS, KIND, LONG, RolloutFleet, spec

# More is no answer any more.
COMMANDS_MAX = 3
INPUTS = harness.ROOT / "tests/golden/contracts/inputs"


class Task:
    """Commands in the order in which they are typed."""

    def __init__(self, case, environment, folder=harness.ROOT):
        self.case, self.environment, self.folder = case, environment, folder
        self.typed = []

    def type(self, line):
        """What it prints."""
        self.typed.append(line)
        self.case.assertLessEqual(len(self.typed), COMMANDS_MAX, self.typed)
        command = line.replace("evenkeel ", f"{harness.EVENKEEL} ", 1) if line.startswith("evenkeel ") else line
        result = subprocess.run(["bash", "-c", command], cwd=self.folder, env={**os.environ, **self.environment}, capture_output=True, text=True,
                                timeout=LONG)
        self.case.assertEqual(result.returncode, 0, f"{line}\n{result.stdout}{result.stderr}")
        return result.stdout


def columns(table, first):
    """{first cell: {column: cell}} of the table whose header begins with `first`."""
    lines = table[table.index(first):].splitlines()
    names = [(match.start(), match[0].strip()) for match in re.finditer(r"\S+(?: \S+)*", lines[0])]
    rows = {}
    for line in lines[1:]:
        if not line.strip():
            break
        cells = [line[at:names[i + 1][0] if i + 1 < len(names) else None].strip() for i, (at, _) in enumerate(names)]
        rows[cells[0]] = dict(zip((name for _, name in names), cells))
    return rows


class TroubleTest(unittest.TestCase):
    """Which cluster is in trouble, and why? One member is well, one has a pod that fits nowhere, one cannot be reached."""

    def test_which_cluster_is_in_trouble_and_why(self):
        home = self.enterContext(harness.temporary_home())
        program = self.enterContext(harness.fleet(home, "--members", "2", "--nodes", "2", "--replicas", "2"))
        program.wait_for_output("every member has one owner", LONG)
        hub = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "hub")
        hub("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Secret", "stringData": {"name": "adrift", "server": "https://127.0.0.1:1", "config": "{}"},
             "metadata": {"name": "adrift", "namespace": "evenkeel", "labels": {"argocd.argoproj.io/secret-type": "cluster"}}}))
        hub.at("member-2")("create", "-f", "-", stdin=json.dumps(
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "huge"},
             "spec": {"containers": [{"name": "main", "image": "work", "resources": {"requests": {"cpu": "900"}}}]}}))
        environment = {"EVENKEEL_HOME": str(home), "KUBECONFIG": str(home / "kubeconfig")}

        def answered():
            task = Task(self, environment)
            clusters = columns(task.type("evenkeel top"), "CLUSTER")
            self.assertEqual({name: row["HEALTH"] for name, row in clusters.items()},
                             {"adrift": "Unreachable", "member-1": "Healthy", "member-2": "Degraded"}, clusters)
            self.assertRegex(clusters["adrift"]["MESSAGE"], r"^unknown since \S+: ")
            self.assertEqual(clusters["member-2"]["MESSAGE"], "1 pod waits for a node")
            why = task.type("evenkeel explain cluster adrift")
            self.assertRegex(why, r"Connection refused|cannot be reached|connect")
            pod = task.type("evenkeel explain pod default/huge --context member-2")
            self.assertRegex(pod, r"cpu")
            return True
        harness.eventually(answered, LONG)


class NodeTest(unittest.TestCase):
    """May I remove this node?"""

    def test_may_i_remove_this_node(self):
        asked = "-f scale.yaml --now 2026-06-01T09:06:00Z --state scale-state.json"
        for node, answer in (("kept", r"stays: .*pod default/alone .*nobody would make it again"),
                             ("idle", r"unneeded for 6m.*0 pods to move"),
                             ("busy", r"stays: .*cpu utilization is 75\.0 %, above the threshold")):
            with self.subTest(node):
                self.assertRegex(Task(self, {}, INPUTS).type(f"evenkeel explain node {node} {asked}"), answer)


class RolloutTaskTest(RolloutFleet, unittest.TestCase):
    """Roll out a change and stop it half-way. Five servers in three clusters run 3.8.4."""

    @classmethod
    def setUpClass(cls):
        home = cls.enterClassContext(harness.temporary_home())
        cls.api = ApiServer(home / "api")
        cls.addClassCleanup(cls.api.kill)
        cls.start(cls.api.kubectl, home)

    def test_roll_out_a_change_and_stop_it_half_way(self):
        self.bench.apply(spec())
        harness.eventually(lambda: self.bench.is_ready(1), LONG)
        namespace, kubectl = self.fleet.namespace, self.bench.kubectl
        there = f"{kubectl.path} --kubeconfig {kubectl.kubeconfig} -n {namespace} patch {KIND} zk --type=merge -p"
        task = Task(self, {"KUBECONFIG": str(kubectl.kubeconfig)})
        with self.karmada.held():
            task.type(there + """ '{"spec": {"template": {"image": {"tag": "3.8.5"}}}}'""")
            harness.eventually(lambda: self.bench.last_record()["currentState"]["deploying"], LONG)
            task.type(there + """ '{"spec": {"rollout": {"paused": true}}}'""")
        harness.eventually(lambda: self.bench.condition("Progressing").get("reason") == "PausedByUser", LONG)
        harness.eventually(lambda: self.karmada_is_quiet(), LONG)
        shown = task.type(f"evenkeel get rollouts {namespace}/zk")
        ensemble = columns(shown, "ENSEMBLE")[f"{namespace}/zk"]
        self.assertEqual(ensemble["REASON"], "PausedByUser", shown)
        # The first cluster has the change or is getting it; the others are as they were.
        self.assertEqual(sorted(self.bench.overrides().values()), ["3.8.4", "3.8.4", "3.8.5"])
        tracks = re.findall(rf"^{namespace}/zk +(\S+) +(deploying|completed|pending) ", shown, re.M)
        self.assertEqual({name for name, _ in tracks}, set(CLUSTERS), shown)
        self.assertEqual(sorted(track == "pending" for _, track in tracks), [False, True, True], shown)

    def karmada_is_quiet(self):
        """No cluster begins with the change any more."""
        before = len(self.karmada.changes)
        time.sleep(3)
        self.assertEqual(len(self.karmada.changes), before)
        return True


if __name__ == "__main__":
    harness.main_in_parallel()
