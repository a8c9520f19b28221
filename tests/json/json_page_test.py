"""doc/reference/json.md against the programs: runs commands with --json, with one tempod on the loopback interface.

Fails if an output has a field that the page does not document or that has another type, if the page documents a field that
no run produced and that is not optional, if a command has no section, or if an integer above 2^53 is not a string.
"""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

TEMPOD = os.environ["TEMPO_TEMPOD"]
PROGRAMS = {"tempo": os.environ["TEMPO_TEMPO"], "tempo-lab": os.environ["TEMPO_LAB"]}
PAGE = pathlib.Path(os.environ["TEMPO_JSON_PAGE"])
LARGEST = 2**53
CODES = {0: "ok", 1: "no", 2: "usage", 3: "no-daemon", 4: "refused", 100: "timeout", 101: "lost", 102: "no-daemon",
         103: "refused", 104: "ran-on", 105: "no-majority", 106: "no-voters", 107: "abstaining", 108: "no-record",
         109: "wrong-kind", 130: "interrupted"}

# Commands that this test does not run. Their sections are not compared with an output.
NOT_RUN = {
    "tempo configure expect": "would choose the voters of this machine",
    "tempo forget": "needs a second voter",
    "tempo admit": "needs a second machine",
    "tempo replace": "needs a second machine",
    "tempo invite": "needs a key",
    "tempo join": "needs a second machine",
    "tempo classic msite": "needs a daemon that speaks TSP",
    "tempo classic clockdiff": "needs root",
    "tempo classic election": "needs a daemon that speaks TSP",
    "tempo classic trace-on": "needs a daemon that speaks TSP",
    "tempo classic trace-off": "needs a daemon that speaks TSP",
    "tempo demo": "takes half a minute and several daemons",
    "tempo-lab report": "takes a minute",
}

# Each line is one run; several runs of a command together must produce every field that is not optional.
LAB_RUNS = """
sim election
sim election --baselines --repeats 0 --scenario master-crash
sim election --runs 20 --nodes 3
sim election --runs 5 --scenario collision --election-timer 60s..120s --delay 1s
sim sync --seconds 60 --discard 20
sim sync --seconds 60 --discard 20 --seeds 2 --kill-master-at 40
sim ring --runs 20
sim ring --runs 20 --faulty 1
sim ring --runs 20 --kind anonymous
sim ring --runs 100 --fast --kind anonymous
sim lock --entries 200
sim lock --entries 200 --kind optimistic
sim lock --entries 200 --kind lease
sim capacity --runs 20
sim daemon --until 20s --runs 2
sim daemon --until 20s --runs 4 --fault notify-twice
sim app
sim app group-server --runs 3
sim app load-balancing --runs 3
sim app replicated-data --runs 3
sim app crash-recovery --runs 3
sim app group-joining --runs 3
sim app mutual-exclusion --runs 3
check election --nodes 2
check election --nodes 2 --fingerprints
check election --nodes 2 --starts 0,0 --cut 1 --cut-until 20 --variant no-loop --replay {directory}/script
sim replay {directory}/script
check core-model
check ring --stations 2
check ring --kind anonymous --stations 2 --variant printed-next-timer
check capacity --nodes 2
check broadcast --nodes 2 --faulty 0
check broadcast --short-by 1
check lock --sites 2
check lock --sites 2 --losses 1
analyze ring
analyze ring --stations 3 --range 2 --chains
analyze anonymous-ring
analyze anonymous-ring --stations 4
analyze collision --window 5ms --width 100ms
analyze algorithm-c
play --nodes 3
sweep {directory}/sweep.toml
sweep {directory}/sweep.toml --shard 1/2
sweep {directory}/sweep.toml --shard 2/2
merge --out {directory}/merged {directory}/sweep.1-of-2.jsonl {directory}/sweep.2-of-2.jsonl
"""
SWEEP = 'command = "analyze collision"\n[options]\nwindow = "5ms"\nwidth = "100ms"\n[grid]\ndaemons = [2, 3]\n'

