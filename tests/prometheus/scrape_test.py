"""Debian's Prometheus scrapes tempo-web for five minutes with the alerts loaded: no scrape fails, every series is documented, and the
alerts about a network without UTC are the only ones that can fire."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse
import urllib.request

INTERVAL = 5  # seconds: the default timeout of a scrape is longer than a busy machine stalls
SECONDS = float(os.environ.get("TEMPO_SCRAPE_SECONDS", "300"))
SOURCE = pathlib.Path(os.environ["TEMPO_SOURCE"])


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Scrape(unittest.TestCase):
    def query(self, text):
        address = f"http://127.0.0.1:{self.port}/api/v1/query?query={urllib.parse.quote(text)}"
        return json.loads(urllib.request.urlopen(address, timeout=10).read())["data"]["result"]

    def ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def test_five_minutes(self):
        site = Site(3)
        self.addCleanup(site.stop)
        site.start()
        site.start_web(site.daemons[0])
        scratch = tempfile.TemporaryDirectory(prefix="tempo-prometheus-")
        self.addCleanup(scratch.cleanup)
        self.port = free_port()
        target = site.address.removeprefix("http://").rstrip("/")
        pathlib.Path(scratch.name, "prometheus.yml").write_text(
            f"global: {{scrape_interval: {INTERVAL}s, scrape_timeout: {INTERVAL}s, evaluation_interval: 5s}}\nrule_files: [{SOURCE}/packaging/prometheus/alerts.yml]\n"
            f"scrape_configs:\n  - job_name: tempo\n    static_configs: [{{targets: ['{target}']}}]\n", encoding="utf-8")
        with open(f"{scratch.name}/log", "wb") as log:
            process = subprocess.Popen(["prometheus", f"--config.file={scratch.name}/prometheus.yml", f"--storage.tsdb.path={scratch.name}/data",
                                        f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        wait_for(60, self.ready, "Prometheus is ready")
        subprocess.run([TEMPO, "lock", "a", "--timeout", "30s", "--socket", site.daemons[0].socket, "--", "true"], timeout=60, stderr=subprocess.DEVNULL)
        time.sleep(SECONDS)
        up = self.query(f"min_over_time(up[{int(SECONDS) - 5}s])")
        scrapes = int(self.query(f"count_over_time(up[{int(SECONDS) - 5}s])")[0]["value"][1])
        self.assertEqual([one["value"][1] for one in up], ["1"])
        names = {one["metric"]["__name__"] for one in self.query('{__name__=~"tempo_.*"}')}
        page = (SOURCE / "doc/reference/metrics.md").read_text(encoding="utf-8")
        known = set(re.findall(r"^\| `(\w+)`", page, re.M))
        self.assertEqual({re.sub(r"(_seconds)_(bucket|sum|count)$", r"\1", name) for name in names} - known, set())
        firing = {one["metric"]["alertname"] for one in self.query('ALERTS{alertstate="firing"}')}
        self.assertLessEqual(firing, {"TempoNoUtc"})
        print(f"{scrapes} scrapes, {len(names)} metrics, firing: {sorted(firing)}", flush=True)
        self.assertGreater(scrapes, 0.9 * (SECONDS - 5) / INTERVAL - 1)


if __name__ == "__main__":
    if shutil.which("prometheus") is None:
        print("prometheus is missing; run 'tools/deps prometheus'")
        sys.exit(77)
    sys.path.insert(0, str(SOURCE / "tests/web"))
    from daemons import Site, TEMPO, wait_for
    unittest.main()
