"""The alerts under promtool, and the metrics of a live daemon.

promtool checks the rules, runs tests/prometheus/alerts_test.yml and lints what `tempo status --metrics` prints. Every
metric that an alert or the dashboard names is in doc/reference/metrics.md, and every alert has a test.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

SOURCE = pathlib.Path(os.environ["TEMPO_SOURCE"])
TEMPO, TEMPOD = os.environ["TEMPO_TEMPO"], os.environ["TEMPO_TEMPOD"]
ALERTS = SOURCE / "packaging/prometheus/alerts.yml"
ALERTS_TEST = SOURCE / "tests/prometheus/alerts_test.yml"
DASHBOARD = SOURCE / "packaging/grafana/tempo.json"


def known_metrics():
    """Names of all series; a histogram has three."""
    known = set()
    for line in (SOURCE / "doc/reference/metrics.md").read_text(encoding="utf-8").splitlines():
        row = re.match(r"\| `(\w+)` \| (\w+) \|", line)
        if row:
            known.add(row[1])
            if row[2] == "histogram":
                known |= {row[1] + suffix for suffix in ("_bucket", "_sum", "_count")}
    return known


def named_metrics(text):
    return set(re.findall(r"\btempo_\w+", text))


class Prometheus(unittest.TestCase):
    def run_promtool(self, *words, **options):
        done = subprocess.run(["promtool", *words], capture_output=True, text=True, timeout=60, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_alerts_and_dashboard_name_known_metrics(self):
        known = known_metrics()
        self.assertGreater(len(known), 40)
        expressions = "\n".join(line for line in ALERTS.read_text(encoding="utf-8").splitlines() if "expr:" in line)
        self.assertEqual(named_metrics(expressions) - known, set())
        panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
        queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
        self.assertGreater(len(queries), 8)
        self.assertEqual(named_metrics("\n".join(queries)) - known, set())

    def test_every_alert_has_a_test(self):
        alerts = set(re.findall(r"alert: (\w+)", ALERTS.read_text(encoding="utf-8")))
        tested = set(re.findall(r"alertname: (\w+), exp_alerts: \[\{", ALERTS_TEST.read_text(encoding="utf-8")))
        self.assertGreaterEqual(len(alerts), 10)
        self.assertEqual(alerts, tested)

    def test_rules(self):
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(ALERTS, scratch)
            shutil.copy(ALERTS_TEST, scratch)
            self.run_promtool("check", "rules", str(ALERTS))
            self.run_promtool("test", "rules", "alerts_test.yml", cwd=scratch)

    def test_metrics_of_a_live_daemon(self):
        with tempfile.TemporaryDirectory(prefix="tempo-prom-") as scratch:
            socket = f"{scratch}/sock"
            number = os.getpid()
            settings = {
                "cluster": f'"prom-{number}"', "name": '"alone"', "profile": '"fast"', "clock": '"software"',
                "port": 30000 + number % 10000, "state-dir": f'"{scratch}"', "socket": f'"{socket}"', "user": '""',
                "key-file": '""', "realtime": "false", "bind": f'["127.{64 + number % 128}.11.2"]',
                "broadcast": '"127.255.255.255"', "machine-id": '"prom"', "locks.expect": 1, "locks.lease-ms": 1000,
            }
            command = [TEMPOD, "--config", "/dev/null"]
            for key, value in settings.items():
                command += ["--set", f"{key}={value}"]
            daemon = subprocess.Popen(command, stderr=subprocess.DEVNULL)
            self.addCleanup(daemon.wait)
            self.addCleanup(daemon.terminate)
            environment = dict(os.environ, TEMPO_SOCKET=socket)
            lock = [TEMPO, "lock", "--wait", "30s", "a", "--", "true"]
            deadline = time.monotonic() + 60
            while subprocess.run(lock, env=environment, capture_output=True, timeout=60).returncode != 0:
                self.assertLess(time.monotonic(), deadline, "no lock was granted")
                time.sleep(0.1)
            text = subprocess.run([TEMPO, "status", "--metrics"], env=environment, capture_output=True, text=True,
                                  timeout=30, check=True).stdout
            self.run_promtool("check", "metrics", input=text)
            series = {re.match(r"\w+", line)[0] for line in text.splitlines() if not line.startswith("#")}
            self.assertEqual(series - known_metrics(), set())
            waits = int(re.search(r"^tempo_lock_wait_seconds_count (\d+)$", text, re.M)[1])
            self.assertGreaterEqual(waits, 1)
            self.assertIn("\ntempo_locks_obstacle{obstacle=\"no-majority\"} 0\n", text)


if __name__ == "__main__":
    if shutil.which("promtool") is None:
        print("promtool is missing; run 'tools/deps prometheus'")
        sys.exit(77)
    unittest.main()
