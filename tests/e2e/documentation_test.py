"""Every command in the documentation is run: shell blocks against an embedded fleet, those marked `stopped` once it has ended, make and
tools lines as dry runs (CI runs them). What a block prints is compared with the sample behind it, where there is one (samples.py); `--renew` behind the
name of this file writes samples anew. Those marked `parsed` need what is not here, a cloud or a registry, or do not end: each is parsed by the
program that it calls, and the files that it names are there."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time
import unittest

import yaml

import deploy_files
import harness
import samples

# The tutorial begins with a fleet of which nobody has asked anything but why.
FIRST = [harness.ROOT / "README.md", harness.ROOT / "docs/TUTORIAL.md", harness.ROOT / "CONTRIBUTING.md"]
PAGES = [*FIRST, *(page for page in [*sorted((harness.ROOT / "docs").rglob("*.md")), *sorted((harness.ROOT / "examples").rglob("*.md"))]
                   if page not in FIRST), harness.ROOT / "deploy/helm/evenkeel/README.md"]
RENEW = "--renew" in sys.argv
FENCES = {"```", "```sh", "```sh stopped", "```sh parsed", "```text", "```yaml"}
# Literals of C++ on one line: what is in them, and any.
TEXT = r'(?:"((?:[^"\\]|\\.)*)"|R"j\((.*?)\)j")'
ANY_TEXT = r'(?:"[^\n]*?"|R"j\([^\n]*?\)j")'
# What only asks, and may be asked again. A reader asks later than a test does: controllers have come further by then.
QUESTION = re.compile(r"build/release/evenkeel (plan|explain|get)\b")
ASKED_AGAIN_SECONDS = 15
COMMAND = re.compile(r"\s*(\w+=\S+ +)*(build/release/)?(evenkeel|kubectl|helm|docker|make|cmake|curl|systemctl|bench/run|tools/\w+) ")


def blocks(page, *fences):
    """(fence, its line number, lines) of each block that begins with one of the fences."""
    inside, lines, begin = None, [], 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if inside in fences:
                yield inside, begin, lines
            inside, lines, begin = line if inside is None else None, [], number
        elif inside:
            lines.append(line)


def commands_of(begin, lines):
    return [(number, re.sub(r"\s+# .*$", "", line)) for number, line in enumerate(lines, begin + 1) if line.strip() and not line.startswith("#")]


def commands(page, fence="```sh"):
    """(line number, command) of each line in the page's blocks that begin with `fence`."""
    return [command for _, begin, lines in blocks(page, fence) for command in commands_of(begin, lines)]


def place(page, number):
    return f"{page.relative_to(harness.ROOT)}:{number}"


def links(page):
    """Files that a page leads to, or shows."""
    text = page.read_text()
    return re.findall(r"\]\((?!https?://)([^)#]+)", text) + re.findall(r'(?:src|srcset)="(?!https?://)([^"]+)"', text)


def anchors(page):
    """What a link may name of the page's headings."""
    return [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"(?m)^#+ (.*)$", page.read_text())]


