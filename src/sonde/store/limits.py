"""How much Sonde reads of one file: what is larger was not written by it.

A job may come from a stranger, and a damaged disk can make a file look like terabytes. Each bound
is far above what writers produce, and low enough to fit into memory.
"""

from sonde.errors import DamagedError
from sonde.store.layout import LIVE_SUFFIX, MANIFEST_SUFFIX

MOST_DOCUMENT_BYTES = 128 << 20
MOST_LOG_BYTES = 512 << 20  # writers begin a new segment after 8 MiB
MOST_FILE_BYTES = 16 << 30  # full tensors of one step
MOST_FRAME_BYTES = 128 << 20  # one batch, decompressed
MOST_PROFILE_BYTES = 512 << 20  # one profile of Python, decompressed
MOST_LOG_CONTENT_BYTES = 512 << 20  # one log, decompressed
MOST_GROUP_BYTES = 2 << 30  # one row group, decompressed
MOST_TEXT_BYTES = 1 << 30  # one column of texts, written out
MOST_HEADER_BYTES = 64 << 20  # names and shapes of tensors


def check_size(key: str, size: int) -> None:
    """Raises where a file is larger than anything Sonde writes under such a name."""
    most = MOST_FILE_BYTES
    if key.endswith(MANIFEST_SUFFIX):
        most = MOST_DOCUMENT_BYTES
    elif key.endswith(LIVE_SUFFIX):
        most = MOST_LOG_BYTES
    if size > most:
        raise DamagedError(f"{key} is damaged: {size} bytes, more than Sonde ever writes")
