"""python/tempo against a real tempod: one voter, on an address of the loopback interface."""

import asyncio
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

TEMPOD = os.environ["TEMPO_TEMPOD"]
sys.path.insert(0, os.environ["TEMPO_PYTHON"])
import tempo  # noqa: E402
from tempo import aio, page  # noqa: E402


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
    def page_path(cls):
        return str(next(pathlib.Path(cls.directory.name).glob("*page")))

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
                self.assertIn("door", [lock["name"] for lock in daemon.locks()["locks"]])
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

    def test_a_candidate_leads_and_stops(self):
        with tempo.connect(self.path) as daemon, daemon.stand("stand", capacity=1, min_stay=1) as candidate:
            self.assertEqual(candidate.next(20).state, "stands")
            seen = []
            self.assertTrue(wait_for(20, lambda: seen.append(candidate.next(1)) or candidate.remaining() > 0))
            first = candidate.term
            self.assertGreater(first, 0)
            self.assertEqual(seen[-1], tempo.Change("leads", None, first))
            with tempo.connect(self.path) as operator:
                operator._ask({"do": "resign-group", "group": "stand"})
            self.assertEqual(candidate.next(20).state, "stop")
            candidate.confirm_stopped()
            self.assertEqual((candidate.remaining(), candidate.term), (0, 0))
            candidate.set_capacity(3)
            # Alone, it leads again, in a later term.
            self.assertTrue(wait_for(30, lambda: candidate.next(1) and candidate.term > first))
        self.assertEqual(candidate.remaining(), 0)

    def test_a_candidate_can_be_refused(self):
        with tempo.connect(self.path) as daemon:
            with self.assertRaises(tempo.Error) as caught:
                daemon.stand("refused", criterion="height")
            self.assertEqual(caught.exception.code, "bad-request")
            self.assertEqual(daemon.status()["name"], "alone")  # the connection still works

    def test_the_page_agrees_with_the_daemon(self):
        with page.TimePage(self.page_path()) as memory, tempo.connect(self.path) as daemon:
            before = daemon.now()
            now = memory.now()
            after = daemon.now()
            self.assertEqual(now.status, "alone")
            self.assertLessEqual(now.earliest_ns, now.time_ns)
            self.assertLessEqual(now.time_ns, now.latest_ns)
            # Network time passes between the readings, so each interval begins before a later one ends.
            self.assertLessEqual(before.earliest_ns, now.latest_ns)
            self.assertLessEqual(now.earliest_ns, after.latest_ns)
            self.assertTrue(memory.wait_until_after(memory.now().latest_ns, 5))
            self.assertFalse(memory.wait_until_after(memory.now().latest_ns + 10**10, 0.05))
            self.assertGreater(memory.now().earliest_ns, now.latest_ns)

    def test_asyncio(self):
        async def run():
            async with await aio.connect(self.path) as daemon, await aio.connect(self.path) as other:
                now, status = await asyncio.gather(daemon.now(), daemon.status())
                self.assertLessEqual(now.earliest_ns, now.latest_ns)
                self.assertEqual(status["name"], "alone")
                async with await daemon.acquire("aio", wait=20) as lock:
                    self.assertGreater(lock.remaining(), 0)
                    self.assertIsNone(await other.try_acquire("aio"))
                    waiting = asyncio.create_task(other.acquire("aio", wait=20))
                    await asyncio.sleep(0)
                    first = lock.token
                async with await waiting as second:
                    self.assertGreater(second.token, first)
                async with await other.acquire("aio2", wait=20) as held:
                    cancelled = asyncio.create_task(daemon.acquire("aio2"))
                    await asyncio.sleep(0.1)
                    cancelled.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await cancelled
                    self.assertGreater(held.remaining(), 0)
                self.assertEqual(daemon._held, {})
                with self.assertRaises(tempo.Error) as caught:
                    await daemon.acquire("two words")
                self.assertEqual(caught.exception.code, "bad-request")
                async with await daemon.stand("aio", capacity=1) as candidate:
                    async for change in candidate.changes():
                        if change.state == "leads":
                            break
                    self.assertGreater(candidate.remaining(), 0)
                    async for leader in other.follow("aio"):
                        self.assertEqual((leader.host, leader.term), ("alone", candidate.term))
                        break
                with self.assertRaises(tempo.Error):
                    await daemon.stand("aio", criterion="height")
                async for status in other.watch():
                    self.assertEqual(status["name"], "alone")
                    break
            with self.assertRaisesRegex(tempo.Error, "closed; connect again"):
                await daemon.now()

        asyncio.run(asyncio.wait_for(run(), 120))

    def test_asyncio_reports_a_lost_connection(self):
        async def run():
            with self.assertRaisesRegex(tempo.Error, "start tempod"):
                await aio.connect("/nonexistent/sock")
            with tempfile.TemporaryDirectory() as directory:
                path = directory + "/sock"

                async def close(reader, writer):
                    await reader.readline()
                    writer.close()

                server = await asyncio.start_unix_server(close, path)
                daemon = await aio.connect(path)
                with self.assertRaisesRegex(tempo.Error, "tempod closed the connection"):
                    await daemon.now()
                with self.assertRaises(tempo.Error):
                    await daemon.acquire("x", wait=0.3)
                await daemon.close()
                server.close()

        asyncio.run(asyncio.wait_for(run(), 60))

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

    def test_a_lock_and_a_lead_outlive_their_connection(self):
        with tempo.connect(self.path) as daemon, tempo.connect(self.path) as other:
            with daemon.acquire("again", wait=20) as lock, daemon.stand("again", capacity=1) as candidate:
                self.assertTrue(wait_for(20, lambda: candidate.next(1) and candidate.remaining() > 0))
                token, term = lock.token, candidate.term
                daemon._socket.shutdown(socket.SHUT_RDWR)
                end = time.monotonic() + 2.5  # more than two leases
                while time.monotonic() < end:
                    self.assertGreater(lock.remaining(), 0)
                    self.assertGreater(candidate.remaining(), 0)
                    time.sleep(0.1)
                self.assertEqual((lock.token, candidate.term), (token, term))
                self.assertIsNone(other.try_acquire("again"))
                self.assertEqual(daemon.now().status, "alone")
            with other.acquire("again", wait=5) as next_one:
                self.assertGreater(next_one.token, token)

    def test_asyncio_connects_again(self):
        async def run():
            async with await aio.connect(self.path) as daemon, await aio.connect(self.path) as other:
                async with await daemon.acquire("aio-again", wait=20) as lock:
                    token = lock.token
                    daemon._writer.close()
                    end = time.monotonic() + 2.5
                    while time.monotonic() < end:
                        self.assertGreater(lock.remaining(), 0)
                        await asyncio.sleep(0.1)
                    self.assertEqual(lock.token, token)
                    self.assertIsNone(await other.try_acquire("aio-again"))
                async with await other.acquire("aio-again", wait=5) as next_one:
                    self.assertGreater(next_one.token, token)

        asyncio.run(asyncio.wait_for(run(), 60))

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


