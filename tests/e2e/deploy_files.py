"""What is in deploy/, as the tools that people use read it."""
import yaml

import harness

KUSTOMIZE = harness.ROOT / "deploy/kustomize"
OVERLAYS = KUSTOMIZE / "overlays"


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


def built(directory):
    """The objects of a kustomization of ours: files, other kustomizations, and replacements by JSON patch. A test compares with kubectl's
    own, where there is one that is new enough."""
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    assert kustomization.keys() <= {"apiVersion", "kind", "resources", "patches"}, kustomization.keys()
    objects = []
    for name in kustomization["resources"]:
        path = (directory / name).resolve()
        objects += built(path) if path.is_dir() else documents(path.read_text())
    for patch in kustomization.get("patches", []):
        meant = [thing for thing in objects if thing["kind"] == patch["target"]["kind"]]
        assert meant, patch
        for operation in yaml.safe_load((directory / patch["path"]).read_text()):
            assert operation["op"] == "replace" and operation["path"].count("/") == 1, operation
            for thing in meant:
                thing[operation["path"].lstrip("/")] = operation["value"]
    return objects


def overlay(name):
    return built(OVERLAYS / name)
