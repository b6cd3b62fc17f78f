"""The tests' own tools, judged: on an API server that is as rough as others may be and still right (rough_proxy.py) they report no failure
and miss nothing; suites that run side by side share no network and no port; what fails says why, by whom and how to repeat it."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

import failure_screen
import harness
import reservations
import survivors
from api_client import LOST, Connection
from autoscaled_cluster import HealthyPods
from history import Watch
from played_parts import DEFINITIONS, DELETE_MACHINE, Api, PlayedCluster, machine_deployment
from process_fleet import ApiServer
from recording_proxy import RecordingProxy
from rough_proxy import RoughProxy

HERE = pathlib.Path(__file__).resolve().parent
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SOON = 60


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def definition(number):
    """Of a group of its own, whose kinds nobody has asked for yet."""
    group = f"e2e-{number}.evenkeel.dev"
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return f"/apis/{group}/v1/oars", {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"oars.{group}"},
        "spec": {"group": group, "scope": "Cluster", "names": {"kind": "Oar", "plural": "oars", "singular": "oar"},
                 "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": free}}]}}


class RoughServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.server = ApiServer(cls.home / "api")
        cls.addClassCleanup(lambda: cls.server.kill())
        [certificate] = cls.server.home.glob("*-127.0.0.1.crt")
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, certificate.with_suffix(".key"))
        cls.authority = (cls.server.home / "ca.crt").read_text()
        cls.rough = RoughProxy(f"https://127.0.0.1:{cls.server.port}", cls.authority, tls)
        cls.addClassCleanup(cls.rough.close)
        cls.kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig")
        trust = {"server": cls.rough.url, "certificate-authority": str(cls.server.home / "ca.crt")}
        cls.kubectl.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "rough", "clusters": [{"name": "rough", "cluster": trust}],
            "users": [{"name": "e2e", "user": {"token": cls.server.token}}],
            "contexts": [{"name": "rough", "context": {"cluster": "rough", "user": "e2e"}}]}))
        cls.api = Api(cls.kubectl, cls.home)
        cls.addClassCleanup(cls.api.connection.close)

    def tearDown(self):
        self.rough.not_ready_after_definition, self.rough.idle, self.rough.watch_ends, self.rough.watch_breaks = 0, None, None, None

    def strikes(self, what):
        """How often from now on."""
        before = self.rough.struck[what]
        return lambda: self.rough.struck[what] - before

    def test_kinds_that_are_not_ready_yet_are_asked_for_again(self):
        self.rough.not_ready_after_definition, struck = 0.7, self.strikes("not ready")
        path, body = definition(1)
        self.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
        harness.eventually(lambda: self.api.served(path), SOON)
        self.assertEqual(self.api.list(path), [])
        self.assertGreater(struck(), 0)
        for number, kubectl in enumerate(harness.kubectls().values(), 2):
            path, body = definition(number)
            self.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
            version = path.removesuffix("/oars")
            harness.eventually(lambda version=version: self.api.served(version), SOON)
            struck = self.strikes("not ready")
            oar = {"apiVersion": version.removeprefix("/apis/"), "kind": "Oar", "metadata": {"name": "one"}}
            # By what kubectl does not ask again for by itself.
            kubectl = harness.Kubectl(kubectl, self.kubectl.kubeconfig)
            self.assertEqual(json.loads(kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(oar)))["kind"], "Oar")
            self.assertGreater(struck(), 0)

    def test_so_is_a_server_that_is_busy(self):
        self.rough.refuse(1)
        self.assertTrue(self.api.served("/api/v1/namespaces/default"))
        for path in harness.kubectls().values():
            self.rough.refuse(1)
            self.assertIn('"kind"', harness.Kubectl(path, self.kubectl.kubeconfig)("get", "--raw", "/api/v1/namespaces/default"))

    def test_objects_are_read_as_kubectl_reads_them(self):
        for name, data in (("read-1", "a"), ("read-2", "b")):
            self.api("POST", CONFIG_MAPS, config_map(name, data=data))
        # Of a version that its group does not prefer.
        path, older = definition(90)
        older["metadata"]["name"], older["spec"]["names"] = f"blades.{older['spec']['group']}", {"kind": "Blade", "plural": "blades", "singular": "blade"}
        older["spec"]["versions"][0]["name"] = "v1alpha1"
        for made in (definition(90)[1], older):
            self.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", made)
        harness.eventually(lambda: self.api.served(path) and self.api.served(path.replace("/v1/oars", "/v1alpha1/blades")), SOON)
        questions = [("get", "configmaps", "-A", "--field-selector", "metadata.name=read-1"), ("-n", "default", "get", "cm", "read-2"),
                     ("get", "configmap/read-1"), ("get", "namespaces,configmaps"), ("get", "roles.rbac.authorization.k8s.io", "-n", "nowhere"),
                     ("get", "nodes", "-l", "a=b"), ("get", "blades,oars"), ("get", "customresourcedefinitions.v1.apiextensions.k8s.io"), ("config", "view", "--minify")]
        self.rough.refuse(1)
        for question in questions:
            self.assertEqual(self.kubectl.json(*question), json.loads(self.kubectl(*question, "-o", "json")), question)
        for question, complaint in ((("get", "cm", "nobody"), "(NotFound)"), (("get", "oarsmen"), "doesn't have a resource type")):
            self.assertFalse(self.kubectl.exists(*question))
            for ask in (self.kubectl.json, self.kubectl):
                with self.assertRaisesRegex(AssertionError, re.escape(complaint)):
                    ask(*question)

    def test_a_connection_that_was_closed_while_nobody_used_it_is_made_again(self):
        self.rough.idle = 0.05
        for name in ("idle-1", "idle-2"):
            self.assertEqual(self.api("POST", CONFIG_MAPS, config_map(name))["metadata"]["name"], name)
            harness.eventually(self.api.connection.has_ended, SOON)

    def test_what_may_have_been_done_is_done_again_only_where_that_is_harmless(self):
        self.api("POST", CONFIG_MAPS, config_map("dropped"))
        self.rough.drop("GET", "configmaps")
        self.rough.drop("PATCH", "configmaps", carried_out=True)
        self.assertTrue(self.api.list(CONFIG_MAPS))
        self.assertEqual(self.api.merge(f"{CONFIG_MAPS}/dropped", {"data": {"a": "b"}})["data"], {"a": "b"})
        self.rough.drop("POST", "configmaps", carried_out=True)
        struck = self.strikes("dropped")
        with self.assertRaises(LOST):
            self.api("POST", CONFIG_MAPS, config_map("once"))
        self.assertEqual(struck(), 1)
        self.api.create(CONFIG_MAPS, config_map("once"))
        self.rough.drop("DELETE", "configmaps", carried_out=True)
        with self.assertRaises(LOST):
            self.api.remove(f"{CONFIG_MAPS}/once")
        self.api.remove(f"{CONFIG_MAPS}/once")

    def test_watches_that_end_and_break_miss_nothing(self):
        self.api("POST", CONFIG_MAPS, config_map("watched", turn="0"))
        broken, ended = self.strikes("watch broken"), self.strikes("watch ended")
        self.rough.watch_ends, self.rough.watch_breaks = 0.5, 2
        # The oldest one gives up where others try again.
        kubectl = harness.Kubectl(next(iter(harness.kubectls().values())), self.kubectl.kubeconfig)
        watch = Watch(kubectl, CONFIG_MAPS + "?watch=1&fieldSelector=metadata.name%3Dwatched", lambda thing: thing["data"]["turn"])
        self.addCleanup(watch.close)
        pods = HealthyPods(kubectl, "rough")
        self.addCleanup(pods.close)
        self.api("POST", "/api/v1/namespaces/default/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "rough", "labels": {"app": "rough"}},
            "spec": {"containers": [{"name": "work", "image": "work"}]}})
        expected = [str(turn) for turn in range(15)]
        watch.wait_for(lambda turn: turn == "0", SOON, "the object as it was")
        for turn in expected[1:]:
            self.api.merge(f"{CONFIG_MAPS}/watched", {"data": {"turn": turn}})
            time.sleep(0.08)
            if turn == "8":
                self.rough.reinitialize(0.7)
        watch.wait_for(lambda turn: turn == expected[-1], SOON, "the last turn")
        with watch.changed:
            self.assertEqual(watch.versions, expected)
        self.assertEqual(broken(), 1)
        self.assertGreater(ended(), 0)
        self.assertEqual(pods.lowest(time.time()), 0)

    def test_played_parts_find_nothing_to_complain_of(self):
        for body in DEFINITIONS:
            self.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
        path = "/apis/cluster.x-k8s.io/v1beta1/namespaces/default/machinedeployments"
        harness.eventually(lambda: self.api.served(path), SOON)
        group = machine_deployment("rough", 3)
        group["spec"]["replicas"] = 2
        self.api("POST", path, group)
        world = PlayedCluster(self.kubectl, self.home, "default")
        world.plays_machines = True
        self.rough.idle = 0.1
        self.rough.reinitialize(0.5)
        # Each between two steps that belong together.
        for request in (("POST", "nodes"), ("POST", "machines"), ("PATCH", "machines"), ("PATCH", "machines/status"), ("PUT", "nodes/status")):
            self.rough.drop(*request, carried_out=True)
        struck = self.strikes("dropped")
        world.start()
        self.addCleanup(world.close)

        def ready(count):
            nodes = self.api.list("/api/v1/nodes")
            assert len(nodes) == count and all('"True"' in json.dumps(node["status"].get("conditions")) for node in nodes), nodes
            machines = self.api.list(path.replace("deployments", "s"))
            assert sum("nodeRef" in machine.get("status", {}) for machine in machines) == count == len(machines), machines
            return True
        harness.eventually(lambda: ready(2), SOON)
        self.rough.drop("DELETE", "nodes", carried_out=True)
        machine = self.api.list(path.replace("deployments", "s"))[0]["metadata"]["name"]
        self.api.merge(f"{path.replace('deployments', 's')}/{machine}", {"metadata": {"annotations": {DELETE_MACHINE: "now"}}})
        self.api.merge(f"{path}/rough", {"spec": {"replicas": 1}})
        harness.eventually(lambda: ready(1), SOON)
        self.assertEqual(struck(), 6)
        self.assertEqual(world.failures, [])

    def test_a_recording_proxy_passes_on_that_the_server_is_not_ready(self):
        refused = []
        proxy = RecordingProxy(self.rough.url, self.authority, True, set(), lambda *request: refused.append(request))
        self.addCleanup(proxy.close)
        host, _, port = proxy.url.removeprefix("http://").partition(":")
        client = Connection(host, int(port), None)
        self.addCleanup(client.close)
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json"}

        def ask(method, path, body=None):
            response = client.begin(method, path, body and json.dumps(body), headers)
            return response.status, response.headers.get("Retry-After"), response.read()
        self.rough.reinitialize(2)
        status, after, text = ask("GET", CONFIG_MAPS)
        self.assertEqual((status, after, json.loads(text)["reason"]), (429, "1", "TooManyRequests"))
        self.assertFalse(proxy.answered("list", "configmaps"))
        self.assertEqual((proxy.refused, refused), ([], []))
        self.rough.idle = 0.05
        harness.eventually(lambda: ask("GET", CONFIG_MAPS)[0] == 200, SOON)
        self.assertTrue(proxy.answered("list", "configmaps"))
        time.sleep(0.3)  # the server closes the proxy's connection meanwhile
        self.assertEqual(ask("POST", CONFIG_MAPS, config_map("through-two"))[0], 201)
        self.rough.drop("POST", "configmaps")
        with self.assertRaises(LOST):
            ask("POST", CONFIG_MAPS, config_map("lost"))


TAKE = """
import harness, reservations, sys
with harness.temporary_home() as one, harness.temporary_home() as two:
    print(harness.loopback_network(one), harness.loopback_network(two), *[reservations.port() for _ in range(40)], flush=True)
    sys.stdin.read()
