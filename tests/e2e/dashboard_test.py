"""The dashboard in Debian's Chromium against a made-up fleet of 200 members with 5,000 nodes, which shows what a small fleet does not (the
live one is in dashboard_live_test.py). Screenshots are kept in build/screenshots."""
import tempfile

import browser
import harness

LONG = 30


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
        self.browser.sees("1–25 of 200", "#clusters")
        self.assertEqual(self.browser.ask("evaluate", expression="document.querySelectorAll('.tile').length"), 200)
        self.browser.click("#clusters button", "Hot")
        self.browser.sees("member-6", "#clusters table")
        self.browser.click("#clusters button", "All")
        self.assert_looks_well("large-fleet")
        self.browser.press("g")
        self.browser.press("e")
        self.browser.sees("1–25 of", "#events")
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
            self.assertRegex(self.first_node_at(58, "0:29:00"), "owner: evenkeel-0$")
            self.assertRegex(self.first_node_at(60, "0:30:00"), "owner: nobody$")
            self.assertRegex(self.first_node_at(119, "0:59:30"), "owner: evenkeel-1$")
            self.browser.sees("median", ".quantiles")
            self.browser.sees("shop/cart-0", "#moves")
            self.assert_looks_well("report")


    def first_node_at(self, frame, clock):
        """What the playback's first cell says, once it shows that frame."""
        self.browser.ask("evaluate", expression="(() => { const input = document.querySelector('.player input'); input.value = %d;"
                         "input.dispatchEvent(new Event('input', {bubbles: true})); })()" % frame)
        self.browser.sees(clock, ".player output")
        return self.walked_to("#playback", "Home")


if __name__ == "__main__":
    browser.require()
    harness.main()
