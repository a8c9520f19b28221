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
        with daemon.stand("web", capacity=5) as candidate:  # leads while it is the best candidate
            for change in candidate.changes():
                print(change.state, change.leader)       # after "stop": candidate.confirm_stopped()

tempo.page reads the time with its bound without a request, tempo.aio has the same as this module for asyncio.

The package needs only the standard library: it uses the protocol of doc/reference/control-protocol.md
on tempod's unix socket. A program holds a lock for as long as its lease lasts; `remaining` returns
that time. There is no function "do I hold it": its answer could be outdated before the program reads
it. After a restart of tempod the connection is made again, and leases and leads are resumed if the program
calls `remaining`, `next` or another method before they end. One thread at a time uses a connection and
its locks. A child of os.fork() holds no locks and must open its own connection.
"""

from __future__ import annotations

import json
import os
import select
import socket
import time
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Union

DEFAULT_SOCKET = "/run/tempo/tempod.sock"
VERSION = 1  # of the control protocol
MAX_LINE = 4 << 20  # bytes of one reply
RECONNECT_EVERY = 0.02  # seconds between attempts to connect again
MIN_WAIT = 0.1  # seconds; shortest wait for a lock: enough time for members to answer

Json = Dict[str, Any]


class Now(NamedTuple):
    """Network time is between `earliest_ns` and `latest_ns`, nanoseconds since 1970, unless unsynchronized."""

    time_ns: int  # best single reading, for display
    earliest_ns: int
    latest_ns: int
    status: str  # "unsynchronized", "holdover", "synchronized", "leads", "minority" or "alone"
    generation: int = 0  # of the time scale; bounds of different generations do not compare


class Event(NamedTuple):
    name: str  # "became-master", ...: tempod(8)
    at_ns: int
    text: str


class Leader(NamedTuple):
    host: Optional[str]  # None: no leader is known
    term: Optional[int]
    here: bool


class Change(NamedTuple):
    """A change of a candidate: `state` as in doc/reference/control-protocol.md."""

    state: str  # "stands", "leads", "stop", "lost", "follows", "no-majority", "job-done" or "withdrawn"
    leader: Optional[str]  # with "follows": the leader's host; None: none is known
    term: Optional[int]  # with "leads" and "follows"


class Error(Exception):
    """tempod cannot be reached or refused the request; the text has cause and cure."""

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message)
        self.code = code  # as in doc/reference/control-protocol.md; None: no reply


class TimedOut(Error):
    """The wait time is over and the lock was not granted."""


class _Closed(Error):
    """The connection to tempod broke."""


class Lost(Error):
    """This program does not hold the lock any more, or not for as long as it needs."""


def connect(path: str = DEFAULT_SOCKET, timeout: float = 5.0) -> Daemon:
    """Returns a connection to tempod. `timeout`: longest wait for each reply, in seconds."""
    return Daemon(path, timeout)


class Daemon:
    """A connection to tempod; `with` closes it."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._owner = os.getpid()
        self._input = b""
        self._locks: Dict[int, Lock] = {}
        self._candidates: Dict[int, Candidate] = {}
        self._last_id = 0
        self._broken: Optional[Error] = None  # the connection broke, and something can be resumed
        self._again_at = 0.0  # earliest time of the next attempt
        self._socket = self._connected(timeout)

    def _connected(self, timeout: float) -> socket.socket:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(timeout)
        try:
            made.connect(self._path)
        except OSError as error:
            made.close()
            raise Error(f"cannot connect to tempod at {self._path} ({error}); start tempod or give its socket") from error
        return made

    def close(self) -> None:
        """Closes the connection, which releases its locks and withdraws its candidates."""
        for lock in [*self._locks.values()]:
            lock.release()
        for candidate in [*self._candidates.values()]:
            candidate.withdraw()
        self._socket.close()
        for held in [*self._locks.values(), *self._candidates.values()]:
            held._until_ns = 0

    def __enter__(self) -> Daemon:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fileno(self) -> int:
        """Readable when an update of a lock has arrived. It changes when tempod restarts."""
        return self._socket.fileno()

    def now(self) -> Now:
        """Network time is between `earliest_ns` and `latest_ns`, unless status is "unsynchronized"."""
        return _now_of(self._ask({"do": "now"}))

    def status(self) -> Json:
        """The snapshot of doc/reference/control-protocol.md, as a dictionary."""
        return dict(self._ask({"do": "status"})["status"])

    def members(self) -> List[Json]:
        """The members of the snapshot, each a dictionary."""
        return list(self._ask({"do": "members"})["members"])

    def locks(self) -> Json:
        """The locks known on this host, as a dictionary with `guarantee` and `locks`."""
        reply = self._ask({"do": "locks"})
        return {"guarantee": reply["guarantee"], "locks": reply["locks"]}

    def watch(self) -> Iterator[Json]:
        """Yields snapshots without end: at every change, and at least one per second. The connection
        cannot be used for anything else afterwards."""
        self._ask({"do": "watch"})
        while True:
            line = self._line(None)
            if line is not None and "status" in line:
                yield line["status"]

    def events(self) -> Iterator[Event]:
        """Yields events without end. The connection cannot be used for anything else afterwards."""
        self._ask({"do": "events"})
        while True:
            line = self._line(None)
            if line is not None and "event" in line:
                yield _event_of(line)

    def groups(self) -> List[Json]:
        """The groups known on this host, each a dictionary as in doc/reference/control-protocol.md."""
        return list(self._ask({"do": "groups"})["groups"])

    def follow(self, group: str) -> Iterator[Leader]:
        """Yields the leader of the group, now and at every change, without end: Leader(host, term,
        here); host and term are None while no leader is known. The connection cannot be used for
        anything else afterwards."""
        line: Optional[Json] = self._ask({"do": "watch-group", "group": group})
        while True:
            if line is not None and "group" in line:
                yield _leader_of(line)
            line = self._line(None)

    def acquire(self, name: str, shared: bool = False, wait: Optional[float] = None, kind: str = "lease",
                lease: Optional[float] = None) -> Lock:
        """Waits for the lock, at most `wait` seconds (None: no limit), and returns it as a Lock.

        Raises TimedOut after `wait` seconds. The kinds "silent" and "explicit" have no token: it is 0.
        `lease` is the lease time in seconds; None: the cluster's locks.lease-ms.
        """
        self._last_id += 1
        lock = Lock(self, self._last_id, name)
        self._locks[lock._id] = lock
        lock._request = _lock_request(lock._id, name, shared, kind, lease, wait)
        self._send(lock._request)
        deadline = None if wait is None else time.monotonic() + max(wait, MIN_WAIT)
        while not lock._granted:
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

    def try_acquire(self, name: str, shared: bool = False) -> Optional[Lock]:
        """Returns the lock if it is free, else None."""
        try:
            return self.acquire(name, shared, wait=0)
        except TimedOut:
            return None

    def stand(self, group: str, capacity: int = 0, criterion: str = "weight", algorithm: str = "b1",
              min_stay: float = 30.0, once: bool = False) -> Candidate:
        """Makes this program the candidate of this host in the group; of all candidates the one with the largest
        capacity is proposed, and leads once it holds the group's lease. A leader keeps its role at least `min_stay`
        seconds before a better candidate may replace it. `once`: the group is over when one leader has done the job."""
        self._last_id += 1
        candidate = Candidate(self, self._last_id, group)
        self._candidates[candidate._id] = candidate
        candidate._request = _elect_request(candidate._id, group, capacity, criterion, algorithm, min_stay, once)
        self._send(candidate._request)
        change = candidate.next(self._timeout)
        if change is None:
            candidate.withdraw()
            raise Error(f"tempod did not answer within {self._timeout} s; check 'systemctl status tempod'")
        candidate._changes.insert(0, change)
        return candidate

    def _check_owner(self) -> None:
        if os.getpid() != self._owner:
            raise Error("this connection belongs to the parent process; open a new one after fork()")

    def _send(self, request: Json) -> None:
        self._check_owner()
        if self._broken is not None and not self._reconnect():
            raise self._broken
        self._socket.settimeout(self._timeout)
        try:
            self._socket.sendall(_line_of(request))
        except OSError as error:
            raise Error(f"lost the connection to tempod at {self._path} ({error}); connect again") from error

    def _line(self, wait: Optional[float]) -> Optional[Json]:
        """Returns the next line, or None if none arrives within `wait` seconds (None: no limit)."""
        self._check_owner()
        end = None if wait is None else time.monotonic() + wait
        while True:
            left = None if end is None else max(0.0, end - time.monotonic())
            pause = RECONNECT_EVERY if left is None else min(left, RECONNECT_EVERY)
            try:
                if self._broken is None or self._reconnect():
                    waits = self._resume_refused()
                    line = self._read_line(pause if waits else left)
                    if line is not None or not waits or left == 0:
                        return line
                    continue
            except _Closed as error:
                self._broken = error
                if not self._worth_reconnecting():
                    raise
                continue
            if left == 0:
                return None
            time.sleep(pause)

    def _worth_reconnecting(self) -> bool:
        held = [*self._locks.values(), *self._candidates.values()]
        return any(_again_of(one) is not None for one in held)

    def _reconnect(self) -> bool:
        """Connects again and repeats the requests. Raises the error of the lost connection if there are none."""
        assert self._broken is not None
        if not self._worth_reconnecting():
            raise self._broken
        if time.monotonic() < self._again_at:
            return False
        self._again_at = time.monotonic() + RECONNECT_EVERY
        try:
            made = self._connected(RECONNECT_EVERY)
        except Error:
            return False
        self._socket.close()
        self._socket, self._input, self._broken = made, b"", None
        for held in [*self._locks.values(), *self._candidates.values()]:
            held._resume_at = time.monotonic()
        return True

    def _resume_refused(self) -> bool:
        """Sends the requests to resume that are due. Returns whether others follow later: tempod does not know the
        voters yet."""
        later = False
        for held in [*self._locks.values(), *self._candidates.values()]:
            if held._resume_at is None:
                continue
            if time.monotonic() < held._resume_at:
                later = True
                continue
            held._resume_at = None
            request = _again_of(held)
            if request is None:
                held._error = held._error or Error("the connection to tempod was lost; connect again")
                continue
            held._resuming = held._until_ns != 0
            self._socket.settimeout(self._timeout)
            try:
                self._socket.sendall(_line_of(request))
            except OSError as error:
                raise _Closed(f"lost the connection to tempod at {self._path} ({error}); connect again") from error
        return later

    def _read_line(self, wait: Optional[float]) -> Optional[Json]:
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
                raise _Closed(f"tempod closed the connection at {self._path}; connect again")
            self._input += data
        line, self._input = self._input.split(b"\n", 1)
        return _reply_of(line)

    def _handle_update(self, line: Json) -> bool:
        """Handles an update of a lock or a candidate. Returns whether the line was one."""
        candidate = self._candidates.get(line.get("election", line).get("id"))
        if candidate is not None and ("election" in line or not line.get("ok")):
            candidate._update(line)
            return True
        if "election" in line:
            return True  # the candidate was withdrawn meanwhile
        update = line.get("lock", line)
        lock = self._locks.get(update.get("id"))
        if "lock" not in line and ("ok" not in line or line["ok"] or "id" not in line):
            return False
        if lock is None:
            return True  # the lock was released meanwhile
        lock._update(line)
        return True

    def _ask(self, request: Json) -> Json:
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

    def _read_updates(self) -> None:
        """Handles the updates that have arrived; does not wait."""
        try:
            while (line := self._line(0)) is not None:
                self._handle_update(line)
        except Error:
            pass  # a granted lock lasts until its deadline


