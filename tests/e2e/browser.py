"""Debian's Chromium, driven through playwright-core by tests/browser/driver.mjs; installed in build/browser on first use."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import harness
import node_modules
from node_modules import checked

SOURCE = harness.ROOT / "tests/browser"
MODULES = harness.ROOT / "build/browser"
PAGE = harness.ROOT / "build/page"
SCREENSHOTS = harness.ROOT / "build/screenshots"
CHROMIUM = "chromium"
SIZES = (375, 2560)


def require():
    """Ends the test as skipped where something that it needs is not installed."""
    for program in ("node", "npm", CHROMIUM):
        if shutil.which(program) is None:
            print(f"skipped: {program} is not installed (tools/setup build test)")
            sys.exit(77)


def install():
    """Node modules of the tests, once per package-lock.json, and the page as it is in the tree."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    node_modules.install(SOURCE, MODULES)
    checked([harness.ROOT / "src/dashboard/page/build.sh", PAGE])


class Browser:
    def __init__(self):
        # A home of its own: Chromium leaves much in there, and others may run at the same time.
        self.home = tempfile.TemporaryDirectory(prefix="evenkeel-browser-", ignore_cleanup_errors=True)
        self.process = subprocess.Popen(["node", SOURCE / "driver.mjs", str(MODULES), shutil.which(CHROMIUM)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env={**os.environ, "HOME": self.home.name})

    def close(self):
        self.process.stdin.close()
        self.process.wait(120)
        self.process.stdout.close()
        self.home.cleanup()

    def ask(self, command, **options):
        self.process.stdin.write(json.dumps({"command": command, **options}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"{command}: the browser's driver ended with {self.process.wait(120)}")
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

    def sees(self, text, selector="body", seconds=120):
        return self.ask("sees", text=text, selector=selector, seconds=seconds)

    def click(self, selector, text=None):
        self.ask("click", selector=selector, text=text)

    def press(self, key, selector=None):
        self.ask("press", key=key, selector=selector)

    def screenshot(self, name, full=True):
        self.ask("screenshot", path=str(SCREENSHOTS / f"{name}.png"), full=full)


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        install()
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def walked_to(self, card, *keys):
        """What a picture says of the thing that the keys lead to."""
        self.browser.ask("evaluate", expression=f"document.querySelector('{card} [role=listbox]').focus()")
        for key in keys:
            self.browser.press(key)
        return self.browser.ask("evaluate", expression="document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent")

    def note(self, expression):
        """Begins to note each value of a JavaScript expression, whenever the page changes: what it shows for a moment only may be over when
        somebody looks."""
        self.browser.ask("evaluate", expression="""(() => {
            window.noted = [];
            const note = () => {
                const value = JSON.stringify(%s);
                if (window.noted.at(-1) !== value) window.noted.push(value);
            };
            note();
            new MutationObserver(note).observe(document.body, {subtree: true, childList: true, characterData: true, attributes: true});
        })()""" % expression)

    def noted(self):
        return [json.loads(value) for value in self.browser.ask("evaluate", expression="window.noted")]

    def assert_looks_well(self, name):
        """No complaint of the page and no request elsewhere; nothing that keeps people out; fits narrow and wide screens; a picture of each."""
        here = self.browser.ask("evaluate", expression="location.origin")
        complaints = self.browser.ask("complaints")
        self.assertEqual(complaints["problems"], [])
        self.assertEqual([url for url in complaints["requested"] if not url.startswith(here) and not url.startswith("file:")], [])
        for scheme in ("light", "dark"):
            if self.browser.ask("evaluate", expression="document.documentElement.dataset.theme") != scheme:
                self.browser.press("t")
            if scheme != self.browser.ask("evaluate", expression="document.documentElement.dataset.theme"):
                self.browser.click("button[aria-label^='Use ']")
            found = self.browser.ask("audit")
            self.assertEqual(found, [], f"{name}, {scheme}: {json.dumps(found, indent=1)}")
            self.browser.screenshot(f"{name}-1280-{scheme}")
        try:
            for width in SIZES:
                self.browser.ask("resize", width=width)
                self.assertLessEqual(self.browser.ask("overflow"), 0, f"{name} scrolls sideways at {width} px")
                found = self.browser.ask("audit")
                self.assertEqual(found, [], f"{name}, {width} px: {json.dumps(found, indent=1)}")
                self.browser.screenshot(f"{name}-{width}")
        finally:
            self.browser.ask("resize", width=1280)


class PlayedFeed:
    """tests/browser/played_feed.mjs: a made-up fleet behind the real page."""

    def __init__(self, members=200, nodes=5000, port=0):
        self.process = subprocess.Popen(["node", SOURCE / "played_feed.mjs", "--members", str(members), "--nodes", str(nodes), "--port", str(port),
                                         "--dist", str(PAGE / "work/dist")], stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url, "the played feed did not start"

    def close(self):
        self.process.terminate()
        self.process.wait(120)
        self.process.stdout.close()


def report_file(path: pathlib.Path):
    """A report with made-up data, put together as the program does it."""
    script = ("import {filled, madeReport} from './made_report.mjs'; import {readFileSync, writeFileSync} from 'node:fs';"
              "writeFileSync(process.argv[2], filled(readFileSync(process.argv[1], 'utf8'), madeReport()));")
    checked(["node", "--input-type=module", "-e", script, str(PAGE / "work/dist/report.html"), str(path)], cwd=SOURCE)
