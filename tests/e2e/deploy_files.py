"""What is in deploy/, as the tools that people use read it."""
import json
import os
import shutil
import subprocess

import jsonschema
import yaml

import harness

KUSTOMIZE = harness.ROOT / "deploy/kustomize"
OVERLAYS = KUSTOMIZE / "overlays"
CHART = harness.ROOT / "deploy/helm/evenkeel"


def run(*command, **options):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert result.returncode == 0, f"{command[0]}: exit {result.returncode}\n{result.stdout}{result.stderr}"
    return result.stdout


def documents(text):
    return [document for document in yaml.safe_load_all(text) if document]


def built(directory):
    """The objects of a kustomization of ours: files, other kustomizations, images of a Deployment, and JSON patches that replace or add. A test
    compares with kubectl's own, where there is one that is new enough."""
    kustomization = yaml.safe_load((directory / "kustomization.yaml").read_text())
    assert kustomization.keys() <= {"apiVersion", "kind", "resources", "images", "patches"}, kustomization.keys()
    objects = []
    for name in kustomization["resources"]:
        path = (directory / name).resolve()
        objects += built(path) if path.is_dir() else documents(path.read_text())
    for image in kustomization.get("images", []):
        for thing in objects:
            for container in thing["spec"]["template"]["spec"]["containers"] if thing["kind"] == "Deployment" else []:
                if container["image"].rpartition(":")[0] == image["name"]:
                    container["image"] = f"{image['newName']}:{image['newTag']}"
    for patch in kustomization.get("patches", []):
        meant = [thing for thing in objects if thing["kind"] == patch["target"]["kind"]]
        assert meant, patch
        for operation in yaml.safe_load((directory / patch["path"]).read_text()):
            for thing in meant:
                change(thing, **operation)
    return objects


def change(thing, op, path, value):
    *steps, last = path.lstrip("/").split("/")
    for step in steps:
        thing = thing[int(step) if isinstance(thing, list) else step]
    if isinstance(thing, list):
        assert (op, last) == ("add", "-"), (op, path)
        thing.append(value)
    else:
        assert op == ("replace" if last in thing else "add"), (op, path)
        thing[last] = value


def overlay(name):
    return built(OVERLAYS / name)


def by_name(objects):
    found = {(thing["kind"], thing["metadata"].get("namespace", ""), thing["metadata"]["name"]): thing for thing in objects}
    assert len(found) == len(objects)
    return found


def merge(into, more):
    for key, value in more.items():
        assert key in into, f"values.yaml does not say that {key} exists"
        if isinstance(value, dict) and into[key]:
            merge(into[key], value)
        else:
            into[key] = value


def merged(values, changes):
    """As Helm does: what is unknown is added, and for the schema to refuse."""
    result = dict(values)
    for key, value in changes.items():
        result[key] = merged(values[key], value) if isinstance(value, dict) and isinstance(values.get(key), dict) else value
    return result


def refusals(values):
    """What the chart's schema has against them."""
    validator = jsonschema.Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(values)]


def template_program():
    """helm_template.go, compiled once: `go run` would link it each time."""
    source, program = harness.ROOT / "tests/e2e/helm_template.go", harness.ROOT / "build/helm_template"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        go = shutil.which("go") or "/usr/lib/go-1.19/bin/go"
        environment = {**os.environ, "GOFLAGS": "", "GO111MODULE": "off", "GOCACHE": str(harness.ROOT / "build/go-cache")}
        made = program.with_name(f"helm_template.{os.getpid()}")
        run(go, "build", "-o", made, source, env=environment)
        made.replace(program)
    return program


def chart(api_versions, **changes):
    """(objects, notes) with these values, on a server with these versions of APIs. By Go's own templates (helm_template.go), and by Helm where
    there is one."""
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    merge(values, changes)
    assert not refusals(values), refusals(values)
    about = yaml.safe_load((CHART / "Chart.yaml").read_text())
    context = {"Values": values, "Chart": {"AppVersion": about["appVersion"], "Name": about["name"], "Version": about["version"]}}
    text = run(template_program(), CHART, "evenkeel", ",".join(api_versions), json.dumps(context))
    files = json.loads(text)
    notes = files.pop("NOTES.txt")
    objects = [thing for file in files.values() for thing in documents(file)]
    if shutil.which("helm"):
        flags = [word for version in api_versions for word in ("--api-versions", version)]
        theirs = run("helm", "template", "evenkeel", CHART, "--namespace", "evenkeel", *flags, "-f", "-", input=json.dumps(values))
        assert by_name(documents(theirs)) == by_name(objects)
    return objects, notes
