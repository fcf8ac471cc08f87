"""Size limits for reading untrusted or damaged files.

Each limit is far above what Sonde writes, and low enough to fit in memory.
"""

from sonde.errors import DamagedError
from sonde.formats import format_count
from sonde.store.layout import LIVE_SUFFIX, MANIFEST_SUFFIX

MAX_DOCUMENT_BYTES = 128 << 20
MAX_LOG_BYTES = 512 << 20  # writers start a new segment after 8 MiB
MAX_FILE_BYTES = 16 << 30  # full tensors of one step
MAX_FRAME_BYTES = 128 << 20  # one batch, decompressed
MAX_PROFILE_BYTES = 512 << 20  # one Python profile, decompressed
MAX_LOG_CONTENT_BYTES = 512 << 20  # one log, decompressed
MAX_GROUP_BYTES = 2 << 30  # one row group, decompressed
MAX_TEXT_BYTES = 1 << 30  # one column of texts, expanded
MAX_HEADER_BYTES = 64 << 20  # names and shapes of tensors


def check_size(key: str, size: int) -> None:
    """Raise DamagedError if a file is larger than Sonde ever writes."""
    limit = MAX_FILE_BYTES
    if key.endswith(MANIFEST_SUFFIX):
        limit = MAX_DOCUMENT_BYTES
    elif key.endswith(LIVE_SUFFIX):
        limit = MAX_LOG_BYTES
    if size > limit:
        raise DamagedError(
            f"{key} is damaged: {format_count(size)} bytes, more than {format_count(limit)}"
        )
