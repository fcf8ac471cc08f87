"""Replies of the API: JSON, binary frames and downloads."""

import gzip
import hashlib
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from sonde.drawing.printable import replace_non_finite, safe_json
from sonde.web.frames import MEDIA_TYPE

JSON_TYPE = "application/json"
_MIN_COMPRESSED_BYTES = 1024
_LEVEL = 1  # nearly as small as level 6, ten times as fast
_SAMPLE_BYTES = 8192  # compressed first, to check whether numbers compress at all
_MAX_SAMPLED_BYTES = 1 << 20  # larger replies always take longer to send than to compress
_MAX_COMPRESSED_SHARE = 0.5


@dataclass(frozen=True)
class Reply:
    """The body of a reply, its media type, status and headers."""

    body: bytes
    media_type: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def json_reply(document: Any, status: int = 200) -> Reply:
    """A JSON document; NaN and infinity become null."""
    text = json.dumps(replace_non_finite(document), ensure_ascii=False, allow_nan=False)
    return Reply(safe_json(text).encode(), JSON_TYPE, status)


def error_reply(message: str, status: int) -> Reply:
    """An error message as JSON."""
    return json_reply({"error": message}, status)


def frame_reply(frame: bytes) -> Reply:
    """A binary frame, as built by `FrameBuilder`."""
    return Reply(frame, MEDIA_TYPE)


def file_reply(body: bytes, name: str, media_type: str) -> Reply:
    """A download; its name consists of letters, digits, '.', '_' and '-'."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Reply(body, media_type, headers=headers)


@dataclass(frozen=True)
class Packed:
    """A reply ready to send, with its ETag and its compressed body."""

    reply: Reply
    etag: str
    compressed: bytes | None

    @property
    def size(self) -> int:
        """The bytes it takes in a cache."""
        return len(self.reply.body) + len(self.compressed or b"")


def packed(reply: Reply, *, is_gzip_wanted: bool) -> Packed:
    """Compute the ETag of a reply, and compress it if that saves time."""
    digest = hashlib.blake2b(reply.body, digest_size=12).hexdigest()
    is_compressed = is_gzip_wanted and _is_worth_compressing(reply)
    compressed = gzip.compress(reply.body, _LEVEL, mtime=0) if is_compressed else None
    return Packed(reply, f'"{digest}"', compressed)


def _is_worth_compressing(reply: Reply) -> bool:
    """Whether compression saves time: always for text, rarely for numbers."""
    size = len(reply.body)
    if size < _MIN_COMPRESSED_BYTES:
        return False
    if reply.media_type != MEDIA_TYPE or size > _MAX_SAMPLED_BYTES:
        return True
    middle = max(0, size - _SAMPLE_BYTES) // 2
    sample = reply.body[middle : middle + _SAMPLE_BYTES]
    return len(zlib.compress(sample, _LEVEL)) < _MAX_COMPRESSED_SHARE * len(sample)
