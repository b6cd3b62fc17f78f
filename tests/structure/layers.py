"""A folder includes only folders above it in this list; the four controllers never include each other."""
import pathlib
import re
import sys

LAYERS = [
    "base", "kube", "client", "scheduling", "placement", "providers", "controllers/runtime", "controllers/distribution",
    "controllers/autoscaler", "controllers/balancer", "controllers/rollout", "embedded/store", "embedded/access", "embedded/apiserver",
    "embedded/workloads", "embedded/nodeagent", "embedded/federation", "embedded/cloud", "embedded/fleet", "sim", "dashboard", "cli",
]
SIBLINGS = {layer for layer in LAYERS if layer.startswith("controllers/") and layer != "controllers/runtime"}
GENERATED = {".pb.h"}


def layer_of(path):
    """The layer that a path relative to src/ belongs to."""
    matches = [layer for layer in LAYERS if path.startswith(layer + "/")]
    return max(matches, key=len) if matches else None


def main():
    root = pathlib.Path("src")
    wrong = []
    for file in sorted(root.rglob("*")):
        if file.suffix not in (".h", ".cc") or file.parent == root:
            continue
        here = layer_of(file.relative_to(root).as_posix())
        if here is None:
            wrong.append(f"{file}: its folder is not in the list of layers (tests/structure/layers.py)")
            continue
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r'#include "([^"]+)"', line)
            if not include:
                continue
            there = layer_of(include.group(1))
            if there is None:
                wrong.append(f"{file}:{number}: {include.group(1)} is not relative to src/")
            elif here in SIBLINGS and there in SIBLINGS and here != there:
                wrong.append(f"{file}:{number}: {here} may not include {there}: controllers never include each other")
            elif LAYERS.index(there) > LAYERS.index(here):
                wrong.append(f"{file}:{number}: {here} may not include {there}, which is below it")
    print("\n".join(wrong) or f"layers: {len(LAYERS)} folders in order")
    return 1 if wrong else 0


sys.exit(main())