# In this order, while the group 'web' has a leader and the lock 'a' a holder here.
TEMPO_RUNS = """
status
now
members
master
locks
groups
doctor
doctor --all
adopt --check
clockdiff alone
wait-sync --alone --within 1s
watch --lines 2
keygen {directory}/key
keygen --add {directory}/key
keygen --promote {directory}/key
keys
keygen --node {directory}/node-key
fence-check {directory}/fence 7
fence-check {directory}/fence 3
leader web
leader nobody
trace on
set-time --by 1ms
reelect
resign-group web
trace off
unlock a
"""


def wait_for(seconds, done):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if done():
            return True
        time.sleep(0.05)
    return done()


# --- the page ---

class Field:
    def __init__(self, path, kind, meaning):
        self.kind = kind
        self.optional = meaning.startswith("optional")
        self.path = path
        self.pattern = re.compile(re.escape(path).replace(r"\*", r"[^.\[\]]+"))


class Section:
    def __init__(self):
        self.fields = []
        self.included = []  # pairs of a prefix and the name of another section
        self.empty = False  # the section says that `data` has no fields

    def all_fields(self, page):
        fields = list(self.fields)
        for prefix, name in self.included:
            for field in page[name].all_fields(page):
                fields.append(Field(prefix + field.path, field.kind, "optional"))
        return fields


def read_page(text):
    page, section = {}, None
    for line in text.splitlines():
        if line.startswith("## "):
            section = page.setdefault(line[3:].strip(), Section())
        if section is None:
            continue
        row = re.fullmatch(r"\| `([^`]+)` \| ([^|]+) \| ([^|]*)\| (.*) \|", line)
        if row:
            section.fields.append(Field(row[1], row[2].strip(), row[4]))
        section.empty |= line == "`data` is an empty object."
        for where, name in re.findall(r"`([^`]+)` has the fields of \[`([^`]+)`\]", line):
            section.included.append(("" if where == "data" else where + ".", name))
    return page


def without_data(text):
    sentence = re.search(r"no data: ([^.]*)\.", text)
    return set(re.findall(r"`([^`]+)`", sentence[1])) if sentence else set()


# --- the programs ---

def subcommands(program, words=()):
    """All commands of --help that have no further subcommands."""
    text = subprocess.run([PROGRAMS[program], *words, "--help"], capture_output=True, text=True, check=True).stdout
    usage = re.search(r"^Usage: .*$", text, re.MULTILINE)[0]
    if not usage.endswith("SUBCOMMAND"):
        return {" ".join([program, *words])}
    found, heading = set(), ""
    for line in text.splitlines():
        if re.fullmatch(r"[A-Z][A-Za-z ]*:", line):
            heading = line
        name = re.match(r"  ([a-z][a-z-]*)(  |$)", line)
        if name and heading not in ("", "Options:", "Examples:"):
            found |= subcommands(program, (*words, name[1]))
    return found


