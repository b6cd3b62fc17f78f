"""The dashboard in Debian's Chromium against one live fleet: what happens there is seen on every page as it happens, and a plan that is
approved on the page is the plan that is carried out. Screenshots are kept in build/screenshots."""
import json
import re
import unittest

import browser
import harness
import zookeeper_ensemble as zk
from autoscaled_cluster import AutoscaledCluster, node_group, replicated
from fleet_under_test import PodFleet

# How long to wait for what has to come.
LONG = 180
# Whose nodes come and go, who is balanced, and who have servers of the ensemble.
SCALED, BALANCED, SHARES = "member-1", "member-2", {"member-3": 2, "member-1": 1}
ENSEMBLE = "#ensemble-default-zk"
# A policy that plans every 2 s, and plans only.
POLICY = {"apiVersion": "evenkeel.dev/v1alpha1", "kind": "BalancingPolicy", "metadata": {"name": "e2e"},
          "spec": {"dryRun": True, "metrics": [{"name": "cpu"}], "throttles": {"maxShare": 1},
                   "intervals": {"balancing": "2s", "constraintCheck": "2s", "afterNewNode": "0s", "afterNodeDown": "0s"}}}


class LiveFleetTest(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(harness.fleet(
            cls.home, "--members", "3", "--nodes", "3", "--replicas", "2", "--node-group-max", "5", "--autoscaler-args", "--scan-interval 1s"))
        cls.login = re.search(r"dashboard: (http://\S+)", cls.program.output()).group(1)
        cls.origin = cls.login.split("/login")[0]
        cls.hub = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig", "hub")
        cls.scaled, cls.balanced = AutoscaledCluster(cls.hub.at(SCALED)), AutoscaledCluster(cls.hub.at(BALANCED))
        # It forms while the other pages are looked at.
        cls.addresses, cls.has_ensemble = zk.Addresses(cls.home), True
        try:
            zk.require_servers()
            cls.apply_ensemble("1")
        except unittest.SkipTest:
            cls.has_ensemble = False
        cls.browser.ask("open", url=cls.origin)
        cls.denied = cls.browser.sees("Not logged in", seconds=LONG)
        cls.browser.ask("open", url=cls.login)
        cls.browser.sees(SCALED, "#clusters", LONG)

    @classmethod
    def apply_ensemble(cls, tag):
        manifest = json.dumps(zk.over_clusters(cls.addresses, SHARES, tag))
        harness.eventually(lambda: cls.hub("apply", "-f", "-", stdin=manifest), LONG)

    def visit(self, page):
        self.browser.ask("goto", url=f"{self.origin}/#/{page}")

    def texts(self, selector):
        """Of all elements that are selected, in their order, with single spaces."""
        found = self.browser.ask("evaluate", expression=f"[...document.querySelectorAll({json.dumps(selector)})].map(each => each.innerText)")
        return [" ".join(text.split()) for text in found]

    def test_1_fleet(self):
        self.assertIn("/login?token=", self.denied)
        self.assertNotIn("token", self.browser.ask("evaluate", expression="location.href"))
        self.browser.sees(SCALED, "#clusters", LONG)
        for name in (SCALED, BALANCED):
            self.assertIn("evenkeel-controller", self.browser.sees("Healthy", f"#clusters tr:has-text('{name}')", LONG))
        self.assertIn("plan epoch", self.browser.sees("plan epoch", ".page-head"))
        self.browser.press("f")
        self.browser.ask("fill", selector="[data-filter]", text=BALANCED)
        self.browser.ask("gone", text=SCALED, selector="#clusters tr")
        self.browser.ask("fill", selector="[data-filter]", text="")
        self.assert_looks_well("fleet")

    def test_2_cluster(self):
        self.visit(f"cluster/{SCALED}")
        self.browser.sees("3", ".stat:has-text('Nodes')", LONG)
        # One that fits no node of any group, each for a reason of its own, and some that need one more node.
        self.scaled.apply(node_group("gpu", 2, "gpu"), replicated("huge", 1, "64", {"pool": "gpu"}))
        self.browser.sees("huge", "#pending", LONG)
        self.browser.click("#pending tr:has-text('huge') button")
        self.browser.sees("Insufficient cpu", "#pending .reasons div:has(dt:text-is('gpu'))", LONG)
        self.browser.sees("didn't match Pod's node affinity/selector", "#pending .reasons div:has(dt:text-is('general'))", LONG)
        self.scaled.apply(replicated("many", 4, "3"))
        self.browser.sees("4", ".stat:has-text('Nodes') .stat-value", LONG)
        self.browser.sees("general", "#groups", LONG)
        self.browser.sees("gpu", "#groups", LONG)
        active = self.walked_to("#nodes", "ArrowRight", "ArrowRight")
        self.assertRegex(active, r"^\S+: Ready, cpu \d+ %, \d+ pods?")
        self.browser.click("#nodes button", "Table")
        self.browser.sees(active.split(":")[0], "#nodes table")
        self.browser.click("#nodes button", "Heat map")
        self.assert_looks_well("cluster")
        self.scaled.kubectl("delete", "deployment", "huge", "many")
        self.browser.sees("No pod is pending", "#pending", LONG)

    def make_uneven(self):
        """All pods on the first node; the others have room."""
        self.balanced.kubectl("delete", "nodegroups", "--all")
        nodes = sorted(self.balanced.nodes())
        self.balanced.kubectl("cordon", *nodes[1:])
        self.balanced.apply(replicated("web", 3, "500m"))
        self.balanced.wait_for_pods("web", 3, LONG)
        self.balanced.kubectl("uncordon", *nodes[1:])
        return nodes[0]

    def plan_of_the_page(self):
        """[(pod, from, to)], each with its gain and its reason."""
        moves = []
        for row in self.texts("#plan tbody tr"):
            shown = re.fullmatch(r"(default/web-\S+) (\S+) (\S+) ([\d.]+) Waiting (.+)", row)
            self.assertTrue(shown, row)
            self.assertGreater(float(shown.group(4)), 0, row)
            self.assertIn("cpu", shown.group(5))
            moves.append(shown.group(1, 2, 3))
        return moves

    def test_3_a_plan_is_looked_at_and_approved_by_keyboard(self):
        full = self.make_uneven()
        self.visit(f"balance/{BALANCED}")
        self.browser.sees("Nobody balances this cluster yet", seconds=LONG)
        self.balanced.apply(POLICY)
        self.browser.sees("out of balance", "#load", LONG)
        self.browser.sees("Approve", "#plan button", LONG)
        moves = self.plan_of_the_page()
        self.assertEqual({source for _, source, _ in moves}, {full})
        # Before and after.
        self.assertIn(f"{full}: 1.5 of 4, {1.5 - 0.5 * len(moves):g} after the plan", self.walked_to("#load", "Home"))
        self.assert_looks_well("balance")
        self.browser.press("Enter", "#plan button.primary")
        shown = self.browser.sees(moves[0][0], "dialog[open]")
        self.assertRegex(shown, rf"Carry out plan \S+ of {BALANCED}\?")
        for pod, source, target in moves:
            self.assertIn(f"{pod}: from {source} to {target}", shown)
        self.browser.press("Escape")
        self.browser.ask("gone", text="Carry out", selector="dialog[open]")
        name = self.texts("#plan h3")[0].split()[0]
        plan = self.balanced.kubectl.json("get", "balancingplan", name)
        self.assertFalse(plan["spec"]["approved"])
        self.browser.press("Enter", "#plan button.primary")
        self.browser.sees(moves[0][0], "dialog[open]")
        while not self.browser.ask("evaluate", expression="document.activeElement.matches('dialog[open] button.primary')"):
            self.browser.press("Tab")
        self.browser.press("Enter")
        self.browser.ask("gone", text="Carry out", selector="dialog[open]")
        self.browser.sees("Done", f"#plans tr:has-text('{name}')", LONG)
        self.browser.sees("in balance", "#load", LONG)
        landed = self.balanced.kubectl.json("get", "balancingplan", name)
        self.assertEqual([(action["pod"], action["from"], action["to"]) for action in landed["spec"]["actions"]], moves)
        self.assertEqual([action["state"] for action in landed["status"]["actions"]], ["Landed"] * len(moves))
        self.assertIn(f"{len(moves)}/{len(moves)}", self.texts("#plans tr:has(td)")[0])

    def test_4_a_decision_is_among_the_events_as_it_is_made(self):
        self.visit("events")
        self.browser.sees("events", "#events h2", LONG)
        self.browser.ask("fill", selector="[data-filter]", text="vast")
        self.browser.sees("No event is like that", "#events", LONG)
        self.scaled.apply(replicated("vast", 1, "64"))
        self.browser.sees("NotTriggerScaleUp", "#events tbody tr", LONG)
        self.browser.sees("FailedScheduling", "#events tbody tr", LONG)
        self.browser.ask("choose", selector="select[aria-label=Controller]", value="autoscaler")
        self.browser.ask("gone", text="FailedScheduling", selector="#events tbody tr")

        def listed():
            rows = self.texts("#events tbody tr")
            self.assertTrue(rows and all("autoscaler" in row and "vast" in row for row in rows), rows)
            self.assertRegex(self.texts("#events .card-head")[0], rf"^{len(rows)} events? of \d+")
            return True
        harness.eventually(listed, LONG)
        self.browser.press("Enter", "#events tbody button")
        explained = self.browser.sees("Insufficient cpu", "#events .reasons")
        self.assertRegex(explained, rf"Pod default/vast-\S+ in {SCALED}")
        self.assert_looks_well("events")
        self.scaled.kubectl("delete", "deployment", "vast")

    def leader(self):
        """The pod that says so itself."""
        said = [(member["pod"], cluster) for cluster in SHARES for member in zk.Member(self.hub.at(cluster)).status()["members"]
                if member["mode"] == "leader"]
        ((pod, cluster),) = said
        return f"{pod} in {cluster}"

    def test_5_a_rollout_goes_from_cluster_to_cluster(self):
        if not self.has_ensemble:
            raise unittest.SkipTest("no ZooKeeper")
        self.visit("rollouts")
        self.browser.sees("1 server more may fail", ENSEMBLE, 2 * LONG)
        self.browser.sees("Ready", f"{ENSEMBLE} h2", LONG)
        harness.eventually(lambda: f"{self.leader()} leads" in self.texts(f"{ENSEMBLE} .quorum")[0], LONG)
        self.assertEqual(len(self.texts(f"{ENSEMBLE} .member")), 3)
        self.note(f"['.station h3', '.quorum .badge'].map(what => [...document.querySelectorAll('{ENSEMBLE} ' + what)].map(each => each.innerText))")
        self.apply_ensemble("2")
        tracks, margins = [], set()

        def ended():
            tracks.clear()
            for stations, badges in self.noted():
                track = re.findall(r"Done|Deploying|Waiting", "\n".join(stations))
                if not tracks or tracks[-1] != track:
                    tracks.append(track)
                margins.update(" ".join(badge.split()) for badge in badges)
            return len(tracks) > 1 and tracks[-1] == ["Done", "Done"]
        harness.eventually(ended, 3 * LONG, lambda: f"the track ends: {tracks}")
        begun = [track for track in tracks if track != ["Done", "Waiting"]]  # as it is for a moment between two clusters
        self.assertEqual(begun[-3:], [["Deploying", "Waiting"], ["Done", "Deploying"], ["Done", "Done"]], tracks)
        self.assertLessEqual({"1 server more may fail", "no server more may fail"}, margins)
        self.browser.sees("Ready", f"{ENSEMBLE} h2", LONG)
        self.assert_looks_well("rollouts")

    def test_6_clusters_of_a_replica_that_is_killed_change_hands(self):
        fleet = PodFleet(self.hub, self.home)
        self.visit("fleet")
        self.browser.sees(SCALED, "#clusters", LONG)
        owners = harness.eventually(lambda: found if len(found := fleet.owners()) == 3 else None, LONG)
        lost = next(iter(owners.values()))[0]
        clusters = [cluster for cluster, owning in owners.items() if owning == [lost]]
        # Nobody comes in its place.
        nodes = [node["metadata"]["name"] for node in self.hub.json("get", "nodes")["items"]]
        self.hub("cordon", *nodes)
        self.addCleanup(self.hub, "uncordon", *nodes)
        fleet.kill(lost)
        fleet.scale(1)
        for cluster in clusters:
            self.browser.ask("gone", text=lost, selector=f"#clusters tr:has(a:text-is('{cluster}'))", seconds=LONG)
            self.browser.sees("Healthy", f"#clusters tr:has(a:text-is('{cluster}'))", LONG)

        def told():
            words = {self.walked_to("#handovers", key) for key in ("End", "ArrowLeft", "ArrowLeft", "ArrowLeft")}
            missing = [cluster for cluster in clusters
                       if not any(re.search(rf" {cluster}: {lost} → evenkeel-controller-\S+ in [\d.]+ s\. \w+", each) for each in words)]
            assert not missing, (missing, words)
            return True
        harness.eventually(told, LONG, "the timeline")
        self.browser.click("#handovers button", "Table")
        for cluster in clusters:
            self.browser.sees(lost, f"#handovers tr:has-text('{cluster}')")
        self.browser.click("#handovers button", "Timeline")
        self.assert_looks_well("handovers")

    def test_7_a_member_that_cannot_be_read_or_is_gone_says_so(self):
        # Nothing listens there.
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "far", "namespace": "evenkeel", "labels": {
                      "argocd.argoproj.io/secret-type": "cluster"}},
                  "stringData": {"name": "far", "server": "https://127.0.0.1:9", "config": '{"bearerToken": "none"}'}}
        self.hub("apply", "-f", "-", stdin=json.dumps(secret))
        self.visit("fleet")
        self.browser.sees("Unreachable", "#clusters tr:has(a:text-is('far'))", LONG)
        self.browser.sees("unknown since", "#clusters tr:has(a:text-is('far'))", LONG)
        for page in ("balance/far", "cluster/far"):
            self.visit(page)
            self.browser.sees("far cannot be read", ".banner", LONG)
        self.browser.sees("Unreachable", ".picker", LONG)
        self.assert_looks_well("unreachable")
        self.visit("events")
        self.browser.sees("Events of far cannot be read", ".banner", LONG)
        self.visit("cluster/far")
        self.browser.sees("far cannot be read", ".banner", LONG)
        self.hub("delete", "secret", "far", "--namespace", "evenkeel")
        self.browser.sees("it is not in the fleet any more", ".banner", LONG)
        self.assert_looks_well("removed")
        self.visit("cluster/nobody")
        self.browser.sees("there is no member nobody", ".banner", LONG)


if __name__ == "__main__":
    browser.require()
    harness.main()
