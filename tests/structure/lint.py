"""clang-tidy over the sources, from the compile commands of the preset that clang builds (fuzz)."""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

DATABASE = pathlib.Path("build/fuzz/compile_commands.json")
if shutil.which("clang-tidy-19") is None:
    print("skipped: clang-tidy-19 is not installed (tools/setup test)")
    sys.exit(77)
if not DATABASE.exists():
    print(f"{DATABASE} is missing: tools/build fuzz fuzzers makes it")
    sys.exit(1)

# clang-tidy reads the precompiled header and the generated ones, and refuses a header that is older than what it was made of.
subprocess.run(["tools/build", "fuzz", "evenkeel_pch", "evenkeel_etcd_proto", "evenkeel_providers_proto"], check=True, stdout=subprocess.DEVNULL)

# A unity build compiles batches of files; linting a batch lints its files and parses the headers once.
GENERATED = ("cmake_pch", "evenkeel_pch", "etcd_proto", "generated/")
files = sorted({command["file"] for command in json.loads(DATABASE.read_text())})
files = [file for file in files if not any(part in file for part in GENERATED)]
if not files:
    print(f"{DATABASE} names no sources")
    sys.exit(1)


def lint(file):
    run = subprocess.run(["clang-tidy-19", "--quiet", "-p", str(DATABASE.parent), file], capture_output=True, text=True)
    return file, run.returncode, run.stdout


failed = 0
with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    for file, code, output in pool.map(lint, files):
        if code != 0:
            failed += 1
            print(f"== {file}\n{output[:4000]}")
print(f"lint: {len(files)} units, {failed} with findings")
sys.exit(1 if failed else 0)
