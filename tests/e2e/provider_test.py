"""The autoscaler with an external gRPC provider: what it does where the service is slow, errs, or is asked by several members. Members are
bare API servers; nodes and pods are objects alone."""
import time
import unittest

import harness
from autoscaled_cluster import AutoscaledCluster
from played_parts import Api, condition
from played_provider import UNAVAILABLE, PlayedProvider, Refused, node
from process_fleet import ApiServer, ProcessFleet

LONG = 180
PODS = "/api/v1/namespaces/default/pods"


def pending_pod(name, selector=None):
    container = {"name": "work", "image": "work", "resources": {"requests": {"cpu": "1"}}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
            "spec": {"containers": [container], **({"nodeSelector": selector} if selector else {})}}


class ProviderFleet:
    """A hub and members on API servers of their own, one replica, and a provider."""

    def start(self, provider, *flags, members=1, hosts=("127.0.0.1",), config=""):
        """A fleet with one replica, whose members' autoscalers ask the provider, each under the next of the hosts."""
        self.addCleanup(provider.close)
        home = self.enterContext(harness.temporary_home())
        hub = ApiServer(home / "hub")
        self.addCleanup(hub.program.stop)
        self.fleet = ProcessFleet(hub.kubectl, home)
        self.addCleanup(self.fleet.stop)
        names = [f"member-{number + 1}" for number in range(members)]
        self.fleet.create(names)
        self.members = {name: AutoscaledCluster(member.kubectl) for name, member in self.fleet.members.items()}
        self.apis = {name: Api(member.kubectl, home) for name, member in self.fleet.members.items()}
        for api in self.apis.values():
            self.addCleanup(api.connection.close)
        for number, name in enumerate(names):
            path = home / f"{name}.yaml"
            path.write_text(f"address: {hosts[number % len(hosts)]}:{provider.port}\n{config}")
            self.fleet.kubectl_here("annotate", "secret", name, f"evenkeel.dev/autoscaler-args=--cloud-provider=externalgrpc --cloud-config={path}")
        if not provider.add_node:
            provider.add_node = lambda *which: self.add_node("member-1", *which)
        self.fleet.arguments = ["--scan-interval=1s", "--max-node-startup-time=1s", *flags]
        self.provider = provider

    def add_node(self, member, name, group, instance):
        api = self.apis[member]
        api.create("/api/v1/nodes", node(name, group, instance))

    def add_pods(self, member, count, selector=None):
        for number in range(count):
            name = f"pod-{number}"
            self.apis[member].create(PODS, pending_pod(name, selector))
            self.apis[member].merge(f"{PODS}/{name}/status", {"status": {"phase": "Pending", "conditions": [
                condition("PodScheduled", "False", reason="Unschedulable", message="0 nodes are available")]}})

    def explained(self, member):
        return self.fleet.evenkeel("explain", "cluster", member)


class SeveralMembersTest(ProviderFleet, unittest.TestCase):
    def test_groups_that_two_members_would_claim_are_left_alone_in_both(self):
        provider = PlayedProvider({"a": (0, 5)})
        self.start(provider, "--max-node-provision-time=5s", members=2)
        self.add_pods("member-1", 3)
        self.fleet.start()
        for name in self.members:
            harness.eventually(lambda name=name: "would claim it, too" in self.explained(name), LONG, lambda: self.explained(name))
        time.sleep(8)
        self.assertEqual(provider.asked("NodeGroupIncreaseSize"), [])
        self.assertEqual(provider.asked("NodeGroupDeleteNodes"), [])

    def test_an_instance_that_is_a_node_of_another_member_stays(self):
        """Under two names nobody sees that the service is the same one, until an instance does not come."""
        provider = PlayedProvider({"a": (0, 5)})
        self.start(provider, "--max-node-provision-time=5s", members=2, hosts=("127.0.0.1", "localhost"))
        self.add_pods("member-1", 3)
        self.fleet.start()
        harness.eventually(lambda: provider.asked("NodeGroupIncreaseSize"), LONG, "a node that is asked for")
        harness.eventually(lambda: "is a node of member member-1" in self.explained("member-2"), LONG, lambda: self.explained("member-2"))
        for change in (["annotate", "secret", "member-1", "argocd.argoproj.io/skip-reconcile=true"], ["delete", "secret", "member-1"]):
            time.sleep(6)
            self.assertEqual(provider.asked("NodeGroupDeleteNodes"), [], f"before kubectl {' '.join(change)}")
            self.fleet.kubectl_here(*change)
        time.sleep(8)
        self.assertEqual(provider.asked("NodeGroupDeleteNodes"), [], "members that are no longer in the fleet have their nodes, too")