def load_tool(name):
    """A program of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(harness.ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def is_simulation(command):
    """It asks nothing of a fleet."""
    return command.startswith("build/release/evenkeel simulate ")


def what_runs(simulation):
    """The command without where its outputs go."""
    return re.sub(r" (--report|--timeline) \S+", "", simulation)


class Commands:
    def run_in_shell(self, where, command, environment=None):
        result = subprocess.run(["bash", "-c", command.replace("build/release/evenkeel", harness.EVENKEEL)], cwd=harness.ROOT, env=environment,
                                capture_output=True, text=True, timeout=400)
        self.assertEqual(result.returncode, 0, f"{where}\n{result.stdout}{result.stderr}")
        return result.stdout

    def compare_sample(self, page, begin, lines, output):
        """The block `text` at line `begin` with what the block before it has printed."""
        sample = "\n".join(lines)
        if RENEW and samples.difference(sample, output):
            text = page.read_text()
            page.write_text(text.replace(f"```text\n{sample}\n```", f"```text\n{samples.renewed(sample, output)}\n```", 1))
            return
        with self.subTest(place(page, begin)):
            different = samples.difference(sample, output)
            self.assertFalse(different, f"{place(page, begin)}: {different}")


class FleetTest(Commands, unittest.TestCase):
    def test_every_command_works(self):
        with harness.temporary_home() as home:
            bin_directory = home / "bin"
            bin_directory.mkdir()
            (bin_directory / "kubectl").symlink_to(harness.any_kubectl())
            self.environment = {**os.environ, "EVENKEEL_HOME": str(home), "KUBECONFIG": str(home / "kubeconfig"),
                                "HOME": str(home / "kubectl-home"), "PATH": f"{bin_directory}:{os.environ['PATH']}"}
            with harness.fleet(home) as program:
                harness.eventually(self.each_replica_owns_a_member, 180)
                self.assertGreater(self.run_pages("```sh", program), 10)
            self.assertGreater(self.run_pages("```sh stopped"), 0)
            # What such commands do to a fleet's files must leave it able to start.
            with harness.fleet(home) as program:
                program.wait_for_output("every member has one owner", 180)

    def each_replica_owns_a_member(self):
        return len(set(re.findall(r'"owner": ?"([^"]+)"', self.run_in_shell("owners", "build/release/evenkeel get shards -o json", self.environment)))) == 3

    def run_pages(self, fence, program=None):
        ran = 0
        for page in PAGES:
            asked, printed = [], []
            for kind, begin, lines in list(blocks(page, *FENCES)):
                if kind == fence:
                    asked = [command for _, command in commands_of(begin, lines)]
                    printed = [self.run_command(f"{place(page, number)}: {command}", command, program) for number, command in commands_of(begin, lines)]
                    ran += len(printed) - printed.count(None)
                    continue
                # Those behind simulations are compared elsewhere.
                if kind == "```text" and printed and None not in printed:
                    self.compare_sample(page, begin, lines, self.answer_like("\n".join(lines), asked, "".join(printed)))
                printed = []
        return ran

    def answer_like(self, sample, asked, answer):
        """The answer as pages show it. Where it is not yet like the sample, commands that only ask are run again for a while."""
        may_ask = not RENEW and all(map(QUESTION.match, asked))
        deadline = time.monotonic() + ASKED_AGAIN_SECONDS
        while True:
            answer = answer.replace(self.environment["EVENKEEL_HOME"], "/home/you/.evenkeel")
            if not may_ask or time.monotonic() > deadline or not samples.difference(sample, answer):
                return answer
            time.sleep(0.5)
            answer = "".join(self.run_in_shell(command, command, self.environment) for command in asked)

    def run_command(self, where, command, program):
        """What it prints; None where that is no answer of the fleet's."""
        if re.match(r"(\w+=\S+ )*make\b", command):
            self.run_in_shell(where, re.sub(r"\bmake\b", "make -n", command, count=1), self.environment)
            return program.output() if command.startswith("make run") else None
        if command.startswith("tools/build"):
            self.check_build(where, command)
            return None
        if command.startswith("build/release/evenkeel up"):
            self.assertIn("Evenkeel is up", program.output())
            return program.output()
        return None if is_simulation(command) else self.run_in_shell(where, command, self.environment)

    def check_build(self, where, command):
        """tools/build PRESET TARGET: both exist."""
        words = shlex.split(command.split("&&")[0])
        self.assertIn(f'"name": "{words[1]}"', (harness.ROOT / "CMakePresets.json").read_text(), where)
        module = re.match(r"evenkeel_(\w+?)_(test|bench|\w+_fuzz)$", words[2])
        self.assertTrue(module and any(f"evenkeel_module({module.group(1)}" in file.read_text()
                                       for file in harness.ROOT.glob("src/**/CMakeLists.txt")), where)


class SimulationsTest(Commands, unittest.TestCase):
    def test_every_simulation_works(self):
        found = {command: f"{page.relative_to(harness.ROOT)}:{number}: {command}" for page in PAGES for number, command in commands(page)
                 if is_simulation(command)}
        self.assertGreater(len(found), 5)
        printed = {}
        for command, where in found.items():
            # Of the same one, on several pages, that with most outputs is run.
            if not any(what_runs(command) == what_runs(other) and set(command.split()) < set(other.split()) for other in found):
                printed[what_runs(command)] = self.run_in_shell(where, command)
        compared = 0
        for page in PAGES:
            output = ""
            for kind, begin, lines in list(blocks(page, *FENCES)):
                if kind == "```text" and output:
                    self.compare_sample(page, begin, lines, output)
                    compared += 1
                asked = [command for _, command in commands_of(begin, lines)] if kind == "```sh" else []
                output = "".join(printed[what_runs(command)] for command in asked) if asked and all(map(is_simulation, asked)) else ""
        self.assertGreater(compared, 3)


