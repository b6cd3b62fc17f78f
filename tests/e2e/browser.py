"""Debian's Chromium, driven through playwright-core by tests/browser/driver.mjs; installed in build/browser on first use."""
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import unittest

import harness

SOURCE = harness.ROOT / "tests/browser"
MODULES = harness.ROOT / "build/browser"
PAGE = harness.ROOT / "build/page"
SCREENSHOTS = harness.ROOT / "build/screenshots"
CHROMIUM = "chromium"


def require():
    """Skips the test where something that it needs is not installed."""
    for program in ("node", "npm", CHROMIUM):
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"no {program}: tools/setup build test installs it")


def checked(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-6000:]}{done.stderr[-6000:]}")
    return done.stdout


def install():
    """Node modules of the tests, once per package-lock.json, and the page as it is in the tree."""
    MODULES.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()
    stamp = MODULES / "installed"
    if not stamp.exists() or stamp.read_text() != digest:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(SOURCE / name, MODULES)
        checked(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=MODULES)
        stamp.write_text(digest)
    checked([harness.ROOT / "src/dashboard/page/build.sh", PAGE])
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)


class Browser:
    def __init__(self):
        # A home of its own: Chromium leaves much in there.
        self.home = MODULES / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(["node", SOURCE / "driver.mjs", str(MODULES), shutil.which(CHROMIUM)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(self.home)})

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()

    def ask(self, command, **options):
        self.process.stdin.write(json.dumps({"command": command, **options}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"{command}: the browser's driver ended with {self.process.wait(10)}")
        answer = json.loads(line)
        if "error" in answer:
            shown = "" if command == "evaluate" else self.shown()
            raise AssertionError(f"{command} {options}: {answer['error']}\nThe page:\n{shown}")
        return answer["result"]

    def shown(self):
        try:
            return self.ask("evaluate", expression="document.body.innerText")[:3000]
        except AssertionError as error:
            return str(error)

    def sees(self, text, selector="body", seconds=10):
        return self.ask("sees", text=text, selector=selector, seconds=seconds)

    def click(self, selector, text=None):
        self.ask("click", selector=selector, text=text)

    def press(self, key, selector=None):
        self.ask("press", key=key, selector=selector)

    def screenshot(self, name, full=True):
        self.ask("screenshot", path=str(SCREENSHOTS / f"{name}.png"), full=full)


class PlayedFeed:
    """tests/browser/played_feed.mjs: a made-up fleet behind the real page."""

    def __init__(self, members=200, nodes=5000, port=0):
        self.process = subprocess.Popen(["node", SOURCE / "played_feed.mjs", "--members", str(members), "--nodes", str(nodes), "--port", str(port),
                                         "--dist", str(PAGE / "work/dist")], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url, "the played feed did not start"

    def close(self):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()


def report_file(path: pathlib.Path):
    """A report with made-up data, put together as the program does it."""
    script = ("import {filled, madeReport} from './made_report.mjs'; import {readFileSync, writeFileSync} from 'node:fs';"
              "writeFileSync(process.argv[2], filled(readFileSync(process.argv[1], 'utf8'), madeReport()));")
    checked(["node", "--input-type=module", "-e", script, str(PAGE / "work/dist/report.html"), str(path)], cwd=SOURCE)
