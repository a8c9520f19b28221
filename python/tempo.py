"""tempo for Python: network time, members, events, groups, and locks across all machines of the cluster.

    import tempo

    with tempo.connect() as daemon:
        print(daemon.now())                              # Now(time_ns=..., earliest_ns=..., ...)
        with daemon.acquire("printer", wait=5) as lock:  # waits until this program holds the lock
            while work_left:
                lock.require(step)                       # seconds; raises Lost if less time remains
                store(data, lock.token)                  # the store must refuse a smaller token
        for leader in daemon.follow("web"):              # now, and at every change
            print(leader.host, leader.term)

The module needs only the standard library: it uses the protocol of doc/reference/control-protocol.md
on tempod's unix socket. A program holds a lock for as long as its lease lasts; `remaining` returns
that time. There is no function "do I hold it": its answer could be outdated before the program reads
it. One thread at a time uses a connection and its locks. A child of os.fork() holds no locks and must
open its own connection.
"""

import collections
import json
import os
import select
import socket
import time

DEFAULT_SOCKET = "/run/tempo/tempod.sock"
VERSION = 1  # of the control protocol
MAX_LINE = 4 << 20  # bytes of one reply
MIN_WAIT = 0.1  # seconds; shortest wait for a lock: enough time for members to answer

Now = collections.namedtuple("Now", "time_ns earliest_ns latest_ns status generation")
Event = collections.namedtuple("Event", "name at_ns text")
Leader = collections.namedtuple("Leader", "host term here")


class Error(Exception):
    """tempod cannot be reached or refused the request; the text has cause and cure."""

    def __init__(self, message, code=None):
        super().__init__(message)
        self.code = code  # as in doc/reference/control-protocol.md; None: no reply


class TimedOut(Error):
    """The wait time is over and the lock was not granted."""


class Lost(Error):
    """This program does not hold the lock any more, or not for as long as it needs."""


def connect(path=DEFAULT_SOCKET, timeout=5.0):
    """Returns a connection to tempod. `timeout`: longest wait for each reply, in seconds."""
    return Daemon(path, timeout)


