"""A folder includes only folders above it in this list; a module's tests may look into all of its rooms; the five controllers never include
each other. Documents name only folders and files that there are, and ARCHITECTURE's
walks follow includes."""
import itertools
import pathlib
import re
import sys

# A room is a folder of a module: it shares the module's library and namespace. Rooms in brackets know each other.
LAYERS = [
    "base", "base/input", "base/process", "kube", "kube/schema", "kube/cel", "kube/rules", "kube/forms", "kube/validation", "client", "client/http", ("scheduling", "scheduling/devices"), "solver",
    "balancing/model", "balancing/measures", "balancing/rules", "balancing/input", "balancing/search", "balancing/placement", "balancing/repairs", "balancing/plan", "providers",
    "controllers/runtime",
    "controllers/distribution/sharding", "controllers/distribution/leases", "controllers/distribution/distributor",
    "controllers/autoscaler/options", "controllers/autoscaler/facts", "controllers/autoscaler/cluster_state", "controllers/autoscaler/expanders",
    "controllers/autoscaler/scale_up", "controllers/autoscaler/scale_down", "controllers/autoscaler/loop", "controllers/autoscaler/member",
    "controllers/balancer", "controllers/scheduler",
    "controllers/rollout", "controllers/rollout/zookeeper/spec", "controllers/rollout/zookeeper/reading", "controllers/rollout/zookeeper/plan",
    "controllers/rollout/zookeeper/hub", "controllers/rollout/zookeeper/member", "controllers",
    "embedded/store", "embedded/access",
    "embedded/apiserver/requests", "embedded/apiserver/definitions", "embedded/apiserver/tables", "embedded/apiserver/objects",
    ("embedded/apiserver/access", "embedded/apiserver/admission", "embedded/apiserver/api"), "embedded/apiserver/http",
    "embedded/workloads/pods", "embedded/workloads/controllers", "embedded/workloads/cluster", "embedded/nodeagent",
    "embedded/federation/policies", "embedded/federation/members", "embedded/federation/hub", "embedded/cloud", "embedded/fleet",
    "sim/network", "sim/world", "sim/checkers", "sim/report", "sim/run", ("dashboard", "dashboard/access", "dashboard/actions", "dashboard/history"),
    "cli/terminal", "cli/clusters", "cli/commands", "cli/tree",
]
ORDER = {layer: number for number, entry in enumerate(LAYERS) for layer in ((entry,) if isinstance(entry, str) else entry)}
CONTROLLERS = ("distribution", "autoscaler", "balancer", "scheduler", "rollout")
TEST = re.compile(r"_(test|testing|bench|fuzz)\.(cc|h)$")
MOST_FILES = 50
MOST_STEPS = 12


def layer_of(path):
    """The layer that a path relative to src/ belongs to: generated headers may lie below its folder."""
    matches = [layer for layer in ORDER if path.startswith(layer + "/")]
    return max(matches, key=len) if matches else None


def controller_of(layer):
    name = layer.split("/")[1] if layer.startswith("controllers/") else None
    return name if name in CONTROLLERS else None


def module_of(layer, modules):
    return max((module for module in modules if (layer + "/").startswith(module + "/")), key=len)


def wrong_includes(root):
    modules = {file.parent.relative_to(root).as_posix() for file in root.rglob("CMakeLists.txt")} - {".", "embedded"}
    for file in sorted(root.rglob("*")):
        if file.suffix not in (".h", ".cc") or file.parent == root:
            continue
        here = layer_of(file.relative_to(root).as_posix())
        if here is None or here != file.parent.relative_to(root).as_posix():
            yield f"{file}: its folder is not in the list of layers (tests/structure/layers.py)"
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'#include "([^"]+)"', line)
            if not include:
                continue
            there = layer_of(include.group(1))
            if there is None:
                yield f"{file}:{number}: {include.group(1)} is not relative to src/"
            elif None not in (controller_of(here), controller_of(there)) and controller_of(here) != controller_of(there):
                yield f"{file}:{number}: {here} may not include {there}: controllers never include each other"
            elif ORDER[there] > ORDER[here] and not (TEST.search(file.name) and module_of(here, modules) == module_of(there, modules)):
                yield f"{file}:{number}: {here} may not include {there}, which is below it"


