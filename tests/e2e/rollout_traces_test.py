"""`evenkeel plan rollout` on the traces of tests/golden/rollout: NAME.yaml holds the objects, NAME.json what has to come out."""
import json
import subprocess
import tempfile
import pathlib
import unittest

import harness

GOLDEN = harness.ROOT / "tests/golden/rollout"
# Traces of the record machine; there are more files than these, named after them.
TRACES = {f"M{number:02}" for number in (1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 14, 15, 17, 19, 22, 23, 24, 25, 27)}


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
        self.assertLessEqual(TRACES, set(names))
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
        ensemble, reasons = Ensemble(self), []
        for _ in range(12):
            plan = ensemble.plan()
            reasons.append(plan["reason"])
            if reasons[-1] == "UpToDate":
                self.assertEqual((plan["status"], plan["apply"], plan["delete"]), (ensemble.status, [], []))
                break
            ensemble.carry_out(plan)
        self.assertEqual(reasons, ["RecordAppended", *["ClusterStarted", "ClusterCompleted"] * 3, "RecordReady", "UpToDate"])

    def test_a_record_of_what_did_not_happen_is_refused(self):
        first = Ensemble(self)
        first.run_until("ClusterStarted")
        self.refused(first, {"deploying": [], "completed": ["m1", "m2", "m3"], "pending": []}, "Ready",
                     'currentState.completed: "m2" has not been given anything yet')
        second = Ensemble(self)
        second.run_until("UpToDate")
        second.tag = "3.8.5"
        for reason in ("ClusterStarted", "ClusterCompleted", "ClusterStarted"):
            second.run_until(reason)
        done, under_way, rest = second.status["records"][-1]["order"]
        sound = {"deploying": [under_way], "completed": [done], "pending": [rest]}
        self.assertEqual(second.status["records"][-1]["currentState"], sound)
        other = f'"{rest}" has been given another revision'
        self.refused(second, {**sound, "completed": [done, rest], "pending": []}, "Deploying", "currentState.completed: " + other)
        self.refused(second, {"deploying": [], "completed": [done, under_way, rest], "pending": []}, "Ready", "currentState.completed: " + other)
        self.refused(second, {"deploying": [rest], "completed": [done, under_way], "pending": []}, "Deploying",
                     f"currentState.deploying: {other}, or none")
        self.refused(second, sound, "RollingBack", f'currentState.deploying: "{under_way}" has been given another revision, or none')
        self.refused(second, {**sound, "pending": []}, "Deploying", f'order: "{rest}" has servers, but is missing', order=[done, under_way])
        self.refused(second, {**sound, "pending": [rest, "m4"]}, "Deploying", 'order: "m4" has no index in status.clusterIndices',
                     order=[done, under_way, rest, "m4"])
        # What asks for more than is left is done again.
        second.status["records"][-1]["currentState"] = {"deploying": [under_way], "completed": [], "pending": [done, rest]}
        second.run_until("UpToDate")

    def refused(self, ensemble, state, status, message, **more):
        """Nothing is planned from an edited record, and one line says why."""
        good = json.dumps(ensemble.status)
        ensemble.status["records"][-1].update(currentState=state, status=status, **more)
        result = ensemble.ask()
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        field = f"status.records[{len(ensemble.status['records']) - 1}]"
        self.assertEqual(result.stderr, f"evenkeel: objects.yaml:1: MultiClusterZooKeeper data/zk: {field}.{message}\n")
        ensemble.status = json.loads(good)


class Ensemble:
    """That of trace M01, from plan to plan, with members that do what their overrides say at once."""

    def __init__(self, test):
        self.test, self.tag = test, "3.8.4"
        self.status, self.applied, self.minute = None, {}, 0
        self.first = (GOLDEN / "M01.yaml").read_text().split("---\n")
        self.folder = pathlib.Path(test.enterContext(tempfile.TemporaryDirectory()))

    def ask(self):
        ensemble = "".join(line for line in self.first[0].splitlines(True) if not line.startswith("#")).replace("3.8.4", self.tag)
        text = ensemble if self.status is None else ensemble + "status: " + json.dumps(self.status) + "\n"
        binding = self.first[2] + "  aggregatedStatus: " + json.dumps(self.members()) + "\n"
        objects = [text, binding, *map(json.dumps, self.applied.values())]
        if ("ZooKeeper", "zk") not in self.applied:
            objects.append(self.first[1])
        path = self.folder / "objects.yaml"
        path.write_text("\n---\n".join(objects))
        return run(path, f"2026-01-01T{self.minute // 60:02}:{self.minute % 60:02}:00Z")

    def plan(self):
        result = self.ask()
        self.test.assertEqual(result.returncode, 0, result.stderr)
        self.minute += 1
        return json.loads(result.stdout)

    def carry_out(self, plan):
        self.status = plan["status"]
        for item in plan["apply"]:
            if item["kind"] == "ZooKeeper":
                item["metadata"].update(uid="5d", generation=1)
            self.applied[item["kind"], item["metadata"]["name"]] = item

    def run_until(self, reason):
        for _ in range(40):
            plan = self.plan()
            self.carry_out(plan)
            if plan["reason"] == reason:
                return
        self.test.fail(f"never {reason}: {plan['reason']}")

    def members(self):
        """What members report once they run what their overrides say; the first server of all leads."""
        reports = []
        for (kind, name), item in sorted(self.applied.items()):
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
