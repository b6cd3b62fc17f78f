"""The tree's own habits: files stay short, effects stay in base/, nothing half-done is left lying about."""
import pathlib
import re
import subprocess
import sys

LINES_MAX = 700
# What may only happen where it is passed in from; see docs/ARCHITECTURE.md. The files named wrap a library or the operating system.
BANNED = [
    (r"\bstd::this_thread::sleep|\busleep\(|\bnanosleep\(", "sleep through a Strand's PostAfter", ("src/base/",)),
    (r"\bsystem_clock::now|\bsteady_clock::now|\bclock_gettime\(", "take a base::Clock", ("src/base/",)),
    (r"\bstd::(mt19937|random_device|uniform_\w+_distribution)", "take a base::Random", ("src/base/",)),
    (r"\brand\(\)", "take a base::Random", ()),
    (r"\bTODO\b|\bFIXME\b|\bXXX\b", "finish it or write an issue", ()),
]
TEST_SUFFIXES = ("_test.cc", "_bench.cc", "_fuzz.cc", "_testing.h")


def main():
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True).stdout.split("\n")
    wrong = []
    for name in filter(None, files):
        path = pathlib.Path(name)
        if not path.is_file() or path.suffix not in (".h", ".cc", ".py", ".proto", ".cmake", ".md"):
            continue
        lines = path.read_text().splitlines()
        if path.suffix in (".h", ".cc"):
            if len(lines) > LINES_MAX:
                wrong.append(f"{name}: {len(lines)} lines, at most {LINES_MAX}: would two files be clearer?")
            if path.suffix == ".h" and "#pragma once" not in lines:
                wrong.append(f"{name}: #pragma once is missing")
            # Several test files are compiled at once, and two may have helpers of the same name.
            tests = name.endswith("_test.cc") and any(line.startswith(("TEST", "RC_GTEST")) for line in lines)
            if tests and not any(line.startswith("namespace ") and line.endswith(f"::{path.stem} {{") for line in lines):
                wrong.append(f"{name}: it needs a namespace of its own, evenkeel::...::{path.stem}")
        if path.suffix == ".md" and sum(line.startswith("# ") for line in lines) > 1:
            text = re.sub(r"```.*?```", "", "\n".join(lines), flags=re.S)
            if len(re.findall(r"^# ", text, flags=re.M)) != 1:
                wrong.append(f"{name}: one title per page")
        for number, line in enumerate(lines, 1):
            if not name.startswith("src/") or name.endswith(TEST_SUFFIXES):
                continue
            for pattern, advice, exempt in BANNED:
                if re.search(pattern, line) and not name.startswith(exempt or ("\0",)) and "// effect:" not in line:
                    wrong.append(f"{name}:{number}: {line.strip()[:60]}: {advice}")
    print("\n".join(wrong) or f"tidiness: {len(files)} files")
    return 1 if wrong else 0


sys.exit(main())
