"""What the page costs a browser: 500 members with 20,000 nodes, played by tests/browser/played_feed.mjs, in Debian's Chromium."""
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/e2e"))
import browser  # noqa: E402

PAINT_MS = 1_000
UPDATE_MS = 50
PAGES = ("fleet", "cluster/member-3", "events")
SECONDS = 10
# The feed sends one patch every 250 ms.
UPDATES = SECONDS * 4
WATCH_LONG_TASKS = """(() => { window.longest = 0;
  new PerformanceObserver(list => list.getEntries().forEach(each => { window.longest = Math.max(window.longest, each.duration); })).observe({type: 'longtask'}); })()"""


def measure():
    """{page: {"paint_ms", "update_ms": main-thread time per update, "longest_ms": the longest task of them that exceeds 50 ms, or 0}}"""
    browser.require()
    browser.install()
    feed, driven, results = browser.PlayedFeed(members=500, nodes=20_000), browser.Browser(), {}
    try:
        # Untimed: the browser's own start.
        driven.ask("open", url=feed.url)
        for page in PAGES:
            driven.ask("open", url=f"{feed.url}/#/{page}")
            driven.sees("member-", "main", 30)
            paint = driven.ask("evaluate", expression="performance.getEntriesByName('first-contentful-paint')[0].startTime")
            time.sleep(2)
            driven.ask("evaluate", expression=WATCH_LONG_TASKS)
            counters = driven.ask("measure", seconds=SECONDS)
            busy = counters["after"]["TaskDuration"] - counters["before"]["TaskDuration"]
            assert busy > 0, "Chromium counted no time of its main thread"
            results[page] = {"paint_ms": paint, "update_ms": busy * 1000 / UPDATES, "longest_ms": driven.ask("evaluate", expression="window.longest")}
    finally:
        driven.close()
        feed.close()
    return results


def rows(results, table):
    for page, row in results.items():
        table.alone(f"dashboard, 500 members with 20,000 nodes, {page.split('/')[0]}: first paint", f"{row['paint_ms']:.0f} ms", f"< {PAINT_MS:,} ms")
        table.alone("    main thread per update; longest task, 0 when none exceeds 50 ms", f"{row['update_ms']:.1f} ms; {row['longest_ms']:.0f} ms", f"< {UPDATE_MS} ms")


def missed(results):
    return [f"dashboard, {page}: {name} {row[name]:.0f}" for page, row in results.items()
            for name, bar in (("paint_ms", PAINT_MS), ("update_ms", UPDATE_MS), ("longest_ms", UPDATE_MS)) if row[name] >= bar]
