"""`evenkeel plan rollout` on the traces of tests/golden/rollout: NAME.yaml holds the objects, NAME.json what has to come out."""
import json
import subprocess
import tempfile
import pathlib
import unittest

import harness

GOLDEN = harness.ROOT / "tests/golden/rollout"


def run(objects, now, *arguments):
    """Runs the program beside the file, so that messages do not depend on where the tree is."""
    path = pathlib.Path(objects)
    return subprocess.run([harness.EVENKEEL, "plan", "rollout", "-f", path.name, "--now", now, "-o", "json", *arguments], cwd=path.parent,
                          capture_output=True, text=True, timeout=60)


def overridden(policy):
    """{path: value} of an OverridePolicy."""
    return {item["path"]: item["value"] for rule in policy["spec"]["overrideRules"] for item in rule["overriders"]["plaintext"]}


def summary(plan):
    """Of a plan, what the expectations are about."""
    status, records = plan["status"], plan["status"]["records"]
    policies = {item["metadata"]["name"]: overridden(item) for item in plan["apply"] if item["kind"] == "OverridePolicy"}
    last = records[-1] if records else {}
    return {
        "reason": plan["reason"],
        "records": [{"status": record["status"], **record["currentState"]} for record in records],
        "order": last.get("order"),
        "generations": last.get("observedGenerations"),
        "lastTransitionTime": last.get("lastTransitionTime"),
        "overrides": {name.removeprefix("zk-"): {key: values["/spec/" + key] for key in ("replicas", "myidOffset")}
                      for name, values in policies.items()},
        "marks": {name.removeprefix("zk-"): values["/spec/rolloutRevision"] for name, values in policies.items()},
        "servers": next(iter(policies.values()), {}).get("/spec/servers"),
        "applied": sorted(f"{item['kind']} {item['metadata']['name']}" for item in plan["apply"]),
        "indices": status["clusterIndices"],
        "retired": status["retiredIndices"],
        "conditions": {item["type"]: f"{item['status']} {item['reason']}" for item in status["conditions"]},
    }


class TracesTest(unittest.TestCase):
    maxDiff = None

    def test_traces(self):
        names = sorted(path.stem for path in GOLDEN.glob("*.yaml"))
        self.assertGreater(len(names), 20)
        for name in names:
            with self.subTest(name):
                self.check(name)

    def check(self, name):
        expected = json.loads((GOLDEN / f"{name}.json").read_text())
        result = run(GOLDEN / f"{name}.yaml", expected.pop("now"))
        if "error" in expected:
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(result.stderr, f"evenkeel: {expected['error']}\n")
            return
        self.assertEqual(result.returncode, 0, result.stderr)
        plan = json.loads(result.stdout)
        self.assertEqual(list(plan)[:4], ["status", "apply", "delete", "reason"])
        found = summary(plan)
        for key, value in expected.items():
            part = found[key] if key != "conditions" else {condition: found[key][condition] for condition in value}
            self.assertEqual(part, value, f"{name}: {key}")

    def test_a_first_deployment_comes_to_rest_and_then_nothing_is_written(self):
        """Each plan's status and objects are the next one's input, with a member that does what its override says."""
        base = (GOLDEN / "M01.yaml").read_text().split("---\n")
        status, applied, reasons = None, {}, []
        with tempfile.TemporaryDirectory() as folder:
            for minute in range(12):
                ensemble = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "MultiClusterZooKeeper",
                            "metadata": {"name": "zk", "namespace": "data"}, "status": status}
                text = base[0] if status is None else base[0] + "status: " + json.dumps(ensemble["status"]) + "\n"
                binding = base[2] + "  aggregatedStatus: " + json.dumps(self.members(applied)) + "\n"
                objects = [text, binding, *map(json.dumps, applied.values())]
                if ("ZooKeeper", "zk") not in applied:
                    objects.append(base[1])
                path = pathlib.Path(folder) / "objects.yaml"
                path.write_text("\n---\n".join(objects))
                result = run(path, f"2026-01-01T00:{minute:02}:00Z")
                self.assertEqual(result.returncode, 0, result.stderr)
                plan = json.loads(result.stdout)
                reasons.append(plan["reason"])
                if reasons[-1] == "UpToDate":
                    self.assertEqual((plan["status"], plan["apply"], plan["delete"]), (status, [], []))
                    break
                status = plan["status"]
                for item in plan["apply"]:
                    if item["kind"] == "ZooKeeper":
                        item["metadata"].update(uid="5d", generation=1)
                    applied[item["kind"], item["metadata"]["name"]] = item
        self.assertEqual(reasons, ["RecordAppended", *["ClusterStarted", "ClusterCompleted"] * 3, "RecordReady", "UpToDate"])

    def members(self, applied):
        """What members report once they run what their overrides say; the first server of all leads."""
        reports = []
        for (kind, name), item in sorted(applied.items()):
            if kind != "OverridePolicy":
                continue
            values = overridden(item)
            ids = [values["/spec/myidOffset"] + 1 + ordinal for ordinal in range(values["/spec/replicas"])]
            reports.append({"clusterName": name.removeprefix("zk-"), "applied": True, "health": "Healthy", "status": {
                "observedRevision": values["/spec/rolloutRevision"], "replicas": len(ids), "readyReplicas": len(ids),
                "members": [{"id": number, "mode": "leader" if number == 1 else "follower"} for number in ids]}})
        return reports


if __name__ == "__main__":
    harness.main()
