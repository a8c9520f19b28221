#!/usr/bin/env python3
"""Upgrades five daemons one by one from an earlier revision to this one, and back, under locks, a group and time.

Five network namespaces on one bridge, each with a tempod that steers a software clock. While they are replaced, programs on every
machine take one lock in turns, compare its tokens, stand for one group, and read the time pages of all machines. Then

  overlap    two programs were inside the lock at once, or led the group at once: never
  token      a token was not larger than the one before: never
  lost       a lock was lost although the tempod of its program was not being replaced: never
  bound      the intervals of two synchronized machines had no instant in common: never
  progress   every step had entries into the lock, and a leader at its end

Environment: TEMPO_BUILD (the release build), TEMPO_SOURCE, TEMPO_EARLIER (see tools/build-earlier). Needs root.
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(os.environ["TEMPO_BUILD"])
SOURCE = pathlib.Path(os.environ["TEMPO_SOURCE"])
sys.path.insert(0, str(SOURCE / "python"))
import tempo  # noqa: E402
from tempo.page import TimePage  # noqa: E402

MACHINES = 5
STEP_SECONDS = 6.0
READY_SECONDS = 60.0
PREFIX = f"tempo-up{os.getpid() % 10000}"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Machine:
    """A namespace, and the tempod that runs in it."""

    def __init__(self, number, directory):
        self.number = number
        self.space = f"{PREFIX}-{number}"
        self.directory = directory / f"m{number}"
        self.directory.mkdir()
        self.socket = str(self.directory / "tempod.sock")
        self.page = str(self.directory / "tempod.page")
        self.process = None
        self.replaced = False  # its tempod is being replaced, or was since the flag was cleared
        ip("netns", "add", self.space)
        ip("link", "add", f"{PREFIX}p{number}"[-15:], "type", "veth", "peer", "name", "eth0", "netns", self.space)
        ip("link", "set", f"{PREFIX}p{number}"[-15:], "netns", f"{PREFIX}-hub")
        ip("-n", f"{PREFIX}-hub", "link", "set", f"{PREFIX}p{number}"[-15:], "master", "br0", "up")
        ip("-n", self.space, "addr", "add", f"10.88.3.{number}/24", "brd", "+", "dev", "eth0")
        ip("-n", self.space, "link", "set", "lo", "up")
        ip("-n", self.space, "link", "set", "eth0", "up")

    def start(self, binaries):
        log = open(self.directory / "log", "a", encoding="utf-8")
        self.process = subprocess.Popen(
            ["ip", "netns", "exec", self.space, "setpriv", "--bounding-set=-sys_time", str(binaries / "tempod"), "--clock", "software",
             "--name", f"m{self.number}", "--set", f'machine-id="m{self.number}"', "--state-dir", str(self.directory),
             "--socket", self.socket, "--set", f"locks.expect={MACHINES}", "--set", 'user=""',
             "--set", f"software-clock.offset-ms={self.number * 40 - 120}", "--set", f"software-clock.drift-ppm={self.number * 15 - 45}"],
            stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        log.close()

    def stop(self):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def status(self):
        try:
            with tempo.connect(self.socket, timeout=2) as daemon:
                return daemon.status()
        except (tempo.Error, OSError, ValueError):
            return {}

    def remove(self):
        self.stop()
        subprocess.run(["ip", "netns", "del", self.space], check=False)


class Workload:
    """Threads that use all machines until `end`, and what they found."""

    def __init__(self, machines):
        self.machines = machines
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.inside = set()
        self.leaders = {}
        self.token = 0
        self.entries = 0
        self.terms = set()
        self.readings = 0
        self.lost_by_restart = 0
        self.widest = 0
        self.faults = []
        self.threads = [threading.Thread(target=use, args=(machine,), daemon=True)
                        for machine in machines for use in (self.take_turns, self.keep, self.stand)]
        self.threads.append(threading.Thread(target=self.read_time, daemon=True))
        for thread in self.threads:
            thread.start()

    def fault(self, text):
        with self.lock:
            self.faults.append(text)

    def take_turns(self, machine):
        chance = random.Random(machine.number)
        while not self.over.is_set():
            try:
                with tempo.connect(machine.socket) as daemon:
                    while not self.over.is_set():
                        self.enter_once(machine, daemon, chance)
            except (tempo.Error, OSError):
                self.over.wait(0.1)

    def enter_once(self, machine, daemon, chance):
        try:
            held = daemon.acquire("job", wait=1)
        except tempo.TimedOut:
            return
        with self.lock:
            if self.inside:
                self.faults.append(f"overlap: m{machine.number} entered beside {self.inside}")
            if held.token <= self.token:
                self.faults.append(f"token: {held.token} after {self.token}")
            self.token = max(self.token, held.token)
            self.inside.add(machine.number)
            self.entries += 1
        lost = False
        try:
            self.over.wait(chance.random() * 0.03)
            lost = held.remaining() <= 0
        except tempo.Error:
            lost = True
        finally:
            with self.lock:
                self.inside.discard(machine.number)
        if lost:
            # A program without its tempod leaves at once; the lease protects it until then.
            self.note_lost(machine, "inside")
        held.release()

    def keep(self, machine):
        """Holds a lock of its own for as long as it can, as a service would."""
        while not self.over.is_set():
            try:
                with tempo.connect(machine.socket) as daemon, daemon.acquire(f"keep-{machine.number}", wait=5) as held:
                    while not self.over.wait(0.1):
                        self.require(held)
            except tempo.Lost as error:
                self.note_lost(machine, str(error))
            except (tempo.Error, tempo.TimedOut, OSError):
                pass  # not obtained
            self.over.wait(0.1)

    @staticmethod
    def require(held):
        """Raises Lost also if the connection is gone: then tempod, which extends the lease, is."""
        try:
            held.require()
        except tempo.Error as error:
            raise tempo.Lost(str(error)) from error

    def note_lost(self, machine, text):
        with self.lock:
            self.lost_by_restart += 1
        if not machine.replaced:
            self.fault(f"lost: m{machine.number}, whose tempod was not replaced: {text}")

    def stand(self, machine):
        while not self.over.is_set():
            try:
                with tempo.connect(machine.socket) as daemon:
                    candidate = daemon.stand("web", criterion="id", min_stay=1)
                    while not self.over.is_set():
                        change = candidate.next(wait=0.2)
                        if candidate.term == 0 or candidate.remaining() <= 0:
                            with self.lock:
                                self.leaders.pop(machine.number, None)
                            if change is not None and change.state == "stop":
                                candidate.confirm_stopped()
                            continue
                        with self.lock:
                            self.leaders[machine.number] = candidate
                            self.terms.add(candidate.term)
                            # `remaining` of another thread's connection would read its socket, so the end of the lease is compared.
                            now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
                            leading = [number for number, other in self.leaders.items() if other.term != 0 and other._until_ns > now]
                            if len(leading) > 1:
                                self.faults.append(f"overlap: {leading} lead the group")
            except (tempo.Error, OSError):
                with self.lock:
                    self.leaders.pop(machine.number, None)
                self.over.wait(0.1)

    def read_time(self):
        pages = {}
        while not self.over.wait(0.05):
            readings = []
            for machine in self.machines:
                try:
                    page = pages.get(machine.number) or pages.setdefault(machine.number, TimePage(machine.page))
                    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
                    now = page.now()
                    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
                except (tempo.Error, OSError):
                    continue
                # In a stopped or starting tempod the page says that it is not synchronized.
                if now.status in ("synchronized", "leads"):
                    readings.append((now.earliest_ns - after, now.latest_ns - before, machine.number))
                    self.widest = max(self.widest, now.latest_ns - now.earliest_ns)
            self.readings += len(readings)
            # Some milliseconds pass between the readings; network time gains or loses less than 1000 ppm in them.
            slack = 5_000
            for one in readings:
                for other in readings:
                    if one[0] > other[1] + slack:
                        self.fault(f"bound: m{one[2]} and m{other[2]} have no instant in common by {one[0] - other[1]} ns")

    def finish(self):
        self.over.set()
        for thread in self.threads:
            thread.join(20)


def wait_for(what, done, seconds=READY_SECONDS):
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise SystemExit(f"no {what} within {seconds:.0f} s")
        time.sleep(0.1)


def settled(machines):
    statuses = [machine.status() for machine in machines]
    return all(status.get("status") in ("synchronized", "leads") and "voters" in status.get("locks", "") and
               not status.get("locks", "").startswith(("no locks", "waiting")) for status in statuses)


def roll(machines, binaries, workload, name):
    """Replaces all daemons, one after the other."""
    for machine in machines:
        began = time.monotonic()
        entries = workload.entries
        machine.replaced = True
        machine.stop()
        machine.start(binaries)
        wait_for(f"settled network after {name} of m{machine.number}", lambda: settled(machines))
        ready = time.monotonic() - began
        time.sleep(1)  # a lost lock of the old process is counted as such
        machine.replaced = False
        time.sleep(max(0.0, STEP_SECONDS - (time.monotonic() - began)))
        if workload.entries == entries:
            workload.fault(f"progress: no entry during {name} of m{machine.number}")
        print(f"{name} of m{machine.number}: settled after {ready:.1f} s, {workload.entries - entries} entries", flush=True)


def main():
    if os.geteuid() != 0:
        print("skipped: needs root")
        sys.exit(77)
    if subprocess.run(["ip", "netns", "add", f"{PREFIX}-hub"], check=False, capture_output=True).returncode != 0:
        print("skipped: no network namespaces")
        sys.exit(77)
    machines = []
    failed = False
    with tempfile.TemporaryDirectory(prefix="tempo-upgrade-") as name:
        try:
            earlier = os.environ.get("TEMPO_EARLIER")
            if not earlier:
                earlier = str(BUILD / "earlier")
                subprocess.run([SOURCE / "tools/build-earlier", "", earlier], check=True)
            earlier = pathlib.Path(earlier)
            ip("-n", f"{PREFIX}-hub", "link", "add", "br0", "type", "bridge")
            ip("-n", f"{PREFIX}-hub", "link", "set", "br0", "up")
            for number in range(1, MACHINES + 1):
                machines.append(Machine(number, pathlib.Path(name)))
            for binaries in (earlier / "bin", BUILD / "bin"):
                print(subprocess.run([binaries / "tempod", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0])
            for machine in machines:
                machine.start(earlier / "bin")
            wait_for("network of the earlier revision", lambda: settled(machines))
            workload = Workload(machines)
            time.sleep(STEP_SECONDS)
            roll(machines, BUILD / "bin", workload, "upgrade")
            roll(machines, earlier / "bin", workload, "downgrade")
            leads = {status.get("name"): status.get("status") for status in (machine.status() for machine in machines)}
            workload.finish()
            if not workload.terms:
                workload.fault("progress: the group never had a leader")
            print(f"{workload.entries} entries, {len(workload.terms)} terms, {workload.readings} readings, widest interval "
                  f"{workload.widest / 1e6:.3f} ms; {workload.lost_by_restart} locks lost by programs whose tempod was replaced; "
                  f"{len(workload.faults)} faults; {leads}")
            for fault in workload.faults[:20]:
                print(fault)
            failed = bool(workload.faults) or workload.entries == 0
        except SystemExit:
            for machine in machines:
                print(f"--- m{machine.number}\n" + (machine.directory / "log").read_text(encoding="utf-8")[-3000:])
            raise
        finally:
            for machine in machines:
                machine.remove()
            subprocess.run(["ip", "netns", "del", f"{PREFIX}-hub"], check=False)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