def full_rooms(root):
    for folder in sorted(path for path in root.rglob("*") if path.is_dir()):
        count = sum(file.suffix in (".h", ".cc") for file in folder.iterdir())
        if count > MOST_FILES:
            yield f"{folder}: {count} files, more than {MOST_FILES}: give it rooms"


def unknown_names(root):
    """Folders that ARCHITECTURE names as `folder/`, and source files that any document names."""
    modules = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_dir()]
    for document in [*pathlib.Path("docs").rglob("*.md"), *pathlib.Path().glob("*.md")]:
        for number, line in enumerate(document.read_text().splitlines(), 1):
            # A room is named after its module, in the same line.
            around = (root, pathlib.Path(), *(root / module for module in modules if f"`{module}/`" in line))
            for name in re.findall(r"`([a-z_]+(?:/[a-z_]+)*)/`", line) if document.name == "ARCHITECTURE.md" else ():
                if not any((folder / name).is_dir() for folder in around):
                    yield f"{document}:{number}: there is no folder {name}/"
            for name in re.findall(r"`(?:src/)?([a-z_]+/[a-z_/]+\.(?:h|cc))`", line):
                if not (root / name).is_file() and not pathlib.Path(name).is_file():
                    yield f"{document}:{number}: there is no file src/{name}"


def wrong_house():
    """The table of the house names every module and room, in this order."""
    document = pathlib.Path("docs/ARCHITECTURE.md")
    told = []
    for row in re.findall(r"^\| `([a-z_/]+)/` \|(.*)$", document.read_text(), flags=re.M):
        rooms = re.findall(r"`([a-z_]+)/`", row[1])
        told += ([row[0]] if row[0] in ORDER else []) + [f"{row[0]}/{room}" for room in rooms if f"{row[0]}/{room}" in ORDER]
    listed = [layer for entry in LAYERS for layer in ((entry,) if isinstance(entry, str) else entry)]
    if told != listed:
        first = next((pair for pair in itertools.zip_longest(told, listed) if pair[0] != pair[1]))
        yield f"{document}: the table of the house has {first[0]} where tests/structure/layers.py has {first[1]}"


def included_by(file):
    """What a header and its body include."""
    texts = [path.read_text() for path in (file, file.with_suffix(".cc")) if path.is_file()]
    return {name for text in texts for name in re.findall(r'#include "([^"]+)"', text)}


def broken_walks(root):
    """Each step of a walk is joined by an include to one before it; a walk has at most MOST_STEPS."""
    document = pathlib.Path("docs/ARCHITECTURE.md")
    walks = []
    for number, line in enumerate(document.read_text().splitlines(), 1):
        step = re.match(r"(\d+)\. `([a-z_/]+\.h)`: ", line)
        if not step:
            continue
        if step.group(1) == "1":
            walks.append([])
        walk = walks[-1]
        here = step.group(2)
        if walk and not any(before in included_by(root / here) or here in included_by(root / before) for before in walk):
            yield f"{document}:{number}: no include joins {here} to a step before it"
        walk.append(here)
        if len(walk) > MOST_STEPS:
            yield f"{document}:{number}: a walk of more than {MOST_STEPS} files"
    if len(walks) < 3:
        yield f"{document}: three walks are missing"


def main():
    root = pathlib.Path("src")
    wrong = [*wrong_includes(root), *full_rooms(root), *unknown_names(root), *wrong_house(), *broken_walks(root)]
    print("\n".join(wrong) or f"layers: {len(ORDER)} folders in order")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
