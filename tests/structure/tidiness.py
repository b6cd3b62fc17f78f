"""The tree's own habits: files stay short, effects stay in base/, nothing half-done is left lying about, and a commit says in a line what it does."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True

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
# The subject of the commit from which on subjects are looked at.
SUBJECTS_SINCE = pathlib.Path("tests/structure/subjects_since")
SUBJECT_MAX = 72
# "area: imperative", as "store: open a damaged file for reading"; several areas are "a, b: ...".
SUBJECT = re.compile(r"(?:Revert \".*|[a-z][\w./-]*(?:, [a-z][\w./-]*)*: (?P<verb>[\w'-]+)\b.*[^.])$")
# What no imperative looks like: what it does, did or is doing, and words that begin a thing's name.
NO_VERB = re.compile(r"(?!(?:\w*(?:eed|bed|shed|ss|us)|(?:br|p|r|s|st|str|sw)ing)$)\w+(?:ed|ing|s)$|(?:the|an?|one|no|some|more|new|now|it|its|this|that)$", re.I)


def tool(name):
    """A program of tools/ as a module."""
    loader = importlib.machinery.SourceFileLoader(name, f"tools/{name}")
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def git(*arguments):
    """What it prints; None without git, or outside of a repository."""
    try:
        result = subprocess.run(["git", *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return result.stdout if result.returncode == 0 else None


def all_files():
    listed = git("ls-files", "-co", "--exclude-standard")
    if listed is not None:
        return list(filter(None, listed.split("\n")))
    return [os.path.relpath(os.path.join(folder, name)) for folder, folders, names in os.walk(".", topdown=True)
            for name in names if not folder.startswith(("./build", "./.git"))]


def wrong_subjects():
    """Of commits since the one that is named. A shallow clone without it has only such that came after."""
    since, wrong = SUBJECTS_SINCE.read_text().strip(), []
    commits = [line.partition(" ") for line in (git("log", "--no-merges", "--format=%h %s") or "").splitlines()]
    if since not in (subject for _, _, subject in commits) and (git("rev-parse", "--is-shallow-repository") or "").strip() != "true":
        return []
    for commit, _, subject in commits:
        if subject == since:
            break
        match = SUBJECT.match(subject)
        if len(subject) > SUBJECT_MAX:
            wrong.append(f"{commit}: {subject}: {len(subject)} characters, at most {SUBJECT_MAX}: the why belongs into the body")
        elif not match or (match["verb"] and NO_VERB.match(match["verb"])):
            wrong.append(f"{commit}: {subject}: a subject is \"area: imperative\", as \"store: open a damaged file for reading\"")
    return wrong


def main():
    files = all_files()
    wrong = wrong_subjects()
    wrap = tool("wrap")
    for name in files:
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
        if path.suffix == ".md" and not name.startswith(wrap.GENERATED):
            wrong += [f"{name}:{number}: {width} characters, at most {wrap.WIDTH} in a line of prose: tools/wrap {name}"
                      for number, width in wrap.long_lines("\n".join(lines))]
        for number, line in enumerate(lines, 1):
            if not name.startswith("src/") or name.endswith(TEST_SUFFIXES):
                continue
            for pattern, advice, exempt in BANNED:
                if re.search(pattern, line) and not name.startswith(exempt or ("\0",)) and "// effect:" not in line:
                    wrong.append(f"{name}:{number}: {line.strip()[:60]}: {advice}")
    print("\n".join(wrong) or f"tidiness: {len(files)} files")
    return 1 if wrong else 0


sys.exit(main())
