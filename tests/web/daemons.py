"""Live daemons on the loopback network, and tempo-web beside one of them."""
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.request

TEMPO, TEMPOD, WEB = (os.environ[name] for name in ("TEMPO_TEMPO", "TEMPO_TEMPOD", "TEMPO_WEB"))


def wait_for(seconds, condition, what):
    deadline = time.monotonic() + seconds * float(os.environ.get("TEMPO_TEST_SLOWNESS", "1"))
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


class Daemon:
    def __init__(self, site, number):
        self.number, self.name = number, f"machine{number}"
        self.directory = f"{site.directory}/{number}"
        os.makedirs(self.directory, exist_ok=True)
        self.socket = f"{self.directory}/sock"
        self.process, self.site = None, site

    def start(self):
        site = self.site
        settings = {
            "cluster": f'"web-{site.number}"', "name": f'"{self.name}"', "profile": '"lan"', "clock": '"software"',
            "port": 20000 + site.number % 10000, "state-dir": f'"{self.directory}"', "socket": f'"{self.socket}"', "user": '""',
            "key-file": '""', "realtime": "false", "bind": f'["127.{64 + site.number % 128}.13.{self.number}"]',
            "broadcast": '"127.255.255.255"', "machine-id": f'"web-{self.number}"', "locks.expect": site.size,
            "locks.lease-ms": 3000, "software-clock.offset-ms": 40 * self.number, "software-clock.drift-ppm": 10 * self.number - 30,
        }
        command = [TEMPOD, "--config", "/dev/null"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        log = open(f"{self.directory}/log", "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        log.close()

    def signal(self, number):
        """To the parent and its worker."""
        parent = self.process.pid
        with open(f"/proc/{parent}/task/{parent}/children", encoding="utf-8") as file:
            children = [int(word) for word in file.read().split()]
        for process in [parent, *children]:
            os.kill(process, number)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGKILL)
            self.process.wait()

    def data(self, *words):
        done = subprocess.run([TEMPO, *words, "--json", "--socket", self.socket], capture_output=True, text=True, timeout=30)
        return json.loads(done.stdout).get("data") if done.stdout else None


class Site:
    def __init__(self, size):
        self.size, self.number = size, os.getpid()
        self.directory = tempfile.mkdtemp(prefix="tempo-web-test-")
        os.chmod(self.directory, 0o755)  # started as root, tempo-web switches to another user
        self.daemons = [Daemon(self, i + 1) for i in range(size)]
        self.web, self.address = None, ""
        self.events = []  # (time of receipt, machine, name)
        self.watchers = []

    def start(self):
        for daemon in self.daemons:
            daemon.start()
        wait_for(60, self.master, "one master that all follow")

    def master(self):
        masters = set()
        for daemon in self.daemons:
            status = daemon.data("status") if os.path.exists(daemon.socket) else None
            if not status or len(status["members"]) < self.size:
                return None
            masters.add(status["networks"][0]["master"])
        name = masters.pop() if len(masters) == 1 else ""
        return next((daemon for daemon in self.daemons if daemon.name == name), None)

    def settled_master(self):
        """A master that has led for three seconds."""
        seen = [None, 0.0]

        def same():
            master = self.master()
            if master is None or master is not seen[0]:
                seen[:] = [master, time.monotonic()]
            return master if master and time.monotonic() - seen[1] > 3 else None
        return wait_for(90, same, "one master for three seconds")

    def watch_events(self):
        for daemon in self.daemons:
            process = subprocess.Popen([TEMPO, "watch", "--json", "--socket", daemon.socket], stdout=subprocess.PIPE, text=True)
            self.watchers.append(process)

            def read(process=process, daemon=daemon):
                for line in process.stdout:
                    if '"event"' in line:
                        data = json.loads(line).get("data", {})
                        if "event" in data:
                            self.events.append((time.time(), daemon.name, data["event"]["name"]))
            threading.Thread(target=read, daemon=True).start()

    def start_web(self, daemon, port=0):
        self.web = subprocess.Popen([WEB, "--socket", daemon.socket, "--listen", f"127.0.0.1:{port}"], stderr=subprocess.PIPE, text=True)
        line = self.web.stderr.readline()
        found = re.search(r"http://\S+/", line)
        assert found, f"tempo-web did not start: {line}{self.web.stderr.read()}"
        self.address = found[0]
        wait_for(20, self.healthy, "tempo-web is healthy")

    def healthy(self):
        try:
            return urllib.request.urlopen(self.address + "healthz", timeout=5).status == 200
        except OSError:
            return False

    def stop_web(self):
        if self.web and self.web.poll() is None:
            self.web.terminate()
            self.web.wait()
        if self.web:
            self.web.stderr.close()
            self.web = None

    def stop(self):
        self.stop_web()
        for process in self.watchers:
            process.kill()
            process.wait()
            process.stdout.close()
        for daemon in self.daemons:
            daemon.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
