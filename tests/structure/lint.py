"""clang-tidy over the sources, as the dev preset compiles them.

A unit (a batch of files that are compiled at once) is not read again
- where a unit with the same text, headers and settings was clean before: a stamp beside the compiler's cache says so, safe to lose;
- where nothing of it has changed since the commit that tests/structure/last_linted names, at which no unit had a finding.
`--all` reads every unit. `--note` lets that file name the present commit when there is no finding: commit it.
"""
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

BUILD = pathlib.Path("build/dev")
ROOT = pathlib.Path.cwd()
LAST_LINTED = pathlib.Path("tests/structure/last_linted")
STAMP_DAYS = 30
# What no person wrote, and tests and benchmarks, whose macros make most of what clang-tidy would say.
LEFT_OUT = re.compile(r"_(test|bench|test_pch|pch|proto|page|without_fence|unfenced_client|zookeeper_counter|provider_relay|failing_suite|api_load)\.dir/|/evenkeel\.dir/")


def units():
    """{source: (command, object)} of what is linted."""
    found = {}
    for command in json.loads((BUILD / "compile_commands.json").read_text()):
        made = re.search(r" -o (\S+)", command["command"]).group(1)
        if made.endswith(".o") and not LEFT_OUT.search(made) and not command["file"].endswith(".pb.cc"):
            found[command["file"]] = (command["command"], made)
    return found


def included_files():
    """{object: [file]}, as the compiler told Ninja; a precompiled header counts as what it was made of."""
    text = subprocess.run(["ninja", "-C", str(BUILD), "-t", "deps"], capture_output=True, text=True, check=True).stdout
    files, current = {}, None
    for line in text.splitlines():
        if line.startswith("    "):
            files[current].append(line.strip())
        elif line:
            current = line.partition(": #deps")[0]
            files[current] = []
    return files


@functools.cache
def content(file):
    return hashlib.sha256((BUILD / file).read_bytes()).hexdigest()


def local(file):
    """A path of this checkout relative to its root; others are given as they are."""
    path = os.path.normpath(ROOT / BUILD / file)
    return os.path.relpath(path, ROOT) if path.startswith(f"{ROOT}/") else path


def key_of(tool, command, files):
    lines = [tool, command.replace(str(ROOT), ""), *sorted(f"{local(file)} {content(file)}" for file in set(files))]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def changed_since_last_linted():
    """Paths that differ from that commit; None where that is not known here, or clang-tidy is configured otherwise now."""
    if not LAST_LINTED.exists():
        return None
    commit = LAST_LINTED.read_text().split()[0]
    run = subprocess.run(["git", "diff", "--name-only", commit], capture_output=True, text=True)
    new = subprocess.run(["git", "ls-files", "-o", "--exclude-standard"], capture_output=True, text=True)
    tool = subprocess.run(["git", "diff", "--unified=0", commit, "--", ".clang-tidy", "packages.txt"], capture_output=True, text=True)
    if run.returncode or re.search(r"^[-+].*clang-tidy", tool.stdout, flags=re.M):
        return None
    return {*run.stdout.split("\n"), *new.stdout.split("\n")}


def stamps():
    cache = pathlib.Path(os.environ.get("CCACHE_DIR") or pathlib.Path.home() / ".cache/ccache") / "evenkeel-lint"
    cache.mkdir(parents=True, exist_ok=True)
    for stamp in cache.iterdir():
        if stamp.stat().st_mtime < time.time() - STAMP_DAYS * 86400:
            stamp.unlink(missing_ok=True)
    return cache


def note():
    status = subprocess.run(["git", "status", "--porcelain", "--", ".", f":!{LAST_LINTED}"], capture_output=True, text=True, check=True)
    if status.stdout:
        print(f"lint: {LAST_LINTED} stays as it is, since there are changes that are not committed")
        return
    head = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    LAST_LINTED.write_text(head.stdout)
    print(f"lint: {LAST_LINTED} names this commit now: commit that file")


def main():
    if shutil.which("clang-tidy-19") is None:
        print("skipped: clang-tidy-19 is not installed (tools/setup test)")
        return 77
    everything = "--all" in sys.argv[1:]
    changed = None if everything else changed_since_last_linted()
    cache, files = stamps(), included_files()
    tool = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, text=True).stdout + pathlib.Path(".clang-tidy").read_text()
    todo, known, unchanged = [], 0, 0
    for source, (command, made) in sorted(units().items()):
        if made not in files:
            print(f"{made} is not built: tools/build dev unit_tests fuzzers makes it")
            return 1
        key = cache / key_of(tool, command, files[made])
        if not everything and key.exists():
            key.touch()
            known += 1
        elif changed is not None and not changed & {local(file) for file in files[made]}:
            unchanged += 1
        else:
            todo.append((source, key))

    def lint(unit):
        return unit, subprocess.run(["clang-tidy-19", "--quiet", "-p", str(BUILD), unit[0]], capture_output=True, text=True)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (source, key), run in pool.map(lint, todo):
            if run.returncode == 0:
                key.touch()
            else:
                failed += 1
                print(f"== {source}\n{run.stdout[:4000]}")
    print(f"lint: {len(todo)} units read, {known} read before, {unchanged} as when all were read; {failed} with findings")
    if not failed and "--note" in sys.argv[1:]:
        note()
    return 1 if failed else 0


sys.exit(main())
