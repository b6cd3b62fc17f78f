"""What the end-to-end tests share: a fleet or an API server of their own, the kubectls of this machine, and waiting with a limit."""
import concurrent.futures
import contextlib
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import failure_screen
import object_reader
import reservations
import survivors
from api_client import LOST, patiently

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVENKEEL = os.environ.get("EVENKEEL", str(ROOT / "build/release/evenkeel"))


@functools.cache
def kubectls():
    """{version: path}: Debian's kubectl 1.20 and a newer one, of PATH or else Debian 13's, where they are."""
    found = {}
    for path in (ROOT / "build/kubectl-1.20/usr/bin/kubectl", shutil.which("kubectl"), ROOT / "build/kubectl-trixie/usr/bin/kubectl"):
        if len(found) == 2 or path is None or not pathlib.Path(path).exists():
            continue
        found.setdefault(version_of(path), str(path))
    return found


def version_of(kubectl):
    """v1.32.4."""
    text = subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, text=True).stdout
    return json.loads(text)["clientVersion"]["gitVersion"].split("-")[0]


def any_kubectl():
    versions = kubectls()
    if not versions:
        raise unittest.SkipTest("no kubectl: run tools/kubectl-1.20")
    return versions[max(versions, key=lambda v: [int(part) for part in re.findall(r"\d+", v)])]


def eventually(check, seconds, message=""):
    """The first true result of `check`, tried every 100 ms, and later less often, as most checks start a kubectl; fails with the last
    exception or `message` (a text, or what makes it) after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        error = None
        try:
            result = check()
            if result:
                return result
        except (AssertionError, subprocess.CalledProcessError, json.JSONDecodeError, LookupError, StopIteration, *LOST) as e:
            error = e
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {message() if callable(message) else message} {error or ''}")
        time.sleep(min(0.1 + (time.monotonic() - deadline + seconds) / 50, 0.3))


def is_asked_to_wait(complaint):
    """Whether kubectl gave up because the server was not ready. It asks again by itself, but for --raw and, before 1.21, watches."""
    return "(TooManyRequests)" in complaint and ("storage is (re)initializing" in complaint or "try again later" in complaint)


class Kubectl:
    """Runs one kubectl against one context."""

    def __init__(self, path, kubeconfig, context=None):
        self.path, self.kubeconfig, self.context = path, kubeconfig, context
        self.reader = object_reader.Reader(kubeconfig, context)

    def at(self, context):
        return Kubectl(self.path, self.kubeconfig, context)

    def command(self, *arguments):
        context = ["--context", self.context] if self.context else []
        return [self.path, "--kubeconfig", str(self.kubeconfig), *context, *arguments]

    def environment(self):
        # Its discovery cache must not outlive the fleet that it describes.
        cache = pathlib.Path(self.kubeconfig).parent / "kubectl-home"
        return {**os.environ, "HOME": str(cache), "KUBECONFIG": ""}

    def run(self, *arguments, stdin=None, check=True, timeout=300, env=None):
        def attempt():
            result = subprocess.run(self.command(*arguments), input=stdin, capture_output=True, text=True, timeout=timeout,
                                    env={**self.environment(), **(env or {})})
            return result, 1 if result.returncode != 0 and is_asked_to_wait(result.stderr) else None
        result = patiently(attempt)
        if check and result.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(arguments)}: exit {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def __call__(self, *arguments, **options):
        return self.run(*arguments, **options).stdout

    def json(self, *arguments):
        """What it prints with `-o json`. Most of `get` is asked by HTTP, without a kubectl (object_reader.py)."""
        try:
            return self.reader.get(*arguments)
        except object_reader.UnknownError:
            return json.loads(self(*arguments, "-o", "json"))

    def exists(self, *arguments):
        """Whether `get` finds the one object that is asked for, or knows the kind."""
        try:
            self.json(*arguments)
            return True
        except AssertionError as error:
            if "(NotFound)" in str(error) or "doesn't have a resource type" in str(error):
                return False
            raise

    def start(self, *arguments):
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=self.environment())


class EndedError(Exception):
    """Nothing more is to be waited for."""


class Program:
    """One `evenkeel` process with its output in a file."""

    def __init__(self, home, *arguments, env=None, program=EVENKEEL):
        self.home = pathlib.Path(home)
        self.home.mkdir(parents=True, exist_ok=True)
        self.log = self.home / f"output-{time.monotonic_ns()}.log"
        self.arguments = arguments
        with self.log.open("w") as log:
            self.process = subprocess.Popen([program, *arguments], stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                            env={**os.environ, "EVENKEEL_HOME": str(self.home), "KUBECONFIG": "", **(env or {})})
        self.started = time.monotonic()
        failure_screen.logs.add(f"evenkeel {arguments[0]} in {self.home.name}", self.log, lambda: self.process.poll() is None)

    def output(self):
        return self.log.read_text()

    def wait_for_output(self, text, seconds):
        def check():
            if self.process.poll() is not None and text not in self.output():
                raise EndedError(f"evenkeel {' '.join(self.arguments)} ended with {self.process.returncode}:\n{self.output()[-3000:]}")
            return text in self.output()
        eventually(check, seconds, f"{text!r} in the output of evenkeel {' '.join(self.arguments)}:\n{self.output()[-3000:]}")

    def stop(self, how=signal.SIGTERM, seconds=120):
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"evenkeel {' '.join(self.arguments)} did not stop within {seconds} s:\n{self.output()[-3000:]}")


def loopback_network(home):
    """Pods of a fleet have addresses in 127.N: this N, which src/cli/commands/up.cc takes from the name of its home."""
    value = 2166136261
    for byte in str(home).encode():
        value = (value ^ byte) * 16777619 % 2**32
    return 16 + value % 224


@contextlib.contextmanager
def temporary_home():
    """A directory whose fleet shares its pods' network with no other fleet, of any suite or already running."""
    survivors.end_with_this_suite()
    for _ in range(10_000):
        home = pathlib.Path(tempfile.mkdtemp(prefix="evenkeel-e2e-"))
        held = reservations.loopback(loopback_network(home))
        if held:
            break
        home.rmdir()
    else:
        raise AssertionError("all networks for the pods of a fleet are in use")
    failure_screen.logs.open(home)
    try:
        with held:
            yield home
    finally:
        failure_screen.logs.close(home)
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def fleet(home, *arguments):
    """`evenkeel up`, once its controllers are ready."""
    program = Program(home, "up", *arguments)
    try:
        program.wait_for_output("Evenkeel is up", 300)
        yield program
    finally:
        program.stop()