class PagesTest(unittest.TestCase):
    def test_what_cannot_be_run_here_is_parsed(self):
        parsed = 0
        for page in PAGES:
            for number, line in commands(page, "```sh parsed"):
                with self.subTest(f"{page.relative_to(harness.ROOT)}:{number}: {line}"):
                    for command in line.split(" && "):
                        # A shell reads what its completion prints.
                        self.parse(shlex.split(re.sub(r"^source <\((.*)\)$|^(.*) \| source$", r"\1\2", command)))
                        parsed += 1
        self.assertGreater(parsed, 20)

    def parse(self, words):
        while re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        program, *rest = words
        {"evenkeel": self.parse_ours, "kubectl": self.parse_kubectl, "helm": self.parse_helm, "docker": self.parse_docker,
         "bench/run": self.parse_bench, "ln": self.parse_release, "tar": self.parse_release,
         "skopeo": self.parse_release}[program.removeprefix("build/release/")](rest)

    def ask(self, program, *words):
        result = subprocess.run([program, *words], cwd=harness.ROOT, capture_output=True, text=True, timeout=180)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def parse_ours(self, words):
        for name in words:
            if name.endswith((".yaml", ".xml", ".txt")) and not name.startswith("/"):
                self.assertTrue((harness.ROOT / name).exists(), name)
        if words[0] == "run":
            self.ask(harness.EVENKEEL, *words, "--print-definitions", "hub")
            return
        # Values are looked at before help is given, names of flags are not.
        known = self.ask(harness.EVENKEEL, *words, "--help-all")
        self.assertIn(f"Usage: evenkeel {words[0]} ", known)
        for word in words:
            if " " in word:
                # Flags for the replicas.
                self.parse_ours(["run", *shlex.split(word)])
            elif word.startswith("-"):
                self.assertRegex(known, rf"(?m)(^|[\s,]){word.partition('=')[0]}\b")

    def parse_kubectl(self, words):
        if "apply" not in words:
            # Names of flags are looked at before help is given.
            self.ask(harness.any_kubectl(), *words, "--help")
            return
        what, path = words[-2:]
        self.assertEqual(words[:-2], ["--context", words[1], "apply"])
        self.assertTrue(deploy_files.built(harness.ROOT / path) if what == "-k" else deploy_files.documents((harness.ROOT / path).read_text()))

    def parse_helm(self, words):
        self.assertEqual(words[0], "--kube-context")
        self.assertEqual(words[2:7], ["install", "evenkeel", "deploy/helm/evenkeel", "--namespace", "evenkeel"])
        values = {}
        for flag, value in zip(words[8::2], words[9::2], strict=True):
            if flag == "--values":
                values |= yaml.safe_load((harness.ROOT / value).read_text())
                continue
            self.assertEqual(flag, "--set")
            for change in value.split(","):
                name, text = change.split("=")
                *groups, last = name.split(".")
                inner = values
                for group in groups:
                    inner = inner.setdefault(group, {})
                inner[last] = yaml.safe_load(text)
        self.assertTrue(deploy_files.chart(["policy/v1"], **values)[0])

    def parse_docker(self, words):
        """What is pushed is what was built."""
        if words[0] == "build":
            self.assertEqual((words[1], words[3:]), ("-t", ["."]))
            self.assertTrue((harness.ROOT / "Dockerfile").exists())
            self.image = words[2]
        else:
            self.assertEqual(words, ["push", self.image])

    def parse_release(self, words):
        """What is unpacked or copied is what tools/release writes; release_test.py does both."""
        [name] = {found for word in words for found in re.findall(r"/(evenkeel-\S+?)(?=\.tar\.gz|\.oci\.tar|/bin/)", word)}
        self.assertEqual(name, f"evenkeel-{self.ask(harness.EVENKEEL, '--version').split()[1]}-linux-amd64")

    def parse_bench(self, words):
        self.ask(harness.ROOT / "bench/run", *words, "--help")

    def test_every_sample_is_behind_the_commands_that_print_it(self):
        for page in PAGES:
            before = None
            for kind, begin, lines in blocks(page, *FENCES):
                if kind == "```text":
                    self.assertEqual(before, "```sh", f"{place(page, begin)}: a block that is no sample of output begins with ```")
                before = kind

    def test_prose_is_wrapped_and_nothing_else(self):
        wrap = load_tool("wrap")
        words = "a word " * 30
        kept = f"| {words} |\n\n```sh\n{words}\n```\n\n[page]({'x' * 130}.md)\n"
        long = f"{kept}\n- {words}`of code` and\n  more\n*Label*: {words}\n"
        self.assertEqual(wrap.long_lines(kept), [])
        self.assertEqual([number for number, _ in wrap.long_lines(long)], [9, 11])
        wrapped = wrap.wrapped(long)
        self.assertEqual(wrap.long_lines(wrapped), [])
        self.assertTrue(wrapped.startswith(kept))
        self.assertEqual(wrapped.split(), long.split())
        self.assertRegex(wrapped.removeprefix(kept), r"\A\n- a .+\n  \S.+ `of code` and more\n\*Label\*: .+\n\S.+\n\Z")
        self.assertEqual(wrap.wrapped(wrapped), wrapped)

    def test_samples_are_told_from_other_outputs(self):
        table = "NAME   AGE   STATE\na      5s    up\nbb     7s    down\n"
        self.assertFalse(samples.difference(table, "NAME    AGE    STATE\na       61s    up\nbb      1m7s   down\n\n"))
        self.assertFalse(samples.difference("NAME   AGE   STATE\n...\nbb     7s    down", table))
        self.assertFalse(samples.difference("pod web-86b5f5ff8f-68sl5 waits\n...", "pod web-5c9d8f7b6d-x2x4z waits\nfor long\n"))
        self.assertFalse(samples.difference(table, "NAME   AGE   STATE\nbb     7s    down\na      5s    up"))
        ids = ("841fa58c-24af-46b4-817d-1ad24ddac4e9", "81a10522-d047-43a8-8f3b-bf00eb066c57", "00000000-1111-2222-333d-44444444444h")
        self.assertFalse(samples.difference(f"id {ids[0]}", f"id {ids[1]}"))
        self.assertTrue(samples.difference(f"id {ids[0]}", f"id {ids[2]}"))
        for other in (table.replace("down", "up"), table.replace("a  ", "c  "), table + "c      7s    up\n", table.replace("STATE", "PHASE"), ""):
            self.assertTrue(samples.difference(table, other), other)
        self.assertTrue(samples.difference("a\n...\nc", "a\nb\nc\nd"))
        self.assertTrue(samples.difference("...\nb", "a\nb\nc"))
        self.assertTrue(samples.difference("a\n...\nb\nc\n...", "a\nb\nd\nc\n"))
        self.assertEqual(samples.renewed("...\ncount   5\n...", "sum     1\ncount   6\nend     2\n"), "...\ncount   6\n...")

    def test_every_command_is_in_a_block_that_is_tried(self):
        for page in PAGES:
            fence = None
            for number, line in enumerate(page.read_text().splitlines(), 1):
                where = f"{page.relative_to(harness.ROOT)}:{number}: {line}"
                if line.startswith("```"):
                    fence = line if fence is None else None
                    self.assertIn(fence, {*FENCES, None}, where)
                elif fence and not fence.startswith("```sh"):
                    self.assertIsNone(COMMAND.match(line), where)

    def test_the_rules_of_definitions_are_those_that_are_tested(self):
        self.compare_rules("definitions/definition_rules_test.cc", rf'^    {{"(\w+)", {TEXT}, Part::\w+,\n     {ANY_TEXT},\n     {TEXT}, {TEXT}}},$',
                           "docs/CRD_RULES.md", ("rule", "status", "field", "cause", "test"), ("test", "rule", "field", "cause"))

    def test_the_rules_of_objects_are_those_that_are_tested(self):
        self.compare_rules("api/object_rules_test.cc", rf'^    {{"(\w+)", {TEXT}, {TEXT},\n     {ANY_TEXT}, {ANY_TEXT},\n     {TEXT}, {TEXT}}},$',
                           "docs/OBJECT_RULES.md", ("kind", "rule", "status", "field", "cause", "test"), ("test", "rule", "kind", "field", "cause"))

    def compare_rules(self, source, pattern, page, columns, tested_columns):
        """A table of rules and the list of them in a unit test's source, in which `pattern` finds `tested_columns`."""
        source = (harness.ROOT / "src/embedded/apiserver" / source).read_text()
        tested = []
        for test, *texts in re.findall(pattern, source, re.M):
            texts = [plain or raw for plain, raw in zip(texts[::2], texts[1::2])]
            tested.append(dict(zip(tested_columns, (test, *texts))))
        rows = []
        for line in (harness.ROOT / page).read_text().splitlines():
            if line.startswith("| ") and " | 422 | " in line:
                rows.append(dict(zip(columns, (cell.strip().strip("`").strip() for cell in line.strip("|").split(" | ")))))
        self.assertGreater(len(tested), 100)
        self.assertEqual(len(tested), len(re.findall(r'^    {"', source, re.M)))
        for rule in tested + rows:
            rule["cause"] = rule["cause"].strip("`")
            if rule.get("kind") == "container":
                rule["kind"] = "pods"
        self.assertEqual([{column: row[column] for column in tested_columns} for row in rows], tested)

    def test_links_between_pages_lead_somewhere(self):
        for page in PAGES:
            for target in links(page):
                self.assertTrue((page.parent / target).exists(), f"{page.relative_to(harness.ROOT)}: {target}")
            for target, heading in re.findall(r"\]\((?!https?://)([^)#]*\.md|)#([^)]+)\)", page.read_text()):
                self.assertIn(heading, anchors(page.parent / target if target else page), f"{page.relative_to(harness.ROOT)}: {target}#{heading}")


if __name__ == "__main__":
    if RENEW:
        sys.argv.remove("--renew")
        sys.argv += ["FleetTest", "SimulationsTest"]
    harness.main_in_parallel()
