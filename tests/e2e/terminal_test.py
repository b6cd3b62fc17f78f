"""The command line as people have it at hand: completion in real shells, the plugin of kubectl, the man page, the reference, get --watch
and top."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest

import harness
from process_fleet import ApiServer

PLUGIN = harness.ROOT / "deploy/kubectl"
REFERENCE = harness.ROOT / "docs/reference"
# How long to wait for what has to come.
LONG = 180


def run(*command, env=None, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=LONG, env={**os.environ, **(env or {})}, **options)
    assert result.returncode == 0, f"{command}: exit {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def documented_json():
    """{command: {path: (type, whether it is always there)}} of docs/reference/json.md."""
    sections = {}
    for line in (REFERENCE / "json.md").read_text().splitlines():
        if line.startswith("## "):
            section = sections.setdefault(line.removeprefix("## "), {})
        elif row := re.match(r"\| `([^`]+)` \| (\w+) \|(.*)\|$", line):
            section[row[1]] = (row[2], "(not always there)" not in row[3])
    return sections


def cluster_secret(name, server):
    return json.dumps({"apiVersion": "v1", "kind": "Secret", "stringData": {"name": name, "server": server, "config": "{}"},
                       "metadata": {"name": name, "namespace": "evenkeel", "labels": {"argocd.argoproj.io/secret-type": "cluster"}}})


def check_json(value, documented, path=""):
    """Every key of the answer is documented, with its type, and what is always there is there."""
    if documented.get(path, ("",))[0] == "object":
        return
    if isinstance(value, dict):
        start = path + "." if path else ""
        below = {name.removeprefix(start): kind for name, kind in documented.items() if name.startswith(start)}
        assert below, f"{path or 'the answer'} is not documented: {value}"
        for key in {re.split(r"[.\[]", name)[0] for name, (_, always) in below.items() if always} - {"*"}:
            assert key in value, f"{start}{key} is missing: {value}"
        for key, item in value.items():
            check_json(item, documented, start + ("*" if any(re.match(r"\*(\.|\[|$)", name) for name in below) else key))
    elif isinstance(value, list):
        assert value or any(name.startswith(path + "[]") for name in documented), f"{path} is not documented"
        for item in value:
            check_json(item, documented, path + "[]")
    elif value is None:
        assert any(name == path or name.startswith(path + ".") for name in documented), f"{path} is not documented"
    else:
        kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool}
        assert path in documented, f"{path} is not documented: {value}"
        assert isinstance(value, kinds[documented[path][0]]), f"{path} is no {documented[path][0]}: {value}"


class Screen:
    """A program in a pseudo-terminal: what it has written so far."""

    def __init__(self, *command, env=None, size=(24, 100)):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.execvpe(command[0], list(map(str, command)), {**os.environ, "TERM": "xterm", **(env or {})})
            finally:
                os._exit(127)
        self.resize(*size)
        self.text = ""

    def resize(self, lines, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def write(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds=0.1):
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 1 << 16)
            except OSError:
                break
            if not data:
                break
            self.text += data.decode(errors="replace")
            seconds = 0
        return self.text

    def await_text(self, pattern):
        """The match in what has been written since the last call."""
        found = harness.eventually(lambda: re.search(pattern, self.read(), re.S), LONG, lambda: f"{pattern!r} on the screen: {self.text[-3000:]!r}")
        self.text = self.text[found.end():]
        return found

    def frame(self):
        """Lines of the last whole screen."""
        frames = self.read().split("\x1b[H")[1:]
        return re.split(r"\r*\n", re.sub(r"\x1b\[[0-9?]*[A-Za-z]", "", frames[-1]))

    def status(self):
        def check():
            self.read(0)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return (status,) if pid else None
        status, = harness.eventually(check, LONG, "the end of the program")
        # Its last words may have come after those that were read.
        self.read(0)
        return os.waitstatus_to_exitcode(status)

    def close(self):
        with contextlib.suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


class ShellTest(unittest.TestCase):
    """Completion, in the shells that are installed."""

    def setUp(self):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="evenkeel-shell-"))
        self.addCleanup(shutil.rmtree, self.directory)
        (self.directory / "bin").mkdir()
        (self.directory / "bin/evenkeel").symlink_to(harness.EVENKEEL)
        self.environment = {"PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}", "HOME": str(self.directory)}
        (self.directory / "scenario.yaml").write_text("{}")
        (self.directory / "folder").mkdir()
        (self.directory / "kubeconfig").write_text(json.dumps(
            {"apiVersion": "v1", "kind": "Config", "clusters": [], "users": [],
             "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("hub", "member:1")]}))

    def bash(self, *words):
        """What bash would offer for the last word, which Bash's own word breaks have divided."""
        script = 'source <(evenkeel completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _evenkeel; printf "%s\\n" "${COMPREPLY[@]}"'
        return run("bash", "--norc", "-c", script, "bash", "evenkeel", *words, env=self.environment, cwd=self.directory).split()

    def test_bash(self):
        self.assertIn("shards", self.bash("get", ""))
        self.assertEqual(self.bash("get", "sh"), ["shards"])
        self.assertEqual(self.bash("get", "shards", "--wat"), ["--watch"])
        self.assertEqual(self.bash("get", "shards", "-o", "js"), ["json", "jsonpath="])
        self.assertEqual(self.bash("plan", "shards", "--output", "=", "js"), ["json"])
        self.assertEqual(self.bash("plan", "shards", "--output", "="), ["table", "json", "yaml"])
        self.assertEqual(self.bash("get", "shards", "--output", "=", "cu"), ["custom-columns="])
        # Nobody answers where this kubeconfig leads to, and nothing is said about it.
        self.assertEqual(self.bash("explain", "cluster", "--kubeconfig", "kubeconfig", "--context", "hub", ""), [])
        self.assertEqual(self.bash("simulate", "sce"), ["scenario.yaml"])
        self.assertEqual(sorted(self.bash("apiserver", "--data-dir", "")), ["bin", "folder"])
        self.assertEqual(self.bash("get", "shards", "--kubeconfig", "kubeconfig", "--context", ""), ["hub", "member:1"])
        self.assertEqual(self.bash("get", "shards", "--kubeconfig", "kubeconfig", "--context", "member", ":"), ["1"])
        self.assertEqual(self.bash("nonsense", "--what", "x"), [])
        self.assertIn("complete -F _evenkeel evenkeel", run("bash", "-c", "source <(evenkeel completion bash); complete -p evenkeel", env=self.environment))

    def test_bash_when_tab_is_pressed(self):
        (self.directory / ".inputrc").write_text("set enable-bracketed-paste off\n")
        with contextlib.closing(Screen("bash", "--norc", "-i", env={**self.environment, "PS1": "ready> "})) as screen:
            screen.await_text("ready> ")
            screen.write("source <(evenkeel completion bash)\n")
            screen.await_text("ready> ")
            screen.write("evenkeel explain cl\t")
            screen.await_text("explain cluster ")
            screen.write("--output=y\t")
            screen.await_text("--output=yaml ")

    def test_zsh(self):
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed (tools/setup test)")
        (self.directory / ".zshrc").write_text("PS1='ready> '\nautoload -Uz compinit\ncompinit -D -u\nsource <(evenkeel completion zsh)\n")
        with contextlib.closing(Screen("zsh", "-i", env={**self.environment, "ZDOTDIR": str(self.directory)})) as screen:
            screen.await_text("ready> ")
            screen.write(f"cd {self.directory}\n")
            screen.await_text("ready> ")
            screen.write("evenkeel explain cl\t")
            screen.await_text("explain cluster")
            screen.write("--output=y\t")
            screen.await_text("--output=yaml")
            screen.write("\x15evenkeel simulate sce\t")
            screen.await_text("nario.yaml")

    def test_fish(self):
        if shutil.which("fish") is None:
            self.skipTest("fish is not installed (tools/setup test)")

        def fish(line):
            script = f"evenkeel completion fish | source; complete -C '{line}'"
            return [offer.split("\t")[0] for offer in run("fish", "--no-config", "-c", script, env=self.environment, cwd=self.directory).splitlines()]
        self.assertEqual(fish("evenkeel get sh"), ["shards"])
        self.assertEqual(fish("evenkeel get shards --wat"), ["--watch"])
        self.assertEqual(fish("evenkeel plan shards --output=j"), ["--output=json"])
        self.assertEqual(fish("evenkeel simulate sce"), ["scenario.yaml"])
        self.assertEqual(fish("evenkeel get shards --kubeconfig kubeconfig --context h"), ["hub"])


