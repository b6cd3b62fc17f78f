"""The API server that is not ours: EVENKEEL_E2E_KUBECONFIG names its kubeconfig. Tests of it skip themselves where that is not set."""
import os
import subprocess
import sys
import unittest

import harness
from process_fleet import cluster_of

KUBECONFIG = os.environ.get("EVENKEEL_E2E_KUBECONFIG", "")
# Of more such servers, for tests with members of their own; with colons in between.
MEMBER_KUBECONFIGS = [path for path in os.environ.get("EVENKEEL_E2E_MEMBER_KUBECONFIGS", "").split(":") if path]


def kubectl_for(home, kubeconfig=KUBECONFIG):
    """With a copy of the kubeconfig in `home`, so that nothing of a test ends up beside the original."""
    path = harness.any_kubectl()
    view = subprocess.run([path, "--kubeconfig", kubeconfig, "config", "view", "--raw", "--flatten", "--minify"], capture_output=True,
                          text=True, check=True)
    copy = home / "real.kubeconfig"
    copy.touch(mode=0o600)
    copy.write_text(view.stdout)
    kubectl = harness.Kubectl(path, copy)
    print(f"API server {kubectl.json('version')['serverVersion']['gitVersion']} at {cluster_of(kubectl)[0]}")
    return kubectl


def bare_kubectl_for(home, kubeconfig=KUBECONFIG):
    """Skips the test where the server has nodes: what else belongs to a cluster is played (played_parts.py)."""
    kubectl = kubectl_for(home, kubeconfig)
    if kubectl.json("get", "nodes")["items"]:
        raise unittest.SkipTest(f"{cluster_of(kubectl)[0]} has nodes of its own: this test needs a bare API server")
    return kubectl


def main():
    if not KUBECONFIG:
        print("skipped: EVENKEEL_E2E_KUBECONFIG is not set; give it the kubeconfig of an API server to test against")
        sys.exit(77)
    harness.main()