class _Held:
    """A lease that tempod extends: the part that locks and candidates share."""

    def __init__(self, daemon: Daemon, number: int) -> None:
        self._daemon = daemon
        self._id = number
        self._until_ns = 0  # end of the lease on CLOCK_BOOTTIME; 0: not held
        self._error: Optional[Error] = None  # why tempod refused the request or took the lease away
        self._request: Json = {}
        self._asked = time.monotonic()
        self._session = ""  # "": tempod cannot resume it
        self._resuming = False  # asked to resume, not answered yet
        self._resume_at: Optional[float] = None  # when to repeat its request; None: not

    def _refuse(self, line: Json) -> None:
        if self._resuming and line.get("code") == "unavailable":
            self._resume_at = time.monotonic() + RECONNECT_EVERY
        else:
            self._error = _error_of(line)

    def remaining(self) -> float:
        """Seconds for which this program certainly holds the lease; 0: no longer."""
        if os.getpid() != self._daemon._owner:
            return 0.0
        self._daemon._read_updates()
        return _seconds_until(self._until_ns)


class Lock(_Held):
    """A held lock; `with` releases it."""

    def __init__(self, daemon: Daemon, number: int, name: str) -> None:
        super().__init__(daemon, number)
        self.name = name
        self.token = 0  # rises from one exclusive grant to the next; 0: not a lease
        self._granted = False

    def _update(self, line: Json) -> None:
        if not line.get("ok"):
            self._refuse(line)
            return
        update = line["lock"]
        state = update["state"]
        self._resuming = False
        if state == "granted":
            self.token = int(update.get("token", 0))
            self._session = update.get("session", "")
            self._granted = True
        if state == "busy":
            self._error = TimedOut(f"lock '{self.name}' is held; 'tempo locks' shows the holder")
        if state in ("granted", "extended"):
            self._until_ns = max(self._until_ns, int(update["until_ns"]))
        if state in ("lost", "refused"):
            self._until_ns = 0
            self._error = Error(f"tempod reports lock '{self.name}' as {state}; acquire it again")

    def require(self, seconds: float = 0.0) -> None:
        """Raises Lost unless this program holds the lock for more than `seconds` seconds."""
        left = self.remaining()
        if left <= seconds:
            raise Lost(f"lock '{self.name}' is held for {left:.3f} s but {seconds} s are needed; acquire it again")

    def release(self) -> None:
        """Releases the lock; does nothing if it is not held."""
        if self._daemon._locks.pop(self._id, None) is None:
            return
        self._until_ns = 0
        try:
            self._daemon._send({"do": "unlock", "id": self._id})
        except Error:
            pass  # the closed connection has released it already

    def __enter__(self) -> Lock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class Candidate(_Held):
    """This program as a candidate of a group; `with` withdraws it. It leads while `remaining` is not 0."""

    def __init__(self, daemon: Daemon, number: int, group: str) -> None:
        super().__init__(daemon, number)
        self.group = group
        self.term = 0  # of this program's leadership, for the resources that it writes to; 0: it does not lead
        self._changes: List[Change] = []
        self._over = False

    def _update(self, line: Json) -> None:
        if not line.get("ok"):
            self._refuse(line)
            self._over = self._error is not None
            return
        update = line["election"]
        state = update["state"]
        if self._resuming and state in ("stands", "follows"):
            return
        again = self._resuming and state == "leads" and int(update["term"]) == self.term
        self._resuming = False
        self._session = update.get("session", self._session)
        if state in ("leads", "extended"):
            self._until_ns = max(self._until_ns, int(update["until_ns"]))
        if state == "extended" or again:
            return
        if state == "leads":
            self.term = int(update["term"])
        elif state != "stop":
            self.term = 0
            self._until_ns = 0
        self._over = state in ("job-done", "withdrawn")
        self._changes.append(_change_of(update))

    def next(self, wait: Optional[float] = None) -> Optional[Change]:
        """Waits for the next change, at most `wait` seconds (None: no limit); None: there was none."""
        deadline = None if wait is None else time.monotonic() + wait
        while not self._changes:
            if self._error is not None:
                self._daemon._candidates.pop(self._id, None)
                raise self._error
            if self._over:
                return None
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left < 0:
                return None
            line = self._daemon._line(left)
            if line is not None and not self._daemon._handle_update(line) and not line.get("ok"):
                raise _error_of(line)
        return self._changes.pop(0)

    def changes(self) -> Iterator[Change]:
        """Yields every change until this program is no longer a candidate."""
        while (change := self.next()) is not None:
            yield change

    def set_capacity(self, capacity: int) -> None:
        """Takes effect at most once per `min_stay`."""
        self._request["capacity"] = capacity
        self._daemon._send({"do": "offer", "id": self._id, "capacity": capacity})

    def confirm_stopped(self) -> None:
        """After the change "stop": this program no longer acts as leader, and another one may lead."""
        self._daemon._send({"do": "stopped", "id": self._id})
        self._until_ns = 0
        self.term = 0

    def withdraw(self, job_done: bool = False) -> None:
        """Ends the candidacy; `job_done`: the one job of the group is done, and the group is over."""
        if self._daemon._candidates.pop(self._id, None) is None:
            return
        self._until_ns = 0
        self.term = 0
        self._over = True
        try:
            self._daemon._send({"do": "withdraw", "id": self._id, "job_done": job_done})
        except Error:
            pass  # the closed connection has withdrawn it already

    def __enter__(self) -> Candidate:
        return self

    def __exit__(self, *_: object) -> None:
        self.withdraw()


