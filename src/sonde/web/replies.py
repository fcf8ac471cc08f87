"""What an answer is made of: plain values, a binary frame, or a file to keep."""

import gzip
import hashlib
import json
import zlib
from dataclasses import dataclass, field
from typing import Any

from sonde.drawing.printable import safe_json, writable
from sonde.web.frames import MEDIA_TYPE

JSON_TYPE = "application/json"
_WORTH_COMPRESSING = 1024
_LEVEL = 1  # most of what can be won, in a tenth of the time
_TRIED = 8192  # of numbers, to see whether they get smaller at all
_MOST_UNTRIED = 1 << 20  # so many bytes take longer on their way than to compress
_WORTH_SHARE = 0.5


@dataclass(frozen=True)
class Reply:
    """Bytes, what they are, and how they went."""

    body: bytes
    media_type: str
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def json_reply(document: Any, status: int = 200) -> Reply:
    """Plain values; numbers that JSON cannot write become null."""
    text = json.dumps(writable(document), ensure_ascii=False, allow_nan=False)
    return Reply(safe_json(text).encode(), JSON_TYPE, status)


def error_reply(message: str, status: int) -> Reply:
    """What went wrong, in a sentence."""
    return json_reply({"error": message}, status)


def frame_reply(frame: bytes) -> Reply:
    """A frame as `FrameBuilder` makes it."""
    return Reply(frame, MEDIA_TYPE)


def file_reply(body: bytes, name: str, media_type: str) -> Reply:
    """A file that the browser keeps under a name: one made of letters, digits, '.', '_', '-'."""
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Reply(body, media_type, headers=headers)


@dataclass(frozen=True)
class Packed:
    """A reply as it is sent: its mark, and both forms of its bytes."""

    reply: Reply
    etag: str
    compressed: bytes | None

    @property
    def size(self) -> int:
        """What keeping it takes."""
        return len(self.reply.body) + len(self.compressed or b"")


def packed(reply: Reply, *, is_gzip_wanted: bool) -> Packed:
    """The reply with its mark, compressed where that is wanted and worth it."""
    mark = hashlib.blake2b(reply.body, digest_size=12).hexdigest()
    is_worth_it = is_gzip_wanted and _is_worth_compressing(reply)
    compressed = gzip.compress(reply.body, _LEVEL, mtime=0) if is_worth_it else None
    return Packed(reply, f'"{mark}"', compressed)


def _is_worth_compressing(reply: Reply) -> bool:
    """Texts always are; numbers as a curve has them take more time than they save."""
    size = len(reply.body)
    if size < _WORTH_COMPRESSING:
        return False
    if reply.media_type != MEDIA_TYPE or size > _MOST_UNTRIED:
        return True
    middle = max(0, size - _TRIED) // 2
    tried = reply.body[middle : middle + _TRIED]
    return len(zlib.compress(tried, _LEVEL)) < _WORTH_SHARE * len(tried)