def processes_of(home, argument=b""):
    """Process ids whose environment or command line names this home directory, and whose command line contains `argument`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            command = (entry / "cmdline").read_bytes()
            if state != "Z" and argument in command and str(home).encode() in (entry / "environ").read_bytes() + command:
                found.append(int(entry.name))
    return found


def main():
    """Runs the tests of the calling file: the summary last, behind it what failed; 77 when everything was skipped."""
    result = unittest.main(module="__main__", exit=False, verbosity=2, testRunner=failure_screen.Runner).result
    sys.stdout.flush()
    failure_screen.show(result)
    if result.testsRun and len(result.skipped) == result.testsRun and result.wasSuccessful():
        sys.exit(77)
    sys.exit(0 if result.wasSuccessful() else 1)


def main_in_parallel():
    """As main, with each class of the calling file, but for those named behind --without, in a process of its own, all at once: for
    tests that mostly wait. Outputs come one after the other, behind them what failed in any."""
    without = sys.argv[2:] if sys.argv[1:2] == ["--without"] else []
    if len(sys.argv) > 1 and not without:
        main()
    survivors.end_with_this_suite()
    module = sys.modules["__main__"]
    names = [name for name, value in vars(module).items()
             if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == "__main__" and name not in without]

    def run(name):
        with tempfile.NamedTemporaryFile("r") as screen:
            result = subprocess.run([sys.executable, module.__file__, name], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    env={**os.environ, failure_screen.FILE: screen.name})
            return name, result, screen.read()
    codes, screens = [], []
    with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
        for done in concurrent.futures.as_completed([pool.submit(run, name) for name in names]):
            name, result, screen = done.result()
            print(f"===== {name}\n{result.stdout}", flush=True)
            codes.append(result.returncode)
            if result.returncode not in (0, 77):
                screens.append(screen or f"===== {name} ended with {result.returncode} before it could say what failed: see above\n"
                               f"----- to repeat it\n{failure_screen.command(name)}\n")
    print("".join(screens), end="", flush=True)
    sys.exit(1 if screens else min(codes))
