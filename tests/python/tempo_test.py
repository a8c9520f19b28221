"""python/tempo.py against a real tempod: one voter, on an address of the loopback interface."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TEMPOD = os.environ["TEMPO_TEMPOD"]
sys.path.insert(0, os.environ["TEMPO_PYTHON"])
import tempo  # noqa: E402


def wait_for(seconds, done):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.02)
    return done()


class Live(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory(prefix="tempo-python-")
        cls.path = str(pathlib.Path(cls.directory.name) / "sock")
        number = os.getpid()
        settings = {
            "cluster": f'"python-{number}"', "name": '"alone"', "profile": '"fast"', "clock": '"none"',
            "port": 30000 + number % 10000, "state-dir": f'"{cls.directory.name}"',
            "socket": f'"{cls.path}"', "user": '""', "key-file": '""', "realtime": "false",
            "bind": f'["127.{64 + number % 128}.9.1"]', "broadcast": '"127.255.255.255"',
            "machine-id": '"alone"', "locks.expect": 1, "locks.lease-ms": 1000,
        }
        words = [TEMPOD, "--config", "/dev/null"]
        for key, value in settings.items():
            words += ["--set", f"{key}={value}"]
        cls.process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        assert wait_for(60, cls.ready)

    @classmethod
    def ready(cls):
        try:
            with tempo.connect(cls.path) as daemon:
                return daemon.locks()["promise"].startswith("1 voter; locks need") and daemon.now().status == "leads"
        except tempo.Error:
            return False

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        cls.process.wait()
        cls.directory.cleanup()

    def test_time_has_bounds(self):
        with tempo.connect(self.path) as daemon:
            now = daemon.now()
            self.assertLessEqual(now.earliest_ns, now.time_ns)
            self.assertLessEqual(now.time_ns, now.latest_ns)
            self.assertEqual(daemon.status()["name"], "alone")
            self.assertEqual([member["name"] for member in daemon.members()], ["alone"])

    def test_a_lock_is_ours_alone(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.lock("door") as lock:
                self.assertGreater(lock.remaining(), 0)
                self.assertLessEqual(lock.remaining(), 1)
                with self.assertRaises(tempo.TooLate):
                    other.lock("door", wait=0)
                self.assertEqual(daemon.locks()["locks"][0]["name"], "door")
                first = lock.token
            self.assertEqual(lock.remaining(), 0)
            with other.lock("door", wait=10) as lock:
                self.assertGreater(lock.token, first)

    def test_locks_that_are_no_leases_have_no_token(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.lock("bounded_delay", kind="silent", wait=20) as lock:
                self.assertEqual(lock.token, 0)
                self.assertGreater(lock.remaining(), 0)
                with self.assertRaises(tempo.TooLate):
                    other.lock("bounded_delay", kind="explicit", wait=0)

    def test_a_lease_is_as_long_as_is_asked_for(self):
        with tempo.connect(self.path) as daemon:
            with daemon.lock("short", lease=0.25, wait=20) as lock:
                self.assertLess(lock.remaining(), 0.25)
            with self.assertRaisesRegex(tempo.Error, "40ms to 1s long here"):
                daemon.lock("long", lease=1.5)

    def test_a_group_is_followed(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as candidate:
            leaders = daemon.follow("web")
            self.assertIsNone(next(leaders).host)
            candidate._send({"do": "elect", "id": 1, "group": "web", "capacity": 1, "criterion": "weight",
                             "algorithm": "b1", "min_stay_ns": 10**9})
            leader = next(leaders)
            self.assertEqual(leader.host, "alone")
            self.assertTrue(leader.here)
            with tempo.connect(self.path) as other:
                known = [group for group in other.groups() if group["name"] == "web"][0]
            self.assertEqual(int(known["term"]), leader.term)
            candidate.close()
            self.assertIsNone(next(leaders).host)

    def test_readers_share(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.lock("plan", shared=True), other.lock("plan", shared=True, wait=10) as lock:
                self.assertGreater(lock.remaining(), 0)

    def test_who_tries_does_not_wait(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.try_lock("tried") as lock:
                self.assertGreater(lock.token, 0)
                self.assertIsNone(other.try_lock("tried"))
                self.assertIsNone(other.try_lock("tried", shared=True))
            begin = time.monotonic()
            with daemon.lock("tried"):
                with self.assertRaisesRegex(tempo.TooLate, "within 0.3 s"):
                    other.lock("tried", wait=0.3)
            self.assertGreaterEqual(time.monotonic() - begin, 0.3)
            with other.lock("tried", wait=10):
                pass

    def test_a_lock_that_cannot_be_kept_is_lost(self):
        with tempo.connect(self.path) as daemon:
            lock = daemon.lock("kept")
            lock.require(0.1)
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            worker = int(children.read_text().split()[0])
            os.kill(worker, signal.SIGSTOP)
            try:
                self.assertTrue(wait_for(20, lambda: lock.remaining() == 0))
                with self.assertRaisesRegex(tempo.Lost, "'kept' is ours for 0.000 s"):
                    lock.require()
            finally:
                os.kill(worker, signal.SIGCONT)
            lock.release()
            with daemon.lock("kept", wait=20) as again:
                again.require(0.1)
                with self.assertRaises(tempo.Lost):
                    again.require(5)

    def test_a_child_holds_nothing_and_releases_nothing(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.lock("forked") as lock:
                child = os.fork()
                if child == 0:
                    good = lock.remaining() == 0
                    lock.release()
                    try:
                        daemon.now()
                        good = False
                    except tempo.Error as code:
                        good = good and "connect anew" in str(code)
                    os._exit(0 if good else 1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
                self.assertGreater(lock.remaining(), 0)
                self.assertIsNone(other.try_lock("forked"))

    def test_what_changes_is_told(self):
        with tempo.connect(self.path) as daemon:
            for number, status in enumerate(daemon.watch()):
                self.assertEqual(status["name"], "alone")
                if number == 2:
                    break

    def test_a_lease_is_extended(self):
        with tempo.connect(self.path) as daemon, daemon.lock("long") as lock:
            end = time.monotonic() + 2.5  # more than two leases
            while time.monotonic() < end:
                self.assertGreater(lock.remaining(), 0)
                time.sleep(0.1)

    def test_a_closed_connection_lets_go(self):
        daemon = tempo.connect(self.path)
        lock = daemon.lock("closed")
        daemon.close()
        self.assertEqual(lock.remaining(), 0)
        with tempo.connect(self.path) as other, other.lock("closed", wait=10):
            pass

    def test_bad_names_are_refused_with_a_sentence(self):
        with tempo.connect(self.path) as daemon:
            with self.assertRaisesRegex(tempo.Error, "no spaces"):
                daemon.lock("two words")
            with self.assertRaisesRegex(tempo.Error, "tempo's own") as caught:
                daemon.lock("@view")
            self.assertEqual(caught.exception.code, "bad-request")
            with self.assertRaisesRegex(tempo.Error, "at most 4096 bytes"):
                daemon.lock("x" * 5000)
            self.assertEqual(daemon.status()["name"], "alone")  # and goes on

    def test_no_daemon_is_a_sentence(self):
        with self.assertRaisesRegex(tempo.Error, "is it running"):
            tempo.connect("/nonexistent/sock")


if __name__ == "__main__":
    unittest.main()
