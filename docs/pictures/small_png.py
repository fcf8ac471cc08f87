"""Encodes small PNG files with at most 256 colors."""

import struct
import zlib

import numpy as np
import numpy.typing as npt

Pixels = npt.NDArray[np.uint8]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_MAX_COLORS = 256
_ITERATIONS = 8


def small_png(pixels: Pixels) -> bytes:
    """Encode RGB pixels as a PNG with a palette."""
    colors, numbers = _palette(pixels.reshape(-1, 3))
    height, width, _ = pixels.shape
    rows = np.zeros(
        (height, width + 1), dtype=np.uint8
    )  # each row starts with its filter type: none
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
    """The palette, and the palette index of each pixel."""
    packed = pixels.astype(np.uint32) @ np.array([65536, 256, 1], dtype=np.uint32)
    colors, indices, counts = np.unique(packed, return_inverse=True, return_counts=True)
    channels = np.stack([colors >> 16, (colors >> 8) & 255, colors & 255], axis=1).astype(
        np.float64
    )
    if len(colors) <= _MAX_COLORS:
        return channels.astype(np.uint8), indices.astype(np.uint8)
    centers = channels[np.argsort(-counts, kind="stable")[:_MAX_COLORS]]
    weights = np.sqrt(counts)  # gives rare colors, such as those of thin lines, more weight
    for _ in range(_ITERATIONS):
        nearest = _nearest(channels, centers)
        for number in np.unique(nearest):
            members = nearest == number
            centers[number] = np.average(channels[members], axis=0, weights=weights[members])
    palette = centers.round()
    return palette.astype(np.uint8), _nearest(channels, palette)[indices].astype(np.uint8)


def _nearest(channels: npt.NDArray[np.float64], centers: npt.NDArray[np.float64]) -> Pixels:
    square = (centers**2).sum(axis=1) - 2 * channels @ centers.T
    nearest: Pixels = square.argmin(axis=1)
    return nearest