"""


SUITE = """
import harness, subprocess, survivors, sys
with harness.temporary_home() as home:
    others = subprocess.run(["sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!"], env=survivors.environment_to_survive(), stdout=subprocess.PIPE, text=True)
    print(others.stdout.strip(), flush=True)
    server = subprocess.Popen(["sh", "-c", "sleep 1000 & echo $! $$; wait"])
    sys.stdin.read()
"""


class KilledTest(unittest.TestCase):
    def test_a_suite_that_is_killed_leaves_no_process_behind(self):
        home = self.enterContext(harness.temporary_home())
        with subprocess.Popen([sys.executable, "-c", SUITE], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**survivors.environment_to_survive(), "TMPDIR": str(home)}) as suite:
            [others] = suite.stdout.readline().split()
            self.addCleanup(os.kill, int(others), signal.SIGKILL)
            started = suite.stdout.readline().split()
            self.assertEqual([pid for pid in started if pathlib.Path("/proc", pid).exists()], started)
            suite.kill()
            # Nobody holds its output any more, neither.
            self.assertEqual(suite.stdout.read(), "")
        for pid in started:
            harness.eventually(lambda pid=pid: not runs(pid), SOON)
        self.assertTrue(runs(others), "what is to outlive the suite does")
        self.assertTrue(runs(str(os.getpid())))


def runs(pid):
    """Whether it does, and is not just waited for."""
    try:
        return pathlib.Path("/proc", pid, "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class SideBySideTest(unittest.TestCase):
    def test_suites_share_no_network_and_no_port(self):
        # One that is killed leaves its homes behind.
        home = self.enterContext(harness.temporary_home())
        suites = [subprocess.Popen([sys.executable, "-c", TAKE], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "TMPDIR": str(home)}) for _ in range(4)]
        try:
            taken = [suite.stdout.readline().split() for suite in suites]
            networks, ports = [name for names in taken for name in names[:2]], [name for names in taken for name in names[2:]]
            self.assertEqual((len(set(networks)), len(set(ports))), (8, 160))
            for name in networks:
                self.assertIsNone(reservations.loopback(int(name)))
            suites[0].kill()
            suites[0].wait()
            for name in taken[0][:2]:
                with reservations.loopback(int(name)):
                    self.assertIsNone(reservations.loopback(int(name)))
        finally:
            for suite in suites:
                suite.communicate()

    def test_a_network_that_somebody_listens_in_is_not_taken(self):
        with harness.temporary_home() as home:
            network = harness.loopback_network(home)
        # The second as servers in Java do.
        for family, address in ((socket.AF_INET, f"127.{network}.250.1"), (socket.AF_INET6, f"::ffff:127.{network}.250.1")):
            with socket.create_server((address, 0), family=family, dualstack_ipv6=family == socket.AF_INET6):
                self.assertIsNone(reservations.loopback(network))
        with reservations.loopback(network):
            pass


class SubjectsTest(unittest.TestCase):
    """What tests/structure/tidiness.py says about subjects of commits."""

    def setUp(self):
        home = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tree = home / "tree"
        for name in ("tests/structure/tidiness.py", "tests/structure/subjects_since", "tools/wrap"):
            (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(harness.ROOT / name, self.tree / name)
        self.git("init", "--quiet")
        self.since = (self.tree / "tests/structure/subjects_since").read_text().strip()
        self.commit("What came before is as it is.")

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=e2e", "-c", "user.email=e2e@example.com", *arguments], cwd=self.tree, check=True, capture_output=True)

    def commit(self, *subjects):
        for subject in subjects:
            self.git("add", "--all")
            self.git("commit", "--quiet", "--allow-empty", "-m", subject)

    def judge(self, tree=None, **environment):
        """What it finds."""
        result = subprocess.run([sys.executable, "tests/structure/tidiness.py"], cwd=tree or self.tree, capture_output=True, text=True,
                                env={**os.environ, **environment})
        self.assertEqual(result.stderr, "")
        self.assertEqual(result.returncode, 0 if result.stdout.startswith("tidiness: ") else 1)
        return [line.split(": ", 1)[1] for line in result.stdout.splitlines() if result.returncode]

    def test_1_only_what_came_after_the_one_that_is_named_is_looked_at(self):
        self.commit("Not yet.")
        self.assertEqual(self.judge(), [])
        self.commit(self.since, "store: open a damaged file for reading", "base, kube: need less", 'Revert "Whatever it was."')
        self.assertEqual(self.judge(), [])
        wrong = ["Open it", "store: opens it", "store: opened it", "store: opening it", "store: a file", "store: open it.", "store:open it", "store: open",
                 "store: " + "x" * 66]
        self.commit(*wrong)
        found = self.judge()
        self.assertEqual([line.split(": a subject is ")[0].split(": 73 characters")[0] for line in reversed(found)], wrong)

    def test_2_a_shallow_clone_has_only_what_came_after(self):
        self.commit(self.since, "store: open it again", "opens")
        clone = self.tree.parent / "clone"
        self.git("clone", "--quiet", "--depth", "1", self.tree.as_uri(), str(clone))
        self.assertEqual(len(self.judge(clone)), 1)

    def test_3_without_git_the_rest_is_looked_at(self):
        self.commit(self.since, "opens")
        shutil.rmtree(self.tree / ".git")
        self.assertEqual(self.judge(GIT_CEILING_DIRECTORIES=str(self.tree.parent)), [])
        (self.tree / "src").mkdir()
        (self.tree / "src/a.h").write_text("\n")
        self.assertEqual(self.judge(PATH="/nowhere"), ["#pragma once is missing"])


FAILING = """
import unittest
import harness


