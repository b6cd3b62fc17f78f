#!/usr/bin/env python3
"""Runs a test program of GoogleTest's. Of what passes it prints no more than the summary, since much of that logs errors, as it should. What
fails, or is not done within so many seconds, ends with one screen: for each test that failed what it expected, its last lines, and how to
repeat it.

  tests/unit_screen.py SECONDS PROGRAM [ARGUMENT...]
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/e2e"))
import failure_screen  # noqa: E402

# Of tests that failed, in full; the others are named.
SHOWN = 5
# For the last lines of a program that has ended; what it has left behind may keep its pipe open.
REST_SECONDS = 10
# Of a sanitizer's report: what, where, and whose memory.
REPORT_LINES = 60
RUN = re.compile(r"^\[ RUN      \] (\S+)$")
END = re.compile(r"\[ {2,7}(?:OK|FAILED|SKIPPED) {1,2}\] (\S+?)(?:,| \(\d+ ms\)|$)")
REPORT = re.compile(r"==\d+==ERROR: |WARNING: ThreadSanitizer|:\d+:\d+: runtime error: |^SUMMARY: ")
SUMMARY = re.compile(r"^\[(?:==========|  PASSED  |  SKIPPED )\] \d+ tests?\b|Skipped$")
# What a test needs besides its program.
SETTINGS = ("RC_PARAMS", "GLIBC_TUNABLES")


def by_test(lines):
    """{test: its lines}, in their order; "" has those of no test; and the test that began and did not end."""
    found, current = {"": []}, ""
    for line in lines:
        if begun := RUN.match(line):
            current = begun.group(1)
            found[current] = []
        elif current and (ended := END.search(line)) and ended.group(1) == current:
            # A line that another thread had begun may stand before it.
            found[current].append(line[:ended.start()])
            current = ""
        else:
            found[current].append(line)
    return found, current


def expectations(report):
    """{test: [what it expected]} of GoogleTest's own account; none where the program has not come to its end."""
    found = {}
    try:
        suites = json.loads(report.read_text())["testsuites"]
    except (OSError, ValueError):
        return found
    for suite in suites:
        for test in suite["testsuite"]:
            if failures := [failure["failure"].strip() for failure in test.get("failures", [])]:
                found[f"{suite['name']}.{test['name']}"] = failures
    return found


def shortened(text):
    most = failure_screen.MESSAGE_MAX
    return text if len(text) <= most else f"{text[:most // 2]}\n...\n{text[-most // 2:]}"


def command(program, test):
    settings = [f"{name}={shlex.quote(os.environ[name])}" for name in SETTINGS if os.environ.get(name)]
    path = pathlib.Path(program).resolve()
    file = path.relative_to(ROOT) if ROOT in path.parents else path
    return " ".join([*settings, str(file), *([f"--gtest_filter={test}"] if test else [])])


def run(program, arguments, seconds):
    """(how it ended, as text, "" where it should; its lines)."""
    # Through a pipe: a test may set a limit to the size of files.
    process = subprocess.Popen([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []

    def read():
        for line in process.stdout:
            lines.append(line.decode(errors="replace").rstrip("\n"))
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        code = process.wait(seconds)
        end = f"the program ended with {code}" if code else ""
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        end = f"not done within {seconds:g} s"
    reader.join(REST_SECONDS)
    return end, list(lines)


def screen(program, end, lines, report):
    """What failed, and why, as text."""
    tests, unfinished = by_test(lines)
    failed = expectations(report)
    if unfinished:
        failed[unfinished] = [f"{end}, in this test"]
    # A sanitizer speaks up in the middle of a test, and may let it pass; leaks have no test.
    for test, own in tests.items():
        at = next((number for number, line in enumerate(own) if REPORT.search(line)), None)
        if at is not None:
            failed.setdefault(test, []).append("\n".join(own[at:at + REPORT_LINES]))
            tests[test] = own[:at]
    if not failed:
        failed[""] = [end]
    parts = []
    for test in list(failed)[:SHOWN]:
        parts += [f"===== failed: {test or pathlib.Path(program).name}", *map(shortened, failed[test])]
        if last := tests.get(test, [])[-failure_screen.LINES:]:
            parts += ["----- its last lines", *last]
        parts += ["----- to repeat it", command(program, test)]
    if more := list(failed)[SHOWN:]:
        parts.append(f"===== {len(more)} more failed: {', '.join(more)}")
    return failure_screen.redacted("\n".join(parts))


def main():
    seconds, program, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.json"
        end, lines = run(program, [*arguments, f"--gtest_output=json:{report}"], float(seconds))
        for number, line in enumerate(lines):
            if SUMMARY.search(line):
                # The reason of what was skipped stands behind it.
                print(*lines[number:number + (2 if line.endswith("Skipped") else 1)], sep="\n")
        if end:
            print(screen(program, end, lines, report), flush=True)
    return 1 if end else 0


if __name__ == "__main__":
    sys.exit(main())
