"""The dashboard in Debian's Chromium: every page against a live embedded fleet, and against a made-up one of 200 members with 5,000 nodes,
which shows what a small fleet does not. Screenshots are kept in build/screenshots."""
import re
import tempfile

import browser
import harness
from autoscaled_cluster import AutoscaledCluster, replicated

LONG = 30
MEMBER = "member-1"


class LiveFleetTest(browser.BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.home = cls.enterClassContext(harness.temporary_home())
        cls.program = cls.enterClassContext(harness.fleet(
            cls.home, "--members", "2", "--nodes", "3", "--replicas", "2", "--node-group-max", "5", "--autoscaler-args", "--scan-interval 1s"))
        cls.login = re.search(r"dashboard: (http://\S+)", cls.program.output()).group(1)
        cls.origin = cls.login.split("/login")[0]
        cls.hub = harness.Kubectl(harness.any_kubectl(), cls.home / "kubeconfig", "hub")
        cls.member = AutoscaledCluster(cls.hub.at(MEMBER))
        cls.browser.ask("open", url=cls.origin)
        cls.denied = cls.browser.sees("Not logged in", seconds=LONG)
        cls.browser.ask("open", url=cls.login)

    def visit(self, page):
        self.browser.ask("goto", url=f"{self.origin}/#/{page}")

    def test_1_fleet(self):
        self.assertIn("/login?token=", self.denied)
        self.assertNotIn("token", self.browser.ask("evaluate", expression="location.href"))
        self.browser.sees(MEMBER, "#clusters", LONG)
        for name in (MEMBER, "member-2"):
            self.assertIn("evenkeel-controller", self.browser.sees("Healthy", f"#clusters tr:has-text('{name}')", LONG))
        self.assertIn("plan epoch", self.browser.sees("plan epoch", ".page-head"))
        self.browser.press("/")
        self.browser.ask("fill", selector="[data-filter]", text="member-2")
        self.browser.ask("gone", text=MEMBER, selector="#clusters tr")
        self.browser.ask("fill", selector="[data-filter]", text="")
        self.assert_looks_well("fleet")

    def test_2_cluster(self):
        self.visit(f"cluster/{MEMBER}")
        self.browser.sees("3", ".stat:has-text('Nodes')", LONG)
        # One that fits no node of any group, and some that need one more node.
        self.member.apply(replicated("huge", 1, "64"))
        self.browser.sees("huge", "#pending", LONG)
        self.browser.click("#pending tr:has-text('huge') button")
        self.browser.sees("Insufficient cpu", "#pending .reasons", LONG)
        self.member.apply(replicated("many", 4, "3"))
        self.browser.sees("4", ".stat:has-text('Nodes') .stat-value", LONG)
        self.browser.sees("general", "#groups", LONG)
        self.browser.ask("evaluate", expression="document.querySelector('#nodes [role=listbox]').focus()")
        self.browser.press("ArrowRight")
        self.browser.press("ArrowRight")
        active = self.browser.ask("evaluate", expression="document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).textContent")
        self.assertRegex(active, r"^\S+: Ready, cpu \d+ %, \d+ pods?")
        self.browser.click("#nodes button", "Table")
        self.browser.sees(active.split(":")[0], "#nodes table")
        self.browser.click("#nodes button", "Heat map")
        self.assert_looks_well("cluster")
        self.member.kubectl("delete", "deployment", "huge", "many")
        self.browser.sees("No pod is pending", "#pending", LONG)


class MadeUpFleetTest(browser.BrowserTest):
    """200 members with 5,000 nodes, played by tests/browser/played_feed.mjs; the page is the one that is in the program."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.feed = browser.PlayedFeed()
        cls.addClassCleanup(lambda: cls.feed.close())

    def open(self, page):
        self.browser.ask("open", url=f"{self.feed.url}/#/{page}")

    def approved(self):
        return self.browser.ask("evaluate", expression="fetch('/played/approved').then(answer => answer.json())")

    def test_types_are_right(self):
        browser.checked([browser.PAGE / "work/node_modules/.bin/tsc", "--noEmit", "--project", str(browser.PAGE / "work")])

    def test_a_large_fleet(self):
        self.open("fleet")
        self.browser.sees("1–50 of 200", "#clusters")
        self.assertEqual(self.browser.ask("evaluate", expression="document.querySelectorAll('.tile').length"), 200)
        self.browser.click("#clusters button", "Hot")
        self.browser.sees("member-6", "#clusters table")
        self.browser.click("#clusters button", "All")
        self.assert_looks_well("large-fleet")
        self.browser.press("g")
        self.browser.press("e")
        self.browser.sees("1–50 of", "#events")
        self.browser.ask("choose", selector="select[aria-label=Controller]", value="scheduler")
        self.browser.ask("fill", selector="[data-filter]", text="cpu checkout")
        self.browser.sees("FailedScheduling", "#events tbody tr")
        self.assertIn("controller=scheduler", self.browser.ask("evaluate", expression="location.hash"))
        self.browser.click("#events tbody button")
        self.browser.sees("0/25 nodes are available", "#events .reasons")
        self.assert_looks_well("large-events")

    def test_a_cluster_with_everything(self):
        self.open("cluster/member-3")
        self.browser.sees("compute", "#groups")
        self.browser.sees("QUOTA", "#groups")
        self.browser.click("#pending tbody button")
        self.browser.sees("backed off until the quota is free again", "#pending .reasons")
        self.browser.sees("unneeded for 3m20s of 10m", "#scale-down")
        self.browser.press("]")
        self.browser.ask("evaluate", expression="new Promise(done => setTimeout(done, 100))")
        self.assertEqual(self.browser.ask("evaluate", expression="location.hash"), "#/cluster/member-4")
        self.browser.sees("compute", "#groups")
        self.assert_looks_well("large-cluster")

    def test_a_plan_is_approved_as_it_was_shown(self):
        self.open("balance/member-3")
        self.browser.click("button", "Approve 8 moves")
        shown = self.browser.sees("Carry out this plan in member-3?", "dialog")
        self.assertEqual(shown.count("shop/cart-"), 8)
        self.assertEqual(self.browser.ask("audit"), [])
        self.browser.screenshot("approve-1280", full=False)
        self.browser.press("Escape")
        self.browser.ask("gone", text="Carry out", selector="dialog")
        self.assertEqual(self.approved(), [])
        self.browser.click("button", "Approve 8 moves")
        self.browser.click("dialog button.primary")
        self.browser.ask("gone", text="Carry out", selector="dialog")
        self.assertEqual(self.approved(), [{"cluster": "member-3", "plan": "default-8f2c", "uid": "b7a1", "hash": "5d41402abc4b2a76"}])
        self.assert_looks_well("large-balance")

    def test_rollouts(self):
        self.open("rollouts")
        self.browser.sees("1 server more may fail", "#ensemble-zk-orders")
        self.browser.sees("orders-b-0 leads", "#ensemble-zk-orders")
        self.assert_looks_well("large-rollouts")

    def test_a_lost_connection_is_said_and_found_again(self):
        feed = browser.PlayedFeed(members=3, nodes=9)
        self.addCleanup(lambda: feed.close())
        self.browser.ask("open", url=f"{feed.url}/#/fleet")
        self.browser.sees("member-3", "#clusters")
        port = feed.url.rpartition(":")[2]
        feed.close()
        self.browser.sees("No connection", ".banner", LONG)
        self.assertIn("member-3", self.browser.sees("member-3", "#clusters"))
        feed = browser.PlayedFeed(members=4, nodes=12, port=int(port))
        self.browser.sees("Connected again", ".banner", LONG)
        self.browser.sees("member-4", "#clusters")

    def test_a_report_is_one_file(self):
        with tempfile.TemporaryDirectory() as directory:
            path = f"{directory}/report.html"
            browser.report_file(path)
            self.browser.ask("open", url=f"file://{path}")
            self.browser.sees("A day of a fleet", "h1")
            self.browser.sees("0:00:00", ".player output")
            self.browser.ask("evaluate", expression="(() => { const input = document.querySelector('.player input'); input.value = input.max; input.dispatchEvent(new Event('input', {bubbles: true})); })()")
            self.browser.sees("0:59:30", ".player output")
            self.browser.sees("median", ".quantiles")
            self.browser.sees("shop/cart-0", "#moves")
            self.assert_looks_well("report")


if __name__ == "__main__":
    browser.require()
    harness.main_in_parallel()
