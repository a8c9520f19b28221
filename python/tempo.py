"""tempo for Python: the network's time, its members, and locks that are one for all machines.

    import tempo

    with tempo.connect() as daemon:
        print(daemon.now())                           # Now(time_ns=..., earliest_ns=..., ...)
        with daemon.lock("printer", wait=5) as lock:  # waits until it is this program's
            while work_left:
                lock.require(step)                    # seconds; raises Lost if it is not ours so long
                store(data, lock.token)               # let the store refuse a smaller token
        for leader in daemon.follow("web"):           # now, and whenever it changes
            print(leader.host, leader.term)

Nothing but the standard library is needed: it speaks doc/reference/control-protocol.md over tempod's unix socket. A lock is
held for as long as its lease lasts, which `remaining` says; there is no "do I have it", for the
answer could be old before it is read. One thread at a time uses a connection and its locks; a child
of os.fork() holds nothing and connects anew.
"""

import collections
import json
import os
import select
import socket
import time

DEFAULT_SOCKET = "/run/tempo/tempod.sock"
VERSION = 1
MOST_LINE = 4 << 20  # bytes of one answer
MOMENT = 0.1  # seconds: enough for members to answer; who waits 0 seconds waits this

Now = collections.namedtuple("Now", "time_ns earliest_ns latest_ns status")
Event = collections.namedtuple("Event", "name at_ns text")
Leader = collections.namedtuple("Leader", "host term here")


class Error(Exception):
    """tempod cannot be reached, or said no; the text is a sentence that names the cure."""

    def __init__(self, sentence, code=None):
        super().__init__(sentence)
        self.code = code  # as in doc/reference/control-protocol.md; None: it did not answer


class TooLate(Error):
    """Somebody else had the lock for as long as we were to wait."""


class Lost(Error):
    """The lock is not ours any more, or not for as long as it is needed."""


def connect(path=DEFAULT_SOCKET, timeout=5.0):
    """A connection to tempod; no single answer is waited for longer than `timeout` seconds."""
    return Daemon(path, timeout)


