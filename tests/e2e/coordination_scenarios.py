"""What coordinated mode promises, shown on any fleet (fleet_under_test.py, process_fleet.py) that has 6 clusters, follows their Leases
and the plan, and has 3 replicas before and after each scenario."""
import contextlib
import os
import signal
import subprocess
import time

import harness
from fleet_under_test import http_get
from history import LEASE_SECONDS, MARGIN_SECONDS, host_of

RUN_OUT = LEASE_SECONDS + MARGIN_SECONDS
# After the last renewal. It takes little more than until the Lease has run out. What is told apart here, on however busy a machine, is a standby
# that began to count anew, or had something else run out before.
TAKE_OVER_MAX = 2 * RUN_OUT
# How long to wait for what has to come.
LONG = 180


class CoordinationScenarios:
    """For a unittest.TestCase: the class gives `fleet` and `clusters`."""

    fleet = None
    clusters = ()

    def settle(self, what, replicas=3, seconds=LONG, clusters=None, even=True):
        begin = time.monotonic()
        owners = harness.eventually(lambda: self.fleet.settled_by_plan(replicas, clusters or self.clusters, even=even), seconds, what)
        self.fleet.catch_up()
        print(f"{what}: settled after {time.monotonic() - begin:.1f} s, {self.loads()}", flush=True)
        return {cluster: names[0] for cluster, names in owners.items()}

    def loads(self):
        loads = {}
        for row in self.fleet.shards()["clusters"]:
            loads[row["shard"]] = loads.get(row["shard"], 0) + row["weight"]
        return "loads " + ", ".join(f"{shard}: {loads[shard]}" for shard in sorted(loads))

    def check_fences(self):
        for fence in self.fleet.fences.values():
            fence.check(self)

    def scales_3_to_5_to_2(self):
        self.settle("before scaling")
        for replicas in (5, 2, 3):
            before = self.fleet.shard_numbers()
            self.fleet.scale_to(replicas)
            self.settle(f"scaled to {replicas}", replicas)
            after = self.fleet.shard_numbers()
            self.assertEqual(len(after), replicas)
            stayed = before.keys() & after.keys()
            self.assertEqual(len(stayed), min(len(before), replicas), "survivors are the same processes")
            self.assertEqual({host: before[host] for host in stayed}, {host: after[host] for host in stayed}, "survivors keep their numbers")
        self.check_fences()

    def taken_over(self, lost, clusters, since, what):
        """{cluster: when another than `lost` had it}; each of them when its Lease had run out, and soon then."""
        taken, silent = {}, {}
        for cluster in clusters:
            fence = self.fleet.fences[cluster]
            version = fence.watch.wait_for(lambda v: v.seen >= since and v.holder and host_of(v.holder) != lost, LONG,
                                           f"{cluster} has another owner than {lost}")
            writes = fence.writes()
            index = next(i for i, write in enumerate(writes) if write.after == version)
            taken[cluster] = writes[index].time
            silent[cluster] = taken[cluster] - max(write.time for write in writes[:index] if write.kind in ("take", "renew"))
        print(f"{what}: new owners after " + ", ".join(
            f"{taken[c] - since:.1f} s, {silent[c]:.1f} s after the last renewal ({c})" for c in clusters))
        self.assertLess(max(silent.values()), TAKE_OVER_MAX, silent)
        return taken

    def replaces_a_killed_owner(self, choose):
        """@param choose  the replica to kill, from {cluster: replica}"""
        owners = self.settle("before kill -9")
        lost = choose(owners)
        clusters = [cluster for cluster in self.clusters if owners[cluster] == lost]
        self.assertTrue(clusters)
        killed = time.time()
        self.fleet.kill(lost)
        self.taken_over(lost, clusters, killed, "kill -9")
        for cluster, owner in owners.items():
            if owner != lost:
                unbroken = self.fleet.fences[cluster].writes(killed)
                self.assertFalse([w for w in unbroken if w.kind == "take" and w.time < killed + MARGIN_SECONDS], cluster)
        self.fleet.scale_to(3)
        self.settle("after kill -9")
        self.check_never_planned_again(lost, killed)
        self.check_fences()

    def check_never_planned_again(self, lost, since):
        """Once a plan has left the lost replica out, no later one has it."""
        planned = [any(host_of(replica) == lost for replica in plan.shards) for plan in self.fleet.plans.seen(since)]
        self.assertFalse(planned[-1])
        self.assertEqual(planned, sorted(planned, reverse=True), f"plans with {lost}, in their order")

    def lets_a_frozen_owner_do_nothing(self, frozen_for=60):
        owners = self.settle("before kill -STOP")
        frozen = owners[self.clusters[0]]
        clusters = [cluster for cluster in self.clusters if owners[cluster] == frozen]
        pid, old_epochs = self.fleet.pid(frozen), {c: self.fleet.fences[c].read().epoch for c in clusters}
        stopped = time.time()
        os.kill(pid, signal.SIGSTOP)
        try:
            taken = self.taken_over(frozen, clusters, stopped, "kill -STOP")
            self.settle("while one is frozen", 2, clusters=self.clusters)
            self.refuses_old_epochs(old_epochs)
            time.sleep(max(stopped + frozen_for - time.time(), 0))  # the scenario itself, not a wait for something
            self.check_never_planned_again(frozen, stopped)
        finally:
            resumed = time.time()
            os.kill(pid, signal.SIGCONT)

        def lets_go():
            status, metrics = http_get(self.fleet.url(frozen) + "/metrics")
            return status == 200 and not [c for c in clusters if f'evenkeel_cluster_owner{{cluster="{c}"' in metrics
                                          and host_of(self.fleet.fences[c].read().holder) != frozen]
        harness.eventually(lets_go, LONG, "the resumed process says of no cluster of another that it owns it")
        print(f"kill -CONT: let go within {time.time() - resumed:.2f} s")
        self.settle("after kill -CONT", 3)
        for cluster in clusters:
            self.check_resumed(cluster, frozen, taken[cluster], resumed)
        self.check_fences()

    def refuses_old_epochs(self, old_epochs):
        """What the frozen owner may have sent before it was stopped, and arrives now."""
        for cluster, epoch in old_epochs.items():
            member = self.fleet.members.get(cluster)
            if member is None:
                continue  # not an embedded API: nobody refuses epochs there, only stale preconditions
            url = f"https://127.0.0.1:{member.port}/api/v1/namespaces/default/configmaps"
            result = subprocess.run(
                ["curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", "-H", f"Authorization: Bearer {member.token}", "-H",
                 "Content-Type: application/json", "-H", f"Evenkeel-Epoch: {epoch}", "-d", '{"metadata":{"name":"late"}}', url],
                capture_output=True, text=True)
            self.assertEqual(result.stdout, "403", f"{cluster}: a write with epoch {epoch} of the owner before: {result.stderr}")

    def check_resumed(self, cluster, frozen, taken, resumed):
        """After the take-over the frozen replica has written nothing to the member until a plan that it read after it was resumed gave it
        the member; then it has only asked for it, and taken it with that plan's epoch or a greater one."""
        fence = self.fleet.fences[cluster]
        audit, writes, given = fence.audit(), fence.writes(), None
        for plan in self.fleet.plans.seen(resumed):
            replica, epoch = plan.assignments.get(cluster, ("", 0))
            if given is None and host_of(replica) == frozen:
                given = plan.written, epoch
        after = [entry for entry in audit if entry.host == frozen and entry.time > taken + 0.001]
        early = [entry for entry in after if entry.succeeded and (given is None or entry.time < given[0])]
        self.assertEqual(early, [], f"{cluster}: written by {frozen} after others had taken it")
        owned = [write for write in writes if write.author == frozen and write.time > taken + 0.001]
        for write in owned:
            self.assertIsNotNone(given, f"{cluster}: written by {frozen} without a plan: {write}")
            self.assertGreaterEqual(write.time, given[0], f"{cluster}: before the plan: {write}")
            epoch = write.after.wanted_epoch if write.kind == "request" else write.after.epoch
            self.assertGreaterEqual(epoch, given[1], f"{cluster}: with an epoch of before: {write}")
        # In the order in which the server carried them out, which may be another than that of its answers.
        for entry in audit:
            if entry.succeeded and entry.epoch and entry.time > taken + 0.001:
                version = int(entry.resource_version or 0)
                before = [w.after.epoch for w in writes if (int(w.after.resource_version) <= version if version else w.time <= entry.received)]
                self.assertGreaterEqual(entry.epoch, max(before, default=0), entry)
        refused = sum(not entry.succeeded for entry in after)
        print(f"{cluster}: of the resumed replica's writes {len(early)} succeeded before a plan gave it the member, {refused} were refused; "
              f"{'given back %.1f s after CONT' % (given[0] - resumed) if given else 'not given back'}, own writes then: "
              f"{[write.kind for write in owned]}")

    def hands_over(self, what, act, replicas=3):
        """`act` ends replicas gracefully. Their clusters do not wait for a Lease to run out."""
        owners = self.settle(f"before {what}")
        begin = time.time()
        act(owners)
        self.settle(f"after {what}", replicas)
        changed = {cluster: fence.handovers(begin) for cluster, fence in self.fleet.fences.items()}
        seconds = [gap for handovers in changed.values() for _, _, gap, _ in handovers]
        self.assertTrue(seconds)
        print(f"{what}: {len(seconds)} hand-overs, " + ", ".join(
            f"{cluster} " + " ".join(f"{gap * 1000:.0f} ms" for _, _, gap, _ in handovers) for cluster, handovers in changed.items() if handovers))
        # It takes some milliseconds, on a busy machine some seconds. What is told apart is a Lease that had to run out.
        self.assertTrue(all(given for handovers in changed.values() for _, _, _, given in handovers), changed)
        self.assertLess(max(seconds), RUN_OUT, changed)
        self.check_fences()
        return owners, changed, begin

    def hands_over_upon_sigterm(self, choose):
        lost = []

        def end(owners):
            lost.append(choose(owners))
            self.fleet.end(lost[0])
        owners, changed, begin = self.hands_over("SIGTERM", end)
        for cluster, owner in owners.items():
            if owner == lost[0]:
                self.assertEqual(changed[cluster][0][0], owner, cluster)
                taken = next(w.time for w in self.fleet.fences[cluster].writes(begin) if w.kind == "take")
                print(f"SIGTERM: {cluster} had its new owner {taken - begin:.2f} s after the signal was asked for")
            else:
                # It may move once more, to the replica that comes in place of the old one, but not because of the end.
                self.assertLessEqual(len(changed[cluster]), 1, cluster)

    def keeps_owners_while_the_hub_is_away(self, kill, start, seconds=30, after=10, hub_as=None):
        """@param hub_as  the name of the member that goes with the hub: its owner begins a new tenure"""
        self.settle("before the hub goes")
        before = {cluster: fence.read() for cluster, fence in self.fleet.fences.items()}
        gone = time.time()
        kill()
        time.sleep(max(gone + seconds - time.time(), 0))  # the scenario itself
        start()
        back = time.time()
        print(f"the hub was away for {back - gone:.1f} s")
        self.settle("the hub is back")
        with contextlib.suppress(AssertionError):
            self.fleet.plans.wait_for(lambda plan: False, max(back + after - time.time(), 0.1), "whatever comes late")
        for cluster, fence in self.fleet.fences.items():
            now = fence.read()
            if cluster == hub_as:
                self.assertGreaterEqual(now.epoch, before[cluster].epoch)
                continue
            self.assertEqual((now.holder, now.epoch), (before[cluster].holder, before[cluster].epoch), cluster)
            tenures = {(v.holder, v.epoch) for v in fence.watch.seen(gone)}
            self.assertLessEqual(tenures, {(now.holder, now.epoch)}, cluster)
        self.check_fences()
        print(f"hub restart: no Lease of {len(before) - (hub_as is not None)} members changed holder or epoch")
