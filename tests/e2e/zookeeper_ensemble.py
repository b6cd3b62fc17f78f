"""Real ZooKeeper servers as pods of an embedded fleet, over one member or several: what they say, and a client that counts."""
import base64
import contextlib
import copy
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
import unittest

import harness

# An election of servers with ticks of half a second, on a busy machine.
STALL_MAX = 10
JARS = ["/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"]
COUNTER = pathlib.Path(os.environ.get("EVENKEEL_ZOOKEEPER_COUNTER", harness.ROOT / "build/release/tests/evenkeel_zookeeper_counter"))
COMMAND = ("java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp " + ":".join(JARS) +
           " org.apache.zookeeper.server.quorum.QuorumPeerMain")


def require_zookeeper():
    for path in [*JARS, COUNTER]:
        if not pathlib.Path(path).exists():
            raise unittest.SkipTest(f"{path} is missing")
    if shutil.which("java") is None:
        raise unittest.SkipTest("no java")


def ask(host, word, port=2181):
    """The answer to a four-letter word; "" when nobody answers."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), 1) as connection:
        connection.settimeout(2)
        connection.sendall(word.encode())
        answer = b""
        while data := connection.recv(65536):
            answer += data
        return answer.decode()
    return ""


class Addresses:
    """127.N.250.ID, in the network of the fleet, so that two fleets on this machine do not meet."""

    def __init__(self, home):
        ports = json.loads((home / "ports.json").read_text())
        self.prefix = f"127.{ports['127/8']}.250."

    def host(self, server):
        return f"{self.prefix}{server}"

    def line(self, server, role="participant"):
        return f"server.{server}={self.host(server)}:2888:3888:{role};{self.host(server)}:2181"

    def client(self, servers):
        return ",".join(f"{self.host(server)}:2181" for server in servers)


def pod_template(tag="1"):
    """`tag`: a change of it replaces every server."""
    container = {"name": "zookeeper", "env": [{"name": "ZOOKEEPER_COMMAND", "value": COMMAND}, {"name": "TAG", "value": tag}]}
    return {"metadata": {"annotations": {"evenkeel.dev/runtime": "process"}},
            "spec": {"terminationGracePeriodSeconds": 2, "containers": [container]}}


def body(tag="1"):
    """What a MultiClusterZooKeeper has as its template."""
    return {"config": {"tickTime": 500, "initLimit": 20, "syncLimit": 10}, "storage": {"size": "1Gi"},
            "ports": {"clientAddress": "Host"}, "podTemplate": pod_template(tag)}


class Member:
    """The servers of an ensemble in one member cluster."""

    def __init__(self, kubectl, name="zk", namespace="default"):
        self.kubectl, self.name, self.namespace = kubectl, name, namespace

    def run(self, *arguments, **options):
        return self.kubectl("-n", self.namespace, *arguments, **options)

    def get(self):
        return json.loads(self.run("get", "zookeepers", self.name, "-o", "json"))

    def status(self):
        return self.get().get("status", {})

    def apply(self, spec):
        made = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "ZooKeeper", "metadata": {"name": self.name}, "spec": spec}
        self.run("apply", "-f", "-", stdin=json.dumps(made))

    def condition(self, kind):
        found = [one for one in self.status().get("conditions", []) if one["type"] == kind]
        return found[0] if found else {}

    def pods(self):
        """{name: pod} of those that are not going."""
        items = json.loads(self.run("get", "pods", "-l", f"evenkeel.dev/zookeeper={self.name}", "-o", "json"))["items"]
        return {pod["metadata"]["name"]: pod for pod in items if "deletionTimestamp" not in pod["metadata"]}

    def uids(self):
        return {name: pod["metadata"]["uid"] for name, pod in self.pods().items()}

    def wait_settled(self, replicas, revision, seconds=120):
        def settled():
            status = self.status()
            assert status.get("observedRevision") == revision and status.get("readyReplicas") == replicas, json.dumps(status)
            assert len(status["members"]) == replicas and all(member["synced"] for member in status["members"]), json.dumps(status)
            return status
        return harness.eventually(settled, seconds, f"{replicas} servers at revision {revision}")


class Counter:
    """The client that counts, from when it is made until `stop`, which checks that nothing was lost."""

    def __init__(self, hosts, path="/counter"):
        self.process = subprocess.Popen([COUNTER, hosts, path], stdout=subprocess.PIPE, text=True)
        self.started = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def stop(self):
        """(acknowledged writes, longest stall in seconds)."""
        self.process.send_signal(signal.SIGTERM)
        output = self.process.communicate(timeout=60)[0]
        last = output.splitlines()[-1].split() if output else ["nothing"]
        assert self.process.returncode == 0 and last[0] == "END", output[-500:]
        acknowledged = [int(line.split()[1]) for line in output.splitlines() if line.startswith("ACK")]
        assert acknowledged == list(range(acknowledged[0], acknowledged[0] + len(acknowledged))), "a number is missing"
        return len(acknowledged), int(last[2]) / 1000


class Counting:
    """Of a test with the addresses of its ensemble: a client that counts meanwhile."""

    def counting(self, servers):
        counter = self.enterContext(Counter(self.addresses.client(servers)))
        harness.eventually(lambda: "ACK" in counter.process.stdout.readline(), 30)
        return counter

    def check(self, counter, what, stall_max=STALL_MAX):
        writes, stall = counter.stop()
        print(f"{what}: {writes} writes, longest stall {stall} s", flush=True)
        self.assertGreater(writes, 10)
        self.assertLess(stall, stall_max)


class FleetOfOne:
    """A member in a process of its own, for the hub of another fleet: its API server, its nodes and what runs on them die together."""

    def __init__(self, home):
        self.home, self.program = home, None
        self.kubectl = harness.Kubectl(harness.any_kubectl(), home / "kubeconfig", "member-1")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.program.stop()

    def start(self):
        # No replicas: whoever it joins looks after it.
        self.program = harness.Program(self.home, "up", "--members", "1", "--nodes", "2", "--replicas", "0")
        self.program.wait_for_output("ready", 60)

    def join(self, hub, name):
        """With the Secret that registers it at its own hub."""
        secret = self.kubectl.at("hub").json("-n", "evenkeel", "get", "secret", "member-1")
        secret["metadata"] = {"name": name, "labels": secret["metadata"]["labels"]}
        secret["data"]["name"] = base64.b64encode(name.encode()).decode()
        hub("-n", "evenkeel", "create", "-f", "-", stdin=json.dumps(secret))

    def die(self):
        self.program.stop(signal.SIGKILL)
        for pid in harness.processes_of(self.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def modes(addresses, servers):
    """{server: "leader", "follower" ... or ""}."""
    found = {}
    for server in servers:
        lines = [line for line in ask(addresses.host(server), "srvr").splitlines() if line.startswith("Mode: ")]
        found[server] = lines[0].removeprefix("Mode: ") if lines else ""
    return found


def leader_of(addresses, servers):
    leaders = [server for server, mode in modes(addresses, servers).items() if mode == "leader"]
    assert len(leaders) == 1, leaders
    return leaders[0]


def voters_of(addresses, server):
    """Ids of the voters, as that server knows them."""
    lines = [line for line in ask(addresses.host(server), "conf").splitlines() if line.startswith("server.") and ":participant" in line]
    return sorted(int(line.split("=")[0].removeprefix("server.")) for line in lines)


def spec_of(addresses, servers, replicas, revision, offset=0, tag="1"):
    """A ZooKeeper's spec, as a hub would write it."""
    return copy.deepcopy(body(tag)) | {"replicas": replicas, "myidOffset": offset, "rolloutRevision": revision,
                                       "servers": [addresses.line(server) for server in servers]}
