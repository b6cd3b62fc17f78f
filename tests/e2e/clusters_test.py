"""`evenkeel clusters` against a hub and a member with authorization: who gets which rights, how long tokens hold, who renews them."""
import base64
import json
import os
import re
import subprocess
import unittest

import harness

LONG = 120
LABEL = "argocd.argoproj.io/secret-type=cluster"
HOLDS = "evenkeel.dev/token-expires"


class ClustersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(harness.fleet(cls.home, "--members", "1", "--replicas", "1"))
        cls.hub = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig", "hub")
        cls.member = cls.hub.at("member-1")
        cls.seen = set()

    def ask(self, *words, code=0):
        """Its output, in which no token may be."""
        result = subprocess.run([harness.EVENKEEL, "clusters", *words], capture_output=True, text=True, timeout=LONG,
                                env={**os.environ, "KUBECONFIG": str(self.home / "kubeconfig"), "EVENKEEL_HOME": str(self.home)})
        text = result.stdout + result.stderr
        self.assertEqual(result.returncode, code, text)
        self.seen |= {text}
        return text

    def secret(self):
        [secret] = self.hub.json("-n", "evenkeel", "get", "secrets", "-l", LABEL)["items"]
        return secret

    def token(self):
        return json.loads(base64.b64decode(self.secret()["data"]["config"]))["bearerToken"]

    def may(self, token, *words):
        """What the member says to somebody with this token; None: he is not known."""
        config = json.loads(self.member("config", "view", "--raw", "-o", "json"))
        config["users"] = [{"name": "account", "user": {"token": token}}]
        config["contexts"] = [{"name": "account", "context": {"cluster": context["context"]["cluster"], "user": "account"}}
                              for context in config["contexts"] if context["name"] == "member-1"]
        (self.home / "account").write_text(json.dumps(config))
        result = harness.Kubectl(self.member.path, self.home / "account", "account").run("auth", "can-i", *words, check=False)
        answer = (result.stdout.strip().splitlines() or [""])[-1]
        return {"yes": True, "no": False}.get(answer)

    def test_1_one_server_is_one_cluster(self):
        self.assertIn("member-1", self.ask("list"))
        self.assertIn("Secret evenkeel/member-1 is cluster member-1 at", self.ask("add", "member-1", "--name", "other", code=1))
        self.assertIn('no cluster "other"', self.ask("remove", "other", code=1))
        self.assertIn("is removed", self.ask("remove", "member-1"))
        self.assertIn("no clusters in namespace evenkeel: evenkeel clusters add CONTEXT registers one", self.ask("list"))

    def test_2_the_account_may_what_replicas_do(self):
        text = self.ask("add", "member-1", "--token-lifetime", "1h")
        self.assertRegex(text, r"its token ends \S+; the replica that owns the member renews it from \S+ on")
        self.assertIn("leads only to this machine", text)
        token = self.token()
        for words in (("list", "nodes"), ("create", "pods", "--subresource=eviction"), ("update", "nodes"),
                      ("create", "serviceaccounts/evenkeel-member", "--subresource=token", "-n", "evenkeel")):
            self.assertIs(self.may(token, *words), True, words)
        for words in (("create", "serviceaccounts/default", "--subresource=token", "-n", "evenkeel"), ("create", "serviceaccounts", "--subresource=token", "-A"),
                      ("create", "clusterrolebindings"), ("delete", "namespaces"), ("impersonate", "users"), ("*", "*")):
            self.assertIs(self.may(token, *words), False, words)
        harness.eventually(lambda: self.owner(), LONG, "a replica owns the member")
        self.assertRegex(self.ask("list"), r"(?m)^member-1 .* token of evenkeel/evenkeel-member +\S+Z +\S+Z$")

    def owner(self):
        result = subprocess.run([harness.EVENKEEL, "get", "shards"], capture_output=True, text=True, timeout=LONG,
                                env={**os.environ, "KUBECONFIG": str(self.home / "kubeconfig")})
        return re.search(r"(?m)^member-1 .*evenkeel-controller-\S+", result.stdout)

    def test_3_once_more_is_a_new_token(self):
        before = self.token()
        self.ask("add", "member-1")
        self.assertNotEqual(self.token(), before)
        self.assertIs(self.may(before, "list", "nodes"), True)

    def test_4_tokens_are_rotated(self):
        before = self.token()
        self.assertIn("holds until its own end", self.ask("rotate", "member-1"))
        between = self.token()
        self.assertNotEqual(between, before)
        self.assertIs(self.may(before, "list", "nodes"), True)
        self.assertIn("all older ones have ended", self.ask("rotate", "member-1", "--member-context", "member-1"))
        self.assertIsNone(self.may(before, "list", "nodes"))
        self.assertIsNone(self.may(between, "list", "nodes"))
        self.assertIs(self.may(self.token(), "list", "nodes"), True)

    def test_5_a_replica_renews_it_before_it_ends(self):
        before = self.token()
        annotations = {"evenkeel.dev/token-issued": "2020-01-01T00:00:00Z"}
        self.hub("-n", "evenkeel", "patch", "secret", "member-1", "--type=merge", "-p", json.dumps({"metadata": {"annotations": annotations}}))
        # It looks when it begins to look after the member.
        self.hub("-n", "evenkeel", "delete", "pods", "--all")
        harness.eventually(lambda: self.token() != before, LONG, "the token is another one")
        self.assertIs(self.may(self.token(), "list", "nodes"), True)
        self.assertNotEqual(self.secret()["metadata"]["annotations"]["evenkeel.dev/token-issued"], "2020-01-01T00:00:00Z")
        harness.eventually(lambda: self.owner(), LONG, "a replica owns the member")

    def test_6_it_is_removed_from_both(self):
        token = self.token()
        self.assertIn("the account and its roles are removed", self.ask("remove", "member-1", "--member-context", "member-1"))
        self.assertIsNone(self.may(token, "list", "nodes"))
        left = {role["metadata"]["name"] for role in self.member.json("get", "clusterroles")["items"]}
        self.assertEqual({name for name in left if name.startswith("evenkeel-member")}, {"evenkeel-member-embedded"}, "which is the fleet's own")

    def test_7_no_token_is_in_a_log_or_an_answer(self):
        logs = "".join(path.read_text(errors="replace") for path in self.home.rglob("*.log")) + "".join(self.seen)
        self.assertIn("token of the member is renewed", logs)
        self.assertNotRegex(logs, r"eyJ[A-Za-z0-9_-]{20,}\.")


if __name__ == "__main__":
    harness.main()