def kind_of(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    return "number" if isinstance(value, float) else "string"


def fits(value, kind):
    found, kinds = kind_of(value), kind.split(" or ")
    return found in kinds or (found == "integer" and "number" in kinds)


def leaves(value, path=""):
    """Pairs of a path and a value that is neither a list nor an object. Empty lists and objects have none."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for element in value:
            yield from leaves(element, path + "[]")
    else:
        yield path, value


def containers(value, path=""):
    """Paths of the empty lists and objects."""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from containers(member, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for element in value:
            yield from containers(element, path + "[]")
    elif isinstance(value, (dict, list)) and path:
        yield path + ("[]" if isinstance(value, list) else ".")


class JsonPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="tempo-json-")
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.directory = cls.scratch.name
        cls.text = PAGE.read_text(encoding="utf-8")
        cls.page = read_page(cls.text)

    def setUp(self):
        self.outputs = {}  # command: list of `data`
        self.problems = []

    def take(self, command, text, status=None):
        """Checks the shape of the objects in `text`, one or one per line, and keeps their data."""
        try:
            objects = [json.loads(text)]
        except ValueError:
            try:
                objects = [json.loads(line) for line in text.splitlines()]
            except ValueError:
                objects = []
        if not objects:
            self.problems.append(f"{command}: no JSON: {text[:200]!r}")
        for one in objects:
            if not isinstance(one, dict) or one.get("version") != 1 or not set(one) <= {"version", "data", "error"}:
                self.problems.append(f"{command}: the object is not {{version, data, error}}: {str(one)[:200]}")
                continue
            error = one.get("error")
            if error is not None:
                if set(error) != {"status", "code", "message"} or CODES.get(error["status"]) != error["code"]:
                    self.problems.append(f"{command}: wrong error: {error}")
                elif status is not None and error["status"] != status:
                    self.problems.append(f"{command}: error.status is {error['status']}, the exit status {status}")
            if "data" in one:
                self.outputs.setdefault(command, []).append(one["data"])
            else:
                self.problems.append(f"{command}: no data: {error}")

    def run_line(self, program, line):
        words = line.format(directory=self.directory).split()
        command = next((name for name in sorted(self.page, key=len, reverse=True)
                        if f"{program} {' '.join(words)} ".startswith(name + " ")), None)
        if command is None:
            self.problems.append(f"{program} {line}: no section")
            return
        done = subprocess.run([PROGRAMS[program], *words, "--json"], capture_output=True, text=True, timeout=300)
        if done.returncode not in (0, 1):
            self.problems.append(f"{program} {line}: exit status {done.returncode}: {done.stdout[:300]}{done.stderr[:300]}")
            return
        self.take(command, done.stdout, done.returncode)

    def compare(self):
        for command, outputs in sorted(self.outputs.items()):
            section = self.page[command]
            fields = section.all_fields(self.page)
            produced, wrong = set(), {}
            for data in outputs:
                for path, value in leaves(data):
                    known = [field for field in fields if field.pattern.fullmatch(path)]
                    produced |= {field.path for field in known}
                    if kind_of(value) == "integer" and abs(value) > LARGEST:
                        wrong[path] = f"is {value}, above 2^53, and not a string"
                    elif not known:
                        wrong[path] = "is not documented"
                    elif not any(fits(value, field.kind) for field in known):
                        wrong[path] = f"is documented as {known[0].kind}, not {kind_of(value)}"
                for path in containers(data):
                    if not any(field.path.startswith(path) for field in fields):
                        wrong[path] = "is not documented"
            self.problems += [f"{command}: {path} {why}" for path, why in sorted(wrong.items())]
            self.problems += [f"{command}: no run produced {field.path}, and it is not optional"
                              for field in section.fields if not field.optional and field.path not in produced]
        self.assertEqual(self.problems, [], "\n" + "\n".join(self.problems))

    def test_every_command_has_a_section(self):
        commands = subcommands("tempo") | subcommands("tempo-lab")
        self.assertGreater(len(commands), 40)
        silent = without_data(self.text)
        self.assertEqual(commands - set(self.page) - silent, set(), "commands without a section")
        self.assertEqual((set(self.page) | silent) - commands, set(), "sections without a command")
        self.assertEqual(set(NOT_RUN) - commands, set())

    def test_every_section_has_fields(self):
        for command, section in self.page.items():
            self.assertNotEqual(bool(section.fields or section.included), section.empty, command)
            paths = [field.path for field in section.fields]
            self.assertEqual(len(paths), len(set(paths)), f"{command} lists a field twice")
            for field in section.fields:
                self.assertLessEqual(set(field.kind.split(" or ")), {"string", "integer", "number", "boolean", "null"},
                                     f"{command}: {field.path}")

    def test_tempo_lab(self):
        pathlib.Path(self.directory, "sweep.toml").write_text(SWEEP, encoding="utf-8")
        for line in LAB_RUNS.split("\n"):
            if line:
                self.run_line("tempo-lab", line)
        shards = []
        for number in (1, 2):
            shards.append(f"{self.directory}/{number}.json")
            with open(shards[-1], "w", encoding="utf-8") as file:
                subprocess.run([PROGRAMS["tempo-lab"], *"sim ring --runs 100 --fast --json --shard".split(), f"{number}/2"],
                               stdout=file, check=True, timeout=300)
            self.take("tempo-lab sim ring", pathlib.Path(shards[-1]).read_text(encoding="utf-8"))
        self.run_line("tempo-lab", "sim merge " + " ".join(shards))
        self.run_line("tempo-lab", "merge " + " ".join(shards))
        self.assert_all_ran("tempo-lab ")
        self.compare()

    def assert_all_ran(self, program):
        ran = set(self.outputs) | set(NOT_RUN)
        self.problems += [f"{name}: no run has data" for name in self.page if name.startswith(program) and name not in ran]

    # --- with a daemon ---

    def start_daemon(self):
        number = os.getpid()
        socket = f"{self.directory}/sock"
        settings = {
            "cluster": f'"json-{number}"', "name": '"alone"', "profile": '"fast"', "clock": '"software"',
            "port": 30000 + number % 10000, "state-dir": f'"{self.directory}"', "socket": f'"{socket}"', "user": '""',
            "key-file": '""', "realtime": "false", "bind": f'["127.{64 + number % 128}.9.2"]',
            "broadcast": '"127.255.255.255"', "machine-id": '"alone"', "locks.expect": 1, "locks.lease-ms": 1000,
        }
        command = [TEMPOD, "--config", "/dev/null"]
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        os.environ["TEMPO_SOCKET"] = socket
        self.start(command, stderr=subprocess.DEVNULL)

    def start(self, command, **where):
        process = subprocess.Popen(command, **where)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def start_stream(self, words, error):
        """Starts a command whose objects go to a file; returns the process and the file."""
        path = pathlib.Path(self.directory, "stream-" + words.split()[0])
        with open(path, "w", encoding="utf-8") as file:
            process = self.start([PROGRAMS["tempo"], *words.split()], **{"stderr" if error else "stdout": file})
        return process, path

    def data_of(self, words):
        done = subprocess.run([PROGRAMS["tempo"], *words.split(), "--json"], capture_output=True, text=True, timeout=60)
        return json.loads(done.stdout).get("data") if done.stdout else None

    def leader_is_known(self):
        data = self.data_of("leader web")  # None: tempod is not ready for groups
        return data is not None and data["group"]["leader"] == "alone"

    def lock_is_held(self):
        data = self.data_of("locks")
        return data is not None and any(lock["name"] == "a" and lock["here"] for lock in data["locks"])

    def test_tempo(self):
        self.start_daemon()
        self.assertTrue(wait_for(60, lambda: self.data_of("wait-sync --alone --timeout 1s --within 1s")))
        streams = {
            "tempo elect": self.start_stream("elect --json --criterion weight=9007199254740993 web -- sleep 600", True),
            "tempo lock": self.start_stream("lock --json a -- sleep 600", True),
            "tempo watch-group": self.start_stream("watch-group web --json", False),
            "tempo watch": self.start_stream("watch --json", False),
        }
        self.assertTrue(wait_for(60, self.leader_is_known))
        self.assertTrue(wait_for(60, self.lock_is_held))
        for line in TEMPO_RUNS.split("\n"):
            if line:
                self.run_line("tempo", line)
            if line == "trace on":  # long enough for a few messages
                streams["tempo trace follow"] = self.start_stream("trace follow --json", False)
                self.assertTrue(wait_for(30, lambda: streams["tempo trace follow"][1].stat().st_size > 0))
        self.assertTrue(wait_for(30, lambda: '"event"' in streams["tempo watch"][1].read_text(encoding="utf-8")))
        for command, (process, path) in streams.items():
            process.terminate()
            process.wait()
            whole = [line for line in path.read_text(encoding="utf-8").splitlines(True) if line.endswith("\n")]
            lines = [line for line in whole if '"data"' in line]
            self.take(command, "".join(lines))
        self.assert_all_ran("tempo ")
        self.compare()


if __name__ == "__main__":
    unittest.main()
