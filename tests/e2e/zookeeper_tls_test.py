"""Real ZooKeeper servers over three members that begin to use TLS while a client counts: mode by mode, with a Secret of the hub."""
import base64
import contextlib
import json
import pathlib
import socket
import ssl
import subprocess
import unittest

import harness
import zookeeper_ensemble as zk

# Debian's zookeeper.jar names the other jars that it needs for TLS, but not these.
JARS = ["/usr/share/java/netty-codec.jar", "/usr/share/java/netty-resolver.jar"]
ELECTION, CLIENT = 3888, 2281


def run(*command):
    subprocess.run(command, check=True, capture_output=True)


def make_certificate(folder, hosts):
    """tls.key, tls.crt and ca.crt: one certificate for all servers, each of which shows it to those that it connects to."""
    run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "ca.key", "-out", folder / "ca.crt", "-days", "2",
        "-subj", "/CN=test")
    run("openssl", "req", "-newkey", "rsa:2048", "-nodes", "-keyout", folder / "tls.key", "-out", folder / "request", "-subj", "/CN=zk")
    # A server looks at where a connection comes from, too: on one machine that is the loopback address.
    names = ",".join(f"IP:{host}" for host in [*hosts, "127.0.0.1"])
    (folder / "extensions").write_text(f"subjectAltName={names}\n")
    run("openssl", "x509", "-req", "-in", folder / "request", "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key", "-CAcreateserial",
        "-days", "2", "-extfile", folder / "extensions", "-out", folder / "tls.crt")


class TlsTest(zk.Counting, unittest.TestCase):
    SHARES = {"member-1": 1, "member-2": 1, "member-3": 1}
    IDS = [1, 11, 21]

    @classmethod
    def setUpClass(cls):
        zk.require_zookeeper()
        for jar in JARS:
            if not pathlib.Path(jar).exists():
                raise unittest.SkipTest(f"{jar} is missing")
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "3", "--nodes", "1"))
        kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig")
        cls.hub, cls.addresses = kubectl.at("hub"), zk.Addresses(cls.home)
        cls.members = {name: zk.Member(kubectl.at(name)) for name in cls.SHARES}
        harness.eventually(lambda: "multiclusterzookeepers" in cls.hub("api-resources", "--api-group=evenkeel.dev"), zk.LONG)
        cls.folder = cls.enterClassContext(harness.temporary_home())
        make_certificate(cls.folder, [cls.addresses.host(server) for server in cls.IDS])
        data = {name: base64.b64encode((cls.folder / name).read_bytes()).decode() for name in ("tls.key", "tls.crt", "ca.crt")}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "zk-tls"}, "type": "kubernetes.io/tls", "data": data}
        cls.hub("apply", "-f", "-", stdin=json.dumps(secret))
        cls.apply({})
        cls.wait_ready(1)

    @classmethod
    def apply(cls, tls):
        ensemble = zk.over_clusters(cls.addresses, cls.SHARES)
        ensemble["spec"]["template"]["tls"] = tls
        environment = ensemble["spec"]["template"]["podTemplate"]["spec"]["containers"][0]["env"]
        environment[0]["value"] = zk.COMMAND.replace(zk.JARS[-1], ":".join([zk.JARS[-1], *JARS]))
        harness.eventually(lambda: cls.hub("apply", "-f", "-", stdin=json.dumps(ensemble)), zk.LONG)

    @classmethod
    def wait_ready(cls, records, seconds=400):
        def ready():
            status = cls.hub.json("get", "multiclusterzookeepers", "zk").get("status", {})
            seen = {one["type"]: (one["status"], one["message"]) for one in status.get("conditions", [])}
            assert len(status.get("records", [])) == records and seen["Ready"][0] == "True", (len(status.get("records", [])), seen)
            return status
        return harness.eventually(ready, seconds)

    def speaks_tls(self, server, port, certificate=True, word=b""):
        """What is answered to the word by TLS; None where TLS is not spoken, or not with us."""
        context = ssl.create_default_context(cafile=self.folder / "ca.crt")
        if certificate:
            context.load_cert_chain(self.folder / "tls.crt", self.folder / "tls.key")
        with contextlib.suppress(OSError):
            with socket.create_connection((self.addresses.host(server), port), 20) as plain:
                with context.wrap_socket(plain, server_hostname=self.addresses.host(server)) as connection:
                    connection.sendall(word)
                    return connection.recv(65536).decode() if word else ""
        return None

    def test_1_switched_on_while_a_client_counts(self):
        self.assertIsNone(self.speaks_tls(1, ELECTION))
        counter = self.counting(self.IDS)
        self.apply({"quorumSecret": "zk-tls", "clientSecret": "zk-tls"})
        status = self.wait_ready(4)
        self.check(counter, "TLS switched on among servers and for clients")
        self.assertEqual([record["status"] for record in status["records"]], ["Ready"] * 4, "one for each mode, and the first")
        for server, member in zip(self.IDS, self.members.values()):
            tls = member.get()["spec"]["tls"]
            self.assertEqual((tls["quorumSecret"], tls["quorumMode"]), ("zk-tls", "Require"))
            self.assertIsNotNone(self.speaks_tls(server, ELECTION))
            self.assertIn("Mode: ", self.speaks_tls(server, CLIENT, word=b"srvr"))
            self.assertFalse(self.speaks_tls(server, CLIENT, certificate=False, word=b"srvr"), "clients have to show a certificate")

    def test_2_switched_off_again(self):
        counter = self.counting(self.IDS)
        self.apply({})
        self.wait_ready(7)
        self.check(counter, "TLS switched off")
        for server in self.IDS:
            self.assertIsNone(self.speaks_tls(server, ELECTION))
            self.assertIsNone(self.speaks_tls(server, CLIENT))
        # Nobody needs it there any more.
        for member in self.members.values():
            harness.eventually(lambda member=member: "zk-tls" not in member.run("get", "secrets", "-o", "name"), zk.LONG)


if __name__ == "__main__":
    harness.main_in_parallel()