class PagesTest(unittest.TestCase):
    def test_the_reference_is_what_the_program_prints(self):
        pages = sorted(path.stem for path in REFERENCE.glob("*.md"))
        wanted = [name for name in run(harness.EVENKEEL, "__complete", "docs", "").split() if name not in ("man", ":4")]
        self.assertEqual(pages, sorted(wanted))
        for name in pages:
            path = REFERENCE / f"{name}.md"
            self.assertEqual(path.read_text(), run(harness.EVENKEEL, "docs", name),
                             f"out of date: build/release/evenkeel docs {name} >{path.relative_to(harness.ROOT)}")

    def test_the_man_page_renders_without_a_warning(self):
        with tempfile.NamedTemporaryFile("w", suffix=".1") as page:
            page.write(run(harness.EVENKEEL, "docs", "man"))
            page.flush()
            result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", page.name], capture_output=True, text=True, timeout=LONG,
                                    env={**os.environ, "MANWIDTH": "100", "MANROFFOPT": ""})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        text = re.sub(r".\x08", "", result.stdout)
        for words in ("keep a fleet of Kubernetes clusters", "evenkeel get shards", "--scale-down-unneeded-time", "EXIT STATUS"):
            self.assertIn(words, text)


    def test_answers_to_files_have_the_documented_keys(self):
        documented = documented_json()
        balancing = ["--manifest", "examples/balancing/ClusterManifest.xml", "-f", "examples/balancing/state.yaml"]
        for section, arguments in (("plan rollout", ["-f", "examples/rollout/ensemble.yaml"]), ("get rollouts", ["-f", "examples/rollout/ensemble.yaml"]),
                                   ("plan balance", balancing), ("get loads", balancing), ("explain service", ["orders", *balancing])):
            with self.subTest(section):
                check_json(json.loads(run(harness.EVENKEEL, *section.split(), *arguments, "-o", "json", cwd=harness.ROOT)), documented[section])

    def test_what_is_computed_has_the_documented_keys(self):
        documented = documented_json()
        roadef = ["-p", "examples/roadef/model.txt", "-i", "examples/roadef/assignment.txt"]
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "openb_node_list_all_node.csv").write_text("sn,cpu_milli,memory_mib,gpu,model\nn0,8000,16384,0,\n")
            (pathlib.Path(folder) / "openb_pod_list_default.csv").write_text(
                "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
                "t0,2000,2048,0,0,,LS,Succeeded,0,60,0\n")
            solution = f"{folder}/solution.txt"
            for section, command in (("simulate", ["simulate", "examples/scenarios/crash.yaml", "-o", "json"]),
                                     ("simulate", ["simulate", "examples/scenarios/crash.yaml", "--seeds", "1..2", "-o", "json"]),
                                     ("simulate, of a trace", ["simulate", "examples/traces/openb.yaml", "--trace-dir", folder, "-o", "json"]),
                                     ("solve roadef", ["solve", "roadef", *roadef, "-t", "1", "-o", solution]),
                                     ("solve roadef", ["solve", "roadef", *roadef, "--check", solution])):
                with self.subTest(" ".join(command)):
                    check_json(json.loads(run(harness.EVENKEEL, *command, cwd=harness.ROOT)), documented[section])


