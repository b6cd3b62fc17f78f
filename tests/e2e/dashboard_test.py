"""The dashboard in Debian's Chromium against a made-up fleet of 200 members with 5,000 nodes, which shows what a small fleet does not (the
live one is in dashboard_live_test.py). Screenshots are kept in build/screenshots."""
import json
import os
import tempfile
import urllib.parse
import urllib.request

import browser
import harness
import reservations

LONG = 120


class MadeUpFleetTest(browser.BrowserTest):
    """200 members with 5,000 nodes, played by tests/browser/played_feed.mjs; the page is the one that is in the program."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.feed = browser.PlayedFeed()
        cls.addClassCleanup(lambda: cls.feed.close())

    def open(self, page):
        self.browser.ask("open", url=f"{self.feed.url}/#/{page}")

    def acted(self):
        """What was done since it was asked last."""
        return self.browser.ask("evaluate", expression="fetch('/played/acted').then(answer => answer.json())")

    def read_anew_as(self, mood):
        """The page that is open sees the fleet in a mood."""
        self.browser.ask("evaluate", expression=f"fetch('/played/mood?as={mood}').then(() => dispatchEvent(new Event('online')))")

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
        harness.eventually(lambda: "controller=scheduler" in self.browser.ask("evaluate", expression="location.hash"), LONG)
        self.browser.click("#events tbody button")
        self.browser.sees("0/25 nodes are available", "#events .reasons")
        self.assert_looks_well("large-events")

    def test_counts_are_the_same_everywhere(self):
        self.open("fleet")
        # 5 degraded members with 2 each; what is upcoming is not what is not ready.
        self.browser.sees("10 not ready, 9 upcoming", ".stat:has-text('Nodes')")
        self.browser.ask("fill", selector="[data-filter]", text="member-18")
        self.browser.sees("23/25", "#clusters tr:has-text('Degraded')")
        self.browser.ask("fill", selector="[data-filter]", text="member-24")
        self.assertIn("24 +1", " ".join(self.browser.sees("member-24", "#clusters tbody tr").split()))

    def test_replicas_are_counted_and_keep_their_colours(self):
        self.open("fleet")
        shown = self.browser.sees("3 of 4", ".stat:has-text('Replicas')")
        self.assertIn("evenkeel-3 is gone since", shown)
        self.browser.sees("not heard of since", ".owner:has-text('evenkeel-3')")
        colours = "Object.fromEntries([...document.querySelectorAll('.owner h3')].map(each => [each.innerText.trim().split(/\\s/)[0], each.querySelector('.swatch')?.style.background ?? '']))"
        before = self.browser.ask("evaluate", expression=colours)
        self.assertEqual(len({before[f"evenkeel-{index}"] for index in range(4)}), 4, before)
        # The first by name goes: the colours of the others are theirs, and not those of a place in a list.
        with urllib.request.urlopen(f"{self.feed.url}/played/forget?replica=evenkeel-0", timeout=LONG):
            pass
        self.addCleanup(lambda: urllib.request.urlopen(f"{self.feed.url}/played/forget", timeout=LONG).close())
        self.browser.ask("goto", url="about:blank")
        self.browser.ask("goto", url=f"{self.feed.url}/#/fleet")
        self.browser.sees("2 of 3", ".stat:has-text('Replicas')")
        after = self.browser.ask("evaluate", expression=colours)
        self.assertEqual({name: after[name] for name in ("evenkeel-1", "evenkeel-2", "evenkeel-3")},
                         {name: before[name] for name in ("evenkeel-1", "evenkeel-2", "evenkeel-3")})

    def test_what_is_unknown_is_grey_with_since(self):
        self.open("fleet")
        self.browser.ask("fill", selector="[data-filter]", text="member-30")
        shown = self.browser.sees("unknown since", "#clusters tr:has-text('Unreachable')")
        self.assertNotIn("%", shown)
        self.browser.sees("unknown since", ".tiles li:has(a[href='#/cluster/member-30'])")
        self.assertIn("Unknown", self.browser.ask("evaluate", expression="document.querySelector(\".tile[href='#/cluster/member-30']\").className"))

    def test_a_pending_pod_says_why_also_on_a_narrow_screen(self):
        whole = ("compute: backed off until the quota is free again; general: Insufficient cpu: 6 are asked for, a new node has 4; "
                 "memory: node(s) didn't match Pod's node affinity/selector")
        for width in (375, 1280):
            self.browser.ask("open", url=f"{self.feed.url}/#/cluster/member-3", width=width)
            self.assertIn(whole, " ".join(self.browser.sees("backed off", "#pending tbody tr").split()))
            visible = self.browser.ask("evaluate", expression="[...document.querySelectorAll('#pending tbody tr:first-child td *, #pending tbody tr:first-child td')]"
                                       ".some(each => each.children.length === 0 && each.textContent.includes('affinity/selector') && each.getClientRects().length > 0)")
            self.assertTrue(visible, width)

    def test_a_narrow_screen_shows_as_much(self):
        self.browser.ask("open", url=f"{self.feed.url}/#/fleet", width=375)
        self.browser.ask("fill", selector="[data-filter]", text="member-18")
        self.browser.press("Enter", "#clusters tr:has-text('Degraded') button")
        shown = self.browser.sees("2 of 25 nodes are not ready", "#clusters tr.detail")
        for words in ("evenkeel-2", "500 running, 0 pending", "memory", "25 nodes, 2 not ready"):
            self.assertIn(words, shown)
        self.browser.click("#handovers button", "Table")
        self.browser.press("Enter", "#handovers tbody button")
        self.browser.sees("evenkeel-1 left, its clusters were shared out", "#handovers tr.detail")
        self.assert_looks_well("narrow-fleet")

    def test_more_metrics_than_there_is_room_for(self):
        self.open("cluster/member-5")
        self.browser.ask("choose", selector="#nodes select[aria-label=Metric]", value="example.com/nic")
        self.browser.sees("example.com/nic", "#nodes .heat-legend")

    def test_a_cluster_with_everything(self):
        self.open("cluster/member-3")
        self.browser.sees("compute", "#groups")
        self.browser.sees("QUOTA", "#groups")
        self.browser.click("#pending tbody button")
        self.browser.sees("backed off until the quota is free again", "#pending .reasons")
        self.browser.sees("unneeded for 3m20s of 10m", "#scale-down")
        self.browser.press("]")
        harness.eventually(lambda: self.browser.ask("evaluate", expression="location.hash") == "#/cluster/member-4", LONG)
        self.browser.sees("compute", "#groups")
        self.assert_looks_well("large-cluster")

    def test_a_plan_is_approved_as_it_was_shown(self):
        self.open("balance/member-3")
        self.browser.click("button", "Approve 8 moves")
        self.browser.sees("Carry out plan default-8f2c of member-3?", "dialog[open]")
        shown = self.browser.sees("8 pods are evicted", "dialog[open]")
        self.assertEqual(shown.count("shop/cart-"), 8)
        self.assertEqual(self.browser.ask("audit"), [])
        self.browser.screenshot("approve-1280", full=False)
        self.browser.press("Escape")
        self.browser.ask("gone", text="Carry out", selector="dialog[open]")
        self.assertEqual(self.acted(), [])
        # The browser tells of a closed question when the next one may have been asked already.
        self.browser.click("button", "Reject")
        self.browser.sees("That is what happens.", "dialog[open]")
        self.browser.ask("evaluate", expression="""(() => {
            document.querySelector('dialog.confirm').close();
            document.querySelector('#plan button.primary').click();
        })()""")
        self.browser.sees("8 pods are evicted", "dialog[open]")
        # A member that cannot be read for a moment takes the button away, and not what was asked.
        self.read_anew_as("broken")
        self.browser.ask("gone", text="Approve", selector="#plan button")
        self.browser.sees("8 pods are evicted", "dialog[open]")
        self.read_anew_as("")
        self.browser.sees("Approve 8 moves", "#plan button.primary")
        self.browser.click("dialog[open] button.primary")
        self.browser.ask("gone", text="Carry out", selector="dialog[open]")
        self.assertEqual(self.acted(), [{"path": "/api/actions", "action": "approve", "cluster": "member-3", "name": "default-8f2c", "seen": "5d41402abc4b2a76"}])
        self.browser.click("button", "Reject")
        self.browser.sees("That is what happens.", "dialog[open]")
        self.browser.click("dialog[open] button.primary")
        self.browser.ask("gone", text="That is what happens.", selector="dialog[open]")
        self.assertEqual([done["action"] for done in self.acted()], ["reject"])
        self.assert_looks_well("large-balance")

    def test_a_node_is_looked_at_and_drained(self):
        self.open("cluster/member-3?nodes=table")
        self.browser.click("#nodes td a", "member-3-n1")
        self.browser.sees("back-off 40s", "dialog.object")
        self.browser.click("dialog.object button", "YAML")
        self.browser.sees("kind: Node", "dialog.object pre")
        self.assertEqual(self.browser.ask("audit"), [])
        self.browser.screenshot("object-1280", full=False)
        here = self.browser.ask("evaluate", expression="location.href")
        self.browser.click("dialog.object button", "Drain")
        shown = self.browser.sees("no other node has room", "dialog.confirm[open]")
        self.assertIn("stays: NotReplicated", shown)
        self.assertEqual(self.browser.ask("audit"), [])
        self.browser.screenshot("drain-1280", full=False)
        self.browser.click("dialog.confirm[open] button.primary")
        harness.eventually(lambda: [done["action"] for done in self.acted()] == ["drain"], LONG)
        # Whoever is sent the address sees the same.
        self.browser.ask("open", url=here, width=375)
        self.browser.sees("kind: Node", "dialog.object pre")
        self.assertEqual(self.browser.ask("overflow"), 0)
        self.browser.screenshot("object-375", full=False)
        self.browser.press("Escape")
        self.browser.ask("gone", text="kind: Node", selector="dialog.object pre")
        self.assertNotIn("object", self.browser.ask("evaluate", expression="location.hash"))

    def test_pods_are_a_table_with_logs(self):
        self.open("cluster/member-3")
        self.browser.sees("shop/cart-0", "#pods tbody")
        self.browser.ask("fill", selector="#pods [data-filter]", text="cart-3 member-3-n4")
        self.browser.ask("gone", text="shop/cart-0", selector="#pods tbody")
        self.browser.ask("choose", selector="#pods select", value="Failed")
        self.browser.sees("shop/cart-3", "#pods tbody")
        self.browser.click("#pods td a", "shop/cart-3")
        self.browser.click("dialog.object button", "Logs")
        self.browser.ask("choose", selector="dialog.object select[aria-label=Container]", value="proxy")
        self.browser.sees("proxy line 39", "dialog.object pre")
        self.assertEqual(self.browser.ask("audit"), [])
        self.browser.screenshot("logs-1280", full=False)
        here = self.browser.ask("evaluate", expression="location.href")
        self.browser.ask("open", url=here)
        self.browser.sees("proxy line 39", "dialog.object pre")

    def test_everything_is_searched(self):
        self.open("fleet")
        self.browser.sees("1–25 of 200", "#clusters")
        self.browser.press("/")
        self.browser.ask("fill", selector="dialog.search input", text="member-7-n3")
        found = self.browser.sees("member-7, Ready", "dialog.search li[aria-selected=true]")
        self.assertIn("node", found)
        self.browser.sees("member-30", "dialog.search [role=status]")
        self.assertEqual(self.browser.ask("audit"), [])
        self.browser.screenshot("search-1280", full=False)
        self.browser.press("Enter", "dialog.search input")
        self.browser.sees("Node member-7-n3", "dialog.object")
        self.assertIn("object=node%2Fmember-7%2Fmember-7-n3", self.browser.ask("evaluate", expression="location.hash"))

    def test_whoever_may_only_look_sees_no_buttons(self):
        with urllib.request.urlopen(f"{self.feed.url}/played/viewer?only", timeout=LONG):
            pass
        self.addCleanup(lambda: urllib.request.urlopen(f"{self.feed.url}/played/viewer", timeout=LONG).close())
        self.open("balance/member-3")
        self.browser.sees("You may look and not approve", "#plan")
        self.browser.sees("read-only", ".top")
        for page in ("balance/member-3", "rollouts", "cluster/member-3"):
            self.open(page)
            self.browser.sees("read-only", ".top")
            words = self.browser.ask("evaluate", expression="[...document.querySelectorAll('main button')].map(each => each.innerText).join()")
            self.assertNotRegex(words, "Approve|Reject|Pause|Scale general", page)
        self.open("people")
        self.browser.sees("You may not see who else is logged in", "#sessions")

    def test_a_group_is_scaled_and_a_rollout_paused(self):
        self.open("cluster/member-3")
        self.browser.ask("fill", selector="#groups li:has-text('general') input", text="12")
        self.browser.click("#groups button", "Scale general")
        self.browser.click("dialog[open] button.primary")
        harness.eventually(lambda: [(done["action"], done["size"]) for done in self.acted()] == [("scale", 12)], LONG)
        self.open("rollouts")
        self.browser.click("#ensemble-zk-orders button", "Pause")
        self.browser.click("dialog[open] button.primary")
        harness.eventually(lambda: [(done["action"], done["namespace"], done["name"]) for done in self.acted()] == [("pause", "zk", "orders")], LONG)

    def test_people_log_in_and_sessions_end(self):
        self.browser.ask("open", url=f"{self.feed.url}/login")
        self.browser.sees("Log in", "form")
        self.assertEqual(self.browser.ask("audit"), [])
        self.browser.screenshot("login-1280", full=False)
        self.browser.ask("fill", selector="#token", text="wrong")
        self.browser.click("form button.primary")
        self.browser.sees("neither a token of the dashboard", "form [role=alert]")
        # As the address that is printed: the token does not stay in it.
        self.browser.ask("open", url=f"{self.feed.url}/login?token=right")
        self.browser.sees("1–25 of 200", "#clusters")
        self.assertNotIn("right", self.browser.ask("evaluate", expression="location.href"))
        self.open("people")
        self.browser.sees("bob@example.org", "#sessions")
        self.assert_looks_well("people")
        self.browser.click("#sessions tr:has-text('bob') button")
        harness.eventually(lambda: [done.get("revoke") for done in self.acted()] == ["00bb"], LONG)

    def test_the_last_days_are_shown_or_it_is_said_that_they_are_not_kept(self):
        self.open("events?range=3d")
        self.browser.sees("No history is kept here", "#events .banner")
        self.browser.ask("evaluate", expression="fetch('/played/keep?on').then(() => 0)")
        self.addCleanup(lambda: urllib.request.urlopen(f"{self.feed.url}/played/keep", timeout=LONG).close())
        self.open("events?range=3d&text=LongAgo")
        self.browser.sees("LongAgo", "#events tbody")
        self.browser.ask("choose", selector="select[aria-label='Time range']", value="live")
        self.browser.ask("gone", text="LongAgo", selector="#events tbody")
        self.open("cluster/member-3")
        self.browser.ask("choose", selector="#history-nodes select", value="7d")
        self.browser.sees("The history begins at", "#history-nodes")
        harness.eventually(lambda: "range=7d" in self.browser.ask("evaluate", expression="location.hash"), LONG)
        self.assert_looks_well("history")

    def test_every_view_in_every_mood(self):
        """Pictures of each are kept in build/screenshots: VIEW-MOOD.png."""
        feed = browser.PlayedFeed(members=12, nodes=200)
        self.addCleanup(lambda: feed.close())
        sees = {("fleet", "empty"): "No member cluster yet", ("fleet", "healthy"): "all healthy", ("fleet", "busy"): "3 of 4", ("fleet", "broken"): "hub unreachable",
                ("cluster", "empty"): "No node yet", ("cluster", "healthy"): "No pod is pending", ("cluster", "busy"): "backed off", ("cluster", "broken"): "cannot be read since",
                ("balance", "empty"): "Nobody balances this cluster yet", ("balance", "healthy"): "in balance", ("balance", "busy"): "Approve 8 moves", ("balance", "broken"): "cannot be read since",
                ("rollouts", "empty"): "No ensemble yet", ("rollouts", "healthy"): "2 servers more may fail", ("rollouts", "busy"): "1 server more may fail", ("rollouts", "broken"): "no quorum",
                ("events", "empty"): "Nothing has been decided yet", ("events", "healthy"): "TriggeredScaleUp", ("events", "busy"): "FailedScheduling", ("events", "broken"): "Events of member-2 cannot be read"}
        for (view, mood), words in sees.items():
            with self.subTest(view=view, mood=mood):
                with urllib.request.urlopen(f"{feed.url}/played/mood?as={'' if mood == 'busy' else mood}", timeout=LONG):
                    pass
                self.browser.ask("open", url=f"{feed.url}/#/{view}{'/member-3' if view in ('cluster', 'balance') else ''}")
                self.browser.sees(words, "main")
                self.assertEqual(self.browser.ask("complaints")["problems"], [])
                self.assertEqual(self.browser.ask("audit"), [])
                self.assertLessEqual(self.browser.ask("overflow"), 0)
                if mood == "broken":
                    acts = self.browser.ask("evaluate", expression="[...document.querySelectorAll('main button')].map(each => each.textContent)")
                    self.assertEqual([act for act in acts if act.startswith(("Scale", "Approve"))], [], "nobody changes what cannot be reached")
                self.browser.screenshot(f"{view}-{mood}")

    def test_five_hundred_members_with_20000_nodes_are_shown(self):
        # How fast is asked by bench/dashboard.py.
        feed = browser.PlayedFeed(members=500, nodes=20_000)
        self.addCleanup(lambda: feed.close())
        self.browser.ask("open", url=f"{feed.url}/#/fleet")
        self.browser.sees("1–25 of 500", "#clusters")
        self.assertEqual(self.browser.ask("evaluate", expression="document.querySelectorAll('.tile').length"), 500)
        self.browser.screenshot("fleet-500-1280", full=False)

    def test_what_is_filtered_is_in_the_address(self):
        self.open("fleet?text=member-59&only=attention&order=-name")
        self.browser.sees("member-59", "#clusters tbody")
        self.assertEqual(self.browser.ask("evaluate", expression="document.querySelectorAll('#clusters tbody tr').length"), 1)
        self.browser.ask("fill", selector="[data-filter]", text="")
        harness.eventually(lambda: "text" not in self.browser.ask("evaluate", expression="location.hash"), LONG)
        self.assertEqual(self.browser.ask("evaluate", expression="document.querySelector('#clusters th[aria-sort]').getAttribute('aria-sort')"), "descending")

    def test_a_plan_says_what_became_of_its_moves(self):
        self.open("balance/member-7")
        self.browser.click("#plan tbody tr:has-text('shop/cart-7') button")
        shown = self.browser.sees("the scheduler chose another node", "#plan .reasons")
        self.assertIn("member-7-n1", shown)

    def test_rollouts(self):
        self.open("rollouts")
        self.browser.sees("1 server more may fail", "#ensemble-zk-orders")
        self.browser.sees("orders-b-0 in member-2 leads", "#ensemble-zk-orders")
        self.browser.sees("QuorumAtRisk: orders-b-1 is not back yet", "#ensemble-zk-orders .records")
        self.browser.sees("Paused", "#ensemble-zk-orders .records th")
        shown = self.browser.sees("cannot be read: zookeepers: connection refused", "#ensemble-zk-search .station:has-text('member-3')")
        self.assertNotIn("0 of", shown)
        self.assert_looks_well("large-rollouts")

    def test_a_lost_connection_is_said_and_found_again(self):
        port = reservations.port()
        feed = browser.PlayedFeed(members=3, nodes=9, port=port)
        self.addCleanup(lambda: feed.close())
        self.browser.ask("open", url=f"{feed.url}/#/fleet")
        self.browser.sees("member-3", "#clusters")
        feed.close()
        self.browser.sees("No connection", ".banner", LONG)
        self.assertIn("member-3", self.browser.sees("member-3", "#clusters"))
        # It says so for some seconds.
        self.note("[...document.querySelectorAll('.banner')].map(each => each.innerText).join()")
        feed = browser.PlayedFeed(members=4, nodes=12, port=port)
        harness.eventually(lambda: any("Connected again" in banners for banners in self.noted()), LONG, self.noted)
        self.browser.sees("member-4", "#clusters")

    def test_a_member_that_is_not_there_is_said(self):
        for page in ("cluster", "balance"):
            self.open(f"{page}/nobody")
            self.browser.sees("there is no member nobody", ".banner")
            # Also while it is tried again.
            self.browser.ask("evaluate", expression="new Promise(done => setTimeout(done, 2500))")
            shown = self.browser.ask("evaluate", expression="document.body.innerText")
            self.assertIn("there is no member nobody", shown)
            self.assertNotIn("No connection", shown)
            self.assertFalse(self.browser.ask("evaluate", expression="!!document.querySelector('.skeleton')"))
        self.browser.ask("choose", selector="select[aria-label=Cluster]", value="member-3")
        self.browser.sees("default-8f2c", "#plan")

    def refuse(self, feed, **how):
        with urllib.request.urlopen(f"{feed.url}/played/refuse?{urllib.parse.urlencode(how)}", timeout=LONG):
            pass

    def test_why_nothing_is_known_is_said_until_it_is(self):
        feed = browser.PlayedFeed(members=3, nodes=9)
        self.addCleanup(lambda: feed.close())
        why = "the hub has not said yet which members there are"
        for page in ("fleet", "cluster", "balance", "cluster/member-2"):
            for how, said in (({"status": 503, "message": why}, why), ({"status": 401}, "Not logged in")):
                self.refuse(feed, **how)
                self.browser.ask("open", url=f"{feed.url}/#/{page}")
                self.browser.sees(said, ".banner")
                shown = self.browser.ask("evaluate", expression="document.body.innerText")
                self.assertNotIn("No member cluster yet", shown)
                self.assertNotIn("No connection", shown)
            self.refuse(feed)
            self.browser.sees("member-2" if page == "cluster/member-2" else "member-1", "main", LONG)

    def test_a_fleet_without_members(self):
        feed = browser.PlayedFeed(members=0, nodes=0)
        self.addCleanup(lambda: feed.close())
        self.browser.ask("open", url=f"{feed.url}/#/cluster")
        self.browser.sees("No member cluster yet", "main")

    def test_marks_of_axes_say_the_day_where_it_matters(self):
        with tempfile.TemporaryDirectory() as directory:
            script = (f"import {{axisTime}} from '{directory}/format.mjs'; const at = Date.UTC(2026, 5, 13, 18, 30, 15);"
                      "console.log(JSON.stringify([10, 300, 43_200, 86_400].map(step => axisTime(at, step))"
                      ".concat(axisTime(Date.UTC(2026, 5, 14), 21_600))))")
            browser.checked([browser.PAGE / "work/node_modules/.bin/esbuild", "--format=esm", f"--outfile={directory}/format.mjs",
                             browser.PAGE / "work/src/format.ts"])
            told = browser.checked(["node", "--input-type=module", "--eval", script], env={**os.environ, "TZ": "UTC"})
        self.assertEqual(json.loads(told), ["18:30:15", "18:30", "13 Jun, 18:30", "13 Jun", "14 Jun"])

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