class OneTest(unittest.TestCase):
    def test_1_nothing_is_wrong(self):
        pass

    def test_2_it_fails(self):
        with harness.temporary_home() as home:
            server = harness.Program(home / "server", "apiserver", "--store", "memory", "--port", "0", "--data-dir", str(home / "server"))
            server.wait_for_output("serving", 60)
            with server.log.open("a") as log:
                log.write("".join(f"line {number}\\n" for number in range(60)) + "GET /login?token=0123456789abcdef\\n")
            try:
                self.fail("as it should; Authorization: Bearer 0123456789abcdef")
            finally:
                server.stop()


class OtherTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        harness.Program(cls.home, "apiserver", "--store", "floppy:A").wait_for_output("serving", 60)

    def test_3_never_comes(self):
        pass


if __name__ == "__main__":
    harness.MAIN()
"""


class FailureScreenTest(unittest.TestCase):
    def run_suite(self, main):
        home = self.enterContext(harness.temporary_home())
        path = home / "failing_test.py"
        path.write_text(FAILING.replace("MAIN", main))
        environment = {**os.environ, "PYTHONPATH": str(HERE)}
        environment.pop(failure_screen.FILE, None)
        result = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=300, env=environment)
        self.assertEqual(result.returncode, 1, result.stdout + result.stderr)
        self.assertNotIn("0123456789abcdef", result.stdout + result.stderr)
        return path, result.stdout[result.stdout.index("===== failed: "):]

    def check(self, path, screen):
        parts = re.split(r"^===== failed: (\S+)\n", screen, flags=re.M)[1:]
        failed = dict(zip(parts[::2], parts[1::2], strict=True))
        self.assertEqual(set(failed), {"OneTest.test_2_it_fails", "OtherTest"})
        told = failed["OneTest.test_2_it_fails"]
        self.assertTrue(told.startswith("AssertionError: as it should; Authorization: Bearer <redacted>\n"), told)
        self.assertRegex(told, r'failing_test.py:\d+: self.fail\("as it should')
        [(process, lines)] = re.findall(r"^----- the last lines of (.*)\n((?:(?!-----).*\n)*)", told, re.M)
        self.assertEqual(process, "evenkeel apiserver in server")
        self.assertIn("line 59\nGET /login?token=<redacted>\n", lines)
        self.assertEqual(len(lines.splitlines()), 30, lines)
        self.assertRegex(told, rf"python3 {path} OneTest\.test_2_it_fails\n")
        self.assertIn("floppy:A", failed["OtherTest"].partition("----- the last lines of evenkeel apiserver")[2])
        self.assertRegex(failed["OtherTest"], rf"python3 {path} OtherTest\n$")

    def test_it_is_the_last_thing_that_is_printed(self):
        self.check(*self.run_suite("main"))

    def test_also_by_classes_that_run_in_parallel(self):
        self.check(*self.run_suite("main_in_parallel"))

    def test_secrets_are_left_out(self):
        for text in ("Authorization: bearer abc", '{"token": "abc"}', "  token: abc", "?token=abc&x", '"bearerToken":"abc"', "client-key-data: abc",
                     "password=abc"):
            self.assertNotIn("abc", failure_screen.redacted(text), text)
        for text in ("the bearer token is missing", "--token-auth-file /x/tokens.csv"):
            self.assertEqual(failure_screen.redacted(text), text)


class UnitScreenTest(unittest.TestCase):
    """What tests/unit_screen.py tells of a test program."""
    PROGRAM = harness.ROOT / "build/release/tests/evenkeel_failing_suite"

    def run_suite(self, tests, code, seconds=60):
        """What it prints."""
        if not self.PROGRAM.exists():
            self.skipTest(f"{self.PROGRAM} is missing")
        result = subprocess.run([harness.ROOT / "tests/unit_screen.py", str(seconds), self.PROGRAM, f"--gtest_filter={tests}"],
                                capture_output=True, text=True, timeout=300, env={**os.environ, "RC_PARAMS": "seed=1"})
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def of_test(self, text, name):
        """The part of the screen that is about it, without what to repeat, which is as it should be."""
        part, _, rest = text.partition(f"===== failed: {name}\n")[2].partition("----- to repeat it\n")
        self.assertTrue(part, text)
        self.assertEqual(rest.splitlines()[0], f"RC_PARAMS=seed=1 build/release/tests/evenkeel_failing_suite --gtest_filter={name}")
        return part

    def test_what_passes_is_told_in_a_line(self):
        text = self.run_suite("*Passes:*Skips", 0)
        self.assertNotIn("expected", text)
        self.assertIn("no such thing here", text)
        self.assertIn("[  PASSED  ] 1 test.", text)

    def test_what_failed_says_first_what_it_expected(self):
        text = self.run_suite("-*Dies:*Hangs", 1)
        self.assertNotIn("expected", text)
        self.assertNotIn("0123456789abcdef", text)
        told = self.of_test(text, "FailingSuite.ExpectsSomethingElse")
        self.assertRegex(told, r"\Atests/e2e/failing_suite.cc:\d+\nExpected equality of these values:\n  6 \* 9\n    Which is: 54\n  42\nthe second try\n----- its last")
        self.assertNotIn("before it failed 5\n", told)
        self.assertIn("before it failed 59\n", told)
        self.assertIn("GetParam() % 2", self.of_test(text, "Numbers/FailingParameters.AreOdd/1"))
        self.assertNotIn("AreOdd/0", text)

    def test_of_a_program_that_died_in_which_test(self):
        text = self.run_suite("*Passes:*Dies", 1)
        told = self.of_test(text, "FailingSuite.Dies")
        self.assertTrue(told.startswith("the program ended with -6, in this test\n"), told)
        self.assertIn("before it died 59\n", told)
        self.assertNotIn("expected", text)

    def test_of_one_that_hangs_in_which_test(self):
        told = self.of_test(self.run_suite("*Passes:*Hangs", 1, seconds=10), "FailingSuite.Hangs")
        self.assertTrue(told.startswith("not done within 10 s, in this test\n"), told)
        self.assertIn("before it hung 59\n", told)


if __name__ == "__main__":
    harness.main_in_parallel()
