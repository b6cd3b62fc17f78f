"""What a failing suite ends with: for each test that failed what it expected, the last lines of the processes that took part, and how to
repeat it. Logs are read when the test fails, or before their home is removed."""
import dataclasses
import os
import pathlib
import re
import shlex
import sys
import time
import traceback
import unittest

LINES = 30
TAIL_BYTES = 64 << 10
MESSAGE_MAX = 3000
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# Where a process of harness.main_in_parallel leaves its screen for the first one to show.
FILE = "EVENKEEL_E2E_SCREEN"
# What somebody who repeats a test has to set, too.
SETTINGS = ("EVENKEEL", "EVENKEEL_E2E_KUBECONFIG", "EVENKEEL_E2E_MEMBER_KUBECONFIGS", "EVENKEEL_E2E_RESTART", "EVENKEEL_ZOOKEEPER_COUNTER")
# Where container logs are below the home of a fleet (src/embedded/nodeagent/pod_directory.h).
CONTAINERS = "*/pods/*/logs/*/*.log"
SECRETS = re.compile(r"""(?ix) (\b bearer \s+ (?! tokens? \b) | \b(?: [a-z-]*token | password | (?:client-)?key-?data ) ["']? \s* [=:] \s* ["']? )
                         (?! ["',\s] ) [^\s"'&,;<>]+""")


def redacted(text):
    return SECRETS.sub(r"\1<redacted>", text)


def tail(path):
    with path.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - TAIL_BYTES, 0))
        return file.read().decode(errors="replace").splitlines()[-LINES:]


@dataclasses.dataclass
class Log:
    """`kept`: (when it was last written to, its last lines) once its home has gone."""
    name: str
    path: pathlib.Path
    is_running: object = lambda: False
    kept: tuple | None = None

    def read(self):
        if self.kept is None:
            try:
                return self.path.stat().st_mtime, tail(self.path)
            except OSError:
                return 0, []
        return self.kept


class Logs:
    """Of all processes that this one has started, and of the containers that those run."""

    def __init__(self):
        self.programs, self.containers, self.homes = [], [], []

    def add(self, name, path, is_running):
        self.programs.append(Log(name, path, is_running))

    def containers_of(self, home):
        # A log that was rotated away has another ending.
        return [Log(f"container {path.parent.name} of pod {path.parents[2].name} in {path.parents[4].name}", path)
                for path in sorted(home.glob(CONTAINERS))]

    def open(self, home):
        self.homes.append(home)

    def close(self, home):
        """It is about to be removed."""
        self.homes.remove(home)
        self.containers += self.containers_of(home)
        for log in [*self.programs, *self.containers]:
            if log.kept is None and home in log.path.parents:
                log.kept = log.read()

    def involved(self, since):
        """[(name, last lines)] of those that have run or said something since then (time.time())."""
        found = []
        for log in [*self.programs, *self.containers, *(log for home in self.homes for log in self.containers_of(home))]:
            written, lines = log.read()
            # File systems take their time from a clock that goes in ticks.
            if lines and (log.is_running() or written > since - 0.1):
                found.append((log.name, lines))
        return found


logs = Logs()


def expectation(error):
    """What failed, and where in the test."""
    kind, value, trace = error
    text = "".join(traceback.format_exception_only(kind, value)).strip()
    if len(text) > MESSAGE_MAX:
        text = text[:MESSAGE_MAX // 2] + "\n...\n" + text[-MESSAGE_MAX // 2:]
    ours = {HERE, pathlib.Path(sys.argv[0]).resolve().parent}
    here = [frame for frame in traceback.extract_tb(trace) if pathlib.Path(frame.filename).resolve().parent in ours]
    return "\n".join([text, *(f"  {pathlib.Path(frame.filename).name}:{frame.lineno}: {frame.line}" for frame in here)])


def name_of(test):
    """CLASS.test, CLASS for what belongs to a class, "" for what belongs to the file."""
    test = getattr(test, "test_case", test)  # of a subtest
    if isinstance(test, unittest.TestCase):
        return test.id().removeprefix("__main__.")
    described = re.search(r"\((?:__main__\.?)?(.*)\)$", str(test))
    return described.group(1) if described else ""


def command(name):
    settings = [f"{key}={shlex.quote(os.environ[key])}" for key in SETTINGS
                if os.environ.get(key) and (key, os.environ[key]) != ("EVENKEEL", str(ROOT / "build/release/evenkeel"))]
    path = pathlib.Path(sys.argv[0]).resolve()
    file = path.relative_to(ROOT) if ROOT in path.parents else path
    return " ".join([*settings, "python3", str(file), *([name] if name else [])])


class Result(unittest.TextTestResult):
    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        # {name of the test: ([what it expected], logs)}; `since`: when began whatever may fail now.
        self.screen, self.since = {}, time.time()

    def startTest(self, test):
        self.since = time.time()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.since = time.time()

    def addError(self, test, error):
        self.tell(test, error)
        super().addError(test, error)

    def addFailure(self, test, error):
        self.tell(test, error)
        super().addFailure(test, error)

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.tell(subtest, error)
        super().addSubTest(test, subtest, error)

    def tell(self, test, error):
        name = name_of(test)
        if name not in self.screen:
            self.screen[name] = [], logs.involved(self.since)
        self.screen[name][0].append(expectation(error))

    def _exc_info_to_string(self, error, test):
        return redacted(super()._exc_info_to_string(error, test))

    def text(self):
        parts, shown = [], {}
        for name, (expected, involved) in self.screen.items():
            parts.append(f"===== failed: {name or pathlib.Path(sys.argv[0]).name}")
            parts += expected
            for process, lines in involved:
                if shown.get(process) == lines:
                    parts.append(f"----- {process}: as above")
                    continue
                shown[process] = lines
                parts += [f"----- the last lines of {process}", *lines]
            parts += ["----- to repeat it", command(name)]
        return redacted("\n".join(parts))


class Runner(unittest.TextTestRunner):
    resultclass = Result


def show(result):
    """As the last thing that is printed."""
    if not result.screen:
        return
    if os.environ.get(FILE):
        pathlib.Path(os.environ[FILE]).write_text(result.text() + "\n")
    else:
        sys.stderr.flush()
        print(result.text(), flush=True)
