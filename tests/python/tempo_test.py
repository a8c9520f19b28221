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
        command = [TEMPOD, "--config", "/dev/null"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        cls.process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        assert wait_for(60, cls.ready)

    @classmethod
    def ready(cls):
        try:
            with tempo.connect(cls.path) as daemon:
                return daemon.locks()["guarantee"].startswith("1 voter; locks need") and daemon.now().status == "alone"
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

    def test_a_lock_is_exclusive(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.acquire("door") as lock:
                self.assertGreater(lock.remaining(), 0)
                self.assertLessEqual(lock.remaining(), 1)
                with self.assertRaises(tempo.TimedOut):
                    other.acquire("door", wait=0)
                self.assertEqual(daemon.locks()["locks"][0]["name"], "door")
                first = lock.token
            self.assertEqual(lock.remaining(), 0)
            with other.acquire("door", wait=10) as lock:
                self.assertGreater(lock.token, first)

    def test_only_leases_have_tokens(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.acquire("bounded_delay", kind="silent", wait=20) as lock:
                self.assertEqual(lock.token, 0)
                self.assertGreater(lock.remaining(), 0)
                with self.assertRaises(tempo.TimedOut):
                    other.acquire("bounded_delay", kind="explicit", wait=0)

    def test_lease_time(self):
        with tempo.connect(self.path) as daemon:
            with daemon.acquire("short", lease=0.25, wait=20) as lock:
                self.assertLess(lock.remaining(), 0.25)
            with self.assertRaisesRegex(tempo.Error, "40ms to 1s long on this machine"):
                daemon.acquire("long", lease=1.5)

    def test_follow_a_group(self):
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

    def test_shared_locks(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.acquire("plan", shared=True), other.acquire("plan", shared=True, wait=10) as lock:
                self.assertGreater(lock.remaining(), 0)

    def test_try_acquire_and_timeout(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.try_acquire("tried") as lock:
                self.assertGreater(lock.token, 0)
                self.assertIsNone(other.try_acquire("tried"))
                self.assertIsNone(other.try_acquire("tried", shared=True))
            begin = time.monotonic()
            with daemon.acquire("tried"):
                with self.assertRaisesRegex(tempo.TimedOut, "after 0.3 s"):
                    other.acquire("tried", wait=0.3)
            self.assertGreaterEqual(time.monotonic() - begin, 0.3)
            with other.acquire("tried", wait=10):
                pass

    def test_a_lock_is_lost_while_tempod_is_stopped(self):
        with tempo.connect(self.path) as daemon:
            lock = daemon.acquire("kept")
            lock.require(0.1)
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            worker = int(children.read_text().split()[0])
            os.kill(worker, signal.SIGSTOP)
            try:
                self.assertTrue(wait_for(20, lambda: lock.remaining() == 0))
                with self.assertRaisesRegex(tempo.Lost, "'kept' is held for 0.000 s"):
                    lock.require()
            finally:
                os.kill(worker, signal.SIGCONT)
            lock.release()
            with daemon.acquire("kept", wait=20) as again:
                again.require(0.1)
                with self.assertRaises(tempo.Lost):
                    again.require(5)

    def test_a_forked_child_cannot_use_the_connection(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.acquire("forked") as lock:
                child = os.fork()
                if child == 0:
                    good = lock.remaining() == 0
                    lock.release()
                    try:
                        daemon.now()
                        good = False
                    except tempo.Error as error:
                        good = good and "after fork()" in str(error)
                    os._exit(0 if good else 1)
                self.assertEqual(os.waitpid(child, 0)[1], 0)
                self.assertGreater(lock.remaining(), 0)
                self.assertIsNone(other.try_acquire("forked"))

    def test_watch(self):
        with tempo.connect(self.path) as daemon:
            for number, status in enumerate(daemon.watch()):
                self.assertEqual(status["name"], "alone")
                if number == 2:
                    break

    def test_extensions_of_a_lease(self):
        with tempo.connect(self.path) as daemon, daemon.acquire("long") as lock:
            end = time.monotonic() + 2.5  # more than two leases
            while time.monotonic() < end:
                self.assertGreater(lock.remaining(), 0)
                time.sleep(0.1)

    def test_close_releases_locks(self):
        daemon = tempo.connect(self.path)
        lock = daemon.acquire("closed")
        daemon.close()
        self.assertEqual(lock.remaining(), 0)
        with tempo.connect(self.path) as other, other.acquire("closed", wait=10):
            pass

    def test_bad_names_are_refused(self):
        with tempo.connect(self.path) as daemon:
            with self.assertRaisesRegex(tempo.Error, "has a space or a character"):
                daemon.acquire("two words")
            with self.assertRaisesRegex(tempo.Error, "are reserved") as caught:
                daemon.acquire("@view")
            self.assertEqual(caught.exception.code, "bad-request")
            with self.assertRaisesRegex(tempo.Error, "at most 4096 bytes"):
                daemon.acquire("x" * 5000)
            self.assertEqual(daemon.status()["name"], "alone")  # the connection still works

    def test_no_daemon(self):
        with self.assertRaisesRegex(tempo.Error, "start tempod"):
            tempo.connect("/nonexistent/sock")


if __name__ == "__main__":
    unittest.main()
