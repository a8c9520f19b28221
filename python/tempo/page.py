"""Network time with its bound from tempod's page of shared memory: no request, no system call but those of the clocks.

    from tempo.page import TimePage

    with TimePage() as page:
        now = page.now()                       # now.earliest_ns <= network time <= now.latest_ns
        page.wait_until_after(now.latest_ns)   # commit-wait

The format is in doc/reference/libtempo.md. The bound widens with the age of the page: when tempod dies, the page is in
holdover after three seconds and unsynchronized after an hour. Several threads may use a TimePage at once.
"""

from __future__ import annotations

import mmap
import os
import pathlib
import struct
import time
from typing import NamedTuple, Optional, Tuple

from . import Error, Now

DEFAULT_PAGE = "/run/tempo/tempod.page"
_HEADER = struct.Struct("<8sII16s")
_SEQUENCE = struct.Struct("<Q")
# raw, boot; value and rate of the clock, the earliest and the latest time; wander; fresh, lasts; status; real;
# end of the main part, 0: without a limit; generation
_COPY = struct.Struct("<qqqdqdqddqqQqqQ")
_MAGIC = b"ime page"
_VERSION = 1
_COPIES = (128, 256)
_SIZE = 384
_STATUS = ("unsynchronized", "holdover", "synchronized", "leads", "minority", "alone")
_IN_MAIN_PART = (2, 3)
_MIN_NS, _MAX_NS = -(2**63), 2**63 - 1
_YEAR_NS = 365 * 24 * 3600 * 10**9
_JUMP_NS = 20_000_000  # tolerance between two clocks
_MAX_SLEW = 2e-3
_ATTEMPTS = 1000


class _Content(NamedTuple):
    raw: int
    boot: int
    shows: int
    rate: float
    earliest: int
    earliest_rate: float
    latest: int
    latest_rate: float
    wander: float
    fresh: int
    lasts: int
    status: int
    real: int
    main_until: int = 0
    generation: int = 0

    def sane(self) -> bool:
        lines = ((self.shows, self.rate), (self.earliest, self.earliest_rate), (self.latest, self.latest_rate))
        return (all(abs(rate) <= 0.5 and abs(shows) <= 250 * _YEAR_NS for shows, rate in lines) and self.raw >= 0
                and self.boot >= 0 and 0 <= self.wander <= 0.5 and 0 <= self.fresh <= self.lasts <= _YEAR_NS
                and self.status < len(_STATUS) and self.main_until >= 0)


def _reading(content: _Content, raw: int, boot: int) -> Now:
    """The content at a later moment: `raw` and `boot` are CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME then."""
    unknown = Now(0, _MIN_NS, _MAX_NS, _STATUS[0])
    age = raw - content.raw
    if not content.sane() or age < 0 or age > _YEAR_NS:
        return unknown

    unknown = unknown._replace(generation=content.generation)
    main = content.status in _IN_MAIN_PART

    def carried(shows: int, rate: float) -> int:
        return shows + age + int(age * rate)

    shows = carried(content.shows, content.rate)
    # The raw clock stops while the machine is suspended, and network time does not.
    if abs(boot - content.boot - age) > _JUMP_NS + int(age * _MAX_SLEW):
        return unknown._replace(time_ns=shows)
    if content.status == 0 or age > content.lasts:
        return unknown._replace(time_ns=shows)
    held = age > content.fresh or (main and 0 < content.main_until < raw)
    margin = 2 + int(age * content.wander) if held else 1
    earliest = carried(content.earliest, content.earliest_rate) - margin
    latest = carried(content.latest, content.latest_rate) + margin
    if earliest > latest:
        return unknown._replace(time_ns=shows)
    return Now(min(max(shows, earliest), latest), earliest, latest, "holdover" if held and main else _STATUS[content.status],
               content.generation)


class TimePage:
    """A mapped page; `with` unmaps it."""

    def __init__(self, path: str = DEFAULT_PAGE) -> None:
        self._path = path
        self._memory, self._file = self._map()
        self._checked_ns = 0  # last look for a new file

    def _map(self) -> Tuple[mmap.mmap, Tuple[int, int]]:
        try:
            with open(self._path, "rb") as file:
                info = os.fstat(file.fileno())
                if info.st_size < _SIZE:
                    raise Error(f"the time page {self._path} is truncated; restart tempod")
                memory = mmap.mmap(file.fileno(), _SIZE, prot=mmap.PROT_READ)
        except OSError as error:
            raise Error(f"cannot read the time page {self._path} ({error}); start tempod or give its page") from error
        magic, version, size, boot = _HEADER.unpack_from(memory)
        this_boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
        problem = None
        if magic != _MAGIC:
            problem = "is no time page; give that of tempod"
        elif version != _VERSION or size != _SIZE:
            problem = "has another version; use the module that came with tempod"
        elif boot.hex() != this_boot:
            problem = "is from an earlier boot; start tempod"
        if problem is not None:
            memory.close()
            raise Error(f"{self._path} {problem}")
        return memory, (info.st_dev, info.st_ino)

    def close(self) -> None:
        self._memory.close()

    def __enter__(self) -> TimePage:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _load(self) -> Optional[_Content]:
        # The writer fills the copy that readers do not use and then changes the number.
        for _ in range(_ATTEMPTS):
            (before,) = _SEQUENCE.unpack_from(self._memory, 64)
            content = _Content._make(_COPY.unpack_from(self._memory, _COPIES[before & 1]))
            if _SEQUENCE.unpack_from(self._memory, 64) == (before,):
                return content
        return None

    def _read(self) -> Tuple[Now, bool]:
        """The reading, and whether tempod renews the page."""
        content = self._load()
        # Two clocks, read without an interruption between them.
        for _ in range(10):
            raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
            boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            if time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - raw < 1_000_000:
                break
        if content is None:
            return Now(0, _MIN_NS, _MAX_NS, _STATUS[0]), True
        return _reading(content, raw, boot), raw - content.raw <= content.fresh

    def now(self) -> Now:
        """Network time is between `earliest_ns` and `latest_ns`, unless status is "unsynchronized"."""
        now, renewed = self._read()
        if renewed or not self._reopen():
            return now
        return self._read()[0]

    def _reopen(self) -> bool:
        """A tempod that could not continue the page has replaced its file; looked for once a second."""
        clock = time.monotonic_ns()
        if clock - self._checked_ns < 10**9:
            return False
        self._checked_ns = clock
        try:
            info = os.stat(self._path)
            if (info.st_dev, info.st_ino) == self._file:
                return False
            self._memory, self._file = self._map()
        except (OSError, Error):
            return False
        return True

    def wait_until_after(self, instant_ns: int, limit: float = 1.0) -> bool:
        """Waits until the instant has certainly passed on every machine. False: that takes longer than `limit` seconds."""
        end = time.monotonic() + limit
        while True:
            left = instant_ns - self.now().earliest_ns
            if left < 0:
                return True
            seconds = max(left / 1e9, 1e-5)
            if time.monotonic() + seconds > end:
                return False
            time.sleep(min(seconds, 0.1))
