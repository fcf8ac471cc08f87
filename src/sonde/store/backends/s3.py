"""A store in a bucket of any S3-compatible service: `s3://bucket/prefix`.

Endpoint, region and keys come from the usual AWS variables, which obstore reads by itself.
Objects cannot grow, so a growing key is kept as parts, `key/<offset in 20 digits>`, one for each
append; whoever lists or reads it sees one key, and nothing outside this file knows.
"""

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from sonde.errors import KeyMissingError, MissingExtraError, StoreError, UsageError
from sonde.store.backends._backend import Backend, Entry, View
from sonde.store.layout import LIVE_SUFFIX
from sonde.store.limits import check_size

try:
    from obstore.exceptions import AlreadyExistsError, BaseError
    from obstore.store import S3Store
except ImportError as error:
    raise MissingExtraError(
        "A store in s3:// needs obstore. Install it with: pip install 'sonde[s3]'"
    ) from error

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta
    from obstore.store import ClientConfig, RetryConfig

# A dead server is noticed within the silence, or the connect time-out, plus the time for retries.
SILENCE_SECONDS = 7.0
_CONNECT_SECONDS = 3.0
RETRY_SECONDS = 2.0
_LONGEST_REQUEST_SECONDS = 300.0

# Each piece of a large upload has to arrive within the silence: few at once suits slow lines.
_UPLOADS_AT_ONCE = 2
_READS_AT_ONCE = 8
MOST_AT_ONCE_BYTES = 64 << 20  # larger objects are read part by part

_BUCKET = re.compile(r"[A-Za-z0-9._-]+")
_PART = re.compile(rf"(?P<key>.+{re.escape(LIVE_SUFFIX)})/(?P<offset>\d{{20}})")
_SAID_BY_SERVER = re.compile(r"<Message>([^<]+)</Message>")
_STATUS = re.compile(r"status code: (\d{3}[ A-Za-z]*)")
_SAID_BY_SYSTEM = re.compile(r'message: "([^"]+)"')
_SIGNS = {
    "dns error": "its host name is not known",
    "TimedOut": "no answer in time",
    "Timeout": "no answer in time",
    "IncompleteMessage": "the connection was closed",
}


@dataclass(frozen=True, slots=True)
class _Part:
    """The object that one append made."""

    path: str
    offset: int
    size: int
    modified_ns: int


