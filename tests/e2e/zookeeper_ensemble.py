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
import threading
import unittest

import yaml

import harness

# An election of servers with ticks of half a second, on a busy machine. What is told apart is a majority that was gone until somebody brought
# it back.
STALL_MAX = 30
# How long to wait for what has to come.
LONG = 180
JARS = ["/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"]
COUNTER = pathlib.Path(os.environ.get("EVENKEEL_ZOOKEEPER_COUNTER", harness.ROOT / "build/release/tests/evenkeel_zookeeper_counter"))
COMMAND = ("java -Xmx64m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp " + ":".join(JARS) +
           " org.apache.zookeeper.server.quorum.QuorumPeerMain")


def require_servers():
    for path in JARS:
        if not pathlib.Path(path).exists():
            raise unittest.SkipTest(f"{path} is missing")
    if shutil.which("java") is None:
        raise unittest.SkipTest("no java")


def require_zookeeper():
    """Servers, and the client that counts."""
    require_servers()
    if not COUNTER.exists():
        raise unittest.SkipTest(f"{COUNTER} is missing")


def ask(host, word, port=2181):
    """The answer to a four-letter word; "" when nobody answers."""
    with contextlib.suppress(OSError), socket.create_connection((host, port), 10) as connection:
        connection.settimeout(10)
        connection.sendall(word.encode())
        answer = b""
        while data := connection.recv(65536):
            answer += data
        return answer.decode()
    return ""


def resume(pids):
    for pid in pids:
        # A container that does not answer for too long is started again.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


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


def over_clusters(addresses, shares, tag="1", rollout=None, more=None):
    """A MultiClusterZooKeeper zk with so many servers per cluster."""
    spec = {"placement": {"clusters": [{"name": name, "replicas": share} for name, share in shares.items()]}, "template": body(tag),
            "rollout": rollout or {}, "revisionHistoryLimit": 100,
            "naming": {"mode": "external", "template": f"{addresses.prefix}<id>"}, **(more or {})}
    return {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "MultiClusterZooKeeper", "metadata": {"name": "zk"}, "spec": spec}


def example(file, addresses):
    """An object of examples/zookeeper as it is there, but for the addresses of the servers and its name."""
    made = yaml.safe_load((harness.ROOT / "examples/zookeeper" / file).read_text().replace("127.9.0.", addresses.prefix).replace(
        "127.9.1.", addresses.prefix))
    made["metadata"]["name"] = "zk"
    return made


def add_tag(template, tag):
    """To a podTemplate that has none."""
    template["spec"]["containers"][0]["env"].append({"name": "TAG", "value": tag})


class Member:
    """The servers of an ensemble in one member cluster."""

    def __init__(self, kubectl, name="zk", namespace="default"):
        self.kubectl, self.name, self.namespace = kubectl, name, namespace

    def run(self, *arguments, **options):
        return self.kubectl("-n", self.namespace, *arguments, **options)

    def get(self):
        return self.kubectl.json("-n", self.namespace, "get", "zookeepers", self.name)

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
        items = self.kubectl.json("-n", self.namespace, "get", "pods", "-l", f"evenkeel.dev/zookeeper={self.name}")["items"]
        return {pod["metadata"]["name"]: pod for pod in items if "deletionTimestamp" not in pod["metadata"]}

    def uids(self):
        return {name: pod["metadata"]["uid"] for name, pod in self.pods().items()}

    def wait_settled(self, replicas, revision, seconds=300):
        def settled():
            status = self.status()
            assert status.get("observedRevision") == revision and status.get("readyReplicas") == replicas, json.dumps(status)
            assert len(status["members"]) == replicas and all(member["synced"] for member in status["members"]), json.dumps(status)
            return status
        return harness.eventually(settled, seconds, f"{replicas} servers at revision {revision}")