class OutputTest(unittest.TestCase):
    def test_what_cannot_be_written_is_no_success(self):
        inputs = harness.ROOT / "tests/golden/contracts/inputs"
        balance = ["--manifest", "manifest.xml", "-f", "balance.yaml", "--now", "1780000000"]
        commands = [["--help"], ["--version"], ["help", "get"], ["version"], ["docs", "flags"], ["docs", "man"], ["completion", "bash"],
                    ["run", "--print-definitions", "hub"], ["get", "rollouts", "-f", "rollout.yaml"], ["get", "rollouts", "-f", "rollout.yaml", "-o", "json"],
                    ["plan", "shards", "-f", "clusters.yaml", "--replicas", "2"], ["plan", "rollout", "-f", "rollout.yaml"],
                    ["plan", "scale", "-f", "scale.yaml"], ["explain", "node", "idle", "-f", "scale.yaml"], ["plan", "balance", *balance],
                    ["get", "loads", *balance], ["explain", "service", "orders", *balance], ["simulate", "scenario.yaml"],
                    ["solve", "roadef", "-p", "roadef-model.txt", "-i", "roadef-assignment.txt", "--check", "roadef-assignment.txt"]]
        for command in commands:
            with self.subTest(command), open("/dev/full", "w") as full:
                result = subprocess.run([harness.EVENKEEL, *command], cwd=inputs, stdout=full, stderr=subprocess.PIPE, text=True, timeout=LONG)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("standard output: not all could be written", result.stderr)
        result = subprocess.run([harness.EVENKEEL, "simulate", "scenario.yaml", "--timeline", "/dev/full"], cwd=inputs, capture_output=True, text=True,
                                timeout=LONG)
        self.assertNotEqual(result.returncode, 0, result.stdout)

    def test_a_reader_that_has_enough_is_told_nothing(self):
        result = subprocess.run(["bash", "-c", '"$1" docs man | head --lines=1', "bash", harness.EVENKEEL], capture_output=True, text=True, timeout=LONG)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.startswith(".TH"))

    def test_typos_are_bad_usage_with_the_nearest_word(self):
        for words, said in (("get shrads", '"shrads": evenkeel get has no such command; did you mean shards?'),
                            ("get shards --wacth", '"--wacth": evenkeel get shards has no such flag; did you mean --watch?'),
                            ("plan shards -o jsn", '--output "jsn" is not known; did you mean json?'),
                            ("help get shrads", "did you mean shards?"), ("up --replicas 0", "give a whole number from 1 to 100"),
                            ("plan shards --replicas 0 -f -", "give a whole number from 1 to"),
                            ("get shards -o jsonpath={.a", "a { without its }")):
            with self.subTest(words):
                result = subprocess.run([harness.EVENKEEL, *words.split()], capture_output=True, text=True, timeout=LONG, input="")
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertIn(said, result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_help_and_version(self):
        self.assertEqual(run(harness.EVENKEEL, "help", "get", "shards"), run(harness.EVENKEEL, "get", "shards", "--help"))
        self.assertIn("--scale-down-unneeded-time", run(harness.EVENKEEL, "run", "--help-all"))
        version = json.loads(run(harness.EVENKEEL, "version", "-o", "json"))
        self.assertEqual(run(harness.EVENKEEL, "--version"), f"evenkeel {version['version']}\n")
        check_json(version, documented_json()["version"])


class LiveTest(unittest.TestCase):
    """On one embedded fleet."""

    @classmethod
    def setUpClass(cls):
        stack = contextlib.ExitStack()
        cls.addClassCleanup(stack.close)
        cls.home = stack.enter_context(harness.temporary_home())
        program = stack.enter_context(harness.fleet(cls.home, "--members", "2", "--nodes", "2", "--replicas", "2"))
        program.wait_for_output("every member has one owner", LONG)
        cls.environment = {"EVENKEEL_HOME": str(cls.home), "KUBECONFIG": str(cls.home / "kubeconfig")}
        cls.kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig", "hub")

    def evenkeel(self, *arguments):
        return run(harness.EVENKEEL, *arguments, env=self.environment)

    @contextlib.contextmanager
    def watching(self, *arguments):
        """A command that goes on; it ends with 0 when it is interrupted."""
        program = harness.Program(self.home / "watch", *arguments, env=self.environment)
        try:
            yield program
        finally:
            self.assertEqual(program.stop(signal.SIGINT), 0, program.output()[-2000:])

    def test_get_shards_watch_sees_a_move(self):
        with self.watching("get", "shards", "--watch") as table, self.watching("get", "shards", "-w", "-o", "json") as documents:
            table.wait_for_output("member-2", LONG)
            documents.wait_for_output('"clusters"', LONG)
            header, *rows = table.output().splitlines()
            self.assertRegex(header, r"^CLUSTER +OWNER +SINCE +WEIGHT")
            # A row comes again when a weight has been measured anew.
            self.assertEqual({row.split()[0] for row in rows}, {"member-1", "member-2"})
            secret = next(item["metadata"]["name"] for item in self.kubectl.json("-n", "evenkeel", "get", "secrets")["items"]
                          if item["metadata"].get("labels", {}).get("argocd.argoproj.io/secret-type") == "cluster")
            self.kubectl("-n", "evenkeel", "annotate", "secret", secret, "evenkeel.dev/weight=777", "--overwrite")
            harness.eventually(lambda: re.search(r"^member-\d .* 777 ", table.output(), re.M), LONG, table.output)
            self.assertEqual(table.output().count("CLUSTER "), 1, "the header comes once")

            def last_document():
                text, decoder, last = documents.output(), json.JSONDecoder(), None
                while text.strip():
                    last, end = decoder.raw_decode(text.lstrip())
                    text = text.lstrip()[end:]
                return last
            harness.eventually(lambda: 777 in [row["weight"] for row in last_document()["clusters"]], LONG, documents.output)
            self.kubectl("-n", "evenkeel", "annotate", "secret", secret, "evenkeel.dev/weight-")

    def test_get_nodegroups_watch_sees_a_group_come_and_go(self):
        group = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "NodeGroup", "metadata": {"name": "extra"},
                 "spec": {"minSize": 0, "maxSize": 4, "targetSize": 0, "template": {"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}}}
        member = self.kubectl.at("member-1")
        with self.watching("get", "nodegroups", "--cluster", "member-1", "-w") as table:
            table.wait_for_output("general", LONG)
            member("apply", "-f", "-", stdin=json.dumps(group))
            harness.eventually(lambda: re.search(r"^member-1 +extra +0 +0 +0 +0 +4 ", table.output(), re.M), LONG, table.output)
            member("delete", "nodegroup", "extra")
            harness.eventually(lambda: re.search(r"^member-1 +extra +<gone>", table.output(), re.M), LONG, table.output)
        groups = json.loads(self.evenkeel("get", "nodegroups", "-o", "json"))["nodeGroups"]
        self.assertEqual({group["cluster"] for group in groups}, {"member-1", "member-2"})

    def test_get_loads_watch_sees_a_deployment_grow(self):
        member = self.kubectl.at("member-2")
        examples = harness.ROOT / "examples/balancing"
        member("apply", "-f", examples / "policy.yaml", "-f", examples / "work.yaml")
        self.addCleanup(member, "delete", "-f", examples / "policy.yaml", "-f", examples / "work.yaml")

        def load_of(metric, text):
            """The last row's."""
            rows = [re.split(r" {3,}", line) for line in text.splitlines() if line.startswith(f"{metric} ")]
            return rows[-1][5] if rows else None
        with self.watching("get", "loads", "--context", "member-2", "-w") as table:
            harness.eventually(lambda: load_of("cpu", table.output()) == "6", LONG, table.output)
            self.assertEqual(load_of("memory", table.output()), "6Gi")
            member("scale", "deployment", "work", "--replicas=3")
            harness.eventually(lambda: load_of("memory", table.output()) == "3Gi", LONG, table.output)
            self.assertEqual(table.output().count("METRIC "), 1, "the header comes once")
        explained = self.evenkeel("explain", "service", "default/work", "--context", "member-2")
        self.assertNotRegex(explained, r"\de\+\d|\d{6}|seconds")
        for node in member.json("get", "nodes")["items"]:
            member("cordon", node["metadata"]["name"])
            self.addCleanup(member, "uncordon", node["metadata"]["name"])
        result = subprocess.run([harness.EVENKEEL, "explain", "service", "default/work", "--context", "member-2"], capture_output=True, text=True,
                                timeout=LONG, env={**os.environ, **self.environment})
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"default/work is not looked at: it has pods on nodes that are left out: member-2-node-\d \(it is cordoned\)")

    def test_get_rollouts_watch_sees_an_ensemble_come_and_go(self):
        placement = {"clusters": [{"name": "nowhere", "replicas": 2}, {"name": "member-1", "replicas": 1}]}
        ensemble = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "MultiClusterZooKeeper", "metadata": {"name": "watched"},
                    "spec": {"placement": placement, "template": {"image": {"repository": "zookeeper", "tag": "3.8.4"}}}}
        for gate in (("crd", "multiclusterzookeepers.evenkeel.dev"), ("validatingwebhookconfigurations", "evenkeel-rollout")):
            harness.eventually(lambda gate=gate: self.kubectl.exists("get", *gate), LONG)
        with self.watching("get", "rollouts", "-w") as table, self.watching("get", "rollouts", "-w", "-o", "json") as documents:
            table.wait_for_output("ENSEMBLE ", LONG)
            documents.wait_for_output('"rollouts": []', LONG)
            self.kubectl("apply", "-f", "-", stdin=json.dumps(ensemble))
            harness.eventually(lambda: re.search(r"^default/watched +Pending +0 +0 +0 +-1 +- +UnknownCluster ", table.output(), re.M), LONG, table.output)
            documents.wait_for_output('"UnknownCluster"', LONG)
            self.kubectl("delete", "multiclusterzookeeper", "watched")
            harness.eventually(lambda: re.search(r"^default/watched +<gone>", table.output(), re.M), LONG, table.output)
            self.assertEqual(table.output().count("ENSEMBLE "), 1, "the header comes once")

    def test_a_watch_tells_of_an_outage_once_and_goes_on_after_it(self):
        server = ApiServer(self.home / "lonely")
        self.addCleanup(lambda: server.kill())
        labels = {"app": "evenkeel"}
        replicas = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "evenkeel-controller"},
                    "spec": {"replicas": 1, "selector": {"matchLabels": labels},
                             "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "run", "image": "evenkeel"}]}}}}
        server.kubectl("create", "namespace", "evenkeel")
        server.kubectl("-n", "evenkeel", "apply", "-f", "-", stdin=json.dumps(replicas))
        arguments = ["--sharding-mode", "compatible", "--kubeconfig", str(server.home / "kubeconfig")]
        with self.watching("get", "shards", "-w", *arguments) as table:
            table.wait_for_output("CLUSTER ", LONG)
            server.kill()
            table.wait_for_output("what is shown is as it was", LONG)
            time.sleep(6)  # It looks again every 5 s.
            self.assertEqual(table.output().count("evenkeel: warning: "), 1, table.output())
            server.start()
            server.kubectl("apply", "-f", "-", stdin=cluster_secret("late", "https://127.0.0.1:1"))
            harness.eventually(lambda: re.search(r"^late ", table.output(), re.M), LONG, table.output)

    def refused(self, *arguments):
        """What the command says in one line, and how it ends."""
        result = subprocess.run([harness.EVENKEEL, *arguments], capture_output=True, text=True, timeout=LONG, env={**os.environ, **self.environment})
        self.assertEqual((result.stdout, result.stderr.count("\n")), ("", 1), result)
        return result.returncode, result.stderr

    def test_questions_about_members_go_through_the_hub(self):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "sought"},
               "spec": {"containers": [{"name": "main", "image": "work", "resources": {"requests": {"cpu": "900"}}}]}}
        second, first = self.kubectl.at("member-2"), self.kubectl.at("member-1")
        second("apply", "-f", "-", stdin=json.dumps(pod))
        self.addCleanup(second, "delete", "pod", "sought")
        # Its scheduler has to look at it, and it is too young at first.
        harness.eventually(lambda: "pending; no node group grows for it" in self.evenkeel("explain", "pod", "sought"), LONG)
        text = self.evenkeel("explain", "pod", "sought")
        self.assertRegex(text, r"^found in member-2\npod default/sought: pending; no node group grows for it: NodeResourcesFit: Insufficient cpu\n")
        self.assertRegex(text, r"\n  2 nodes: NodeResourcesFit: Insufficient cpu \(900 requested, .+ missing\) on member-2-node-\d, no less on ")
        self.assertEqual(json.loads(self.evenkeel("explain", "node", "member-1-node-1", "-o", "json"))["cluster"], "member-1")
        plan = json.loads(self.evenkeel("plan", "scale", "--cluster", "member-2", "-o", "json"))
        self.assertEqual([pod["pod"] for pod in plan["pending"]], ["default/sought"])
        self.assertRegex(self.evenkeel("plan", "scale", "--cluster", "member-1"), r"^cluster Healthy: 2 of 2 nodes ready\n")
        first("apply", "-f", "-", stdin=json.dumps(pod))
        self.addCleanup(first, "delete", "pod", "sought")
        self.assertEqual(self.refused("explain", "pod", "sought"),
                         (2, "evenkeel: pod default/sought is in member-1, member-2: choose one with --cluster\n"))
        self.assertIn("pod default/sought: pending", self.evenkeel("explain", "pod", "sought", "--cluster", "member-1"))

    def test_the_wrong_api_says_which_to_ask(self):
        for question in (["get", "nodegroups"], ["get", "shards"], ["top", "--once"], ["explain", "cluster", "member-1"], ["plan", "shards"]):
            with self.subTest(question):
                code, line = self.refused(*question, "--context", "member-1")
                self.assertEqual(code, 1)
                self.assertRegex(line, r"^evenkeel: https://\S+ is no hub: .*; ask the hub: --context hub\n$")
        for question in (["plan", "scale"], ["plan", "balance"], ["get", "loads"], ["explain", "service", "default/work"]):
            with self.subTest(question):
                code, line = self.refused(*question)
                self.assertEqual(code, 2)
                self.assertRegex(line, r"^evenkeel: https://\S+ is a hub: name the member that is meant with --cluster: member-1, member-2\n$")
        code, line = self.refused("plan", "scale", "--cluster", "member-9")
        self.assertEqual((code, line), (1, "evenkeel: there is no cluster member-9: there are member-1, member-2\n"))
        code, line = self.refused("explain", "pod", "default/nowhere")
        self.assertEqual(code, 1)
        self.assertRegex(line, r"^evenkeel: pod default/nowhere: none of the members of \S+ has it: member-1, member-2\n$")
        self.assertEqual(self.refused("plan", "scale", "--cluster", "member-1", "-f", "-")[0], 2)

    def test_members_that_cannot_be_read_are_named(self):
        self.kubectl("apply", "-f", "-", stdin=cluster_secret("adrift", "https://127.0.0.1:1"))
        try:
            def answer():
                result = subprocess.run([harness.EVENKEEL, "get", "nodegroups", "-o", "json"], capture_output=True, text=True, timeout=LONG,
                                        env={**os.environ, **self.environment})
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual({group["cluster"] for group in json.loads(result.stdout)["nodeGroups"]}, {"member-1", "member-2"})
                self.assertRegex(result.stderr, r"^evenkeel: warning: adrift: .+: what is shown of it may be old or missing\n$")
                return True
            harness.eventually(answer, LONG)
        finally:
            self.kubectl("-n", "evenkeel", "delete", "secret", "adrift")
            harness.eventually(lambda: self.evenkeel("top").startswith("2 clusters"), LONG)

    def test_answers_have_the_documented_keys(self):
        documented = documented_json()
        pending = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "huge"},
                   "spec": {"containers": [{"name": "main", "image": "work", "resources": {"requests": {"cpu": "900"}}}]}}
        self.kubectl.at("member-1")("apply", "-f", "-", stdin=json.dumps(pending))
        self.addCleanup(self.kubectl.at("member-1"), "delete", "pod", "huge")
        for section, arguments in (("plan shards", ["--replicas", "1"]), ("plan scale", ["--context", "member-1"]), ("get shards", []),
                                   ("clusters list", []), ("get nodegroups", []), ("explain cluster", ["member-1"]), ("explain pod", ["default/huge", "--context", "member-1"]),
                                   ("explain node", ["member-1-node-1", "--context", "member-1"])):
            with self.subTest(section):
                check_json(json.loads(self.evenkeel(*section.split(), *arguments, "-o", "json")), documented[section])

    def test_events_are_documented(self):
        text = (REFERENCE / "events.md").read_text()
        reasons = {match[1]: match[2] for match in re.finditer(r"^\| `(\w+)` \| (\w+) ", text, re.M)}
        own = ("evenkeel", "cluster-autoscaler")
        for context in ("hub", "member-1"):
            for event in self.kubectl.at(context).json("get", "events", "-A")["items"]:
                if event["source"].get("component", "").startswith(own):
                    self.assertEqual(reasons.get(event["reason"]), event["type"], event)

    def test_watching_files_is_bad_usage(self):
        for what in ("rollouts", "loads"):
            result = subprocess.run([harness.EVENKEEL, "get", what, "-w", "-f", "-"], capture_output=True, text=True, timeout=LONG, input="")
            self.assertEqual(result.returncode, 2, result.stderr)

    def test_a_watch_that_cannot_begin_says_why(self):
        result = subprocess.run([harness.EVENKEEL, "get", "rollouts", "-w", "--context", "member-1"], capture_output=True, text=True, timeout=LONG,
                                env={**os.environ, **self.environment})
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^evenkeel: .* is no hub: .*; ask the hub: --context hub\n$")

    def test_get_takes_names_and_forms(self):
        self.assertEqual(self.evenkeel("get", "shards", "-o", "name"), "cluster/member-1\ncluster/member-2\n")
        self.assertEqual(self.evenkeel("get", "shards", "cluster/member-2", "-o", "jsonpath={.clusters[*].cluster}"), "member-2\n")
        self.assertEqual(self.evenkeel("get", "nodegroups", "general", "-o", "custom-columns=WHERE:.cluster,MAX:.max").split(),
                         ["WHERE", "MAX", "member-1", "10", "member-2", "10"])
        self.assertIn("SERVER", self.evenkeel("get", "shards", "member-1", "-o", "wide").splitlines()[0])
        self.assertEqual([row["cluster"] for row in json.loads(self.evenkeel("get", "shards", "member-1", "-o", "json"))["clusters"]], ["member-1"])
        result = subprocess.run([harness.EVENKEEL, "get", "shards", "membr-1"], capture_output=True, text=True, timeout=LONG,
                                env={**os.environ, **self.environment})
        self.assertEqual((result.returncode, result.stderr), (1, "evenkeel: there is no cluster membr-1; did you mean member-1?\n"))
        with self.watching("get", "shards", "member-2", "-w", "-o", "name") as names:
            names.wait_for_output("cluster/member-2", LONG)
            self.assertEqual(names.output().splitlines(), ["cluster/member-2"])

    def test_completion_knows_names(self):
        def offered(*words):
            return [line.split("\t")[0] for line in self.evenkeel("__complete", *words).splitlines()]
        self.assertEqual(offered("explain", "cluster", ""), ["member-1", "member-2", ":4"])
        self.assertEqual(offered("get", "shards", "member-1", "member-2"), ["member-2", ":4"])
        self.assertEqual(offered("top", "nodes", "--cluster", "m"), ["member-1", "member-2", ":4"])
        self.assertEqual(offered("explain", "node", "--context", "member-1", "member-1-node-1"), ["member-1-node-1", ":4"])
        self.assertEqual(offered("get", "nodegroups", "member-2/"), ["member-2/general", ":4"])
        self.assertTrue(all(name.startswith("kube-system/") for name in offered("explain", "pod", "--context", "hub", "kube-system/")[:-1]))

    def test_top_once(self):
        def shown():
            text = self.evenkeel("top")
            self.assertRegex(text, r"^2 clusters, \d not healthy; 4 of 4 nodes ready; ")
            self.assertRegex(text, r"member-1 +evenkeel-controller-\S+ +\w+ +2/2 +\d+/\d+ ")
            return True
        harness.eventually(shown, LONG)
        nodes = self.evenkeel("top", "nodes", "--once", "--sort", "cpu")
        self.assertEqual(len(re.findall(r"^member-\d +member-\d-node-\d +evenkeel-controller-\S+ +Ready ", nodes, re.M)), 4, nodes)
        only = self.evenkeel("top", "nodes", "--cluster", "member-2")
        self.assertEqual(set(re.findall(r"^member-\d", only, re.M)), {"member-2"})
        shards = self.evenkeel("top", "shards")
        self.assertEqual(len(re.findall(r"^evenkeel-controller-\S+ +\d +alive", shards, re.M)), 2, shards)
        self.assertEqual(len(re.findall("leads", shards)), 1, shards)
        for arguments in (["top", "--sort", "colour"], ["top", "pods"], ["top", "shards", "--cluster", "member-1"]):
            result = subprocess.run([harness.EVENKEEL, *arguments], capture_output=True, text=True, timeout=LONG, env={**os.environ, **self.environment})
            self.assertEqual(result.returncode, 2, (arguments, result.stderr))
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_top_in_a_terminal(self):
        with contextlib.closing(Screen(harness.EVENKEEL, "top", env=self.environment, size=(12, 90))) as screen:
            screen.await_text(r"\x1b\[\?1049h")

            def drawn():
                frame = screen.frame()
                self.assertTrue(any("member-1" in line for line in frame), frame)
                self.assertEqual((len(frame), {len(line) for line in frame}), (12, {90}), frame)
                self.assertIn("q quit", frame[-1])
                return True
            harness.eventually(drawn, LONG)
            screen.resize(20, 140)
            harness.eventually(lambda: (len(screen.frame()), len(screen.frame()[0])) == (20, 140), LONG)
            screen.write("n")
            harness.eventually(lambda: sum("-node-" in line for line in screen.frame()) == 4, LONG)
            # A change is drawn without a key.
            self.kubectl.at("member-1")("cordon", "member-1-node-1")
            harness.eventually(lambda: any("Cordoned" in line for line in screen.frame()), LONG)
            self.kubectl.at("member-1")("uncordon", "member-1-node-1")
            screen.write(">")
            harness.eventually(lambda: "NODE*" in screen.frame()[2], LONG)
            # Keys that come together, as of one that is held.
            screen.write("c>>\x1b[C\x1b[Cr<")
            harness.eventually(lambda: "NODES (reverse)" in screen.frame()[2], LONG)
            screen.write("s<")
            harness.eventually(lambda: "WEIGHT*" in screen.frame()[2], LONG)
            # A cluster is explained, and left again for its nodes, of which a text keeps one.
            screen.write("cje")
            harness.eventually(lambda: "explain member-2" in screen.frame()[0], LONG)
            screen.write("\x1b")
            harness.eventually(lambda: any(line.startswith("> member-2") for line in screen.frame()), LONG)
            screen.write("\n")
            harness.eventually(lambda: sum("member-2-node-" in line for line in screen.frame()) == 2, LONG)
            screen.write("/node-1\n")
            harness.eventually(lambda: sum("member-2-node-" in line for line in screen.frame()) == 1, LONG)
            screen.write("q")
            self.assertEqual(screen.status(), 0)
            self.assertTrue(screen.text.rstrip().endswith("\x1b[?1049l"), "the screen is as it was")

    def test_top_ends_when_interrupted(self):
        with contextlib.closing(Screen(harness.EVENKEEL, "top", "shards", env=self.environment)) as screen:
            harness.eventually(lambda: any("alive" in line for line in (screen.frame() if "\x1b[H" in screen.read() else [])), LONG)
            screen.write("\x03")
            self.assertEqual(screen.status(), 0)

    def test_kubectl_runs_it_as_a_plugin(self):
        bin_directory = self.home / "plugin"
        bin_directory.mkdir()
        (bin_directory / "evenkeel").symlink_to(harness.EVENKEEL)
        for file in PLUGIN.iterdir():
            (bin_directory / file.name).symlink_to(file)
        # Without a KUBECONFIG it is kubectl's own default.
        (self.home / "user/.kube").mkdir(parents=True)
        shutil.copy(self.home / "kubeconfig", self.home / "user/.kube/config")
        path = f"{bin_directory}:{os.environ['PATH']}"
        environments = ({"PATH": path, **self.environment}, {"PATH": path, "HOME": str(self.home / "user"), "KUBECONFIG": "", "EVENKEEL_HOME": "/nonexistent"})
        for environment in environments:
            text = run(self.kubectl.path, "evenkeel", "get", "shards", "--context", "hub", "-o", "json", env=environment)
            self.assertEqual(len(json.loads(text)["clusters"]), 2)
        self.assertIn("kubectl-evenkeel", run(self.kubectl.path, "plugin", "list", env=environments[0]))
        result = subprocess.run([self.kubectl.path, "evenkeel", "get", "weather"], capture_output=True, text=True, env={**os.environ, **environments[0]})
        self.assertEqual(result.returncode, 2, result.stderr)
        version = json.loads(run(self.kubectl.path, "version", "--client", "-o", "json"))["clientVersion"]
        if int(re.search(r"\d+", version["minor"]).group()) >= 26:
            offers = run(self.kubectl.path, "__complete", "evenkeel", "get", "sh", env=environments[0])
            self.assertTrue(offers.startswith("shards"), offers)


if __name__ == "__main__":
    harness.main_in_parallel()
