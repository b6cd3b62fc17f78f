"""What members do to the replicas that look after them: one that is named twice, hundreds that never answer, one that answers without end. The
others keep their owners."""
import json
import socket
import threading
import time
import unittest

import harness
from process_fleet import ApiServer, ProcessFleet, cluster_of

LONG = 120
HANGING = 150


class Silent:
    """A server that accepts TCP and never answers."""

    def __init__(self):
        self.socket, self.accepted = socket.create_server(("127.0.0.1", 0), backlog=4096), []
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                self.accepted.append(self.socket.accept())
            except OSError:
                return

    def close(self):
        self.socket.close()
        for connection, _ in self.accepted:
            connection.close()


class MembersTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.hub = ApiServer(cls.home / "hub")
        cls.addClassCleanup(lambda: cls.hub.program.stop(9))
        cls.fleet = ProcessFleet(cls.hub.kubectl, cls.home)
        cls.addClassCleanup(cls.fleet.stop)
        cls.fleet.create(["m1", "m2"])
        for _ in range(2):
            cls.fleet.start()

    def owners(self):
        return {row["cluster"]: row["owner"] for row in self.fleet.shards()["clusters"]}

    def settled(self, *clusters):
        def all_owned():
            owners = self.owners()
            self.assertTrue(all(owners.get(cluster) for cluster in clusters), owners)
            return owners
        return harness.eventually(all_owned, LONG)

    def lease(self, member):
        return self.fleet.members[member].kubectl.json("-n", "kube-system", "get", "lease", "evenkeel-owner")

    def test_1_a_second_secret_takes_nothing_from_a_working_owner(self):
        self.settled("m1", "m2")
        before = self.lease("m1")
        server, config = cluster_of(self.fleet.members["m1"].kubectl)
        authority = json.loads(config)["tlsClientConfig"]["caData"]
        token = self.account_with_rights_on_leases_only("m1")
        config = json.dumps({"bearerToken": token, "tlsClientConfig": {"caData": authority}})
        self.fleet.secret("m1-team", {}, name="m1-team", server=f"{server}?__uid=team", namespaces="team-a", config=config)

        def told():
            events = self.fleet.kubectl.json("-n", self.fleet.namespace, "get", "events")["items"]
            told = [event for event in events if event["reason"] == "SameCluster"]
            self.assertEqual(len(told), 1, told)
            event = told[0]
            self.assertEqual(event["involvedObject"]["name"], "m1-team")
            for name in ("cluster m1-team", "cluster as m1 "):
                self.assertIn(name, event["message"])
            return True
        harness.eventually(told, LONG)
        time.sleep(20)  # longer than a Lease lasts
        after = self.lease("m1")
        for field in ("holderIdentity", "leaseTransitions", "acquireTime"):
            self.assertEqual(after["spec"].get(field), before["spec"].get(field), field)
        self.assertEqual(after["metadata"]["annotations"]["evenkeel.dev/member-name"], "m1")
        self.assertEqual(self.owners()["m1-team"], "")
        explained = self.fleet.evenkeel("explain", "cluster", "m1-team")
        self.assertIn("it is the same cluster as m1", explained)

    def account_with_rights_on_leases_only(self, member):
        kubectl = self.fleet.members[member].kubectl
        kubectl("-n", "kube-system", "create", "serviceaccount", "leases")
        kubectl("-n", "kube-system", "create", "role", "leases", "--verb=get,list,watch,create,update", "--resource=leases.coordination.k8s.io")
        kubectl("-n", "kube-system", "create", "rolebinding", "leases", "--role=leases", "--serviceaccount=kube-system:leases")
        return kubectl("-n", "kube-system", "create", "token", "leases").strip()

    def test_2_members_that_never_answer_hold_nobody_up(self):
        silent = Silent()
        self.addCleanup(silent.close)
        names = [f"silent-{number}" for number in range(HANGING)]
        items = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": self.fleet.namespace,
                                                                    "labels": {"argocd.argoproj.io/secret-type": "cluster"}},
                  "stringData": {"name": name, "server": f"https://127.0.0.1:{silent.port}/{name}",
                                 "config": json.dumps({"bearerToken": "x", "tlsClientConfig": {"insecure": True}})}} for name in names]
        self.fleet.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
        harness.eventually(lambda: len(silent.accepted) >= HANGING, LONG)
        self.settled("m1", "m2")
        begin = time.monotonic()
        name, process = next(iter(self.fleet.processes.items()))
        self.fleet.processes.pop(name)
        self.assertEqual(process.stop(seconds=40), 0, process.output()[-2000:])
        took = time.monotonic() - begin
        print(f"SIGTERM beside {HANGING} members that never answer: {took:.1f} s")
        self.assertLess(took, 30)
        self.settled("m1", "m2")
        self.fleet.kubectl_here("delete", "secrets", *names, "--wait=false")


if __name__ == "__main__":
    unittest.main(verbosity=2)