# --- the control protocol, also for tempo.aio ---


def _line_of(request: Json) -> bytes:
    return (json.dumps({"v": VERSION, **request}, separators=(",", ":")) + "\n").encode()


def _reply_of(line: bytes) -> Json:
    try:
        reply = json.loads(line)
    except ValueError as error:
        raise Error("invalid reply from tempod: it is not JSON; use the module that came with it") from error
    if not isinstance(reply, dict) or reply.get("v") != VERSION:
        raise Error(f"tempod does not speak protocol version {VERSION}; use the module that came with it")
    return reply


def _error_of(line: Json) -> Error:
    return Error(line.get("error", "tempod gave no reason"), line.get("code"))


def _now_of(line: Json) -> Now:
    now = line["now"]
    return Now(int(now["time_ns"]), int(now["earliest_ns"]), int(now["latest_ns"]), now["status"],
               now.get("generation", 0))


def _event_of(line: Json) -> Event:
    event = line["event"]
    return Event(event["name"], int(event["at_ns"]), event["text"])


def _leader_of(line: Json) -> Leader:
    known = line["group"]
    leads = known["leader"] != ""
    return Leader(known["leader"] or None, int(known["term"]) if leads else None, known["here"])


def _change_of(update: Json) -> Change:
    term: Union[str, int, None] = update.get("term")
    return Change(update["state"], update.get("leader") or None, int(term) if term else None)


