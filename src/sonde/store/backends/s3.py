"""A store in a bucket of any S3-compatible service: `s3://bucket/prefix`.

obstore reads endpoint, region and credentials from the AWS environment variables. Objects cannot
grow, so a growing key is stored in chunks, `key/<offset in 20 digits>`, one per append. Callers
see a single key.
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
        "An s3:// store requires obstore. Install it with: pip install 'sonde[s3]'"
    ) from error

if TYPE_CHECKING:
    from obstore import GetOptions, GetResult, ObjectMeta
    from obstore.store import ClientConfig, RetryConfig

# An unreachable server is detected after the read or connect timeout plus the time for retries.
READ_TIMEOUT_SECONDS = 7.0
_CONNECT_SECONDS = 3.0
RETRY_SECONDS = 2.0
_MAX_REQUEST_SECONDS = 300.0

# Each part of a large upload must finish within the read timeout: low concurrency helps slow links.
_UPLOADS_AT_ONCE = 2
_READS_AT_ONCE = 8
MAX_WHOLE_READ_BYTES = 64 << 20  # larger objects are read in ranges

_BUCKET = re.compile(r"[A-Za-z0-9._-]+")
_CHUNK_PATH = re.compile(rf"(?P<key>.+{re.escape(LIVE_SUFFIX)})/(?P<offset>\d{{20}})")
_SERVER_MESSAGE = re.compile(r"<Message>([^<]+)</Message>")
_STATUS = re.compile(r"status code: (\d{3}[ A-Za-z]*)")
_SYSTEM_MESSAGE = re.compile(r'message: "([^"]+)"')
_KNOWN_ERRORS = {
    "dns error": "unknown host name",
    "TimedOut": "request timed out",
    "Timeout": "request timed out",
    "IncompleteMessage": "the connection was closed",
}


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The object of one append."""

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
            # without the URI, which may contain credentials
            raise UsageError("The store URI has no bucket name. Use s3://bucket/prefix")
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
                return self._read_chunks(key, start, end)
            if start == 0 and end is None:
                return _read_whole(key, self._store.get(key), start)
            return self._read_range(key, start, end)

    def write(self, key: str, data: bytes) -> None:
        with self._explained("write", key):
            self._store.put(_first_object(key), data, max_concurrency=_UPLOADS_AT_ONCE)
            if _is_growing(key):
                self._store.delete([chunk.path for chunk in self._chunks(key) if chunk.offset])

    def create(self, key: str, data: bytes) -> bool:
        """Like `write`, but keep an existing key and return False.

        Some services ignore the condition and overwrite, so this only avoids needless writes;
        where it matters, every writer uses its own keys. If a put is retried after a lost response
        and finds its own data, it counts as created.
        """
        with self._explained("write", key):
            try:
                self._store.put(_first_object(key), data, mode="create", use_multipart=False)
            except AlreadyExistsError:
                # the response to our first put may have been lost
                return self._store.get(_first_object(key)).bytes().to_bytes() == data
            return True

    def append(self, key: str, offset: int, data: bytes) -> None:
        """Write one chunk.

        Checking that earlier chunks exist costs a request, so it is done only if this instance
        has not appended to the key before. If another process deletes the key meanwhile, appended
        data is unreadable until the writer starts its next segment.
        """
        if not _is_growing(key):
            raise StoreError(
                f"Cannot append to {key} in {self.uri}: only keys ending in {LIVE_SUFFIX} can grow"
            )
        with self._explained("write", key):
            if offset and key not in self._grown and _size(self._chunks(key)) < offset:
                raise KeyMissingError(f"{key} no longer exists in {self.uri}")
            if data:
                self._store.put(_chunk_path(key, offset), data, max_concurrency=_UPLOADS_AT_ONCE)
            elif offset == 0:
                self.create(key, data)
            self._grown.add(key)

    def entries(self, folder: str) -> list[Entry]:
        chunks_by_key: dict[str, list[_Chunk]] = {}
        with self._explained("list", folder):
            for item in self._store.list(folder or None).collect():
                chunk = _chunk_of(item)
                key = chunk.path.rpartition("/")[0] if chunk else item["path"]
                chunks_by_key.setdefault(key, []).append(chunk or _whole_object(item))
        inside = f"{folder}/" if folder else ""
        return [
            Entry(key, _size(chunks), max(chunk.modified_ns for chunk in chunks))
            for key, chunks in sorted(chunks_by_key.items())
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
        with self._explained("access", key):
            if _is_growing(key):
                return bool(self._chunks(key))
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
        return _ObjectView(self, key, size) if size > MAX_WHOLE_READ_BYTES else super().view(key)

    def _read_range(self, key: str, start: int, end: int | None) -> bytes:
        if end is not None and end <= start:
            self._store.head(key)
            return b""
        options: GetOptions = {"range": {"offset": start} if end is None else (start, end)}
        try:
            response = self._store.get(key, options=options)
            return _read_whole(key, response, start) if end is None else response.bytes().to_bytes()
        except BaseError as error:
            if "status code: 416" in str(error):  # the range starts at the end of the object
                return b""
            raise

    def _read_chunks(self, key: str, start: int, end: int | None) -> bytes:
        chunks = self._chunks(key)
        if not chunks:
            raise FileNotFoundError(key)
        if end is None:
            check_size(key, _size(chunks) - start)
        ranges = []
        for chunk in _in_sequence(chunks):
            first = max(start - chunk.offset, 0)
            last = chunk.size if end is None else min(end - chunk.offset, chunk.size)
            if first < last:
                ranges.append((chunk.path, first, last))
        # a live segment has about twenty chunks, one request each
        with ThreadPoolExecutor(_READS_AT_ONCE) as pool:
            return b"".join(pool.map(lambda piece: self._piece(*piece), ranges))

    def _piece(self, path: str, first: int, last: int) -> bytes:
        return self._store.get_range(path, start=first, end=last).to_bytes()

    def _chunks(self, key: str) -> list[_Chunk]:
        """All chunks of a growing key by offset, with or without gaps."""
        chunks = (_chunk_of(item) for item in self._store.list(key).collect())
        return sorted((chunk for chunk in chunks if chunk), key=lambda chunk: chunk.offset)

    def _paths(self, key: str) -> list[str]:
        return [chunk.path for chunk in self._chunks(key)] if _is_growing(key) else [key]

    def _is_key(self, path: str) -> bool:
        """Whether a folder is a growing key; job names may have the same suffix."""
        if not _is_growing(path):
            return False
        first = next(iter(self._store.list(path, chunk_size=1)), [])
        return any(_chunk_of(item) for item in first)

    @contextmanager
    def _explained(self, verb: str, key: str) -> Iterator[None]:
        """Convert obstore's exceptions into one-line StoreErrors without internals."""
        try:
            yield
        except FileNotFoundError as error:
            if verb == "read" and "NoSuchBucket" not in str(error):
                raise KeyMissingError(f"{key} does not exist in {self.uri}") from error
            raise self._store_error(verb, key, error) from error
        except (BaseError, OSError, ValueError) as error:
            raise self._store_error(verb, key, error) from error

    def _store_error(self, verb: str, key: str, error: Exception) -> StoreError:
        address = f"{self.uri.rstrip('/')}/{key}" if key else self.uri
        return StoreError(f"Cannot {verb} {address}: {_reason(str(error))}")


class _ObjectView:
    """Random read access to a large object."""

    def __init__(self, backend: S3, key: str, size: int) -> None:
        self.size = size
        self._backend = backend
        self._key = key

    def read(self, start: int, end: int) -> bytes:
        """The bytes of a range; fewer if the object ends earlier."""
        return self._backend.read(self._key, start, end)


def _read_whole(key: str, response: "GetResult", start: int) -> bytes:
    """The rest of an object, after checking its size."""
    check_size(key, response.meta["size"] - start)
    return response.bytes().to_bytes()


def _client_options() -> "ClientConfig":
    return {
        "allow_http": True,
        "connect_timeout": timedelta(seconds=_CONNECT_SECONDS),
        "read_timeout": timedelta(seconds=READ_TIMEOUT_SECONDS),
        "timeout": timedelta(seconds=_MAX_REQUEST_SECONDS),
    }


def _retry_config() -> "RetryConfig":
    return {"max_retries": 3, "retry_timeout": timedelta(seconds=RETRY_SECONDS)}


def _is_growing(key: str) -> bool:
    return key.endswith(LIVE_SUFFIX)


def _chunk_path(key: str, offset: int) -> str:
    return f"{key}/{offset:020d}"


def _first_object(key: str) -> str:
    return _chunk_path(key, 0) if _is_growing(key) else key


def _chunk_of(item: "ObjectMeta") -> _Chunk | None:
    named = _CHUNK_PATH.fullmatch(item["path"])
    return _Chunk(item["path"], int(named["offset"]), item["size"], _ns(item)) if named else None


def _whole_object(item: "ObjectMeta") -> _Chunk:
    return _Chunk(item["path"], 0, item["size"], _ns(item))


def _ns(item: "ObjectMeta") -> int:
    return round(item["last_modified"].timestamp() * 1_000_000) * 1000


def _in_sequence(chunks: Iterable[_Chunk]) -> Iterator[_Chunk]:
    """The chunks from offset 0 to the first gap; stale chunks are skipped."""
    end = 0
    for chunk in sorted(chunks, key=lambda chunk: chunk.offset):
        if chunk.offset > end:
            return
        if chunk.offset == end:
            yield chunk
            end += chunk.size


def _size(chunks: Iterable[_Chunk]) -> int:
    return sum(chunk.size for chunk in _in_sequence(chunks))


def _reason(text: str) -> str:
    """A short reason, without the request, which may contain credentials."""
    for pattern in (_SERVER_MESSAGE, _STATUS):
        if match := pattern.search(text):
            return match[1].strip().rstrip(".").lower()
    for sign, words in _KNOWN_ERRORS.items():
        if sign in text:
            return words
    if match := _SYSTEM_MESSAGE.search(text):
        return match[1].lower()
    return text.partition("\n")[0].rpartition(" - ")[2][:200]
