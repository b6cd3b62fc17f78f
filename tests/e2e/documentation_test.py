"""Every command in the documentation is run: shell blocks against an embedded fleet, those marked `stopped` once it has ended, make and
tools lines as dry runs (CI runs them)."""
import os
import pathlib
import re
import shlex
import subprocess
import unittest

import harness

PAGES = [harness.ROOT / "README.md", harness.ROOT / "CONTRIBUTING.md", *sorted((harness.ROOT / "docs").rglob("*.md"))]


def commands(page, fence="```sh"):
    """(line number, command) of each line in the page's blocks that begin with `fence`."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = line == fence
        elif inside and line.strip() and not line.startswith("#"):
            yield number, re.sub(r"\s+# .*$", "", line)


class DocumentationTest(unittest.TestCase):
    def test_every_command_works(self):
        with harness.temporary_home() as home:
            bin_directory = home / "bin"
            bin_directory.mkdir()
            (bin_directory / "kubectl").symlink_to(harness.any_kubectl())
            self.environment = {**os.environ, "EVENKEEL_HOME": str(home), "KUBECONFIG": str(home / "kubeconfig"),
                                "HOME": str(home / "kubectl-home"), "PATH": f"{bin_directory}:{os.environ['PATH']}"}
            with harness.fleet(home) as program:
                self.assertGreater(self.run_pages("```sh", program), 10)
            self.assertGreater(self.run_pages("```sh stopped"), 0)
            # What such commands do to a fleet's files must leave it able to start.
            with harness.fleet(home) as program:
                program.wait_for_output("every member has one owner", 60)

    def run_pages(self, fence, program=None):
        ran = 0
        for page in PAGES:
            for number, command in commands(page, fence):
                where = f"{page.relative_to(harness.ROOT)}:{number}: {command}"
                if re.match(r"(\w+=\S+ )*make\b", command):
                    command = re.sub(r"\bmake\b", "make -n", command, count=1)
                elif command.startswith("tools/build"):
                    self.check_build(where, command)
                    continue
                elif command.startswith("build/release/evenkeel up"):
                    self.assertIn("Evenkeel is up", program.output())
                    continue
                command = command.replace("build/release/evenkeel", harness.EVENKEEL)
                result = subprocess.run(["bash", "-c", command], cwd=harness.ROOT, env=self.environment, capture_output=True, text=True,
                                        timeout=120)
                self.assertEqual(result.returncode, 0, f"{where}\n{result.stdout}{result.stderr}")
                ran += 1
        return ran

    def check_build(self, where, command):
        """tools/build PRESET TARGET: both exist."""
        words = shlex.split(command.split("&&")[0])
        self.assertIn(f'"name": "{words[1]}"', (harness.ROOT / "CMakePresets.json").read_text(), where)
        module = re.match(r"evenkeel_(\w+?)_(test|bench|\w+_fuzz)$", words[2])
        self.assertTrue(module and any(f"evenkeel_module({module.group(1)}" in file.read_text()
                                       for file in harness.ROOT.glob("src/**/CMakeLists.txt")), where)

    def test_links_between_pages_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page.name}: {target}")


if __name__ == "__main__":
    harness.main()