def _lock_request(number: int, name: str, shared: bool, kind: str, lease: Optional[float],
                  wait: Optional[float]) -> Json:
    request: Json = {"do": "lock", "id": number, "name": name, "shared": shared, "kind": kind}
    if kind == "lease":
        request["resumable"] = True
        request["no_wait"] = wait == 0
    if lease is not None:
        request["lease_ns"] = round(lease * 1e9)
    return request


def _elect_request(number: int, group: str, capacity: int, criterion: str, algorithm: str, min_stay: float,
                   once: bool) -> Json:
    return {"do": "elect", "id": number, "group": group, "capacity": capacity, "criterion": criterion,
            "algorithm": algorithm, "min_stay_ns": round(min_stay * 1e9), "once": once, "resumable": True}


def _again_of(held: Any) -> Optional[Json]:
    """The request that continues a lock, a lead or a wait on another connection; None: it cannot be continued."""
    request: Json = held._request
    if held._until_ns == 0:
        waits = held._error is None and request.get("do") == "lock" and held.token == 0
        return {**request, "waited_ns": round((time.monotonic() - held._asked) * 1e9)} if waits else None
    if not held._session or _seconds_until(held._until_ns) <= 0:
        return None
    known = {"session": held._session, "until_ns": held._until_ns}
    if request["do"] == "elect":
        return {**request, "term": str(held.term), **known}
    kept = {key: request[key] for key in ("id", "name", "shared", "lease_ns") if key in request}
    return {"do": "resume", **kept, "token": str(held.token), **known}


def _seconds_until(until_ns: int) -> float:
    return max(0.0, (until_ns - time.clock_gettime_ns(time.CLOCK_BOOTTIME)) / 1e9)