class Counter:
    """The client that counts, from when it is made until `stop`, which checks that nothing was lost."""

    def __init__(self, hosts, path="/counter"):
        self.process, self.numbers, self.end = subprocess.Popen([COUNTER, hosts, path], stdout=subprocess.PIPE, text=True), [], None
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        """What is acknowledged, as it comes."""
        for line in self.process.stdout:
            words = line.split()
            if words[:1] == ["ACK"]:
                self.numbers.append(int(words[1]))
            elif words[:1] == ["END"]:
                self.end = int(words[1]), int(words[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()

    def first(self):
        assert self.numbers, "nothing is acknowledged yet"
        return self.numbers[0]

    def count(self, writes):
        """So many acknowledged writes from now on: an ensemble that stands still takes none."""
        until = len(self.numbers) + writes

        def counted():
            assert self.process.poll() is None, "the client has ended"
            assert len(self.numbers) >= until, f"{until - len(self.numbers)} more writes"
            return True
        harness.eventually(counted, LONG)

    def stop(self):
        """(acknowledged writes, the last of them, longest stall in seconds)."""
        self.process.send_signal(signal.SIGTERM)
        self.reader.join(timeout=60)
        assert self.process.wait(timeout=60) == 0 and self.end is not None, self.numbers[-5:]
        assert all(after == before + 1 for before, after in zip(self.numbers, self.numbers[1:])), "a number is missing"
        return len(self.numbers), self.end[0], self.end[1] / 1000


class Counting:
    """Of a test with the addresses of its ensemble: a client that counts meanwhile."""

    def counting(self, servers):
        counter = self.enterContext(Counter(self.addresses.client(servers)))
        harness.eventually(counter.first, LONG)
        return counter

    def check(self, counter, what, stall_max=STALL_MAX):
        counter.count(10)
        writes, _, stall = counter.stop()
        print(f"{what}: {writes} writes, longest stall {stall} s", flush=True)
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
        self.program = harness.Program(self.home, "up", "--members", "1", "--nodes", "2", "--no-controllers")
        self.program.wait_for_output("Evenkeel is up", LONG)

    def join(self, hub, name):
        """With the Secrets that register it at its own hub: the replicas' and Karmada's."""
        own = self.kubectl.at("hub")
        karmada = own.json("-n", "karmada-cluster", "get", "secret", "member-1")
        hub("-n", "karmada-cluster", "create", "-f", "-", stdin=json.dumps({**karmada, "metadata": {"name": name}}))
        secret = own.json("-n", "evenkeel", "get", "secret", "member-1")
        secret["metadata"] = {"name": name, "labels": secret["metadata"]["labels"],
                              "annotations": {"evenkeel.dev/karmada-secret": f"karmada-cluster/{name}"}}
        secret["data"]["name"] = base64.b64encode(name.encode()).decode()
        hub("-n", "evenkeel", "create", "-f", "-", stdin=json.dumps(secret))

    def die(self):
        self.program.stop(signal.SIGKILL)
        for pid in harness.processes_of(self.home):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Led(Counting):
    """Of a test with servers over several members, led by the hub's MultiClusterZooKeeper."""

    @classmethod
    def begin(cls, shares):
        """Over three members, one of which is a fleet of its own, which can die with its API server."""
        require_zookeeper()
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", "2", "--nodes", "2"))
        cls.elsewhere = cls.enterClassContext(FleetOfOne(cls.enterClassContext(harness.temporary_home())))
        kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig")
        cls.elsewhere.join(kubectl.at("hub"), "elsewhere")
        cls.members = {"elsewhere": Member(cls.elsewhere.kubectl)}
        cls.members |= {name: Member(kubectl.at(name)) for name in ("member-1", "member-2")}
        cls.addresses, cls.hub = Addresses(cls.home), kubectl.at("hub")
        cls.form(shares)

    @classmethod
    def begin_in_one_fleet(cls, names, shares, *arguments):
        """With members that live and die together."""
        require_zookeeper()
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.enterClassContext(harness.fleet(cls.home, "--members", str(len(names)), "--nodes", "1", *arguments))
        kubectl = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig")
        cls.members = {name: Member(kubectl.at(name)) for name in names}
        cls.addresses, cls.hub = Addresses(cls.home), kubectl.at("hub")
        cls.form(shares)

    @classmethod
    def form(cls, shares):
        harness.eventually(lambda: "multiclusterzookeepers" in cls.hub("api-resources", "--api-group=evenkeel.dev"), LONG)
        cls.tag, cls.records = "1", 0
        cls.apply(shares)
        cls.wait_ready(1)
        assert voters_of(cls.addresses, cls.leader()) == cls.ids

    @classmethod
    def manifest(cls, shares, rollout, more):
        return over_clusters(cls.addresses, shares, cls.tag, rollout, more)

    @classmethod
    def apply(cls, shares, more=None, **rollout):
        """With ids as clusters have them that all were there from the beginning."""
        manifest = cls.manifest({name: share for name, share in zip(cls.members, shares) if share}, rollout, more)
        harness.eventually(lambda: cls.hub("apply", "-f", "-", stdin=json.dumps(manifest)), LONG)
        cls.ids = [10 * index + ordinal + 1 for index, share in enumerate(shares) for ordinal in range(share)]

    @classmethod
    def status(cls):
        return cls.hub.json("get", "multiclusterzookeepers", "zk").get("status", {})

    @classmethod
    def condition(cls, kind):
        return next((one for one in cls.status().get("conditions", []) if one["type"] == kind), {})

    @classmethod
    def wait_for(cls, check, seconds):
        """Until check(status, {condition: status}) holds."""
        def checked():
            status = cls.status()
            assert check(status, {one["type"]: one["status"] for one in status.get("conditions", [])}), json.dumps(status)
            return status
        return harness.eventually(checked, seconds)

    @classmethod
    def wait_ready(cls, records, seconds=400):
        """That many records more, and the last one has ended."""
        cls.records += records

        def ready():
            status = cls.status()
            seen = len(status.get("records", [])), {one["type"]: (one["status"], one["message"]) for one in status.get("conditions", [])}
            assert seen[0] >= cls.records and seen[1]["Ready"][0] == "True", seen
            return True
        harness.eventually(ready, seconds)

    @classmethod
    def leader(cls):
        return leader_of(cls.addresses, cls.ids)


def modes(addresses, servers):
    """{server: "leader", "follower" ... or ""}."""
    found = {}
    for server in servers:
        lines = [line for line in ask(addresses.host(server), "srvr").splitlines() if line.startswith("Mode: ")]
        found[server] = lines[0].removeprefix("Mode: ") if lines else ""
    return found


def leader_of(addresses, servers):
    """Once they have elected one."""
    def elected():
        leaders = [server for server, mode in modes(addresses, servers).items() if mode == "leader"]
        assert len(leaders) == 1, leaders
        return leaders[0]
    return harness.eventually(elected, LONG)


def voters_of(addresses, server):
    """Ids of the voters, as that server knows them."""
    lines = [line for line in ask(addresses.host(server), "conf").splitlines() if line.startswith("server.") and ":participant" in line]
    return sorted(int(line.split("=")[0].removeprefix("server.")) for line in lines)


def spec_of(addresses, servers, replicas, revision, offset=0, tag="1"):
    """A ZooKeeper's spec, as a hub would write it."""
    return copy.deepcopy(body(tag)) | {"replicas": replicas, "myidOffset": offset, "rolloutRevision": revision,
                                       "servers": [addresses.line(server) for server in servers]}
