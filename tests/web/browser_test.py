"""The page of tempo-web in chromium, against five live daemons.

A master is killed and the page shows the successor within 500 ms of its became-master event; a part of the network is stopped and
the page says so; a lock changes hands; tempo-web and tempod restart and the page reconnects. No console error, no foreign request, no
violation of the content policy, no page that is wider than its window. TEMPO_SHOTS names a directory for screenshots.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest
import urllib.request

SHOTS = os.environ.get("TEMPO_SHOTS", "")
WATCH = """
window.changes = [];
let last = '';
new MutationObserver(() => {
  const now = document.getElementById('master')?.innerText ?? '';
  if (now !== last) { last = now; window.changes.push([Date.now() / 1000, now]); }
}).observe(document.body, { subtree: true, childList: true, characterData: true });
"""


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.site = Site(5)
        cls.addClassCleanup(cls.site.stop)
        cls.site.start()

    def show(self, view):
        self.browser.run("location.hash = arguments[0]", view)

    def expect_text(self, selector, part, seconds=20):
        return wait_for(seconds, lambda: part in self.browser.text(selector), f"{part!r} in {selector}: {self.browser.text(selector)[:300]!r}")

    def shot(self, name):
        if SHOTS:
            self.browser.screenshot(f"{SHOTS}/{name}.png")

    def test_demo_prints_its_address(self):
        demo = subprocess.Popen([TEMPO, "demo", "--web", "--plain", "--port", str(15300 + os.getpid() % 1000)],
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(demo.stdout.close)
        self.addCleanup(demo.wait)
        self.addCleanup(demo.send_signal, signal.SIGINT)
        address = next(found[0] for found in (re.search(r"http://\S+/", line) for line in demo.stdout) if found)

        def healthy():
            try:
                return urllib.request.urlopen(address + "healthz", timeout=5).status == 200
            except OSError:
                return False
        wait_for(20, healthy, "the page of the demo is healthy")

    def test_page(self):
        site = self.site
        first = site.settled_master()
        seat = next(daemon for daemon in site.daemons if daemon is not first)
        site.start_web(seat)
        with open(f"/proc/{site.web.pid}/status", encoding="utf-8") as file:
            rights = dict(line.split(":", 1) for line in file)
        self.assertEqual((rights["Seccomp"].strip(), int(rights["CapEff"], 16), int(rights["CapBnd"], 16) if os.getuid() == 0 else 0), ("2", 0, 0))
        self.assertNotEqual(int(rights["Uid"].split()[1]), 0)
        site.watch_events()
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.browser.open("about:blank")
        self.browser.requests()  # those of the browser's own first page
        self.browser.open(site.address)
        self.expect_text("#master", first.name)
        self.expect_text("main", "network time ±")
        self.expect_text("main", "Network map")

        # A master dies.
        time.sleep(3)
        self.browser.run(WATCH)
        del site.events[:]
        first.stop()
        became = wait_for(30, lambda: next((event for event in site.events if event[2] == "became-master"), None), "a became-master event")
        shown = wait_for(10, lambda: next((change for change in self.browser.run("return window.changes") if change[1] == became[1]), None),
                         f"{became[1]} on the page")
        late = shown[0] - became[0]
        print(f"the page shows the successor {late * 1e3:.0f} ms after its became-master event", flush=True)
        self.assertLess(late, 0.5)
        first.start()
        wait_for(60, lambda: len(seat.data("status")["members"]) == 5 and all(member["state"] == "up" for member in seat.data("status")["members"]), "all are back")

        # A lock changes hands.
        wait_for(60, lambda: seat.data("locks")["obstacle"] == "", "locks are granted")
        other = next(daemon for daemon in site.daemons if daemon not in (seat, first))
        for daemon in (seat, other):
            subprocess.run([TEMPO, "lock", "backup", "--socket", daemon.socket, "--", "sleep", "1.5"], check=True, timeout=60, stderr=subprocess.DEVNULL)
        self.show("locks")
        self.expect_text("#moves", other.name)
        self.assertIn("lock backup", self.browser.text("#moves"))
        holding = subprocess.Popen([TEMPO, "lock", "backup", "--socket", seat.socket, "--", "sleep", "600"], stderr=subprocess.DEVNULL)
        self.addCleanup(holding.wait)
        self.addCleanup(holding.terminate)
        self.expect_text("#locks", f"{seat.name} (here)")

        # Screens of all sizes; nothing is cut off.
        for view in ("network", "member", "locks", "events", "help/T012"):
            self.show(view)
            for width, height, dark in ((1280, 900, False), (1280, 900, True), (400, 850, False), (3840, 2160, False)):
                self.browser.resize(width, height, dark)
                wide = self.browser.run("return document.documentElement.scrollWidth")
                self.assertLessEqual(wide, width, f"{view} is wider than {width}")
                self.shot(f"{view.replace('/', '-')}-{width}{'-dark' if dark else ''}")
        self.browser.resize(1280, 900)
        self.show("events")
        self.expect_text("#events", "master")  # became-master or master-changed

        # Keys reach every view, and each has a heading.
        self.show("network")
        names = self.browser.run("return [...document.querySelectorAll('nav a')].map((link) => link.tabIndex >= 0 && link.innerText)")
        self.assertEqual(names, ["Network", "Member", "Locks and groups", "Events"])
        self.assertEqual(self.browser.run("return [...document.querySelectorAll('button,input,select')].filter((one) => !(one.innerText || one.labels?.length)).length"), 0)
        exported = self.browser.run("""
            const saved = []; URL.createObjectURL = (blob) => { saved.push(blob); return 'blob:' + location.origin + '/none'; };
            HTMLAnchorElement.prototype.click = () => {};
            for (const button of document.querySelectorAll('.chart button')) button.click();
            return Promise.all(saved.map((blob) => blob.text()));""")
        self.assertTrue(exported[0].startswith("<svg "), exported[0][:80])
        self.assertTrue(exported[1].startswith("time_s,"), exported[1][:80])
        self.assertGreater(len(exported[1].splitlines()), 5)

        # Three of five stop: this machine is in the minority.
        stopped = [daemon for daemon in site.daemons if daemon is not seat][:3]
        for daemon in stopped:
            daemon.signal(signal.SIGSTOP)
        self.expect_text("#alarms", "PARTITION", 60)
        self.shot("partition")
        for daemon in stopped:
            daemon.signal(signal.SIGCONT)
        wait_for(60, lambda: "PARTITION" not in self.browser.text("#alarms"), "the alarm ends")

        self.assertEqual(self.browser.console(), [])

        # tempo-web and tempod restart.
        port = int(site.address.rstrip("/").rsplit(":", 1)[1])
        site.stop_web()
        self.expect_text("#link", "lost")
        site.start_web(seat, port)
        self.expect_text("#link", "live")
        holding.terminate()
        seat.stop()
        self.expect_text("#alarms", "No connection to tempod")
        seat.start()
        wait_for(60, lambda: "No connection" not in self.browser.text("#alarms"), "the page follows the new tempod")
        errors = [message for message in self.browser.console() if "net::ERR_" not in message and "503" not in message and "404" not in message]
        self.assertEqual(errors, [])
        foreign = [address for address in self.browser.requests()
                   if not address.startswith((site.address, "data:", "blob:", "about:"))]
        self.assertEqual(foreign, [])


if __name__ == "__main__":
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            print(f"{program} is missing; run 'tools/deps browsers'")
            sys.exit(77)
    from browser import Browser
    from daemons import Site, TEMPO, wait_for
    unittest.main()