class Daemon:
    """A connection to tempod; `with` closes it."""

    def __init__(self, path, timeout):
        self._path = path
        self._timeout = timeout
        self._owner = os.getpid()
        self._input = b""
        self._locks = {}
        self._last_id = 0
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(path)
        except OSError as error:
            self._socket.close()
            raise Error(f"cannot connect to tempod at {path} ({error}); start tempod or give its socket") from error

    def close(self):
        """Closes the connection, which releases its locks."""
        self._socket.close()
        for lock in self._locks.values():
            lock._until_ns = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def fileno(self):
        """Readable when an update of a lock has arrived."""
        return self._socket.fileno()

    def now(self):
        """Network time is between `earliest_ns` and `latest_ns`, unless status is "unsynchronized". Bounds
        of different `generation` do not compare."""
        now = self._ask({"do": "now"})["now"]
        return Now(int(now["time_ns"]), int(now["earliest_ns"]), int(now["latest_ns"]), now["status"],
                   now.get("generation", 0))

    def status(self):
        """The snapshot of doc/reference/control-protocol.md, as a dictionary."""
        return self._ask({"do": "status"})["status"]

    def members(self):
        """The members of the snapshot, each a dictionary."""
        return self._ask({"do": "members"})["members"]

    def locks(self):
        """The locks known on this host, as a dictionary with `guarantee` and `locks`."""
        reply = self._ask({"do": "locks"})
        return {"guarantee": reply["guarantee"], "locks": reply["locks"]}

    def watch(self):
        """Yields snapshots without end: at every change, and at least one per second. The connection
        cannot be used for anything else afterwards."""
        self._ask({"do": "watch"})
        while True:
            line = self._line(None)
            if "status" in line:
                yield line["status"]

    def events(self):
        """Yields events without end. The connection cannot be used for anything else afterwards."""
        self._ask({"do": "events"})
        while True:
            line = self._line(None)
            if "event" in line:
                event = line["event"]
                yield Event(event["name"], int(event["at_ns"]), event["text"])

    def groups(self):
        """The groups known on this host, each a dictionary as in doc/reference/control-protocol.md."""
        return self._ask({"do": "groups"})["groups"]

    def follow(self, group):
        """Yields the leader of the group, now and at every change, without end: Leader(host, term,
        here); host and term are None while no leader is known. The connection cannot be used for
        anything else afterwards."""
        line = self._ask({"do": "watch-group", "group": group})
        while True:
            if line is not None and "group" in line:
                known = line["group"]
                leads = known["leader"] != ""
                yield Leader(known["leader"] or None, int(known["term"]) if leads else None, known["here"])
            line = self._line(None)

    def acquire(self, name, shared=False, wait=None, kind="lease", lease=None):
        """Waits for the lock, at most `wait` seconds (None: no limit), and returns it as a Lock.

        Raises TimedOut after `wait` seconds. The kinds "silent" and "explicit" have no token: it is 0.
        `lease` is the lease time in seconds; None: the cluster's locks.lease-ms.
        """
        self._last_id += 1
        lock = Lock(self, self._last_id, name)
        self._locks[lock._id] = lock
        request = {"do": "lock", "id": lock._id, "name": name, "shared": shared, "kind": kind}
        if lease is not None:
            request["lease_ns"] = round(lease * 1e9)
        self._send(request)
        deadline = None if wait is None else time.monotonic() + max(wait, MIN_WAIT)
        while lock.token is None:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                lock.release()
                raise TimedOut(f"timed out after {wait} s waiting for lock '{name}'; 'tempo locks' shows the holder")
            if lock._error is not None:
                del self._locks[lock._id]
                raise lock._error
            line = self._line(left)
            if line is not None and not self._handle_update(line) and not line.get("ok"):
                # tempod could not read the id of the request, or it refuses the connection.
                del self._locks[lock._id]
                raise Error(line.get("error", "tempod gave no reason"), line.get("code"))
        return lock

    def try_acquire(self, name, shared=False):
        """Returns the lock if it is free, else None."""
        try:
            return self.acquire(name, shared, wait=0)
        except TimedOut:
            return None

    def _check_owner(self):
        if os.getpid() != self._owner:
            raise Error("this connection belongs to the parent process; open a new one after fork()")

    def _send(self, request):
        self._check_owner()
        line = json.dumps({"v": VERSION, **request}, separators=(",", ":")) + "\n"
        self._socket.settimeout(self._timeout)
        try:
            self._socket.sendall(line.encode())
        except OSError as error:
            raise Error(f"lost the connection to tempod at {self._path} ({error}); connect again") from error

    def _line(self, wait):
        """Returns the next line, or None if none arrives within `wait` seconds (None: no limit)."""
        self._check_owner()
        while b"\n" not in self._input:
            if len(self._input) > MAX_LINE:
                raise Error(f"the process at {self._path} is not tempod (its reply has no end of line); "
                            "give another socket")
            try:
                ready, _, _ = select.select([self._socket], [], [], wait)
                data = self._socket.recv(65536) if ready else None
            except (OSError, ValueError):  # ValueError: the socket is closed
                data = b""
            if data is None:
                return None
            if not data:
                raise Error(f"tempod closed the connection at {self._path}; connect again")
            self._input += data
        line, self._input = self._input.split(b"\n", 1)
        try:
            reply = json.loads(line)
        except ValueError as error:
            raise Error("invalid reply from tempod: it is not JSON; use the module that came with it") from error
        if reply.get("v") != VERSION:
            raise Error(f"tempod does not speak protocol version {VERSION}; use the module that came with it")
        return reply

    def _handle_update(self, line):
        """Handles an update of a lock. Returns whether the line was one."""
        update = line.get("lock", line)
        lock = self._locks.get(update.get("id"))
        if "lock" not in line and ("ok" not in line or line["ok"] or "id" not in line):
            return False
        if lock is None:
            return True  # the lock was released meanwhile
        if not line["ok"]:
            lock._error = Error(line.get("error", "tempod gave no reason"), line.get("code"))
            return True
        state = update["state"]
        if state == "granted":
            lock.token = int(update.get("token", 0))
        if state in ("granted", "extended"):
            lock._until_ns = max(lock._until_ns, int(update["until_ns"]))
        if state in ("lost", "refused"):
            lock._until_ns = 0
            lock._error = Error(f"tempod reports lock '{lock.name}' as {state}; acquire it again")
        return True

    def _ask(self, request):
        self._send(request)
        while True:
            line = self._line(self._timeout)
            if line is None:
                raise Error(f"tempod did not answer within {self._timeout} s; check 'systemctl status tempod'")
            if self._handle_update(line):
                continue
            if not line.get("ok"):
                raise Error(line.get("error", "tempod gave no reason"), line.get("code"))
            return line

    def _read_updates(self):
        """Handles the updates that have arrived; does not wait."""
        try:
            while (line := self._line(0)) is not None:
                self._handle_update(line)
        except Error:
            pass  # a granted lock lasts until its deadline


class Lock:
    """A held lock; `with` releases it."""

    def __init__(self, daemon, number, name):
        self.name = name
        self.token = None  # rises from one exclusive grant to the next; 0: not a lease
        self._daemon = daemon
        self._id = number
        self._until_ns = 0  # end of the lease on CLOCK_BOOTTIME; 0: not held
        self._error = None  # why tempod refused the request or took the lock away

    def remaining(self):
        """Seconds for which this program certainly holds the lock; 0: no longer."""
        if os.getpid() != self._daemon._owner:
            return 0.0
        self._daemon._read_updates()
        return max(0.0, (self._until_ns - time.clock_gettime_ns(time.CLOCK_BOOTTIME)) / 1e9)

    def require(self, seconds=0.0):
        """Raises Lost unless this program holds the lock for more than `seconds` seconds."""
        left = self.remaining()
        if left <= seconds:
            raise Lost(f"lock '{self.name}' is held for {left:.3f} s but {seconds} s are needed; acquire it again")

    def release(self):
        """Releases the lock; does nothing if it is not held."""
        if self._daemon._locks.pop(self._id, None) is None:
            return
        self._until_ns = 0
        try:
            self._daemon._send({"do": "unlock", "id": self._id})
        except Error:
            pass  # the closed connection has released it already

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()
