"""tempo for asyncio: the same as the package tempo, in coroutines.

    from tempo import aio

    async with await aio.connect() as daemon:
        print(await daemon.now())
        async with await daemon.acquire("printer", wait=5) as lock:
            if lock.remaining() > step: ...
        async for leader in daemon.follow("web"):     # on a connection of its own
            print(leader.host, leader.term)
        async with await daemon.stand("web", capacity=5) as candidate:
            async for change in candidate.changes():
                if change.state == "stop":
                    await candidate.confirm_stopped()

Any number of tasks of one event loop may use a connection at once. It belongs to the process that made it. After a
restart of tempod it is made again, and leases and leads are resumed, while the event loop runs.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any, AsyncIterator, Dict, List, Optional, Set, Union

from . import (DEFAULT_SOCKET, MAX_LINE, MIN_WAIT, RECONNECT_EVERY, Change, Error, Event, Json, Leader, Lost, Now,
               TimedOut, _again_of, _change_of, _elect_request, _error_of, _event_of, _leader_of, _line_of,
               _lock_request, _now_of, _reply_of, _seconds_until)


async def connect(path: str = DEFAULT_SOCKET, timeout: float = 5.0) -> Daemon:
    """Returns a connection to tempod. `timeout`: longest wait for each reply, in seconds."""
    daemon = Daemon(path, timeout)
    await daemon._open()
    return daemon


class _Connection:
    """Lines of the control protocol on one socket."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._timeout = timeout
        self._owner = os.getpid()
        self._reader: Optional[asyncio.StreamReader] = None
        self._writer: Optional[asyncio.StreamWriter] = None

    async def _open(self) -> None:
        try:
            self._reader, self._writer = await asyncio.wait_for(
                asyncio.open_unix_connection(self._path, limit=MAX_LINE), self._timeout)
        except (OSError, asyncio.TimeoutError) as error:
            raise Error(f"cannot connect to tempod at {self._path} ({error}); start tempod or give its socket") from error

    async def _send(self, request: Json) -> None:
        if os.getpid() != self._owner:
            raise Error("this connection belongs to the parent process; open a new one after fork()")
        if self._writer is None or self._writer.is_closing():
            raise Error(f"the connection to tempod at {self._path} is closed; connect again")
        try:
            self._writer.write(_line_of(request))
            await asyncio.wait_for(self._writer.drain(), self._timeout)
        except (OSError, asyncio.TimeoutError) as error:
            raise Error(f"lost the connection to tempod at {self._path} ({error}); connect again") from error

    async def _line(self) -> Json:
        assert self._reader is not None
        try:
            line = await self._reader.readline()
        except (OSError, ValueError) as error:
            raise Error(f"the process at {self._path} is not tempod ({error}); give another socket") from error
        if not line.endswith(b"\n"):
            raise Error(f"tempod closed the connection at {self._path}; connect again")
        return _reply_of(line)

    async def close(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass  # tempod has closed it already


class Daemon(_Connection):
    """A connection to tempod; `async with` closes it."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__(path, timeout)
        self._held: Dict[int, Union[Lock, Candidate]] = {}
        self._last_id = 0
        self._one_request = asyncio.Lock()
        self._answer: Optional[asyncio.Future[Json]] = None
        self._task: Optional[asyncio.Task[None]] = None
        self._failed: Optional[Error] = None
        self._resumptions: Set[asyncio.Task[None]] = set()
        self._again_at = 0.0  # earliest time of the next attempt to connect again

    async def _open(self) -> None:
        await super()._open()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            try:
                await self._read_lines()
            except Error as error:
                if self._answer is not None and not self._answer.done():
                    self._answer.set_exception(error)
                if await self._reconnect(error):
                    continue
                self._failed = error
                for held in self._held.values():
                    held._fail(error)
                return

    async def _read_lines(self) -> None:
        while True:
            line = await self._line()
            number = line.get("lock", line.get("election", line)).get("id")
            if number is not None:
                held = self._held.get(number)
                if held is not None:
                    held._update(line)
            elif self._answer is not None and not self._answer.done():
                self._answer.set_result(line)

    async def _reconnect(self, error: Error) -> bool:
        """Connects again and repeats the requests of held leases and waits; False: there are none."""
        while any(_again_of(held) is not None for held in self._held.values()):
            await super().close()
            await asyncio.sleep(max(0.0, self._again_at - time.monotonic()))
            self._again_at = time.monotonic() + RECONNECT_EVERY
            try:
                await super()._open()
            except Error:
                continue
            for held in [*self._held.values()]:
                await self._resume(held, error)
            return True
        return False

    async def _resume(self, held: Union[Lock, Candidate], error: Error) -> None:
        request = _again_of(held)
        if request is None:
            held._fail(error)
            return
        held._resuming = held._until_ns != 0
        try:
            await self._send(request)
        except Error:
            pass  # the connection broke again, and _read notices

    def _resume_later(self, held: Union[Lock, Candidate], error: Error) -> None:
        async def later() -> None:
            await asyncio.sleep(RECONNECT_EVERY)
            await self._resume(held, error)

        task = asyncio.create_task(later())
        self._resumptions.add(task)
        task.add_done_callback(self._resumptions.discard)

    async def _ask(self, request: Json) -> Json:
        async with self._one_request:
            if self._failed is not None:
                raise self._failed
            self._answer = asyncio.get_running_loop().create_future()
            try:
                await self._send(request)
                line = await asyncio.wait_for(self._answer, self._timeout)
            except asyncio.TimeoutError:
                # A late answer would be taken for that of the next request.
                await self.close()
                raise Error(f"tempod did not answer within {self._timeout} s; connect again") from None
            finally:
                self._answer = None
        if not line.get("ok"):
            raise _error_of(line)
        return line

    async def close(self) -> None:
        """Closes the connection, which releases its locks and withdraws its candidates."""
        for held in [*self._held.values()]:
            held._fail(Error("the connection is closed; connect again"))
            await held._give_up()
        if self._task is not None:
            self._task.cancel()
            self._task = None
        await super().close()

    async def __aenter__(self) -> Daemon:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def now(self) -> Now:
        return _now_of(await self._ask({"do": "now"}))

    async def status(self) -> Json:
        return dict((await self._ask({"do": "status"}))["status"])

    async def members(self) -> List[Json]:
        return list((await self._ask({"do": "members"}))["members"])

    async def locks(self) -> Json:
        reply = await self._ask({"do": "locks"})
        return {"guarantee": reply["guarantee"], "locks": reply["locks"]}

    async def groups(self) -> List[Json]:
        return list((await self._ask({"do": "groups"}))["groups"])

    async def _stream(self, request: Json) -> AsyncIterator[Json]:
        connection = _Connection(self._path, self._timeout)
        await connection._open()
        try:
            await connection._send(request)
            while True:
                line = await connection._line()
                if not line.get("ok"):
                    raise _error_of(line)
                yield line
        finally:
            await connection.close()

    async def watch(self) -> AsyncIterator[Json]:
        """Yields snapshots: at every change, and at least one per second."""
        async for line in self._stream({"do": "watch"}):
            if "status" in line:
                yield line["status"]

    async def events(self) -> AsyncIterator[Event]:
        async for line in self._stream({"do": "events"}):
            if "event" in line:
                yield _event_of(line)

    async def follow(self, group: str) -> AsyncIterator[Leader]:
        """Yields the leader of the group, now and at every change."""
        async for line in self._stream({"do": "watch-group", "group": group}):
            if "group" in line:
                yield _leader_of(line)

    async def acquire(self, name: str, shared: bool = False, wait: Optional[float] = None, kind: str = "lease",
                      lease: Optional[float] = None) -> Lock:
        """Waits for the lock, at most `wait` seconds (None: no limit), and returns it. Raises TimedOut. A cancelled
        wait releases the lock."""
        if self._failed is not None:
            raise self._failed
        self._last_id += 1
        lock = Lock(self, self._last_id, name)
        self._held[lock._id] = lock
        try:
            lock._request = _lock_request(lock._id, name, shared, kind, lease, wait)
            await self._send(lock._request)
            limit = None if wait is None else max(wait, MIN_WAIT)
            await asyncio.wait_for(asyncio.shield(lock._first), limit)
        except asyncio.TimeoutError:
            await lock.release()
            raise TimedOut(f"timed out after {wait} s waiting for lock '{name}'; 'tempo locks' shows the holder") from None
        except BaseException:
            await lock.release()
            raise
        return lock

    async def try_acquire(self, name: str, shared: bool = False) -> Optional[Lock]:
        """Returns the lock if it is free, else None."""
        try:
            return await self.acquire(name, shared, wait=0)
        except TimedOut:
            return None

    async def stand(self, group: str, capacity: int = 0, criterion: str = "weight", algorithm: str = "b1",
                    min_stay: float = 30.0, once: bool = False) -> Candidate:
        """Makes this program the candidate of this host in the group: tempo.Daemon.stand."""
        if self._failed is not None:
            raise self._failed
        self._last_id += 1
        candidate = Candidate(self, self._last_id, group)
        self._held[candidate._id] = candidate
        try:
            candidate._request = _elect_request(candidate._id, group, capacity, criterion, algorithm, min_stay, once)
            await self._send(candidate._request)
            await asyncio.wait_for(asyncio.shield(candidate._first), self._timeout)
        except asyncio.TimeoutError:
            await candidate.withdraw()
            raise Error(f"tempod did not answer within {self._timeout} s; check 'systemctl status tempod'") from None
        except BaseException:
            await candidate.withdraw()
            raise
        return candidate


class _Held:
    """A lease that tempod extends: the part that locks and candidates share."""

    def __init__(self, daemon: Daemon, number: int) -> None:
        self._daemon = daemon
        self._id = number
        self._until_ns = 0  # end of the lease on CLOCK_BOOTTIME; 0: not held
        self._error: Optional[Error] = None
        self._request: Json = {}
        self._asked = time.monotonic()
        self._session = ""  # "": tempod cannot resume it
        self._resuming = False  # asked to resume, not answered yet
        self._first: asyncio.Future[Any] = asyncio.get_running_loop().create_future()  # granted, or a candidate
        # Its failure is also reported where nobody waits for it any more.
        self._first.add_done_callback(lambda done: done.cancelled() or done.exception())

    def remaining(self) -> float:
        """Seconds for which this program certainly holds the lease; 0: no longer."""
        return _seconds_until(self._until_ns) if os.getpid() == self._daemon._owner else 0.0

    def _fail(self, error: Error) -> None:
        self._error = error
        if not self._first.done():
            self._first.set_exception(error)

    def _refuse(self, line: Json) -> None:
        if self._resuming and line.get("code") == "unavailable":
            assert isinstance(self, (Lock, Candidate))
            self._daemon._resume_later(self, _error_of(line))
        else:
            self._fail(_error_of(line))

    def _ready(self) -> None:
        if not self._first.done():
            self._first.set_result(None)

    async def _end(self, request: Json) -> None:
        if self._daemon._held.pop(self._id, None) is None:
            return
        self._until_ns = 0
        try:
            await self._daemon._send(request)
        except Error:
            pass  # the closed connection has ended it already


class Lock(_Held):
    """A held lock; `async with` releases it."""

    def __init__(self, daemon: Daemon, number: int, name: str) -> None:
        super().__init__(daemon, number)
        self.name = name
        self.token = 0  # rises from one exclusive grant to the next; 0: not a lease

    def _update(self, line: Json) -> None:
        if not line.get("ok"):
            self._refuse(line)
            return
        update = line["lock"]
        state = update["state"]
        self._resuming = False
        if state in ("granted", "extended"):
            self._until_ns = max(self._until_ns, int(update["until_ns"]))
        if state == "granted":
            self.token = int(update.get("token", 0))
            self._session = update.get("session", "")
            self._ready()
        if state == "busy":
            self._fail(TimedOut(f"lock '{self.name}' is held; 'tempo locks' shows the holder"))
        if state in ("lost", "refused"):
            self._until_ns = 0
            self._fail(Error(f"tempod reports lock '{self.name}' as {state}; acquire it again"))

    def require(self, seconds: float = 0.0) -> None:
        """Raises Lost unless this program holds the lock for more than `seconds` seconds."""
        left = self.remaining()
        if left <= seconds:
            raise Lost(f"lock '{self.name}' is held for {left:.3f} s but {seconds} s are needed; acquire it again")

    async def release(self) -> None:
        await self._end({"do": "unlock", "id": self._id})

    async def _give_up(self) -> None:
        await self.release()

    async def __aenter__(self) -> Lock:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.release()


class Candidate(_Held):
    """This program as a candidate of a group; `async with` withdraws it. It leads while `remaining` is not 0."""

    def __init__(self, daemon: Daemon, number: int, group: str) -> None:
        super().__init__(daemon, number)
        self.group = group
        self.term = 0  # of this program's leadership; 0: it does not lead
        self._queue: asyncio.Queue[Union[Change, Error]] = asyncio.Queue()

    def _fail(self, error: Error) -> None:
        super()._fail(error)
        self._queue.put_nowait(error)

    def _update(self, line: Json) -> None:
        if not line.get("ok"):
            self._refuse(line)
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
        self._ready()
        self._queue.put_nowait(_change_of(update))

    async def changes(self) -> AsyncIterator[Change]:
        """Yields every change until this program is no longer a candidate."""
        while True:
            change = await self._queue.get()
            if isinstance(change, Error):
                raise change
            yield change
            if change.state in ("job-done", "withdrawn"):
                return

    async def set_capacity(self, capacity: int) -> None:
        """Takes effect at most once per `min_stay`."""
        self._request["capacity"] = capacity
        await self._daemon._send({"do": "offer", "id": self._id, "capacity": capacity})

    async def confirm_stopped(self) -> None:
        """After the change "stop": this program no longer acts as leader, and another one may lead."""
        self._until_ns = 0
        self.term = 0
        await self._daemon._send({"do": "stopped", "id": self._id})

    async def withdraw(self, job_done: bool = False) -> None:
        self.term = 0
        await self._end({"do": "withdraw", "id": self._id, "job_done": job_done})

    async def _give_up(self) -> None:
        await self.withdraw()

    async def __aenter__(self) -> Candidate:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.withdraw()
