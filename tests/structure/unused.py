"""Nothing in src/ is there for tests alone: each function that a header declares is named somewhere else than where it is declared and defined, by
something that is no test; and each field of the balancer's settings is read by something else than the table that sets it (one that
nothing reads is declared there as without effect). A cheap look at words: of several functions of one name it is enough that one is used."""
import collections
import pathlib
import re
import sys

# What tests need: they may declare what only they use.
TEST_FILE = re.compile(r"_(test|bench|fuzz)\.cc$|_(testing|fixture|test_support)\.(h|cc)$|/fake_client\.(h|cc)$")
# What stays although only tests use it, and why.
KEPT = {
    "FindPartition": "one of four that find by name",
    "NewReplicaLoads": "what the fuzz target of cluster_reader looks at; the planner reads the same row without asking",
    "admin": "the certificate of which only its renewal is to be seen from outside",
    "event_count": "how a test sees that memory is bounded",
    "key_count": "as event_count",
    "superseded_bytes": "as event_count",
    "pod_count": "as event_count",
    "specs": "as event_count",
    "scale_downs": "beside scale_ups, which the loop reads",
    "ParseKubeconfig": "LoadKubeconfig without files, for its fuzz target",
    "RunUntilIdle": "how a test lets everything happen that is due",
}
# At the beginning of a line: what comes before the name of a function, which is not a call.
DECLARATION = re.compile(r" *(?!(?:return|else|case|delete|new|throw|using|EVENKEEL_\w+)\b)(?:[\w:~&*<>,\[\]]+[ &*]+)+([A-Z]\w*)\(")
DEFINITION = re.compile(r"(?! )(?:[^(={]*[ &*>])?(?:\w+::)*([A-Z]\w*)\(")
# A value that an object tells, and where it is asked for one.
ACCESSOR = re.compile(r" +(?:virtual )?[\w:<>&*, ]+[ &*]([a-z]\w*)\(\) const\b")
ASKED = re.compile(r"(?:(?:\.|->)(?:template )?|::|(?<![\w.>:]))([a-z]\w*)(?:<[\w:]+>)?\(|&\w+(?:::\w+)*::([a-z]\w*)")
WORD = re.compile(r"[A-Za-z_]\w*")

# In the folder of the balancer's settings, what declares them and what sets them.
TABLE = re.compile(r"settings(\.h|_list\w*\.cc|_table\.(h|cc))")


def sources():
    """{name: its lines, without comments} of what is no test."""
    return {path.as_posix(): re.sub(r"//[^\n]*", "", path.read_text()).splitlines()
            for path in sorted(pathlib.Path("src").rglob("*")) if path.suffix in (".h", ".cc") and not TEST_FILE.search(path.as_posix())}


def unused_functions(files):
    uses, own, places = collections.Counter(), collections.Counter(), {}
    for name, lines in files.items():
        for number, line in enumerate(lines, 1):
            uses.update(WORD.findall(line))
            match = (DECLARATION if name.endswith(".h") else DEFINITION).match(line)
            if match:
                own[match[1]] += 1
                if name.endswith(".h"):
                    places.setdefault(match[1], f"{name}:{number}")
    unused = {function: place for function, place in places.items() if uses[function] <= own[function]} | unused_accessors(files)
    for function in sorted(unused.keys() - KEPT.keys()):
        yield f"{unused[function]}: {function} is used by tests alone: delete it, or name it with a reason in tests/structure/unused.py"
    for function in sorted(KEPT.keys() - unused.keys()):
        yield f"tests/structure/unused.py: {function} is gone, or used: it needs no exception any more"


def unused_accessors(files):
    asked, own, places = collections.Counter(), collections.Counter(), {}
    for name, lines in files.items():
        for number, line in enumerate(lines, 1):
            asked.update(direct or by_name for direct, by_name in ASKED.findall(line))
            match = ACCESSOR.match(line) if name.endswith(".h") else re.match(r"(?! )[^(]*::([a-z]\w*)\(\) const", line)
            if match:
                own[match[1]] += 1
                if name.endswith(".h"):
                    places.setdefault(match[1], f"{name}:{number}")
    return {accessor: place for accessor, place in places.items() if asked[accessor] <= own[accessor]}


def unread_settings(files):
    header = next(path for path in pathlib.Path("src").rglob("settings.h") if "struct ConstraintPriorities" in path.read_text())
    text = header.read_text()
    structs = text[text.index("struct ConstraintPriorities"):text.index("/// Minimum times between")]
    read = {word for name, lines in files.items()
            if pathlib.Path(name).parent != header.parent or not TABLE.fullmatch(pathlib.Path(name).name)
            for line in lines for word in WORD.findall(line)}
    for field in re.findall(r"^  [\w:<>, ]+ (\w+)(?: = [^;]+)?;", structs, re.M):
        if field not in read:
            yield f"{header}: {field} is read by nothing: its parameter is one without effect (SettingsTable::Unused)"


def main():
    files = sources()
    wrong = [*unused_functions(files), *unread_settings(files)]
    print("\n".join(wrong) or f"unused: {len(files)} files")
    return 1 if wrong else 0


sys.exit(main())
