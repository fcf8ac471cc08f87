"""A small picture: at most 256 colors, and nothing that a picture does not need."""

import struct
import zlib

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MOST_COLORS = 256
_ROUNDS = 8


def small_png(pixels: Pixels) -> bytes:
    """A picture of rows of red, green and blue, with a palette."""
    colors, numbers = _palette(pixels.reshape(-1, 3))
    height, width, _ = pixels.shape
    rows = np.zeros((height, width + 1), dtype=np.uint8)  # each begins with its filter: none
    rows[:, 1:] = numbers.reshape(height, width)
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    return b"".join(
        (
            _SIGNATURE,
            _chunk(b"IHDR", header),
            _chunk(b"PLTE", colors.tobytes()),
            _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _palette(pixels: Pixels) -> tuple[Pixels, Pixels]:
    """Colors, and the number of the color of each pixel."""
    packed = pixels.astype(np.uint32) @ np.array([65536, 256, 1], dtype=np.uint32)
    seen, places, counts = np.unique(packed, return_inverse=True, return_counts=True)
    every = np.stack([seen >> 16, (seen >> 8) & 255, seen & 255], axis=1).astype(np.float64)
    if len(seen) <= _MOST_COLORS:
        return every.astype(np.uint8), places.astype(np.uint8)
    middle = every[np.argsort(-counts, kind="stable")[:_MOST_COLORS]]
    weights = np.sqrt(counts)  # rare colors, such as those of thin lines, count for more
    for _ in range(_ROUNDS):
        nearest = _nearest(every, middle)
        for number in np.unique(nearest):
            mine = nearest == number
            middle[number] = np.average(every[mine], axis=0, weights=weights[mine])
    chosen = middle.round()
    return chosen.astype(np.uint8), _nearest(every, chosen)[places].astype(np.uint8)


def _nearest(every: npt.NDArray[np.float64], middle: npt.NDArray[np.float64]) -> Pixels:
    square = (middle**2).sum(axis=1) - 2 * every @ middle.T
    found: Pixels = square.argmin(axis=1)
    return found
