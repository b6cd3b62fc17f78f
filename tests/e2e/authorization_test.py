"""Who may do what: accounts with few rights, tokens, impersonation and anonymous requests, as kubectl shows them."""
import base64
import json
import subprocess
import unittest

import harness

LONG = 120
NAMESPACE = "e2e-rights"


class AuthorizationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kubectls = harness.kubectls()
        if not cls.kubectls:
            raise unittest.SkipTest("no kubectl: run tools/kubectl-1.20")
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "0", "--no-controllers"))
        cls.kubectl = harness.Kubectl(list(cls.kubectls.values())[-1], cls.home / "kubeconfig", "hub")
        cls.kubectl("create", "namespace", NAMESPACE)
        for account in ("viewer", "other"):
            cls.kubectl("-n", NAMESPACE, "create", "serviceaccount", account)
        cls.kubectl("-n", NAMESPACE, "create", "rolebinding", "viewer", "--clusterrole=view", f"--serviceaccount={NAMESPACE}:viewer")
        cls.server = json.loads(cls.kubectl("config", "view", "-o", "json"))["clusters"][0]["cluster"]["server"]

    def token_of(self, account, seconds=3600):
        """By TokenRequest, which kubectl has a command for since 1.24."""
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [], "expirationSeconds": seconds}}
        answer = self.kubectl("create", "--raw", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token", "-f", "-",
                              stdin=json.dumps(request))
        return json.loads(answer)["status"]["token"]

    def with_token(self, token):
        """A kubectl that has nothing but the token."""
        home = self.enterContext(harness.temporary_home())
        config = json.loads(self.kubectl("config", "view", "--raw", "-o", "json"))
        config["users"] = [{"name": "bot", "user": {"token": token}}]
        config["contexts"] = [{"name": "hub", "context": {**config["contexts"][0]["context"], "user": "bot"}}]
        (home / "kubeconfig").write_text(json.dumps(config))
        return harness.Kubectl(self.kubectl.path, home / "kubeconfig", "hub")

    def status(self, path, *arguments):
        return subprocess.run(["curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", *arguments, self.server + path], capture_output=True,
                              text=True).stdout

    def test_an_account_may_what_its_role_says(self):
        viewer = self.with_token(self.token_of("viewer"))
        self.assertIn("kube-root", viewer("-n", NAMESPACE, "get", "configmaps,pods", "--ignore-not-found") + "kube-root")
        for refused, text in (
                (("get", "secrets", "-n", NAMESPACE),
                 f'secrets is forbidden: User "system:serviceaccount:{NAMESPACE}:viewer" cannot list resource "secrets" in API group "" in the '
                 f'namespace "{NAMESPACE}"'),
                (("get", "nodes"), 'nodes is forbidden: User "system:serviceaccount:e2e-rights:viewer" cannot list resource "nodes" in API group '
                                   '"" at the cluster scope'),
                (("delete", "pod", "x", "-n", NAMESPACE), 'pods "x" is forbidden')):
            result = viewer.run(*refused, check=False)
            self.assertEqual(result.returncode, 1, result.stdout)
            self.assertIn(text, result.stderr)
        for version, path in self.kubectls.items():
            asks = harness.Kubectl(path, viewer.kubeconfig, "hub")
            self.assertEqual(asks("auth", "can-i", "list", "pods", "-n", NAMESPACE).strip(), "yes", version)
            denied = asks.run("auth", "can-i", "create", "pods", "-n", NAMESPACE, check=False)
            self.assertEqual((denied.stdout.strip(), denied.returncode), ("no", 1), version)
            self.assertIn("configmaps", asks("auth", "can-i", "--list", "-n", NAMESPACE))

    def test_tokens_end_with_their_account(self):
        self.kubectl("-n", NAMESPACE, "create", "serviceaccount", "leaving")
        token = self.token_of("leaving")
        bearer = ("-H", f"Authorization: Bearer {token}")
        self.assertEqual(self.status("/api", *bearer), "200")
        self.assertEqual(self.status("/api", "-H", f"Authorization: Bearer {token[:-4]}AAAA"), "401")
        self.kubectl("-n", NAMESPACE, "delete", "serviceaccount", "leaving")
        self.assertEqual(self.status("/api", *bearer), "401")

    def test_kubectl_makes_tokens(self):
        if "create token" not in self.kubectl("create", "--help") and "  token" not in self.kubectl("create", "--help"):
            self.skipTest("this kubectl has no such command")
        token = self.kubectl("-n", NAMESPACE, "create", "token", "viewer", "--duration=20m").strip()
        self.assertEqual(self.status(f"/api/v1/namespaces/{NAMESPACE}/pods", "-H", f"Authorization: Bearer {token}"), "200")

    def test_secrets_get_the_token_of_their_account(self):
        secret = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
                  "metadata": {"name": "viewer-token", "annotations": {"kubernetes.io/service-account.name": "viewer"}}}
        self.kubectl("-n", NAMESPACE, "apply", "-f", "-", stdin=json.dumps(secret))

        def filled():
            return self.kubectl.json("-n", NAMESPACE, "get", "secret", "viewer-token").get("data", {}).get("token")
        token = base64.b64decode(harness.eventually(filled, LONG, "the Secret has a token")).decode()
        bearer = ("-H", f"Authorization: Bearer {token}")
        self.assertEqual(self.status(f"/api/v1/namespaces/{NAMESPACE}/pods", *bearer), "200")
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        answer = json.loads(self.kubectl("create", "--raw", "/apis/authentication.k8s.io/v1/tokenreviews", "-f", "-", stdin=json.dumps(review)))
        self.assertEqual(answer["status"]["user"]["username"], f"system:serviceaccount:{NAMESPACE}:viewer")
        self.kubectl("-n", NAMESPACE, "delete", "secret", "viewer-token")
        self.assertEqual(self.status("/api", *bearer), "401")

    def test_impersonation_takes_the_right_to(self):
        for version, path in self.kubectls.items():
            kubectl = harness.Kubectl(path, self.home / "kubeconfig", "hub")
            as_viewer = f"--as=system:serviceaccount:{NAMESPACE}:viewer"
            kubectl("-n", NAMESPACE, "get", "pods", as_viewer)
            refused = kubectl.run("-n", NAMESPACE, "get", "secrets", as_viewer, check=False)
            self.assertIn("secrets is forbidden", refused.stderr, version)
            self.assertEqual(kubectl("auth", "can-i", "delete", "nodes", "--as=eve", "--as-group=system:masters").strip(), "yes", version)
            self.assertEqual(kubectl.run("auth", "can-i", "delete", "nodes", "--as=eve", check=False).stdout.strip(), "no", version)
        viewer = self.with_token(self.token_of("viewer"))
        refused = viewer.run("get", "--raw", f"/api/v1/namespaces/{NAMESPACE}/pods", "--as=admin", check=False)
        self.assertIn('users "admin" is forbidden: User "system:serviceaccount:e2e-rights:viewer" cannot impersonate resource "users" in API '
                      'group "" at the cluster scope', refused.stderr)

    def test_nobody_gives_away_more_than_they_have(self):
        self.kubectl("-n", NAMESPACE, "create", "rolebinding", "other", "--clusterrole=admin", f"--serviceaccount={NAMESPACE}:other")
        other = self.with_token(self.token_of("other"))

        def create(kind, name, **content):
            made = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name, "namespace": NAMESPACE}, **content}
            return other.run("create", "--validate=false", "-f", "-", stdin=json.dumps(made), check=False)

        def rule(resource):
            return [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}]
        self.assertEqual(create("Role", "reader", rules=rule("pods")).returncode, 0)
        self.assertIn("is attempting to grant RBAC permissions not currently held", create("Role", "more", rules=rule("nodes")).stderr)
        refused = create("RoleBinding", "all", subjects=[{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}],
                         roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"})
        self.assertIn('{APIGroups:["*"], Resources:["*"], Verbs:["*"]}', refused.stderr)

    def test_upstreams_roles_are_there_and_put_together(self):
        roles = {role["metadata"]["name"]: role for role in self.kubectl.json("get", "clusterroles")["items"]}
        self.assertIn("system:controller:deployment-controller", roles)
        for name in ("admin", "edit", "view"):
            self.assertGreater(len(roles[name]["rules"]), 10, name)


if __name__ == "__main__":
    harness.main_in_parallel()
