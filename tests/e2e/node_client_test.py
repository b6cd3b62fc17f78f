"""@kubernetes/client-node does with an embedded member what programs do with it: tests/node-client/everyday.mjs."""
import os
import shutil
import subprocess
import sys
import unittest

import harness
import node_modules

SOURCE = harness.ROOT / "tests/node-client"
MODULES = harness.ROOT / "build/node-client"


class NodeClientTest(unittest.TestCase):
    def test_everyday(self):
        with harness.temporary_home() as home, harness.fleet(home, "--members", "1"):
            kubectl = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig")
            kubectl("config", "use-context", "member-1")
            # Modules are looked for beside the file that imports them.
            program = shutil.copy(SOURCE / "everyday.mjs", MODULES)
            done = subprocess.run(["node", program], env={**os.environ, "KUBECONFIG": str(home / "kubeconfig")}, capture_output=True, text=True,
                                  timeout=200)
            print(done.stdout, end="", flush=True)
            self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed (tools/setup build)")
            sys.exit(77)
    node_modules.install(SOURCE, MODULES)
    harness.main()