# The page without tempod: the arithmetic of src/api/page_content.h, in the units of nanoseconds.
class Page(unittest.TestCase):
    CONTENT = page._Content(raw=10**9, boot=5 * 10**9, shows=10**18, rate=1e-6, earliest=10**18 - 1000, earliest_rate=0.0,
                            latest=10**18 + 1000, latest_rate=2e-6, wander=1e-5, fresh=3 * 10**9, lasts=3600 * 10**9,
                            status=2, real=7 * 10**9)

    def at(self, age, asleep=0, **changes):
        content = self.CONTENT._replace(**changes)
        return page._reading(content, content.raw + age, content.boot + age + asleep)

    def test_the_bound_widens_with_the_rates(self):
        # After 1 s the clock has gained 1000 ns and the latest time 2000 ns; each bound has 1 ns for the truncation.
        self.assertEqual(self.at(10**9), (10**18 + 10**9 + 1000, 10**18 + 10**9 - 1001, 10**18 + 10**9 + 3001, "synchronized", 0))

    def test_a_page_that_is_not_renewed(self):
        # After 4 s, in holdover: 2 ns and 1e-5 of the age, 40 us, on both sides.
        now = self.at(4 * 10**9)
        self.assertEqual(now.status, "holdover")
        self.assertEqual((now.earliest_ns, now.latest_ns), (10**18 + 4 * 10**9 - 1000 - 40_002, 10**18 + 4 * 10**9 + 9000 + 40_002))
        self.assertEqual(self.at(3601 * 10**9).status, "unsynchronized")

    def test_a_suspended_machine(self):
        self.assertEqual(self.at(10**9, asleep=19_000_000).status, "synchronized")
        self.assertEqual(self.at(10**9, asleep=23_000_000).status, "unsynchronized")

    def test_impossible_content(self):
        for changes in ({"status": 6}, {"rate": 0.6}, {"fresh": 2, "lasts": 1}, {"raw": -1}, {"wander": float("nan")},
                        {"earliest": 10**18 + 5000}, {"shows": 2**63 - 1}):
            self.assertEqual(self.at(10**9, **changes).status, "unsynchronized", changes)
        self.assertEqual(self.at(-1).status, "unsynchronized")

    def test_files_that_are_no_page(self):
        with self.assertRaisesRegex(tempo.Error, "start tempod"):
            page.TimePage("/nonexistent/page")
        boot = bytes.fromhex(pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", ""))
        good = struct.pack("<8sII16s", b"ime page", 1, 384, boot)
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "page"
            for head, error in ((good[:20], "truncated"), (b"x" + good[1:], "is no time page"),
                                (good[:8] + b"\x02" + good[9:], "another version"),
                                (good[:16] + bytes(16), "from an earlier boot")):
                path.write_bytes(head if error == "truncated" else head.ljust(384, b"\0"))
                with self.assertRaisesRegex(tempo.Error, error):
                    page.TimePage(str(path))
            path.write_bytes(good.ljust(384, b"\0"))
            with page.TimePage(str(path)) as memory:
                self.assertEqual(memory.now().status, "unsynchronized")


if __name__ == "__main__":
    unittest.main()