class S3(Backend):
    """Objects in a bucket, under a prefix."""

    flush_seconds = 30.0
    poll_seconds = 5.0

    def __init__(self, uri: str) -> None:
        bucket, _, prefix = uri.removeprefix("s3://").partition("/")
        if not _BUCKET.fullmatch(bucket):
            # the address is not repeated: people put keys in front of an @
            raise UsageError("The address of the store names no bucket: write s3://bucket/prefix")
        self.uri = uri
        self._grown: set[str] = set()
        with self._explained("open", ""):
            self._store = S3Store(
                bucket,
                prefix=prefix.strip("/") or None,
                client_options=_client_options(),
                retry_config=_retry_config(),
            )

    def read(self, key: str, start: int = 0, end: int | None = None) -> bytes:
        with self._explained("read", key):
            if _is_growing(key):
                return self._read_parts(key, start, end)
            if start == 0 and end is None:
                return _read_whole(key, self._store.get(key), start)
            return self._read_range(key, start, end)

    def write(self, key: str, data: bytes) -> None:
        with self._explained("write", key):
            self._store.put(_first_object(key), data, max_concurrency=_UPLOADS_AT_ONCE)
            if _is_growing(key):
                self._store.delete([part.path for part in self._parts(key) if part.offset])

    def create(self, key: str, data: bytes) -> bool:
        """Like `write`, but leaves an existing key alone and returns False.

        Some services ignore the condition and overwrite. So this only avoids needless writes:
        whatever must be right without it gives every writer keys of its own. A put that is repeated
        after a lost answer meets itself, which counts as created: writers give data of their own.
        """
        with self._explained("write", key):
            try:
                self._store.put(_first_object(key), data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                # whose it is: the answer to our own put may have been lost, and the put repeated
                return self._store.get(_first_object(key)).bytes().to_bytes() == data
            return True

    def append(self, key: str, offset: int, data: bytes) -> None:
        """Puts one part.

        Whether the earlier parts are still there costs a request, so it is asked only where this
        store has not appended to the key itself. A key that somebody else removes meanwhile is
        noticed by nobody: until the writer begins its next segment, what it adds stays unread.
        """
        if not _is_growing(key):
            raise StoreError(f"{key} cannot grow in {self.uri}: only names in {LIVE_SUFFIX} do")
        with self._explained("write", key):
            if offset and key not in self._grown and _size(self._parts(key)) < offset:
                raise KeyMissingError(f"{key} has vanished from {self.uri}")
            if data:
                self._store.put(_part_path(key, offset), data, max_concurrency=_UPLOADS_AT_ONCE)
            elif offset == 0:
                self.create(key, data)
            self._grown.add(key)

    def entries(self, folder: str) -> list[Entry]:
        found: dict[str, list[_Part]] = {}
        with self._explained("list", folder):
            for item in self._store.list(folder or None).collect():
                part = _part_of(item)
                key = part.path.rpartition("/")[0] if part else item["path"]
                found.setdefault(key, []).append(part or _whole(item))
        inside = f"{folder}/" if folder else ""
        return [
            Entry(key, _size(parts), max(part.modified_ns for part in parts))
            for key, parts in sorted(found.items())
            if key.startswith(inside)
        ]

    def folders(self, folder: str) -> list[str]:
        with self._explained("list", folder):
            paths = self._store.list_with_delimiter(folder or None)["common_prefixes"]
            return sorted(path.rpartition("/")[2] for path in paths if not self._is_key(path))

    def delete(self, keys: Iterable[str]) -> None:
        for key in (keys := list(keys)):
            self._grown.discard(key)
        with self._explained("delete", keys[0] if keys else ""):
            paths = [path for key in keys for path in self._paths(key)]
            if paths:
                self._store.delete(paths)

    def exists(self, key: str) -> bool:
        with self._explained("look for", key):
            if _is_growing(key):
                return bool(self._parts(key))
            try:
                self._store.head(key)
            except FileNotFoundError:
                return False
            return True

    def view(self, key: str) -> View:
        if _is_growing(key):
            return super().view(key)
        with self._explained("read", key):
            size = self._store.head(key)["size"]
        return _ObjectView(self, key, size) if size > MOST_AT_ONCE_BYTES else super().view(key)

    def _read_range(self, key: str, start: int, end: int | None) -> bytes:
        if end is not None and end <= start:
            self._store.head(key)
            return b""
        options: GetOptions = {"range": {"offset": start} if end is None else (start, end)}
        try:
            found = self._store.get(key, options=options)
            return _read_whole(key, found, start) if end is None else found.bytes().to_bytes()
        except BaseError as error:
            if "status code: 416" in str(error):  # the range begins where the object ends
                return b""
            raise

    def _read_parts(self, key: str, start: int, end: int | None) -> bytes:
        found = self._parts(key)
        if not found:
            raise FileNotFoundError(key)
        if end is None:
            check_size(key, _size(found) - start)
        wanted = []
        for part in _in_sequence(found):
            first = max(start - part.offset, 0)
            last = part.size if end is None else min(end - part.offset, part.size)
            if first < last:
                wanted.append((part.path, first, last))
        # a live segment is some twenty parts, each a round trip away
        with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
            return b"".join(pool.map(lambda piece: self._piece(*piece), wanted))

    def _piece(self, path: str, first: int, last: int) -> bytes:
        return self._store.get_range(path, start=first, end=last).to_bytes()

    def _parts(self, key: str) -> list[_Part]:
        """All parts of a growing key, in the order of their offsets, whether or not they join."""
        parts = (_part_of(item) for item in self._store.list(key).collect())
        return sorted((part for part in parts if part), key=lambda part: part.offset)

    def _paths(self, key: str) -> list[str]:
        return [part.path for part in self._parts(key)] if _is_growing(key) else [key]

    def _is_key(self, path: str) -> bool:
        """Whether what looks like a folder is a growing key; jobs may have such names too."""
        if not _is_growing(path):
            return False
        first = next(iter(self._store.list(path, chunk_size=1)), [])
        return any(_part_of(item) for item in first)

    @contextmanager
    def _explained(self, verb: str, key: str) -> Iterator[None]:
        """Turns what obstore raises into our errors, in one line and without its internals."""
        try:
            yield
        except FileNotFoundError as error:
            if verb == "read" and "NoSuchBucket" not in str(error):
                raise KeyMissingError(f"There is no {key} in {self.uri}") from error
            raise self._store_error(verb, key, error) from error
        except (BaseError, OSError, ValueError) as error:
            raise self._store_error(verb, key, error) from error

    def _store_error(self, verb: str, key: str, error: Exception) -> StoreError:
        place = f"{self.uri.rstrip('/')}/{key}" if key else self.uri
        return StoreError(f"Cannot {verb} {place}: {_reason(str(error))}")


class _ObjectView:
    """Parts of a large object, each read when it is needed."""

    def __init__(self, backend: S3, key: str, size: int) -> None:
        self.size = size
        self._backend = backend
        self._key = key

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a part; fewer where the object ends earlier."""
        return self._backend.read(self._key, start, end)


def _read_whole(key: str, found: "GetResult", start: int) -> bytes:
    """The rest of an object; nothing of one that is larger than Sonde writes."""
    check_size(key, found.meta["size"] - start)
    return found.bytes().to_bytes()


def _client_options() -> "ClientConfig":
    return {
        "allow_http": True,
        "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
        "read_timeout": timedelta(seconds=SILENCE_SECONDS),
        "timeout": timedelta(seconds=_LONGEST_REQUEST_SECONDS),
    }


def _retry_config() -> "RetryConfig":
    return {"max_retries": 3, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}


def _is_growing(key: str) -> bool:
    return key.endswith(LIVE_SUFFIX)


def _part_path(key: str, offset: int) -> str:
    return f"{key}/{offset:020d}"


def _first_object(key: str) -> str:
    return _part_path(key, 0) if _is_growing(key) else key


def _part_of(item: "ObjectMeta") -> _Part | None:
    named = _PART.fullmatch(item["path"])
    return _Part(item["path"], int(named["offset"]), item["size"], _ns(item)) if named else None


def _whole(item: "ObjectMeta") -> _Part:
    return _Part(item["path"], 0, item["size"], _ns(item))


def _ns(item: "ObjectMeta") -> int:
    return round(item["last_modified"].timestamp() * 1_000_000) * 1000


def _in_sequence(parts: Iterable[_Part]) -> Iterator[_Part]:
    """The parts from offset 0 up to the first gap; what was left from before is passed over."""
    end = 0
    for part in sorted(parts, key=lambda part: part.offset):
        if part.offset > end:
            return
        if part.offset == end:
            yield part
            end += part.size


def _size(parts: Iterable[_Part]) -> int:
    return sum(part.size for part in _in_sequence(parts))


def _reason(text: str) -> str:
    """Why it failed, in a few words; never the request itself, which may carry keys."""
    for pattern in (_SAID_BY_SERVER, _STATUS):
        if found := pattern.search(text):
            return found[1].strip().rstrip(".").lower()
    for sign, words in _SIGNS.items():
        if sign in text:
            return words
    if found := _SAID_BY_SYSTEM.search(text):
        return found[1].lower()
    return text.partition("\n")[0].rpartition(" - ")[2][:200]
