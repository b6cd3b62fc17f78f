"""Reports as the program writes them, opened from the disk in Debian's Chromium: a day of a fleet, a replayed trace and every kind of plan; and the
progress of long work, which only a terminal gets to see. Screenshots are kept in build/screenshots."""
import base64
import json
import os
import pathlib
import pty
import re
import subprocess
import tempfile
import threading

import browser
import harness

LONG = 120
EXAMPLES = harness.ROOT / "examples"
PENDING = """
apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: default, creationTimestamp: "2026-01-01T00:00:00Z"}
spec: {containers: [{name: main, resources: {requests: {cpu: "%s"}}}]}
status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable}]}
---"""


def evenkeel(*arguments, check=True):
    done = subprocess.run([harness.EVENKEEL, *map(str, arguments)], capture_output=True, text=True, cwd=harness.ROOT, timeout=600)
    if check and done.returncode != 0:
        raise AssertionError(f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def cluster_secret(number):
    name = f"cluster-{number}"
    data = {key: base64.b64encode(value.encode()).decode() for key, value in (("name", name), ("server", f"https://{name}"))}
    return {"apiVersion": "v1", "kind": "Secret", "data": data,
            "metadata": {"name": name, "uid": str(number), "labels": {"argocd.argoproj.io/secret-type": "cluster"}}}


class ReportTest(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.directory = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))

    def report_of(self, name, *arguments):
        path = self.directory / f"{name}.html"
        evenkeel(*arguments, "--report", path)
        self.assertLess(path.stat().st_size, 5_000_000)
        self.browser.ask("open", url=path.as_uri())
        self.browser.sees("evenkeel ", ".command")
        return path

    def play(self, share):
        """Moves the slider there; what it then says."""
        self.browser.ask("evaluate", expression=f"""(() => {{
            const input = document.querySelector('.player input');
            input.value = Math.round({share} * input.max);
            input.dispatchEvent(new Event('input', {{bubbles: true}}));
        }})()""")
        return self.browser.sees("node", ".player output")

    def charts(self):
        return self.browser.ask("evaluate", expression="[...document.querySelectorAll('.chart canvas')].map(canvas => canvas.width * canvas.height)")

    def test_a_day_of_a_fleet(self):
        self.report_of("day", "simulate", EXAMPLES / "day/day.yaml", "--seed", "1")
        self.browser.sees("day", "h1")
        self.browser.sees("all held", ".facts")
        for title in ("Nodes", "Nodes by group", "Pods", "Cost", "Imbalance", "Controller replicas", "Voters of the ensemble"):
            self.browser.sees(title, ".card h2")
        self.assertGreaterEqual(len(self.charts()), 7)
        self.assertTrue(all(self.charts()))
        self.browser.sees("90 %", ".card:has-text('Time that pods had no node') .quantiles")
        self.browser.sees("replica-1", "#owners .heat-legend")
        self.browser.sees("member-1", "#moves tbody")
        self.browser.sees("spot", ".card:has-text('Node hours') tbody")
        self.browser.sees("has ended", ".card:has-text('Hand-overs') tbody")
        self.browser.sees("fault", ".card:has-text('What happened') tbody")
        begin, noon, end = self.play(0), self.play(0.5), self.play(1)
        nodes = [int(re.search(r"(\d+) nodes", text).group(1)) for text in (begin, noon, end)]
        self.assertTrue(begin.startswith("0:00:00"), begin)
        self.assertRegex(end, r"^1:\d\d:\d\d")
        self.assertGreater(nodes[1], nodes[0], "there are more nodes at noon than at night")
        self.assertGreater(nodes[1], nodes[2])
        self.play(0.5)
        self.browser.screenshot("report-day-playback", full=False)
        self.play(0)
        self.browser.click(".player button", "Play")
        self.browser.sees("Pause", ".player button")
        harness.eventually(lambda: not self.browser.sees("node", ".player output").startswith("0:00:00"), LONG, "it does not play")
        self.browser.click(".player button", "Pause")
        self.assert_looks_well("report-day")

    def test_a_replayed_trace(self):
        folder = self.directory / "trace"
        folder.mkdir()
        (folder / "openb_node_list_all_node.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
            f"node-{number},16000,65536,0,\n" for number in range(20)))
        (folder / "openb_pod_list_default.csv").write_text(
            "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n" + "".join(
                f"task-{number},6000,8192,0,0,,LS,Running,{number * 120},{number * 120 + 7200},0\n" for number in range(40)))
        self.report_of("trace", "simulate", EXAMPLES / "traces/openb.yaml", "--trace-dir", folder)
        self.browser.sees("40", ".facts")
        self.assertGreater(int(re.search(r"(\d+) nodes", self.play(0.5)).group(1)), 3)
        self.assertNotIn("nobody", self.browser.ask("evaluate", expression="document.body.innerText"))
        self.assert_looks_well("report-trace")

    def test_plan_shards(self):
        secrets, before = self.directory / "secrets.json", self.directory / "before.json"
        secrets.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [cluster_secret(number) for number in range(1, 10)]}))
        before.write_text(evenkeel("plan", "shards", "-f", secrets, "--replicas", "2", "--sharding-method", "weighted", "-o", "json").stdout)
        self.report_of("shards", "plan", "shards", "-f", secrets, "--replicas", "3", "--sharding-method", "weighted", "--current", before)
        self.browser.sees("shard 2", "#series-0 .bar-row")
        self.browser.sees("0 → 3", "#series-0 .bar-row:has-text('shard 2')")
        self.browser.sees("shard 2", "#moves tbody")
        self.assert_looks_well("report-shards")

    def test_plan_scale(self):
        pods = self.directory / "pods.yaml"
        pods.write_text("".join(PENDING % (f"fits-{number}", "3") for number in range(5)) + PENDING % ("huge", "900"))
        self.report_of("scale", "plan", "scale", "-f", EXAMPLES / "autoscaling/node-groups.yaml", "-f", pods, "--now", "2026-01-01T01:00:00Z")
        self.browser.sees("spot", "#series-0 .bar-row")
        self.browser.sees("default/fits-0", ".card:has-text('Scale up')")
        self.browser.sees("default/huge", ".card:has-text('Pods that stay pending')")
        self.assert_looks_well("report-scale")

    def test_plan_balance(self):
        self.report_of("balance", "plan", "balance", "--manifest", EXAMPLES / "balancing/ClusterManifest.xml",
                       "-f", EXAMPLES / "balancing/state.yaml")
        self.assertGreater(self.browser.ask("evaluate", expression="document.querySelectorAll('.bar-row').length"), 2)
        self.browser.sees("→", "#series-0 .bar-values")
        self.browser.sees("Move", "#moves tbody")
        self.assert_looks_well("report-balance")

    def test_plan_rollout(self):
        self.report_of("rollout", "plan", "rollout", "-f", EXAMPLES / "rollout/ensemble.yaml")
        self.browser.sees("apply", ".card:has-text('Next') tbody")
        self.assert_looks_well("report-rollout")

    def test_what_cannot_be_written_is_said_at_once(self):
        nowhere = self.directory / "nowhere/run.html"
        for arguments in (["simulate", EXAMPLES / "day/day.yaml"], ["plan", "rollout", "-f", EXAMPLES / "rollout/ensemble.yaml"]):
            done = evenkeel(*arguments, "--report", nowhere, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"^evenkeel: --report .*nowhere.*make it first\n$")
        many = evenkeel("simulate", EXAMPLES / "day/day.yaml", "--seeds", "2", "--report", self.directory / "many.html", check=False)
        self.assertEqual(many.returncode, 2)
        self.assertIn("--report is of one --seed", many.stderr)

    def test_progress_is_for_terminals(self):
        command = ["simulate", "examples/scenarios/crash.yaml", "--seeds", "1..4", "-o", "json"]
        piped = evenkeel(*command)
        self.assertEqual(piped.stderr, "")
        terminal, other_end = pty.openpty()
        shown = []

        def read():
            try:
                while chunk := os.read(terminal, 4096):
                    shown.append(chunk)
            except OSError:
                pass  # A terminal without a program at its other end.

        reader = threading.Thread(target=read)
        reader.start()
        done = subprocess.run([harness.EVENKEEL, *command], stdout=subprocess.PIPE, stderr=other_end, cwd=harness.ROOT, timeout=600,
                              env={**os.environ, "TERM": "xterm"})
        os.close(other_end)
        reader.join(LONG)
        os.close(terminal)
        text = b"".join(shown).decode()
        self.assertEqual(done.returncode, 0)
        self.assertRegex(text, r"simulate \[#+-*\] +\d+ %  \d of 4 seeds, .*/s, .* left, 0 fail")
        self.assertTrue(text.endswith("\r\x1b[K"), "the line is taken back")
        before, after = json.loads(piped.stdout), json.loads(done.stdout)
        self.assertEqual(before["steps"], after["steps"])


if __name__ == "__main__":
    browser.require()
    harness.main()
