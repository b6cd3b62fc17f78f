"""A cloud behind cluster-autoscaler's external gRPC service: its answers are given here, provider_relay.cc is what is called."""
import json
import subprocess
import threading

import harness
from played_parts import condition

RELAY = harness.ROOT / "build/release/tests/evenkeel_provider_relay"
UNIMPLEMENTED, UNAVAILABLE = 12, 14
ROOM = {"cpu": "4", "memory": "8Gi", "pods": "110"}
NODE_SECONDS = 0.3


def node(name, group, instance=None):
    """Ready, with room for four pods of one core."""
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"pool": group}},
            "spec": {"providerID": instance} if instance else {},
            "status": {"capacity": ROOM, "allocatable": ROOM, "conditions": [condition("Ready", "True", reason="KubeletReady", message="")]}}


class Refused(Exception):
    def __init__(self, code):
        super().__init__(code)
        self.code = code


class PlayedProvider:
    """Groups of nodes; `groups` is {id: (least, most)}. An instance becomes a node by `add_node(name, group, instance)` shortly after it
    was asked for. A test changes what is answered by attributes, or by a method of its own, `answers[METHOD](request)`."""

    def __init__(self, groups, add_node=None):
        self.groups, self.add_node = groups, add_node
        self.instances = {group: [] for group in groups}  # their ids
        self.nodes = {}  # names, by instance
        self.options, self.sizes, self.answers = {}, {}, {}
        self.calls, self.lock = [], threading.Lock()
        self.process = subprocess.Popen([RELAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())["port"]
        threading.Thread(target=self.listen, daemon=True).start()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def asked(self, method):
        """Requests of that method, up to now."""
        with self.lock:
            return [request for name, request in self.calls if name == method]

    def listen(self):
        for line in self.process.stdout:
            call = json.loads(line)
            threading.Thread(target=self.answer, args=(call["id"], call["method"], call["request"]), daemon=True).start()

    def answer(self, number, method, request):
        with self.lock:
            self.calls.append((method, request))
        try:
            answer = {"response": self.answers.get(method, getattr(self, method, None) or self.unimplemented)(request)}
        except Refused as refused:
            answer = {"code": refused.code}
        with self.lock:
            if not self.process.stdin.closed:
                print(json.dumps({"id": number, **answer}), file=self.process.stdin, flush=True)

    def unimplemented(self, _request):
        raise Refused(UNIMPLEMENTED)

    def add_instance(self, group, name=None):
        with self.lock:
            instance = f"cloud://{group}/{len(self.instances[group]) + 1}"
            self.instances[group].append(instance)
            self.nodes[instance] = name or f"{group}-{len(self.instances[group])}"
        return instance

    # What the service's methods answer unless a test says otherwise.
    def Refresh(self, _request):
        return {}

    def NodeGroups(self, _request):
        return {"nodeGroups": [{"id": group, "minSize": least, "maxSize": most} for group, (least, most) in self.groups.items()]}

    def NodeGroupTargetSize(self, request):
        group = request["id"]
        return {"targetSize": self.sizes.get(group, len(self.instances[group]))}

    def NodeGroupNodes(self, request):
        return {"instances": [{"id": instance, "status": {"instanceState": "instanceRunning"}} for instance in self.instances[request["id"]]]}

    def NodeGroupForNode(self, request):
        name = request["node"].get("name")
        groups = [instance.split("/")[2] for instance, known in self.nodes.items() if known == name]
        return {"nodeGroup": {"id": groups[0]}} if groups else {"nodeGroup": {}}

    def NodeGroupTemplateNodeInfo(self, request):
        return {"nodeBytes": node(f"template-{request['id']}", request["id"])}

    def NodeGroupIncreaseSize(self, request):
        for _ in range(request["delta"]):
            instance = self.add_instance(request["id"])
            threading.Timer(NODE_SECONDS, self.add_node, (self.nodes[instance], request["id"], instance)).start()
        return {}

    def NodeGroupDeleteNodes(self, _request):
        return {}