class AnswersTest(ProviderFleet, unittest.TestCase):
    def test_options_that_cannot_be_read_now_are_those_of_before(self):
        provider = PlayedProvider({"kept": (0, 5)})
        instance = provider.add_instance("kept")
        hour = {"scaleDownUtilizationThreshold": 0.5, "scaleDownGpuUtilizationThreshold": 0.5, "scaleDownUnneededDuration": "3600s",
                "scaleDownUnreadyDuration": "3600s", "MaxNodeProvisionDuration": "900s"}
        answered, refusals = [], []

        def options(request):
            answered.append(time.monotonic())
            # Later than the first time, when there were none before.
            if answered[-1] > answered[0] + 8 and not refusals:
                refusals.append(request)
                raise Refused(UNAVAILABLE)
            return {"nodeGroupAutoscalingOptions": hour}
        provider.answers["NodeGroupGetOptions"] = options
        self.start(provider, "--scale-down-unneeded-time=4s", "--scale-down-delay-after-add=2s")
        self.add_node("member-1", "kept-1", "kept", instance)
        self.fleet.start()
        harness.eventually(lambda: refusals, LONG, "options that are refused once")
        time.sleep(8)
        self.assertEqual(provider.asked("NodeGroupDeleteNodes"), [])

    def test_after_an_increase_without_an_answer_nobody_else_is_asked(self):
        provider = PlayedProvider({f"g{number}": (0, 5) for number in range(4)})

        def slow(request):
            time.sleep(4)
            return provider.NodeGroupIncreaseSize(request)
        provider.answers["NodeGroupIncreaseSize"] = slow
        self.start(provider, "--expander=least-waste", config="grpc_timeout: 2s\n")
        self.add_pods("member-1", 4)
        self.fleet.start()
        harness.eventually(lambda: len(self.members["member-1"].nodes()) == 1, LONG, lambda: self.explained("member-1"))
        time.sleep(8)
        self.assertEqual([request["delta"] for request in provider.asked("NodeGroupIncreaseSize")], [1])
        self.assertEqual(provider.asked("PricingNodePrice"), [], "prices are asked for by --expander=price alone")
        self.assertEqual(len(self.members["member-1"].nodes()), 1)

    def test_without_templates_a_price_is_that_of_a_node_that_is_there(self):
        provider = PlayedProvider({"cheap": (0, 9), "dear": (0, 9)})
        instances = {group: provider.add_instance(group) for group in provider.groups}
        provider.answers["NodeGroupTemplateNodeInfo"] = provider.unimplemented
        provider.answers["PricingNodePrice"] = lambda request: {"price": {"cheap": 0.1, "dear": 5.0}[request["node"]["labels"]["pool"]]}
        self.start(provider, "--expander=price")
        for group, instance in instances.items():
            self.add_node("member-1", f"{group}-1", group, instance)
        self.add_pods("member-1", 9)
        self.fleet.start()
        # A node tells what others of its group are like once it is a minute old.
        harness.eventually(lambda: provider.asked("NodeGroupIncreaseSize"), LONG, lambda: self.explained("member-1"))
        self.assertEqual([request["id"] for request in provider.asked("NodeGroupIncreaseSize")], ["cheap"])
        self.assertEqual({request["node"]["name"] for request in provider.asked("PricingNodePrice")} - {"cheap-2"}, {"cheap-1", "dear-1"})

    def test_one_wrong_entry_does_not_keep_the_others(self):
        for what in ("an instance without id", "least above most", "a size below 0"):
            with self.subTest(what):
                provider = PlayedProvider({"wrong": (3, 1) if what == "least above most" else (0, 5), "good": (0, 5)})
                if what == "a size below 0":
                    provider.sizes["wrong"] = -1
                if what == "an instance without id":
                    provider.sizes["wrong"] = 1
                    provider.instances["wrong"] = [""]
                self.start(provider)
                self.add_pods("member-1", 1, {"pool": "good"})
                self.fleet.start()
                harness.eventually(lambda: len(self.members["member-1"].nodes()) == 1, LONG, lambda: self.explained("member-1"))
                self.assertEqual([request["id"] for request in provider.asked("NodeGroupIncreaseSize")], ["good"])
                harness.eventually(lambda: "wrong" in self.explained("member-1"), LONG, lambda: self.explained("member-1"))
                self.doCleanups()


if __name__ == "__main__":
    harness.main_in_parallel()