class Daemon:
    def __init__(self, path, timeout):
        self._path = path
        self._patience = timeout
        self._owner = os.getpid()
        self._input = b""
        self._locks = {}
        self._last_id = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(path)
        except OSError as code:
            self._socket.close()
            raise Error(f"tempod cannot be reached at {path} ({code}); is it running?") from code

    def close(self):
        """Ends the connection; locks that it has are free at once."""
        self._socket.close()
        for lock in self._locks.values():
            lock._until_ns = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def fileno(self):
        """Can be read when there is news of a lock."""
        return self._socket.fileno()

    def now(self):
        """Network time is between `earliest_ns` and `latest_ns`, unless status is unsynchronized."""
        now = self._ask({"do": "now"})["now"]
        return Now(now["time_ns"], now["earliest_ns"], now["latest_ns"], now["status"])

    def status(self):
        """The snapshot of doc/reference/control-protocol.md, as a dictionary."""
        return self._ask({"do": "status"})["status"]

    def members(self):
        return self._ask({"do": "members"})["members"]

    def locks(self):
        """What is known of locks on this host, as a dictionary with `promise` and `locks`."""
        answer = self._ask({"do": "locks"})
        return {"promise": answer["promise"], "locks": answer["locks"]}

    def watch(self):
        """Snapshots as they come, for ever: at every change, at least one a second. The connection is
        good for nothing else from then on."""
        self._ask({"do": "watch"})
        while True:
            line = self._line(None)
            if "status" in line:
                yield line["status"]

    def events(self):
        """Events as they come, for ever. The connection is good for nothing else from then on."""
        self._ask({"do": "events"})
        while True:
            line = self._line(None)
            if "event" in line:
                event = line["event"]
                yield Event(event["name"], event["at_ns"], event["text"])

    def groups(self):
        """The groups that are known on this host, each a dictionary as in doc/reference/control-protocol.md."""
        return self._ask({"do": "groups"})["groups"]

    def follow(self, group):
        """Who leads the group, now and whenever that changes, for ever: Leader(host, term, here), host
        and term None while nobody is known to lead. The connection is good for nothing else from then
        on."""
        line = self._ask({"do": "watch-group", "group": group})
        while True:
            if line is not None and "group" in line:
                known = line["group"]
                leads = known["leader"] != ""
                yield Leader(known["leader"] or None, int(known["term"]) if leads else None, known["here"])
            line = self._line(None)

    def lock(self, name, shared=False, wait=None, kind="lease", lease=None):
        """Takes the lock; waits at most `wait` seconds, None: for ever. TooLate if it was in vain.

        Of the kinds "silent" and "explicit" there is no token: it is 0. `lease` is how many seconds a
        lease is to last, None: as long as the network's.
        """
        self._last_id += 1
        lock = Lock(self, self._last_id, name)
        self._locks[lock._id] = lock
        request = {"do": "lock", "id": lock._id, "name": name, "shared": shared, "kind": kind}
        if lease is not None:
            request["lease_ns"] = round(lease * 1e9)
        self._send(request)
        deadline = None if wait is None else time.monotonic() + max(wait, MOMENT)
        while lock.token is None:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                lock.release()
                raise TooLate(f"'{name}' was not to be had within {wait} s; 'tempo locks' says who has it")
            if lock._trouble is not None:
                del self._locks[lock._id]
                raise lock._trouble
            line = self._line(left)
            if line is not None and not self._hear(line) and not line.get("ok"):
                # A request so wrong that its id was not read, or a connection that is not wanted.
                del self._locks[lock._id]
                raise Error(line.get("error", "tempod gave no reason"), line.get("code"))
        return lock

    def try_lock(self, name, shared=False):
        """Takes the lock if it can be had at once, else None."""
        try:
            return self.lock(name, shared, wait=0)
        except TooLate:
            return None

    def _check_owner(self):
        if os.getpid() != self._owner:
            raise Error("this connection belongs to the process that forked this one; connect anew")

    def _send(self, request):
        self._check_owner()
        line = json.dumps({"v": VERSION, **request}, separators=(",", ":")) + "\n"
        self._socket.settimeout(self._patience)
        try:
            self._socket.sendall(line.encode())
        except OSError as code:
            raise Error(f"tempod at {self._path} is gone ({code}); connect again") from code

    def _line(self, wait):
        """The next line, or None if none came within `wait` seconds; None: waits for ever."""
        self._check_owner()
        while b"\n" not in self._input:
            if len(self._input) > MOST_LINE:
                raise Error(f"what answers at {self._path} is not tempod: its line does not end")
            try:
                ready, _, _ = select.select([self._socket], [], [], wait)
                some = self._socket.recv(65536) if ready else None
            except (OSError, ValueError):  # ValueError: it is closed
                some = b""
            if some is None:
                return None
            if not some:
                raise Error(f"tempod closed the connection at {self._path}; connect again")
            self._input += some
        line, self._input = self._input.split(b"\n", 1)
        try:
            answer = json.loads(line)
        except ValueError as code:
            raise Error("tempod's answer cannot be understood; use the module that came with it") from code
        if answer.get("v") != VERSION:
            raise Error(f"tempod does not speak version {VERSION}; use the module that came with it")
        return answer

    def _hear(self, line):
        """News of a lock. Whether it was that."""
        about = line.get("lock", line)
        lock = self._locks.get(about.get("id"))
        if "lock" not in line and ("ok" not in line or line["ok"] or "id" not in line):
            return False
        if lock is None:
            return True  # of one that was released meanwhile
        if not line["ok"]:
            lock._trouble = Error(line.get("error", "tempod gave no reason"), line.get("code"))
            return True
        state = about["state"]
        if state == "granted":
            lock.token = int(about.get("token", 0))
        if state in ("granted", "extended"):
            lock._until_ns = max(lock._until_ns, about["until_ns"])
        if state in ("lost", "refused"):
            lock._until_ns = 0
            lock._trouble = Error(f"the lock '{lock.name}' is {state}; take it again")
        return True

    def _ask(self, request):
        self._send(request)
        while True:
            line = self._line(self._patience)
            if line is None:
                raise Error(f"tempod does not answer within {self._patience} s")
            if self._hear(line):
                continue
            if not line.get("ok"):
                raise Error(line.get("error", "tempod gave no reason"), line.get("code"))
            return line

    def _listen(self):
        """Takes in what has come, without waiting."""
        try:
            while (line := self._line(0)) is not None:
                self._hear(line)
        except Error:
            pass  # what was granted lasts until its deadline


class Lock:
    """A lock that is held; `with` releases it."""

    def __init__(self, daemon, number, name):
        self.name = name
        self.token = None  # rises from one exclusive grant to the next
        self._daemon = daemon
        self._id = number
        self._until_ns = 0
        self._trouble = None

    def remaining(self):
        """For how many seconds the lock is certainly ours; 0: not any more."""
        if os.getpid() != self._daemon._owner:
            return 0.0
        self._daemon._listen()
        return max(0.0, (self._until_ns - time.clock_gettime_ns(time.CLOCK_BOOTTIME)) / 1e9)

    def require(self, seconds=0.0):
        """Lost, if the lock is not certainly ours for so many seconds more."""
        left = self.remaining()
        if left <= seconds:
            raise Lost(f"the lock '{self.name}' is ours for {left:.3f} s and {seconds} s are needed; "
                       "take it again")

    def release(self):
        if self._daemon._locks.pop(self._id, None) is None:
            return
        self._until_ns = 0
        try:
            self._daemon._send({"do": "unlock", "id": self._id})
        except Error:
            pass  # without a daemon there is nobody to tell

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()
